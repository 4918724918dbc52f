"""Gradients in Numba's compiled code, and Numba's functions in the loops of kernels."""

import math

import numba
import numpy as np

import jittape as jt

STEPS = 100_000


def rosenbrock(x):
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


class Descent:
    """10⁵ steps of gradient descent on the Rosenbrock function of ten numbers, in one ``@njit`` function."""

    def setup(self) -> None:
        function = jt.njit_value_and_grad(rosenbrock, jt.TensorSpec([10], jt.float64))

        @numba.njit
        def new_arrays(x):
            for _ in range(STEPS):
                _, gradient = function(x)
                x -= 1e-3 * gradient

        @numba.njit
        def given_array(x):
            gradient = np.empty_like(x)
            for _ in range(STEPS):
                function(x, out=gradient)
                x -= 1e-3 * gradient

        @numba.njit(parallel=True)
        def parallel(points):
            for i in numba.prange(len(points)):
                for _ in range(STEPS // 100):
                    _, gradient = function(points[i])
                    points[i] -= 1e-3 * gradient

        self.new_arrays, self.given_array, self.parallel = new_arrays, given_array, parallel
        self.time_new_arrays()
        self.time_given_array()
        self.time_parallel()

    def time_new_arrays(self) -> None:
        self.new_arrays(np.zeros(10))

    def time_given_array(self) -> None:
        self.given_array(np.zeros(10))

    def time_parallel(self) -> None:
        self.parallel(np.zeros((100, 10)))


class HamiltonianMonteCarlo:
    """A trajectory of ten leapfrog steps, a logistic regression on 200 rows."""

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        features, labels = rng.normal(size=(200, 3)), (rng.random(200) < 0.5).astype(float)

        def energy(w):
            z = jt.linalg.matvec(features, w)
            return jt.reduce_sum(jt.nn.softplus(z) - labels * z)

        energy_and_grad = jt.njit_value_and_grad(energy, jt.TensorSpec([3], jt.float64))

        @numba.njit
        def leapfrog(q, p, steps, size):
            value, gradient = energy_and_grad(q)
            for _ in range(steps):
                p -= 0.5 * size * gradient
                q += size * p
                value, gradient = energy_and_grad(q)
                p -= 0.5 * size * gradient
            return value

        self.leapfrog = leapfrog
        self.time_trajectory()

    def time_trajectory(self) -> None:
        self.leapfrog(np.zeros(3), np.ones(3), 10, 0.01)


class Compilation:
    """From Python functions to machine code."""

    number = repeat = 1

    def setup(self) -> None:
        jt.njit_value_and_grad(rosenbrock, jt.TensorSpec([7], jt.float64))(np.zeros(7))

    def time_value_and_grad(self) -> None:
        function = jt.njit_value_and_grad(rosenbrock, jt.TensorSpec([11], jt.float64))
        numba.njit(lambda x: function(x))(np.zeros(11))


class ScalarOps:
    """A scalar user function over a million elements, with its gradient."""

    def setup(self) -> None:
        @numba.njit
        def polynomial(x):
            return x * x * (1.0 - x) if x > 0.0 else 0.0

        @numba.njit
        def polynomial_vjp(g, out, x):
            return g * x * (2.0 - 3.0 * x) if x > 0.0 else 0.0

        @numba.njit
        def gaussian(x):
            return math.exp(-0.5 * x * x)

        @numba.njit
        def gaussian_vjp(g, out, x):
            return -g * x * out

        self.x = np.linspace(-1, 1, 1_000_000)
        self.functions = [
            self._step(jt.numba_op(f, vjp=v))
            for f, v in ((polynomial, polynomial_vjp), (gaussian, gaussian_vjp))
        ]
        for _ in range(3):
            self.time_polynomial()
            self.time_gaussian()

    def _step(self, op):
        def value_and_grad(x):
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = jt.reduce_sum(op(x))
            return y, tape.gradient(y, x)

        return jt.function(value_and_grad)

    def time_polynomial(self) -> None:
        float(self.functions[0](self.x)[0])

    def time_gaussian(self) -> None:
        float(self.functions[1](self.x)[0])
