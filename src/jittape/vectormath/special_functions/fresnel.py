"""Fresnel integrals: of ``sin(pi t**2 / 2)`` and ``cos(pi t**2 / 2)`` from 0 to x.

Up to 1.6 they are x**3 and x times polynomials in x**4. Beyond, ``S = 1/2 - f cos(a) - g sin(a)`` and
``C = 1/2 + f sin(a) - g cos(a)`` with a = pi x**2 / 2 (DLMF 7.5.3 and 7.5.4), where pi x f and pi**2 x**3 g are
rational functions of 1 / x**4 (Cephes divides the range alike). x**2 has two words, so a is accurate for every x. These
are own minimax approximations by Remez's algorithm with 40 digits. The relative errors are 2**-55 or less for float64,
and 2**-25 of f and g, which are below 1/5, for float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import computed_in_float64, fused_polynomial, polynomial, two_product

__all__ = ["fresnel_cos", "fresnel_cos_slope", "fresnel_sin", "fresnel_sin_slope"]

#: ``S / x**3`` in 1.6**4 - x**4.
_S = {
    4: (
        0.15597843834877426,
        0.029331857880461755,
        0.0028971811298971577,
        0.00014737471015823192,
        4.482906781075913e-06,
        9.072877312440316e-08,
        1.2679399636890046e-09,
        1.732324960708107e-11,
    ),
    8: (
        0.15597843835678243,
        0.02933185770147858,
        0.002897181767337073,
        0.0001473738641752421,
        4.483448529008052e-06,
        9.054324028621815e-08,
        1.3025833918489528e-09,
        1.4034910115960587e-11,
        1.1754665732286924e-13,
        7.881122144172215e-16,
        4.2645578136958996e-18,
        2.289095003716813e-20,
    ),
}
#: ``C / x`` in 1.6**4 - x**4.
_C = {
    4: (
        0.22841355206836397,
        0.03302908288431951,
        0.007658682981909565,
        0.000609691391748728,
        2.4950233615996238e-05,
        6.315037309183453e-07,
        1.044675244781033e-08,
        1.716085370628323e-10,
    ),
    8: (
        0.22841355215030482,
        0.03302908103557568,
        0.007658689640498593,
        0.0006096824454683423,
        2.495603235121393e-05,
        6.294956585306551e-07,
        1.0825281719644969e-08,
        1.3543674467053862e-10,
        1.2901924557620953e-12,
        9.689963985984863e-15,
        5.787119227112336e-17,
        3.4526151331914955e-19,
    ),
}
#: ``pi x f`` in 1 / x**4: the numerator.
_F = {
    4: (
        0.9999999972578699,
        33.46761572927387,
        226.72080784387973,
        253.77605971358497,
        -14.931036071415067,
    ),
    8: (
        1.0,
        364.69365214656,
        48072.649158271975,
        2974169.1109933536,
        94008472.98479411,
        1551323115.5630295,
        13126407745.340046,
        53725984252.64079,
        94392725402.27937,
        55399587409.3429,
        5359564002.235248,
    ),
}
#: The denominator.
_F_Q = {
    4: (
        1.0,
        33.77157344457437,
        235.91021977408423,
        299.6008760648643,
    ),
    8: (
        1.0,
        364.99761569748694,
        48182.51720148279,
        2988432.211292732,
        94868643.06088674,
        1577388399.422808,
        13527843780.430477,
        56760309937.663605,
        104691240096.01176,
        68434453729.81163,
        9258446707.94537,
    ),
}
#: ``pi**2 x**3 g`` in 1 / x**4: the numerator.
_G = {
    4: (
        0.9999999693494878,
        40.27878688178808,
        321.83496509041737,
        358.44205383098733,
        -76.3027402616601,
    ),
    8: (
        1.0,
        408.3332726421594,
        60509.09266424696,
        4223686.741416068,
        151046961.7170457,
        2823790236.2297907,
        27029568112.072918,
        124319852230.6649,
        240998570457.62363,
        147859874647.85724,
        10864430018.188433,
    ),
}
#: The denominator.
_G_Q = {
    4: (
        1.0,
        41.79853192410365,
        375.6877000469628,
        659.9175542299423,
    ),
    8: (
        1.0,
        409.85309039679356,
        61122.29331459818,
        4312745.9206075715,
        157062558.7603786,
        3027907065.688991,
        30543572429.319588,
        153925136633.4643,
        352673691772.71893,
        304986201770.7603,
        63878674869.47044,
    ),
}
_FAR = 1.6
_FAR_FOURTH = 6.5536
#: Size above which both are 1/2 in float64.
_FLAT = 1e17


@computed_in_float64
def fresnel_sin(m: Any, x: Any, size: int) -> Any:
    """Return Fresnel's integral S."""
    magnitude = m.absolute(x)
    square, distance = _below_far(m, magnitude)
    near = (magnitude * square) * fused_polynomial(m, distance, _S[size], 4)
    f, g, sine, cosine = _far_parts(m, magnitude, size)
    return m.copysign(m.where(magnitude < _FAR, near, 0.5 - (f * cosine + g * sine)), x)


@computed_in_float64
def fresnel_cos(m: Any, x: Any, size: int) -> Any:
    """Return Fresnel's integral C."""
    magnitude = m.absolute(x)
    near = magnitude * fused_polynomial(m, _below_far(m, magnitude)[1], _C[size], 4)
    f, g, sine, cosine = _far_parts(m, magnitude, size)
    return m.copysign(m.where(magnitude < _FAR, near, 0.5 + (f * sine - g * cosine)), x)


@computed_in_float64
def fresnel_cos_slope(m: Any, x: Any, size: int) -> Any:
    """Return ``cos(pi x**2 / 2)``; nan at infinity."""
    return m.cos(_angle(m, m.absolute(x))[1] + 0 * x)


@computed_in_float64
def fresnel_sin_slope(m: Any, x: Any, size: int) -> Any:
    """Return ``sin(pi x**2 / 2)``; nan at infinity."""
    return m.sin(_angle(m, m.absolute(x))[1] + 0 * x)


def _below_far(m: Any, x: Any) -> tuple[Any, Any]:
    """Return x**2, and the distance of x**4 from `_FAR_FOURTH`."""
    square, low = two_product(m, x, x)
    return square, m.fma(-square, square, m.literal(_FAR_FOURTH, x.dtype)) - 2 * square * low


def _angle(m: Any, x: Any) -> tuple[Any, Any]:
    """Return x**2, and pi x**2 / 2 less a multiple of 2 pi.

    `x` is limited to a multiple of 4, which all larger floats are too.
    """
    x = m.where(x > _FLAT, _FLAT, x)
    square, error = two_product(m, x, x)
    return square, (0.5 * np.pi) * ((square - 4 * m.rint(0.25 * square)) + (error - 4 * m.rint(0.25 * error)))


def _far_parts(m: Any, x: Any, size: int) -> tuple[Any, Any, Any, Any]:
    """Return f, g, and sine and cosine of pi x**2 / 2."""
    x = m.where(x > _FLAT, _FLAT, x)
    square, angle = _angle(m, x)
    inverse = 1 / (np.pi * x)
    t = 1 / (square * square)
    f = inverse * (polynomial(t, _F[size]) / polynomial(t, _F_Q[size]))
    g = inverse / (np.pi * square) * (polynomial(t, _G[size]) / polynomial(t, _G_Q[size]))
    return f, g, m.sin(angle), m.cos(angle)
