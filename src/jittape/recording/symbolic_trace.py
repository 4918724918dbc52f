"""The trace of a function that runs once with placeholders, and the random numbers of all traces.

The run represents many calls, iterations or branches. A write to a tensor from outside the function would happen only
once, so it is an error.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from jittape.core.buffers import Buffer, owned
from jittape.core.program import Aval, SourceLine
from jittape.core.symbolic.extents import Extent, plain_of
from jittape.core.traced_scalar import TracedScalar
from jittape.recording.shapes.known_numbers import known_numbers
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace, current_trace
from jittape.recording.trie import Node, path_to
from jittape.recording.variable import Variable

__all__ = [
    "Draw",
    "ShapeChanges",
    "SymbolicTrace",
    "drawn",
    "line_of",
    "repeatable",
    "reserved",
    "with_draws",
]

Draw = Callable[..., np.ndarray[Any, Any]]
"""A function ``draw(lead=())`` of the leading dimensions of an array: a draw for each iteration of loops."""


class SymbolicTrace(Trace):
    """The base of the traces of traced functions, loop bodies and branches.

    Parameters
    ----------
    traced_in : str
        Name of the function in error messages.
    """

    def __init__(self, traced_in: str) -> None:
        super().__init__()
        self.traced_in = traced_in
        self.limit = sys.maxsize
        self.holders = 1
        self._own_constants: set[int] = set()
        # The trace is among its own `intervals` so that a tape inside is not outermost. This strong reference keeps it.
        self._itself: SymbolicTrace | None = self
        self.intervals.append(ref(self))

    def note_constant(self, tensor: Tensor) -> None:
        """Remember that `tensor`, a computed value, was created while this trace recorded."""
        self._own_constants.add(id(tensor))

    def note_source(self, tensor: Tensor) -> None:
        """Note that `tensor` is watched or written to, so that it matters which arguments are the same tensor."""

    def slots_of(self, value: Tensor | Variable) -> tuple[int, ...]:
        """Return the slots of a tensor or Variable, as `Slots.slots_of` does, and note a Variable."""
        if isinstance(value, Variable):
            self.note_variable(value)
        return super().slots_of(value)

    def note_variable(self, variable: Variable) -> None:
        """Note that a gradient with respect to `variable` is computed, so that it matters which Variable it is."""

    def check_write(self, tensor: Tensor) -> None:
        """Raise an error if `tensor` is from outside the function."""
        recorded_here = tensor._trace is self and id(tensor) not in self.imported
        if not (recorded_here or id(tensor) in self._own_constants):
            self._refuse_write(tensor)
        self.note_source(tensor)

    # ---- numbers that follow from shapes and constants -------------------------------------------------------------

    over: bool

    def value_of(self, tensor: Tensor) -> Buffer:
        """Return the value of a small tensor that the arrays among the arguments do not matter for."""
        numbers = self.known_numbers(tensor, specializes=True)
        if numbers is None:
            return super().value_of(tensor)
        array = np.array([plain_of(n) for n in numbers], tensor._aval.dtype)
        return owned(array.reshape(tensor._aval.shape))

    def known_numbers(self, tensor: Tensor, specializes: bool = False) -> list[Any] | None:
        """Return the elements as numbers and extents; None if they depend on values that the trace does not have.

        If `specializes`, the trace may be specialized to the ints among the arguments.
        """
        slot = None if self.over else self.slot_of(tensor)
        if slot is None or slot < 0:
            return None
        path = path_to(self.node)
        sources = dict(zip(path.inputs, self.inputs, strict=True))

        def given(slot: int) -> list[Any] | None:
            source = sources[slot]
            if type(source) is TracedScalar:
                return [source.concretize()] if specializes and source.steady else None
            return self._known_source(source)

        with self.deriving():
            return known_numbers(slot, path.ops, path.avals, given)

    def _known_source(self, source: Any) -> list[Any] | None:
        """Return the elements of an input that is the same at each call; None for another one."""
        return [source] if isinstance(source, (bool, int, float, np.generic, Extent)) else None

    def _refuse_write(self, tensor: Tensor) -> NoReturn:
        raise NotImplementedError


class ShapeChanges:
    """The Variables that a traced function assigns values of any shape to."""

    def __init__(self) -> None:
        self._former: dict[int, tuple[Variable, tuple[int, ...], bool]] = {}

    def __bool__(self) -> bool:
        return bool(self._former)

    def change(self, variable: Variable, shape: tuple[int, ...], is_used: bool) -> None:
        """Give a Variable another shape; `is_used` says whether the function has used it before."""
        self._former.setdefault(id(variable), (variable, variable._aval.shape, is_used))
        variable._take_shape(shape)

    def needed(self, variable: Variable) -> tuple[int, ...] | None:
        """Return the shape that a Variable must have before a call; None if it may have any."""
        _, shape, is_used = self._former.get(id(variable), (variable, variable._aval.shape, True))
        return shape if is_used else None

    def undo(self) -> None:
        """Give the Variables their former shapes."""
        for variable, shape, _ in self._former.values():
            variable._take_shape(shape)
        self._former.clear()


def line_of(node: Node | None, slot: int) -> SourceLine | None:
    """Return the line that recorded the result in `slot`."""
    while node is not None:
        if node.slot == slot or (node.results is not None and any(r and r[0] == slot for r in node.results)):
            return node.source
        node = node.parent
    return None


# ---- random numbers ------------------------------------------------------------------------------------------------


def drawn(draw: Draw, arguments: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    """Return a tensor of the result of ``draw(*arguments)``, which a traced function computes at each call.

    In a loop it is ``draw(*arguments, lead)``, with the shape of the iterations.
    """
    trace = current_trace()
    made: Tensor = repeatable(trace, lambda: trace.draw(draw, arguments, Aval(shape, dtype)))
    return made


def reserved(
    make: Callable[[tuple[int, ...]], Tensor], trace: Trace | None = None, lead: tuple[int, ...] = ()
) -> Tensor:
    """Return ``make(lead)``; in a loop, a row of a longer `lead`, which runs before the loop."""
    recorder = trace or current_trace()
    made: Tensor = repeatable(recorder, lambda: recorder.reserve(make, lead))
    return made


class _Draws(threading.local):
    """The log of the function in which the thread is."""

    log: _DrawLog | None = None


_draws = _Draws()


class _DrawLog:
    """The draws in one call of a function: those in `kept`, then new ones, which it adds.

    A log covers the draws of one trace, so that a loop in the function keeps the numbers of all iterations, and a
    traced function those of each call. The trace of a thread outside of traced functions may change during the call.
    """

    def __init__(self, kept: list[Any]) -> None:
        self._kept = kept
        self._next = 0
        self._trace = current_trace()
        self.outer = _draws.log

    def covers(self, trace: Trace | None) -> bool:
        return self._trace is trace or not any(isinstance(t, SymbolicTrace) for t in (self._trace, trace))

    def take(self, trace: Trace | None, draw: Callable[[], Any]) -> Any:
        if self._next == len(self._kept):
            before = _draws.log
            try:
                _draws.log = self.outer
                self._kept.append(repeatable(trace, draw))
            finally:
                _draws.log = before
        self._next += 1
        return self._kept[self._next - 1]


def repeatable(trace: Trace | None, draw: Callable[[], Any]) -> Any:
    """Return the result of `draw` in `trace`, or that of the first call if `with_draws` calls a function again."""
    log = _draws.log
    while log is not None and not log.covers(trace):
        log = log.outer
    return draw() if log is None else log.take(trace, draw)


def with_draws(kept: list[Any], call: Callable[[], Any]) -> Any:
    """Return the result of `call`, which draws the random states in `kept`; further ones are drawn and added."""
    log = _DrawLog(kept)
    try:
        _draws.log = log
        return call()
    finally:
        _draws.log = log.outer
