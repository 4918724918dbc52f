"""Differences of polygamma functions at arguments that may be far apart in size, without cancellation.

The sums over the poles (DLMF 5.15.1) and the asymptotic series (DLMF 5.15.8) are differenced term by term, with
``s**-p - n**-p = (1 / s - 1 / n) (sum of s**-i n**-j with i + j = p - 1)``. All these sums have positive terms.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from jittape.vectormath.gamma_family.lgamma import DIGAMMA_ASYMPTOTIC

__all__ = ["polygamma_difference"]

_LARGE = 8
"""Argument from which on the asymptotic series of digamma is used; higher orders add the order."""
_GREATEST = float(np.finfo(np.float64).max)


def polygamma_difference(m: Any, x: Any, y: Any, order: int) -> Any:
    """Return ``polygamma(order, x) - polygamma(order, x + y)`` for `y` of at least 0; ``abs(x)`` replaces `x`."""
    dtype = x.dtype
    x, y = m.absolute(m.cast(x, np.float64)), m.cast(y, np.float64)
    start = _LARGE + order
    s, r = m.where(x < np.inf, x, 1.0), m.where(y < np.inf, y, _GREATEST)
    large = s >= start
    total = _of_large(m, m.where(large, s, s + start), r, order)
    poles = m.literal(0, np.float64)
    for k in reversed(range(start)):
        poles = poles + _power_sums(r, s + k, s + k + r, order + 1)[-1]
    total = total + m.where(large, 0.0, factorial(order) * poles)
    if order == 0:
        total = m.where(y < np.inf, total, np.inf)
    total = m.where(x < np.inf, total, 0.0)
    known = (x == x) & (y >= 0) & ((x < np.inf) | (y < np.inf))
    return m.cast(m.where(known, total if order % 2 else -total, m.literal(np.nan, np.float64)), dtype)


def _power_sums(r: Any, s: Any, n: Any, count: int) -> list[Any]:
    """Return ``s**-p - n**-p`` for p from 1 to `count`, with n = s + r."""
    inverse, other = 1 / s, 1 / n
    difference = (r * other) * inverse
    results, power = [difference], other
    for p in range(2, count + 1):
        # s**-p - n**-p = (s**-(p - 1) - n**-(p - 1)) / s + (1 / s - 1 / n) n**-(p - 1)
        results.append(results[-1] * inverse + difference * power)
        if p < count:
            power = power * other
    return results


def _of_large(m: Any, s: Any, r: Any, order: int) -> Any:
    """Return the size of the difference for large s, by the asymptotic series."""
    terms = len(DIGAMMA_ASYMPTOTIC)
    powers = _power_sums(r, s, s + r, order + 2 * terms)
    total = m.literal(0, np.float64)
    for k in reversed(range(1, terms + 1)):
        # B(2k) (2k + order - 1)! / (2k)!
        factor = DIGAMMA_ASYMPTOTIC[k - 1] * (factorial(2 * k + order - 1) // factorial(2 * k - 1))
        total = total + factor * powers[order + 2 * k - 1]
    total = total + 0.5 * factorial(order) * powers[order]
    leading = factorial(order - 1) * powers[order - 1] if order else m.log1p(r / s)
    return leading + total
