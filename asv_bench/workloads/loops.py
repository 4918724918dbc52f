"""Updates written out by hand, and the textbook's first loop with nothing decorated."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from workloads.base import Side, Workload, stepped_by_jax

__all__ = ["AdamByHand", "UndecoratedRegression"]

RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-7


class AdamByHand(Workload):
    """20 arrays of 100 to 100,000 elements, their gradients given; in place where there is such a thing."""

    name = "Adam written out, 20 arrays"
    goal = "1.1 hand"

    def data(self) -> None:
        rng = np.random.default_rng(0)
        sizes = np.geomspace(100, 100_000, 20).astype(int)
        self.weights, self.gradients = ([rng.normal(size=n) for n in sizes] for _ in range(2))

    def state(self, make: Any) -> list[list[Any]]:
        """Weights and averages as `make` makes them."""
        zeros = [np.zeros_like(w) for w in self.weights]
        return [[make(a) for a in arrays] for arrays in (self.weights, zeros, zeros)]

    def numpy(self) -> Side:
        state = self.state(np.array)

        def run() -> None:
            for w, m, v, g in zip(*state, self.gradients, strict=True):
                m *= BETA_1
                m += (1 - BETA_1) * g
                v *= BETA_2
                v += (1 - BETA_2) * g * g
                w -= RATE * m / (np.sqrt(v) + EPSILON)

        return Side(run, lambda _: list(chain(*state)))

    def hand(self) -> Side:
        from workloads.loops_hand import adam

        state = self.state(np.array)
        arguments = tuple(zip(*state, self.gradients, strict=True))
        return Side(
            lambda: adam(arguments, RATE, BETA_1, BETA_2, EPSILON),
            lambda _: list(chain(*state)),
        )

    def tape(self, tf: Any, compiled: Any) -> Side:
        state = self.state(tf.Variable)

        @compiled
        def step(gradients: Any) -> None:
            for w, m, v, g in zip(*state, gradients, strict=True):
                m.assign(BETA_1 * m + (1 - BETA_1) * g)
                v.assign(BETA_2 * v + (1 - BETA_2) * tf.square(g))
                w.assign_sub(RATE * m / (tf.sqrt(v) + EPSILON))

        gradients = [tf.constant(g) for g in self.gradients]
        return Side(lambda: step(gradients), lambda _: [v.numpy() for v in list(chain(*state))])

    def jax(self) -> Side:
        from jax import numpy as jnp

        def step(state: Any, gradients: Any) -> Any:
            weights, first, second = state
            first = [BETA_1 * m + (1 - BETA_1) * g for m, g in zip(first, gradients, strict=True)]
            second = [BETA_2 * v + (1 - BETA_2) * g * g for v, g in zip(second, gradients, strict=True)]
            moments = zip(weights, first, second, strict=True)
            weights = [w - RATE * m / (jnp.sqrt(v) + EPSILON) for w, m, v in moments]
            return weights[0][0], (weights, first, second)

        side = stepped_by_jax(step, tuple(self.state(np.array)), self.gradients)
        return Side(side.run, lambda result: side.values(result)[1:])

    def torch(self) -> Side:
        import torch

        state = self.state(torch.tensor)
        gradients = [torch.tensor(g) for g in self.gradients]

        def run() -> None:
            for w, m, v, g in zip(*state, gradients, strict=True):
                m.mul_(BETA_1).add_(g, alpha=1 - BETA_1)
                v.mul_(BETA_2).addcmul_(g, g, value=1 - BETA_2)
                w.addcdiv_(m, torch.sqrt(v).add_(EPSILON), value=-RATE)

        return Side(run, lambda _: [v.numpy() for v in list(chain(*state))])


class UndecoratedRegression(Workload):
    """A line through points, as the textbook writes it; JAX is jitted, the rest is plain Python."""

    rate = 0.05

    def __init__(self, n: int, goal: str) -> None:
        self.n, self.goal = n, goal
        self.name = f"undecorated tape: regression, N={n:,}"

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.uniform(-1, 1, self.n)
        self.y = 3 * self.x + 2 + 0.1 * rng.normal(size=self.n)

    def numpy(self) -> Side:
        x, y, state = self.x, self.y, [np.zeros(()), np.zeros(())]

        def run() -> Any:
            m, b = state
            e = m * x + b - y
            state[:] = m - self.rate * 2 * np.mean(e * x), b - self.rate * 2 * np.mean(e)
            return np.mean(e * e)

        return Side(run, lambda loss: [loss, *state])

    def hand(self) -> Side:
        from workloads.loops_hand import regression_step

        state = np.zeros(2)
        return Side(lambda: regression_step(self.x, self.y, state, self.rate), lambda loss: [loss, *state])

    def tape(self, tf: Any, compiled: Any) -> Side:
        x, y = tf.constant(self.x), tf.constant(self.y)
        m, b = tf.Variable(np.zeros(())), tf.Variable(np.zeros(()))
        rate = self.rate

        def run() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(m * x + b - y))
            dm, db = tape.gradient(loss, [m, b])
            m.assign_sub(rate * dm)
            b.assign_sub(rate * db)
            return loss

        # jittape computes a step when its result is asked for, or when the next one begins.
        return Side(run, lambda loss: [v.numpy() for v in (loss, m, b)], float)

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp

        def loss(line: Any, x: Any, y: Any) -> Any:
            return jnp.mean((line[0] * x + line[1] - y) ** 2)

        def step(line: Any, x: Any, y: Any) -> Any:
            value, gradient = jax.value_and_grad(loss)(line, x, y)
            return value, [p - self.rate * g for p, g in zip(line, gradient, strict=True)]

        return stepped_by_jax(step, [np.zeros(()), np.zeros(())], self.x, self.y)

    def torch(self) -> Side:
        import torch

        x, y = torch.tensor(self.x), torch.tensor(self.y)
        m, b = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))

        def run() -> Any:
            loss = torch.mean((m * x + b - y) ** 2)
            dm, db = torch.autograd.grad(loss, [m, b])
            with torch.no_grad():
                m.sub_(self.rate * dm)
                b.sub_(self.rate * db)
            return loss

        return Side(run, lambda loss: [v.detach().numpy() for v in (loss, m, b)])
