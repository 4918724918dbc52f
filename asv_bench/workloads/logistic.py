"""Logistic regression: value and gradient, and a Hessian-vector product."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.base import Side, Workload, compiled_by_jax, gradient_by_torch, plain, tape_side

__all__ = ["Logistic", "LogisticHvp"]


class Logistic(Workload):
    """Mean cross-entropy and its gradient."""

    by_hand_on_threads = True

    def __init__(self, n: int, d: int, goal: str) -> None:
        self.n, self.d, self.goal = n, d, goal
        self.name = f"logistic regression {n:,}x{d}"

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(self.n, self.d))
        self.y = rng.integers(2, size=self.n).astype(float)
        self.w = rng.normal(size=self.d) / np.sqrt(self.d)

    def numpy(self) -> Side:
        x, y, w = self.x, self.y, self.w

        def run() -> Any:
            z = x @ w
            e = np.exp(-np.abs(z))
            loss = np.mean(np.maximum(z, 0.0) - y * z + np.log1p(e))
            p = np.where(z >= 0, 1.0, e) / (1.0 + e)
            return loss, (p - y) @ x / y.size

        return plain(run)

    def hand(self) -> Side:
        from workloads.logistic_hand import logistic, logistic_part

        x, y, w, out = self.x, self.y, self.w, np.empty(self.d)
        if self.threads > 1 and self.n >= 10_000:
            outs, totals = np.empty((self.threads, self.d)), np.empty((self.threads, 8))
            run = self.team(logistic_part, x, y, w, outs, totals)
            return plain(lambda: (run(), totals[:, 0].sum() / y.size, outs.sum(0) / y.size)[1:])
        return plain(lambda: (logistic(x, y, w, out), out))

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def value_and_gradient(x: Any, y: Any, w: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(w)
                z = tf.linalg.matvec(x, w)
                loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z))
            return loss, tape.gradient(loss, w)

        return tape_side(value_and_gradient, tf.constant(self.x), tf.constant(self.y), tf.constant(self.w))

    def jax(self) -> Side:
        import jax

        return compiled_by_jax(jax.value_and_grad(_loss_in_jax), self.w, self.x, self.y)

    def torch(self) -> Side:
        import torch

        x, y = torch.tensor(self.x), torch.tensor(self.y)
        loss = torch.nn.functional.binary_cross_entropy_with_logits
        return gradient_by_torch(lambda w: loss(x @ w, y), self.w)


class LogisticHvp(Workload):
    """The product of the Hessian with a vector."""

    by_hand_on_threads = True
    name = "Hessian-vector product, logistic 10,000x100"
    goal = "1.1 hand"
    n, d = 10_000, 100

    def data(self) -> None:
        Logistic.data(self)  # type: ignore[arg-type]
        self.v = np.random.default_rng(1).normal(size=self.d)

    def numpy(self) -> Side:
        x, w, v = self.x, self.w, self.v

        def run() -> Any:
            p = 1.0 / (1.0 + np.exp(-(x @ w)))
            return (p * (1.0 - p) * (x @ v)) @ x / x.shape[0]

        return plain(run)

    def hand(self) -> Side:
        from workloads.logistic_hand import logistic_hvp, logistic_hvp_part

        x, w, v, out = self.x, self.w, self.v, np.empty(self.d)
        if self.threads > 1:
            outs = np.empty((self.threads, self.d))
            run = self.team(logistic_hvp_part, x, w, v, outs)
            return plain(lambda: (run(), outs.sum(0) / self.n)[1])
        return plain(lambda: (logistic_hvp(x, w, v, out), out)[1])

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def product(x: Any, y: Any, w: Any, v: Any) -> Any:
            with tf.GradientTape() as outer:
                outer.watch(w)
                with tf.GradientTape() as inner:
                    inner.watch(w)
                    z = tf.linalg.matvec(x, w)
                    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z))
                gradient = inner.gradient(loss, w)
            return outer.gradient(gradient, w, output_gradients=v)

        return tape_side(product, *[tf.constant(a) for a in (self.x, self.y, self.w, self.v)])

    def jax(self) -> Side:
        import jax

        def product(w: Any, x: Any, y: Any, v: Any) -> Any:
            return jax.jvp(lambda w: jax.grad(_loss_in_jax)(w, x, y), (w,), (v,))[1]

        return compiled_by_jax(product, self.w, self.x, self.y, self.v)

    def torch(self) -> Side:
        import torch

        x, y, v = torch.tensor(self.x), torch.tensor(self.y), torch.tensor(self.v)
        w = torch.tensor(self.w, requires_grad=True)

        def run() -> Any:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y)
            (gradient,) = torch.autograd.grad(loss, w, create_graph=True)
            return torch.autograd.grad(gradient, w, v)[0]

        return Side(run, lambda result: [result.numpy()])


def _loss_in_jax(w: Any, x: Any, y: Any) -> Any:
    from jax import numpy as jnp

    z = x @ w
    return jnp.mean(jnp.maximum(z, 0.0) - y * z + jnp.log1p(jnp.exp(-jnp.abs(z))))
