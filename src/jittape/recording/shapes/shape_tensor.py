"""`ShapeTensor`: what `jt.shape`, `size` and `rank` return, a tensor whose numbers are known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.program import Aval
from jittape.primitives.shape.shape_extents import KNOWN_SHAPES
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor, note_constant

__all__ = ["ShapeTensor", "shape_tensor"]

_NUMBERS = frozenset((int, float, bool, np.ndarray))


class ShapeTensor(Tensor, may_be_subclass=True):
    """A computed tensor whose elements, sums, products and comparisons with numbers are computed at once.

    So an element can be used as a Python number while a function is traced, and a step that reads the numbers does not
    run the operations that are pending.
    """

    __slots__ = ()

    def _numbers(self) -> np.ndarray[Any, Any] | None:
        """Return the numbers; None after a write to the tensor that is pending."""
        buffer: Any = self._buffer
        return None if buffer is None else buffer.array

    def __getitem__(self, key: Any) -> Any:
        numbers = self._numbers()
        if numbers is None or not _is_plain(key):
            return Tensor.__getitem__(self, key)
        try:
            return shape_tensor(numbers[key])
        except IndexError:
            return Tensor.__getitem__(self, key)  # its message names the operation

    def __iter__(self) -> Iterator[Any]:
        if self._numbers() is None or not self.ndim:
            return Tensor.__iter__(self)
        return iter([self[i] for i in range(len(self))])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        known = [_known(x) for x in inputs]
        if kwargs or any([x is None for x in known]):
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return _wrapped(getattr(ufunc, method)(*known))

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        known = [_known(x) for x in args]
        if any([x is None for x in known]) or any([isinstance(x, Operators) for x in kwargs.values()]):
            return super().__array_function__(func, types, args, kwargs)
        return _wrapped(func(*known, **kwargs))


def shape_tensor(numbers: Any) -> ShapeTensor:
    """Return the integers of a shape as a tensor."""
    array = np.asarray(numbers)
    tensor = ShapeTensor(None, -1, Aval(array.shape, array.dtype), Buffer(array))
    note_constant(tensor)
    return tensor


def _is_plain(key: Any) -> bool:
    """Return whether an index has no tensors."""
    if type(key) is slice:
        return _is_plain((key.start, key.stop, key.step))
    if type(key) is tuple:
        return all([_is_plain(part) for part in key])
    return key is None or key is ... or type(key) is int or isinstance(key, np.integer)


def _known(value: Any) -> Any:
    """Return what NumPy gets in place of `value`; None if it has no known numbers."""
    if isinstance(value, ShapeTensor):
        return value._numbers()
    return value if type(value) in _NUMBERS or isinstance(value, (np.number, np.bool_)) else None


def _wrapped(found: Any) -> Any:
    return shape_tensor(found) if isinstance(found, (np.ndarray, np.generic)) else found


def _binary(name: str, function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Any, Any], Any]:
    recorded = getattr(Tensor, name)

    def method(self: ShapeTensor, other: Any) -> Any:
        numbers, known = self._numbers(), _known(other)
        if numbers is None or known is None:
            return recorded(self, other)
        return shape_tensor(function(known, numbers) if swapped else function(numbers, known))

    method.__name__ = name
    method.__doc__ = recorded.__doc__
    return method


def _unary(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    recorded = getattr(Tensor, name)

    def method(self: ShapeTensor, *args: Any, **kwargs: Any) -> Any:
        numbers = self._numbers()
        if numbers is None or not all([_is_plain(x) for x in args]) or kwargs:
            return recorded(self, *args, **kwargs)
        return shape_tensor(function(numbers, *args))

    method.__name__ = name
    method.__doc__ = recorded.__doc__
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(ShapeTensor, f"__{_name}__", _binary(f"__{_name}__", getattr(operator, _name), False))
    setattr(ShapeTensor, f"__r{_name}__", _binary(f"__r{_name}__", getattr(operator, _name), True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(ShapeTensor, f"__{_name}__", _binary(f"__{_name}__", getattr(operator, _name), False))
for _name in ("neg", "pos", "abs"):
    setattr(ShapeTensor, f"__{_name}__", _unary(f"__{_name}__", getattr(operator, _name)))
for _name in ("sum", "prod", "max", "min"):
    setattr(ShapeTensor, _name, _unary(_name, getattr(np, _name)))
ShapeTensor.__hash__ = Tensor.__hash__  # type: ignore[method-assign]
KNOWN_SHAPES.add(ShapeTensor)
