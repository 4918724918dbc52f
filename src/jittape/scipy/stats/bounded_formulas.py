"""Formulas of less common distributions of positive numbers and on intervals."""

from __future__ import annotations

import math
from typing import Any

from jittape.scipy.special.terms import absolute, exp, log, special, sqrt, square
from jittape.scipy.stats.formula_terms import (
    LOG_2,
    LOG_ROOT_TWO_PI,
    all_positive,
    expm1,
    law,
    log1p,
    log_normal,
)
from jittape.scipy.stats.formulas import Formulas, from_zero
from jittape.scipy.stats.scipy_laws import computed_inverses

__all__ = ["BOUNDED"]

VALID: dict[str, Any] = {"support": from_zero, "conditions": all_positive}


def _argus_part(y: Any, chi: Any) -> Any:
    return special("gammainc", 1.5, 0.5 * square(chi) * (1.0 - y) * (1.0 + y))


def _argus_quantile(chi: Any, share: Any) -> Any:
    whole = special("gammainc", 1.5, 0.5 * square(chi))
    return sqrt(1.0 - 2.0 * special("gammaincinv", 1.5, share * whole) / square(chi))


def _truncpareto_total(b: Any, c: Any) -> Any:
    return -expm1(-b * log(c))


def _truncpareto_moment(order: int, b: Any, c: Any) -> Any:
    size = log(c)
    return b * size * special("exprel", (order - b) * size) / _truncpareto_total(b, c)


def _weibull_tail(x: Any, c: Any) -> Any:
    return exp(-(x**c))


def _truncweibull_total(c: Any, a: Any, b: Any) -> Any:
    return _weibull_tail(a, c) - _weibull_tail(b, c)


# ---- laws of positive numbers ----------------------------------------------------------------------------------------


def _genexpon_log_sf(y: Any, a: Any, b: Any, c: Any) -> Any:
    return -a * y - b * (y + expm1(-c * y) / c)


def _genexpon_log_density(y: Any, a: Any, b: Any, c: Any) -> Any:
    return log(a - b * expm1(-c * y)) + _genexpon_log_sf(y, a, b, c)


def _genexpon_partials(y: Any, a: Any, b: Any, c: Any) -> list[Any]:
    sf, lost = exp(_genexpon_log_sf(y, a, b, c)), expm1(-c * y)
    in_c = -b * (-y * exp(-c * y) / c - lost / square(c))
    return [exp(_genexpon_log_density(y, a, b, c)), sf * y, sf * (y + lost / c), -sf * in_c]


def _half_power(y: Any, c: Any) -> Any:
    """Return ``(1 - c y)**(1 / c)``."""
    return exp(log1p(-c * y) / c)


def _recipinvgauss_parts(y: Any, mu: Any) -> tuple[Any, Any]:
    root = 1.0 / sqrt(y)
    beyond = exp(2.0 / mu + special("log_ndtr", -root * (1.0 / mu + y)))
    return root * (1.0 / mu - y), beyond


def _recipinvgauss_cdf(y: Any, mu: Any) -> Any:
    z, beyond = _recipinvgauss_parts(y, mu)
    return special("ndtr", -z) - beyond


def _recipinvgauss_sf(y: Any, mu: Any) -> Any:
    z, beyond = _recipinvgauss_parts(y, mu)
    return special("ndtr", z) + beyond


def _recipinvgauss_partials(y: Any, mu: Any) -> list[Any]:
    _, beyond = _recipinvgauss_parts(y, mu)
    density = exp(-LOG_ROOT_TWO_PI - 0.5 * log(y) - 0.5 * square((1.0 - mu * y) / mu) / y)
    return [density, 2.0 * beyond / square(mu)]


def _kappa3_log_cdf(y: Any, a: Any) -> Any:
    return -log1p(a * y**-a) / a


def _bessel_ratio(order: float, p: Any, b: Any) -> Any:
    return special("kve", p + order, b) / special("kve", p, b)


def _geninvgauss_log_density(y: Any, p: Any, b: Any) -> Any:
    shape = (p - 1.0) * log(y) - 0.5 * b * (y + 1.0 / y - 2.0)
    return shape - LOG_2 - log(special("kve", p, b))


BOUNDED: dict[str, Formulas] = {
    "argus": law(
        "Argus distribution",
        "chi",
        log_density=lambda y, chi: (
            3.0 * log(chi)
            - LOG_ROOT_TWO_PI
            - log(0.5 * special("gammainc", 1.5, 0.5 * square(chi)))
            + log(y)
            + 0.5 * log((1.0 - y) * (1.0 + y))
            - 0.5 * square(chi) * (1.0 - y) * (1.0 + y)
        ),
        cdf=lambda y, chi: 1.0 - _argus_part(y, chi) / special("gammainc", 1.5, 0.5 * square(chi)),
        sf=lambda y, chi: _argus_part(y, chi) / special("gammainc", 1.5, 0.5 * square(chi)),
        ppf=lambda q, chi: _argus_quantile(chi, 1.0 - q),
        isf=lambda q, chi: _argus_quantile(chi, q),
        support=lambda chi: (0.0, 1.0),
        conditions=all_positive,
    ),
    "genexpon": law(
        "generalized exponential distribution",
        "a b c",
        log_density=_genexpon_log_density,
        cdf=lambda y, a, b, c: -expm1(_genexpon_log_sf(y, a, b, c)),
        sf=lambda y, a, b, c: exp(_genexpon_log_sf(y, a, b, c)),
        logsf=_genexpon_log_sf,
        **computed_inverses("genexpon", "a b c", _genexpon_partials, "a b c"),
        **VALID,
    ),
    "genhalflogistic": law(
        "generalized half-logistic distribution",
        "c",
        log_density=lambda y, c: (
            LOG_2 + special("xlog1py", 1.0 / c - 1.0, -c * y) - 2.0 * log1p(_half_power(y, c))
        ),
        cdf=lambda y, c: (1.0 - _half_power(y, c)) / (1.0 + _half_power(y, c)),
        sf=lambda y, c: 2.0 * _half_power(y, c) / (1.0 + _half_power(y, c)),
        ppf=lambda q, c: -expm1(c * (log1p(-q) - log1p(q))) / c,
        isf=lambda q, c: -expm1(c * (log(q) - log(2.0 - q))) / c,
        entropy=lambda c: 2.0 - (2.0 * c + 1.0) * LOG_2,
        support=lambda c: (0.0, 1.0 / c),
        conditions=all_positive,
    ),
    "geninvgauss": law(
        "generalized inverse Gaussian distribution",
        "p b",
        log_density=_geninvgauss_log_density,
        **computed_inverses(
            "geninvgauss", "p b", lambda y, p, b: [exp(_geninvgauss_log_density(y, p, b))], ""
        ),
        mean=lambda p, b: _bessel_ratio(1.0, p, b),
        var=lambda p, b: _bessel_ratio(2.0, p, b) - square(_bessel_ratio(1.0, p, b)),
        support=from_zero,
        conditions=lambda p, b: (p.is_equal(p), b > 0),
        open=True,
    ),
    "gibrat": law(
        "Gibrat distribution, the log-normal one of shape 1",
        log_density=lambda y: log_normal(log(y)) - log(y),
        cdf=lambda y: special("ndtr", log(y)),
        sf=lambda y: special("ndtr", -log(y)),
        logcdf=lambda y: special("log_ndtr", log(y)),
        logsf=lambda y: special("log_ndtr", -log(y)),
        ppf=lambda q: exp(special("ndtri", q)),
        isf=lambda q: exp(-special("ndtri", q)),
        mean=lambda: math.exp(0.5),
        var=lambda: math.e * (math.e - 1.0),
        entropy=lambda: 0.5 * math.log(2 * math.pi) + 0.5,
        support=from_zero,
        open=True,
    ),
    "kappa3": law(
        "kappa distribution with three parameters",
        "a",
        log_density=lambda y, a: log(a) - (1.0 / a + 1.0) * log(a + y**a),
        cdf=lambda y, a: exp(_kappa3_log_cdf(y, a)),
        sf=lambda y, a: -expm1(_kappa3_log_cdf(y, a)),
        ppf=lambda q, a: (a / expm1(-a * log(q))) ** (1.0 / a),
        isf=lambda q, a: (a / expm1(-a * log1p(-q))) ** (1.0 / a),
        tail=lambda a: a,
        **VALID,
    ),
    "powerlognorm": law(
        "power log-normal distribution",
        "c s",
        log_density=lambda y, c, s: (
            log(c / s) - log(y) + log_normal(log(y) / s) + (c - 1.0) * special("log_ndtr", -log(y) / s)
        ),
        cdf=lambda y, c, s: -expm1(c * special("log_ndtr", -log(y) / s)),
        sf=lambda y, c, s: exp(c * special("log_ndtr", -log(y) / s)),
        logsf=lambda y, c, s: c * special("log_ndtr", -log(y) / s),
        ppf=lambda q, c, s: exp(-s * special("ndtri_exp", log1p(-q) / c)),
        isf=lambda q, c, s: exp(-s * special("ndtri_exp", log(q) / c)),
        open=True,
        **VALID,
    ),
    "recipinvgauss": law(
        "distribution of the reciprocal of an inverse Gaussian variable",
        "mu",
        log_density=lambda y, mu: -LOG_ROOT_TWO_PI - 0.5 * log(y) - 0.5 * square((1.0 - mu * y) / mu) / y,
        cdf=_recipinvgauss_cdf,
        sf=_recipinvgauss_sf,
        **computed_inverses("recipinvgauss", "mu", _recipinvgauss_partials, "mu"),
        mean=lambda mu: 1.0 / mu + 1.0,
        var=lambda mu: 1.0 / mu + 2.0,
        open=True,
        **VALID,
    ),
    "truncpareto": law(
        "Pareto distribution between 1 and `c`",
        "b c",
        log_density=lambda y, b, c: log(b) - (b + 1.0) * log(y) - log(_truncpareto_total(b, c)),
        cdf=lambda y, b, c: -expm1(-b * log(y)) / _truncpareto_total(b, c),
        sf=lambda y, b, c: (y**-b - c**-b) / _truncpareto_total(b, c),
        ppf=lambda q, b, c: exp(-log1p(-q * _truncpareto_total(b, c)) / b),
        isf=lambda q, b, c: exp(-log(c**-b + q * _truncpareto_total(b, c)) / b),
        mean=lambda b, c: _truncpareto_moment(1, b, c),
        var=lambda b, c: _truncpareto_moment(2, b, c) - square(_truncpareto_moment(1, b, c)),
        raw_moment=_truncpareto_moment,
        support=lambda b, c: (1.0, c),
        conditions=lambda b, c: (b > 0, c > 1),
    ),
    "truncweibull_min": law(
        "Weibull distribution between `a` and `b`",
        "c a b",
        log_density=lambda y, c, a, b: (
            log(c) + special("xlogy", c - 1.0, y) - y**c - log(_truncweibull_total(c, a, b))
        ),
        cdf=lambda y, c, a, b: (_weibull_tail(a, c) - _weibull_tail(y, c)) / _truncweibull_total(c, a, b),
        sf=lambda y, c, a, b: (_weibull_tail(y, c) - _weibull_tail(b, c)) / _truncweibull_total(c, a, b),
        ppf=lambda q, c, a, b: (-log((1.0 - q) * _weibull_tail(a, c) + q * _weibull_tail(b, c))) ** (1.0 / c),
        isf=lambda q, c, a, b: (-log(q * _weibull_tail(a, c) + (1.0 - q) * _weibull_tail(b, c))) ** (1.0 / c),
        support=lambda c, a, b: (a, b),
        conditions=lambda c, a, b: (absolute(a).is_equal(a), b > a, c > 0),
    ),
}
