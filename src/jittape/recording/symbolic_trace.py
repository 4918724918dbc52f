"""`SymbolicTrace`: the trace of a function that is run once with placeholders, and the tensors that it may write to.

Such a run stands for many calls, or for iterations and branches that may not happen. A write to a tensor from outside
would happen once, so it is an error.
"""

from __future__ import annotations

import sys
from typing import NoReturn
from weakref import ref

from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace

__all__ = ["SymbolicTrace"]


class SymbolicTrace(Trace):
    """Base of the traces of traced functions, loop bodies and branches.

    Parameters
    ----------
    traced_in : str
        What error messages call the function.
    """

    def __init__(self, traced_in: str) -> None:
        super().__init__()
        self.traced_in = traced_in
        self.limit = sys.maxsize
        self.holders = 1
        self._own_constants: set[int] = set()
        # A strong reference for the weak one: to a tape inside, an outer tape is recording.
        self._itself: SymbolicTrace | None = self
        self.spans.append(ref(self))

    def note_constant(self, tensor: Tensor) -> None:
        """Remember that `tensor`, a computed value, was made while this trace was recorded."""
        self._own_constants.add(id(tensor))

    def note_source(self, tensor: Tensor) -> None:
        """Remember that a tape watches `tensor`, or that it is written to: it matters who else holds this handle."""

    def check_write(self, tensor: Tensor) -> None:
        """Raise an error if `tensor` is from outside."""
        recorded_here = tensor._trace is self and id(tensor) not in self.imported
        if not (recorded_here or id(tensor) in self._own_constants):
            self._refuse_write(tensor)
        self.note_source(tensor)

    def _refuse_write(self, tensor: Tensor) -> NoReturn:
        raise NotImplementedError
