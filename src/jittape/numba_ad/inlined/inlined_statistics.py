"""Statistical functions of NumPy, as sources that jittape derives like the user's functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from jittape.numba_ad.inlined.inlined_functions import diag

__all__ = [
    "average", "corrcoef", "cov", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar",
    "peak_to_peak", "std", "var",
]  # fmt: skip

jit = njit(nogil=True)


@jit
def var(a: Any) -> Any:
    """Return the variance of all elements."""
    mean = np.mean(a)
    return np.mean((a - mean) ** 2)


@jit
def std(a: Any) -> Any:
    """Return the standard deviation of all elements."""
    mean = np.mean(a)
    return math.sqrt(np.mean((a - mean) ** 2))


@jit
def peak_to_peak(a: Any) -> Any:
    """Return the largest minus the smallest element."""
    return np.max(a) - np.min(a)


@jit
def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """Return the weighted mean of all elements."""
    assert axis is None
    if weights is None:
        return np.mean(a)
    return np.sum(a * weights) / np.sum(weights)


@jit
def _as_rows(m: Any, rowvar: Any, is_joined: Any) -> Any:
    """Return a matrix of float64 numbers that has the values of each variable in a row."""
    if m.ndim == 1:
        return m.astype(np.float64).reshape((1, m.size))
    elif rowvar:  # noqa: RET505
        return m.astype(np.float64)
    else:
        if is_joined and m.shape[0] == 1:
            raise ValueError("pass a vector in place of a matrix with one row")
        return np.ascontiguousarray(m.T.astype(np.float64))


@jit
def cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    """Return the covariance matrix of the variables of one or two arrays, or the variance of a vector as a number."""
    if y is None:
        if m.ndim == 1:
            assert rowvar
            return _covariances(_as_rows(m, True, False), bias, ddof)[0, 0]
        else:  # noqa: RET505
            return _covariances(_as_rows(m, rowvar, False), bias, ddof)
    else:
        rows = np.concatenate((_as_rows(m, rowvar, True), _as_rows(y, rowvar, True)))
        return _covariances(rows, bias, ddof)


@jit
def _covariances(rows: Any, bias: Any, ddof: Any) -> Any:
    count = rows.shape[1]
    centered = rows - (np.sum(rows, axis=1) / count)[:, None]
    if ddof is not None:
        return (centered @ centered.T) / max(0.0, 1.0 * count - ddof)
    elif bias:  # noqa: RET505
        return (centered @ centered.T) / count
    else:
        return (centered @ centered.T) / (count - 1)


@jit
def corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    """Return the correlation coefficients of the variables of one or two arrays, or that of a vector with itself."""
    if x.ndim == 1 and y is None:
        c = cov(x, None, rowvar)
        return c / c
    else:  # noqa: RET505
        c = cov(x, y, rowvar)
        deviation = np.sqrt(diag(c))
        return c / deviation[:, None] / deviation[None, :]


@jit
def nansum(a: Any) -> Any:
    """Return the sum of all elements that are not nan."""
    return np.sum(np.where(np.isnan(a), 0.0, a))


@jit
def nanprod(a: Any) -> Any:
    """Return the product of all elements that are not nan."""
    return np.prod(np.where(np.isnan(a), 1.0, a))


@jit
def nancumsum(a: Any) -> Any:
    """Return the cumulative sums of a vector with zeros in place of nan."""
    return np.cumsum(np.where(np.isnan(a), 0.0, a))


@jit
def nanmean(a: Any) -> Any:
    """Return the mean of all elements that are not nan."""
    return nansum(a) / np.sum(~np.isnan(a))


@jit
def nanvar(a: Any) -> Any:
    """Return the variance of all elements that are not nan."""
    mean = nanmean(a)
    deviation = np.where(np.isnan(a), 0.0, a - mean)
    return np.sum(deviation**2) / np.sum(~np.isnan(a))


@jit
def nanstd(a: Any) -> Any:
    """Return the standard deviation of all elements that are not nan."""
    return math.sqrt(nanvar(a))


@jit
def nanmax(a: Any) -> Any:
    """Return the largest element that is not nan."""
    return _or_nan(a, np.max(np.where(np.isnan(a), -np.inf, a)))


@jit
def nanmin(a: Any) -> Any:
    """Return the smallest element that is not nan."""
    return _or_nan(a, np.min(np.where(np.isnan(a), np.inf, a)))


@jit
def _or_nan(a: Any, value: Any) -> Any:
    return np.nan if np.sum(np.isnan(a)) == a.size else value
