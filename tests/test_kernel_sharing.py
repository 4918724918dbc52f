"""What is made once: kernels serve every program and every shape with the same loop, and warm steps leave nothing."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.buffers import Buffer
from jittape.recording.trace import begin_step, current_trace

pytestmark = pytest.mark.usefixtures("small_heap")


@pytest.fixture(autouse=True)
def compiling() -> Iterator[None]:
    begin_step()  # another test may have left something pending: then the first visit would be of a longer path
    before = jt.config.interpret
    jt.config.interpret = False
    yield
    jt.config.interpret = before


def compiled_by(step: Callable[[], Any], visits: int = 2) -> tuple[int, int]:
    """Kernels compiled and found by so many visits of a step; all results are looked at."""
    before = jt.stats()
    for _ in range(visits):
        results = step()
        for result in results if isinstance(results, (tuple, list)) else (results,):
            result.numpy()
    after = jt.stats()
    return after.kernels - before.kernels, after.kernels_found - before.kernels_found


# ---- kernels ---------------------------------------------------------------------------------------------------------


def wave(x: Any) -> Any:
    return jt.reduce_sum(jt.sin(jt.atan(x)) * jt.cosh(x))


def ripple(x: Any) -> Any:
    return jt.reduce_sum(
        jt.cosh(jt.atan(x)) - jt.sin(x) * jt.math.erf(x)
    )  # a kernel that no other test makes


def test_another_length_compiles_nothing():
    assert compiled_by(lambda: ripple(jt.constant(np.ones(100))))[0] >= 1
    for n in (101, 1000, 7777, 65_537):
        compiled, found = compiled_by(lambda n=n: ripple(jt.constant(np.ones(n))))
        assert (compiled, found > 0) == (0, True), n


def test_a_matrix_uses_the_kernel_of_a_vector():
    compiled_by(lambda: wave(jt.constant(np.ones(100))))
    assert compiled_by(lambda: wave(jt.constant(np.ones((20, 30)))))[0] == 0
    assert compiled_by(lambda: wave(jt.constant(np.ones((20, 30, 40)))))[0] == 0


def test_another_dtype_is_another_kernel():
    compiled_by(lambda: wave(jt.constant(np.ones(100))))
    assert compiled_by(lambda: wave(jt.constant(np.ones(100, np.float32))))[0] >= 1
    assert compiled_by(lambda: wave(jt.constant(np.ones(200, np.float32))))[0] == 0


def test_other_numbers_are_the_same_path():
    x = jt.constant(np.ones(50))

    def scaled(factor: float) -> Any:
        return jt.tanh(x * factor) - factor

    compiled_by(lambda: scaled(0.5))
    before = jt.stats()
    for factor in (0.25, -3.0, 1e10):
        np.testing.assert_allclose(scaled(factor).numpy(), np.tanh(factor) - factor)
    after = jt.stats()
    assert after.paths_recorded == before.paths_recorded
    assert after.programs == before.programs
    assert after.trie_nodes == before.trie_nodes


def test_a_minibatch_that_moves_is_the_same_path():
    data = jt.constant(np.arange(100.0))

    def batch(i: int) -> Any:
        return jt.reduce_sum(jt.square(data[i : i + 8]))

    compiled_by(lambda: batch(0))
    before = jt.stats()
    for i in (8, 16, 33, 92):
        assert float(batch(i)) == np.sum(np.arange(i, i + 8) ** 2)
    after = jt.stats()
    assert (after.programs, after.trie_nodes) == (before.programs, before.trie_nodes)


def test_another_program_with_the_same_loop_compiles_nothing():
    x, y = jt.constant(np.linspace(0, 1, 40)), jt.constant(np.linspace(1, 2, 60))
    compiled_by(lambda: jt.atan(jt.exp(jt.sin(x))))

    def other() -> Any:
        unused = jt.cos(y)
        del unused
        # Simplification removes the identity.
        return jt.atan(jt.exp(jt.sin(jt.identity(y))))

    before = jt.stats()
    assert compiled_by(other) == (0, 1)
    assert jt.stats().programs == before.programs + 1


def test_the_steps_of_an_unrolled_loop_share_their_kernels():
    w = jt.constant(np.full((8, 8), 0.1))

    def unrolled(steps: int) -> Any:
        h = jt.constant(np.ones((4, 8)))
        for _ in range(steps):
            h = jt.tanh(jt.matmul(h, w))
        return h

    few, _ = compiled_by(lambda: unrolled(3))
    more, _ = compiled_by(lambda: unrolled(30))
    assert more <= few <= 4
    kernels = {step.title for step in jt.explain().steps}
    assert len(kernels) <= 4
    assert len(jt.explain().steps) >= 30


def test_a_warm_loop_compiles_nothing_whatever_it_branches_to():
    x = jt.Variable(np.linspace(-1, 1, 20))

    def step(i: int) -> None:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(jt.sin(x) if i % 3 else jt.cos(x) * x)
        x.assign_sub(0.01 * tape.gradient(y, x))
        float(y)

    for i in range(9):
        step(i)
    before = jt.stats()
    for i in range(30):
        step(i)
    after = jt.stats()
    assert (after.programs, after.kernels, after.trie_nodes) == (
        before.programs,
        before.kernels,
        before.trie_nodes,
    )
    assert after.interpreted_runs == before.interpreted_runs
    assert after.flushes - before.flushes == after.compiled_runs - before.compiled_runs


# ---- memory ----------------------------------------------------------------------------------------------------------


def linear_regression() -> Callable[[], None]:
    x = jt.constant(np.linspace(0, 1, 500))
    target = jt.constant(3 * np.linspace(0, 1, 500) + 2)
    m, b = jt.Variable(0.0), jt.Variable(0.0)

    def step() -> None:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(m * x + b - target))
        dm, db = tape.gradient(loss, [m, b])
        m.assign_sub(0.1 * dm)
        b.assign_sub(0.1 * db)

    return step


def network() -> Callable[[], None]:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((32, 10))
    layers = [jt.Variable(rng.standard_normal(shape)) for shape in ((10, 20), (20, 5))]

    def step() -> None:
        with jt.GradientTape() as tape:
            h = jt.tanh(jt.matmul(jt.constant(data), layers[0]))
            loss = jt.reduce_mean(jt.square(jt.matmul(h, layers[1])))
        for layer, g in zip(layers, tape.gradient(loss, layers), strict=True):
            layer.assign_sub(0.1 * g)
        float(loss)

    return step


def second_order() -> Callable[[], None]:
    x = jt.Variable(np.linspace(0, 1, 50))

    def step() -> None:
        with jt.GradientTape() as outer:
            with jt.GradientTape() as inner:
                y = jt.reduce_sum(jt.sin(x) * x)
            g = inner.gradient(y, x)
        x.assign_sub(0.01 * outer.gradient(g, x))
        g.numpy()

    return step


def persistent_tapes() -> Callable[[], None]:
    x = jt.Variable(np.linspace(0, 1, 50))

    def step() -> None:
        with jt.GradientTape(persistent=True) as tape:
            y = x * x
            z = jt.exp(y)
        a, b = tape.gradient(y, x), tape.gradient(z, x)
        a.numpy()
        b.numpy()
        del tape

    return step


def custom_gradients() -> Callable[[], None]:
    @jt.custom_gradient
    def clipped(x: Any) -> Any:
        return x * 1.0, lambda g: jt.clip_by_value(g, -0.1, 0.1)

    x = jt.Variable(np.linspace(0, 1, 50))

    def step() -> None:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(clipped(jt.exp(x)) * x)
        x.assign_sub(tape.gradient(y, x) * 1e-3)
        float(y)

    return step


def no_tape() -> Callable[[], None]:
    state = {"total": jt.constant(np.zeros(100))}

    def step() -> None:
        state["total"] = jt.tanh(state["total"] + 1.0)
        state["total"].numpy()

    return step


LOOPS = (linear_regression, network, second_order, persistent_tapes, custom_gradients, no_tape)


def live_buffers() -> tuple[int, int]:
    """How many buffers there are, and their bytes."""
    gc.collect()
    buffers = [thing for thing in gc.get_objects() if type(thing) is Buffer]
    return len(buffers), sum(buffer.nbytes for buffer in buffers)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_thousand_warm_steps_leave_nothing_behind(loop: Callable[[], Callable[[], None]]):
    step = loop()
    for _ in range(50):
        step()
    gc.collect()  # what other tests have left would go meanwhile
    nodes, buffers = jt.stats().trie_nodes, live_buffers()
    sizes = []
    tracemalloc.start()
    try:
        for _ in range(10):
            for _ in range(350):
                step()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # NumPy, optree and Python keep things to be used again, tuples for example, by less and less a round; what
    # leaks, a reference a step at the least (2.8 kB a round), leaks in every round.
    assert min(np.diff(sizes)) < 2600, sizes
    assert jt.stats().trie_nodes == nodes
    assert live_buffers() == buffers


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_garbage_collection_is_not_needed(loop: Callable[[], Callable[[], None]]):
    step = loop()
    for _ in range(10):
        step()
    gc.collect()
    gc.disable()
    try:
        objects = len(gc.get_objects())
        for _ in range(200):
            step()
        grown = len(gc.get_objects()) - objects
    finally:
        gc.enable()
    assert grown < 100


def test_the_trace_is_empty_after_a_look():
    x = jt.constant(np.ones(100))
    y = jt.sin(x)
    y.numpy()
    trace = current_trace()
    assert (trace.inputs, trace.imported, trace.variables) == ([], {}, {})


def test_a_computed_result_keeps_no_operand_alive():
    x = jt.constant(np.ones(1000))
    watch = weakref.ref(x)
    y = jt.sin(x)
    y.numpy()
    del x
    assert watch() is None


def test_a_result_that_nobody_waits_for_is_never_computed():
    x = jt.constant(np.ones(10))
    jt.sin(x).numpy()
    for _ in range(3):
        unused = jt.math.lgamma(x)
        del unused
        y = jt.sin(x)
        y.numpy()
        assert [op.primitive.name for op in jt.explain().program.ops] == ["sin"]
