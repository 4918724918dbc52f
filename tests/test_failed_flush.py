"""A flush that fails fails once: nothing of it stays pending, and other Variables are as before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import jittape as jt
from jittape.native import switch
from jittape.recording.trace import current_trace
from jittape.runtime.path_executable import PathExecutable


@pytest.fixture(params=["Python", "machine code"], autouse=True)
def recorder(request: pytest.FixtureRequest) -> Iterator[None]:
    before, nbytes, ops = switch.is_used(), jt.config.max_pending_bytes, jt.config.max_pending_ops
    (switch.use if request.param == "machine code" else switch.use_python)()
    yield
    jt.config.max_pending_bytes, jt.config.max_pending_ops = nbytes, ops
    (switch.use if before else switch.use_python)()


@pytest.mark.parametrize("update", ["assign_add", "assign_sub", "assign", "item"])
@pytest.mark.parametrize("look", [True, False])
def test_a_variable_above_the_limit_of_pending_bytes_is_updated(update: str, look: bool) -> None:
    jt.config.max_pending_bytes = 1000
    w, one = jt.Variable(np.zeros(500)), jt.constant(np.ones(500))
    expected = np.zeros(500)
    for _ in range(5):
        if update == "assign":
            w.assign(w + one)
        elif update == "item":
            w[3:] = w[3:] + 1.0
        else:
            getattr(w, update)(one)
        expected[3 if update == "item" else 0 :] += -1 if update == "assign_sub" else 1
        if look:
            np.testing.assert_array_equal(w.numpy(), expected)
    np.testing.assert_array_equal(w.numpy(), expected)


def test_a_variable_above_the_limit_under_a_tape() -> None:
    jt.config.max_pending_bytes = 1000
    w, one = jt.Variable(np.zeros(500)), jt.constant(np.ones(500))
    for step in range(4):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(w * w)
            w.assign_add(one)
        np.testing.assert_array_equal(tape.gradient(loss, w).numpy(), 2.0 * step)
    assert w.numpy()[0] == 4


def test_many_pending_updates() -> None:
    jt.config.max_pending_ops = 7
    w, one = jt.Variable(0.0), jt.constant(1.0)
    for _ in range(50):
        w.assign_add(one)
        jt.sin(w)
    assert float(w) == 50


def test_a_number_that_no_dtype_holds_fails_once() -> None:
    """One that came past the check at recording."""
    u, v = jt.Variable(1.0), jt.Variable(2.0)
    u.assign_add(1.0)
    y = v * 3.0
    v.assign_add(1.0)
    inputs = current_trace().inputs
    inputs[inputs.index(3.0)] = 10**400
    for _ in range(2):
        with pytest.raises(OverflowError):
            y.numpy()
    assert float(u) == 2  # assigned before the number came in
    assert float(v) == 2
    assert (u + v).numpy() == 4


def test_what_no_interpreter_can_run_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    u = jt.Variable(1.0)
    u.assign_add(1.0)
    y = u * 2.0
    with monkeypatch.context() as patched:
        patched.setattr(PathExecutable, "run", broken)
        patched.setattr(PathExecutable, "salvage", broken)
        with pytest.raises(RuntimeError, match="broken"):
            y.numpy()
    with pytest.raises(RuntimeError, match="broken"):
        y.numpy()
    assert float(u) == 1
    assert float(u + 1.0) == 2
