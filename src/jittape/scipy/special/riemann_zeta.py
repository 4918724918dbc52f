"""Riemann's zeta function of all real numbers, which the sum of the powers defines above 1 only."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np

from jittape.primitives.elementwise import special
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import equal, greater, greater_equal, less, logical_and, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, expm1
from jittape.primitives.elementwise.gamma_beta import gamma
from jittape.primitives.elementwise.piecewise import absolute, sign
from jittape.primitives.elementwise.piecewise import round as rint
from jittape.primitives.elementwise.trigonometric import sin
from jittape.scipy.scipy_operands import real_operands

__all__ = ["riemann_zeta"]


def riemann_zeta(x: Any) -> Any:
    """Return Riemann's zeta function of a handle."""
    (x,) = real_operands("zeta", (x,))
    inside = logical_and(greater_equal(x, _LEAST_FRACTION), less(x, 1.0))
    below = where(less(x, _LEAST_FRACTION), x, -1.0)
    return where(
        greater_equal(x, 1.0),
        special.zeta(where(greater_equal(x, 1.0), x, 2.0), 1.0),
        where(
            inside, _zeta_of_fraction(where(inside, x, 0.5)), where(is_nan(x), x, _zeta_of_negative(below))
        ),
    )


def _zeta_of_fraction(s: Any) -> Any:
    """Return Riemann's zeta function up to 1: the alternating series with Borwein's weights."""
    total: Any = 0.0
    for k, weight in enumerate(_alternating_weights(22)):
        total = add(total, multiply(weight, exp(multiply(s, -math.log(k + 1)))))
    return divide(total, negative(expm1(multiply(subtract(1.0, s), math.log(2)))))


@cache
def _alternating_weights(n: int) -> tuple[float, ...]:
    """Return the weights of n terms, whose error is below ``(3 + sqrt(8))**-n``."""
    parts = [
        n * math.factorial(n + i - 1) * 4**i / (math.factorial(n - i) * math.factorial(2 * i))
        for i in range(n + 1)
    ]
    sums = list(itertools.accumulate(parts))
    return tuple([(-1) ** k * (1 - sums[k] / sums[n]) for k in range(n)])


def _zeta_of_negative(s: Any) -> Any:
    """Return Riemann's zeta function of negative numbers by its reflection; it is 0 at the even ones."""
    rest = subtract(s, multiply(4.0, rint(multiply(s, 0.25))))  # from -2 to 2
    folded = where(greater(absolute(rest), 1.0), multiply(sign(rest), subtract(2.0, absolute(rest))), rest)
    wave = sin(multiply(folded, 0.5 * math.pi))
    t = subtract(1.0, s)
    log_power = multiply(t, -math.log(2 * math.pi))
    is_large = greater(t, _MOST_GAMMA)
    moderate = where(is_large, 2.0, t)
    small = multiply(gamma(moderate), exp(multiply(moderate, -math.log(2 * math.pi))))
    factor = where(is_large, exp(add(special.lgamma(t), log_power)), small)
    product = multiply(factor, special.zeta(t, 1.0))
    # At an even number the value is 0 although the product overflows, and the derivative is infinite.
    largest = float(np.finfo(s.dtype).max)
    product = where(logical_and(equal(wave, 0.0), greater(product, largest)), largest, product)
    return multiply(multiply(2.0, wave), product)


_LEAST_FRACTION = -0.5
"""Argument from which on the series is used: close to 0, the reflection would read the function close to its pole."""
_MOST_GAMMA = 30.0
"""Argument up to which float32 holds the gamma function, and with it the product."""
