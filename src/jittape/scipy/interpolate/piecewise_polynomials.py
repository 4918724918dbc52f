"""Piecewise polynomials: values, derivatives, antiderivatives and integrals, differentiable in all arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import logical_and, where
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.scipy_operands import float64_tensor

__all__ = ["PPoly", "pieces_at", "shaped_as_points"]


def pieces_at(x: Any, points: Any) -> tuple[Any, Any]:
    """Return the pieces of points between the knots `x`, and whether each point is between the outer knots."""
    n = x.shape[0]
    found = searchsorted(x, points, side="right") - 1
    piece = where(found < 0, 0, where(found > n - 2, n - 2, found))
    return piece, logical_and(points >= x[0], points <= x[-1])


def shaped_as_points(value: Any, lead: tuple[int, ...], trail: tuple[int, ...], axis: int) -> Any:
    """Return values of shape ``(points, ...)`` with the dimensions of the points in place of dimension `axis`."""
    value, k = reshape(value, (*lead, *trail)), len(lead)
    return moveaxis(value, list(range(k)), list(range(axis, axis + k))) if k and axis else value


class PPoly:
    """Piecewise polynomial: ``sum(c[m, i] * (t - x[i]) ** (k - m) for m in range(k + 1))`` between x[i] and x[i + 1].

    Parameters
    ----------
    c : tensor-like of shape (k + 1, m, ...)
        Coefficients, those of the highest power first.
    x : tensor-like of shape (m + 1,)
        Ascending knots (not checked).
    extrapolate : bool
        Use the outer pieces outside; else values outside are nan.
    axis : int
        Dimension of the results in which the points are.

    Raises
    ------
    ShapeError
        If `c` and `x` do not fit.
    DTypeError
        For complex coefficients, knots or points.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> p = interpolate.PPoly([[1.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 2.0])
    >>> p([0.5, 1.5]).numpy(), float(p.integrate(0.0, 2.0))
    (array([0.5, 1. ]), 1.5)
    """

    def __init__(self, c: Any, x: Any, extrapolate: bool = True, axis: int = 0) -> None:
        self.c, self.x = (float64_tensor("PPoly", v) for v in (c, x))
        if len(self.x.shape) != 1 or len(self.c.shape) < 2 or self.c.shape[1] != self.x.shape[0] - 1:
            raise ShapeError(
                f"[PPoly] c must have shape (k + 1, m, ...) for m + 1 knots, got {tuple(self.c.shape)} and "
                f"{tuple(self.x.shape)}"
            )
        self.axis, self.extrapolate = axis, bool(extrapolate)

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | None = None) -> Any:
        """Evaluate the polynomials, or their derivatives of order `nu`, at the points `x`."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        points = float64_tensor("PPoly", x)
        at = reshape(points, (-1,))
        piece, inside = pieces_at(self.x, at)
        degrees, m, *trail = tuple(self.c.shape)
        flat = reshape(self.c, (degrees, m, -1))
        w = reshape(at - gather(self.x, piece), (-1, 1))
        value = gather(flat[0], piece)
        for power in range(1, degrees):
            value = value * w + gather(flat[power], piece)
        if not (self.extrapolate if extrapolate is None else extrapolate):
            value = where(reshape(inside, (-1, 1)), value, np.nan)
        return shaped_as_points(value, tuple(points.shape), tuple(trail), self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of order `nu`; the antiderivative for a negative one."""
        nu = as_int("nu", nu)
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            degree = c.shape[0] - 1
            factors = np.arange(degree, 0, -1.0).reshape(-1, *[1] * (len(c.shape) - 1))
            c = c[:-1] * factors if degree else c * 0.0
        return PPoly(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the continuous antiderivative of order `nu` that is 0 at the first knot."""
        nu = as_int("nu", nu)
        if nu < 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            c = self._antiderivative(c)
        return PPoly(c, self.x, self.extrapolate, self.axis)

    def _antiderivative(self, c: Any) -> Any:
        degree, rest = c.shape[0], [1] * (len(c.shape) - 2)
        higher = c / np.arange(degree, 0, -1.0).reshape(-1, 1, *rest)
        width = reshape(self.x[1:] - self.x[:-1], (-1, *rest))
        total = higher[0]
        for power in range(1, degree):
            total = total * width + higher[power]
        jumps = cumsum(total * width, 0)
        starts = concat([jumps[:1] * 0.0, jumps[:-1]], 0)
        return concat([higher, reshape(starts, (1, *starts.shape))], 0)

    def integrate(self, a: Any, b: Any, extrapolate: bool | None = None) -> Any:
        """Return the integral from `a` to `b`.

        Raises
        ------
        DTypeError
            For complex numbers.
        """
        whole = self.antiderivative()
        return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)
