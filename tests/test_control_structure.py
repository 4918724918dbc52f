"""What loops and branches become: one step of one executable, memory, threads, what is traced and what is not."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import jittape as jt
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.control.control_driver import ControlDriver
from jittape.compile.schedule.steps import KernelStep
from jittape.control.loop import loop_op
from jittape.runtime.counters import counters

X = np.linspace(0.1, 1.0, 10)


@pytest.fixture(autouse=True)
def compiled_at_once():
    before = jt.config.compile_after
    jt.config.compile_after = 0
    yield
    jt.config.compile_after = before


def last_steps():
    """The steps of what ran last."""
    return counters.last.compiled.steps


def loops():
    return [
        step
        for step in last_steps()
        if isinstance(step, KernelStep) and isinstance(step.kernel, ControlDriver)
    ]


def heat(u, steps):
    def step(i, u):
        wide = jt.pad(u, [[1, 1]])
        return u + 0.25 * (wide[2:] - 2.0 * u + wide[:-2])

    return jt.fori_loop(0, steps, step, u)


def test_a_loop_is_one_step_whose_body_is_one_kernel():
    heat(jt.constant(X), 50).numpy()
    (step,) = last_steps()
    assert isinstance(step.kernel, ControlDriver)
    (body,) = step.bodies
    (kernel,) = [inner.kernel for inner in body.steps]
    assert isinstance(kernel, LoopKernel)
    assert kernel.loops == 1


def test_a_gradient_is_a_second_loop_without_what_it_does_not_need():
    """A linear step needs nothing of the iterations; so nothing is stacked."""
    x = jt.constant(X)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.reduce_sum(heat(x, 50) ** 2)
    tape.gradient(y, x).numpy()
    forward, backward = loops()
    assert len(forward.ops) == len(backward.ops) == 1
    assert counters.last.compiled.schedule.arena < 50 * X.nbytes


def test_only_what_the_gradient_needs_is_stacked():
    x = jt.constant(X)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.fori_loop(0, 20, lambda i, s: jt.sin(s) * x + jt.exp(s) - jt.tanh(s), x)
    gradient = tape.gradient(y, x)
    del y
    gradient.numpy()
    forward, _ = loops()
    assert sorted(dict(op.params)["result_index"][0] for op in forward.ops) == ["stack"], (
        "the state before each iteration"
    )


def test_a_dead_result_is_not_computed():
    start = jt.constant(X), jt.constant(X)
    jt.fori_loop(0, 5, lambda i, s: (jt.sin(s[0]), jt.exp(s[1]) + s[0]), start)[0].numpy()
    (step,) = last_steps()
    used = [op.primitive.name for inner in step.bodies[0].steps for op in inner.ops]
    assert "sin" in used
    assert "exp" not in used


@pytest.mark.parametrize("interpret", [False, True])
def test_an_error_in_a_dead_result_is_none(monkeypatch, interpret):
    """Compiled and interpreted: a bad index in a carry or a branch's result that nothing uses ends no run."""
    monkeypatch.setattr(jt.config, "interpret", interpret)
    x, bad = jt.constant([1.0, 2.0]), jt.constant(7)

    def step(i, s):
        return s[0] * 2.0, s[1] + jt.gather(x, bad)

    for _ in range(3):
        used = jt.fori_loop(0, 3, step, (x, jt.constant(0.0)))[0]
        np.testing.assert_array_equal(used.numpy(), [8.0, 16.0])
        taken = jt.cond(x[0] > 0.0, lambda: (x + 1.0, jt.gather(x, bad)), lambda: (x, x[0]))[0]
        np.testing.assert_array_equal(taken.numpy(), [2.0, 3.0])
        with pytest.raises(IndexError):
            jt.fori_loop(0, 3, step, (x, jt.constant(0.0)))[1].numpy()


def test_python_runs_the_body_when_it_is_recorded_and_never_between_iterations():
    calls = []

    @jt.function
    def run(x):
        def body(i, s):
            calls.append(i)
            return s * 1.01

        return jt.fori_loop(0, 1000, body, x)

    for _ in range(3):
        run(X).numpy()
    assert len(calls) == 1
    assert run.trace_count == 1


def test_the_same_body_is_the_same_path_whatever_the_captured_values():
    def run(rate, weight):
        return jt.fori_loop(0, 7, lambda i, s: s * rate + weight, jt.constant(X)).numpy()

    first = run(0.5, jt.constant(X))
    jt.reset_stats()
    for rate in (0.25, 0.125):
        again = run(rate, jt.constant(2 * X))
        s = X
        for _ in range(7):
            s = s * rate + 2 * X
        np.testing.assert_allclose(again, s, rtol=1e-14)
    assert first.shape == X.shape
    stats = jt.stats()
    assert (stats.paths_recorded, stats.programs, stats.kernels) == (0, 0, 0)


def test_a_captured_float_of_a_function_is_no_new_trace():
    @jt.function
    def run(x, rate):
        return jt.fori_loop(0, 3, lambda i, s: s * rate, x)

    for rate in (0.5, 0.25, 2.0):
        np.testing.assert_allclose(run(X, rate).numpy(), X * rate**3)
    assert run.trace_count == 1


def test_the_number_of_iterations_of_a_function_is_an_int_that_it_holds_for():
    @jt.function
    def run(x, n):
        return jt.fori_loop(0, n, lambda i, s: s + 1.0, x)

    assert [float(run(X, n)[0]) for n in (2, 3, 2)] == pytest.approx([2.1, 3.1, 2.1])
    assert run.trace_count == 2


def test_kernels_are_shared_by_all_shapes_and_lengths():
    def run(n, size):
        return jt.scan(
            lambda a, e: jt.sin(a) * e, jt.constant(np.ones((n, size))), jt.constant(np.ones(size))
        ).numpy()

    run(3, 20)
    jt.reset_stats()
    run(5, 30)
    run(9, 40)
    stats = jt.stats()
    assert stats.programs == 2
    assert stats.kernels == 0


def test_explain_shows_the_body():
    heat(jt.constant(X), 5).numpy()
    page = jt.explain()
    assert len(page.steps) == 1
    assert page.steps[0].loops == 1
    assert "for i0 in n0" in str(page)
    assert "test_control_structure.py" in str(page)


# ---- memory ----------------------------------------------------------------------------------------------------------


def arena_of_gradient(**options):
    x = jt.constant(np.ones(4))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.fori_loop(0, 1_000_000, lambda i, s: s + 1e-6 * jt.sin(s * x), x, **options)
    gradient = tape.gradient(y, x).numpy()
    schedule, total = counters.last.compiled.schedule, 0
    total += schedule.arena
    return gradient, total


def test_a_million_steps_and_their_gradient_in_bounded_memory():
    y = jt.fori_loop(0, 1_000_000, lambda i, s: s + 1e-6 * jt.sin(s), jt.constant(np.ones(4)))
    np.testing.assert_allclose(y.numpy(), 2 * np.arctan(np.tan(0.5) * np.e), rtol=1e-5)
    assert counters.last.compiled.schedule.arena < 10_000
    whole, much = arena_of_gradient()
    parts, little = arena_of_gradient(checkpoint="sqrt")
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
    assert much >= 1_000_000 * 4 * 8
    assert little < 200_000


def test_memory_that_has_grown_is_given_back():
    """A loop of unknown length, run often: the process does not grow by what each run needs."""
    resource = pytest.importorskip("resource")

    @jt.function
    def run(x, end):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.while_loop(lambda s, n: n < end, lambda s, n: (jt.sin(s * x), n + 1.0), (x, 0.0))[0]
        return tape.gradient(y, x)

    x = np.linspace(0.1, 1.0, 1000)
    run(x, 2000.0).numpy()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        run(x, 2000.0).numpy()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * 1024 < 5 * 2000 * x.nbytes, "each run keeps 2000 states"


# ---- Variables, random numbers, tapes --------------------------------------------------------------------------------


def test_variables_are_read_in_bodies_as_they_are_when_the_loop_is_recorded():
    w = jt.Variable(np.array(2.0))

    @jt.function
    def run(x):
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(jt.fori_loop(0, 3, lambda i, s: s * w, x))
        gradient = tape.gradient(y, w)
        w.assign_sub(0.5)
        return y, gradient

    for value in (2.0, 1.5, 1.0):
        y, gradient = run(X)
        assert float(y) == pytest.approx(X.sum() * value**3)
        assert float(gradient) == pytest.approx(X.sum() * 3 * value**2)
    assert float(w) == 0.5
    w.assign_add(1.0)
    after = jt.fori_loop(0, 2, lambda i, s: s * w, jt.constant(X))
    w.assign(100.0)
    np.testing.assert_allclose(after.numpy(), X * 1.5**2)


def test_random_numbers_are_others_in_each_iteration_and_each_call():
    @jt.function
    def run():
        return jt.scan(
            lambda a, e: jt.random.normal([2], dtype=jt.float64) + 0.0 * e, jt.ones([4, 2], jt.float64)
        )

    jt.random.set_seed(3)
    one, two = run().numpy(), run().numpy()
    assert len(np.unique(np.concatenate([one[1:], two[1:]]))) == 12
    jt.random.set_seed(3)
    np.testing.assert_array_equal(run().numpy(), one)
    draw = jt.fori_loop(
        0, 3, lambda i, s: s + jt.random.uniform([2], dtype=jt.float64), jt.zeros([2], jt.float64)
    )
    assert 0 < float(draw[0]) < 3


def test_a_paused_tape_sees_no_loop():
    x = jt.constant(X)
    with jt.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = heat(x, 3)
        z = jt.reduce_sum(y + x)
    np.testing.assert_array_equal(tape.gradient(z, x).numpy(), np.ones(10))


def test_what_does_not_depend_on_the_source_has_no_gradient():
    x, other = jt.constant(X), jt.constant(X)
    with jt.GradientTape() as tape:
        tape.watch([x, other])
        out = jt.fori_loop(0, 3, lambda i, s: (s[0] * 2.0, s[1] + 1.0), (x, other))
    with pytest.warns(jt.UnconnectedGradientWarning):
        gradients = tape.gradient(out[0], [x, other])
    np.testing.assert_array_equal(gradients[0].numpy(), 8 * np.ones(10))
    assert gradients[1] is None


def test_a_value_that_was_computed_in_the_middle_is_no_obstacle():
    x = jt.constant(X)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.fori_loop(0, 4, lambda i, s: jt.sin(s) * x, x)
        y.numpy()
        z = jt.reduce_sum(y * y)
    found = tape.gradient(z, x).numpy()
    h = 1e-6

    def f(x):
        s = x
        for _ in range(4):
            s = np.sin(s) * x
        return s * s

    np.testing.assert_allclose(found, (f(X + h) - f(X - h)) / (2 * h), rtol=1e-7)


def test_integers_bools_and_other_dtypes_are_carried():
    def body(i, s):
        a, b, c = s
        return a + jt.cast(i, jt.int64), jt.logical_not(b), c * 2

    start = (jt.constant(0, jt.int64), jt.constant(True), jt.constant([1, 2], jt.uint8))
    a, b, c = jt.fori_loop(2, 7, body, start)
    assert (int(a), bool(b), c.numpy().tolist()) == (20, False, [32, 64])


@pytest.mark.parametrize("dtype", ["float16", "complex128"])
def test_dtypes_that_machine_code_does_not_have(dtype):
    x = jt.constant(np.array([1.0, 0.5], dtype))
    out = jt.fori_loop(0, 3, lambda i, s: s * x + x, x).numpy()
    s = x.numpy()
    for _ in range(3):
        s = s * x.numpy() + x.numpy()
    assert out.dtype == dtype
    np.testing.assert_allclose(out, s, rtol=1e-3)


def test_a_number_to_begin_with_takes_the_dtype_of_the_body():
    assert (
        jt.fori_loop(0, 3, lambda i, s: s + jt.reduce_sum(jt.constant(X)), 0.1).numpy() == 0.1 + 3 * X.sum()
    )
    out, n = jt.while_loop(lambda s, n: n < 3, lambda s, n: (s + X[0], n + 1), (0, 0))
    assert (out.dtype, n.dtype) == (np.float64, np.int32)
    assert jt.fori_loop(0, 9, lambda i, s: s + X[0], 0, checkpoint=2).numpy() == pytest.approx(0.9)


def test_empty_arrays_and_no_iterations():
    empty = jt.constant(np.zeros((0, 3)))
    assert jt.map_fn(lambda e: e * 2.0, empty).numpy().shape == (0, 3)
    assert jt.scan(lambda a, e: a + e, empty, jt.ones([3], jt.float64)).numpy().shape == (0, 3)
    np.testing.assert_array_equal(
        jt.foldl(lambda a, e: a + e, empty, jt.ones([3], jt.float64)).numpy(), np.ones(3)
    )
    x = jt.constant(X)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.while_loop(lambda s: jt.reduce_sum(s) < 0, lambda s: (s * 2.0,), (x,))[0]
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.ones(10))
    assert jt.while_loop(lambda n: n < 5, lambda n: (n + 1,), (0,), maximum_iterations=0)[0].numpy() == 0


def test_functions_in_bodies_and_loops_in_functions_under_a_tape():
    step = jt.function(lambda s, x: jt.sin(s) * x)
    inside = lambda x: jt.fori_loop(0, 4, lambda i, s: step(s, x), x)  # noqa: E731
    around = jt.function(lambda x: jt.fori_loop(0, 4, lambda i, s: jt.sin(s) * x, x))
    x = jt.constant(X)
    found = []
    for run in (inside, around, lambda x: step(step(step(step(x, x), x), x), x)):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = run(x)
        found.append(tape.gradient(y, x).numpy())
    np.testing.assert_allclose(found[0], found[2], rtol=1e-12)
    np.testing.assert_allclose(found[1], found[2], rtol=1e-12)


# ---- TensorFlow's examples -------------------------------------------------------------------------------------------


def test_as_in_tensorflows_documentation():
    i = jt.while_loop(lambda i: jt.less(i, 10), lambda i: (jt.add(i, 1),), [jt.constant(0)])
    assert isinstance(i, list)
    assert int(i[0]) == 10
    elems = np.array([1, 2, 3, 4, 5, 6])
    assert jt.scan(lambda a, x: a + x, elems).numpy().tolist() == [1, 3, 6, 10, 15, 21]
    assert jt.scan(lambda a, x: a + x, elems, reverse=True).numpy().tolist() == [21, 20, 18, 15, 11, 6]
    start = np.array(0), np.array(1)
    fibonacci = jt.scan(lambda a, _: (a[1], a[0] + a[1]), jt.range(5), start)
    assert fibonacci[0].numpy().tolist() == [1, 1, 2, 3, 5]
    assert jt.map_fn(lambda x: (x, -x), elems, dtype=(jt.int64, jt.int64))[1].numpy().tolist() == [
        -1,
        -2,
        -3,
        -4,
        -5,
        -6,
    ]
    pairs = jt.map_fn(lambda x: x[0] * x[1], (elems, elems), dtype=jt.int64)
    assert pairs.numpy().tolist() == [1, 4, 9, 16, 25, 36]
    assert int(jt.foldr(lambda a, x: a + x, elems)) == 21


def test_cond_runs_the_branch_that_is_taken_only():
    """The other one would not end."""
    forever = lambda: jt.while_loop(lambda n: n >= 0.0, lambda n: (n * 1.0,), (jt.constant(1.0),))[0]  # noqa: E731
    assert float(jt.cond(jt.constant(False), forever, lambda: jt.constant(2.0))) == 2.0


# ---- threads ---------------------------------------------------------------------------------------------------------


def test_compiled_loops_run_on_many_threads_at_once():
    @jt.function
    def run(x, end):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.fori_loop(0, 30, lambda i, s: jt.sin(s) * x, x)
            z = jt.while_loop(lambda s, n: n < end, lambda s, n: (jt.cos(s * x), n + 1.0), (y, 0.0))[0]
        return z, tape.gradient(z, x)

    inputs = [np.linspace(0.1, 1.0, 200) + i for i in range(8)]
    wanted = [[r.numpy().copy() for r in run(x, 20.0 + i)] for i, x in enumerate(inputs)]
    failures = []

    def work(i):
        try:
            for _ in range(200):
                found = [r.numpy() for r in run(inputs[i], 20.0 + i)]
                np.testing.assert_array_equal(found[0], wanted[i][0])
                np.testing.assert_array_equal(found[1], wanted[i][1])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_loops_are_recorded_on_many_threads_at_once():
    w = jt.Variable(np.array(0.5))
    failures = []

    def work(i):
        try:
            x = np.linspace(0.1, 1.0, 20) + i
            for _ in range(30):
                found = jt.scan(lambda a, e: a * w + e, jt.constant(x)).numpy()
                s = [x[0]]
                for e in x[1:]:
                    s.append(s[-1] * 0.5 + e)
                np.testing.assert_allclose(found, s, rtol=1e-14)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_equal_bodies_are_one_object():
    def recorded():
        y = jt.fori_loop(0, 3, lambda i, s: jt.sin(s) * 2.0, jt.constant(X))
        y.numpy()
        (op,) = [op for op in counters.last.program.ops if op.primitive is loop_op]
        return dict(op.params)["body"]

    assert recorded() is recorded()
