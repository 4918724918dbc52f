"""Trigonometric functions and their inverses.

Arguments of sin, cos and tan are reduced by three words of pi/2 with fused multiply-adds (Cody and Waite 1980), which
is accurate up to `_LIMIT`. The rare larger arguments and infinity are passed to the C library (its Payne-Hanek
reduction), see `libm_fallback`. The error of glibc is 14 units in the last place at the float64 whose cosine is
hardest, 6381956970095103 * 2**797, and less than 1 elsewhere in the tests. Polynomials are interpolated at Chebyshev
nodes. They are added to the low word of the reduced argument as in FDLIBM's k_sin.c and k_cos.c.
"""

from __future__ import annotations

from typing import Any

from jittape.vectormath.double_word import (
    divide,
    fast_two_sum,
    layout,
    polynomial,
    round_by_shift,
    two_product,
    two_sum,
)

__all__ = ["arccos", "arcsin", "arctan", "arctan2", "cos", "moderate_tan", "sin", "tan"]

_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = {
    4: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    8: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
_LIMIT = {4: 1e5, 8: 1e9}
#: ``(sin(r) / r - 1) / z`` and ``(cos(r) - 1 + z / 2) / z**2`` in z = r**2, up to r = pi/4.
_SIN = {
    4: (-0.16666666663844049, 0.008333331870341349, -0.00019840084376422702, 2.724962008007533e-06),
    8: (
        -0.16666666666666666,
        0.008333333333330936,
        -0.00019841269836740532,
        2.7557316093198404e-06,
        -2.5051129896450185e-08,
        1.5917988979397435e-10,
    ),
}
_COS = {
    4: (0.04166666465348879, -0.001388830186756237, 2.454768977246003e-05),
    8: (
        0.041666666666666664,
        -0.0013888888888887389,
        2.48015872987544e-05,
        -2.755731726587808e-07,
        2.087614504941318e-09,
        -1.138254464534925e-11,
    ),
}
#: ``(atan(t) / t - 1) / z`` in z = t**2, up to t = tan(pi/8).
_ATAN = {
    4: (
        -0.3333333175381697,
        0.1999953879477192,
        -0.14263897112598675,
        0.1074309966767457,
        -0.06449835224591496,
    ),
    8: (
        -0.3333333333333333,
        0.1999999999999548,
        -0.14285714284657894,
        0.11111111014561013,
        -0.09090904549884611,
        0.07692182535116648,
        -0.06664502215671447,
        0.058580687568615106,
        -0.05085030492810941,
        0.03921955253255129,
        -0.019162068915902577,
    ),
}
#: ``(asin(x) / x - 1) / z`` in z = x**2, up to x = 1/2.
_ASIN = {
    4: (
        0.1666666633654049,
        0.07500094761172901,
        0.04459931916287114,
        0.031101727829067168,
        0.017143716819253568,
        0.03370072632136513,
    ),
    8: (
        0.16666666666666669,
        0.07499999999998425,
        0.04464285714637338,
        0.030381944137085216,
        0.022372173002005596,
        0.017352391265909227,
        0.013971235301124539,
        0.011478952690257387,
        0.010324318288744113,
        0.00545087818772055,
        0.017419357964884856,
        -0.014881409392818066,
        0.02877844261259304,
    ),
}
_TAN_PI_8 = 0.41421356237309503


def _reduce(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return x - n pi/2 in two words, and the bits of n."""
    first, second, third = _HALF_PI[x.dtype.itemsize]
    n, n_bits = round_by_shift(m, x * _TWO_OVER_PI)
    exact_difference = m.fma(-n, first, x)
    product, product_error = two_product(m, n, m.literal(second, x.dtype))
    high, low = two_sum(m, exact_difference, -product)
    return *fast_two_sum(m, high, low - (product_error + n * third)), n_bits


def _sin_parts(r: Any, low: Any, z: Any) -> Any:
    """Return ``sin(r + low) - r``."""
    return r * (z * polynomial(z, _SIN[r.dtype.itemsize])) + low * (1 - 0.5 * z)


def _cos_parts(m: Any, r: Any, low: Any, z: Any) -> tuple[Any, Any]:
    """Return ``cos(r + low)`` in two words."""
    half = 0.5 * z
    high = m.rounded_add(1.0, -half)
    error = m.rounded_add(m.rounded_add(1.0, -high), -half)
    return high, error + (z * z * polynomial(z, _COS[r.dtype.itemsize]) - r * low)


def _is_large(m: Any, x: Any) -> Any:
    return m.absolute(x) >= _LIMIT[x.dtype.itemsize]


def _quarter_turn(m: Any, x: Any, turns: int) -> Any:
    """Return ``sin(x + turns * pi/2)`` of a moderate x."""
    r, low, n_bits = _reduce(m, x)
    z = r * r
    sine = r + _sin_parts(r, low, z)
    cosine_high, cosine_low = _cos_parts(m, r, low, z)
    n = n_bits + turns
    result = m.where((n & 1) == 0, sine, cosine_high + cosine_low)
    return m.where((n & 2) == 0, result, -result)


def sin(m: Any, x: Any) -> Any:
    """Return the sine."""
    result = m.where(x == 0, x, _quarter_turn(m, x, 0))
    return m.rarely(_is_large(m, x), "sin", x, result)


def cos(m: Any, x: Any) -> Any:
    """Return the cosine."""
    return m.rarely(_is_large(m, x), "cos", x, _quarter_turn(m, x, 1))


def tan(m: Any, x: Any) -> Any:
    """Return the tangent."""
    result = m.where(x == 0, x, moderate_tan(m, x))
    return m.rarely(_is_large(m, x), "tan", x, result)


def moderate_tan(m: Any, x: Any) -> Any:
    """Return the tangent of x below `_LIMIT`: sin / cos, or -cos / sin for odd n, in two words."""
    r, low, n_bits = _reduce(m, x)
    z = r * r
    sine = fast_two_sum(m, r, _sin_parts(r, low, z))
    cosine = fast_two_sum(m, *_cos_parts(m, r, low, z))
    even = (n_bits & 1) == 0
    numerator = (m.where(even, sine[0], -cosine[0]), m.where(even, sine[1], -cosine[1]))
    denominator = (m.where(even, cosine[0], sine[0]), m.where(even, cosine[1], sine[1]))
    quotient, rest = divide(m, numerator, denominator)
    return quotient + rest


def arctan(m: Any, x: Any) -> Any:
    """Return the inverse tangent."""
    size = m.absolute(x)
    # Limit the argument so that its inverse does not underflow; the angle rounds to pi/2 anyway.
    size = m.where(size > 1e20, 1e20, size)
    quarters, t, rest = _first_quadrant(m, size, m.literal(1, x.dtype))
    return m.copysign(_add_quarters(m, quarters, t, rest), x)


def arctan2(m: Any, y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y), with the special cases of C99."""
    a, b = m.absolute(y), m.absolute(x)
    a, b = _scale_pair(m, a, b)
    infinite = m.isinf(x) & m.isinf(y)
    zero = (x == 0) & (y == 0)
    a = m.where(infinite, 1.0, m.where(zero, 0.0, m.where(m.isinf(y), 1.0, m.where(m.isinf(x), 0.0, a))))
    b = m.where(infinite | zero, 1.0, m.where(m.isinf(y), 0.0, m.where(m.isinf(x), 1.0, b)))
    quarters, t, rest = _first_quadrant(m, a, b)
    negative = m.signbit(x)
    quarters = m.where(negative, 4 - quarters, quarters)
    angle = _add_quarters(m, quarters, m.where(negative, -t, t), m.where(negative, -rest, rest))
    return m.where((x != x) | (y != y), x + y, m.copysign(angle, y))


def _scale_pair(m: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Scale both by a power of two, so that their sum does not overflow and their inverses are finite."""
    form = layout(a)
    largest = m.where(a > b, a, b)
    far = 2.0 ** (form.bias // 2)
    factor = m.where(largest > far, 1 / far, m.where(largest < 1 / far, far, m.literal(1, a.dtype)))
    return a * factor, b * factor


def _first_quadrant(m: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Return quarters, t, rest with the angle of (b, a) as ``quarters * pi/4 + t + rest``.

    The tangent is reduced below tan(pi/8) by the angles 0, pi/4 and pi/2, to a / b, (a - b) / (a + b) and -b / a.
    """
    low_third, high_third = a < _TAN_PI_8 * b, b < _TAN_PI_8 * a
    difference, difference_error = two_sum(m, a, -b)
    total, total_error = two_sum(m, a, b)
    zero = m.literal(0, a.dtype)
    edge = low_third | high_third
    numerator = m.where(low_third, a, m.where(high_third, -b, difference))
    denominator = m.where(low_third, b, m.where(high_third, a, total))
    errors = (m.where(edge, zero, difference_error), m.where(edge, zero, total_error))
    t, t_low = divide(m, (numerator, errors[0]), (denominator, errors[1]))
    z = t * t
    rest = t * (z * polynomial(z, _ATAN[a.dtype.itemsize])) + t_low
    return m.where(low_third, zero, m.where(high_third, 2.0, zero + 1)), t, rest


def _add_quarters(m: Any, quarters: Any, t: Any, rest: Any) -> Any:
    """Return ``quarters * pi/4 + t + rest``, with multiples 1, 2, 4 (and 3, rounded) of pi/4 in two words."""
    high, low, _ = _HALF_PI[t.dtype.itemsize]
    base, base_error = two_product(m, quarters, m.literal(0.5 * high, t.dtype))
    total, error = two_sum(m, base, t)
    return total + (error + ((base_error + quarters * (0.5 * low)) + rest))


def arcsin(m: Any, x: Any) -> Any:
    """Return the inverse sine: the series below 1/2, pi/2 - 2 asin(sqrt((1 - x) / 2)) above."""
    size = m.absolute(x)
    high, low, _ = _HALF_PI[x.dtype.itemsize]
    small, root, root_low, rest = _arcsin_parts(m, size)
    doubled = 2 * root
    total, error = fast_two_sum(m, m.literal(high, x.dtype), -doubled)
    far = total + (error + (low - 2 * (rest + root_low)))
    return m.copysign(m.where(small, root + rest, far), x)


def arccos(m: Any, x: Any) -> Any:
    """Return the inverse cosine: pi/2 - asin(x) if the size of x is below 1/2.

    Otherwise it is 2 asin(sqrt((1 - x) / 2)) for positive x, and pi minus the result for -x for negative x.
    """
    high, low, _ = _HALF_PI[x.dtype.itemsize]
    small, root, root_low, rest = _arcsin_parts(m, m.absolute(x))
    signed, signed_rest = m.copysign(root, x), m.where(x < 0, -rest, rest)
    total, error = fast_two_sum(m, m.literal(high, x.dtype), -signed)
    near = total + (error + (low - signed_rest))
    positive = 2 * (root + (rest + root_low))
    total, error = fast_two_sum(m, m.literal(2 * high, x.dtype), -2 * root)
    negative = total + (error + (2 * low - 2 * (rest + root_low)))
    return m.where(small, near, m.where(x < 0, negative, positive))


def _arcsin_parts(m: Any, size: Any) -> tuple[Any, Any, Any, Any]:
    """Return (size < 1/2, t, low word of t, asin(t) - t) with t = size or sqrt((1 - size) / 2).

    Above 1, t is nan.
    """
    small = size < 0.5
    z_far = 0.5 * (1 - size)
    z = m.where(small, size * size, z_far)
    root = m.sqrt(z_far)
    t = m.where(small, size, root)
    remainder = m.fma(-root, root, z_far)
    root_low = m.where(small | (z_far == 0), 0.0, 0.5 * remainder / root)
    return small, t, root_low, t * (z * polynomial(z, _ASIN[size.dtype.itemsize]))
