"""NumPy functions that select, order and insert elements, as sources that jittape derives like the user's functions.

`inlined_functions` has those that compute. The rank of an array, and literals, decide branches when the gradient is
derived.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from jittape.numba_ad.inlined.inlined_functions import diag, norm

__all__ = [
    "asarray_chkfinite", "bincount", "cond", "delete_at", "delete_places", "diagflat", "ediff1d", "extract",
    "geomspace", "insert_at", "insert_at_places", "logspace", "matrix_power", "nan_to_num", "nan_to_num_of_array",
    "repeat_each", "resize", "rot90", "take_along_axis", "take_one", "take_places", "trim_zeros", "vdot",
]  # fmt: skip

jit = njit(nogil=True)


@jit
def take_one(a: Any, indices: Any, axis: Any = None) -> Any:
    """Return one element of the flat array, or the part with one index along an axis."""
    if axis is None or a.ndim == 1:
        if indices >= a.size or indices < -a.size:
            raise IndexError("Index out of bounds")
        return np.ravel(a)[indices]
    else:  # noqa: RET505
        return np.moveaxis(a, axis, 0)[indices].copy()


@jit
def take_places(a: Any, indices: Any, axis: Any = None) -> Any:
    """Return the elements of the flat array at places, or the parts along an axis."""
    places = np.asarray(indices)
    if axis is None or a.ndim == 1:
        if places.ndim == 1:
            return np.ravel(a)[places]
        else:  # noqa: RET505
            return np.ravel(a)[places.flatten()].reshape(places.shape)
    else:
        assert places.ndim == 1
        return np.moveaxis(np.moveaxis(a, axis, 0)[places], 0, axis).copy()


@jit
def take_along_axis(arr: Any, indices: Any, axis: Any) -> Any:
    """Return the elements of a vector or of a matrix at the places along an axis."""
    if axis is None:
        return arr.flatten()[indices]
    elif arr.ndim == 1:  # noqa: RET505
        return arr[indices]
    else:
        assert arr.ndim == 2
        result = np.empty(indices.shape, dtype=arr.dtype)
        for i in range(indices.shape[0]):
            for j in range(indices.shape[1]):
                if axis == 1 or axis == -1:
                    result[i, j] = arr[i, indices[i, j]]
                else:
                    result[i, j] = arr[indices[i, j], j]
        return result


@jit
def delete_at(arr: Any, obj: Any) -> Any:
    """Return the elements of the flat array without one of them."""
    flat = np.ravel(arr)
    if obj >= flat.size or obj < -flat.size:
        raise IndexError("obj must be less than the len(arr)")
    place = obj + flat.size if obj < 0 else obj
    return np.concatenate((flat[:place], flat[place + 1 :]))


@jit
def delete_places(arr: Any, obj: Any) -> Any:
    """Return the elements of the flat array without those at some places."""
    flat = np.ravel(arr)
    places = np.asarray(obj)
    keep = np.ones(flat.size, dtype=np.bool_)
    for i in range(places.size):
        keep[places[i]] = False
    return flat[keep]


@jit
def insert_at(arr: Any, obj: Any, values: Any) -> Any:
    """Return the elements of the flat array with values inserted before place `obj`."""
    flat = np.ravel(arr)
    if obj > flat.size or obj < -flat.size:
        raise IndexError("index is out of bounds for the given array size")
    place = obj + flat.size if obj < 0 else obj
    if np.isscalar(values):
        inserted = np.full(1, values, dtype=arr.dtype)
    else:
        inserted = np.ravel(np.asarray(values)).astype(arr.dtype)
    return np.concatenate((flat[:place], inserted, flat[place:]))


@jit
def insert_at_places(arr: Any, obj: Any, values: Any) -> Any:
    """Return the elements of the flat array with one value inserted before each of several places."""
    flat = np.ravel(arr)
    places = np.asarray(obj).copy()
    inserted = np.full(1, values) if np.isscalar(values) else np.ravel(np.asarray(values))
    if places.size < 2 or (inserted.size != 1 and inserted.size != places.size):
        raise ValueError("gradients need two places or more, and one value for each or one for all")
    for i in range(places.size):
        if places[i] > flat.size or places[i] < -flat.size:
            raise IndexError("index is out of bounds for the given array size")
        if places[i] < 0:
            places[i] += flat.size
    order = np.argsort(places, kind="mergesort")
    result = np.empty(flat.size + places.size, dtype=arr.dtype)
    left = np.ones(result.size, dtype=np.bool_)
    for i in range(places.size):
        places[order[i]] += i
        left[places[order[i]]] = False
    result[left] = flat
    for i in range(places.size):
        result[places[i]] = inserted[i if inserted.size > 1 else 0]
    return result


@jit
def extract(condition: Any, arr: Any) -> Any:
    """Return the elements of the flat array where a condition is true."""
    return arr.flatten()[condition.flatten() != 0]


@jit
def trim_zeros(filt: Any, trim: Any = "fb") -> Any:
    """Return a vector without the zeros at its start and its end."""
    first, last = 0, filt.size
    if trim != "b":
        while first < filt.size and filt[first] == 0:
            first += 1
    if trim != "f":
        while last > 0 and filt[last - 1] == 0:
            last -= 1
    return filt[first:last]


@jit
def repeat_each(a: Any, repeats: Any) -> Any:
    """Return each element of the flat array as often as an array of ints says."""
    flat = np.ravel(a)
    counts = np.asarray(repeats)
    if counts.size != flat.size:
        raise ValueError("repeats must have one number for each element")
    result = np.empty(np.sum(counts), dtype=a.dtype)
    place = 0
    for i in range(flat.size):
        for _ in range(counts[i]):
            result[place] = flat[i]
            place += 1
    return result


@jit
def resize(a: Any, new_shape: Any) -> Any:
    """Return an array of another shape with the elements, repeated where there are too few."""
    flat = np.ravel(a)
    result = np.zeros(new_shape, dtype=a.dtype)
    places = result.reshape(-1)
    if flat.size > 0:
        for i in range(places.size):
            places[i] = flat[i % flat.size]
    return result


@jit
def rot90(m: Any, k: Any = 1) -> Any:
    """Return a matrix turned by `k` times 90 degrees; `k` is a literal."""
    if k % 4 == 0:
        return m[:]
    elif k % 4 == 1:  # noqa: RET505
        return np.swapaxes(np.fliplr(m), 0, 1)
    elif k % 4 == 2:
        return np.flipud(np.fliplr(m))
    else:
        return np.fliplr(np.swapaxes(m, 0, 1))


@jit
def diagflat(v: Any, k: Any = 0) -> Any:
    """Return a matrix with the elements on diagonal number `k`."""
    return diag(v.flatten(), k)


@jit
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of neighbors of the flat array."""
    assert to_end is None
    assert to_begin is None
    flat = np.ravel(ary)
    return flat[1:] - flat[:-1]


@jit
def bincount(a: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """Return how often each int occurs, or the sums of its weights."""
    size = minlength
    for i in range(a.size):
        if a[i] < 0:
            raise ValueError("bincount(): first argument must be non-negative")
        size = max(size, a[i] + 1)
    if weights is None:
        counts = np.zeros(size, dtype=np.int64)
        for i in range(a.size):
            counts[a[i]] += 1
        return counts
    else:  # noqa: RET505
        if weights.size != a.size:
            raise ValueError("bincount(): weights and list don't have the same length")
        sums = np.zeros(size)
        for i in range(a.size):
            sums[a[i]] += weights[i]
        return sums


@jit
def vdot(a: Any, b: Any) -> Any:
    """Return the product of two vectors."""
    assert a.ndim == 1
    assert b.ndim == 1
    return np.dot(a, b)


@jit
def logspace(start: Any, stop: Any, num: Any = 50) -> Any:
    """Return numbers whose decimal logarithms are evenly spaced."""
    return np.power(10.0, np.linspace(start, stop, num))


@jit
def geomspace(start: Any, stop: Any, num: Any = 50) -> Any:
    """Return numbers with a constant ratio."""
    if start == 0 or stop == 0:
        raise ValueError("Geometric sequence cannot include zero")
    sign = -1.0 if start < 0 and stop < 0 else 1.0
    first, last = math.log10(sign * start), math.log10(sign * stop)
    result = sign * np.power(10.0, np.linspace(first, last, num))
    if num > 0:
        result[0] = start
    if num > 1:
        result[num - 1] = stop
    return result


@jit
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Return a number; nan and infinities are replaced."""
    if math.isnan(x):
        return nan
    if math.isinf(x):
        if x > 0.0:
            return 1.7976931348623157e308 if posinf is None else posinf
        return -1.7976931348623157e308 if neginf is None else neginf
    return x


@jit
def nan_to_num_of_array(
    x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Return the elements of an array; nan and infinities are replaced."""
    largest = np.nextafter(np.full(1, np.inf, dtype=x.dtype), np.zeros(1, dtype=x.dtype))[0]
    if not copy:
        x[np.isnan(x)] = nan
        x[x == np.inf] = largest if posinf is None else posinf
        x[x == -np.inf] = -largest if neginf is None else neginf
        return x
    else:  # noqa: RET505
        result = x.copy()
        result[np.isnan(x)] = nan
        result[x == np.inf] = largest if posinf is None else posinf
        result[x == -np.inf] = -largest if neginf is None else neginf
        return result


@jit
def asarray_chkfinite(a: Any) -> Any:
    """Return the array; raise ValueError if an element is nan or infinite."""
    if not np.all(np.isfinite(a)):
        raise ValueError("array must not contain infs or NaNs")
    return a


@jit
def matrix_power(a: Any, n: Any) -> Any:
    """Return the power of a square matrix."""
    result = np.eye(a.shape[0], dtype=a.dtype)
    factor = np.linalg.inv(a) if n < 0 else a.copy()
    left = abs(n)
    while left > 0:
        if left % 2 == 1:
            result = np.dot(result, factor)
        left //= 2
        if left > 0:
            factor = np.dot(factor, factor)
    return result


@jit
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition number of a matrix."""
    if p is None or p == 2:
        values = np.linalg.svd(x, False)[1]
        return values[0] / values[values.size - 1]
    elif p == -2:  # noqa: RET505
        values = np.linalg.svd(x, False)[1]
        return values[values.size - 1] / values[0]
    else:
        return norm(x, p) * norm(np.linalg.inv(x), p)
