"""Derivatives of the scaled Bessel functions at large arguments, where differences of the functions cancel.

They are the differences of the asymptotic series, DLMF 10.40.1 and 10.40.2.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.core.dtypes import float64
from jittape.primitives.elementwise.arithmetic import multiply, polyval
from jittape.primitives.elementwise.comparison import greater, where
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.elementwise.exponential import sqrt

__all__ = ["FAR_I0E", "FAR_I1E", "FAR_K0E", "FAR_K1E", "far_slope", "or_far"]

_FAR_ORDERS = range(18, 0, -1)
"""Powers of 1 / x in the series of far slopes, highest first; the error is below 1e-17 from 30 on, 1e-9 from 10 on."""


def _hankel(order: int, k: int) -> float:
    """Return a_k of DLMF 10.17.1, the coefficients of the asymptotic series of the scaled functions (DLMF 10.40)."""
    return math.prod([(4 * order * order - (2 * j - 1) ** 2) / (8 * j) for j in range(1, k + 1)])


FAR_I0E = [(-1) ** k * (_hankel(1, k) - _hankel(0, k)) for k in _FAR_ORDERS]
FAR_I1E = [(-1) ** k * (_hankel(0, k) - _hankel(1, k) + _hankel(1, k - 1)) for k in _FAR_ORDERS]
FAR_K0E = [_hankel(0, k) - _hankel(1, k) for k in _FAR_ORDERS]
FAR_K1E = [_hankel(1, k) - _hankel(0, k) - _hankel(1, k - 1) for k in _FAR_ORDERS]


def far_slope(x: Any, factor: float, coefficients: list[float]) -> Any:
    """Return ``sqrt(factor / x)`` times a polynomial in 1 / x without a constant."""
    inverse = reciprocal(x)
    return multiply(sqrt(multiply(factor, inverse)), multiply(inverse, polyval(coefficients, inverse)))


def or_far(x: Any, near: Any, far: Any) -> Any:
    """Return the derivative of a scaled function, by its asymptotic series where the difference `near` cancels."""
    return where(greater(x, 30.0 if x.dtype == float64 else 10.0), far, near)
