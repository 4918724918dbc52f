"""`loop_op`: loops of known and of unknown length.

An op is one result of a loop. Its parameter `result_index` names the result: the final value of a carry, the stacked
values of a slot of the body in all iterations, or the number of iterations. The gradient of a loop records the values
it needs from each iteration as further results of the same run. Results without an op are not computed.

The body's inputs are the number of the iteration (int64), the fixed operands, which are the same in all iterations, the
carries, and a row of each stack. Its outputs begin with the new carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.control.batched_control import stacked_loop
from jittape.control.body import Pullback, active_slots, total, zeros
from jittape.control.extended_body import ExtendedBody
from jittape.control.loop_parts import COUNT, COUNTED, WHILE, Parts, Pick, carry, live_part, stack
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
    recompute: bool,
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
    recompute: bool,
) -> list[Any]:
    given = Parts.of_operands(operands, trips, fixed, carries)
    slots = list(dict.fromkeys(number for kind, number in picks if kind == "stack"))
    used = frozenset(number for kind, number in picks if kind == "carry")
    live, program = live_part(body, Parts.of_body(body, fixed, carries), used, tuple(slots), trips)
    positions = [body.program.inputs.index(slot) for slot in program.inputs]
    first = len(live) + (trips == WHILE)
    going, length = _begin(given, trips)
    state, count = list(given.carries), 0
    rows: list[list[Any]] = [[] for _ in slots]
    while count < length and going and (limit is None or count < limit):
        at = length - 1 - count if backwards else count
        values = [at, *given.fixed, *state, *[stack[at] for stack in given.stacks]]
        outputs = interpret(program, [values[position] for position in positions])
        for i, value in zip(live, outputs, strict=False):
            state[i] = value
        going = bool(outputs[len(live)]) if trips == WHILE else True
        for kept, row in zip(rows, outputs[first:], strict=True):
            kept.append(row)
        count += 1
    results: dict[Pick, Any] = {("carry", i): value for i, value in enumerate(state)}
    results[COUNT] = np.int64(count)
    for slot, kept in zip(slots, rows, strict=True):
        aval = body.program.avals[slot]
        results["stack", slot] = np.array(kept[::-1] if backwards else kept, aval.dtype).reshape(
            count, *aval.shape
        )
    return [results[result_index] for result_index in picks]


def _begin(given: Parts, trips: int) -> tuple[bool, float]:
    """Return whether the first iteration runs, and the maximum number of iterations."""
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
    recompute: bool,
) -> dict[int, Symbol]:
    """Record the gradient: a loop in the opposite direction, over values that the forward loop has stacked."""
    params: dict[str, Any] = {
        "body": body, "fixed": fixed, "carries": carries, "trips": trips, "limit": limit,
        "backwards": backwards, "recompute": recompute,
    }  # fmt: skip
    return _Gradient(cotangents, along, operands, params).result()


_Input = tuple[int, Symbol]
"""An input of the reverse body, by its slot in the pullback, and the operand of the reverse loop that supplies it."""


class _ReverseCarry(NamedTuple):
    """A carry of the reverse loop.

    Attributes
    ----------
    slot : int
        Input of the reverse body.
    begin : Symbol
        Value before the first reverse iteration.
    after : Symbol
        Value after an iteration, in the reverse body.
    source : int
        Input of the forward body whose gradient is the final value.
    """

    slot: int
    begin: Symbol
    after: Symbol
    source: int


class _Gradient:
    """The gradient of one run of a loop: a loop in the opposite direction.

    Attributes
    ----------
    given, inputs : Parts
        Operands of the loop, and the slots of its body's inputs.
    fixed, stacks : list of int
        Inputs of the body that gradients are requested for.
    active : list of int
        Numbers of the carries that depend on what gradients are requested for.
    carried : list of int
        Numbers of the carries that have a cotangent in the reverse loop.
    stacked : list of (int, Symbol)
        Stacked slots and their cotangents.
    pullback : Pullback
        Reverse pass of one iteration.
    further : ExtendedBody
        The body with the results of inner loops and branches that the reverse pass needs.
    """

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
        numbers = Parts.of_operands(range(len(operands)), params["trips"], fixed, carries)
        requested = set(along)
        self.fixed = [s for s, i in zip(self.inputs.fixed, numbers.fixed, strict=True) if i in requested]
        self.stacks = [s for s, i in zip(self.inputs.stacks, numbers.stacks, strict=True) if i in requested]
        start = {s for s, i in zip(self.inputs.carries, numbers.carries, strict=True) if i in requested}
        self.active = self._active_carries(start)
        self.stacked = self._stacked_cotangents()
        self.carried, self.pullback = self._pull_back()
        free = {*self.program.inputs} - {*self.inputs.carries}
        self.further = ExtendedBody(params["body"], self.pullback, free)

    def _active_carries(self, active: set[int]) -> list[int]:
        """Return the numbers of the carries that depend on a requested input, initially or in a later iteration."""
        inputs = self.inputs.carries
        while True:
            reached = active_slots(self.program, [*self.fixed, *self.stacks, *active])
            more = {inputs[i] for i, out in enumerate(self.program.outputs[: len(inputs)]) if out in reached}
            if more <= active:
                return [i for i, slot in enumerate(inputs) if slot in active]
            active = active | more

    def _stacked_cotangents(self) -> list[_Input]:
        """Return the stacked slots that depend on a requested input, with their cotangents."""
        carries = [self.inputs.carries[i] for i in self.active]
        reached = active_slots(self.program, [*self.fixed, *self.stacks, *carries])
        return [
            (number, part)
            for (kind, number), parts in self.cotangents.items()
            if kind == "stack" and number in reached
            for part in parts
        ]

    def _pull_back(self) -> tuple[list[int], Pullback]:
        """Return the numbers of the carries with a cotangent, and the reverse pass of the body."""
        inputs, outputs = self.inputs.carries, self.program.outputs
        sources = [*self.fixed, *[inputs[i] for i in self.active], *self.stacks]
        stacked = [slot for slot, _ in self.stacked]
        numbers = {number for kind, number in self.cotangents if kind == "carry"} & set(self.active)
        while True:
            order = sorted(numbers)
            pullback = Pullback(self.program, [*[outputs[i] for i in order], *stacked], sources)
            more = {i for i in self.active if inputs[i] in pullback.gradients}
            if more <= numbers:
                return order, pullback
            numbers |= more

    def result(self) -> dict[int, Symbol]:
        """Record the reverse loop and return the cotangents of the operands, by number."""
        pullback = self.pullback
        if not (self.carried or pullback.gradients):
            return {}
        fixed, stacks = self._values_read()
        carries = [*self._carry_gradients(), *self._fixed_gradients()]
        unchanged = [c for c in carries if c.after.slot == c.slot]
        carries = [c for c in carries if c.after.slot != c.slot]
        fixed += [(c.slot, c.begin) for c in unchanged]
        rows = [slot for slot in self.stacks if slot in pullback.gradients]
        inputs = [*[s for s, _ in fixed], *[c.slot for c in carries], *[s for s, _ in stacks]]
        outputs = [*[c.after for c in carries], *[pullback.gradients[slot] for slot in rows]]
        body = pullback.body([self.program.inputs[0], *inputs], outputs)
        operands = [*[o for _, o in fixed], *[c.begin for c in carries], *[o for _, o in stacks]]
        operands = [*self._trip_count(), *operands]
        params = {
            "body": body, "fixed": len(fixed), "carries": len(carries), "limit": None,
            "recompute": self.params["recompute"],
            "trips": self.params["trips"] if self.params["trips"] >= 0 else COUNTED,
            "backwards": not self.params["backwards"],
        }  # fmt: skip
        indices = [carry(i) for i in range(len(carries))]
        indices += [stack(slot) for slot in body.program.outputs[len(carries) :]]
        results = [loop_op.bind(*operands, **params, result_index=index) for index in indices]
        sources = [*[c.source for c in carries], *rows]
        found = {self._operand_number(slot): part for slot, part in zip(sources, results, strict=True)}
        return found | {self._operand_number(c.source): c.begin for c in unchanged}

    def _values_read(self) -> tuple[list[_Input], list[_Input]]:
        """Return the values that the reverse body reads: those of all iterations, and those with one row each."""
        saved, used = self.further.saved, self.further.used
        fixed = [(s, o) for s, o in zip(self.inputs.fixed, self.given.fixed, strict=True) if s in used]
        rows = [(s, o) for s, o in zip(self.inputs.stacks, self.given.stacks, strict=True) if s in used]
        rows += [(slot, self._saved_rows(slot)) for slot in saved]
        incoming = self.pullback.cotangents[len(self.carried) :]
        rows += [(symbol.slot, part) for symbol, (_, part) in zip(incoming, self.stacked, strict=True)]
        return fixed, rows

    def _carry_gradients(self) -> Iterator[_ReverseCarry]:
        """Yield the cotangents of the carries; they begin as those of the final values."""
        pullback = self.pullback
        for i, incoming in zip(self.carried, pullback.cotangents, strict=False):
            source = self.inputs.carries[i]
            begin = total(self.cotangents.get(carry(i), ())) or zeros(self.given.carries[i].aval)
            after = pullback.gradients.get(source) or pullback.zeros(self.program.avals[source])
            yield _ReverseCarry(incoming.slot, begin, after, source)

    def _fixed_gradients(self) -> Iterator[_ReverseCarry]:
        """Yield the gradients of the fixed operands: sums over the iterations, which begin as zeros."""
        for source in self.fixed:
            part = self.pullback.gradients.get(source)
            if part is not None:
                aval = self.program.avals[source]
                before = self.pullback.builder.new_slot(aval)
                yield _ReverseCarry(before.slot, zeros(aval), self._sum(before, part), source)

    def _sum(self, before: Symbol, part: Symbol) -> Symbol:
        with recording_with(self.pullback.builder):
            symbol: Symbol = add_op.bind(before, part)
        return symbol

    def _operand_number(self, slot: int) -> int:
        """Return the number of the operand that supplies an input of the body."""
        return len(self.given.head) + self.program.inputs.index(slot) - 1

    def _further_result(self, index: Pick) -> Symbol:
        """Record a further result of the loop itself."""
        symbol: Symbol = loop_op.bind(*self.operands, **self.params, result_index=index)
        return symbol

    def _saved_rows(self, slot: int) -> Symbol:
        """Record the stack of the values of a slot of the program or of an op added to it."""
        params = {**self.params, "body": self.further.body}
        symbol: Symbol = loop_op.bind(
            *self.operands, **params, result_index=stack(self.further.number.get(slot, slot))
        )
        return symbol

    def _trip_count(self) -> tuple[Symbol, ...]:
        """Return the head of the reverse loop: the number of iterations, if it is known only at run time."""
        return (self._further_result(COUNT),) if self.params["trips"] == WHILE else self.given.head


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
    """Return the flow of a result; flows of the carries are propagated until they no longer change."""
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
    any_dtype=True,
)
"""One result of a loop, the one that `result_index` names.

Parameters: `body`; `fixed` and `carries`, the numbers of such operands; `trips`, the number of iterations, `WHILE` or
`COUNTED`; `limit`, the maximum number of iterations of a `WHILE` loop; `backwards`, whether the loop runs backwards
through its stacks; `recompute`, whether the gradient of an enclosing loop runs it again instead of saving values."""
