"""The normalized sinc function, and the logarithm of the hyperbolic cosine."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import computed_in_float64

__all__ = ["logcosh", "sinc"]

_LN2 = 0.6931471805599453


@computed_in_float64
def sinc(m: Any, x: Any, size: int) -> Any:
    """Return ``sin(pi x) / (pi x)``; the distance of x from an integer is exact."""
    magnitude = m.absolute(x)
    magnitude = m.where(magnitude > 2.0**60, 2.0**60, magnitude)
    whole = m.rint(magnitude)
    sine = m.sin(np.pi * (magnitude - whole))
    odd = whole != 2 * m.rint(0.5 * whole)
    result = m.where(odd, 0.0 - sine, sine) / (np.pi * magnitude)
    return m.where(x == 0, 1.0, m.where(m.absolute(x) == np.inf, 0.0, result))


@computed_in_float64
def logcosh(m: Any, x: Any, size: int) -> Any:
    """Return ``log(cosh(x))``: log1p(2 sinh(x / 2)**2) up to 1, |x| + log1p(exp(-2 |x|)) - log(2) beyond."""
    magnitude = m.absolute(x)
    half = m.sinh(0.5 * m.where(magnitude < 1, magnitude, 1.0))
    small = magnitude < 1
    logarithm = m.log1p(m.where(small, 2 * (half * half), m.exp(-2 * magnitude)))
    return m.where(small, logarithm, magnitude + (logarithm - _LN2))
