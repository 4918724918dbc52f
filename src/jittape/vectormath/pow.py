"""Powers: power, integer_power, rsqrt."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import (
    clamp,
    divide,
    fast_two_sum,
    multiply_words,
    polynomial,
    two_product,
    two_sum,
)
from jittape.vectormath.exp import LN2_PARTS, reduce_exponential, times_power_of_two
from jittape.vectormath.log import LOG_SERIES, split_any

__all__ = [
    "exp_in_two_words",
    "exp_of_two_words",
    "integer_power",
    "log_in_two_words",
    "power",
    "power_of_positive",
    "rsqrt",
]

#: 2/3 in two words.
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
#: Arguments below and above which exp rounds to 0 and to infinity.
_EXP_RANGE = (-746.0, 710.0)
#: Largest exponent for which plain products are accurate to 2 units in the last place.
_FEW = 3


def power(m: Any, x: Any, y: Any) -> Any:
    """Return ``x ** y`` as ``exp(y log(|x|))`` with a two-word logarithm; special cases as in C99, annex F.9.4.4.

    float32 is computed in plain float64, which is precise enough.
    """
    positive_power = _power_float32 if x.dtype == np.float32 else power_of_positive
    return _power_edges(m, x, y, positive_power(m, m.absolute(x), y))


def _power_float32(m: Any, x: Any, y: Any) -> Any:
    wide = m.cast(y, np.float64) * m.log(m.cast(x, np.float64))
    return m.cast(m.exp(wide), np.float32)


def power_of_positive(m: Any, x: Any, y: Any) -> Any:
    """Return ``x ** y`` of float64, for positive finite x and finite y."""
    high, low = log_in_two_words(m, x)
    product, error = two_product(m, y, high)
    return exp_of_two_words(m, product, error + y * low)


def exp_of_two_words(m: Any, high: Any, low: Any) -> Any:
    """Return ``exp(high + low)`` of float64; `low` is ignored where the result is zero or infinite."""
    n_bits, rest = _exp_parts(m, clamp(m, high, *_EXP_RANGE), _moderate(m, high, low))
    return times_power_of_two(m, 1 + rest, n_bits)


def exp_in_two_words(m: Any, high: Any, low: Any) -> tuple[tuple[Any, Any], Any]:
    """Return a two-word number between 0.7 and 1.5, and the bits of n, of ``exp(high + low)``, that number times 2**n.

    `times_power_of_two` multiplies by the power. Below ``exp(-1000)``, which is far less than any float64, the result
    is wrong.
    """
    n_bits, rest = _exp_parts(m, clamp(m, high, -1000.0, _EXP_RANGE[1]), _moderate(m, high, low))
    return fast_two_sum(m, m.literal(1, high.dtype), rest), n_bits


def _moderate(m: Any, high: Any, low: Any) -> Any:
    return m.where(m.absolute(high) < 1000, low, 0.0)


def _exp_parts(m: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Return the bits of n and a number that is at most 0.42, with ``exp(high + low) = 2**n (1 + number)``."""
    n_bits, r, tail = reduce_exponential(m, high)
    return n_bits, r + (tail + low * (1 + (r + tail)))


def log_in_two_words(m: Any, x: Any) -> tuple[Any, Any]:
    """Return log(x) to about 2**-64: ``k ln 2 + 2 s + (2/3) s**3 + ...``, with the first terms in two words."""
    ln2_high, ln2_low = LN2_PARTS[8]
    k, f, _ = split_any(m, x)
    s, s_low = divide(m, (f, 0.0), fast_two_sum(m, m.literal(2, x.dtype), f))
    z, z_low = two_product(m, s, s)
    z_low = z_low + 2 * s * s_low
    cubic, cubic_low = two_product(m, z, m.literal(_TWO_THIRDS[0], x.dtype))
    series = (z * z) * polynomial(z, LOG_SERIES[8][1:])
    cubic_low = cubic_low + (z_low * _TWO_THIRDS[0] + z * _TWO_THIRDS[1]) + series
    product, product_low = two_product(m, s, cubic)
    product_low = product_low + (s * cubic_low + s_low * cubic)
    high, low = fast_two_sum(m, 2 * s, product)
    low = low + (product_low + 2 * s_low)
    total, error = two_sum(m, k * ln2_high, high)
    return fast_two_sum(m, total, error + (low + k * ln2_low))


def _power_edges(m: Any, x: Any, y: Any, magnitude: Any) -> Any:
    """Replace the results for zeros, infinities and nan, and set the sign of odd powers."""
    size = m.absolute(x)
    infinity, zero = m.literal(np.inf, x.dtype), m.literal(0, x.dtype)
    whole = m.trunc(y) == y
    odd = whole & (m.trunc(0.5 * y) != 0.5 * y)
    grows = (size > 1) == (y > 0)
    limit = m.where(grows, infinity, zero)
    result = m.where((size == 0) | m.isinf(size) | m.isinf(y), limit, magnitude)
    result = m.where(m.signbit(x) & odd, -result, result)
    result = m.where((x < 0) & m.isfinite(x) & ~whole, m.literal(np.nan, x.dtype), result)
    result = m.where((x != x) | (y != y), x + y, result)
    one = (y == 0) | (x == 1) | ((x == -1) & m.isinf(y))
    return m.where(one, 1.0, result)


def integer_power(m: Any, x: Any, exponent: int) -> Any:
    """Return ``x ** exponent`` by repeated squaring; of floats in two words where one word would lose digits.

    A negative power of an integer is that of NumPy's `power` where defined, else 0.
    """
    if exponent == 0:
        one = m.literal(1, x.dtype)
        return m.where(x == x, one, one)
    if x.dtype.kind != "f":
        return m.power(x, m.literal(exponent, x.dtype)) if exponent < 0 else _product_chain(x, exponent)
    if exponent == -1:
        return 1 / x
    if 0 < exponent <= _FEW:
        return _product_chain(x, exponent)
    base = (x, m.literal(0, x.dtype)) if exponent > 0 else divide(m, (m.literal(1, x.dtype), 0.0), (x, 0.0))
    return _two_word_chain(m, base, abs(exponent))


def _product_chain(x: Any, exponent: int) -> Any:
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else result * x
        x, exponent = x * x, exponent >> 1
    return result


def _two_word_chain(m: Any, base: tuple[Any, Any], exponent: int) -> Any:
    """Raise a two-word number to a power.

    If the result overflows or is zero (a zero has lost its sign), plain products are used, which are right then.
    """
    one = m.literal(1, base[0].dtype)
    result, plain = (one, 0.0), one
    square, plain_square = base, base[0]
    while exponent:
        if exponent & 1:
            result, plain = multiply_words(m, result, square), plain * plain_square
        exponent >>= 1
        if exponent:
            square, plain_square = multiply_words(m, square, square), plain_square * plain_square
    total = result[0] + result[1]
    return m.where(m.isfinite(total) & (total != 0), total, plain)


def rsqrt(m: Any, x: Any) -> Any:
    """Return ``1 / sqrt(x)``."""
    return 1 / m.sqrt(x)
