"""`branch_op`: run the program that an integer selects.

An op is one result of a branch; the parameter `result_index` is its position among the results. All bodies take the
same inputs (the operands after the first) and return results of the same shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jittape.control.batched_control import stacked_branch
from jittape.control.body import Pullback, active_slots, body_part, total
from jittape.core.builder import Symbol
from jittape.core.forms import Control
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Body
from jittape.errors import ProgramError
from jittape.transform.opaque import Flow, Follow, joined

__all__ = ["branch_op"]


def _result(which: Aval, *operands: Aval, bodies: tuple[Body, ...], result_index: int) -> Aval:
    for body in bodies:
        if (
            body.program.input_avals() != operands
            or body.program.output_avals() != bodies[0].program.output_avals()
        ):
            raise ProgramError(
                f"{body.program} does not take {', '.join(map(str, operands))}, or its results differ from the others'"
            )
    return bodies[0].program.output_avals()[result_index]


def _run(operands: Sequence[Any], picks: Sequence[int], *, bodies: tuple[Body, ...]) -> list[Any]:
    body = bodies[_taken(int(operands[0]), len(bodies))]
    # Like the compiled body, this computes only what is used: an error in the rest is none.
    part = body_part(body, tuple([body.program.outputs[result_index] for result_index in picks]))
    values = dict(zip(body.program.inputs, operands[1:], strict=True))
    return interpret(part, [values[slot] for slot in part.inputs])


def _taken(which: int, count: int) -> int:
    """Return the number of the body to run: the last one if `which` is out of range."""
    return which if 0 <= which < count else count - 1


def _vjp(
    cotangents: Mapping[int, Sequence[Symbol]],
    along: Sequence[int],
    operands: Sequence[Symbol],
    *,
    bodies: tuple[Body, ...],
) -> dict[int, Symbol]:
    """Record the gradient: a branch whose bodies recompute the values that their reverse passes need."""
    inputs = [i - 1 for i in along]
    picks = [
        p for p in cotangents if any(b.program.outputs[p] in active_slots(b.program, inputs) for b in bodies)
    ]
    pullbacks = [Pullback(body.program, [body.program.outputs[p] for p in picks], inputs) for body in bodies]
    reached = [i for i in inputs if any(i in pullback.gradients for pullback in pullbacks)]
    reverse = []
    for pullback in pullbacks:
        avals = pullback.program.avals
        outputs = [pullback.gradients.get(i) or pullback.zeros(avals[i]) for i in reached]
        given = [*pullback.program.inputs, *[symbol.slot for symbol in pullback.cotangents]]
        reverse.append(pullback.body(given, outputs))
    incoming: list[Any] = [total(cotangents[p]) for p in picks]
    return {
        i + 1: branch_op.bind(*operands, *incoming, bodies=tuple(reverse), result_index=position)
        for position, i in enumerate(reached)
    }


def _flow(
    follow: Follow, arriving: Sequence[Flow | None], *, bodies: tuple[Body, ...], result_index: int
) -> Flow | None:
    """Return the flow of a result: those of all bodies, joined."""
    return joined([follow(b.program, arriving[1:]).get(b.program.outputs[result_index]) for b in bodies])


def _batch(n: int, stacked: tuple[bool, ...], *operands: Symbol, **params: Any) -> Any:
    return stacked_branch(branch_op, n, stacked, operands, **params)


branch_op: Primitive = Primitive(
    "branch",
    abstract_eval=_result,
    impl=lambda *operands, result_index, **params: _run(operands, [result_index], **params)[0],
    vjp=lambda *_, **__: None,
    lowering=Control("branch", _run, _vjp, _flow),
    batch=_batch,
    any_dtype=True,
)
"""One result of a branch. The first operand, an int64, is the number of the body in `bodies`. If it is out of range,
the last body runs."""
