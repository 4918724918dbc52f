"""Formulas of less common distributions of real numbers, and of those around Cauchy's."""

from __future__ import annotations

import math
from typing import Any

from jittape.scipy.special.terms import absolute, atan2, cos, exp, log, sin, special, sqrt, square, tan, where
from jittape.scipy.stats.formula_terms import (
    LOG_2,
    LOG_ROOT_TWO_PI,
    all_positive,
    expm1,
    law,
    log1p,
    log_gamma,
    log_normal,
    safe,
)
from jittape.scipy.stats.formulas import EULER, INF, NAN, Formulas, from_zero
from jittape.scipy.stats.scipy_laws import computed_inverses

__all__ = ["SKEWED"]


def _infinite(*shapes: Any) -> Any:
    return 0.0 * shapes[0] + INF


def _undefined(*shapes: Any) -> Any:
    return 0.0 * shapes[0] + NAN


# ---- laws around Cauchy's --------------------------------------------------------------------------------------------


def _foldcauchy_quantile(sine: Any, cosine: Any, c: Any) -> Any:
    root = sqrt(square(cosine) + square(sine) * (1.0 + square(c)))
    left = cosine > 0  # two forms of one number, each without cancellation
    below = sine * (1.0 + square(c)) / (safe(left, cosine, 1.0) + root)
    return where(left, below, (root - cosine) / sine)


def _skewed_side(y: Any, a: Any) -> Any:
    return 1.0 + where(y > 0, a, -a)


def _skewcauchy_cdf(y: Any, a: Any) -> Any:
    side = _skewed_side(y, a)
    low, high = side * atan2(side, -y) / math.pi, side * atan2(side, y) / math.pi
    return where(y > 0, 1.0 - high, low)


def _skewcauchy_ppf(q: Any, a: Any) -> Any:
    lower = 0.5 * (1.0 - a)
    side = _skewed_side(q - lower, a)
    return side * tan(math.pi * (q - lower) / side)


def _wrapcauchy_half(angle: Any, ratio: Any) -> Any:
    """Return the probability between 0 and an angle that is at most pi."""
    return atan2(ratio * sin(0.5 * angle), cos(0.5 * angle)) / math.pi


def _wrapcauchy_cdf(y: Any, c: Any) -> Any:
    first = y < math.pi
    half = _wrapcauchy_half(where(first, y, 2 * math.pi - y), (1.0 + c) / (1.0 - c))
    return where(first, half, 1.0 - half)


def _wrapcauchy_ppf(q: Any, c: Any) -> Any:
    first = q < 0.5
    angle = math.pi * where(first, q, 1.0 - q)
    half = 2.0 * atan2((1.0 - c) / (1.0 + c) * sin(angle), cos(angle))
    return where(first, half, 2 * math.pi - half)


# ---- laws of real numbers --------------------------------------------------------------------------------------------


def _crystal_terms(beta: Any, m: Any) -> tuple[Any, Any]:
    """Return the weights of the power and of the whole law, in units of the normal part's height."""
    power = m / beta / (m - 1.0) * exp(-0.5 * square(beta))
    return power, power + math.sqrt(2 * math.pi) * special("ndtr", beta)


def _crystal_distance(y: Any, beta: Any, m: Any) -> tuple[Any, Any]:
    """Return whether y is in the power's part, and the logarithm of its distance from the pole over m / beta."""
    tail = y < -beta
    return tail, log1p(beta / m * safe(tail, -beta - y, 0.0))


def _crystal_log_density(y: Any, beta: Any, m: Any) -> Any:
    tail, distance = _crystal_distance(y, beta, m)
    shape = where(tail, -0.5 * square(beta) - m * distance, -0.5 * square(where(tail, 0.0, y)))
    return shape - log(_crystal_terms(beta, m)[1])


def _crystal_cdf(y: Any, beta: Any, m: Any) -> Any:
    tail, distance = _crystal_distance(y, beta, m)
    power, whole = _crystal_terms(beta, m)
    normal = special("ndtr", where(tail, 0.0, y)) - special("ndtr", -beta)
    return where(tail, power * exp((1.0 - m) * distance), power + math.sqrt(2 * math.pi) * normal) / whole


def _crystal_sf(y: Any, beta: Any, m: Any) -> Any:
    tail, _ = _crystal_distance(y, beta, m)
    upper = math.sqrt(2 * math.pi) * special("ndtr", -where(tail, 0.0, y)) / _crystal_terms(beta, m)[1]
    return where(tail, 1.0 - _crystal_cdf(y, beta, m), upper)


def _crystal_isf(q: Any, beta: Any, m: Any) -> Any:
    power, whole = _crystal_terms(beta, m)
    tail = (1.0 - q) * whole < power
    upper = -special("ndtri", where(tail, 0.5, q * whole / math.sqrt(2 * math.pi)))
    return where(tail, _crystal_ppf(where(tail, 1.0 - q, 0.5), beta, m), upper)


def _crystal_ppf(q: Any, beta: Any, m: Any) -> Any:
    power, whole = _crystal_terms(beta, m)
    tail = q * whole < power
    share = safe(tail, q * whole / power, 1.0)
    low = -beta - m / beta * expm1(log(share) / (1.0 - m))
    inside = special("ndtr", -beta) + (q * whole - power) / math.sqrt(2 * math.pi)
    return where(tail, low, special("ndtri", where(tail, 0.5, inside)))


def _jf_share(y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return ``(1 + y / r) / 2`` with ``r = sqrt(a + b + y**2)``, and its complement, each without cancellation."""
    total = a + b
    root = sqrt(total + square(y))
    small = 0.5 * total / (root * (root + absolute(y)))
    return where(y > 0, 1.0 - small, small), where(y > 0, small, 1.0 - small)


def _jf_log_density(y: Any, a: Any, b: Any) -> Any:
    share, other = _jf_share(y, a, b)
    return (
        (a + 0.5) * log(share)
        + (b + 0.5) * log(other)
        + 2.0 * LOG_2
        - special("betaln", a, b)
        - 0.5 * log(a + b)
    )


def _jf_quantile(a: Any, b: Any, share: Any, other: Any) -> Any:
    return 0.5 * (share - other) * sqrt(a + b) / sqrt(share * other)


def _pearson_terms(skew: Any) -> tuple[Any, Any, Any]:
    """Return whether the law is normal, as in SciPy, a shape parameter that is not, and its ``2 / skew``."""
    normal = absolute(skew) < 0.000016
    used = where(normal, 1.0, skew)
    return normal, used, 2.0 / used


def _pearson_log_density(y: Any, skew: Any) -> Any:
    normal, _, beta = _pearson_terms(skew)
    alpha = square(beta)
    x = beta * (where(normal, 0.0, y) + beta)
    inside = x > 0
    x = safe(inside, x, 1.0)
    gamma = log(absolute(beta)) + special("xlogy", alpha - 1.0, x) - x - log_gamma(alpha)
    return where(normal, log_normal(y), where(inside, gamma, -INF))


def _pearson_entropy(skew: Any) -> Any:
    normal, _, beta = _pearson_terms(skew)
    alpha = square(beta)
    gamma = alpha + log_gamma(alpha) + (1.0 - alpha) * special("psi", alpha) - log(absolute(beta))
    return where(normal, LOG_ROOT_TWO_PI + 0.5, gamma)


def _pearson_function(upper: bool) -> Any:
    def function(y: Any, skew: Any) -> Any:
        normal, used, beta = _pearson_terms(skew)
        x = beta * (where(normal, 0.0, y) + beta)
        x = where(x > 0, x, 0.0)
        low, high = special("gammainc", square(beta), x), special("gammaincc", square(beta), x)
        gamma = where(used > 0, high, low) if upper else where(used > 0, low, high)
        return where(normal, special("ndtr", -y if upper else y), gamma)

    return function


def _pearson_quantile(upper: bool) -> Any:
    def function(q: Any, skew: Any) -> Any:
        normal, used, beta = _pearson_terms(skew)
        inverse = where(used > 0, 0.0, 1.0)
        low, high = special("gammaincinv", square(beta), q), special("gammainccinv", square(beta), q)
        mirrored = 1.0 - inverse if upper else inverse
        gamma = where(mirrored > 0.5, high, low) / beta - beta
        z = special("ndtri", q)
        return where(normal, -z if upper else z, gamma)

    return function


def _levy_l_log_density(y: Any) -> Any:
    size = -where(y < 0, y, -1.0)
    return where(y < 0, -0.5 / size - 1.5 * log(size) - LOG_ROOT_TWO_PI, -INF)


def _tukey_support(lam: Any) -> tuple[Any, Any]:
    bounded = lam > 0
    end = where(bounded, 1.0 / safe(bounded, lam, 1.0), INF)
    return -end, end


def _tukey_density(y: Any, lam: Any) -> Any:
    p, other = special("tklmbda", y, lam), special("tklmbda", -y, lam)
    return -log(p ** (lam - 1.0) + other ** (lam - 1.0))


def _norminvgauss_log_density(y: Any, a: Any, b: Any) -> Any:
    root = sqrt(1.0 + square(y))
    scaled = log(special("k1e", a * root)) - a * root
    return log(a / math.pi) + scaled - log(root) + b * y + sqrt((a - b) * (a + b))


SKEWED: dict[str, Formulas] = {
    "crystalball": law(
        "normal distribution with a tail like a power below ``-beta``",
        "beta m",
        log_density=_crystal_log_density,
        cdf=_crystal_cdf,
        sf=_crystal_sf,
        ppf=_crystal_ppf,
        isf=_crystal_isf,
        conditions=lambda beta, m: (beta > 0, m > 1),
        kink=lambda beta, m: -beta,
        tail=lambda beta, m: m - 1.0,
    ),
    "foldcauchy": law(
        "folded Cauchy distribution",
        "c",
        log_density=lambda y, c: (
            log(1.0 / (1.0 + square(y - c)) + 1.0 / (1.0 + square(y + c))) - math.log(math.pi)
        ),
        cdf=lambda y, c: (atan2(y - c, 1.0 + 0.0 * y) + atan2(y + c, 1.0 + 0.0 * y)) / math.pi,
        sf=lambda y, c: (atan2(1.0 + 0.0 * y, y - c) + atan2(1.0 + 0.0 * y, y + c)) / math.pi,
        ppf=lambda q, c: _foldcauchy_quantile(sin(math.pi * q), cos(math.pi * q), c),
        isf=lambda q, c: _foldcauchy_quantile(sin(math.pi * q), -cos(math.pi * q), c),
        mean=_infinite,
        var=_infinite,
        tail=lambda c: 0.0 * c + 1.0,
        support=from_zero,
        conditions=lambda c: (absolute(c).is_equal(c),),
    ),
    "jf_skew_t": law(
        "skew t distribution of Jones and Faddy",
        "a b",
        log_density=_jf_log_density,
        cdf=lambda y, a, b: special("betainc", a, b, _jf_share(y, a, b)[0]),
        sf=lambda y, a, b: special("betainc", b, a, _jf_share(y, a, b)[1]),
        ppf=lambda q, a, b: _jf_quantile(
            a, b, special("betaincinv", a, b, q), special("betainccinv", b, a, q)
        ),
        isf=lambda q, a, b: _jf_quantile(
            a, b, special("betainccinv", a, b, q), special("betaincinv", b, a, q)
        ),
        tail=lambda a, b: 2.0 * where(a > b, b, a),
        conditions=all_positive,
    ),
    "levy_l": law(
        "left-skewed Lévy distribution",
        log_density=_levy_l_log_density,
        cdf=lambda y: special("erf", sqrt(-0.5 / y)),
        sf=lambda y: special("erfc", sqrt(-0.5 / y)),
        ppf=lambda q: -0.5 / square(special("erfinv", q)),
        isf=lambda q: -0.5 / square(special("erfcinv", q)),
        mean=lambda: INF,
        var=lambda: INF,
        entropy=lambda: 0.5 * (1 + 3 * EULER + math.log(16 * math.pi)),
        support=lambda: (-INF, 0.0),
        tail=lambda: 0.5,
    ),
    "norminvgauss": law(
        "normal inverse Gaussian distribution",
        "a b",
        log_density=_norminvgauss_log_density,
        **computed_inverses(
            "norminvgauss", "a b", lambda *operands: [exp(_norminvgauss_log_density(*operands))], ""
        ),
        mean=lambda a, b: b / sqrt((a - b) * (a + b)),
        var=lambda a, b: square(a) / ((a - b) * (a + b)) ** 1.5,
        skewness=lambda a, b: 3.0 * b / (a * ((a - b) * (a + b)) ** 0.25),
        kurtosis=lambda a, b: 3.0 * (1.0 + 4.0 * square(b / a)) / sqrt((a - b) * (a + b)),
        conditions=lambda a, b: (a > 0, absolute(b) < a),
    ),
    "pearson3": law(
        "Pearson distribution of type III",
        "skew",
        log_density=_pearson_log_density,
        cdf=_pearson_function(upper=False),
        sf=_pearson_function(upper=True),
        ppf=_pearson_quantile(upper=False),
        isf=_pearson_quantile(upper=True),
        mean=lambda skew: 0.0 * skew,
        var=lambda skew: 0.0 * skew + 1.0,
        skewness=lambda skew: skew,
        kurtosis=lambda skew: 1.5 * square(skew),
        entropy=_pearson_entropy,
    ),
    "skewcauchy": law(
        "skewed Cauchy distribution",
        "a",
        log_density=lambda y, a: -log1p(square(y / _skewed_side(y, a))) - math.log(math.pi),
        cdf=_skewcauchy_cdf,
        sf=lambda y, a: _skewcauchy_cdf(-y, -a),
        ppf=_skewcauchy_ppf,
        isf=lambda q, a: -_skewcauchy_ppf(q, -a),
        mean=_undefined,
        var=_undefined,
        entropy=lambda a: 0.0 * a + math.log(4 * math.pi),
        kink=lambda a: 0.0 * a,
        tail=lambda a: 0.0 * a + 1.0,
        conditions=lambda a: (absolute(a) < 1,),
    ),
    "tukeylambda": law(
        "Tukey's lambda distribution",
        "lam",
        log_density=_tukey_density,
        cdf=lambda y, lam: special("tklmbda", y, lam),
        sf=lambda y, lam: special("tklmbda", -y, lam),
        ppf=lambda q, lam: special("boxcox", q, lam) - special("boxcox", 1.0 - q, lam),
        isf=lambda q, lam: special("boxcox", 1.0 - q, lam) - special("boxcox", q, lam),
        support=_tukey_support,
    ),
    "wrapcauchy": law(
        "wrapped Cauchy distribution",
        "c",
        log_density=lambda y, c: (
            log((1.0 - c) * (1.0 + c))
            - math.log(2 * math.pi)
            - log(square(1.0 - c) + 4.0 * c * square(sin(0.5 * y)))
        ),
        cdf=_wrapcauchy_cdf,
        sf=lambda y, c: _wrapcauchy_cdf(2 * math.pi - y, c),
        ppf=_wrapcauchy_ppf,
        isf=lambda q, c: _wrapcauchy_ppf(1.0 - q, c),
        entropy=lambda c: math.log(2 * math.pi) + log((1.0 - c) * (1.0 + c)),
        support=lambda c: (0.0, 2 * math.pi),
        conditions=lambda c: (c > 0, c < 1),
    ),
}
