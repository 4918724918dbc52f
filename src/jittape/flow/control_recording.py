"""Recording of Python functions as the bodies of loop and branch ops.

`Loop` and `branch` take flat lists of tensors; their callers flatten the user's nested structures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jittape.control.body import body_of, canonical
from jittape.control.branch import branch_op
from jittape.control.loop import loop_op
from jittape.control.loop_parts import WHILE, carry, stack
from jittape.core.builder import WeakScalar
from jittape.core.dtypes import common_dtype, is_floating
from jittape.core.primitive import any_dtype
from jittape.core.program import Aval, Body, Program
from jittape.core.symbolic.extents import applied
from jittape.errors import ControlFlowError, DTypeError, ShapeError
from jittape.primitives.elementwise.comparison import logical_and
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.body_tracing import Recorded
from jittape.recording.convert import convert_to_tensor
from jittape.recording.extent_trace import body_trace
from jittape.recording.tensor import Tensor
from jittape.recording.trace import current_trace
from jittape.value_classes import value_class

__all__ = ["INT64", "Loop", "branch", "predicate", "resolve_weak", "segment_length"]

INT64 = np.dtype(np.int64)
_NUMBER = Aval((), INT64)

Step = Callable[[Any, list[Any], list[Any]], tuple[list[Any], list[Any]]]
"""``step(iteration, carries, rows) -> (new carries, values to stack)``."""


@value_class
class Loop:
    """Description of a loop to record.

    Attributes
    ----------
    op : str
        Public name of the loop, for error messages.
    function : callable
        The user's function, which `step` calls.
    step : Step
    names : tuple of str
        Names of the carries in error messages.
    going : callable or None
        Predicate of the carries, for a loop of unknown length.
    weak : mapping of int to number
        Carries that begin as Python numbers, by position. They take the dtype that the body gives them.
    """

    op: str
    function: Callable[..., Any]
    step: Step
    names: tuple[str, ...]
    going: Callable[[list[Any]], Any] | None = None
    weak: Mapping[int, Any] = MappingProxyType({})

    def run(
        self,
        carried: list[Any],
        stacks: list[Any],
        trips: int,
        backwards: bool = False,
        limit: int | None = None,
        recompute: bool = False,
    ) -> tuple[list[Any], list[Any]]:
        """Record the loop and return the final carries and the stacked results of all steps.

        With `recompute`, the gradient of an enclosing loop runs this loop again instead of saving its values.
        """
        return self._widened(
            carried, lambda state: self._run(state, stacks, trips, backwards, limit, recompute)
        )

    def _widened(
        self, carried: list[Any], run: Callable[[list[Any]], tuple[list[Any], list[Any]]]
    ) -> tuple[list[Any], list[Any]]:
        """Call `run`, and repeat it whenever a carry that began as a Python number needs a wider dtype."""
        for _ in self.weak:
            try:
                return run(carried)
            except DTypeError as error:
                number, dtype = getattr(error, "wider_carry", (-1, None))
                if number not in self.weak:  # another error, or the carry of a loop inside
                    raise
                carried = list(carried)
                carried[number] = convert_to_tensor(self.weak[number], dtype)
        return run(carried)

    def _run(
        self,
        carried: list[Any],
        stacks: list[Any],
        trips: int,
        backwards: bool,
        limit: int | None,
        recompute: bool,
    ) -> tuple[list[Any], list[Any]]:
        outer = current_trace()
        trace = body_trace(self.op, outer, self.function, trips if trips >= 0 else None)
        rows = [Aval(t.aval.shape[1:], t.aval.dtype) for t in stacks]
        avals = [_NUMBER, *[t.aval for t in carried], *rows]
        n = len(carried)

        def function(given: list[Tensor]) -> list[Any]:
            after, out = self.step(given[0], given[1 : 1 + n], given[1 + n :])
            after = [self._checked_carry(i, *pair) for i, pair in enumerate(zip(carried, after, strict=True))]
            return [*after, *([] if self.going is None else [self.going(after)]), *out]

        try:
            tensors, _ = trace.record(function, avals, list)
            recorded = trace.finished(tensors, len(avals))
        finally:
            trace.close()
        body = recorded.bodies.get(n)
        if body is None:
            with outer.deriving():
                body = recorded.bodies[n] = _loop_body(recorded, n)
        first = n + (self.going is not None)
        picks = [carry(i) for i in range(n)] + [stack(slot) for slot in body.program.outputs[first:]]
        head = [] if self.going is None else [self.going(carried)]
        operands = [*head, *recorded.captured, *carried, *stacks, *recorded.rows]
        static = (body, len(recorded.captured), n, trips, limit, backwards, recompute, tuple(picks))
        results = outer.apply(_loop, tuple(operands), static)
        return list(results[:n]), list(results[n:])

    def _checked_carry(self, number: int, before: Any, after: Any) -> Tensor:
        """Return the new value of a carry as a tensor; raise if its shape or dtype differs from `before`."""
        op, name = self.op, self.names[number]
        tensor = convert_to_tensor(after, dtype_hint=before.aval.dtype)
        if tensor.aval.shape != before.aval.shape:
            raise ShapeError(
                f"[{op}] {name} has shape {before.shape} when the loop begins and {tensor.shape} after an iteration: "
                "the shape must stay the same; begin with the final shape, or return growing data as a result of "
                "each iteration"
            )
        if tensor.aval.dtype == before.aval.dtype:
            return tensor
        message = (
            f"[{op}] {name} is {before.dtype.name} when the loop begins and {tensor.dtype.name} after an iteration: "
            f"begin with a {tensor.dtype.name}, or use jt.cast(..., {before.dtype.name!r}) in the body"
        )
        error: Any = DTypeError(message)
        if common_dtype(before.aval.dtype, tensor.aval.dtype) == tensor.aval.dtype:
            error.wider_carry = number, tensor.aval.dtype  # `_widened` begins with it
        raise error

    def run_in_segments(
        self, carried: list[Any], stacks: list[Any], trips: int, backwards: bool, length: int
    ) -> tuple[list[Any], list[Any]]:
        """Record the loop as a loop over segments of `length` iterations, which its gradient recomputes."""
        return self._widened(
            carried, lambda state: self._run_in_segments(state, stacks, trips, backwards, length)
        )

    def _run_in_segments(
        self, carried: list[Any], stacks: list[Any], trips: int, backwards: bool, length: int
    ) -> tuple[list[Any], list[Any]]:
        segments, rest = divmod(trips, length)
        low, high = (rest, trips) if backwards else (0, segments * length)

        def segment(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
            first = number * length + low
            inner = self._shifted(lambda k: k + first)
            return inner.run(state, rows, length, backwards, recompute=True)

        parts = [reshape(t[low:high], (segments, length, *t.shape[1:])) for t in stacks]
        outer = Loop(self.op, self.function, segment, self.names)
        carried, out = outer.run(carried, parts, segments, backwards)
        out = [reshape(y, (segments * length, *y.shape[2:])) for y in out]
        if not rest:
            return carried, out
        begin = 0 if backwards else high
        tail = self._shifted(lambda k: k + begin)
        carried, more = tail.run(carried, [t[begin : begin + rest] for t in stacks], rest, backwards)
        pairs = zip(more, out, strict=True) if backwards else zip(out, more, strict=True)
        return carried, [concat(list(pair), 0) for pair in pairs]

    def _shifted(self, shift: Callable[[Any], Any]) -> Loop:
        return Loop(
            self.op, self.function, lambda k, state, rows: self.step(shift(k), state, rows), self.names
        )

    def run_while_in_segments(
        self, carried: list[Any], limit: int | None, length: int
    ) -> tuple[list[Any], list[Any]]:
        """Record a loop of unknown length as a loop over segments of at most `length` iterations.

        The gradient recomputes the segments.
        """
        return self._widened(carried, lambda state: self._run_while_in_segments(state, limit, length))

    def _run_while_in_segments(
        self, carried: list[Any], limit: int | None, length: int
    ) -> tuple[list[Any], list[Any]]:
        assert self.going is not None
        going = self.going
        if limit is not None:
            carried = [*carried, convert_to_tensor(0, INT64)]

        def continues(state: list[Any]) -> Any:
            return going(state) if limit is None else logical_and(going(state[:-1]), state[-1] < limit)

        def step(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
            after, out = self.step(number, state[: len(self.names)], rows)
            return [*after, *[count + 1 for count in state[len(self.names) :]]], out

        names = (*self.names, *(["the count"] if limit is not None else []))
        inner = Loop(self.op, self.function, step, names, continues)

        def segment(number: Any, state: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
            return inner.run(state, rows, WHILE, limit=length, recompute=True)

        outer = Loop(self.op, self.function, segment, names, continues)
        after, out = outer.run(carried, [], WHILE)
        return after[: len(self.names)], out


def _loop_body(recorded: Recorded, carries: int) -> Body:
    """Return the body with its inputs in the order of `loop_op`."""
    n_rows, n_captured = len(recorded.rows), len(recorded.captured)

    def in_order(program: Program) -> Program:
        given = len(program.inputs) - n_rows - n_captured
        captured = program.inputs[given + n_rows :]
        state, rows = program.inputs[1 : 1 + carries], program.inputs[1 + carries : given + n_rows]
        inputs = (program.inputs[0], *captured, *state, *rows)
        return canonical(Program(inputs, program.ops, program.outputs, program.avals))

    return Body.of(recorded.arranged(("loop", carries), in_order), recorded.is_derived)


@any_dtype
def _loop(*handles: Any) -> tuple[Any, ...]:
    *operands, body, fixed, carries, trips, limit, backwards, recompute, picks = handles
    head = int(trips < 0)
    slots = [None] * head + list(body.program.inputs[1:])
    operands = [resolve_weak(o, body, slot) for o, slot in zip(operands, slots, strict=True)]
    params = {
        "body": body, "fixed": fixed, "carries": carries, "trips": trips, "limit": limit,
        "backwards": backwards, "recompute": recompute,
    }  # fmt: skip
    return tuple([loop_op.bind(*operands, **params, result_index=result_index) for result_index in picks])


def resolve_weak(operand: Any, body: Body, slot: int | None) -> Any:
    """Return `operand` in the dtype of the body's input `slot`; a weak scalar without a slot takes its default."""
    if isinstance(operand, WeakScalar):
        return operand.default() if slot is None else operand.resolve(body.program.avals[slot].dtype)
    return operand


def predicate(op: str, value: Any, what: str = "cond") -> Tensor:
    """Return a condition as a tensor; raise if it is not a bool scalar."""
    tensor = convert_to_tensor(value)
    if tensor.aval.shape != ():
        raise ShapeError(
            f"[{op}] {what} must be a scalar, but has shape {tensor.shape}: use jt.reduce_all or jt.reduce_any, or "
            "jt.where to choose element by element"
        )
    if tensor.aval.dtype != np.bool_:
        raise DTypeError(
            f"[{op}] {what} must be a bool, but is {tensor.dtype.name}: write a comparison such as `x != 0`"
        )
    return tensor


def branch(
    op: str, which: Tensor, functions: Sequence[Callable[[], Any]], flatten: Callable[[Any], list[Any]]
) -> list[Any]:
    """Record a choice between functions and return the leaves of the result, each in the widest floating dtype."""
    outer = current_trace()
    recorded = [_recorded_branch(op, outer, function, flatten) for function in functions]
    wanted = _check_alike(op, recorded)
    if any([a.aval.dtype != dtype for one in recorded for a, dtype in zip(one.result, wanted, strict=True)]):

        def widened(result: Any) -> list[Any]:
            return [cast(leaf, dtype) for leaf, dtype in zip(flatten(result), wanted, strict=False)]

        recorded = [_recorded_branch(op, outer, function, widened) for function in functions]
    captured = [value for one in recorded for value in one.captured]
    firsts = _first_positions(captured)
    with outer.deriving():
        bodies = tuple([body_of(_without_repeated(p, firsts)) for p in _with_all_inputs(recorded)])
    operands = (cast(which, INT64), *[captured[i] for i in dict.fromkeys(firsts)])
    return list(outer.apply(_branch, operands, (bodies,))) if recorded[0].result else []


def _recorded_branch(
    op: str, outer: Any, function: Callable[[], Any], flatten: Callable[[Any], list[Any]]
) -> Recorded:
    trace = body_trace(op, outer, function, None)
    try:
        tensors, _ = trace.record(lambda _: function(), [], flatten)
        return trace.finished(tensors, 0)
    finally:
        trace.close()


def _check_alike(op: str, recorded: Sequence[Recorded]) -> list[Any]:
    """Return the dtypes of the results; raise if the branches return other numbers of tensors, shapes or dtypes.

    The dtypes of one result may differ if all of them are floating.
    """
    first = recorded[0].result
    dtypes = [a.aval.dtype for a in first]
    for number, one in enumerate(recorded[1:], 1):
        if len(one.result) != len(first):
            raise ControlFlowError(
                f"[{op}] the branches must return the same structure: branch 0 returns {len(first)} tensors, branch "
                f"{number} returns {len(one.result)}"
            )
        for i, (a, b) in enumerate(zip(first, one.result, strict=True)):
            if a.aval.shape != b.aval.shape:
                raise ShapeError(
                    f"[{op}] the branches must return the same shapes: branch 0 returns {a.shape}, branch {number} "
                    f"returns {b.shape}"
                )
            if is_floating(dtypes[i]) and is_floating(b.aval.dtype):
                dtypes[i] = common_dtype(dtypes[i], b.aval.dtype)
            elif a.aval.dtype != b.aval.dtype:
                raise DTypeError(
                    f"[{op}] the branches must return the same dtypes: branch 0 returns {a.dtype.name}, branch "
                    f"{number} returns {b.dtype.name}; use jt.cast in one of them"
                )
    return dtypes


def _with_all_inputs(recorded: Sequence[Recorded]) -> list[Program]:
    """Return the programs, each with the captured values of all of them as inputs."""
    programs = []
    for one in recorded:
        avals = dict(one.program.avals)
        free = max(avals, default=-1) + 1
        inputs: list[int] = []
        for other in recorded:
            if other is one:
                inputs += one.program.inputs
                continue
            for slot in other.program.inputs:
                avals[free] = other.program.avals[slot]
                inputs.append(free)
                free += 1
        programs.append(Program(tuple(inputs), one.program.ops, one.program.outputs, avals))
    return programs


def _first_positions(captured: Sequence[Any]) -> list[int]:
    """Return for each captured value the position of the first one that is the same tensor."""
    found: dict[Any, int] = {}
    return [
        found.setdefault(id(value), i) if isinstance(value, Tensor) else i for i, value in enumerate(captured)
    ]


def _without_repeated(program: Program, firsts: Sequence[int]) -> Program:
    """Return a program in which inputs that get the same value are one; `firsts` are the positions of the first."""
    inputs = program.inputs
    same = {slot: inputs[first] for slot, first in zip(inputs, firsts, strict=True) if slot != inputs[first]}
    if not same:
        return program
    ops = tuple([op._replace(args=tuple([same.get(s, s) for s in op.args])) for op in program.ops])
    outputs = tuple([same.get(s, s) for s in program.outputs])
    avals = {slot: aval for slot, aval in program.avals.items() if slot not in same}
    return Program(tuple([slot for slot in inputs if slot not in same]), ops, outputs, avals)


@any_dtype
def _branch(*handles: Any) -> tuple[Any, ...]:
    which, *operands, bodies = handles
    operands = [
        resolve_weak(o, bodies[0], slot) for o, slot in zip(operands, bodies[0].program.inputs, strict=True)
    ]
    count = len(bodies[0].program.outputs)
    return tuple([branch_op.bind(which, *operands, bodies=bodies, result_index=i) for i in range(count)])


def _rounded_up_root(trips: int) -> int:
    """Return the square root of a number of iterations, rounded up; at least 1."""
    return math.isqrt(max(0, trips - 1)) + 1


def segment_length(op: str, checkpoint: Any, trips: int | None) -> int | None:
    """Return the number of iterations per segment; None if the loop is not checkpointed."""
    if checkpoint is None:
        return None
    if checkpoint == "sqrt":
        if trips is None:
            raise ControlFlowError(
                f"[{op}] checkpoint='sqrt' requires an upper limit of iterations: pass maximum_iterations, or an "
                "integer checkpoint"
            )
        return applied(_rounded_up_root, trips)
    if isinstance(checkpoint, bool) or not isinstance(checkpoint, int) or checkpoint < 1:
        raise ControlFlowError(
            f"[{op}] checkpoint must be 'sqrt' or a positive number of iterations, but is {checkpoint!r}"
        )
    return checkpoint
