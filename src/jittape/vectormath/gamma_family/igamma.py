"""The regularized incomplete gamma functions P and Q = 1 - P, and derivatives of P with respect to its parameter.

With t = x exp(-v), and with t = x exp(v), the integrals of ``t**(a - 1) exp(-t)`` from 0 to x and from x to infinity
are ``x**a exp(-x)`` times

    integral of exp(-(a - x) v - x (exp(-v) - 1 + v)) over v from 0 to infinity    for x < a,
    integral of exp(-(x - a) v - x (exp(v) - 1 - v)) over v from 0 to infinity     for x >= a.

The integrands decrease, are smooth, and their logarithms have no cancellation. Derivatives with respect to `a` only
multiply them by powers of v. So one Gauss-Legendre rule, on the interval in which the integrand is not negligible,
gives the functions and their derivatives for all arguments, without branches or iterations. For x < a, the rule is
applied to a + 2, followed by the recurrence DLMF 8.8.1. If `a` and x are small, Q has a series of its own (DLMF 8.7.3).

float32 is computed in float64 with fewer nodes.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from jittape.vectormath.double_word import add_words, divide, multiply_words, polynomial, two_sum
from jittape.vectormath.exp import exp_of_minus, second_order
from jittape.vectormath.gamma_family.gamma import power_over_gamma
from jittape.vectormath.gamma_family.lgamma import DIGAMMA_ASYMPTOTIC, lgamma_of_one_plus
from jittape.vectormath.gamma_family.quadrature import Rule, node_pairs, pairs

__all__ = [
    "digamma_minus_log",
    "gamma_density",
    "igamma",
    "igamma_slope",
    "igammac",
    "log_minus_digamma",
    "log_minus_digamma_of_next",
]

#: Number of nodes, and the exponent at which the integrand is cut off, by precision of the result and order.
_RULES = {4: (12, 18.0), 8: (28, 38.0)}
_RULES_OF_DERIVATIVES = {4: (14, 22.0), 8: (36, 44.0)}
#: Below this x, Q is computed from P, or by its series.
_SMALL = 0.5
#: Terms of the series of Q for x below `_SMALL`.
_TERMS = 14
#: Limits of finite arguments, so that no product overflows.
_GREATEST = 1e290


def igamma(m: Any, a: Any, x: Any) -> Any:
    """Return P(a, x); nan for negative arguments, and if `a` is 0."""
    return _igamma(m, a, x, upper=False)


def igammac(m: Any, a: Any, x: Any) -> Any:
    """Return Q(a, x) = 1 - P(a, x) without cancellation."""
    return _igamma(m, a, x, upper=True)


def _igamma(m: Any, a: Any, x: Any, upper: bool) -> Any:
    size, dtype = x.dtype.itemsize, x.dtype
    a, x = m.cast(a, np.float64), m.cast(x, np.float64)
    inner_a, inner_x = _within(m, a), _within(m, x)
    lower, moments = _moments(m, inner_a, inner_x, 0, _RULES[size])
    near = power_over_gamma(m, inner_a, inner_x).times(m, _term(m, inner_a, inner_x, lower, moments[0]))
    # P is far from 0 if `a` and x are small: its complement is Q, by the series.
    series = lower & (inner_x < _SMALL) & (inner_a < 1) & (near > 0.5)
    near = m.where(series, _small_igammac(m, m.where(series, inner_a, 0.5), inner_x), near)
    # nan is a tail whose logarithm overflows.
    near = m.where(near == near, m.where(near < 1, near, 1.0), 0.0)
    direct = (series | ~lower) if upper else (lower & ~series)
    result = m.where(direct, near, 1 - near)
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)
    # Beyond the greatest arguments, P is a step at x = a.
    are_great = (a >= _GREATEST) & (x >= _GREATEST)
    below, above = (x == 0) | (a == np.inf) | (are_great & (x < a)), (x == np.inf) | (are_great & (x > a))
    result = m.where(below, at_zero, m.where(above, at_infinity, result))
    undefined = ~((a > 0) & (x >= 0)) | ((a == np.inf) & (x == np.inf))
    return m.cast(m.where(undefined, m.literal(np.nan, np.float64), result), dtype)


def igamma_slope(m: Any, a: Any, x: Any, order: int) -> Any:
    """Return the derivative of P(a, x) of order 1 or more with respect to `a`, divided by that with respect to x."""
    size, dtype = x.dtype.itemsize, x.dtype
    a, x = m.cast(a, np.float64), m.cast(x, np.float64)
    inner_a, inner_x = _within(m, a), _within(m, x)
    lower, terms = _terms(m, inner_a, inner_x, order, _RULES_OF_DERIVATIVES[size])
    factors = _factor_derivatives(m, inner_a, inner_x, order)
    total = m.literal(0, np.float64)
    for k, term in enumerate(terms):
        total = total + comb(order, k) * (factors[order - k] * term)
    ratio = inner_x / inner_a
    result = m.where(lower, ratio * total, -ratio * total)
    undefined = ~((a > 0) & (x >= 0)) | (a == np.inf) | (x == np.inf)
    return m.cast(m.where(undefined, m.literal(np.nan, np.float64), m.where(x == 0, -0.0, result)), dtype)


def gamma_density(m: Any, a: Any, x: Any) -> Any:
    """Return ``x**(a - 1) exp(-x) / gamma(a)``, the derivative of P(a, x) with respect to x."""
    dtype = x.dtype
    a, x = m.cast(a, np.float64), m.cast(x, np.float64)
    inner_a, inner_x = _within(m, a), _within(m, x)
    scale = m.where(inner_x < 2.0**-800, m.literal(2.0**200, np.float64), 1.0)  # a / x may overflow
    quotient = divide(m, (inner_a, 0.0), (inner_x * scale, 0.0))
    result = power_over_gamma(m, inner_a, inner_x).times(m, quotient) * scale
    infinity = m.literal(np.inf, np.float64)
    at_zero = m.where(a < 1, infinity, m.where(a > 1, 0.0, m.literal(1, np.float64)))
    result = m.where(x == 0, at_zero, m.where((x == np.inf) | (a == np.inf), 0.0, result))
    undefined = ~((a > 0) & (x >= 0)) | ((a == np.inf) & (x == np.inf))
    return m.cast(m.where(undefined, m.literal(np.nan, np.float64), result), dtype)


def _within(m: Any, x: Any) -> Any:
    """Return a positive finite number: `x` itself unless it is an edge."""
    return m.where(x > 0, m.where(x < _GREATEST, x, _GREATEST), 1.0)


def _term(m: Any, a: Any, x: Any, lower: Any, moment: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return P or Q divided by the factor of `power_over_gamma`, in two words."""
    # gamma(a + 1) Q / (x**a exp(-x)) is a times the integral, gamma(a + 1) P / (x**a exp(-x)) is
    # 1 + x (1 + x times the integral) / (a + 1).
    one = (m.literal(1, np.float64), 0.0)
    of_q, of_q_low = multiply_words(m, moment, (a, 0.0))
    shifted = add_words(m, multiply_words(m, moment, (x, 0.0)), one)
    shifted = multiply_words(m, shifted, divide(m, (x, 0.0), two_sum(m, a, one[0])))
    of_p, of_p_low = add_words(m, shifted, one)
    return m.where(lower, of_p, of_q), m.where(lower, of_p_low, of_q_low)


def _terms(m: Any, a: Any, x: Any, order: int, rule: Rule) -> tuple[Any, list[Any]]:
    """Return whether to compute P, and P or Q divided by the factor of `power_over_gamma`, with derivatives.

    The list has the derivatives of orders 0, 1, ..., with respect to `a`.
    """
    lower, words = _moments(m, a, x, order, rule)
    moments = [high + low for high, low in words]
    # See `_term`.
    terms = [a * moments[0]]
    for k in range(1, order + 1):
        terms.append(a * moments[k] + k * moments[k - 1])
    shifted: list[Any] = []
    inverse = 1 / (a + 1)
    for k in range(order + 1):
        before = 1.0 if k == 0 else k * shifted[-1]
        shifted.append((x * moments[k] + before) * inverse)
    for k in range(order + 1):
        of_p = x * shifted[k] if k % 2 == 0 else -(x * shifted[k])
        terms[k] = m.where(lower, of_p + 1 if k == 0 else of_p, terms[k])
    return lower, terms


def _moments(m: Any, a: Any, x: Any, order: int, rule: Rule) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return whether to compute P, and the integral of the docstring above, times powers of v up to `order`.

    The integrals have two words. That for P is for a + 2.
    """
    count, cut = rule
    lower = (x < a) | (x < _SMALL)
    # The sum a + 2 is rounded; its difference from x is not.
    distance = m.where(lower, (a - x) + 2, x - a)
    end = m.where(lower, _end_of_lower(m, a + 2, x, distance, cut), _end_of_upper(m, x, distance, cut))

    def step(row: tuple[Any, ...], _: Any, sums: tuple[Any, ...]) -> tuple[Any, ...]:
        *nodes, weight = row
        for node in nodes:
            v = end * node
            power = weight * exp_of_minus(m, distance * v + x * second_order(m, m.where(lower, -v, v)))
            new = []
            for high, low in pairs(sums):
                high, error = two_sum(m, high, power)
                new += [high, low + error]
                power = power * v
            sums = tuple(new)
        return sums

    sums = m.accumulate(step, node_pairs(count), (x,), (m.literal(0, np.float64),) * (2 * order + 2))
    return lower, [multiply_words(m, total, (end, 0.0)) for total in pairs(sums)]


def _end_of_upper(m: Any, x: Any, distance: Any, cut: float) -> Any:
    """Return v at which the exponent ``distance v + x (exp(v) - 1 - v)`` is about `cut`, or a little more.

    It is at least ``distance v + x v**2 / 2``. If v is too large, ``log1p(v + cut / x)`` is closer and not too small.
    """
    parabola = 2 * cut / (distance + m.sqrt(distance * distance + (2 * cut) * x))
    far = m.log1p(parabola + cut / x)
    return m.where(parabola < far, parabola, far)


def _end_of_lower(m: Any, a: Any, x: Any, distance: Any, cut: float) -> Any:
    """Return v at which ``distance v + x v**2 / (2 + v)``, at most the exponent, is `cut`."""
    linear = cut - 2 * distance
    root = m.sqrt(linear * linear + (8 * cut) * a)
    return m.where(linear > 0, (linear + root) / (2 * a), (4 * cut) / (root - linear))


def _small_igammac(m: Any, a: Any, x: Any) -> Any:
    """Return Q for x below 1/2 and `a` below 1 (DLMF 8.7.3), without cancellation for tiny `a`.

    With ``y = x**a / gamma(a + 1)``, it is ``1 - y - a y sum((-x)**k / (k! (a + k)))``.
    """
    total, term = m.literal(0, np.float64), m.literal(1, np.float64)
    terms = []
    for k in range(1, _TERMS + 1):
        term = term * (x * (-1 / k))
        terms.append(term / (a + k))
    for term in reversed(terms):
        total = total + term
    change = m.expm1(a * m.log(x) - lgamma_of_one_plus(a))
    return -change - a * ((1 + change) * total)


def _factor_derivatives(m: Any, a: Any, x: Any, order: int) -> list[Any]:
    """Return the derivatives of ``x**a / gamma(a + 1)`` with respect to `a`, of orders 0, 1, ..., divided by itself."""
    slopes = [log_minus_digamma_of_next(m, a, x)]
    for k in range(1, order):
        slopes.append(-m.polygamma(a + 1, k))
    results = [m.literal(1, np.float64)]
    for n in range(1, order + 1):
        total = slopes[0] * results[n - 1]
        for k in range(1, n):
            total = total + comb(n - 1, k) * (slopes[k] * results[n - 1 - k])
        results.append(total)
    return results


def log_minus_digamma(m: Any, a: Any, x: Any) -> Any:
    """Return ``log(x) - digamma(a)``; infinite if x or `a` is 0, nan if one of them is negative."""
    dtype = x.dtype
    a, x = m.cast(a, np.float64), m.cast(x, np.float64)
    result = _log_minus_digamma(m, _within(m, a), _within(m, x), 0.5)
    edge = ~((a > 0) & (x > 0) & (a < _GREATEST) & (x < _GREATEST))
    return m.cast(
        m.where(edge, m.log(x) - m.where(a < 0, m.literal(np.nan, np.float64), m.digamma(a)), result), dtype
    )


def _log_minus_digamma(m: Any, a: Any, x: Any, half: float) -> Any:
    """Return ``log(x) - digamma(a)``, and with `half` = -1/2 instead of 1/2 ``log(x) - digamma(a + 1)``.

    Accurate also if `a` is large and x is near it.
    """
    large = a >= 8
    limited = m.where(large, a, 8.0)
    inverse = 1 / limited
    square = inverse * inverse
    difference = (x - limited) * inverse
    logarithm = m.where(m.absolute(difference) < 0.5, m.log1p(difference), m.log(x * inverse))
    far = logarithm + (half * inverse + square * polynomial(square, DIGAMMA_ASYMPTOTIC))
    moderate = m.where(large, 8.0, a)
    near = m.log(x) - m.digamma(moderate if half > 0 else moderate + 1)
    return m.where(large, far, near)


def log_minus_digamma_of_next(m: Any, a: Any, x: Any) -> Any:
    """Return ``log(x) - digamma(a + 1)`` of positive finite float64 numbers."""
    return _log_minus_digamma(m, a, x, -0.5)


def digamma_minus_log(m: Any, a: Any) -> Any:
    """Return ``digamma(a) - log(a)`` of a positive finite float64 number."""
    return -_log_minus_digamma(m, a, a, 0.5)
