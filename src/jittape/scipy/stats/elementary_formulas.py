"""Formulas of continuous distributions with elementary functions, those of the documentation of `scipy.stats`."""

from __future__ import annotations

import math
from typing import Any

from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.comparison import greater, less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp, expm1, log, log1p, sqrt
from jittape.primitives.elementwise.gamma_beta import gamma as gamma_function
from jittape.primitives.elementwise.hyperbolic import log_sigmoid, sigmoid, softplus
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.elementwise.special import xlogy
from jittape.primitives.elementwise.trigonometric import atan2, tan
from jittape.scipy.special.ufunc_bodies import BODIES
from jittape.scipy.stats.formulas import EULER, INF, NAN, Formulas, from_zero, half, positive, unit

__all__ = ["ELEMENTARY"]


def _beyond(limit: float, value: Any, parameter: Any) -> Any:
    """Return a moment that is finite where `parameter` is greater than `limit`."""
    return where(greater(parameter, limit), value, INF)


def _laplace_cdf(y: Any) -> Any:
    right = greater(y, 0)
    tail = half(exp(where(right, negative(y), y)))  # the absolute value has the gradient 0 at 0
    return where(right, subtract(1.0, tail), tail)


def _laplace_ppf(q: Any) -> Any:
    return where(greater(q, 0.5), negative(log(multiply(2.0, subtract(1.0, q)))), log(multiply(2.0, q)))


def _cauchy_log_density(y: Any) -> Any:
    size = absolute(y)
    far = greater(size, 1e10)  # the square of a greater number may overflow, and 1 is less than its rounding
    inside = log1p(square(where(far, 1.0, y)))
    return negative(add(where(far, multiply(2.0, log(where(far, size, 1.0))), inside), math.log(math.pi)))


def _cauchy_ppf(q: Any) -> Any:
    left = negative(reciprocal(tan(multiply(math.pi, q))))
    right = reciprocal(tan(multiply(math.pi, subtract(1.0, q))))
    middle = tan(multiply(math.pi, subtract(q, 0.5)))
    return where(less(q, 0.25), left, where(greater(q, 0.75), right, middle))


def _pareto_var(b: Any) -> Any:
    return _beyond(2.0, divide(b, multiply(square(subtract(b, 1.0)), subtract(b, 2.0))), b)


def _weibull_var(c: Any) -> Any:
    first, second = (gamma_function(add(1.0, divide(k, c))) for k in (1.0, 2.0))
    return subtract(second, square(first))


def _weibull_log_density(y: Any, c: Any) -> Any:
    return subtract(add(log(c), xlogy(subtract(c, 1.0), y)), pow(y, c))


def _log_exp_negative(y: Any) -> Any:
    """Return the logarithm of Gumbel's distribution function."""
    return negative(exp(negative(y)))


def _gumbel_upper(y: Any) -> Any:
    return negative(expm1(_log_exp_negative(y)))


def _gumbel_ppf(q: Any) -> Any:
    return negative(log(negative(log(q))))


def _gumbel_isf(q: Any) -> Any:
    return negative(log(negative(log1p(negative(q)))))


ELEMENTARY = {
    "uniform": Formulas(
        "uniform distribution on the interval from `loc` to ``loc + scale``",
        (),
        log_density=lambda y: multiply(0.0, y),
        cdf=lambda y: y,
        sf=lambda y: subtract(1.0, y),
        ppf=lambda q: q,
        isf=lambda q: subtract(1.0, q),
        support=unit,
        mean=lambda: 0.5,
        var=lambda: 1 / 12,
        entropy=lambda: 0.0,
        skewness=lambda: 0.0,
        kurtosis=lambda: -1.2,
    ),
    "expon": Formulas(
        "exponential distribution",
        (),
        log_density=negative,
        cdf=lambda y: negative(expm1(negative(y))),
        sf=lambda y: exp(negative(y)),
        logsf=negative,
        ppf=lambda q: negative(log1p(negative(q))),
        isf=lambda q: negative(log(q)),
        support=from_zero,
        mean=lambda: 1.0,
        var=lambda: 1.0,
        entropy=lambda: 1.0,
        skewness=lambda: 2.0,
        kurtosis=lambda: 6.0,
    ),
    "logistic": Formulas(
        "logistic distribution",
        (),
        log_density=lambda y: negative(add(softplus(y), softplus(negative(y)))),
        cdf=sigmoid,
        sf=lambda y: sigmoid(negative(y)),
        logcdf=log_sigmoid,
        logsf=lambda y: log_sigmoid(negative(y)),
        ppf=BODIES["logit"],
        isf=lambda q: negative(BODIES["logit"](q)),
        mean=lambda: 0.0,
        var=lambda: math.pi**2 / 3,
        entropy=lambda: 2.0,
        skewness=lambda: 0.0,
        kurtosis=lambda: 1.2,
    ),
    "laplace": Formulas(
        "Laplace distribution",
        (),
        log_density=lambda y: negative(add(absolute(y), math.log(2))),
        cdf=_laplace_cdf,
        sf=lambda y: _laplace_cdf(negative(y)),
        ppf=_laplace_ppf,
        isf=lambda q: negative(_laplace_ppf(q)),
        mean=lambda: 0.0,
        var=lambda: 2.0,
        entropy=lambda: math.log(2) + 1,
        skewness=lambda: 0.0,
        kurtosis=lambda: 3.0,
    ),
    "cauchy": Formulas(
        "Cauchy distribution",
        (),
        log_density=_cauchy_log_density,
        cdf=lambda y: multiply(1 / math.pi, atan2(1.0, negative(y))),
        sf=lambda y: multiply(1 / math.pi, atan2(1.0, y)),
        ppf=_cauchy_ppf,
        isf=lambda q: negative(_cauchy_ppf(q)),
        mean=lambda: NAN,
        var=lambda: NAN,
        entropy=lambda: math.log(4 * math.pi),
        tail=lambda: 1.0,
    ),
    "pareto": Formulas(
        "Pareto distribution",
        ("b",),
        log_density=lambda y, b: subtract(log(b), multiply(add(b, 1.0), log(y))),
        cdf=lambda y, b: negative(expm1(multiply(negative(b), log(y)))),
        sf=lambda y, b: exp(multiply(negative(b), log(y))),
        logsf=lambda y, b: multiply(negative(b), log(y)),
        ppf=lambda q, b: exp(negative(divide(log1p(negative(q)), b))),
        isf=lambda q, b: exp(negative(divide(log(q), b))),
        support=lambda b: (1.0, INF),
        conditions=positive,
        mean=lambda b: _beyond(1.0, divide(b, subtract(b, 1.0)), b),
        var=_pareto_var,
        entropy=lambda b: subtract(add(1.0, reciprocal(b)), log(b)),
        tail=lambda b: b,
        raw_moment=lambda order, b: _beyond(order, divide(b, subtract(b, order)), b),
    ),
    "weibull_min": Formulas(
        "Weibull distribution",
        ("c",),
        log_density=_weibull_log_density,
        cdf=lambda y, c: negative(expm1(negative(pow(y, c)))),
        sf=lambda y, c: exp(negative(pow(y, c))),
        logsf=lambda y, c: negative(pow(y, c)),
        ppf=lambda q, c: pow(negative(log1p(negative(q))), reciprocal(c)),
        isf=lambda q, c: pow(negative(log(q)), reciprocal(c)),
        support=from_zero,
        conditions=positive,
        mean=lambda c: gamma_function(add(1.0, reciprocal(c))),
        var=_weibull_var,
        entropy=lambda c: subtract(add(EULER + 1, divide(-EULER, c)), log(c)),
    ),
    "rayleigh": Formulas(
        "Rayleigh distribution",
        (),
        log_density=lambda y: subtract(log(y), half(square(y))),
        cdf=lambda y: negative(expm1(multiply(-0.5, square(y)))),
        sf=lambda y: exp(multiply(-0.5, square(y))),
        logsf=lambda y: multiply(-0.5, square(y)),
        ppf=lambda q: sqrt(multiply(-2.0, log1p(negative(q)))),
        isf=lambda q: sqrt(multiply(-2.0, log(q))),
        support=from_zero,
        mean=lambda: math.sqrt(math.pi / 2),
        var=lambda: 2 - math.pi / 2,
        entropy=lambda: EULER / 2 + 1 - 0.5 * math.log(2),
    ),
    "gumbel_r": Formulas(
        "Gumbel distribution of greatest values",
        (),
        log_density=lambda y: subtract(_log_exp_negative(y), y),
        cdf=lambda y: exp(_log_exp_negative(y)),
        sf=_gumbel_upper,
        logcdf=_log_exp_negative,
        ppf=_gumbel_ppf,
        isf=_gumbel_isf,
        mean=lambda: EULER,
        var=lambda: math.pi**2 / 6,
        entropy=lambda: EULER + 1,
    ),
    "gumbel_l": Formulas(
        "Gumbel distribution of least values",
        (),
        log_density=lambda y: add(_log_exp_negative(negative(y)), y),
        cdf=lambda y: _gumbel_upper(negative(y)),
        sf=lambda y: exp(_log_exp_negative(negative(y))),
        logsf=lambda y: _log_exp_negative(negative(y)),
        ppf=lambda q: negative(_gumbel_isf(q)),
        isf=lambda q: negative(_gumbel_ppf(q)),
        mean=lambda: -EULER,
        var=lambda: math.pi**2 / 6,
        entropy=lambda: EULER + 1,
    ),
}
