"""Functions that change a shape, such as reshape, transpose and squeeze.

All are composed of the views and concatenations in `broadcast` and `views`, which have the gradient rules. Functions
that move elements are in `reordering`, those that join and split in `joining`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import int32
from jittape.core.primitive import apply, shape_tensor
from jittape.core.symbolic.extent_functions import index_of
from jittape.core.symbolic.extents import Extent
from jittape.core.tensor_shape import TensorShape
from jittape.core.user_calls import argument_of_user, as_flag, named
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    axis_key,
    broadcast,
    broadcast_shapes,
    conj,
    normalized_axes,
    to_shape,
)
from jittape.primitives.shape.shape_extents import with_extents
from jittape.primitives.shape.views import permuted
from jittape.typing import Tensor, TensorLike

__all__ = [
    "as_shape",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "ensure_shape",
    "expand_dims",
    "hashable",
    "matrix_transpose",
    "one_axis",
    "reshape",
    "shape_of",
    "squeeze",
    "transpose",
]


def as_shape(op: str, shape: Any) -> tuple[int, ...]:
    """Return `shape` (an int, or a sequence or integer array of them) as a tuple of Python ints."""
    if isinstance(shape, TensorShape):
        if not shape.is_fully_defined():
            raise named(
                ShapeError(
                    f"[{op}] {argument_of_user(shape)}must be known, got a shape with unknown extents: {shape}"
                )
            )
        shape = tuple(shape)
    shape = with_extents(shape)
    if type(shape) is tuple and all(type(n) in (int, Extent) for n in shape):
        return shape
    try:
        if isinstance(shape, (tuple, list)):
            return tuple([index_of(n) for n in shape])
        if isinstance(shape, (int, np.integer, Extent)):
            return (index_of(shape),)
        array = np.asarray(shape)
        if array.ndim <= 1 and array.dtype.kind in "iu":
            return tuple(array.reshape(-1).tolist())
    except (TypeError, ValueError):
        pass
    raise named(
        TypeError(f"[{op}] {argument_of_user(shape)}must be an int or a sequence of ints, got {shape!r}")
    )


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a user's value: a tensor, an array, a number or a nested sequence."""
    if isinstance(value, (bool, int, float, complex)):
        return ()
    try:
        found: tuple[int, ...] = tuple(np.shape(value) if isinstance(value, (list, tuple)) else value.shape)
    except (AttributeError, ValueError):
        raise named(
            DTypeError(f"{argument_of_user(value)}must be a tensor, an array or a number, got {value!r}")
        ) from None
    return found


def one_axis(op: str, axis: Any, ndim: int) -> int:
    """Return `axis` as a non-negative int."""
    if axis is None or isinstance(axis, (tuple, list)):
        raise TypeError(f"[{op}] axis must be one int, got {axis!r}")
    return normalized_axes(op, axis, ndim)[0]


def hashable(value: Any) -> Any:
    """Return `value`, an int, an array or a nested sequence of ints, as nested tuples; True becomes 1."""
    value = with_extents(value)
    if isinstance(value, (tuple, list)):
        return tuple([hashable(v) for v in value])
    if value is None or isinstance(value, Extent):
        return value
    if isinstance(value, (int, np.bool_)):
        return int(value)
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise named(
            TypeError(f"{argument_of_user(value)}must be an int or a sequence of ints, got {value!r}")
        )
    return hashable(array.tolist())


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the shape of the result of broadcasting two shapes.

    Parameters
    ----------
    shape_x, shape_y : sequence of int
        Two shapes.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or an extent is unknown.

    Examples
    --------
    >>> jt.broadcast_static_shape([2, 1], [3])
    (2, 3)
    """
    shapes = [as_shape("broadcast_static_shape", shape) for shape in (shape_x, shape_y)]
    try:
        return TensorShape(broadcast_shapes(*shapes))
    except ValueError:
        raise named(
            ShapeError(f"shapes {shapes[0]} and {shapes[1]} do not broadcast: dimensions must be equal or 1")
        ) from None


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """Return the shape of the result of broadcasting two shapes, as an int32 tensor.

    Parameters
    ----------
    shape_x, shape_y : sequence of int
        Two shapes.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.broadcast_dynamic_shape([2, 1], [3]).numpy()
    array([2, 3], dtype=int32)
    """
    return shape_tensor(tuple(broadcast_static_shape(shape_x, shape_y)), int32)


# ---- reshape and similar functions -----------------------------------------------------------------------------------


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    x = as_symbol(x)
    if -1 in shape:
        known = 1
        for n in shape:
            known *= n if n != -1 else 1
        if shape.count(-1) > 1 or known <= 0 or x.aval.size % known:
            raise ShapeError(
                f"[reshape] cannot reshape {x.aval.size} elements of shape {x.shape} into shape {shape}: "
                "one dimension may be -1 if the others divide the number of elements"
            )
        shape = tuple([x.aval.size // known if n == -1 else n for n in shape])
    if any(n < 0 for n in shape):
        raise ShapeError(f"[reshape] shape {shape} has a negative dimension; only one -1 is allowed")
    return to_shape(x, shape)


def reshape(tensor: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """Return the elements of `tensor`, in C order, in another shape.

    Parameters
    ----------
    tensor : tensor_like
        The elements.
    shape : int or sequence of int
        One dimension may be -1: it is computed from the number of elements.

    Raises
    ------
    ShapeError
        If the number of elements differs.

    Examples
    --------
    >>> jt.reshape(jt.constant([1., 2., 3., 4.]), [2, -1]).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return apply(_reshape, (tensor,), (as_shape("reshape", shape),))


def _ensured(x: Any, shape: TensorShape) -> Any:
    x = as_symbol(x)
    if not shape.is_compatible_with(x.shape):
        raise ShapeError(f"[ensure_shape] Shape {x.shape} is not compatible with {shape}")
    return x


def ensure_shape(x: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """Return `x` unchanged if it has the given shape; None in `shape` accepts any length.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    shape : sequence of int or None
        The lengths to expect.

    Raises
    ------
    ValueError
        If `x` has another shape.

    Examples
    --------
    >>> jt.ensure_shape([[1, 2], [3, 4]], [None, 2]).shape
    (2, 2)
    """
    try:
        expected = TensorShape(shape)
    except (TypeError, ShapeError) as error:
        raise named(type(error)(f"[ensure_shape] shape: {error}")) from None
    return apply(_ensured, (x,), (expected,))


def _expand_dims(x: Any, axis: Any) -> Any:
    x = as_symbol(x)
    count = len(axis) if isinstance(axis, tuple) else 1
    axes = normalized_axes("expand_dims", axis, len(x.shape) + count)
    rest = iter(x.shape)
    return to_shape(x, tuple([1 if d in axes else next(rest) for d in range(len(x.shape) + count)]))


def expand_dims(input: TensorLike, axis: int | Sequence[int], name: str | None = None) -> Tensor:
    """Insert dimensions of length 1 into `input`, at the positions `axis` of the result.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    axis : int or sequence of int
        Positions of the new dimensions.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `axis` names a dimension twice.

    Examples
    --------
    >>> jt.expand_dims([1, 2], 0).shape
    (1, 2)
    """
    if axis is None:
        raise TypeError("[expand_dims] axis must be an int or a sequence of ints, got None")
    return apply(_expand_dims, (input,), (axis_key(axis),))


def _squeeze(x: Any, axis: Any) -> Any:
    x = as_symbol(x)
    axes = normalized_axes("squeeze", axis, len(x.shape))
    if axis is not None and any(x.shape[a] != 1 for a in axes):
        raise ShapeError(f"[squeeze] axis {axis!r} of shape {x.shape} is not of length 1")
    return to_shape(x, tuple([n for d, n in enumerate(x.shape) if d not in axes or n != 1]))


def squeeze(input: TensorLike, axis: int | Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """Remove the dimensions of length 1, or those of them in `axis`.

    As in TensorFlow, an empty list removes all of them.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    axis : int or sequence of int, optional
        The dimensions to remove, each of length 1.

    Raises
    ------
    ShapeError
        If a dimension in `axis` is longer than 1.

    Examples
    --------
    >>> jt.squeeze([[1], [2]]).numpy()
    array([1, 2], dtype=int32)
    """
    return apply(
        _squeeze, (input,), (axis_key(axis) or None if isinstance(axis, (list, tuple)) else axis_key(axis),)
    )


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    if any(n < 0 for n in shape):
        raise ShapeError(f"[broadcast_to] dimensions must not be negative, got {shape}")
    return broadcast(as_symbol(x), shape)


def broadcast_to(input: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """Repeat `input` along dimensions of length 1, and along new leading dimensions, to `shape`.

    Parameters
    ----------
    input : tensor_like
        A shape that broadcasts to `shape`.
    shape : sequence of int
        Shape of the result.

    Raises
    ------
    ShapeError
        If the shape does not broadcast to `shape`.

    Examples
    --------
    >>> jt.broadcast_to([1, 2], [2, 2]).numpy()
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    return apply(_broadcast_to, (input,), (as_shape("broadcast_to", shape),))


# ---- order of dimensions and elements --------------------------------------------------------------------------------


def _transpose(x: Any, perm: tuple[int, ...] | int | None, conjugate: bool) -> Any:
    x = as_symbol(x)
    ndim = len(x.shape)
    perm = (perm,) if isinstance(perm, int) else perm
    order = tuple(reversed(range(ndim))) if perm is None else tuple([a + ndim if a < 0 else a for a in perm])
    x = permuted(x, order)
    return conj(x) if conjugate else x


def transpose(
    a: TensorLike, perm: Sequence[int] | None = None, conjugate: bool = False, name: str | None = None
) -> Tensor:
    """Permute the dimensions of `a` into the order `perm`; the default reverses them.

    Parameters
    ----------
    a : tensor_like
        Any shape.
    perm : sequence of int, optional
        Order of the dimensions; the reverse by default.
    conjugate : bool
        Take the complex conjugate too.

    Raises
    ------
    ShapeError
        If `perm` does not name each dimension once.

    Examples
    --------
    >>> jt.transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return apply(
        _transpose,
        (a,),
        (axis_key(perm), as_flag("conjugate", conjugate)),
    )


def _matrix_transpose(x: Any, conjugate: bool) -> Any:
    x = as_symbol(x)
    ndim = len(x.shape)
    if ndim < 2:
        raise ShapeError(
            f"[matrix_transpose] needs at least 2 dimensions, got shape {x.shape}; expand_dims adds one"
        )
    x = permuted(x, (*range(ndim - 2), ndim - 1, ndim - 2))
    return conj(x) if conjugate else x


def matrix_transpose(a: TensorLike, name: str | None = None, conjugate: bool = False) -> Tensor:
    """Exchange the last two dimensions of `a`.

    Parameters
    ----------
    a : tensor_like of shape (..., m, n)
        Matrices.
    conjugate : bool
        Take the complex conjugate too.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.

    Examples
    --------
    >>> jt.linalg.matrix_transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return apply(_matrix_transpose, (a,), (as_flag("conjugate", conjugate),))
