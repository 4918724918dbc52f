"""NumPy functions as loops; jittape derives their source as that of the user's functions.

The rank of an array is known when the gradient is derived, so only one side of a branch on it is lowered.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "append", "convolve", "correlate", "cross", "cumprod", "diag", "diff", "eye", "fill_diagonal", "identity",
    "interpolated", "interpolated_array", "kron", "nancumprod", "norm", "outer", "repeat", "roll", "trace", "trapezoid",
    "tri", "tril", "triu", "vander",
]  # fmt: skip

jit = njit(nogil=True)


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
    if n == 0:
        return a
    elif n == 1:  # noqa: RET505
        return a[..., 1:] - a[..., :-1]
    elif n == 2:
        return a[..., 2:] - a[..., 1:-1] - (a[..., 1:-1] - a[..., :-2])
    else:
        length = a.shape[a.ndim - 1]
        result = a.copy()
        for i in range(1, min(n, length) + 1):
            result[..., : length - i] = result[..., 1 : length - i + 1] - result[..., : length - i]
        return result[..., : max(0, length - n)].copy()


@jit
def outer(a: Any, b: Any) -> Any:
    """Return all products of an element of `a` and an element of `b`."""
    one, other = a.flatten(), b.flatten()
    return one[:, None] * other[None, :]


@jit
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product of two vectors or matrices."""
    if a.ndim == 2:
        return _kron(a, np.atleast_2d(b))
    elif b.ndim == 2:  # noqa: RET505
        return _kron(np.atleast_2d(a), b)
    else:
        return outer(a, b).flatten()


@jit
def _kron(a: Any, b: Any) -> Any:
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
    """Return the integrals along the last axis by the trapezoidal rule."""
    if y.ndim > 1:
        if x is None:
            return np.sum(0.5 * dx * (y[..., 1:] + y[..., :-1]), axis=y.ndim - 1)
        else:  # noqa: RET505
            return np.sum(0.5 * (x[..., 1:] - x[..., :-1]) * (y[..., 1:] + y[..., :-1]), axis=y.ndim - 1)
    else:
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
def interpolated_array(x: Any, xp: Any, fp: Any) -> Any:
    """Return the values at the elements of an array of the polygon through the points (`xp`, `fp`)."""
    flat = np.ravel(x)
    result = np.empty(x.size)
    for i in range(x.size):
        result[i] = interpolated(flat[i], xp, fp)
    return result.reshape(x.shape)


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
    return _tril(_repeated_rows(m) if m.ndim == 1 else m, k)


@jit
def _tril(m: Any, k: Any) -> Any:
    result = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(max(0, min(m.shape[1], i + k + 1))):
            result[i, j] = m[i, j]
    return result


@jit
def triu(m: Any, k: Any = 0) -> Any:
    """Return the elements on and above the diagonal number `k`, and zeros."""
    return _triu(_repeated_rows(m) if m.ndim == 1 else m, k)


@jit
def _triu(m: Any, k: Any) -> Any:
    result = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(min(m.shape[1], max(0, i + k)), m.shape[1]):
            result[i, j] = m[i, j]
    return result


@jit
def _repeated_rows(a: Any) -> Any:
    """Return a square matrix whose rows are a vector."""
    result = np.empty((a.size, a.size), dtype=a.dtype)
    for i in range(a.size):
        result[i] = a
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
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Return two arrays joined along an axis, or the elements of an array and those of another one or a number."""
    if axis is not None:
        return np.concatenate((arr, values), axis)
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
def nancumprod(a: Any) -> Any:
    """Return the cumulative products of the flat array with ones in place of nan."""
    return cumprod(np.where(np.isnan(a), 1.0, a))
