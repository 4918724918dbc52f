"""Probabilities of boxes under a normal distribution of several variables.

In two and three dimensions, the probability is a single integral over a path of correlation matrices (Plackett's
identity; Drezner and Wesolowsky 1990, Genz 2004), which a double exponential rule computes. In more dimensions, Genz's
separation of variables (1992) maps the box to the unit cube, where a lattice rule averages.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from jittape.primitives.elementwise import error_functions, trigonometric
from jittape.primitives.elementwise.arithmetic import subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.indexing.gather import gather, take_along_axis
from jittape.primitives.indexing.sorting import argsort
from jittape.primitives.linalg.cholesky import cholesky
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.shape.joining import unstack
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, matrix_transpose
from jittape.scipy.special import terms
from jittape.scipy.special.terms import Term, absolute, exp, floor, lifted, maximum, sin, square
from jittape.scipy.stats.double_exponential import numbered, unit_rule

__all__ = ["box_probability"]

FAR = 40.0
"""Limits, in standard deviations, beyond which the normal density is 0 in float64."""
POINTS, GENERATOR = 8191, 3618
"""Number of points of the lattice rule, and the number whose powers generate it."""
LEAST = 1e-300

_asin = lifted(trigonometric.asin)
_ndtr = lifted(error_functions.ndtr)


def box_probability(lower: Any, upper: Any, cov: Any) -> Any:
    """Return the probability that a normal vector lies between two limits, for handles.

    `lower` and `upper`, of shape ``(..., n)``, are relative to the mean; a `lower` of None is minus infinity.
    """
    factor = cholesky(cov)
    cov = matmul(factor, matrix_transpose(factor))  # reads the lower triangle
    scales = sqrt(diag_part(cov))
    upper, lower = [
        None if x is None else clip_by_value(divide(x, scales), -FAR, FAR) for x in (upper, lower)
    ]
    correlation = divide(divide(cov, scales), expand_dims(scales, -1))
    if cov.shape[-1] > 3:
        return _lattice_average(lower, upper, correlation)
    ends = [unstack(x, axis=-1) for x in (upper, lower) if x is not None]
    rows = [[Term(r) for r in unstack(row)] for row in unstack(correlation)]
    total: Any = 0.0
    for corner in product(range(len(ends)), repeat=cov.shape[-1]):
        below = _below([Term(ends[end][i]) for i, end in enumerate(corner)], rows)
        total = total + (-1.0) ** sum(corner) * below
    return total.handle


def _below(limits: list[Term], correlation: list[list[Term]]) -> Term:
    """Return the probability of values below the limits, in at most three dimensions."""
    if len(limits) == 1:
        return _ndtr(limits[0])
    x, y, *rest = limits
    if not rest:
        return _bivariate(x, y, correlation[0][1])
    return _trivariate(x, y, rest[0], correlation[0][1], correlation[0][2], correlation[1][2])


def _with_nodes(*values: Term) -> list[Term]:
    return [Term(expand_dims(v.handle, -1)) for v in values]


def _integral(values: Term, weights: Any) -> Term:
    return Term(reduce_sum((values * weights).handle, -1)) / (2 * math.pi)


def _density(h: Term, k: Term, r: Term) -> Term:
    """Return ``2 pi sqrt(1 - r**2)`` times the density of two normal numbers with the correlation `r`."""
    return exp(-0.5 * (square(h - k * r) / (1.0 - square(r)) + square(k)))


def _bivariate(h: Term, k: Term, r: Term) -> Term:
    independent = _ndtr(h) * _ndtr(k)
    nodes, weights = unit_rule()
    h, k = _with_nodes(h, k)
    angle = _asin(r)
    return independent + angle * _integral(_density(h, k, sin(angle * nodes)), weights)


def _trivariate(x: Term, y: Term, z: Term, xy: Term, xz: Term, yz: Term) -> Term:
    """Return the probability by the integral along which the correlations with `x` grow from zero."""
    independent = _ndtr(x) * _bivariate(y, z, yz)
    nodes, weights = unit_rule()
    x, y, z = _with_nodes(x, y, z)
    angles = _asin(xy), _asin(xz)
    xy, xz = [sin(angle * nodes) for angle in angles]
    determinant = 1.0 - square(xy) - square(xz) - square(yz) + 2.0 * xy * xz * yz

    def part(angle: Term, second: Term, third: Term, near: Term, far: Term) -> Term:
        """Return the integral of the density of `x` and `second` times the probability of `third` given them."""
        rest = 1.0 - square(near)
        mean = x * (far - yz * near) + second * (yz - far * near)
        given = (third * rest - mean) / terms.sqrt(maximum(rest * determinant, LEAST))
        return angle * _integral(_density(x, second, near) * _ndtr(given), weights)

    return independent + part(angles[0], y, z, xy, xz) + part(angles[1], z, y, xz, xy)


# ---- more than three dimensions --------------------------------------------------------------------------------------


def _lattice(n: int) -> list[Term]:
    """Return the coordinates of a lattice in the unit cube, mirrored so that the integrand is periodic."""
    turns = [pow(GENERATOR, i, POINTS) * numbered(POINTS) for i in range(n)]
    return [absolute(2.0 * ((t + 0.5) / POINTS - floor((t + 0.5) / POINTS)) - 1.0) for t in turns]


def _in_order_of_probability(lower: Any, upper: Any, correlation: Any) -> tuple[Any, Any, Any]:
    """Sort the variables of each box by their own probability, which makes the integrand smoother."""
    own = error_functions.ndtr(upper)
    own = own if lower is None else subtract(own, error_functions.ndtr(lower))
    order = argsort(own)
    upper, lower = [None if x is None else take_along_axis(x, order, -1) for x in (upper, lower)]
    rows = gather(correlation, order)
    columns = broadcast_to(expand_dims(order, -2), rows.shape)
    return lower, upper, take_along_axis(rows, columns, -1)


def _lattice_average(lower: Any, upper: Any, correlation: Any) -> Any:
    lower, upper, correlation = _in_order_of_probability(lower, upper, correlation)
    factor = [unstack(row, axis=-1) for row in unstack(cholesky(correlation), axis=-2)]
    ends = [None if x is None else unstack(x, axis=-1) for x in (lower, upper)]
    points = _lattice(len(factor) - 1)
    probability: Any = 1.0
    values: list[Term] = []
    for i, row in enumerate(factor):
        *weights, scale = _with_nodes(*map(Term, row[: i + 1]))
        given = sum((w * v for w, v in zip(weights, values, strict=True)), 0.0 * scale)
        low, high = [None if x is None else _ndtr((_with_nodes(Term(x[i]))[0] - given) / scale) for x in ends]
        width = high if low is None else high - low
        probability = width * probability
        if i < len(factor) - 1:
            level = width * points[i] + (0.0 if low is None else low)
            values.append(_quantile(level))
    return reduce_mean(probability.handle, -1)


def _quantile(level: Term) -> Term:
    return Term(error_functions.ndtri(clip_by_value(level.handle, LEAST, 1 - 2.0**-53)))
