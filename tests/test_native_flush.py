"""Flushes, watched tensors and gradients of known paths in machine code: the same as in Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.native import switch
from jittape.recording.flushing import LOOP
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace, current_trace
from jittape.runtime.counters import counters
from test_native_recording import calls_of_python, machine_code
from test_recording import in_threads

__all__ = ["machine_code"]

X = np.linspace(-1.0, 2.0, 7)
COUNTED = ("flushes", "compiled_runs", "interpreted_runs", "paths_found", "paths_recorded")
IN_PYTHON = {"_take_pending", "_run", "_distribute", "_end", "supersede", "import_tensor", "tensors_at"}


def counts() -> list[int]:
    return [getattr(counters, name) for name in COUNTED]


def steps() -> Iterator[Callable[[], Any]]:
    """Steps that end with a look, each with fresh values."""
    x, v, w = jt.constant(X), jt.Variable(X.copy()), jt.Variable(np.float64(0.5))

    def look() -> Any:
        return (x * x + 1.0).numpy()

    def dead_values() -> Any:
        jt.exp(x)
        kept = x - 2.0
        jt.sin(x)
        return kept.numpy()

    def update() -> Any:
        v.assign_add(0.125 * x)
        w.assign_sub(0.5 * w)
        return v.numpy(), float(w)

    def gradients() -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(x * x * w)
        dx, dw = tape.gradient(y, [x, w])
        return float(y), dx.numpy(), float(dw)

    def one_source() -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = x[1:] * x[:-1] ** 2
        return tape.gradient(y, x).numpy()

    def of_a_tuple() -> Any:
        with jt.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([x, w])
            y = jt.tanh(x) * w
        return [g.numpy() for g in tape.gradient(y, (x, w))]

    def second_derivative() -> Any:
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = x * x * x
            first = inner.gradient(y, x)
        return outer.gradient(first, x).numpy()

    def written() -> Any:
        z = x * 2.0
        with jt.GradientTape() as tape:
            tape.watch(z)
            y = z * z
            z[0] = 5.0
        return tape.gradient(y, z).numpy(), z.numpy()

    def several_looks() -> Any:
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            seen = float(y[0])
            z = y * seen
        return [tape.gradient(t, x).numpy() for t in (y, z)]

    yield from (look, dead_values, update, gradients, one_source, of_a_tuple, second_derivative, written)
    yield several_looks


NAMES = [step.__name__ for step in steps()]


@pytest.mark.parametrize("name", NAMES)
def test_values_and_counts_are_those_of_python(name: str):
    found = []
    for use in (switch.use_python, switch.use):
        step = next(step for step in steps() if step.__name__ == name)
        use()
        for _ in range(4):
            step()
        counters.paths_found += -counters.paths_found % LOOP + 1
        before = counts()
        values = [step() for _ in range(5)]
        current_trace().step()
        found.append((values, [b - a for a, b in zip(before, counts(), strict=True)]))
    np.testing.assert_equal(found[1][0], found[0][0])
    assert found[1][1] == found[0][1]


@pytest.mark.parametrize("name", NAMES[:7])
def test_known_steps_flush_without_python(name: str):
    step = next(step for step in steps() if step.__name__ == name)
    for _ in range(4):
        step()
    assert not IN_PYTHON & calls_of_python(step)
    switch.use_python()
    assert {"_take_pending", "_run", "_distribute", "_end"} <= calls_of_python(step)


def test_a_look_runs_no_python():
    step = next(steps())
    for _ in range(4):
        step()
    assert not {"_computed", "value_of", "flush"} & calls_of_python(step)


def test_looks_give_the_lock_back():
    """A look at a known value, at a failed one, and by another thread at a value of this one."""
    x, i = jt.constant(X), jt.constant(np.array([0, 9]))
    for _ in range(8):
        lock = current_trace()._flushing
        np.testing.assert_array_equal((x + 1.0).numpy(), X + 1.0)
        assert not lock._is_owned()
        with pytest.raises(IndexError):
            jt.gather(x, i).numpy()
        assert not lock._is_owned()
        pending, found = x * 2.0, []
        in_threads(lambda number, pending=pending, found=found: found.append(pending.numpy()), 2)
        np.testing.assert_array_equal(found, [2.0 * X, 2.0 * X])
        assert lock.acquire(blocking=False)
        lock.release()


def test_the_source_is_found_through_functions_of_jittape():
    """The first op of a step is recorded by code of jittape, which is no place where steps begin."""
    x = jt.constant(X)
    roots = []
    for use in (switch.use_python, switch.use, switch.use):
        use()
        current_trace().step()
        for call in (lambda: jt.reduce_max(x), lambda: jt.GradientTape().__enter__().watch(x)):
            call()
            roots.append(root_of(current_trace()))
            current_trace().step()
    assert roots[0] is not roots[1]
    assert roots[2:4] == roots[4:] == roots[:2]


def root_of(trace: Trace) -> Any:
    node = trace.node
    while node.parent is not None:
        node = node.parent
    return node


def test_results_in_use_are_not_overwritten():
    x = jt.constant(X)
    kept = [x * float(i) for i in range(3)]
    views = []
    for i in range(40):
        kept.append(x * float(i))
        views.append(kept[-1].numpy())
        if i % 3 == 0:
            kept.pop(0)
    np.testing.assert_array_equal(views, X * np.arange(40.0)[:, None])


def test_a_failed_value_is_refused_again():
    x, i = jt.constant(X), jt.constant(np.array([0, 9]))
    for _ in range(6):
        bad = jt.gather(x, i)
        good = x * 3.0
        with pytest.raises(IndexError):
            bad.numpy()
        np.testing.assert_array_equal(good.numpy(), X * 3)
        with jt.GradientTape() as tape, pytest.raises(IndexError):
            tape.watch(bad)


def test_the_interpreter_and_poisoned_memory(monkeypatch: pytest.MonkeyPatch):
    x = jt.constant(X)
    for setting, value in (("_interpret", True), ("poison_memory", not jt.config.poison_memory)):
        with monkeypatch.context() as patched:
            patched.setattr(jt.config, setting, value)
            current_trace().step()
            for i in range(6):
                np.testing.assert_array_equal((x * float(i) - x).numpy(), X * i - X)


def test_flushes_hold_nothing():
    made = list(steps())
    for step in made:
        for _ in range(8):
            step()

    def held() -> tuple[int, int]:
        gc.collect()
        return sys.getallocatedblocks(), sum(issubclass(type(v), Tensor | Trace) for v in gc.get_objects())

    before = held()
    for step in made:
        for _ in range(500):
            step()
    after = held()
    assert after[0] - before[0] < 300
    assert after[1] - before[1] < 20


def test_threads_share_a_program():
    """Each thread takes a workspace of its own, though a flush may run Python code at any allocation."""
    x = jt.constant(X)
    wrong: list[Any] = []

    def work(number: int) -> None:
        for i in range(400):
            found = (x * float(number) + float(i)).numpy()
            if not np.array_equal(found, X * number + i):
                wrong.append((number, i, found))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(work, 4)
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
