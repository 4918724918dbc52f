"""Formulas of further distributions on intervals, those of the documentation of `scipy.stats`."""

from __future__ import annotations

import math
from typing import Any

from jittape.primitives.elementwise import trigonometric
from jittape.scipy.special.terms import (
    cos,
    exp,
    lifted,
    log,
    maximum,
    polynomial,
    sin,
    special,
    sqrt,
    square,
    where,
)
from jittape.scipy.stats.formula_terms import (
    LOG_2,
    all_positive,
    expm1,
    law,
    log1p,
    log_normal,
    safe,
)
from jittape.scipy.stats.formulas import INF, Formulas, unit
from jittape.scipy.stats.scipy_laws import computed_inverses

__all__ = ["INTERVALS"]

asin = lifted(trigonometric.asin)


def _bradford_moments(c: Any) -> Any:
    k = log1p(c)
    return (c - k) / (c * k), ((c + 2.0) * k - 2.0 * c) / (2.0 * c * square(k))


def _johnson(z: Any, a: Any, b: Any) -> Any:
    return (z - a) / b


def _johnsonsb_log_density(y: Any, a: Any, b: Any) -> Any:
    inside = y < 1
    y = where(inside, y, 0.5)
    value = log(b) - log(y) - log1p(-y) + log_normal(a + b * special("logit", y))
    return where(inside, value, -INF)


def _span(a: Any, b: Any) -> Any:
    return log(b) - log(a)


def _semicircle(name: str) -> Any:
    return lambda y, c: special(name, 0.5 * c, 0.5 * c, 0.5 * (1.0 + y))


def _triang_log_density(y: Any, c: Any) -> Any:
    left = y < c
    slope = where(left, y / safe(left, c, 1.0), (1.0 - y) / safe(c < 1, 1.0 - c, 1.0))
    return LOG_2 + log(where(y.is_equal(c), 1.0, slope))


def _triang_cdf(y: Any, c: Any) -> Any:
    left = y < c
    return where(left, square(y) / safe(left, c, 1.0), 1.0 - square(1.0 - y) / safe(c < 1, 1.0 - c, 1.0))


def _triang_ppf(q: Any, c: Any) -> Any:
    left = q < c
    root = sqrt(where(left, c * q, (1.0 - c) * (1.0 - q)))
    return where(left, root, 1.0 - root)


def _rdist_entropy(c: Any) -> Any:
    a = 0.5 * c
    return special("betaln", a, a) + LOG_2 + (c - 2.0) * (special("psi", c) - special("psi", a))


def _truncexpon_var(b: Any) -> Any:
    """Return ``1 - (x / sinh(x))**2`` for half of the bound, by its series where the terms cancel."""
    x = 0.5 * b
    near = x < 0.1
    small = square(where(near, x, 0.0))
    series = small * polynomial([1 / 3, -1 / 15, 2 / 189, -1 / 675, 2 / 10395], small)
    large = where(near, 1.0, x)
    ratio = 2.0 * large * exp(-large) / -expm1(-2.0 * large)
    return where(near, series, 1.0 - square(ratio))


def _truncexpon_mean(b: Any) -> Any:
    return (1.0 - (b + 1.0) * exp(-b)) / -expm1(-b)


INTERVALS: dict[str, Formulas] = {
    "anglit": law(
        "anglit distribution",
        log_density=lambda y: log(cos(2.0 * y)),
        cdf=lambda y: square(sin(y + math.pi / 4)),
        sf=lambda y: square(cos(y + math.pi / 4)),
        ppf=lambda q: asin(sqrt(q)) - math.pi / 4,
        support=lambda: (-math.pi / 4, math.pi / 4),
        mean=lambda: 0.0,
        var=lambda: math.pi**2 / 16 - 0.5,
        entropy=lambda: 1 - LOG_2,
    ),
    "arcsine": law(
        "arcsine distribution",
        log_density=lambda y: -math.log(math.pi) - 0.5 * (log(y) + log1p(-y)),
        cdf=lambda y: 2 / math.pi * asin(sqrt(y)),
        sf=lambda y: 2 / math.pi * asin(sqrt(1.0 - y)),
        ppf=lambda q: square(sin(math.pi / 2 * q)),
        isf=lambda q: square(cos(math.pi / 2 * q)),
        mean=lambda: 0.5,
        var=lambda: 1 / 8,
        entropy=lambda: math.log(math.pi / 4),
        support=unit,
        skewness=lambda: 0.0,
        kurtosis=lambda: -1.5,
        raw_moment=lambda order: math.prod([(2 * j - 1) / (2 * j) for j in range(1, order + 1)]),
    ),
    "bradford": law(
        "Bradford distribution",
        "c",
        log_density=lambda y, c: log(c) - log(log1p(c)) - log1p(c * y),
        cdf=lambda y, c: log1p(c * y) / log1p(c),
        sf=lambda y, c: log1p(c * (1.0 - y) / (1.0 + c * y)) / log1p(c),
        ppf=lambda q, c: expm1(q * log1p(c)) / c,
        mean=lambda c: _bradford_moments(c)[0],
        var=lambda c: _bradford_moments(c)[1],
        entropy=lambda c: 0.5 * log1p(c) - log(c) + log(log1p(c)),
        conditions=all_positive,
        support=unit,
    ),
    "cosine": law(
        "cosine distribution",
        log_density=lambda y: log1p(cos(y)) - math.log(2 * math.pi),
        cdf=lambda y: (math.pi + y + sin(y)) / (2 * math.pi),
        sf=lambda y: (math.pi - y - sin(y)) / (2 * math.pi),
        support=lambda: (-math.pi, math.pi),
        mean=lambda: 0.0,
        var=lambda: math.pi**2 / 3 - 2,
        entropy=lambda: math.log(4 * math.pi) - 1,
        **computed_inverses("cosine", "", lambda y: [(1.0 + cos(y)) / (2 * math.pi)], ""),
    ),
    "johnsonsb": law(
        "Johnson distribution with bounds",
        "a b",
        log_density=_johnsonsb_log_density,
        cdf=lambda y, a, b: special("ndtr", a + b * special("logit", y)),
        sf=lambda y, a, b: special("ndtr", -a - b * special("logit", y)),
        ppf=lambda q, a, b: special("expit", _johnson(special("ndtri", q), a, b)),
        isf=lambda q, a, b: special("expit", _johnson(-special("ndtri", q), a, b)),
        conditions=lambda a, b: (b > 0, a.is_equal(a)),
        open=True,
        support=unit,
    ),
    "loguniform": law(
        "log-uniform distribution",
        "a b",
        log_density=lambda y, a, b: -log(y) - log(_span(a, b)),
        cdf=lambda y, a, b: (log(y) - log(a)) / _span(a, b),
        sf=lambda y, a, b: (log(b) - log(y)) / _span(a, b),
        ppf=lambda q, a, b: exp(log(a) + q * _span(a, b)),
        isf=lambda q, a, b: exp(log(b) - q * _span(a, b)),
        support=lambda a, b: (a, b),
        conditions=lambda a, b: (a > 0, b > a),
        mean=lambda a, b: (b - a) / _span(a, b),
        var=lambda a, b: (square(b) - square(a)) / (2.0 * _span(a, b)) - square((b - a) / _span(a, b)),
        entropy=lambda a, b: 0.5 * (log(a) + log(b)) + log(_span(a, b)),
    ),
    "powerlaw": law(
        "power-function distribution",
        "a",
        log_density=lambda y, a: log(a) + special("xlogy", a - 1.0, y),
        cdf=lambda y, a: y**a,
        sf=lambda y, a: -expm1(a * log(y)),
        logcdf=lambda y, a: a * log(y),
        ppf=lambda q, a: exp(log(q) / a),
        isf=lambda q, a: exp(log1p(-q) / a),
        mean=lambda a: a / (a + 1.0),
        var=lambda a: a / ((a + 2.0) * square(a + 1.0)),
        entropy=lambda a: 1.0 - 1.0 / a - log(a),
        conditions=all_positive,
        support=unit,
    ),
    "rdist": law(
        "symmetric beta distribution on the interval from -1 to 1",
        "c",
        log_density=lambda y, c: (
            special("xlogy", 0.5 * c - 1.0, 0.5 * (1.0 + y))
            + special("xlogy", 0.5 * c - 1.0, 0.5 * (1.0 - y))
            - special("betaln", 0.5 * c, 0.5 * c)
            - LOG_2
        ),
        cdf=_semicircle("betainc"),
        sf=lambda y, c: _semicircle("betainc")(-y, c),
        ppf=lambda q, c: 2.0 * special("betaincinv", 0.5 * c, 0.5 * c, q) - 1.0,
        isf=lambda q, c: 1.0 - 2.0 * special("betaincinv", 0.5 * c, 0.5 * c, q),
        support=lambda c: (-1.0, 1.0),
        conditions=all_positive,
        mean=lambda c: 0.0 * c,
        var=lambda c: 1.0 / (c + 1.0),
        entropy=_rdist_entropy,
        skewness=lambda c: 0.0 * c,
        kurtosis=lambda c: -6.0 / (c + 3.0),
    ),
    "semicircular": law(
        "semicircular distribution",
        log_density=lambda y: math.log(2 / math.pi) + 0.5 * log1p(-square(y)),
        cdf=lambda y: special("betainc", 1.5, 1.5, 0.5 * (1.0 + y)),
        sf=lambda y: special("betainc", 1.5, 1.5, 0.5 * (1.0 - y)),
        ppf=lambda q: 2.0 * special("betaincinv", 1.5, 1.5, q) - 1.0,
        isf=lambda q: 1.0 - 2.0 * special("betaincinv", 1.5, 1.5, q),
        support=lambda: (-1.0, 1.0),
        mean=lambda: 0.0,
        var=lambda: 0.25,
        entropy=lambda: math.log(math.pi) - 0.5,
    ),
    "triang": law(
        "triangular distribution",
        "c",
        log_density=_triang_log_density,
        cdf=_triang_cdf,
        sf=lambda y, c: _triang_cdf(1.0 - y, 1.0 - c),
        ppf=_triang_ppf,
        isf=lambda q, c: 1.0 - _triang_ppf(q, 1.0 - c),
        mean=lambda c: (1.0 + c) / 3.0,
        var=lambda c: (1.0 - c + square(c)) / 18.0,
        entropy=lambda c: 0.5 - LOG_2 + 0.0 * c,
        conditions=lambda c: (maximum(c, 1.0).is_equal(1.0), maximum(-c, 0.0).is_equal(0.0)),
        support=unit,
        kink=lambda c: c,
    ),
    "truncexpon": law(
        "exponential distribution truncated at `b`",
        "b",
        log_density=lambda y, b: -y - log(-expm1(-b)),
        cdf=lambda y, b: expm1(-y) / expm1(-b),
        sf=lambda y, b: exp(-y) * expm1(y - b) / expm1(-b),
        ppf=lambda q, b: -log1p(q * expm1(-b)),
        isf=lambda q, b: -log(q + (1.0 - q) * exp(-b)),
        support=lambda b: (0.0, b),
        mean=_truncexpon_mean,
        conditions=all_positive,
        var=_truncexpon_var,
        entropy=lambda b: log(-expm1(-b)) + _truncexpon_mean(b),
    ),
}
