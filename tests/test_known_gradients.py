"""Gradients and Jacobians that the trie knows: the same as when they were derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import jittape as jt
from jittape.autodiff.tape_interval import TapeInterval
from jittape.recording.trace import current_trace
from jittape.recording.trie import trie


def values(found: Any) -> Any:
    return jt.nest.map_structure(lambda t: None if t is None else t.numpy().tolist(), found)


def queries() -> Any:
    """Count the queries that a gradient or a Jacobian asks because it is not known."""
    return patch.object(TapeInterval, "query", autospec=True, side_effect=TapeInterval.query)


SOURCES: dict[str, Callable[[Any, Any], Any]] = {
    "one Variable": lambda v, x: v,
    "one tensor": lambda v, x: x,
    "list": lambda v, x: [v, x],
    "tuple": lambda v, x: (x, v),
    "list of one": lambda v, x: [x],
}


@pytest.mark.parametrize("of", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("method", ["gradient", "jacobian"])
@pytest.mark.parametrize("persistent", [False, True])
def test_the_second_time_is_the_first(of: Callable[[Any, Any], Any], method: str, persistent: bool):
    v, x = jt.Variable(np.array([1.0, 2.0, 3.0])), jt.constant(np.array([2.0, 0.5, 1.0]))
    seen = []
    with queries() as asked:
        for i in range(4):
            v.assign(np.array([1.0, 2.0, 3.0]) + i)
            with jt.GradientTape(persistent=persistent) as tape:
                tape.watch(x)
                y = v * v * x
            found = getattr(tape, method)(y, of(v, x))
            if not persistent:
                with pytest.raises(RuntimeError, match="once"):
                    getattr(tape, method)(y, of(v, x))
            seen.append(values(found))
            assert asked.call_count <= 1  # 0 if another case has recorded the same path
    now = np.array([1.0, 2.0, 3.0]) + 3
    wanted = {id(v): 2 * now * x.numpy(), id(x): now * now}
    shaped = np.diag if method == "jacobian" else np.asarray
    sources = of(v, x)
    if isinstance(sources, (list, tuple)):
        assert type(found) is type(sources)
    else:
        sources, seen = [sources], [[last] for last in seen]
    for source, array in zip(sources, seen[-1], strict=True):
        np.testing.assert_allclose(array, shaped(wanted[id(source)]))


def test_a_jacobian_of_more_elements_than_the_source():
    x = jt.Variable(np.array([0.5, 1.5]))
    for i in range(4):
        x.assign(np.array([0.5, 1.5]) * (i + 1))
        with jt.GradientTape() as tape:
            y = jt.stack([x[0] * x[1], x[0] ** 2, jt.sin(x[1])])
        with queries() as asked:
            found = tape.jacobian(y, x)
        assert asked.call_count == (i == 0)
        a, b = x.numpy()
        np.testing.assert_allclose(found.numpy(), [[b, a], [2 * a, 0], [0, np.cos(b)]])


def test_nested_tapes_and_two_jacobians():
    x = jt.Variable(np.array([0.5, 1.5, 2.0]))
    for i in range(4):
        with jt.GradientTape(persistent=True) as outer:
            with jt.GradientTape() as inner:
                y = jt.reduce_sum(x**3)
            slope = inner.gradient(y, x)
            twice = 2.0 * slope
        with queries() as asked:
            hessian, third = outer.jacobian(slope, x), outer.jacobian(twice, x)
            slopes = outer.gradient(slope, x)
        assert asked.call_count == 3 * (i == 0)
        np.testing.assert_allclose(hessian.numpy(), np.diag(6 * x.numpy()))
        np.testing.assert_allclose(third.numpy(), np.diag(12 * x.numpy()))
        np.testing.assert_allclose(slopes.numpy(), 6 * x.numpy())


def test_what_is_not_remembered():
    """A gradient function of the user's runs every time; None is explained every time."""
    calls = []

    @jt.custom_gradient
    def doubled(x: Any) -> Any:
        def gradient(upstream: Any) -> Any:
            calls.append(1)
            return 2.0 * upstream

        return 2.0 * x, gradient

    x, other = jt.Variable(np.array([1.0, 2.0])), jt.Variable(1.0)
    for i in range(3):
        with jt.GradientTape(persistent=True) as tape:
            y = doubled(x)
        assert tape.jacobian(y, x).numpy().tolist() == [[2, 0], [0, 2]]
        assert len(calls) == i + 1
        for method in (tape.jacobian, tape.gradient):
            with pytest.warns(jt.errors.UnconnectedGradientWarning):
                assert method(y, other) is None
        assert tape.jacobian(y, other, unconnected_gradients="zero").shape == (2,)


def test_writes_and_watched_variables():
    v = jt.Variable([1.0, 2.0], trainable=False)
    for _ in range(3):
        t = jt.constant([1.0, 2.0])
        with jt.GradientTape(persistent=True) as tape:
            tape.watch([t, v])
            first = t * t
            t[0] = 5.0
            second = t * v
        assert tape.gradient(first, t).numpy().tolist() == [2, 4]
        assert tape.gradient(second, v).numpy().tolist() == [5, 2]
        assert tape.jacobian(second, v).numpy().tolist() == [[5, 0], [0, 2]]


def test_after_pruning():
    x = jt.Variable(np.array([1.0, 2.0]))
    for i in range(6):
        if i == 3:
            current_trace().step()
            trie.prune()
        with jt.GradientTape() as tape:
            y = x * x
        assert tape.jacobian(y, x).numpy().tolist() == [[2, 0], [0, 4]]


def test_a_tape_begins_on_an_unused_trace():
    x = jt.Variable(1.0)
    current_trace().step()
    trace = current_trace()
    assert trace.is_unused()
    with jt.GradientTape() as tape:
        y = x * x
        assert current_trace() is trace
        assert not trace.is_unused()
    assert float(tape.gradient(y, x)) == 2.0
    before = jt.config.max_pending_ops
    current_trace().step()
    try:
        trace = current_trace()
        trace.limit = before + 1
        with jt.GradientTape():
            assert current_trace() is not trace
            assert current_trace().limit == before
    finally:
        jt.config.max_pending_ops = before
