"""Formulas of continuous distributions, those of the documentation of `scipy.stats`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, polyval, square, subtract
from jittape.primitives.elementwise.bits import is_inf
from jittape.primitives.elementwise.comparison import equal, greater, less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.error_functions import erf, erfc, log_ndtr, ndtr, ndtri
from jittape.primitives.elementwise.exponential import exp, expm1, log, log1p, sqrt
from jittape.primitives.elementwise.gamma_beta import betaln
from jittape.primitives.elementwise.hyperbolic import logaddexp_op
from jittape.primitives.elementwise.incomplete_beta import betainc
from jittape.primitives.elementwise.incomplete_gamma import igamma, igammac
from jittape.primitives.elementwise.piecewise import absolute, maximum
from jittape.primitives.elementwise.special import digamma, lgamma, xlog1py, xlogy
from jittape.scipy.special.scipy_steps import call_step
from jittape.scipy.special.ufunc_bodies import BODIES
from jittape.scipy.stats.bounded_formulas import BOUNDED
from jittape.scipy.stats.computed_formulas import COMPUTED, t_moment
from jittape.scipy.stats.elementary_formulas import ELEMENTARY
from jittape.scipy.stats.formula_terms import of_handles
from jittape.scipy.stats.formulas import INF, NAN, Formulas, from_zero, half, positive, unit
from jittape.scipy.stats.interval_formulas import INTERVALS
from jittape.scipy.stats.lifetime_formulas import LIFETIMES
from jittape.scipy.stats.line_formulas import LINE
from jittape.scipy.stats.skewed_formulas import SKEWED
from jittape.scipy.stats.tail_formulas import TAILS

__all__ = ["CONTINUOUS"]

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)

# ---- the normal family -----------------------------------------------------------------------------------------------


def _log_normal_density(y: Any) -> Any:
    return subtract(multiply(-0.5, square(y)), LOG_ROOT_TWO_PI)


def _lognorm_entropy(s: Any) -> Any:
    return add(0.5 + LOG_ROOT_TWO_PI, log(s))


def _lognorm_skewness(s: Any) -> Any:
    excess = expm1(square(s))
    return multiply(add(excess, 3.0), sqrt(excess))


def _lognorm_kurtosis(s: Any) -> Any:
    return polyval([1.0, 6.0, 15.0, 16.0, 0.0], expm1(square(s)))


def _log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the normal probability between `a` and `b`, in the tail that makes it accurate.

    In a narrow interval, where that is a difference of almost equal numbers, it is the density in the middle times the
    length and a series in the square of half the length.
    """
    mirrored = greater(a, 0)
    low, high = where(mirrored, negative(b), a), where(mirrored, negative(a), b)
    middle, length = half(add(low, high)), subtract(high, low)
    narrow = less(multiply(length, maximum(1.0, absolute(middle))), 0.3)
    wide_low, wide_high = where(narrow, -1.0, low), where(narrow, 1.0, high)
    top = log_ndtr(wide_high)
    wide = add(top, log1p(negative(exp(subtract(log_ndtr(wide_low), top)))))
    middle, length = where(narrow, middle, 0.0), where(narrow, length, 0.1)
    m, h = square(middle), square(half(length))
    terms = [polyval(hermite, m) for hermite in _HERMITE]
    series = terms[-1]
    for term in reversed(terms[:-1]):
        series = add(term, multiply(h, series))
    return where(narrow, add(add(_log_normal_density(middle), log(length)), log1p(multiply(h, series))), wide)


_HERMITE = [
    [c / math.factorial(2 * k + 1) for c in coefficients]
    for k, coefficients in enumerate(
        ([1.0, -1.0], [1.0, -6.0, 3.0], [1.0, -15.0, 45.0, -15.0], [1.0, -28.0, 210.0, -420.0, 105.0]), 1
    )
]
"""Hermite polynomials of even degree in the square of their argument, divided by factorials."""


def _logaddexp(x: Any, y: Any) -> Any:
    return apply(logaddexp_op, (x, y))


def _truncnorm_ppf(q: Any, a: Any, b: Any) -> Any:
    mass = _log_mass(a, b)
    right = _logaddexp(log_ndtr(negative(b)), add(log1p(negative(q)), mass))
    left = _logaddexp(log_ndtr(a), add(log(q), mass))
    return where(greater(a, 0), negative(call_step("ndtri_exp", right)), call_step("ndtri_exp", left))


def _truncnorm_edges(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Return the density at both bounds, and its products with them; both vanish at infinite bounds."""
    mass = _log_mass(a, b)
    densities, products = [], []
    for bound in (a, b):
        infinite = is_inf(bound)
        bound = where(infinite, 0.0, bound)
        density = where(infinite, 0.0, exp(subtract(_log_normal_density(bound), mass)))
        densities.append(density)
        products.append(multiply(bound, density))
    return densities[0], densities[1], products[0], products[1]


def _truncnorm_mean(a: Any, b: Any) -> Any:
    left, right, _, _ = _truncnorm_edges(a, b)
    return subtract(left, right)


def _truncnorm_var(a: Any, b: Any) -> Any:
    left, right, first, second = _truncnorm_edges(a, b)
    return subtract(add(1.0, subtract(first, second)), square(subtract(left, right)))


def _truncnorm_entropy(a: Any, b: Any) -> Any:
    _, _, first, second = _truncnorm_edges(a, b)
    return add(add(0.5 + LOG_ROOT_TWO_PI, _log_mass(a, b)), half(subtract(first, second)))


NORMAL = {
    "norm": Formulas(
        "normal distribution",
        (),
        log_density=_log_normal_density,
        cdf=ndtr,
        sf=lambda y: ndtr(negative(y)),
        logcdf=log_ndtr,
        logsf=lambda y: log_ndtr(negative(y)),
        ppf=ndtri,
        isf=lambda q: negative(ndtri(q)),
        mean=lambda: 0.0,
        var=lambda: 1.0,
        entropy=lambda: 0.5 + LOG_ROOT_TWO_PI,
        skewness=lambda: 0.0,
        kurtosis=lambda: 0.0,
    ),
    "halfnorm": Formulas(
        "half-normal distribution",
        (),
        log_density=lambda y: add(_log_normal_density(y), math.log(2)),
        cdf=lambda y: erf(multiply(math.sqrt(0.5), y)),
        sf=lambda y: erfc(multiply(math.sqrt(0.5), y)),
        ppf=lambda q: ndtri(add(0.5, half(q))),
        isf=lambda q: negative(ndtri(half(q))),
        support=from_zero,
        mean=lambda: math.sqrt(2 / math.pi),
        var=lambda: 1 - 2 / math.pi,
        entropy=lambda: 0.5 * math.log(math.pi / 2) + 0.5,
    ),
    "lognorm": Formulas(
        "log-normal distribution",
        ("s",),
        log_density=lambda y, s: subtract(_log_normal_density(divide(log(y), s)), add(log(s), log(y))),
        cdf=lambda y, s: ndtr(divide(log(y), s)),
        sf=lambda y, s: ndtr(negative(divide(log(y), s))),
        logcdf=lambda y, s: log_ndtr(divide(log(y), s)),
        logsf=lambda y, s: log_ndtr(negative(divide(log(y), s))),
        ppf=lambda q, s: exp(multiply(s, ndtri(q))),
        isf=lambda q, s: exp(multiply(negative(s), ndtri(q))),
        support=from_zero,
        open=True,
        conditions=positive,
        mean=lambda s: exp(half(square(s))),
        var=lambda s: multiply(expm1(square(s)), exp(square(s))),
        entropy=_lognorm_entropy,
        skewness=_lognorm_skewness,
        kurtosis=_lognorm_kurtosis,
    ),
    "truncnorm": Formulas(
        "normal distribution truncated to the interval from `a` to `b`",
        ("a", "b"),
        log_density=lambda y, a, b: subtract(_log_normal_density(y), _log_mass(a, b)),
        cdf=lambda y, a, b: exp(subtract(_log_mass(a, y), _log_mass(a, b))),
        sf=lambda y, a, b: exp(subtract(_log_mass(y, b), _log_mass(a, b))),
        logcdf=lambda y, a, b: subtract(_log_mass(a, y), _log_mass(a, b)),
        logsf=lambda y, a, b: subtract(_log_mass(y, b), _log_mass(a, b)),
        ppf=_truncnorm_ppf,
        isf=lambda q, a, b: negative(_truncnorm_ppf(q, negative(b), negative(a))),
        support=lambda a, b: (a, b),
        conditions=lambda a, b: (less(a, b),),
        mean=_truncnorm_mean,
        var=_truncnorm_var,
        entropy=_truncnorm_entropy,
    ),
}


# ---- the gamma and beta families -------------------------------------------------------------------------------------


def _log_gamma_density(y: Any, a: Any) -> Any:
    return subtract(subtract(xlogy(subtract(a, 1.0), y), y), lgamma(a))


def _gamma_entropy(a: Any) -> Any:
    large = greater(a, 1e3)  # where the terms of the formula cancel, a series has all digits
    near = where(large, 1.0, a)
    closed = add(add(near, lgamma(near)), multiply(subtract(1.0, near), digamma(near)))
    far = where(large, a, 1e3)
    z = reciprocal(far)
    rest = multiply(z, add(1 / 3, multiply(z, add(1 / 12, multiply(1 / 90, z)))))
    return where(large, subtract(add(0.5 + LOG_ROOT_TWO_PI, half(log(far))), rest), closed)


def _beta_log_density(y: Any, a: Any, b: Any) -> Any:
    powers = add(xlogy(subtract(a, 1.0), y), xlog1py(subtract(b, 1.0), negative(y)))
    return subtract(powers, betaln(a, b))


def _beta_var(a: Any, b: Any) -> Any:
    n = add(a, b)
    return divide(multiply(a, b), multiply(square(n), add(n, 1.0)))


def _beta_skewness(a: Any, b: Any) -> Any:
    n = add(a, b)
    ratio = divide(sqrt(add(n, 1.0)), multiply(add(n, 2.0), sqrt(multiply(a, b))))
    return multiply(multiply(2.0, subtract(b, a)), ratio)


def _beta_kurtosis(a: Any, b: Any) -> Any:
    n, product = add(a, b), multiply(a, b)
    spread = subtract(multiply(square(subtract(a, b)), add(n, 1.0)), multiply(product, add(n, 2.0)))
    return divide(multiply(6.0, spread), multiply(product, multiply(add(n, 2.0), add(n, 3.0))))


def _beta_moment(order: int, a: Any, b: Any) -> Any:
    return exp(subtract(betaln(add(a, order), b), betaln(a, b)))


def _beta_entropy(a: Any, b: Any) -> Any:
    n = add(a, b)
    own = add(multiply(subtract(a, 1.0), digamma(a)), multiply(subtract(b, 1.0), digamma(b)))
    return add(subtract(betaln(a, b), own), multiply(subtract(n, 2.0), digamma(n)))


def _t_log_density(y: Any, df: Any) -> Any:
    normal = equal(df, INF)
    df = where(normal, 1.0, df)
    constant = add(betaln(half(df), 0.5), half(log(df)))
    student = subtract(multiply(half(add(df, 1.0)), negative(log1p(divide(square(y), df)))), constant)
    return where(normal, _log_normal_density(y), student)


def _t_var(df: Any) -> Any:
    finite = where(equal(df, INF), 1.0, divide(df, subtract(df, 2.0)))
    return where(greater(df, 2), finite, where(greater(df, 1), INF, NAN))


def _t_kurtosis(df: Any) -> Any:
    finite = where(greater(df, 4), divide(6.0, subtract(df, 4.0)), INF)
    return where(greater(df, 2), finite, NAN)


def _t_entropy(df: Any) -> Any:
    normal = equal(df, INF)
    df = where(normal, 1.0, df)
    larger = half(add(df, 1.0))
    slope = multiply(larger, subtract(digamma(larger), digamma(half(df))))
    student = add(slope, add(half(log(df)), betaln(half(df), 0.5)))
    return where(normal, 0.5 + LOG_ROOT_TWO_PI, student)


def _chi2_entropy(df: Any) -> Any:
    return add(_gamma_entropy(half(df)), math.log(2))


def _beyond(limit: float, value: Any, parameter: Any, otherwise: float = INF) -> Any:
    """Return a moment that exists where `parameter` is greater than `limit`."""
    return where(greater(parameter, limit), value, otherwise)


def _invgamma_var(a: Any) -> Any:
    return _beyond(2.0, reciprocal(multiply(square(subtract(a, 1.0)), subtract(a, 2.0))), a)


def _invgamma_log_density(y: Any, a: Any) -> Any:
    return negative(add(add(multiply(add(a, 1.0), log(y)), lgamma(a)), reciprocal(y)))


GAMMA_AND_BETA = {
    "gamma": Formulas(
        "gamma distribution",
        ("a",),
        log_density=_log_gamma_density,
        cdf=lambda y, a: igamma(a, y),
        sf=lambda y, a: igammac(a, y),
        ppf=lambda q, a: call_step("gammaincinv", a, q),
        isf=lambda q, a: call_step("gammainccinv", a, q),
        support=from_zero,
        conditions=positive,
        mean=lambda a: a,
        var=lambda a: a,
        entropy=_gamma_entropy,
        skewness=lambda a: divide(2.0, sqrt(a)),
        kurtosis=lambda a: divide(6.0, a),
    ),
    "chi2": Formulas(
        "chi-squared distribution",
        ("df",),
        log_density=lambda y, df: subtract(_log_gamma_density(half(y), half(df)), math.log(2)),
        cdf=lambda y, df: igamma(half(df), half(y)),
        sf=lambda y, df: igammac(half(df), half(y)),
        ppf=lambda q, df: multiply(2.0, call_step("gammaincinv", half(df), q)),
        isf=lambda q, df: multiply(2.0, call_step("gammainccinv", half(df), q)),
        support=from_zero,
        conditions=positive,
        mean=lambda df: df,
        var=lambda df: multiply(2.0, df),
        entropy=_chi2_entropy,
        skewness=lambda df: sqrt(divide(8.0, df)),
        kurtosis=lambda df: divide(12.0, df),
    ),
    "invgamma": Formulas(
        "inverse gamma distribution",
        ("a",),
        log_density=_invgamma_log_density,
        cdf=lambda y, a: igammac(a, reciprocal(y)),
        sf=lambda y, a: igamma(a, reciprocal(y)),
        ppf=lambda q, a: reciprocal(call_step("gammainccinv", a, q)),
        isf=lambda q, a: reciprocal(call_step("gammaincinv", a, q)),
        support=from_zero,
        open=True,
        conditions=positive,
        mean=lambda a: _beyond(1.0, reciprocal(subtract(a, 1.0)), a),
        var=_invgamma_var,
        entropy=lambda a: add(subtract(a, multiply(add(a, 1.0), digamma(a))), lgamma(a)),
        tail=lambda a: a,
        raw_moment=lambda order, a: _beyond(order, exp(subtract(lgamma(subtract(a, order)), lgamma(a))), a),
    ),
    "beta": Formulas(
        "beta distribution",
        ("a", "b"),
        log_density=_beta_log_density,
        cdf=lambda y, a, b: betainc(a, b, y),
        sf=lambda y, a, b: BODIES["betaincc"](a, b, y),
        ppf=lambda q, a, b: call_step("betaincinv", a, b, q),
        isf=lambda q, a, b: call_step("betainccinv", a, b, q),
        support=unit,
        conditions=positive,
        mean=lambda a, b: divide(a, add(a, b)),
        var=_beta_var,
        entropy=_beta_entropy,
        skewness=_beta_skewness,
        kurtosis=_beta_kurtosis,
        raw_moment=_beta_moment,
    ),
    "t": Formulas(
        "Student's t distribution",
        ("df",),
        log_density=_t_log_density,
        cdf=lambda y, df: BODIES["stdtr"](df, y),
        sf=lambda y, df: BODIES["stdtr"](df, negative(y)),
        ppf=lambda q, df: BODIES["stdtrit"](df, q),
        isf=lambda q, df: negative(BODIES["stdtrit"](df, q)),
        conditions=positive,
        mean=lambda df: where(greater(df, 1), 0.0, INF),
        var=_t_var,
        entropy=_t_entropy,
        tail=lambda df: df,
        skewness=lambda df: where(greater(df, 3), 0.0, NAN),
        kurtosis=_t_kurtosis,
        raw_moment=of_handles(t_moment),
    ),
}


CONTINUOUS: dict[str, Formulas] = {
    **NORMAL,
    **GAMMA_AND_BETA,
    **ELEMENTARY,
    **LIFETIMES,
    **INTERVALS,
    **LINE,
    **TAILS,
    **COMPUTED,
    **BOUNDED,
    **SKEWED,
    "erlang": replace(GAMMA_AND_BETA["gamma"], summary="Erlang distribution, the gamma one of integer shape"),
    "reciprocal": replace(INTERVALS["loguniform"], summary="reciprocal or log-uniform distribution"),
    "vonmises_line": replace(
        COMPUTED["vonmises"],
        summary="von Mises distribution on the interval from -pi to pi",
        support=lambda kappa: (-math.pi, math.pi),
    ),
}
"""Formulas of each continuous distribution by SciPy's name."""
