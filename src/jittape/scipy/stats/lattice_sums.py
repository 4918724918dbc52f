"""Mean values of distributions of integers, as sums over those integers that carry the probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.elementwise.arithmetic import multiply, negative, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.elementwise.special import xlogy
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import expand_dims
from jittape.scipy.scipy_operands import known_values

__all__ = ["as_column", "lattice", "lattice_moment"]

MOST = 1_000_000
"""Greatest number of integers of a sum."""
NEGLIGIBLE = 1e-15
"""Probability beyond the quantiles that give the length of a sum over an infinite support."""


def lattice(name: str, method: str, parameters: list[Any]) -> Any:
    """Return the integers that carry the probability of a distribution of SciPy; raise if they are unknown."""
    import scipy.stats

    known = [known_values(p) for p in parameters]
    if any(k is None for k in known):
        raise NotImplementedError(
            f"[{name}.{method}] sums over integers, whose number depends on the parameters: call it "
            "outside of jt.function, or pass numbers"
        )
    law = getattr(scipy.stats, name)(*known)
    low, high = law.support()
    valid = ~np.isnan(low)
    if not np.any(valid):
        return np.zeros(1)
    first, last = law.ppf(NEGLIGIBLE), law.isf(NEGLIGIBLE)
    reach = last - first + 20  # the tails beyond are negligible squared
    low = np.min(np.where(np.isfinite(low), low, first - reach)[valid])
    high = np.max(np.where(np.isfinite(high), high, last + reach)[valid])
    if not high - low < MOST:
        raise NotImplementedError(
            f"[{name}.{method}] sums over at most {MOST} integers, got those from {low:g} to {high:g}; call "
            f"scipy.stats.{name}.{method} on arrays"
        )
    return np.arange(low, high + 1)


def as_column(parameter: Any) -> Any:
    """Return a parameter that broadcasts against integers in a new last dimension."""
    return expand_dims(parameter, -1) if getattr(parameter, "shape", ()) else parameter


def lattice_moment(name: str, method: str, pmf: Callable[..., Any], parameters: list[Any]) -> Any:
    """Return the entropy, the skewness or the kurtosis; the parameters are shapes, location and scale."""
    integers = lattice(name, method, parameters[:-1])
    probability = pmf(integers, *map(as_column, parameters[:-1]))
    if method == "entropy":
        return negative(reduce_sum(xlogy(probability, probability), -1))
    mean = reduce_sum(multiply(probability, integers), -1)
    distance = subtract(integers, expand_dims(mean, -1))
    second, higher = [
        reduce_sum(multiply(probability, pow(distance, order)), -1)
        for order in (2.0, 3.0 if method == "skewness" else 4.0)
    ]
    if method == "skewness":
        return divide(higher, pow(second, 1.5))
    return subtract(divide(higher, multiply(second, second)), 3.0)
