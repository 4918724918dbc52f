"""TensorFlow's scatter functions, which write values at indices. The functions that read are in `gather`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, iota
from jittape.primitives.elementwise.arithmetic import add, negative
from jittape.primitives.indexing.bad_indices import ignores_bad_indices, valued_within, within
from jittape.primitives.indexing.gather import coordinates, index_operand
from jittape.primitives.indexing.gather_ops import (
    COMBINE,
    scatter_add_op,
    scatter_combine_op,
    scatter_extremum_op,
    scatter_update_op,
)
from jittape.primitives.record_parts import require_kinds
from jittape.primitives.shape.reshaping import as_shape
from jittape.typing import Tensor, TensorLike

__all__ = [
    "batch_scatter_update",
    "scatter_add",
    "scatter_combine",
    "scatter_extremum",
    "scatter_nd",
    "scatter_sub",
    "scatter_update",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
]


def _scatter_nd(indices: Any, updates: Any, shape: tuple[int, ...], ignores: bool) -> Any:
    if any(n < 0 for n in shape):
        raise ShapeError(f"[scatter_nd] shape must not be negative, got {shape}")
    where = coordinates("scatter_nd", indices, len(shape))
    return _added("scatter_nd", as_symbol(updates), where, shape, ignores)


def _fitted(op: str, updates: Any, indices: list[Any], shape: tuple[int, ...]) -> Any:
    expected = (*indices[0].shape, *shape[len(indices) :])
    if updates.shape and updates.shape != expected:
        raise ShapeError(
            f"[{op}] updates of shape {updates.shape} do not fit the shape {expected} of the selected elements; "
            "reshape or broadcast_to them"
        )
    return broadcast(updates, expected)


def _added(op: str, updates: Any, indices: list[Any], shape: tuple[int, ...], ignores: bool = False) -> Any:
    updates = _fitted(op, updates, indices, shape)
    if ignores:
        inside, indices = within(indices, shape)
        updates = valued_within(inside, updates)
    return scatter_add_op.bind(updates, *indices, axis=0, shape=shape)


def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: Any,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Return zeros of `shape` with `updates` added at the coordinates in the last dimension of `indices`.

    Parameters
    ----------
    indices : tensor_like of int, shape (..., k)
        Coordinates in the first `k` dimensions.
    updates : tensor_like
        One element or slice for each coordinate.
    shape : sequence of int
        Shape of the result.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}
        "IGNORE" leaves out updates whose coordinates are out of range; the others raise.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `indices` is not an integer.
    ShapeError
        If the shapes of `indices` and `updates` do not fit `shape`.
    InvalidArgumentError
        If `bad_indices_policy` is not one of these.
    InvalidIndexError
        If an index is out of range and not ignored.

    Examples
    --------
    >>> jt.scatter_nd([[1], [3], [1]], jt.constant([1., 2., 10.]), [5]).numpy()
    array([ 0., 11.,  0.,  2.,  0.], dtype=float32)
    """
    ignores = ignores_bad_indices("scatter_nd", bad_indices_policy)
    return apply(_scatter_nd, (indices, updates), (as_shape("scatter_nd", shape), ignores))


def _same_dtype(op: str, x: Any, updates: Any) -> Any:
    if not isinstance(updates, WeakScalar) and not np.can_cast(updates.dtype, x.dtype, "same_kind"):
        raise DTypeError(
            f"[{op}] cannot put {updates.dtype.name} values into {x.dtype.name}; cast one of them"
        )
    return cast_to(updates, x.dtype)


def _scatter(x: Any, indices: Any, updates: Any, op: str, nd: bool, ignores: bool = False) -> Any:
    x = as_symbol(x)
    updates = _same_dtype(op, x, updates)
    where = coordinates(op, indices, len(x.shape)) if nd else [index_operand(op, indices)]
    if not x.shape:
        raise ShapeError(f"[{op}] a scalar has no axis to scatter into")
    if op.endswith("update"):
        return scatter_update_op.bind(x, _fitted(op, updates, where, x.shape), *where, axis=0)
    if op.endswith("sub"):
        updates = negative(updates)
    return add(x, _added(op, updates, where, x.shape, ignores))


def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Replace the elements at the coordinates in the last dimension of `indices`; of several updates, use the last.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to start from; it is not changed.
    indices : tensor_like of int, shape (..., k)
        Coordinates in the first `k` dimensions.
    updates : tensor_like
        One element or slice for each coordinate.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `indices` is not an integer, or the dtype of `updates` does not cast to that of `tensor`.
    ShapeError
        If the shapes of `tensor`, `indices` and `updates` do not fit.
    InvalidIndexError
        If an index is out of range.

    Examples
    --------
    >>> jt.tensor_scatter_nd_update([1.0, 2.0, 3.0], [[1]], [5.0]).numpy()
    array([1., 5., 3.], dtype=float32)
    """
    return apply(_scatter, (tensor, indices, updates), ("tensor_scatter_nd_update", True))


def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Add `updates` to `tensor` at the coordinates in the last dimension of `indices`.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to start from; it is not changed.
    indices : tensor_like of int, shape (..., k)
        Coordinates in the first `k` dimensions.
    updates : tensor_like
        One element or slice for each coordinate.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}
        "IGNORE" leaves out updates whose coordinates are out of range; the others raise.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `indices` is not an integer, or the dtype of `updates` does not cast to that of `tensor`.
    ShapeError
        If the shapes of `tensor`, `indices` and `updates` do not fit.
    InvalidArgumentError
        If `bad_indices_policy` is not one of these.
    InvalidIndexError
        If an index is out of range and not ignored.

    Examples
    --------
    >>> jt.tensor_scatter_nd_add([1.0, 2.0, 3.0], [[1]], [5.0]).numpy()
    array([1., 7., 3.], dtype=float32)
    """
    op = "tensor_scatter_nd_add"
    return apply(
        _scatter, (tensor, indices, updates), (op, True, ignores_bad_indices(op, bad_indices_policy))
    )


def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Subtract `updates` from `tensor` at the coordinates in the last dimension of `indices`.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to start from; it is not changed.
    indices : tensor_like of int, shape (..., k)
        Coordinates in the first `k` dimensions.
    updates : tensor_like
        One element or slice for each coordinate.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}
        "IGNORE" leaves out updates whose coordinates are out of range; the others raise.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `indices` is not an integer, or the dtype of `updates` does not cast to that of `tensor`.
    ShapeError
        If the shapes of `tensor`, `indices` and `updates` do not fit.
    InvalidArgumentError
        If `bad_indices_policy` is not one of these.
    InvalidIndexError
        If an index is out of range and not ignored.

    Examples
    --------
    >>> jt.tensor_scatter_nd_sub([1.0, 2.0, 3.0], [[1]], [5.0]).numpy()
    array([ 1., -3.,  3.], dtype=float32)
    """
    op = "tensor_scatter_nd_sub"
    return apply(
        _scatter, (tensor, indices, updates), (op, True, ignores_bad_indices(op, bad_indices_policy))
    )


def scatter_update(x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return `x` with the slices at `indices` of its first axis replaced; of several updates, the last is used."""
    return apply(_scatter, (x, indices, updates), ("scatter_update", False))


def scatter_add(x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return `x` with `updates` added to the slices at `indices` of its first axis."""
    return apply(_scatter, (x, indices, updates), ("scatter_add", False))


def scatter_sub(x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return `x` with `updates` subtracted from the slices at `indices` of its first axis."""
    return apply(_scatter, (x, indices, updates), ("scatter_sub", False))


def _batch_update(x: Any, indices: Any, updates: Any) -> Any:
    op = "batch_scatter_update"
    x = as_symbol(x)
    index = index_operand(op, indices)
    lead = len(index.shape) - 1
    if lead < 0 or len(x.shape) <= lead or x.shape[:lead] != index.shape[:lead]:
        raise ShapeError(
            f"[{op}] indices of shape {index.shape} must have the first dimensions of shape {x.shape}, and one more"
        )
    where = [*[iota(index.shape, d, int64) for d in range(lead)], index]
    updates = _fitted(op, _same_dtype(op, x, updates), where, x.shape)
    return scatter_update_op.bind(x, updates, *where, axis=0)


def batch_scatter_update(x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return `x` with rows of each member of a batch replaced: ``x[b, indices[b, i]] = updates[b, i]``."""
    return apply(_batch_update, (x, indices, updates))


def _combined(x: Any, indices: Any, updates: Any, how: str) -> Any:
    op = f"scatter_{how}"
    x = as_symbol(x)
    updates = _same_dtype(op, x, updates)
    if not x.shape:
        raise ShapeError(f"[{op}] a scalar has no axis to scatter into")
    if how == "div" and x.dtype.kind not in "fc":
        raise DTypeError(f"[{op}] needs a floating or complex dtype, got {x.dtype.name}; cast it first")
    index = index_operand(op, indices)
    return scatter_combine_op.bind(x, _fitted(op, updates, [index], x.shape), index, how=how)


def scatter_combine(x: TensorLike, indices: TensorLike, updates: TensorLike, how: str) -> Tensor:
    """Return `x` with the slices at `indices` of its first axis combined with `updates`, repeated ones in turn.

    `how` is ``"mul"`` or ``"div"``. There is no gradient: the result is assigned to a Variable.
    """
    if how not in COMBINE:
        raise ValueError(f"scatter_combine supports {', '.join(COMBINE)}, got {how!r}")
    return apply(_combined, (x, indices, updates), (how,))


def _extremum(x: Any, indices: Any, updates: Any, how: str, nd: bool) -> Any:
    op = f"tensor_scatter_nd_{how}" if nd else f"scatter_{how}"
    x = as_symbol(x)
    require_kinds(op, "biuf", x)
    updates = _same_dtype(op, x, updates)
    if not x.shape:
        raise ShapeError(f"[{op}] a scalar has no axis to scatter into")
    where = coordinates(op, indices, len(x.shape)) if nd else [index_operand(op, indices)]
    return scatter_extremum_op.bind(x, _fitted(op, updates, where, x.shape), *where, how=how)


def scatter_extremum(x: TensorLike, indices: TensorLike, updates: TensorLike, how: str) -> Tensor:
    """Return `x` with the slices at `indices` of its first axis replaced by their maximum or minimum with `updates`."""
    return apply(_extremum, (x, indices, updates), (how, False))


def tensor_scatter_nd_max(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return `tensor` with the greater of its elements and `updates` at the coordinates in `indices`.

    The last dimension of `indices` contains the coordinates. Equal maxima share the gradient equally, as in TensorFlow.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to start from; it is not changed.
    indices : tensor_like of int, shape (..., k)
        Coordinates in the first `k` dimensions.
    updates : tensor_like
        One element or slice for each coordinate.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `tensor` is complex, `indices` is not an integer, or the dtype of `updates` does not cast to that
        of `tensor`.
    ShapeError
        If the shapes of `tensor`, `indices` and `updates` do not fit.
    InvalidIndexError
        If an index is out of range.

    Examples
    --------
    >>> jt.tensor_scatter_nd_max([1.0, 5.0, 3.0], [[0], [1]], [2.0, 4.0]).numpy()
    array([2., 5., 3.], dtype=float32)
    """
    return apply(_extremum, (tensor, indices, updates), ("max", True))


def tensor_scatter_nd_min(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return `tensor` with the lesser of its elements and `updates` at the coordinates in `indices`.

    The last dimension of `indices` contains the coordinates. Equal minima share the gradient equally, as in TensorFlow.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to start from; it is not changed.
    indices : tensor_like of int, shape (..., k)
        Coordinates in the first `k` dimensions.
    updates : tensor_like
        One element or slice for each coordinate.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `tensor` is complex, `indices` is not an integer, or the dtype of `updates` does not cast to that
        of `tensor`.
    ShapeError
        If the shapes of `tensor`, `indices` and `updates` do not fit.
    InvalidIndexError
        If an index is out of range.

    Examples
    --------
    >>> jt.tensor_scatter_nd_min([1.0, 5.0, 3.0], [[0], [1]], [2.0, 4.0]).numpy()
    array([1., 4., 3.], dtype=float32)
    """
    return apply(_extremum, (tensor, indices, updates), ("min", True))
