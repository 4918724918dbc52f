"""B-splines under SciPy's names: `BSpline` and `make_interp_spline`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import logical_and, logical_not, where
from jittape.primitives.elementwise.division import divide_no_nan, mod
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.interpolate.b_splines import BSplineFit, spline_values
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

    def __getattr__(self, name: str) -> Any:
        if name in ("derivative", "antiderivative", "integrate"):
            raise AttributeError(f"BSpline has no {name!r}; call it with nu=, or use CubicSpline or PPoly")
        raise AttributeError(f"'BSpline' object has no attribute {name!r}")


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """Return the `BSpline` through values, with not-a-knot ends.

    Parameters
    ----------
    x : tensor-like of shape (n,)
        Points, strictly ascending, more than `k`.
    y : tensor-like
        Values, with n elements along `axis`.
    k : int
        Degree, 1 or more.
    t, bc_type
        Must be None: the knots are those that SciPy chooses. `CubicSpline` has other conditions at the ends.
    axis : int
        Dimension of the points.
    check_finite : bool
        Not used.

    Raises
    ------
    ValueError
        For `t`, `bc_type`, too few points, or points that do not ascend.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.make_interp_spline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0], k=2)(1.5))
    2.25
    """
    if t is not None or bc_type not in (None, "not-a-knot"):
        raise ValueError(
            "[make_interp_spline] t and bc_type are not supported; use interpolate.CubicSpline for other ends, or "
            "interpolate.BSpline for given knots"
        )
    degree = as_int("k", k)
    points, values = float64_tensor("make_interp_spline", x), wide_tensor(y)
    if degree < 1 or len(points.shape) != 1 or points.shape[0] <= degree:
        raise ValueError(
            f"[make_interp_spline] x must be a vector of more than k={degree} points, and k at least 1, got shape "
            f"{tuple(points.shape)}"
        )
    points = ascending("make_interp_spline", x, points, strictly=True)
    rows, axis = values_at_knots("make_interp_spline", points, values, axis)
    n, trail = points.shape[0], tuple(rows.shape[1:])
    fit = BSplineFit(points, reshape(rows, (n, -1)), degree)
    coefficients = shaped_as_points(fit.coefficients, (n,), trail, axis)
    return BSpline(fit.knots, coefficients, degree, axis=axis)
