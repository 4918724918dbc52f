"""Factorizations and systems of equations: a Gaussian process, small systems, a Kalman filter, decompositions.

The Gaussian process is compared, in turns in one process, with LAPACK called by hand and a hand-written adjoint:
Numba's machine code calls `potrf`, `potrs` and `potri` of jittape's own OpenBLAS. Everything runs on one thread.
Decompositions are compared with NumPy's, which call the same routines of its copy of OpenBLAS.
"""

import ctypes
import time

import numba
import numpy as np

import jittape as jt
from jittape.compile.llvm.blas import blas

ROUNDS = 200
SYSTEMS = 86_268
STEPS, STATES, OBSERVED = 1_000, 4, 2


def routine(name, arguments):
    """Return a LAPACK routine that Numba can call with addresses."""
    address = ctypes.cast(getattr(blas().library, f"scipy_{name}_"), ctypes.c_void_p).value
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


POTRF, POTRS, POTRI = routine("dpotrf", 5), routine("dpotrs", 8), routine("dpotri", 5)


@numba.njit
def by_hand(k, y, out, solution, integers, letter):
    """Return minus the log-likelihood without its constant; `out` receives the gradient with respect to `k`."""
    n = k.shape[0]
    integers[0], integers[1] = n, 1
    order, one, info = integers.ctypes, integers[1:].ctypes, integers[2:].ctypes
    out[:] = k
    POTRF(letter.ctypes, order, out.ctypes, order, info)
    solution[:] = y
    POTRS(letter.ctypes, order, one, out.ctypes, order, solution.ctypes, order, info)
    value = 0.0
    for i in range(n):
        value += 0.5 * y[i] * solution[i] + np.log(out[i, i])
    POTRI(letter.ctypes, order, out.ctypes, order, info)
    for i in range(n):
        for j in range(i + 1):
            element = 0.5 * (out[i, j] - solution[i] * solution[j])
            out[i, j] = element
            out[j, i] = element
    return value


@jt.function
def likelihood(k, y):
    with jt.GradientTape() as tape:
        tape.watch(k)
        factor = jt.linalg.cholesky(k)
        solution = jt.linalg.cholesky_solve(factor, y)
        value = 0.5 * jt.reduce_sum(y * solution)
        value += jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor)))
    return value, tape.gradient(value, k)


class GaussianProcess:
    """The log-likelihood of a Gaussian process and its gradient, as a multiple of the time by hand."""

    params = (30, 100, 300)
    param_names = ("n",)
    unit = "ratio"

    def track_ratio(self, n: int) -> float:
        jt.config.threads = 1
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(n, n)), rng.normal(size=n)
        k = x @ x.T + n * np.eye(n)
        out, solution = np.empty((n, n)), np.empty(n)
        integers, letter = np.zeros(3, np.int32), np.array([ord("U")], np.uint8)
        operands = jt.constant(k), jt.constant(y[:, None])
        for _ in range(3):
            value, gradient = likelihood(*operands)
        np.testing.assert_allclose(value, by_hand(k, y, out, solution, integers, letter))
        np.testing.assert_allclose(gradient, out, rtol=1e-8, atol=1e-12)
        ours = theirs = float("inf")
        for _ in range(ROUNDS):
            ours = min(ours, seconds(lambda: likelihood(*operands)))
            theirs = min(theirs, seconds(lambda: by_hand(k, y, out, solution, integers, letter)))
        return ours / theirs


class SmallSystems:
    """Many systems of order 3 with the gradient, on one thread."""

    def setup(self) -> None:
        jt.config.threads = 1

        @jt.function
        def value_and_gradients(a, b):
            with jt.GradientTape() as tape:
                tape.watch([a, b])
                value = jt.reduce_sum(jt.square(jt.linalg.solve(a, b)))
            return value, tape.gradient(value, [a, b])

        rng = np.random.default_rng(0)
        a, b = rng.normal(size=(SYSTEMS, 3, 3)) + 3 * np.eye(3), rng.normal(size=(SYSTEMS, 3, 1))
        self.operands = jt.constant(a), jt.constant(b)
        self.function = value_and_gradients
        for _ in range(3):
            self.time_value_and_gradients()

    def time_value_and_gradients(self) -> None:
        self.function(*self.operands)


class KalmanFilter:
    """The log-likelihood of a state-space model and its gradient with respect to both variances."""

    def setup(self) -> None:
        jt.config.threads = 1
        rng = np.random.default_rng(0)
        transition = np.kron(np.array([[1.0, 1.0], [0.0, 0.95]]), np.eye(2))
        observation = np.eye(OBSERVED, STATES)
        start = np.zeros((STATES, 1)), np.eye(STATES), np.zeros(())

        @jt.function
        def value_and_gradient(variances, rows):
            with jt.GradientTape() as tape:
                tape.watch(variances)
                scales = jt.exp(variances)

                def step(carry, row):
                    mean, covariance, _ = carry
                    mean = transition @ mean
                    covariance = transition @ covariance @ transition.T + scales[0] * np.eye(STATES)
                    shared = covariance @ observation.T
                    factor = jt.linalg.cholesky(observation @ shared + scales[1] * np.eye(OBSERVED))
                    error = row[:, None] - observation @ mean
                    gain = jt.transpose(jt.linalg.cholesky_solve(factor, jt.transpose(shared)))
                    whitened = jt.linalg.triangular_solve(factor, error)
                    value = 0.5 * jt.reduce_sum(jt.square(whitened))
                    value += jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor)))
                    return mean + gain @ error, covariance - gain @ jt.transpose(shared), value

                total = jt.reduce_sum(jt.scan(step, rows, initializer=start)[2])
            return total, tape.gradient(total, variances)

        self.function = value_and_gradient
        self.operands = jt.constant(np.array([-1.0, 0.3])), jt.constant(rng.normal(size=(STEPS, OBSERVED)))
        for _ in range(3):
            self.time_value_and_gradient()

    def time_value_and_gradient(self) -> None:
        self.function(*self.operands)


class Decompositions:
    """A decomposition of a matrix, or of a stack of 1,000 matrices of order 3, as a multiple of NumPy's time."""

    params = (("eigh", "eigvalsh", "svd", "svdvals", "qr"), ((3, 3), (30, 30), (100, 100), (1_000, 3, 3)))
    param_names = ("function", "shape")
    unit = "ratio"

    def track_ratio(self, name: str, shape: tuple[int, ...]) -> float:
        jt.config.threads = 1
        x = np.random.default_rng(0).normal(size=shape)
        operand, function = jt.constant(x), jt.function(getattr(jt.linalg, name))
        of_numpy = {
            "svd": lambda x: np.linalg.svd(x, full_matrices=False),
            "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
        }.get(name) or getattr(np.linalg, name)
        for _ in range(3):
            function(operand)
        ours = theirs = float("inf")
        for _ in range(ROUNDS // 4):
            ours = min(ours, seconds(lambda: function(operand)))
            theirs = min(theirs, seconds(lambda: of_numpy(x)))
        return ours / theirs


class OrthogonalIteration:
    """The two dominant eigenvalues of a matrix of order 4 by 1,000 QR factorizations in a loop, and their gradient."""

    def setup(self) -> None:
        jt.config.threads = 1
        rng = np.random.default_rng(0)
        start, x = rng.normal(size=(STATES, OBSERVED)), rng.normal(size=(STATES, STATES))
        self.operand = jt.constant(x @ x.T / STATES)

        @jt.function
        @jt.value_and_grad
        def total(matrix):
            def step(q, _):
                return jt.linalg.qr(matrix @ q).q

            q = jt.scan(step, jt.zeros((STEPS, 1), jt.float64), initializer=start)[-1]
            return jt.reduce_sum(q * (matrix @ q))

        self.function = total
        for _ in range(3):
            self.time_value_and_gradient()

    def time_value_and_gradient(self) -> None:
        self.function(self.operand)


class AroundFactorization:
    """A scaled right-hand side and the sum of the logarithms of the diagonal, as parts of a likelihood's gradient."""

    params = ([(1, 3), (1, 30), (1, 300), (1_000, 3), (1_000, 8)],)
    param_names = ("batch, order",)
    unit = "ratio"

    def track_share(self, shape: tuple[int, int]) -> float:
        jt.config.threads = 1
        batch, n = shape
        x = np.random.default_rng(0).normal(size=(batch, n, n))
        operands = jt.constant(x @ np.swapaxes(x, 1, 2) + n * np.eye(n)), jt.constant(x[..., :1]), 1.7

        def bare(k, y, scale):
            factor = jt.linalg.cholesky(k)
            return factor, jt.linalg.triangular_solve(factor, y)

        def whole(k, y, scale):
            factor = jt.linalg.cholesky(k)
            solution = jt.linalg.triangular_solve(factor, scale * y)
            return factor, solution, jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor)), -1)

        @jt.grad
        def gradient(k, y, scale):
            _, solution, logarithms = whole(k, y, scale)
            return 0.5 * jt.reduce_sum(jt.square(solution)) + jt.reduce_sum(logarithms)

        functions = [jt.function(f) for f in (bare, whole, gradient)]
        least = [float("inf")] * 3
        for _ in range(ROUNDS // 4):
            for i, function in enumerate(functions):
                least[i] = min(least[i], seconds(lambda function=function: function(*operands)))
        return (least[1] - least[0]) / least[2]


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
