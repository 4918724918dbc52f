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
)
from jittape.scipy.stats.formulas import EULER, INF, NAN, Formulas, from_zero

__all__ = ["LIFETIMES"]

VALID: dict[str, Any] = {"support": from_zero, "conditions": all_positive}


def _xlogy(x: Any, y: Any) -> Any:
    return special("xlogy", x, y)


def _ratio_of_gammas(a: Any, step: Any) -> Any:
    """Return ``gamma(a + step) / gamma(a)``."""
    return exp(log_gamma(a + step) - log_gamma(a))


def _odds(name: str, a: Any, b: Any, q: Any) -> Any:
    """Return ``w / (1 - w)`` of the quantile w of a beta distribution, accurate near both ends."""
    other = {"betaincinv": "betainccinv", "betainccinv": "betaincinv"}[name]
    return special(name, a, b, q) / special(other, b, a, q)


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


def _invgauss(summary: str, shapes: str = "") -> Formulas:
    def of(formula: Any) -> Any:
        return formula if shapes else lambda *y: formula(*y, 0.0 * y[0] + 1.0)

    def log_density(y: Any, mu: Any) -> Any:
        return -LOG_ROOT_TWO_PI - 1.5 * log(y) - square(y - mu) / (2.0 * y * square(mu))

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
        open=True,
        **VALID,
    )


LIFETIMES: dict[str, Formulas] = {
    "betaprime": law(
        "beta prime distribution",
        "a b",
        log_density=lambda y, a, b: (
            _xlogy(a - 1.0, y) - special("xlog1py", a + b, y) - special("betaln", a, b)
        ),
        cdf=lambda y, a, b: special("betainc", a, b, y / (1.0 + y)),
        sf=lambda y, a, b: special("betainc", b, a, 1.0 / (1.0 + y)),
        ppf=lambda q, a, b: _odds("betaincinv", a, b, q),
        isf=lambda q, a, b: _odds("betainccinv", a, b, q),
        mean=lambda a, b: above(1.0, b, a / (b - 1.0)),
        var=lambda a, b: above(2.0, b, a * (a + b - 1.0) / ((b - 2.0) * square(b - 1.0))),
        **VALID,
    ),
    "burr12": law(
        "Burr distribution of type XII",
        "c d",
        log_density=lambda y, c, d: log(c) + log(d) + _xlogy(c - 1.0, y) - (d + 1.0) * log1p(y**c),
        cdf=lambda y, c, d: -expm1(-d * log1p(y**c)),
        sf=lambda y, c, d: exp(-d * log1p(y**c)),
        logsf=lambda y, c, d: -d * log1p(y**c),
        ppf=lambda q, c, d: expm1(-log1p(-q) / d) ** (1.0 / c),
        isf=lambda q, c, d: expm1(-log(q) / d) ** (1.0 / c),
        **VALID,
    ),
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
        ppf=lambda q, n, m: m / n * _odds("betaincinv", 0.5 * n, 0.5 * m, q),
        isf=lambda q, n, m: m / n * _odds("betainccinv", 0.5 * n, 0.5 * m, q),
        mean=lambda n, m: above(2.0, m, m / (m - 2.0)) + 0.0 * n,
        var=_f_var,
        entropy=_f_entropy,
        **VALID,
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
    "fisk": law(
        "log-logistic distribution",
        "c",
        log_density=lambda y, c: log(c) + _xlogy(c - 1.0, y) - 2.0 * log1p(y**c),
        cdf=lambda y, c: special("expit", c * log(y)),
        sf=lambda y, c: special("expit", -c * log(y)),
        logcdf=lambda y, c: special("log_expit", c * log(y)),
        logsf=lambda y, c: special("log_expit", -c * log(y)),
        ppf=lambda q, c: exp(special("logit", q) / c),
        isf=lambda q, c: exp(-special("logit", q) / c),
        entropy=lambda c: 2.0 - log(c),
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
    ),
    "invgauss": _invgauss("inverse Gaussian distribution", "mu"),
    "invweibull": law(
        "inverse Weibull distribution",
        "c",
        log_density=lambda y, c: log(c) - (c + 1.0) * log(y) - y**-c,
        cdf=lambda y, c: exp(-(y**-c)),
        sf=lambda y, c: -expm1(-(y**-c)),
        logcdf=lambda y, c: -(y**-c),
        ppf=lambda q, c: (-log(q)) ** (-1.0 / c),
        isf=lambda q, c: (-log1p(-q)) ** (-1.0 / c),
        entropy=lambda c: 1.0 + EULER + EULER / c - log(c),
        open=True,
        **VALID,
    ),
    "levy": law(
        "Lévy distribution",
        log_density=lambda y: -LOG_ROOT_TWO_PI - 1.5 * log(y) - 0.5 / y,
        cdf=lambda y: special("erfc", sqrt(0.5 / y)),
        sf=lambda y: special("erf", sqrt(0.5 / y)),
        ppf=lambda q: 0.5 / square(special("erfcinv", q)),
        isf=lambda q: 0.5 / square(special("erfinv", q)),
        mean=lambda: INF,
        var=lambda: INF,
        open=True,
        support=from_zero,
    ),
    "lomax": law(
        "Lomax distribution, Pareto's from 0 on",
        "c",
        log_density=lambda y, c: log(c) - (c + 1.0) * log1p(y),
        cdf=lambda y, c: -expm1(-c * log1p(y)),
        sf=lambda y, c: exp(-c * log1p(y)),
        logsf=lambda y, c: -c * log1p(y),
        ppf=lambda q, c: expm1(-log1p(-q) / c),
        isf=lambda q, c: expm1(-log(q) / c),
        mean=lambda c: above(1.0, c, 1.0 / (c - 1.0)),
        var=lambda c: where(c > 2, c / (square(c - 1.0) * (c - 2.0)), where(c > 1, INF, NAN)),
        entropy=lambda c: 1.0 + 1.0 / c - log(c),
        **VALID,
    ),
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
    "mielke": law(
        "Mielke's distribution",
        "k s",
        log_density=lambda y, k, s: log(k) + _xlogy(k - 1.0, y) - (1.0 + k / s) * log1p(y**s),
        cdf=lambda y, k, s: exp(-k / s * log1p(y**-s)),
        sf=lambda y, k, s: -expm1(-k / s * log1p(y**-s)),
        logcdf=lambda y, k, s: -k / s * log1p(y**-s),
        ppf=lambda q, k, s: expm1(-s / k * log(q)) ** (-1.0 / s),
        isf=lambda q, k, s: expm1(-s / k * log1p(-q)) ** (-1.0 / s),
        **VALID,
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
    "wald": _invgauss("Wald distribution"),
}
