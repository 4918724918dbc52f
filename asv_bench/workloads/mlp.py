"""A training step of a classifier 784-128-64-10 in float32: forward, backward, update."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from workloads.base import Side, Workload, stepped_by_jax

__all__ = ["AdamMlp", "SgdMlp", "UndecoratedMlp"]

SIZES = (784, 128, 64, 10)
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7


class SgdMlp(Workload):
    """Stochastic gradient descent; compared are the loss and the weights after one step."""

    rate = 0.01
    tolerance = 1e-5
    by_hand_on_threads = True

    def __init__(self, batch: int, goal: str) -> None:
        self.batch, self.goal = batch, goal
        self.name = f"MLP, SGD step, batch {batch}"

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(self.batch, SIZES[0])).astype(np.float32)
        self.y = rng.integers(10, size=self.batch).astype(np.int32)
        self.weights: list[Any] = []
        for fan_in, fan_out in pairwise(SIZES):
            weight = rng.normal(scale=np.sqrt(2 / fan_in), size=(fan_in, fan_out))
            self.weights += [weight.astype(np.float32), np.zeros(fan_out, np.float32)]

    def copies(self) -> list[Any]:
        return [w.copy() for w in self.weights]

    def numpy(self) -> Side:
        weights, rate = self.copies(), np.float32(self.rate)

        def run() -> Any:
            loss, gradients = _gradients(weights, self.x, self.y)
            for w, g in zip(weights, gradients, strict=True):
                w -= rate * g
            return loss

        return Side(run, lambda loss: [loss, *weights])

    def hand(self) -> Side:
        from workloads.mlp_hand import sgd_part, sgd_step, workspace

        weights, space = self.copies(), workspace(self.batch, SIZES)
        if self.threads > 1:
            losses = np.empty((self.threads, 8))
            step = self.team(sgd_part, self.x, self.y, *weights, *space, self.rate, losses)
            return Side(lambda: (step(0), step(1), losses[:, 0].sum())[2], lambda loss: [loss, *weights])

        def run() -> Any:
            return sgd_step(self.x, self.y, *weights, *space, self.rate)

        return Side(run, lambda loss: [loss, *weights])

    def tape(self, tf: Any, compiled: Any) -> Side:
        weights = [tf.Variable(w) for w in self.weights]
        rate = self.rate

        @compiled
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = _loss_on_tape(tf, weights, x, y)
            for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
                w.assign_sub(rate * g)
            return loss

        x, y = tf.constant(self.x), tf.constant(self.y)
        return Side(lambda: step(x, y), lambda loss: [v.numpy() for v in (loss, *weights)])

    def jax(self) -> Side:
        import jax

        def step(weights: Any, x: Any, y: Any) -> Any:
            loss, gradients = jax.value_and_grad(_loss_in_jax)(weights, x, y)
            return loss, [w - self.rate * g for w, g in zip(weights, gradients, strict=True)]

        return stepped_by_jax(step, self.weights, self.x, self.y)

    def torch(self) -> Side:
        import torch

        weights, loss_of = _torch_model(self)
        optimizer = torch.optim.SGD(weights, lr=self.rate)
        run = _torch_step(optimizer, loss_of)
        return Side(run, lambda loss: [v.detach().numpy() for v in (loss, *weights)])


class UndecoratedMlp(SgdMlp):
    """The same as a plain loop, nothing decorated; JAX stays jitted."""

    def __init__(self, batch: int, goal: str) -> None:
        super().__init__(batch, goal)
        self.name = f"undecorated tape: MLP, SGD step, batch {batch}"

    def undecorated(self, tf: Any) -> Side:
        side = self.tape(tf, lambda function: function)
        side.finish = (
            float  # jittape computes a step when its result is asked for, or when the next one begins
        )
        return side

    def jittape(self) -> Side:
        import jittape

        return self.undecorated(jittape)

    def tensorflow(self) -> Side:
        import tensorflow

        return self.undecorated(tensorflow)


class AdamMlp(SgdMlp):
    """The same with Adam; the averages are compared as well."""

    by_hand_on_threads = False
    rate = 1e-5
    tolerance = 1e-4

    def __init__(self, batch: int, goal: str) -> None:
        super().__init__(batch, goal)
        self.name = f"MLP, Adam step, batch {batch}"

    def averages(self) -> list[Any]:
        return [np.zeros_like(w) for w in self.weights]

    def numpy(self) -> Side:
        weights, first, second = self.copies(), self.averages(), self.averages()
        count = [0]

        def run() -> Any:
            count[0] += 1
            size = step_size(self.rate, count[0], np.sqrt)
            loss, gradients = _gradients(weights, self.x, self.y)
            for w, m, v, g in zip(weights, first, second, gradients, strict=True):
                m += np.float32(1 - BETA_1) * (g - m)
                v += np.float32(1 - BETA_2) * (g * g - v)
                w -= np.float32(size) * m / (np.sqrt(v) + np.float32(EPSILON))
            return loss

        return Side(run, lambda loss: [loss, *weights, *first, *second])

    def hand(self) -> Side:
        from workloads.mlp_hand import adam_step, workspace

        weights, first, second = self.copies(), self.averages(), self.averages()
        space, gradients = workspace(self.batch, SIZES), self.averages()
        count = [0]
        arguments = (*weights, *space, *gradients, *first, *second)

        def run() -> Any:
            count[0] += 1
            return adam_step(self.x, self.y, *arguments, step_size(self.rate, count[0], np.sqrt))

        return Side(run, lambda loss: [loss, *weights, *first, *second])

    def tape(self, tf: Any, compiled: Any) -> Side:
        weights = [tf.Variable(w) for w in self.weights]
        optimizer = tf.optimizers.Adam(self.rate, BETA_1, BETA_2, EPSILON)

        @compiled
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = _loss_on_tape(tf, weights, x, y)
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        def values(loss: Any) -> list[Any]:
            averages = [v for v in optimizer.variables if len(v.shape)]
            return [v.numpy() for v in (loss, *weights, *averages[::2], *averages[1::2])]

        x, y = tf.constant(self.x), tf.constant(self.y)
        return Side(lambda: step(x, y), values)

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp

        def step(state: Any, x: Any, y: Any) -> Any:
            weights, first, second, count = state
            loss, gradients = jax.value_and_grad(_loss_in_jax)(weights, x, y)
            size = step_size(self.rate, count + 1, jnp.sqrt).astype(jnp.float32)
            first = [BETA_1 * m + (1 - BETA_1) * g for m, g in zip(first, gradients, strict=True)]
            second = [BETA_2 * v + (1 - BETA_2) * g * g for v, g in zip(second, gradients, strict=True)]
            moments = zip(weights, first, second, strict=True)
            weights = [w - size * m / (jnp.sqrt(v) + EPSILON) for w, m, v in moments]
            return loss, (weights, first, second, count + 1)

        side = stepped_by_jax(step, (self.weights, self.averages(), self.averages(), 0.0), self.x, self.y)
        return Side(side.run, lambda loss: side.values(loss)[:-1])

    def torch(self) -> Side:
        import torch

        weights, loss_of = _torch_model(self)
        # PyTorch adds epsilon after the bias correction; so the first step, which is compared, is the same.
        epsilon = EPSILON / (1 - BETA_2) ** 0.5
        optimizer = torch.optim.Adam(weights, lr=self.rate, betas=(BETA_1, BETA_2), eps=epsilon)
        run = _torch_step(optimizer, loss_of)

        def values(loss: Any) -> list[Any]:
            states = [optimizer.state[w] for w in weights]
            averages = [s[key] for key in ("exp_avg", "exp_avg_sq") for s in states]
            return [v.detach().numpy() for v in (loss, *weights, *averages)]

        return Side(run, values)


def step_size(rate: float, count: Any, sqrt: Any) -> Any:
    return rate * sqrt(1 - BETA_2**count) / (1 - BETA_1**count)


def _gradients(weights: list[Any], x: Any, y: Any) -> tuple[Any, list[Any]]:
    w1, b1, w2, b2, w3, b3 = weights
    h1 = np.maximum(x @ w1 + b1, 0)
    h2 = np.maximum(h1 @ w2 + b2, 0)
    z = h2 @ w3 + b3
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1, keepdims=True)
    rows = np.arange(y.size)
    loss = np.mean(np.log(total[:, 0]) - z[rows, y])
    e /= total
    e[rows, y] -= 1
    e /= np.float32(y.size)
    d2 = (e @ w3.T) * (h2 > 0)
    d1 = (d2 @ w2.T) * (h1 > 0)
    return loss, [x.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ e, e.sum(0)]


def _loss_on_tape(tf: Any, weights: list[Any], x: Any, y: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = weights
    h1 = tf.nn.relu(tf.matmul(x, w1) + b1)
    h2 = tf.nn.relu(tf.matmul(h1, w2) + b2)
    logits = tf.matmul(h2, w3) + b3
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def _loss_in_jax(weights: list[Any], x: Any, y: Any) -> Any:
    import jax
    from jax import numpy as jnp

    w1, b1, w2, b2, w3, b3 = weights
    h1 = jax.nn.relu(x @ w1 + b1)
    h2 = jax.nn.relu(h1 @ w2 + b2)
    logits = jax.nn.log_softmax(h2 @ w3 + b3)
    return -jnp.mean(jnp.take_along_axis(logits, y[:, None], axis=1))


def _torch_model(row: SgdMlp) -> tuple[list[Any], Any]:
    import torch

    weights = [torch.tensor(w, requires_grad=True) for w in row.weights]
    x, y = torch.tensor(row.x), torch.tensor(row.y, dtype=torch.int64)
    w1, b1, w2, b2, w3, b3 = weights

    def loss_of() -> Any:
        h1 = torch.relu(torch.addmm(b1, x, w1))
        h2 = torch.relu(torch.addmm(b2, h1, w2))
        return torch.nn.functional.cross_entropy(torch.addmm(b3, h2, w3), y)

    return weights, loss_of


def _torch_step(optimizer: Any, loss_of: Any) -> Any:
    def run() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return run
