"""Whole programs, recorded and as a `jt.function`: the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")

Step = Callable[..., Any]
STEPS = 5


def data(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def linear_regression() -> tuple[Step, list[Any]]:
    x = data(50)
    m, b = jt.Variable(0.0), jt.Variable(0.0)

    def step(rate: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(m * x + b - (3 * x + 2)))
        dm, db = tape.gradient(loss, [m, b])
        m.assign_sub(rate * dm)
        b.assign_sub(rate * db)
        return loss, dm

    return step, [m, b]


def logistic_regression() -> tuple[Step, list[Any]]:
    x, y = data(40, 3, dtype="float64"), (data(40) > 0).astype("float64")
    w = jt.Variable(np.zeros(3))

    def step(rate: Any) -> Any:
        with jt.GradientTape() as tape:
            z = jt.tensordot(x, w, 1)
            loss = jt.reduce_mean(jt.math.softplus(z) - y * z) + 0.01 * jt.reduce_sum(w**2)
        w.assign_sub(rate * tape.gradient(loss, w))
        return loss

    return step, [w]


def classifier(optimizer: Callable[[], Any]) -> Callable[[], tuple[Step, list[Any]]]:
    def program() -> tuple[Step, list[Any]]:
        jt.random.set_seed(5)
        model = jt.nn.Sequential([jt.nn.Dense(8, "relu", input_dim=4), jt.nn.Dense(3, input_dim=8)])
        x, labels = data(16, 4), np.arange(16) % 3
        chosen = optimizer()

        def step(rate: Any) -> Any:
            chosen.learning_rate = rate
            with jt.GradientTape() as tape:
                losses = jt.nn.sparse_softmax_cross_entropy_with_logits(labels, model(x))
                loss = jt.reduce_mean(losses)
            variables = model.trainable_variables
            gradients = tape.gradient(loss, variables)
            chosen.apply_gradients(zip(gradients, variables, strict=True))
            return {"loss": loss, "hits": jt.reduce_sum(jt.cast(jt.argmax(model(x), 1) == labels, jt.int32))}

        return step, list(model.variables)

    return program


def gradient_penalty() -> tuple[Step, list[Any]]:
    w1, w2 = jt.Variable(data(4, 6)), jt.Variable(data(6, 1))
    x = data(10, 4)

    def step(rate: Any) -> Any:
        with jt.GradientTape() as outer:
            points = jt.constant(x) + jt.random.uniform([10, 1]) * 0.0
            with jt.GradientTape() as inner:
                inner.watch(points)
                score = jt.tanh(points @ w1) @ w2
            slope = inner.gradient(score, points)
            norm = jt.sqrt(jt.reduce_sum(slope**2, 1) + 1e-6)
            loss = jt.reduce_mean(score) + 10.0 * jt.reduce_mean((norm - 1.0) ** 2)
        for w, g in zip([w1, w2], outer.gradient(loss, [w1, w2]), strict=True):
            w.assign_sub(rate * g)
        return loss, norm

    return step, [w1, w2]


def newton() -> tuple[Step, list[Any]]:
    x = jt.Variable(np.array([-1.2, 1.0]))

    def step(rate: Any) -> Any:
        with jt.GradientTape() as outer:
            with jt.GradientTape() as inner:
                y = 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
            g = inner.gradient(y, x)
        h = outer.jacobian(g, x)
        x.assign_sub(rate * 1e-3 * g)
        return y, g, h

    return step, [x]


def unrolled_recurrence() -> tuple[Step, list[Any]]:
    w = jt.Variable(data(5, 5) * 0.3)
    sequence = data(7, 2, 5)

    def step(rate: Any) -> Any:
        with jt.GradientTape() as tape:
            h = jt.zeros([2, 5])
            for x in sequence:
                h = jt.tanh(x + h @ w)
            loss = jt.reduce_sum(h**2)
        w.assign_sub(rate * 0.01 * tape.gradient(loss, w))
        return loss, h

    return step, [w]


def running_statistics() -> tuple[Step, list[Any]]:
    mean, count = jt.Variable(np.zeros(3)), jt.Variable(0)
    history = jt.Variable(np.zeros((4, 3)))

    def step(rate: Any) -> Any:
        count.assign_add(1)
        x = jt.constant(data(3, dtype="float64")) * jt.cast(count, "float64") * rate
        mean.assign_add((x - mean) / jt.cast(count, "float64"))
        history[1:3] = jt.stack([mean, x])
        return mean * 1.0, history[0] + history[2]

    return step, [mean, count, history]


PROGRAMS = {
    "linear regression": linear_regression,
    "logistic regression": logistic_regression,
    "classifier, SGD": classifier(lambda: jt.optimizers.SGD(0.1, momentum=0.9)),
    "classifier, Adam": classifier(lambda: jt.optimizers.Adam(0.1)),
    "gradient penalty": gradient_penalty,
    "newton": newton,
    "unrolled recurrence": unrolled_recurrence,
    "running statistics": running_statistics,
}


def leaves(result: Any) -> list[Any]:
    parts = (
        result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else (result,)
    )
    return [part.numpy() for part in parts]


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_and_compiled_agree(name):
    runs = []
    for compiled in (False, True):
        step, variables = PROGRAMS[name]()
        run = jt.function(step) if compiled else step
        results = [leaves(run(0.1 / (i + 1))) for i in range(STEPS)]
        runs.append((results, [v.numpy() for v in variables]))
        if compiled:
            assert len(run.signatures()) == 1
            assert not run.signatures()[0].recorded
    (recorded, before), (found, after) = runs
    for a, b in zip(found, recorded, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)
            assert x.dtype == y.dtype
    for x, y in zip(after, before, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_is_one_executable(name, mode):
    step, _ = PROGRAMS[name]()
    run = jt.function(step)
    run(0.1)
    run(0.1)
    jt.reset_stats()
    run(0.05)
    stats = jt.stats()
    assert (stats.flushes, stats.compiled_runs + stats.interpreted_runs, stats.programs) == (0, 1, 0)
    assert stats.compiled_runs == (1 if mode == "compiled" else 0)
