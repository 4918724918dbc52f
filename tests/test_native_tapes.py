"""Tapes in machine code do what those in Python do, and call no Python in a step on a known path."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.native import switch
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python, machine_code

__all__ = ["machine_code"]

X, Y = jt.constant(np.arange(1.0, 6.0)), jt.constant(np.linspace(1, 2, 5))
N = jt.constant(np.arange(5))
F, C = jt.constant(np.ones(5, np.float32)), jt.constant(np.ones(5) * 1j)
W = jt.Variable(np.full(5, 2.0))


class Named(jt.GradientTape):
    """A tape of the user's."""

    name = "named"


def values(made: Any) -> Any:
    """Return what the user sees of gradients."""
    if isinstance(made, dict):
        return {name: values(part) for name, part in made.items()}
    if isinstance(made, list | tuple):
        return type(made)([values(part) for part in made])
    return None if made is None else made.numpy().tolist()


def watched(*leaves: Any, kind: type = jt.GradientTape, **options: Any) -> Callable[[], Any]:
    def step() -> Any:
        with kind(**options) as tape:
            for leaf in leaves:
                tape.watch(leaf)
            y = jt.reduce_sum(X * X * Y)
        return (
            values(tape.gradient(y, X)),
            repr(tape),
            tape.watched_variables() == (),
            tape.explain(y, X)[:40],
        )

    return step


def sources_of(sources: Any) -> Callable[[], Any]:
    def step() -> Any:
        with jt.GradientTape() as tape:
            tape.watch([X, Y])
            y = jt.reduce_sum(X * X * Y * W)
        return values(tape.gradient(y, sources))

    return step


def persistent() -> Any:
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y, z = X * X, jt.reduce_sum(X * Y)
    found = [values(tape.gradient(t, X)) for t in (y, z, y)]
    return found, repr(tape)


def nested() -> Any:
    with jt.GradientTape() as outer:
        outer.watch(X)
        with jt.GradientTape() as inner:
            inner.watch(X)
            y = jt.reduce_sum(X * X * X)
        slope = inner.gradient(y, X)
    return values(slope), values(outer.gradient(slope, X))


def interleaved() -> Any:
    first, second = jt.GradientTape(), jt.GradientTape()
    first.__enter__()
    first.watch(X)
    y = X * X
    second.__enter__()
    second.watch(Y)
    z = jt.reduce_sum(y * Y)
    first.__exit__(None, None, None)
    u = z * z
    second.__exit__(None, None, None)
    return values(first.gradient(z, X)), values(second.gradient(u, Y)), len(current_trace().intervals)


def entered_again() -> Any:
    tape = jt.GradientTape(persistent=True)
    with tape:
        tape.watch(X)
        y = X * X
    apart = X * 3.0
    with tape:
        z = jt.reduce_sum(y * apart)
    return values(tape.gradient(z, X))


def used_up() -> Any:
    with jt.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    tape.gradient(y, X)
    with pytest.raises(RuntimeError, match="only be called once"):
        tape.gradient(y, X)
    with tape:
        tape.watch(X)
        y = X * 4.0
    return values(tape.gradient(y, X))


def within_the_block() -> Any:
    with jt.GradientTape() as tape:
        tape.watch(X)
        y = X * X
        with pytest.warns(jt.errors.TapeUsageWarning):
            slope = tape.gradient(y, X)
    return values(slope)


def paused() -> Any:
    with jt.GradientTape() as tape:
        tape.watch(X)
        with tape.stop_recording():
            y = X * X
        z = jt.reduce_sum(y * X)
    return values(tape.gradient(z, X))


def with_an_error() -> Any:
    tape = jt.GradientTape()
    with pytest.raises(ZeroDivisionError), tape:
        tape.watch(X)
        y = X * X
        raise ZeroDivisionError
    with pytest.raises(ValueError, match="re-enter"), tape, tape:
        pass
    return values(tape.gradient(y, X)), len(current_trace().intervals)


def other_arguments() -> Any:
    with jt.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    weights = jt.constant(np.arange(5.0))
    return values(tape.gradient(y, sources=[X], output_gradients=weights))


def dropped() -> Any:
    tape: Any = jt.GradientTape()
    tape.__enter__()
    y = X * X
    del tape
    gc.collect()
    with jt.GradientTape() as tape:
        tape.watch(X)
        z = X * Y
    del tape
    return values(y), values(z), current_trace().holders


def after_an_assignment() -> Any:
    W.assign(W * 0.5 + 1.0)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(W * W)
    return np.shape(values(tape.gradient(y, W)))


STEPS = {
    "a tensor": watched(X),
    "two": watched(X, Y),
    "float32": watched(X, F),
    "complex": watched(X, C),
    "ints": watched(X, N),
    "a list": watched([X, Y]),
    "a subclass": watched(X, kind=Named),
    "no access": watched(X, watch_accessed_variables=False),
    "one source": sources_of(X),
    "a Variable": sources_of(W),
    "list": sources_of([X, W]),
    "tuple": sources_of((X, Y)),
    "dict": sources_of({"x": X}),
    "none": sources_of([]),
} | {f.__name__: f for f in (
    persistent, nested, interleaved, entered_again, used_up, within_the_block, paused, with_an_error, other_arguments,
    dropped, after_an_assignment,
)}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.filterwarnings("ignore::jittape.UnconnectedGradientWarning")
def test_tapes_do_what_those_in_python_do(name: str) -> None:
    step = STEPS[name]
    found = [step() for _ in range(4)]
    switch.use_python()
    try:
        expected = [step() for _ in range(4)]
    finally:
        switch.use()
    assert found == expected
    assert step() == expected[-1]


def test_a_step_runs_without_python() -> None:
    def step() -> Any:
        with jt.GradientTape() as tape:
            tape.watch(X)
            y = jt.reduce_sum(X * X * Y)
        return tape.gradient(y, X)

    def nested() -> Any:
        with jt.GradientTape() as outer:
            outer.watch(X)
            with jt.GradientTape() as inner:
                inner.watch(X)
                y = jt.reduce_sum(X * X * Y)
            slope = inner.gradient(y, X)
        return outer.gradient(slope, X)

    def update() -> None:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(X * W)
        W.assign_sub(0.01 * tape.gradient(y, W))

    for run in (step, nested):
        for _ in range(4):
            run().numpy()
        assert not calls_of_python(run) - {"__init__"}
        switch.use_python()
        assert {"__enter__", "__exit__", "watch", "gradient"} <= calls_of_python(run)
        switch.use()
    for _ in range(4):
        update()
    assert calls_of_python(update) <= {"__init__", "step", "flush"}


def test_gradients_of_a_persistent_tape_run_without_python() -> None:
    for _ in range(4):
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(X)
            y, z = X * X, jt.reduce_sum(X * Y)
        called = calls_of_python(lambda: [tape.gradient(y, X), tape.gradient(z, X)])  # noqa: B023
        y.numpy()
    assert not called


def test_an_error_of_the_step_before_is_raised_on_entry() -> None:
    for _ in range(3):
        failed, kept = jt.pow(N, N - 5), X * 2.0
        tape = jt.GradientTape()
        with pytest.raises(ValueError, match="negative integer powers"), tape:
            pytest.fail("the tape was entered")
        assert kept.numpy().tolist() == [2.0, 4.0, 6.0, 8.0, 10.0]
        with pytest.raises(ValueError, match="negative integer powers"):
            failed.numpy()
        assert watched(X)() == watched(X)()
        with tape:
            tape.watch(X)
            y = X * X
        assert tape.gradient(y, X).numpy().tolist() == kept.numpy().tolist()


def test_a_tape_without_its_parts_is_refused() -> None:
    tape = jt.GradientTape.__new__(jt.GradientTape)
    for method in (tape.__enter__, lambda: tape.watch(X), lambda: tape.gradient(X, X)):
        with pytest.raises(AttributeError):
            method()
    with pytest.raises(TypeError):
        jt.GradientTape.watch(X, X)


def test_tapes_that_are_dropped_release_their_traces() -> None:
    for _ in range(50):
        with jt.GradientTape() as tape:
            tape.watch(X)
            y = jt.reduce_sum(X * X)
        del tape
    assert y.numpy() == 55.0
    trace = current_trace()
    assert trace.holders == 0
    assert not trace.lost.held
