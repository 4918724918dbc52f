"""`custom_vjp_op`: values whose gradient is given by a program: custom gradients inside loop bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jittape.control.batched_control import stacked_rule
from jittape.control.body import inlined, total, zeros
from jittape.core.builder import Symbol
from jittape.core.forms import Control
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Body
from jittape.transform.batching import broadcast_rows
from jittape.transform.opaque import Flow, Follow, joined

__all__ = ["custom_vjp_op"]


def _run(operands: Sequence[Any], picks: Sequence[int], **params: Any) -> list[Any]:
    return [operands[result_index] for result_index in picks]


def _vjp(
    cotangents: Mapping[int, Sequence[Symbol]],
    along: Sequence[int],
    operands: Sequence[Symbol],
    *,
    rule: Body,
    count: int,
    to: tuple[int, ...],
) -> dict[int, Symbol]:
    upstream = [total(cotangents.get(i, ())) or zeros(operands[i].aval) for i in range(count)]
    captured = operands[len(operands) - (len(rule.program.inputs) - count) :]
    given = zip(to, inlined(rule, (*upstream, *captured)), strict=True)
    return {count + i: gradient for i, gradient in given if count + i in along}


def _flow(
    follow: Follow, arriving: Sequence[Flow | None], *, count: int, to: tuple[int, ...], **params: Any
) -> Flow | None:
    """Return the flow of a result: that of the operands for which the rule has a gradient."""
    return joined([arriving[count + i] for i in to])


def _result(*operands: Aval, rule: Body, count: int, to: tuple[int, ...], result_index: int) -> Aval:
    return operands[result_index]


def _batch(
    n: int,
    stacked: tuple[bool, ...],
    *operands: Symbol,
    rule: Body,
    count: int,
    to: tuple[int, ...],
    result_index: int,
) -> Any:
    """Return the result for all rows, with a rule that computes the gradients of all rows.

    The gradient of an operand that all rows share is the sum over the rows.
    """
    results = [x if s else broadcast_rows(x, n) for x, s in zip(operands[:count], stacked, strict=False)]
    first = len(operands) - (len(rule.program.inputs) - count)
    inputs = [slot for slot, s in zip(rule.program.inputs[count:], stacked[first:], strict=True) if s]
    new_rule = stacked_rule(
        rule, n, [*rule.program.inputs[:count], *inputs], [stacked[count + i] for i in to]
    )
    return custom_vjp_op.bind(
        *results, *operands[count:], rule=new_rule, count=count, to=to, result_index=result_index
    )


custom_vjp_op = Primitive(
    "custom_vjp",
    abstract_eval=_result,
    impl=lambda *operands, result_index, **params: operands[result_index],
    vjp=lambda *_, **__: None,
    lowering=Control("custom_vjp", _run, _vjp, _flow),
    batch=_batch,
    simplified=lambda op, producers: op.args[dict(op.params)["result_index"]],
    any_dtype=True,
)
"""Identity on the first `count` operands, with a gradient that the body `rule` computes.

The inputs of `rule` are the cotangents of the results and the last operands. Its outputs are the gradients of the
operands at ``count + i`` for `i` in `to`."""
