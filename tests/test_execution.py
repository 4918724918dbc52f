"""Words of TensorFlow's graphs and devices; the behavior is that of TensorFlow 2.21 unless a test says otherwise."""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

import jittape as jt


def test_where_operations_have_values():
    seen = []

    @jt.function
    def f(x):
        seen.append((jt.executing_eagerly(), jt.inside_function(), jt.is_symbolic_tensor(x)))
        with jt.init_scope():
            seen.append((jt.executing_eagerly(), jt.inside_function()))
        return x

    assert (jt.executing_eagerly(), jt.inside_function()) == (True, False)
    result = f(jt.constant(1.0))
    assert seen == [(False, True, True), (True, False)]
    assert not jt.is_symbolic_tensor(result)
    assert not jt.is_symbolic_tensor(result + 1.0)


def test_the_static_value():
    seen = []

    @jt.function
    def f(x):
        seen.append(jt.get_static_value(x))
        return x

    f(jt.constant(1.0))
    assert seen == [None]
    np.testing.assert_array_equal(jt.get_static_value(jt.constant([1, 2]) + 1), [2, 3])
    np.testing.assert_array_equal(jt.get_static_value([1, 2]), [1, 2])


class Counter(jt.Module):
    def __call__(self, x):
        with jt.init_scope():
            if not hasattr(self, "count"):
                self.count, self.weights = jt.Variable(0.0), jt.Variable([1.0, 2.0])
            self.count.assign_add(1.0)
        return self.weights * x


def test_an_init_scope_runs_while_the_function_is_traced():
    counter = Counter()
    call = jt.function(counter)
    for x in (2.0, 3.0, 4.0):
        np.testing.assert_array_equal(call(jt.constant(x)), [x, 2 * x])
    assert float(counter.count) == 1.0
    assert call.trace_count == 1


def test_an_assignment_in_an_init_scope_is_not_lost():
    v = jt.Variable(1.0)

    @jt.function
    def f(x):
        y = v * x
        with jt.init_scope():
            v.assign(10.0)
        return y + v

    assert float(f(jt.constant(2.0))) in (12.0, 30.0)
    assert float(v) == 10.0


def test_an_init_scope_outside_of_functions_changes_nothing():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape, jt.init_scope():
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0


def test_words_without_effect():
    v = jt.Variable(1.0)
    with jt.control_dependencies([v.assign(2.0)]), jt.control_dependencies(None):
        assert float(v + 1.0) == 3.0
    assert jt.no_op() is None
    assert jt.group(v.assign_add(1.0), [v]) is None
    assert float(v) == 3.0
    with (
        pytest.raises(TypeError, match="control_inputs must be a list or None, got 3"),
        jt.control_dependencies(3),
    ):
        pass


@pytest.mark.parametrize(
    "name",
    ["CPU:0", "/CPU:0", "cpu:0", "/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0", None, ""],
)
def test_names_of_the_processor(name):
    with jt.device(name):
        assert float(jt.constant(1.0)) == 1.0


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        (
            "GPU:0",
            ValueError,
            "computes on the CPU and has no device 'GPU:0'",
        ),  # TensorFlow computes on the CPU
        ("/device:TPU:1", ValueError, "has no device '/device:TPU:1'"),
        ("/job:localhost/device:GPU:*", ValueError, "has no device"),
        ("foo", ValueError, "has no device 'foo'"),
        (3, TypeError, "must be a str"),
    ],
)
def test_other_devices(name, kind, text):
    with pytest.raises(kind, match=text), jt.device(name):
        pass


def test_the_time():
    before = time.time()
    assert before <= float(jt.timestamp()) <= time.time()

    @jt.function
    def now():
        return jt.timestamp()

    times = [float(now()) for _ in range(4)]
    assert times == sorted(set(times))
    assert before < times[0] < times[-1] < time.time()
    assert now.trace_count == 1


def test_the_logger():
    assert jt.get_logger() is logging.getLogger("jittape")
