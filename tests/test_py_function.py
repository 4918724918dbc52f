"""`py_function`: a Python function as an op."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


def log_huber(x, m):
    if jt.abs(x) <= m:
        return x**2
    return m**2 * (1 - 2 * jt.math.log(m) + jt.math.log(x**2))


def test_py_function_is_differentiable_to_any_order():
    for value, (first, second) in ((1.5, (3.0, 2.0)), (4.0, (2.0, -0.5)), (1.5, (3.0, 2.0))):
        x, m = jt.constant(value), jt.constant(2.0)
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = jt.py_function(func=log_huber, inp=[x, m], Tout=jt.float32)
            dy = inner.gradient(y, x)
        assert float(dy) == pytest.approx(first)
        assert float(outer.gradient(dy, x)) == pytest.approx(second)


def test_py_function_results():
    t = jt.constant([1.0, 2.0])
    assert jt.py_function(lambda a: a + 1, [t], jt.float64).dtype == jt.float64
    assert [r.dtype for r in jt.py_function(lambda a: (a, 2), [t], [jt.float32, jt.int64])] == [
        jt.float32,
        jt.int64,
    ]
    assert jt.py_function(lambda a: a, [t], [jt.float32])[0].tolist() == [1.0, 2.0]
    assert jt.py_function(lambda: None, [], []) == []
    assert jt.py_function(lambda: None, [], None) is None
    assert float(jt.py_function(lambda: 0.1, [], jt.float64)) == 0.1
    assert jt.py_function(lambda a: a.numpy() * 2, [t], jt.float32).tolist() == [2.0, 4.0]


def test_py_function_is_given_tensors():
    v = jt.Variable(1.0)
    seen = jt.py_function(
        lambda *xs: [isinstance(x, jt.Tensor) for x in xs], [v, 2.0, np.ones(2), [1]], "bool"
    )
    assert seen.tolist() == [True] * 4


def test_py_function_mistakes():
    with pytest.raises(ValueError, match="returned 1 results, Tout names 2"):
        jt.py_function(lambda: 1.0, [], [jt.float32, jt.float32])
    with pytest.raises(TypeError, match="a result is float32, which does not cast to Tout int32"):
        jt.py_function(lambda: 1.5, [], jt.int32)


# ---- in a compiled function ------------------------------------------------------------------------------------------


def scaled_huber(calls):
    @jt.function
    def step(x, scale):
        def look(x, m):
            calls.append(float(x))
            return log_huber(x, m)

        with jt.GradientTape() as tape:
            tape.watch(x)
            y = scale * jt.py_function(look, [x, 2.0], jt.TensorSpec((), jt.float32))
        return y, tape.gradient(y, x)

    return step


def test_in_a_function_it_is_called_at_each_call_on_values():
    calls = []
    step = scaled_huber(calls)
    for value, y, gradient in ((1.5, 2.25, 3.0), (4.0, 4 * (1 + 2 * np.log(2.0)), 2.0), (1.0, 1.0, 2.0)):
        found, slope = step(jt.constant(value), 10.0)
        assert float(found) == pytest.approx(10 * y)
        assert float(slope) == pytest.approx(10 * gradient)
    assert step.trace_count == 1
    assert not step.signatures()[0].recorded
    assert calls == [1.5, 1.5, 4.0, 4.0, 1.0, 1.0]


def test_in_a_function_under_a_tape_it_is_recorded():
    step = scaled_huber([])
    x = jt.constant(1.5)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y, _ = step(x, 2.0)
    assert float(tape.gradient(y, x)) == pytest.approx(6.0)


def test_in_a_function_several_results_and_operands_without_gradient():
    @jt.function
    def both(x, n):
        with jt.GradientTape() as tape:
            tape.watch(x)
            specs = [jt.TensorSpec((3,), jt.float64), jt.TensorSpec((), jt.int64)]
            y, count = jt.py_function(lambda x, n: (x**2 * n.numpy(), n + 1), [x, n], specs)
        return y, count, tape.gradient(y, x)

    for i in (2, 5, 7):
        y, count, gradient = both(np.arange(3.0), jt.constant(i, jt.int64))
        np.testing.assert_array_equal(y, i * np.arange(3.0) ** 2)
        assert int(count) == i + 1
        np.testing.assert_array_equal(gradient, 2 * i * np.arange(3.0))


def test_in_a_function_a_result_of_another_shape_is_an_error():
    @jt.function
    def wrong(x):
        return jt.py_function(lambda x: jt.stack([x, x]), [x], jt.TensorSpec((), jt.float64))

    with pytest.raises(ValueError, match=r"\[py_function\] a result has shape \(2,\), but Tout is"):
        wrong(np.array(1.0)).numpy()


def test_outside_of_functions_shapes_are_checked():
    spec = jt.TensorSpec((2,), jt.float32)
    assert jt.py_function(lambda: [1.0, 2.0], [], spec).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"a result has shape \(3,\), but Tout is"):
        jt.py_function(lambda: [1.0, 2.0, 3.0], [], spec)


@pytest.mark.parametrize("Tout", [None, []])
def test_a_py_function_for_its_effect_runs_at_each_call(Tout):
    seen = []

    @jt.function
    def doubled(x):
        jt.py_function(lambda value: seen.append(float(value)), [x], Tout)
        return x * 2.0

    with pytest.warns(jt.FunctionWarning, match="needed by py_function"):
        assert [float(doubled(jt.constant(x))) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert seen == [1.0, 2.0, 3.0]

    def body(i):
        jt.py_function(lambda: seen.append(i), [], Tout)
        return i + 1

    with pytest.raises(jt.ControlFlowError, match="needs the value of a tensor for py_function"):
        jt.while_loop(lambda i: i < 3, body, [jt.constant(0)])
