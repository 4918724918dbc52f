"""LSTM, gradient penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.base import Side, Workload, compiled_by_jax, gradient_by_torch, plain, tape_side

__all__ = ["GradientPenalty", "Lstm"]


class Lstm(Workload):
    """Mean square of the last state of a cell of 32 units over 50 steps, batch 16, and its gradient by the weights."""

    name = "LSTM, T=50, H=32, B=16"
    goal = "1.3 hand"
    steps, units, batch = 50, 32, 16

    def data(self) -> None:
        rng = np.random.default_rng(0)
        t, h, b = self.steps, self.units, self.batch
        self.x = rng.normal(size=(t, b, h))
        scale = 1 / np.sqrt(h)
        self.point = scale * rng.normal(size=(h, 4 * h)), scale * rng.normal(size=(h, 4 * h)), np.zeros(4 * h)

    def numpy(self) -> Side:
        x, (wx, wh, bias) = self.x, self.point
        t, b, h = x.shape

        def run() -> Any:
            state, cell = np.zeros((b, h)), np.zeros((b, h))
            tape = []
            for k in range(t):
                z = x[k] @ wx + state @ wh + bias
                i, f, g, o = np.split(z, 4, axis=1)
                i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
                g = np.tanh(g)
                before, cell = cell, f * cell + i * g
                c = np.tanh(cell)
                tape.append((state, before, i, f, g, o, c))
                state = o * c
            value = np.mean(state**2)
            d_state, d_cell = 2 * state / state.size, np.zeros((b, h))
            d_wx, d_wh, d_bias = np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(bias)
            for k in reversed(range(t)):
                state, before, i, f, g, o, c = tape[k]
                d_cell = d_cell + d_state * o * (1 - c * c)
                gates = (d_cell * g * i * (1 - i), d_cell * before * f * (1 - f))
                gates += (d_cell * i * (1 - g * g), d_state * c * o * (1 - o))
                d_z = np.concatenate(gates, axis=1)
                d_wx += x[k].T @ d_z
                d_wh += state.T @ d_z
                d_bias += d_z.sum(0)
                d_state, d_cell = d_z @ wh.T, d_cell * f
            return value, d_wx, d_wh, d_bias

        return plain(run)

    def hand(self) -> Side:
        from workloads.nets_hand import lstm, lstm_workspace

        outs, space = [np.empty_like(p) for p in self.point], lstm_workspace(*self.x.shape)
        return plain(lambda: (lstm(self.x, *self.point, *outs, *space), outs))

    def tape(self, tf: Any, compiled: Any) -> Side:
        zeros = tf.constant(np.zeros((self.batch, self.units)))

        @compiled
        def value_and_gradient(x: Any, wx: Any, wh: Any, bias: Any) -> Any:
            point = [wx, wh, bias]
            with tf.GradientTape() as tape:
                tape.watch(point)
                state = cell = zeros
                for k in range(self.steps):
                    z = tf.matmul(x[k], wx) + tf.matmul(state, wh) + bias
                    i, f, g, o = tf.split(z, 4, axis=1)
                    cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
                    state = tf.sigmoid(o) * tf.tanh(cell)
                value = tf.reduce_mean(tf.square(state))
            return (value, *tape.gradient(value, point))

        return tape_side(value_and_gradient, tf.constant(self.x), *[tf.constant(p) for p in self.point])

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp

        def f(wx: Any, wh: Any, bias: Any, x: Any) -> Any:
            def step(carry: Any, row: Any) -> Any:
                state, cell = carry
                i, f, g, o = jnp.split(row @ wx + state @ wh + bias, 4, axis=1)
                cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
                return (jax.nn.sigmoid(o) * jnp.tanh(cell), cell), None

            zeros = jnp.zeros((self.batch, self.units))
            (state, _), _ = jax.lax.scan(step, (zeros, zeros), x)
            return jnp.mean(state**2)

        return compiled_by_jax(jax.value_and_grad(f, argnums=(0, 1, 2)), *self.point, self.x)

    def torch(self) -> Side:
        import torch

        x = torch.tensor(self.x)
        zeros = torch.zeros((self.batch, self.units), dtype=torch.float64)

        def f(wx: Any, wh: Any, bias: Any) -> Any:
            state = cell = zeros
            for row in x @ wx + bias:
                i, f, g, o = torch.chunk(torch.addmm(row, state, wh), 4, 1)
                cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
                state = torch.sigmoid(o) * torch.tanh(cell)
            return torch.mean(state**2)

        return gradient_by_torch(f, *self.point)


class GradientPenalty(Workload):
    """How far from 1 the gradients of a critic 32-64-64-1 are, and the gradient of that by its weights, batch 64."""

    name = "gradient penalty, 32-64-64-1, batch 64"
    goal = "1.4 hand"
    sizes = (32, 64, 64, 1)

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(64, 32))
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        w1, w2, w3 = (rng.normal(size=(m, n)) / np.sqrt(m) for m, n in pairs)
        self.point = w1, 0.1 * rng.normal(size=64), w2, 0.1 * rng.normal(size=64), w3

    def numpy(self) -> Side:
        x, (w1, b1, w2, b2, w3) = self.x, self.point

        def run() -> Any:
            h1 = np.tanh(x @ w1 + b1)
            h2 = np.tanh(h1 @ w2 + b2)
            s1, s2 = 1 - h1 * h1, 1 - h2 * h2
            d2 = w3[:, 0] * s2
            e1 = d2 @ w2.T
            d1 = e1 * s1
            g = d1 @ w1.T
            norm = np.sqrt(np.square(g).sum(1, keepdims=True))
            value = np.mean((norm - 1) ** 2)
            r = 2 * (norm - 1) / norm * g / x.shape[0]
            r_d1 = r @ w1
            r_e1 = r_d1 * s1
            r_d2 = r_e1 @ w2
            z2 = -2 * h2 * (r_d2 * w3[:, 0]) * s2
            z1 = (z2 @ w2.T - 2 * h1 * (r_d1 * e1)) * s1
            d_w3 = (r_d2 * s2).sum(0)[:, None]
            return value, r.T @ d1 + x.T @ z1, z1.sum(0), r_e1.T @ d2 + h1.T @ z2, z2.sum(0), d_w3

        return plain(run)

    def hand(self) -> Side:
        from workloads.nets_hand import penalty, penalty_workspace

        outs, space = [np.empty_like(p) for p in self.point], penalty_workspace(64, 32, 64)
        return plain(lambda: (penalty(self.x, *self.point, *outs, *space), outs))

    def tape(self, tf: Any, compiled: Any) -> Side:
        @compiled
        def value_and_gradient(x: Any, *point: Any) -> Any:
            w1, b1, w2, b2, w3 = point
            with tf.GradientTape() as outer:
                outer.watch(point)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    h2 = tf.tanh(tf.matmul(tf.tanh(tf.matmul(x, w1) + b1), w2) + b2)
                    score = tf.matmul(h2, w3)
                norm = tf.sqrt(tf.reduce_sum(tf.square(inner.gradient(score, x)), 1))
                value = tf.reduce_mean(tf.square(norm - 1.0))
            return (value, *outer.gradient(value, point))

        return tape_side(value_and_gradient, tf.constant(self.x), *[tf.constant(p) for p in self.point])

    def jax(self) -> Side:
        import jax
        from jax import numpy as jnp

        def critic(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any) -> Any:
            return jnp.sum(jnp.tanh(jnp.tanh(x @ w1 + b1) @ w2 + b2) @ w3)

        def f(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, x: Any) -> Any:
            norm = jnp.sqrt(jnp.sum(jax.grad(critic)(x, w1, b1, w2, b2, w3) ** 2, 1))
            return jnp.mean((norm - 1) ** 2)

        return compiled_by_jax(jax.value_and_grad(f, argnums=(0, 1, 2, 3, 4)), *self.point, self.x)

    def torch(self) -> Side:
        import torch

        x = torch.tensor(self.x, requires_grad=True)

        def f(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any) -> Any:
            score = torch.tanh(torch.addmm(b2, torch.tanh(torch.addmm(b1, x, w1)), w2)) @ w3
            (g,) = torch.autograd.grad(score.sum(), x, create_graph=True)
            return torch.mean((torch.sqrt(torch.sum(g**2, 1)) - 1) ** 2)

        return gradient_by_torch(f, *self.point)
