"""NumPy's deviations, covariances and histograms on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.errors import DTypeError
from jittape.numpy_api.numpy_operands import (
    array_like,
    dtype_of,
    given,
    has_tensor,
    is_mask,
    keeps_dims,
    on_values,
    reject,
    shape_of,
    strong,
    values_of,
)
from jittape.numpy_api.numpy_reductions import (
    element_count,
    masked,
    numpy_average,
    numpy_mean,
    sum_adapter,
)
from jittape.numpy_api.numpy_shapes import numpy_concatenate
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast, complex, conj, imag, real
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import absolute, clip_by_value, maximum
from jittape.primitives.identity import identity
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_sum
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.reductions import reduce_any, reduce_sum
from jittape.primitives.shape.reshaping import expand_dims, matrix_transpose, reshape, squeeze, transpose

__all__ = ["STATISTICS", "deviation_adapter"]


# ---- deviations ------------------------------------------------------------------------------------------------------


def deviation_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.var`` or ``np.std``."""

    def measure(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        reject(name, out=out)
        if given(correction) and ddof != 0:
            raise ValueError(f"[np.{name}] ddof and correction have the same meaning: pass only one of them")
        a = array_like(a)
        if isinstance(axis, list):
            raise TypeError(f"[np.{name}] axis must be None, an int or a tuple of ints, got {axis!r}")
        ddof = correction if given(correction) else ddof
        if ddof is None:
            raise TypeError(f"[np.{name}] ddof must be a number, got None")
        if dtype is None and given(mean) and a.dtype.kind in "iub":
            dtype = np.float64  # of a complex mean, NumPy keeps the real part of the squares
        if dtype is not None and (a.dtype.kind != "f" or given(mean) or as_dtype(dtype) != dtype_of(a)):
            return _converted_deviation(
                name, a, axis, as_dtype(dtype), ddof, keeps_dims(keepdims), where, mean
            )
        if is_mask(where) or given(mean):
            variance = _variance(name, a, axis, ddof, keeps_dims(keepdims), where, mean)
            return sqrt(variance) if name.endswith("std") else variance
        result = of(a, axis, keeps_dims(keepdims))
        if not ddof:
            return result
        count = element_count(name, a, axis, False, True)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = float(np.float64(count) / max(count - ddof, 0))
        return multiply(result, factor if name.endswith("var") else factor**0.5)

    return measure


def _converted_deviation(
    name: str, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    """Return a deviation whose sums have a `dtype` that `a` does not have: each step is converted, as in NumPy."""
    total = sum_adapter(reduce_sum, reduce_any, "sum")
    count = element_count(name, a, axis, True, where)
    if not given(mean):
        mean = cast(divide(total(a, axis, dtype, keepdims=True, where=where), count), dtype)
    distance = _distance(name, a, mean)
    is_complex = a.dtype.kind == "c"
    squares = add(square(real(distance)), square(imag(distance))) if is_complex else square(distance)
    result = total(squares, axis, dtype, keepdims=keepdims, where=where)
    degrees = maximum(subtract(element_count(name, a, axis, keepdims, where), float(ddof)), 0.0)
    result = cast(divide(result, degrees), dtype)
    if name.endswith("var"):
        return result
    if result.shape and dtype.kind not in "fc":
        raise DTypeError(f"[np.{name}] Cannot cast roots to {dtype.name}: use astype on the result")
    return cast(sqrt(result), dtype)


def _variance(name: str, a: Any, axis: Any, ddof: Any, keepdims: bool, where: Any, mean: Any) -> Any:
    """Return the variance of the elements in the mask `where` around `mean`."""
    a = a if dtype_of(a).kind in "fc" else cast(a, np.float64)
    mean = array_like(mean) if given(mean) else numpy_mean(a, axis, keepdims=True, where=where)
    distance = _distance(name, a, mean)
    squares = square(absolute(distance) if a.dtype.kind == "c" else distance)
    if is_mask(where):
        squares = masked(name, squares, where, 0)
    count = maximum(subtract(element_count(name, a, axis, keepdims, where), float(ddof)), 0.0)
    return divide(reduce_sum(squares, axis, keepdims), cast(count, dtype_of(squares)))


def _distance(name: str, a: Any, mean: Any) -> Any:
    """Return the distance from the mean; ``nanvar`` of floats writes it to a copy of `a`, whose dtype it has."""
    distance = subtract(a, mean)
    return cast(distance, dtype_of(a)) if name.startswith("nan") and dtype_of(a).kind in "fc" else distance


# ---- covariances -----------------------------------------------------------------------------------------------------


def _rows(name: str, m: Any, rowvar: Any) -> Any:
    """Return the observations with one variable per row."""
    m = strong(m)
    if len(shape_of(m)) > 2:
        raise ValueError(f"[np.{name}] m has more than 2 dimensions")
    if len(shape_of(m)) < 2:
        return reshape(m, [1, -1])
    return m if rowvar else transpose(m)


def _cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("[np.cov] ddof must be integer")
    m = strong(m)
    given = [m] if y is None else [m, strong(y)]
    dtype = np.result_type(*map(dtype_of, given), np.float64) if dtype is None else dtype
    x = cast(_rows("cov", m, rowvar), dtype)
    if shape_of(x)[0] == 0:
        return identity(np.zeros((0, 0)))
    if y is not None:
        other = strong(y)
        if len(shape_of(other)) > 2:
            raise ValueError("[np.cov] y has more than 2 dimensions")
        other = reshape(other, [1, -1]) if len(shape_of(other)) < 2 else other
        if not rowvar and shape_of(other)[0] != 1:
            other = transpose(other)
        x = numpy_concatenate([x, cast(other, dtype)])
    ddof = (1 if not bias else 0) if ddof is None else ddof
    weights = _weights(shape_of(x)[1], fweights, aweights)
    average, total = numpy_average(x, 1, weights, True)
    total = _first(total)
    factor = _degrees_of_freedom(shape_of(x)[1], total, ddof, weights, aweights)
    x = subtract(x, expand_dims(average, 1))
    weighted = matrix_transpose(x if weights is None else multiply(x, weights))
    product = matmul(x, conj(weighted))
    return squeeze(divide(product, cast(maximum(factor, 0.0), dtype_of(product))))


def _first(a: Any) -> Any:
    return real(getitem(a, 0))


def _weights(count: int, fweights: Any, aweights: Any) -> Any:
    weights = None
    for name, weight in (("fweights", fweights), ("aweights", aweights)):
        if weight is None:
            continue
        weight = strong(weight)
        if name == "fweights" and not np.all(values_of(weight) == np.around(values_of(weight))):
            raise TypeError("[np.cov] fweights must be integer")
        if len(shape_of(weight)) > 1:
            raise RuntimeError(f"[np.cov] cannot handle multidimensional {name}")
        if shape_of(weight) != (count,):
            raise RuntimeError(f"[np.cov] incompatible numbers of samples and {name}")
        if np.any(values_of(weight) < 0):
            raise ValueError(f"[np.cov] {name} cannot be negative")
        weight = cast(weight, np.float64)
        weights = weight if weights is None else multiply(weights, weight)
    return weights


def _degrees_of_freedom(count: int, total: Any, ddof: int, weights: Any, aweights: Any) -> Any:
    if weights is None:
        return float(count - ddof)
    if ddof == 0:
        return total
    if aweights is None:
        return subtract(total, float(ddof))
    share = reduce_sum(multiply(weights, cast(strong(aweights), np.float64)))
    return subtract(total, divide(multiply(float(ddof), share), total))


def _corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    c = _cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return divide(c, c)
    deviations = sqrt(real(diag_part(c)))
    c = divide(divide(c, expand_dims(deviations, 1)), expand_dims(deviations, 0))
    if dtype_of(c).kind != "c":
        return clip_by_value(c, -1.0, 1.0)
    return complex(clip_by_value(real(c), -1.0, 1.0), clip_by_value(imag(c), -1.0, 1.0))


# ---- counts ----------------------------------------------------------------------------------------------------------


def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    values = values_of(strong(x))
    if values.dtype.kind in "iu" and values.size and values.max() >= np.iinfo(np.intp).max:
        raise ValueError(
            f"[np.bincount] x must be less than {np.iinfo(np.intp).max}: NumPy's count overflows"
        )
    if weights is None or not has_tensor(weights) or not values.size:  # NumPy counts nothing as int64
        return identity(np.bincount(values, weights if values.size else None, minlength))
    count = len(np.bincount(values, np.zeros(shape_of(weights)), minlength))  # NumPy's checks
    return unsorted_segment_sum(cast(weights, np.float64), values.astype(np.int64), count)


def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    values, edges = values_of(strong(a)), bins if isinstance(bins, (int, str)) else values_of(bins)
    weighted = weights is not None and has_tensor(weights)
    known = values_of(weights) if weights is not None else None
    counts, edges = np.histogram(values, edges, range, density, known)
    if not weighted:
        return identity(counts), identity(edges)
    place = np.searchsorted(edges, values.ravel(), "right") - 1
    place[values.ravel() == edges[-1]] = len(edges) - 2
    inside = (place >= 0) & (place < len(edges) - 1)
    kept = where(inside, reshape(weights, -1), 0.0)  # a product of infinity and 0 would be nan
    sums = unsorted_segment_sum(kept, np.where(inside, place, 0), len(edges) - 1)
    if density:
        sums = divide(divide(sums, np.diff(edges)), reduce_sum(sums))
    return cast(sums, counts.dtype), identity(edges)


def _unweighted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a histogram of values in several dimensions, whose weights are not recorded."""
    counted = on_values(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        place = {np.histogram2d: 5, np.histogramdd: 4}[function]
        if has_tensor(kwargs.get("weights", args[place] if len(args) > place else None)):
            raise TypeError(
                f"np.{function.__name__} on a tensor does not support weights= that are a tensor; use np.histogram of "
                "one dimension or jt.math.unsorted_segment_sum"
            )
        return counted(*args, **kwargs)

    return call


STATISTICS: dict[Any, Callable[..., Any]] = {
    np.bincount: _bincount,
    np.corrcoef: _corrcoef,
    np.cov: _cov,
    np.histogram: _histogram,
    np.histogram2d: _unweighted(np.histogram2d),
    np.histogram_bin_edges: on_values(np.histogram_bin_edges),
    np.histogramdd: _unweighted(np.histogramdd),
}
