"""A training step of a convolutional network on images of 8 x 8 in float32: forward, backward, update."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.base import Side, Workload, stepped_by_jax

__all__ = ["ConvolutionalNet"]

BATCH, RATE = 64, 0.01
SHAPES = ((3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), (128, 10), (10,))


class ConvolutionalNet(Workload):
    """Two convolutions with pooling and one dense layer; compared are the loss and the weights after one step."""

    name = f"convolutional net 8x8, SGD step, batch {BATCH}"
    goal = "1.0 torch"
    tolerance = 1e-5

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(BATCH, 8, 8, 1)).astype(np.float32)
        self.y = rng.integers(10, size=BATCH).astype(np.int32)
        scales = [1 / np.sqrt(np.prod(shape[:-1])) if len(shape) > 1 else 0.1 for shape in SHAPES]
        self.weights = [
            rng.normal(scale=scale, size=shape).astype(np.float32)
            for scale, shape in zip(scales, SHAPES, strict=True)
        ]

    def tape(self, tf: Any, compiled: Any) -> Side:
        weights = [tf.Variable(w) for w in self.weights]

        @compiled
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                for kernel, bias in (weights[:2], weights[2:4]):
                    x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME") + bias)
                    x = tf.nn.max_pool2d(x, 2, 2, "VALID")
                logits = tf.reshape(x, [BATCH, -1]) @ weights[4] + weights[5]
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
            for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
                w.assign_sub(RATE * g)
            return loss

        x, y = tf.constant(self.x), tf.constant(self.y)
        return Side(lambda: step(x, y), lambda loss: [v.numpy() for v in (loss, *weights)])

    def jax(self) -> Side:
        import jax
        from jax import lax

        def loss_of(weights: Any, x: Any, y: Any) -> Any:
            for kernel, bias in (weights[:2], weights[2:4]):
                layouts = ("NHWC", "HWIO", "NHWC")
                x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layouts) + bias
                x = lax.reduce_window(jax.nn.relu(x), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            logits = x.reshape(BATCH, -1) @ weights[4] + weights[5]
            chosen = jax.numpy.take_along_axis(logits, y[:, None], 1)[:, 0]
            return jax.numpy.mean(jax.nn.logsumexp(logits, axis=1) - chosen)

        def step(weights: Any, x: Any, y: Any) -> Any:
            loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
            return loss, [w - RATE * g for w, g in zip(weights, gradients, strict=True)]

        return stepped_by_jax(step, self.weights, self.x, self.y)

    def torch(self) -> Side:
        import torch
        from torch.nn import functional

        # PyTorch's layouts: channels first, and output channels first in a kernel.
        orders = ((3, 2, 0, 1), (0,), (3, 2, 0, 1), (0,), (0, 1), (0,))
        weights = [
            torch.tensor(w.transpose(order).copy(), requires_grad=True)
            for w, order in zip(self.weights, orders, strict=True)
        ]
        x0, y = torch.tensor(self.x.transpose(0, 3, 1, 2).copy()), torch.tensor(self.y.astype(np.int64))
        optimizer = torch.optim.SGD(weights, lr=RATE)

        def run() -> Any:
            x = x0
            for kernel, bias in (weights[:2], weights[2:4]):
                x = functional.max_pool2d(
                    functional.relu(functional.conv2d(x, kernel, bias, padding="same")), 2
                )
            logits = x.permute(0, 2, 3, 1).reshape(BATCH, -1) @ weights[4] + weights[5]
            loss = functional.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        def values(loss: Any) -> list[Any]:
            found = [
                np.transpose(w.detach().numpy(), np.argsort(order))
                for w, order in zip(weights, orders, strict=True)
            ]
            return [loss.detach().numpy(), *found]

        return Side(run, values)
