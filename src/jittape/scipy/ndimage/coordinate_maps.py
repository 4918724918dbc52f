"""Values of an array between its elements: `map_coordinates` with orders 0 and 1."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import logical_and, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import mod
from jittape.primitives.elementwise.piecewise import absolute, floor, maximum, minimum
from jittape.primitives.identity import stop_gradient
from jittape.primitives.indexing.gather import gather
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import floating_operand

__all__ = ["map_coordinates"]

MODES = ("constant", "grid-constant", "grid-wrap", "mirror", "nearest", "reflect")


def _folded(c: Any, n: int, mode: str) -> Any:
    """Return coordinates inside the array, by the rule of `mode`."""
    if mode == "nearest":
        return minimum(maximum(c, 0.0), n - 1.0)
    if mode == "mirror":
        period = max(2.0 * (n - 1), 1.0)
        c = mod(absolute(c), period)
        return minimum(c, period - c) if n > 1 else c * 0.0
    if mode == "reflect":
        c = mod(c + 0.5, 2.0 * n)
        return minimum(c, 2.0 * n - c) - 0.5
    return mod(c, float(n)) if mode == "grid-wrap" else c


def _indices(i: Any, n: int, mode: str) -> Any:
    """Return neighbors of folded coordinates as indices."""
    if mode == "grid-wrap":
        return mod(i, float(n))
    return minimum(maximum(i, 0.0), n - 1.0)


def map_coordinates(
    input: Any,
    coordinates: Any,
    order: int = 1,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """Interpolate an array at coordinates; differentiable in the array, and for order 1 in the coordinates.

    Parameters
    ----------
    input : tensor-like
        Array with d dimensions.
    coordinates : tensor-like of shape (d, ...)
        Coordinates of the points, in elements.
    order : {0, 1}
        Nearest element, or linear interpolation, the default here. SciPy's default 3 raises an error.
    mode : {"constant", "grid-constant", "grid-wrap", "mirror", "nearest", "reflect"}
        Values outside, as in SciPy. ``"constant"`` gives `cval` at every point outside the array.
    cval : float or tensor
        Value outside.

    Returns
    -------
    Tensor
        Values, float64, of shape ``coordinates.shape[1:]``.

    Raises
    ------
    ValueError
        For another order or mode.
    ShapeError
        If the first dimension of `coordinates` is not d.

    Examples
    --------
    >>> from jittape.scipy import ndimage
    >>> ndimage.map_coordinates([[0.0, 1.0], [2.0, 3.0]], [[0.5, 0.0], [0.5, 1.0]]).numpy()
    array([1.5, 1. ])
    """
    if order not in (0, 1):
        raise ValueError(f"[map_coordinates] order must be 0 or 1, got {order!r}; splines are not recorded")
    if mode not in MODES:
        raise ValueError(f"[map_coordinates] mode must be one of {', '.join(MODES)}, got {mode!r}")
    array = cast(convert_to_tensor(floating_operand(input)), float64)
    points = cast(convert_to_tensor(floating_operand(coordinates)), float64)
    shape = tuple(array.shape)
    if not len(points.shape) or points.shape[0] != len(shape) or not shape:
        raise ShapeError(
            f"[map_coordinates] coordinates must have the number of dimensions of input, {len(shape)}, as their first "
            f"dimension, got shape {tuple(points.shape)}"
        )
    folded = [_folded(points[k], n, mode) for k, n in enumerate(shape)]
    if order == 0:
        nearest = _element(array, [floor(stop_gradient(c) + 0.5) for c in folded], mode, cval)
        return _outside(nearest, points, shape, mode, cval)
    lower = [floor(c) for c in folded]
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(shape)):
        weight: Any = 1.0
        for c, base, upper in zip(folded, lower, corner, strict=True):
            weight = weight * ((c - base) if upper else (1.0 - (c - base)))
        neighbors = [base + float(upper) for base, upper in zip(lower, corner, strict=True)]
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
    return where(inside, value, floating_operand(cval)) if mode == "grid-constant" else value


def _outside(value: Any, points: Any, shape: tuple[int, ...], mode: str, cval: Any) -> Any:
    """Replace values outside the array by `cval`, for ``"constant"``."""
    if mode != "constant":
        return value
    inside: Any = None
    for k, n in enumerate(shape):
        here = logical_and(points[k] >= 0.0, points[k] <= n - 1.0)
        inside = here if inside is None else logical_and(inside, here)
    return where(inside, value, floating_operand(cval))
