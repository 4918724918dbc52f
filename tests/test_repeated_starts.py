"""A plain tape's gradient with respect to parts of an array is compiled for starts of slices that repeat."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.primitives.shape.views import concat_op
from jittape.recording.trace import begin_step
from jittape.recording.trie import trie
from jittape.runtime.counters import counters
from jittape.runtime.path_executable import GeneralPathAtStarts, PathAtStarts

POINTS = np.random.default_rng(0).uniform(0.5, 1.5, size=(400, 5))


@pytest.fixture(autouse=True)
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "_interpret", False)
    begin_step()
    trie.clear()  # equal steps of two tests would share a path


def expected(i: int, j: int) -> np.ndarray[Any, Any]:
    """The gradient of ``sum(sin(P[:, i]) * P[:, j] ** 2)``."""
    wanted = np.zeros_like(POINTS)
    wanted[:, i] += np.cos(POINTS[:, i]) * POINTS[:, j] ** 2
    wanted[:, j] += np.sin(POINTS[:, i]) * 2 * POINTS[:, j]
    return wanted


def gradient(P: jt.Variable, i: int, j: int) -> np.ndarray[Any, Any]:
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(jt.sin(P[:, i]) * P[:, j] ** 2)
    found: np.ndarray[Any, Any] = tape.gradient(y, P).numpy()
    return found


PAIRS = {
    "the same": [(0, 3)] * 6,
    "changes after the compilation": [(0, 3)] * 4 + [(1, 3), (0, 3), (0, 3), (4, 2), (0, 3)],
    "changes at each step": [(i % 5, (i + 2) % 5) for i in range(9)],
    "changes at the compilation": [(0, 3), (0, 4), (0, 4), (0, 3)],
    "negative": [(-5, -2)] * 3 + [(0, 3), (-1, -2), (0, -2)],
    "one column twice": [(2, 2)] * 3 + [(2, 1), (2, 2)],
    "order": [(0, 3)] * 3 + [(3, 0)] * 3,
    "nested loops": [(i, j) for i in range(3) for j in range(3)],
}


@pytest.mark.parametrize("name", PAIRS)
def test_no_start_is_stale(name: str) -> None:
    P = jt.Variable(POINTS)
    for i, j in PAIRS[name]:
        np.testing.assert_allclose(gradient(P, i, j), expected(i, j), rtol=1e-12, err_msg=f"{(i, j)}")


def test_columns_are_written_in_one_pass() -> None:
    """The kernels are those of a `jt.function`: no column is padded to an array, and none is computed twice."""
    P = jt.Variable(POINTS)

    def f(P: Any) -> Any:
        a, b, c = P[:, 0], P[:, 1], P[:, 3]
        return jt.reduce_sum(a * jt.exp(-b) + jt.sin(c))

    for _ in range(3):
        with jt.GradientTape() as tape:
            y = f(P)
        tape.gradient(y, P).numpy()
    plain = counters.last.compiled
    function = jt.function(jt.value_and_grad(f)).get_concrete_function(P)._trace.compiled
    assert isinstance(counters.last, PathAtStarts)
    assert [op.primitive for step in plain.steps for op in step.ops].count(concat_op) == 1
    assert [step.kernel.loops for step in plain.steps] == [step.kernel.loops for step in function.steps]
    assert plain.memory.arena <= function.memory.arena
    assert len(plain.program.inputs) == 1
    assert counters.last._fast_run is not None  # integer inputs would need the longer way


def test_a_path_is_compiled_again_once() -> None:
    """Starts that change after they have repeated cost one more compilation, and no further one."""
    P = jt.Variable(POINTS)
    before = counters.programs_compiled
    for i, j in [(0, 1), (0, 1), (1, 2), (2, 3), (0, 1), (3, 4), (0, 1)]:
        gradient(P, i, j)
    assert counters.programs_compiled == before + 2
    assert not isinstance(counters.last, PathAtStarts)


def test_starts_that_change_at_once_cost_no_compilation() -> None:
    P = jt.Variable(POINTS)
    before = counters.programs_compiled
    for i in range(5):
        gradient(P, i, 0)
    assert counters.programs_compiled == before + 1


def test_only_paths_that_pad_are_bound() -> None:
    """Starts of batches of data, which no gradient is padded to, stay run-time inputs."""
    data, w = jt.constant(POINTS), jt.Variable(np.ones(5))
    before = counters.programs_compiled
    for first in (0, 0, 0, 100, 200):
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(jt.square(data[first : first + 100] * w))
        np.testing.assert_allclose(
            tape.gradient(y, w).numpy(), 2 * np.square(POINTS[first : first + 100]).sum(0)
        )
    assert counters.programs_compiled == before + 1


def test_a_variable_is_updated_in_place_with_repeated_starts() -> None:
    points = np.tile(POINTS, (100, 1))
    P, places = jt.Variable(points), []
    for step in range(8):
        i = 1 if step == 6 else 0
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(P[:, i] * jt.sin(P[:, 2]))
        P.assign_sub(0.1 * tape.gradient(y, P))
        begin_step()
        places.append(P._buffer.address)
        a, c = points[:, i].copy(), points[:, 2].copy()
        points[:, i] -= 0.1 * np.sin(c)
        points[:, 2] -= 0.1 * a * np.cos(c)
    np.testing.assert_allclose(P.numpy(), points, rtol=1e-12)
    assert len(set(places[2:6])) == 1


def test_threads_with_different_starts_agree() -> None:
    P, wrong = jt.Variable(POINTS), []
    for _ in range(3):
        gradient(P, 0, 3)

    def work(number: int) -> None:
        mine = jt.Variable(POINTS)
        for k in range(20):
            i, j = (0, 3) if (k + number) % 3 else (number, 4)
            if not np.allclose(gradient(mine, i, j), expected(i, j), rtol=1e-12):
                wrong.append((number, i, j))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


LENGTHS = (400, 390, 380, 371, 400, 362, 355, 380, 341, 333)


@pytest.mark.parametrize("name", PAIRS)
def test_no_start_is_stale_for_many_lengths(name: str) -> None:
    """Lengths from the third on are served by a general path."""
    pairs = PAIRS[name]
    for step, n in enumerate(LENGTHS * 2):
        i, j = pairs[step % len(pairs)]
        np.testing.assert_allclose(
            gradient(jt.Variable(POINTS[:n]), i, j), expected(i, j)[:n], rtol=1e-12, err_msg=f"{(n, i, j)}"
        )


def test_columns_of_many_lengths_are_written_in_one_pass() -> None:
    """A new length has the kernels of the first."""
    kernels: list[list[str]] = []
    for n in LENGTHS:
        P = jt.Variable(POINTS[:n])
        for _ in range(3):
            gradient(P, 0, 3)
        assert isinstance(counters.last, PathAtStarts | GeneralPathAtStarts)
        kernels.append([step.kernel.name for step in counters.last.compiled.schedule.steps])
    assert isinstance(counters.last, GeneralPathAtStarts)
    assert all(names == kernels[0] for names in kernels)


def test_explain_and_profile_describe_the_path_that_ran() -> None:
    P = jt.Variable(POINTS)
    for _ in range(3):
        gradient(P, 0, 3)
    page = jt.explain()
    assert (page.compiled, page.visits) == (True, 3)
    with jt.profile() as measured:
        for _ in range(3):
            np.testing.assert_allclose(gradient(P, 0, 3), expected(0, 3), rtol=1e-12)
    assert "test_repeated_starts" in str(measured)
    np.testing.assert_allclose(gradient(P, 1, 3), expected(1, 3), rtol=1e-12)
    assert jt.explain().visits == 7
