"""Distribution functions and their inverses, which SciPy computes between kernels, with their derivatives.

An inverse ``y`` of a distribution function, ``F(a, y) = p``, has the derivatives of the implicit function theorem:
``dy/dp = 1 / F_y`` and ``dy/da = -F_a / F_y``. Numbers of events are rounded down by the distribution functions, whose
slopes in them are zero, and are real numbers in the inverses named after them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.elementwise.incomplete_beta import beta_density_op, betainc_slope_op
from jittape.primitives.elementwise.incomplete_gamma import gamma_density_op, random_gamma_grad
from jittape.scipy.special.scipy_steps import scipy_step, scipy_value
from jittape.scipy.special.terms import (
    Term,
    absolute,
    exp,
    floor,
    lifted,
    log,
    sign,
    slope,
    special,
    sqrt,
    square,
    where,
    zero,
)

__all__ = ["LAWS"]

_BELL = 1 / math.sqrt(2 * math.pi)
_gamma_density = lifted(gamma_density_op.bind)


def _gamma_in_a(a: Term, x: Term) -> Term:
    """Return the derivative of the incomplete gamma function in its parameter."""
    return -Term(random_gamma_grad(a.handle, x.handle)) * _gamma_density(a, x)


def _beta_density(a: Term, b: Term, x: Term) -> Term:
    return Term(beta_density_op.bind(a.handle, b.handle, x.handle))


def _beta_in(order_a: int, order_b: int, a: Term, b: Term, x: Term) -> Term:
    """Return the derivative of the incomplete beta function in a parameter."""
    relative = Term(betainc_slope_op.bind(a.handle, b.handle, x.handle, order_a=order_a, order_b=order_b))
    return relative * _beta_density(a, b, x)


def _inverse(
    partials: Callable[..., list[Any]], result: int, value: int, counts: bool = False, law: str = ""
) -> list[Any]:
    """Return the slopes of an inverse.

    ``partials(*arguments)`` are the derivatives of F in its arguments, one of which, number `result`, is the result of
    the inverse. The inverse has the value of F as its argument number `value`, and the others in their order. With
    `counts`, the inverse is 0, and its slopes too, for values of F below that at 0. With the name of F as `law`, slopes
    are 0 where F does not have the value: SciPy returns a bound of its search there.
    """

    def of(argument: int) -> Any:
        def formula(out: Term, *operands: Term) -> Any:
            if counts:
                return where(out > 0, inner(where(out > 0, out, 1.0), *operands), 0.0)
            return inner(out, *operands)

        def inner(out: Term, *operands: Term) -> Any:
            others = [x for i, x in enumerate(operands) if i != value]
            arguments = [*others[:result], out, *others[result:]]
            found = partials(*arguments)
            place = argument - (argument > value)
            change = 1.0 if argument == value else -found[place + (place >= result)]
            if not law:
                return change / found[result]
            p = operands[value]
            solved = absolute(special(law, *arguments) - p) < 1e-6 * where(p < 0.5, p, 1.0 - p)
            return where(solved, change / where(solved, found[result], 1.0), 0.0)

        return slope(formula)

    return [of(i) for i in range(len(partials.__code__.co_varnames[: partials.__code__.co_argcount]))]


# ---- derivatives of distribution functions in all arguments ----------------------------------------------------------


def _beta_partials(a: Term, b: Term, x: Term) -> list[Any]:
    return [_beta_in(1, 0, a, b, x), _beta_in(0, 1, a, b, x), _beta_density(a, b, x)]


def _binomial_partials(k: Term, n: Term, p: Term) -> list[Any]:
    in_a, in_b, density = _beta_partials(n - k, k + 1, 1 - p)
    return [in_b - in_a, in_a, -density]


def _negative_binomial_partials(k: Term, n: Term, p: Term) -> list[Any]:
    in_a, in_b, density = _beta_partials(n, k + 1, p)
    return [in_b, in_a, density]


def _poisson_partials(k: Term, m: Term) -> list[Any]:
    return [-_gamma_in_a(k + 1, m), -_gamma_density(k + 1, m)]


def _gamma_partials(a: Term, b: Term, x: Term) -> list[Any]:
    density = _gamma_density(b, a * x)
    return [density * x, _gamma_in_a(b, a * x), density * a]


def _chi2_partials(v: Term, x: Term) -> list[Any]:
    """Return the derivatives of the complement, which SciPy inverts."""
    return [-0.5 * _gamma_in_a(0.5 * v, 0.5 * x), -0.5 * _gamma_density(0.5 * v, 0.5 * x)]


def _lower_chi2_partials(v: Term, x: Term) -> list[Any]:
    return [-p for p in _chi2_partials(v, x)]


def _f_partials(dfn: Term, dfd: Term, x: Term) -> list[Any]:
    total = dfd + dfn * x
    in_a, in_b, density = _beta_partials(0.5 * dfn, 0.5 * dfd, dfn * x / total)
    change = density / square(total)
    return [0.5 * in_a + change * dfd * x, 0.5 * in_b - change * dfn * x, change * dfn * dfd]


def _t_partials(df: Term, t: Term) -> list[Any]:
    total = df + square(t)
    in_a, _, density = _beta_partials(0.5 * df, 0.0 * df + 0.5, df / total)
    change = density / square(total)
    in_df = -0.5 * sign(t) * (0.5 * in_a + change * square(t))
    return [in_df, absolute(t) * df * change]


def _normal_mean_partials(mean: Term, std: Term, x: Term) -> list[Any]:
    z = (x - mean) / std
    density = _BELL * exp(-0.5 * square(z)) / std
    return [-density, -z * density, density]


def _noncentral_chi2_partials(x: Term, df: Term, nc: Term) -> list[Any]:
    """Return the derivatives in `x` and `nc`; that in `df` has no formula."""
    safe = where(nc.is_equal(0.0), 1.0, nc)
    middle = square(sqrt(x) - sqrt(safe))
    bessel = special("ive", 0.5 * df - 1, sqrt(safe * x))
    density = 0.5 * exp(-0.5 * middle) * (x / safe) ** (0.25 * df - 0.5) * bessel
    density = where(nc.is_equal(0.0), 0.5 * _gamma_density(0.5 * df, 0.5 * x), density)
    in_nc = 0.5 * (special("chndtr", x, df + 2, nc) - special("chndtr", x, df, nc))
    return [density, None, in_nc]


def _binomial_value(name: str) -> Callable[..., Any]:
    """Return the value of a binomial law: SciPy warns of numbers of trials that are no integers by dtype."""

    def impl(k: Any, n: Any, p: Any) -> Any:
        whole = n.astype(np.int64)
        found = scipy_value(name, k, whole if (whole == n).all() else n, p.astype(np.float64))
        return found.astype(p.dtype, copy=False)

    return impl


# ---- the records -----------------------------------------------------------------------------------------------------


def _binomial_slope(factor: float) -> Any:
    def formula(out: Term, k: Term, n: Term, p: Term) -> Term:
        beyond = floor(n) - floor(k)
        certain = beyond < 1.0  # the sum has all terms
        density = _beta_density(where(certain, 1.0, beyond), floor(k) + 1, 1 - p)
        return where(certain, 0.0, factor * density)

    return slope(formula)


def _negative_binomial_slope(factor: float) -> Any:
    return slope(lambda out, k, n, p: factor * _beta_density(floor(n), floor(k) + 1, p))


def _noncentral(result: int, value: int) -> list[Any]:
    found = _inverse(_noncentral_chi2_partials, result, value)
    others = [i for i in range(3) if i != value]
    order = [i for i in range(3) if i != result]
    found[others[order.index(1)]] = None
    return found


def _tukey_slopes() -> list[Any]:
    def density(p: Term, lmbda: Term) -> Term:
        return p ** (lmbda - 1) + (1 - p) ** (lmbda - 1)

    def in_x(out: Term, x: Term, lmbda: Term) -> Term:
        inside = (out > 0.0) & (out < 1.0)
        return where(inside, 1 / density(where(inside, out, 0.5), lmbda), 0.0)

    def in_lmbda(out: Term, x: Term, lmbda: Term) -> Term:
        inside, near = (out > 0.0) & (out < 1.0), absolute(lmbda) < 1e-4
        p, far = where(inside, out, 0.5), where(near, 1.0, lmbda)
        low, high = log(p), log(1 - p)
        quotient = (p**far * low - (1 - p) ** far * high - (p**far - (1 - p) ** far) / far) / far
        series = (square(low) - square(high)) / 2.0 + lmbda * (low * square(low) - high * square(high)) / 3.0
        return where(inside, -where(near, series, quotient) / density(p, lmbda), 0.0)

    return [slope(in_x), slope(in_lmbda)]


def _kolmogorov_slope(x: Term) -> Term:
    """Return the derivative of Kolmogorov's distribution, by the series that converges faster."""
    small = x < 0.8
    low, high = where(small, x, 0.5), where(small, 1.0, x)
    above, below, change = 0.0 * x, 0.0 * x, 0.0 * x
    for k in range(1, 8):
        above = above + 8 * (-1) ** k * k**2 * high * exp(-2.0 * k**2 * square(high))
        rate = (2 * k - 1) ** 2 * math.pi**2 / 8
        term = exp(-rate / square(low))
        below = below + term
        change = change + 2 * rate * term
    root = math.sqrt(2 * math.pi)
    cdf = root * (change / square(low) - below) / square(low)
    return where(x > 0.0, where(small, -cdf, above), 0.0)


LAWS: dict[str, Any] = {
    "bdtr": scipy_step(
        "bdtr", "k n p", slope(zero), None, _binomial_slope(-1.0), impl=_binomial_value("bdtr")
    ),
    "bdtrc": scipy_step(
        "bdtrc", "k n p", slope(zero), None, _binomial_slope(1.0), impl=_binomial_value("bdtrc")
    ),
    "bdtri": scipy_step(
        "bdtri",
        "k n y",
        None,
        None,
        slope(lambda out, k, n, y: -1.0 / _beta_density(floor(n) - floor(k), floor(k) + 1, 1 - out)),
        impl=_binomial_value("bdtri"),
    ),
    "bdtrik": scipy_step("bdtrik", "y n p", *_inverse(_binomial_partials, 0, 0, counts=True)),
    "bdtrin": scipy_step("bdtrin", "k y p", *_inverse(_binomial_partials, 1, 1)),
    "btdtria": scipy_step("btdtria", "p b x", *_inverse(_beta_partials, 0, 0)),
    "btdtrib": scipy_step("btdtrib", "a p x", *_inverse(_beta_partials, 1, 1)),
    "chdtri": scipy_step("chdtri", "v p", *_inverse(_chi2_partials, 1, 1)),
    "chdtriv": scipy_step("chdtriv", "p x", *_inverse(_lower_chi2_partials, 0, 0)),
    "chndtr": scipy_step(
        "chndtr",
        "x df nc",
        slope(lambda out, x, df, nc: _noncentral_chi2_partials(x, df, nc)[0]),
        None,
        slope(lambda out, x, df, nc: _noncentral_chi2_partials(x, df, nc)[2]),
    ),
    "chndtrinc": scipy_step("chndtrinc", "x df p", *_noncentral(2, 2)),
    "chndtrix": scipy_step("chndtrix", "p df nc", *_noncentral(0, 0)),
    "fdtri": scipy_step("fdtri", "dfn dfd p", *_inverse(_f_partials, 2, 2)),
    "fdtridfd": scipy_step("fdtridfd", "dfn p x", *_inverse(_f_partials, 1, 1, law="fdtr")),
    "gdtria": scipy_step("gdtria", "p b x", *_inverse(_gamma_partials, 0, 0)),
    "gdtrib": scipy_step("gdtrib", "a p x", *_inverse(_gamma_partials, 1, 1)),
    "gdtrix": scipy_step("gdtrix", "a b p", *_inverse(_gamma_partials, 2, 2)),
    "kolmogi": scipy_step("kolmogi", "p", slope(lambda out, p: 1.0 / _kolmogorov_slope(out))),
    "kolmogorov": scipy_step("kolmogorov", "y", slope(lambda out, y: _kolmogorov_slope(y))),
    "nbdtr": scipy_step("nbdtr", "k n p", slope(zero), None, _negative_binomial_slope(1.0)),
    "nbdtrc": scipy_step("nbdtrc", "k n p", slope(zero), None, _negative_binomial_slope(-1.0)),
    "nbdtri": scipy_step(
        "nbdtri",
        "k n y",
        None,
        None,
        slope(lambda out, k, n, y: 1.0 / _beta_density(floor(n), floor(k) + 1, out)),
    ),
    "nbdtrik": scipy_step("nbdtrik", "y n p", *_inverse(_negative_binomial_partials, 0, 0, counts=True)),
    "nbdtrin": scipy_step("nbdtrin", "k y p", *_inverse(_negative_binomial_partials, 1, 1)),
    "nrdtrimn": scipy_step("nrdtrimn", "p std x", *_inverse(_normal_mean_partials, 0, 0)),
    "nrdtrisd": scipy_step("nrdtrisd", "mn p x", *_inverse(_normal_mean_partials, 1, 1)),
    "owens_t": scipy_step(
        "owens_t",
        "h a",
        slope(lambda out, h, a: -0.5 * _BELL * exp(-0.5 * square(h)) * special("erf", a * h / math.sqrt(2))),
        slope(lambda out, h, a: exp(-0.5 * square(h) * (1 + square(a))) / (2 * math.pi * (1 + square(a)))),
    ),
    "pdtri": scipy_step(
        "pdtri", "k y", None, slope(lambda out, k, y: -1.0 / _gamma_density(floor(k) + 1, out))
    ),
    "pdtrik": scipy_step("pdtrik", "p m", *_inverse(_poisson_partials, 0, 0, counts=True)),
    "stdtridf": scipy_step("stdtridf", "p t", *_inverse(_t_partials, 0, 0, law="stdtr")),
    "tklmbda": scipy_step("tklmbda", "x lmbda", *_tukey_slopes()),
}
"""Records by SciPy's name."""
