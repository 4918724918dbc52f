"""Formulas of distributions written with operators, over the terms of `jittape.scipy.special.terms`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from jittape.primitives.elementwise.special import zeta
from jittape.scipy.special.terms import Term, lifted, special, square, where
from jittape.scipy.stats.formulas import Formulas

__all__ = [
    "LOG_2",
    "LOG_ROOT_TWO_PI",
    "above",
    "all_positive",
    "expm1",
    "hurwitz_zeta",
    "law",
    "log1p",
    "log1prel",
    "log_gamma",
    "log_normal",
    "odds",
    "of_handles",
    "safe",
    "softplus",
    "trigamma",
]

LOG_2 = math.log(2)
LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


def _handles(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_handles, value))
    return value.handle if isinstance(value, Term) else value


def of_handles(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Return a formula of terms, and of the order of a moment, as one of handles."""

    @wraps(formula)
    def of_handles(*handles: Any) -> Any:
        return _handles(formula(*[h if isinstance(h, int) else Term(h) for h in handles]))

    return of_handles


def law(summary: str, shapes: str = "", **formulas: Any) -> Formulas:
    """Return the record of a distribution whose formulas take terms; missing formulas are None."""
    given: dict[str, Any] = {name: of_handles(f) if callable(f) else f for name, f in formulas.items()}
    for name in ("cdf", "sf", "mean", "var", "entropy"):
        given.setdefault(name, None)
    return Formulas(summary, tuple(shapes.split()), **given)


def all_positive(*shapes: Any) -> tuple[Any, ...]:
    """Return the conditions that all shape parameters are positive."""
    return tuple([s > 0 for s in shapes])


def log1p(x: Any) -> Term:
    """Return ``log(1 + x)``."""
    return special("log1p", x)


def expm1(x: Any) -> Term:
    """Return ``exp(x) - 1``."""
    return special("expm1", x)


def log_gamma(x: Any) -> Term:
    """Return the logarithm of the gamma function."""
    return special("gammaln", x)


def log_normal(y: Any) -> Term:
    """Return the logarithm of the normal density."""
    return -0.5 * square(y) - LOG_ROOT_TWO_PI


def above(limit: float, parameter: Any, value: Any, otherwise: float = math.inf) -> Term:
    """Return a moment that exists where `parameter` is greater than `limit`."""
    return where(parameter > limit, value, otherwise)


def odds(name: str, a: Any, b: Any, q: Any) -> Any:
    """Return ``w / (1 - w)`` of the quantile w of a beta distribution, accurate near both ends."""
    other = {"betaincinv": "betainccinv", "betainccinv": "betaincinv"}[name]
    return special(name, a, b, q) / special(other, b, a, q)


def safe(condition: Any, value: Any, otherwise: float) -> Term:
    """Return `value` where a branch is taken, else a number at which the branch has a value and slopes."""
    return where(condition, value, otherwise)


def log1prel(z: Any) -> Term:
    """Return ``log1p(z) / z``, and its series near 0, whose derivatives are exact there too."""
    near = square(z) < 1e-4
    small = where(near, z, 0.0)
    series = 1.0 + 0.0 * small
    power = series
    for k in range(2, 9):
        power = power * -small
        series = series + power / float(k)
    large = where(near, 1.0, z)
    return where(near, series, log1p(large) / large)


hurwitz_zeta = lifted(zeta)


def trigamma(x: Any) -> Term:
    """Return the second derivative of the logarithm of the gamma function."""
    return hurwitz_zeta(0.0 * x + 2.0, x)


def softplus(x: Any) -> Term:
    """Return ``log(1 + exp(x))``."""
    return -special("log_expit", -x)
