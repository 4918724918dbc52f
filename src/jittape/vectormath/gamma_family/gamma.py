"""The gamma function, and the factor ``x**a exp(-x) / gamma(a + 1)`` of the incomplete gamma functions.

Below 8, ``gamma(x)`` is a product of factors that are exact times a polynomial for gamma on [1, 5/2]. Above, it is the
exponential of Stirling's series (DLMF 5.11.1), with the exponent in two words. Negative arguments use the reflection
formula (DLMF 5.5.3). float32 is computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.value_classes import NamedTuple
from jittape.vectormath.double_word import (
    divide,
    fast_two_sum,
    multiply_words,
    polynomial,
    sqrt_in_two_words,
    two_product,
    two_sum,
)
from jittape.vectormath.exp import times_power_of_two
from jittape.vectormath.gamma_family.lgamma import STIRLING
from jittape.vectormath.log import LOG_SERIES
from jittape.vectormath.pow import exp_in_two_words, exp_of_two_words, log_in_two_words

__all__ = [
    "HALF_LOG_2_PI",
    "Scaled",
    "betaln",
    "gamma",
    "power_over_gamma",
    "power_over_gamma_parts",
    "small_gamma",
    "stirling_correction",
]

#: ``gamma(1 + u)`` in u - 3/4 on [0, 3/2], interpolated at Chebyshev nodes.
_GAMMA = (
    0.9190625268488832,
    0.22744265848227097,
    0.3792715940252037,
    0.003147157784776732,
    0.08731925662141728,
    -0.023190912131988175,
    0.021581551170790112,
    -0.010487492916635458,
    0.0065153058591428566,
    -0.003647181321740498,
    0.0021114520571374968,
    -0.0012060009542479047,
    0.0006908387424732372,
    -0.00039513374212063896,
    0.00022595120681844692,
    -0.00012884461473143508,
    7.364512164832121e-05,
    -4.314805016465049e-05,
    2.465859533118909e-05,
    -1.1671408612988093e-05,
    6.669714860154749e-06,
    -7.581186668198694e-06,
    4.332152553013147e-06,
    1.338966654073077e-06,
    -7.651188478974209e-07,
    -1.8232349352104824e-06,
    1.0418498505133463e-06,
)
#: log(sqrt(2 pi)) in two words.
HALF_LOG_2_PI = (0.9189385332046728, -3.878294158067242e-17)
#: sqrt(2 pi) in two words.
_SQRT_2_PI = (2.5066282746310007, -1.8328579980459167e-16)
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
#: Smallest argument of Stirling's series.
_LARGE = 8.0
#: Above it, gamma overflows and its reciprocal rounds to 0.
_OVERFLOW = 190.0
#: Below it, gamma(x) rounds to 1 / x, which may be infinite.
_TINY = 1e-300
#: Largest ``|x - a| / (x + a)`` for which the series for log(x / a) is used.
_NEAR = 0.17


class Scaled(NamedTuple):
    """A two-word number of moderate size, to be multiplied by a power of two."""

    words: tuple[Any, Any]
    n_bits: Any  #: as of `exp_in_two_words`

    def times(self, m: Any, other: tuple[Any, Any]) -> Any:
        """Return the product with a two-word number, rounded."""
        high, low = multiply_words(m, self.words, other)
        return times_power_of_two(m, high + low, self.n_bits)


def gamma(m: Any, x: Any) -> Any:
    """Return the gamma function; nan at the negative integers."""
    if x.dtype == np.float32:
        return m.cast(gamma(m, m.cast(x, np.float64)), np.float32)
    size = m.absolute(x)
    limited = m.where(size < _OVERFLOW, size, _OVERFLOW)
    negative = x < 0
    (high, low), next_gamma = small_gamma(m, m.where(limited < _LARGE, limited, 1.0))
    exponent, exponent_low = _log_gamma_in_two_words(m, m.where(limited < _LARGE, _LARGE, limited))
    large = exp_of_two_words(
        m, m.where(negative, -exponent, exponent), m.where(negative, -exponent_low, exponent_low)
    )
    # gamma(-y) = -pi / (y sin(pi y) gamma(y))
    r = size - 2 * m.rint(0.5 * size)
    r = m.where(m.absolute(r) > 0.5, m.copysign(1 - m.absolute(r), r), r)
    sine = -m.sin(np.pi * r)
    small = m.where(limited < _TINY, 1 / limited, high + low)
    positive = m.where(limited < _LARGE, small, large)
    reflected = m.where(
        limited < _LARGE, np.pi / (sine * (next_gamma[0] + next_gamma[1])), np.pi * large / (limited * sine)
    )
    reflected = m.where((r == 0) | ~m.isfinite(x), m.literal(np.nan, x.dtype), reflected)
    result = m.where(negative, reflected, m.where(size < _OVERFLOW, positive, size * np.inf))
    return m.where(x == 0, m.copysign(np.inf, x), result)


def small_gamma(m: Any, x: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return gamma(x) and x gamma(x) in two words, of x between 0 and 8.

    With x - 1 = steps + u, the factors (u + 1) (u + 2) ... are differences of x and integers: they are exact.
    """
    one, zero = m.literal(1, x.dtype), m.literal(0, x.dtype)
    steps = m.floor(x + 0.5) - 2
    steps = m.where(steps > 0, steps, zero)
    first = x < 1
    u = m.where(first, x, (x - 1) - steps)
    product, product_low = one, zero
    for step in range(1, 7):
        factor = m.where(steps >= step, u + step, one)
        product, error = two_product(m, product, factor)
        product_low = product_low * factor + error
    v = u - 0.75
    base, base_low = fast_two_sum(m, m.literal(_GAMMA[0], x.dtype), v * polynomial(v, _GAMMA[1:]))
    high, low = two_product(m, base, product)
    low = low + (base * product_low + base_low * product)
    divided, divided_low = divide(m, (base, base_low), (x, zero))
    result = (m.where(first, divided, high), m.where(first, divided_low, low))
    following, following_low = multiply_words(m, (high, low), (x, zero))
    return result, (m.where(first, base, following), m.where(first, base_low, following_low))


def _log_gamma_in_two_words(m: Any, x: Any) -> tuple[Any, Any]:
    """Return the logarithm of gamma, of x of at least 8."""
    logarithm, logarithm_low = log_in_two_words(m, x)
    high, low = two_product(m, x - 0.5, logarithm)
    low = low + (x - 0.5) * logarithm_low
    high, error = two_sum(m, high, -x)
    low = low + error
    high, error = two_sum(m, high, m.literal(HALF_LOG_2_PI[0], x.dtype))
    return two_sum(m, high, low + (error + HALF_LOG_2_PI[1] + stirling_correction(x)))


def stirling_correction(x: Any) -> Any:
    """Return ``log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2``, of x of at least 8."""
    inverse = 1 / x
    return inverse * polynomial(inverse * inverse, STIRLING)


def power_over_gamma(m: Any, a: Any, x: Any) -> Scaled:
    """Return ``x**a exp(-x) / gamma(a + 1)`` of positive finite float64 numbers."""
    exponent, divisor = power_over_gamma_parts(m, a, x)
    power, n_bits = exp_in_two_words(m, *exponent)
    return Scaled(divide(m, power, divisor), n_bits)


def power_over_gamma_parts(
    m: Any, a: Any, x: Any, x_low: Any = 0.0
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return an exponent and a divisor of `power_over_gamma`, both in two words; x may have two words.

    For a of at least 8 they are ``-a (y - 1 - log(y)) - correction``, with y = x / a, and ``sqrt(2 pi a)``. An absolute
    error of the exponent is a relative error of the result.
    """
    small = a < _LARGE
    ratio, ratio_low = divide(m, (x, 0.0), (m.where(small, 1.0, a), 0.0))
    logarithm, logarithm_low = log_in_two_words(m, ratio)
    logarithm_low = logarithm_low + (ratio_low / ratio + x_low / x)
    high, low = two_product(m, a, logarithm)
    low = low + a * logarithm_low
    excess, excess_low = two_sum(m, x, m.where(small, 0.0, -a))
    far, error = two_sum(m, high, -excess)
    far_low = low + (error - (excess_low + x_low))
    near, near_low, is_near = _near_exponent(m, m.where(small, 1.0, a), x, x_low)
    is_near = is_near & ~small
    exponent, exponent_low = m.where(is_near, near, far), m.where(is_near, near_low, far_low)
    corrected = exponent_low - stirling_correction(m.where(small, _LARGE, a))
    _, gamma_of_next = small_gamma(m, m.where(small, a, 1.0))
    root = multiply_words(m, sqrt_in_two_words(m, m.where(small, 1.0, a)), _SQRT_2_PI)
    divisor = tuple([m.where(small, word, other) for word, other in zip(gamma_of_next, root, strict=True)])
    return two_sum(m, exponent, m.where(small, exponent_low, corrected)), divisor


def _near_exponent(m: Any, a: Any, x: Any, x_low: Any) -> tuple[Any, Any, Any]:
    """Return ``-a (x/a - 1 - log(x/a))`` in two words, and whether x / a is so near 1 that the result is valid.

    With s = (x - a) / (x + a), the logarithm is ``2 s + (2/3) s**3 + ...``, and the result
    ``(2/3) a s**3 + ... - (x - a) s``.
    """
    difference, difference_low = two_sum(m, x, -a)
    difference_low = difference_low + x_low
    total, total_low = two_sum(m, x, a)
    s, s_low = divide(m, (difference, difference_low), (total, total_low + x_low))
    s, s_low = fast_two_sum(m, s, s_low)
    is_near = m.absolute(s) < _NEAR
    square, square_low = two_product(m, difference, s)
    square_low = square_low + (difference * s_low + difference_low * s)
    z = s * s
    z_low = m.fma(s, s, -z) + 2 * s * s_low
    scaled, scaled_low = two_product(m, a, s)
    scaled_low = scaled_low + a * s_low
    cubic, cubic_low = two_product(m, z, m.literal(_TWO_THIRDS[0], a.dtype))
    cubic_low = cubic_low + z_low * _TWO_THIRDS[0] + z * _TWO_THIRDS[1]
    cubic_low = cubic_low + (z * z) * polynomial(z, LOG_SERIES[8][1:])
    series, series_low = two_product(m, scaled, cubic)
    series_low = series_low + (scaled * cubic_low + scaled_low * cubic)
    high, low = two_sum(m, series, -square)
    return *two_sum(m, high, low + (series_low - square_low)), is_near


def _betaln_of_small(m: Any, p: Any, q: Any) -> Any:
    """Return `betaln` of float64 numbers p <= q between 0 and 8, the logarithm of a product of gamma functions.

    Differences of logarithms and the rounding of p + q cost up to 18 units in the last place; this loses 2. Numbers
    whose gamma function may overflow are multiplied by a power of two: gamma(x) is 1 / x there.
    """
    p_scale, q_scale = (m.where(x < 1e-200, 2.0**300, m.literal(1, x.dtype)) for x in (p, q))
    total = p + q
    error = p - (total - q)
    (high_p, low_p), _ = small_gamma(m, p * p_scale)
    (high_q, low_q), _ = small_gamma(m, q * q_scale)
    product = (high_p + low_p) * ((high_q + low_q) / gamma(m, total * q_scale))
    slope = m.where(total > 1, m.log(m.where(total > 1, total, 1.0)) - 0.5 / total, 0.0)
    scaling = m.where(p < 1e-200, 300 * np.log(2.0), m.literal(0, p.dtype))
    return m.log(product) + scaling - error * slope


def betaln(m: Any, x: Any, y: Any) -> Any:
    """Return the logarithm of the beta function; nan for negative arguments.

    If the larger argument is at least 8, Stirling's series replaces the differences of large logarithms (Didonato and
    Morris, ACM TOMS 18, 1992).
    """
    if x.dtype == np.float32:
        return m.cast(betaln(m, m.cast(x, np.float64), m.cast(y, np.float64)), np.float32)
    less, more = m.where(x < y, x, y), m.where(x < y, y, x)
    p, q = m.where(less > 0, less, 1.0), m.where(more > _LARGE, more, _LARGE)
    log_ratio = m.log1p(p / q)
    large_p = m.where(p > _LARGE, p, _LARGE)
    corrections = stirling_correction(q) - stirling_correction(p + q)
    both = stirling_correction(large_p) - 0.5 * m.log(q) + HALF_LOG_2_PI[0]
    both = both + (large_p - 0.5) * m.log(large_p / (large_p + q)) - q * log_ratio
    one = m.lgamma(m.where(p < _LARGE, p, 1.0)) - (q - 0.5) * log_ratio - p * (m.log(p + q) - 1)
    large = m.where(p < _LARGE, one, both) + corrections
    none = _betaln_of_small(
        m, m.where(p < _LARGE, p, 1.0), m.where(more < _LARGE, m.where(more > 0, more, 1.0), 1.0)
    )
    result = m.where(more < _LARGE, none, large)
    result = m.where(less == 0, np.inf, m.where(more == np.inf, -np.inf, result))
    undefined = ~(less >= 0) | ~(more >= 0) | ((less == 0) & (more == np.inf))
    return m.where(undefined, m.literal(np.nan, x.dtype), result)
