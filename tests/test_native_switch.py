"""The switch of machine code over Python objects: the same values with and without it, and when it is off by itself."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import jittape as jt
from jittape import doctor
from jittape.core.config import TESTED, Config
from jittape.native import built_in, object_layout, switch
from jittape.recording import flushing
from jittape.recording.flushing import LOOP
from jittape.runtime.result_memory import ResultMemory, count_busy
from jittape.runtime.workspace import _own_references
from processes import run_python


@pytest.fixture(autouse=True)
def native_as_before() -> Iterator[None]:
    yield
    jt.config.native = True
    switch.follow()


def trained(steps: int) -> list[float]:
    """A loop that is recorded, and a function, both with a large Variable that is updated in place."""
    w, x = jt.Variable(np.zeros(10_000)), np.linspace(0.0, 1.0, 10_000)
    update = jt.function(lambda x, rate: w.assign_sub(rate * x))
    losses = []
    for step in range(steps):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(w - x))
        w.assign_sub(0.5 * tape.gradient(loss, w))
        update(x, 0.01 * step)
        losses.append(float(loss))
    return [*losses, *w.numpy()[::999].tolist()]


def test_the_same_values_on_and_off_and_on_again() -> None:
    switch.follow()
    on = trained(5)
    jt.config.native = False
    assert not switch.is_used()
    assert ResultMemory._busy is count_busy
    assert trained(5) == on
    jt.config.native = True
    assert switch.is_used()
    assert trained(5) == on


def test_the_switch_turns_everything_off_that_is_at_work() -> None:
    """What was compiled before goes the slower way from then on."""
    x = jt.constant(np.arange(3.0))
    double = jt.function(lambda a: a * 2.0)

    def values() -> list[float]:
        return [*double(x).numpy(), *(jt.sin(x) + 1.0).numpy()]

    for _ in range(4):
        on = values()
    assert double._recent is not None
    jt.config.native = False
    assert double._recent is None
    assert values() == on
    assert double._recent is None
    jt.config.native = True
    assert values() == on
    assert double._recent is not None


def test_what_is_given_must_be_a_flag() -> None:
    with pytest.raises(TypeError, match="config.native must be True or False"):
        jt.config.native = 1  # type: ignore[assignment]


@pytest.mark.parametrize("value", ["0", "1", None])
def test_the_environment_variable(value: str | None) -> None:
    text = f"""
import numpy as np, jittape as jt
from jittape.native import switch
assert jt.config.native is {value != "0"}
x, f = jt.constant(np.ones(3)), jt.function(lambda a: a + 1.0)
for _ in range({LOOP + 5}):
    y = (x * 2.0).numpy()
    z = f(x)
assert switch.is_used() is {value != "0"}, switch.status()
assert (f._recent is not None) is {value != "0"}
"""
    ended = run_python("-c", text, timeout=120, JITTAPE_NATIVE=value)
    assert ended.returncode == 0, ended.stderr


def test_off_while_somebody_traces() -> None:
    """A debugger sees Python's methods again after some steps, and machine code records when it has gone."""
    x = jt.constant(np.ones(3))

    def loop() -> None:
        for _ in range(LOOP + 1):
            (x * 3.0).numpy()

    loop()
    assert switch.is_used()
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        loop()
        assert not switch.is_used()
        assert "traces" in switch.status()
    finally:
        sys.settrace(before)
    loop()
    assert switch.is_used() or before is not None


def report() -> str:
    out = io.StringIO()
    print(doctor.recording(), file=out)
    return out.getvalue()


def test_the_doctor_says_what_records(monkeypatch: pytest.MonkeyPatch) -> None:
    assert report().startswith("machine code")
    jt.config.native = False
    assert "jt.config.native is False" in report()
    jt.config.native = True
    with monkeypatch.context() as patched:
        patched.setattr(Config, "native_supported", False)
        assert "tested with CPython 3.11 to 3.13 only" in report()


def test_no_layout_on_a_python_that_was_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sys.version_info[:2] in TESTED
    monkeypatch.setattr(Config, "native_supported", False)
    assert object_layout.object_layout.__wrapped__() is None
    assert built_in.built_in("name", lambda *_: None) is not None  # what was found out stays


def test_references_are_counted_on_the_way_of_a_run() -> None:
    """Of an input there are the list's reference, a local variable's and that of the call that counts."""
    assert _own_references() == 3
    layout = object_layout.object_layout()
    assert layout is not None
    assert layout.held == 1


def test_a_loop_that_meets_no_length_twice_is_recorded_by_machine_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    w, followed = jt.Variable(np.ones(3)), [0]
    monkeypatch.setattr(switch, "follow", lambda: followed.append(followed.pop() + 1))
    monkeypatch.setattr(flushing, "_NEW_LENGTHS", LOOP)

    def step(length: int) -> float:
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.constant(np.ones((length, 3))) * w)
        return float(tape.gradient(loss, w)[0])

    for length in range(11, 11 + 2 * LOOP):
        assert step(length) == length
    assert followed[0] >= 1
