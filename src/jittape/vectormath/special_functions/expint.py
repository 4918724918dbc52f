"""The exponential integral Ei.

Up to 6 it is ``log(x / z) + (x - z) R`` with its zero z in two words and a polynomial R, and beyond
``exp(x) / x (1 + R)`` with functions R of 1 / x; Cody and Thacher, Math. Comp. 23, 1969, divide the range alike. For
negative x it is ``-E_1(y)`` of y = -x: ``P(y) - log(y)`` with a polynomial P (DLMF 6.6.2) up to y = 1, and
``exp(-y) / y (1 - R)`` beyond (DLMF 6.12.1). These are own minimax approximations by Remez's algorithm with 40 digits.
The relative errors are 2**-55 or less for float64 and 2**-26 for float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

from jittape.vectormath.double_word import computed_in_float64, fast_two_sum, fused_polynomial, polynomial
from jittape.vectormath.special_functions.bessel_i import times_exp

__all__ = ["expint"]

#: ``(Ei(x) - log(x / z)) / (x - z)`` on [0, 6].
_POSITIVE = {
    4: (
        1.1014081073472894,
        0.2722310174816757,
        0.05968060773451658,
        0.011067285865190332,
        0.0017649777825093232,
        0.00023283108814622496,
        3.693460923354e-05,
        -5.14262323507244e-07,
        1.582878757003764e-06,
        -2.591094908775644e-07,
        4.477293935934756e-08,
        -3.58453507930765e-09,
        1.751386058423053e-10,
    ),
    8: (
        1.1014081059037335,
        0.2722311099556949,
        0.059679644786295546,
        0.01107116022763892,
        0.0017569947389106154,
        0.00024248664519400403,
        2.9543475052557894e-05,
        3.218203124369489e-06,
        3.167821239298678e-07,
        2.843132478599116e-08,
        2.343413963044845e-09,
        1.7904223527141819e-10,
        1.2507404984485893e-11,
        8.950757670630122e-13,
        3.624251801054607e-14,
        6.576693899593342e-15,
        -4.429682261482633e-16,
        9.024733996192797e-17,
        -7.639105353096408e-18,
        5.902400410889906e-19,
        -2.50097713920091e-20,
        6.526979768059914e-22,
    ),
}
#: ``E_1(y) + log(y)`` in 1 - y, for y in [0, 1].
_UNIT = {
    4: (
        0.21938393214537014,
        -0.6321203414922881,
        -0.13212398091665656,
        -0.02674698931746456,
        -0.004803126192051773,
        -0.0006529414352276622,
        -0.00015221544306423285,
    ),
    8: (
        0.21938393439552029,
        -0.6321205588285576,
        -0.13212055882856202,
        -0.02676713235703609,
        -0.004747039220121358,
        -0.000731969358153281,
        -9.90308346067533e-05,
        -1.1891501031529249e-05,
        -1.2813308334664835e-06,
        -1.2477776720116562e-07,
        -1.1363908484651836e-08,
        -7.862644787905692e-10,
        -1.1021085490869771e-10,
    ),
}
#: ``1 - y exp(y) E_1(y)`` in 1 / y, from y = 1: the numerator.
_NEGATIVE = {
    4: (
        3.2950054891767114e-09,
        0.9999979111510937,
        9.135283135689091,
        19.990237669791348,
        9.430647997892104,
        0.07371077207627942,
    ),
    8: (
        1.2821487492031853e-17,
        0.9999999999999504,
        40.01144233868066,
        612.168872974255,
        4609.886412151762,
        18378.08730244004,
        39019.807680930695,
        42437.51931365597,
        21638.35348961115,
        4345.388828857227,
        228.84716948453996,
    ),
}
#: The denominator.
_NEGATIVE_Q = {
    4: (
        1.0,
        11.135072179490663,
        36.26893428771402,
        38.9609799143664,
        10.813183653598065,
    ),
    8: (
        1.0,
        42.011442338649864,
        690.1917576590199,
        5762.201272477678,
        26649.613994902033,
        69989.05278984644,
        103196.18418113716,
        81737.02384327207,
        31851.571169932733,
        5154.94063024693,
        233.31273942294686,
    ),
}
#: ``x exp(-x) Ei(x) - 1`` in 1 / x - 1 / 12, from x = 6 to 12: the numerator.
_MIDDLE = {
    4: (
        0.10297454517605578,
        1.8710441046261437,
        20.75010386340418,
        201.52227649847464,
        617.2111073597346,
        -1204.8184435996654,
    ),
    8: (
        0.10297454490675907,
        4.86260467088843,
        114.91686969930713,
        1748.5075647490785,
        18484.40764408174,
        136008.21237667854,
        605945.2211566872,
        856595.4495971608,
        -3578232.2605161103,
        444077.79297781765,
    ),
}
#: The denominator.
_MIDDLE_Q = {
    4: (
        1.0,
        2.7036289021852875,
        95.707550985528,
        -2.2600106816541605,
        1325.6721011225882,
    ),
    8: (
        1.0,
        31.75507836579519,
        560.8577845831146,
        5967.171829874861,
        43900.7032893156,
        213315.71526950426,
        718401.2280899767,
        1401597.2549348031,
        1603143.6582245636,
    ),
}
#: ``x exp(-x) Ei(x) - 1`` in 1 / x - 1 / 26, from x = 12 to 26: the numerator.
_LARGE = {
    4: (
        0.04182737738428379,
        0.7678386331638983,
        -7.525601420838943,
        101.20517523706272,
        2030.3585824556599,
    ),
    8: (
        0.04182737800583294,
        0.9355019888763259,
        35.14203499670797,
        772.5226775737776,
        5078.4264713892635,
        236497.6731954501,
        -494883.56411650067,
        26040553.041696966,
        -29212194.37821839,
        568520324.4663413,
    ),
}
#: The denominator.
_LARGE_Q = {
    4: (
        1.0,
        -10.040290416159612,
        33.1830580633961,
        1882.361136514385,
        -5918.049815198564,
    ),
    8: (
        1.0,
        -6.03178413143322,
        939.4158199680473,
        -8086.802534217402,
        283079.4603927148,
        -2107839.2684658538,
        27897789.29320349,
        -112656344.52851471,
        515174334.8339285,
    ),
}
#: ``x exp(-x) Ei(x) - 1`` in 1 / x, from x = 26.
_FAR = {
    4: (
        4.2637366181039144e-10,
        0.9999989736698841,
        2.0003999833598423,
        5.942300924452672,
        27.868527844491528,
        -6.7135579427097305,
        2531.623834493968,
    ),
    8: (
        1.164308593690047e-17,
        0.999999999999767,
        2.000000000774192,
        5.999998981286793,
        24.00070681393654,
        119.70152075090547,
        803.506825965781,
        -11306.234336961452,
        2362323.5760938576,
        -244956265.1752075,
        19588011306.19573,
        -1191834617118.801,
        55434791027152.125,
        -1962689642101895.2,
        5.230514561841355e16,
        -1.0273946266582661e18,
        1.4355980695480496e19,
        -1.3429255993424149e20,
        7.495758839352929e20,
        -1.8761375385051938e21,
    ),
}
#: The zero of Ei in two words, and its logarithm.
_ZERO = (0.3725074107813666, 1.3140183414386028e-17)
_LOG_ZERO = -0.9874983466453419


@computed_in_float64
def expint(m: Any, x: Any, size: int) -> Any:
    """Return the exponential integral Ei."""
    magnitude = m.absolute(x)
    inverse = 1 / magnitude
    negative = x < 0
    near = m.where(negative, _near_negative(m, magnitude, size), _near_positive(m, magnitude, size))
    middle = _quotient(m, inverse - 1 / 12, _MIDDLE[size], _MIDDLE_Q[size])
    large = _quotient(m, inverse - 1 / 26, _LARGE[size], _LARGE_Q[size])
    rest = m.where(magnitude < 26, large, polynomial(inverse, _FAR[size]))
    rest = m.where(magnitude < 12, middle, rest)
    rest = m.where(negative, -_quotient(m, inverse, _NEGATIVE[size], _NEGATIVE_Q[size]), rest)
    # The division by x comes first: exp(x) may overflow where Ei does not.
    limited = m.where(magnitude < 2000, x, m.copysign(2000.0, x))
    sum_, low = fast_two_sum(m, m.literal(1, x.dtype), rest)
    quotient = sum_ / limited
    far = times_exp(m, quotient, x, (m.fma(-quotient, limited, sum_) + low) * m.copysign(inverse, x))
    return m.where(negative & (magnitude > 1) | (x >= 6), far, near)


def _near_negative(m: Any, y: Any, size: int) -> Any:
    return m.log(y) - polynomial(1 - y, _UNIT[size])


def _near_positive(m: Any, x: Any, size: int) -> Any:
    distance = (x - _ZERO[0]) - _ZERO[1]
    logarithm = m.where(x < 0.2, m.log(x) - _LOG_ZERO, m.log1p(distance / _ZERO[0]))
    return logarithm + distance * polynomial(x, _POSITIVE[size])


def _quotient(m: Any, x: Any, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Any:
    return fused_polynomial(m, x, numerator, 4) / fused_polynomial(m, x, denominator, 4)
