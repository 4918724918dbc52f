"""Loops that read, in each iteration, what another loop has stacked in the same iteration, become one loop.

Forward mode records a loop and a loop for the tangents, which reads values of each iteration of the first. As one
loop, they hand these values over in the cache instead of in stacks as long as the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.control.body import numbered
from jittape.control.loop_parts import COUNT, COUNTED, WHILE, Parts, live_part
from jittape.core.forms import Control, runs_of
from jittape.core.program import Body, Op, Program, bodies_of
from jittape.value_classes import NamedTuple

__all__ = ["join_loops"]


def join_loops(program: Program) -> Program:
    """Return `program` with loops joined that only exchange stacks."""
    if not any(map(_is_loop, primitives_of(program))):
        return program
    while (pair := next(_pairs(program), None)) is not None:
        program = _joined(program, *pair)
    return program


def _is_loop(primitive: Any) -> bool:
    form = primitive.lowering
    return isinstance(form, Control) and form.kind == "loop"


class _Run(NamedTuple):
    """All results of one run of a loop.

    Attributes
    ----------
    ops : tuple of Op
    params : dict
        Parameters that all of them share.
    operands, inputs : Parts
        Slots of the operands, and of the inputs of the body.
    """

    ops: tuple[Op, ...]
    params: dict[str, Any]
    operands: Parts
    inputs: Parts

    @classmethod
    def of(cls, ops: tuple[Op, ...]) -> _Run:
        params = dict(ops[0].params)
        operands = Parts.of_operands(ops[0].args, params["trips"], params["fixed"], params["carries"])
        return cls(ops, params, operands, Parts.of_body(params["body"], params["fixed"], params["carries"]))

    @property
    def results(self) -> dict[Any, int]:
        """The slots of the results by their index."""
        return {dict(op.params)["result_index"]: op.out for op in self.ops}

    @property
    def is_map(self) -> bool:
        """Whether no iteration needs results of another: the direction of the loop then makes no difference."""
        used = frozenset([number for kind, number in self.results if kind == "carry"])
        stacked = tuple([number for kind, number in self.results if kind == "stack"])
        trips = self.params["trips"]
        return trips != WHILE and not live_part(self.params["body"], self.inputs, used, stacked, trips)[0]

    @property
    def body(self) -> Program:
        body: Body = self.params["body"]
        return body.program


def _pairs(program: Program) -> Iterator[tuple[_Run, _Run]]:
    """Yield the runs of two loops that can be joined, if a stack of the first then needs no memory.

    Several loops may read the stack, such as those of several tangents. They join the first one after another.
    """
    found = {run[0].out: run for run in runs_of(program.ops).values() if _is_loop(run[0].primitive)}
    if len(found) < 2:
        return
    runs = [_Run.of(run) for run in found.values()]
    readers: dict[int, set[int]] = {}
    for op in program.ops:
        for slot in op.args:
            readers.setdefault(slot, set()).add(op.out)
    for first in runs:
        stacks = {slot for (kind, _), slot in first.results.items() if kind == "stack"}
        stacks -= {*program.outputs}
        others = [run for run in runs if not stacks.isdisjoint(run.operands.stacks)]
        others = [run for run in others if _can_join(program, first, run)]
        own = {op.out for run in others for op in run.ops}
        for second in others:
            if any(readers[slot] <= own for slot in stacks.intersection(second.operands.stacks)):
                yield first, second


def _can_join(program: Program, first: _Run, second: _Run) -> bool:
    """Return whether two loops take the same iterations, and `second` needs `first` for its stacks only."""
    if first is second or (
        first.params["backwards"] != second.params["backwards"] and not (first.is_map or second.is_map)
    ):
        return False
    if not _take_same_iterations(first, second) or any(map(_runs_in_numpy, (first.body, second.body))):
        return False
    others = {*second.operands.fixed, *second.operands.carries}
    others.update(slot for slot in second.operands.stacks if slot not in first.results.values())
    reached = {op.out for op in first.ops}
    for op in program.ops:
        if not reached.isdisjoint(op.args):
            reached.add(op.out)
    stacks = {slot for (kind, _), slot in first.results.items() if kind == "stack"}
    given = {slot for slot in second.operands.stacks if slot in reached}
    return reached.isdisjoint(others) and given <= stacks


def _take_same_iterations(first: _Run, second: _Run) -> bool:
    trips, limit = first.params["trips"], first.params["limit"]
    if trips == WHILE:
        counted = second.params["trips"] == COUNTED and second.params["limit"] is None
        return counted and second.operands.head == (first.results.get(COUNT),)
    same = bool(trips == second.params["trips"]) and limit == second.params["limit"]
    return same and first.operands.head == second.operands.head


def _runs_in_numpy(program: Program) -> bool:
    """Return whether an op of a body has no machine code: then NumPy would run the other loop, too."""
    return any(
        op.primitive.lowering is None or any(_runs_in_numpy(body.program) for body in bodies_of(op))
        for op in program.ops
    )


def _joined(program: Program, first: _Run, second: _Run) -> Program:
    """Return `program` with one loop in place of two."""
    place = _shared_inputs(first, second)
    own, other = first.operands, second.operands
    fixed = _left(other.fixed, second.inputs.fixed, place)
    stacks = _left(other.stacks, second.inputs.stacks, place)
    body, numbers = _joined_body(first, second, place, [s for _, s in fixed], [s for _, s in stacks])
    args = (*own.head, *own.fixed, *[o for o, _ in fixed], *own.carries, *other.carries)
    args = (*args, *own.stacks, *[o for o, _ in stacks])
    shared = {
        **first.params,
        "backwards": (second if first.is_map else first).params["backwards"],
        "body": body,
        "fixed": len(own.fixed) + len(fixed),
        "carries": len(own.carries) + len(other.carries),
    }
    editor = Editor(program)
    replaced: dict[int, Op] = {}
    for run, number, shift in ((first, numbers[0], 0), (second, numbers[1], len(own.carries))):
        for op in run.ops:
            kind, which = dict(op.params)["result_index"]
            which = number[which] if kind == "stack" else which + shift * (kind == "carry")
            params = shared | {"result_index": (kind, which)}
            replaced[op.out] = op._replace(args=args, params=tuple(sorted(params.items())))
    editor.ops = _in_order([replaced.get(op.out, op) for op in program.ops], program.inputs)
    return editor.result()


def _shared_inputs(first: _Run, second: _Run) -> dict[int, int]:
    """Return the inputs of the second body that are values of the first body, by slot."""
    one, two = first.inputs, second.inputs
    fixed = dict(zip(first.operands.fixed, one.fixed, strict=True))
    rows = dict(zip(first.operands.stacks, one.stacks, strict=True))
    rows |= {slot: number for (kind, number), slot in first.results.items() if kind == "stack"}
    place = {second.body.inputs[0]: first.body.inputs[0]}
    place |= {s: fixed[o] for o, s in zip(second.operands.fixed, two.fixed, strict=True) if o in fixed}
    return place | {s: rows[o] for o, s in zip(second.operands.stacks, two.stacks, strict=True) if o in rows}


def _left(operands: Sequence[int], inputs: Sequence[int], place: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return the operands and inputs without a place."""
    return [(o, s) for o, s in zip(operands, inputs, strict=True) if s not in place]


def _joined_body(
    first: _Run, second: _Run, shared: Mapping[int, int], fixed: Sequence[int], stacks: Sequence[int]
) -> tuple[Body, tuple[Mapping[int, int], Mapping[int, int]]]:
    """Return the body that runs both bodies, and its slots by the slots of each body.

    `shared` has the inputs of the second body that are values of the first; `fixed` and `stacks` are others.
    """
    one, two = first.body, second.body
    free = max(one.avals) + 1
    place = {slot: shared.get(slot, free + slot) for slot in two.avals}
    ops = [op._replace(args=_at(place, op.args), out=place[op.out]) for op in two.ops]
    a, b = first.inputs, second.inputs
    inputs = (one.inputs[0], *a.fixed, *_at(place, fixed), *a.carries, *_at(place, b.carries))
    inputs = (*inputs, *a.stacks, *_at(place, stacks))
    n, m = len(a.carries), len(b.carries)
    outputs = (*one.outputs[:n], *_at(place, two.outputs[:m]), *one.outputs[n:], *_at(place, two.outputs[m:]))
    avals = {**{place[slot]: aval for slot, aval in two.avals.items()}, **one.avals}
    body, number = numbered(Program(inputs, (*one.ops, *ops), outputs, avals))
    return body, (number, {slot: number[at] for slot, at in place.items() if at in number})


def _at(place: Mapping[int, int], slots: Sequence[int]) -> tuple[int, ...]:
    return tuple([place[slot] for slot in slots])


def _in_order(ops: list[Op], inputs: tuple[int, ...]) -> list[Op]:
    """Return ops such that each comes after those it depends on, and otherwise as they were."""
    op_of = {op.out: op for op in ops}
    done = {*inputs}
    result: list[Op] = []
    for op in ops:
        pending = [op]
        while pending:
            missing = [op_of[slot] for slot in pending[-1].args if slot not in done]
            if missing:
                pending += missing[::-1]
            elif (ready := pending.pop()).out not in done:
                done.add(ready.out)
                result.append(ready)
    return result
