"""`ShapeExtents`: what `jt.shape` returns in a general trace, in place of an integer array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jittape.core.symbolic.extents import Extent, plain_of

__all__ = ["KNOWN_SHAPES", "ShapeExtents"]


class ShapeExtents:
    """An integer that is an extent, or a vector of such integers, with the behavior of a NumPy array.

    Arithmetic with ints keeps the extents. All else uses the present numbers, which makes the trace less general.

    Parameters
    ----------
    value : Extent, int, or tuple of them
    dtype : numpy.dtype
        An integer dtype.
    """

    __slots__ = ("dtype", "value")
    __array_priority__ = -1.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, dtype: np.dtype[Any]) -> None:
        self.value = value
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return (len(self.value),) if type(self.value) is tuple else ()

    @property
    def ndim(self) -> int:
        """The number of dimensions of the array."""
        return len(self.shape)

    def as_extent(self) -> Any:
        """Return the only number."""
        if self.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return self.value

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the present numbers as an ndarray."""
        return np.array([plain_of(n) for n in self] if self.shape else plain_of(self.value), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.numpy().astype(dtype or self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.numpy(), name)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return len(self.value)

    def __iter__(self) -> Iterator[ShapeExtents]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([ShapeExtents(n, self.dtype) for n in self.value])

    def __getitem__(self, key: Any) -> Any:
        if self.shape and (type(key) is slice or isinstance(key, (int, np.integer))):
            return ShapeExtents(self.value[key], self.dtype)
        return self.numpy()[key]

    def __index__(self) -> int:
        return operator.index(self.as_extent())

    def __int__(self) -> int:
        return int(self.as_extent())

    def __float__(self) -> float:
        return float(self.as_extent())

    def __bool__(self) -> bool:
        return bool(self.numpy()) if self.shape else bool(self.value)

    def __neg__(self) -> Any:
        return self._elementwise(operator.sub, 0, True)

    def __repr__(self) -> str:
        return repr(self.numpy())

    def _elementwise(self, function: Callable[[Any, Any], Any], other: Any, swapped: bool) -> Any:
        """Return ``function(self, other)``: extents if both are integers and fit the dtype, else what NumPy gives."""
        dtype = self.dtype
        if isinstance(other, ShapeExtents):
            dtype = np.promote_types(dtype, other.dtype)
            right = other.value
        elif type(other) is int or other.__class__ is Extent:
            right = other
        elif type(other) in KNOWN_SHAPES:
            dtype = np.promote_types(dtype, np.dtype(other.dtype))
            right = other.tolist() if not other.ndim else tuple(other.tolist())
        elif isinstance(other, (list, tuple, np.ndarray, np.generic, float, complex, bool)):
            return self._as_numpy(function, other, swapped)
        else:
            return NotImplemented
        left = self.value
        if type(left) is tuple and type(right) is tuple and len(left) != len(right):
            return self._as_numpy(function, other, swapped)
        count = max([len(v) for v in (left, right) if type(v) is tuple], default=-1)
        lefts, rights = [v if type(v) is tuple else (v,) * max(count, 1) for v in (left, right)]
        if swapped:
            lefts, rights = rights, lefts
        if function not in _EXACT or (function in _DIVIDING and not all(rights)):
            return self._as_numpy(function, other, swapped)
        found = [function(a, b) for a, b in zip(lefts, rights, strict=True)]
        limits = np.iinfo(dtype)
        if function in _COMPARING:
            return np.array(found) if count >= 0 else np.bool_(found[0])
        if not all([limits.min <= n <= limits.max for n in (*lefts, *rights, *found)]):
            return self._as_numpy(function, other, swapped)
        return ShapeExtents(tuple(found) if count >= 0 else found[0], dtype)

    def _as_numpy(self, function: Callable[[Any, Any], Any], other: Any, swapped: bool) -> Any:
        other = plain_of(np.asarray(other) if isinstance(other, ShapeExtents) else other)
        return function(other, self.numpy()) if swapped else function(self.numpy(), other)


KNOWN_SHAPES: set[type] = {ShapeExtents}
"""The classes of what `jt.shape`, `size` and `rank` return; that of the tensors is added where it is defined."""

_COMPARING = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_DIVIDING = (operator.floordiv, operator.mod)
_EXACT = (operator.add, operator.sub, operator.mul, *_DIVIDING, *_COMPARING)


def _method(function: Callable[[Any, Any], Any], swapped: bool) -> Any:
    return lambda self, other: self._elementwise(function, other, swapped)


for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow"):
    setattr(ShapeExtents, f"__{_name}__", _method(getattr(operator, _name), False))
    setattr(ShapeExtents, f"__r{_name}__", _method(getattr(operator, _name), True))
for _function in _COMPARING:
    setattr(ShapeExtents, f"__{_function.__name__}__", _method(_function, False))
