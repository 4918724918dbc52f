"""Program of the demo: a classifier of handwritten digits, trained by a plain loop with explicit Adam.

Read `train`: it is the code that a user of jittape writes, except for `report`, which gets the loss of every step.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import jittape as jt

__all__ = ["BATCH", "classify", "predict", "train"]

Array = np.ndarray[Any, Any]

BATCH = 32
SIZES = (64, 128, 64, 10)
RATE, DECAY_MEAN, DECAY_SQUARE = 0.001, 0.9, 0.999


def initial_weights(rng: np.random.Generator) -> list[jt.Variable]:
    """Return He-normal matrices and zero biases for the layers of `SIZES`."""
    weights = []
    for fan_in, fan_out in pairwise(SIZES):
        matrix = rng.normal(scale=np.sqrt(2 / fan_in), size=(fan_in, fan_out))
        weights += [jt.Variable(matrix.astype(np.float32)), jt.Variable(np.zeros(fan_out, np.float32))]
    return weights


def classify(images: Array, weights: list[jt.Variable]) -> jt.Tensor:
    """Return the logits of the ten digits: two hidden layers with relu."""
    w1, b1, w2, b2, w3, b3 = weights
    hidden = jt.nn.relu(images @ w1 + b1)
    hidden = jt.nn.relu(hidden @ w2 + b2)
    return hidden @ w3 + b3


def train(images: Array, labels: Array, epochs: int, report: Callable[[float], None]) -> list[jt.Variable]:
    """Train with minibatches; each call uses the same batches and the same initial weights."""
    rng = np.random.default_rng(0)
    weights = initial_weights(rng)
    means = [jt.Variable(np.zeros(w.shape, np.float32), trainable=False) for w in weights]
    squares = [jt.Variable(np.zeros(w.shape, np.float32), trainable=False) for w in weights]
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            with jt.GradientTape() as tape:
                logits = classify(images[rows], weights)
                loss = jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(labels[rows], logits))
            gradients = tape.gradient(loss, weights)

            # Adam. Both bias corrections are Python numbers, so they are part of the step size.
            step += 1
            rate = RATE * (1 - DECAY_SQUARE**step) ** 0.5 / (1 - DECAY_MEAN**step)
            for w, mean, square, g in zip(weights, means, squares, gradients, strict=True):
                mean.assign(DECAY_MEAN * mean + (1 - DECAY_MEAN) * g)
                square.assign(DECAY_SQUARE * square + (1 - DECAY_SQUARE) * jt.square(g))
                w.assign_sub(rate * mean / (jt.sqrt(square) + 1e-7))

            report(float(loss))
    return weights


def predict(images: Array, weights: list[jt.Variable]) -> Array:
    """Return the most likely digit of every image."""
    return jt.argmax(classify(images, weights), axis=1).numpy()
