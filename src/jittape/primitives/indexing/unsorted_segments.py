"""Reductions over segments in any order: rows with equal ids are summed, averaged, multiplied or compared.

The functions take the number of segments, so their results have a known shape.
"""

from __future__ import annotations

from typing import Any

from jittape.core.primitive import any_dtype, apply
from jittape.core.user_calls import as_int, named
from jittape.primitives.indexing.gather import known_indices
from jittape.primitives.indexing.segment_ops import check_ids
from jittape.primitives.indexing.segments import reduced_segments, segment_operands
from jittape.typing import Tensor, TensorLike

__all__ = [
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]


@any_dtype
def _unsorted_extremum(data: Any, ids: Any, how: str, size: int) -> Any:
    """Return the extrema; an empty segment is the least or greatest number of the dtype itself."""
    return _unsorted_body(data, ids, how, size)


def _unsorted_body(data: Any, ids: Any, how: str, size: int) -> Any:
    op = f"unsorted_segment_{how}"
    data, ids = segment_operands(data, ids, how, op)
    return reduced_segments(data, ids, how, size, op, False)


def _unsorted(data: Any, segment_ids: Any, num_segments: Any, how: str) -> Tensor:
    size = as_int("num_segments", num_segments)
    if size < 0:
        raise named(ValueError(f"num_segments must not be negative, got {size}"))
    known = known_indices(segment_ids)
    if known is not None:
        check_ids(f"unsorted_segment_{how}", known, size)
    body = _unsorted_extremum if how in ("max", "min") else _unsorted_body
    return apply(body, (data, segment_ids if known is None else known), (how, size))


def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Sum the rows of `data` with equal ids; an empty segment gives 0.

    Parameters
    ----------
    data : tensor_like
        Shape ``(*segment_ids.shape, ...)``; a number dtype.
    segment_ids : tensor_like of int
        The segment of each row, in any order. Rows with a negative id are dropped.
    num_segments : int
        Number of rows of the result, which has the shape ``(num_segments, ...)``.

    Raises
    ------
    IndexError
        If an id is not less than `num_segments`: immediately if the ids are a list or an array, when the result is read
        if they are a tensor.
    ValueError
        If the shapes do not fit, or `num_segments` is negative.

    Examples
    --------
    >>> jt.math.unsorted_segment_sum([1.0, 2.0, 4.0, 8.0], [1, 0, 1, -1], 3).numpy()
    array([2., 5., 0.], dtype=float32)
    """
    return _unsorted(data, segment_ids, num_segments, "sum")


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Compute the mean of the rows of `data` with equal ids; an empty segment gives 0.

    Means of integers are floats. See `unsorted_segment_sum` for the arguments.

    Parameters
    ----------
    data, segment_ids, num_segments : those of `unsorted_segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean.
    ShapeError
        If the shape of `data` does not start with the shape of the ids.
    ValueError
        If `num_segments` is negative.
    IndexError
        If an id is not less than `num_segments`; raised as by `unsorted_segment_sum`.

    Examples
    --------
    >>> jt.math.unsorted_segment_mean([1.0, 2.0, 4.0], [1, 0, 1], 3).numpy()
    array([2. , 2.5, 0. ], dtype=float32)
    """
    return _unsorted(data, segment_ids, num_segments, "mean")


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Sum the rows of `data` with equal ids and divide each sum by the square root of the number of its rows.

    `data` must have a floating or complex dtype. See `unsorted_segment_sum` for the other arguments.

    Parameters
    ----------
    data, segment_ids, num_segments : those of `unsorted_segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is neither floating nor complex.
    ShapeError
        If the shape of `data` does not start with the shape of the ids.
    ValueError
        If `num_segments` is negative.
    IndexError
        If an id is not less than `num_segments`; raised as by `unsorted_segment_sum`.

    Examples
    --------
    >>> jt.math.unsorted_segment_sqrt_n([1.0, 1.0, 1.0, 1.0], [0, 0, 0, 0], 1).numpy()
    array([2.], dtype=float32)
    """
    return _unsorted(data, segment_ids, num_segments, "sqrt_n")


def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Multiply the rows of `data` with equal ids; an empty segment gives 1.

    The gradient is correct for elements that are 0, to any order. See `unsorted_segment_sum` for the arguments.

    Parameters
    ----------
    data, segment_ids, num_segments : those of `unsorted_segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean.
    ShapeError
        If the shape of `data` does not start with the shape of the ids.
    ValueError
        If `num_segments` is negative.
    IndexError
        If an id is not less than `num_segments`; raised as by `unsorted_segment_sum`.

    Examples
    --------
    >>> jt.math.unsorted_segment_prod([1.0, 2.0, 4.0], [1, 0, 1], 3).numpy()
    array([2., 4., 1.], dtype=float32)
    """
    return _unsorted(data, segment_ids, num_segments, "prod")


def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Return the maximum of the rows of `data` with equal ids.

    An empty segment gives the least finite number of the dtype, as in TensorFlow. Equal maxima share the gradient
    equally. If an element is nan, the result is nan. See `unsorted_segment_sum` for the arguments.

    Parameters
    ----------
    data, segment_ids, num_segments : those of `unsorted_segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean or complex.
    ShapeError
        If the shape of `data` does not start with the shape of the ids.
    ValueError
        If `num_segments` is negative.
    IndexError
        If an id is not less than `num_segments`; raised as by `unsorted_segment_sum`.

    Examples
    --------
    >>> jt.math.unsorted_segment_max([1.0, 2.0, 4.0], [1, 0, 1], 2).numpy()
    array([2., 4.], dtype=float32)
    """
    return _unsorted(data, segment_ids, num_segments, "max")


def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Return the minimum of the rows of `data` with equal ids.

    An empty segment gives the greatest finite number of the dtype, as in TensorFlow. Equal minima share the gradient
    equally. If an element is nan, the result is nan. See `unsorted_segment_sum` for the arguments.

    Parameters
    ----------
    data, segment_ids, num_segments : those of `unsorted_segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean or complex.
    ShapeError
        If the shape of `data` does not start with the shape of the ids.
    ValueError
        If `num_segments` is negative.
    IndexError
        If an id is not less than `num_segments`; raised as by `unsorted_segment_sum`.

    Examples
    --------
    >>> jt.math.unsorted_segment_min([1.0, 2.0, 4.0], [1, 0, 1], 2).numpy()
    array([2., 1.], dtype=float32)
    """
    return _unsorted(data, segment_ids, num_segments, "min")
