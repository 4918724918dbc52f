"""Derivatives of the regularized incomplete beta function I with respect to its parameters.

They multiply the integrand of `betainc` by powers of ``log(t / x)`` and ``log((1 - t) / (1 - x))``. The first
derivative with respect to `a` is the integral of the density times ``log(t) - log(c)``, where log(c) is
``digamma(a) - digamma(a + b)``. The integrand has one sign up to c and the other one beyond c, so the integral from 0
is computed below c and the one from x to 1 above c, and nothing cancels. For `b`, both ends are exchanged.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from jittape.value_classes import NamedTuple
from jittape.vectormath.gamma_family.betainc import (
    Side,
    difference_of_products,
    integrals,
    is_undefined,
    limited,
    moments,
    side_of,
    sides,
)
from jittape.vectormath.gamma_family.igamma import digamma_minus_log, log_minus_digamma_of_next
from jittape.vectormath.gamma_family.lgamma import DIGAMMA_ASYMPTOTIC

__all__ = ["betainc_slope", "derivatives_of_exponential"]

_RULES = {4: (14, 22.0), 8: (36, 44.0)}
_LARGE = 8
"""Argument from which on the asymptotic series of digamma is used."""


def betainc_slope(m: Any, a: Any, b: Any, x: Any, order_a: int, order_b: int) -> Any:
    """Return the derivative of I of these orders with respect to `a` and `b`, divided by that with respect to x."""
    size, dtype = x.dtype.itemsize, x.dtype
    a, b, x = (m.cast(value, np.float64) for value in (a, b, x))
    if order_a + order_b == 1:
        result = _first(m, a, b, x, order_a == 1, size)
    elif order_a + order_b == 2:
        side = sides(m, a, b, x, 0.0)
        result = _mixed(m, side, size) if order_a == 1 else _second(m, side, order_a == 2, size)
        result = m.where(side.lower, result, -result)
    else:
        side = sides(m, a, b, x, 0.0)
        result = _quotient(m, side, (order_a, order_b), size)
        other = result if order_a == order_b else _quotient(m, side, (order_b, order_a), size)
        result = m.where(side.lower, result, -other)
    result = m.where((x == 0) | (x == 1), 0.0, result)
    return m.cast(m.where(is_undefined(a, b, x), m.literal(np.nan, np.float64), result), dtype)


# ---- first derivatives -----------------------------------------------------------------------------------------------


def _first(m: Any, a: Any, b: Any, x: Any, in_a: bool, size: int) -> Any:
    """Return the first derivative with respect to `a` or `b`, divided by the density."""
    a, b, x, y = limited(m, a, b, x)
    near, far = (x, m.literal(0, np.float64)), y
    if in_a:
        s, r, w, rest = a, b, near, far
    else:
        s, r, w, rest = b, a, far, near
    excess = difference_of_products(m, r, w, s, rest)
    slope, slope_of_next = _log_slopes(m, s, r, w, rest, excess)
    # Beyond the mean for r + 2, the integral from the other end cannot be computed; from here, little cancels.
    own = (slope < 0) | (excess + 2 * w[0] < 0)
    side = side_of(m, own if in_a else ~own, a, b, x, y)
    # The recurrence for p + 2 is a difference if q is less than 1.
    direct = own & (side.p > 2) & (side.q < 1)
    sums = _sums(moments(m, side, (1, 0), _RULES[size], own, m.where(direct, 0.0, m.literal(2, np.float64))))
    terms = _recurrence(side, sums, own, m.where)
    shifted = (m.where(own, slope_of_next, slope) * terms[0, 0] + terms[1, 0]) / side.p
    total = m.where(direct, slope * sums[0, 0] + sums[1, 0], shifted)
    result = side.z[0] * side.rest[0] * total
    return m.where(side.lower, result, -result)


def _log_slopes(
    m: Any, s: Any, r: Any, w: tuple[Any, Any], rest: tuple[Any, Any], excess: Any
) -> tuple[Any, Any]:
    """Return ``log(w) + digamma(s + r) - digamma(s)``, and the same with digamma(s + 1).

    `rest` is 1 - w, and `excess` is ``r w - s rest``.
    """
    n = s + r
    large = s >= _LARGE
    ratio = excess / s  # w n / s - 1
    of_ratio = m.where(ratio > -0.5, m.log1p(m.where(ratio > -0.5, ratio, 0.0)), m.log(w[0] * (n / s)))
    logarithm = m.where(rest[0] < 0.5, m.log1p(-rest[0]), m.log(w[0]) + w[1] / w[0])
    start = m.where(large, s, s + _LARGE)
    shifted = m.log1p(r / start)
    for k in range(1, _LARGE):
        shifted = shifted + r / ((s + k) * (n + k))
    common = m.where(large, of_ratio, logarithm + shifted) + _correction(m, start, start + r, r)
    return common + m.where(large, 0.0, r / (s * n)), common - 1 / m.where(large, s, n)


def _correction(m: Any, s: Any, n: Any, r: Any) -> Any:
    """Return the difference of ``digamma(t) - log(t)`` between s and n = s + r, for s of at least `_LARGE`."""
    low, high = 1 / s, 1 / n
    low_square, high_square = low * low, high * high
    # (s**-2k - n**-2k) / (s**-2 - n**-2), one power after another
    powers, high_power = m.literal(1, np.float64), m.literal(1, np.float64)
    total = DIGAMMA_ASYMPTOTIC[0] * powers
    for coefficient in DIGAMMA_ASYMPTOTIC[1:]:
        high_power = high_power * high_square
        powers = powers * low_square + high_power
        total = total + coefficient * powers
    difference = r * low * high
    return difference * (0.5 + (low + high) * total)


# ---- second derivatives ----------------------------------------------------------------------------------------------


class _Raised(NamedTuple):
    """Values for p, p + 1 and p + 2, with which the recurrence for I adds two terms to the integral for p + 2."""

    p: list[Any]
    q: list[Any]


def _second(m: Any, side: Side, in_a: bool, size: int) -> Any:
    """Return the second derivative with respect to `a` or `b`, divided by the density.

    With respect to p, the density is multiplied by ``(log(t) + digamma(n) - digamma(p))**2`` minus the difference of
    trigamma, and the terms of the recurrence by the same with p + 1 and log(x).
    """
    in_p = side.lower if in_a else ~side.lower
    own, other = m.where(in_p, side.p, side.q), m.where(in_p, side.q, side.p)
    near = [m.where(in_p, *words) for words in zip(side.z, side.rest, strict=True)]
    far = [m.where(in_p, *words) for words in zip(side.rest, side.z, strict=True)]
    slopes = _slopes(m, side, _slope_of_next(m, own, other, near, far))
    slope = [m.where(in_p, *each) for each in zip(*slopes, strict=True)]
    curvatures = _curvatures(side, m.polygamma_difference(own + 1, other, 1))
    curvature = [m.where(in_p, *each) for each in zip(*curvatures, strict=True)]
    # digamma(q) is digamma(q + 1) - 1 / q, and trigamma has 1 / q**2, which cancels.
    shift = m.where(in_p, 0.0, 2 / side.q)

    def weight(k: int, logarithm: Any) -> Any:
        total = logarithm + slope[k]
        return total * (total + shift) - curvature[k]

    return _by_recurrence(m, side, weight, lambda first, of_rest: m.where(in_p, first, of_rest), size)


def _mixed(m: Any, side: Side, size: int) -> Any:
    """Return the mixed second derivative, divided by the density."""
    p, q, z, rest, n = side.p, side.q, side.z, side.rest, side.n[0]
    in_p = _slopes(m, side, _slope_of_next(m, p, q, z, rest)).p
    in_q = _slopes(m, side, _slope_of_next(m, q, p, rest, z)).q
    trigamma = m.polygamma(n + 1, 1)
    of_n = [trigamma + 1 / (n * n), trigamma, trigamma - 1 / ((n + 1) * (n + 1))]

    def weight(k: int, logarithms: Any) -> Any:
        first, of_rest = logarithms
        return (first + in_p[k]) * ((of_rest + in_q[k]) + 1 / q) + of_n[k]

    return _by_recurrence(m, side, weight, lambda first, of_rest: (first, of_rest), size, (0.0, 0.0))


def _by_recurrence(m: Any, side: Side, weight: Any, chosen: Any, size: int, at_end: Any = 0.0) -> Any:
    """Return a derivative of I, divided by the density; ``weight(k, logarithms)`` is the factor of term k."""
    p, n, z = side.p, side.n[0], side.z[0]
    ((high, low),) = integrals(
        m, side, lambda first, of_rest: [weight(2, chosen(first, of_rest))], 1, _RULES[size]
    )
    total = weight(1, at_end) + z * (n + 1) * (high + low)
    total = weight(0, at_end) + z * n / (p + 1) * total
    return z * side.rest[0] / p * total


def _slope_of_next(m: Any, s: Any, r: Any, w: Any, rest: Any) -> Any:
    """Return ``log(w) + digamma(s + r) - digamma(s + 1)``."""
    return _log_slopes(m, s, r, w, rest, difference_of_products(m, r, w, s, rest))[1]


def _slopes(m: Any, side: Side, slope: Any) -> _Raised:
    """Return ``slope + digamma(n + k) - digamma(n)``, and with respect to p ``- digamma(p + 2) + digamma(p + 1)``."""
    p, q, n = side.p, side.q, side.n[0]
    once = slope + (1 - q) / (n * (p + 1))
    in_q = slope + 1 / n
    return _Raised([slope, once, once + 1 / (n + 1)], [slope, in_q, in_q + 1 / (n + 1)])


def _curvatures(side: Side, difference: Any) -> _Raised:
    """Return the differences of trigamma of p + 1 (or q + 1) and n, for p + 2 those of p + 2 and n + 2.

    `difference` is that of trigamma of p + 1 and n + 1.
    """
    p, q, n = side.p, side.q, side.n[0]
    following = n + 1
    once = difference - q / (p + 1) * ((p + 1 + following) / ((p + 1) * following)) / following
    first, square = difference - 1 / (n * n), 1 / (following * following)
    return _Raised([first, once - square, once], [first, difference, difference + square])


# ---- all derivatives -------------------------------------------------------------------------------------------------


def _sums(integrals: dict[tuple[int, int], tuple[Any, Any]]) -> dict[tuple[int, int], Any]:
    """Return the values of integrals of two words."""
    return {key: high + low for key, (high, low) in integrals.items()}


def _recurrence(
    side: Side, integrals: dict[tuple[int, int], Any], own: Any, where: Any
) -> dict[tuple[int, int], Any]:
    """Return I divided by its factor before the integral, and its derivatives, from those of the integral for p + 2.

    Where `own` is false, the first derivative is with respect to q.
    """
    x, n = side.z[0], side.n[0]

    def times_sum(values: dict[tuple[int, int], Any], total: Any, i: int, j: int) -> Any:
        """Return the derivative of ``x total values``, where `total` is n plus a constant, plus 1."""
        result = total * values[i, j]
        if i:
            result = result + i * values[i - 1, j]
        if j:
            result = result + j * values[i, j - 1]
        return x * result + 1 if i == j == 0 else x * result

    shifted: dict[tuple[int, int], Any] = {}
    inverse = 1 / (side.p + 1)
    for i, j in integrals:
        value = times_sum(integrals, n + 1, i, j)
        if i:
            change = i * shifted[i - 1, j]
            value = value - (change if own is True else where(own, change, 0.0))
        shifted[i, j] = value * inverse
    return {(i, j): times_sum(shifted, n, i, j) for i, j in integrals}


def _quotient(m: Any, side: Side, orders: tuple[int, int], size: int) -> Any:
    """Return the derivative of I, divided by the density."""
    terms = _recurrence(side, _sums(moments(m, side, orders, _RULES[size])), True, m.where)
    factors = _factor_derivatives(m, side.p, side.q, side.z[0], side.rest[0], orders)
    total = m.literal(0, np.float64)
    for (i, j), term in terms.items():
        coefficient = comb(orders[0], i) * comb(orders[1], j)
        total = total + coefficient * (factors[orders[0] - i, orders[1] - j] * term)
    return side.z[0] * side.rest[0] / side.p * total


def _factor_derivatives(
    m: Any, a: Any, b: Any, x: Any, y: Any, orders: tuple[int, int]
) -> dict[tuple[int, int], Any]:
    """Return the derivatives of `_factor` with respect to `a` and `b`, divided by it."""
    n = a + b
    common = digamma_minus_log(m, n)
    slopes: dict[tuple[int, int], Any] = {}
    for i in range(orders[0] + 1):
        for j in range(orders[1] + 1):
            if i + j == 1:
                own = (
                    log_minus_digamma_of_next(m, a, x * n)
                    if i
                    else log_minus_digamma_of_next(m, b, y * n) + 1 / b
                )
                slopes[i, j] = own + common
            elif i + j > 1:
                slopes[i, j] = m.polygamma(n, i + j - 1)
                if j == 0:
                    slopes[i, j] = slopes[i, j] - m.polygamma(a + 1, i - 1)
                if i == 0:
                    slopes[i, j] = slopes[i, j] - m.polygamma(b, j - 1)
    one = m.literal(1, np.float64)
    return derivatives_of_exponential(slopes, one, orders, lambda p, q: p + q, lambda p, q: p * q)


def derivatives_of_exponential(
    slopes: dict[tuple[int, int], Any], one: Any, orders: tuple[int, int], add: Any, multiply: Any
) -> dict[tuple[int, int], Any]:
    """Return the derivatives of exp(f), divided by it, from the derivatives `slopes` of f; the keys are orders."""
    results: dict[tuple[int, int], Any] = {(0, 0): one}
    for i in range(orders[0] + 1):
        for j in range(orders[1] + 1):
            if i == j == 0:
                continue
            # The derivative of one order less, of f' exp(f).
            first, second = (i - 1, j) if i else (i, j - 1)
            total = None
            for k in range(first + 1):
                for h in range(second + 1):
                    slope = slopes[(k + 1, h) if i else (k, h + 1)]
                    term = (
                        slope
                        if k == first and h == second
                        else multiply(slope, results[first - k, second - h])
                    )
                    count = comb(first, k) * comb(second, h)
                    term = term if count == 1 else multiply(count, term)
                    total = term if total is None else add(total, term)
            results[i, j] = total
    return results
