"""Formulas of distributions of extreme values and of those with tails like a power."""

from __future__ import annotations

import math
from typing import Any

from jittape.scipy.special.terms import atan2, exp, log, polynomial, special, sqrt, square, tan, where
from jittape.scipy.stats.formula_terms import (
    LOG_ROOT_TWO_PI,
    above,
    all_positive,
    expm1,
    law,
    log1p,
    log1prel,
    log_gamma,
    log_normal,
    odds,
    safe,
)
from jittape.scipy.stats.formulas import EULER, INF, NAN, Formulas, from_zero

__all__ = ["TAILS", "betaprime_moment"]

VALID: dict[str, Any] = {"support": from_zero, "conditions": all_positive}


def _halfcauchy_log_density(y: Any) -> Any:
    far = y > 1e10  # the square of a greater number may overflow, and 1 is less than its rounding
    near = log1p(square(where(far, 1.0, y)))
    return math.log(2 / math.pi) - where(far, 2.0 * log(where(far, y, 1.0)), near)


def _genextreme_log(y: Any, c: Any) -> Any:
    """Return the logarithm of minus the logarithm of the distribution function."""
    return -y * log1prel(-c * y)


def _genextreme_log_density(y: Any, c: Any) -> Any:
    power = _genextreme_log(y, c)
    lower = power > 1e300  # the lower end of the support, if c is negative
    upper = (power < -1e300) & (square(c - 1.0) < 1e-40)  # the upper end, if c is 1: the density is 1
    inside = where(lower, 0.0, where(upper, 0.0, power))
    return where(lower, -INF, (1.0 - c) * inside - exp(where(lower, 0.0, power)))


def _log_gamma_terms(c: Any) -> tuple[Any, Any]:
    """Return ``g(c) / c`` and ``(g(2 c) - 2 g(c)) / c**2`` for the logarithm g of ``gamma(1 + c)``, also near 0."""
    near = square(c) < 1e-4
    small, large = where(near, c, 0.0), where(near, 0.5, c)
    zeta = [(-1.0) ** k * float(ZETA[k]) / k for k in range(2, len(ZETA))]
    first = polynomial([-EULER, *zeta], small)
    second = polynomial([z * (2.0**k - 2.0) for k, z in enumerate(zeta, 2)], small)
    g, twice = log_gamma(1.0 + large), log_gamma(1.0 + 2.0 * large)
    return where(near, first, g / large), where(near, second, (twice - 2.0 * g) / square(large))


ZETA = (0.0, 0.0, math.pi**2 / 6, 1.2020569031595942, math.pi**4 / 90, 1.03692775514337, 1.0173430619844492,
        1.0083492773819227, 1.0040773561979444)  # fmt: skip
"""Riemann's zeta function at the integers from 2 on."""


def _genextreme_moments(c: Any) -> tuple[Any, Any]:
    first, second = _log_gamma_terms(where(c > -0.5, c, 0.0))
    log_of_first, _ = _log_gamma_terms(where(c > -1.0, c, 0.0))
    mean = -log_of_first * special("exprel", c * log_of_first)
    var = exp(2.0 * c * first) * second * special("exprel", square(c) * second)
    return above(-1.0, c, mean), above(-0.5, c, var)


def _genextreme_moment(order: int, c: Any) -> Any:
    """Return the mean of ``((1 - x**c) / c)**order`` for an exponential variable x."""
    heavy = safe(c < 0, c, -1.0)
    parts = [(-1.0) ** k * math.comb(order, k) * exp(log_gamma(1.0 + k * heavy)) for k in range(order + 1)]
    return above(-1.0 / order, c, sum(parts) / heavy ** float(order), NAN)


def _genpareto_moment(order: int, c: Any) -> Any:
    value = 0.0 * c + float(math.factorial(order))
    for k in range(1, order + 1):
        value = value / (1.0 - float(k) * c)
    return where(c < 1.0 / order, value, INF)


def betaprime_moment(order: float, a: Any, b: Any) -> Any:
    """Return the mean of a power of the ratio of two gamma variables."""
    return above(order, b, exp(special("betaln", a + order, b - order) - special("betaln", a, b)))


def _genpareto_var(c: Any) -> Any:
    finite = c < 0.5
    inside = where(finite, c, 0.0)
    beyond = where(c < 1, INF, NAN)
    return where(finite, 1.0 / (square(1.0 - inside) * (1.0 - 2.0 * inside)), beyond)


def _bound(c: Any, is_end: Any, sign: float, otherwise: float) -> Any:
    return where(is_end, sign / safe(is_end, c, 1.0), otherwise)


def _loglaplace(at_most_one: Any, beyond: Any, y: Any, c: Any) -> Any:
    small = y < 1
    tail = 0.5 * exp(-c * where(small, -log(y), log(y)))
    return where(small, at_most_one(tail), beyond(tail))


def _loglaplace_ppf(q: Any, c: Any) -> Any:
    small = q < 0.5
    return exp(where(small, 1.0, -1.0) * log(2.0 * where(small, q, 1.0 - q)) / c)


def _loglaplace_var(c: Any) -> Any:
    return above(2.0, c, square(c) / (square(c) - 4.0) - (square(c) / (square(c) - 1.0)) ** 2)


def _burr12_moment(order: float, c: Any, d: Any) -> Any:
    return above(order, c * d, d * exp(special("betaln", d - order / c, 1.0 + order / c)))


def _mielke_moment(order: float, k: Any, s: Any) -> Any:
    return above(order, s, k / s * exp(special("betaln", (k + order) / s, 1.0 - order / s)))


def _mielke_entropy(k: Any, s: Any) -> Any:
    ratio = k / s
    return (
        (1.0 + ratio) * (special("psi", ratio + 1.0) + EULER)
        - (k - 1.0) * (special("psi", ratio) + EULER) / s
        - log(k)
    )


def _invweibull_moment(order: float, c: Any) -> Any:
    return above(order, c, exp(log_gamma(1.0 - order / c)))


def _betaprime_entropy(a: Any, b: Any) -> Any:
    psi_a, psi_b, psi_sum = special("psi", a), special("psi", b), special("psi", a + b)
    return special("betaln", a, b) - (a - 1.0) * (psi_a - psi_b) + (a + b) * (psi_sum - psi_b)


TAILS: dict[str, Formulas] = {
    "alpha": law(
        "alpha distribution",
        "a",
        log_density=lambda y, a: log_normal(a - 1.0 / y) - 2.0 * log(y) - special("log_ndtr", a),
        cdf=lambda y, a: exp(special("log_ndtr", a - 1.0 / y) - special("log_ndtr", a)),
        sf=lambda y, a: -expm1(special("log_ndtr", a - 1.0 / y) - special("log_ndtr", a)),
        logcdf=lambda y, a: special("log_ndtr", a - 1.0 / y) - special("log_ndtr", a),
        ppf=lambda q, a: 1.0 / (a - special("ndtri_exp", log(q) + special("log_ndtr", a))),
        isf=lambda q, a: 1.0 / (a - special("ndtri_exp", log1p(-q) + special("log_ndtr", a))),
        mean=lambda a: INF + 0.0 * a,
        var=lambda a: INF + 0.0 * a,
        tail=lambda a: 1.0,
        open=True,
        **VALID,
    ),
    "betaprime": law(
        "beta prime distribution",
        "a b",
        log_density=lambda y, a, b: (
            special("xlogy", a - 1.0, y) - special("xlog1py", a + b, y) - special("betaln", a, b)
        ),
        cdf=lambda y, a, b: special("betainc", a, b, y / (1.0 + y)),
        sf=lambda y, a, b: special("betainc", b, a, 1.0 / (1.0 + y)),
        ppf=lambda q, a, b: odds("betaincinv", a, b, q),
        isf=lambda q, a, b: odds("betainccinv", a, b, q),
        mean=lambda a, b: above(1.0, b, a / (b - 1.0)),
        var=lambda a, b: above(2.0, b, a * (a + b - 1.0) / ((b - 2.0) * square(b - 1.0))),
        **VALID,
        entropy=_betaprime_entropy,
        tail=lambda a, b: b,
        raw_moment=betaprime_moment,
    ),
    "burr": law(
        "Burr distribution of type III",
        "c d",
        log_density=lambda y, c, d: log(c) + log(d) - (c + 1.0) * log(y) - (d + 1.0) * log1p(y**-c),
        cdf=lambda y, c, d: exp(-d * log1p(y**-c)),
        sf=lambda y, c, d: -expm1(-d * log1p(y**-c)),
        logcdf=lambda y, c, d: -d * log1p(y**-c),
        ppf=lambda q, c, d: expm1(-log(q) / d) ** (-1.0 / c),
        isf=lambda q, c, d: expm1(-log1p(-q) / d) ** (-1.0 / c),
        mean=lambda c, d: _mielke_moment(1.0, c * d, c),
        var=lambda c, d: _mielke_moment(2.0, c * d, c) - square(_mielke_moment(1.0, c * d, c)),
        entropy=lambda c, d: _mielke_entropy(c * d, c),
        tail=lambda c, d: c,
        open=True,
        **VALID,
        raw_moment=lambda order, c, d: _mielke_moment(order, c * d, c),
    ),
    "burr12": law(
        "Burr distribution of type XII",
        "c d",
        log_density=lambda y, c, d: log(c) + log(d) + special("xlogy", c - 1.0, y) - (d + 1.0) * log1p(y**c),
        cdf=lambda y, c, d: -expm1(-d * log1p(y**c)),
        sf=lambda y, c, d: exp(-d * log1p(y**c)),
        logsf=lambda y, c, d: -d * log1p(y**c),
        ppf=lambda q, c, d: expm1(-log1p(-q) / d) ** (1.0 / c),
        isf=lambda q, c, d: expm1(-log(q) / d) ** (1.0 / c),
        **VALID,
        mean=lambda c, d: _burr12_moment(1.0, c, d),
        var=lambda c, d: _burr12_moment(2.0, c, d) - square(_burr12_moment(1.0, c, d)),
        entropy=lambda c, d: 1.0 + 1.0 / d - log(c * d) + (c - 1.0) / c * (EULER + special("psi", d)),
        tail=lambda c, d: c * d,
        raw_moment=_burr12_moment,
    ),
    "fisk": law(
        "log-logistic distribution",
        "c",
        log_density=lambda y, c: log(c) + special("xlogy", c - 1.0, y) - 2.0 * log1p(y**c),
        cdf=lambda y, c: special("expit", c * log(y)),
        sf=lambda y, c: special("expit", -c * log(y)),
        logcdf=lambda y, c: special("log_expit", c * log(y)),
        logsf=lambda y, c: special("log_expit", -c * log(y)),
        ppf=lambda q, c: exp(special("logit", q) / c),
        isf=lambda q, c: exp(-special("logit", q) / c),
        entropy=lambda c: 2.0 - log(c),
        **VALID,
        mean=lambda c: _burr12_moment(1.0, c, 1.0),
        var=lambda c: _burr12_moment(2.0, c, 1.0) - square(_burr12_moment(1.0, c, 1.0)),
        tail=lambda c: c,
        raw_moment=lambda order, c: _burr12_moment(order, c, 1.0),
    ),
    "genextreme": law(
        "generalized extreme value distribution; `c` has the opposite sign of the shape in many texts",
        "c",
        log_density=_genextreme_log_density,
        cdf=lambda y, c: exp(-exp(_genextreme_log(y, c))),
        sf=lambda y, c: -expm1(-exp(_genextreme_log(y, c))),
        logcdf=lambda y, c: -exp(_genextreme_log(y, c)),
        ppf=lambda q, c: -log(-log(q)) * special("exprel", c * log(-log(q))),
        isf=lambda q, c: -log(-log1p(-q)) * special("exprel", c * log(-log1p(-q))),
        support=lambda c: (_bound(c, c < 0, 1.0, -INF), _bound(c, c > 0, 1.0, INF)),
        mean=lambda c: _genextreme_moments(c)[0],
        var=lambda c: _genextreme_moments(c)[1],
        entropy=lambda c: EULER * (1.0 - c) + 1.0,
        tail=lambda c: where(c < 0, -1.0 / safe(c < 0, c, -1.0), INF),
        raw_moment=_genextreme_moment,
    ),
    "genpareto": law(
        "generalized Pareto distribution",
        "c",
        log_density=lambda y, c: -(c + 1.0) * y * log1prel(c * y),
        cdf=lambda y, c: -expm1(-y * log1prel(c * y)),
        sf=lambda y, c: exp(-y * log1prel(c * y)),
        logsf=lambda y, c: -y * log1prel(c * y),
        ppf=lambda q, c: -log1p(-q) * special("exprel", -c * log1p(-q)),
        isf=lambda q, c: -log(q) * special("exprel", -c * log(q)),
        support=lambda c: (0.0, _bound(c, c < 0, -1.0, INF)),
        mean=lambda c: where(c < 1, 1.0 / safe(c < 1, 1.0 - c, 1.0), INF),
        entropy=lambda c: 1.0 + c,
        var=_genpareto_var,
        tail=lambda c: where(c > 0, 1.0 / safe(c > 0, c, 1.0), INF),
        raw_moment=_genpareto_moment,
    ),
    "halfcauchy": law(
        "half-Cauchy distribution",
        log_density=_halfcauchy_log_density,
        cdf=lambda y: 2 / math.pi * atan2(y, 0.0 * y + 1.0),
        sf=lambda y: 2 / math.pi * atan2(0.0 * y + 1.0, y),
        ppf=lambda q: tan(math.pi / 2 * q),
        isf=lambda q: 1.0 / tan(math.pi / 2 * q),
        mean=lambda: INF,
        var=lambda: INF,
        entropy=lambda: math.log(2 * math.pi),
        support=from_zero,
        tail=lambda: 1.0,
    ),
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
        mean=lambda c: _invweibull_moment(1.0, c),
        var=lambda c: _invweibull_moment(2.0, c) - square(_invweibull_moment(1.0, c)),
        tail=lambda c: c,
        raw_moment=_invweibull_moment,
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
        entropy=lambda: 0.5 * (1 + 3 * EULER + math.log(16 * math.pi)),
        tail=lambda: 0.5,
    ),
    "loglaplace": law(
        "log-Laplace distribution",
        "c",
        log_density=lambda y, c: log(0.5 * c) + special("xlogy", where(y < 1, c - 1.0, -c - 1.0), y),
        cdf=lambda y, c: _loglaplace(lambda tail: tail, lambda tail: 1.0 - tail, y, c),
        sf=lambda y, c: _loglaplace(lambda tail: 1.0 - tail, lambda tail: tail, y, c),
        ppf=_loglaplace_ppf,
        isf=lambda q, c: 1.0 / _loglaplace_ppf(q, c),
        mean=lambda c: above(1.0, c, square(c) / (square(c) - 1.0)),
        var=_loglaplace_var,
        entropy=lambda c: 1.0 + log(2.0 / c),
        conditions=all_positive,
        support=from_zero,
        tail=lambda c: c,
        raw_moment=lambda order, c: above(order, c, square(c) / (square(c) - float(order**2))),
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
        tail=lambda c: c,
        raw_moment=lambda order, c: betaprime_moment(order, 0.0 * c + 1.0, c),
    ),
    "mielke": law(
        "Mielke's distribution",
        "k s",
        log_density=lambda y, k, s: log(k) + special("xlogy", k - 1.0, y) - (1.0 + k / s) * log1p(y**s),
        cdf=lambda y, k, s: exp(-k / s * log1p(y**-s)),
        sf=lambda y, k, s: -expm1(-k / s * log1p(y**-s)),
        logcdf=lambda y, k, s: -k / s * log1p(y**-s),
        ppf=lambda q, k, s: expm1(-s / k * log(q)) ** (-1.0 / s),
        isf=lambda q, k, s: expm1(-s / k * log1p(-q)) ** (-1.0 / s),
        **VALID,
        mean=lambda k, s: _mielke_moment(1.0, k, s),
        var=lambda k, s: _mielke_moment(2.0, k, s) - square(_mielke_moment(1.0, k, s)),
        entropy=_mielke_entropy,
        tail=lambda k, s: s,
        raw_moment=_mielke_moment,
    ),
}
