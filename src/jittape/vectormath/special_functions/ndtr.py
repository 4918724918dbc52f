"""The scaled complementary error function erfcx and the normal distribution function: ndtr, log_ndtr.

For x >= 0, ``erfcx(x) = g / (1 + 2 x)`` with a polynomial g in t = (x - 4) / (x + 4), the form of Shepherd and
Laframboise, Math. Comp. 36, 1981. Own coefficients, interpolated at Chebyshev nodes of [-1, 1] with 40 digits, with
relative errors of 2**-61 and 2**-29 for float32, which is computed in float64. Squares in exponents have two words.
"""

from __future__ import annotations

from typing import Any

from jittape.vectormath.double_word import computed_in_float64, fast_two_sum, polynomial, two_product
from jittape.vectormath.erf import scaled_erfc
from jittape.vectormath.exp import reduce_exponential, times_power_of_two

__all__ = ["erfcx", "log_ndtr", "ndtr"]

#: ``(1 + 2 x) erfcx(x)`` in t = (x - 4) / (x + 4) on [-1, 1].
_ERFCX = {
    4: (
        1.2329951174258005,
        -0.13962111641494576,
        0.015379769732623958,
        0.06809701247965522,
        -0.10104095256639911,
        0.09373350870431707,
        -0.06631899370148828,
        0.037163409208387656,
        -0.016230489245366696,
        0.005044031828360171,
        -0.0007090462731066143,
        -0.0002178550546184224,
        0.0001141793191486699,
        -9.407571980720195e-06,
    ),
    8: (
        1.2329951186255526,
        -0.1396211168405625,
        0.015379652102620042,
        0.06809705425469036,
        -0.10103906603632504,
        0.09373283499843951,
        -0.0663303658116485,
        0.03716751553591141,
        -0.01619773406595253,
        0.005031969992810925,
        -0.0007577732195352293,
        -0.0001992567764579197,
        0.00015062130746391778,
        -2.4398942309069806e-05,
        -1.1220753452725425e-05,
        5.709201212226352e-06,
        2.909062968371427e-07,
        -8.249127434964572e-07,
        7.89343963476142e-08,
        1.1009041560728304e-07,
        -2.1917128684776733e-08,
        -1.470518755238763e-08,
        3.979908209935334e-09,
        1.7887492189077536e-09,
        -5.47796315403793e-10,
        -1.37212432109558e-10,
        4.335744696880128e-11,
    ),
}
#: ``(1 - erfcx(x)) / x`` up to |x| = 1/4, relative error 2**-60.
_NEAR = {
    4: (
        1.1283791647655872,
        -0.9999999989856367,
        0.7522539705633371,
        -0.5000005191854261,
        0.3008058935527869,
        -0.16662520462520175,
        0.08839759216655198,
        -0.042723411825224475,
    ),
    8: (
        1.1283791670955126,
        -1.0,
        0.7522527780636751,
        -0.49999999999994815,
        0.30090111122545254,
        -0.16666666667562266,
        0.08597174606744303,
        -0.04166666598485906,
        0.019104832228612232,
        -0.0083333599628372,
        0.003473614891172427,
        -0.001388332490939851,
        0.0005342130550930887,
        -0.0002043174039144917,
        7.324755356104056e-05,
    ),
}
#: ``((ndtr(x) - 1/2) / (x phi(0)) - 1) / u`` in u = x**2, up to u = 1/2, relative error 2**-59.
_NDTR = {
    4: (
        -0.16666666657194865,
        0.02499999052985547,
        -0.0029760385783848607,
        0.0002884957335370417,
        -2.1687233592998762e-05,
    ),
    8: (
        -0.16666666666666666,
        0.024999999999999942,
        -0.0029761904761874507,
        0.0002893518517896978,
        -2.3674241784156645e-05,
        1.669333899770366e-06,
        -1.0332731142560858e-07,
        5.67369892969496e-09,
        -2.559359340026024e-10,
    ),
}
#: The normal density at 0, ``1 / sqrt(2 pi)``, in two words.
_DENSITY = (0.3989422804014327, -2.49232720227773e-17)
_ROOT_HALF = 0.7071067811865476
_LN2 = 0.6931471805599453
#: Size below which ndtr is ``1/2 + x phi(0) (1 + u r(u))``.
_CENTRAL_END = 0.7072
#: Sizes above which ``exp(x**2)`` overflows and ndtr rounds to 0 or 1.
_OVERFLOW, _FLAT = 27.0, 39.0


@computed_in_float64
def erfcx(m: Any, x: Any, size: int) -> Any:
    """Return ``exp(x**2) erfc(x)``, as ``2 exp(x**2) - erfcx(-x)`` for negative x."""
    magnitude = m.absolute(x)
    positive = _positive_erfcx(m, magnitude, size)
    square, error = two_product(m, *[m.where(magnitude > _OVERFLOW, _OVERFLOW, magnitude)] * 2)
    growth = _exponential(m, square, error, m.literal(2, x.dtype))
    near = 1 - x * polynomial(x, _NEAR[size])
    return m.where(magnitude < 0.25, near, m.where(x < 0, growth - positive, positive))


@computed_in_float64
def ndtr(m: Any, x: Any, size: int) -> Any:
    """Return the distribution function of the normal distribution."""
    magnitude, square, error = _limited_square(m, x)
    tail = scaled_erfc(m, magnitude * _ROOT_HALF, 0.5 * square, 0.5 * error, 0.5)
    product, rest = _central(m, x, size)
    high, low = fast_two_sum(m, m.literal(0.5, x.dtype), product)
    return m.where(magnitude < _CENTRAL_END, high + (low + rest), m.where(x < 0, tail, 1 - tail))


@computed_in_float64
def log_ndtr(m: Any, x: Any, size: int) -> Any:
    """Return the logarithm of `ndtr`.

    With e = erfcx(|x| / sqrt(2)) / 2, it is log(e) - x**2 / 2 below and log1p(-exp(-x**2 / 2) e) above the center.
    """
    half_erfcx = 0.5 * _positive_erfcx(m, m.absolute(x) * _ROOT_HALF, size)
    magnitude, square, error = _limited_square(m, x)
    tail = _exponential(m, -0.5 * square, -0.5 * error, half_erfcx)
    product, rest = _central(m, x, size)
    is_central = magnitude < _CENTRAL_END
    shifted = m.log1p(m.where(is_central, 2 * (product + rest), -tail))
    below = m.log(half_erfcx) - (0.5 * x) * x
    return m.where(is_central, shifted - _LN2, m.where(x < 0, below, shifted))


def _limited_square(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return |x|, at most `_FLAT`, and its square in two words."""
    magnitude = m.absolute(x)
    magnitude = m.where(magnitude > _FLAT, _FLAT, magnitude)
    return magnitude, *two_product(m, magnitude, magnitude)


def _central(m: Any, x: Any, size: int) -> tuple[Any, Any]:
    """Return ``ndtr(x) - 1/2`` as a sum of a large and a small part, for ``|x| < _CENTRAL_END``."""
    u = x * x
    product, error = two_product(m, x, m.literal(_DENSITY[0], x.dtype))
    return product, product * (u * polynomial(u, _NDTR[size])) + (error + x * _DENSITY[1])


def _positive_erfcx(m: Any, x: Any, size: int) -> Any:
    limited = m.where(x > 1e17, 1e17, x)
    g = polynomial((limited - 4) / (limited + 4), _ERFCX[size])
    return 0.5 * g / (0.5 + x)


def _exponential(m: Any, high: Any, low: Any, factor: Any) -> Any:
    """Return ``factor * exp(high + low)`` for a small low word."""
    n_bits, r, tail = reduce_exponential(m, high)
    power, rest = fast_two_sum(m, m.literal(1, high.dtype), r)
    rest = rest + tail
    rest = m.fma(power + rest, low, rest)
    return times_power_of_two(m, m.fma(factor, power, factor * rest), n_bits)
