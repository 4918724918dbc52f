"""Long chains: an LSTM with diagonal weights, an ordinary differential equation, a determinant by minors."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from gradbench.evaluation import Evaluation
from gradbench.libraries import Library

__all__ = ["Determinant", "Equation", "Lstm"]


class Lstm(Evaluation):
    """Mean log-likelihood of the next character of a sequence, by all parameters.

    `main` has the weights and biases of four gates for each layer, `extra` the input weights, output weights and
    output biases, `state` the hidden and cell values of each layer at the start.
    """

    title = "lstm"
    sizes = ("layers", "steps")
    layers, steps, bits = 2, 1_024, 14

    def data(self) -> None:
        rng = np.random.default_rng(0)
        main = rng.normal(size=(self.layers, 2, 4, self.bits))
        extra = rng.normal(size=(3, self.bits))
        state = rng.normal(size=(self.layers, 2, self.bits))
        sequence = (rng.uniform(size=(self.steps, self.bits)) < 0.3).astype(float)
        self.arguments = (main, extra, state, sequence)

    def program(self, library: Library) -> Any:
        return library.value_and_grad(self.objective(library), 2)

    def objective(self, library: Library) -> Any:
        xp = library.xp

        def sigmoid(x: Any) -> Any:
            return 1.0 / (1.0 + xp.exp(-x))

        def result(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
            def step(carry: Any, pair: Any) -> Any:
                total, *layers = carry
                x, after = pair[0], pair[1]
                x = x * extra[0]
                following = []
                for i, (hidden, cell) in enumerate(layers):
                    (weights, biases) = main[i, 0], main[i, 1]
                    forget = sigmoid(x * weights[0] + biases[0])
                    ingate = sigmoid(hidden * weights[1] + biases[1])
                    outgate = sigmoid(x * weights[2] + biases[2])
                    cell = cell * forget + ingate * xp.tanh(hidden * weights[3] + biases[3])
                    x = outgate * xp.tanh(cell)
                    following.append((x, cell))
                predicted = x * extra[1] + extra[2]
                norm = xp.log(xp.sum(xp.exp(predicted)) + 2.0)
                return (total + xp.sum(after * (predicted - norm)), *following)

            start = tuple((state[i, 0], state[i, 1]) for i in range(self.layers))
            pairs = xp.stack([sequence[:-1], sequence[1:]], axis=1)
            total, *_ = library.foldl(step, (0.0 * sequence[0, 0], *start), pairs)
            return -total / ((self.steps - 1) * self.bits)

        return result


class Equation(Evaluation):
    """Last element of the solution of y'_0 = x_0, y'_i = x_i y_(i-1) after `steps` Runge-Kutta steps to t = 2."""

    title = "ode"
    sizes = ("n", "steps")
    n, steps = 1_000, 100

    def data(self) -> None:
        self.arguments = (np.random.default_rng(0).uniform(size=self.n),)

    def program(self, library: Library) -> Any:
        return library.value_and_grad(self.objective(library))

    def objective(self, library: Library) -> Any:
        solution = self.solution(library)
        return lambda x: solution(x)[-1]

    def solution(self, library: Library) -> Any:
        xp, h = library.xp, 2.0 / self.steps

        def result(x: Any) -> Any:
            def slope(y: Any) -> Any:
                return x * xp.concatenate([xp.ones_like(x[:1]), y[:-1]])

            def step(y: Any) -> Any:
                k1 = slope(y)
                k2 = slope(y + 0.5 * h * k1)
                k3 = slope(y + 0.5 * h * k2)
                k4 = slope(y + h * k3)
                return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

            return library.repeat(step, xp.zeros_like(x), self.steps)

        return result


class Determinant(Evaluation):
    """Determinant of a square matrix by minors, every minor computed anew, as the recursion does.

    All minors of a depth are one array: those with `p` rows removed have a row for each ordered choice of `p` columns.
    """

    title = "det"
    sizes = ("n",)
    n = 8

    def data(self) -> None:
        self.arguments = (np.random.default_rng(0).uniform(size=(self.n, self.n)),)

    def program(self, library: Library) -> Any:
        return library.value_and_grad(self.objective(library))

    def objective(self, library: Library) -> Any:
        xp, n = library.xp, self.n
        columns = [library.array(self.remaining(p)) for p in range(n)]
        signs = [library.array((-1.0) ** np.arange(n - p)) for p in range(n)]

        def result(a: Any) -> Any:
            minors = a[n - 1][columns[n - 1]]
            for p in range(n - 2, -1, -1):
                minors = xp.reshape(minors, (-1, n - p))
                minors = xp.sum(signs[p] * a[p][columns[p]] * minors, axis=1)
            return xp.reshape(minors, ())

        return result

    def remaining(self, p: int) -> Any:
        """Return the columns that are left after each ordered choice of `p`, in order."""
        chosen = permutations(range(self.n), p)
        return np.array([[c for c in range(self.n) if c not in choice] for choice in chosen])
