"""Indices into arrays in loops: those that are known to be in range need no check at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.runtime.counters import counters

X = np.random.default_rng(0).normal(size=(6, 3))
Step = Callable[[Any, Any, Any], Any]


def loop(step: Step, trips: int = 6) -> Any:
    return jt.function(lambda x: jt.fori_loop(0, trips, lambda i, s: step(x, i, s), jt.constant(np.zeros(3))))


def kernels_in_the_loop(function: Any) -> int:
    for _ in range(3):
        function(jt.constant(X)).numpy()
    schedule = counters.last.compiled.schedule
    (body,) = [body for step in schedule.steps for body in step.bodies]
    return len(body.steps)


@pytest.mark.parametrize(
    "step",
    [
        lambda x, i, s: 0.5 * s + x[i],
        lambda x, i, s: 0.5 * s + x[i, 2],
        lambda x, i, s: 0.5 * s + x[jt.cast(i, "int8")],
        lambda x, i, s: 0.5 * s + jt.gather(x, i),
    ],
)
def test_numbers_of_iterations_and_literals_are_not_checked(step: Step) -> None:
    function = loop(step)
    assert kernels_in_the_loop(function) == 1
    state = np.zeros(3)
    for i in range(6):
        state = np.asarray(step(X, jt.constant(i), state))
    np.testing.assert_allclose(function(jt.constant(X)).numpy(), state, rtol=1e-14)


@pytest.mark.parametrize(
    ("step", "trips"),
    [
        (lambda x, i, s: s + x[i], 7),
        (lambda x, i, s: s + x[i + 1], 6),
        (lambda x, i, s: s + x[2 * i], 6),
        (lambda x, i, s: s + jt.gather(x[:, 0], jt.cast(i, "int8")), 140),
    ],
)
def test_an_index_out_of_range_is_an_error(step: Step, trips: int) -> None:
    function = loop(step, trips)
    for _ in range(3):
        with pytest.raises(jt.errors.InvalidArgumentError, match="out of bounds"):
            function(jt.constant(X)).numpy()


def test_negative_literals_count_from_the_end() -> None:
    function = loop(lambda x, i, s: s + jt.gather(x, jt.constant(-1)) + x[i, -2])
    for _ in range(3):
        found = function(jt.constant(X)).numpy()
    np.testing.assert_allclose(found, 6 * X[-1] + X[:, -2].sum(), rtol=1e-14)


def test_literals_of_a_loop_inside_a_loop() -> None:
    """A literal moves through both bodies."""

    def step(x: Any, i: Any, s: Any) -> Any:
        return jt.fori_loop(0, 3, lambda k, t: 0.5 * t + x[i, k] + x[i, 1], s)

    function = loop(step)
    for _ in range(3):
        found = function(jt.constant(X)).numpy()
    state = np.zeros(3)
    for i in range(6):
        for k in range(3):
            state = 0.5 * state + X[i, k] + X[i, 1]
    np.testing.assert_allclose(found, state, rtol=1e-14)


def test_gradient_of_a_loop_has_no_checks() -> None:
    value = loop(lambda x, i, s: jt.sin(s) * x[i, 1])
    gradient = jt.function(jt.grad(lambda x: jt.reduce_sum(value(x))))
    for _ in range(3):
        found = gradient(jt.constant(X)).numpy()
    names = [
        op.primitive.name
        for step in counters.last.compiled.schedule.steps
        for body in step.bodies
        for inner in body.steps
        for op in inner.ops
    ]
    assert "assert" not in names
    jt.check_gradient(lambda x: jt.reduce_sum(value(x)), X)
    assert found.shape == X.shape
