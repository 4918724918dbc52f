"""Memory in warm loops: what nobody holds is used again, and nothing grows."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import jittape as jt
from jittape.primitives.arithmetic import add, multiply
from jittape.primitives.broadcast import sum_op
from jittape.primitives.contract import matmul_op
from jittape.primitives.elementwise import exp
from jittape.primitives.trigonometric import sin
from jittape.program import Aval
from jittape.runtime.buffers import LARGE, Buffer, Pool, allocate, pool
from jittape.runtime.executable import CompiledExecutable
from programs import program_of

resource = pytest.importorskip("resource", reason="page faults are counted where the system tells")

FLOAT = np.dtype(np.float64)
BIG = 10_000_000


def executable_of(function, *operands):
    return CompiledExecutable(program_of(function, *operands), frozenset())


@pytest.fixture(autouse=True)
def empty_pool():
    before = jt.config.max_pool_bytes
    gc.collect()
    pool.clear()
    yield
    jt.config.max_pool_bytes = before


# ---- the pool ------------------------------------------------------------------------------------------------------


def test_memory_that_nobody_holds_is_used_again():
    aval = Aval((LARGE,), FLOAT)
    first = allocate(aval).address
    assert allocate(aval).address == first


def test_memory_is_used_again_for_another_shape_of_about_the_size():
    first = allocate(Aval((100_000,), FLOAT)).address
    again = allocate(Aval((330, 600), np.dtype(np.float32)))
    assert again.address == first
    assert again.array.shape == (330, 600)
    assert again.array.dtype == np.float32


@pytest.mark.parametrize(
    "use",
    [
        lambda buffer: buffer.array,
        lambda buffer: buffer.array[5:],
        lambda buffer: buffer.view(),
        lambda buffer: memoryview(buffer.view()),
    ],
    ids=["array", "part", "view", "memoryview"],
)
def test_memory_that_somebody_sees_stays(use):
    buffer = allocate(Aval((LARGE,), FLOAT))
    buffer.array[:] = 1.0
    seen = use(buffer)
    del buffer
    allocate(Aval((LARGE,), FLOAT)).array[:] = 2.0
    np.testing.assert_array_equal(np.asarray(seen), 1.0)


def test_memory_is_aligned():
    assert all(allocate(Aval((LARGE + i,), FLOAT)).address % 64 == 0 for i in range(3))


def test_the_pool_is_bounded_and_forgets_what_waited_longest():
    jt.config.max_pool_bytes = 10 * LARGE
    held = [allocate(Aval((n * LARGE,), np.dtype(np.uint8))) for n in (4, 1, 1, 3, 5, 20)]
    addresses = [b.address for b in held]
    while held:
        del held[0]
    assert pool.stats().waiting == 10 * LARGE
    assert allocate(Aval((3 * LARGE,), np.dtype(np.uint8))).address == addresses[3]
    before = pool.stats().fresh
    allocate(Aval((4 * LARGE,), np.dtype(np.uint8)))
    assert pool.stats().fresh == before + 1


def test_giving_back_in_the_middle_of_the_pools_own_work_waits_for_nothing():
    own = Pool()
    memory = own.take(Aval((LARGE,), FLOAT))
    with own._lock:
        own.give_back(memory)
    assert own.stats().waiting == 0


def test_threads_never_get_the_same_memory():
    wrong = []

    def work(number):
        for _ in range(500):
            buffer = allocate(Aval((LARGE // 8,), FLOAT))
            buffer.array[::512] = number
            other = allocate(Aval((LARGE // 8,), FLOAT))
            other.array[::512] = -1
            if not (buffer.array[::512] == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_executable_does_not_keep_large_results():
    executable = executable_of(exp, np.ones(LARGE))
    given = Buffer(np.ones(LARGE))
    for _ in range(3):
        executable.run([given])
    held = allocate(Aval((LARGE,), FLOAT))
    assert pool.stats().waiting == 0
    del held


def test_executables_share_the_memory_for_temporaries():
    def chain(x, y):
        return sum_op.bind(matmul_op.bind(sin(matmul_op.bind(sin(x), y)), y), axes=(0, 1))

    operands = np.ones((200, 200)), np.ones((200, 200))
    executables = [executable_of(lambda x, y, i=i: add(chain(x, y), float(i)), *operands) for i in range(3)]
    given = [Buffer(x) for x in operands]
    assert all(e.schedule.arena > LARGE for e in executables)
    before = pool.stats().fresh
    values = [[float(e.run(given)[0].array) for e in executables] for _ in range(3)]
    assert pool.stats().fresh == before + 1
    np.testing.assert_allclose(values[0], [values[0][0] + i for i in range(3)])
    assert values[0] == values[2]


# ---- warm loops ----------------------------------------------------------------------------------------------------


def textbook():
    x = jt.constant(np.linspace(-1, 1, 100, dtype=np.float32))
    m, b = jt.Variable(0.0), jt.Variable(0.0)

    def step():
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(m * x + b - x))
        dm, db = tape.gradient(loss, [m, b])
        m.assign_sub(0.05 * dm)
        b.assign_sub(0.05 * db)

    return step


def classifier():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(32, 784)).astype(np.float32)
    labels = rng.integers(10, size=32)
    weights = [
        jt.Variable(rng.normal(size=shape).astype(np.float32))
        for shape in [(784, 128), (128,), (128, 10), (10,)]
    ]
    optimizer = jt.optimizers.Adam(0.001)

    def step():
        w1, b1, w2, b2 = weights
        with jt.GradientTape() as tape:
            logits = jt.nn.relu(images @ w1 + b1) @ w2 + b2
            loss = jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        float(loss)

    return step


@pytest.mark.parametrize("make", [textbook, classifier])
def test_nothing_grows_over_a_thousand_warm_steps(make):
    step = make()
    for _ in range(50):
        step()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            step()
        before, fresh = tracemalloc.get_traced_memory()[0], pool.stats().fresh
        for _ in range(1000):
            step()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert pool.stats().fresh == fresh
    assert grown < 20_000


def test_a_large_loop_does_not_fault_pages():
    x = jt.constant(np.linspace(0, 1, BIG))
    total = []

    def step():
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.exp(x) * x
        total.append(tape.gradient(y, x)[5])

    for _ in range(4):
        step()
        [float(t) for t in total]
    fresh, faults = pool.stats().fresh, resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        step()
        float(total[-1])
    assert pool.stats().fresh == fresh
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < 2000  # 80 MB are 19,531 pages


def test_large_temporaries_and_results_do_not_fault_pages():
    n = 1500

    def f(x):
        return add(matmul_op.bind(sin(x), exp(x)), multiply(x, 2.0))

    executable = executable_of(f, np.ones((n, n)))
    given = Buffer(np.ones((n, n)))
    for _ in range(3):
        executable.run([given])
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        executable.run([given])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < 1000  # one array is 4,394 pages
