"""Formulas of distributions of integers, those of the documentation of `scipy.stats`."""

from __future__ import annotations

from typing import Any

from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.comparison import equal, greater, greater_equal, less_equal
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp, expm1, log, log1p
from jittape.primitives.elementwise.gamma_beta import betaln
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.elementwise.incomplete_beta import betainc
from jittape.primitives.elementwise.incomplete_gamma import igamma, igammac
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.elementwise.special import lgamma, xlog1py, xlogy, zeta
from jittape.primitives.record_parts import filled
from jittape.scipy.special import terms
from jittape.scipy.special.ufunc_bodies import BODIES
from jittape.scipy.stats import formula_terms
from jittape.scipy.stats.formula_terms import law
from jittape.scipy.stats.formulas import INF, NAN, Formulas
from jittape.scipy.stats.scipy_laws import computed_functions

__all__ = ["DISCRETE"]


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


COUNTS: dict[str, Formulas] = {
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


# ---- further distributions, written with terms -----------------------------------------------------------------------


_tanh = terms.lifted(tanh)
_zeta = terms.lifted(lambda x: zeta(x, filled(x, 1.0)))


def _log_beta(a: Any, b: Any) -> Any:
    return terms.special("betaln", a, b)


def _log_chosen(n: Any, k: Any) -> Any:
    """Return the logarithm of the number of ways to choose `k` of `n`."""
    return -_log_beta(n - k + 1.0, k + 1.0) - formula_terms.log1p(n)


def _below(a: Any, b: Any) -> Any:
    """Return the smaller one."""
    return -terms.maximum(-a, -b)


def _is_count(n: Any) -> Any:
    return (terms.maximum(-n, 0.0).is_equal(0.0), (n - terms.floor(n)).is_equal(0.0))


def _dlaplace_cdf(k: Any, a: Any) -> Any:
    upper = k > -0.5
    tail = terms.exp(a * terms.where(upper, -k, k + 1.0)) / (terms.exp(a) + 1.0)
    return terms.where(upper, 1.0 - tail, tail)


def _log_hypergeometric(k: Any, total: Any, good: Any, drawn: Any) -> Any:
    bad = total - good
    chosen = _log_chosen(good, k) + _log_chosen(bad, drawn - k)
    return chosen - _log_chosen(total, drawn)


def _hypergeometric_var(total: Any, good: Any, drawn: Any) -> Any:
    share = good / total
    return drawn * share * (1.0 - share) * (total - drawn) / (total - 1.0)


def _counted(name: str, shapes: str) -> dict[str, Any]:
    """Return distribution functions that SciPy computes; they have no derivative in the shape parameters."""
    return computed_functions(name, shapes, lambda k, *parameters: [0.0 * k], "")


def _logser_partials(k: Any, p: Any) -> list[Any]:
    below = _LOGSER["cdf"](k, p)
    return [0.0 * k, (below + p**k - 1.0) / ((1.0 - p) * formula_terms.log1p(-p))]


_LOGSER = computed_functions("logser", "p", _logser_partials, "p")


def _betanbinom_var(n: Any, a: Any, b: Any) -> Any:
    value = n * b * (n + a - 1.0) * (b + a - 1.0) / ((a - 2.0) * (a - 1.0) ** 2)
    return formula_terms.above(2.0, a, value)


def _boltzmann_mean(rate: Any, n: Any) -> Any:
    return 1.0 / formula_terms.expm1(rate) - n / formula_terms.expm1(rate * n)


def _boltzmann_var(rate: Any, n: Any) -> Any:
    return 0.25 / terms.sinh(0.5 * rate) ** 2 - 0.25 * (n / terms.sinh(0.5 * rate * n)) ** 2


def _yulesimon_skewness(alpha: Any) -> Any:
    value = (alpha - 2.0) ** 0.5 * (alpha + 1.0) ** 2 / (alpha * (alpha - 3.0))
    return formula_terms.above(3.0, alpha, value, NAN)


def _yulesimon_kurtosis(alpha: Any) -> Any:
    rest = (11.0 * alpha**3 - 49.0 * alpha - 22.0) / ((alpha - 4.0) * (alpha - 3.0) * alpha)
    return formula_terms.above(4.0, alpha, alpha + 3.0 + rest, NAN)


def _zipf_var(a: Any) -> Any:
    return formula_terms.above(3.0, a, _zeta(a - 2.0) / _zeta(a) - (_zeta(a - 1.0) / _zeta(a)) ** 2)


def _logser_mean(p: Any) -> Any:
    return p / (p - 1.0) / formula_terms.log1p(-p)


def _skellam_log(k: Any, mu1: Any, mu2: Any) -> Any:
    k, roots = terms.floor(k), terms.sqrt(mu1) * terms.sqrt(mu2)
    bessel = terms.special("ive", terms.absolute(k), 2.0 * roots)
    return 2.0 * roots - mu1 - mu2 + 0.5 * k * terms.log(mu1 / mu2) + terms.log(bessel)


def _skellam_partials(k: Any, mu1: Any, mu2: Any) -> list[Any]:
    below, above = (terms.exp(_skellam_log(terms.floor(k) + i, mu1, mu2)) for i in (0.0, 1.0))
    return [0.0 * mu1, -below, above]


FURTHER: dict[str, Formulas] = {
    "betabinom": law(
        "beta-binomial distribution",
        "n a b",
        log_density=lambda k, n, a, b: _log_chosen(n, k) + _log_beta(k + a, n - k + b) - _log_beta(a, b),
        support=lambda n, a, b: (0.0, n),
        conditions=lambda n, a, b: (*_is_count(n), a > 0, b > 0),
        discrete=True,
        mean=lambda n, a, b: n * a / (a + b),
        var=lambda n, a, b: n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1.0)),
        **_counted("betabinom", "n a b"),
    ),
    "betanbinom": law(
        "beta-negative-binomial distribution",
        "n a b",
        log_density=lambda k, n, a, b: (
            -terms.log(n + k) - _log_beta(n, k + 1.0) + _log_beta(a + n, b + k) - _log_beta(a, b)
        ),
        support=lambda n, a, b: (0.0, INF),
        conditions=lambda n, a, b: (*_is_count(n), a > 0, b > 0),
        discrete=True,
        **_counted("betanbinom", "n a b"),
        mean=lambda n, a, b: formula_terms.above(1.0, a, n * b / (a - 1.0)),
        var=_betanbinom_var,
        tail=lambda n, a, b: a,
    ),
    "boltzmann": law(
        "Boltzmann distribution, a truncated Planck distribution",
        "lambda_ N",
        log_density=lambda k, rate, n: (
            terms.log(-formula_terms.expm1(-rate)) - terms.log(-formula_terms.expm1(-rate * n)) - rate * k
        ),
        cdf=lambda k, rate, n: formula_terms.expm1(-rate * (k + 1.0)) / formula_terms.expm1(-rate * n),
        sf=lambda k, rate, n: (
            terms.exp(-rate * (k + 1.0))
            * formula_terms.expm1(-rate * (n - k - 1.0))
            / formula_terms.expm1(-rate * n)
        ),
        support=lambda rate, n: (0.0, n - 1.0),
        conditions=lambda rate, n: (rate > 0, n > 0, (n - terms.floor(n)).is_equal(0.0)),
        discrete=True,
        mean=_boltzmann_mean,
        var=_boltzmann_var,
    ),
    "dlaplace": law(
        "discrete Laplace distribution",
        "a",
        log_density=lambda k, a: terms.log(_tanh(0.5 * a)) - a * terms.absolute(k),
        cdf=_dlaplace_cdf,
        sf=lambda k, a: _dlaplace_cdf(-k - 1.0, a),
        conditions=lambda a: (a > 0,),
        discrete=True,
        mean=lambda a: 0.0 * a,
        var=lambda a: 2.0 * terms.exp(a) / formula_terms.expm1(a) ** 2,
        entropy=lambda a: a / terms.sinh(a) - terms.log(_tanh(0.5 * a)),
    ),
    "hypergeom": law(
        "hypergeometric distribution",
        "M n N",
        log_density=_log_hypergeometric,
        support=lambda total, good, drawn: (terms.maximum(drawn - (total - good), 0.0), _below(good, drawn)),
        conditions=lambda total, good, drawn: (
            *_is_count(total),
            *_is_count(good),
            *_is_count(drawn),
            terms.maximum(good, total).is_equal(total),
            terms.maximum(drawn, total).is_equal(total),
        ),
        discrete=True,
        mean=lambda total, good, drawn: drawn * good / total,
        var=_hypergeometric_var,
        **_counted("hypergeom", "M n N"),
    ),
    "logser": law(
        "logarithmic series distribution, from 1",
        "p",
        log_density=lambda k, p: k * terms.log(p) - terms.log(k) - terms.log(-formula_terms.log1p(-p)),
        support=lambda p: (1.0, INF),
        conditions=lambda p: (p > 0, p < 1),
        discrete=True,
        mean=_logser_mean,
        var=lambda p: -p / ((p - 1.0) ** 2 * formula_terms.log1p(-p)) - _logser_mean(p) ** 2,
        **_LOGSER,
    ),
    "planck": law(
        "Planck distribution of integers",
        "lambda_",
        log_density=lambda k, rate: terms.log(-formula_terms.expm1(-rate)) - rate * k,
        cdf=lambda k, rate: -formula_terms.expm1(-rate * (k + 1.0)),
        sf=lambda k, rate: terms.exp(-rate * (k + 1.0)),
        logsf=lambda k, rate: -rate * (k + 1.0),
        support=lambda rate: (0.0, INF),
        conditions=lambda rate: (rate > 0,),
        discrete=True,
        mean=lambda rate: 1.0 / formula_terms.expm1(rate),
        var=lambda rate: terms.exp(-rate) / formula_terms.expm1(-rate) ** 2,
        entropy=lambda rate: rate / formula_terms.expm1(rate) - terms.log(-formula_terms.expm1(-rate)),
    ),
    "randint": law(
        "uniform distribution on the integers from `low` to ``high - 1``",
        "low high",
        log_density=lambda k, low, high: 0.0 * k - terms.log(high - low),
        cdf=lambda k, low, high: (k - low + 1.0) / (high - low),
        sf=lambda k, low, high: (high - 1.0 - k) / (high - low),
        support=lambda low, high: (low, high - 1.0),
        conditions=lambda low, high: (
            high > low,
            (low - terms.floor(low)).is_equal(0.0),
            (high - terms.floor(high)).is_equal(0.0),
        ),
        discrete=True,
        mean=lambda low, high: 0.5 * (high + low - 1.0),
        var=lambda low, high: ((high - low) ** 2 - 1.0) / 12.0,
        entropy=lambda low, high: terms.log(high - low),
    ),
    "skellam": law(
        "distribution of the difference of two Poisson variables",
        "mu1 mu2",
        log_density=_skellam_log,
        **computed_functions("skellam", "mu1 mu2", _skellam_partials, "mu1 mu2"),
        mean=lambda mu1, mu2: mu1 - mu2,
        var=lambda mu1, mu2: mu1 + mu2,
        skewness=lambda mu1, mu2: (mu1 - mu2) / (mu1 + mu2) ** 1.5,
        kurtosis=lambda mu1, mu2: 1.0 / (mu1 + mu2),
        conditions=formula_terms.all_positive,
        discrete=True,
    ),
    "yulesimon": law(
        "Yule-Simon distribution, from 1",
        "alpha",
        log_density=lambda k, alpha: terms.log(alpha) + _log_beta(k, alpha + 1.0),
        cdf=lambda k, alpha: 1.0 - k * terms.exp(_log_beta(k, alpha + 1.0)),
        sf=lambda k, alpha: k * terms.exp(_log_beta(k, alpha + 1.0)),
        logsf=lambda k, alpha: terms.log(k) + _log_beta(k, alpha + 1.0),
        support=lambda alpha: (1.0, INF),
        conditions=lambda alpha: (alpha > 0,),
        discrete=True,
        mean=lambda alpha: formula_terms.above(1.0, alpha, alpha / (alpha - 1.0)),
        var=lambda alpha: formula_terms.above(2.0, alpha, alpha**2 / ((alpha - 2.0) * (alpha - 1.0) ** 2)),
        tail=lambda alpha: alpha,
        skewness=_yulesimon_skewness,
        kurtosis=_yulesimon_kurtosis,
    ),
    "zipf": law(
        "Zipf distribution, from 1",
        "a",
        log_density=lambda k, a: -a * terms.log(k) - terms.log(_zeta(a)),
        support=lambda a: (1.0, INF),
        conditions=lambda a: (a > 1,),
        discrete=True,
        mean=lambda a: formula_terms.above(2.0, a, _zeta(a - 1.0) / _zeta(a)),
        cdf=lambda k, a: 1.0 - formula_terms.hurwitz_zeta(a, k + 1.0) / _zeta(a),
        sf=lambda k, a: formula_terms.hurwitz_zeta(a, k + 1.0) / _zeta(a),
        var=_zipf_var,
        tail=lambda a: a - 1.0,
        raw_moment=lambda order, a: formula_terms.above(order + 1.0, a, _zeta(a - float(order)) / _zeta(a)),
    ),
}

DISCRETE: dict[str, Formulas] = {**COUNTS, **FURTHER}
"""Formulas of each discrete distribution by SciPy's name."""
