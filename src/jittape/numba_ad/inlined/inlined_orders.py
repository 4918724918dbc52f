"""NumPy functions that order elements, as sources that jittape derives like the user's functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "intersect1d", "median", "nanmedian", "nanpercentile", "nanpercentiles", "nanquantile", "nanquantiles", "partition",
    "percentile", "percentiles", "quantile", "quantiles", "setdiff1d", "setxor1d", "sort", "sort_in_place", "union1d",
    "unique",
]  # fmt: skip

jit = njit(nogil=True)


@jit
def sort(a: Any) -> Any:
    """Return the elements, sorted along the last axis."""
    if a.ndim == 1:
        return a[np.argsort(a)]
    else:  # noqa: RET505
        result = a.copy()
        sort_in_place(result)
        return result


@jit
def sort_in_place(a: Any) -> None:
    """Sort the elements along the last axis."""
    if a.ndim == 1:
        a[:] = a[np.argsort(a)]
    else:
        length = a.shape[a.ndim - 1]
        rows = a.flatten().reshape((a.size // max(1, length), length))
        for i in range(rows.shape[0]):
            order = np.argsort(rows[i])
            rows[i] = rows[i][order]
        a[...] = rows.reshape(a.shape)


@jit
def partition(a: Any, kth: Any) -> Any:
    """Return the elements with number `kth` along the last axis at its sorted place and smaller ones before it."""
    if a.ndim == 1:
        return a[np.argpartition(a, kth)]
    else:  # noqa: RET505
        length = a.shape[a.ndim - 1]
        rows = a.flatten().reshape((a.size // max(1, length), length))
        for i in range(rows.shape[0]):
            order = np.argpartition(rows[i], kth)
            rows[i] = rows[i][order]
        return rows.reshape(a.shape)


@jit
def unique(ar: Any) -> Any:
    """Return the sorted elements, each once; that of equal elements is the first one in the sorted order."""
    values = ar.flatten()
    values = values[np.argsort(values)]
    first = np.ones(values.size, dtype=np.bool_)
    for i in range(1, values.size):
        first[i] = values[i] != values[i - 1]
    return values[first]


@jit
def union1d(ar1: Any, ar2: Any) -> Any:
    """Return the sorted elements of two arrays, each once."""
    return unique(np.concatenate((ar1.flatten(), ar2.flatten())))


@jit
def intersect1d(ar1: Any, ar2: Any) -> Any:
    """Return the sorted elements that are in both arrays."""
    both = np.concatenate((unique(ar1), unique(ar2)))
    both = both[np.argsort(both)]
    return both[:-1][both[1:] == both[:-1]]


@jit
def setxor1d(ar1: Any, ar2: Any) -> Any:
    """Return the sorted elements that are in one of two arrays only."""
    both = np.concatenate((unique(ar1), unique(ar2)))
    both = both[np.argsort(both)]
    left = np.ones(both.size, dtype=np.bool_)
    for i in range(1, both.size):
        if both[i] == both[i - 1]:
            left[i] = left[i - 1] = False
    return both[left]


@jit
def setdiff1d(ar1: Any, ar2: Any) -> Any:
    """Return the sorted elements of one array that are not in another one."""
    values = unique(ar1)
    return values[~np.isin(values, ar2)]


@jit
def between(values: Any, q: Any) -> Any:
    """Return the quantile `q` of a sorted vector."""
    if values.size == 0:
        return np.nan
    last = values.size - 1
    place = q * last
    k = min(math.floor(place), last)
    following = min(k + 1, last)
    if math.isnan(values[last]):
        return np.nan
    return values[k] + (values[following] - values[k]) * (place - k)


@jit
def quantile(a: Any, q: Any) -> Any:
    """Return the quantile `q` of all elements."""
    values = a.flatten()
    return between(values[np.argsort(values)], q)


@jit
def quantiles(a: Any, q: Any) -> Any:
    """Return several quantiles of all elements."""
    values = a.flatten()
    values = values[np.argsort(values)]
    result = np.empty(q.size)
    for i in range(q.size):
        result[i] = between(values, q[i])
    return result


@jit
def percentile(a: Any, q: Any) -> Any:
    """Return the percentile `q` of all elements."""
    return quantile(a, q / 100.0)


@jit
def percentiles(a: Any, q: Any) -> Any:
    """Return several percentiles of all elements."""
    return quantiles(a, q / 100.0)


@jit
def median(a: Any) -> Any:
    """Return the median of all elements."""
    return quantile(a, 0.5)


@jit
def nanquantile(a: Any, q: Any) -> Any:
    """Return the quantile `q` of the elements that are not nan."""
    flat = a.flatten()
    return quantile(flat[~np.isnan(flat)], q)


@jit
def nanquantiles(a: Any, q: Any) -> Any:
    """Return several quantiles of the elements that are not nan."""
    flat = a.flatten()
    return quantiles(flat[~np.isnan(flat)], q)


@jit
def nanpercentiles(a: Any, q: Any) -> Any:
    """Return several percentiles of the elements that are not nan."""
    return nanquantiles(a, q / 100.0)


@jit
def nanpercentile(a: Any, q: Any) -> Any:
    """Return the percentile `q` of the elements that are not nan."""
    return nanquantile(a, q / 100.0)


@jit
def nanmedian(a: Any) -> Any:
    """Return the median of the elements that are not nan."""
    return nanquantile(a, 0.5)
