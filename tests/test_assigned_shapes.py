"""Traced functions that assign values of other shapes to Variables declared with `shape=`."""

import threading

import numpy as np
import pytest

import jittape as jt


def grown(*shape: int | None) -> jt.Variable:
    return jt.Variable(jt.zeros([2 if n is None else n for n in shape]), shape=shape)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("interpret", [False, True])
def test_a_function_assigns_values_of_many_shapes(interpret, monkeypatch):
    v = jt.Variable(jt.zeros([2]), shape=jt.TensorShape(None))

    @jt.function
    def f(x):
        v.assign(x)
        return jt.reduce_sum(v * 2.0), v.shape, jt.shape(v)

    monkeypatch.setattr(jt.config, "_interpret", interpret)
    for _ in range(4):
        for shape in [(3,), (4, 2), (2,), ()]:
            x = numbers(*shape)
            total, static, dynamic = f(x)
            np.testing.assert_allclose(total, 2 * x.sum(dtype=np.float32), rtol=1e-5)
            assert static == shape
            np.testing.assert_array_equal(dynamic, shape)
            assert v.shape == shape
            np.testing.assert_array_equal(v, x)
    # One for each shape, not also for each shape before the call, and one for all lengths, which `v.shape` prevents.
    assert f.experimental_get_tracing_count() == 5


def test_a_function_that_reads_the_value_before():
    v = grown(None)
    v.assign([1.0, 2.0])

    @jt.function
    def append(x):
        before = v.shape[0]
        v.assign(jt.concat([v, x], 0))
        return before, jt.reduce_sum(v)

    for n in range(3):
        before, total = append(np.full(1, n, np.float32))
        assert before == 2 + n
        assert total == 3.0 + sum(range(n + 1))
    np.testing.assert_array_equal(v, [1, 2, 0, 1, 2])
    v.assign([7.0])
    assert append(np.ones(1, np.float32))[0] == 1
    np.testing.assert_array_equal(v, [7, 1])


def test_several_assignments_and_a_gradient():
    v = grown(None)

    def step(x):
        v.assign(x * 2.0)
        first = jt.reduce_sum(v * v)
        v.assign(jt.concat([v, x], 0))
        with jt.GradientTape() as tape:
            loss = first * jt.reduce_sum(v * v)
        return loss, tape.gradient(loss, v)

    f = jt.function(step)
    for n in (3, 5, 3, 2):
        x = numbers(n)
        found = f(x)
        value = v.numpy()
        for one, other in zip(found, step(jt.constant(x)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
        np.testing.assert_array_equal(value, v)
        np.testing.assert_array_equal(value, np.concatenate([x * 2, x]))


def test_under_a_tape_the_function_runs_as_python():
    v = grown(None)

    @jt.function
    def f(x):
        v.assign(x)
        return jt.reduce_sum(v * v)

    for n in (3, 4, 3):
        x = jt.constant(numbers(n))
        with jt.GradientTape() as tape:
            y = f(x) * 3.0
        np.testing.assert_allclose(tape.gradient(y, v), 6 * x.numpy(), rtol=1e-6)
        assert v.shape == (n,)


def test_a_variable_among_the_arguments():
    @jt.function
    def f(v, x):
        v.assign(x)
        return jt.reduce_sum(v)

    one, other, fixed = grown(None), grown(None), jt.Variable(jt.zeros([2]))
    for n in (3, 4):
        for v in (one, other):
            x = numbers(n)
            np.testing.assert_allclose(f(v, x), x.sum(), rtol=1e-5)
            np.testing.assert_array_equal(v, x)
    with pytest.raises(ValueError, match=r"Cannot assign .* make it with shape=\[None"):
        f(fixed, numbers(3))
    assert fixed.shape == (2,)
    assert f(fixed, np.ones(2, np.float32)) == 2.0


def test_open_signatures_and_concrete_functions():
    v = grown(None, 3)

    @jt.function(input_signature=[jt.TensorSpec([None, 3], jt.float32)])
    def f(x):
        v.assign(x)
        return jt.reduce_sum(v)

    for n in (4, 7, 1, 0, 4, 9):
        x = numbers(n, 3)
        np.testing.assert_allclose(f(x), x.sum(), rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(v, x)
    g = jt.function(lambda x: v.assign(x).value()).get_concrete_function(jt.TensorSpec([5, 3], jt.float32))
    x = numbers(5, 3)
    np.testing.assert_array_equal(g(jt.constant(x)), x)
    assert v.shape == (5, 3)


def test_refusals_leave_the_variable_as_it_is():
    v = grown(None, 3)
    start = v.numpy()

    @jt.function
    def wrong(x):
        v.assign(x)

    with pytest.raises(
        ValueError, match=r"declared with shape \(None, 3\), and the assigned value shape \(4, 2\)"
    ):
        wrong(numbers(4, 2))

    @jt.function
    def fails(x):
        v.assign(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fails(numbers(4, 3))

    @jt.function
    def in_a_branch(x):
        def change():
            v.assign(x)
            return 1.0

        return jt.cond(x[0, 0] > 100.0, change, lambda: 0.0)

    with pytest.raises(ValueError, match="Inside a loop, a branch"):
        in_a_branch(numbers(4, 3))

    @jt.function
    def adds(x):
        v.assign_add(x)

    with pytest.raises(ValueError, match="shape"):
        adds(numbers(4, 3))
    assert v.shape == (2, 3)
    np.testing.assert_array_equal(v, start)
    v.assign_add(np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(v, start + 1)


def test_other_threads_see_the_shape_before_or_after():
    v, inside, seen = grown(None), threading.Event(), []

    def read():
        inside.wait(20)
        seen.append(v.shape)
        seen.append(v.numpy().shape)

    @jt.function
    def f(x):
        v.assign(x)
        inside.set()
        thread.join(0.2)
        return jt.reduce_sum(v)

    thread = threading.Thread(target=read)
    thread.start()
    f(numbers(5))
    thread.join()
    assert set(seen) <= {(2,), (5,)}
    assert v.shape == v.numpy().shape == (5,)
