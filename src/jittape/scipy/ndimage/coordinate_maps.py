"""Values of an array between its elements: `map_coordinates` with splines of the orders 0 to 5."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from jittape.core.dtypes import float64, int64
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import logical_and, where
from jittape.primitives.elementwise.complex_numbers import cast, complex, imag, real
from jittape.primitives.elementwise.division import mod
from jittape.primitives.elementwise.piecewise import absolute, floor, maximum, minimum
from jittape.primitives.identity import stop_gradient
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.matmul import tensordot
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import as_operand, float64_tensor, floating_operand

__all__ = ["map_coordinates"]

MODES = ("constant", "grid-constant", "grid-mirror", "grid-wrap", "mirror", "nearest", "reflect", "wrap")
PADDING = 12
"""Number of elements beyond each end for which ``"nearest"`` and ``"grid-constant"`` compute a spline, as in SciPy."""


def _folded(c: Any, n: int, mode: str) -> Any:
    """Return coordinates inside the array, by the rule of `mode`."""
    if mode == "mirror":
        period = max(2.0 * (n - 1), 1.0)
        inside = mod(absolute(c), period)
        # SciPy leaves n - 1/2 as it is, which decides what is nearest to it.
        last = where(c < 0.0, np.float64(n - 1.0), np.nextafter(np.float64(n), 0.0))
        return where(inside > last, period - inside, inside) if n > 1 else c * 0.0
    if mode == "reflect":
        c = mod(c + 0.5, 2.0 * n)
        return minimum(c, 2.0 * n - c) - 0.5
    if mode == "wrap":  # the last element is the first one of the next period
        period = max(n - 1.0, 1.0)
        inside = where(c < 0.0, c + period * (floor(-c / period) + 1.0), c - period * floor(c / period))
        return where(logical_and(c >= 0.0, c <= n - 1.0), c, inside) if n > 1 else c * 0.0
    return mod(c, float(n)) if mode == "grid-wrap" else c


def _indices(i: Any, n: int, mode: str) -> Any:
    """Return neighbors of folded coordinates, given as floats, as indices."""
    if mode in ("grid-constant", "nearest"):
        return minimum(maximum(i, 0.0), n - 1.0)
    return _folded(i, n, "mirror" if mode in ("constant", "wrap") else mode)


# ---- splines ---------------------------------------------------------------------------------------------------------


@cache
def _pieces(order: int) -> list[list[float]]:
    """Return the coefficients of the pieces of a cardinal B-spline, in powers of the distance from the left knot."""
    pieces = []
    for m in range(order + 1):
        terms = [(-1) ** j * math.comb(order + 1, j) * Polynomial([m - j, 1]) ** order for j in range(m + 1)]
        pieces.append([float(c) for c in (sum(terms[1:], terms[0]) / math.factorial(order)).coef])
    return pieces


def _weights(order: int, fraction: Any) -> list[Any]:
    """Return the weights of the ``order + 1`` coefficients around a point."""
    found = []
    for coefficients in reversed(_pieces(order)):
        value: Any = coefficients[-1]
        for c in reversed(coefficients[:-1]):
            value = value * fraction + c
        found.append(value)
    return found


def _spline_coefficients(array: Any, order: int, mode: str) -> Any:
    """Return the coefficients of the spline through the elements: SciPy's filter, as a matrix for each dimension."""
    from scipy.ndimage import spline_filter1d

    for axis, n in enumerate(array.shape):
        matrix = spline_filter1d(np.eye(n), order, axis=0, output=np.float64, mode=mode)
        array = moveaxis(tensordot(matrix, array, ([1], [axis])), 0, axis)
    return array


def _padded(array: Any, mode: str, cval: Any) -> Any:
    """Return `array` with `PADDING` more elements at each end: the last ones, or `cval`."""
    shape = tuple(array.shape)
    for axis, n in enumerate(shape):
        array = gather(array, np.clip(np.arange(-PADDING, n + PADDING), 0, n - 1), axis=axis)
    if mode == "nearest":
        return array
    inside = np.zeros(array.shape, bool)
    inside[tuple([slice(PADDING, PADDING + n) for n in shape])] = True
    return where(inside, array, cval)


# ---- the function ----------------------------------------------------------------------------------------------------


def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """Interpolate an array at coordinates; differentiable in the array, and from order 1 on in the coordinates.

    Parameters
    ----------
    input : tensor-like
        Array with d dimensions.
    coordinates : tensor-like of shape (d, ...)
        Coordinates of the points, in elements.
    output : dtype, optional
        Dtype of the result, that of `input` by default. Integers are rounded, and have no gradient.
    order : int from 0 to 5
        Degree of the spline: 0 is the nearest element, 1 linear interpolation.
    mode : {"constant", "grid-constant", "grid-mirror", "grid-wrap", "mirror", "nearest", "reflect", "wrap"}
        Values outside, as in SciPy; ``"grid-mirror"`` is ``"reflect"``. ``"constant"`` gives `cval` at every point
        outside the array.
    cval : float or tensor
        Value outside.
    prefilter : bool
        Compute the coefficients of the spline; False means that `input` contains them.

    Returns
    -------
    Tensor
        Values of shape ``coordinates.shape[1:]``, which are computed in float64.

    Raises
    ------
    ValueError
        For another order or mode.
    TypeError
        If `output` is an array, or real for complex numbers, and for bools.
    ShapeError
        If the first dimension of `coordinates` is not d.

    Examples
    --------
    >>> from jittape.scipy import ndimage
    >>> ndimage.map_coordinates([[0.0, 1.0], [2.0, 3.0]], [[0.5, 0.0], [0.5, 1.0]], order=1).numpy()
    array([1.5, 1. ])
    """
    if isinstance(output, np.ndarray) or hasattr(output, "aval"):
        raise TypeError("[map_coordinates] leave out output, or give a dtype: the result is a new tensor")
    if order.__class__ is not int or not 0 <= order <= 5:
        raise ValueError(f"[map_coordinates] order must be an int from 0 to 5, got {order!r}")
    if mode not in MODES:
        raise ValueError(f"[map_coordinates] mode must be one of {', '.join(MODES)}, got {mode!r}")
    mode = "reflect" if mode == "grid-mirror" else mode
    given = convert_to_tensor(as_operand(input))
    dtype = np.dtype(given.aval.dtype if output is None else output)
    if "b" in (dtype.kind, given.aval.dtype.kind):
        raise TypeError(
            "[map_coordinates] bools have no values between elements; cast input to a number dtype"
        )
    array = convert_to_tensor(floating_operand(given))
    points = float64_tensor("map_coordinates", coordinates)
    shape = tuple(array.shape)
    if not len(points.shape) or points.shape[0] != len(shape) or not shape:
        raise ShapeError(
            f"[map_coordinates] coordinates must have the number of dimensions of input, {len(shape)}, as their first "
            f"dimension, got shape {tuple(points.shape)}"
        )
    cval = convert_to_tensor(floating_operand(cval))
    if mode == "grid-constant" and given.aval.dtype.kind in "iu":
        cval = cast(cast(cval, given.aval.dtype), float64)  # SciPy pads the integers with it
    if array.dtype.kind == "c" or cval.dtype.kind == "c":
        parts = [
            _interpolated(cast(part(array), float64), points, order, mode, part(cval), prefilter)
            for part in (real, imag)
        ]
        if output is not None and dtype.kind != "c":
            raise TypeError(f"[map_coordinates] output must be complex for complex numbers, got {dtype.name}")
        return cast(complex(*parts), dtype if dtype.kind == "c" else np.result_type(dtype, np.complex64))
    return _rounded(_interpolated(cast(array, float64), points, order, mode, cval, prefilter), dtype)


def _rounded(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return values in `dtype`; integers are the nearest ones within their range, halves away from 0."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        value = where(value > 0.0, floor(value + 0.5), -floor(0.5 - value))
        value = minimum(maximum(value, float(limits.min)), float(limits.max))
    return cast(value, dtype)


def _interpolated(array: Any, points: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    shape, cval = tuple(array.shape), cast(cval, float64)
    coordinates = [points[k] for k in range(len(shape))]
    if prefilter and order > 1:
        if mode in ("nearest", "grid-constant"):
            array = _padded(array, mode, cval)
            coordinates = [c + float(PADDING) for c in coordinates]
        array = _spline_coefficients(array, order, mode)
    folded = [_folded(c, n, mode) for c, n in zip(coordinates, array.shape, strict=True)]
    shift = 0.0 if order % 2 else 0.5
    lower = [floor(stop_gradient(c) + shift) for c in folded]
    weights = [_weights(order, c + shift - base) for c, base in zip(folded, lower, strict=True)]
    total: Any = 0.0
    for corner in itertools.product(range(order + 1), repeat=len(shape)):
        weight: Any = 1.0
        for along, i in zip(weights, corner, strict=True):
            weight = weight * along[i]
        neighbors = [base + float(i - order // 2) for base, i in zip(lower, corner, strict=True)]
        total = total + weight * _element(array, neighbors, mode, cval)
    return _outside(total, points, shape, mode, cval)


def _element(array: Any, neighbors: list[Any], mode: str, cval: Any) -> Any:
    """Return the elements at indices, given as floats; `cval` outside for ``"grid-constant"``."""
    shape = tuple(array.shape)
    flat: Any = 0
    inside: Any = None
    for i, n, stride in zip(neighbors, shape, np.cumprod((1, *shape[:0:-1]))[::-1], strict=True):
        flat = flat + cast(_indices(i, n, mode), int64) * int(stride)
        here = logical_and(i >= 0.0, i <= n - 1.0)
        inside = here if inside is None else logical_and(inside, here)
    value = gather(reshape(array, (-1,)), flat)
    return where(inside, value, cval) if mode == "grid-constant" else value


def _outside(value: Any, points: Any, shape: tuple[int, ...], mode: str, cval: Any) -> Any:
    """Replace values outside the array by `cval`, for ``"constant"``."""
    if mode != "constant":
        return value
    inside: Any = None
    for k, n in enumerate(shape):
        here = logical_and(points[k] >= 0.0, points[k] <= n - 1.0)
        inside = here if inside is None else logical_and(inside, here)
    return where(inside, value, cval)
