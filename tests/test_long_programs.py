"""Long programs are scheduled in segments: equal segments once, and every result is right."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import passes_of, schedule_long, schedule_recorded
from jittape.compile.kernels.scalar_vm.bytecode import ScalarVM
from jittape.compile.schedule import pipeline, place_segments
from jittape.compile.schedule.memory_planning import Arena
from jittape.compile.schedule.place_segments import text_of_segments
from jittape.compile.schedule.program_segments import segments_of
from jittape.compile.schedule.steps import KernelStep
from jittape.core.buffers import Buffer
from jittape.core.builder import literal
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.tuning import tuning
from jittape.errors import ProgramError
from jittape.primitives.broadcast import broadcast_to_op, cast_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.identity import identity_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.shape.views import transpose_op
from jittape.recording.trie import trie
from jittape.runtime.executable import executable_of
from programs import gradient_program, program_of

RNG = np.random.default_rng(7)
X = RNG.uniform(-1.0, 1.0, (4, 3))
W = RNG.uniform(-1.0, 1.0, (3, 3))
B = RNG.uniform(-1.0, 1.0, (3,))


@pytest.fixture(autouse=True)
def short_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path))
    with tuning.override(
        segmented_program_ops=200, segment_ops=40, segment_windows=(8, 64), segment_reach=64
    ):
        yield


def cells(x: Any, w: Any, b: Any, steps: int = 60, layers: int = 2) -> Any:
    """A recurrent network of several layers, whose states go from step to step."""
    states = [multiply(x, 0.0) for _ in range(layers)]
    total = sum_op.bind(x, axes=(0, 1))
    for _ in range(steps):
        value = x
        for i, state in enumerate(states):
            bias = broadcast_to_op.bind(b, shape=(4, 3))
            value = states[i] = sin(add(add(matmul_op.bind(value, w), matmul_op.bind(state, w)), bias))
        total = add(total, sum_op.bind(multiply(value, value), axes=(0, 1)))
    return total


def chain(x: Any, steps: int = 120) -> Any:
    for _ in range(steps):
        x = multiply(sin(x), 1.01)
    return sum_op.bind(x, axes=(0, 1))


def views_from_afar(x: Any, w: Any, steps: int = 100) -> Any:
    """Views and constants of the beginning, which all later steps read."""
    turned = transpose_op.bind(w, perm=(1, 0))
    small = broadcast_to_op.bind(literal(0.5, np.dtype(float)), shape=(4, 3))
    for _ in range(steps):
        x = sin(multiply(matmul_op.bind(x, turned), small))
    return x, turned


def outputs_on_the_way(x: Any, steps: int = 100) -> Any:
    """Results of many steps, inputs among them, and the same one twice."""
    found = []
    for _ in range(steps):
        x = identity_op.bind(sin(multiply(x, 0.9)))
        found.append(x)
    return (*found[::4], found[-1], found[-1])


def different_lines(x: Any, steps: int = 60) -> Any:
    """Two loops with different bodies, one after the other."""
    for _ in range(steps):
        x = sin(multiply(x, 0.9))
    for _ in range(steps):
        x = add(multiply(x, 0.5), sin(x))
    return x


def odd_dtypes(x: Any, steps: int = 60) -> Any:
    for _ in range(steps):
        x = cast_op.bind(sin(cast_op.bind(x, dtype=np.dtype("float16"))), dtype=np.dtype("float64"))
        x = add(x, 0.25)
    return x


PROGRAMS: list[tuple[Callable[..., Any], list[Any]]] = [
    (cells, [X, W, B]),
    (chain, [X]),
    (views_from_afar, [X, W]),
    (outputs_on_the_way, [X]),
    (different_lines, [X]),
    (odd_dtypes, [X]),
]


def compared(program: Program, arrays: Sequence[Any]) -> None:
    """Run a program in segments and compare with the interpreter."""
    assert schedule_long(program) is not None
    found = executable_of(program, frozenset()).run([Buffer(np.array(a)) for a in arrays])
    for value, wanted in zip(found, interpret(program, arrays), strict=True):
        np.testing.assert_allclose(value.array, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("function", "arrays"), PROGRAMS)
def test_segments_compute_what_the_interpreter_computes(
    function: Callable[..., Any], arrays: list[Any]
) -> None:
    compared(program_of(function, *arrays), arrays)


def test_scalar_bytecode_runs_in_segments() -> None:
    def iterated(x: Any) -> Any:
        for _ in range(400):
            x = add(multiply(x, x), -0.4)
        return x

    with tuning.override(bytecode_min_ops=20):
        program = program_of(iterated, np.array(0.3))
        compared(program, [np.array(0.3)])
        made = schedule_long(program)
    assert made is not None
    assert any(isinstance(kernel, ScalarVM) for kernel in made.kernels)


@pytest.mark.parametrize(("function", "arrays"), [PROGRAMS[0], PROGRAMS[1]])
def test_gradients_run_in_segments(function: Callable[..., Any], arrays: list[Any]) -> None:
    program = gradient_program(program_of(function, *arrays), range(len(arrays)))
    compared(program, [*arrays, np.array(1.0)])


@pytest.mark.parametrize("steps", [100, 200, 800])
def test_the_number_of_distinct_segments_does_not_grow(steps: int) -> None:
    program = gradient_program(program_of(lambda x: chain(x, steps), X), [0])
    segments = segments_of(program)
    assert segments is not None
    assert len({segment.key for segment in segments}) <= 5
    assert sum(len(line) > 0 for line in text_of_segments(program).splitlines()) <= 5


def test_segments_of_a_network_begin_at_the_same_layer() -> None:
    """Layers are alike, but only whole steps repeat: operands say which."""
    program = program_of(lambda x, w, b: cells(x, w, b, 100, 3), X, W, B)
    segments = segments_of(program)
    assert segments is not None
    assert len({segment.key for segment in segments}) <= 3


def test_values_that_segments_exchange_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of a placement finds it without the check of all steps, which runs in tests only."""

    class OneRange(Arena):
        def take(self, owner: int, nbytes: int) -> int:
            return super().take(owner, nbytes) * 0

    program = gradient_program(program_of(chain, X), [0])
    monkeypatch.setattr(pipeline, "verify_each_pass", False)
    assert schedule_long(program) is not None
    monkeypatch.setattr(place_segments, "Arena", OneRange)
    with pytest.raises(ProgramError, match="in the memory of"):
        schedule_long(program)


def test_short_programs_and_those_without_repetition_are_scheduled_as_a_whole() -> None:
    rng = random.Random(3)

    def irregular(x: Any) -> Any:
        for _ in range(150):
            x = multiply(sin(x), rng.random()) if rng.random() < 0.5 else add(x, rng.random())
        return x

    assert schedule_long(program_of(irregular, X)) is None
    assert schedule_long(program_of(lambda x: chain(x, 10), X)) is None


def test_programs_with_checks_are_scheduled_as_a_whole() -> None:
    def looked_up(x: Any, i: Any) -> Any:
        for _ in range(100):
            x = sin(jt.gather(x, i))
        return x

    assert schedule_long(program_of(looked_up, X, np.array([0, 1, 2, 3]))) is None


def test_segments_run_in_row_tiles_unless_that_takes_much_memory() -> None:
    """A tile loop saves the memory of values that segments exchange."""
    x = RNG.uniform(-1.0, 1.0, (512, 8))
    program = gradient_program(program_of(chain, x), [0])
    with tuning.override(row_tile_cached_bytes=1, row_tile_step_bytes=1, row_tile_bytes=1 << 14):
        made = schedule_long(program)
        assert made is not None
        assert any(step.tile is not None for step in made.steps)
        compared(program, [x, np.array(1.0)])
        with tuning.override(segments_arena_bytes=1000):
            assert schedule_long(program) is None


def test_equal_parameters_of_other_types_are_different_kinds() -> None:
    """1 == 1.0 == True, but the constants differ."""

    def alternating(x: Any, values: Sequence[Any]) -> Any:
        for i in range(120):
            x = sin(add(x, cast_op.bind(literal(values[i % 2], np.dtype(bool)), dtype=np.dtype(float))))
        return x

    program = program_of(lambda x: alternating(x, (True, False)), X)
    compared(program, [X])


def test_a_large_value_is_updated_in_place() -> None:
    def updated(w: Any) -> Any:
        return add(w, multiply(broadcast_to_op.bind(chain(w), shape=w.shape), 0.1))

    program = program_of(updated, X)
    made = schedule_long(program, ((0, 0),))
    assert made is not None
    assert [pair[:2] for pair in made.in_place] == [(0, 0)]
    value = Buffer(X.copy())
    (found,) = executable_of(program, frozenset(), ((0, 0),)).run([value])
    np.testing.assert_allclose(found.array, interpret(program, [X])[0], rtol=1e-9)


def test_an_input_under_two_slots_is_not_overwritten() -> None:
    """The identity makes two slots of the last segment the same memory."""

    def updated(w: Any) -> Any:
        same = identity_op.bind(w)
        moved = transpose_op.bind(same, perm=(1, 0))
        return add(w, matmul_op.bind(moved, broadcast_to_op.bind(chain(w), shape=w.shape)))

    program = program_of(updated, W)
    compared(program, [W])
    (found,) = executable_of(program, frozenset(), ((0, 0),)).run([Buffer(W.copy())])
    np.testing.assert_allclose(found.array, interpret(program, [W])[0], rtol=1e-9)


def test_steps_are_explained() -> None:
    program = program_of(cells, X, W, B)
    compiled = executable_of(program, frozenset())
    assert not compiled.is_cached
    explained = compiled.explained
    assert len(explained.steps) == len(compiled.schedule.steps)
    for step, ran in zip(explained.steps, compiled.schedule.steps, strict=True):
        assert isinstance(step, KernelStep)
        assert isinstance(ran, KernelStep)
        assert (step.kernel, step.storages, step.sizes) == (ran.kernel, ran.storages, ran.sizes)
        assert step.ops
    defined = set(explained.program.inputs)
    for op in explained.program.ops:
        assert defined.issuperset(op.args)
        defined.add(op.out)
    np.testing.assert_allclose(
        interpret(explained.program, [X, W, B])[0], interpret(program, [X, W, B])[0], rtol=1e-9
    )
    assert [name for name, _ in passes_of(program)] == ["recorded", "segments", "place segments"]


def interpreted_visits(steps: int, visits: int) -> list[int]:
    """Return, for each of some visits of a chain on a tape, how many programs it interpreted."""
    trie.clear()
    found, gradients = [], []
    for _ in range(visits):
        before = jt.stats().interpreted_runs
        x = jt.constant(X)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(steps):
                y = jt.sin(y) * 1.01
        gradients.append(tape.gradient(y, x).numpy())
        found.append(jt.stats().interpreted_runs - before)
    for gradient in gradients:
        np.testing.assert_allclose(gradient, np.prod(1.01 * np.cos(angles(steps)), axis=0), rtol=1e-9)
    return found


def angles(steps: int) -> list[Any]:
    """Return the arguments of the sines of the chain."""
    found = [X]
    for _ in range(steps - 1):
        found.append(np.sin(found[-1]) * 1.01)
    return found


def test_few_segments_that_repeat_often_are_compiled_at_the_first_visit(new_step: None) -> None:
    jt.config.cache = False
    try:
        assert interpreted_visits(2000, 2) == [0, 0]
        assert interpreted_visits(150, 3) == [1, 0, 0]
    finally:
        jt.config.cache = True


def test_a_schedule_on_disk_is_loaded_at_the_first_visit(new_step: None) -> None:
    assert interpreted_visits(150, 2) == [1, 0]
    assert interpreted_visits(150, 2) == [0, 0]


def test_a_step_of_the_user_runs_and_is_explained() -> None:
    w = jt.Variable(W)

    def step() -> tuple[float, Any]:
        with jt.GradientTape() as tape:
            h = jt.constant(X)
            for _ in range(80):
                h = jt.tanh(h @ w)
            loss = jt.reduce_sum(h * h)
        return float(loss), tape.gradient(loss, w).numpy()

    (first, gradient), (again, same) = step(), step()
    assert first == pytest.approx(again)
    np.testing.assert_allclose(gradient, same, rtol=1e-9)
    assert schedule_recorded(program_of(chain, X)).steps
    page = jt.explain()
    assert page.compiled
    assert len(page.steps) > 80
