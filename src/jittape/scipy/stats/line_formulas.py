"""Formulas of further distributions of real numbers, those of the documentation of `scipy.stats`."""

from __future__ import annotations

import math
from typing import Any

from jittape.primitives.elementwise import hyperbolic
from jittape.scipy.special.terms import (
    absolute,
    atan2,
    cosh,
    exp,
    lifted,
    log,
    sinh,
    special,
    square,
    tan,
    where,
)
from jittape.scipy.stats.formula_terms import (
    LOG_2,
    LOG_ROOT_TWO_PI,
    all_positive,
    expm1,
    law,
    log1p,
    log_gamma,
    log_normal,
    softplus,
    trigamma,
)
from jittape.scipy.stats.formulas import EULER, INF, Formulas, from_zero
from jittape.scipy.stats.scipy_laws import computed_inverses

__all__ = ["LINE"]

asinh = lifted(hyperbolic.asinh)


def _log_cosh(y: Any) -> Any:
    size = absolute(y)
    return size + log1p(exp(-2.0 * size)) - LOG_2


def _two_sided(tail: Any) -> dict[str, Any]:
    """Return the distribution function and its complement of a symmetric law, given the probability beyond y > 0."""

    def cdf(y: Any, *shapes: Any) -> Any:
        half = 0.5 * tail(where(y > 0, y, -y), *shapes)
        return where(y > 0, 1.0 - half, half)

    return {"cdf": cdf, "sf": lambda y, *shapes: cdf(-y, *shapes)}


def _two_sided_inverses(inverse: Any) -> dict[str, Any]:
    """Return the inverses of a symmetric law, given that of the tail of positive numbers."""

    def ppf(q: Any, *shapes: Any) -> Any:
        upper = q > 0.5
        size = inverse(2.0 * where(upper, 1.0 - q, q), *shapes)
        return where(upper, size, -size)

    return {"ppf": ppf, "isf": lambda q, *shapes: -ppf(q, *shapes)}


def _exponnorm_log_product(y: Any, k: Any) -> Any:
    return (0.5 / k - y) / k + special("log_ndtr", y - 1.0 / k)


def _exponnorm_partials(y: Any, k: Any) -> list[Any]:
    product = exp(_exponnorm_log_product(y, k))
    return [product / k, (product * (1.0 / k - y) - exp(log_normal(y))) / square(k)]


def _johnson(z: Any, a: Any, b: Any) -> Any:
    return (z - a) / b


def _johnsonsu_var(a: Any, b: Any) -> Any:
    step = 1.0 / square(b)
    return 0.5 * expm1(step) * (exp(step) * cosh(2.0 * a / b) + 1.0)


def _asymmetric_tails(y: Any, kappa: Any) -> Any:
    """Return the probabilities beyond y on the side of y, and whether that side is the upper one."""
    upper = y > 0
    size = where(upper, y * kappa, -y / kappa)
    weight = where(upper, 1.0 / kappa, kappa) / (kappa + 1.0 / kappa)
    return weight * exp(-size), upper


def _asymmetric_cdf(y: Any, kappa: Any) -> Any:
    tail, upper = _asymmetric_tails(y, kappa)
    return where(upper, 1.0 - tail, tail)


def _asymmetric_sf(y: Any, kappa: Any) -> Any:
    tail, upper = _asymmetric_tails(y, kappa)
    return where(upper, tail, 1.0 - tail)


def _asymmetric_ppf(q: Any, kappa: Any) -> Any:
    total = kappa + 1.0 / kappa
    return where(q > kappa / total, -log((1.0 - q) * total * kappa) / kappa, log(q * total / kappa) * kappa)


LINE: dict[str, Formulas] = {
    "dgamma": law(
        "double gamma distribution",
        "a",
        log_density=lambda y, a: special("xlogy", a - 1.0, absolute(y)) - absolute(y) - LOG_2 - log_gamma(a),
        **_two_sided(lambda y, a: special("gammaincc", a, y)),
        **_two_sided_inverses(lambda q, a: special("gammainccinv", a, q)),
        mean=lambda a: 0.0 * a,
        var=lambda a: a * (a + 1.0),
        conditions=all_positive,
        entropy=lambda a: LOG_2 + a + log_gamma(a) + (1.0 - a) * special("psi", a),
    ),
    "dweibull": law(
        "double Weibull distribution",
        "c",
        log_density=lambda y, c: log(c) - LOG_2 + special("xlogy", c - 1.0, absolute(y)) - absolute(y) ** c,
        **_two_sided(lambda y, c: exp(-(y**c))),
        **_two_sided_inverses(lambda q, c: (-log(q)) ** (1.0 / c)),
        mean=lambda c: 0.0 * c,
        var=lambda c: exp(log_gamma(1.0 + 2.0 / c)),
        conditions=all_positive,
        entropy=lambda c: LOG_2 + EULER + 1.0 - EULER / c - log(c),
    ),
    "exponnorm": law(
        "exponentially modified normal distribution",
        "K",
        log_density=lambda y, k: _exponnorm_log_product(y, k) - log(k),
        cdf=lambda y, k: special("ndtr", y) - exp(_exponnorm_log_product(y, k)),
        sf=lambda y, k: special("ndtr", -y) + exp(_exponnorm_log_product(y, k)),
        mean=lambda k: k,
        var=lambda k: 1.0 + square(k),
        conditions=all_positive,
        **computed_inverses("exponnorm", "K", _exponnorm_partials, "K"),
    ),
    "genlogistic": law(
        "generalized logistic distribution",
        "c",
        log_density=lambda y, c: log(c) - y - (c + 1.0) * softplus(-y),
        cdf=lambda y, c: exp(-c * softplus(-y)),
        sf=lambda y, c: -expm1(-c * softplus(-y)),
        logcdf=lambda y, c: -c * softplus(-y),
        ppf=lambda q, c: -log(expm1(-log(q) / c)),
        isf=lambda q, c: -log(expm1(-log1p(-q) / c)),
        mean=lambda c: EULER + special("psi", c),
        entropy=lambda c: special("psi", c + 1.0) + EULER + 1.0 - log(c),
        conditions=all_positive,
        var=lambda c: math.pi**2 / 6 + trigamma(c),
    ),
    "gennorm": law(
        "generalized normal distribution",
        "beta",
        log_density=lambda y, beta: log(0.5 * beta) - log_gamma(1.0 / beta) - absolute(y) ** beta,
        **_two_sided(lambda y, beta: special("gammaincc", 1.0 / beta, y**beta)),
        **_two_sided_inverses(lambda q, beta: special("gammainccinv", 1.0 / beta, q) ** (1.0 / beta)),
        mean=lambda beta: 0.0 * beta,
        var=lambda beta: exp(log_gamma(3.0 / beta) - log_gamma(1.0 / beta)),
        entropy=lambda beta: 1.0 / beta - log(0.5 * beta) + log_gamma(1.0 / beta),
        conditions=all_positive,
    ),
    "halflogistic": law(
        "half-logistic distribution",
        log_density=lambda y: LOG_2 - y - 2.0 * softplus(-y),
        cdf=lambda y: -expm1(-y) / (1.0 + exp(-y)),
        sf=lambda y: 2.0 * special("expit", -y),
        ppf=lambda q: log1p(2.0 * q / (1.0 - q)),
        isf=lambda q: log1p(2.0 * (1.0 - q) / q),
        mean=lambda: 2 * LOG_2,
        var=lambda: math.pi**2 / 3 - 4 * LOG_2**2,
        entropy=lambda: 2 - LOG_2,
        support=from_zero,
    ),
    "hypsecant": law(
        "hyperbolic secant distribution",
        log_density=lambda y: -math.log(math.pi) - _log_cosh(y),
        cdf=lambda y: 2 / math.pi * atan2(exp(y), 0.0 * y + 1.0),
        sf=lambda y: 2 / math.pi * atan2(exp(-y), 0.0 * y + 1.0),
        ppf=lambda q: log(tan(math.pi / 2 * q)),
        isf=lambda q: -log(tan(math.pi / 2 * q)),
        mean=lambda: 0.0,
        var=lambda: math.pi**2 / 4,
        entropy=lambda: math.log(2 * math.pi),
    ),
    "johnsonsu": law(
        "Johnson distribution without bounds",
        "a b",
        log_density=lambda y, a, b: log(b) - 0.5 * log1p(square(y)) + log_normal(a + b * asinh(y)),
        cdf=lambda y, a, b: special("ndtr", a + b * asinh(y)),
        sf=lambda y, a, b: special("ndtr", -a - b * asinh(y)),
        ppf=lambda q, a, b: sinh(_johnson(special("ndtri", q), a, b)),
        isf=lambda q, a, b: sinh(_johnson(-special("ndtri", q), a, b)),
        mean=lambda a, b: -exp(0.5 / square(b)) * sinh(a / b),
        var=_johnsonsu_var,
        conditions=lambda a, b: (b > 0, a.is_equal(a)),
    ),
    "laplace_asymmetric": law(
        "asymmetric Laplace distribution",
        "kappa",
        log_density=lambda y, kappa: where(y > 0, -y * kappa, y / kappa) - log(kappa + 1.0 / kappa),
        cdf=_asymmetric_cdf,
        sf=_asymmetric_sf,
        ppf=_asymmetric_ppf,
        isf=lambda q, kappa: -_asymmetric_ppf(q, 1.0 / kappa),
        mean=lambda kappa: 1.0 / kappa - kappa,
        var=lambda kappa: 1.0 / square(kappa) + square(kappa),
        entropy=lambda kappa: 1.0 + log(kappa + 1.0 / kappa),
        conditions=all_positive,
        kink=lambda kappa: 0.0 * kappa,
    ),
    "loggamma": law(
        "log-gamma distribution",
        "c",
        log_density=lambda y, c: c * y - exp(y) - log_gamma(c),
        cdf=lambda y, c: special("gammainc", c, exp(y)),
        sf=lambda y, c: special("gammaincc", c, exp(y)),
        ppf=lambda q, c: log(special("gammaincinv", c, q)),
        isf=lambda q, c: log(special("gammainccinv", c, q)),
        mean=lambda c: special("psi", c),
        conditions=all_positive,
        var=lambda c: trigamma(c),
        entropy=lambda c: log_gamma(c) - c * special("psi", c) + c,
    ),
    "moyal": law(
        "Moyal distribution",
        log_density=lambda y: -0.5 * (y + exp(-y)) - LOG_ROOT_TWO_PI,
        cdf=lambda y: special("erfc", exp(-0.5 * y) / math.sqrt(2)),
        sf=lambda y: special("erf", exp(-0.5 * y) / math.sqrt(2)),
        ppf=lambda q: -log(2.0 * square(special("erfcinv", q))),
        isf=lambda q: -log(2.0 * square(special("erfinv", q))),
        mean=lambda: LOG_2 + EULER,
        var=lambda: math.pi**2 / 2,
        entropy=lambda: 0.5 * (LOG_2 + EULER + 1) + LOG_ROOT_TWO_PI,
    ),
    "powernorm": law(
        "power-normal distribution",
        "c",
        log_density=lambda y, c: log(c) + log_normal(y) + (c - 1.0) * special("log_ndtr", -y),
        cdf=lambda y, c: -expm1(c * special("log_ndtr", -y)),
        sf=lambda y, c: exp(c * special("log_ndtr", -y)),
        logsf=lambda y, c: c * special("log_ndtr", -y),
        ppf=lambda q, c: -special("ndtri_exp", log1p(-q) / c),
        isf=lambda q, c: -special("ndtri_exp", log(q) / c),
        conditions=all_positive,
    ),
    "weibull_max": law(
        "Weibull distribution of negative numbers",
        "c",
        log_density=lambda y, c: log(c) + special("xlogy", c - 1.0, -y) - (-y) ** c,
        cdf=lambda y, c: exp(-((-y) ** c)),
        sf=lambda y, c: -expm1(-((-y) ** c)),
        logcdf=lambda y, c: -((-y) ** c),
        ppf=lambda q, c: -((-log(q)) ** (1.0 / c)),
        isf=lambda q, c: -((-log1p(-q)) ** (1.0 / c)),
        support=lambda c: (-INF, 0.0),
        mean=lambda c: -exp(log_gamma(1.0 + 1.0 / c)),
        var=lambda c: exp(log_gamma(1.0 + 2.0 / c)) - exp(2.0 * log_gamma(1.0 + 1.0 / c)),
        entropy=lambda c: EULER + 1.0 - EULER / c - log(c),
        conditions=all_positive,
    ),
}
