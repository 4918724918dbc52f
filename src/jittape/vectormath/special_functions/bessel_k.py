"""Modified Bessel functions K of orders 0 and 1, plain and scaled by exp(x).

Up to 1, ``K_0 = A - log(x) I_0`` and ``K_1 = 1 / x + x (log(x) I_1 / x + A)`` with polynomials I and A in x**2 (DLMF
10.31.1 and 10.31.2). Beyond, ``exp(-x) / sqrt(x)`` times 5/4 plus a rational function of 1 / x (DLMF 10.40.2). These
are own minimax approximations by Remez's algorithm with 45 digits. The relative errors are 2**-55 or less for float64
and 2**-28 for float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import computed_in_float64, polynomial
from jittape.vectormath.special_functions.bessel_i import times_exp

__all__ = ["bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e"]

#: ``I_0`` in x**2, up to x = 1.
_I0 = {
    4: (
        1.0000000001197453,
        0.24999999375303517,
        0.015625051380106947,
        0.0004338812091362311,
        6.951138379061719e-06,
    ),
    8: (
        1.0,
        0.25000000000000006,
        0.015624999999999273,
        0.0004340277777836981,
        6.781684004196414e-06,
        6.781689114521122e-08,
        4.708896372171425e-10,
        2.4403520750059552e-12,
    ),
}
#: ``K_0 + log(x) I_0`` in x**2, up to x = 1.
_K0 = {
    4: (
        0.11593151581417953,
        0.2789828685769404,
        0.025249028609953587,
        0.0008457241570275447,
        1.530051691344985e-05,
    ),
    8: (
        0.11593151565841245,
        0.27898287891460316,
        0.025248929932161216,
        0.0008460350907213714,
        1.4914719243086426e-05,
        1.627106892406031e-07,
        1.2082661138374847e-09,
        6.6116805272359656e-12,
    ),
}
#: ``sqrt(x) exp(x) K_0 - 5/4`` in 1 / x, from x = 1: the numerator.
_K0_FAR = {
    4: (
        0.0033141353003954444,
        -0.14536959140129038,
        -0.43651137460541317,
        -0.22808022963865054,
        -0.0064727588722123496,
    ),
    8: (
        0.0033141373155002323,
        -0.10681003113463229,
        -1.9907792088944802,
        -11.164786901709698,
        -27.511016042620685,
        -31.68124983917193,
        -16.203556690741372,
        -3.106624917629084,
        -0.14241985053586698,
    ),
}
#: The denominator.
_K0_FAR_Q = {
    4: (
        1.0,
        3.4078755197841653,
        2.7994898925231877,
        0.4972350588093114,
    ),
    8: (
        1.0,
        15.042899941594804,
        83.81729836947648,
        221.03759379820164,
        293.1980495276836,
        192.5072788552608,
        57.56824443805377,
        6.481468722431309,
        0.16971050494484663,
    ),
}
#: ``I_1 / x`` in x**2, up to x = 1.
_I1 = {
    4: (
        0.5000000000105455,
        0.06249999946125541,
        0.0026041710370790136,
        5.42411235974878e-05,
        6.923480879058869e-07,
    ),
    8: (
        0.5,
        0.0625,
        0.002604166666666625,
        5.4253472222559135e-05,
        6.781684014451017e-07,
        5.651406214886979e-09,
        3.3635914019769746e-11,
        1.5226718135148728e-13,
    ),
}
#: ``(K_1 - 1 / x - log(x) I_1) / x`` in x**2, up to x = 1.
_K1 = {
    4: (
        -0.3079657578536508,
        -0.0853707184476811,
        -0.004642193333028456,
        -0.00011250586434090172,
        -1.5942724657085612e-06,
    ),
    8: (
        -0.3079657578292062,
        -0.08537071972865079,
        -0.004642182766471444,
        -0.0001125360703672507,
        -1.5592887664344027e-06,
        -1.4030171840672146e-08,
        -8.870924804947519e-11,
        -4.22199294890644e-13,
    ),
}
#: ``sqrt(x) exp(x) K_1 - 5/4`` in 1 / x, from x = 1: the numerator.
_K1_FAR = {
    4: (
        0.0033141404521947453,
        0.48021616765532016,
        1.3102876670032981,
        0.696335963573088,
        0.03838814678111794,
    ),
    8: (
        0.003314137315500282,
        0.5175228741730484,
        6.843269207163578,
        34.04262334385618,
        78.0100780881073,
        85.07891095658528,
        41.652642420699735,
        7.724006837139029,
        0.3487575447759068,
    ),
}
#: The denominator.
_K1_FAR_Q = {
    4: (
        1.0,
        3.085011532351304,
        2.171222662531093,
        0.29178919115567875,
    ),
    8: (
        1.0,
        14.34161235790798,
        75.34008516388784,
        184.42327287771732,
        221.928693563586,
        127.48623126246538,
        31.28117408768598,
        2.513014657514183,
        0.028089422178815347,
    ),
}


@computed_in_float64
def bessel_k0(m: Any, x: Any, size: int) -> Any:
    """Return the modified Bessel function K of order 0; nan for negative numbers."""
    return m.where(x <= 1, _near_k0(m, x, size), times_exp(m, _far(m, x, _K0_FAR[size], _K0_FAR_Q[size]), -x))


@computed_in_float64
def bessel_k0e(m: Any, x: Any, size: int) -> Any:
    """Return ``exp(x) K_0(x)``."""
    return m.where(x <= 1, _near_k0(m, x, size) * m.exp(x), _far(m, x, _K0_FAR[size], _K0_FAR_Q[size]))


@computed_in_float64
def bessel_k1(m: Any, x: Any, size: int) -> Any:
    """Return the modified Bessel function K of order 1; nan for negative numbers."""
    return m.where(x <= 1, _near_k1(m, x, size), times_exp(m, _far(m, x, _K1_FAR[size], _K1_FAR_Q[size]), -x))


@computed_in_float64
def bessel_k1e(m: Any, x: Any, size: int) -> Any:
    """Return ``exp(x) K_1(x)``."""
    return m.where(x <= 1, _near_k1(m, x, size) * m.exp(x), _far(m, x, _K1_FAR[size], _K1_FAR_Q[size]))


def _near_k0(m: Any, x: Any, size: int) -> Any:
    square = x * x
    return polynomial(square, _K0[size]) - m.log(x) * polynomial(square, _I0[size])


def _near_k1(m: Any, x: Any, size: int) -> Any:
    square = x * x
    result = 1 / x + x * (m.log(x) * polynomial(square, _I1[size]) + polynomial(square, _K1[size]))
    return m.where(x == 0, np.inf, result)


def _far(m: Any, x: Any, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Any:
    """Return 5/4 plus the rational function of 1 / x, divided by sqrt(x)."""
    inverse = 1 / x
    return m.sqrt(inverse) * (1.25 + polynomial(inverse, numerator) / polynomial(inverse, denominator))
