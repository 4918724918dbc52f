"""Interpolation on a rectangular grid of any number of dimensions (`RegularGridInterpolator`)."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.errors import ShapeError
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import broadcast_to, reshape
from jittape.scipy.interpolate.interpolation_kinds import checked_bounds
from jittape.scipy.interpolate.piecewise_polynomials import ascending
from jittape.scipy.scipy_operands import float64_tensor, wide_tensor

__all__ = ["RegularGridInterpolator", "interpn"]

NAME = "RegularGridInterpolator"


class RegularGridInterpolator:
    """Interpolation on a rectangular grid, differentiable in values, points and grid.

    Parameters
    ----------
    points : tuple of tensor-like, of shapes (m1,), ..., (mn,)
        Coordinates of the grid, strictly ascending in each dimension.
    values : tensor-like of shape (m1, ..., mn, ...)
        Values on the grid.
    method : str
        ``"linear"``, or ``"nearest"``, which has no gradient in the points.
    bounds_error : bool
        Raise an error for points outside, when the values are computed.
    fill_value : float or None
        Value outside; None extrapolates.
    solver, solver_args
        Must be None.

    Raises
    ------
    ValueError
        For another method, points outside, or a grid that does not ascend.
    ShapeError
        If grid, values and points do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.scipy import interpolate
    >>> f = interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), [[0.0, 4.0], [1.0, 5.0]])
    >>> f(np.array([[0.5, 1.0], [1.0, 2.0]])).numpy()
    array([2.5, 5. ])
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        self.method = _method(method)
        if solver is not None or solver_args is not None:
            raise ValueError(f"[{NAME}] solver must be None: only splines need one")
        self.bounds_error, self.fill_value = bool(bounds_error), fill_value
        grid = [float64_tensor(NAME, p) for p in points]
        self.values = wide_tensor(values)
        shape = tuple(self.values.shape)
        lengths = tuple([p.shape[0] if len(p.shape) == 1 else -1 for p in grid])
        if shape[: len(grid)] != lengths or not all(n > 1 for n in lengths):
            raise ShapeError(
                f"[{NAME}] points must be one vector of at least 2 numbers for each of the first "
                f"dimensions of values, got shapes {[tuple(p.shape) for p in grid]} and {shape}"
            )
        pairs = zip(points, grid, strict=True)
        self.grid = tuple([ascending(NAME, p, g, strictly=True) for p, g in pairs])
        self._trail = shape[len(grid) :]
        self._rows = reshape(self.values, (int(np.prod(lengths)), -1))

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """Evaluate the interpolant at points, whose coordinates are in the last dimension of `xi`."""
        chosen = self.method if method is None else _method(method)
        n = len(self.grid)
        is_point = False
        if isinstance(xi, tuple):
            parts = [float64_tensor(NAME, x) for x in xi]
            common = np.broadcast_shapes(*[tuple(p.shape) for p in parts])
            xi = stack([broadcast_to(p, common) for p in parts], -1)
            is_point = common == ()
        points = float64_tensor(NAME, xi)
        if not points.shape or points.shape[-1] != n:
            raise ShapeError(
                f"[{NAME}] xi must have {n} coordinates in its last dimension, got shape "
                f"{tuple(points.shape)}"
            )
        lead = tuple(points.shape[:-1]) if len(points.shape) > 1 or is_point else (1,)
        columns = [reshape(points, (-1, n))[:, i] for i in range(n)]
        if self.bounds_error:
            pairs = zip(columns, self.grid, strict=True)
            columns = [checked_bounds(NAME, "xi", x, g[0], g[-1]) for x, g in pairs]
        value = self._nearest(columns) if chosen == "nearest" else self._linear(columns)
        return reshape(self._filled(value, columns), (*lead, *self._trail))

    def _cell(self, i: int, x: Any) -> tuple[Any, Any]:
        """Return the number of the cell in a dimension, and the relative place in it."""
        g = self.grid[i]
        cell = clip_by_value(cast(searchsorted(g, x, side="right"), int64) - 1, 0, g.shape[0] - 2)
        low = gather(g, cell)
        return cell, (x - low) / (gather(g, cell + 1) - low)

    def _at(self, numbers: list[Any]) -> Any:
        """Return rows of values by the numbers of grid points in each dimension."""
        flat: Any = 0
        for g, number in zip(self.grid, numbers, strict=True):
            flat = flat * g.shape[0] + number
        return gather(self._rows, flat)

    def _linear(self, columns: list[Any]) -> Any:
        cells = [self._cell(i, x) for i, x in enumerate(columns)]
        value: Any = 0.0
        for corner in product((0, 1), repeat=len(cells)):
            weight: Any = 1.0
            for side, (_, place) in zip(corner, cells, strict=True):
                weight = weight * (place if side else 1.0 - place)
            at = self._at([cell + side for side, (cell, _) in zip(corner, cells, strict=True)])
            value = value + reshape(weight, (-1, 1)) * at
        return value

    def _nearest(self, columns: list[Any]) -> Any:
        cells = [self._cell(i, x) for i, x in enumerate(columns)]
        return self._at([where(place <= 0.5, cell, cell + 1) for cell, place in cells])

    def _filled(self, value: Any, columns: list[Any]) -> Any:
        pairs = zip(self.grid, columns, strict=True)
        outside = reduce(logical_or, [logical_or(x < g[0], x > g[-1]) for g, x in pairs])
        missing = reduce(logical_or, map(is_nan, columns))
        if self.fill_value is not None:
            value = where(reshape(outside, (-1, 1)), self.fill_value, value)
        return where(reshape(missing, (-1, 1)), np.nan, value)


def _method(method: Any) -> str:
    if method not in ("linear", "nearest"):
        raise ValueError(
            f"[{NAME}] method must be 'linear' or 'nearest', got {method!r}; splines are in "
            "interpolate.CubicSpline for one dimension, and in ndimage.map_coordinates on grids of equal steps"
        )
    return str(method)


def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Return values between those on a rectangular grid: a `RegularGridInterpolator` at once.

    Parameters
    ----------
    points : tuple of tensor-like, of shapes (m1,), ..., (mn,)
        Coordinates of the grid, strictly ascending in each dimension.
    values : tensor-like of shape (m1, ..., mn, ...)
        Values on the grid.
    xi : tensor-like of shape (..., n), or tuple of n tensor-likes
        Points; their coordinates are in the last dimension.
    method : str
        ``"linear"`` or ``"nearest"``.
    bounds_error : bool
        Raise an error for points outside, when the values are computed.
    fill_value : float or None
        Value outside; None extrapolates.

    Raises
    ------
    ValueError
        For another method, points outside, or a grid that does not ascend.
    ShapeError
        If grid, values and points do not fit.

    Examples
    --------
    >>> from jittape.scipy import interpolate
    >>> float(interpolate.interpn(([0.0, 1.0], [0.0, 2.0]), [[0.0, 4.0], [1.0, 5.0]], [0.5, 1.0])[0])
    2.5
    """
    found = RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
    is_point = isinstance(xi, tuple) and all(len(np.shape(x)) == 0 for x in xi)
    return reshape(found, (1, *found.shape)) if is_point else found
