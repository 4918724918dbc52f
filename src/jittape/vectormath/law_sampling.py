"""Random numbers of the von Mises, Zipf and hypergeometric laws by rejection. See `sampling`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jittape.vectormath.gamma_family.quadrature import nodes
from jittape.vectormath.philox import Coordinates, attempt, philox
from jittape.vectormath.sampling import log_binomial, positive_unit

__all__ = ["hypergeometric", "von_mises", "von_mises_slope", "zipf"]


# ---- von Mises -------------------------------------------------------------------------------------------------------

_LARGEST_CONCENTRATION = 1e300
"""Larger concentrations are drawn as this one: the angles, of size 1e-150, no longer change a mean direction."""


def von_mises(m: Any, at: Coordinates, concentration: Any, dtype: DTypeLike) -> Any:
    """Return an angle in [-pi, pi] of mean direction 0; nan unless the concentration is at least 0.

    Best and Fisher, Appl. Stat. 28, 1979: rejection from a wrapped Cauchy law. Its parameter `rho` and the terms of the
    test are written so that neither a concentration of 0 nor a large one cancels: with ``q = hypot(1, 2 kappa)`` and
    ``d = 1 + q + sqrt(2 (1 + q))``, ``rho = 2 kappa / d``.
    """
    valid = concentration >= 0
    kappa = m.where(valid, concentration, 0.0)
    kappa = m.where(kappa < _LARGEST_CONCENTRATION, kappa, _LARGEST_CONCENTRATION)
    twice = 2 * kappa
    q = m.where(twice < 1e8, m.sqrt(1 + twice * m.where(twice < 1e8, twice, 1.0)), twice)
    root = m.sqrt(2 * (1 + q))
    d = 1 + q + root
    rho = twice / d
    below_one = (root - 1 - 1 / (twice + q)) / m.where(twice > 1.0, twice, 1.0)
    below_one = m.where(twice > 1.0, below_one, 1 - rho)
    narrow = below_one / (1 + rho)
    rest = below_one * below_one * d * 0.25

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        *place, kappa, narrow, rest = fixed
        low, high = philox(attempt(Coordinates(*place), number))
        half = m.cast(m.cast(low, np.int64), dtype) * (math.pi / 2 * 2.0**-63)
        tangent = narrow * m.tan(half)
        square = tangent * tangent
        y = rest + 2 * kappa * (square / (1 + square))
        return m.log(positive_unit(m, high, dtype)) <= m.log(y) + (1 - y), (2 * m.arctan(tangent),)

    (angle,) = m.repeat(step, (*at, kappa, narrow, rest), (m.literal(0, dtype),), skip=~valid)
    return m.where(valid, angle, m.literal(np.nan, dtype))


def von_mises_slope(m: Any, concentration: Any, shortfall: Any, angle: Any) -> Any:
    """Return the derivative of an angle of fixed cumulative probability with respect to the concentration.

    It is minus the derivative of the distribution function divided by the density, the integral over t from 0 to the
    angle of ``(mean cosine - cos(t)) exp(kappa (cos(t) - cos(angle)))``. The `shortfall` is 1 - the mean cosine.
    """

    def step(row: tuple[Any, ...], fixed: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Any, ...]:
        (node, weight), (kappa, shortfall, angle), (total,) = row, fixed, now
        half = m.sin(angle * node * 0.5)
        power = m.sin(angle * (1 - node) * 0.5) * m.sin(angle * (1 + node) * 0.5)
        return (total + weight * (2 * half * half - shortfall) * m.exp(2 * kappa * power),)

    given = tuple([m.cast(x, np.float64) for x in (concentration, shortfall, angle)])
    (total,) = m.accumulate(step, nodes(28), given, (m.literal(0, np.float64),))
    return m.cast(given[2] * total, angle.dtype)


# ---- counts ----------------------------------------------------------------------------------------------------------

_MOST = 2.0**63
"""Zipf numbers are smaller than this, so that int64 holds them."""


def zipf(m: Any, at: Coordinates, exponent: Any, dtype: DTypeLike = np.float64) -> Any:
    """Return a Zipf number less than 2**63 as float64; nan unless the exponent is greater than 1.

    Devroye, Non-Uniform Random Variate Generation, 1986, page 551: rejection from the integer part of a Pareto number.
    That number is drawn below 2**63 by inversion, because most are larger if the exponent is close to 1.
    """
    valid = exponent > 1
    power = m.where(valid, exponent, 2.0) - 1
    width = m.expm1(power * -math.log(_MOST))
    hat = -m.expm1(power * -math.log(2.0))

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        *place, power, width, hat = fixed
        low, high = philox(attempt(Coordinates(*place), number))
        logarithm = -m.log1p(positive_unit(m, low, np.float64) * width)
        k = m.floor(m.exp(logarithm / power))
        k = m.where(k < 1.0, 1.0, k)
        mass = -m.expm1(-power * m.log1p(1 / k))
        return (k < _MOST) & (positive_unit(m, high, np.float64) * k * mass <= hat), (k,)

    (k,) = m.repeat(step, (*at, power, width, hat), (m.literal(1, np.float64),), skip=~valid)
    return m.where(valid, k, m.literal(np.nan, np.float64))


_TABLE_FACTOR, _TABLE_TERM = 2 * math.sqrt(2 / math.e), 3 - 2 * math.sqrt(3 / math.e)
"""Width of Stadlober's table in standard deviations, and its constant part."""


def _log_hypergeometric(m: Any, k: Any, good: Any, bad: Any, drawn: Any) -> Any:
    """Return the logarithm of the probability of `k`, without a term that does not depend on `k`.

    The probability is that of two binomial numbers given their sum, whichever the probability of success. That of the
    mean keeps all digits (Loader, 2000).
    """
    share = drawn / (good + bad)
    return log_binomial(m, k, good, share) + log_binomial(m, drawn - k, bad, share)


def hypergeometric(
    m: Any, at: Coordinates, good: Any, bad: Any, drawn: Any, dtype: DTypeLike = np.float64
) -> Any:
    """Return how many of the `drawn` are among the `good` as float64; nan for parameters without a law.

    Stadlober, J. Comput. Appl. Math. 31, 1990: ratio of uniforms under a table whose width holds for all parameters.
    """
    valid = (good >= 0) & (bad >= 0) & (drawn >= 0) & (drawn <= good + bad) & (good + bad < 2.0**53)
    valid = valid & (m.floor(good) == good) & (m.floor(bad) == bad) & (m.floor(drawn) == drawn)
    good, bad, drawn = (m.where(valid, x, 0.0) for x in (good, bad, drawn))
    least = m.where(drawn > bad, drawn - bad, 0.0)
    most = m.where(drawn < good, drawn, good)
    certain = ~(least < most)
    good, bad, drawn = m.where(certain, 1.0, good), m.where(certain, 1.0, bad), m.where(certain, 1.0, drawn)
    total = good + bad
    mean = drawn * (good / total)
    spread = mean * (bad / total) * ((total - drawn) / (total - 1))
    width = _TABLE_FACTOR * m.sqrt(spread + 0.5) + _TABLE_TERM
    mode = m.floor((drawn + 1) * ((good + 1) / (total + 2)))
    peak = _log_hypergeometric(m, mode, good, bad, drawn)

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        *place, least, most, good, bad, drawn, center, width, peak = fixed
        low, high = philox(attempt(Coordinates(*place), number))
        u, v = (positive_unit(m, bits, np.float64) for bits in (low, high))
        k = m.floor(center + width * (v - 0.5) / u)
        possible = (k >= least) & (k <= most)
        density = _log_hypergeometric(m, m.where(possible, k, least), good, bad, drawn) - peak
        return possible & (2 * m.log(u) <= density), (k,)

    fixed = (*at, least, most, good, bad, drawn, mean + 0.5, width, peak)
    (k,) = m.repeat(step, fixed, (m.literal(0, np.float64),), skip=certain)
    return m.where(valid, m.where(certain, least, k), m.literal(np.nan, np.float64))
