"""Counts: bincount, histograms with bins of equal width, and confusion matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import as_dtype, int32, int64
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_array, as_flag, as_int, named
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, iota, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import greater_equal, less, logical_not, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import clip_by_value, floor
from jittape.primitives.indexing.checked_integers import check_integers, checked_integers, integer_array
from jittape.primitives.indexing.segments import summed_segments
from jittape.primitives.record_parts import floating, integer_dtype, require_kinds
from jittape.primitives.shape.reshaping import shape_of
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["bincount", "confusion_matrix", "histogram_fixed_width", "histogram_fixed_width_bins"]


# ---- bincount --------------------------------------------------------------------------------------------------------


def _counted(ids: Any, weights: Any, size: int, by_row: bool) -> Any:
    """Return the sums of `weights` by id, for each row of the ids if `by_row` is true. Ids of -1 are dropped."""
    lead = ids.shape[:-1] if by_row else ()
    rows, count = math.prod(lead), ids.aval.size
    if by_row:
        start = broadcast(to_shape(multiply(iota((rows,), 0, int64), size), (*lead, 1)), ids.shape)
        ids = where(less(ids, 0), -1, add(ids, start))
    sums = summed_segments(to_shape(weights, (count,)), to_shape(ids, (count,)), rows * size, "bincount")
    return to_shape(sums, (*lead, size))


def _bincount_body(arr: Any, weights: Any, size: int, dtype: Any, by_row: bool, binary: bool) -> Any:
    ids = checked_integers("bincount", "arr", arr)
    ids = where(greater_equal(ids, size), -1, ids)
    if weights is None:
        weights = broadcast(literal(1, dtype), ids.shape)
    weights = as_symbol(weights)
    if weights.shape != ids.shape:
        raise ShapeError(f"[bincount] weights must have the shape {ids.shape} of arr, got {weights.shape}")
    require_kinds("bincount", "iufc", weights)
    if size == 0:
        return broadcast(literal(0, weights.dtype), (*ids.shape[:-1], 0) if by_row else (0,))
    sums = _counted(ids, weights, size, by_row)
    return cast_to(greater_equal(sums, 1), dtype) if binary else sums


def _bincount_unweighted(arr: Any, *static: Any) -> Any:
    return _bincount_body(arr, None, *static)


def _bins(arr: Any, minlength: int | None, maxlength: int | None) -> int:
    """Return the number of bins; reads the values of `arr` only if the lengths leave it open."""
    if minlength is not None and minlength == maxlength:
        return minlength
    remedy = "give equal minlength and maxlength"
    values = integer_array("arr", as_array("arr", arr, remedy))
    check_integers("bincount", "arr", values)
    size = max(int(values.max(initial=-1)) + 1, minlength or 0)
    return size if maxlength is None else min(size, maxlength)


def _length(argument: str, value: Any) -> int | None:
    if value is None:
        return None
    length = as_int(argument, value)
    if length < 0:
        raise named(ValueError(f"{argument} must not be negative, got {length}"))
    return length


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: int | None = None,
    maxlength: int | None = None,
    dtype: Any = int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Count how often each integer occurs in `arr`, or sum the `weights` of its occurrences.

    The result has an element for each integer from 0 to the greatest in `arr`, so the values are read and pending
    operations run. With equal `minlength` and `maxlength` the values are not read, and `jt.function` compiles the call.

    Parameters
    ----------
    arr : tensor_like of int
        Integers that are not negative.
    weights : tensor_like, optional
        Same shape as `arr`. The result has its dtype, and a gradient flows through the weights.
    minlength, maxlength : int, optional
        Minimum and maximum number of elements of the result. Integers that are not less than `maxlength` are dropped.
    dtype : dtype
        Dtype of the counts, if there are no weights.
    name : str, optional
        Ignored.
    axis : {None, 0, -1}
        -1 counts along the last dimension. Otherwise all elements are counted.
    binary_output : bool
        Give 1 instead of each count that is not 0.

    Raises
    ------
    ValueError
        If an element is negative, if the shapes differ, or if `weights` and `binary_output` are both given.

    Examples
    --------
    >>> jt.math.bincount([1, 2, 2, 5]).numpy()
    array([0, 1, 2, 0, 0, 1], dtype=int32)
    >>> jt.math.bincount([1, 2, 2], weights=[0.5, 1.0, 2.0]).numpy()
    array([0. , 0.5, 3. ], dtype=float32)
    """
    binary = as_flag("binary_output", binary_output)
    if binary and weights is not None:
        raise named(ValueError("weights and binary_output are mutually exclusive; give one of them"))
    axis = None if axis is None else as_int("axis", axis)
    if axis not in (None, 0, -1):
        raise named(ValueError(f"axis must be None, 0 or -1, got {axis!r}"))
    if axis == -1 and not shape_of(arr):
        raise named(ShapeError("arr must have at least 1 dimension for axis=-1, got shape ()"))
    size = _bins(arr, _length("minlength", minlength), _length("maxlength", maxlength))
    static = (size, as_dtype(dtype), axis == -1, binary)
    if isinstance(arr, (list, tuple)):
        arr = integer_array("arr", np.asarray(arr))
    if weights is None:
        return apply(_bincount_unweighted, (arr,), static)
    return apply(_bincount_body, (arr, weights), static)


# ---- histograms ------------------------------------------------------------------------------------------------------


def _check_range(low: Any, high: Any) -> None:
    if not low < high:
        raise ValueError(f"[histogram_fixed_width] value_range must be increasing, got [{low}, {high}]")


def _position(values: Any, low: Any, high: Any, nbins: int) -> Any:
    """Return the bin of each value: the first for values below the range, the last above it, -1 for nan."""
    scaled = divide(subtract(values, low), subtract(high, low))
    bins = cast_to(clip_by_value(floor(multiply(scaled, float(nbins))), 0, nbins - 1), int64)
    return where(is_nan(values), -1, bins)


def _position_impl(values: Any, low: Any, high: Any, *, nbins: int) -> Any:
    _check_range(low, high)
    with np.errstate(all="ignore"):
        scaled = (values - low) / (high - low) * values.dtype.type(nbins)
        found = np.clip(np.floor(scaled), 0, nbins - 1)
    return np.where(np.isnan(values), -1, np.nan_to_num(found)).astype(np.int64)


def _position_checked(values: Any, low: Any, high: Any, *, nbins: int) -> Any:
    end_run_where(logical_not(less(low, high)), "ValueError", "histogram: value_range is not increasing")
    low, high = [broadcast(x, values.shape) for x in (low, high)]
    return _position(values, low, high, nbins)


histogram_bin_op = Primitive(
    "histogram_bin",
    abstract_eval=lambda values, low, high, *, nbins: Aval(values.shape, int64),
    impl=_position_impl,
    lowering=Decomposition(_position_checked),
    gradient_stops="the number of a bin is an integer",
    batch=alike(1),
)
"""Number of the bin of each value, among `nbins` of equal width from `low` to `high`; -1 for nan."""


def _bins_body(values: Any, value_range: Any, nbins: int) -> Any:
    values = floating(values)
    op = "histogram_fixed_width"
    require_kinds(op, "f", values)
    if value_range.shape != (2,):
        raise ShapeError(f"[{op}] value_range must have the shape (2,), got {value_range.shape}")
    ends = cast_to(value_range, values.dtype)
    low, high = [to_shape(sliced(ends, 0, i, 1), ()) for i in range(2)]
    return histogram_bin_op.bind(values, low, high, nbins=nbins)


def _histogram_bins(values: Any, value_range: Any, nbins: int, dtype: np.dtype[Any]) -> Any:
    return cast_to(_bins_body(values, value_range, nbins), dtype)


def _histogram(values: Any, value_range: Any, nbins: int, dtype: np.dtype[Any]) -> Any:
    bins = _bins_body(values, value_range, nbins)
    return _counted(bins, broadcast(literal(1, dtype), bins.shape), nbins, False)


def _histogram_call(body: Any, values: Any, value_range: Any, nbins: Any, dtype: Any) -> Tensor:
    count = as_int("nbins", nbins)
    if count < 1:
        raise named(ValueError(f"nbins must be positive, got {count}"))
    return apply(body, (values, value_range), (count, integer_dtype("dtype", dtype)))


def histogram_fixed_width_bins(
    values: TensorLike, value_range: TensorLike, nbins: int = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Return the number of the bin of each value, among `nbins` bins of equal width.

    Parameters
    ----------
    values : tensor_like
        A real dtype. Values below or above the range belong to the first or the last bin. nan gives -1.
    value_range : tensor_like
        Shape ``(2,)``: the lower end of the first bin and the upper end of the last.
    nbins : int
        Number of bins.
    dtype : dtype
        An integer dtype.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `value_range` is not increasing or `nbins` is not positive.

    Examples
    --------
    >>> jt.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([0, 0, 1, 2, 4, 4], dtype=int32)
    """
    return _histogram_call(_histogram_bins, values, value_range, nbins, dtype)


def histogram_fixed_width(
    values: TensorLike, value_range: TensorLike, nbins: int = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Count the values in `nbins` bins of equal width; nan is not counted.

    See `histogram_fixed_width_bins` for the arguments and errors. Counts have no gradient.

    Parameters
    ----------
    values : tensor_like
        Real numbers, of any shape.
    value_range : tensor_like of shape (2,)
        Least and greatest value; other values count in the first and the last bin.
    nbins : int
        Number of bins.
    dtype : dtype
        Integer dtype of the counts.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `values` is complex.
    ShapeError
        If `value_range` has a wrong shape.
    ValueError
        If `value_range` is not increasing, or `nbins` is not positive.

    Examples
    --------
    >>> jt.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], nbins=5).numpy()
    array([2, 1, 1, 0, 2], dtype=int32)
    """
    return _histogram_call(_histogram, values, value_range, nbins, dtype)


# ---- confusion matrices ----------------------------------------------------------------------------------------------


def _squeezed(x: Any, other: Any) -> Any:
    """Return `x` without its last dimension if that has length 1 and `other` has one dimension less."""
    x = as_symbol(x)
    return to_shape(x, x.shape[:-1]) if len(x.shape) == len(other.shape) + 1 and x.shape[-1] == 1 else x


def _confusion_body(labels: Any, predictions: Any, weights: Any, size: int, dtype: np.dtype[Any]) -> Any:
    op = "confusion_matrix"
    labels, predictions = _squeezed(labels, predictions), _squeezed(predictions, labels)
    if labels.shape != predictions.shape or len(labels.shape) != 1:
        raise ShapeError(
            f"[{op}] labels and predictions must be vectors of equal length, got {labels.shape} and {predictions.shape}"
        )
    weights = cast_to(weights, dtype)
    if weights.shape not in ((), labels.shape):
        raise ShapeError(
            f"[{op}] weights must be a scalar or have the shape {labels.shape}, got {weights.shape}"
        )
    row, column = [
        checked_integers(op, name, x, size) for name, x in (("labels", labels), ("predictions", predictions))
    ]
    if size == 0:
        return broadcast(literal(0, dtype), (0, 0))
    cell = add(multiply(row, size), column)
    return to_shape(summed_segments(broadcast(weights, cell.shape), cell, size * size, op), (size, size))


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int | None = None,
    weights: TensorLike | None = None,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """Count the pairs of labels and predictions: row `i`, column `j` counts the label `i` with the prediction `j`.

    Parameters
    ----------
    labels, predictions : tensor_like of int
        Vectors of equal length with class numbers from 0.
    num_classes : int, optional
        Number of rows and columns. By default the greatest class number plus 1; the values are read then.
    weights : tensor_like, optional
        Weight of each pair, cast to `dtype`, or one weight for all pairs. A gradient flows through the weights.
    dtype : dtype
        Dtype of the result.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If a class number is negative or not less than `num_classes`, or if the shapes differ.

    Examples
    --------
    >>> jt.math.confusion_matrix([0, 1, 1], [0, 0, 1]).numpy()
    array([[1, 0],
           [1, 1]], dtype=int32)
    """
    if num_classes is None:
        remedy = "give num_classes"
        found = [("labels", labels), ("predictions", predictions)]
        values = [integer_array(argument, as_array(argument, x, remedy)) for argument, x in found]
        num_classes = max([int(x.max(initial=-1)) + 1 for x in values])
    size = as_int("num_classes", num_classes)
    if size < 0:
        raise named(ValueError(f"num_classes must not be negative, got {size}"))
    pairs = [
        integer_array(argument, as_array(argument, x)) if isinstance(x, list) else x
        for argument, x in (("labels", labels), ("predictions", predictions))
    ]
    return apply(_confusion_body, (*pairs, 1 if weights is None else weights), (size, as_dtype(dtype)))
