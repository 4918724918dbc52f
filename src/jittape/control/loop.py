"""`loop_op`: every loop there is, of known and of unknown length.

An op is one result of a loop, which its parameter `pick` names: the last value of a carry, the values of any slot of
the body in all iterations, stacked, or how many iterations there were. So the gradient of a loop asks the loop itself
for what it needs of each iteration, as further results of the same run, and what nobody asks for costs nothing.

The body's inputs are the number of the iteration (int64), the values that are the same in all iterations, the carries,
and a row of each stack; its outputs begin with the new carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jittape.control.batched_control import stacked_loop
from jittape.control.body import Pullback, active_slots, pulled_back, saved_slots, total, zeros
from jittape.control.loop_parts import COUNT, COUNTED, WHILE, Parts, Pick, carry, stack
from jittape.core.builder import Symbol
from jittape.core.forms import Control
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive, recording_with
from jittape.core.program import DYNAMIC_DIM, Aval, Body
from jittape.errors import ProgramError
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.transform.opaque import Flow, Follow, joined

__all__ = ["loop_op"]


def _result(
    *operands: Aval,
    body: Body,
    fixed: int,
    carries: int,
    trips: int,
    limit: int | None,
    backwards: bool,
    again: bool,
    result_index: Pick,
) -> Aval:
    avals = body.program.avals
    given = Parts.of_operands(operands, trips, fixed, carries)
    wanted = Parts.of_body(body, fixed, carries)
    for aval, slot in zip((*given.fixed, *given.carries), (*wanted.fixed, *wanted.carries), strict=True):
        if aval != avals[slot]:
            raise ProgramError(f"an operand is {aval}, the body takes {avals[slot]}")
    length = trips if trips >= 0 else DYNAMIC_DIM
    for aval, slot in zip(given.stacks, wanted.stacks, strict=True):
        if aval != _stacked(avals[slot], length):
            raise ProgramError(f"an operand is {aval}, the body takes {length} of {avals[slot]}")
    kind, number = result_index
    if kind == "count":
        return Aval((), np.dtype(np.int64))
    if kind == "carry":
        return given.carries[number]
    return _stacked(avals[number], length)


def _stacked(aval: Aval, length: int) -> Aval:
    return Aval((length, *aval.shape), aval.dtype)


def _run(
    operands: Sequence[Any],
    picks: Sequence[Pick],
    *,
    body: Body,
    fixed: int,
    carries: int,
    trips: int,
    limit: int | None,
    backwards: bool,
    again: bool,
) -> list[Any]:
    given = Parts.of_operands(operands, trips, fixed, carries)
    program = body.program
    slots = list(dict.fromkeys(number for kind, number in picks if kind == "stack"))
    program = program.replaced(program.ops, (*program.outputs, *slots), program.avals)
    first = len(body.program.outputs)
    going, length = _begin(given, trips)
    state, count = list(given.carries), 0
    rows: list[list[Any]] = [[] for _ in slots]
    while count < length and going and (limit is None or count < limit):
        at = length - 1 - count if backwards else count
        results = interpret(program, [at, *given.fixed, *state, *[stack[at] for stack in given.stacks]])
        state = results[:carries]
        going = bool(results[carries]) if trips == WHILE else True
        for kept, row in zip(rows, results[first:], strict=True):
            kept.append(row)
        count += 1
    made: dict[Pick, Any] = {("carry", i): value for i, value in enumerate(state)}
    made[COUNT] = np.int64(count)
    for slot, kept in zip(slots, rows, strict=True):
        aval = program.avals[slot]
        made["stack", slot] = np.array(kept[::-1] if backwards else kept, aval.dtype).reshape(
            count, *aval.shape
        )
    return [made[result_index] for result_index in picks]


def _begin(given: Parts, trips: int) -> tuple[bool, float]:
    """Whether there is an iteration at all, and the number of iterations at most."""
    if trips == WHILE:
        return bool(given.head[0]), float("inf")
    return True, int(given.head[0]) if trips == COUNTED else trips


# ---- the gradient ----------------------------------------------------------------------------------------------------


def _vjp(
    cotangents: Mapping[Pick, Sequence[Symbol]],
    along: Sequence[int],
    operands: Sequence[Symbol],
    *,
    body: Body,
    fixed: int,
    carries: int,
    trips: int,
    limit: int | None,
    backwards: bool,
    again: bool,
) -> dict[int, Symbol]:
    """The gradient of a loop is a loop in the other direction, over what the first one has stacked for it."""
    params: dict[str, Any] = {
        "body": body, "fixed": fixed, "carries": carries, "trips": trips, "limit": limit,
        "backwards": backwards, "again": again,
    }  # fmt: skip
    return _Gradient(cotangents, along, operands, params).result()


class _Gradient:
    """The gradient of one run; see `result`."""

    def __init__(
        self,
        cotangents: Mapping[Pick, Sequence[Symbol]],
        along: Sequence[int],
        operands: Sequence[Symbol],
        params: dict[str, Any],
    ) -> None:
        self.cotangents = cotangents
        self.operands = operands
        self.params = params
        self.program = params["body"].program
        fixed, carries = params["fixed"], params["carries"]
        self.given = Parts.of_operands(operands, params["trips"], fixed, carries)
        self.inputs = Parts.of_body(params["body"], fixed, carries)
        heads = len(self.given.head)
        self.positions = Parts.of(range(len(operands)), heads, fixed, carries)
        followed = set(along)
        self.fixed = [
            s for s, i in zip(self.inputs.fixed, self.positions.fixed, strict=True) if i in followed
        ]
        self.stacks = [
            s for s, i in zip(self.inputs.stacks, self.positions.stacks, strict=True) if i in followed
        ]
        start = [s for s, i in zip(self.inputs.carries, self.positions.carries, strict=True) if i in followed]
        self.active = self._active(start)

    def _active(self, start: list[int]) -> list[int]:
        """The numbers of the carries that depend on what is followed, at the beginning or later."""
        inputs = self.inputs.carries
        active = set(start)
        while True:
            reached = active_slots(self.program, [*self.fixed, *self.stacks, *active])
            more = {inputs[i] for i, out in enumerate(self.program.outputs[: len(inputs)]) if out in reached}
            if more <= active:
                return [i for i, slot in enumerate(inputs) if slot in active]
            active |= more

    def _pullback(self) -> tuple[list[int], list[int], Pullback]:
        """The carries with a cotangent, the stacked slots with one, and the reverse pass of the body."""
        inputs, outputs = self.inputs.carries, self.program.outputs
        reached = active_slots(self.program, [*self.fixed, *self.stacks, *[inputs[i] for i in self.active]])
        slots = [
            number
            for (kind, number), parts in self.cotangents.items()
            if kind == "stack" and number in reached
            for _ in parts
        ]
        numbers = {number for kind, number in self.cotangents if kind == "carry"} & set(self.active)
        sources = [*self.fixed, *[inputs[i] for i in self.active], *self.stacks]
        while True:
            order = sorted(numbers)
            pullback = pulled_back(self.program, [*[outputs[i] for i in order], *slots], sources)
            more = {i for i in self.active if inputs[i] in pullback.gradients}
            if more <= numbers:
                return order, slots, pullback
            numbers |= more

    def result(self) -> dict[int, Symbol]:
        """The cotangents of the operands, by number."""
        carried, stacked, pullback = self._pullback()
        gradients, avals = pullback.gradients, self.program.avals
        fixed = [slot for slot in self.fixed if slot in gradients]
        rows = [slot for slot in self.stacks if slot in gradients]
        if not (carried or fixed or rows):
            return {}
        free = {*self.program.inputs} - {*self.inputs.carries}
        saved, used = saved_slots(self.program, pullback.needed(), free)
        sums = [pullback.builder.new_slot(avals[slot]) for slot in fixed]
        outputs = [
            gradients.get(self.inputs.carries[i]) or pullback.zeros(avals[self.inputs.carries[i]])
            for i in carried
        ]
        outputs += [_sum(pullback, before, gradients[slot]) for before, slot in zip(sums, fixed, strict=True)]
        outputs += [gradients[slot] for slot in rows]
        kept = [(s, o) for s, o in zip(self.inputs.fixed, self.given.fixed, strict=True) if s in used]
        read = [(s, o) for s, o in zip(self.inputs.stacks, self.given.stacks, strict=True) if s in used]
        read += [(slot, self._pick(stack(slot))) for slot in saved]
        ct_carried, ct_stacked = pullback.cotangents[: len(carried)], pullback.cotangents[len(carried) :]
        parts = [part for slot in dict.fromkeys(stacked) for part in self.cotangents["stack", slot]]
        read += [(symbol.slot, part) for symbol, part in zip(ct_stacked, parts, strict=True)]
        body = pullback.body(
            [
                self.program.inputs[0],
                *[slot for slot, _ in kept],
                *[symbol.slot for symbol in (*ct_carried, *sums)],
                *[slot for slot, _ in read],
            ],
            outputs,
        )
        begin = [
            total(self.cotangents.get(carry(i), ())) or zeros(self.given.carries[i].aval) for i in carried
        ]
        begin += [zeros(avals[slot]) for slot in fixed]
        operands = [*self._count(), *[o for _, o in kept], *begin, *[o for _, o in read]]
        params = {
            "body": body, "fixed": len(kept), "carries": len(begin), "limit": None, "again": self.params["again"],
            "trips": self.params["trips"] if self.params["trips"] >= 0 else COUNTED,
            "backwards": not self.params["backwards"],
        }  # fmt: skip
        picks = [*[carry(i) for i in range(len(begin))]]
        picks += [stack(slot) for slot in body.program.outputs[len(begin) :]]
        results = [loop_op.bind(*operands, **params, result_index=result_index) for result_index in picks]
        sources = [self._position(self.inputs.carries[i]) for i in carried]
        sources += [self._position(slot) for slot in (*fixed, *rows)]
        return dict(zip(sources, results, strict=True))

    def _position(self, slot: int) -> int:
        """The number of the operand that comes in at an input of the body."""
        return len(self.given.head) + self.program.inputs.index(slot) - 1

    def _pick(self, result_index: Pick) -> Symbol:
        """A further result of the loop."""
        symbol: Symbol = loop_op.bind(*self.operands, **self.params, result_index=result_index)
        return symbol

    def _count(self) -> tuple[Symbol, ...]:
        if self.params["trips"] == WHILE:
            return (self._pick(COUNT),)
        return self.given.head


def _sum(pullback: Pullback, before: Symbol, part: Symbol) -> Symbol:
    with recording_with(pullback.builder):
        symbol: Symbol = add_op.bind(before, part)
    return symbol


def _flow(
    follow: Follow,
    arriving: Sequence[Flow | None],
    *,
    body: Body,
    fixed: int,
    carries: int,
    trips: int,
    result_index: Pick,
    **params: Any,
) -> Flow | None:
    """How a result depends on the sources of a gradient: what one iteration adds comes in at the next."""
    given = Parts.of_operands(arriving, trips, fixed, carries)
    outputs = body.program.outputs[:carries]
    state, before = given.carries, None
    while state != before:
        at = follow(body.program, [None, *given.fixed, *state, *given.stacks])
        before = state
        state = tuple([joined([s, at.get(out)]) for s, out in zip(state, outputs, strict=True)])
    kind, number = result_index
    if kind == "carry":
        return at.get(outputs[number]) if trips > 0 else state[number]
    return at.get(number) if kind == "stack" else None


def _batch(n: int, stacked: tuple[bool, ...], *operands: Symbol, **params: Any) -> Any:
    return stacked_loop(loop_op, n, stacked, operands, **params)


loop_op: Primitive = Primitive(
    "loop",
    abstract_eval=_result,
    impl=lambda *operands, result_index, **params: _run(operands, [result_index], **params)[0],
    vjp=lambda *_, **__: None,
    lowering=Control("loop", _run, _vjp, _flow),
    batch=_batch,
)
"""One result of a loop. The parameters besides `pick`: the `body`; how many operands are `fixed` and how many
`carries`; `trips`, the number of iterations, `WHILE` or `COUNTED`; `limit`, the most iterations of a `WHILE`; whether
it runs `backwards` through its stacks; and whether a gradient of what it is part of runs it `again` instead of keeping
values."""
