"""`ExtentTensor`: what `jt.shape`, `size` and `rank` return in a general trace, a tensor that knows its extents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jittape.core.primitive import shape_tensor
from jittape.primitives.shape.shape_extents import KNOWN_SHAPES
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor, stacked

__all__ = ["ExtentTensor", "extent_tensor"]


class ExtentTensor(Tensor, may_be_subclass=True):
    """A recorded integer, or a vector of integers, that is also known as an expression of extents.

    A shape or an index uses the extents, so that it varies with the lengths. An operation uses the tensor; the extents
    of its result follow from the program (`known_numbers`). The numbers themselves (``int(n)``) make the trace less
    general.

    Attributes
    ----------
    extents : Extent, int, or tuple of them
    """

    __slots__ = ("extents",)
    extents: Any

    def plain_tensor(self) -> Tensor:
        """Return the tensor that was recorded."""
        return Tensor(self._trace, self._slot, self._aval, self._buffer)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))]) if self.ndim else super().__iter__()

    def __getitem__(self, key: Any) -> Any:
        if self.ndim and (type(key) is slice or isinstance(key, (int, np.integer))):
            return shape_tensor(self.extents[key], self.aval.dtype)
        return super().__getitem__(key)


def extent_tensor(numbers: Any, dtype: np.dtype[Any]) -> ExtentTensor:
    """Return an integer, or a tuple of integers, with extents as a tensor."""
    if type(numbers) is tuple:
        tensor = stacked([convert_to_tensor(n, dtype) for n in numbers])
    else:
        tensor = convert_to_tensor(numbers, dtype)
    made = ExtentTensor(tensor._trace, tensor._slot, tensor._aval, tensor._buffer)
    made.extents = numbers
    return made


KNOWN_SHAPES.add(ExtentTensor)
