"""Random numbers from the blocks of `philox`, by transformation and by rejection.

Uniform and normal numbers round each operation by itself. Compiled code, on every processor, and the interpreter
therefore give the same bits. A rejection draws the block of the next attempt, so that each element of a result depends
only on its own coordinates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jittape.vectormath.exp import LN2_PARTS
from jittape.vectormath.log import LOG_SERIES, split
from jittape.vectormath.philox import Coordinates, attempt, philox

__all__ = [
    "binomial",
    "exponential",
    "gamma",
    "log_binomial",
    "log_gamma",
    "normal",
    "poisson",
    "positive_unit",
    "truncated_normal",
]

#: ``(sin(x) / x - 1) / z`` in z = x**2, up to x = pi/2, interpolated at Chebyshev nodes.
_SIN = {
    4: (-0.1666666567325592, 0.008333242498338223, -0.0001982273970497772, 2.634756356201251e-06),
    8: (
        -0.16666666666666666,
        0.008333333333333316,
        -0.00019841269841254974,
        2.7557319219163234e-06,
        -2.5052107616996182e-08,
        1.6058977312464087e-10,
        -7.643970296798572e-13,
        2.7314447669863995e-15,
    ),
}
_UNIT_BITS = {4: 32, 8: 53}
"""Random bits of the uniform number whose logarithm is taken, by the size of the dtype."""


def _polynomial(m: Any, x: Any, coefficients: tuple[float, ...]) -> Any:
    """Evaluate a polynomial by Horner's rule; every operation is rounded."""
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = m.rounded_add(m.rounded_multiply(x, result), coefficient)
    return result


def _log(m: Any, x: Any) -> Any:
    """Return the logarithm of a positive normal number, as `log.log` without its edges."""
    k, f, _ = split(m, x)
    return _log_of_parts(m, k, f)


def _log_of_parts(m: Any, k: Any, f: Any) -> Any:
    """Return the logarithm of ``2**k (1 + f)``; every operation is rounded."""
    size = f.dtype.itemsize
    high, low = LN2_PARTS[size]
    half_square = m.rounded_multiply(m.rounded_multiply(f, f), 0.5)
    s = f / m.rounded_add(f, 2.0)
    z = m.rounded_multiply(s, s)
    series = m.rounded_multiply(z, _polynomial(m, z, LOG_SERIES[size]))
    rest = m.rounded_multiply(s, m.rounded_add(half_square, series))
    correction = m.rounded_add(rest, m.rounded_multiply(k, low))
    small = m.rounded_add(m.rounded_add(half_square, -correction), -f)
    return m.rounded_add(m.rounded_multiply(k, high), -small)


def positive_unit(m: Any, bits: Any, dtype: DTypeLike) -> Any:
    """Return a uniform number in (0, 1] from 64 random bits."""
    size = np.dtype(dtype).itemsize
    kept = _UNIT_BITS[size]
    return m.rounded_multiply(m.cast((bits >> (64 - kept)) + 1, dtype), 2.0**-kept)


def _cosine_of_turns(m: Any, bits: Any, dtype: DTypeLike) -> Any:
    """Return the cosine of a random angle: the fraction of a turn is `bits` / 2**64.

    It is the sine of a quarter of a turn minus the angle's size, which is exact in integers.
    """
    quarter = (1 << 62) - m.absolute(m.cast(bits, np.int64))
    x = m.rounded_multiply(m.cast(quarter, dtype), 2 * math.pi * 2.0**-64)
    z = m.rounded_multiply(x, x)
    series = m.rounded_multiply(z, _polynomial(m, z, _SIN[np.dtype(dtype).itemsize]))
    return m.rounded_add(x, m.rounded_multiply(x, series))


def normal(m: Any, at: Coordinates, dtype: DTypeLike) -> Any:
    """Return a standard normal number (Box and Muller, Ann. Math. Stat. 29, 1958)."""
    low, high = philox(at)
    radius = m.sqrt(m.rounded_multiply(_log(m, positive_unit(m, low, dtype)), -2.0))
    return m.rounded_multiply(radius, _cosine_of_turns(m, high, dtype))


def truncated_normal(m: Any, at: Coordinates, dtype: DTypeLike) -> Any:
    """Return a standard normal number between -2 and 2, by rejection."""

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        x = normal(m, attempt(Coordinates(*fixed), number), dtype)
        return m.absolute(x) <= 2.0, (x,)

    (result,) = m.repeat(step, at, (m.literal(0, dtype),))
    return result


def exponential(m: Any, at: Coordinates, dtype: DTypeLike) -> Any:
    """Return a standard exponential number: minus the logarithm of a uniform one, u.

    The difference ``1 - u`` is exact too, so that small and large results have all digits.
    """
    kept = _UNIT_BITS[np.dtype(dtype).itemsize] - 1
    doubled = ((philox(at).low >> (64 - kept)) << 1) + 1
    u = m.rounded_multiply(m.cast(doubled, dtype), 2.0 ** -(kept + 1))
    complement = m.rounded_multiply(m.cast((1 << (kept + 1)) - doubled, dtype), -(2.0 ** -(kept + 1)))
    k, f, _ = split(m, u)
    near_one = u > 0.75
    return -_log_of_parts(m, m.where(near_one, 0.0, k), m.where(near_one, complement, f))


# ---- gamma -----------------------------------------------------------------------------------------------------------

_GAMMA_ATTEMPTS = 120
_BOOST_BLOCK = 255
"""Number of the block whose uniform number leads from the shape ``alpha + 1`` to a shape less than 1."""


def _large_gamma(m: Any, at: Coordinates, alpha: Any, dtype: DTypeLike) -> Any:
    """Return a gamma number of shape `alpha`, or ``alpha + 1`` if `alpha` is less than 1.

    Marsaglia and Tsang, ACM Trans. Math. Softw. 26, 2000.
    """
    d = m.where(alpha < 1.0, alpha + 1.0, alpha) - 1 / 3

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        *place, d, c = fixed
        here = Coordinates(*place)
        x = normal(m, attempt(here, number * 2), dtype)
        u = positive_unit(m, philox(attempt(here, number * 2 + 1)).low, dtype)
        t = 1 + c * x
        v = m.where(t > 0, t * t * t, 1.0)
        accepted = (t > 0) & (m.log(u) < 0.5 * x * x + d * (1 - v + m.log(v)))
        return accepted, (v,)

    c = (1 / 3) / m.sqrt(d)
    (v,) = m.repeat(step, (*at, d, c), (m.literal(1, dtype),), _GAMMA_ATTEMPTS, ~(d < np.inf))
    return m.where(alpha > 0, d * v, m.literal(np.nan, dtype))


def _log_boost(m: Any, at: Coordinates, alpha: Any, dtype: DTypeLike) -> Any:
    """Return the logarithm of the factor that leads from the shape ``alpha + 1`` to `alpha`; 0 for others."""

    def step(_: Any, fixed: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        *place, alpha = fixed
        here = attempt(Coordinates(*place), m.literal(_BOOST_BLOCK, np.uint64))
        return alpha == alpha, (m.log(positive_unit(m, philox(here).low, dtype)) / alpha,)

    (factor,) = m.repeat(step, (*at, alpha), (m.literal(0, dtype),), 1, ~(alpha < 1.0))
    return factor


def gamma(m: Any, at: Coordinates, alpha: Any, dtype: DTypeLike) -> Any:
    """Return a gamma number of shape `alpha` and rate 1; nan unless `alpha` is positive."""
    return _large_gamma(m, at, alpha, dtype) * m.exp(_log_boost(m, at, alpha, dtype))


def log_gamma(m: Any, at: Coordinates, alpha: Any, dtype: DTypeLike) -> Any:
    """Return the logarithm of `gamma`, which exists even if the number underflows."""
    return m.log(_large_gamma(m, at, alpha, dtype)) + _log_boost(m, at, alpha, dtype)


# ---- counts ----------------------------------------------------------------------------------------------------------

_MEAN_OF_REJECTION = 10.0
"""Minimum mean of counts that are drawn by rejection; smaller ones by inversion, which adds up probabilities."""


def _count_by_inversion(m: Any, at: Coordinates, first: Any, ratio: Any, bound: Any, skip: Any) -> Any:
    """Return the least count whose cumulative probability is at least that of a uniform number.

    Parameters
    ----------
    first : float64
        Probability of 0.
    ratio, bound : float64
        The probability of `k` is that of ``k - 1`` times ``ratio * (bound - k) / k``; ``ratio / k`` if `bound` is inf.
    skip : bool
        Whether the result is not used.
    """

    def step(_: Any, fixed: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        (u, ratio, bound), (k, probability, total) = fixed, now
        found = (u <= total) | ~(k < bound)
        k = m.where(found, k, k + 1)
        factor = m.where(bound < np.inf, bound - k, 1.0)
        probability = m.where(found, probability, probability * (ratio * factor / k))
        return found, (k, probability, m.where(found, total, total + probability))

    u = positive_unit(m, philox(at).low, np.float64)
    zero = m.literal(0, np.float64)
    (k, _, _) = m.repeat(step, (u, ratio, bound), (zero, first, first), _LONGEST_INVERSION, skip)
    return k


_LONGEST_INVERSION = 200
"""Maximum count by inversion. For a mean of 10, the probability of more is less than 1e-150."""


def _hat(m: Any, at: Coordinates, number: Any, a: Any, b: Any, center: Any) -> tuple[Any, Any, Any, Any]:
    """Return an attempt of transformed rejection: the count, its `us` and `v`, and the factor of the hat.

    Hörmann, "The transformed rejection method for generating Poisson random variables", Insur. Math. Econ. 12, 1993.
    """
    low, high = philox(attempt(at, number))
    u, v = (positive_unit(m, bits, np.float64) for bits in (low, high))
    u = u - 0.5
    us = 0.5 - m.absolute(u)
    us = m.where(us > 1e-17, us, 1e-17)
    k = m.floor((2 * a / us + b) * u + center)
    return k, us, v, a / (us * us) + b


_STIRLING_MINIMUM = 16.0
"""Minimum of `_log_factorial_ratio` for Stirling's series; its error is then less than 1e-16."""


def _log_factorial_ratio(m: Any, k: Any) -> Any:
    """Return ``log(k! e**k / k**k)``, which is small for large k. Differences of `lgamma` would lose its digits."""
    x = m.where(k < 1.0, 1.0, k)
    inverse = 1 / x
    square = inverse * inverse
    series = inverse * (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188))))
    )
    large = 0.5 * m.log(2 * math.pi * x) + series

    def step(_: Any, fixed: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        (x,) = fixed
        return x == x, (m.lgamma(x + 1) - x * m.log(x) + x,)

    (result,) = m.repeat(step, (x,), (large,), 1, x >= _STIRLING_MINIMUM)
    return m.where(k < 1.0, 0.0, result)


def _deviance(m: Any, k: Any, mean: Any) -> Any:
    """Return ``k log(k / mean) + mean - k`` without cancellation.

    Loader, "Fast and accurate computation of binomial probabilities", 2000.
    """
    difference = k - mean
    v = difference / (k + mean)
    square = v * v
    series = _odd_series(square)
    near = difference * v + 2 * k * v * square * series
    positive = m.where(k > 0, k, 1.0)
    far = m.where(k > 0, k * m.log(positive / mean), 0.0) - difference
    return m.where(square < 0.01, near, far)


def _odd_series(square: Any) -> Any:
    """Return the sum of ``square**j / (2 * j + 3)``, for squares of at most 0.01."""
    result = square * (1 / 19) + 1 / 17
    for divisor in (15, 13, 11, 9, 7, 5, 3):
        result = result * square + 1 / divisor
    return result


def _poisson_by_rejection(m: Any, at: Coordinates, lam: Any, skip: Any) -> Any:
    lam = m.where(skip, _MEAN_OF_REJECTION, lam)
    b = 0.931 + 2.53 * m.sqrt(lam)

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        *place, lam, b = fixed
        a = -0.059 + 0.02483 * b
        k, us, v, hat = _hat(m, Coordinates(*place), number, a, b, lam + 0.43)
        quick = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        possible = (k >= 0) & ((us >= 0.013) | (v <= us))
        count = m.where(possible, k, 0.0)
        density = -_log_factorial_ratio(m, count) - _deviance(m, count, lam)
        accepted = m.log(v * (1.1239 + 1.1328 / (b - 3.4)) / hat) <= density
        return quick | (possible & accepted), (k,)

    (k,) = m.repeat(step, (*at, lam, b), (m.literal(0, np.float64),), skip=skip)
    return k


def poisson(m: Any, at: Coordinates, lam: Any, dtype: DTypeLike = np.float64) -> Any:
    """Return a Poisson number as float64; nan unless `lam` is at least 0 and finite."""
    small = ~(lam >= _MEAN_OF_REJECTION)
    valid = (lam >= 0) & (lam < np.inf)
    few = m.where(small, lam, 0.0)
    infinite = m.literal(np.inf, np.float64)
    by_inversion = _count_by_inversion(m, at, m.exp(-few), few, infinite, ~small)
    by_rejection = _poisson_by_rejection(m, at, lam, small | ~valid)
    return m.where(valid, m.where(small, by_inversion, by_rejection), m.literal(np.nan, np.float64))


def log_binomial(m: Any, k: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of the probability of `k`, without the term that depends on `n` alone."""
    rest = n - k
    factorials = _log_factorial_ratio(m, k) + _log_factorial_ratio(m, rest)
    return -factorials - _deviance(m, k, n * p) - _deviance(m, rest, n * (1 - p))


def _binomial_by_rejection(m: Any, at: Coordinates, n: Any, p: Any, skip: Any) -> Any:
    """Return a binomial number for ``p <= 1/2`` (Hörmann, J. Stat. Comput. Simul. 46, 1993, algorithm BTRS)."""
    n, p = m.where(skip, 40.0, n), m.where(skip, 0.5, p)
    spread = m.sqrt(n * p * (1 - p))
    peak = log_binomial(m, m.floor((n + 1) * p), n, p)

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        *place, n, p, spread, peak = fixed
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * p
        k, us, v, hat = _hat(m, Coordinates(*place), number, a, b, n * p + 0.5)
        quick = (us >= 0.07) & (v <= 0.92 - 4.2 / b)
        possible = (k >= 0) & (k <= n)
        density = log_binomial(m, m.where(possible, k, 0.0), n, p) - peak
        accepted = m.log(v * ((2.83 + 5.1 / b) * spread) / hat) <= density
        return possible & (quick | accepted), (k,)

    (k,) = m.repeat(step, (*at, n, p, spread, peak), (m.literal(0, np.float64),), skip=skip)
    return k


def binomial(m: Any, at: Coordinates, count: Any, probability: Any, dtype: DTypeLike = np.float64) -> Any:
    """Return a binomial number as float64; nan for a count that is no integer of at least 0 or p outside [0, 1]."""
    valid = (count >= 0) & (count < 2.0**53) & (m.floor(count) == count)
    valid = valid & (probability >= 0) & (probability <= 1)
    n = m.where(valid, count, 0.0)
    given = m.where(valid, probability, 0.0)
    flipped = given > 0.5
    p = m.where(flipped, 1 - given, given)
    small = n * p < _MEAN_OF_REJECTION
    few = m.where(small, p, 0.0)
    first = m.exp(n * m.log1p(-few))
    by_inversion = _count_by_inversion(m, at, first, few / (1 - few), n + 1, ~small)
    k = m.where(small, by_inversion, _binomial_by_rejection(m, at, n, p, small))
    return m.where(valid, m.where(flipped, n - k, k), m.literal(np.nan, np.float64))
