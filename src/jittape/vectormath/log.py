"""Logarithms: log, log1p, log2, log10.

x = 2**k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]. As in FDLIBM's e_log.c, with s = f / (2 + f),
``log(1 + f) = f - (f**2 / 2 - s (f**2 / 2 + R(s**2)))``, where R is interpolated at Chebyshev nodes (error 2**-64 for
float64, 2**-35 for float32).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.value_classes import NamedTuple
from jittape.vectormath.double_word import fast_two_sum, layout, polynomial, two_product, two_sum
from jittape.vectormath.exp import LN2_PARTS

__all__ = ["LOG_SERIES", "Split", "log", "log1p", "log1p_of_fraction", "log2", "log10", "split", "split_any"]

LOG_SERIES = {
    4: (0.6666666655404201, 0.4000012221181065, 0.28550778633191964, 0.23331614471843498),
    8: (
        0.6666666666666666,
        0.40000000000000885,
        0.28571428570799784,
        0.22222222392581045,
        0.18181795547521137,
        0.15386244737621665,
        0.13268638369266825,
        0.13088034850927555,
    ),
}
#: Bits of sqrt(1/2).
_SQRT_HALF = {4: 0x3F3504F3, 8: 0x3FE6A09E667F3BCD}
#: 1 / ln 2 and 1 / ln 10 in two parts; log10(2) as a part with trailing zeros and the rest.
_LOG2_E = {4: (1.4426950216293335, 1.925963033500011e-08), 8: (1.4426950408889634, 2.0355273740931033e-17)}
_LOG10_E = {4: (0.4342944920063019, -1.0103049952192578e-08), 8: (0.4342944819032518, 1.098319650216765e-17)}
_LOG10_2 = {4: (0.301025390625, 4.605038981195214e-06), 8: (0.301029995663157, 8.241712586023572e-13)}


class Split(NamedTuple):
    """The parts of x = 2**k (1 + f)."""

    k: Any  #: as a float
    f: Any
    exponent: Any  #: k plus the bias, as unsigned


def split(m: Any, x: Any) -> Split:
    """Split a positive normal number."""
    form = layout(x)
    bits = m.bitcast(x, form.unsigned)
    one = form.bias << form.mantissa
    moved = bits + (one - _SQRT_HALF[x.dtype.itemsize])
    exponent = moved >> form.mantissa
    fraction = bits - (exponent << form.mantissa) + one
    # Combining the bits of an integer below 2**mantissa with those of a float of that exponent converts it to float.
    base = 2.0**form.mantissa
    base_bits = (form.bias + form.mantissa) << form.mantissa
    k = m.bitcast(exponent | base_bits, x.dtype) - (base + form.bias)
    return Split(k, m.bitcast(fraction, x.dtype) - 1, exponent)


def split_any(m: Any, x: Any) -> Split:
    """Split a positive number, subnormal or not."""
    form = layout(x)
    subnormal = x < float(2.0 ** (1 - form.bias))
    scale = form.mantissa + 2
    parts = split(m, m.where(subnormal, x * 2.0**scale, x))
    return parts._replace(k=m.where(subnormal, parts.k - scale, parts.k))


def _rest(f: Any, s: Any, half_square: Any) -> Any:
    """Return ``log(1 + f) - f + f**2 / 2``."""
    z = s * s
    return s * (half_square + z * polynomial(z, LOG_SERIES[f.dtype.itemsize]))


def _at_edges(m: Any, result: Any, x: Any) -> Any:
    """Replace the results for 0, negative numbers, infinity and nan."""
    result = m.where(x < np.inf, result, x)
    return m.where(x > 0, result, m.where(x == 0, -np.inf, m.literal(np.nan, x.dtype)))


def log(m: Any, x: Any) -> Any:
    """Return the natural logarithm."""
    high, low = LN2_PARTS[x.dtype.itemsize]
    k, f, _ = split_any(m, x)
    half_square = 0.5 * (f * f)
    rest = _rest(f, f / (2 + f), half_square)
    result = k * high - ((half_square - (rest + k * low)) - f)
    return _at_edges(m, result, x)


def log1p(m: Any, x: Any) -> Any:
    """Return ``log(1 + x)``; the rounding error of 1 + x becomes a correction of f."""
    u, error = two_sum(m, m.literal(1, x.dtype), x)
    result = _log_of_sum(m, u, error)
    edges = m.where(x == -1, -np.inf, m.literal(np.nan, x.dtype))
    result = m.where(x > -1, m.where(x < np.inf, result, x), edges)
    return m.where(x == 0, x, result)


def log1p_of_fraction(m: Any, x: Any) -> Any:
    """Return ``log(1 + x)`` for 0 <= x <= 1; undefined for nan."""
    return _log_of_sum(m, *fast_two_sum(m, m.literal(1, x.dtype), x))


def _log_of_sum(m: Any, u: Any, error: Any) -> Any:
    """Return ``log(u + error)`` for a normal u.

    The error is below half a unit in the last place, so its division by 1 + f is a short series.
    """
    high, low = LN2_PARTS[u.dtype.itemsize]
    form = layout(u)
    k, f, exponent = split(m, u)
    inverse_scale = m.bitcast((2 * form.bias - exponent) << form.mantissa, u.dtype)
    # The error of a large sum is negligible, and its scale may be out of range.
    error = m.where(u < 2.0**form.mantissa, error * inverse_scale, 0.0)
    correction = error * (1 - f * (1 - f * (1 - f)))
    half_square = 0.5 * (f * f)
    rest = _rest(f, f / (2 + f), half_square)
    return k * high - ((half_square - (rest + (k * low + correction))) - f)


def log2(m: Any, x: Any) -> Any:
    """Return the logarithm to base 2."""
    return _log_to_base(m, x, _LOG2_E[x.dtype.itemsize], (1.0, 0.0))


def log10(m: Any, x: Any) -> Any:
    """Return the logarithm to base 10."""
    return _log_to_base(m, x, _LOG10_E[x.dtype.itemsize], _LOG10_2[x.dtype.itemsize])


def _log_to_base(m: Any, x: Any, factor: tuple[float, float], unit: tuple[float, float]) -> Any:
    """Multiply ``log(1 + f)``, in two words, by `factor`, in two words, and add k times `unit`."""
    k, f, _ = split_any(m, x)
    half_square = 0.5 * (f * f)
    high, low = fast_two_sum(m, f, -half_square)
    low = low + _rest(f, f / (2 + f), half_square)
    product, error = two_product(m, high, m.literal(factor[0], x.dtype))
    error = error + (high * factor[1] + low * factor[0])
    total, carry = two_sum(m, k * unit[0], product)
    return _at_edges(m, total + (carry + (error + k * unit[1])), x)
