"""References in mpmath, arguments to sample and exact values at edges of the special functions of one variable.

`ulp_table` and `test_vectormath` include these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

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


ROWS: dict[str, Row] = {
    "erfinv": (erfinv, [(-1, 1), (0.8, 0.9), (0.99, 1)], True),
    "erfcinv": (erfcinv, [(0, 2), (0.1, 0.2), (0, 1e-9)], True),
    "erfcx": (erfcx, [(-1, 1), (-27, 0), (0, 10), (10, 100)], True),
    "ndtr": (ndtr, [(-1, 1), (-10, 10), (-39, 0)], True),
    "ndtri": (lambda x: -mp.sqrt(2) * erfcinv(2 * x), [(0, 1), (0.05, 0.1), (0, 1e-9)], True),
    "log_ndtr": (log_ndtr, [(-1, 1), (-10, 10), (-39, 0), (0, 39)], True),
}

#: Pairs of argument and value that every float must hit exactly.
EDGES: dict[str, list[tuple[float, float]]] = {
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1, inf), (-1, -inf), (1.5, nan), (inf, nan), (-inf, nan)],
    "erfcinv": [(1, 0.0), (0.0, inf), (-0.0, inf), (2, -inf), (-1, nan), (3, nan), (inf, nan), (-inf, nan)],
    "erfcx": [(0.0, 1), (-0.0, 1), (inf, 0.0), (-inf, inf), (-1e5, inf)],
    "ndtr": [(0.0, 0.5), (-0.0, 0.5), (inf, 1), (-inf, 0.0), (1e5, 1), (-1e5, 0.0)],
    "ndtri": [(0.5, 0.0), (0.0, -inf), (-0.0, -inf), (1, inf), (-1, nan), (2, nan), (inf, nan), (-inf, nan)],
    "log_ndtr": [(inf, -0.0), (-inf, -inf), (1e5, -0.0)],
}
