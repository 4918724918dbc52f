"""A multivariate normal, a Laplace approximation, and Cholesky factors in a loop of `@njit` code, on one thread.

The multivariate normal and the loop are compared, in turns in one process, with NumPy and Numba with gradients derived
by hand.
"""

import numba
import numpy as np
import scipy.linalg

import jittape as jt

from .random_numbers import ratio

ROUNDS = 100


class MultivariateNormal:
    """The log-density of 1,000 points and its gradient in the mean and the factor of the covariance, over SciPy."""

    params = (3, 10, 50)
    param_names = ("dimension",)
    unit = "ratio"

    def track_ratio(self, dimension: int) -> float:
        jt.config.threads = 1
        rng = np.random.default_rng(0)
        points, mean = rng.normal(size=(1_000, dimension)), rng.normal(size=dimension)
        factor = np.linalg.cholesky(np.eye(dimension) + 0.1)

        @jt.function
        def density(mean, factor):
            with jt.GradientTape() as tape:
                tape.watch([mean, factor])
                solution = jt.linalg.triangular_solve(factor, jt.transpose(points - mean))
                value = -0.5 * jt.reduce_sum(jt.square(solution))
                value -= len(points) * jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor)))
            return value, *tape.gradient(value, [mean, factor])

        def by_hand():
            solution = scipy.linalg.solve_triangular(
                factor, (points - mean).T, lower=True, check_finite=False
            )
            diagonal = np.diag(factor)
            value = -0.5 * np.sum(solution**2) - len(points) * np.sum(np.log(diagonal))
            back = scipy.linalg.solve_triangular(factor, solution, lower=True, trans="T", check_finite=False)
            gradient = np.tril(back @ solution.T)
            gradient[np.diag_indices(dimension)] -= len(points) / diagonal
            return value, back.sum(1), gradient

        operands = jt.constant(mean), jt.constant(factor)
        for _ in range(3):
            found = density(*operands)
        for ours, theirs in zip(found, by_hand(), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)
        return ratio(lambda: density(*operands), by_hand, ROUNDS)


class LaplaceApproximation:
    """Newton's iteration to the mode of a logistic regression, and the determinant of the exact Hessian there."""

    def setup(self) -> None:
        jt.config.threads = 1
        rng = np.random.default_rng(0)
        x = rng.normal(size=(400, 20))
        signs = np.sign(x @ rng.normal(size=20) + 0.3 * rng.normal(size=400))

        def negative_log_joint(w):
            margins = signs * jt.linalg.matvec(x, w)
            return jt.reduce_sum(jt.math.softplus(-margins)) + 0.5 * jt.reduce_sum(w**2)

        @jt.function
        def evidence(w):
            for _ in range(6):
                w = (
                    w
                    - jt.linalg.solve(
                        jt.hessian(negative_log_joint)(w), jt.grad(negative_log_joint)(w)[:, None]
                    )[:, 0]
                )
            return -negative_log_joint(w) - 0.5 * jt.linalg.logdet(jt.hessian(negative_log_joint)(w))

        self.function, self.start = evidence, jt.constant(np.zeros(20))
        for _ in range(3):
            self.time_evidence()

    def time_evidence(self) -> None:
        self.function(self.start)


class CholeskyInNumba:
    """100 log-determinants of order 20 and their gradients in a loop of `@njit` code, over Numba's calls by hand."""

    unit = "ratio"

    def track_ratio(self) -> float:
        jt.config.threads = 1
        rng = np.random.default_rng(0)
        x = rng.normal(size=(100, 20, 20))
        matrices = x @ x.transpose(0, 2, 1) + 20 * np.eye(20)

        def logdet(matrix):
            return 2.0 * jt.reduce_sum(jt.math.log(jt.linalg.diag_part(jt.linalg.cholesky(matrix))))

        value_and_grad = jt.njit_value_and_grad(logdet, jt.TensorSpec([20, 20], jt.float64))

        @numba.njit
        def ours(matrices, out):
            total = 0.0
            for i in range(len(matrices)):
                value, gradient = value_and_grad(matrices[i])
                total += value
                out[i] = gradient
            return total

        @numba.njit
        def theirs(matrices, out):
            total = 0.0
            for i in range(len(matrices)):
                factor = np.linalg.cholesky(matrices[i])
                for j in range(factor.shape[0]):
                    total += 2.0 * np.log(factor[j, j])
                out[i] = np.linalg.inv(matrices[i])
            return total

        first, second = np.empty_like(matrices), np.empty_like(matrices)
        np.testing.assert_allclose(ours(matrices, first), theirs(matrices, second))
        symmetric = 0.5 * (first + first.transpose(0, 2, 1))
        np.testing.assert_allclose(symmetric, second, rtol=1e-8, atol=1e-12)
        return ratio(lambda: ours(matrices, first), lambda: theirs(matrices, second), ROUNDS)
