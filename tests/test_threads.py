"""Loops on several threads: the same bits whatever their number, and several Python threads at once."""

import gc
import os
import sys
import threading
from weakref import ref

import numpy as np
import pytest

import jittape as jt
from jittape.compile.ir.table_layouts import ON_DEMAND
from jittape.core.buffers import Buffer
from jittape.core.interpret import interpret
from jittape.primitives.broadcast import broadcast_to_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, square
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.cumulative import cumsum, cumsum_op
from jittape.primitives.reduce.reductions import all_op, any_op, max_op, min_op, prod_op
from jittape.primitives.shape.views import transpose_op
from jittape.recording.trace import current_trace
from jittape.runtime import threads
from jittape.runtime.executable import CompiledExecutable
from processes import run_python
from programs import program_of


@pytest.fixture(autouse=True)
def threads_restored():
    before = jt.config.threads
    yield
    jt.config.threads = before


@pytest.fixture
def small_tasks(override_tuning):
    """Everything is divided, and every region is worth many threads."""
    override_tuning(parallel_work_ns=1, task_ns=200)


def executable_of(function, *operands):
    return CompiledExecutable(program_of(function, *operands), frozenset())


def run_with(count, compiled, given):
    jt.config.threads = count
    threads._pool["skip"] = threads._pool["penalty"] = 0
    return [buffer.array.copy() for buffer in compiled.run(given)]


SHAPES = [
    *[(n,) for n in (1, 1023, 1024, 1025, 4096, 5000, 70_001)],
    *[(63, 5), (64, 5), (65, 5), (129, 40), (3, 5000), (5000, 3), (300, 300)],
    *[(70, 9, 4), (300, 3, 7), (2, 130, 1030)],
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("small_tasks")
def test_the_same_bits_for_every_number_of_threads(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape)
    x = (3 * x).astype(dtype) if np.dtype(dtype).kind == "i" else (x / x.size**0.5).astype(dtype)

    def several(a):
        found = [square(a)]
        for axes in {1: [(0,)], 2: [(0,), (1,), (0, 1)], 3: [(0,), (1,), (0, 2), (0, 1, 2)]}[len(shape)]:
            found += [op.bind(add(a, a), axes=axes) for op in (sum_op, prod_op, max_op, min_op)]
        return tuple(found)

    program = program_of(several, x)
    compiled = CompiledExecutable(program, frozenset())
    results = {count: run_with(count, compiled, [Buffer(x)]) for count in (1, 2, 4)}
    for count in (2, 4):
        for one, other in zip(results[1], results[count], strict=True):
            np.testing.assert_array_equal(one, other)
    rtol = 1e-5 if dtype is np.float32 else 1e-12
    for found, wanted in zip(results[1], interpret(program, [x]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


@pytest.mark.usefixtures("small_tasks")
def test_reductions_of_truth_in_tasks():
    x = np.random.default_rng(0).normal(size=(500, 20)) > -2.5

    def both(a):
        return all_op.bind(a, axes=(0,)), any_op.bind(a, axes=(0, 1)), all_op.bind(a, axes=(1,))

    compiled = executable_of(both, x)
    assert compiled.steps[0].tasks > 1
    for found, wanted in zip(run_with(2, compiled, [Buffer(x)]), (x.all(0), x.any(), x.all(1)), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.usefixtures("small_tasks")
def test_a_nest_that_cannot_be_merged_in_tasks():
    x, y = np.random.default_rng(0).normal(size=(2, 600, 600))
    compiled = executable_of(
        lambda a, b: sum_op.bind(multiply(transpose_op.bind(a, perm=(1, 0)), b), axes=(0, 1)), x, y
    )
    assert compiled.steps[0].tasks > 1
    found = [run_with(count, compiled, [Buffer(x), Buffer(y)])[0] for count in (1, 2, 4)]
    assert found[0] == found[1] == found[2]
    np.testing.assert_allclose(found[0], np.sum(x.T * y))


def test_large_loops_are_divided_and_small_ones_are_not():
    def loss(x):
        return sum_op.bind(exp(x), axes=(0,)), sin(x)

    large, small = executable_of(loss, np.ones(1_000_000)), executable_of(loss, np.ones(1000))
    assert large.steps[0].tasks > 10
    assert [step.tasks for step in large.steps[1:]] == [1]  # the sums of the tasks are added up at once
    assert [step.tasks for step in small.steps] == [1]
    assert (
        large.steps[0].kernel is small.steps[0].kernel
        or large.steps[0].kernel.name == small.steps[0].kernel.name
    )
    assert "for i0 in n0 by t0:" in large.steps[0].kernel.listing


def test_running_sums_are_divided_only_across():
    """Along a sum each element needs the one before it, which may be another task's."""
    x = np.ones((300_000, 4))
    along, across = (executable_of(lambda x, axis=axis: cumsum_op.bind(x, axis=axis), x) for axis in (0, 1))
    assert [step.tasks for step in along.steps] == [1]
    assert [step.tasks for step in executable_of(lambda x: cumsum_op.bind(x, axis=0), x[:, 0]).steps] == [1]
    assert across.steps[0].tasks > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize(
    "shape", [(7, 5000), (300, 300), (2, 1030), (5, 31), (40, 1), (30, 9, 4), (6, 300, 7), (4, 2, 1030)]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_along_the_first_axis_in_tasks_of_columns(shape, dtype, reverse, override_tuning):
    override_tuning(parallel_work_ns=1, task_ns=200, scan_task_elements=16, sum_chunk_elements=32)
    rng = np.random.default_rng(0)
    x, row, column = (
        rng.integers(-9, 9, size=s).astype(dtype) / (1 if dtype is np.int64 else dtype(8))
        for s in (shape, shape[1:], (*shape[:1], *[1] * (len(shape) - 1)))
    )

    def several(a, row, column):
        sums = cumsum(a, 0, reverse=reverse)
        found = [sums, square(a)]
        scaled = multiply(a, multiply(broadcast_to_op.bind(row, shape=shape), spread(column)))
        found.append(cumsum_op.bind(scaled, axis=0))
        found += [sum_op.bind(a, axes=axes) for axes in ((0,), (1,), (0, 1))]
        return (*found, sum_op.bind(scaled, axes=tuple(range(len(shape)))), max_op.bind(a, axes=(1,)))

    def spread(column):
        return broadcast_to_op.bind(column, shape=shape)

    program = program_of(several, x, row, column)
    compiled = CompiledExecutable(program, frozenset())
    given = [Buffer(x), Buffer(row), Buffer(column)]
    results = {count: run_with(count, compiled, given) for count in (1, 2, 4)}
    for count in (2, 4):
        for one, other in zip(results[1], results[count], strict=True):
            np.testing.assert_array_equal(one, other)
    for found, wanted in zip(results[1], interpret(program, [x, row, column]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


def test_columns_of_running_sums_are_divided_evenly():
    x = np.ones((252, 10_000))
    (step,) = executable_of(lambda x: cumsum_op.bind(exp(x), axis=0), x).steps
    assert step.tasks == 4
    assert "for i1 in n1 by t0:" in step.kernel.listing


def test_the_page_of_explain_says_which_loops_are_divided():
    x = jt.constant(np.linspace(0, 1, 500_000))
    for _ in range(2):
        jt.exp(jt.sin(x)).numpy()
    (step,) = jt.explain().steps
    assert step.tasks > 1
    assert f": 1 loop in {step.tasks} tasks" in str(step)


def test_one_thread_opens_no_region():
    compiled = executable_of(exp, np.ones(1_000_000))
    run_with(2, compiled, [Buffer(np.ones(1_000_000))])
    threads._threads["taken"][0] = -7
    run_with(1, compiled, [Buffer(np.ones(1_000_000))])
    assert threads._threads["taken"][0] == -7
    run_with(2, compiled, [Buffer(np.ones(1_000_000))])
    assert threads._threads["taken"][0] > 0
    assert threads._pool["state"] == threads._pool["busy"] == 0


@pytest.mark.parametrize("number", [2, 3])
def test_every_thread_has_a_block_of_the_tasks(number):
    compiled = executable_of(exp, np.ones(1_000_000))
    run_with(number, compiled, [Buffer(np.ones(1_000_000))])
    total = compiled.steps[0].tasks
    blocks = np.diff([total * i // number for i in range(number + 1)])
    taken = threads._threads["taken"][:number]
    assert blocks.min() > 1
    assert (taken >= blocks).all()
    assert (taken <= blocks + number).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_very_many_rows_are_accurate(axis):
    x = np.full((3_000_000, 3) if axis == 0 else (3, 3_000_000), 0.1, np.float32)
    (found,) = run_with(2, executable_of(lambda a: sum_op.bind(a, axes=(axis,)), x), [Buffer(x)])
    np.testing.assert_allclose(found, np.sum(x, axis, dtype=np.float64), rtol=1e-5)  # NumPy's own: 3e-2


def test_a_float32_sum_over_ten_million_elements_is_accurate():
    x = np.random.default_rng(0).uniform(size=10_000_000).astype(np.float32)
    (found,) = run_with(2, executable_of(lambda a: sum_op.bind(a, axes=(0,)), x), [Buffer(x)])
    assert abs(found / np.sum(x, dtype=np.float64) - 1) < 1e-6


# ---- products ------------------------------------------------------------------------------------------------------

PRODUCTS = [
    *[((257, 64), (64, 200)), ((300, 40), (40, 33)), ((17, 900), (900, 500)), ((129, 513), (513, 40))],
    *[
        ((1000, 9), (9, 30)),
        ((8, 40, 50), (8, 50, 60)),
        ((3, 90, 80), (3, 80, 70)),
        ((3000, 4, 5), (3000, 5, 6)),
    ],
    *[((400, 300), (300, 1)), ((1, 300), (300, 400)), ((5, 60, 70), (5, 70, 1)), ((40, 10, 10), (10, 10))],
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shapes", PRODUCTS)
@pytest.mark.usefixtures("small_tasks")
def test_products_in_shares(shapes, flags, dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=s).astype(dtype) for s in shapes)
    wanted = x @ y
    x, y = (np.swapaxes(v, -1, -2).copy() if f else v for v, f in zip((x, y), flags, strict=True))
    function = jt.function(lambda a, b: jt.matmul(a, b, transpose_a=flags[0], transpose_b=flags[1]))
    scale = np.abs(wanted).max()
    at_once = None
    for count in (1, 2, 3, 7):
        jt.config.threads = count
        np.testing.assert_allclose(
            function(x, y).numpy() / scale, wanted / scale, atol=1e-5 if dtype is np.float32 else 1e-13
        )
        jt.config.deterministic = True
        found = function(x, y).numpy()
        jt.config.deterministic = False
        at_once = found if at_once is None else at_once
        np.testing.assert_array_equal(found, at_once)


@pytest.mark.usefixtures("small_tasks")
def test_a_product_is_the_same_whether_other_threads_come_or_not():
    x, y = np.random.default_rng(0).normal(size=(2, 513, 513))
    compiled = executable_of(lambda a, b: matmul(transpose_op.bind(a, perm=(1, 0)), b), x, y)
    assert compiled.steps[0].tasks == ON_DEMAND
    shared = run_with(2, compiled, [Buffer(x), Buffer(y)])[0]
    threads._pool["busy"] = 1  # as if another Python thread's loop had the helpers
    (alone,) = compiled.run([Buffer(x), Buffer(y)])
    threads._pool["busy"] = 0
    np.testing.assert_array_equal(shared, alone.array)


def test_large_products_are_divided_and_small_ones_are_not():
    def tasks_of(*shapes):
        return executable_of(matmul, *[np.ones(s) for s in shapes]).steps[0].tasks

    assert tasks_of((256, 784), (784, 128)) == ON_DEMAND
    assert tasks_of((32, 64), (64, 10)) == 1
    assert tasks_of((5000, 3000), (3000, 1)) == 1  # rows of a product with a vector: see `gemm`


def test_more_threads_than_before_come_to_what_is_compiled_already():
    jt.config.threads = 1
    x = np.ones((300, 300))
    compiled = executable_of(matmul, x, x)
    run_with(1, compiled, [Buffer(x), Buffer(x)])
    run_with(3, compiled, [Buffer(x), Buffer(x)])
    assert threads._pool["tasks"] == 3


# ---- several Python threads ----------------------------------------------------------------------------------------


def in_threads(count, work):
    wrong = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            wrong.append(error)

    running = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert wrong == []


def test_eight_threads_run_one_large_executable():
    n = 60_000
    compiled = executable_of(lambda a: (sum_op.bind(exp(sin(a)), axes=(0,)), exp(sin(a))), np.ones(n))
    jt.config.threads = 4

    def work(number):
        x = np.linspace(0, number + 1, n)
        total, each = np.sum(np.exp(np.sin(x))), np.exp(np.sin(x))
        for _ in range(60):
            found = compiled.run([Buffer(x)])
            np.testing.assert_allclose(found[0].array, total, rtol=1e-12)
            np.testing.assert_allclose(found[1].array, each, rtol=1e-14)

    in_threads(8, work)


def test_eight_threads_train_by_themselves():
    x = jt.constant(np.linspace(-1, 1, 30_000))

    def train():
        w = jt.Variable(np.zeros(30_000))
        for _ in range(30):
            with jt.GradientTape() as tape:
                loss = jt.reduce_sum(jt.square(w - x))
            w.assign_sub(0.1 * tape.gradient(loss, w))
        return w.numpy()

    wanted = train()

    def work(number):
        np.testing.assert_array_equal(train(), wanted)

    in_threads(8, work)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_threads_that_have_ended_leave_no_traces(persistent, left):
    """A thread for each request is common; its tapes may never be asked for a gradient.

    A Variable refers to the last trace that read it.
    """
    x, tapes, traces = jt.Variable(np.ones(3)), [], []

    def request():
        with jt.GradientTape(persistent=persistent) as tape:
            y = jt.reduce_sum(x * x)
        if persistent:
            assert tape.gradient(y, x).tolist() == [2.0, 2.0, 2.0]
        traces.append(ref(current_trace()))
        if left:
            tapes.append(tape)

    for _ in range(4):
        thread = threading.Thread(target=request)
        thread.start()
        thread.join()
    tapes.clear()
    gc.collect()
    assert [trace() for trace in traces[:-1]] == [None] * 3


def test_threads_change_their_number_meanwhile():
    n = 60_000
    compiled = executable_of(lambda a: sum_op.bind(exp(a), axes=(0,)), np.ones(n))
    wanted = compiled.run([Buffer(np.ones(n))])[0].array

    def work(number):
        for i in range(200):
            if number == 0:
                jt.config.threads = i % 5 + 1
            assert compiled.run([Buffer(np.ones(n))])[0].array == wanted

    in_threads(4, work)


# ---- processes -----------------------------------------------------------------------------------------------------

FORKED = """
import os, numpy as np, jittape as jt
jt.config.threads = 2
def f():
    x = jt.constant(np.ones(300_000))
    return [float(jt.reduce_sum(jt.exp(x))) for _ in range(3)][1:]
before = f()
child = os.fork()
if not child:
    os._exit(0 if f() == before else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), f() == before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_goes_on_alone():
    done = run_python("-W", "ignore", "-c", FORKED)
    assert done.stdout.split() == ["0", "True"], done.stderr


FORKED_THEN_ANOTHER = """
import os, time, numpy as np, jittape as jt
jt.config.threads = 2
def f(function):
    x = jt.constant(np.linspace(0, 1, 300_000))
    values = []
    for _ in range(4):
        values.append(float(jt.reduce_sum(function(x))))
        time.sleep(0.02)
    return np.allclose(values, np.sum(function(np.linspace(0, 1, 300_000))))
f(jt.exp)
child = os.fork()
if not child:
    os._exit(0 if f(jt.sin) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), f(jt.sin))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_starts_helpers_of_its_own():
    done = run_python("-W", "ignore", "-c", FORKED_THEN_ANOTHER)
    assert done.stdout.split() == ["0", "True"], done.stderr


def test_a_process_ends_while_helpers_sleep_or_look():
    done = run_python("-c", FORKED.partition("child")[0])
    assert done.returncode == 0, done.stderr


def test_the_number_of_threads_is_checked():
    assert 1 <= jt.config.threads <= (os.cpu_count() or 1)
    with pytest.raises(ValueError, match="threads"):
        jt.config.threads = 0
