"""When things run, what is recorded once, and that neither memory nor the trie grows without bound."""

from __future__ import annotations

import gc
import threading
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.recording.flushing import live_among
from jittape.recording.trace import current_trace
from jittape.recording.trie import trie
from jittape.runtime.counters import counters
from jittape.runtime.path_executable import PathExecutable

pytestmark = pytest.mark.usefixtures("small_heap")


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Nothing is pending, and the settings are the defaults again afterwards."""
    current_trace().flush()
    before = {
        name: getattr(jt.config, name) for name in ("max_pending_ops", "max_pending_bytes", "max_trie_nodes")
    }
    yield
    for name, value in before.items():
        setattr(jt.config, name, value)


def forget_all() -> None:
    """An empty trie, and a trace that begins in it."""
    trie.clear()
    current_trace().flush()


class Since:
    """What `jt.stats()` has counted since this was made."""

    def __init__(self) -> None:
        self._before = jt.stats()

    def __getattr__(self, name: str) -> Any:
        return getattr(jt.stats(), name) - getattr(self._before, name)


# ---- when things run -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        float,
        int,
        bool,
        complex,
        str,
        repr,
        "{:.1f}".format,
        np.asarray,
        jt.Tensor.numpy,
        jt.Tensor.item,
        jt.Tensor.tolist,
    ],
)
def test_a_look_runs_everything_pending_at_once(look: Callable[[Any], Any]):
    since = Since()
    x = jt.constant(2.0)
    y = x * 3.0
    z = y + 1.0
    assert since.flushes == 0
    look(z)
    assert since.flushes == 1
    look(y)
    look(z)
    assert since.flushes == 1


def test_shape_and_dtype_are_known_without_running():
    since = Since()
    x = jt.constant(np.ones((3, 4)))
    y = jt.matmul(x, jt.transpose(x))
    assert (y.shape, y.dtype, y.ndim, y.size, len(y)) == ((3, 3), np.float64, 2, 9, 3)
    assert since.flushes == 0


def test_what_nobody_holds_is_not_computed():
    x = jt.constant([1.0, 2.0])
    y = jt.exp(x)
    del y
    z = 2.0 * x
    np.testing.assert_array_equal(z, [2.0, 4.0])
    assert "exp" not in [op.primitive.name for op in counters.last.program.ops]


def test_python_finds_what_is_held_without_machine_code():
    class Pending:
        _buffer: object = None

    held, computed = Pending(), Pending()
    computed._buffer = 1
    assert live_among([Pending(), held, computed]) == [held]


def test_an_assigned_variable_runs_with_the_step():
    v = jt.Variable(1.0)
    since = Since()
    for _ in range(5):
        v.assign_add(1.0)
    assert since.flushes == 0
    assert v.numpy() == 6.0
    assert since.flushes == 1


def test_entering_an_outermost_tape_is_a_step_boundary_and_an_inner_one_is_not():
    v = jt.Variable(1.0)
    v.assign_add(1.0)
    since = Since()
    with jt.GradientTape() as outer:
        assert since.flushes == 1
        y = v * v
        with jt.GradientTape() as inner:
            z = v * y
        dz = inner.gradient(z, v)
        assert since.flushes == 1
    d2z = outer.gradient(dz, v)
    assert since.flushes == 1
    assert (dz.numpy(), d2z.numpy()) == (4.0 + 0.0, 4.0)
    assert since.flushes == 2


def regression_step(x: Any, y: Any, m: Any, b: Any, rate: float = 0.05) -> Any:
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(m * x + b - y))
    dm, db = tape.gradient(loss, [m, b])
    m.assign_sub(rate * dm)
    b.assign_sub(rate * db)
    return loss


def regression() -> tuple[Any, Any, Any, Any]:
    x = jt.constant(np.linspace(0, 1, 100, dtype=np.float32))
    return x, jt.constant(3 * x.numpy() + 2), jt.Variable(0.0), jt.Variable(0.0)


def test_a_textbook_step_is_one_executable_and_compiles_once():
    forget_all()
    data = regression()
    regression_step(*data)
    regression_step(*data)
    regression_step(*data)  # runs the second step
    warm = Since()
    for _ in range(100):
        regression_step(*data)
    assert warm.flushes == 100
    assert (warm.compiled_runs, warm.interpreted_runs) == (100, 0)
    assert (warm.programs, warm.kernels, warm.paths_recorded, warm.trie_nodes) == (0, 0, 0, 0)


def test_the_first_visit_is_interpreted_and_the_second_compiled():
    forget_all()
    since = Since()
    for runs in ((0, 1), (1, 1), (2, 1)):
        assert float(jt.sinh(jt.constant(2.0)) * 3.0 - 1.0) == pytest.approx(3 * np.sinh(2.0) - 1, rel=1e-6)
        assert (since.compiled_runs, since.interpreted_runs) == runs
    assert since.programs == 1


def test_config_interpret_compiles_nothing():
    forget_all()
    jt.config.interpret = True
    try:
        since = Since()
        data = regression()
        for _ in range(5):
            regression_step(*data)
        assert since.programs == since.compiled_runs == 0
        assert since.interpreted_runs > 0
    finally:
        jt.config.interpret = False


def test_interpreter_and_compiled_steps_agree():
    results = []
    for interpret in (True, False):
        jt.config.interpret = interpret
        data = regression()
        losses = [float(regression_step(*data)) for _ in range(20)]
        results.append([*losses, float(data[2]), float(data[3])])
    jt.config.interpret = False
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


# ---- one path --------------------------------------------------------------------------------------


def test_another_learning_rate_is_the_same_path():
    data = regression()
    for _ in range(3):
        regression_step(*data)
    since = Since()
    for k in range(10):
        regression_step(*data, rate=0.05 / (k + 1))
    float(data[2])
    assert (since.paths_recorded, since.programs, since.trie_nodes) == (0, 0, 0)


def test_minibatches_are_one_path():
    data = jt.constant(np.arange(320, dtype=np.float32).reshape(160, 2))
    w = jt.Variable([1.0, -1.0])

    def step(i: int) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(data[i : i + 32] * w)
        return tape.gradient(loss, w).numpy()

    step(0), step(32)
    since = Since()
    for i in range(64, 128, 8):
        np.testing.assert_array_equal(step(i), data.numpy()[i : i + 32].sum(0))
    assert (since.paths_recorded, since.programs, since.trie_nodes) == (0, 0, 0)


def test_integer_indices_are_one_path():
    x = jt.constant(np.arange(50.0))
    values = []
    for i in range(20):
        if i == 3:
            since = Since()
        values.append(float(x[i] * 2.0))
    assert values == [2.0 * i for i in range(20)]
    assert since.trie_nodes == 0


def test_what_is_equal_in_python_but_not_the_same_structure():
    """2 == 2.0 == True in a dictionary's eyes, but they give other dtypes and other shapes."""
    n = jt.constant([[1, 2], [3, 4]])
    dtypes = [(n**2).dtype, (n**2.0).dtype, (n * 1).dtype, (n * 1.0).dtype, (n * True).dtype]
    again = [(n**2).dtype, (n**2.0).dtype, (n * 1).dtype, (n * 1.0).dtype, (n * True).dtype]
    assert dtypes == again
    assert dtypes[0] == dtypes[2] == dtypes[4] == np.int32
    assert np.dtype(dtypes[1]).kind == np.dtype(dtypes[3]).kind == "f"
    x = jt.constant([1.0, 2.0])
    np.testing.assert_array_equal(x**1, [1.0, 2.0])
    np.testing.assert_array_equal(jt.fill([2], 1), [1, 1])
    assert jt.fill([2], 1).dtype != jt.fill([2], 1.0).dtype


def test_the_default_float_is_part_of_the_path():
    kinds = []
    for name in ("float32", "float64", "float32"):
        jt.config.default_float = name
        kinds.append(jt.where(jt.constant([True]), 1.0, 0.0).dtype.name)
    jt.config.default_float = "float32"
    assert kinds == ["float32", "float64", "float32"]


def test_branches_go_to_their_own_children():
    def f(x: Any) -> Any:
        return x * 2.0 if x > 0 else x - 1.0

    for value in (1.0, -1.0, 2.0, -2.0, 3.0, -3.0):
        assert float(f(jt.constant(value))) == (value * 2 if value > 0 else value - 1)


# ---- bounds ----------------------------------------------------------------------------------------


def test_pending_operations_are_bounded():
    jt.config.max_pending_ops = 50
    since = Since()
    x = jt.Variable(0.0)
    for _ in range(500):
        x.assign_add(1.0)
        assert len(current_trace().pending) <= 51
    assert since.flushes >= 8
    assert x.numpy() == 500.0


def test_pending_bytes_are_bounded():
    jt.config.max_pending_bytes = 100_000
    since = Since()
    total = jt.constant(0.0)
    for i in range(100):
        total = total + jt.reduce_sum(jt.constant(np.full(1000, i, np.float64)))
    assert since.flushes >= 6
    assert float(total) == 1000.0 * sum(range(100))


def test_a_limit_does_not_break_a_tape():
    jt.config.max_pending_ops = 50
    x = jt.Variable(1.0)
    since = Since()
    with jt.GradientTape() as tape:
        y = x
        for _ in range(200):
            y = y + x
    assert tape.gradient(y, x).numpy() == 201.0
    assert since.flushes == 1


def test_ten_thousand_steps_outside_any_tape():
    """Bounded memory, and no endless compilation: the pieces that the limit cuts the loop into repeat."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(100, 64))
    total = jt.constant(np.zeros(64))
    sizes = []
    since = Since()
    tracemalloc.start()
    for i in range(10_000):
        total = total + data[i % 100]
        if i in (4_000, 9_999):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
            programs = since.programs
    tracemalloc.stop()
    np.testing.assert_allclose(total, 100 * data.sum(0), rtol=1e-9, atol=1e-9)
    assert sizes[1] < sizes[0] + 4_000_000
    assert since.programs <= 2
    assert since.programs - programs <= 1
    assert since.trie_nodes < 5_000


@pytest.mark.parametrize(
    ("before", "length", "kept"),
    [(0, 7, 0), (0, 24, 0), (33, 24, 0), (0, 49, 0), (0, 51, 0), (20, 130, 0), (0, 24, 4), (0, 130, 4)],
)
def test_a_loop_outside_any_tape_flushes_after_whole_iterations(before: int, length: int, kept: int):
    """So that flushes repeat, of loops that are longer than a flush, too; 51 results without this give 51 programs."""
    jt.config.max_pending_ops = 50
    forget_all()
    sizes = [1 + i % 6 for i in range(length)]
    states = [jt.Variable(np.full(n, 0.5)) for n in range(1, 7)]
    values = [v.numpy().copy() for v in states]
    results, expected = [], []
    total = jt.constant(np.zeros(2))
    for _ in range(before):
        total = total + 1.0
    for i in range(80):
        if i == 40:
            since = Since()
        for n in sizes:
            states[n - 1].assign_add(np.full(n, 0.25))
            values[n - 1] += 0.25
        if kept and i % kept == 0:
            results.append(states[2] * 2.0)
            expected.append(values[2] * 2.0)
    assert since.paths_recorded == 0
    assert since.flushes >= 40 * length // 51
    for found, value in zip(
        [*states, *results, total], [*values, *expected, np.full(2, before)], strict=True
    ):
        np.testing.assert_array_equal(found, value)


def test_loops_of_other_lengths_flush_after_their_own_iterations():
    """A period that was found is not kept when the program changes."""
    jt.config.max_pending_ops = 50
    forget_all()
    x = jt.Variable(np.zeros(3))
    y = jt.Variable(np.zeros(2))
    for length in (24, 7, 31, 24):
        for i in range(80):
            if i == 40:
                since = Since()
            for j in range(length):
                (x if j else y).assign_add(1.0)
        assert since.paths_recorded == 0
        assert since.flushes >= 5
    np.testing.assert_array_equal(x, np.full(3, 80.0 * (23 + 6 + 30 + 23)))
    np.testing.assert_array_equal(y, np.full(2, 320.0))


def test_an_error_in_a_loop_outside_any_tape_keeps_the_assignments_before_it():
    jt.config.max_pending_ops = 50
    x, at = jt.Variable(np.arange(3.0)), jt.Variable(0)
    count = jt.Variable(0)
    with pytest.raises(IndexError):
        for i in range(200):
            at.assign(7 if i == 150 else i % 3)
            jt.gather(x, at)
            x.assign(x * 1.0 + jt.gather(x, at) * 0.0)
            count.assign_add(1)
    assert count.numpy() == 150
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_a_chain_of_3000_operations_outside_any_tape():
    jt.config.max_pending_ops = 10_000
    x = jt.constant(np.float64(1.0))
    y = x
    for _ in range(1500):
        y = y * 1.001 + 0.001
    assert float(y) == pytest.approx(2 * 1.001**1500 - 1, rel=1e-9)


def test_a_tape_that_is_kept_does_not_hold_up_what_comes_after_it():
    """A loop of looks after a persistent tape goes on new traces, and the tape can still be asked."""
    jt.config.max_pending_ops = 100
    v = jt.Variable(2.0)
    with jt.GradientTape(persistent=True) as tape:
        y = v * v
    total = 0.0
    for i in range(400):
        total += float(v * float(i))
        assert current_trace().node.n_ops <= 200
    assert total == 2.0 * sum(range(400))
    pending = v * 0.0
    for _ in range(400):
        pending = pending + v
        assert current_trace().node.n_ops <= 200
    assert float(pending) == 800.0
    assert tape.gradient(y, v).numpy() == 4.0


def test_a_tape_that_is_kept_does_not_make_large_inputs_run_one_by_one():
    jt.config.max_pending_bytes = 100_000
    v = jt.Variable(2.0)
    with jt.GradientTape(persistent=True) as tape:
        y = v * v
    total, since = jt.constant(0.0), Since()
    for i in range(100):
        total = total + jt.reduce_sum(jt.constant(np.full(1000, i, np.float64)))
    assert float(total) == 1000.0 * sum(range(100))
    assert since.flushes < 20
    assert tape.gradient(y, v).numpy() == 4.0


def test_a_tape_that_is_lost_while_it_records_is_left():
    v = jt.Variable(2.0)
    tape = jt.GradientTape()
    tape.__enter__()
    y = v * v
    del tape
    assert current_trace().intervals == []
    since = Since()
    with jt.GradientTape() as tape:
        z = v * y
    assert since.flushes == 1
    assert tape.gradient(z, v).numpy() == 4.0


def test_a_used_up_tape_lets_go_of_its_step():
    x = jt.Variable(np.ones(1000))
    tapes = []
    tracemalloc.start()
    for i in range(60):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(x * jt.constant(np.full(1000, float(i)))))
        x.assign_sub(1e-9 * tape.gradient(loss, x))
        tapes.append(tape)
        if i == 10:
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert tapes[0].nbytes == 0
    assert grown < 25 * 8000


# ---- the trie --------------------------------------------------------------------------------------


def test_the_trie_is_bounded_and_keeps_what_is_warm():
    forget_all()
    jt.config.max_trie_nodes = 400
    data = regression()
    for _ in range(3):
        float(regression_step(*data))
    warm = Since()
    pruned = trie.pruned
    for n in range(2, 300):
        x = jt.constant(np.arange(float(n)))
        assert float(jt.reduce_sum(x * 2.0 + 1.0)) == n * (n - 1) + n
        float(regression_step(*data))
        assert jt.stats().trie_nodes <= 401
    assert trie.pruned > pruned
    assert warm.paths_recorded == 298  # one for every other n: the step of the loop was never dropped


def test_a_path_longer_than_the_limit_is_kept_while_it_is_the_latest():
    """It is compiled at its second call, however long it is; other paths take its place."""
    forget_all()
    jt.config.max_trie_nodes = 400

    def long_step(n: int) -> float:
        v = jt.constant(np.ones(4))
        with jt.GradientTape() as tape:
            tape.watch(v)
            y = v
            for _ in range(n):
                y = jt.sin(y)
        return float(jt.reduce_sum(tape.gradient(y, v)))

    for _ in range(4):
        long_step(1_000)
    assert jt.stats().trie_nodes > 1_000
    since = Since()
    long_step(1_000)
    assert (since.compiled_runs, since.interpreted_runs, since.paths_recorded) == (1, 0, 0)
    for n in range(2, 600):
        float(jt.reduce_sum(jt.constant(np.ones(n)) * 2.0 + 1.0))
    assert jt.stats().trie_nodes <= 401


def test_a_trace_on_a_pruned_path_goes_on():
    v = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        y = v * v
        trie.clear()
        z = y * v
    assert tape.gradient(z, v).numpy() == 27.0


# ---- threads ---------------------------------------------------------------------------------------


def in_threads(work: Callable[[int], None], count: int) -> None:
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_each_thread_has_its_own_trace():
    traces: dict[int, Any] = {}
    in_threads(lambda number: traces.update({number: current_trace()}), 4)
    assert len({id(t) for t in [*traces.values(), current_trace()]}) == 5


def test_threads_train_side_by_side():
    results: dict[int, tuple[float, float]] = {}

    def work(number: int) -> None:
        x, _, m, b = regression()
        y = jt.constant((number + 1) * x.numpy() + 2.0)
        for _ in range(300):
            regression_step(x, y, m, b, rate=0.5)
        results[number] = (float(m), float(b))

    in_threads(work, 4)
    for number, (m, b) in results.items():
        assert m == pytest.approx(number + 1, abs=0.02)
        assert b == pytest.approx(2.0, abs=0.02)


def test_a_tensor_recorded_by_another_thread_can_be_looked_at():
    made: list[Any] = []
    v = jt.Variable(3.0)

    def work(number: int) -> None:
        made.append(v * 2.0)
        v.assign(v + 1.0)

    in_threads(work, 1)
    assert float(made[0]) == 6.0
    assert (made[0] + 1.0).numpy() == 7.0
    assert v.numpy() == 4.0


# ---- errors on the user's line ---------------------------------------------------------------------


def bad_matmul(x: Any) -> Any:
    return jt.matmul(x, x)


def bad_add(x: Any) -> Any:
    return x + np.ones(7)


def bad_axis(x: Any) -> Any:
    return jt.reduce_sum(x, axis=5)


@pytest.mark.parametrize("function", [bad_matmul, bad_add, bad_axis])
def test_shape_errors_are_raised_on_the_line_that_records(function: Callable[[Any], Any]):
    x = jt.constant(np.ones((2, 3)))
    since = Since()
    for _ in range(2):
        with pytest.raises(ValueError) as raised:  # noqa: PT011 - the messages are in test_bad_input.py
            function(x)
        own = [f for f in traceback.extract_tb(raised.value.__traceback__) if f.filename == __file__]
        assert own[-1].name == function.__name__
        assert own[-1].lineno == function.__code__.co_firstlineno + 1
    assert since.flushes == 0
    assert since.trie_nodes == 0


def test_an_interrupted_run_can_be_run_again(monkeypatch: pytest.MonkeyPatch):
    v = jt.Variable(1.0)
    doubled = v * 2.0
    v.assign_add(doubled)
    run = PathExecutable.run

    def interrupted(*args: Any) -> Any:
        run(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(PathExecutable, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        v.numpy()
    with pytest.raises(KeyboardInterrupt), jt.GradientTape():
        pass
    monkeypatch.undo()
    assert (float(doubled), float(v)) == (2.0, 3.0)
    with jt.GradientTape() as tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 6.0
