"""Factorizations and systems of equations: large and many matrices, and accuracy."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import jittape as jt

RNG = np.random.default_rng(12)


def test_many_small_systems_and_their_gradients():
    n = 20_000
    a, b = RNG.normal(size=(n, 3, 3)) + 4 * np.eye(3), RNG.normal(size=(n, 3, 1))
    solution = np.linalg.solve(a, b)
    adjoint = np.linalg.solve(np.swapaxes(a, 1, 2), 2 * solution)
    loss = jt.function(
        jt.value_and_grad(lambda a, b: jt.reduce_sum(jt.linalg.solve(a, b) ** 2), argnums=(0, 1))
    )
    for _ in range(3):
        value, (g_a, g_b) = loss(a, b)
        assert float(value) == pytest.approx(np.sum(solution**2), rel=1e-10)
        np.testing.assert_allclose(g_b, adjoint, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(g_a, -adjoint @ np.swapaxes(solution, 1, 2), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("n", [30, 300])
def test_a_gaussian_likelihood_and_its_gradient(n):
    x = RNG.normal(size=(n, n))
    covariance, y = x @ x.T / n + np.eye(n), RNG.normal(size=(n, 1))

    def likelihood(k):
        factor = jt.linalg.cholesky(k)
        white = jt.linalg.triangular_solve(factor, y)
        return jt.reduce_sum(white**2) + 2 * jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor)))

    inverse = np.linalg.inv(covariance)
    value_and_grad = jt.function(jt.value_and_grad(likelihood))
    for _ in range(3):
        value, gradient = value_and_grad(covariance)
        expected = float((y.T @ inverse @ y)[0, 0]) + np.linalg.slogdet(covariance)[1]
        assert float(value) == pytest.approx(expected, rel=1e-11)
        np.testing.assert_allclose(gradient, inverse - inverse @ y @ y.T @ inverse, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_errors_of_large_matrices(dtype, mode):
    n = 200
    unit = 10 * n * float(np.finfo(dtype).eps)
    a, b = RNG.normal(size=(n, n)).astype(dtype), RNG.normal(size=(n, 3)).astype(dtype)
    spd = (a @ a.T + n * np.eye(n)).astype(dtype)

    def error(x, y):
        """Error relative to the largest element, in double precision."""
        return np.max(np.abs(np.asarray(x, float) - y)) / np.max(np.abs(y))

    for _ in range(2):
        factor = jt.linalg.cholesky(spd).numpy().astype(float)
        assert error(factor @ factor.T, spd) < unit
        x = jt.linalg.solve(a, b).numpy().astype(float)
        assert np.max(np.abs(a @ x - b)) < unit * np.abs(a).sum(1).max() * np.abs(x).max()
        assert error(jt.linalg.lu_reconstruct(*jt.linalg.lu(a)), a.astype(float)) < 100 * unit
        sign, logarithm = jt.linalg.slogdet(a)
        expected = np.linalg.slogdet(a.astype(float))
        assert float(sign) == expected[0]
        assert float(logarithm) == pytest.approx(expected[1], rel=unit)
        assert float(jt.linalg.logdet(spd)) == pytest.approx(
            np.linalg.slogdet(spd.astype(float))[1], rel=unit
        )


def test_an_ill_conditioned_matrix_against_mpmath(mode):
    n = 7
    with mpmath.workdps(50):
        hilbert = mpmath.matrix(n, n)
        for i, j in np.ndindex(n, n):
            hilbert[i, j] = mpmath.mpf(1.0 / (i + j + 1))
        inverse = np.array((hilbert**-1).tolist(), float)
        determinant = float(mpmath.det(hilbert))
        logarithm = float(mpmath.log(mpmath.det(hilbert)))
    a = np.array(hilbert.tolist(), float)
    unit = np.linalg.cond(a) * np.finfo(float).eps
    for _ in range(3):
        np.testing.assert_allclose(jt.linalg.inv(a), inverse, rtol=unit)
        np.testing.assert_allclose(jt.linalg.det(a), determinant, rtol=unit)
        np.testing.assert_allclose(jt.linalg.logdet(a), logarithm, rtol=unit)
        gradient = jt.grad(jt.linalg.det)(a)
        np.testing.assert_allclose(gradient, determinant * inverse.T, rtol=4 * unit)
