"""Bodies of SciPy's ufuncs: functions of handles of one real dtype and one shape, under SciPy's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jittape.primitives.elementwise import (
    bessel,
    error_functions,
    gamma_beta,
    hyperbolic,
    integrals,
    modified_bessel,
)
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    polyval,
    square,
    subtract,
)
from jittape.primitives.elementwise.bits import is_inf, is_nan
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
    where,
)
from jittape.primitives.elementwise.complex_numbers import complex
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, expm1, log, log1p, sqrt
from jittape.primitives.elementwise.hyperbolic import atanh
from jittape.primitives.elementwise.incomplete_beta import betainc
from jittape.primitives.elementwise.incomplete_gamma import igamma, igammac
from jittape.primitives.elementwise.piecewise import absolute, floor, minimum, round, sign
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.elementwise.special import digamma, lgamma, xlog1py, xlogy
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.identity import stop_gradient
from jittape.primitives.record_parts import filled
from jittape.scipy.special import gamma_bodies
from jittape.scipy.special.bessel_steps import BESSEL
from jittape.scipy.special.elliptic_steps import ELLIPTIC
from jittape.scipy.special.law_steps import LAWS
from jittape.scipy.special.other_steps import OTHERS
from jittape.scipy.special.polynomial_steps import POLYNOMIALS
from jittape.scipy.special.scipy_steps import REAL, STEPS

__all__ = ["BODIES", "central_power", "log_ratio_times"]

NAN, INF = math.nan, math.inf
_NORMAL_DF = 1e30
"""Degrees of freedom above which Student's t is the normal distribution in float64."""


# ---- exponentials and logarithms -------------------------------------------------------------------------------------

_EXPREL = [1 / math.factorial(k + 1) for k in reversed(range(16))]
"""Coefficients of ``(exp(u) - 1) / u``."""
_LOGREL = [(-1) ** k / (k + 1) for k in reversed(range(20))]
"""Coefficients of ``log(1 + u) / u``."""


def _exprel(u: Any) -> Any:
    near = less(absolute(u), 0.5)
    infinite = logical_and(is_inf(u), greater(u, 0))
    return where(near, polyval(_EXPREL, u), where(infinite, INF, divide(expm1(u), u)))


def _logrel(u: Any) -> Any:
    near = less(absolute(u), 0.125)
    return where(near, polyval(_LOGREL, u), divide(log1p(u), u))


def _logit(p: Any) -> Any:
    """Return ``log(p / (1 - p))``; around 1/2 by atanh, whose argument is exact there."""
    centered = subtract(multiply(2.0, p), 1.0)
    near = less(absolute(centered), 0.5)
    return where(near, multiply(2.0, atanh(centered)), subtract(log(p), log1p(negative(p))))


def central_power(x: Any, lmbda: Any, logarithm: Any, at_zero: Any) -> Any:
    """Return ``(exp(lmbda * logarithm) - 1) / lmbda``, smooth at ``lmbda = 0``."""
    exponent = multiply(lmbda, logarithm)
    large = multiply(sign(lmbda), exp(subtract(exponent, log(absolute(lmbda)))))  # overflows with the result
    value = where(greater(exponent, 80.0), large, multiply(logarithm, _exprel(exponent)))
    inverse = divide(-1.0, lmbda)
    edge = where(less_equal(lmbda, 0), -INF, inverse)
    at_infinity = where(greater_equal(lmbda, 0), INF, inverse)
    return where(at_zero, edge, where(equal(logarithm, INF), at_infinity, value))


def _boxcox(x: Any, lmbda: Any) -> Any:
    return central_power(x, lmbda, log(x), equal(x, 0))


def _boxcox1p(x: Any, lmbda: Any) -> Any:
    return central_power(x, lmbda, log1p(x), equal(x, -1))


def _inverse_power(x: Any, lmbda: Any) -> Any:
    """Return ``log(1 + lmbda x) / lmbda``, also if the product overflows."""
    product = multiply(lmbda, x)
    large = divide(add(log(absolute(lmbda)), log(absolute(x))), lmbda)
    value = where(equal(product, INF), large, multiply(x, _logrel(product)))
    return where(logical_and(equal(lmbda, 0), is_inf(x)), x, value)


def _inv_boxcox(x: Any, lmbda: Any) -> Any:
    return exp(_inverse_power(x, lmbda))


def _inv_boxcox1p(x: Any, lmbda: Any) -> Any:
    return expm1(_inverse_power(x, lmbda))


# ---- entropies and losses --------------------------------------------------------------------------------------------


def _entr(x: Any) -> Any:
    positive = negative(multiply(x, log(x)))
    return where(greater(x, 0), positive, where(equal(x, 0), 0.0, where(less(x, 0), -INF, NAN)))


def log_ratio_times(x: Any, y: Any) -> Any:
    """Return ``x log(x / y)`` for positive operands, accurate also if they are nearly equal."""
    change = divide(subtract(x, y), y)
    near = less(absolute(change), 0.5)
    return multiply(x, where(near, log1p(change), subtract(log(x), log(y))))


def _rel_entr(x: Any, y: Any) -> Any:
    inside = logical_and(greater(x, 0), greater(y, 0))
    zero = logical_and(equal(x, 0), greater_equal(y, 0))
    outside = where(logical_or(is_nan(x), is_nan(y)), NAN, INF)
    return where(inside, log_ratio_times(x, y), where(zero, 0.0, outside))


def _kl_div(x: Any, y: Any) -> Any:
    inside = logical_and(greater(x, 0), greater(y, 0))
    zero = logical_and(equal(x, 0), greater_equal(y, 0))
    outside = where(logical_or(is_nan(x), is_nan(y)), NAN, INF)
    return where(inside, add(subtract(log_ratio_times(x, y), x), y), where(zero, y, outside))


def _huber(delta: Any, r: Any) -> Any:
    size = absolute(r)
    near, far = multiply(0.5, square(r)), multiply(delta, subtract(size, multiply(0.5, delta)))
    value = where(greater(size, delta), far, near)
    return where(less(delta, 0), INF, where(is_nan(delta), delta, value))


def _pseudo_huber(delta: Any, r: Any) -> Any:
    ratio = divide(r, delta)
    size = absolute(ratio)
    large = greater(
        size, 1e10
    )  # the square of a greater number may overflow, and 1 is less than its rounding
    root = where(large, size, sqrt(add(1.0, square(where(large, 1.0, ratio)))))
    value = multiply(multiply(delta, r), divide(ratio, add(1.0, root)))
    return where(less(delta, 0), INF, where(equal(delta, 0), 0.0, value))


# ---- error functions and integrals -----------------------------------------------------------------------------------


def _erfi(x: Any) -> Any:
    value = multiply(2 / math.sqrt(math.pi), multiply(exp(square(x)), integrals.dawsn(x)))
    return where(is_inf(x), x, value)


def _exp1(x: Any) -> Any:
    value = negative(integrals.expint(negative(x)))
    return where(greater_equal(x, 0), value, NAN)


def _cosm1(x: Any) -> Any:
    return multiply(-2.0, square(sin(multiply(0.5, x))))


# ---- distribution functions ------------------------------------------------------------------------------------------


def _chdtr(v: Any, x: Any) -> Any:
    return gamma_bodies.gammainc(multiply(0.5, v), multiply(0.5, x))


def _chdtrc(v: Any, x: Any) -> Any:
    return gamma_bodies.gammaincc(multiply(0.5, v), multiply(0.5, x))


def _fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    below, above = _f_ratios(dfn, dfd, x)
    value = gamma_bodies.betainc_of_parts(multiply(0.5, dfn), multiply(0.5, dfd), below, above)
    return _f_edges(dfn, dfd, x, value, 1.0)


def _fdtrc(dfn: Any, dfd: Any, x: Any) -> Any:
    below, above = _f_ratios(dfn, dfd, x)
    value = gamma_bodies.betainc_of_parts(multiply(0.5, dfd), multiply(0.5, dfn), above, below)
    return _f_edges(dfn, dfd, x, value, 0.0)


def _f_ratios(dfn: Any, dfd: Any, x: Any) -> tuple[Any, Any]:
    """Return the argument of the incomplete beta function of Fisher's law, and 1 minus it."""
    scaled = multiply(dfn, x)
    total = add(dfd, scaled)
    return where(equal(scaled, INF), 1.0, divide(scaled, total)), divide(dfd, total)


def _f_edges(dfn: Any, dfd: Any, x: Any, value: Any, at_infinity: float) -> Any:
    defined = logical_and(greater(minimum(dfn, dfd), 0), greater_equal(x, 0))
    return where(defined, where(equal(x, INF), at_infinity, value), NAN)


def _xlogy(x: Any, y: Any) -> Any:
    return _with_edges(xlogy, x, y, log(y))


def _xlog1py(x: Any, y: Any) -> Any:
    return _with_edges(xlog1py, x, y, log1p(y))


def _with_edges(product: Any, x: Any, y: Any, logarithm: Any) -> Any:
    """Return a product whose derivative in x is the logarithm at 0, too, and which is nan if `y` is, as in SciPy."""
    finite = less(absolute(logarithm), INF)
    return where(finite, multiply(x, logarithm), where(not_equal(y, y), add(x, y), product(x, y)))


def _t_constant(df: Any) -> Any:
    """Return the density of Student's t at 0."""
    half = multiply(0.5, df)
    return divide(exp(negative(gamma_beta.betaln(half, 0.5))), sqrt(df))


def _stdtr(df: Any, t: Any) -> Any:
    """Return Student's distribution function, in the middle by the complementary integral.

    The relative error of the middle is that of a difference from 1/2, the error of the tail grows with `df`. The tail
    is taken where it is better, so that small values keep their digits.
    """
    squared, half = square(t), multiply(0.5, df)
    total = add(df, squared)
    tail = multiply(0.5, betainc(half, 0.5, divide(df, total)))
    inner = multiply(0.5, betainc(0.5, half, divide(squared, total)))
    positive = greater(t, 0)
    far = where(positive, subtract(1.0, tail), tail)
    middle = where(positive, add(0.5, inner), subtract(0.5, inner))
    curvature = divide(add(df, 1.0), multiply(6.0, df))
    linear = add(0.5, multiply(multiply(_t_constant(df), t), subtract(1.0, multiply(curvature, squared))))
    tiny = less(multiply(squared, curvature), 1e-9)
    in_middle = logical_and(less(squared, df), greater(multiply(tail, df), 2.0))
    student = where(tiny, linear, where(in_middle, middle, far))
    return where(greater(df, _NORMAL_DF), error_functions.ndtr(t), student)


def _stdtrit(df: Any, p: Any) -> Any:
    """Return the inverse of `_stdtr` in its second argument, by the branches of that function."""
    half, from_half = multiply(0.5, df), subtract(p, 0.5)
    side = sign(from_half)
    tail = minimum(p, subtract(1.0, p))
    z = STEPS["betaincinv"].bind(half, filled(df, 0.5), multiply(2.0, tail))
    log_z = divide(add(log(multiply(2.0, multiply(tail, half))), gamma_beta.betaln(half, 0.5)), half)
    distance = where(less(z, 1e-30), exp(multiply(-0.5, log_z)), sqrt(divide(subtract(1.0, z), z)))
    far = multiply(side, multiply(sqrt(df), distance))
    y = STEPS["betaincinv"].bind(filled(df, 0.5), half, multiply(2.0, absolute(from_half)))
    middle = multiply(side, sqrt(multiply(df, divide(y, subtract(1.0, y)))))
    scaled = divide(from_half, _t_constant(df))
    curvature = divide(add(df, 1.0), multiply(6.0, df))
    linear = multiply(scaled, add(1.0, multiply(curvature, square(scaled))))
    tiny = less(multiply(square(scaled), curvature), 1e-9)
    student = where(tiny, linear, where(less(tail, 0.25), far, middle))
    x = error_functions.ndtri(p)
    nearly_normal = logical_and(greater(df, 1e3), less(multiply(1e3, square(x)), df))
    student = where(nearly_normal, _t_from_normal(df, x), student)
    return where(greater(df, _NORMAL_DF), x, student)


def _t_from_normal(df: Any, x: Any) -> Any:
    """Return the quantile of Student's t for the normal quantile `x`, by an expansion in 1 / df."""
    square_of_x, inverse = square(x), divide(1.0, df)
    first = add(square_of_x, 1.0)
    second = polyval([5.0, 16.0, 3.0], square_of_x)
    third = polyval([3.0, 19.0, 17.0, -15.0], square_of_x)
    series = polyval([divide(third, 384.0), divide(second, 96.0), divide(first, 4.0), 1.0], inverse)
    return multiply(x, series)


def _pdtr(k: Any, m: Any) -> Any:
    return where(less(k, 0), NAN, igammac(add(floor(k), 1.0), m))


def _pdtrc(k: Any, m: Any) -> Any:
    return where(less(k, 0), NAN, igamma(add(floor(k), 1.0), m))


def _gdtr(a: Any, b: Any, x: Any) -> Any:
    return where(less(x, 0), NAN, gamma_bodies.gammainc(b, multiply(a, x)))


def _gdtrc(a: Any, b: Any, x: Any) -> Any:
    return where(less(x, 0), NAN, gamma_bodies.gammaincc(b, multiply(a, x)))


def _kelvin(x: Any) -> tuple[Any, ...]:
    pairs = (("ber", "bei"), ("ker", "kei"), ("berp", "beip"), ("kerp", "keip"))
    return tuple([complex(*[RECORDS[name].bind(x) for name in pair]) for pair in pairs])


def _step(name: str) -> Callable[..., Any]:
    record = RECORDS[name]
    if isinstance(record, tuple):
        return lambda *operands: tuple([part.bind(*operands) for part in record])
    return record.bind


RECORDS: dict[str, Any] = {**STEPS, **ELLIPTIC, **POLYNOMIALS, **LAWS, **BESSEL, **OTHERS}
"""Records of the functions that SciPy computes, by SciPy's name; a tuple has one for each result."""


BODIES: dict[str, Callable[..., Any]] = {
    "beta": gamma_bodies.beta,
    "betainc": gamma_bodies.betainc,
    "betaincc": gamma_bodies.betaincc,
    "betaln": gamma_bodies.betaln,
    "binom": gamma_bodies.binom,
    "boxcox": _boxcox,
    "boxcox1p": _boxcox1p,
    "chdtr": _chdtr,
    "chdtrc": _chdtrc,
    "cosm1": _cosm1,
    "dawsn": integrals.dawsn,
    "entr": _entr,
    "erf": error_functions.erf,
    "erfc": error_functions.erfc,
    "erfcinv": error_functions.erfcinv,
    "erfcx": error_functions.erfcx,
    "erfi": _erfi,
    "erfinv": error_functions.erfinv,
    "exp1": _exp1,
    "exp10": lambda x: pow(10.0, x),
    "exp2": lambda x: pow(2.0, x),
    "expi": integrals.expint,
    "expit": hyperbolic.sigmoid,
    "expm1": expm1,
    "exprel": _exprel,
    "fdtr": _fdtr,
    "fdtrc": _fdtrc,
    "fresnel": lambda x: (integrals.fresnel_sin(x), integrals.fresnel_cos(x)),
    "gamma": gamma_beta.gamma,
    "gammainc": gamma_bodies.gammainc,
    "gammaincc": gamma_bodies.gammaincc,
    "gammaln": lgamma,
    "gammasgn": lambda x: stop_gradient(gamma_bodies.gammasgn(x)),
    "gdtr": _gdtr,
    "gdtrc": _gdtrc,
    "huber": _huber,
    "i0": modified_bessel.bessel_i0,
    "i0e": modified_bessel.bessel_i0e,
    "i1": modified_bessel.bessel_i1,
    "i1e": modified_bessel.bessel_i1e,
    "inv_boxcox": _inv_boxcox,
    "inv_boxcox1p": _inv_boxcox1p,
    "j0": bessel.bessel_j0,
    "j1": bessel.bessel_j1,
    "k0": modified_bessel.bessel_k0,
    "k0e": modified_bessel.bessel_k0e,
    "k1": modified_bessel.bessel_k1,
    "k1e": modified_bessel.bessel_k1e,
    "kl_div": _kl_div,
    "log1p": log1p,
    "log_expit": hyperbolic.log_sigmoid,
    "log_ndtr": error_functions.log_ndtr,
    "loggamma": gamma_bodies.loggamma,
    "logit": _logit,
    "ndtr": error_functions.ndtr,
    "ndtri": error_functions.ndtri,
    "pdtr": _pdtr,
    "pdtrc": _pdtrc,
    "poch": gamma_bodies.poch,
    "pseudo_huber": _pseudo_huber,
    "psi": digamma,
    "rel_entr": _rel_entr,
    "round": round,
    "spence": integrals.spence,
    "stdtr": _stdtr,
    "stdtrit": _stdtrit,
    "xlog1py": _xlog1py,
    "xlogy": _xlogy,
    "y0": bessel.bessel_y0,
    "y1": bessel.bessel_y1,
    "kelvin": _kelvin,
    **{name: _step(name) for name in RECORDS},
}
"""Body of each ufunc by the name of SciPy's ufunc."""
REAL.update(BODIES)
