"""`ExtentTensor`: what `jt.shape`, `size` and `rank` return in a general trace, a tensor that knows its extents."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jittape.core.primitive import shape_tensor
from jittape.core.symbolic.extents import Extent, plain_of
from jittape.primitives.shape.shape_extents import KNOWN_SHAPES, has_extents
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor, stacked

__all__ = ["ExtentTensor", "TensorWithExtents", "extent_tensor"]


class TensorWithExtents(Tensor, may_be_subclass=True):
    """A tensor of a general trace that knows more than other tensors."""

    __slots__ = ()

    @classmethod
    def of(cls, tensor: Tensor) -> Any:
        """Return the tensor as one of this class."""
        return cls(tensor._trace, tensor._slot, tensor._aval, tensor._buffer)

    def plain_tensor(self) -> Tensor:
        """Return the tensor that was recorded."""
        return Tensor(self._trace, self._slot, self._aval, self._buffer)


class ExtentTensor(TensorWithExtents, may_be_subclass=True):
    """A recorded integer, or a vector of integers, that is also known as an expression of extents.

    A shape or an index uses the extents, so that it varies with the lengths. An operation uses the tensor. The numbers
    themselves (``int(n)``) make the trace less general.

    Attributes
    ----------
    extents : Extent, int, or tuple of them
    """

    __slots__ = ("extents",)
    extents: Any

    def as_extent(self) -> Any:
        """Return the only number."""
        if self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return self.extents

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the present numbers as an ndarray."""
        found = self.extents
        return np.array([plain_of(n) for n in found] if self.ndim else plain_of(found), self.aval.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.numpy().astype(dtype or self.aval.dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))]) if self.ndim else super().__iter__()

    def __getitem__(self, key: Any) -> Any:
        if self.ndim and (type(key) is slice or isinstance(key, (int, np.integer))):
            return shape_tensor(self.extents[key], self.aval.dtype)
        return super().__getitem__(key)

    def __neg__(self) -> Any:
        return 0 - self

    def __index__(self) -> int:
        return operator.index(self.as_extent())

    def __int__(self) -> int:
        return int(self.as_extent())

    def __float__(self) -> float:
        return float(self.as_extent())

    def __bool__(self) -> bool:
        return bool(self.numpy()) if self.ndim else bool(self.extents)


class ExtentCondition(TensorWithExtents, may_be_subclass=True):
    """A recorded comparison of two numbers with extents.

    ``if`` and the like select a branch by the extents, and the trace holds for lengths with the same answer. `jt.cond`
    records both branches.

    Attributes
    ----------
    holds : callable
        ``holds()`` compares the extents.
    """

    __slots__ = ("holds",)
    holds: Callable[[], Any]

    def __bool__(self) -> bool:
        return bool(self.holds())


def extent_tensor(numbers: Any, dtype: np.dtype[Any]) -> ExtentTensor:
    """Return an integer, or a tuple of integers, with extents as a tensor."""
    if type(numbers) is tuple:
        return _known(stacked([convert_to_tensor(n, dtype) for n in numbers]), numbers)
    return _known(convert_to_tensor(numbers, dtype), numbers)


def _known(tensor: Tensor, numbers: Any) -> ExtentTensor:
    """Return a tensor with its numbers."""
    made: ExtentTensor = ExtentTensor.of(tensor)
    made.extents = numbers
    return made


def _numbers_of(value: Any) -> Any:
    """Return an operand as an integer, an extent or a tuple of them; None if it is anything else."""
    if has_extents(value):
        return value.extents
    if type(value) in KNOWN_SHAPES and value._buffer is not None:
        found = value.tolist()
        return tuple(found) if value.ndim else found
    return value if type(value) is int or value.__class__ is Extent else None


def _operator(name: str, function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Any, Any], Any]:
    recorded = getattr(Tensor, name)

    def method(self: ExtentTensor, other: Any) -> Any:
        tensor = recorded(self, other)
        left, right = self.extents, _numbers_of(other)
        if right is None or not isinstance(tensor, Tensor):
            return tensor
        if swapped:
            left, right = right, left
        if function in _COMPARING:
            return tensor if tensor.ndim else _condition(tensor, function, left, right)
        count = max([len(v) for v in (left, right) if type(v) is tuple], default=-1)
        lefts, rights = [v if type(v) is tuple else (v,) * max(count, 1) for v in (left, right)]
        if len(lefts) != len(rights) or (function in _DIVIDING and not all(rights)):
            return tensor
        found = [function(a, b) for a, b in zip(lefts, rights, strict=True)]
        limits = np.iinfo(tensor.dtype)
        if not all([limits.min <= n <= limits.max for n in found]):
            return tensor
        return _known(tensor, tuple(found) if count >= 0 else found[0])

    method.__name__ = name
    method.__doc__ = recorded.__doc__
    return method


def _condition(tensor: Tensor, function: Callable[[Any, Any], Any], left: Any, right: Any) -> ExtentCondition:
    made: ExtentCondition = ExtentCondition.of(tensor)
    made.holds = lambda: function(left, right)
    return made


_COMPARING = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_DIVIDING = (operator.floordiv, operator.mod)

for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(ExtentTensor, f"__{_name}__", _operator(f"__{_name}__", getattr(operator, _name), False))
    setattr(ExtentTensor, f"__r{_name}__", _operator(f"__r{_name}__", getattr(operator, _name), True))
for _function in _COMPARING:
    _name = f"__{_function.__name__}__"
    setattr(ExtentTensor, _name, _operator(_name, _function, False))
ExtentTensor.__hash__ = Tensor.__hash__  # type: ignore[method-assign]
KNOWN_SHAPES.add(ExtentTensor)
