"""References in mpmath, arguments to sample and exact values at edges of the special functions of one variable.

`ulp_table` and `test_vectormath` include these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from mpmath import mp

mp.prec = 200
inf, nan = np.inf, np.nan

Row = tuple[Callable[..., Any], list[tuple[float, float]], bool]


# ---- error functions -------------------------------------------------------------------------------------------------


def inverse_of_erfc(y: Any) -> Any:
    """Return z with erfc(z) = y for 0 <= y <= 1, by Halley's iteration from the leading term of the tail."""
    if y == 0:
        return mp.inf
    if y > 0.5:
        return mp.erfinv(1 - y)
    size = -mp.log(y / 2)
    z = mp.sqrt(size - mp.log(mp.sqrt(mp.pi * (size + 1))) + 0.5)
    step = mp.mpf(1)
    while abs(step) > mp.mpf(2) ** -60:  # the error after the last step is about the third power
        step = (mp.erfc(z) - y) / (2 / mp.sqrt(mp.pi) * mp.exp(-z * z))
        z += step / (1 - step * z)
    return z


def erfinv(x: Any) -> Any:
    return mp.erfinv(x) if abs(x) < 0.5 else erfcinv(1 - x)


def erfcinv(y: Any) -> Any:
    if not 0 <= y <= 2:
        return mp.nan
    return inverse_of_erfc(y) if y <= 1 else -inverse_of_erfc(2 - y)


def erfcx(x: Any) -> Any:
    if x > 1e8:
        return (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi))
    return mp.exp(x * x) * mp.erfc(x) if x > -1000 else mp.inf


def ndtr(x: Any) -> Any:
    return mp.erfc(-max(-1000, min(x, 1000)) / mp.sqrt(2)) / 2


def log_ndtr(x: Any) -> Any:
    return mp.log1p(-ndtr(-x)) if x > 0 else mp.log(erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2


# ---- Bessel functions ------------------------------------------------------------------------------------------------

ASYMPTOTIC = 60
"""Sizes from which the asymptotic series have 2**-150."""


def hankel(order: int, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the sums of a_k / x**k by k modulo 4, with a_k of DLMF 10.17.1."""
    sums = [mp.mpf(0)] * 4
    term, k = mp.mpf(1), 0
    while abs(term) > mp.mpf(2) ** -170 and k < 2 * ASYMPTOTIC:
        sums[k % 4] += term
        k += 1
        term *= (4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
    return tuple(sums)


def in_110_bits(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a slow function in less than the usual precision."""
    with mp.workprec(110):
        return function(*arguments)


def scaled_i(order: int, x: Any) -> Any:
    """Return ``exp(-|x|) I(x)``."""
    size = abs(x)
    if size < ASYMPTOTIC:
        return in_110_bits(mp.besseli, order, x) * mp.exp(-size)
    a, b, c, d = hankel(order, size)
    return mp.sign(x) ** order * (a - b + c - d) / mp.sqrt(2 * mp.pi * size)


def scaled_k(order: int, x: Any) -> Any:
    """Return ``exp(x) K(x)``."""
    if x < 0:
        return mp.nan
    if x < 0.5:
        return in_110_bits(mp.besselk, order, x) * mp.exp(x)
    if x >= ASYMPTOTIC:
        return sum(hankel(order, x)) * mp.sqrt(mp.pi / (2 * x))
    # The trapezoidal rule for DLMF 10.32.9 converges exponentially.
    step = mp.mpf(1) / 16
    ends = [mp.exp(-x * (mp.cosh(k * step) - 1)) * mp.cosh(order * k * step) for k in range(1, 100)]
    return step * (sum(ends) + mp.mpf(1) / 2)


def limited_exp(x: Any) -> Any:
    return mp.exp(max(-2000, min(x, 2000)))


def oscillating(kind: str, order: int) -> Callable[..., Any]:
    """Return J or Y, with the amplitude that errors are relative to beyond 5, and for Y everywhere."""

    def value(x: Any) -> Any:
        size = abs(x)
        if kind == "y" and x <= 0:
            return mp.nan if x < 0 else -mp.inf
        if size < ASYMPTOTIC:
            return in_110_bits(mp.besselj if kind == "j" else mp.bessely, order, x)
        a, b, c, d = hankel(order, size)
        # The angle is x - (order / 2 + 1 / 4) pi; mpmath reduces x exactly.
        sine, cosine = mp.sin(size), mp.cos(size)
        if order:
            sine, cosine = -cosine, sine
        sine, cosine = sine - cosine, sine + cosine
        p, q = a - c, b - d
        found = p * cosine - q * sine if kind == "j" else p * sine + q * cosine
        return mp.sign(x) ** order * found / mp.sqrt(mp.pi * size)

    def amplitude(x: float) -> float:
        size = abs(float(x))
        return 0.0 if kind == "j" and size < 5 else min(0.5, (2 / np.pi / size) ** 0.5)

    found = cache(value)
    found.amplitude = amplitude  # type: ignore[attr-defined]
    return found


def bessel_rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for n in (0, 1):
        exponential = [(-13, 13), (10, 100), (0, 720)]
        positive = [(0, 1), (1, 4), (1, 100), (0, 740)]
        rows |= {
            f"bessel_i{n}": (cache(lambda x, n=n: scaled_i(n, x) * limited_exp(abs(x))), exponential, True),
            f"bessel_i{n}e": (cache(lambda x, n=n: scaled_i(n, x)), exponential, True),
            f"bessel_k{n}": (cache(lambda x, n=n: scaled_k(n, x) * limited_exp(-x)), positive, True),
            f"bessel_k{n}e": (cache(lambda x, n=n: scaled_k(n, x)), positive, True),
            f"bessel_j{n}": (oscillating("j", n), [(-6, 6), (0, 40), (0, 1e4), (0, 1e12)], True),
            f"bessel_y{n}": (oscillating("y", n), [(0, 1), (0, 6), (0, 40), (0, 1e12)], True),
        }
    return rows


# ---- integrals, sinc and logcosh -------------------------------------------------------------------------------------


def dawsn(x: Any) -> Any:
    if abs(x) < ASYMPTOTIC:
        return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    return sum(mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(30)) / (2 * x)


def expint(x: Any) -> Any:
    if x == 0:
        return -mp.inf
    if abs(x) > 2000:
        return mp.inf if x > 0 else mp.mpf(0)
    return in_110_bits(mp.ei, x) if x > 0 else -in_110_bits(mp.e1, -x)


def fresnel(function: Callable[..., Any]) -> Callable[..., Any]:
    return cache(lambda x: function(x) if abs(x) < 1e18 else mp.sign(x) / 2)


def slope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of pi x**2 / 2, with an amplitude of 1."""

    def value(x: Any) -> Any:
        with mp.workprec(400):
            square = x * x
            return function(mp.pi / 2 * (square - 4 * mp.floor(square / 4))) if abs(x) < 1e18 else function(0)

    value.amplitude = lambda x: 0.5  # type: ignore[attr-defined]
    return value


def spence(x: Any) -> Any:
    if x < 0:
        return mp.nan
    if x > 1e60:
        return -(mp.log(x) ** 2 / 2 + mp.pi**2 / 6)
    return in_110_bits(lambda: mp.re(mp.polylog(2, 1 - x))) if x != 1 else mp.mpf(0)


def sinc(x: Any) -> Any:
    """Return sin(pi x) / (pi x) with an exact distance from the nearest integer."""
    if x == 0:
        return mp.mpf(1)
    whole = mp.nint(x)
    return (-1) ** int(whole % 2) * mp.sin(mp.pi * (x - whole)) / (mp.pi * x)


def logcosh(x: Any) -> Any:
    size = abs(x)
    if size < 1:
        return mp.log1p(2 * mp.sinh(size / 2) ** 2)
    return size + mp.log1p(limited_exp(-2 * size)) - mp.log(2)


# ---- tables ----------------------------------------------------------------------------------------------------------

ROWS: dict[str, Row] = {
    "erfinv": (erfinv, [(-1, 1), (0.8, 0.9), (0.99, 1)], True),
    "erfcinv": (erfcinv, [(0, 2), (0.1, 0.2), (0, 1e-9)], True),
    "erfcx": (erfcx, [(-1, 1), (-27, 0), (0, 10), (10, 100)], True),
    "ndtr": (ndtr, [(-1, 1), (-10, 10), (-39, 0)], True),
    "ndtri": (lambda x: -mp.sqrt(2) * erfcinv(2 * x), [(0, 1), (0.05, 0.1), (0, 1e-9)], True),
    "log_ndtr": (log_ndtr, [(-1, 1), (-10, 10), (-39, 0), (0, 39)], True),
    **bessel_rows(),
    "dawsn": (dawsn, [(-1, 1), (0, 6), (5, 8), (0, 100)], True),
    "expint": (cache(expint), [(-1, 0), (-700, 0), (0, 1), (0.37, 0.38), (0, 6), (5, 30), (0, 715)], True),
    "fresnel_cos": (fresnel(mp.fresnelc), [(-2, 2), (0, 10), (0, 1e4)], True),
    "fresnel_sin": (fresnel(mp.fresnels), [(-2, 2), (0, 10), (0, 1e4)], True),
    "fresnel_cos_slope": (slope(mp.cos), [(-2, 2), (0, 10), (0, 1e4), (0, 1e12)], True),
    "fresnel_sin_slope": (slope(mp.sin), [(-2, 2), (0, 10), (0, 1e4), (0, 1e12)], True),
    "spence": (cache(spence), [(0, 1), (0.9, 1.1), (0, 5), (0, 1e5)], True),
    "sinc": (sinc, [(-1, 1), (-10, 10), (-1e3, 1e3)], True),
    "logcosh": (logcosh, [(-1, 1), (-3, 3), (-1e3, 1e3)], True),
}

#: Pairs of argument and value that every float must hit exactly.
EDGES: dict[str, list[tuple[float, float]]] = {
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1, inf), (-1, -inf), (1.5, nan), (inf, nan), (-inf, nan)],
    "erfcinv": [(1, 0.0), (0.0, inf), (-0.0, inf), (2, -inf), (-1, nan), (3, nan), (inf, nan), (-inf, nan)],
    "erfcx": [(0.0, 1), (-0.0, 1), (inf, 0.0), (-inf, inf), (-1e5, inf)],
    "ndtr": [(0.0, 0.5), (-0.0, 0.5), (inf, 1), (-inf, 0.0), (1e5, 1), (-1e5, 0.0)],
    "ndtri": [(0.5, 0.0), (0.0, -inf), (-0.0, -inf), (1, inf), (-1, nan), (2, nan), (inf, nan), (-inf, nan)],
    "log_ndtr": [(inf, -0.0), (-inf, -inf), (1e5, -0.0)],
    "bessel_i0": [(0.0, 1), (-0.0, 1), (inf, inf), (-inf, inf), (1e5, inf), (-1e5, inf)],
    "bessel_i0e": [(0.0, 1), (-0.0, 1), (inf, 0.0), (-inf, 0.0)],
    "bessel_i1": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (1e5, inf), (-1e5, -inf)],
    "bessel_i1e": [(0.0, 0.0), (-0.0, -0.0), (inf, 0.0), (-inf, -0.0)],
    "bessel_k0": [(0.0, inf), (-0.0, inf), (inf, 0.0), (-1, nan), (-inf, nan), (1e5, 0.0)],
    "bessel_k0e": [(0.0, inf), (-0.0, inf), (inf, 0.0), (-1, nan), (-inf, nan)],
    "bessel_k1": [(0.0, inf), (-0.0, inf), (inf, 0.0), (-1, nan), (-inf, nan), (1e5, 0.0)],
    "bessel_k1e": [(0.0, inf), (-0.0, inf), (inf, 0.0), (-1, nan), (-inf, nan)],
    "bessel_j0": [(0.0, 1), (-0.0, 1), (inf, 0.0), (-inf, 0.0)],
    "bessel_j1": [(0.0, 0.0), (-0.0, -0.0), (inf, 0.0), (-inf, -0.0)],
    "bessel_y0": [(0.0, -inf), (-0.0, -inf), (inf, 0.0), (-1, nan), (-inf, nan)],
    "bessel_y1": [(0.0, -inf), (-0.0, -inf), (inf, 0.0), (-1, nan), (-inf, nan)],
    "dawsn": [(0.0, 0.0), (-0.0, -0.0), (inf, 0.0), (-inf, -0.0)],
    "expint": [(0.0, -inf), (-0.0, -inf), (inf, inf), (-inf, -0.0), (1e5, inf), (-1e5, -0.0)],
    "fresnel_cos": [(0.0, 0.0), (-0.0, -0.0), (inf, 0.5), (-inf, -0.5), (1e30, 0.5)],
    "fresnel_sin": [(0.0, 0.0), (-0.0, -0.0), (inf, 0.5), (-inf, -0.5), (1e30, 0.5)],
    "fresnel_cos_slope": [(0.0, 1), (-0.0, 1), (inf, nan), (-inf, nan), (1e30, 1), (-2, 1)],
    "fresnel_sin_slope": [(0.0, 0.0), (-0.0, 0.0), (inf, nan), (-inf, nan), (1, 1)],
    "spence": [(0.0, np.pi**2 / 6), (1, -0.0), (inf, -inf), (-1, nan), (-inf, nan)],
    "sinc": [(0.0, 1), (-0.0, 1), (1, 0.0), (inf, 0.0), (-inf, 0.0), (0.5, 2 / np.pi)],
    "logcosh": [(0.0, 0.0), (-0.0, 0.0), (inf, inf), (-inf, inf)],
}
