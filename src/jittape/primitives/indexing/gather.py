"""TensorFlow's functions that select by indices: gather, gather_nd, take_along_axis, boolean_mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_array, as_int, named
from jittape.errors import DTypeError, InvalidIndexError, ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    broadcast_shapes,
    cast_to,
    iota,
    one_axis_key,
    to_shape,
)
from jittape.primitives.indexing.bad_indices import ignores_bad_indices, valued_within, within
from jittape.primitives.indexing.gather_ops import check_range, gather_op, integer_index
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.indexing.index_keys import check_mask
from jittape.primitives.shape.reshaping import one_axis, shape_of
from jittape.primitives.shape.views import permuted, sliced
from jittape.typing import Tensor, TensorLike

__all__ = [
    "boolean_mask",
    "coordinates",
    "gather",
    "gather_nd",
    "index_operand",
    "known_indices",
    "take_along_axis",
]


def index_operand(op: str, indices: Any, argument: str = "indices") -> Any:
    """Return `indices`, given as `argument`, as an int64 operand."""
    if not isinstance(indices, WeakScalar):
        return integer_index(op, indices, argument)
    if indices.kind is not int:
        raise DTypeError(f"[{op}] {argument} must be integers, got a {indices.kind.__name__}")
    return cast_to(indices, int64)


def known_indices(indices: Any) -> Any:
    """Return `indices` as an integer ndarray if their values are known without running anything, else None."""
    if isinstance(indices, (list, tuple)) and all(isinstance(i, (int, np.integer)) for i in indices):
        return np.asarray(indices, np.int64)
    known = isinstance(indices, (int, np.integer, np.ndarray))
    return np.asarray(indices) if known and np.asarray(indices).dtype.kind in "iu" else None


# ---- gather ----------------------------------------------------------------------------------------------------------


def _gather(params: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    params = as_symbol(params)
    indices = index_operand("gather", indices)
    lead = len(indices.shape) + batch_dims if batch_dims < 0 else batch_dims
    a = one_axis("gather", axis, len(params.shape))
    if not 0 <= lead <= a or params.shape[:lead] != indices.shape[:lead]:
        raise ShapeError(
            f"[gather] batch_dims={batch_dims} does not fit params {params.shape}, indices {indices.shape} "
            f"and axis {axis}"
        )
    between = tuple(range(lead, a))
    rows = [iota(indices.shape, d, int64) for d in range(lead)]
    if not rows:
        return gather_op.bind(params, indices, axis=a)
    params = permuted(params, (*range(lead), a, *between, *range(a + 1, len(params.shape))))
    result = gather_op.bind(params, *rows, indices, axis=0)
    n = len(indices.shape)
    moved = tuple(range(n, n + len(between)))
    return permuted(
        result, (*range(lead), *moved, *range(lead, n), *range(n + len(between), len(result.shape)))
    )


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: Any = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Return the slices of `params` along `axis` that `indices` select.

    Parameters
    ----------
    params : tensor_like
        The source.
    indices : tensor_like of int
        Indices of any shape, which replaces the dimension `axis` in the result. Negative indices count from the end.
    validate_indices : optional
        Ignored: indices are always checked.
    axis : int, optional
        ``batch_dims`` by default.
    batch_dims : int
        Number of leading dimensions that `params` and `indices` share.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `indices` is not an integer.
    IndexError
        If an index is out of range: immediately if its value is known, when the result is read if it is a tensor.

    Examples
    --------
    >>> jt.gather(jt.constant([10., 20., 30.]), [2, 0, 2]).numpy()
    array([30., 10., 30.], dtype=float32)
    """
    batch_dims = as_int("batch_dims", batch_dims)
    along = batch_dims if axis is None else one_axis_key(axis)
    known = known_indices(indices)
    if known is None:
        return apply(_gather, (params, indices), (along, batch_dims))
    shape = shape_of(params)
    if -len(shape) <= along < len(shape):
        try:
            check_range("gather", known, along % len(shape), shape[along])
        except InvalidIndexError as error:
            raise named(error) from None
    one = indices if type(indices) is int else known  # a number is an input, which takes no memory
    return apply(_gather, (params, one), (along, batch_dims))


def coordinates(op: str, indices: Any, ndim: int, batch_dims: int = 0) -> list[Any]:
    """Split the last dimension of `indices` into one index array per axis."""
    indices = index_operand(op, indices)
    if not indices.shape:
        raise ShapeError(f"[{op}] indices must have at least 1 dimension")
    count = indices.shape[-1]
    if not 1 <= count <= ndim - batch_dims:
        raise ShapeError(
            f"[{op}] the last dimension of indices {indices.shape} must be 1 to {ndim - batch_dims}: "
            "an index for each axis"
        )
    shape = indices.shape[:-1]
    rows = [iota(shape, d, int64) for d in range(batch_dims)]
    return rows + [to_shape(sliced(indices, len(shape), k, 1), shape) for k in range(count)]


def _gather_nd(params: Any, indices: Any, batch_dims: int, ignores: bool) -> Any:
    params = as_symbol(params)
    if not 0 <= batch_dims <= len(params.shape) or params.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise ShapeError(
            f"[gather_nd] batch_dims={batch_dims} does not fit params {params.shape} and indices {indices.shape}"
        )
    where = coordinates("gather_nd", indices, len(params.shape), batch_dims)
    if not ignores:
        return gather_op.bind(params, *where, axis=0)
    inside, where = within(where, params.shape)
    return valued_within(inside, gather_op.bind(params, *where, axis=0))


def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """Return the elements or slices of `params` at the coordinates in the last dimension of `indices`.

    Parameters
    ----------
    params : tensor_like
        The tensor to read from.
    indices : tensor_like of int, shape (..., k)
        Coordinates in the first `k` dimensions of `params`.
    batch_dims : int
        Number of leading dimensions that both tensors share.
    name : str, optional
        Ignored.
    bad_indices_policy : {"", "DEFAULT", "ERROR", "IGNORE"}
        "IGNORE" gives 0 for coordinates out of range, including negative ones; the others raise.

    Raises
    ------
    DTypeError
        If `indices` is not an integer.
    ShapeError
        If the last dimension of `indices` does not fit `params`.
    InvalidArgumentError
        If `bad_indices_policy` is not one of these.
    InvalidIndexError
        If a coordinate is out of range and not ignored.

    Examples
    --------
    >>> jt.gather_nd([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [1, 0]]).numpy()
    array([2., 3.], dtype=float32)
    """
    ignores = ignores_bad_indices("gather_nd", bad_indices_policy)
    return apply(_gather_nd, (params, indices), (as_int("batch_dims", batch_dims), ignores))


def _take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    x = as_symbol(x)
    indices = index_operand("take_along_axis", indices)
    a = one_axis("take_along_axis", axis, len(x.shape))
    others = [d for d in range(len(x.shape)) if d != a]
    if len(indices.shape) != len(x.shape) or any(
        n != m and 1 not in (n, m) for d in others for n, m in [(x.shape[d], indices.shape[d])]
    ):
        raise ShapeError(
            f"[take_along_axis] indices {indices.shape} do not fit shape {x.shape} along axis {axis}"
        )
    shape = broadcast_shapes(indices.shape, tuple([n if d != a else 1 for d, n in enumerate(x.shape)]))
    x = broadcast(x, tuple([n if d != a else x.shape[a] for d, n in enumerate(shape)]))
    where = [broadcast(indices, shape) if d == a else iota(shape, d, int64) for d in range(len(shape))]
    return gather_op.bind(x, *where, axis=0)


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int) -> Tensor:
    """Return the elements of `arr` along `axis` that the corresponding elements of `indices` select."""
    return apply(_take_along_axis, (arr, indices), (one_axis_key(axis),))


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: int | None = None, name: str | None = "boolean_mask"
) -> Tensor:
    """Return the elements or slices of `tensor` where `mask` is true.

    The shape of the result depends on the value of the mask, so pending operations run. `where` avoids this.

    Parameters
    ----------
    tensor : tensor_like
        The source.
    mask : tensor_like of bool
        A mask with the shape of `tensor`, or of some of its dimensions.
    axis : int, optional
        The dimension of `tensor` that corresponds to the first dimension of `mask`; 0 by default.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `mask` is not bool.
    ShapeError
        If `mask` has more dimensions than the tensor from `axis` on.
    InvalidIndexError
        If `mask` has another length.
    ValueError
        If `mask` is a scalar.

    Examples
    --------
    >>> jt.boolean_mask([1.0, 2.0, 3.0], [True, False, True]).numpy()
    array([1., 3.])
    """
    array: np.ndarray[Any, Any] = as_array("mask", mask)
    if array.dtype != np.bool_:
        raise DTypeError(
            f"[boolean_mask] the mask must be bool, got {array.dtype}; compare first, as in x > 0"
        )
    if not array.ndim:
        raise ValueError("[boolean_mask] mask cannot be scalar")
    source: Any = as_array("tensor", tensor) if isinstance(tensor, (list, tuple)) else tensor
    rank = len(shape_of(source))
    at = 0 if axis is None else one_axis("boolean_mask", one_axis_key(axis), rank)
    if array.ndim > rank - at:
        raise ShapeError(
            f"[boolean_mask] a mask of {array.ndim} dimensions does not fit: tensor has {rank - at} from axis {at} on"
        )
    check_mask("boolean_mask", array.shape, source.shape, at)
    return getitem(source, (*(slice(None),) * at, array))
