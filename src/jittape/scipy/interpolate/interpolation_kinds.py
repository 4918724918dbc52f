"""Interpolation in one dimension by steps, lines and splines (`interp1d`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast_operands, cast_to
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import less, logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast, imag, real
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.sorting import argsort
from jittape.primitives.reduce.reductions import reduce_any
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import broadcast_to, reshape
from jittape.scipy.interpolate.b_splines import BSplineFit
from jittape.scipy.interpolate.piecewise_cubics import CubicSpline
from jittape.scipy.interpolate.piecewise_polynomials import ascending, shaped_as_points, values_at_knots
from jittape.scipy.scipy_operands import float64_tensor, known_values, wide_tensor

__all__ = ["checked_bounds", "interp1d"]

STEPS = ("nearest", "nearest-up", "previous", "next")
DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


# ---- points between the knots ----------------------------------------------------------------------------------------


def _impl(points: Any, low: Any, high: Any, *, function: str, argument: str) -> Any:
    for outside, side, limit, name in (
        (points < low, "below", low, "minimum"),
        (points > high, "above", high, "maximum"),
    ):
        if outside.any():
            raise ValueError(
                f"[{function}] a value ({points[outside][0]}) in {argument} is {side} the interpolation range's "
                f"{name} value ({limit[outside][0]}); pass bounds_error=False or fill_value='extrapolate'"
            )
    return np.zeros(points.shape, int64)


def _checked(points: Any, low: Any, high: Any, *, function: str, argument: str) -> Any:
    """Return the decomposition for compiled code: a point outside ends the run, which the interpreter repeats."""
    outside = logical_or(less(points, low), less(high, points))
    message = f"{function}: a value in {argument} is outside of the interpolation range"
    end_run_where(outside, "ValueError", message)
    return cast_to(outside, int64)


inside_op = Primitive(
    "inside_of_knots",
    abstract_eval=lambda points, low, high, *, function, argument: Aval(points.shape, int64),
    impl=_impl,
    lowering=Decomposition(_checked),
    gradient_stops="integers have no gradient",
    batch=alike(),
)
"""Zeros, to be added to the points; a point outside of the limits raises an error at run time."""


def _inside(points: Any, low: Any, high: Any, function: str, argument: str) -> Any:
    operands = broadcast_operands(points, low, high, op=function)
    return inside_op.bind(*operands, function=function, argument=argument)


def checked_bounds(function: str, argument: str, points: Any, low: Any, high: Any) -> Any:
    """Return `points`; one outside of the limits raises an error when the values are computed."""
    return points + cast(apply(_inside, (points, low, high), (function, argument)), float64)


# ---- interpolation ---------------------------------------------------------------------------------------------------


class interp1d:
    """Interpolation in one dimension.

    Parameters
    ----------
    x : tensor-like of shape (n,)
        Knots.
    y : tensor-like
        Values, with n elements along `axis`. Results are float64 or complex128.
    kind : str or int
        ``"linear"``, ``"nearest"`` (down at half), ``"nearest-up"``, ``"previous"``, ``"next"``; or a spline of degree
        0 to 3, ``"zero"``, ``"slinear"``, ``"quadratic"``, ``"cubic"``, or of the degree `kind`. Steps have no gradient
        in the points.
    axis : int
        Dimension of the knots; the last one by default.
    copy : bool
        Ignored.
    bounds_error : bool, optional
        Raise an error for points outside, when the values are computed. True by default, except for ``"extrapolate"``.
    fill_value : array_like, pair of them, or "extrapolate"
        Value outside, or below and above, if `bounds_error` is False; nan by default.
    assume_sorted : bool
        Do not sort the knots.

    Raises
    ------
    NotImplementedError
        For an unknown kind.
    ValueError
        For points outside, a `fill_value` that does not fit, too few knots, equal knots of a spline, or
        ``bounds_error=True`` with ``fill_value="extrapolate"``.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.interp1d([0.0, 1.0], [0.0, 3.0])(0.5))
    1.5
    >>> interpolate.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], kind="quadratic")([0.5, 1.5]).numpy().round(6)
    array([0.25, 2.25])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: str | int = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        degree = None if kind == "linear" or kind in STEPS else DEGREES.get(kind, kind)  # type: ignore[arg-type]
        if degree is not None and not isinstance(degree, int):
            raise NotImplementedError(
                f"[interp1d] kind must be linear, {', '.join((*STEPS, *DEGREES))} or a degree, got {kind!r}"
            )
        if degree is not None and degree < 0:
            raise ValueError(f"[interp1d] kind must not be negative, got {kind}")
        self._kind, self._degree = kind, degree
        self._set_knots(x, y, axis, assume_sorted)
        self._set_fill(fill_value, bounds_error)
        self._spline = self._fitted(x, assume_sorted)

    def _set_knots(self, x: Any, y: Any, axis: int, assume_sorted: bool) -> None:
        knots, y = float64_tensor("interp1d", x), wide_tensor(y)
        least = 2 if self._kind == "linear" else (self._degree or 0) + 1
        if len(knots.shape) != 1 or knots.shape[0] < least:
            raise ShapeError(
                f"[interp1d] x must be a vector of at least {least} numbers for kind={self._kind!r}, got shape "
                f"{tuple(knots.shape)}"
            )
        values, self.axis = values_at_knots("interp1d", knots, y, axis)
        known = known_values(x)
        if not assume_sorted and (known is None or not (np.diff(known) >= 0).all()):
            order = argsort(knots, stable=True)
            knots, values = gather(knots, order), gather(values, order)
        self.x, self._trail = knots, tuple(values.shape[1:])
        self._values = reshape(values, (knots.shape[0], -1))

    def _set_fill(self, fill_value: Any, bounds_error: bool | None) -> None:
        self.fill_value = fill_value
        extrapolates = isinstance(fill_value, str)
        if extrapolates and fill_value != "extrapolate":
            raise ValueError(f"[interp1d] fill_value must be numbers or 'extrapolate', got {fill_value!r}")
        if extrapolates and bounds_error:
            raise ValueError("[interp1d] bounds_error=True and fill_value='extrapolate' exclude each other")
        self.bounds_error = not extrapolates if bounds_error is None else bool(bounds_error)
        if not extrapolates:
            pair = isinstance(fill_value, tuple) and len(fill_value) == 2
            self._fill = tuple(map(self._filler, fill_value if pair else (fill_value, fill_value)))
        elif self._kind in ("previous", "next"):  # nothing precedes the first knot or follows the last one
            self._fill = (np.nan, self._values[-1]) if self._kind == "previous" else (self._values[0], np.nan)
        else:
            self._fill = ()

    def _filler(self, value: Any) -> Any:
        """Return a value for points outside, as a row beside the values."""
        value = wide_tensor(value)
        trail = self._trail or (1,)
        try:
            np.broadcast_to(np.empty(tuple(value.shape)), trail)
        except ValueError:
            raise ShapeError(
                f"[interp1d] fill_value must broadcast to shape {trail}, the shape of y without axis {self.axis}, got "
                f"shape {tuple(value.shape)}"
            ) from None
        return reshape(broadcast_to(value, trail), (1, -1))

    def _fitted(self, given: Any, assume_sorted: bool) -> Any:
        """Return the function of a spline of degree 2 or more, which has the points in a vector."""
        if not self._degree:
            return None
        known = known_values(given)
        if known is not None and not assume_sorted:
            known = np.sort(known)
        x = ascending("interp1d", self.x if known is None else known, self.x, strictly=True)
        if self._degree == 1:
            return None
        return (
            CubicSpline(x, self._values) if self._degree == 3 else BSplineFit(x, self._values, self._degree)
        )

    def __getattr__(self, name: str) -> Any:
        if name in ("c", "derivative", "antiderivative", "integrate"):
            raise AttributeError(
                "interp1d has no coefficients, derivative or integral; use PPoly or CubicSpline"
            )
        raise AttributeError(f"'interp1d' object has no attribute {name!r}")

    @property
    def y(self) -> Any:
        """Values, in the order of the knots."""
        return moveaxis(reshape(self._values, (-1, *self._trail)), 0, self.axis)

    def __call__(self, x: Any) -> Any:
        """Evaluate the interpolant at the points `x`."""
        points = float64_tensor("interp1d", x)
        at = reshape(points, (-1,))
        if self.bounds_error:
            at = checked_bounds("interp1d", "x_new", at, self.x[0], self.x[-1])
        value = self._evaluated(at)
        if self._fill:
            low, high = self._fill
            below, above = (reshape(side, (-1, 1)) for side in (at < self.x[0], at > self.x[-1]))
            value = where(below, low, where(above, high, value))
        return shaped_as_points(value, tuple(points.shape), self._trail, self.axis)

    def _evaluated(self, at: Any) -> Any:
        if self._kind in STEPS:
            return gather(self._values, self._nearby(at))
        column = reshape(at, (-1, 1))
        if self._degree == 0:
            value = gather(self._values, self._counted(at, "right", 1))
            return where(is_nan(column), np.nan, value)
        if self._spline is not None:
            return where(self._has_nan(), np.nan, self._spline(at))
        piece = clip_by_value(
            self._counted(at, "left" if self._degree is None else "right", 1), 0, self.x.shape[0] - 2
        )
        width = reshape(gather(self.x, piece + 1) - gather(self.x, piece), (-1, 1))
        first = gather(self._values, piece)
        chord = (gather(self._values, piece + 1) - first) / width
        return first + (column - reshape(gather(self.x, piece), (-1, 1))) * chord

    def _counted(self, at: Any, side: str, before: int) -> Any:
        """Return the number of knots up to each point, less `before`, as an index."""
        return clip_by_value(
            cast(searchsorted(self.x, at, side=side), int64) - before, 0, self.x.shape[0] - 1
        )

    def _nearby(self, at: Any) -> Any:
        if self._kind == "previous":
            return self._counted(at, "right", 1)
        if self._kind == "next":
            return self._counted(at, "left", 0)
        halves = self.x / 2.0
        middles = halves[1:] + halves[:-1]
        return cast(searchsorted(middles, at, side="left" if self._kind == "nearest" else "right"), int64)

    def _has_nan(self) -> Any:
        """Return whether a value is nan: then the whole spline is."""
        parts = (
            (real(self._values), imag(self._values)) if self._values.dtype.kind == "c" else (self._values,)
        )
        found = reduce_any(is_nan(parts[0]))
        return found if len(parts) == 1 else logical_or(found, reduce_any(is_nan(parts[1])))
