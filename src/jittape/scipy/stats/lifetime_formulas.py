"""Formulas of further distributions of positive numbers, those of the documentation of `scipy.stats`."""

from __future__ import annotations

import math
from typing import Any

from jittape.scipy.special.terms import absolute, exp, log, special, sqrt, square, where
from jittape.scipy.stats.formula_terms import (
    LOG_2,
    LOG_ROOT_TWO_PI,
    above,
    all_positive,
    expm1,
    law,
    log1p,
    log_gamma,
    odds,
)
from jittape.scipy.stats.formulas import EULER, Formulas, from_zero
from jittape.scipy.stats.scipy_laws import computed_inverses
from jittape.scipy.stats.tail_formulas import betaprime_moment

__all__ = ["LIFETIMES"]

VALID: dict[str, Any] = {"support": from_zero, "conditions": all_positive}


def _xlogy(x: Any, y: Any) -> Any:
    return special("xlogy", x, y)


def _ratio_of_gammas(a: Any, step: Any) -> Any:
    """Return ``gamma(a + step) / gamma(a)``."""
    return exp(log_gamma(a + step) - log_gamma(a))


def _chi_mean(df: Any) -> Any:
    return math.sqrt(2) * _ratio_of_gammas(0.5 * df, 0.5)


def _f_entropy(n: Any, m: Any) -> Any:
    a, b = 0.5 * n, 0.5 * m
    digammas = (1.0 - a) * special("psi", a) - (1.0 + b) * special("psi", b) + (a + b) * special("psi", a + b)
    return log(m) - log(n) + special("betaln", a, b) + digammas


def _f_log_density(y: Any, n: Any, m: Any) -> Any:
    a, b = 0.5 * n, 0.5 * m
    powers = a * log(n) + b * log(m) + _xlogy(a - 1.0, y) - (a + b) * log(m + n * y)
    return powers - special("betaln", a, b)


def _f_var(n: Any, m: Any) -> Any:
    return above(4.0, m, 2.0 * square(m) * (n + m - 2.0) / (n * square(m - 2.0) * (m - 4.0)))


def _fatigue(z: Any) -> Any:
    return 0.25 * square(z + sqrt(square(z) + 4.0))


def _gengamma_cdf(lower: str, upper: str) -> Any:
    def of(y: Any, a: Any, c: Any) -> Any:
        return where(c > 0, special(lower, a, y**c), special(upper, a, y**c))

    return of


def _gengamma_inverse(lower: str, upper: str) -> Any:
    def of(q: Any, a: Any, c: Any) -> Any:
        return where(c > 0, special(lower, a, q), special(upper, a, q)) ** (1.0 / c)

    return of


def _gengamma_var(a: Any, c: Any) -> Any:
    return _ratio_of_gammas(a, 2.0 / c) - square(_ratio_of_gammas(a, 1.0 / c))


def _gengamma_entropy(a: Any, c: Any) -> Any:
    slope = special("psi", a)
    return a * (1.0 - slope) + slope / c + log_gamma(a) - log(absolute(c))


def _exponweib_inner(y: Any, c: Any) -> Any:
    power = y**c
    large = power > 0.7
    tail = log1p(-exp(-where(large, power, 1.0)))  # keeps the digits of a distribution function near 1
    return where(large, tail, log(-expm1(-where(large, 0.7, power))))


def _invgauss_terms(y: Any, mu: Any, sign: float) -> Any:
    """Return two terms whose exponentials, added or subtracted, are the distribution function or its complement."""
    root = 1.0 / sqrt(y)
    first = special("log_ndtr", sign * root * (y / mu - 1.0))
    return first, 2.0 / mu + special("log_ndtr", -root * (y / mu + 1.0))


def _invgauss_logcdf(y: Any, mu: Any) -> Any:
    a, b = _invgauss_terms(y, mu, 1.0)
    return a + log1p(exp(b - a))


def _invgauss_logsf(y: Any, mu: Any) -> Any:
    a, b = _invgauss_terms(y, mu, -1.0)
    return a + log1p(-exp(b - a))


def _invgauss(name: str, summary: str, shapes: str = "") -> Formulas:
    def of(formula: Any) -> Any:
        return formula if shapes else lambda *y: formula(*y, 0.0 * y[0] + 1.0)

    def log_density(y: Any, mu: Any) -> Any:
        return -LOG_ROOT_TWO_PI - 1.5 * log(y) - square(y - mu) / (2.0 * y * square(mu))

    def partials(y: Any, *mu: Any) -> list[Any]:
        density = exp(of(log_density)(y, *mu))
        return [density, *[-2.0 / square(m) * exp(_invgauss_terms(y, m, 1.0)[1]) for m in mu]]

    return law(
        summary,
        shapes,
        log_density=of(log_density),
        cdf=of(lambda y, mu: exp(_invgauss_logcdf(y, mu))),
        sf=of(lambda y, mu: exp(_invgauss_logsf(y, mu))),
        logcdf=of(_invgauss_logcdf),
        logsf=of(_invgauss_logsf),
        mean=(lambda mu: mu) if shapes else lambda: 1.0,
        var=(lambda mu: mu**3) if shapes else lambda: 1.0,
        **computed_inverses(name, shapes, partials, shapes),
        open=True,
        **VALID,
    )


LIFETIMES: dict[str, Formulas] = {
    "chi": law(
        "chi distribution",
        "df",
        log_density=lambda y, df: (
            LOG_2 - 0.5 * LOG_2 * df - log_gamma(0.5 * df) + _xlogy(df - 1.0, y) - 0.5 * square(y)
        ),
        cdf=lambda y, df: special("gammainc", 0.5 * df, 0.5 * square(y)),
        sf=lambda y, df: special("gammaincc", 0.5 * df, 0.5 * square(y)),
        ppf=lambda q, df: sqrt(2.0 * special("gammaincinv", 0.5 * df, q)),
        isf=lambda q, df: sqrt(2.0 * special("gammainccinv", 0.5 * df, q)),
        mean=_chi_mean,
        var=lambda df: df - square(_chi_mean(df)),
        entropy=lambda df: log_gamma(0.5 * df) + 0.5 * (df - LOG_2 - (df - 1.0) * special("psi", 0.5 * df)),
        **VALID,
    ),
    "exponpow": law(
        "exponential power distribution",
        "b",
        log_density=lambda y, b: 1.0 + log(b) + _xlogy(b - 1.0, y) + y**b - exp(y**b),
        cdf=lambda y, b: -expm1(-expm1(y**b)),
        sf=lambda y, b: exp(-expm1(y**b)),
        logsf=lambda y, b: -expm1(y**b),
        ppf=lambda q, b: log1p(-log1p(-q)) ** (1.0 / b),
        isf=lambda q, b: log1p(-log(q)) ** (1.0 / b),
        **VALID,
    ),
    "exponweib": law(
        "exponentiated Weibull distribution",
        "a c",
        log_density=lambda y, a, c: (
            log(a) + log(c) + _xlogy(a - 1.0, -expm1(-(y**c))) - y**c + _xlogy(c - 1.0, y)
        ),
        cdf=lambda y, a, c: exp(a * _exponweib_inner(y, c)),
        sf=lambda y, a, c: -expm1(a * _exponweib_inner(y, c)),
        logcdf=lambda y, a, c: a * _exponweib_inner(y, c),
        ppf=lambda q, a, c: (-log1p(-exp(log(q) / a))) ** (1.0 / c),
        isf=lambda q, a, c: (-log(-expm1(log1p(-q) / a))) ** (1.0 / c),
        **VALID,
    ),
    "f": law(
        "F distribution",
        "dfn dfd",
        log_density=_f_log_density,
        cdf=lambda y, n, m: special("betainc", 0.5 * n, 0.5 * m, n * y / (m + n * y)),
        sf=lambda y, n, m: special("betainc", 0.5 * m, 0.5 * n, m / (m + n * y)),
        ppf=lambda q, n, m: m / n * odds("betaincinv", 0.5 * n, 0.5 * m, q),
        isf=lambda q, n, m: m / n * odds("betainccinv", 0.5 * n, 0.5 * m, q),
        mean=lambda n, m: above(2.0, m, m / (m - 2.0)) + 0.0 * n,
        var=_f_var,
        entropy=_f_entropy,
        **VALID,
        tail=lambda n, m: 0.5 * m,
        raw_moment=lambda order, n, m: (m / n) ** float(order) * betaprime_moment(order, 0.5 * n, 0.5 * m),
    ),
    "fatiguelife": law(
        "Birnbaum-Saunders distribution",
        "c",
        log_density=lambda y, c: (
            log1p(y) - square(y - 1.0) / (2.0 * y * square(c)) - log(2.0 * c) - LOG_ROOT_TWO_PI - 1.5 * log(y)
        ),
        cdf=lambda y, c: special("ndtr", (sqrt(y) - 1.0 / sqrt(y)) / c),
        sf=lambda y, c: special("ndtr", -(sqrt(y) - 1.0 / sqrt(y)) / c),
        ppf=lambda q, c: _fatigue(c * special("ndtri", q)),
        isf=lambda q, c: _fatigue(-c * special("ndtri", q)),
        mean=lambda c: 1.0 + 0.5 * square(c),
        var=lambda c: square(c) * (1.0 + 1.25 * square(c)),
        open=True,
        **VALID,
    ),
    "gengamma": law(
        "generalized gamma distribution",
        "a c",
        log_density=lambda y, a, c: log(absolute(c)) + _xlogy(c * a - 1.0, y) - y**c - log_gamma(a),
        cdf=_gengamma_cdf("gammainc", "gammaincc"),
        sf=_gengamma_cdf("gammaincc", "gammainc"),
        ppf=_gengamma_inverse("gammaincinv", "gammainccinv"),
        isf=_gengamma_inverse("gammainccinv", "gammaincinv"),
        mean=lambda a, c: _ratio_of_gammas(a, 1.0 / c),
        var=_gengamma_var,
        entropy=_gengamma_entropy,
        conditions=lambda a, c: (a > 0, absolute(c) > 0),
        support=from_zero,
    ),
    "gompertz": law(
        "Gompertz distribution",
        "c",
        log_density=lambda y, c: log(c) + y - c * expm1(y),
        cdf=lambda y, c: -expm1(-c * expm1(y)),
        sf=lambda y, c: exp(-c * expm1(y)),
        logsf=lambda y, c: -c * expm1(y),
        ppf=lambda q, c: log1p(-log1p(-q) / c),
        isf=lambda q, c: log1p(-log(q) / c),
        **VALID,
        mean=lambda c: special("exp1", c) * exp(c),
        entropy=lambda c: 1.0 - log(c) - special("exp1", c) * exp(c),
    ),
    "halfgennorm": law(
        "upper half of the generalized normal distribution",
        "beta",
        log_density=lambda y, beta: log(beta) - log_gamma(1.0 / beta) - y**beta,
        cdf=lambda y, beta: special("gammainc", 1.0 / beta, y**beta),
        sf=lambda y, beta: special("gammaincc", 1.0 / beta, y**beta),
        ppf=lambda q, beta: special("gammaincinv", 1.0 / beta, q) ** (1.0 / beta),
        isf=lambda q, beta: special("gammainccinv", 1.0 / beta, q) ** (1.0 / beta),
        entropy=lambda beta: 1.0 / beta - log(beta) + log_gamma(1.0 / beta),
        **VALID,
        mean=lambda beta: _ratio_of_gammas(1.0 / beta, 1.0 / beta),
        var=lambda beta: (
            _ratio_of_gammas(1.0 / beta, 2.0 / beta) - square(_ratio_of_gammas(1.0 / beta, 1.0 / beta))
        ),
    ),
    "invgauss": _invgauss("invgauss", "inverse Gaussian distribution", "mu"),
    "maxwell": law(
        "Maxwell distribution",
        log_density=lambda y: 0.5 * math.log(2 / math.pi) + 2.0 * log(y) - 0.5 * square(y),
        cdf=lambda y: special("gammainc", 1.5, 0.5 * square(y)),
        sf=lambda y: special("gammaincc", 1.5, 0.5 * square(y)),
        ppf=lambda q: sqrt(2.0 * special("gammaincinv", 1.5, q)),
        isf=lambda q: sqrt(2.0 * special("gammainccinv", 1.5, q)),
        mean=lambda: 2 * math.sqrt(2 / math.pi),
        var=lambda: 3 - 8 / math.pi,
        entropy=lambda: EULER + LOG_ROOT_TWO_PI - 0.5,
        support=from_zero,
    ),
    "nakagami": law(
        "Nakagami distribution",
        "nu",
        log_density=lambda y, nu: (
            LOG_2 + _xlogy(nu, nu) - log_gamma(nu) + _xlogy(2.0 * nu - 1.0, y) - nu * square(y)
        ),
        cdf=lambda y, nu: special("gammainc", nu, nu * square(y)),
        sf=lambda y, nu: special("gammaincc", nu, nu * square(y)),
        ppf=lambda q, nu: sqrt(special("gammaincinv", nu, q) / nu),
        isf=lambda q, nu: sqrt(special("gammainccinv", nu, q) / nu),
        mean=lambda nu: _ratio_of_gammas(nu, 0.5) / sqrt(nu),
        var=lambda nu: 1.0 - square(_ratio_of_gammas(nu, 0.5)) / nu,
        entropy=lambda nu: log_gamma(nu) + nu - (nu - 0.5) * special("psi", nu) - 0.5 * log(nu) - LOG_2,
        **VALID,
    ),
    "wald": _invgauss("wald", "Wald distribution"),
}
