"""Functions that assign Variables, recomputed in the gradient: everything is as without `jt.recompute_grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt


class State:
    """The Variables of one run."""

    def __init__(self) -> None:
        self.state = jt.Variable([1.0, 2.0], dtype="float64")
        self.last = jt.Variable([0.0, 0.0], dtype="float64", trainable=False)
        self.weights = jt.Variable([0.5, 0.7], dtype="float64")


def read_after(own: State, x: Any) -> Any:
    own.state.assign_add(0.1 * jt.sin(x))
    return x * x * own.weights + own.state * x * x


def read_before(own: State, x: Any) -> Any:
    y = own.state * x * own.weights
    own.state.assign(own.state * 0.9 + 0.1 * x)
    return jt.tanh(y) * x


def assigned_twice(own: State, x: Any) -> Any:
    own.state.assign_add(0.1 * x)
    y = own.state * x
    own.state.assign(own.state * 0.5)
    return y * own.state * own.weights


def only_written(own: State, x: Any) -> Any:
    own.last.assign(x * 2.0)
    return jt.sin(x * own.weights)


def computed_between(own: State, x: Any) -> Any:
    own.state.assign_add(0.1 * jt.sin(x))
    float(own.state[0])
    y = x * x * own.weights + own.state * x * x
    own.state.assign_add(x * 0.01)
    float(own.state[0])
    return y


def by_a_function(own: State, x: Any) -> Any:
    return jt.function(lambda x: read_before(own, x))(x)


def run(f: Callable[..., Any], wrap: Callable[..., Any], step_of: Callable[..., Any]) -> list[Any]:
    """The gradients of both orders and the Variables of a few steps, which also assign the state themselves."""
    own = State()
    block = wrap(lambda x: f(own, x))
    variables = [own.weights, own.state]

    def step(x: Any) -> list[Any]:
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = block(block(x))
            first = inner.gradient(y, [x, *variables], unconnected_gradients="zero")
            target = jt.reduce_sum(first[0] * first[0])
        second = outer.gradient(target, [x, *variables], unconnected_gradients="zero")
        own.state.assign_add(0.01 * y)
        return [y, *first, *second]

    step = step_of(step)
    found = []
    for i in range(4):
        found += [result.numpy() for result in step(jt.constant([0.3 + i % 2, 1.2], dtype="float64"))]
        found += [own.state.numpy(), own.last.numpy()]
    return found


TRACED = [read_after, read_before, assigned_twice, only_written, by_a_function]
WAYS = [(f, jt.function) for f in TRACED] + [(f, lambda step: step) for f in (*TRACED, computed_between)]


@pytest.mark.parametrize(("f", "step_of"), WAYS)
def test_a_recomputed_function_assigns_once(f: Callable[..., Any], step_of: Callable[..., Any]) -> None:
    again, plain = run(f, jt.recompute_grad, step_of), run(f, lambda f: f, step_of)
    for found, expected in zip(again, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_recomputed_layer_updates_its_statistics_once(compiled: bool) -> None:
    layer = jt.keras.layers.BatchNormalization(momentum=0.5)
    layer.build((None, 2))
    block = jt.recompute_grad(lambda x: layer(x, training=True))

    def gradient(x: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = block(x)
        return tape.gradient(y, x)

    step = jt.function(gradient) if compiled else gradient
    for k in range(1, 4):
        step(jt.constant([[1.0, 3.0], [3.0, 5.0]]))
        np.testing.assert_allclose(layer.moving_mean.numpy(), np.array([2.0, 4.0]) * (1 - 0.5**k))
