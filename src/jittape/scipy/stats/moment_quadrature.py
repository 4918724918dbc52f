"""Moments and entropies without a formula, by double exponential rules on both sides of the median."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jittape.primitives.elementwise.bits import is_finite, is_inf
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.identity import stop_gradient
from jittape.primitives.record_parts import filled
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims
from jittape.scipy.special.terms import Term, exp, lifted, square, where
from jittape.scipy.stats.double_exponential import half_line_rule, unit_rule
from jittape.scipy.stats.formulas import NAN, Formula, Formulas

__all__ = ["nodes", "raw_moment", "standard_moment"]

ORDERS = {"mean": 1, "var": 2, "skewness": 3, "kurtosis": 4}
HEAVY = 20.0
"""Number of moments up to which a tail is heavy."""
_cast, _column, _maximum, _minimum = lifted(cast), lifted(expand_dims), lifted(maximum), lifted(minimum)


def standard_moment(formulas: Formulas, method: str, shapes: tuple[Any, ...], like: Any) -> Any:
    """Return a moment or the entropy for location 0 and scale 1, in the shape of `like`."""
    formula = getattr(formulas, method)
    if formula is not None:
        return formula(*shapes)
    if method == "entropy":
        value = -_mean(formulas, shapes, like, lambda y, log_density: log_density)
    else:

        def integral() -> Term:
            return _central(formulas, method, shapes, like)

        def closed(raw: Formula) -> Term:
            return _from_raw_moments(raw, method, shapes, like)

        value = _chosen(formulas, ORDERS[method], shapes, closed, integral)
    return cast(value.handle, like.dtype)


def raw_moment(formulas: Formulas, order: int, shapes: tuple[Any, ...], loc: Any, scale: Any) -> Any:
    """Return the mean of the power `order` of the variable with a location and a scale."""

    def integral() -> Term:
        start, unit = [_column(Term(x), -1) for x in (loc, scale)]
        return _mean(formulas, shapes, loc, lambda y, log_density: (start + unit * y) ** order)

    def closed(raw: Formula) -> Term:
        value = Term(loc) ** float(order)
        for k in range(1, order + 1):
            part = _filled(loc, raw(k, *shapes)) * Term(scale) ** float(k)
            value = value + math.comb(order, k) * part * Term(loc) ** float(order - k)
        return value

    return cast(_chosen(formulas, order, shapes, closed, integral).handle, loc.dtype)


def _chosen(
    formulas: Formulas,
    order: int,
    shapes: tuple[Any, ...],
    closed: Callable[[Formula], Term],
    integral: Callable[[], Term],
) -> Term:
    """Return a moment by its formula if the tail is heavy, else by the integral; nan where it does not exist.

    The rule does not reach the end of a heavy tail; the terms of the formula cancel for a light one.
    """
    raw = formulas.raw_moment
    if formulas.tail is None or formulas.discrete:
        value = integral() if raw is None else closed(raw)
    elif raw is not None:
        value = where(_limit(formulas, shapes) < HEAVY, closed(raw), integral())
    else:
        value = integral()
    return value if formulas.tail is None else where(_limit(formulas, shapes) > order, value, NAN)


def _limit(formulas: Formulas, shapes: tuple[Any, ...]) -> Any:
    assert formulas.tail is not None
    return Term(formulas.tail(*shapes))


def _central(formulas: Formulas, method: str, shapes: tuple[Any, ...], like: Any) -> Term:
    if method == "mean":
        return _mean(formulas, shapes, like, lambda y, log_density: y)
    center = _filled(like, standard_moment(formulas, "mean", shapes, like))
    if method == "var":
        return _mean(formulas, shapes, like, lambda y, log_density: square(y - _column(center, -1)))
    var = _filled(like, standard_moment(formulas, "var", shapes, like))
    order = ORDERS[method]
    power = _mean(formulas, shapes, like, lambda y, log_density: (y - _column(center, -1)) ** order)
    return power / var ** (0.5 * order) - (3.0 if order == 4 else 0.0)


def _from_raw_moments(formula: Formula, method: str, shapes: tuple[Any, ...], like: Any) -> Term:
    first, second, third, *rest = [_filled(like, formula(k, *shapes)) for k in range(1, ORDERS[method] + 1)]
    var = second - square(first)
    if method == "skewness":
        return (third - 3.0 * first * second + 2.0 * first**3.0) / var**1.5
    central = rest[0] - 4.0 * first * third + 6.0 * square(first) * second - 3.0 * square(square(first))
    return central / square(var) - 3.0


def nodes(formulas: Formulas, shapes: tuple[Any, ...], like: Any, bounds: list[Any]) -> tuple[Any, Any]:
    """Return points in a new last dimension and weights, which include the density, between two bounds."""
    ends = _ends(formulas, shapes, like)
    low, high = _maximum(ends[0], Term(bounds[0])), _minimum(ends[1], Term(bounds[1]))
    points, weights, log_density = _rule(formulas, shapes, like, low, high)
    return points.handle, (weights * exp(log_density)).handle


# ---- the rule --------------------------------------------------------------------------------------------------------


def _filled(like: Any, value: Any) -> Term:
    """Return a number or a handle as a term in the shape of `like`."""
    return Term(filled(like, value) if isinstance(value, float) else value)


def _ends(formulas: Formulas, shapes: tuple[Any, ...], like: Any) -> list[Term]:
    return [_filled(like, end) for end in (formulas.carrier or formulas.support)(*shapes)]


def _mean(
    formulas: Formulas, shapes: tuple[Any, ...], like: Any, integrand: Callable[[Term, Term], Term]
) -> Term:
    points, weights, log_density = _rule(formulas, shapes, like, *_ends(formulas, shapes, like))
    product = integrand(points, log_density) * exp(log_density) * weights
    return Term(reduce_sum(where(weights > 0.0, product, 0.0).handle, -1))


def _rule(
    formulas: Formulas, shapes: tuple[Any, ...], like: Any, low: Term, high: Term
) -> tuple[Term, Term, Term]:
    """Return points, weights, which are 0 where the density is, and logarithms of the density.

    The quantiles, which scale the rule, have no gradient: an integral does not depend on its nodes.
    """
    assert formulas.ppf is not None
    quartiles = [Term(stop_gradient(formulas.ppf(filled(like, q), *shapes))) for q in (0.25, 0.5, 0.75)]
    width = quartiles[2] - quartiles[0]
    center = quartiles[1] if formulas.kink is None else Term(formulas.kink(*shapes))
    middle = _minimum(_maximum(center, low), high)
    sides = [_side(-1.0, low, middle, width), _side(1.0, high, middle, width)]
    points, weights = [Term(concat([side[i].handle for side in sides], -1)) for i in range(2)]
    columns = [broadcast_to(expand_dims(s, -1), points.handle.shape) for s in shapes]
    log_density = Term(formulas.log_density(points.handle, *columns))
    usable = Term(is_finite(log_density.handle)) & Term(is_finite(points.handle))
    return points, where(usable, weights, 0.0), where(usable, log_density, 0.0)


def _side(sign: float, end: Term, middle: Term, width: Term) -> tuple[Term, Term]:
    """Return points and weights between the middle and an end of the support, which may be infinite."""
    infinite = Term(is_inf(end.handle))
    end = where(infinite, middle, end)
    infinite, end, middle, width = [_column(x, -1) for x in (infinite, end, middle, width)]
    length = sign * (end - middle)
    (far, far_weights), (near, near_weights) = half_line_rule(), unit_rule()
    points = where(infinite, middle + sign * width * far, end - sign * length * near)
    return points, where(infinite, width * far_weights, length * near_weights)
