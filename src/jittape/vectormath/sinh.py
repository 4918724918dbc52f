"""Hyperbolic functions, sigmoid and softplus."""

from __future__ import annotations

from typing import Any

from jittape.vectormath.double_word import divide, fast_two_sum, polynomial, two_sum
from jittape.vectormath.exp import (
    inverse_power_of_two,
    reduce_exponential,
    times_power_of_two,
)
from jittape.vectormath.log import log1p_of_fraction

__all__ = ["cosh", "sigmoid", "sinh", "softplus", "tanh"]

#: ``(sinh(x) / x - 1) / z`` in z = x**2 on [0, 1], interpolated at Chebyshev nodes.
_SINH = {
    4: (0.16666666646762462, 0.008333339695044161, 0.00019838095593111222, 2.806331253637132e-06),
    8: (
        0.16666666666666666,
        0.008333333333333299,
        0.00019841269841324471,
        2.7557319191250885e-06,
        2.50521177239532e-08,
        1.6057676882739475e-10,
        7.746278224810715e-13,
    ),
}
#: Sizes above which sinh and cosh overflow.
_OVERFLOW = {4: 90.0, 8: 711.0}
#: Argument x above which ``tanh(x / 2)`` rounds to 1.
_FLAT = 45.0
#: Arguments below which exp rounds to 0.
_LEAST = {4: -104.5, 8: -746.0}


def _half_exp(m: Any, size: Any) -> Any:
    """Return ``exp(size) / 2``, which overflows only if sinh and cosh do."""
    limit = _OVERFLOW[size.dtype.itemsize]
    n_bits, r, tail = reduce_exponential(m, m.where(size > limit, limit, size))
    return times_power_of_two(m, 0.5 + 0.5 * (r + tail), n_bits)


def sinh(m: Any, x: Any) -> Any:
    """Return the hyperbolic sine: a polynomial below 1, h - 1 / (4 h) with h = exp(|x|) / 2 above."""
    size = m.absolute(x)
    half = _half_exp(m, size)
    large = half - 0.25 / half
    z = x * x
    small = size + size * (z * polynomial(z, _SINH[x.dtype.itemsize]))
    return m.copysign(m.where(size < 1, small, large), x)


def cosh(m: Any, x: Any) -> Any:
    """Return the hyperbolic cosine: h + 1 / (4 h) with h = exp(|x|) / 2."""
    half = _half_exp(m, m.absolute(x))
    return half + 0.25 / half


def tanh(m: Any, x: Any) -> Any:
    """Return the hyperbolic tangent: E / (E + 2) with E = expm1(2 |x|), both divided by 2**n."""
    size = 2 * m.absolute(x)
    size = m.where(size > _FLAT, _FLAT, size)
    n_bits, r, tail = reduce_exponential(m, size)
    inverse = inverse_power_of_two(m, x, n_bits)
    # n is not negative, so 1 - 2**-n is 0 or exceeds r.
    high, low = fast_two_sum(m, 1 - inverse, r)
    numerator = fast_two_sum(m, high, low + tail)
    total, error = two_sum(m, numerator[0], 2 * inverse)
    quotient, rest = divide(m, numerator, (total, error + numerator[1]))
    return m.copysign(quotient + rest, x)


def sigmoid(m: Any, x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``, as ``exp(x) / (1 + exp(x))`` below 0."""
    e = _exp_of_minus(m, m.absolute(x))
    denominator = fast_two_sum(m, m.literal(1, x.dtype), e)
    quotient, rest = divide(m, (m.where(x < 0, e, 1.0), 0.0), denominator)
    return quotient + rest


def softplus(m: Any, x: Any) -> Any:
    """Return ``log(1 + exp(x))``, as ``max(x, 0) + log1p(exp(-|x|))``."""
    return m.where(x <= 0, 0.0, x) + log1p_of_fraction(m, _exp_of_minus(m, m.absolute(x)))


def _exp_of_minus(m: Any, size: Any) -> Any:
    """Return ``exp(-size)`` for a size of at least 0, almost correctly rounded."""
    least = _LEAST[size.dtype.itemsize]
    n_bits, r, tail = reduce_exponential(m, m.where(-size < least, least, -size))
    high, low = fast_two_sum(m, m.literal(1, size.dtype), r)
    return times_power_of_two(m, high + (low + tail), n_bits)
