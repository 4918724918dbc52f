"""Ops that compute each element along the leading dimensions of their operands alone, such as factorizations.

The batching rule of an op says so: an op on a stack of operands computes each row from the same row of the operands.
An op that such a rule would record for a stack is therefore a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jittape.core.builder import Builder, Symbol
from jittape.core.primitive import Batch, Primitive
from jittape.core.program import Aval, Op, is_dynamic_dim
from jittape.transform.batching import batched_values

__all__ = ["independent_rows"]


def independent_rows(op: Op, avals: Mapping[int, Aval]) -> int:
    """Return the number of elements along the leading dimensions that `op` computes independently; 1 if unknown."""
    operands, out = [avals[slot] for slot in op.args], avals[op.out]
    rule = op.primitive.batch
    shares_operands = isinstance(rule, Batch) and rule.operands not in (None, len(operands))
    if rule is None or shares_operands or any(map(is_dynamic_dim, (*operands, out))):
        return 1
    count, params = 1, dict(op.params)
    while out.shape and all(aval.shape[:1] == out.shape[:1] for aval in operands):
        rows = out.shape[0]
        operands, out = list(map(_row, operands)), _row(out)
        found = _params_of_row(op.primitive, rows, operands, out, params)
        if found is None:
            break
        count, params = count * rows, found
    return count


def _row(aval: Aval) -> Aval:
    return Aval(aval.shape[1:], aval.dtype)


def _params_of_row(
    primitive: Primitive, rows: int, operands: Sequence[Aval], out: Aval, params: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the parameters with which the op computes one row; None if it is no batch of rows."""
    candidates = [params]
    if params.get("axis", 0) > 0:  # not negative, which would name another dimension
        candidates.append({**params, "axis": params["axis"] - 1})
    for own in candidates:
        try:
            if primitive.abstract_eval(*operands, **own) != out:
                continue
        except (ValueError, TypeError, IndexError):  # the op needs the dimension
            continue
        if _params_of_stack(primitive, rows, operands, out, own) == params:
            return own
    return None


def _params_of_stack(
    primitive: Primitive, rows: int, operands: Sequence[Aval], out: Aval, params: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the parameters of the same op on a stack of `rows` operands; None if other ops take its place."""
    count = len(operands)
    inner = Op(primitive, tuple(range(count)), tuple(sorted(params.items())), count)
    builder = Builder(count + 1)
    stacks = {i: Symbol(i, Aval((rows, *aval.shape), aval.dtype)) for i, aval in enumerate(operands)}
    avals = dict(enumerate([*operands, out]))
    batched_values(builder, rows, [inner], avals, stacks, [count])
    if len(builder.ops) != 1:
        return None
    (found,) = builder.ops
    is_same = found.primitive is primitive and found.args == inner.args
    return dict(found.params) if is_same else None
