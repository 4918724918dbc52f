"""References in mpmath, arguments to sample and exact values at edges of the gamma and beta families.

`ulp_table` and `test_vectormath` include these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

from jittape.primitives.elementwise import gamma_beta, special
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


BINARY: dict[str, Callable[..., Any]] = {
    "zeta": zeta,
    "igamma": lambda a, x: integral(a, 0, x),
    "igammac": lambda a, x: integral(a, x, mp.inf),
}
OPS = {
    "gamma": gamma_beta.gamma_op,
    "zeta": special.zeta_op,
    "igamma": incomplete.igamma_op,
    "igammac": incomplete.igammac_op,
}
#: Largest errors promised, in units in the last place.
MAX_ULP = {"gamma": 4.0, "zeta": 4.0, "igamma": 4.0, "igammac": 4.0}


def binary_samples(name: str, dtype: Any, count: int, seed: int) -> list[Array]:
    """Draw parameters of all sizes, and arguments around them and at other sizes."""
    generator = np.random.default_rng(seed)
    if name == "zeta":
        count = min(count, 100)  # the reference is slow
        s, q = 1 + np.exp(generator.uniform(-5, 4, count)), np.exp(generator.uniform(-4, 6, count))
        return [s.astype(dtype), q.astype(dtype)]
    a = np.exp(generator.uniform(np.log(1e-6), np.log(2000), count))
    spread = generator.normal(size=count) * generator.choice([0.01, 1.0, 4.0], count)
    near, far = a + spread * np.sqrt(a), a * np.exp(spread)
    return [a.astype(dtype), np.where((generator.random(count) < 0.5) & (near > 0), near, far).astype(dtype)]
