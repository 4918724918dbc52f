"""Dawson's integral, ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to x.

Up to sqrt(32) it is ``x / (1 + 2 x**2)`` times 1 plus a rational function of x**2, and beyond ``1 / (2 x)`` times 1
plus a polynomial in 1 / x**2 (DLMF 7.12.1). These are own minimax approximations by Remez's algorithm with 40 digits.
The relative errors are 2**-55 or less for float64 and 2**-27 for float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

from jittape.vectormath.double_word import computed_in_float64, polynomial

__all__ = ["dawsn"]

#: ``(1 + 2 x**2) dawsn(x) / x - 1`` in x**2, up to x**2 = 32: the numerator.
_DAWSN = {
    4: (
        2.5236026289252444e-09,
        1.3333331266971522,
        -0.16819312967923294,
        0.032524870810478675,
        -0.0006931895641724241,
        0.00014574392246862115,
        2.8229552215293905e-06,
        4.2383076359326444e-07,
        -1.3471331523500827e-10,
    ),
    8: (
        -1.1768135420277253e-17,
        1.333333333333335,
        -0.25886766370583053,
        0.04976602925288839,
        -0.0037505497441611296,
        0.00034996898785588773,
        -1.239247872783159e-05,
        8.199864656259329e-07,
        -1.0041267003773189e-08,
        8.134856489129184e-10,
        3.3044310264159766e-12,
        3.738508306639529e-13,
        3.5691771830120775e-15,
        5.358331260256972e-18,
        -1.4095885884121768e-20,
    ),
}
#: The denominator.
_DAWSN_Q = {
    4: (
        1.0,
        0.673853216559498,
        0.22062816840141358,
        0.046512787059073114,
        0.007073759979838575,
        0.0008016558278698264,
        7.681225926731962e-05,
        4.0113457776169495e-06,
        4.015685978405772e-07,
    ),
    8: (
        1.0,
        0.6058492522206533,
        0.1791467808588276,
        0.03437207034867966,
        0.004796947193795366,
        0.0005171343612805625,
        4.460950023259434e-05,
        3.144269036765941e-06,
        1.8305878490738898e-07,
        8.821423605305102e-09,
        3.4887856283928167e-10,
        1.1092153131854778e-11,
        2.64050792938097e-13,
        4.522565577562561e-15,
    ),
}
#: ``2 x dawsn(x) - 1`` in 1 / x**2, from x**2 = 32.
_DAWSN_FAR = {
    4: (
        -1.729967373785227e-10,
        0.500000384115981,
        0.7498626595493249,
        1.8927428190800073,
        5.553655910032609,
        54.18478048906916,
    ),
    8: (
        1.8040271315064083e-18,
        0.4999999999999724,
        0.7500000000698427,
        1.874999930212765,
        6.562536480068876,
        29.519781628462404,
        164.77084360977526,
        726.6210397697098,
        40398.908900276685,
        -2224519.537457831,
        116545860.20001106,
        -4150024799.9686084,
        102852261275.58998,
        -1654283053981.7524,
        15464169663002.531,
        -61622066122865.32,
    ),
}
_FAR_SQUARE = 32.0


@computed_in_float64
def dawsn(m: Any, x: Any, size: int) -> Any:
    """Return Dawson's integral."""
    square = x * x
    near = square < _FAR_SQUARE
    limited = m.where(near, square, _FAR_SQUARE)
    numerator, denominator = polynomial(limited, _DAWSN[size]), polynomial(limited, _DAWSN_Q[size])
    inverse = 1 / x
    far = (0.5 * inverse) * (1 + polynomial(inverse * inverse, _DAWSN_FAR[size]))
    return m.where(near, x * ((1 + numerator / denominator) / (1 + 2 * limited)), far)
