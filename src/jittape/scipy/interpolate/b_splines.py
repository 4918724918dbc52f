"""Interpolating B-splines of any degree, differentiable in values, knots and points."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide_no_nan, mod
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.solve import solve
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.linalg.banded_systems import solve_banded

__all__ = ["BSplineFit", "fit_of_knots", "periodic_fit", "periodic_knots", "spline_values"]


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


def derivative_row(knots: Any, span: int, degree: int, order: int) -> Any:
    """Return how the coefficients of the B-splines in the interval `span` enter a derivative at one of its ends.

    The end is ``knots[degree]`` for the first interval, and that behind the interval for all others.
    """
    end = degree if span == degree else span + 1
    row = _basis(knots, np.array([span]), knots[end : end + 1], degree - order)
    for k in range(degree - order + 1, degree + 1):  # of the splines of degree k - 1 to those of degree k
        first = span - k
        width = [knots[j + k : j + k + 1] - knots[j : j + 1] for j in range(first + 1, span + 1)]
        share = [k * part / w for part, w in zip(row, width, strict=True)]
        row = [-share[0], *[before - after for before, after in pairwise(share)], share[-1]]
    return stack(row, -1)


def periodic_knots(x: Any, degree: int) -> Any:
    """Return the knots of a periodic spline through points: the points or, for an even degree, those halfway."""
    if degree % 2 == 0:
        x = concat([x[:1], 0.5 * (x[1:-1] + x[:-2]), x[-1:]], 0)
    n, period = x.shape[0] - 1, x[-1:] - x[:1]
    places = np.arange(-degree, n + degree + 1)
    return gather(x, places % n) + (places // n) * period


class BSplineFit:
    """The spline of a degree through values at strictly ascending points.

    Parameters
    ----------
    x : tensor of shape (n,)
        Points, more than `degree` if there are no conditions.
    y : tensor of shape (n, m)
        Values in columns.
    degree : int
        1 or more.
    first, last : list of (int, tensor), optional
        Orders and values, in rows, of derivatives at the ends. If there are any, or if one list is given, each point is
        a knot. Otherwise the spline has not-a-knot ends.
    """

    def __init__(self, x: Any, y: Any, degree: int, first: Any = None, last: Any = None) -> None:
        n, self.degree = x.shape[0], degree
        if first is None and last is None:
            half = (degree + 1) // 2
            # The inner knots are points, or for an even degree those halfway, without those next to the ends.
            inner = x[half : n - half] if degree % 2 else (0.5 * (x[1:] + x[:-1]))[half : n - 1 - half]
            before = half if degree % 2 else half + 1
        else:
            inner, before = x[1:-1], 1
        self._inner = inner
        self.knots = concat([x[:1]] * (degree + 1) + [inner] + [x[-1:]] * (degree + 1), 0)
        count = inner.shape[0] + degree + 1
        spans = degree + np.clip(np.arange(n) - before + 1, 0, count - degree - 1)
        rows, values = [stack(_basis(self.knots, spans, x, degree), -1)], [y]
        for order, value in first or ():
            rows.insert(0, derivative_row(self.knots, degree, degree, order))
            values.insert(0, value)
        for order, value in last or ():
            rows.append(derivative_row(self.knots, count - 1, degree, order))
            values.append(value)
        ends = [[degree] * len(first or ()), spans, [count - 1] * len(last or ())]
        spans = np.concatenate(ends).astype(np.int64)
        self.coefficients = self._solved(concat(rows, 0), spans, concat(values, 0))

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


def fit_of_knots(knots: Any, x: Any, y: Any, degree: int, first: Any = (), last: Any = ()) -> Any:
    """Return the coefficients of the spline with given knots through values, and with derivatives at the ends."""
    count = knots.shape[0] - degree - 1
    span = searchsorted(knots[degree + 1 : count], x, side="right") + degree
    rows = [_in_columns(_basis(knots, span, x, degree), span, degree, count)]
    values = [y]
    for conditions, at in ((first, degree), (last, count - 1)):
        for order, value in conditions:
            row = derivative_row(knots, at, degree, order)
            parts = [row[:, p] for p in range(degree + 1)]
            rows.append(_in_columns(parts, np.array([at]), degree, count))
            values.append(value)
    columns = concat(values, 0)
    return solve(cast(concat(rows, 0), columns.dtype), columns)


def periodic_fit(knots: Any, x: Any, y: Any, degree: int) -> Any:
    """Return the coefficients of the periodic spline through values, of which the last equals the first."""
    n = x.shape[0] - 1
    spans = degree + np.arange(n)
    matrix = _in_columns(_basis(knots, spans, x[:-1], degree), spans, degree, n)
    found = solve(cast(matrix, y.dtype), y[:-1])
    return gather(found, np.arange(n + degree) % n)


def _in_columns(parts: list[Any], span: Any, degree: int, count: int) -> Any:
    """Return rows of a matrix with `count` columns, which wrap around, from the parts that are not 0."""
    total: Any = 0.0
    for p, part in enumerate(parts):
        column = reshape(mod(span - degree + p, count), (-1, 1))
        total = total + where(equal(column, np.arange(count)), reshape(part, (-1, 1)), 0.0)
    return total
