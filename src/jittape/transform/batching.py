"""Batching: run ops on a stack of values, with one more dimension, the first.

`batched` walks the ops that depend on one slot and appends batched ops for a stack of values in its place. Values that
do not depend on the slot are shared by all rows. The record of an op has its batch rule (`Primitive.batch`); an op
without a rule runs once per row.

Jacobians use batching: one reverse pass is recorded and runs on a stack of cotangents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jittape.core.builder import Builder, Symbol
from jittape.core.forms import Map
from jittape.core.primitive import Batch, recording_with
from jittape.core.program import Aval, Op
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, to_shape
from jittape.primitives.shape.views import concat_op, sliced
from jittape.value_classes import NamedTuple

__all__ = ["Shared", "batched", "batched_values", "broadcast_rows", "ops_between"]


def batched(
    builder: Builder,
    ops: Sequence[Op],
    avals: Mapping[int, Aval],
    over: int,
    stack: Symbol,
    outputs: Sequence[int],
) -> list[Symbol]:
    """Append the ops that lead from `over` to `outputs`, for a stack of values.

    Parameters
    ----------
    builder : Builder
        Builder that the new ops are appended to.
    ops : sequence of Op
        Ops in order, which include those between `over` and `outputs`.
    avals : mapping
        Avals of all slots.
    over : int
        Slot that `stack` replaces.
    stack : Symbol
        Values of shape ``(n, *shape of over)``.
    outputs : sequence of int

    Returns
    -------
    list of Symbol
        Values of each output, of shape ``(n, *shape of the output)``.
    """
    n = stack.shape[0]
    values, shared = batched_values(builder, n, ops, avals, {over: stack}, outputs)
    with recording_with(builder):
        return [
            values[s] if s in values else broadcast_rows(shared.get(s, Symbol(s, avals[s])), n)
            for s in outputs
        ]


class Shared(NamedTuple):
    """Result of a batch rule that is the same for all rows although an operand is batched."""

    symbol: Symbol


def batched_values(
    builder: Builder,
    n: int,
    ops: Sequence[Op],
    avals: Mapping[int, Aval],
    stacks: Mapping[int, Symbol],
    outputs: Sequence[int],
) -> tuple[dict[int, Symbol], dict[int, Symbol]]:
    """Append the batched ops for any number of stacks of `n` rows, also for none.

    Returns the batched values by slot, and new values of slots that all rows share.
    """
    values, shared = dict(stacks), dict[int, Symbol]()
    with recording_with(builder):
        for op in ops_between(ops, stacks, outputs):
            builder.source = op.source
            stacked = tuple([slot in values for slot in op.args])
            operands = [
                values[slot] if slot in values else shared.get(slot, Symbol(slot, avals[slot]))
                for slot in op.args
            ]
            result = _apply_batched(op, n, stacked, operands)
            if isinstance(result, Shared):
                shared[op.out] = result.symbol
            else:
                values[op.out] = result
    return values, shared


def ops_between(ops: Sequence[Op], over: Iterable[int], outputs: Sequence[int]) -> list[Op]:
    """Return the ops that depend on `over` and that `outputs` depend on."""
    given = set(over)
    dependent = set(given)
    for op in ops:
        if any(slot in dependent for slot in op.args):
            dependent.add(op.out)
    needed = set(outputs)
    between: list[Op] = []
    for op in reversed(ops):
        if op.out in needed and op.out in dependent and op.out not in given:
            between.append(op)
            needed.update(op.args)
    return between[::-1]


def _apply_batched(op: Op, n: int, stacked: tuple[bool, ...], operands: list[Symbol]) -> Any:
    """Record `op` for all rows and return its value."""
    params = dict(op.params)
    rule = op.primitive.batch
    if not any(stacked):  # all batched operands turned out to be shared
        return Shared(op.primitive.bind(*operands, **params))
    if op.primitive.calls_back:  # its value is its first operand; the other operands serve the gradient
        return operands[0] if stacked[0] else broadcast_rows(operands[0], n)
    if rule is None and isinstance(op.primitive.lowering, Map):
        rule = alike()
    if rule is not None and not isinstance(rule, Batch):
        return rule(n, stacked, *operands, **params)
    count = 0 if rule is None else len(operands) if rule.operands is None else rule.operands
    if rule is None or any(stacked[count:]):
        return _row_by_row(op, n, stacked, operands)
    first = [x if s else broadcast_rows(x, n) for x, s in zip(operands[:count], stacked[:count], strict=True)]
    return op.primitive.bind(*first, *operands[count:], **rule.params(n, params))


def _row_by_row(op: Op, n: int, stacked: tuple[bool, ...], operands: list[Symbol]) -> Any:
    """Record `op` once per row and concatenate the results."""
    rows = []
    for i in range(n):
        row = [_row(x, i) if s else x for x, s in zip(operands, stacked, strict=True)]
        value = op.primitive.bind(*row, **dict(op.params))
        rows.append(to_shape(value, (1, *value.shape)))
    return concat_op.bind(*rows, axis=0)


def _row(x: Any, i: int) -> Any:
    return to_shape(sliced(x, 0, i, 1), x.shape[1:])


def broadcast_rows(x: Any, n: int) -> Any:
    """Return `x` as a stack of `n` equal rows."""
    return broadcast(x, (n, *x.shape))
