"""The rows of the gamma and beta families, for the table in `primitive_table.py`."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import scipy.special
import scipy.stats

from jittape.core.primitive import apply
from jittape.primitives.elementwise import gamma_beta as gb
from jittape.primitives.elementwise import incomplete_beta as ib
from jittape.primitives.elementwise import incomplete_gamma as ig
from jittape.primitives.elementwise import special as sp
from jittape.primitives.elementwise import truncation as tc
from jittape.primitives.reduce import cumulative as cu
from jittape.primitives.reduce import multivariate_gamma as mg
from jittape.primitives.shape.views import sliced
from primitive_table import (
    INF,
    NAN,
    SHAPE,
    SPECIALS,
    Array,
    Row,
    Sampler,
    between,
    binary,
    integers,
    normal,
    signed,
    unary,
)

# ---- references ------------------------------------------------------------------------------------------------------


def by_mpmath(function: Any) -> Any:
    """Return `function` of numbers, applied to arrays with 50 digits; nan where it is undefined."""

    def of_numbers(*numbers: float) -> float:
        try:
            with mpmath.workdps(50):
                return float(function(*map(mpmath.mpf, numbers)))
        except (ValueError, ZeroDivisionError, TypeError):
            return NAN

    return np.vectorize(of_numbers, [float])


def positive(function: Any) -> Any:
    """Return `function`, with nan where the first operand is not positive, or the second one is negative."""
    return lambda a, x: np.where((a > 0) & (x >= 0), function(a, x), NAN)


def shape_slope(a: Any, x: Any) -> Any:
    """Return the derivative of the sample `x` of a gamma distribution with respect to its shape `a`."""
    if x == 0:
        return mpmath.mpf(0)
    slope = mpmath.diff(lambda b: mpmath.gammainc(b, 0, x, regularized=True), a)
    return -slope / mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))


def beta_slope(a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of the incomplete beta function with respect to `a`, divided by the density."""
    slope = mpmath.diff(lambda p: mpmath.betainc(p, b, 0, x, regularized=True), a)
    return slope * mpmath.beta(a, b) / (x ** (a - 1) * (1 - x) ** (b - 1))


# ---- the gamma family ------------------------------------------------------------------------------------------------

#: Pairs of special values, without sizes at which SciPy's functions lose many digits.
_SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, 30.0])
PAIRS = tuple(np.array(p) for p in np.meshgrid(_SPECIAL, _SPECIAL))
FINITE = tuple(np.array(p) for p in np.meshgrid(_SPECIAL[np.isfinite(_SPECIAL)], [0.0, 1e-3, 0.5, 2.0, 40.0]))


def shapes_and_samples(low: float, high: float) -> Sampler:
    """Return shapes of distributions, and samples that are not in their far tails."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        a = rng.uniform(low, high, SHAPE)
        return a, a * rng.uniform(0.4, 2.0, SHAPE)

    return sample


GAMMA = (
    binary(
        "igamma",
        ig.igamma,
        positive(scipy.special.gammainc),
        shapes_and_samples(0.3, 6.0),
        edges=(PAIRS, (np.array(0.7), np.array(2.0)), (np.zeros((0, 2)), np.ones(2))),
        rtol=1e-13,
    ),
    binary(
        "igamma of large shapes",
        ig.igamma,
        scipy.special.gammainc,
        shapes_and_samples(20.0, 40.0),
        rtol=1e-12,
        edges=(),
    ),
    binary(
        "igammac",
        ig.igammac,
        positive(scipy.special.gammaincc),
        shapes_and_samples(0.3, 6.0),
        edges=(PAIRS, (np.array(0.7), np.array(2.0)), (np.zeros((0, 2)), np.ones(2))),
        rtol=1e-12,
    ),
    binary(
        "igammac of small samples",
        ig.igammac,
        scipy.special.gammaincc,
        between(0.28, 0.45, SHAPE, SHAPE),
        rtol=1e-13,
        edges=(),
    ),
    binary(
        "random_gamma_grad",
        ig.random_gamma_grad,
        positive(by_mpmath(shape_slope)),
        shapes_and_samples(0.3, 12.0),
        edges=(FINITE, (np.array(0.7), np.array(2.0)), (np.zeros((0, 2)), np.ones(2))),
        rtol=1e-13,
    ),
    binary(
        "gamma_density",
        lambda a, x: apply(ig.gamma_density_op, (a, x)),
        positive(lambda a, x: scipy.stats.gamma.pdf(x, a)),
        shapes_and_samples(0.3, 12.0),
        edges=(FINITE, (np.array(0.7), np.array(2.0)), (np.zeros((0, 2)), np.ones(2))),
        rtol=1e-12,
    ),
    binary(
        "log_minus_digamma",
        lambda a, x: apply(ig.log_minus_digamma_op, (a, x)),
        by_mpmath(lambda a, x: mpmath.log(x) - mpmath.digamma(a)),
        shapes_and_samples(0.3, 20.0),
        edges=((np.array([0.7, 6e4]), np.array([2.0, 5.99e4])), (np.zeros((0, 2)), np.ones(2))),
        rtol=1e-13,
    ),
)


def betaln(x: Any, y: Any) -> Any:
    return mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(x + y)


GAMMA_BETA = (
    unary(
        "gamma",
        gb.gamma,
        lambda x: np.where((x == -INF) | ((x < 0) & (x == np.floor(x))), NAN, scipy.special.gamma(x)),
        between(0.3, 5.0, SHAPE),
        edges=((SPECIALS[:11],), (np.array(0.7),), (np.zeros((0, 2)),)),
        rtol=1e-13,
    ),
    unary(
        "gamma of negative numbers",
        gb.gamma,
        scipy.special.gamma,
        between(-1.8, -1.2, SHAPE),
        rtol=1e-13,
        edges=(),
    ),
    binary(
        "betaln",
        gb.betaln,
        by_mpmath(betaln),
        between(0.3, 5.0, SHAPE, SHAPE),
        edges=(
            (np.array([0.5, 9.0, 2.0, 900.0, 7.9]), np.array([90.0, 0.5, 60.0, 8.0, 7.9])),
            (np.zeros((0, 2)), np.ones(2)),
        ),
        rtol=1e-13,
    ),
    *[
        binary(
            f"polygamma_difference {order}",
            lambda x, y, order=order: apply(
                lambda x, y: gb.polygamma_difference_op.bind(x, y, order=order), (x, y)
            ),
            by_mpmath(lambda x, y, order=order: mpmath.polygamma(order, x) - mpmath.polygamma(order, x + y)),
            between(0.3, 12.0, SHAPE, SHAPE),
            edges=((np.array([1e10, 0.5, 1e-3, 9.0, 3.0]), np.array([1.0, 1e-6, 1e6, 2.0, 0.0])),),
            dtypes=("float64", "float32"),
        )
        for order in (0, 1, 2)
    ],
    unary(
        "lbeta",
        mg.lbeta,
        lambda x: np.sum(scipy.special.gammaln(x), -1) - scipy.special.gammaln(np.sum(x, -1)),
        between(0.3, 5.0, SHAPE),
        edges=((np.ones((3, 1)),), (np.array([2.0, 0.5]),)),
        rtol=1e-12,
    ),
    unary(
        "multigammaln",
        lambda x: mg.multigammaln(x, 3),
        lambda x: np.vectorize(lambda a: scipy.special.multigammaln(a, 3), [float])(x),
        between(1.5, 5.0, SHAPE),
        edges=((np.array(2.5),), (np.zeros((0, 2)),)),
        rtol=1e-12,
    ),
)


def means_and_samples(low: float, high: float) -> Sampler:
    """Return parameters of beta distributions, and samples between 0.1 and 0.9."""
    return lambda rng: (
        rng.uniform(low, high, SHAPE),
        rng.uniform(low, high, SHAPE),
        rng.uniform(0.1, 0.9, SHAPE),
    )


def inside(function: Any) -> Any:
    """Return `function`, with nan where a parameter is not positive, or the last operand is not between 0 and 1."""
    return lambda a, b, x: np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), function(a, b, x), NAN)


_PARAMETERS = np.array([0.0, -1.0, 0.5, 1.0, 2.0, 30.0, NAN])
_TRIPLES = tuple(
    np.array(p)
    for p in np.meshgrid(
        _PARAMETERS, _PARAMETERS, np.array([0.0, -0.0, 0.25, 0.5, 0.97, 1.0, -0.5, 1.5, NAN])
    )
)


def zeta_slope(x: Any, q: Any) -> Any:
    return mpmath.zeta(x, q, 1)


ZETA = (
    binary(
        "zeta",
        sp.zeta,
        lambda x, q: np.where((x > 1) & (q > 0), scipy.special.zeta(x, q), np.where(x == 1, INF, NAN)),
        between(1.5, 4.0, SHAPE, SHAPE),
        edges=(
            tuple(np.array(p) for p in np.meshgrid([-1.0, 0.5, 1.0, 1.5, 3.0, NAN], [0.5, 1.0, 30.0])),
            (np.zeros((0, 2)), np.ones(2)),
        ),
        rtol=1e-13,
    ),
    binary(
        "zeta_slope",
        lambda x, q: sp.zeta_slope_op.bind(x, q, order=1),
        by_mpmath(zeta_slope),
        between(1.5, 4.0, SHAPE, SHAPE),
        edges=((np.zeros((0, 2)), np.ones((0, 2))),),
        rtol=1e-13,
    ),
    binary(
        "polygamma of orders in a tensor",
        sp.polygamma,
        lambda a, x: np.where((a >= 0) & (a == np.floor(a)), scipy.special.polygamma(a.astype(int), x), NAN),
        lambda rng: (rng.integers(0, 4, SHAPE).astype(float), rng.uniform(0.6, 5.0, SHAPE)),
        edges=(
            (np.array([0.0, 1.0, 2.0, 1.5, -1.0]), np.array([0.5, 2.0, 1.5, 3.0, 2.0])),
            (np.zeros((0, 2)), np.ones(2)),
        ),
        wrt=(1,),
        rtol=1e-13,
    ),
)


BETA = (
    Row(
        "betainc",
        ib.betainc,
        means_and_samples(0.4, 5.0),
        inside(scipy.special.betainc),
        edges=(
            _TRIPLES,
            (np.array(0.7), np.array(2.0), np.array(0.3)),
            (np.zeros((0, 2)), np.ones(2), np.ones(2)),
        ),
        rtol=1e-12,
    ),
    Row(
        "betainc of large parameters",
        ib.betainc,
        lambda rng: (rng.uniform(6, 9, SHAPE), rng.uniform(6, 9, SHAPE), rng.uniform(0.45, 0.55, SHAPE)),
        scipy.special.betainc,
        rtol=1e-12,
    ),
    Row(
        "beta_density",
        lambda a, b, x: apply(ib.beta_density_op, (a, b, x)),
        means_and_samples(0.4, 5.0),
        inside(lambda a, b, x: scipy.stats.beta.pdf(x, a, b)),
        edges=(tuple(p[1:6, 1:6] for p in _TRIPLES), (np.zeros((0, 2)), np.ones(2), np.ones(2))),
        rtol=1e-12,
    ),
    Row(
        "betainc_partial",
        lambda a, b, x: ib.betainc_partial_op.bind(a, b, x, order_a=0, order_b=1),
        means_and_samples(0.6, 4.0),
        None,
    ),
    Row(
        "betainc_slope",
        lambda a, b, x: ib.betainc_slope_op.bind(a, b, x, order_a=1, order_b=0),
        means_and_samples(0.6, 4.0),
        by_mpmath(beta_slope),
        edges=((np.zeros((0, 2)), np.ones((0, 2)), np.ones((0, 2))),),
        rtol=1e-13,
    ),
)


# ---- integers and neighbors among the floats -------------------------------------------------------------------------

SMALL = (
    binary(
        "truncatediv",
        tc.truncatediv,
        lambda x, y: np.trunc(x / y),
        signed(0.3, 3.0, SHAPE, SHAPE),
        wrt=(),
    ),
    binary(
        "truncatemod",
        tc.truncatemod,
        np.fmod,
        lambda rng: (rng.uniform(2.1, 2.9, 5), rng.uniform(0.95, 1.04, 5)),
    ),
    *(
        Row(
            f"{function.__name__} of {dtype}",
            function,
            integers(low, 9, SHAPE, SHAPE, dtype=dtype),
            lambda x, y, function=function: by_c(function.__name__, x, y),
            dtypes=("float64",),
        )
        for function in (tc.truncatediv, tc.truncatemod)
        for dtype, low in (("int32", -9), ("uint8", 0), ("int64", -9))
    ),
    binary(
        "nextafter",
        tc.nextafter,
        np.nextafter,
        signed(0.3, 3.0, SHAPE, SHAPE),
        dtypes=("float64",),
        wrt=(0,),
    ),
    unary(
        "cumulative_logsumexp",
        cu.cumulative_logsumexp,
        lambda x: np.logaddexp.accumulate(x, 0),
        normal((5, 3)),
        edges=(
            (np.array([[1.0, -INF], [-INF, -INF], [3.0, 800.0], [2.0, 800.0], [INF, NAN]]),),
            (np.zeros((0, 2)),),
        ),
        rtol=1e-13,
    ),
    unary(
        "cumulative_logsumexp, exclusive and reversed",
        lambda x: sliced(cu.cumulative_logsumexp(x, 1, exclusive=True, reverse=True), 1, 0, x.shape[1] - 1),
        lambda x: np.flip(np.logaddexp.accumulate(np.flip(x, 1), 1)[:, :-1], 1),
        normal((3, 5)),
        edges=((np.array([[1.0, 2.0, 900.0]]),),),
        rtol=1e-13,
    ),
)


def by_c(name: str, x: Array, y: Array) -> Array:
    """Return the quotient or remainder of integers as in C; 0 for division by zero."""
    divisor = np.where(y == 0, 1, y).astype(np.int64)
    quotient = np.sign(x.astype(np.int64)) * np.sign(divisor) * (abs(x.astype(np.int64)) // abs(divisor))
    found = quotient if name == "truncatediv" else x.astype(np.int64) - quotient * divisor
    return np.where(y == 0, 0, found).astype(x.dtype)


ROWS: tuple[Row, ...] = (*GAMMA, *GAMMA_BETA, *ZETA, *BETA, *SMALL)
