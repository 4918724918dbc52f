"""B-splines under SciPy's names: `BSpline` and `make_interp_spline`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import logical_and, logical_not, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide_no_nan, mod
from jittape.primitives.elementwise.piecewise import floor, maximum, minimum
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.interpolate.b_splines import (
    BSplineFit,
    fit_of_knots,
    periodic_fit,
    periodic_knots,
    spline_values,
)
from jittape.scipy.interpolate.periodic_splines import nan_without_period, require_period
from jittape.scipy.interpolate.piecewise_polynomials import (
    ascending,
    extrapolation,
    shaped_as_points,
    values_at_knots,
)
from jittape.scipy.scipy_operands import float64_tensor, wide_tensor

__all__ = ["BSpline", "make_interp_spline"]


class BSpline:
    """Sum of B-splines, ``sum(c[j] * B[j, k, t](x))``, differentiable in points, coefficients and knots.

    Parameters
    ----------
    t : tensor-like of shape (n + k + 1,)
        Knots in ascending order. Unordered knots raise an error or, if their values are unknown, give nan.
    c : tensor-like
        Coefficients, at least n along `axis`; later ones do not count.
    k : int
        Degree.
    extrapolate : bool or "periodic"
        Use the outer pieces outside of ``t[k]`` to ``t[n]``, or repeat all pieces; else values outside are nan.
    axis : int
        Dimension of the coefficients, and that of the points in the results.

    Raises
    ------
    ValueError
        If the degree is negative, there are too few knots, or the knots do not ascend.
    ShapeError
        If there are fewer coefficients than B-splines.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> spline = interpolate.BSpline([0.0, 0.0, 1.0, 2.0, 2.0], [0.0, 3.0, 4.0], 1)
    >>> spline([0.5, 1.5]).numpy()
    array([1.5, 3.5])
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: bool | str = True, axis: int = 0) -> None:
        self.k = as_int("k", k)
        self.t, self.c = float64_tensor("BSpline", t), wide_tensor(c)
        if self.k < 0:
            raise ValueError(f"[BSpline] k must not be negative, got {k}")
        if len(self.t.shape) != 1 or self.t.shape[0] < 2 * self.k + 2:
            raise ValueError(
                f"[BSpline] t must be a vector of at least {2 * self.k + 2} knots for degree {self.k}, got shape "
                f"{tuple(self.t.shape)}"
            )
        n, axis = self.t.shape[0] - self.k - 1, as_int("axis", axis)
        if not -len(self.c.shape) <= axis < len(self.c.shape) or self.c.shape[axis] < n:
            raise ShapeError(
                f"[BSpline] c must have at least {n} elements along axis {axis}, got shape {tuple(self.c.shape)}"
            )
        self.t = ascending("BSpline", t, self.t, strictly=False)
        first, self.axis = values_at_knots("BSpline", np.empty(self.c.shape[axis]), self.c, axis)
        self._rows, self._trail = reshape(first[:n], (n, -1)), tuple(first.shape[1:])
        self.extrapolate = extrapolation("BSpline", extrapolate)

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """Evaluate the spline, or its derivative of order `nu`, at the points `x`."""
        points = float64_tensor("BSpline", x)
        beyond = extrapolation("BSpline", extrapolate, self.extrapolate)
        k, n = self.k, self.t.shape[0] - self.k - 1
        at, low, high = reshape(points, (-1,)), self.t[k], self.t[n]
        at = low + mod(at - low, high - low) if beyond == "periodic" else at
        valid = logical_not(is_nan(at)) if beyond else logical_and(at >= low, at <= high)
        value = self._evaluated(where(valid, at, low), as_int("nu", nu))
        value = where(reshape(valid, (-1, 1)), value, np.nan)
        return shaped_as_points(value, tuple(points.shape), self._trail, self.axis)

    def _evaluated(self, at: Any, nu: int) -> Any:
        knots, rows, k = self.t, self._rows, self.k
        n = knots.shape[0] - k - 1
        span = searchsorted(knots[k + 1 : n], at, side="right") + k
        if nu > k:
            return gather(rows, span) * 0.0
        for _ in range(nu):  # the derivative is a spline of the next lower degree with the inner knots
            width = reshape(knots[k + 1 : -1] - knots[1 : -k - 1], (-1, 1))
            rows = divide_no_nan(k * (rows[1:] - rows[:-1]), width)
            knots, k, span = knots[1:-1], k - 1, span - 1
        return spline_values(knots, rows, span, at, k, repeated=True)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of order `nu`, at most the degree; the antiderivative for a negative order."""
        return self._derived(as_int("nu", nu), self.extrapolate)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the antiderivative of order `nu` that is 0 at the first knot; it is never periodic."""
        return self._derived(-as_int("nu", nu), self.extrapolate is True)

    def _derived(self, order: int, extrapolate: bool | str) -> BSpline:
        if order > self.k:
            raise ValueError(f"[BSpline] nu={order} must be at most the degree k={self.k}")
        knots, rows, k = self.t, self._rows, self.k
        for _ in range(order):
            width = reshape(knots[k + 1 : -1] - knots[1 : -k - 1], (-1, 1))
            rows = divide_no_nan(k * (rows[1:] - rows[:-1]), width)
            knots, k = knots[1:-1], k - 1
        for _ in range(-order):
            sums = cumsum(rows * reshape(knots[k + 1 :] - knots[: -k - 1], (-1, 1)), 0) / (k + 1.0)
            rows = concat([sums[:1] * 0.0, sums], 0)
            knots, k = concat([knots[:1], knots, knots[-1:]], 0), k + 1
        c = shaped_as_points(rows, (rows.shape[0],), self._trail, self.axis)
        return BSpline(knots, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: bool | str | None = None) -> Any:
        """Return the integral from `a` to `b`; without extrapolation the spline is 0 outside."""
        beyond = extrapolation("BSpline", extrapolate, self.extrapolate)
        low, high = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
        first, last = (float64_tensor("BSpline", limit) for limit in (a, b))
        whole = self.antiderivative()
        if beyond == "periodic":
            period = high - low
            turns = floor((last - low) / period) - floor((first - low) / period)
            first, last = (low + mod(limit - low, period) for limit in (first, last))
            return (
                turns * (whole(high, 0, True) - whole(low, 0, True))
                + whole(last, 0, True)
                - whole(first, 0, True)
            )
        if not beyond:
            first, last = (minimum(maximum(limit, low), high) for limit in (first, last))
        return whole(last, 0, True) - whole(first, 0, True)


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """Return the `BSpline` through values.

    Parameters
    ----------
    x : tensor-like of shape (n,)
        Points, strictly ascending, more than `k`.
    y : tensor-like
        Values, with n elements along `axis`.
    k : int
        Degree, 1 or more.
    t : tensor-like of shape (n + k + 1 + conditions,), optional
        Knots in ascending order, by default those that SciPy chooses. Each interval of k + 1 knots must contain points.
    bc_type : str or pair, optional
        ``"not-a-knot"``, the default, ``"clamped"``, ``"natural"``, ``"periodic"``, or a pair for both ends: None, one
        of the first three, or a list of ``(order, value)`` of derivatives. Altogether there must be k - 1 derivatives,
        or as many as `t` has knots more than n + k + 1.
    axis : int
        Dimension of the points.
    check_finite : bool
        Not used.

    Raises
    ------
    ValueError
        For too few points or knots, points that do not ascend, an unknown `bc_type`, a wrong number of derivatives, or
        values of a periodic spline that differ at the ends.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.make_interp_spline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0], k=2)(1.5))
    2.25
    """
    degree = as_int("k", k)
    points, values = float64_tensor("make_interp_spline", x), wide_tensor(y)
    if degree < 1 or len(points.shape) != 1 or points.shape[0] < 2:
        raise ValueError(
            f"[{_FIT}] x must be a vector of points, and k at least 1, got shape {tuple(points.shape)} and k={degree}"
        )
    points = ascending(_FIT, x, points, strictly=True)
    rows, axis = values_at_knots(_FIT, points, values, axis)
    n, trail = points.shape[0], tuple(rows.shape[1:])
    columns, is_periodic = reshape(rows, (n, -1)), isinstance(bc_type, str) and bc_type == "periodic"
    ends = _ends(None if is_periodic else bc_type, trail, columns.dtype)
    if is_periodic and t is not None:
        raise NotImplementedError(
            f"[{_FIT}] t must be None for bc_type='periodic': the points give the knots"
        )
    if is_periodic:
        require_period(y, axis, _FIT)
    if is_periodic and degree > 1:
        knots = periodic_knots(points, degree)
        coefficients = nan_without_period(periodic_fit(knots, points, columns, degree), columns)
    else:
        count = sum(len(end or ()) for end in ends)
        knots = None if t is None else ascending(_FIT, t, float64_tensor(_FIT, t), strictly=False)
        _check_count(n, degree, count, knots, ends == (None, None))
        if knots is None:
            fit = BSplineFit(points, columns, degree, *ends)
            knots, coefficients = fit.knots, fit.coefficients
        else:
            first, last = (end or [] for end in ends)
            coefficients = fit_of_knots(knots, points, columns, degree, first, last)
    c = shaped_as_points(coefficients, (coefficients.shape[0],), trail, axis)
    return BSpline(knots, c, degree, "periodic" if is_periodic and degree > 1 else True, axis)


_FIT = "make_interp_spline"


def _check_count(n: int, degree: int, count: int, knots: Any, without: bool) -> None:
    """Raise `ValueError` if the points do not determine the spline together with `count` derivatives."""
    if knots is None and without and n <= degree:
        raise ValueError(f"[{_FIT}] x must be a vector of more than k={degree} points, got {n}")
    if knots is not None and (len(knots.shape) != 1 or knots.shape[0] < n + degree + 1):
        raise ValueError(
            f"[{_FIT}] t must be a vector of at least {n + degree + 1} knots, got shape {tuple(knots.shape)}"
        )
    free = (0 if without else degree - 1) if knots is None else knots.shape[0] - n - degree - 1
    if count != free:
        raise ValueError(
            f"[{_FIT}] the number of derivatives at boundaries does not match: expected {free}, got {count}"
        )


def _ends(bc_type: Any, trail: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Return the orders and values of derivatives at both ends; None for an end without conditions."""
    if bc_type is None or isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    if not isinstance(bc_type, (tuple, list)) or len(bc_type) != 2:
        raise ValueError(f"[{_FIT}] bc_type must be a name or a pair, got {bc_type!r}")
    if tuple(bc_type) == ("not-a-knot", "not-a-knot"):
        return None, None
    return _end(bc_type[0], trail, dtype), _end(bc_type[1], trail, dtype)


def _end(given: Any, trail: tuple[int, ...], dtype: Any) -> Any:
    if given is None:
        return None
    if isinstance(given, str):
        orders = {"clamped": 1, "natural": 2}
        if given not in orders:
            raise ValueError(
                f"[{_FIT}] bc_type of an end must be 'clamped', 'natural' or a list, got {given!r}"
            )
        return [(orders[given], zeros((1, int(np.prod(trail))), dtype))]
    found = []
    for order, value in given:
        derivative = cast(wide_tensor(value), dtype)
        if tuple(derivative.shape) != trail:
            raise ValueError(
                f"[{_FIT}] the value of a derivative must have shape {trail}, got {tuple(derivative.shape)}"
            )
        found.append((as_int("order", order), reshape(derivative, (1, -1))))
    return found
