"""The derivatives of digamma, polygamma, by the Euler-Maclaurin formula for the Hurwitz zeta function (DLMF 25.11.28).

float32 is computed in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.vectormath.double_word import polynomial, two_sum
from jittape.vectormath.sin import moderate_tan

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


def polygamma(m: Any, x: Any, order: int) -> Any:
    """Return the derivative of digamma of order 1 or more; infinite or nan at 0 and the negative integers.

    Below 0 it is ``(-1)**n polygamma(1 - x)`` minus the derivative of ``pi cot(pi x)`` (DLMF 5.15.6).
    """
    if x.dtype == np.float32:
        return m.cast(polygamma(m, m.cast(x, np.float64), order), np.float32)
    factorial = float(math.factorial(order)) if order <= 170 else math.inf
    sign = 1.0 if order % 2 else -1.0
    argument = m.where(x < 0, 1 - x, x)
    zeta = _zeta_of_integer(m, order + 1, m.where(argument == np.inf, 1.0, argument))
    positive = sign * m.where(argument == np.inf, 0.0, factorial * zeta)
    r = x - m.rint(x)
    reflected = -sign * positive - _cotangent_derivative(m, order, r)
    pole = m.literal(np.inf if order % 2 else np.nan, x.dtype)
    reflected = m.where(
        (r == 0) & m.isfinite(x), pole, m.where(m.isfinite(x), reflected, m.literal(np.nan, x.dtype))
    )
    at_zero = m.literal(np.inf, x.dtype) if order % 2 else m.copysign(np.inf, -x)
    return m.where(x < 0, reflected, m.where(x == 0, at_zero, positive))


def _zeta_of_integer(m: Any, s: int, q: Any) -> Any:
    """Return the sum of ``(q + k)**-s`` over k from 0, for finite q > 0 and an integer s of at least 2."""
    w, w_error = two_sum(m, q, m.literal(_HEAD, q.dtype))
    inverse = 1 / w
    square = inverse * inverse
    coefficients, rising = [], 1.0
    for k, number in enumerate(_BERNOULLI):
        rising *= s if k == 0 else (s + 2 * k - 1) * (s + 2 * k)
        coefficients.append(number * rising)
    rest = inverse * (0.5 + inverse * polynomial(square, tuple(coefficients)))
    total = m.integer_power(w, 1 - s) * ((1 / (s - 1) + rest) - w_error * inverse)
    for k in reversed(range(1, _HEAD)):
        base, error = two_sum(m, q, m.literal(k, q.dtype))
        power = m.integer_power(base, -s)
        total = total + (power - power * (s * error / base))
    return total + m.integer_power(q, -s)


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
    cotangent = 1 / moderate_tan(m, np.pi * r)
    scale = math.pi ** (order + 1)
    return (1 + cotangent * cotangent) * polynomial(cotangent, tuple([scale * c for c in coefficients]))
