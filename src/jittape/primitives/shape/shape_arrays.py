"""`shape`, `shape_n`, `rank` and `size`: properties of a shape, known without running any operation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, int32
from jittape.core.symbolic.extent_functions import index_of
from jittape.core.symbolic.extents import Extent
from jittape.core.user_calls import named, shown
from jittape.primitives.shape.reshaping import shape_of
from jittape.primitives.shape.shape_extents import ShapeExtents
from jittape.typing import TensorLike

__all__ = ["ShapeArray", "rank", "shape", "shape_n", "shape_of_parts", "size"]


class ShapeArray(np.ndarray[Any, Any]):
    """Integers that are known while a function is traced, with the methods that programs call on such tensors.

    A tensor would not do: its elements could not be used as Python numbers in a traced function.
    """

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the integers as an ndarray."""
        return np.asarray(self)

    def __getitem__(self, key: Any) -> Any:
        return as_shape_array(np.asarray(self)[key])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __repr__(self) -> str:
        return repr(np.asarray(self))


_INTEGERS = (int, np.integer, Extent, ShapeArray, ShapeExtents)


def as_shape_array(value: Any, dtype: Any = None) -> Any:
    """Return integers as a `ShapeArray`, or as `ShapeExtents` if there are extents among them."""
    numbers = value if isinstance(value, tuple) else (value,)
    if any([n.__class__ is Extent for n in numbers]):
        return ShapeExtents(tuple(value) if isinstance(value, tuple) else value, dtype)
    return np.asarray(value, dtype).view(ShapeArray)


def shape_of_parts(values: Sequence[Any], stacked: bool) -> Any:
    """Return the shape that a program puts together with `concat` or `stack`; None if it is another value.

    A tensor would not do, as for `jt.shape` itself.
    """
    shapes = [v for v in values if isinstance(v, (ShapeArray, ShapeExtents))]
    if not shapes:
        return None
    parts: list[Any] = []
    for value in values:
        if stacked:
            parts.append(value)
        elif isinstance(value, (list, tuple)) or any([value is v and v.ndim == 1 for v in shapes]):
            parts.extend(value)
        else:
            return None
    if not all([isinstance(part, _INTEGERS) and not getattr(part, "ndim", 0) for part in parts]):
        return None
    return as_shape_array(tuple(map(index_of, parts)), np.result_type(*[v.dtype for v in shapes]))


def shape(input: TensorLike, out_type: Any = int32, name: str | None = None) -> ShapeArray:
    """Return the shape of `input` as integers.

    The shape is known without running any operation. So the result is an array, not a pending tensor, and
    ``jt.shape(x)[0]`` can be used as a number, also in a traced function.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    out_type : dtype
        int32 or int64.
    name : str, optional
        Ignored.

    Raises
    ------
    OverflowError
        If a number does not fit `out_type`.

    Examples
    --------
    >>> jt.shape(jt.zeros([2, 3]))
    array([2, 3], dtype=int32)
    >>> jt.shape(jt.zeros([2, 3]))[0].numpy() + 1
    np.int32(3)
    """
    return _counted(shape_of(input), out_type)


def shape_n(input: Sequence[TensorLike], out_type: Any = int32, name: str | None = None) -> list[ShapeArray]:
    """Return the shapes of several tensors: see `shape`.

    Parameters
    ----------
    input : sequence of tensor_like
        Any shapes.
    out_type : dtype
        int32 or int64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.shape_n([[1.0, 2.0], [[1.0]]])
    [array([2], dtype=int32), array([1, 1], dtype=int32)]
    """
    if not isinstance(input, (list, tuple)):
        raise named(TypeError(f"input must be a list or tuple of tensors, got {shown(input)}"))
    return [shape(x, out_type) for x in input]


def rank(input: TensorLike, name: str | None = None) -> ShapeArray:
    """Return the number of dimensions of `input`, as a 0-d integer array.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> int(jt.rank([[1, 2]]))
    2
    """
    return as_shape_array(len(shape_of(input)), int32)


def size(input: TensorLike, out_type: Any = int32, name: str | None = None) -> ShapeArray:
    """Return the number of elements of `input`, as a 0-d integer array.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    out_type : dtype
        int32 or int64.
    name : str, optional
        Ignored.

    Raises
    ------
    OverflowError
        If a number does not fit `out_type`.

    Examples
    --------
    >>> int(jt.size([[1, 2], [3, 4]]))
    4
    """
    return _counted(math.prod(shape_of(input)), out_type)


def _counted(value: Any, out_type: Any) -> Any:
    """Return the counts `value` in the dtype `out_type` that the user gave."""
    dtype = as_dtype(out_type)
    try:
        return as_shape_array(value, dtype)
    except OverflowError:
        raise named(OverflowError(f"{value} does not fit {dtype.name}; give out_type=jt.int64")) from None
