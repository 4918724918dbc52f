"""Targets that are sources: the gradient is the cotangent of the target, watched or not, as in TensorFlow."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import jittape as jt

ONES = np.ones(2)


def constants() -> tuple[Any, Any]:
    return jt.constant([1.0, 2.0]), jt.constant([3.0, 4.0])


def check(found: Any, expected: Any) -> None:
    assert len(found) == len(expected)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_a_tape_that_recorded_nothing():
    x, y = constants()
    with jt.GradientTape(persistent=True) as tape:
        pass
    check([tape.gradient(y, y)], [ONES])
    check(tape.gradient([x, y], [x, y]), [ONES, ONES])
    check(tape.gradient([y, x], [y, y, x]), [ONES, ONES, ONES])
    check(tape.gradient([y, y], [y]), [2.0 * ONES])
    check([tape.gradient(y, y, unconnected_gradients="zero")], [ONES])
    check([tape.gradient(y, y, output_gradients=jt.constant([5.0, 6.0]))], [[5.0, 6.0]])
    check([tape.jacobian(y, y)], [np.eye(2)])
    row = y[None]
    check([tape.batch_jacobian(row, row)], [np.eye(2)[None]])


def test_computed_values():
    x, y = constants()
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * y
        kept = jt.stop_gradient(x)
        with tape.stop_recording():
            w = x * 2.0
        check([tape.gradient(w, w)], [ONES])
    check(tape.gradient([z, y], [x, y]), [[3.0, 4.0], ONES])
    check([tape.gradient(z, z), tape.gradient(kept, kept), tape.gradient(w, w)], [ONES] * 3)
    later = x * 5.0
    for _ in range(3):
        check([tape.gradient(later, later)], [ONES])


@pytest.mark.parametrize("options", [{"trainable": False}, {"trainable": True}])
@pytest.mark.parametrize("accessed", [True, False])
def test_variables(options, accessed):
    v = jt.Variable([1.0, 2.0], **options)
    with jt.GradientTape(persistent=True, watch_accessed_variables=accessed) as tape:
        z = v * v
    inner = 2.0 * np.array([1.0, 2.0]) if accessed and v.trainable else 0.0
    check([tape.gradient(v, v), tape.gradient([v, z], v)], [ONES, ONES + inner])


def test_other_sources_stay_unconnected():
    x, y = constants()
    with jt.GradientTape(persistent=True) as tape:
        copy = jt.identity(y)
    with pytest.warns(jt.UnconnectedGradientWarning, match="source 1 .* was not used"):
        first, second = tape.gradient([y, copy], [y, x])
    check([first], [ONES])
    assert second is None
    with pytest.warns(jt.UnconnectedGradientWarning):
        assert tape.gradient(copy, y) is None
    integers = jt.constant([1, 2])
    with pytest.warns(jt.UnconnectedGradientWarning, match="has dtype int"):
        assert tape.gradient(integers, integers) is None


def test_explain():
    _, y = constants()
    with jt.GradientTape() as tape:
        pass
    assert tape.explain(y, y).endswith("is the target itself: the gradient is the cotangent of the target")


def test_traced_functions():
    @jt.function
    def gradients(x: Any, y: Any) -> Any:
        with jt.GradientTape(persistent=True) as tape:
            z = x * y
        return [*tape.gradient([y, x, z], [y, x]), tape.gradient(z, z), tape.jacobian(y, y)]

    x, y = constants()
    for _ in range(3):
        check(gradients(x, y), [ONES, ONES, ONES, np.eye(2)])
        check(gradients(np.array([5.0, 6.0]), y), [ONES, ONES, ONES, np.eye(2)])


def test_the_outer_tape_does_not_follow_it():
    x, _ = constants()
    with jt.GradientTape() as outer:
        outer.watch(x)
        with jt.GradientTape() as tape:
            z = x * x
        result = tape.gradient(z, z) * x
    check([outer.gradient(result, x)], [ONES])


def test_tensors_of_another_thread():
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(jt.constant([1.0, 2.0]) * 3.0))
    thread.start()
    thread.join()
    with jt.GradientTape() as tape:
        pass
    check([tape.gradient(found[0], found[0])], [ONES])
