"""Sums over data: a mixture of Gaussians, clusters, a polynomial, a smooth maximum, and the square."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradbench.evaluation import Evaluation
from gradbench.libraries import Library

__all__ = ["Clusters", "Hello", "LeastSquares", "LogSumExp", "Mixture"]


class Hello(Evaluation):
    """The square of a number, and its derivative."""

    title = "hello"

    def data(self) -> None:
        self.arguments = (np.array(3.0),)

    def program(self, library: Library) -> Any:
        return library.value_and_grad(self.objective(library))

    def objective(self, library: Library) -> Any:
        return lambda x: x * x


class LogSumExp(Evaluation):
    """The logarithm of a sum of exponentials, from a maximum, exponentials and a sum."""

    title = "lse"
    sizes = ("n",)
    n = 10_000

    def data(self) -> None:
        self.arguments = (np.random.default_rng(0).uniform(-100.0, 100.0, self.n),)

    def program(self, library: Library) -> Any:
        return library.value_and_grad(self.objective(library))

    def objective(self, library: Library) -> Any:
        xp = library.xp

        def result(x: Any) -> Any:
            top = xp.amax(x)
            return top + xp.log(xp.sum(xp.exp(x - top)))

        return result


class LeastSquares(Evaluation):
    """Half the sum of squared residuals of a polynomial of `m` coefficients at `n` points, for the sign function."""

    title = "llsq"
    sizes = ("n", "m")
    n, m = 4_096, 128

    def data(self) -> None:
        points = np.linspace(-1.0, 1.0, self.n)
        exponents = np.arange(self.m)
        self.arguments = (np.random.default_rng(0).uniform(size=self.m), points, exponents)

    def program(self, library: Library) -> Any:
        return library.value_and_grad(self.objective(library))

    def objective(self, library: Library) -> Any:
        xp = library.xp

        def result(x: Any, points: Any, exponents: Any) -> Any:
            residuals = xp.sign(points) - (points[:, None] ** exponents) @ x
            return 0.5 * xp.sum(residuals * residuals)

        return result


class Clusters(Evaluation):
    """k-means: Newton's direction, the gradient divided by the diagonal of the Hessian."""

    title = "kmeans"
    sizes = ("k", "n", "d")
    k, n, d = 100, 10_000, 8

    def data(self) -> None:
        points = np.random.default_rng(0).uniform(size=(self.n, self.d))
        self.arguments = (points[-self.k :].copy(), points)

    def program(self, library: Library) -> Any:
        cost = self.objective(library)

        def direction(centers: Any, points: Any) -> Any:
            slope, diagonal = library.hessian_times_ones(lambda c: cost(c, points))(centers)
            return slope / diagonal

        return direction

    def objective(self, library: Library) -> Any:
        xp = library.xp

        def result(centers: Any, points: Any) -> Any:
            squares = xp.sum(points * points, axis=1)[:, None] + xp.sum(centers * centers, axis=1)
            return xp.sum(xp.amin(squares - 2.0 * (points @ centers.T), axis=1))

        return result


class Mixture(Evaluation):
    """Log-posterior of a Gaussian mixture with a Wishart prior, by weights, means and inverse covariance factors.

    A factor has the exponentials of `q` as its diagonal, and below it the numbers of `low`, column by column.
    """

    title = "gmm"
    sizes = ("d", "k", "n")
    d, k, n = 16, 25, 1_000
    gamma, m = 1.0, 0

    def data(self) -> None:
        rng = np.random.default_rng(0)
        rows, columns = np.tril_indices(self.d, -1)
        order = np.lexsort((rows, columns))
        self.below = np.zeros((self.d, self.d), np.int64)
        self.below[rows[order], columns[order]] = np.arange(len(order))
        self.mask = np.tril(np.ones((self.d, self.d)), -1)
        self.arguments = (
            rng.normal(size=self.k), rng.uniform(size=(self.k, self.d)), rng.normal(size=(self.k, self.d)),
            rng.normal(size=(self.k, len(order))), rng.normal(size=(self.n, self.d)),
        )  # fmt: skip

    def program(self, library: Library) -> Any:
        return library.value_and_grad(self.objective(library), 4)

    def objective(self, library: Library) -> Any:
        xp = library.xp
        eye, mask, below = (library.array(a) for a in (np.eye(self.d), self.mask, self.below))

        def log_sum_exp(values: Any) -> Any:
            top = xp.amax(values, axis=0)
            return top + xp.log(xp.sum(xp.exp(values - top), axis=0))

        def result(alpha: Any, means: Any, q: Any, low: Any, x: Any) -> Any:
            diagonal = xp.exp(q)
            factors = low[:, below] * mask + diagonal[:, :, None] * eye
            white = (x - means[:, None]) @ xp.swapaxes(factors, 1, 2)
            logs = (alpha + xp.sum(q, axis=1))[:, None] - 0.5 * xp.sum(white * white, axis=2)
            data = xp.sum(log_sum_exp(logs)) - self.n * log_sum_exp(alpha)
            norms = xp.sum(diagonal * diagonal) + xp.sum(low * low)
            prior = 0.5 * self.gamma**2 * norms - self.m * xp.sum(q)
            return data - prior + self.constant()

        return result

    def constant(self) -> float:
        """Normalization of the Gaussians and of the prior."""
        from scipy.special import multigammaln

        degrees = self.d + self.m + 1
        prior = degrees * self.d * (np.log(self.gamma) - 0.5 * np.log(2)) - multigammaln(
            0.5 * degrees, self.d
        )
        return float(self.k * prior - 0.5 * self.n * self.d * np.log(2 * np.pi))
