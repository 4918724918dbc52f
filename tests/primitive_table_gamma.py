"""The rows of the gamma and beta families, for the table in `primitive_table.py`."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import scipy.special
import scipy.stats

from jittape.core.primitive import apply
from jittape.primitives.elementwise import incomplete_gamma as ig
from primitive_table import INF, NAN, SHAPE, Array, Row, Sampler, between, binary

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

ROWS: tuple[Row, ...] = GAMMA
