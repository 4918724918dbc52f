"""Whole training steps, warm: record, find the executable, run it."""

import statistics
import timeit
from itertools import pairwise

import numpy as np

import jittape as jt


class LinearRegression:
    """The textbook's first program: two scalar Variables and 100 points."""

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        points = rng.uniform(-1, 1, 100).astype(np.float32)
        self.x = jt.constant(points)
        self.y = jt.constant(3 * points + 2)
        self.m, self.b = jt.Variable(0.0), jt.Variable(0.0)
        for _ in range(20):
            self.step()

    # asv's own timing sets up anew before every single call, so it would time a step with cold processor caches.
    unit = "µs a step"

    def track_warm_step(self) -> float:
        """The median of 25 times 400 steps."""
        return statistics.median(timeit.repeat(self.step, number=400, repeat=25)) / 400 * 1e6

    def step(self) -> None:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(self.m * self.x + self.b - self.y))
        dm, db = tape.gradient(loss, [self.m, self.b])
        self.m.assign_sub(0.05 * dm)
        self.b.assign_sub(0.05 * db)


class Digits:
    """A step of the demo's classifier (64, 128, 64, 10 units, batch 32) with Adam, on random pixels."""

    params = ("compiled", "interpreted")
    param_names = ("how",)
    sizes = (64, 128, 64, 10)

    def setup(self, how: str) -> None:
        jt.config.interpret = how == "interpreted"
        rng = np.random.default_rng(0)
        self.images = rng.normal(size=(32, 64)).astype(np.float32)
        self.labels = rng.integers(10, size=32)
        self.weights = []
        for fan_in, fan_out in pairwise(self.sizes):
            weight = rng.normal(scale=np.sqrt(2 / fan_in), size=(fan_in, fan_out))
            self.weights += [
                jt.Variable(weight.astype(np.float32)),
                jt.Variable(np.zeros(fan_out, np.float32)),
            ]
        self.means = [jt.Variable(np.zeros(w.shape, np.float32), trainable=False) for w in self.weights]
        self.squares = [jt.Variable(np.zeros(w.shape, np.float32), trainable=False) for w in self.weights]
        for _ in range(10):
            self.time_step(how)

    def teardown(self, how: str) -> None:
        jt.config.interpret = False

    def time_step(self, how: str) -> None:
        w1, b1, w2, b2, w3, b3 = self.weights
        with jt.GradientTape() as tape:
            hidden = jt.nn.relu(self.images @ w1 + b1)
            hidden = jt.nn.relu(hidden @ w2 + b2)
            logits = hidden @ w3 + b3
            loss = jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(self.labels, logits))
        gradients = tape.gradient(loss, self.weights)
        for weight, mean, square, g in zip(self.weights, self.means, self.squares, gradients, strict=True):
            mean.assign(0.9 * mean + 0.1 * g)
            square.assign(0.999 * square + 0.001 * jt.square(g))
            weight.assign_sub(0.001 * mean / (jt.sqrt(square) + 1e-7))
        float(loss)


class Embedding:
    """A step with an embedding of 10,000 words by 64 numbers and a softmax of 10 classes, batch 256."""

    params = ("SGD", "Adam")
    param_names = ("optimizer",)
    words, width, classes, batch = 10_000, 64, 10, 256

    def setup(self, optimizer: str) -> None:
        rng = np.random.default_rng(0)
        table = jt.Variable(rng.normal(size=(self.words, self.width)).astype(np.float32))
        weights = jt.Variable(rng.normal(size=(self.width, self.classes)).astype(np.float32))
        chosen = jt.optimizers.get(optimizer)

        @jt.function
        def step(words, labels):  # type: ignore[no-untyped-def]
            with jt.GradientTape() as tape:
                logits = jt.gather(table, words) @ weights
                loss = jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            gradients = tape.gradient(loss, [table, weights])
            chosen.apply_gradients(zip(gradients, [table, weights], strict=True))
            return loss

        self.step = step
        self.given = rng.integers(self.words, size=self.batch), rng.integers(self.classes, size=self.batch)
        for _ in range(5):
            self.time_step(optimizer)

    def time_step(self, optimizer: str) -> None:
        self.step(*self.given)


class Unrolled:
    """``w = sin(w) * 1.01 + 0.1 * w[::-1]`` repeatedly in one function: both times are linear in the steps."""

    params = (100, 1000)
    param_names = ("steps",)
    number = 1
    warmup_time = 0.0

    def setup(self, steps: int) -> None:
        self.w = jt.constant(np.random.default_rng(0).normal(size=1000))
        self.function = self.unrolled(steps)
        self.function(self.w).numpy()

    def unrolled(self, steps: int):  # type: ignore[no-untyped-def]
        @jt.function
        def function(w):  # type: ignore[no-untyped-def]
            for _ in range(steps):
                w = jt.sin(w) * 1.01 + 0.1 * w[::-1]
            return w

        return function

    def time_first_use(self, steps: int) -> None:
        """Record, schedule and compile again, with the kernels in the cache."""
        self.unrolled(steps)(self.w).numpy()

    def time_run(self, steps: int) -> None:
        self.function(self.w).numpy()
