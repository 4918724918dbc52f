"""Reductions over segments: rows with equal ids are summed, averaged, multiplied or compared.

The public functions take sorted ids and derive the number of segments from the last id: they read the ids, so pending
operations run. ``unsorted_segments.py`` has the functions that take the number of segments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import int32, is_differentiable
from jittape.core.primitive import apply
from jittape.core.user_calls import as_array, named
from jittape.errors import DTypeError, InvalidArgumentError, InvalidIndexError, ShapeError
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.comparison import equal, less, logical_and, not_equal, where
from jittape.primitives.elementwise.division import divide, floor_divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.indexing.gather import index_operand
from jittape.primitives.indexing.gather_ops import scatter_add_op
from jittape.primitives.indexing.segment_ops import (
    along_rows,
    kept_rows,
    segment_extremum_op,
    segment_prod_op,
    segment_row_op,
)
from jittape.primitives.record_parts import require_kinds
from jittape.primitives.shape.reshaping import shape_of
from jittape.typing import Tensor, TensorLike

__all__ = [
    "averaged_segments",
    "reduced_segments",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_operands",
    "segment_prod",
    "segment_sum",
    "summed_segments",
]

KINDS = {"sum": "iufc", "mean": "iufc", "prod": "iufc", "max": "iuf", "min": "iuf", "sqrt_n": "fc"}
"""Kinds of `numpy.dtype` that each reduction supports."""


# ---- bodies ----------------------------------------------------------------------------------------------------------


def segment_operands(data: Any, ids: Any, how: str, op: str) -> tuple[Any, Any]:
    """Return the data with the dimensions of the ids merged into rows, and one id per row."""
    data, ids = as_symbol(data), index_operand(op, ids, "segment_ids")
    require_kinds(op, KINDS[how], data)
    rank = len(ids.shape)
    if data.shape[:rank] != ids.shape:
        raise ShapeError(
            f"[{op}] the shape of data {data.shape} must start with the shape of segment_ids {ids.shape}"
        )
    return to_shape(data, (ids.aval.size, *data.shape[rank:])), to_shape(ids, (ids.aval.size,))


def summed_segments(data: Any, ids: Any, size: int, op: str, all_kept: bool = False) -> Any:
    """Return the sums of the rows with equal ids; `all_kept` says that no id is negative."""
    row = segment_row_op.bind(ids, size=size, op=op)
    if not all_kept:
        data = where(along_rows(kept_rows(ids), data, 0), data, 0)
    return scatter_add_op.bind(data, row, axis=0, shape=(size, *data.shape[1:]))


def _counts(ids: Any, size: int, op: str, all_kept: bool) -> Any:
    """Return the number of rows of each segment, at least 1."""
    ones = broadcast(literal(1, int32), ids.shape)
    return maximum(summed_segments(ones, ids, size, op, all_kept), 1)


def averaged_segments(
    data: Any, ids: Any, size: int, op: str, all_kept: bool = True, root: bool = False
) -> Any:
    """Return the means of the rows with equal ids; sums divided by roots of counts if `root` is true."""
    total = summed_segments(data, ids, size, op, all_kept)
    counts = along_rows(_counts(ids, size, op, all_kept), total, 0)
    if not is_differentiable(data.dtype):
        return divide(total, counts)
    counts = cast_to(counts, data.dtype)
    return divide(total, sqrt(counts) if root else counts)


def reduced_segments(data: Any, ids: Any, how: str, size: int, op: str, all_kept: bool) -> Any:
    """Return the reduction `how`, a key of `KINDS`, of the rows with equal ids."""
    if size == 0:
        return broadcast(literal(0, data.dtype), (0, *data.shape[1:]))
    if how == "sum":
        return summed_segments(data, ids, size, op, all_kept)
    if how == "prod":
        return segment_prod_op.bind(data, ids, size=size, axis=0, op=op)
    if how in ("max", "min"):
        return segment_extremum_op.bind(data, ids, how=how, size=size, axis=0, op=op)
    return averaged_segments(data, ids, size, op, all_kept, how == "sqrt_n")


def _truncated_quotient(x: Any, y: Any) -> Any:
    """Return the quotient of integers, rounded toward 0."""
    floor = floor_divide(x, y)
    upward = logical_and(less(x, 0), not_equal(multiply(floor, y), x))
    return add(floor, cast_to(upward, x.dtype))


def _sorted_body(data: Any, ids: Any, how: str, size: int) -> Any:
    op = f"segment_{how}"
    data, ids = segment_operands(data, ids, how, op)
    integer_mean = how == "mean" and not is_differentiable(data.dtype)
    out = reduced_segments(data, ids, "sum" if integer_mean else how, size, op, True)
    if how in ("sum", "prod") or size == 0:
        return out
    counts = along_rows(summed_segments(broadcast(literal(1, int32), ids.shape), ids, size, op, True), out, 0)
    if integer_mean:
        return _truncated_quotient(out, cast_to(maximum(counts, 1), out.dtype))
    return where(equal(counts, 0), 0, out) if how in ("max", "min") else out


def _sorted(data: Any, segment_ids: Any, how: str) -> Tensor:
    ids: np.ndarray[Any, Any] = as_array(
        "segment_ids",
        segment_ids,
        f"use unsorted_segment_{how}, which reads no ids but takes num_segments",
    )
    if ids.ndim != 1:
        raise named(ShapeError(f"segment_ids must have 1 dimension, got shape {ids.shape}"))
    if ids.dtype.kind not in "iu" and ids.size:
        raise named(DTypeError(f"segment_ids must be integers, got {ids.dtype.name}; cast them first"))
    falls = np.flatnonzero(ids[1:] < ids[:-1])
    if falls.size:
        place = int(falls[0])
        raise named(
            InvalidArgumentError(
                f"segment_ids must be sorted, got {ids[place + 1]} after {ids[place]} at index {place + 1}; "
                f"use unsorted_segment_{how}, which also needs num_segments"
            )
        )
    if ids.size and ids[0] < 0:
        raise named(InvalidIndexError(f"segment_ids must not be negative, got segment_ids[0] = {ids[0]}"))
    size = int(ids[-1]) + 1 if ids.size else 0
    shape = shape_of(data)
    if shape[:1] != ids.shape:
        raise named(
            ShapeError(f"segment_ids must have one id for each of the rows of data {shape}, got {ids.size}")
        )
    return apply(_sorted_body, (data, ids.astype(np.int64, copy=False)), (how, size))


# ---- sorted ids ------------------------------------------------------------------------------------------------------


def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Sum the rows of `data` with equal ids; an empty segment gives 0.

    Parameters
    ----------
    data : tensor_like
        Rows along the first dimension; a number dtype.
    segment_ids : tensor_like of int
        Shape ``(n,)``, sorted and not negative: the segment of each row. The result has ``segment_ids[-1] + 1`` rows,
        so the ids are read and pending operations run. Inside `jt.function`, use `unsorted_segment_sum`.

    Raises
    ------
    ValueError
        If the ids are not sorted, or their number differs from the number of rows.
    IndexError
        If an id is negative.

    Examples
    --------
    >>> jt.math.segment_sum([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 0, 2]).numpy()
    array([[4., 6.],
           [0., 0.],
           [5., 6.]], dtype=float32)
    """
    return _sorted(data, segment_ids, "sum")


def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Compute the mean of the rows of `data` with equal ids; an empty segment gives 0.

    Means of integers are integers, rounded toward 0, as in TensorFlow. See `segment_sum` for the arguments.

    Parameters
    ----------
    data, segment_ids : those of `segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean.
    ShapeError
        If the number of ids differs from the number of rows.
    ValueError
        If the ids are not sorted.
    IndexError
        If an id is negative.

    Examples
    --------
    >>> jt.math.segment_mean([1.0, 3.0, 5.0], [0, 0, 1]).numpy()
    array([2., 5.], dtype=float32)
    """
    return _sorted(data, segment_ids, "mean")


def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Multiply the rows of `data` with equal ids; an empty segment gives 1.

    The gradient is correct for elements that are 0, to any order. See `segment_sum` for the arguments.

    Parameters
    ----------
    data, segment_ids : those of `segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean.
    ShapeError
        If the number of ids differs from the number of rows.
    ValueError
        If the ids are not sorted.
    IndexError
        If an id is negative.

    Examples
    --------
    >>> x = jt.Variable([0.0, 2.0, 3.0])
    >>> with jt.GradientTape() as tape:
    ...     y = jt.math.segment_prod(x, [0, 0, 1])
    >>> tape.gradient(y, x).numpy()
    array([2., 0., 1.], dtype=float32)
    """
    return _sorted(data, segment_ids, "prod")


def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the maximum of the rows of `data` with equal ids; an empty segment gives 0.

    Equal maxima share the gradient equally. If an element is nan, the result is nan. See `segment_sum` for the
    arguments.

    Parameters
    ----------
    data, segment_ids : those of `segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean or complex.
    ShapeError
        If the number of ids differs from the number of rows.
    ValueError
        If the ids are not sorted.
    IndexError
        If an id is negative.

    Examples
    --------
    >>> jt.math.segment_max([1.0, 3.0, 5.0], [0, 0, 1]).numpy()
    array([3., 5.], dtype=float32)
    """
    return _sorted(data, segment_ids, "max")


def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the minimum of the rows of `data` with equal ids; an empty segment gives 0.

    Equal minima share the gradient equally. If an element is nan, the result is nan. See `segment_sum` for the
    arguments.

    Parameters
    ----------
    data, segment_ids : those of `segment_sum`

    Raises
    ------
    DTypeError
        If the ids are not integers, or `data` is boolean or complex.
    ShapeError
        If the number of ids differs from the number of rows.
    ValueError
        If the ids are not sorted.
    IndexError
        If an id is negative.

    Examples
    --------
    >>> jt.math.segment_min([1.0, 3.0, 5.0], [0, 0, 1]).numpy()
    array([1., 5.], dtype=float32)
    """
    return _sorted(data, segment_ids, "min")
