"""Loops: the gradient of a heat equation, the overhead of an iteration, and a long recording without a loop."""

import numba as nb
import numpy as np

import jittape as jt

CELLS, STEPS = 200, 1_000


class Heat:
    """An explicit step, repeated; the ends are kept at zero."""

    def setup(self) -> None:
        def step(i, u):
            wide = jt.pad(u, [[1, 1]])
            return u + 0.25 * (wide[2:] - 2.0 * u + wide[:-2])

        def loss(u, target):
            return jt.reduce_sum(jt.square(jt.fori_loop(0, STEPS, step, u) - target))

        @jt.function
        def value_and_gradient(u, target):
            with jt.GradientTape() as tape:
                tape.watch(u)
                value = loss(u, target)
            return value, tape.gradient(value, u)

        def recorded(u, target):
            with jt.GradientTape() as tape:
                tape.watch(u)
                value = loss(u, target)
            return tape.gradient(value, u).numpy()

        self.value = jt.function(loss)
        self.value_and_gradient, self.recorded = value_and_gradient, recorded
        rng = np.random.default_rng(0)
        self.u, self.target = rng.normal(size=CELLS), rng.normal(size=CELLS)
        self.tensors = jt.constant(self.u), jt.constant(self.target)
        for _ in range(3):
            self.time_value()
            self.time_value_and_gradient()
            self.time_recorded()

    def time_value(self) -> None:
        self.value(self.u, self.target)

    def time_value_and_gradient(self) -> None:
        self.value_and_gradient(self.u, self.target)

    def time_recorded(self) -> None:
        self.recorded(*self.tensors)


class Iteration:
    """A thousand iterations of a minimal body."""

    params = (1, 200)
    param_names = ("n",)

    def setup(self, n: int) -> None:
        self.function = jt.function(lambda x: jt.fori_loop(0, 1_000, lambda i, x: x + 0.25 * x, x))
        self.until = jt.function(
            lambda x: jt.while_loop(lambda x, n: n < 1_000, lambda x, n: (x + 0.25 * x, n + 1), (x, 0))[0]
        )
        self.x = np.zeros(n)
        for _ in range(3):
            self.time_fori_loop(n)
            self.time_while_loop(n)

    def time_fori_loop(self, n: int) -> None:
        self.function(self.x)

    def time_while_loop(self, n: int) -> None:
        self.until(self.x)


class Checkpoints:
    """The gradient of a million steps, with and without checkpoints."""

    params = (None, 1_000, "sqrt")
    param_names = ("checkpoint",)

    def setup(self, checkpoint: object) -> None:
        @jt.function
        def gradient(x):
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = jt.fori_loop(
                    0, 1_000_000, lambda i, s: s + 1e-6 * jt.sin(s * x), x, checkpoint=checkpoint
                )
            return tape.gradient(y, x)

        self.gradient = gradient
        self.x = np.full(8, 0.5)
        for _ in range(2):
            self.time_gradient(checkpoint)

    def time_gradient(self, checkpoint: object) -> None:
        self.gradient(self.x)


class LongRecording:
    """10,000 operations on single numbers in one step, forward and backward: 200 calls of the compiled step.

    The numbers are a random graph of sums, products, tanh and log-sum-exp of two.
    """

    operations, calls = 10_000, 200
    timeout = 300

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        self.leaves = rng.normal(size=10)
        values, graph = list(self.leaves), []
        for i in range(self.operations):
            kind, (a, b) = int(rng.integers(4)), rng.integers(max(0, i - 30), i + 10, 2)
            x, y = values[a], values[b]
            results = [x + y, x * y, np.tanh(x), np.log(np.exp(x) + np.exp(y))]
            kind = kind if abs(results[kind]) < 5 else 2
            values.append(results[kind])
            graph.append((kind, int(a), int(b)))

        @jt.function
        def step(x):
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = computed(graph, [x[i] for i in range(10)])
            return y, tape.gradient(y, x)

        self.step = step
        for _ in range(3):
            self.step(self.leaves)

    def time_calls(self) -> None:
        for _ in range(self.calls):
            self.step(self.leaves)


def computed(graph, values):
    """Return the last number of a graph."""
    for kind, a, b in graph:
        x, y = values[a], values[b]
        if kind == 0:
            values.append(x + y)
        elif kind == 1:
            values.append(x * y)
        elif kind == 2:
            values.append(jt.tanh(x))
        else:
            values.append(jt.math.log(jt.exp(x) + jt.exp(y)))
    return values[-1]


class GaussSeidel:
    """A sweep over 40 by 40 cells in two loops, each cell written in place, and its gradient."""

    def setup(self) -> None:
        def cell(i, j, u):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            return u

        def row(i, u):
            return jt.fori_loop(1, 39, lambda j, u: cell(i, j, u), u)

        def loss(u):
            return jt.reduce_sum(jt.square(jt.fori_loop(1, 39, row, u)))

        self.value = jt.function(loss)
        self.value_and_gradient = jt.function(jt.value_and_grad(loss))
        self.array = np.random.default_rng(0).normal(size=(40, 40))
        self.u = jt.constant(self.array)
        for _ in range(3):
            self.time_value()
            self.time_value_and_gradient()
            self.time_value_and_gradient_by_hand()

    def time_value(self) -> None:
        self.value(self.u).numpy()

    def time_value_and_gradient(self) -> None:
        self.value_and_gradient(self.u)[0].numpy()

    def time_value_and_gradient_by_hand(self) -> None:
        gauss_seidel_by_hand(self.array)


@nb.njit
def gauss_seidel_by_hand(u):
    """Return the loss of `GaussSeidel` and its gradient."""
    u, n = u.copy(), u.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    gradient = 2 * u
    for i in range(n - 2, 0, -1):
        for j in range(n - 2, 0, -1):
            share = 0.25 * gradient[i, j]
            gradient[i, j] = 0
            gradient[i - 1, j] += share
            gradient[i + 1, j] += share
            gradient[i, j - 1] += share
            gradient[i, j + 1] += share
    return np.sum(u * u), gradient


class CarriedParts:
    """200 iterations that change a few elements of an array of 20,000, and the gradient: nothing is copied."""

    params = ("slice", "two_writes", "swap", "window")
    param_names = ("body",)

    def setup(self, body) -> None:
        def slice_(i, u):
            u[i - 1 : i + 2] = jt.sin(u[i - 1 : i + 2]) * u[i]
            return u

        def two_writes(i, u):
            u[i] = u[i - 1] * u[i]
            u[i + 1] = jt.sin(u[i]) + u[i - 1]
            return u

        def swap(i, u):
            old = u[i]
            u[i] = u[i + 1]
            u[i + 1] = old * 1.5
            return u

        def window(i, u):
            u[i] = jt.reduce_sum(jt.slice(u, [i], [3])) * 0.3
            return u

        bodies = {"slice": slice_, "two_writes": two_writes, "swap": swap, "window": window}

        def loss(u):
            return jt.reduce_sum(jt.square(jt.fori_loop(1, 200, bodies[body], u)))

        self.value = jt.function(loss)
        self.value_and_gradient = jt.function(jt.value_and_grad(loss))
        self.u = jt.constant(np.random.default_rng(0).normal(size=20_000))
        for _ in range(3):
            self.time_value(body)
            self.time_value_and_gradient(body)

    def time_value(self, body) -> None:
        self.value(self.u).numpy()

    def time_value_and_gradient(self, body) -> None:
        self.value_and_gradient(self.u)[0].numpy()
