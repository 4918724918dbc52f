"""`shape`, `shape_n`, `rank` and `size`: properties of a shape, known without running any operation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, int32
from jittape.core.primitive import shape_tensor
from jittape.core.symbolic.extent_functions import index_of
from jittape.core.symbolic.extents import Extent
from jittape.core.user_calls import named, shown
from jittape.errors import DTypeError
from jittape.primitives.shape.reshaping import shape_of
from jittape.primitives.shape.shape_extents import KNOWN_SHAPES
from jittape.typing import Tensor, TensorLike

__all__ = ["rank", "shape", "shape_n", "shape_of_parts", "size"]


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer, Extent)) or (type(value) in KNOWN_SHAPES and not value.ndim)


def shape_of_parts(values: Sequence[Any], stacked: bool) -> Any:
    """Return the shape that a program puts together with `concat` or `stack`; None if it is another value."""
    parts: list[Any] = []
    shapes: list[Any] = []
    for value in values:
        is_vector = type(value) in KNOWN_SHAPES and value.ndim == 1
        if not (stacked or is_vector or isinstance(value, (list, tuple))):
            return None
        parts.extend([value] if stacked else value)
        shapes.extend([v for v in ([value] if stacked or is_vector else value) if type(v) in KNOWN_SHAPES])
    if not shapes or not all([_is_integer(part) for part in parts]):
        return None
    return shape_tensor(tuple(map(index_of, parts)), np.result_type(*[np.dtype(v.dtype) for v in shapes]))


def shape(input: TensorLike, out_type: Any = int32, name: str | None = None) -> Tensor:
    """Return the shape of `input` as a tensor of integers.

    The shape is known without running any operation, so ``jt.shape(x)[0]`` can be used as a Python number, also in a
    traced function.

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
    <jt.Tensor: shape=(2,), dtype=int32, numpy=array([2, 3], dtype=int32)>
    >>> list(range(jt.shape(jt.zeros([2, 3]))[1]))
    [0, 1, 2]
    """
    return _counted(shape_of(input), out_type)


def shape_n(input: Sequence[TensorLike], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
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
    >>> [shape.tolist() for shape in jt.shape_n([[1.0, 2.0], [[1.0]]])]
    [[2], [1, 1]]
    """
    if not isinstance(input, (list, tuple)):
        raise named(TypeError(f"input must be a list or tuple of tensors, got {shown(input)}"))
    return [shape(x, out_type) for x in input]


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the number of dimensions of `input`, as a 0-d tensor.

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
    return shape_tensor(len(shape_of(input)), int32)


def size(input: TensorLike, out_type: Any = int32, name: str | None = None) -> Tensor:
    """Return the number of elements of `input`, as a 0-d tensor.

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
    if dtype.kind not in "iu":
        raise named(DTypeError(f"out_type must be an integer dtype, got {dtype.name}; use int32 or int64"))
    try:
        return shape_tensor(value, dtype)
    except OverflowError:
        raise named(OverflowError(f"{value} does not fit {dtype.name}; give out_type=jt.int64")) from None
