"""NumPy's medians, quantiles and percentiles, with all methods of Hyndman and Fan (Am. Stat. 50, 1996) and NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.primitive import active_recorder, apply
from jittape.core.user_calls import shown
from jittape.errors import DTypeError
from jittape.numpy_api.numpy_operands import (
    dtype_of,
    has_tensor,
    is_number,
    reject,
    shape_of,
    strong,
    values_of,
)
from jittape.numpy_api.numpy_reductions import rows_along, weights_of_shape
from jittape.numpy_api.numpy_sorting import numpy_sort
from jittape.primitives.broadcast import axis_key, normalized_axes
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.bits import is_inf, is_nan
from jittape.primitives.elementwise.comparison import (
    equal,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide, floor_divide, mod
from jittape.primitives.elementwise.piecewise import ceil, floor, maximum, minimum, round
from jittape.primitives.identity import identity
from jittape.primitives.indexing.gather import take_along_axis
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.indexing.sorting import argsort, sort
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.reduce.reductions import reduce_all, reduce_any, reduce_sum
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, reshape, transpose

__all__ = ["QUANTILES", "numpy_median"]

CONTINUOUS = {
    "hazen": (0.5, 0.5),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "weibull": (0.0, 0.0),
}
"""Parameters alpha and beta of the plotting position."""


def _last_step(n: Any, q: Any) -> Any:
    return multiply(subtract(n, 1.0), q)


def _position(n: Any, q: Any, method: str) -> tuple[Any, Any]:
    """Return the virtual index among `n` sorted elements, and the weight of the element after its floor."""
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        at = subtract(add(multiply(n, q), add(alpha, multiply(q, 1 - alpha - beta))), 1.0)
        return at, subtract(at, floor(at))
    at = _last_step(n, q)
    if method in ("linear", "median"):
        return at, subtract(at, floor(at))
    if method == "midpoint":
        at = multiply(0.5, add(floor(at), ceil(at)))
        return at, where(equal(mod(at, 1.0), 0.0), 0.0, 0.5)
    if method in ("lower", "higher", "nearest"):
        at = {"lower": floor, "higher": ceil, "nearest": round}[method](at)
        return at, multiply(at, 0.0)
    at = subtract(multiply(n, q), 1.5 if method == "closest_observation" else 1.0)
    before, whole = floor(at), equal(at, floor(at))
    if method == "averaged_inverted_cdf":
        return at, where(whole, 0.5, 1.0)
    if method == "closest_observation":
        whole = logical_and(whole, equal(mod(before, 2.0), 1.0))
    at = maximum(where(whole, before, add(before, 1.0)), 0.0)
    return at, multiply(at, 0.0)


METHODS = frozenset(
    (
        *CONTINUOUS,
        "averaged_inverted_cdf",
        "closest_observation",
        "higher",
        "inverted_cdf",
        "linear",
        "lower",
        "midpoint",
        "nearest",
    )
)


def _quantile_body(a: Any, q: Any, axes: tuple[int, ...], method: str, ignore_nan: bool) -> Any:
    """Return the quantiles, with the dimensions of `q` last."""
    ordered = sort(rows_along(a, axes), -1)
    length = shape_of(ordered)[-1]
    q = reshape(q, [-1])
    missing = is_nan(ordered) if dtype_of(a).kind == "f" else None
    n: Any = cast(length, q.dtype)
    if ignore_nan and missing is not None:
        n = expand_dims(reduce_sum(cast(logical_not(missing), q.dtype), -1), -1)
    shape = (*shape_of(ordered)[:-1], shape_of(q)[0])
    at, weight = _position(n, q, method)
    at, weight, n = (broadcast_to(x, shape) for x in (at, weight, n))
    before = floor(at)
    first, last = less(at, 0.0), greater_equal(at, subtract(n, 1.0))
    low = where(last, subtract(n, 1.0), where(first, 0.0, before))
    high = where(last, subtract(n, 1.0), where(first, 0.0, add(before, 1.0)))
    low, high = (take_along_axis(ordered, cast(maximum(i, 0.0), np.int64), -1) for i in (low, high))
    # A method without interpolation takes one element, whose infinity times the weight 0 would be nan.
    result = low if method in DISCRETE else _between(low, high, weight)
    if method == "median" and missing is not None:  # the mean of two elements is infinite if one of them is
        infinite = logical_or(is_inf(low), is_inf(high))
        result = where(infinite, where(equal(weight, 0.0), low, add(low, high)), result)
    if missing is not None:
        empty = equal(n, 0.0) if ignore_nan else expand_dims(reduce_any(missing, -1), -1)
        result = where(empty, np.nan, result)
    return result


DISCRETE = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def _between(low: Any, high: Any, weight: Any) -> Any:
    """Return the linear interpolation, monotonic in the weight and exact at both ends."""
    low = low if dtype_of(low).kind == "f" else cast(low, np.float64)
    high = high if dtype_of(high).kind == "f" else cast(high, np.float64)
    step = subtract(high, low)
    weight = cast(weight, np.result_type(weight.dtype, step.dtype))
    upper = greater_equal(weight, 0.5)
    return where(
        upper,
        subtract(high, multiply(step, subtract(1.0, weight))),
        add(low, multiply(step, weight)),
    )


def _quantile(name: str, scale: float, ignore_nan: bool) -> Callable[..., Any]:
    """Return ``np.quantile``, ``np.percentile`` or one that ignores nan."""

    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: Any = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Any:
        reject(name, out=out)
        a = strong(a)
        if dtype_of(a).kind == "c":
            raise DTypeError(f"[np.{name}] a must be an array of real numbers, got {dtype_of(a).name}")
        if method not in METHODS:
            raise ValueError(
                f"[np.{name}] {shown(method)} is not a valid method. Use one of: {sorted(METHODS)}"
            )
        q = _stacked(q)
        kind: Any = getattr(q, "kind", type(q)) if is_number(q) else dtype_of(strong(q))
        dtype = _dtype_of_quantiles(name, dtype_of(a), kind, method)
        if method == "linear" and scale == 1 and _is_integer(kind):  # NumPy takes an element: no inf * 0
            method = "lower"
        q = _probabilities(name, q, scale)
        if dtype.kind in "iu" and has_tensor(q) and active_recorder().traced_in is None:
            _require_range(name, values_of(q), scale, 1.0)  # integers have no nan
        if ignore_nan and 0 in shape_of(a):  # NumPy takes the mean: one nan, whatever q is
            return _of_nothing(name, a, axis, keepdims)
        operands = (a, q) if weights is None else (a, q, _weights(name, weights, a, axis, method))
        return apply(_at, operands, (name, axis_key(axis), method, bool(keepdims), ignore_nan, dtype))

    return quantile


def _is_integer(kind: Any) -> bool:
    """Return whether a Python type or a dtype is one of integers."""
    return kind is int or getattr(kind, "kind", "") in ("i", "u")


@lru_cache(maxsize=256)
def _dtype_of_quantiles(name: str, dtype: Any, kind: Any, method: str) -> Any:
    """Return the dtype of NumPy's quantiles at numbers of a Python type, or at an array of a dtype."""
    reference: Any = np.percentile if name.endswith("percentile") else np.quantile
    probe = kind(0) if isinstance(kind, type) else np.zeros((), kind)
    try:
        return reference(np.zeros(1, dtype), probe, method=method).dtype
    except TypeError as error:
        raise DTypeError(f"[np.{name}] {error}") from None


def _stacked(q: Any) -> Any:
    """Return `q`, and numbers in a body that stand in a list as a vector of their dtype."""
    if q.__class__ not in (list, tuple) or not any([x.__class__ is WeakScalar for x in q]):
        return q
    numbers = [strong(x) for x in q]
    dtype = np.result_type(*map(dtype_of, numbers))
    return stack([cast(x, dtype) for x in numbers])


def _require_range(name: str, q: Any, scale: float, greatest: float) -> None:
    if not np.all((q >= 0) & (q <= greatest)):
        raise ValueError(
            f"[np.{name}] {'Percentiles' if scale == 100 else 'Quantiles'} must be in the range [0, {scale:g}]"
        )


def _probabilities(name: str, q: Any, scale: float) -> Any:
    """Return `q` as floats between 0 and 1."""
    q = strong(q)
    if len(shape_of(q)) > 2:
        raise ValueError(f"[np.{name}] q must be a scalar or 1d, got shape {shape_of(q)}")
    if dtype_of(q).kind == "c":
        raise DTypeError(f"[np.{name}] q must be real, got {dtype_of(q).name}")
    if not has_tensor(q):
        _require_range(name, q, scale, scale)
        return float(q) / scale if not shape_of(q) else np.asarray(q, np.float64) / scale
    return divide(cast(q, np.float64), scale)


def _weights(name: str, weights: Any, a: Any, axis: Any, method: str) -> Any:
    """Return the weights of the elements of `a`, in the shape of `a`."""
    if method != "inverted_cdf":
        raise ValueError(f"[np.{name}] Only method 'inverted_cdf' supports weights. Got: {method}.")
    weights = weights_of_shape(name, a, axis, strong(weights))
    if active_recorder().traced_in is None:
        known = values_of(weights)
        totals = np.sum(known, axis_key(axis))
        if np.any(known < 0):
            raise ValueError(f"[np.{name}] Weights must be non-negative.")
        if not np.all(np.isfinite(totals) & (totals != 0)):
            raise ValueError(f"[np.{name}] Weights included NaN, inf or were all zero.")
    return cast(weights, np.float64)


def _weighted_body(a: Any, q: Any, weights: Any, axes: tuple[int, ...], ignore_nan: bool) -> Any:
    """Return the elements at which the sums of the weights reach `q`, with the dimensions of `q` last."""
    rows = rows_along(a, axes)
    order = argsort(rows, -1)
    ordered = take_along_axis(rows, order, -1)
    weights = take_along_axis(rows_along(weights, axes), order, -1)
    missing = is_nan(ordered) if dtype_of(a).kind == "f" else None
    if ignore_nan and missing is not None:
        weights = where(missing, 0.0, weights)
    sums = cumsum(weights, -1)
    sums = divide(sums, getitem(sums, (..., slice(-1, None))))
    sums = where(equal(sums, 0.0), -1.0, sums)  # the quantile at 0 is the first element with a weight
    below = less(expand_dims(sums, -2), expand_dims(reshape(q, [-1]), -1))
    places = minimum(reduce_sum(cast(below, np.int64), -1), shape_of(ordered)[-1] - 1)
    result = take_along_axis(ordered, places, -1)
    if missing is None:
        return result
    empty = (reduce_all if ignore_nan else reduce_any)(missing, -1)
    return where(expand_dims(empty, -1), np.nan, result)


def _at(*operands_and_options: Any) -> Any:
    """Return the quantiles at `q`, whose dimensions come first."""
    a, q, *weights, name, axis, method, keepdims, ignore_nan, dtype = operands_and_options
    q = cast(q, np.float64)
    shape, q_shape = shape_of(a), shape_of(q)
    axes = normalized_axes(f"np.{name}", axis, len(shape))
    kept = [n for i, n in enumerate(shape) if i not in axes]
    if not shape:
        a, axes = reshape(a, [1]), (0,)
    if 0 in [shape[i] for i in axes if shape]:
        raise IndexError(f"[np.{name}] a has no elements along axis {axis}: shape {shape}")
    if weights:
        result = _weighted_body(a, q, reshape(weights[0], shape_of(a)), axes, ignore_nan)
    else:
        result = _quantile_body(a, q, axes, method, ignore_nan)
    if dtype.kind == "f":  # the values of tensors are not known when NumPy would raise
        each = reshape(q, [-1])
        result = where(logical_and(greater_equal(each, 0.0), less_equal(each, 1.0)), result, np.nan)
    result = reshape(cast(result, dtype), [*kept, *q_shape])
    rank = len(kept)
    result = transpose(result, [*range(rank, rank + len(q_shape)), *range(rank)])
    if not keepdims:
        return result
    return reshape(result, [*q_shape, *[1 if i in axes else n for i, n in enumerate(shape)]])


# ---- medians ---------------------------------------------------------------------------------------------------------


def numpy_median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """``np.median``."""
    return _median("median", a, axis, out, keepdims, False)


def _median(name: str, a: Any, axis: Any, out: Any, keepdims: Any, ignore_nan: bool) -> Any:
    reject(name, out=out)
    a = strong(a)
    if 0 in shape_of(a):
        return _of_nothing(name, a, axis, keepdims)
    dtype = dtype_of(a) if dtype_of(a).kind in "fc" else np.dtype(np.float64)
    if dtype.kind == "c":
        return apply(_complex_median, (a,), (name, axis_key(axis), bool(keepdims), ignore_nan))
    return apply(_at, (a, 0.5), (name, axis_key(axis), "median", bool(keepdims), ignore_nan, dtype))


def _of_nothing(name: str, a: Any, axis: Any, keepdims: Any) -> Any:
    """Return the medians of an array without elements, which are nan."""
    dtype, shape = dtype_of(a) if dtype_of(a).kind in "fc" else np.dtype(np.float64), shape_of(a)
    axes = normalized_axes(f"np.{name}", axis_key(axis), len(shape))
    nan = complex(np.nan, np.nan) if dtype.kind == "c" else np.nan
    return identity(np.full(_rest(shape, axes, keepdims), nan, dtype))


def _complex_median(a: Any, name: str, axis: Any, keepdims: bool, ignore_nan: bool) -> Any:
    """Return the mean of the middle elements in NumPy's order of complex numbers, which puts nan last."""
    shape = shape_of(a)
    axes = normalized_axes(f"np.{name}", axis, len(shape))
    ordered = numpy_sort(rows_along(a, axes))
    missing = is_nan(ordered)
    n: Any = shape_of(ordered)[-1]
    if ignore_nan:
        n = reduce_sum(cast(logical_not(missing), np.int64), -1, True)
    else:
        n = broadcast_to(np.int64(n), (*shape_of(ordered)[:-1], 1))
    low, high = (maximum(floor_divide(subtract(n, k), 2), 0) for k in (1, 0))
    low_value, high_value = (take_along_axis(ordered, i, -1) for i in (low, high))
    result = where(equal(low, high), low_value, divide(add(low_value, high_value), 2.0))
    if not ignore_nan:
        last = take_along_axis(ordered, subtract(n, 1), -1)
        result = where(is_nan(last), last, result)
    return reshape(result, _rest(shape, axes, keepdims))


def _rest(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> list[int]:
    """Return the shape of a reduction of `axes`."""
    return [1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes]


def _nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    return _median("nanmedian", a, axis, out, keepdims, True)


QUANTILES: dict[Any, Callable[..., Any]] = {
    np.median: numpy_median,
    np.nanmedian: _nanmedian,
    np.nanpercentile: _quantile("nanpercentile", 100.0, True),
    np.nanquantile: _quantile("nanquantile", 1.0, True),
    np.percentile: _quantile("percentile", 100.0, False),
    np.quantile: _quantile("quantile", 1.0, False),
}
