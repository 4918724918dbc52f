"""NumPy functions as loops; jittape derives their source as that of the user's functions.

The rank of an array is known when the gradient is derived, so only one side of a branch on it is lowered.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "append", "average", "convolve", "corrcoef", "correlate", "cov", "cross", "cumprod", "diag", "diff", "eye",
    "fill_diagonal", "identity", "interpolated", "interpolated_vector", "kron", "nancumprod", "nancumsum", "nanmax",
    "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "norm", "outer", "peak_to_peak", "repeat", "roll",
    "std", "trace", "trapezoid", "tri", "tril", "triu", "vander", "var",
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
def cumprod(a: Any) -> Any:
    """Return the products of the first elements of the flat array."""
    flat = np.ravel(a)
    result = np.empty(a.size, dtype=a.dtype)
    product = np.ones(1, dtype=a.dtype)[0]
    for i in range(a.size):
        product *= flat[i]
        result[i] = product
    return result


@jit
def diff(a: Any, n: Any = 1) -> Any:
    """Return the differences of neighbors along the last axis."""
    if n == 1:
        return a[..., 1:] - a[..., :-1]
    else:  # noqa: RET505
        assert n == 2
        return a[..., 2:] - a[..., 1:-1] - (a[..., 1:-1] - a[..., :-2])


@jit
def outer(a: Any, b: Any) -> Any:
    """Return all products of an element of `a` and an element of `b`."""
    one, other = a.flatten(), b.flatten()
    return one[:, None] * other[None, :]


@jit
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product of two matrices."""
    rows, columns = b.shape
    result = np.empty((a.shape[0] * rows, a.shape[1] * columns), dtype=(a[:1, :1] * b[:1, :1]).dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(rows):
                for m in range(columns):
                    result[i * rows + k, j * columns + m] = a[i, j] * b[k, m]
    return result


@jit
def cross(a: Any, b: Any) -> Any:
    """Return the cross products of vectors of three elements."""
    assert a.shape[-1] == 3, "the derivative of cross needs vectors of three elements"
    assert b.shape[-1] == 3, "the derivative of cross needs vectors of three elements"
    result = np.empty_like(a * b)
    result[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    result[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    result[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return result


@jit
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0) -> Any:
    """Return the integral of a vector by the trapezoidal rule."""
    total = 0.0
    if x is not None and x.size != y.size:
        raise ValueError("x and y must have the same size")
    for i in range(1, y.size):
        if x is None:
            total += 0.5 * dx * (y[i] + y[i - 1])
        else:
            total += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1])
    return total


@jit
def interpolated(x: Any, xp: Any, fp: Any) -> Any:
    """Return the value at `x` of the polygon through the points (`xp`, `fp`)."""
    if len(xp) != len(fp) or len(xp) == 0:
        raise ValueError("fp and xp must have the same size, which is not 0")
    last = len(xp) - 1
    if x != x:
        return x
    if x <= xp[0]:
        return float(fp[0])
    if x >= xp[last]:
        return float(fp[last])
    k = np.searchsorted(xp, x, side="right") - 1
    return fp[k] + (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k])


@jit
def interpolated_vector(x: Any, xp: Any, fp: Any) -> Any:
    """Return the values at the elements of a vector of the polygon through the points (`xp`, `fp`)."""
    result = np.empty(x.size)
    for i in range(x.size):
        result[i] = interpolated(x[i], xp, fp)
    return result


@jit
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = np.float64) -> Any:
    """Return ones on the diagonal number `k` of a matrix."""
    columns = N if M is None else M
    result = np.zeros((N, columns), dtype=dtype)
    for i in range(max(0, -k), min(N, columns - k)):
        result[i, i + k] = 1
    return result


@jit
def identity(n: Any, dtype: Any = np.float64) -> Any:
    """Return the identity matrix."""
    return eye(n, None, 0, dtype)


@jit
def diag(v: Any, k: Any = 0) -> Any:
    """Return a matrix with the diagonal `v`, or the diagonal of a matrix."""
    if v.ndim == 1:
        count = v.size + abs(k)
        result = np.zeros((count, count), dtype=v.dtype)
        for i in range(v.size):
            result[i + max(0, -k), i + max(0, k)] = v[i]
        return result
    else:  # noqa: RET505
        row, column = max(0, -k), max(0, k)
        result = np.empty(max(0, min(v.shape[0] - row, v.shape[1] - column)), dtype=v.dtype)
        for i in range(result.size):
            result[i] = v[i + row, i + column]
        return result


@jit
def fill_diagonal(a: Any, val: Any) -> None:
    """Write a number to the diagonal of a matrix."""
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val


@jit
def trace(a: Any, offset: Any = 0) -> Any:
    """Return the sum of a diagonal of a matrix."""
    return np.sum(diag(a, offset))


@jit
def tri(N: Any, M: Any = None, k: Any = 0) -> Any:
    """Return ones on and below the diagonal number `k` of a matrix."""
    columns = N if M is None else M
    result = np.zeros((N, columns))
    for i in range(N):
        for j in range(max(0, min(columns, i + k + 1))):
            result[i, j] = 1.0
    return result


@jit
def tril(m: Any, k: Any = 0) -> Any:
    """Return the elements on and below the diagonal number `k`, and zeros."""
    result = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(max(0, min(m.shape[1], i + k + 1))):
            result[i, j] = m[i, j]
    return result


@jit
def triu(m: Any, k: Any = 0) -> Any:
    """Return the elements on and above the diagonal number `k`, and zeros."""
    result = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(min(m.shape[1], max(0, i + k)), m.shape[1]):
            result[i, j] = m[i, j]
    return result


@jit
def roll(a: Any, shift: Any) -> Any:
    """Return the elements moved by `shift` places, the last ones to the start."""
    flat = a.flatten()
    result = np.empty_like(flat)
    for i in range(a.size):
        result[(i + shift) % a.size] = flat[i]
    return result.reshape(a.shape)


@jit
def repeat(a: Any, repeats: Any) -> Any:
    """Return each element of the flat array `repeats` times."""
    flat = np.ravel(a)
    result = np.empty(a.size * repeats, dtype=a.dtype)
    for i in range(a.size):
        for j in range(repeats):
            result[i * repeats + j] = flat[i]
    return result


@jit
def append(arr: Any, values: Any) -> Any:
    """Return a vector with the elements of two arrays, or of an array and a number."""
    added = np.full(1, values) if np.isscalar(values) else np.ravel(np.asarray(values))
    return np.concatenate((arr.flatten(), added))


@jit
def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    """Return the matrix of the powers of the elements of a vector."""
    columns = x.size if N is None else N
    result = np.empty((x.size, columns), dtype=x.dtype)
    for i in range(x.size):
        for j in range(columns):
            place = j if increasing else columns - 1 - j
            if j == 0:
                result[i, place] = 1
            else:
                result[i, place] = result[i, place - 1 if increasing else place + 1] * x[i]
    return result


@jit
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """Return the convolution of two vectors."""
    if a.size == 0 or v.size == 0:
        raise ValueError("the operands of a convolution must not be empty")
    full = np.zeros(a.size + v.size - 1, dtype=(a[:1] * v[:1]).dtype)
    for i in range(a.size):
        for j in range(v.size):
            full[i + j] += a[i] * v[j]
    short, long = min(a.size, v.size), max(a.size, v.size)
    if mode == "full":
        return full
    elif mode == "same":  # noqa: RET505
        start = (short - 1) // 2
        return full[start : start + long].copy()
    else:
        return full[short - 1 : long].copy()


@jit
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """Return the correlation of two vectors."""
    return convolve(a, v[::-1], mode)


@jit
def cov(m: Any) -> Any:
    """Return the covariance matrix of the rows of a matrix, or the variance of a vector as a number."""
    if m.ndim == 1:
        difference = m - np.sum(m) / m.size
        return np.sum(difference * difference) / (m.size - 1)
    else:  # noqa: RET505
        centered = m - (np.sum(m, axis=1) / m.shape[1])[:, None]
        return (centered @ centered.T) / (m.shape[1] - 1)


@jit
def corrcoef(x: Any) -> Any:
    """Return the correlation coefficients of the rows of a matrix, or that of a vector with itself."""
    c = cov(x)
    if x.ndim == 1:
        return c / c
    else:  # noqa: RET505
        deviation = np.sqrt(diag(c))
        return c / deviation[:, None] / deviation[None, :]


@jit
def norm(x: Any, ord: Any = None) -> Any:
    """Return a norm of a vector; of matrices, the Frobenius norm and those of sums of columns and rows."""
    if ord is None:
        return math.sqrt(np.sum(x * x))
    elif x.ndim == 2:  # noqa: RET505
        if ord == 1:
            return np.max(np.sum(np.abs(x), axis=0))
        elif ord == -1:  # noqa: RET505
            return np.min(np.sum(np.abs(x), axis=0))
        elif ord == 2:
            return np.max(np.linalg.svd(x, False)[1])
        elif ord == -2:
            return np.min(np.linalg.svd(x, False)[1])
        elif ord == -np.inf:
            return np.min(np.sum(np.abs(x), axis=1))
        else:
            assert ord == np.inf
            return np.max(np.sum(np.abs(x), axis=1))
    elif ord == np.inf:
        return np.max(np.abs(x))
    elif ord == -np.inf:
        return np.min(np.abs(x))
    elif ord == 0:
        return 1.0 * np.count_nonzero(x)
    elif ord == 2:
        return math.sqrt(np.sum(x * x))
    else:
        return np.sum(np.abs(x) ** ord) ** (1.0 / ord)


@jit
def nansum(a: Any) -> Any:
    """Return the sum of all elements that are not nan."""
    return np.sum(np.where(np.isnan(a), 0.0, a))


@jit
def nanprod(a: Any) -> Any:
    """Return the product of all elements that are not nan."""
    return np.prod(np.where(np.isnan(a), 1.0, a))


@jit
def nancumprod(a: Any) -> Any:
    """Return the cumulative products of the flat array with ones in place of nan."""
    return cumprod(np.where(np.isnan(a), 1.0, a))


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
