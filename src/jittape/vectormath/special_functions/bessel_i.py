"""Modified Bessel functions I of orders 0 and 1, plain and scaled by exp(-|x|).

I_0 and I_1 / x are polynomials in x**2 up to 12. The rounding error of x**2 counts up to six times there, so a term of
first order corrects it. Beyond, they are ``exp(x) / sqrt(x)`` times polynomials in 1 / x (DLMF 10.40.1). These are own
minimax approximations by Remez's algorithm with 45 digits. The relative errors are 2**-55 or less for float64 and
2**-28 for float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

from jittape.vectormath.double_word import (
    computed_in_float64,
    fast_two_sum,
    fused_polynomial,
    polynomial,
    two_product,
)
from jittape.vectormath.exp import reduce_exponential, times_power_of_two

__all__ = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "times_exp"]

#: ``I_0`` in x**2, up to x = 12.
_I0 = {
    4: (
        1.000000001088311,
        0.24999999347914517,
        0.015625005558582563,
        0.00043402612627124005,
        6.781915212124476e-06,
        6.779907961368832e-08,
        4.717684716047769e-10,
        2.3789801921489894e-12,
        9.837124196596438e-15,
        2.3377511245120768e-17,
        1.1698257841669645e-19,
        -6.604015568531354e-23,
        8.050276749530455e-25,
    ),
    8: (
        1.0,
        0.25,
        0.015625000000000017,
        0.00043402777777776783,
        6.781684027780549e-06,
        6.781684027733061e-08,
        4.709502797526469e-10,
        2.402807546348097e-12,
        9.385967145321241e-15,
        2.896902843455147e-17,
        7.242272851664938e-20,
        1.4963061862661084e-22,
        2.5982201256795123e-25,
        3.838254743396791e-28,
        4.940302757230729e-31,
        5.211267866689273e-34,
        6.327321575078004e-37,
        1.7487029722551805e-40,
        8.125094732159311e-43,
    ),
}
#: ``sqrt(x) exp(-x) I_0`` in 1 / x, from x = 12.
_I0_FAR = {
    4: (
        0.3989422804137648,
        0.049867771369773495,
        0.028053088371838213,
        0.029055616740285208,
        0.04981795697142727,
        0.013612990089396038,
        0.7405505045054026,
    ),
    8: (
        0.3989422804014327,
        0.049867785050186395,
        0.02805062908103812,
        0.02921941038420944,
        0.044740811910544125,
        0.09083772542278523,
        0.20250311832418738,
        2.6727274462422415,
        -106.76315831983331,
        4422.626463859771,
        -132451.74586242353,
        2964965.784143114,
        -49162051.369633004,
        594420863.3395369,
        -5077341983.436656,
        28928640507.20694,
        -98210881936.3187,
        149585385123.93527,
    ),
}
#: ``I_1 / x`` in x**2, up to x = 12.
_I1 = {
    4: (
        0.5000000001372497,
        0.062499999359965745,
        0.002604167114068641,
        5.425335895304991e-05,
        6.781823135475897e-07,
        5.650444291343606e-09,
        3.367966903049232e-11,
        1.4908622499315318e-13,
        5.407752681446414e-16,
        1.2217148911464066e-18,
        5.015613530070838e-21,
        -1.7817763810302804e-24,
        2.9623314286245435e-26,
    ),
    8: (
        0.5,
        0.0625,
        0.002604166666666668,
        5.425347222222167e-05,
        6.781684027779145e-07,
        5.651403356461433e-09,
        3.363930569523503e-11,
        1.5017547172327717e-13,
        5.21442616162081e-16,
        1.4484515089885046e-18,
        3.2919403350959293e-21,
        6.2346391115999566e-24,
        9.992793598073461e-27,
        1.371128295947108e-29,
        1.6446474157273326e-32,
        1.6384149843507836e-35,
        1.8299236457576853e-38,
        5.4448300075089704e-42,
        2.087630904907712e-44,
    ),
}
#: ``sqrt(x) exp(-x) I_1`` in 1 / x, from x = 12.
_I1_FAR = {
    4: (
        0.3989422803873679,
        -0.1496033396055727,
        -0.046753835554993316,
        -0.040721868919950985,
        -0.06326322840298203,
        -0.02368347906958134,
        -0.8504920354956077,
    ),
    8: (
        0.3989422804014327,
        -0.14960335515054518,
        -0.04675104847407279,
        -0.04090717289991512,
        -0.057524197005401075,
        -0.1109885833886203,
        -0.24224005239086022,
        -2.9106780101150793,
        113.42773199312704,
        -4695.51021763195,
        140295.66473104668,
        -3133858.118163676,
        51853026.046702206,
        -625661862.1484792,
        5333248641.98281,
        -30324593220.356327,
        102737671889.1099,
        -156151844045.44522,
    ),
}
_FAR = 12.0
#: c in the derivative by x**2 of the logarithms of I_0 and I_1 / x, about 1 / (2 x + c).
_SLOPE0, _SLOPE1 = 1.5, 4.0
#: Sizes above which ``exp(x)`` overflows and ``exp(-x)`` underflows after the division by ``sqrt(x)``.
_LIMIT = 750.0


@computed_in_float64
def bessel_i0(m: Any, x: Any, size: int) -> Any:
    """Return the modified Bessel function I of order 0."""
    magnitude = _limited(m, x)
    near, low, far = _near_and_far(m, magnitude, _I0[size], _I0_FAR[size], _SLOPE0)
    return m.where(magnitude < _FAR, near + low, times_exp(m, far, magnitude))


@computed_in_float64
def bessel_i0e(m: Any, x: Any, size: int) -> Any:
    """Return ``exp(-|x|) I_0(x)``."""
    magnitude = m.absolute(x)
    near, low, far = _near_and_far(m, magnitude, _I0[size], _I0_FAR[size], _SLOPE0)
    return m.where(magnitude < _FAR, times_exp(m, near, -magnitude, low), far)


@computed_in_float64
def bessel_i1(m: Any, x: Any, size: int) -> Any:
    """Return the modified Bessel function I of order 1."""
    magnitude = _limited(m, x)
    near, low, far = _near_and_far(m, magnitude, _I1[size], _I1_FAR[size], _SLOPE1)
    near = m.fma(near, magnitude, low * magnitude)
    return m.copysign(m.where(magnitude < _FAR, near, times_exp(m, far, magnitude)), x)


@computed_in_float64
def bessel_i1e(m: Any, x: Any, size: int) -> Any:
    """Return ``exp(-|x|) I_1(x)``."""
    magnitude = m.absolute(x)
    near, low, far = _near_and_far(m, magnitude, _I1[size], _I1_FAR[size], _SLOPE1)
    product, error = two_product(m, near, magnitude)
    near = times_exp(m, product, -magnitude, error + low * magnitude)
    return m.copysign(m.where(magnitude < _FAR, near, far), x)


def _limited(m: Any, x: Any) -> Any:
    """Return the absolute value, at most a number where I overflows."""
    magnitude = m.absolute(x)
    return m.where(magnitude > _LIMIT, _LIMIT, magnitude)


def _near_and_far(
    m: Any, x: Any, near: tuple[float, ...], far: tuple[float, ...], slope: float
) -> tuple[Any, Any, Any]:
    """Return the polynomial in x**2 in two words, and that in 1 / x divided by sqrt(x)."""
    square, low = two_product(m, x, x)
    inverse = 1 / m.where(x < _FAR, 2 * x + slope, x)
    value = fused_polynomial(m, square, near, 8)
    return value, value * (low * inverse), m.sqrt(inverse) * polynomial(inverse, far)


def times_exp(m: Any, factor: Any, x: Any, factor_low: Any = 0.0) -> Any:
    """Return ``(factor + factor_low) * exp(x)``, also if only the exponential overflows or is subnormal."""
    limited = m.where(x > _LIMIT, _LIMIT, m.where(x < -_LIMIT, -_LIMIT, x))
    n_bits, r, tail = reduce_exponential(m, limited)
    high, low = fast_two_sum(m, m.literal(1, x.dtype), r)
    rest = factor * (low + tail) + factor_low * high
    return times_power_of_two(m, m.fma(factor, high, rest), n_bits)
