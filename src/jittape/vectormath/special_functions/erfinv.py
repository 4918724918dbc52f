"""Inverses of the error functions and of the normal distribution function: erfinv, erfcinv, ndtri.

All three are one function z of y = erfc(z) and 1 - y, each of which the caller computes without cancellation. Up to
``|1 - y| = 0.85``, z / (1 - y) is 1 minus a rational function of (1 - y)**2. In the tails z is r - 1/2 minus a
rational function of r = sqrt(-log(y / 2)), for r up to 6 and beyond. Wichura
(Applied Statistics 37, 1988, algorithm AS 241) divides the range alike. The rational functions are own minimax
approximations by Remez's algorithm with 40 digits. The relative errors of z are 2**-56 for float64 and 2**-27 for
float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import computed_in_float64, polynomial

__all__ = ["erfcinv", "erfinv", "ndtri"]

#: ``1 - erfinv(x) / x`` in 0.85**2 - x**2, up to x = 0.85: the numerator.
_CENTRAL = {
    4: (
        -0.1975323064981079,
        -0.1062472386750708,
        1.5472472462272582,
        1.3362547609122102,
        0.03649848284156563,
    ),
    8: (
        -0.19753231156709133,
        -1.3254634315896805,
        -1.2996519593777847,
        8.56925961187091,
        24.73412825871582,
        23.93882319489301,
        8.797429629492923,
        0.9345288778353485,
        0.0031169738572810793,
    ),
}
#: The denominator.
_CENTRAL_Q = {
    4: (
        1.0,
        5.092678794346221,
        7.005957243884552,
        2.3027064895452716,
    ),
    8: (
        1.0,
        11.264924543930798,
        49.5312298338163,
        107.8041824256929,
        121.75448576816241,
        68.43305750560043,
        16.66047947231942,
        1.2253872334764067,
    ),
}
#: r - 1/2 - z in r = sqrt(-log(y / 2)) from 1.61, up to 6.1 (float64) and 10.3 (float32): the numerator.
_MIDDLE = {
    4: (
        1.6750816794662182,
        3.837488416049053,
        -0.853262613125522,
        -0.5478117496266062,
        -0.023911902102386914,
    ),
    8: (
        2.003622797262658,
        17.740068348405124,
        25.909937643968426,
        5.48498791929225,
        -3.88395230866882,
        -2.181708058737993,
        -0.28914548331937157,
        -0.008517765356284531,
    ),
}
#: The denominator.
_MIDDLE_Q = {
    4: (
        1.0,
        6.4823448224485825,
        6.73599747689797,
        1.3727280459775468,
        0.04833406682086497,
    ),
    8: (
        1.0,
        16.52634777042994,
        54.32272208694469,
        61.185163784161425,
        30.367963875406037,
        7.211818150251341,
        0.6792840917153395,
        0.01724297820923606,
        -9.972743593363795e-07,
    ),
}
#: r - 1/2 - z in r from 6 to 27.4, only float64: the numerator.
_FAR = (
    1.7563890788047842,
    5.336004480706793,
    0.012166534240543913,
    -0.943506042699597,
    -0.16279844042180197,
    -0.00805920805253369,
    -0.00012262715001254364,
    -4.254708228899459e-07,
)
#: The denominator.
_FAR_Q = (
    1.0,
    7.8209557080289605,
    10.163791514881275,
    3.5022755777395744,
    0.4128482677980926,
    0.0176661544466388,
    0.0002520339233150839,
    8.520129595616706e-07,
)
_FAR_START = 6.0
_CENTRAL_END = 0.85
_CENTRAL_SQUARE = 0.7225
_LN2 = 0.6931471805599453
_ROOT_2 = 1.4142135623730951


@computed_in_float64
def erfinv(m: Any, x: Any, size: int) -> Any:
    """Return the inverse of the error function; nan outside of [-1, 1]."""
    result = _inverse(m, x, _tail_root(m, 1 - m.absolute(x), _LN2), size, reaches_far=False)
    return m.where(x == 0, x, result)


@computed_in_float64
def erfcinv(m: Any, x: Any, size: int) -> Any:
    """Return the inverse of the complementary error function; nan outside of [0, 2]."""
    return _inverse(m, 1 - x, _tail_root(m, m.where(x > 1, 2 - x, x), _LN2), size)


@computed_in_float64
def ndtri(m: Any, x: Any, size: int) -> Any:
    """Return the inverse of the distribution function of the normal distribution; nan outside of [0, 1]."""
    centered = 2 * x - 1
    return _ROOT_2 * _inverse(m, centered, _tail_root(m, m.where(x > 0.5, 1 - x, x), 0.0), size)


def _tail_root(m: Any, y: Any, log_scale: float) -> tuple[Any, Any]:
    """Return ``sqrt(log_scale - log(y))`` and its rounding error; infinity for 0, nan for negative numbers."""
    square = log_scale - m.log(y)
    root = m.sqrt(square)
    return root, 0.5 * m.fma(-root, root, square) / root


def _inverse(m: Any, x: Any, root: tuple[Any, Any], size: int, reaches_far: bool = True) -> Any:
    """Return ``erfinv(x)`` for r = sqrt(-log((1 - |x|) / 2)) in two words, above 6.1 only if `reaches_far`."""
    r, r_low = root
    u = _CENTRAL_SQUARE - x * x
    limited = m.where(r < 30.0, r, 30.0)
    numerator = polynomial(limited, _MIDDLE[size])
    denominator = polynomial(limited, _MIDDLE_Q[size])
    if reaches_far and size == 8:
        far = r > _FAR_START
        numerator = m.where(far, polynomial(limited, _FAR), numerator)
        denominator = m.where(far, polynomial(limited, _FAR_Q), denominator)
    magnitude = m.absolute(x)
    central = magnitude <= _CENTRAL_END
    numerator = m.where(central, magnitude * polynomial(u, _CENTRAL[size]), numerator)
    denominator = m.where(central, polynomial(u, _CENTRAL_Q[size]), denominator)
    result = m.where(central, magnitude, r - 0.5) - (numerator / denominator - m.where(central, 0.0, r_low))
    return m.copysign(m.where(r < np.inf, result, r), x)
