"""The trace of a function that runs once with placeholders.

The run represents many calls, iterations or branches. A write to a tensor from outside the function would happen only
once, so it is an error.
"""

from __future__ import annotations

import sys
from typing import NoReturn
from weakref import ref

from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace
from jittape.recording.variable import Variable

__all__ = ["SymbolicTrace"]


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
