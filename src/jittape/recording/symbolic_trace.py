"""The trace of a function that runs once with placeholders.

The run represents many calls, iterations or branches. A write to a tensor from outside the function would happen only
once, so it is an error.
"""

from __future__ import annotations

import sys
from typing import NoReturn
from weakref import ref

from jittape.core.program import SourceLine
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie import Node
from jittape.recording.variable import Variable

__all__ = ["ShapeChanges", "SymbolicTrace", "line_of"]


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
