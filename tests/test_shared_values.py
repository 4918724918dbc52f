"""Variables and tensors that several threads use: no assignment is lost, and each thread has its own slots."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.buffers import LARGE
from jittape.recording.flushing import Flushing
from jittape.recording.trace import Trace, current_trace
from test_recording import in_threads

SIZES = [5, 1000, LARGE // 8]


@pytest.fixture(params=[1e-5, 5e-3])
def switching(request: pytest.FixtureRequest) -> Iterator[None]:
    """Threads take turns after so many seconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(request.param)
    yield
    sys.setswitchinterval(before)


def while_another_thread(monkeypatch: pytest.MonkeyPatch, method: str, meanwhile: Callable[[], None]) -> None:
    """Let another thread flush this thread's trace; call `meanwhile` here when it is about to call `method`."""
    here, arrived, done = threading.get_ident(), threading.Event(), threading.Event()
    original = getattr(Flushing, method)

    def stopped(*arguments: Any) -> Any:
        if threading.get_ident() != here:
            arrived.set()
            assert done.wait(60)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Flushing, method, stopped)
        trace = current_trace()
        other = threading.Thread(target=trace.flush)
        other.start()
        try:
            assert arrived.wait(60)
            meanwhile()
        finally:
            done.set()
            other.join()


@pytest.mark.parametrize("method", ["_run", "_distribute"])
def test_an_assignment_during_the_flush_of_another_thread(
    monkeypatch: pytest.MonkeyPatch, method: str, new_step: None
) -> None:
    v, w, new = jt.Variable(np.zeros(3)), jt.Variable(np.ones(3)), jt.Variable(np.zeros(3))
    v.assign_add(jt.ones(3, jt.float64))
    w.assign(w * 2.0)

    def meanwhile() -> None:
        v.assign_add(jt.ones(3, jt.float64))
        new.assign(v * 5.0)

    while_another_thread(monkeypatch, method, meanwhile)
    assert new.tolist() == [10.0] * 3
    assert v.tolist() == [2.0] * 3
    assert w.tolist() == [2.0] * 3


@pytest.mark.parametrize("method", ["_run", "_distribute"])
def test_values_that_are_read_during_the_flush_of_another_thread(
    monkeypatch: pytest.MonkeyPatch, method: str, new_step: None
) -> None:
    v, read = jt.Variable(np.zeros(3)), []
    v.assign_add(jt.ones(3, jt.float64))
    while_another_thread(monkeypatch, method, lambda: read.append(v * 3.0))
    assert (v * 4.0).tolist() == [4.0] * 3
    assert read[0].tolist() == [3.0] * 3


def test_an_assignment_that_another_thread_has_just_run(
    monkeypatch: pytest.MonkeyPatch, new_step: None
) -> None:
    """Between the question whether a Variable has a pending value and the look at this value."""
    v = jt.Variable(np.zeros(3))
    v.assign_add(jt.ones(3, jt.float64))
    trace, read_version = current_trace(), Trace._read_version

    def flushed_before(*arguments: Any) -> None:
        in_threads(lambda _: trace.flush(), 1)
        read_version(*arguments)

    monkeypatch.setattr(Trace, "_read_version", flushed_before)
    assert jt.sin(v).tolist() == [np.sin(1.0)] * 3


def test_a_failed_flush_of_another_thread_keeps_a_later_assignment(
    monkeypatch: pytest.MonkeyPatch, new_step: None
) -> None:
    v, errors = jt.Variable(np.zeros((2, 2))), []
    v.assign_add(jt.ones((2, 2), jt.float64))
    wrong = jt.linalg.cholesky(v - 5.0)
    trace, original = current_trace(), Flushing._salvage
    here, arrived, done = threading.get_ident(), threading.Event(), threading.Event()

    def stopped(*arguments: Any) -> None:
        if threading.get_ident() != here:
            arrived.set()
            assert done.wait(60)
        original(*arguments)

    monkeypatch.setattr(Flushing, "_salvage", stopped)

    def flush() -> None:
        try:
            trace.flush()
        except ValueError as error:
            errors.append(error)

    other = threading.Thread(target=flush)
    other.start()
    assert arrived.wait(60)
    v.assign_add(jt.ones((2, 2), jt.float64))
    done.set()
    other.join()
    assert len(errors) == 1
    assert v.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(ValueError, match="cholesky"):
        wrong.numpy()


@pytest.mark.parametrize("size", SIZES)
def test_a_thread_looks_at_a_variable_that_another_one_assigns(size: int, switching: None) -> None:
    v, one, seen, ended = jt.Variable(np.zeros(size)), jt.constant(np.ones(size)), [], threading.Event()
    steps = 1500 if size < LARGE // 8 else 150

    def work(number: int) -> None:
        if number == 0:
            try:
                for _ in range(steps):
                    v.assign_add(one)
            finally:
                ended.set()
            return
        last = 0.0
        while not ended.is_set():
            found = v.numpy() if len(seen) % 2 else (v * 2.0).numpy() / 2
            assert found.min() == found.max() >= last
            last = found[0]
            seen.append(last)

    in_threads(work, 2)
    assert v.numpy().tolist() == [float(steps)] * size


@pytest.mark.parametrize("size", SIZES)
def test_threads_that_take_turns_lose_no_update(size: int, switching: None) -> None:
    v, one, lock = jt.Variable(np.zeros(size)), jt.constant(np.ones(size)), threading.Lock()
    other = jt.Variable(np.ones(size))
    compiled = jt.function(lambda: v.assign_add(one))
    steps = 200 if size < LARGE // 8 else 40

    def work(number: int) -> None:
        for i in range(steps):
            with lock:
                if (i + number) % 3 == 0:
                    v.assign_add(one)
                elif (i + number) % 3 == 1:
                    compiled()
                else:
                    v.assign(v.numpy() + 1.0)
            other.assign((other * 2.0) * 0.5)

    in_threads(work, 4)
    assert v.numpy().tolist() == [4.0 * steps] * size
    assert other.numpy().tolist() == [1.0] * size


def test_threads_that_do_not_take_turns_raise_no_error(switching: None) -> None:
    """Each update is made to a value that the Variable has had."""
    v, one, steps = jt.Variable(np.zeros(5)), jt.constant(np.ones(5)), 300

    def work(number: int) -> None:
        for _ in range(steps):
            v.assign_add(one)
            if number:
                v.numpy()

    in_threads(work, 4)
    found = v.numpy()
    assert found.min() == found.max() == np.round(found[0])
    assert 1 <= found[0] <= 4 * steps


X, W = np.linspace(0.1, 1.0, 7), np.linspace(1.0, 2.0, 7)


def first_order(x: Any, w: Any) -> None:
    with jt.GradientTape() as tape:
        tape.watch(x)
        loss = jt.reduce_sum(jt.sin(x) * w)
    dx, dw = tape.gradient(loss, [x, w])
    np.testing.assert_allclose(dx, np.cos(X) * W, rtol=1e-14)
    np.testing.assert_allclose(dw, np.sin(X), rtol=1e-14)


def repeated(x: Any, w: Any) -> None:
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * w
        z = y * y
    np.testing.assert_allclose(tape.gradient(y, x), W, rtol=1e-14)
    np.testing.assert_allclose(tape.gradient(z, x), 2 * X * W**2, rtol=1e-14)
    np.testing.assert_allclose(tape.jacobian(y, x), np.diag(W), rtol=1e-14)


def taken_over(x: Any, w: Any) -> None:
    """A result of one step is watched by the next."""
    y = x * w
    with jt.GradientTape() as tape:
        tape.watch([x, y])
        z = y * jt.sin(x)
    np.testing.assert_allclose(tape.gradient(z, y), np.sin(X), rtol=1e-14)
    np.testing.assert_allclose(y, X * W, rtol=1e-14)


def by_functions(x: Any, w: Any) -> None:
    compiled = jt.function(lambda a: jt.reduce_sum(a * a * w) + jt.reduce_sum(x))
    np.testing.assert_allclose(compiled(x), np.sum(X * X * W + X), rtol=1e-14)
    np.testing.assert_allclose(jt.grad(compiled)(x), 2 * X * W, rtol=1e-14)


PROGRAMS = [first_order, repeated, taken_over, by_functions]


def test_threads_use_the_same_tensor_and_variable(switching: None) -> None:
    """Each thread's trace gives the tensor a slot of its own, and the tensor remembers the last one only."""
    x, w = jt.constant(X), jt.Variable(W)

    def work(number: int) -> None:
        for _ in range(40 if PROGRAMS[number % 4] is by_functions else 250):
            PROGRAMS[number % 4](x, w)

    in_threads(work, 8)


def test_a_tensor_that_another_thread_has_just_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the import by a tape that watches it and the question for its slot."""
    x, apply = jt.constant(X), Trace.apply
    here = threading.get_ident()

    def imported_again(trace: Trace, body: Any, arrays: Any, static: Any = ()) -> Any:
        result = apply(trace, body, arrays, static)
        if threading.get_ident() == here and any(a is x for a in arrays):
            in_threads(lambda _: (jt.sin(1.0) + jt.cos(x)).numpy(), 1)
        return result

    monkeypatch.setattr(Trace, "apply", imported_again)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.sin(x)
    np.testing.assert_allclose(tape.gradient(y, x), np.cos(X), rtol=1e-14)


def test_threads_record_new_paths_after_the_same_call(
    switching: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trie is one for all threads: its nodes get children, and are pruned, while others look at them."""
    monkeypatch.setattr(jt.config, "max_trie_nodes", 200)
    x = jt.constant(X)

    def work(number: int) -> None:
        for i in range(60):
            y = x * 2.0
            for k in range(6):
                y = (jt.sin if (i * 4 + number) >> k & 1 else jt.tanh)(y)
            assert np.isfinite(y.numpy()).all()

    in_threads(work, 4)
