"""Formulas of distributions of integers, those of the documentation of `scipy.stats`."""

from __future__ import annotations

import math
from typing import Any

from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.comparison import equal, greater, greater_equal, less_equal
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp, expm1, log, log1p
from jittape.primitives.elementwise.gamma_beta import betaln
from jittape.primitives.elementwise.incomplete_beta import betainc
from jittape.primitives.elementwise.incomplete_gamma import igamma, igammac
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.elementwise.special import lgamma, xlog1py, xlogy
from jittape.scipy.special.ufunc_bodies import BODIES
from jittape.scipy.stats.formulas import Formulas

__all__ = ["DISCRETE"]

INF = math.inf


def _probability(p: Any) -> tuple[Any, ...]:
    return greater_equal(p, 0), less_equal(p, 1)


def _log_binomial(n: Any, k: Any) -> Any:
    k1, rest = add(k, 1.0), add(subtract(n, k), 1.0)
    return negative(add(betaln(k1, rest), log1p(n)))  # no difference of large numbers


def _binary_entropy(p: Any) -> Any:
    return add(BODIES["entr"](p), BODIES["entr"](subtract(1.0, p)))


def _geom_var(p: Any) -> Any:
    return divide(subtract(1.0, p), square(p))


def _nbinom_log(k: Any, n: Any, p: Any) -> Any:
    coefficient = negative(add(betaln(n, add(k, 1.0)), log(add(n, k))))  # no difference of large numbers
    return add(coefficient, add(xlogy(n, p), xlog1py(k, negative(p))))


DISCRETE: dict[str, Formulas] = {
    "bernoulli": Formulas(
        "Bernoulli distribution",
        ("p",),
        log_density=lambda k, p: add(xlogy(k, p), xlog1py(subtract(1.0, k), negative(p))),
        cdf=lambda k, p: subtract(1.0, p),
        sf=lambda k, p: p,
        support=lambda p: (0.0, 1.0),
        conditions=_probability,
        discrete=True,
        mean=lambda p: p,
        var=lambda p: multiply(p, subtract(1.0, p)),
        entropy=_binary_entropy,
    ),
    "binom": Formulas(
        "binomial distribution",
        ("n", "p"),
        log_density=lambda k, n, p: add(
            _log_binomial(n, k), add(xlogy(k, p), xlog1py(subtract(n, k), negative(p)))
        ),
        cdf=lambda k, n, p: BODIES["betaincc"](add(k, 1.0), subtract(n, k), p),  # 1 - p would be rounded
        sf=lambda k, n, p: betainc(add(k, 1.0), subtract(n, k), p),
        support=lambda n, p: (0.0, n),
        conditions=lambda n, p: (greater_equal(n, 0), equal(n, floor(n)), *_probability(p)),
        discrete=True,
        mean=lambda n, p: multiply(n, p),
        var=lambda n, p: multiply(multiply(n, p), subtract(1.0, p)),
        entropy=None,
    ),
    "geom": Formulas(
        "geometric distribution, from 1",
        ("p",),
        log_density=lambda k, p: add(xlog1py(subtract(k, 1.0), negative(p)), log(p)),
        cdf=lambda k, p: negative(expm1(multiply(k, log1p(negative(p))))),
        sf=lambda k, p: exp(multiply(k, log1p(negative(p)))),
        logsf=lambda k, p: multiply(k, log1p(negative(p))),
        support=lambda p: (1.0, INF),
        conditions=lambda p: (greater(p, 0), less_equal(p, 1)),
        discrete=True,
        mean=reciprocal,
        var=_geom_var,
        entropy=lambda p: divide(_binary_entropy(p), p),
    ),
    "nbinom": Formulas(
        "negative binomial distribution",
        ("n", "p"),
        log_density=_nbinom_log,
        cdf=lambda k, n, p: betainc(n, add(k, 1.0), p),
        sf=lambda k, n, p: BODIES["betaincc"](n, add(k, 1.0), p),
        support=lambda n, p: (0.0, INF),
        conditions=lambda n, p: (greater(n, 0), greater(p, 0), less_equal(p, 1)),
        discrete=True,
        mean=lambda n, p: divide(multiply(n, subtract(1.0, p)), p),
        var=lambda n, p: divide(multiply(n, subtract(1.0, p)), square(p)),
        entropy=None,
    ),
    "poisson": Formulas(
        "Poisson distribution",
        ("mu",),
        log_density=lambda k, mu: subtract(subtract(xlogy(k, mu), lgamma(add(k, 1.0))), mu),
        cdf=lambda k, mu: igammac(add(k, 1.0), mu),
        sf=lambda k, mu: igamma(add(k, 1.0), mu),
        support=lambda mu: (0.0, INF),
        conditions=lambda mu: (greater_equal(mu, 0),),
        discrete=True,
        mean=lambda mu: mu,
        var=lambda mu: mu,
        entropy=None,
    ),
}
"""Formulas of each discrete distribution by SciPy's name."""
