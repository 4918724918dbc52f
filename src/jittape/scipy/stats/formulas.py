"""Record of a distribution: formulas of the standardized variable and the shape parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jittape.primitives.elementwise.arithmetic import multiply, negative, subtract
from jittape.primitives.elementwise.comparison import greater, less, where
from jittape.primitives.elementwise.exponential import log, log1p

__all__ = [
    "EULER", "INF", "NAN", "OTHER_METHODS", "Formula", "Formulas", "from_zero", "half", "missing_method", "positive",
    "unit",
]  # fmt: skip

Formula = Callable[..., Any]
INF, NAN = math.inf, math.nan
EULER = 0.5772156649015328606


def from_zero(*shapes: Any) -> tuple[float, float]:
    """Return the bounds of the positive numbers."""
    return 0.0, INF


def unit(*shapes: Any) -> tuple[float, float]:
    """Return the bounds of the unit interval."""
    return 0.0, 1.0


def half(x: Any) -> Any:
    """Return half of `x`."""
    return multiply(0.5, x)


def positive(*shapes: Any) -> tuple[Any, ...]:
    """Return the conditions that all shape parameters are positive."""
    return tuple([greater(s, 0) for s in shapes])


def _no_conditions(*shapes: Any) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True)
class Formulas:
    """Formulas of a distribution; ``f(y, *shapes)`` for location 0 and scale 1.

    Attributes
    ----------
    summary : str
        Noun phrase for documentation.
    shapes : tuple of str
        Names of the shape parameters.
    log_density : callable
        Logarithm of the density, or of the probability of an integer.
    cdf, sf : callable or None
        Distribution function and its complement, each accurate where it is small; None if there is no formula.
    logcdf, logsf : callable or None
        Their logarithms; None means those of the values.
    ppf, isf : callable or None
        Inverses; None if the distribution function has steps or there is no formula.
    support : callable
        ``support(*shapes)`` returns the bounds, as numbers or handles.
    open : bool
        The density at the lower bound is 0.
    conditions : callable
        ``conditions(*shapes)`` returns conditions of valid parameters.
    discrete : bool
        The values are integers; there is no scale.
    mean, var, entropy : callable or None
        ``mean(*shapes)``; None if there is no formula.
    skewness, kurtosis : callable or None
        Standardized third moment, and fourth moment minus 3.
    carrier : callable or None
        ``carrier(*shapes)`` returns the bounds of moments; None means those of the support.
    kink : callable or None
        ``kink(*shapes)`` is the point where the density is not smooth, for moments; None means the median.
    tail : callable or None
        ``tail(*shapes)``: only moments of smaller orders exist; None if all exist.
    raw_moment : callable or None
        ``raw_moment(order, *shapes)``: mean of a power with an integer exponent, where it exists.
    """

    summary: str
    shapes: tuple[str, ...]
    log_density: Formula
    cdf: Formula | None
    sf: Formula | None
    mean: Formula | None
    var: Formula | None
    entropy: Formula | None
    ppf: Formula | None = None
    isf: Formula | None = None
    logcdf: Formula | None = None
    logsf: Formula | None = None
    support: Formula = field(default=lambda *shapes: (-float("inf"), float("inf")))
    open: bool = False
    conditions: Formula = _no_conditions
    discrete: bool = False
    skewness: Formula | None = None
    kurtosis: Formula | None = None
    carrier: Formula | None = None
    kink: Formula | None = None
    tail: Formula | None = None
    raw_moment: Formula | None = None

    def log_of_cdf(self, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the distribution function, accurate near 0 and near 1."""
        if self.logcdf is not None:
            return self.logcdf(y, *shapes)
        assert self.cdf is not None and self.sf is not None
        return _log_of(self.cdf(y, *shapes), self.sf(y, *shapes))

    def log_of_sf(self, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the complement of the distribution function."""
        if self.logsf is not None:
            return self.logsf(y, *shapes)
        assert self.cdf is not None and self.sf is not None
        return _log_of(self.sf(y, *shapes), self.cdf(y, *shapes))

    def inverse_sf(self, q: Any, *shapes: Any) -> Any:
        """Return the inverse of the complement of the distribution function."""
        assert self.ppf is not None
        return self.ppf(subtract(1.0, q), *shapes) if self.isf is None else self.isf(q, *shapes)


def _log_of(p: Any, complement: Any) -> Any:
    return where(less(p, 0.5), log(p), log1p(negative(complement)))


OTHER_METHODS = frozenset(
    [
        "cdf",
        "cov",
        "entropy",
        "expect",
        "fit",
        "fit_loc_scale",
        "freeze",
        "logcdf",
        "marginal",
        "mean",
        "mode",
        "nnlf",
        "rvs",
        "var",
    ]
)
"""Methods of SciPy's distributions that some of these lack."""


def missing_method(distribution: str, name: str) -> AttributeError:
    """Return the error for a method of SciPy's `distribution` that is missing; it says what to call instead."""
    if name == "rvs":
        text = f"[{distribution}.rvs] is missing: samples come from jittape.numpy.random.default_rng() or jt.random"
    else:
        text = f"[{distribution}.{name}] is not recorded; call scipy.stats.{distribution}.{name} on arrays"
    return AttributeError(text)
