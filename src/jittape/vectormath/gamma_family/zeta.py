"""The Hurwitz zeta function by the Euler-Maclaurin formula (DLMF 25.11.28), and the derivatives of digamma, polygamma.

float32 is computed in float64.
"""

from __future__ import annotations

import math
from math import comb
from typing import Any

import numpy as np

from jittape.vectormath.double_word import polynomial, two_sum
from jittape.vectormath.pow import power_of_positive
from jittape.vectormath.sin import moderate_tan

__all__ = ["LARGEST_ORDER", "polygamma", "tensor_polygamma", "zeta", "zeta_slope"]

#: B(2k) / (2k)!, with B the Bernoulli numbers.
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
    77683 / 14101100039391805440000,
)
#: Number of terms that are added one by one.
_HEAD = 9
_GREATEST_EXPONENT = 1000.0
"""Exponent from which on the powers of all numbers above `_HEAD` are 0."""
_MOST_BITS = 1020
"""Greatest exponent of the power of two that scales a sum, so that the sum from q = 1 does not overflow."""
_LOG2_E = math.log2(math.e)
LARGEST_ORDER = 170
"""Largest order of `tensor_polygamma`; the factorial of a larger one overflows."""
_GREATEST_POLYNOMIAL = 8
"""Largest order of the polynomial of a cotangent."""
_STEPS = tuple([(float(k),) for k in reversed(range(_HEAD))])


def polygamma(m: Any, x: Any, order: int) -> Any:
    """Return the derivative of digamma of order 1 or more; infinite or nan at 0 and the negative integers.

    Below 0 it is ``(-1)**n polygamma(1 - x)`` minus the derivative of ``pi cot(pi x)`` (DLMF 5.15.6). That of a high
    order has a polynomial with large coefficients: the terms of both signs are sums, as in `_scaled_zeta`.
    """
    if x.dtype == np.float32:
        return m.cast(polygamma(m, m.cast(x, np.float64), order), np.float32)
    sign = 1.0 if order % 2 else -1.0
    # The sum times the factorial may be a normal number although the sum is none.
    factorial = math.factorial(order)
    unit = 2 ** min(round(math.log2(factorial) / (order + 1)), _MOST_BITS // (order + 1))
    argument = m.where(x < 0, 1 - x, x)
    zeta = _zeta_of_integer(m, order + 1, m.where(argument == np.inf, 1.0, argument), float(unit))
    positive = sign * m.where(argument == np.inf, 0.0, factorial / unit ** (order + 1) * zeta)
    r = x - m.rint(x)
    if order <= _GREATEST_POLYNOMIAL:
        reflected = -sign * positive - _cotangent_derivative(m, order, r)
    else:
        # Its power is at most the factorial, and twice it is finite: no term overflows, nor two at 1/2 that cancel.
        lower = 2 ** min(int(math.log2(factorial) / (order + 1)), _MOST_BITS // (order + 1) - 1)
        above, below = (
            _zeta_of_integer(m, order + 1, m.where(m.isfinite(x) & (r != 0), distance, 0.5), float(lower))
            for distance in (x - m.floor(x), -x - m.floor(-x))
        )
        rest = (lower / unit) ** (order + 1) * zeta
        between = above + (below - rest) if order % 2 else (above - below) + rest
        reflected = sign * (factorial / lower ** (order + 1) * between)
    pole = m.literal(np.inf if order % 2 else np.nan, x.dtype)
    reflected = m.where(
        (r == 0) & m.isfinite(x), pole, m.where(m.isfinite(x), reflected, m.literal(np.nan, x.dtype))
    )
    at_zero = m.literal(np.inf, x.dtype) if order % 2 else m.copysign(np.inf, -x)
    return m.where(x < 0, reflected, m.where(x == 0, at_zero, positive))


def _zeta_of_integer(m: Any, s: int, q: Any, unit: float) -> Any:
    """Return the sum of ``((q + k) / unit)**-s`` over k from 0, for finite q > 0 and an integer s of at least 2.

    `unit` is a power of two.
    """
    scale = 1 / unit
    w, w_error = two_sum(m, q, m.literal(_HEAD, q.dtype))
    inverse = 1 / w
    square = inverse * inverse
    coefficients, rising = [], 1.0
    for k, number in enumerate(_BERNOULLI):
        rising *= s if k == 0 else (s + 2 * k - 1) * (s + 2 * k)
        coefficients.append(number * rising)
    rest = inverse * (0.5 + inverse * polynomial(square, tuple(coefficients)))
    total = (unit * m.integer_power(w * scale, 1 - s)) * ((1 / (s - 1) + rest) - w_error * inverse)
    head = m.literal(0.0, q.dtype)  # for large q the terms are small, so they are added to each other first
    for k in reversed(range(1, _HEAD)):
        base, error = two_sum(m, q, m.literal(k, q.dtype))
        power = m.integer_power(base * scale, -s)
        head = head + (power - power * (s * error / base))
    return (total + head) + m.integer_power(q * scale, -s)


def _cotangent_derivative(m: Any, order: int, r: Any) -> Any:
    """Return the derivative of ``pi cot(pi r)`` of an order of at least 1, for r from -1/2 to 1/2.

    It is ``pi**(n + 1) (1 + c**2)`` times a polynomial in ``c = cot(pi r)``, all of whose coefficients have one sign.
    """
    coefficients = [-1]  # of 1 + c**2, for the first derivative
    for _ in range(order - 1):
        # (d/dr) ((1 + c**2) p(c)) = -pi (1 + c**2) (2 c p(c) + (1 + c**2) p'(c))
        following = [0] * (len(coefficients) + 1)
        for k, coefficient in enumerate(coefficients):
            following[k + 1] -= (k + 2) * coefficient
            if k:
                following[k - 1] -= k * coefficient
        coefficients = following
    far = m.absolute(r) > 0.25  # so that the cotangent is 0 at 1/2
    tangent = moderate_tan(m, np.pi * m.where(far, 0.5 - m.absolute(r), r))
    cotangent = m.where(far, m.copysign(tangent, r), 1 / m.where(far, 1.0, tangent))
    scale = math.pi ** (order + 1)
    scaled = [scale * c if abs(c) < 2**1023 else -math.inf for c in coefficients]
    return (1 + cotangent * cotangent) * polynomial(cotangent, tuple(scaled))


def zeta(m: Any, s: Any, q: Any) -> Any:
    """Return the sum of ``(q + k)**-s`` over k from 0, for s > 1; see `_scaled_zeta`."""
    if q.dtype == np.float32:
        return m.cast(zeta(m, m.cast(s, np.float64), m.cast(q, np.float64)), np.float32)
    return _scaled_zeta(m, s, q, m.literal(1.0, q.dtype))


def _scaled_zeta(m: Any, s: Any, q: Any, scale: Any) -> Any:
    """Return the sum of ``(scale * (q + k))**-s`` over k from 0, for s > 1; `scale` is a power of two.

    For q below 0 and an integer s, the terms of both signs are sums from u = q - floor(q), from ceil(q) - q and from
    1 - q. At 0 and the negative integers the result is infinite if s is even, else nan.
    """
    nan, infinity = m.literal(np.nan, q.dtype), m.literal(np.inf, q.dtype)
    exponent = m.where((s > 1) & (s < np.inf), s, 2.0)
    finite = m.where(m.isfinite(q), q, 1.0)
    u = finite - m.floor(finite)
    positive = _zeta(m, exponent, m.where(finite > 0, finite, m.where(u > 0, u, 0.5)), 0, scale)

    def step(_: Any, fixed: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        finite, u, exponent, scale = fixed
        below_next = -finite - m.floor(-finite)  # exact, unlike 1 - u
        first = _zeta(m, exponent, m.where(below_next > 0, below_next, 0.5), 0, scale)
        return u == u, (first, _zeta(m, exponent, 1 - m.where(finite < 0, finite, 0.0), 0, scale))

    none = m.literal(0, q.dtype)
    first, rest = m.repeat(step, (finite, u, exponent, scale), (none, none), 1, finite > 0)
    half = 0.5 * exponent
    even = m.floor(half) == half
    # Halfway between integers the first two cancel for an odd exponent.
    between = m.where(even, positive + (first - rest), (positive - first) + rest)
    below = m.where(m.floor(exponent) == exponent, between, nan)
    below = m.where(u == 0, m.where(even, infinity, nan), below)
    result = m.where(finite > 0, positive, below)
    at_infinity = m.where(q > 1, 0.0, m.where(q == 1, 1.0, m.where(q > 0, infinity, nan)))
    result = m.where(s == np.inf, at_infinity, m.where(q == np.inf, 0.0, result))
    result = m.where(s == 1, infinity, result)
    return m.where((s >= 1) & (q > -np.inf), result, nan)


def zeta_slope(m: Any, s: Any, q: Any, order: int) -> Any:
    """Return the derivative of `zeta` with respect to s, for s > 1 and q > 0; nan elsewhere."""
    if q.dtype == np.float32:
        return m.cast(zeta_slope(m, m.cast(s, np.float64), m.cast(q, np.float64), order), np.float32)
    known = (s > 1) & (s < np.inf) & (q > 0)
    inside = known & (q < np.inf)
    one = m.literal(1.0, q.dtype)
    result = _zeta(m, m.where(inside, s, 2.0), m.where(inside, q, 1.0), order, one)
    return m.where(known, m.where(q == np.inf, 0.0, result), m.literal(np.nan, q.dtype))


def _zeta(m: Any, s: Any, q: Any, order: int, scale: Any) -> Any:
    """Return the derivative of order 0 or more with respect to s, for finite s > 1 and q > 0; see `_scaled_zeta`."""
    w, w_error = two_sum(m, q, m.literal(_HEAD, q.dtype))
    inverse = 1 / w
    minus_log = -m.log(w)
    # Derivatives of the factors of w**(1 - s): 1 / (s - 1), and the products s (s + 1) ... of the Bernoulli terms.
    bounded = m.minimum(s, _GREATEST_EXPONENT)  # the product of larger ones overflows, and the power is 0
    factors = [1 / (s - 1)]
    for k in range(1, order + 1):
        factors.append(factors[-1] * (-k / (s - 1)))
    factors[0] = factors[0] + 0.5 * inverse
    rising = [bounded] + [m.literal(1.0 if k == 1 else 0.0, q.dtype) for k in range(1, order + 1)]
    square = inverse * inverse
    weight = square
    for k, number in enumerate(_BERNOULLI):
        for offset in (2 * k - 1, 2 * k) if k else ():
            rising = [
                rising[j] * (bounded + offset) + (j * rising[j - 1] if j else 0.0) for j in range(order + 1)
            ]
        factors = [factor + number * (rise * weight) for factor, rise in zip(factors, rising, strict=True)]
        weight = weight * square
    tail, power = factors[order], m.literal(1, q.dtype)
    for k in range(1, order + 1):
        power = power * minus_log
        tail = tail + comb(order, k) * (power * factors[order - k])
    # Not a multiple of w**-s, which may be too small for a normal number.
    total = (power_of_positive(m, w * scale, 1 - s) / scale) * (tail - w_error * ((bounded * inverse) * tail))

    def step(row: tuple[Any, ...], _: Any, sums: tuple[Any, ...]) -> tuple[Any, ...]:
        base, error = two_sum(m, q, row[0])
        term = power_of_positive(m, base * scale, -s)
        term = term - m.where(term == np.inf, 0.0, term * (s * error / base))
        for _ in range(order):
            term = term * -m.log(base)
        return (sums[0] + term,)

    (head,) = m.accumulate(step, _STEPS, (q,), (m.literal(0.0, q.dtype),))
    return total + head


def tensor_polygamma(m: Any, order: Any, x: Any) -> Any:
    """Return the derivative of digamma of an order that is a value; nan unless it is an integer from 0 to 170."""
    if x.dtype == np.float32:
        return m.cast(tensor_polygamma(m, m.cast(order, np.float64), m.cast(x, np.float64)), np.float32)
    known = (order >= 0) & (m.floor(order) == order) & (order <= LARGEST_ORDER)
    inner = m.where(known, order, 1.0)
    half = 0.5 * inner
    # The factorial times ``unit**-s`` has a moderate size, by Stirling's formula, so the sum is not too small.
    s = inner + 1
    bits = m.maximum(m.log2(s) - _LOG2_E, 0.0)
    # Below 0 as in `polygamma`.
    most = m.floor(_MOST_BITS / s)
    bits = m.where(x < 0, m.minimum(m.floor(bits), most - 1), m.minimum(m.rint(bits), most))
    first = m.floor(0.5 * s)
    factorial = (m.gamma(s) * m.exp2(-bits * first)) * m.exp2(-bits * (s - first))
    size = factorial * _scaled_zeta(m, s, x, m.exp2(-bits))
    result = m.where(inner == 0, m.digamma(x), m.where(m.floor(half) == half, -size, size))
    return m.where(known, result, m.literal(np.nan, x.dtype))
