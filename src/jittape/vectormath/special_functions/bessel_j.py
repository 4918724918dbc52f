"""Bessel functions of orders 0 and 1 of real arguments: J and Y.

Up to 5, ``J_0 = (z**2 - x**2) S`` with the first zero z and a polynomial S in 25 - x**2, in two words, likewise
``J_1 / x``; and ``Y_0 = (2 / pi) log(x) J_0 + B``, ``Y_1 = (2 / pi) (log(x) J_1 - 1 / x) + x B`` with polynomials B
(DLMF 10.8.1). Below 3/2, J_0 is 1 minus a polynomial.
Beyond, Hankel's form (DLMF 10.17.3 and 10.17.4): ``J_0 = (P cos(c) - Q sin(c)) sqrt(2 / (pi x))`` with c = x - pi / 4,
where P and x Q are rational functions of 1 / x**2. sin(c) and cos(c) are sums of sin(x) and cos(x), so the error is
relative to the amplitude, not to the value near a zero. These are own minimax approximations by Remez's algorithm with
45 digits. The errors are 2**-57 or less for float64, and 2**-28 for float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import (
    computed_in_float64,
    fused_polynomial,
    polynomial,
    two_product,
    two_sum,
)

__all__ = ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"]

#: ``J_0 / (z**2 - x**2)`` in 25 - x**2.
_J0 = {
    4: (
        0.009241738543079085,
        0.0021855680643658175,
        0.00010161617849691697,
        2.1237864344667956e-06,
        2.5672563567139212e-08,
        2.0539555557956532e-10,
        1.0879121775890802e-12,
        6.568224495126394e-15,
    ),
    8: (
        0.009241738561444274,
        0.0021855679219046653,
        0.00010161634164491029,
        2.123720220424584e-06,
        2.5685078922578045e-08,
        2.0416322589521466e-10,
        1.1526936004771835e-12,
        4.8727027761290335e-15,
        1.602341161248825e-17,
        4.2194818526874696e-20,
        9.122219617633331e-23,
        1.6016360710960568e-25,
        3.0632017072364473e-28,
    ),
}
#: ``Y_0 - (2 / pi) log(x) J_0`` in 25/2 - x**2.
_Y0 = {
    4: (
        0.4837248577728607,
        0.03461246660434745,
        -0.0030116887293358736,
        -0.00019892046667754974,
        -4.567729460450576e-06,
        -5.7785885124171945e-08,
        -4.725888680299685e-10,
        -2.7389422553977333e-12,
        -1.1764656314837042e-14,
    ),
    8: (
        0.4837248578102995,
        0.034612465782841,
        -0.003011688739390264,
        -0.00019892039657764323,
        -4.567729022701017e-06,
        -5.778749977178523e-08,
        -4.725957372281842e-10,
        -2.725171238972185e-12,
        -1.1719731575283442e-14,
        -3.9114007972551516e-17,
        -1.0437796176179178e-19,
        -2.279766708067702e-22,
        -4.157484998022908e-25,
        -6.413092053703546e-28,
    ),
}
#: P of order 0 in 1 / x**2: the numerator.
_P0 = {
    4: (
        0.9999999991625459,
        8.919350907932566,
        6.143897749864258,
    ),
    8: (
        1.0,
        132.58331052956456,
        5467.160389309535,
        85117.34949875817,
        484222.18960555794,
        808995.768072326,
        194580.27551738467,
    ),
}
#: The denominator.
_P0_Q = {
    4: (
        1.0,
        8.989662085099658,
        6.664168560024381,
    ),
    8: (
        1.0,
        132.65362302956447,
        5476.375445079368,
        85488.10226614171,
        489688.75523208414,
        836278.8124485795,
        225703.7398106767,
    ),
}
#: ``x Q`` of order 0 in 1 / x**2: the numerator.
_Q0 = {
    4: (
        -0.12499999980755985,
        -2.406158960198203,
        -5.723268726865645,
        1.2632380964030936,
    ),
    8: (
        -0.12499999999999997,
        -18.79871311913091,
        -891.6757613204961,
        -16255.26465528991,
        -110656.51158913154,
        -225351.72280383302,
        -60292.18572675218,
    ),
}
#: The denominator.
_Q0_Q = {
    4: (
        1.0,
        19.835205311709533,
        55.593052885772615,
    ),
    8: (
        1.0,
        150.97564245304446,
        7220.051517057676,
        134012.13577839517,
        952548.6952154858,
        2192222.320617822,
        1000524.5650057683,
    ),
}
#: ``J_1 / (x (z**2 - x**2))`` in 25 - x**2.
_J1 = {
    4: (
        0.006349645385238904,
        0.0005251335315186389,
        1.5536121450765614e-05,
        2.4181969122387364e-07,
        2.3444234823590644e-09,
        1.5683025973966955e-11,
        7.234195899466373e-14,
        3.7274622482692395e-16,
    ),
    8: (
        0.006349645387302815,
        0.0005251335186027323,
        1.5536134123004906e-05,
        2.4181511357547184e-07,
        2.3452144754994804e-09,
        1.561043685763109e-11,
        7.595018733519912e-14,
        2.823807379924727e-16,
        8.293469984606817e-19,
        1.9740970378847633e-21,
        3.893972774820468e-24,
        6.305977774114292e-27,
        1.103737977851382e-29,
    ),
}
#: ``(Y_1 - (2 / pi) (log(x) J_1 - 1 / x)) / x`` in 25/2 - x**2.
_Y1 = {
    4: (
        0.13974939033391642,
        -0.007286920627678401,
        -0.0010439693024438161,
        -3.396964389269494e-05,
        -5.502334667388228e-07,
        -5.468249425154049e-09,
        -3.7071648956632655e-11,
        -1.8386863401362317e-13,
        -6.923035130718365e-16,
    ),
    8: (
        0.13974939033568806,
        -0.007286920670758755,
        -0.0010439693029195979,
        -3.396964021646903e-05,
        -5.502334460239121e-07,
        -5.468334105767426e-09,
        -3.7071974025092714e-11,
        -1.8314634576209568e-13,
        -6.901774341633207e-16,
        -2.0520416667300607e-18,
        -4.940609410322679e-21,
        -9.83456756685238e-24,
        -1.6477430730747932e-26,
        -2.3518594502967172e-29,
    ),
}
#: P of order 1 in 1 / x**2: the numerator.
_P1 = {
    4: (
        1.0000000010397647,
        8.38361564292198,
        5.55981775853838,
    ),
    8: (
        1.0,
        130.36450247035856,
        5265.159459261194,
        79879.23558677416,
        440332.9552981852,
        714298.990330836,
        186079.08223931407,
    ),
}
#: The denominator.
_P1_Q = {
    4: (
        1.0,
        8.26642976925414,
        4.734880643016498,
    ),
    8: (
        1.0,
        130.24731497035864,
        5250.040297594544,
        79282.10098109518,
        431717.8760116978,
        672362.0897485951,
        139493.34964410352,
    ),
}
#: ``x Q`` of order 1 in 1 / x**2: the numerator.
_Q1 = {
    4: (
        0.37499999977575743,
        7.079778607016736,
        17.26311682194658,
        -1.8227173742939253,
    ),
    8: (
        0.375,
        55.62642621546057,
        2596.859763669727,
        46504.03274062926,
        311133.8138803921,
        631369.7105291885,
        192685.19515855933,
    ),
}
#: The denominator.
_Q1_Q = {
    4: (
        1.0,
        19.15284562475398,
        50.53248527081493,
    ),
    8: (
        1.0,
        148.61057407456045,
        6964.854869779884,
        125810.52043989787,
        859653.4366373984,
        1853425.4433639182,
        733907.8405676464,
    ),
}
#: ``(1 - J_0) / x**2`` in x**2, up to x = 3/2.
_J0_SMALL = {
    4: (
        0.24999999994512365,
        -0.015624998805762484,
        0.0004340235908699126,
        -6.776517958037162e-06,
        6.519942827003195e-08,
    ),
    8: (
        0.25,
        -0.015625,
        0.00043402777777777705,
        -6.781684027774559e-06,
        6.781684027047302e-08,
        -4.709502703822989e-10,
        2.402800548439014e-12,
        -9.382898585071704e-15,
        2.8241899932844826e-17,
    ),
}
#: The squares of the first positive zeros of J_0 and J_1, in two words.
_ZERO0 = (5.783185962946784, 4.123247343506204e-16)
_ZERO1 = (14.681970642123893, -9.858177825793294e-17)
_FAR = 5.0
_CENTER = 12.5
#: In two words.
_TWO_OVER_PI = (0.6366197723675814, -3.935735335036497e-17)
_ROOT_INVERSE_PI = 0.5641895835477563


def _divided(*tables: dict[int, tuple[float, ...]]) -> dict[int, tuple[tuple[float, ...], ...]]:
    """Return numerator and denominator of ``(P - 1) / sqrt(pi)`` and of ``x Q / sqrt(pi)``, for each size."""
    result: dict[int, tuple[tuple[float, ...], ...]] = {}
    for size in (4, 8):
        p, p_denominator, q, q_denominator = (table[size] for table in tables)
        difference = [_ROOT_INVERSE_PI * (a - b) for a, b in zip(p, p_denominator, strict=True)]
        result[size] = (
            tuple(difference),
            p_denominator,
            tuple([_ROOT_INVERSE_PI * a for a in q]),
            q_denominator,
        )
    return result


_HANKEL0, _HANKEL1 = _divided(_P0, _P0_Q, _Q0, _Q0_Q), _divided(_P1, _P1_Q, _Q1, _Q1_Q)


@computed_in_float64
def bessel_j0(m: Any, x: Any, size: int) -> Any:
    """Return the Bessel function J of order 0."""
    magnitude = m.absolute(x)
    plus, minus = _hankel(m, magnitude, _HANKEL0, size)
    far = m.fma(plus, m.cos(magnitude), minus * m.sin(magnitude))
    near, low = _near_j0(m, magnitude, size)
    return m.where(magnitude < _FAR, near + low, _zero_at_infinity(m, magnitude, far))


@computed_in_float64
def bessel_j1(m: Any, x: Any, size: int) -> Any:
    """Return the Bessel function J of order 1."""
    magnitude = m.absolute(x)
    plus, minus = _hankel(m, magnitude, _HANKEL1, size)
    far = _zero_at_infinity(m, magnitude, m.fma(plus, m.sin(magnitude), -minus * m.cos(magnitude)))
    near, low = _near_j(m, magnitude, _ZERO1, _J1[size])
    return m.where(magnitude < _FAR, x * (near + low), m.where(x < 0, -far, far))


@computed_in_float64
def bessel_y0(m: Any, x: Any, size: int) -> Any:
    """Return the Bessel function Y of order 0; nan for negative numbers."""
    plus, minus = _hankel(m, x, _HANKEL0, size)
    far = _zero_at_infinity(m, x, m.fma(plus, m.sin(x), -minus * m.cos(x)))
    product, low = _times_log(m, x, _near_j0(m, x, size))
    near = m.fma(_TWO_OVER_PI[0], product, _by_distance(m, x, _CENTER, _Y0[size]) + low)
    return m.where(x < _FAR, m.where(x == 0, -np.inf, near), far)


@computed_in_float64
def bessel_y1(m: Any, x: Any, size: int) -> Any:
    """Return the Bessel function Y of order 1; nan for negative numbers."""
    plus, minus = _hankel(m, x, _HANKEL1, size)
    far = _zero_at_infinity(m, x, -m.fma(minus, m.sin(x), plus * m.cos(x)))
    product, low = _times_log(m, x, _near_j(m, x, _ZERO1, _J1[size]))
    sum_ = m.fma(_TWO_OVER_PI[0], product, _by_distance(m, x, _CENTER, _Y1[size]))
    near = m.fma(x, sum_, m.fma(x, low, -_TWO_OVER_PI[0] / x))
    return m.where(x < _FAR, m.where(x == 0, -np.inf, near), far)


def _times_log(m: Any, x: Any, factor: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return ``log(x) * factor``, and ``2 / pi`` times the result minus its first word times the rounded ``2 / pi``."""
    logarithm = m.log(x)
    product, low = two_product(m, logarithm, factor[0])
    low = m.fma(logarithm, factor[1], low)
    return product, m.fma(_TWO_OVER_PI[0], low, _TWO_OVER_PI[1] * product)


def _near_j(
    m: Any, x: Any, zero_square: tuple[float, float], coefficients: tuple[float, ...]
) -> tuple[Any, Any]:
    """Return ``z**2 - x**2`` times the polynomial in two words, for x up to `_FAR`."""
    square, low = two_product(m, x, x)
    difference, rest = two_sum(m, zero_square[0], -square)
    value = _by_distance(m, x, _FAR * _FAR, coefficients)
    product, error = two_product(m, difference, value)
    return product, m.fma(rest + (zero_square[1] - low), value, error)


def _by_distance(m: Any, x: Any, center: float, coefficients: tuple[float, ...]) -> Any:
    """Return the polynomial in ``center - x**2``."""
    return fused_polynomial(m, m.fma(-x, x, m.literal(center, x.dtype)), coefficients, 6)


def _near_j0(m: Any, x: Any, size: int) -> tuple[Any, Any]:
    square = x * x
    small = 1 - square * polynomial(square, _J0_SMALL[size])
    value, low = _near_j(m, x, _ZERO0, _J0[size])
    return m.where(x < 1.5, small, value), m.where(x < 1.5, 0.0, low)


def _hankel(m: Any, x: Any, tables: dict[int, tuple[tuple[float, ...], ...]], size: int) -> tuple[Any, Any]:
    """Return P + Q and P - Q, divided by ``sqrt(pi x)``."""
    p, p_denominator, q, q_denominator = tables[size]
    inverse = 1 / x
    t, scale = inverse * inverse, m.sqrt(inverse)
    even = _ROOT_INVERSE_PI + polynomial(t, p) / polynomial(t, p_denominator)
    odd = inverse * (polynomial(t, q) / polynomial(t, q_denominator))
    return scale * (even + odd), scale * (even - odd)


def _zero_at_infinity(m: Any, x: Any, value: Any) -> Any:
    return m.where(x == np.inf, 0.0, value)
