"""Exponential functions: exp, exp2, expm1.

The argument is split as x = n ln 2 + r with ``|r| <= ln(2) / 2`` (Cody and Waite 1980). The high part of ln 2 has
trailing zero bits, so its product with n is exact. ``exp(r) = 1 + r + r**2 q(r)``, where q is interpolated at Chebyshev
nodes (relative error 2**-62 for float64, 2**-27 for float32). The factor 2**n is applied in two halves, so that results
may be subnormal.
"""

from __future__ import annotations

from typing import Any

from jittape.vectormath.double_word import (
    clamp,
    fast_two_sum,
    layout,
    polynomial,
    round_by_shift,
)

__all__ = [
    "LN2", "LN2_PARTS", "LOG2_E", "exp", "exp2", "exp_of_minus", "expm1", "expm1_parts", "inverse_power_of_two",
    "power_of_two", "reduce_exponential", "second_order", "times_power_of_two",
]  # fmt: skip

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
#: ln 2 in two parts, from FDLIBM (float64) and Cephes (float32).
LN2_PARTS = {4: (0.693359375, -2.1219444e-4), 8: (6.93147180369123816490e-01, 1.90821492927058770002e-10)}
_EXP = {
    4: (0.5, 0.16666576666119928, 0.04166655421298415, 0.008363232883682618, 0.0013926250831497611),
    8: (
        0.5,
        0.1666666666666667,
        0.04166666666666667,
        0.008333333333326084,
        0.0013888888888883711,
        0.0001984126987500228,
        2.480158732567746e-05,
        2.755725517000089e-06,
        2.755727347871858e-07,
        2.5105312729622103e-08,
        2.09147553258932e-09,
    ),
}
#: Limits below which exp rounds to 0 and above which it rounds to infinity; 2**n is representable in two halves.
_RANGE = {4: (-104.5, 89.0), 8: (-746.0, 710.0)}
_RANGE_2 = {4: (-151.0, 129.0), 8: (-1077.0, 1025.0)}


def exp(m: Any, x: Any) -> Any:
    """Return the exponential."""
    x = clamp(m, x, *_RANGE[x.dtype.itemsize])
    n_bits, r, tail = reduce_exponential(m, x)
    return times_power_of_two(m, 1 + (r + tail), n_bits)


def exp2(m: Any, x: Any) -> Any:
    """Return ``2**x``, with r = (x - n) ln 2; the difference is exact."""
    x = clamp(m, x, *_RANGE_2[x.dtype.itemsize])
    n, n_bits = round_by_shift(m, x)
    r = (x - n) * LN2
    return times_power_of_two(m, 1 + (r + _tail(r)), n_bits)


def expm1(m: Any, x: Any) -> Any:
    """Return ``exp(x) - 1`` as ``2**n ((1 - 2**-n) + r + tail)``; below -45 it rounds to -1."""
    limited = clamp(m, x, -45.0, _RANGE[x.dtype.itemsize][1])
    n_bits, high, low = expm1_parts(m, limited)
    return m.copysign(times_power_of_two(m, high + low, n_bits), x)


def expm1_parts(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return (bits of n, high, low) with ``exp(x) - 1 = 2**n (high + low)``, for -45 <= x <= 710."""
    n_bits, r, tail = reduce_exponential(m, x)
    # Above 80, 2**-n is negligible; for larger x its exponent would be out of range.
    start = 1 - m.where(x > 80, 0.0, inverse_power_of_two(m, x, n_bits))
    larger = m.absolute(start) > m.absolute(r)
    high, low = fast_two_sum(m, m.where(larger, start, r), m.where(larger, r, start))
    return n_bits, high, low + tail


def second_order(m: Any, x: Any) -> Any:
    """Return ``exp(x) - 1 - x`` of float64 without cancellation; infinity above 700."""
    n_bits, r, tail = reduce_exponential(m, clamp(m, x, -700.0, 710.0))
    scale = power_of_two(m, x, n_bits)
    # The first sum is small where the result is, and exactly 0 for n = 0.
    return (((scale - 1) - x) + scale * r) + scale * tail


def exp_of_minus(m: Any, x: Any) -> Any:
    """Return ``exp(-x)`` of a float64 that is not negative, but ``exp(-700)`` above 700; cheaper than `exp`."""
    n_bits, r, tail = reduce_exponential(m, m.where(x < 700.0, -x, -700.0))
    return (1 + (r + tail)) * power_of_two(m, x, n_bits)


def reduce_exponential(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return (bits of n, r, tail) with ``exp(x) = 2**n (1 + r + tail)``."""
    high, low = LN2_PARTS[x.dtype.itemsize]
    n, n_bits = round_by_shift(m, x * LOG2_E)
    r = (x - n * high) - n * low
    return n_bits, r, _tail(r)


def power_of_two(m: Any, like: Any, n_bits: Any) -> Any:
    """Return ``2**n`` for n in the range of normal exponents."""
    form = layout(like)
    return m.bitcast((n_bits - (form.shift_bits - form.bias)) << form.mantissa, like.dtype)


def inverse_power_of_two(m: Any, like: Any, n_bits: Any) -> Any:
    """Return ``2**-n`` for n up to the bias of the format."""
    form = layout(like)
    return m.bitcast((form.shift_bits + form.bias - n_bits) << form.mantissa, like.dtype)


def times_power_of_two(m: Any, y: Any, n_bits: Any) -> Any:
    """Return ``y * 2**n``, rounded once; n may exceed the range of normal exponents by a factor of two.

    The last product is not contracted with a sum that follows: it may overflow, and ``exp(inf) - inf`` must be nan.
    """
    form = layout(y)
    exponents = n_bits - (form.shift_bits - 2 * form.bias)
    half = exponents >> 1
    rest = exponents - half
    scaled = y * m.bitcast(half << form.mantissa, y.dtype)
    return m.rounded_multiply(scaled, m.bitcast(rest << form.mantissa, y.dtype))


def _tail(r: Any) -> Any:
    """Return ``exp(r) - 1 - r``."""
    return (r * r) * polynomial(r, _EXP[r.dtype.itemsize])
