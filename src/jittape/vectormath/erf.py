"""The error function erf and its complement erfc.

Below 1, erf is an odd polynomial. erfc is ``exp(-x**2) g / (1 + 2 x)``, where g is a polynomial in
``(x - 4) / (x + 4)``. This is the form of Shepherd and Laframboise, Math. Comp. 36, 1981, evaluated in two words. All
coefficients are interpolated at Chebyshev nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import (
    divide,
    fast_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from jittape.vectormath.exp import reduce_exponential, times_power_of_two

__all__ = ["erf", "erfc", "scaled_erfc"]

#: ``erf(x) / x - 1`` in z = x**2 on [0, 1].
_ERF = {
    4: (
        0.12837916584006187,
        -0.3761262659768305,
        0.11283593800597223,
        -0.026854168335587104,
        0.005188994224217016,
        -0.0008015956189706265,
        7.872582762234845e-05,
    ),
    8: (
        0.1283791670955126,
        -0.3761263890318375,
        0.11283791670954876,
        -0.02686617064507627,
        0.005223977624812638,
        -0.0008548326980509413,
        0.00012055331099279798,
        -1.4925594957596026e-05,
        1.6460995338195411e-06,
        -1.6350256278696497e-07,
        1.4659383821340068e-08,
        -1.1371291831047954e-09,
        5.954471583153482e-11,
    ),
}
#: ``log(erfc(x))`` on [1, 4].
_LOG_ERFC_FLOAT32 = (
    0.0003209143829899536,
    -1.1302367226333574,
    -0.6318202467817906,
    -0.11008568029183151,
    0.02642437092729083,
    -0.004760747710826218,
    0.0005970529461310062,
    -4.608744728982591e-05,
    1.6386373248754714e-06,
)
#: ``(1 + 2 x) exp(x**2) erfc(x)`` in t = (x - 4) / (x + 4), for x up to 10.3 and 28.
_ERFC_FLOAT32 = (
    1.2329951185573873,
    -0.13962113355991823,
    0.015379651653969328,
    0.06809796642666346,
    -0.10103815976107106,
    0.09371948457518608,
    -0.06635375587039768,
    0.037231133590171724,
    -0.016018709246970225,
    0.005030526749850608,
    -0.0011545072474871145,
    -0.0006483392729220527,
)
_ERFC_FLOAT64 = (
    1.2329951186255526,
    -0.1396211168405629,
    0.01537965210262074,
    0.06809705425473732,
    -0.10103906603635213,
    0.09373283499679412,
    -0.06633036581152939,
    0.03716751556249286,
    -0.016197734059115006,
    0.005031969755895426,
    -0.00075777334141333,
    -0.00019925550755614952,
    0.000150622243948303,
    -2.4403169244974074e-05,
    -1.1224789135154701e-05,
    5.7178872846321855e-06,
    3.0135049944875397e-07,
    -8.351619688696847e-07,
    6.270727157198311e-08,
    1.1534943745754157e-07,
    -7.71541861441783e-09,
    -1.3670989863347383e-08,
    -1.8206098680308682e-09,
)
#: Sizes above which erf rounds to 1, and erfc to 0.
_ERF_FLAT = {4: 4.0, 8: 6.0}
_ERFC_FLAT = {4: 10.3, 8: 28.0}


def erf(m: Any, x: Any) -> Any:
    """Return the error function."""
    size = m.absolute(x)
    flat = _ERF_FLAT[x.dtype.itemsize]
    limited = m.where(size > flat, flat, size)
    if x.dtype == np.float32:
        large = 1 - m.exp(polynomial(limited, _LOG_ERFC_FLOAT32))
    else:
        large = 1 - _erfc_of_positive(m, limited, _ERFC_FLOAT64)
    return m.copysign(m.where(size < 1, _small_erf(size), large), x)


def _small_erf(x: Any) -> Any:
    z = x * x
    return x + x * polynomial(z, _ERF[x.dtype.itemsize])


def erfc(m: Any, x: Any) -> Any:
    """Return ``1 - erf(x)``, computed from erf for x below 1/2."""
    if x.dtype == np.float32:
        return m.cast(_erfc(m, m.cast(x, np.float64), _positive_erfc_float32, _ERFC_FLAT[4]), np.float32)
    return _erfc(m, x, _positive_erfc_float64, _ERFC_FLAT[8])


def _erfc(m: Any, x: Any, positive: Any, flat: float) -> Any:
    size = m.absolute(x)
    large = positive(m, m.where(size > flat, flat, size))
    z = x * x
    # Two words: near 1/2, 1 - x - x p(z) would lose up to two units in the last place.
    high, low = two_sum(m, m.literal(1, x.dtype), -x)
    small = high + (low - x * polynomial(z, _ERF[8]))
    return m.where(size < 0.5, small, m.where(x < 0, 2 - large, large))


def _positive_erfc_float64(m: Any, x: Any) -> Any:
    """Return erfc of x between 1/2 and 28, to about 1 unit in the last place."""
    return scaled_erfc(m, x, *two_product(m, x, x), 1.0)


def scaled_erfc(m: Any, x: Any, square: Any, square_error: Any, factor: float) -> Any:
    """Return `factor` times erfc of x between 1/2 and 28, for ``x**2`` in two words."""
    n_bits, r, tail = reduce_exponential(m, -square)
    power, power_low = fast_two_sum(m, m.literal(1, x.dtype), r)
    power_low = power_low + tail
    power_low = power_low - square_error * (power + power_low)
    denominator, denominator_low = two_sum(m, m.literal(1, x.dtype), 2 * x)
    g = _g_in_two_words(m, (x - 4) / (x + 4))
    quotient, quotient_low = divide(m, g, (denominator, denominator_low))
    product, product_low = two_product(m, power, quotient)
    product_low = product_low + (power * quotient_low + power_low * quotient)
    return times_power_of_two(m, factor * (product + product_low), n_bits)


def _g_in_two_words(m: Any, t: Any) -> tuple[Any, Any]:
    rest = t * polynomial(t, _ERFC_FLOAT64[1:])
    return fast_two_sum(m, m.literal(_ERFC_FLOAT64[0], t.dtype), rest)


def _positive_erfc_float32(m: Any, x: Any) -> Any:
    """Return erfc of a float64 x between 1/2 and 10.3, to the precision of float32."""
    return _erfc_of_positive(m, x, _ERFC_FLOAT32)


def _erfc_of_positive(m: Any, x: Any, coefficients: tuple[float, ...]) -> Any:
    """Return erfc of a float64 x of at least 1/2; the error grows as x squared."""
    g = polynomial((x - 4) / (x + 4), coefficients)
    n_bits, r, tail = reduce_exponential(m, -(x * x))
    return times_power_of_two(m, (1 + (r + tail)) * (g / (1 + 2 * x)), n_bits)
