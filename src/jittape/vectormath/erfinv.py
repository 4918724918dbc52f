"""Inverses of the error functions and of the normal distribution function: erfinv, erfcinv, ndtri.

All three are one function z of y = erfc(z) and 1 - y, each of which the caller computes without cancellation. Up to
``|1 - y| = 0.85``, z / (1 - y) is 1 minus a rational function of (1 - y)**2. In the tails z is r minus a rational
function of r = sqrt(-log(y / 2)), for r up to 6 and beyond. Wichura (Applied Statistics 37, 1988, algorithm AS 241)
divides the range alike. The rational functions are own minimax approximations by Remez's algorithm with 40 digits. The
relative errors of z are 2**-57 for float64 and 2**-27 for float32, which is computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import computed_in_float64, polynomial

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
#: r - z in r = sqrt(-log(y / 2)) from 1.61, up to 6.1 (float64) and 10.3 (float32): the numerator.
_MIDDLE = {
    4: (
        2.175081679466218,
        7.078660827273344,
        2.5147361253234632,
        0.13855227336216733,
        0.0002551313080455704,
    ),
    8: (
        2.5090708999811784,
        26.487409119847058,
        54.60781726499811,
        37.13896164479199,
        11.98096616376568,
        1.6656042118516585,
        0.07542234423935508,
        0.0006706530007317032,
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
        16.76831375782301,
        55.70367063478157,
        62.9737274392522,
        31.48420357207163,
        7.82457331057575,
        0.8277993609544867,
        0.028211972167108468,
        0.00017534175982255486,
    ),
}
#: r - z in r from 6 to 27.4, only float64: the numerator.
_FAR = (
    2.256389078804784,
    9.246482334721273,
    5.0940622916811815,
    0.8076317461701903,
    0.04362569347724433,
    0.0007738691707857097,
    3.389811644998308e-06,
    5.356568908894272e-10,
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


def _tail_root(m: Any, y: Any, log_scale: float) -> Any:
    """Return ``sqrt(log_scale - log(y))``; infinity for 0, nan for negative numbers."""
    return m.sqrt(log_scale - m.log(y))


def _inverse(m: Any, x: Any, r: Any, size: int, reaches_far: bool = True) -> Any:
    """Return ``erfinv(x)`` for r = sqrt(-log((1 - |x|) / 2)), which may exceed 6.1 if `reaches_far`."""
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
    result = m.where(central, magnitude, r) - numerator / denominator
    return m.copysign(m.where(r < np.inf, result, r), x)
