"""Calls of functions that machine code does as a whole: `jittape.functions.marshaller.simple_call`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.buffers import Buffer
from jittape.functions import fast_path
from jittape.runtime.counters import counters
from test_recording import in_threads

X = np.linspace(-1.0, 2.0, 7)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of calls since that machine code left to the longer way, as a list of ones."""
    found: list[int] = []
    make = fast_path.simple_path

    def counting(concrete: Any, call: Callable[..., Any], *rest: Any) -> Any:
        def counted(leaves: Any) -> Any:
            found.append(1)
            return call(leaves)

        return make(concrete, counted, *rest)

    monkeypatch.setattr(fast_path, "simple_path", counting)
    return found


@pytest.mark.parametrize("poisoned", [False, True])
def test_a_loop_of_calls(general: list[int], monkeypatch: pytest.MonkeyPatch, poisoned: bool):
    monkeypatch.setattr(jt.config, "poison_memory", poisoned)
    w = jt.Variable(np.float64(0.5))
    x = jt.constant(X)

    @jt.function
    def f(x: Any, scale: Any) -> Any:
        return jt.reduce_sum(x) * w, x * scale

    for i in range(60):
        w.assign(float(i))
        total, scaled = f(x, i / 4)
        assert float(total) == X.sum() * i
        np.testing.assert_array_equal(scaled, X * (i / 4))
    assert len(general) < 20


def test_results_in_use_keep_their_values(general: list[int]):
    f = jt.function(lambda x, s: x * s)
    x = jt.constant(X)
    kept, views = [], []
    for i in range(100):
        kept.append(f(x, float(i)))
        views.append(kept[-1].numpy())
        if i % 5 == 4:
            del kept[-4:]
    np.testing.assert_array_equal(views, X * np.arange(100.0)[:, None])
    assert general


def test_other_arguments_are_traced_again():
    f = jt.function(lambda x, s: x * s)
    for dtype, n, s in product(("float64", "float32"), (3, 5), (2.0, 4, 5.0)):
        x = jt.constant(np.arange(float(n)).astype(dtype))
        if s == 4 and (dtype, n) != ("float64", 3):
            continue  # few enough signatures for no warning
        for _ in range(3):
            result = f(x, s)
            np.testing.assert_array_equal(result, x.numpy() * np.dtype(dtype).type(s))
            assert result.dtype == dtype
    for _ in range(4):
        with pytest.raises(TypeError):
            f(x)


def test_pending_arguments_and_variables_are_computed():
    w, x = jt.Variable(np.ones(7)), jt.constant(X)
    f = jt.function(lambda x: x + w)
    for i in range(30):
        w.assign_add(x)
        np.testing.assert_allclose(f(x * float(i)), X * i + 1 + (i + 1) * X, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("poisoned", [False, True])
def test_functions_that_assign(general: list[int], monkeypatch: pytest.MonkeyPatch, poisoned: bool):
    monkeypatch.setattr(jt.config, "poison_memory", poisoned)
    a, b, x = jt.Variable(np.zeros(7)), jt.Variable(np.float64(1.0)), jt.constant(X)

    @jt.function
    def step(x: Any) -> Any:
        a.assign_add(x * b)
        b.assign(-b)
        return jt.reduce_sum(a)

    @jt.function
    def quiet(x: Any) -> None:
        a.assign_sub(x)

    for i in range(60):
        sign = (-1) ** i
        before = a.numpy()
        assert float(step(x)) == pytest.approx(np.sum(before + sign * X), abs=1e-13)
        np.testing.assert_allclose(a, before + sign * X, rtol=1e-15)
        assert float(b) == -sign
        assert quiet(x) is None
        np.testing.assert_allclose(a, before + sign * X - X, rtol=1e-14, atol=1e-14)
        a.assign(before)
    assert len(general) < 20


def test_variables_that_a_trace_has_read_or_assigned(general: list[int]):
    """The tensors recorded before a call keep the old values, and pending assignments come first."""
    v = jt.Variable(np.zeros(7))

    @jt.function
    def add(x: Any) -> Any:
        v.assign_add(x)
        return v * 2.0

    expected, x = np.zeros(7), jt.constant(X)
    for i in range(60):
        if i % 3 == 1:
            read = v * 3.0
        if i % 3 == 2:
            v.assign_add(x)
            expected = expected + X
        result = add(x)
        if i % 3 == 1:
            np.testing.assert_allclose(read, 3.0 * expected)
        expected = expected + X
        np.testing.assert_allclose(result, 2.0 * expected)
        np.testing.assert_allclose(v, expected)
    assert len(general) < 60


def test_a_call_that_fails_assigns_nothing():
    v, x, y = jt.Variable(np.zeros(7)), jt.constant(X), jt.constant(X[:3])

    @jt.function
    def add(x: Any) -> None:
        v.assign_add(x)

    for i in range(40):
        add(x)
        with pytest.raises(ValueError, match="shape"):
            add(y)
        np.testing.assert_allclose(v, (i + 1) * X)


def test_variables_among_the_arguments(general: list[int]):
    x = jt.constant(X)

    @jt.function
    def add(v: Any, x: Any) -> Any:
        v.assign_add(x)
        return v * 2.0

    variables = [jt.Variable(np.full(7, float(i))) for i in range(3)]
    for _ in range(60):
        add(variables[0], x)
    assert len(general) < 20
    for i in range(60):
        np.testing.assert_allclose(add(variables[i % 3], x), 2.0 * variables[i % 3].numpy())
    for i, count in enumerate((80, 20, 20)):
        np.testing.assert_allclose(variables[i], i + count * X)
    other = jt.Variable(np.zeros(3))
    np.testing.assert_array_equal(add(other, x[:3]), 2.0 * X[:3])


def test_finalizers_may_call_the_function_again():
    """The last reference to an old value goes when its Variable has the new one."""
    v, x = jt.Variable(np.zeros(7)), jt.constant(X)

    @jt.function
    def add(x: Any) -> None:
        v.assign_add(x)

    class Calling(np.ndarray):
        def __del__(self) -> None:
            add(x)

    for _ in range(40):
        add(x)
    for _ in range(20):
        v._set(Buffer(np.zeros(7).view(Calling)))
        add(x)
        np.testing.assert_array_equal(v, 2.0 * X)


def test_results_that_are_one_value(general: list[int]):
    u, v, x = jt.Variable(np.zeros(7)), jt.Variable(np.zeros(7)), jt.constant(X)

    @jt.function
    def swapped(x: Any, a: float) -> Any:
        u.assign(x * a)
        v.assign(x - a)
        return v.value(), u.value(), v.value()

    @jt.function
    def shared(x: Any, a: float) -> Any:
        y = x * a
        u.assign(y)
        v.assign(y)
        return y, y

    added = jt.function(lambda x: v.assign_add(x))
    kept = []
    for i in range(60):
        results = swapped(x, float(i))
        for result, expected in zip((*results, u, v), (X - i, X * i, X - i, X * i, X - i), strict=True):
            np.testing.assert_array_equal(result, expected)
        one, two = shared(x, float(i))
        assert one is not two
        for result in (one, two, u, v):
            np.testing.assert_array_equal(result, X * i)
        total = added(x)
        one[0] = 100.0
        np.testing.assert_array_equal(two, X * i)
        np.testing.assert_array_equal(u, X * i)
        np.testing.assert_array_equal(total, v)
        kept.append((total, X * i + X))
    for total, expected in kept:
        np.testing.assert_array_equal(total, expected)
    assert len(general) < 150


def test_functions_that_return_what_they_assign(general: list[int]):
    count = jt.Variable(np.float64(0.0))
    add = jt.function(lambda: count.assign_add(1.0))
    for i in range(60):
        assert float(add()) == i + 1.0
    assert len(general) < 20


def test_functions_that_the_longer_way_runs(general: list[int]):
    """They assign what they are given, draw numbers, may fail or return what is no tuple of tensors."""
    w, x = jt.Variable(np.zeros(7)), jt.constant(X)
    assigning = jt.function(lambda x: w.assign(x))
    drawing = jt.function(lambda x: x + jt.random.normal([7], dtype="float64"))
    failing = jt.function(lambda x, i: jt.gather(x, i))
    named = jt.function(lambda x: {"a": x * 2.0})
    draws = []
    for i in range(20):
        np.testing.assert_array_equal(assigning(x + float(i)), X + i)
        draws.append(drawing(x).numpy().tolist())
        np.testing.assert_array_equal(named(x)["a"], 2 * X)
        with pytest.raises(IndexError):
            failing(x, jt.constant(np.array([9])))
        assert failing(x, jt.constant(np.array([1]))).numpy() == X[1]
    assert len({tuple(draw) for draw in draws}) == 20
    assert not general


def test_counts_and_the_interpreter(monkeypatch: pytest.MonkeyPatch):
    f = jt.function(lambda x: jt.exp(x))
    x = jt.constant(X)
    for _ in range(5):
        f(x)
    before = counters.compiled_runs
    for _ in range(7):
        f(x)
    assert counters.compiled_runs == before + 7
    monkeypatch.setattr(jt.config, "_interpret", True)
    np.testing.assert_allclose(f(x), np.exp(X))
    assert counters.compiled_runs == before + 7


def test_threads_take_memory_of_their_own():
    f = jt.function(lambda x, s: x * s + s)
    x = jt.constant(X)
    f(x, 1.0), f(x, 2.0)
    wrong: list[Any] = []

    def work(number: int) -> None:
        for i in range(1000):
            s = float(1000 * number + i)
            if not np.array_equal(f(x, s).numpy(), X * s + s):
                wrong.append((number, i))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(work, 4)
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_calls_hold_nothing():
    f = jt.function(lambda x, s: (x * s, jt.reduce_sum(x)))
    x, small = jt.constant(X), jt.constant(X[:3])

    def calls(count: int) -> None:
        for i in range(count):
            f(x, 0.5)
            if i % 50 == 0:
                f(small, 0.5)

    calls(500)
    gc.collect()
    before = sys.getallocatedblocks(), sys.getrefcount(x), sys.getrefcount(x._buffer)
    calls(5000)
    gc.collect()
    after = sys.getallocatedblocks(), sys.getrefcount(x), sys.getrefcount(x._buffer)
    assert after[0] - before[0] < 200
    assert after[1:] == before[1:]
