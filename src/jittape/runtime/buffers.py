"""`Buffer`: memory with its address kept beside it.

Asking NumPy for an address (`ndarray.ctypes.data`, `__array_interface__`) costs more than a small kernel, so it is
asked once, when the memory is made. Values never change under a reader: a buffer is written once, by the executable
that made it, and written again only when nobody but that executable holds it any more and the user never saw it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.program import Aval

__all__ = ["Buffer", "allocate", "owned"]


class Buffer:
    """A C-contiguous ndarray, its address, and whether the user has seen a view of it."""

    __slots__ = ("address", "array", "exposed", "nbytes")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.address: int = array.__array_interface__["data"][0]
        self.nbytes = array.nbytes
        self.exposed = False

    def view(self) -> np.ndarray[Any, Any]:
        """A read-only view for the user; from now on the memory is never written again."""
        self.exposed = True
        view = self.array.view()
        view.flags.writeable = False
        return view


def allocate(aval: Aval) -> Buffer:
    """Fresh memory for a value of `aval`; its contents are arbitrary."""
    return Buffer(np.empty(aval.shape, aval.dtype))


def owned(array: np.ndarray[Any, Any]) -> Buffer:
    """A buffer of its own for what a NumPy evaluation returned, which may share memory with an operand."""
    if array.base is not None or not array.flags.c_contiguous:
        array = np.array(array, order="C")
    return Buffer(array)
