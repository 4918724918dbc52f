"""Distributions whose distribution functions have no formula: SciPy computes the values."""

from __future__ import annotations

import math
from typing import Any

from jittape.primitives.elementwise import error_functions
from jittape.primitives.elementwise.piecewise import round as nearest
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import expand_dims
from jittape.scipy.special.terms import (
    Term,
    cos,
    exp,
    lifted,
    log,
    maximum,
    sin,
    special,
    sqrt,
    square,
    where,
)
from jittape.scipy.stats.double_exponential import numbered, unit_rule
from jittape.scipy.stats.formula_terms import LOG_2, above, all_positive, law, log1p, log_gamma, log_normal
from jittape.scipy.stats.formulas import NAN, Formulas, from_zero
from jittape.scipy.stats.scipy_laws import computed_inverses, computed_law

__all__ = ["COMPUTED", "t_moment"]

_column, _ndtr, _nearest = lifted(expand_dims), lifted(error_functions.ndtr), lifted(nearest)


def _integral(values: Term) -> Term:
    return Term(reduce_sum(values.handle, -1))


# ---- laws around the normal one --------------------------------------------------------------------------------------


def _foldnorm_log_density(y: Term, c: Term) -> Term:
    return log_normal(y - c) + log1p(exp(-2.0 * c * y))


def _foldnorm_mean(c: Term) -> Term:
    return math.sqrt(2 / math.pi) * exp(-0.5 * square(c)) + c * special("erf", c / math.sqrt(2))


def _foldnorm_partials(y: Term, c: Term) -> list[Term]:
    near, far = exp(log_normal(y - c)), exp(log_normal(y + c))
    return [near + far, far - near]


def _skewnorm_log_density(y: Term, a: Term) -> Term:
    return LOG_2 + log_normal(y) + special("log_ndtr", a * y)


def _skewnorm_partials(y: Term, a: Term) -> list[Term]:
    steep = 1.0 + square(a)
    return [exp(_skewnorm_log_density(y, a)), exp(-0.5 * square(y) * steep) / (-math.pi * steep)]


# ---- noncentral laws -------------------------------------------------------------------------------------------------


def _ncx2_log_density(y: Term, df: Term, nc: Term) -> Term:
    central = nc.is_equal(0.0)
    safe = where(central, 1.0, nc)
    bessel = log(special("ive", 0.5 * df - 1.0, sqrt(y * safe)))
    noncentral = (0.25 * df - 0.5) * log(y / safe) - 0.5 * square(sqrt(y) - sqrt(safe)) + bessel - LOG_2
    powers = special("xlogy", 0.5 * df - 1.0, 0.5 * y) - 0.5 * y - log_gamma(0.5 * df) - LOG_2
    return where(central, powers, noncentral)


def _ncx2_partials(y: Term, df: Term, nc: Term) -> list[Term]:
    return [exp(_ncx2_log_density(y, df, nc)), df, -exp(_ncx2_log_density(y, df + 2.0, nc))]


def _rice_log_density(y: Term, b: Term) -> Term:
    return log(y) - 0.5 * square(y - b) + log(special("i0e", y * b))


def _rice_partials(y: Term, b: Term) -> list[Term]:
    return [exp(_rice_log_density(y, b)), -y * exp(-0.5 * square(y - b)) * special("i1e", y * b)]


def _rice_mean(b: Term) -> Term:
    x = 0.5 * square(b)
    waves = (1.0 + x) * special("i0e", 0.5 * x) + x * special("i1e", 0.5 * x)
    return math.sqrt(math.pi / 2) * waves


_STEPS, _REACH = 400, 40.0
"""Number of points of the rule for `nct`, and the negative logarithm of the neglected probability."""


def _scale_rule(y: Term, df: Term) -> tuple[Term, Term]:
    """Return logarithms of the scale of a t variable, ``sqrt(chi2 / df)``, and weights that include their density."""
    ratio = _REACH / df
    low = -(sqrt(ratio) + ratio) - 0.5 * log1p(square(y) / df)
    high = 0.5 * log1p(2.0 * sqrt(ratio) + 2.0 * ratio)
    step = (high - low) / (_STEPS - 1.0)
    u, half = _column(low, -1) + _column(step, -1) * numbered(_STEPS), _column(0.5 * df, -1)
    log_density = LOG_2 + half * (log(half) + 2.0 * u - exp(2.0 * u)) - log_gamma(half)
    return u, _column(step, -1) * exp(log_density)


def _nct_log_density(y: Term, df: Term, nc: Term) -> Term:
    u, weights = _scale_rule(y, df)
    return log(_integral(weights * exp(u + log_normal(_column(y, -1) * exp(u) - _column(nc, -1)))))


def _nct_partials(y: Term, df: Term, nc: Term) -> list[Term]:
    u, weights = _scale_rule(y, df)
    distance = _column(y, -1) * exp(u) - _column(nc, -1)
    density = weights * exp(log_normal(distance))
    half = _column(0.5 * df, -1)
    slope = 0.5 * (log(half) + 1.0 - special("psi", half) + 2.0 * u - exp(2.0 * u))
    return [_integral(density * exp(u)), _integral(weights * slope * _ndtr(distance)), -_integral(density)]


def t_moment(order: int, df: Term, nc: Any = 0.0) -> Term:
    """Return the mean of a power of a t variable, that of a normal one times that of a reciprocal scale."""
    lower, powers = 0.0 * df + 1.0, 0.0 * df + nc
    for k in range(1, order):
        lower, powers = powers, nc * powers + float(k) * lower
    log_scale = 0.5 * order * log(0.5 * df) + log_gamma(0.5 * (df - order)) - log_gamma(0.5 * df)
    return above(order, df, exp(log_scale) * powers, NAN)


def _nct_var(df: Term, nc: Term) -> Term:
    return t_moment(2, df, nc) - square(t_moment(1, df, nc))


# ---- laws of angles --------------------------------------------------------------------------------------------------


def _vonmises_log_density(y: Term, kappa: Term) -> Term:
    return -2.0 * kappa * square(sin(0.5 * y)) - math.log(2 * math.pi) - log(special("i0e", kappa))


def _vonmises_partials(y: Term, kappa: Term) -> list[Term]:
    """Integrate the derivative of the density from 0 to the angle between -pi and pi."""
    angle = _column(y - 2 * math.pi * _nearest(y / (2 * math.pi)), -1)
    points, weights = unit_rule()
    column = _column(kappa, -1)
    mean_cosine = special("i1e", column) / special("i0e", column)
    density = exp(_vonmises_log_density(angle * points, column))
    change = (cos(angle * points) - mean_cosine) * density * weights * angle
    return [exp(_vonmises_log_density(y, kappa)), _integral(change)]


def _vonmises_entropy(kappa: Term) -> Term:
    uniform = special("i0e", kappa)
    return math.log(2 * math.pi) + log(uniform) + kappa * (1.0 - special("i1e", kappa) / uniform)


COMPUTED: dict[str, Formulas] = {
    "foldnorm": law(
        "folded normal distribution",
        "c",
        log_density=_foldnorm_log_density,
        cdf=lambda y, c: special("ndtr", y - c) - special("ndtr", -y - c),
        sf=lambda y, c: special("ndtr", c - y) + special("ndtr", -y - c),
        **computed_inverses("foldnorm", "c", _foldnorm_partials, "c"),
        mean=_foldnorm_mean,
        var=lambda c: square(c) + 1.0 - square(_foldnorm_mean(c)),
        conditions=lambda c: (maximum(-c, 0.0).is_equal(0.0),),
        support=from_zero,
    ),
    "nct": law(
        "noncentral t distribution",
        "df nc",
        log_density=_nct_log_density,
        **computed_law("nct", "df nc", _nct_partials, "df nc"),
        mean=lambda df, nc: t_moment(1, df, nc),
        var=_nct_var,
        tail=lambda df, nc: df,
        raw_moment=t_moment,
        conditions=lambda df, nc: (df > 0, nc.is_equal(nc)),
    ),
    "ncx2": law(
        "noncentral chi-squared distribution",
        "df nc",
        log_density=_ncx2_log_density,
        **computed_law("ncx2", "df nc", _ncx2_partials, "nc"),
        mean=lambda df, nc: df + nc,
        var=lambda df, nc: 2.0 * (df + 2.0 * nc),
        skewness=lambda df, nc: math.sqrt(8) * (df + 3.0 * nc) / (df + 2.0 * nc) ** 1.5,
        kurtosis=lambda df, nc: 12.0 * (df + 4.0 * nc) / square(df + 2.0 * nc),
        conditions=lambda df, nc: (df > 0, maximum(-nc, 0.0).is_equal(0.0)),
        support=from_zero,
    ),
    "rice": law(
        "Rice distribution",
        "b",
        log_density=_rice_log_density,
        **computed_law("rice", "b", _rice_partials, "b"),
        mean=_rice_mean,
        var=lambda b: 2.0 + square(b) - square(_rice_mean(b)),
        conditions=lambda b: (maximum(-b, 0.0).is_equal(0.0),),
        support=from_zero,
    ),
    "skewnorm": law(
        "skew-normal distribution",
        "a",
        log_density=_skewnorm_log_density,
        **computed_law("skewnorm", "a", _skewnorm_partials, "a"),
        mean=lambda a: math.sqrt(2 / math.pi) * a / sqrt(1.0 + square(a)),
        var=lambda a: 1.0 - 2 / math.pi * square(a) / (1.0 + square(a)),
    ),
    "vonmises": law(
        "von Mises distribution",
        "kappa",
        log_density=_vonmises_log_density,
        **computed_law("vonmises", "kappa", _vonmises_partials, "kappa"),
        mean=lambda kappa: 0.0 * kappa,
        skewness=lambda kappa: 0.0 * kappa,
        entropy=_vonmises_entropy,
        conditions=all_positive,
        carrier=lambda kappa: (-math.pi, math.pi),
    ),
}
