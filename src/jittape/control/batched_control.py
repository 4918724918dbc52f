"""Batching of loops and branches: batched bodies, and one loop for all rows.

A batch has one more dimension, the first. The arrays that a loop iterates over have the batch dimension second, so that
the data of one iteration is contiguous. Stacks of a dynamic length have it second everywhere: only loops read them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.control.body import body_of, inlined, numbered, zeros
from jittape.control.loop_parts import COUNT, WHILE, Parts, Pick, carry
from jittape.core.builder import Builder, Symbol, literal
from jittape.core.forms import Alias, Concatenate, Control, Iota, Map, Pad, Reduce, Scan, View
from jittape.core.primitive import Primitive, recording_with
from jittape.core.program import Aval, Body, Program, is_dynamic_dim
from jittape.primitives.broadcast import broadcast, iota, sum_op, to_shape
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.primitives.elementwise.comparison import (
    equal_op,
    less_op,
    logical_and_op,
    logical_not_op,
    where_op,
)
from jittape.primitives.indexing.gather_ops import gather_op
from jittape.primitives.reduce.reductions import any_op, max_op
from jittape.primitives.shape.views import permuted
from jittape.transform.batching import Shared, batched_values, broadcast_rows

__all__ = ["stacked_body", "stacked_branch", "stacked_loop", "stacked_rule"]


class _BatchedBody:
    """A body whose inputs `slots` are batches of `n` rows.

    Attributes
    ----------
    values, shared : mappings of int to Symbol
        Batched values by slot, and new values of slots that all rows share.
    further : list of Symbol
        Further inputs, with the avals `further`.
    going : Symbol or None
        For rows that end apart, the rows that go on: ``going(*further)``. If an op may fail, a row that has ended
        computes what one of them does: its own values might be an index that is out of bounds.
    """

    def __init__(
        self,
        program: Program,
        n: int,
        slots: Sequence[int],
        further: Sequence[Aval] = (),
        going: Callable[..., Symbol] | None = None,
    ) -> None:
        self.program = program
        self.n = n
        self.builder = Builder(max(program.avals, default=-1) + 1)
        self.given = {}
        for slot in slots:
            aval = program.avals[slot]
            self.given[slot] = self.builder.new_slot(aval._replace(shape=(n, *aval.shape)))
        self.further = [self.builder.new_slot(aval) for aval in further]
        self.going: Symbol | None = None
        values = self.given
        if going is not None:
            with recording_with(self.builder):
                self.going = going(*self.further)
                if n and _may_fail(program):
                    rows = _rows_going(self.going, n)
                    values = {slot: gather_op.bind(x, rows, axis=0) for slot, x in values.items()}
        slots_of_ops = [op.out for op in program.ops]
        self.values, self.shared = batched_values(
            self.builder, n, program.ops, program.avals, values, slots_of_ops
        )

    def symbol(self, slot: int, stacked: bool) -> Symbol:
        """Return the new value of a slot; broadcast it to a batch if `stacked`."""
        if slot in self.values:
            return self.values[slot]
        value = self.shared.get(slot, Symbol(slot, self.program.avals[slot]))
        with recording_with(self.builder):
            return broadcast_rows(value, self.n) if stacked else value

    def program_of(self, outputs: Sequence[Symbol]) -> Program:
        """Return the program that computes `outputs`; its inputs keep their order."""
        inputs = [self.given[slot].slot if slot in self.given else slot for slot in self.program.inputs]
        # Ops without effect that have been replaced are removed as dead code.
        replaced = {*self.values, *self.shared}
        kept = [op for op in self.program.ops if not (op.primitive.effectful and op.out in replaced)]
        ops = (*kept, *self.builder.ops)
        avals = {**self.program.avals, **self.builder.avals}
        return Program(tuple(inputs), ops, tuple([symbol.slot for symbol in outputs]), avals)


_NEVER_FAIL = (Map, View, Pad, Concatenate, Alias, Iota, Reduce, Scan)
"""Forms of ops that compute something for all values of their operands."""


def _may_fail(program: Program) -> bool:
    """Return whether an op of a body may raise for some values, such as an index that is out of bounds."""
    for op in program.ops:
        form, params = op.primitive.lowering, dict(op.params)
        if isinstance(form, Control):
            bodies = [params["body"]] if "body" in params else params.get("bodies", [])
            if not bodies or any(_may_fail(body.program) for body in bodies):
                return True
        elif op.primitive.effectful or not (op.primitive.is_matmul or isinstance(form, _NEVER_FAIL)):
            return True
    return False


def _rows_going(going: Symbol, n: int) -> Any:
    """Return the number of each row that is `going`, and of one such row in place of the others."""
    numbers = iota((n,), 0, np.dtype(np.int64))
    zeros = broadcast_rows(literal(0, numbers.dtype), n)
    one = max_op.bind(where_op.bind(going, numbers, zeros), axes=(0,))
    return where_op.bind(going, numbers, broadcast_rows(one, n))


def stacked_body(body: Body, n: int, slots: Sequence[int]) -> Body:
    """Return the body that takes batches of `n` rows at the inputs `slots` and returns batches."""
    new = _BatchedBody(body.program, n, slots)
    return body_of(new.program_of([new.symbol(slot, True) for slot in body.program.outputs]))


def stacked_rule(rule: Body, n: int, slots: Sequence[int], stacked: Sequence[bool]) -> Body:
    """Return the body that takes batches at the inputs `slots`; outputs that are not `stacked` are sums over rows."""
    new = _BatchedBody(rule.program, n, slots)
    outputs = [new.symbol(slot, True) for slot in rule.program.outputs]
    with recording_with(new.builder):
        outputs = [x if s else sum_op.bind(x, axes=(0,)) for x, s in zip(outputs, stacked, strict=True)]
    return body_of(new.program_of(outputs))


def stacked_loop(
    loop: Primitive,
    n: int,
    stacked: tuple[bool, ...],
    operands: Sequence[Any],
    *,
    body: Body,
    fixed: int,
    carries: int,
    trips: int,
    result_index: Pick,
    **params: Any,
) -> Any:
    """Apply the batch rule of `loop`."""
    flags = Parts.of_operands(stacked, trips, fixed, carries)
    given = Parts.of_operands(operands, trips, fixed, carries)
    inputs = Parts.of_body(body, fixed, carries)
    params |= {"fixed": fixed, "trips": trips, "carries": carries}
    if trips == WHILE:
        result = _stacked_while(loop, n, flags, given, inputs, body, result_index, params)
        if result is not None:
            return result
    elif any(flags.head):
        return _stacked_counted(loop, n, flags, given, inputs, body, result_index, params)
    chosen = [
        s for s, f in zip((*inputs.fixed, *inputs.stacks), (*flags.fixed, *flags.stacks), strict=True) if f
    ]
    state = {s for s, f in zip(inputs.carries, flags.carries, strict=True) if f}
    new, state = _batch_carries(body.program, n, chosen, inputs.carries, state)
    new_body, new_index = _batched_loop_body(new, inputs.carries, state, result_index)
    begin = [
        x if f else broadcast_rows(x, n) if slot in state else x
        for x, f, slot in zip(given.carries, flags.carries, inputs.carries, strict=True)
    ]
    rows = [_swap_batch_axis(x) if f else x for x, f in zip(given.stacks, flags.stacks, strict=True)]
    result = loop.bind(
        *given.head, *given.fixed, *begin, *rows, body=new_body, result_index=new_index, **params
    )
    kind, number = result_index
    if kind == "carry":
        return result if inputs.carries[number] in state else Shared(result)
    if kind == "count" or number not in new.values:
        return Shared(result)
    return _swap_batch_axis(result)


def _batched_loop_body(
    new: _BatchedBody, carries: Sequence[int], state: set[int], result_index: Pick
) -> tuple[Body, Pick]:
    """Return the body of a batched loop whose carries in `state` are batches, and the index of the same result."""
    slots = new.program.outputs
    outputs = [new.symbol(slot, before in state) for slot, before in zip(slots, carries, strict=False)]
    outputs += [new.symbol(slot, False) for slot in slots[len(carries) :]]
    return _body_with(new, outputs, result_index)


def _body_with(
    new: _BatchedBody, outputs: Sequence[Symbol], result_index: Pick, first: int = 0
) -> tuple[Body, Pick]:
    """Return the body with `outputs`, its further inputs from position `first`, and the index of the result."""

    def body_for(wanted: Sequence[Symbol]) -> tuple[Body, dict[int, int]]:
        program = new.program_of(wanted)
        further = [symbol.slot for symbol in new.further]
        all_inputs = (*program.inputs[:first], *further, *program.inputs[first:])
        return numbered(Program(all_inputs, program.ops, program.outputs, program.avals))

    body, new_slots = body_for(outputs)
    kind, number = result_index
    if kind != "stack":
        return body, result_index
    requested = new.symbol(number, False)
    if requested.slot not in new_slots:
        body, new_slots = body_for([*outputs, requested])
    return body, (kind, new_slots[requested.slot])


def _batch_carries(
    program: Program, n: int, chosen: list[int], carries: Sequence[int], state: set[int]
) -> tuple[_BatchedBody, set[int]]:
    """Return the body with batches at `chosen` and at all carries that become batches, and these carries."""
    while True:
        new = _BatchedBody(program, n, [*chosen, *sorted(state)])
        more = {slot for slot, out in zip(carries, program.outputs, strict=False) if out in new.values}
        if more <= state:
            return new, state
        state = state | more


def _swap_batch_axis(x: Symbol) -> Any:
    """Exchange the first two dimensions of a batched stack; return a stack of dynamic length unchanged."""
    return x if is_dynamic_dim(x.aval) else permuted(x, (1, 0, *range(2, x.aval.ndim)))


def _stacked_while(
    loop: Primitive,
    n: int,
    flags: Parts,
    given: Parts,
    inputs: Parts,
    body: Body,
    result_index: Pick,
    params: dict[str, Any],
) -> Any:
    """Record a loop whose number of iterations differs between rows; return None if all rows end together.

    The loop runs until the last row ends. Rows that have ended keep their carries. Two more carries tell which rows go
    on, and count their iterations.
    """
    program, count = body.program, len(inputs.carries)
    chosen = [s for s, f in zip(inputs.fixed, flags.fixed, strict=True) if f]
    state = {s for s, f in zip(inputs.carries, flags.carries, strict=True) if f}
    new, _ = _batch_carries(program, n, chosen, inputs.carries, state)
    if not any(flags.head) and program.outputs[count] not in new.values:
        return None
    further = [given.head[0].aval._replace(shape=(n,)), Aval((n,), np.dtype(np.int64))]
    new = _BatchedBody(program, n, [*chosen, *inputs.carries], further, lambda going, passed: going)
    going, passed = new.further
    kept = _kept_carries(new, inputs.carries)
    with recording_with(new.builder):
        one = broadcast_rows(literal(1, passed.aval.dtype), n)
        counted = where_op.bind(going, add_op.bind(passed, one), passed)
        still = logical_and_op.bind(going, new.symbol(program.outputs[count], True))
        more = any_op.bind(still, axes=(0,))
    first = 1 + len(inputs.fixed) + count
    outputs = [*kept, still, counted, more]
    new_body, pick = _body_with(new, outputs, result_index, first)
    begin = [x if f else broadcast_rows(x, n) for x, f in zip(given.carries, flags.carries, strict=True)]
    head = given.head[0] if flags.head[0] else broadcast_rows(given.head[0], n)
    result = loop.bind(
        any_op.bind(head, axes=(0,)),
        *given.fixed,
        *begin,
        head,
        broadcast_rows(literal(0, passed.aval.dtype), n),
        body=new_body,
        result_index=carry(count + 1) if result_index == COUNT else pick,
        **{**params, "carries": count + 2},
    )
    return _rows_of(new, result, result_index)


def _stacked_counted(
    loop: Primitive,
    n: int,
    flags: Parts,
    given: Parts,
    inputs: Parts,
    body: Body,
    result_index: Pick,
    params: dict[str, Any],
) -> Any:
    """Record a loop with a number of iterations for each row, as in the gradient of a loop whose rows end apart.

    The loop runs as often as the longest row. An iteration beyond the end of a row keeps the carries of the row: the
    rows of stacks belong to the number of the iteration, in both directions.
    """
    lengths = given.head[0]
    if result_index == COUNT:
        return lengths
    chosen = [
        s for s, f in zip((*inputs.fixed, *inputs.stacks), (*flags.fixed, *flags.stacks), strict=True) if f
    ]
    number = body.program.inputs[0]

    def going(ends: Symbol) -> Any:
        return less_op.bind(broadcast_rows(Symbol(number, body.program.avals[number]), n), ends)

    new = _BatchedBody(body.program, n, [*chosen, *inputs.carries], [lengths.aval], going)
    kept = _kept_carries(new, inputs.carries)
    new_body, pick = _body_with(new, kept, result_index, 1 + len(inputs.fixed))
    begin = [x if f else broadcast_rows(x, n) for x, f in zip(given.carries, flags.carries, strict=True)]
    result = loop.bind(
        max_op.bind(lengths, axes=(0,)) if n else literal(0, lengths.dtype),
        *given.fixed,
        lengths,
        *begin,
        *given.stacks,
        body=new_body,
        result_index=pick,
        **{**params, "fixed": params["fixed"] + 1},
    )
    return _rows_of(new, result, result_index)


def _rows_of(new: _BatchedBody, result: Any, result_index: Pick) -> Any:
    """Return the result of a loop whose rows end apart: each has its own, except for stacks of what they share."""
    kind, number = result_index
    return Shared(result) if kind == "stack" and number not in new.values else result


def _kept_carries(new: _BatchedBody, carries: Sequence[int]) -> list[Symbol]:
    """Return the carries after an iteration: the new values in the rows that go on."""
    after = [new.symbol(slot, True) for slot in new.program.outputs[: len(carries)]]
    with recording_with(new.builder):
        return [
            where_op.bind(
                broadcast(to_shape(new.going, (new.n, *(1,) * (x.aval.ndim - 1))), x.shape),
                x,
                new.given[slot],
            )
            for x, slot in zip(after, carries, strict=True)
        ]


def stacked_branch(
    branch: Primitive,
    n: int,
    stacked: tuple[bool, ...],
    operands: Sequence[Any],
    bodies: tuple[Body, ...],
    result_index: int,
) -> Any:
    """Apply the batch rule of `branch`. If rows select different branches, all branches run.

    A branch that may fail runs if a row selects it; the other rows then compute what this row does.
    """
    which, *rest = operands
    flags = stacked[1:]
    slots = [i for i, flag in enumerate(flags) if flag]
    new_bodies = [stacked_body(body, n, slots) for body in bodies]
    if not stacked[0]:
        return branch.bind(which, *rest, bodies=tuple(new_bodies), result_index=result_index)
    numbers = [broadcast(literal(number, which.dtype), which.shape) for number in range(len(bodies) - 1)]
    taken = [equal_op.bind(which, number) for number in numbers]
    last = _none_of(taken, n)

    def result_of(number: int, rows: Any) -> Any:
        body = new_bodies[number]
        if not (n and _may_fail(bodies[number].program)):
            return inlined(body, rest)[result_index]
        own = _rows_going(rows, n)
        operands = [gather_op.bind(x, own, axis=0) if f else x for x, f in zip(rest, flags, strict=True)]
        is_taken = any_op.bind(rows, axes=(0,))
        selected = where_op.bind(is_taken, literal(1, which.dtype), literal(0, which.dtype))
        return branch.bind(selected, *operands, bodies=(_zeros_of(body), body), result_index=result_index)

    result = result_of(len(bodies) - 1, last)
    for number, rows in enumerate(taken):
        condition = broadcast(to_shape(rows, (n, *(1,) * (result.aval.ndim - 1))), result.shape)
        result = where_op.bind(condition, result_of(number, rows), result)
    return result


def _none_of(conditions: Sequence[Any], n: int) -> Any:
    """Return the rows where no condition holds."""
    found = broadcast_rows(literal(True, np.dtype(bool)), n)
    for condition in conditions:
        found = logical_and_op.bind(found, logical_not_op.bind(condition))
    return found


def _zeros_of(body: Body) -> Body:
    """Return a body with the same inputs whose outputs are zeros."""
    program = body.program
    builder = Builder(max(program.avals, default=-1) + 1)
    with recording_with(builder):
        outputs = [zeros(aval) for aval in program.output_avals()]
    avals = {slot: program.avals[slot] for slot in program.inputs}
    slots = tuple([symbol.slot for symbol in outputs])
    return body_of(Program(program.inputs, tuple(builder.ops), slots, {**avals, **builder.avals}))
