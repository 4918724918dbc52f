"""Rosenbrock's function, its Hessian, and a chain of elementary functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.base import Side, Workload, compiled_by_jax, gradient_by_torch, plain, tape_side

__all__ = ["Chain", "Rosenbrock", "RosenbrockHessian", "Sine"]

A, B = 1.3, 0.2


def rosenbrock(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


class Sine(Workload):
    """Value and derivative at one number: nothing but the cost of a call."""

    name = "sin(x) * x, n=1"
    goal = "2 us"

    def data(self) -> None:
        self.x = np.array(2.0)

    def numpy(self) -> Side:
        x = self.x
        return plain(lambda: (np.sin(x) * x, np.sin(x) + np.cos(x) * x))

    def hand(self) -> Side:
        from workloads.elementwise_hand import sine

        x = float(self.x)
        return plain(lambda: sine(x))

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def value_and_derivative(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sin(x) * x
            return y, tape.gradient(y, x)

        return tape_side(value_and_derivative, tf.constant(self.x))

    def jax(self) -> Side:
        import jax

        return compiled_by_jax(jax.value_and_grad(lambda x: jax.numpy.sin(x) * x), self.x)

    def torch(self) -> Side:
        return gradient_by_torch(lambda x: x.sin() * x, self.x)


class Rosenbrock(Workload):
    """Value and gradient."""

    by_hand_on_threads = True

    def __init__(self, n: int, goal: str) -> None:
        self.n, self.goal = n, goal
        self.name = f"rosenbrock, n={n:,}"

    def data(self) -> None:
        self.x = np.random.default_rng(0).normal(size=self.n)

    def numpy(self) -> Side:
        x = self.x

        def run() -> Any:
            d, e = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
            gradient = np.zeros_like(x)
            gradient[1:] = 200.0 * d
            gradient[:-1] -= 400.0 * x[:-1] * d + 2.0 * e
            return 100.0 * (d @ d) + e @ e, gradient

        return plain(run)

    def hand(self) -> Side:
        from workloads.elementwise_hand import rosenbrock, rosenbrock_part

        x, out = self.x, np.empty(self.n)
        if self.threads > 1 and self.n >= 10_000:
            totals = np.empty((self.threads, 8))
            run = self.team(rosenbrock_part, x, out, totals)
            return plain(lambda: (run(), totals[:, 0].sum(), out)[1:])
        return plain(lambda: (rosenbrock(x, out), out))

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def value_and_gradient(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
            return y, tape.gradient(y, x)

        return tape_side(value_and_gradient, tf.constant(self.x))

    def jax(self) -> Side:
        import jax

        return compiled_by_jax(jax.value_and_grad(rosenbrock), self.x)

    def torch(self) -> Side:
        return gradient_by_torch(rosenbrock, self.x)


class RosenbrockHessian(Workload):
    """The whole matrix."""

    name = "Hessian of rosenbrock, n=100"
    goal = "4 us"

    def data(self) -> None:
        self.x = np.random.default_rng(0).normal(size=100)

    def numpy(self) -> Side:
        x = self.x
        n = x.size
        last = n - 1

        def run() -> Any:
            hessian = np.zeros((n, n))
            flat = hessian.reshape(-1)
            diagonal = flat[:: n + 1]
            diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
            diagonal[1:] += 200.0
            flat[1 :: n + 1][:last] = flat[n :: n + 1] = -400.0 * x[:-1]
            return hessian

        return plain(run)

    def hand(self) -> Side:
        from workloads.elementwise_hand import rosenbrock_hessian

        x, out = self.x, np.empty((100, 100))
        return plain(lambda: (rosenbrock_hessian(x, out), out)[1])

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def hessian(x: Any) -> Any:
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
                gradient = inner.gradient(y, x)
            return outer.jacobian(gradient, x)

        return tape_side(hessian, tf.constant(self.x))

    def jax(self) -> Side:
        import jax

        return compiled_by_jax(jax.hessian(rosenbrock), self.x)

    def torch(self) -> Side:
        import torch

        x = torch.tensor(self.x)
        return Side(lambda: torch.autograd.functional.hessian(rosenbrock, x), lambda h: [h.numpy()])


class Chain(Workload):
    """Value and gradient of sum(tanh(ax + b) exp(-x²) + log1p(x²))."""

    by_hand_on_threads = True

    def __init__(self, n: int, goal: str, dtype: str = "float64") -> None:
        self.n, self.goal, self.dtype = n, goal, dtype
        self.name = f"tanh, exp, log1p, n={n:,}"
        if dtype != "float64":
            self.name += f", {dtype}"
            self.tolerance = 1e-3  # by hand ten million are added up in 32 lanes with AVX2: 5e-4

    def data(self) -> None:
        self.x = np.random.default_rng(0).normal(size=self.n).astype(self.dtype)

    def numpy(self) -> Side:
        x = self.x

        def run() -> Any:
            q = x * x
            t, e = np.tanh(A * x + B), np.exp(-q)
            gradient = A * (1.0 - t * t) * e - 2.0 * x * e * t + 2.0 * x / (1.0 + q)
            return np.sum(t * e + np.log1p(q)), gradient

        return plain(run)

    def hand(self) -> Side:
        from workloads.elementwise_hand import chain, chain_part

        x, out = self.x, np.empty_like(self.x)
        if self.threads > 1 and self.n >= 10_000:
            totals = np.empty((self.threads, 8))
            run = self.team(chain_part, x, A, B, out, totals)
            return plain(lambda: (run(), totals[:, 0].sum(), out)[1:])
        return plain(lambda: (chain(x, A, B, out), out))

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def value_and_gradient(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                q = tf.square(x)
                y = tf.reduce_sum(tf.tanh(A * x + B) * tf.exp(-q) + tf.math.log1p(q))
            return y, tape.gradient(y, x)

        return tape_side(value_and_gradient, tf.constant(self.x))

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp

        def f(x: Any) -> Any:
            return jnp.sum(jnp.tanh(A * x + B) * jnp.exp(-x * x) + jnp.log1p(x * x))

        return compiled_by_jax(jax.value_and_grad(f), self.x)

    def torch(self) -> Side:
        import torch

        def f(x: Any) -> Any:
            return torch.sum(torch.tanh(A * x + B) * torch.exp(-x * x) + torch.log1p(x * x))

        return gradient_by_torch(f, self.x)
