"""Interpolating B-splines of any degree with not-a-knot ends, differentiable in values, knots and points."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.linalg.banded_systems import solve_banded

__all__ = ["BSplineFit", "spline_values"]


def _basis(knots: Any, span: Any, at: Any, degree: int, repeated: bool = False) -> list[Any]:
    """Return the basis functions that are not 0 in the intervals `span` of the knots (The NURBS Book, A2.2).

    With `repeated`, the intervals may be empty: as in SciPy, their parts are 0.
    """
    left = [at - gather(knots, span + (1 - j)) for j in range(1, degree + 1)]
    right = [gather(knots, span + j) - at for j in range(1, degree + 1)]
    found = [at * 0.0 + 1.0]
    for j in range(degree):
        saved: Any = 0.0
        for r in range(j + 1):
            width = right[r] + left[j - r]
            share = divide_no_nan(found[r], width) if repeated else found[r] / width
            found[r] = saved + right[r] * share
            saved = left[j - r] * share
        found.append(saved)
    return found


def spline_values(
    knots: Any, coefficients: Any, span: Any, at: Any, degree: int, repeated: bool = False
) -> Any:
    """Return the values of a spline at a vector of points in the intervals `span`, in rows; see `_basis`."""
    value: Any = 0.0
    for p, basis in enumerate(_basis(knots, span, at, degree, repeated)):
        value = value + reshape(basis, (-1, 1)) * gather(coefficients, span + (p - degree))
    return value


class BSplineFit:
    """The spline of a degree through values at strictly ascending points.

    Parameters
    ----------
    x : tensor of shape (n,)
        Points, more than `degree`.
    y : tensor of shape (n, m)
        Values in columns.
    degree : int
        1 or more.
    """

    def __init__(self, x: Any, y: Any, degree: int) -> None:
        n, self.degree = x.shape[0], degree
        half = (degree + 1) // 2
        # The inner knots are points, or for an even degree the points halfway, without those next to the ends.
        inner = x[half : n - half] if degree % 2 else (0.5 * (x[1:] + x[:-1]))[half : n - 1 - half]
        first = half if degree % 2 else half + 1
        self._inner = inner
        self.knots = concat([x[:1]] * (degree + 1) + [inner] + [x[-1:]] * (degree + 1), 0)
        spans = degree + np.clip(np.arange(n) - first + 1, 0, n - degree - 1)
        rows = stack(_basis(self.knots, spans, x, degree), -1)
        self.coefficients = self._solved(rows, spans, y)

    def _solved(self, rows: Any, spans: Any, y: Any) -> Any:
        """Return the coefficients, by a system with `degree` diagonals on each side."""
        n, degree = y.shape[0], self.degree
        outside = n * (degree + 1)
        places = np.full((2 * degree + 1, n), outside)
        for p in range(degree + 1):
            columns = spans - degree + p
            places[degree + np.arange(n) - columns, columns] = np.arange(n) * (degree + 1) + p
        elements = concat([reshape(rows, (-1,)), zeros((1,), rows.dtype)], 0)
        return solve_banded((degree, degree), cast(gather(elements, places), y.dtype), y)

    def __call__(self, at: Any) -> Any:
        """Return the values at a vector of points, in rows; the outer pieces continue outside."""
        span = searchsorted(self._inner, at, side="right") + self.degree
        return spline_values(self.knots, self.coefficients, span, at, self.degree)
