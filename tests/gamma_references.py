"""References in mpmath, arguments to sample and exact values at edges of the gamma and beta families.

`ulp_table` and `test_vectormath` include these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

from jittape.primitives.elementwise import gamma_beta, incomplete_beta, special
from jittape.primitives.elementwise import incomplete_gamma as incomplete

inf, nan = np.inf, np.nan

Array = np.ndarray[Any, Any]

#: As in `ulp_table.FUNCTIONS`.
ROWS: dict[str, tuple[Callable[..., Any], list[tuple[float, float]], bool]] = {
    "gamma": (mp.gamma, [(0, 4), (0, 40), (-5, 0), (-170, 172), (-1e-30, 1e-30)], False),
}
EDGES: dict[str, list[tuple[float, float]]] = {
    "gamma": [(1, 1), (5, 24), (0.0, inf), (-0.0, -inf), (inf, inf), (200, inf), (-3, nan), (-inf, nan)],
}


def integral(a: Any, start: Any, end: Any) -> Any:
    """Return an incomplete gamma function, with more digits for the cancellation in mpmath's series."""
    with mp.workprec(400):
        return mp.gammainc(a, start, end, regularized=True)


def betaln(x: Any, y: Any) -> Any:
    with mp.workprec(400):
        return mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)


def zeta(s: Any, q: Any) -> Any:
    """Return the Hurwitz zeta function; mpmath's error is absolute, and the function may be tiny."""
    with mp.workprec(800):
        return mp.zeta(s, q)


def beta_fraction(a: Any, b: Any, x: Any) -> Any:
    """Return the continued fraction DLMF 8.17.22, by the algorithm of Lentz."""
    least = mp.mpf(2) ** (8 - mp.prec)
    numerator, denominator, result, step, change = mp.mpf(1), mp.mpf(0), mp.mpf(1), 0, mp.mpf(0)
    while abs(change - 1) > least:
        step += 1
        k = step // 2
        if step % 2:
            term = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        else:
            term = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        denominator = 1 / (1 + term * denominator)
        numerator = 1 + term / numerator
        change = numerator * denominator
        result *= change
    return 1 / result


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function; mpmath's takes seconds for large parameters.

    The digits that a complement may lose are computed in addition.
    """
    size = [abs(mp.frexp(value)[1]) for value in (a, b, x, 1 - x)]
    with mp.workprec(200 + 2 * max(size)):
        upper = x > (a + 1) / (a + b + 2)
        result = _lower_beta(b, a, 1 - x) if upper else _lower_beta(a, b, x)
        return 1 - result if upper else result


def _lower_beta(p: Any, q: Any, z: Any) -> Any:
    factor = mp.loggamma(p + q) - mp.loggamma(p + 1) - mp.loggamma(q)
    return mp.exp(factor + p * mp.log(z) + q * mp.log1p(-z)) * beta_fraction(p, q, z)


def betainc_slope(a: Any, b: Any, x: Any, in_a: bool) -> Any:
    """Return the derivative with respect to `a` or `b`, a quotient of differences with three times the digits."""
    size = [abs(mp.frexp(value)[1]) for value in (a, b, x, 1 - x)]
    with mp.workprec(420 + 2 * max(size)):
        upper = x > (a + 1) / (a + b + 2)
        step = (a if in_a else b) * mp.mpf(2) ** -160
        values = []
        for h in (step, -step):
            p, q = (a + h, b) if in_a else (a, b + h)
            values.append(-_lower_beta(q, p, 1 - x) if upper else _lower_beta(p, q, x))
        return (values[0] - values[1]) / (2 * step)


def betainc_curvature(a: Any, b: Any, x: Any, orders: tuple[int, int]) -> Any:
    """Return the second derivative of these orders with respect to `a` and `b`, by differences with many digits."""
    with mp.workprec(900):
        a, b, x = mp.mpf(a), mp.mpf(b), mp.mpf(x)
        upper = x > (a + 1) / (a + b + 2)

        def at(i: int, j: int) -> Any:
            p, q = a * (1 + i * step), b * (1 + j * step)
            return -_lower_beta(q, p, 1 - x) if upper else _lower_beta(p, q, x)

        step = mp.mpf(2) ** -180
        if orders == (1, 1):
            return (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * a * b * step**2)
        i, j = orders[0] // 2, orders[1] // 2
        return (at(i, j) - 2 * at(0, 0) + at(-i, -j)) / ((a if i else b) * step) ** 2


#: Functions of two or three arguments.
SEVERAL: dict[str, Callable[..., Any]] = {
    "zeta": zeta,
    "igamma": lambda a, x: integral(a, 0, x),
    "igammac": lambda a, x: integral(a, x, mp.inf),
    "betainc": betainc,
}
OPS = {
    "gamma": gamma_beta.gamma_op,
    "zeta": special.zeta_op,
    "igamma": incomplete.igamma_op,
    "igammac": incomplete.igammac_op,
    "betainc": incomplete_beta.betainc_op,
}
#: Largest errors promised, in units in the last place.
MAX_ULP = {"gamma": 4.0, "zeta": 4.0, "igamma": 4.0, "igammac": 4.0, "betainc": 4.0}


def samples_of_several(name: str, dtype: Any, count: int, seed: int) -> list[Array]:
    """Draw parameters of all sizes, and arguments around them and at other sizes."""
    generator = np.random.default_rng(seed)
    if name == "zeta":
        count = min(count, 100)  # the reference is slow
        s, q = 1 + np.exp(generator.uniform(-5, 4, count)), np.exp(generator.uniform(-4, 6, count))
        return [s.astype(dtype), q.astype(dtype)]
    if name == "betainc":
        return beta_samples(generator, dtype, count)
    a = np.exp(generator.uniform(np.log(1e-6), np.log(2000), count))
    spread = generator.normal(size=count) * generator.choice([0.01, 1.0, 4.0], count)
    near, far = a + spread * np.sqrt(a), a * np.exp(spread)
    return [a.astype(dtype), np.where((generator.random(count) < 0.5) & (near > 0), near, far).astype(dtype)]


#: Intervals of parameters of betainc.
BETA_RANGES = [(0.5, 8), (8, 100), (50, 2000), (1e-3, 100), (1e-8, 1), (1e-5, 1e5), (1e-30, 1e3), (1e3, 1e6)]


def beta_samples(generator: np.random.Generator, dtype: Any, count: int) -> list[Array]:
    """Draw parameters in several ranges, and arguments around the mean, far from it, and next to 0 and 1."""
    low, high = np.log(np.array(BETA_RANGES)[generator.integers(len(BETA_RANGES), size=count)].T)
    a, b = np.exp(low + (high - low) * generator.random((2, count)))
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)
    near = a / (a + b) + spread * generator.normal(size=count) * generator.choice([0.01, 1.0, 10.0], count)
    far = 1 / (1 + b / a * np.exp(generator.normal(size=count) * generator.choice([0.1, 1.0, 10.0], count)))
    ends = 10.0 ** generator.uniform(-30, 0, count), 1 - 10.0 ** generator.uniform(-15.9, 0, count)
    chosen = np.choose(generator.integers(4, size=count), [near, far, *ends]).astype(dtype)
    inside = (chosen > 0) & (chosen < 1)
    return [a.astype(dtype), b.astype(dtype), np.where(inside, chosen, dtype(0.5))]
