"""Rows of the primitive table for random numbers, see `primitive_table.py`; the references use Python's ints."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.integrate
import scipy.stats

from jittape.primitives.elementwise import random_numbers as rn
from jittape.primitives.elementwise.random_numbers import multiply_high
from primitive_table import SHAPE, SPECIALS, Array, Row
from primitive_table import normal as standard_normal

MASK = 0xFFFFFFFF


def philox_words(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, ...]:
    """Return the four words of Philox 4x32-10, as in the paper by Salmon et al. (2011)."""
    c, (low, high) = list(counter), key
    for _ in range(10):
        first, second = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(second >> 32) ^ c[1] ^ low, second & MASK, (first >> 32) ^ c[3] ^ high, first & MASK]
        low, high = (low + 0x9E3779B9) & MASK, (high + 0xBB67AE85) & MASK
    return tuple(c)


def halves(block: int, stream: int, key: int) -> tuple[int, int]:
    """Return the two halves of 64 bits of a block."""
    w = philox_words((block & MASK, block >> 32, stream & MASK, stream >> 32), (key & MASK, key >> 32))
    return w[0] | w[1] << 32, w[2] | w[3] << 32


def elementwise(function: Any, dtype: str) -> Any:
    """Return an elementwise function of arrays that calls `function` with Python's numbers."""

    def reference(*arrays: Array) -> Array:
        rows = zip(*[np.ravel(x).tolist() for x in arrays], strict=True)
        return np.array([function(*row) for row in rows], dtype).reshape(arrays[0].shape)

    return reference


def normal(block: int, stream: int, key: int, bits: int = 53) -> float:
    low, high = halves(block, stream, key)
    unit = ((low >> (64 - bits)) + 1) / 2**bits
    unit = unit if bits == 53 else float(np.float32(unit))
    return math.sqrt(-2 * math.log(unit)) * math.cos(2 * math.pi * (high / 2**64))


def truncated_normal(block: int, stream: int, key: int, bits: int = 53) -> float:
    draws = (normal((block + (attempt << 56)) % 2**64, stream, key, bits) for attempt in range(256))
    return next(x for x in draws if abs(x) <= 2)


def unit(block: int, stream: int, key: int) -> float:
    return ((halves(block, stream, key)[0] >> 11) + 1) / 2**53


def exponential(block: int, stream: int, key: int, bits: int = 53) -> float:
    low, _ = halves(block, stream, key)
    doubled = 2 * (low >> (65 - bits)) + 1
    complement = 2**bits - doubled
    return -math.log1p(-complement / 2**bits) if complement < doubled else -math.log(doubled / 2**bits)


def attempt(block: int, number: int) -> int:
    return (block + (number << 56)) % 2**64


def gamma(block: int, stream: int, key: int, alpha: float) -> float:
    """Return the number of Marsaglia and Tsang (2000)."""
    if not alpha > 0:
        return math.nan
    d = alpha - 1 / 3 + (alpha < 1)
    for number in range(0, 240, 2):
        x = normal(attempt(block, number), stream, key)
        t = 1 + x / math.sqrt(9 * d)
        if t > 0 and math.log(unit(attempt(block, number + 1), stream, key)) < x * x / 2 + d * (
            1 - t**3 + math.log(t**3)
        ):
            break
    factor = unit(attempt(block, 255), stream, key) ** (1 / alpha) if alpha < 1 else 1
    return d * t**3 * factor


def count_by_inversion(u: float, distribution: Any) -> int:
    return next(k for k in range(10**6) if u <= distribution.cdf(k))


def poisson(block: int, stream: int, key: int, lam: float) -> float:
    if not 0 <= lam < math.inf:
        return math.nan
    if lam < 10:
        return count_by_inversion(unit(block, stream, key), scipy.stats.poisson(lam))
    b = 0.931 + 2.53 * math.sqrt(lam)
    hat = (-0.059 + 0.02483 * b, b, lam + 0.43, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2))
    return by_rejection(block, stream, key, *hat, lambda k: scipy.stats.poisson(lam).logpmf(k))


def binomial(block: int, stream: int, key: int, n: float, p: float) -> float:
    if not (n >= 0 and n == math.floor(n) and 0 <= p <= 1):
        return math.nan
    if p > 0.5:
        return n - binomial(block, stream, key, n, 1 - p)
    law = scipy.stats.binom(n, p)
    if n * p < 10:
        return count_by_inversion(unit(block, stream, key), law)
    spread = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    peak = law.logpmf(math.floor((n + 1) * p))
    hat = (-0.0873 + 0.0248 * b + 0.01 * p, b, n * p + 0.5, (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b)
    return by_rejection(block, stream, key, *hat, lambda k: law.logpmf(k) - peak)


def attempts(block: int, stream: int, key: int) -> Iterator[tuple[float, float]]:
    """Return the pairs of uniform numbers of the attempts of a rejection."""
    for number in range(256):
        u, v = (((x >> 11) + 1) / 2**53 for x in halves(attempt(block, number), stream, key))
        yield u, v


def hypergeometric(block: int, stream: int, key: int, good: float, bad: float, drawn: float) -> float:
    """Return the number of Stadlober (1990), with the probabilities of SciPy."""
    if not (min(good, bad, drawn) >= 0 and 2**53 > good + bad >= drawn) or any(
        x % 1 for x in (good, bad, drawn)
    ):
        return math.nan
    if max(0, drawn - bad) == min(good, drawn):
        return min(good, drawn)
    total = good + bad
    law = scipy.stats.hypergeom(total, good, drawn)
    peak = law.logpmf(math.floor((drawn + 1) * (good + 1) / (total + 2)))
    spread = drawn * good * bad * (total - drawn) / total**2 / (total - 1)
    width = 2 * math.sqrt(2 / math.e * (spread + 0.5)) + 3 - 2 * math.sqrt(3 / math.e)
    for u, v in attempts(block, stream, key):
        k = math.floor(drawn * good / total + 0.5 + width * (v - 0.5) / u)
        if max(0, drawn - bad) <= k <= min(good, drawn) and 2 * math.log(u) <= law.logpmf(k) - peak:
            return k
    raise AssertionError


def zipf(block: int, stream: int, key: int, exponent: float) -> float:
    """Return the number of Devroye (1986, page 551)."""
    if not exponent > 1:
        return math.nan
    power, least = exponent - 1, 2.0 ** (-63 * (exponent - 1))
    for u, v in attempts(block, stream, key):
        k = math.floor((1 - u * (1 - least)) ** (-1 / power))
        ratio = (1 + 1 / k) ** power
        if v * k * (ratio - 1) / (2**power - 1) <= ratio / 2**power:
            return k
    raise AssertionError


def von_mises(block: int, stream: int, key: int, kappa: float) -> float:
    """Return the angle of Best and Fisher (1979), by their formulas."""
    if not kappa >= 0:
        return math.nan
    tau = 1 + math.sqrt(1 + 4 * kappa**2)
    rho = (tau - math.sqrt(2 * tau)) / (2 * kappa)
    s = (1 + rho**2) / (2 * rho)
    for number in range(256):
        low, high = halves(attempt(block, number), stream, key)
        half = math.pi * (low / 2**64 if low < 2**63 else low / 2**64 - 1)
        angle = 2 * math.atan((1 - rho) / (1 + rho) * math.tan(half))
        y = kappa * (s - math.cos(angle))
        if math.log(((high >> 11) + 1) / 2**53) <= math.log(y) + 1 - y:
            return angle
    raise AssertionError


def von_mises_slope(kappa: float, shortfall: float, angle: float) -> float:
    def integrand(t: float) -> float:
        return (1 - shortfall - math.cos(t)) * math.exp(kappa * (math.cos(t) - math.cos(angle)))

    return float(scipy.integrate.quad(integrand, 0, angle, epsabs=0, epsrel=1e-13)[0])


def by_rejection(
    block: int,
    stream: int,
    key: int,
    a: float,
    b: float,
    c: float,
    factor: float,
    quick: float,
    log_density: Any,
) -> float:
    """Return the number of Hörmann's transformed rejection with the hat `a`, `b`, `c`."""
    for u, v in attempts(block, stream, key):
        us = max(0.5 - abs(u - 0.5), 1e-17)
        k = math.floor((2 * a / us + b) * (u - 0.5) + c)
        if us >= 0.07 and v <= quick:
            return k
        if k >= 0 and math.log(v * factor / (a / us**2 + b)) <= log_density(k):
            return k
    raise AssertionError


def words(shape: tuple[int, ...], count: int = 3) -> Any:
    """Return operands of all 64 bits."""
    return lambda rng: tuple(rng.integers(0, 2**64, shape, np.uint64) for _ in range(count))


ENDS = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64)
PAIRS = tuple(np.array(x) for x in np.meshgrid(ENDS, ENDS))
EDGES = ((ENDS, ENDS, ENDS), (np.uint64(3),) * 3, (np.zeros((0, 2), np.uint64),) * 3)


def sampled(name: str, op: Any, reference: Any) -> tuple[Row, Row]:
    """Return rows for both dtypes of an op without parameters."""
    return tuple(
        Row(
            f"{name} {dtype}",
            lambda *x, dtype=dtype: op.bind(*x, dtype=np.dtype(dtype)),
            words((40, 5)),
            elementwise(lambda *x, bits=bits: reference(*x, bits), dtype),
            ("float64",),
            edges=EDGES,
            wrt=(),
            rtol=rtol,
        )
        for dtype, bits, rtol in (("float64", 53, 1e-14), ("float32", 32, 2e-6))
    )  # type: ignore[return-value]


def with_parameters(name: str, op: Any, reference: Any, parameters: list[Any], invalid: list[Any]) -> Row:
    """Return a row for an op with parameters in float64: the sample has all of them, the edges the invalid ones."""
    rows = np.array(parameters, float).reshape(len(parameters), -1)

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        shape = (len(rows), 30)
        return (*words(shape)(rng), *[np.repeat(column[:, None], 30, 1) for column in rows.T])

    bad = np.array(invalid, float).reshape(len(invalid), -1)
    seeds = tuple(np.arange(len(bad), dtype=np.uint64) for _ in range(3))
    return Row(
        name,
        lambda *x: op.bind(*x, dtype=np.dtype("float64")),
        sample,
        elementwise(reference, "float64"),
        ("float64",),
        edges=(
            (*seeds, *bad.T.copy()),
            tuple(np.zeros((0, 2), x) for x in ["uint64"] * 3 + ["float64"] * rows.shape[1]),
        ),
        wrt=(),
        rtol=1e-11,
    )


ROWS: tuple[Row, ...] = (
    *[
        Row(
            f"philox {half}",
            lambda *x, half=half: rn.philox_op.bind(*x, half=half),
            words((4, 5)),
            elementwise(lambda *x, half=half: halves(*x)[half], "uint64"),
            ("float64",),
            edges=EDGES,
            wrt=(),
        )
        for half in (0, 1)
    ],
    Row(
        "multiply_high uint64",
        multiply_high,
        words((4, 5), 2),
        elementwise(lambda x, y: x * y >> 64, "uint64"),
        ("float64",),
        edges=(PAIRS, (np.uint64(2**63), np.uint64(6))),
        wrt=(),
    ),
    Row(
        "multiply_high uint32",
        multiply_high,
        lambda rng: tuple(rng.integers(0, 2**32, (4, 5), np.uint32) for _ in range(2)),
        elementwise(lambda x, y: x * y >> 32, "uint32"),
        ("float64",),
        edges=((np.array([0, 1, 2**32 - 1], np.uint32),) * 2,),
        wrt=(),
    ),
    *sampled("random_normal", rn.normal_op, normal),
    *sampled("random_truncated_normal", rn.truncated_normal_op, truncated_normal),
    *sampled("random_exponential", rn.exponential_op, exponential),
    Row(
        "random_scaled",
        lambda *x: rn.scaled_op.bind(*x),
        standard_normal(SHAPE, SHAPE, SHAPE),
        lambda loc, scale, x: loc + scale * x,
        edges=((SPECIALS, np.ones(12), SPECIALS), (np.zeros((0, 2)),) * 3, (np.array(0.7),) * 3),
        analytic=True,
    ),
    with_parameters(
        "random_gamma", rn.gamma_op, gamma, [0.05, 0.3, 0.999, 1.0, 2.0, 30.0], [math.nan, -1.0, 0.0, 0.5]
    ),
    with_parameters(
        "random_log_gamma",
        rn.log_gamma_op,
        lambda *x: math.log(gamma(*x)),
        [0.05, 0.3, 0.999, 1.0, 2.0, 30.0],
        [0.5, 1.0, 7.0],
    ),
    with_parameters(
        "random_poisson", rn.poisson_op, poisson, [0.0, 0.3, 9.9, 10.0, 50.0], [math.nan, -1.0, math.inf]
    ),
    with_parameters(
        "random_binomial",
        rn.binomial_op,
        binomial,
        [(0, 0.5), (7, 0.3), (7, 0.0), (7, 1.0), (30, 0.9), (30, 0.5), (1000, 0.2)],
        [(math.nan, 0.5), (-1, 0.5), (2.5, 0.5), (3, math.nan), (3, 1.5), (3, -0.1)],
    ),
    with_parameters(
        "random_hypergeometric",
        rn.hypergeometric_op,
        hypergeometric,
        [(3, 2, 2), (0, 5, 3), (5, 0, 3), (5, 5, 10), (7, 20, 9), (1000, 3000, 500)],
        [(math.nan, 2, 1), (-1, 2, 0), (2.5, 3, 1), (3, 2, 6), (3, 2, -1), (1e16, 2, 1), (0, 0, 0)],
    ),
    with_parameters("random_zipf", rn.zipf_op, zipf, [1.2, 2.0, 5.0, 50.0], [math.nan, 1.0, -1.0, 3.0]),
    with_parameters(
        "random_von_mises", rn.von_mises_op, von_mises, [0.01, 0.5, 3.0, 200.0], [math.nan, -1.0, 2.0]
    ),
    Row(
        "random_von_mises_slope",
        rn.von_mises_slope_op.bind,
        lambda rng: tuple(rng.uniform(low, high, (4, 5)) for low, high in ((0, 20), (0, 1), (-1.5, 1.5))),
        elementwise(von_mises_slope, "float64"),
        ("float64",),
        edges=((np.array([3.0]), np.array([0.1]), np.array([0.0])), (np.zeros((0, 2)),) * 3),
        wrt=(),
        rtol=1e-10,
    ),
)
