"""Piecewise polynomials: values, derivatives, antiderivatives and integrals, differentiable in all arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import logical_and, logical_not, where
from jittape.primitives.elementwise.division import mod
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.reduce.reductions import reduce_all
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import float64_tensor, known_values, wide_tensor

__all__ = [
    "PPoly",
    "ascending",
    "extrapolation",
    "into_period",
    "pieces_at",
    "shaped_as_points",
    "values_at_knots",
]


def ascending(function: str, given: Any, x: Any, strictly: bool) -> Any:
    """Return knots; nan for all of them if they do not ascend and their values are unknown while the code runs.

    Raises
    ------
    ValueError
        If the values of `given` are known and do not ascend.
    """
    known = known_values(given)
    if known is None:
        steps = x[1:] - x[:-1]
        return where(reduce_all(steps > 0.0 if strictly else steps >= 0.0), x, np.nan)
    steps = np.diff(known)
    if not (steps > 0 if strictly else steps >= 0).all():
        how = "strictly increasing" if strictly else "in ascending order"
        raise ValueError(f"[{function}] x must be {how}, got {known}; sort x, and the values with it")
    return x


def extrapolation(function: str, given: Any, default: Any = True) -> Any:
    """Return True, False or ``"periodic"``."""
    given = default if given is None else given
    if isinstance(given, str) and given != "periodic":
        raise ValueError(f"[{function}] extrapolate must be a bool or 'periodic', got {given!r}")
    return given if isinstance(given, str) else bool(given)


def into_period(x: Any, points: Any) -> Any:
    """Return points moved by whole periods, to between the outer knots `x`."""
    return x[0] + mod(points - x[0], x[-1] - x[0])


def pieces_at(x: Any, points: Any) -> tuple[Any, Any]:
    """Return the pieces of points between the knots `x`, and whether each point is between the outer knots."""
    n = x.shape[0]
    found = searchsorted(x, points, side="right") - 1
    piece = where(found < 0, 0, where(found > n - 2, n - 2, found))
    return piece, logical_and(points >= x[0], points <= x[-1])


def values_at_knots(function: str, x: Any, y: Any, axis: Any) -> tuple[Any, int]:
    """Return the values of `y` with dimension `axis`, that of the knots, first, and `axis` counted from the start.

    Raises
    ------
    ShapeError
        If that dimension does not exist, or has another length than the knots.
    """
    axis = as_int("axis", axis)
    if not -len(y.shape) <= axis < len(y.shape) or y.shape[axis] != x.shape[0]:
        raise ShapeError(
            f"[{function}] y must have {x.shape[0]} elements along axis {axis}, as x, got shape {tuple(y.shape)}"
        )
    return moveaxis(y, axis, 0), axis % len(y.shape)


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
        Knots in ascending order. Unordered knots raise an error or, if their values are unknown, give nan.
    extrapolate : bool or "periodic"
        Use the outer pieces outside, or repeat all pieces; else values outside are nan.
    axis : int
        Dimension of the results in which the points are.

    Raises
    ------
    ShapeError
        If `c` and `x` do not fit.
    DTypeError
        For complex knots or points.
    ValueError
        If the knots do not ascend.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> p = interpolate.PPoly([[1.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 2.0])
    >>> p([0.5, 1.5]).numpy(), float(p.integrate(0.0, 2.0))
    (array([0.5, 1. ]), 1.5)
    """

    def __init__(self, c: Any, x: Any, extrapolate: bool | str | None = None, axis: int = 0) -> None:
        self.c, self.x = wide_tensor(c), float64_tensor("PPoly", x)
        if len(self.x.shape) != 1 or len(self.c.shape) < 2 or self.c.shape[1] != self.x.shape[0] - 1:
            raise ShapeError(
                f"[PPoly] c must have shape (k + 1, m, ...) for m + 1 knots, got {tuple(self.c.shape)} and "
                f"{tuple(self.x.shape)}"
            )
        self.x = ascending("PPoly", x, self.x, strictly=False)
        self.axis, self.extrapolate = axis, extrapolation("PPoly", extrapolate)

    def __call__(self, x: Any, nu: int = 0, extrapolate: bool | str | None = None) -> Any:
        """Evaluate the polynomials, or their derivatives of order `nu`, at the points `x`."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        points = float64_tensor("PPoly", x)
        beyond = extrapolation("PPoly", extrapolate, self.extrapolate)
        at = reshape(points, (-1,))
        at = into_period(self.x, at) if beyond == "periodic" else at
        piece, inside = pieces_at(self.x, at)
        degrees, m, *trail = tuple(self.c.shape)
        flat = reshape(self.c, (degrees, m, -1))
        w = reshape(at - gather(self.x, piece), (-1, 1))
        value = gather(flat[0], piece)
        for power in range(1, degrees):
            value = value * w + gather(flat[power], piece)
        valid = logical_not(is_nan(at)) if beyond else inside
        value = where(reshape(valid, (-1, 1)), value, np.nan)
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
        # The antiderivative of a periodic function grows by its mean, so it is not periodic.
        return PPoly(c, self.x, self.extrapolate is True, self.axis)

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

    def integrate(self, a: Any, b: Any, extrapolate: bool | str | None = None) -> Any:
        """Return the integral from `a` to `b`.

        Raises
        ------
        DTypeError
            For complex limits.
        """
        whole, beyond = self.antiderivative(), extrapolation("PPoly", extrapolate, self.extrapolate)
        if beyond != "periodic":
            return whole(b, 0, beyond) - whole(a, 0, beyond)
        a, b = (float64_tensor("PPoly", limit) for limit in (a, b))
        first, last = self.x[0], self.x[-1]
        periods = floor((b - first) / (last - first)) - floor((a - first) / (last - first))
        ends = [whole(into_period(self.x, limit), 0, True) for limit in (a, b)]
        return periods * whole(last, 0, True) + ends[1] - ends[0]

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
        """Return the points where the value is the number `y`; differentiable in `y`, the coefficients and the knots.

        The number of points depends on the values, so pending operations run.

        Parameters
        ----------
        y : number or scalar tensor
            The value.
        discontinuity : bool
            Whether to return the knots too at which the value jumps across `y`.
        extrapolate : bool or "periodic"
            Whether to return points of the outer pieces that are outside of the knots.

        Raises
        ------
        ValueError
            If the polynomials have several or complex results, or if one of them is constant and equals `y`.
        """
        from scipy.interpolate import PPoly as Reference

        from jittape.scipy.optimize.implicit_function import Problem

        beyond = extrapolation("PPoly", extrapolate, self.extrapolate)
        level = float64_tensor("PPoly", y)
        if len(self.c.shape) > 2 or level.shape or self.c.dtype.kind == "c":
            raise ValueError(
                "[PPoly.solve] needs polynomials with one real result each and one number y, got coefficients of shape "
                f"{tuple(self.c.shape)} and dtype {self.c.dtype.name}, and y of shape {tuple(level.shape)}"
            )
        c, x = self.c.numpy(), self.x.numpy()
        reference = Reference(c, x, extrapolate=True)
        found = reference.solve(float(level.numpy()), bool(discontinuity), beyond)
        if np.isnan(found).any():
            raise ValueError(
                f"[PPoly.solve] a piece equals {float(level.numpy())} everywhere: it has no single solutions"
            )
        if not found.size:
            return convert_to_tensor(found)
        far = np.abs(reference(found) - float(level.numpy())) > 1e-9 * max(1.0, float(np.abs(c).max()))
        jumps = far & np.isin(found, x)
        knots = gather(self.x, np.searchsorted(x, found).clip(0, len(x) - 1))

        def residual(points: Any) -> Any:
            return where(jumps, points - knots, self(points, 0, True) - level)

        start = convert_to_tensor(found)
        return Problem("PPoly.solve", residual, ()).solution(lambda x0: (x0, np.ones(len(x0))), start)[0]

    def roots(self, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Any:
        """Return the points where the value is 0; see `solve`."""
        return self.solve(0.0, discontinuity, extrapolate)
