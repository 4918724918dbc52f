"""Interpolation by piecewise polynomials, differentiable in the values, the knots and the points.

Values and slopes at the knots determine each cubic piece; the classes differ in the slopes. The search for the piece of
a point has no gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import logical_and, logical_not, logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import absolute, sign
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.tridiagonal import tridiagonal_solve
from jittape.primitives.reduce.reductions import reduce_max
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.interpolate.periodic_splines import nan_without_period, periodic_slopes, require_period
from jittape.scipy.interpolate.piecewise_polynomials import (
    PPoly,
    ascending,
    extrapolation,
    into_period,
    pieces_at,
    shaped_as_points,
    values_at_knots,
)
from jittape.scipy.scipy_operands import float64_tensor, floating_operand, wide_tensor

__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PchipInterpolator",
    "pchip_interpolate",
]


def _knots(function: str, x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """Return knots and values as tensors, the values with `axis` first; splines take complex ones."""
    given = x
    x = float64_tensor(function, x)
    y = wide_tensor(y) if function == "CubicSpline" else float64_tensor(function, y)
    if len(x.shape) != 1 or x.shape[0] < 2:
        raise ShapeError(f"[{function}] x must be a vector of at least 2 numbers, got shape {tuple(x.shape)}")
    values, _ = values_at_knots(function, x, y, axis)
    return ascending(function, given, x, strictly=True), values


class _Piecewise:
    """A piecewise cubic: knots, values with the axis of the knots first, and slopes of the same shape."""

    def __init__(self, x: Any, y: Any, axis: int, extrapolate: bool | str | None) -> None:
        name = type(self).__name__
        self.x, self._y = _knots(name, x, y, axis)
        self.axis = axis if axis >= 0 else axis + len(self._y.shape)
        self.extrapolate = extrapolation(name, extrapolate)
        n = self.x.shape[0]
        self._values = flat = reshape(self._y, (n, -1))
        widths = reshape(self.x[1:] - self.x[:-1], (n - 1, 1))
        self._slopes = self._slopes_at_knots(widths, (flat[1:] - flat[:-1]) / widths)

    def _slopes_at_knots(self, h: Any, m: Any) -> Any:
        """Return the slopes from the widths and the slopes of the chords, both with the intervals first."""
        raise NotImplementedError

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """Evaluate the interpolant, or its derivative of order `nu`, at the points `x`."""
        name = type(self).__name__
        nu = as_int("nu", nu)
        if nu < 0:
            raise ValueError(f"[{name}] nu must not be negative, got {nu}; use antiderivative")
        points = float64_tensor(name, x)
        beyond = extrapolation(name, extrapolate, self.extrapolate)
        at = reshape(points, (-1,))
        at = into_period(self.x, at) if beyond == "periodic" else at
        piece, inside = pieces_at(self.x, at)
        value = self._evaluated(piece, reshape(at - gather(self.x, piece), (-1, 1)), nu)
        if not beyond:
            value = where(reshape(inside, (-1, 1)), value, np.nan)
        return shaped_as_points(value, tuple(points.shape), tuple(self._y.shape[1:]), self.axis)

    @property
    def c(self) -> Any:
        """Coefficients of the pieces, those of the highest power first, as in `PPoly`."""
        h = reshape(self.x[1:] - self.x[:-1], (-1, 1))
        y, s = self._values, self._slopes
        chord = (y[1:] - y[:-1]) / h
        bend = (s[:-1] + s[1:] - 2.0 * chord) / h
        parts = stack([bend / h, (chord - s[:-1]) / h - bend, s[:-1], y[:-1]])
        return reshape(parts, (4, self.x.shape[0] - 1, *self._y.shape[1:]))

    def _polynomials(self) -> PPoly:
        return PPoly(self.c, self.x, self.extrapolate, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of order `nu`, as a `PPoly`."""
        return self._polynomials().derivative(nu)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the antiderivative of order `nu` that is 0 at the first knot, as a `PPoly`."""
        return self._polynomials().antiderivative(nu)

    def integrate(self, a: Any, b: Any, extrapolate: bool | str | None = None) -> Any:
        """Return the integral from `a` to `b`."""
        return self._polynomials().integrate(a, b, extrapolate)

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
        """Return the points where the value is `y`; see `PPoly.solve`."""
        return self._polynomials().solve(y, discontinuity, extrapolate)

    def roots(self, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
        """Return the points where the value is 0; see `PPoly.solve`."""
        return self.solve(0.0, discontinuity, extrapolate)

    def _evaluated(self, piece: Any, w: Any, nu: int) -> Any:
        h = reshape(gather(self.x, piece + 1) - gather(self.x, piece), (-1, 1))
        y0, y1 = gather(self._values, piece), gather(self._values, piece + 1)
        s0, s1 = gather(self._slopes, piece), gather(self._slopes, piece + 1)
        chord = (y1 - y0) / h
        bend = (s0 + s1 - 2.0 * chord) / h
        c3, c2 = bend / h, (chord - s0) / h - bend
        if nu == 0:
            return y0 + w * (s0 + w * (c2 + w * c3))
        if nu == 1:
            return s0 + w * (2.0 * c2 + w * (3.0 * c3))
        if nu == 2:
            return 2.0 * c2 + 6.0 * c3 * w
        return (6.0 * c3 if nu == 3 else 0.0 * c3) + 0.0 * w


# ---- cubic splines ---------------------------------------------------------------------------------------------------


class CubicSpline(_Piecewise):
    """Cubic spline, twice continuously differentiable.

    Parameters
    ----------
    x : tensor-like of shape (n,)
        Strictly ascending knots. Others raise an error or, if their values are unknown, give nan.
    y : tensor-like
        Values, with n elements along `axis`.
    axis : int
        Dimension of the knots.
    bc_type : str or pair
        ``"not-a-knot"``, ``"clamped"``, ``"natural"``, or a pair of these or of ``(order, value)`` with order 1 or 2,
        for both ends; or ``"periodic"``: the first and the last value must be equal.
    extrapolate : bool or "periodic", optional
        Use the outer pieces outside, the default, or repeat all pieces, the default of a periodic spline. Else
        values outside are nan.

    Raises
    ------
    ShapeError
        If `x` and `y` do not fit.
    ValueError
        For an unknown `bc_type`, if `x` does not ascend, or if the values of a periodic spline differ at the ends.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> round(float(interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])(1.5)), 6)
    3.375
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: bool | str | None = None,
    ) -> None:
        ends = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
        if len(ends) != 2:
            raise ValueError(f"[CubicSpline] bc_type must be a name or a pair, got {bc_type!r}")
        self._periodic = all(isinstance(end, str) and end == "periodic" for end in ends)
        self._ends = () if self._periodic else tuple([_end_condition(end) for end in ends])
        if self._periodic and extrapolate is None:
            extrapolate = "periodic"
        super().__init__(x, y, axis, extrapolate)
        if self._periodic:
            require_period(y, axis)
        for end in ends:
            if not isinstance(end, str) and np.shape(end[1]) != tuple(self._y.shape[1:]):
                raise ShapeError(
                    f"[CubicSpline] the value in bc_type must have the shape {tuple(self._y.shape[1:])} of y without "
                    f"axis {axis}, got {np.shape(end[1])}"
                )

    def _slopes_at_knots(self, h: Any, m: Any) -> Any:
        if self._periodic:
            return nan_without_period(periodic_slopes(h, m), self._values)
        n = self.x.shape[0]
        first, last = self._ends
        if n == 2:  # not-a-knot leaves the slope of the chord
            first, last = ((1, m[0]) if end is None else end for end in (first, last))
        if n == 3 and first is None and last is None:
            return _parabola(h, m)
        flat = h[:, 0]
        main, right = 2.0 * (flat[:-1] + flat[1:]), 3.0 * (h[1:] * m[:-1] + h[:-1] * m[1:])
        a0, b0, r0 = _end_row(first, flat, h, m)
        reverse = slice(None, None, -1)
        a1, b1, r1 = _end_row(last, flat[reverse], h[reverse], m[reverse], -1.0)
        diagonal = concat([reshape(a0, (1,)), main, reshape(a1, (1,))], 0)
        above = concat([reshape(b0, (1,)), flat[:-1], flat[:1] * 0.0], 0)
        below = concat([flat[:1] * 0.0, flat[1:], reshape(b1, (1,))], 0)
        rhs = concat([reshape(r0, (1, -1)), right, reshape(r1, (1, -1))], 0)
        return tridiagonal_solve(cast(stack([above, diagonal, below]), rhs.dtype), rhs)


def _end_condition(end: Any) -> Any:
    """Return None for not-a-knot, else order and value of the derivative."""
    named = {"not-a-knot": None, "clamped": (1, 0.0), "natural": (2, 0.0)}
    if isinstance(end, str):
        if end not in named:
            raise ValueError(
                f"[CubicSpline] bc_type must be one of {', '.join(named)}, periodic, got {end!r}"
            )
        return named[end]
    if not (isinstance(end, tuple) and len(end) == 2 and end[0] in (1, 2)):
        raise ValueError(
            f"[CubicSpline] bc_type of an end must be a name or (1, value) or (2, value), got {end!r}"
        )
    return end


def _end_row(end: Any, flat: Any, h: Any, m: Any, side: float = 1.0) -> tuple[Any, Any, Any]:
    """Return diagonal, neighbor and right-hand side of the equation of the first knot; `side` is -1 at the last."""
    if end is None:
        total = flat[0] + flat[1]
        rhs = ((h[0] + 2.0 * total) * h[1] * m[0] + h[0] * h[0] * m[1]) / total
        return flat[1], total, rhs
    order, value = end
    value = floating_operand(value)
    if order == 1:
        return flat[0] * 0.0 + 1.0, flat[0] * 0.0, value + 0.0 * m[0]
    return 2.0 * flat[0], flat[0], -0.5 * side * value * h[0] * h[0] + 3.0 * h[0] * m[0]


def _parabola(h: Any, m: Any) -> Any:
    """Return the slopes of the parabola through three points."""
    middle = (h[1] * m[0] + h[0] * m[1]) / (h[0] + h[1])
    return stack([2.0 * m[0] - middle, middle, 2.0 * m[1] - middle])


# ---- local slopes ----------------------------------------------------------------------------------------------------


class PchipInterpolator(_Piecewise):
    """Monotone piecewise cubic (Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5, 1984).

    Parameters
    ----------
    x, y, axis, extrapolate
        As for `CubicSpline`. Where the data change direction the slope is 0, also in the gradient.

    Raises
    ------
    ShapeError, DTypeError
        If the shapes of `x` and `y` do not fit, or for complex numbers.
    ValueError
        If `x` is known and does not increase.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])(1.5))
    1.0
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: bool | str | None = None) -> None:
        super().__init__(x, y, axis, extrapolate)

    def _slopes_at_knots(self, h: Any, m: Any) -> Any:
        if self.x.shape[0] == 2:
            return concat([m, m], 0)
        w1, w2 = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
        turning = logical_or(logical_not(sign(m[1:]) * sign(m[:-1]) > 0), m[1:] * 0.0 != 0.0)
        middle = where(turning, 0.0, (w1 + w2) / (w1 / m[:-1] + w2 / m[1:]))
        first, last = _pchip_end(h[0], h[1], m[0], m[1]), _pchip_end(h[-1], h[-2], m[-1], m[-2])
        return concat([reshape(first, (1, -1)), middle, reshape(last, (1, -1))], 0)


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    slope = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    away = sign(slope) != sign(m0)
    steep = logical_and(sign(m0) != sign(m1), absolute(slope) > 3.0 * absolute(m0))
    return where(away, 0.0, where(steep, 3.0 * m0, slope))


class Akima1DInterpolator(_Piecewise):
    """Akima's piecewise cubic (J. ACM 17, 1970).

    Parameters
    ----------
    x, y, axis
        As for `CubicSpline`.
    method : {"akima", "makima"}
        The original weights, or modified ones, which avoid overshoots.
    extrapolate : bool, optional
        False by default: values outside are nan.

    Raises
    ------
    ValueError
        For an unknown method.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.Akima1DInterpolator([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0])(1.5))
    1.5
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: bool | str | None = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise ValueError(f"[Akima1DInterpolator] method must be 'akima' or 'makima', got {method!r}")
        self._method = method
        super().__init__(x, y, axis, False if extrapolate is None else extrapolate)

    def _slopes_at_knots(self, h: Any, m: Any) -> Any:
        if self.x.shape[0] == 2:
            return concat([m, m], 0)
        before, after = 2.0 * m[:1] - m[1:2], 2.0 * m[-1:] - m[-2:-1]
        m = concat([2.0 * before - m[:1], before, m, after, 2.0 * after - m[-1:]], 0)
        change = absolute(m[1:] - m[:-1])
        left, right = change[:-2], change[2:]
        if self._method == "makima":
            size = 0.5 * absolute(m[1:] + m[:-1])
            left, right = left + size[:-2], right + size[2:]
        total = left + right
        weighted = right / total * m[1:-2] + left / total * m[2:-1]
        return where(total > 1e-9 * reduce_max(total), weighted, 0.5 * (m[3:] + m[:-3]))


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return the values of a `PchipInterpolator`, or derivatives: a list for a list of orders.

    Parameters
    ----------
    xi : tensor-like of shape (n,)
        Strictly ascending knots.
    yi : tensor-like
        Values, with n elements along `axis`.
    x : tensor-like
        Points.
    der : int or list of int
        Order of the derivative.
    axis : int
        Dimension of the knots.

    Raises
    ------
    ShapeError
        If `xi` and `yi` do not fit.
    ValueError
        If `xi` is not strictly increasing.
    DTypeError
        If an argument is complex.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.pchip_interpolate([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], 0.5))
    0.5
    """
    spline = PchipInterpolator(xi, yi, axis)
    return [spline(x, nu) for nu in der] if isinstance(der, (list, tuple)) else spline(x, der)


class CubicHermiteSpline(_Piecewise):
    """Piecewise cubic with given values and slopes.

    Parameters
    ----------
    x : tensor-like of shape (n,)
        Strictly ascending knots. Others raise an error or, if their values are unknown, give nan.
    y, dydx : tensor-like
        Values and slopes, with n elements along `axis`.
    axis : int
        Dimension of the knots.
    extrapolate : bool or "periodic", optional
        Use the outer pieces outside, the default, or repeat all pieces; else values outside are nan.

    Raises
    ------
    ShapeError
        If `x`, `y` and `dydx` do not fit.
    ValueError
        If `x` does not ascend.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])(0.5))
    0.5
    """

    def __init__(
        self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: bool | str | None = None
    ) -> None:
        self._given = _knots("CubicHermiteSpline", x, dydx, axis)[1]
        super().__init__(x, y, axis, extrapolate)
        if tuple(self._given.shape) != tuple(self._y.shape):
            raise ShapeError(
                f"[CubicHermiteSpline] y and dydx must have equal shapes, got {tuple(self._y.shape)} and "
                f"{tuple(self._given.shape)}, with the axis of the knots first"
            )

    def _slopes_at_knots(self, h: Any, m: Any) -> Any:
        return reshape(self._given, (self.x.shape[0], -1))
