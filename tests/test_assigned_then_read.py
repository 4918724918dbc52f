"""Functions that read Variables which they have assigned, under a tape: recorded, not run again as Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


def several_versions(x: Any, u: Any, v: Any, w: Any) -> tuple[Any, Any, Any]:
    old, twice = v.value(), v * 2.0
    v.assign(v * x)
    now = v + 1.0
    w.assign(w + jt.reduce_sum(now))
    v.assign(now * w)
    u.assign(u * v[0])
    part = u * old
    v.assign_sub(part * 0.1)
    return old * v * w + twice, u, x


def no_results(x: Any, u: Any, v: Any, w: Any) -> tuple[()]:
    w.assign(jt.reduce_sum(x))
    v.assign(v * w)
    u.assign(v[1])
    return ()


def given_values(x: Any, u: Any, v: Any, w: Any) -> tuple[Any, Any]:
    v.assign(x)
    first = jt.sin(v)
    v.assign(first)
    return v * u, v + w


def results(function: Callable[..., Any]) -> list[Any]:
    found: list[Any] = []
    v, w = jt.Variable([1.0, 2.0], dtype=jt.float64), jt.Variable(3.0, dtype=jt.float64)
    for i in range(4):
        u = jt.Variable(0.5, dtype=jt.float64)
        v.assign([1.0, 2.0])
        x = jt.constant([0.3 + i, 0.7], jt.float64)
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            given = function(x, u, v, w)
            target = jt.reduce_sum(v) * w + (jt.reduce_sum(jt.sin(given[0])) if given else 0.0)
        found += [*given, v.value(), w.value(), u.value()]
        for y in (target, *given):
            found += tape.gradient(y, [v, w, u, x], unconnected_gradients="zero")
    return [np.asarray(value) for value in found]


@pytest.mark.parametrize("function", [several_versions, no_results, given_values], ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_the_python_function(function: Callable[..., Any]) -> None:
    calls: list[int] = []

    @jt.function
    def traced(*arguments: Any) -> Any:
        calls.append(1)
        return function(*arguments)

    for found, expected in zip(results(traced), results(function), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(calls) == traced.trace_count


def test_a_captured_tensor_keeps_its_value() -> None:
    """Under a tape, too, where the Python function ran again and found the latest tensor. TensorFlow: the same."""
    v = jt.Variable([0.0, 0.0])
    shift = jt.constant([1.0, 2.0])

    @jt.function
    def f(x: Any) -> Any:
        v.assign_add(shift)
        v.assign_add(x)
        return x * 1.0

    for i in range(4):
        v.assign([0.0, 0.0])
        with jt.GradientTape():
            f(shift)
        np.testing.assert_array_equal(v, np.add(shift, [1.0, 2.0]))
        shift = jt.constant([i + 2.0, 1.0])
