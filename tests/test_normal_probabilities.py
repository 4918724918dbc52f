"""Distribution function of normal vectors against SciPy's, integrals over one variable less, and differences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.stats

import jittape as jt
from jittape.scipy import stats

Array = np.ndarray[Any, Any]
normal = stats.multivariate_normal


def drawn(n: int, seed: int, least: float = 1.0) -> tuple[Array, Array, Array]:
    """Return limits, a mean and a covariance whose eigenvalues are at least `least`."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return 2 * rng.normal(size=(4, n)), rng.normal(size=n), root @ root.T + least * np.eye(n)


def by_condition(x: Array, mean: Array, cov: Array) -> Array:
    """Integrate the probability of all variables but the first, given the first."""
    scales = np.sqrt(np.diag(cov))
    correlation = cov / np.outer(scales, scales)
    rest = correlation[1:, 1:] - np.outer(correlation[1:, 0], correlation[1:, 0])
    points, weights = np.polynomial.legendre.leggauss(12)
    found = []
    for limits in (x - mean) / scales:
        pieces = list(pairwise(np.linspace(-9.0, max(-8.9, min(limits[0], 9.0)), 60)))
        z = np.concatenate([(a + b) / 2 + (b - a) / 2 * points for a, b in pieces])
        w = np.concatenate([(b - a) / 2 * weights for a, b in pieces])
        given = limits[1:] - np.outer(z, correlation[1:, 0])
        found.append(np.sum(w * scipy.stats.norm.pdf(z) * normal.cdf(given, cov=rest).numpy()))
    return np.array(found)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_values(n: int) -> None:
    """SciPy's own values are random in more than two dimensions."""
    x, mean, cov = drawn(n, n)
    tolerance = 2e-5 if n > 2 else 1e-14
    lower = x - np.abs(drawn(n, 7)[0])
    for options in ({}, {"lower_limit": lower}):
        wanted = scipy.stats.multivariate_normal.cdf(x, mean, cov, abseps=1e-7, **options)
        np.testing.assert_allclose(normal.cdf(x, mean, cov, **options).numpy(), wanted, atol=tolerance)
    np.testing.assert_allclose(
        normal.logcdf(x, mean, cov).numpy(), np.log(normal.cdf(x, mean, cov).numpy()), rtol=1e-15
    )
    at_one = normal(mean, cov).cdf(x[0])
    assert at_one.shape == (() if n > 1 else (1,))
    assert at_one.dtype == "float64"
    np.testing.assert_allclose(jt.function(normal.cdf)(x, mean, cov), normal.cdf(x, mean, cov), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("least", [1.0, 1e-3, 1e-6])
def test_nearly_singular_covariances(n: int, least: float) -> None:
    for seed in range(5):
        x, mean, cov = drawn(n, seed, least)
        np.testing.assert_allclose(
            normal.cdf(x, mean, cov).numpy(), by_condition(x, mean, cov), atol=1e-9 if n > 2 else 1e-8
        )


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_gradients(n: int) -> None:
    x, mean, cov = drawn(n, 3)
    lower = x - 3.0

    def total(x: Any, mean: Any, cov: Any, **options: Any) -> Any:
        return jt.reduce_sum(normal.cdf(x, mean, (cov + jt.transpose(cov)) / 2, **options))

    jt.check_gradient(total, x, mean, cov)
    jt.check_gradient(lambda x, m, c: total(x, m, c, lower_limit=lower), x, mean, cov)


def test_mixed_derivative_is_the_density() -> None:
    x, mean, cov = drawn(2, 4)
    curvature = jt.hessian(lambda x: normal.cdf(x, mean, cov))(x[0])
    assert float(curvature[0, 1]) == pytest.approx(scipy.stats.multivariate_normal.pdf(x[0], mean, cov))


def test_infinite_limits() -> None:
    inf = np.inf
    for n in (2, 3, 5):
        cov = drawn(n, n)[2]
        first = np.array([0.3] + [inf] * (n - 1))
        expected = scipy.stats.norm.cdf(0.3 / np.sqrt(cov[0, 0]))
        value, slope = jt.value_and_grad(lambda x, cov=cov: normal.cdf(x, cov=cov))(first)
        assert float(value) == pytest.approx(expected, abs=1e-12)
        assert np.isfinite(slope).all()
        assert float(normal.cdf(np.full(n, inf), cov=cov)) == pytest.approx(1.0)
        assert float(normal.cdf(np.full(n, -inf), cov=cov)) == 0.0


def test_a_singular_covariance_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"\[multivariate_normal.cdf\] allow_singular=True"):
        normal([0.0, 0.0], np.ones((2, 2)), allow_singular=True).cdf([0.5, 0.5])
    with pytest.raises(np.linalg.LinAlgError):
        normal.cdf([0.5, 0.5], cov=np.ones((2, 2))).numpy()
