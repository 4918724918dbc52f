"""Sparse Jacobians and Hessians: the Brusselator on a grid, and Rosenbrock's function."""

import numpy as np

import jittape as jt


def brusselator(n):
    """Return the right-hand side of the Brusselator on a grid of n by n points, for an array of shape (2, n, n)."""
    grid = np.arange(n) / (n - 1.0)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    source = np.where((x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.01, 5.0, 0.0)
    diffusion = 10.0 * (n - 1) ** 2

    def laplace(a):
        return jt.roll(a, 1, 0) + jt.roll(a, -1, 0) + jt.roll(a, 1, 1) + jt.roll(a, -1, 1) - 4.0 * a

    def rate(state):
        u, v = state[0], state[1]
        reaction = u * u * v
        du = 1.0 + reaction - 4.4 * u + diffusion * laplace(u) + source
        return jt.stack([du, 3.4 * u - reaction + diffusion * laplace(v)])

    return rate


def rosenbrock(x):
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


class SparseJacobian:
    """One matrix; the columns by coloring for comparison."""

    params = ([32, 100], ["diagonals", "column"])
    param_names = ("n", "method")

    def setup(self, n, method):
        self.x = np.random.default_rng(0).random((2, n, n))
        self.f = brusselator(n)
        self.jacobian = jt.sparse_jacobian(self.f, method=method)
        for _ in range(3):
            self.jacobian(self.x)

    def time_matrix(self, n, method):
        self.jacobian(self.x)

    def time_preparation(self, n, method):
        jt.sparse_jacobian(self.f, method=method).pattern(self.x)


class SparseHessian:
    params = ("diagonals", "star")
    param_names = ("method",)

    def setup(self, method):
        self.x = np.random.default_rng(0).random(10_000)
        self.hessian = jt.sparse_hessian(rosenbrock, method=method)
        for _ in range(3):
            self.hessian(self.x)

    def time_matrix(self, method):
        self.hessian(self.x)
