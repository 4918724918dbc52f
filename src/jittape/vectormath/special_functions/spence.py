"""Spence's function: the dilogarithm of 1 - x.

For 1/2 <= x <= 2 it is Debye's series in z = -log(x), ``z - z**2 / 4 + sum of B(2k) z**(2k + 1) / (2k + 1)!`` with
Bernoulli numbers B, from DLMF 25.12.2. Other arguments are reflected to 1 / x and 1 - x (DLMF 25.12.4 and 25.12.6).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.vectormath.double_word import computed_in_float64, polynomial

__all__ = ["spence"]

#: B(2k) of Bernoulli, from k = 1.
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
_DEBYE = {
    size: tuple(b / math.factorial(2 * k + 3) for k, b in enumerate(_BERNOULLI[:terms]))
    for size, terms in ((4, 5), (8, 10))
}
_SIXTH_OF_PI_SQUARED = math.pi**2 / 6


@computed_in_float64
def spence(m: Any, x: Any, size: int) -> Any:
    """Return the integral of ``-log(t) / (t - 1)`` from 1 to x; nan for negative numbers."""
    logarithm = m.log(x)
    above, reflected = x > 1, (x < 0.5) | (x > 2)
    fraction = m.where(above, 1 / x, x)
    to_one = m.log1p(-m.where(reflected, fraction, 0.0))
    z = m.where(reflected, -to_one, -logarithm)
    square = z * z
    series = z + (z * (square * polynomial(square, _DEBYE[size])) - 0.25 * square)
    product = m.where(x == 0, 0.0, m.absolute(logarithm) * to_one)
    far = (_SIXTH_OF_PI_SQUARED + product) - series
    inverted = -0.5 * logarithm * logarithm - far
    result = m.where(reflected, m.where(above, inverted, far), series)
    return m.where(x < np.inf, result, -x)
