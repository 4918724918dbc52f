"""`branch_op`: run the program that an integer selects.

An op is one result of a branch; the parameter `result_index` is its position among the results. All bodies take the
same inputs (the operands after the first) and return results of the same shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jittape.control.batched_control import stacked_branch
from jittape.control.body import Pullback, active_slots, body_of, body_part, saved_slots, total, zeros
from jittape.core.builder import Builder, Symbol
from jittape.core.forms import Control
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive, recording_with
from jittape.core.program import Aval, Body, Program, dead_code_removed
from jittape.core.tuning import tuning
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
    """Record the gradient: a branch whose bodies recompute the values that their reverse passes need.

    If they need small parts of large arrays only, the branch has these parts as further results.
    """
    inputs = [i - 1 for i in along]
    picks = [
        p for p in cotangents if any(b.program.outputs[p] in active_slots(b.program, inputs) for b in bodies)
    ]
    pullbacks = [Pullback(body.program, [body.program.outputs[p] for p in picks], inputs) for body in bodies]
    reached = [i for i in inputs if any(i in pullback.gradients for pullback in pullbacks)]
    parts = [_Part(n, slot) for n, pullback in enumerate(pullbacks) for slot in _parts_to_save(pullback)]
    reverse = []
    for number, pullback in enumerate(pullbacks):
        avals = pullback.program.avals
        outputs = [pullback.gradients.get(i) or pullback.zeros(avals[i]) for i in reached]
        saved = [
            part.slot if part.body == number else pullback.builder.new_slot(part.aval(bodies)).slot
            for part in parts
        ]
        given = [*pullback.program.inputs, *saved, *[symbol.slot for symbol in pullback.cotangents]]
        reverse.append(pullback.body(given, outputs))
    incoming: list[Any] = [*_saved_parts(parts, operands, bodies), *[total(cotangents[p]) for p in picks]]
    which, *given_operands = operands
    read, reverse = _inputs_read(reverse)
    used = [[*given_operands, *incoming][i] for i in read]
    return {
        i + 1: branch_op.bind(which, *used, bodies=tuple(reverse), result_index=position)
        for position, i in enumerate(reached)
    }


class _Part(NamedTuple):
    """A value of a body that the reverse pass needs, by the number of the body and the slot."""

    body: int
    slot: int

    def aval(self, bodies: Sequence[Body]) -> Aval:
        """Return the shape and dtype."""
        return bodies[self.body].program.avals[self.slot]


def _parts_to_save(pullback: Pullback) -> list[int]:
    """Return the slots to save so that the reverse pass reads no large array of which it needs small parts only."""
    program, needed = pullback.program, pullback.needed()
    part = dead_code_removed(program.replaced(program.ops, tuple(needed), program.avals), keep_inputs=False)
    arrays = {slot for slot in part.inputs if program.avals[slot].size > 1}
    while arrays:
        saved, _ = saved_slots(program, needed, set(program.inputs) - arrays)
        whole = arrays.intersection(saved)
        if not whole:
            size = sum([program.avals[slot].size for slot in saved])
            spared = sum([program.avals[slot].size for slot in arrays])
            return saved if size * tuning.small_part_ratio <= spared else []
        arrays -= whole
    return []


def _saved_parts(
    parts: Sequence[_Part], operands: Sequence[Symbol], bodies: tuple[Body, ...]
) -> list[Symbol]:
    """Record the parts as further results of the branch; they are zeros if another body runs."""
    if not parts:
        return []
    extended = []
    for number, body in enumerate(bodies):
        builder = Builder(max(body.program.avals, default=-1) + 1)
        with recording_with(builder):
            more = [part.slot if part.body == number else zeros(part.aval(bodies)).slot for part in parts]
        program = body.program
        ops, avals = (*program.ops, *builder.ops), {**program.avals, **builder.avals}
        extended.append(body_of(Program(program.inputs, ops, (*program.outputs, *more), avals)))
    first = len(bodies[0].program.outputs)
    return [
        branch_op.bind(*operands, bodies=tuple(extended), result_index=first + i) for i in range(len(parts))
    ]


def _inputs_read(bodies: Sequence[Body]) -> tuple[list[int], list[Body]]:
    """Return the numbers of the inputs that at least one of the bodies reads, and the bodies without the others."""
    programs = [body.program for body in bodies]
    read = {program.inputs.index(slot) for program in programs for slot in _slots_read(program)}
    order = sorted(read)
    return order, [
        body_of(Program(tuple([p.inputs[i] for i in order]), p.ops, p.outputs, p.avals)) for p in programs
    ]


def _slots_read(program: Program) -> set[int]:
    """Return the inputs that a program without dead code reads."""
    return {*program.outputs, *[slot for op in program.ops for slot in op.args]} & set(program.inputs)


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
