"""Memory in warm loops: what nobody holds is used again, and nothing grows."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jittape as jt
from jittape.core.buffers import LARGE, Buffer, Pool, allocate, pool
from jittape.core.program import Aval
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.linalg.matmul import matmul_op
from jittape.runtime.executable import CompiledExecutable
from processes import run_python
from programs import program_of

resource = pytest.importorskip("resource", reason="page faults are counted where the system tells")

pytestmark = pytest.mark.usefixtures("small_heap")

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


def test_large_memory_begins_at_a_quarter_of_its_page_the_next_at_the_next(monkeypatch: pytest.MonkeyPatch):
    """Wherever the system's memory begins. A little further than another, loads are taken for that one's stores."""
    empty, odd = np.empty, iter(range(16, 4096, 400))
    monkeypatch.setattr(np, "empty", lambda n, dtype: empty(n + 4096, dtype)[next(odd) :][:n])
    held = [Pool().take(Aval((LARGE + i,), FLOAT)) for i in range(9)]
    quarters = [memory.block.address % 4096 // 1024 for memory in held]
    assert all(memory.block.address % 1024 == 0 for memory in held)
    assert quarters == [(quarters[0] + i) % 4 for i in range(9)]


def test_the_pool_is_bounded_and_forgets_what_waited_longest():
    jt.config.max_pool_bytes = 10 * LARGE
    held = [allocate(Aval((n * LARGE,), np.dtype(np.uint8))) for n in (4, 1, 1, 3, 5, 20)]
    addresses = [b.address for b in held]
    while held:
        del held[0]
    assert pool.stats().waiting == 10 * LARGE
    assert allocate(Aval((3 * LARGE,), np.dtype(np.uint8))).address == addresses[3]
    before = pool.stats().fresh
    # The memory of 4 was forgotten, and that of 5 serves in its place.
    assert allocate(Aval((4 * LARGE,), np.dtype(np.uint8))).address == addresses[4]
    assert pool.stats().fresh == before
    allocate(Aval((6 * LARGE,), np.dtype(np.uint8)))
    assert pool.stats().fresh == before + 1


def test_a_block_that_follows_a_smaller_one_has_room_to_grow():
    own = Pool()
    small, large = Aval((LARGE,), FLOAT), Aval((6 * LARGE,), FLOAT)
    own.take(small, 8)
    block = own.take(large, 8).block
    assert block.kind == 4 * large.nbytes  # memory that is not written takes no room
    assert own.take(Aval((23 * LARGE,), FLOAT), 8).block is block
    del block
    alone = Pool()
    assert alone.take(large, 8).block.kind == large.nbytes
    assert alone.take(large).block.kind == large.nbytes


def test_waiting_memory_serves_up_to_half_its_size():
    """Arrays of many lengths would otherwise need fresh pages for each size; none keeps more than twice its size."""
    own = Pool()
    address = own.take(Aval((8 * LARGE,), np.dtype(np.uint8))).block.address
    kept = [own.take(Aval((n * LARGE,), np.dtype(np.uint8))) for n in (3, 5)]
    assert [memory.block.address == address for memory in kept] == [False, True]
    assert own.stats().fresh == 2
    del kept
    assert own.take(Aval((LARGE,), np.dtype(np.uint8)), 8).block.kind == 3 * LARGE


def test_memory_that_comes_back_in_the_middle_of_the_pools_own_work_waits_for_nothing():
    own = Pool()
    memory = own.take(Aval((LARGE,), FLOAT))
    done = threading.Event()

    def drop():
        nonlocal memory
        del memory
        done.set()

    with own._lock:
        threading.Thread(target=drop).start()
        assert done.wait(20)
    assert own.stats().waiting == LARGE * 8


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 3)), max_size=60), st.integers(1, 8))
def test_the_pool_keeps_its_limit_whatever_comes_and_goes(steps, limit):
    """Positive numbers take memory of so many units, others give back; what waits never exceeds the limit."""
    jt.config.max_pool_bytes = limit * LARGE
    own, held = Pool(), []
    for number, part in steps:
        if number > 0:
            memory = own.take(Aval((number * LARGE // part,), np.dtype(np.uint8)))
            assert all(memory.block is not other.block for other in held)
            held.append(memory)
        elif held:
            del held[number % len(held)]
        memory = None
        assert own.stats().waiting <= limit * LARGE
        assert own._bytes == sum(block.kind for block in own._known.values()) <= limit * LARGE
    held.clear()
    assert own.stats().waiting == own._bytes


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

    operands = np.ones((400, 400)), np.ones((400, 400))
    executables = [executable_of(lambda x, y, i=i: add(chain(x, y), float(i)), *operands) for i in range(3)]
    given = [Buffer(x) for x in operands]
    assert all(e.schedule.arena > tuning.workspace_arena_bytes for e in executables)
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
    for _ in range(300):  # by then the machine code that records these steps has been made
        step()
    gc.collect()
    fresh, sizes = pool.stats().fresh, []
    tracemalloc.start()
    try:
        for _ in range(4):
            for _ in range(300):
                step()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert pool.stats().fresh == fresh
    # What leaks grows in every round, a table that Python lays out anew in one.
    assert min(np.diff(sizes)) < 2400, sizes


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


# ---- in place ------------------------------------------------------------------------------------------------------


def momentum(n=LARGE, watch=None, way=lambda step: step):
    """Steps on a large Variable and its momentum; `watch` looks at them on the way. Gives all values, and NumPy's."""
    target = np.linspace(-1, 1, n)
    x, w, m = jt.constant(target), jt.Variable(np.zeros(n)), jt.Variable(np.zeros(n), trainable=False)
    weight, moment = np.zeros(n), np.zeros(n)
    places, seen = [], []

    @way
    def step():
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(w - x))
        m.assign(0.9 * m + 0.1 * tape.gradient(loss, w))
        w.assign_sub(0.2 * m)
        return loss

    for i in range(8):
        float(step())
        moment = 0.9 * moment + 0.1 * (2 * (weight - target))
        weight = weight - 0.2 * moment
        places.append((w._buffer.address, m._buffer.address))
        if watch is not None:
            seen.append((watch(w, m), weight, moment, i))
        np.testing.assert_allclose(w._buffer.array, weight, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(m._buffer.array, moment, rtol=1e-9, atol=1e-12)
    return places, seen


@pytest.mark.parametrize("way", [lambda step: step, jt.function], ids=["recorded", "function"])
def test_a_large_variable_that_nobody_else_sees_is_updated_in_place(way):
    places, _ = momentum(way=way)
    assert len(set(places[3:])) == 1


def test_a_small_variable_takes_turns():
    places, _ = momentum(100)
    assert len(set(places[3:])) == 2


@pytest.mark.parametrize("way", [lambda step: step, jt.function], ids=["recorded", "function"])
def test_views_of_a_variable_keep_what_they_showed(way):
    _, seen = momentum(watch=lambda w, m: (w.numpy(), m.numpy()), way=way)
    for (w, m), weight, moment, _ in seen:
        np.testing.assert_allclose(w, weight, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(m, moment, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("way", [lambda step: step, jt.function], ids=["recorded", "function"])
def test_tensors_read_from_a_variable_keep_their_value(way):
    def read(w, m):
        value = w.value()
        float(value[0])
        return value, m + 0.0

    _, seen = momentum(watch=read, way=way)
    for (w, m), weight, moment, _ in seen:
        np.testing.assert_allclose(w.numpy(), weight, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(m.numpy(), moment, rtol=1e-9, atol=1e-12)


def test_a_persistent_tape_asks_again_after_the_assignment():
    w = jt.Variable(np.full(LARGE, 2.0))
    for value in (2.0, 1.0, 0.5, 0.25):
        with jt.GradientTape(persistent=True) as tape:
            y = jt.square(w) * w
        w.assign(0.5 * w)
        assert w._computed().array[7] == value / 2
        assert tape.gradient(y, w).numpy()[7] == 3 * value**2


def test_two_variables_swap():
    a, b = jt.Variable(np.full(LARGE, 1.0)), jt.Variable(np.full(LARGE, 2.0))
    for i in range(6):
        before = a + 0.0
        a.assign(b + 0.0)
        b.assign(before)
        values = a.numpy()[3], b.numpy()[3]
        assert values == ((2.0, 1.0) if i % 2 == 0 else (1.0, 2.0))


def test_an_update_that_reads_other_elements_is_not_in_place():
    w = jt.Variable(np.arange(float(LARGE)))
    expected = np.arange(float(LARGE))
    for _ in range(5):
        w.assign(w[::-1] + 1.0)
        expected = expected[::-1] + 1.0
        jt.constant(1.0).numpy()
        with jt.GradientTape():
            pass
    np.testing.assert_array_equal(w.numpy(), expected)


def test_the_same_path_with_another_variable_assigned():
    a, b = jt.Variable(np.full(LARGE, 1.0)), jt.Variable(np.zeros(LARGE))
    for i in range(6):
        target = a if i % 2 else b
        target.assign(a + 1.0)
        with jt.GradientTape():
            pass
    assert (a.numpy()[0], b.numpy()[0]) == (4.0, 4.0)


def test_a_read_only_array_that_a_variable_was_made_from_stays():
    source = np.full(LARGE, 1.0)
    frozen = source.view()
    frozen.flags.writeable = False
    w = jt.Variable(frozen)
    for _ in range(5):
        w.assign_add(np.float64(1.0))
        with jt.GradientTape():
            pass
    assert source[0] == 1.0
    assert w.numpy()[0] == 6.0


def test_memory_that_is_read_later_is_not_written():
    def f(w):
        return multiply(w, 2.0), matmul_op.bind(w, exp(matmul_op.bind(w, w)))

    w = np.random.default_rng(0).normal(size=(100, 100)) / 50
    (doubled, product) = CompiledExecutable(program_of(f, w), frozenset(), ((0, 0),)).run([Buffer(w.copy())])
    np.testing.assert_array_equal(doubled.array, 2 * w)
    np.testing.assert_allclose(product.array, w @ np.exp(w @ w))


def test_a_sum_of_products_does_not_take_the_memory_of_a_variable():
    def f(w, x):
        y = exp(w)
        return add(matmul_op.bind(y, x), matmul_op.bind(x, y))

    w, x = np.random.default_rng(0).normal(size=(2, 100, 100)) / 10
    executable = CompiledExecutable(program_of(f, w, x), frozenset(), ((0, 0),))
    assert executable.steps[-1].kernel.accumulates
    assert executable.schedule.in_place == ()
    (found,) = executable.run([Buffer(w.copy()), Buffer(x)])
    np.testing.assert_allclose(found.array, np.exp(w) @ x + x @ np.exp(w), rtol=1e-12, atol=1e-12)


def test_what_the_listing_says():
    def update(w, g):
        return add(w, multiply(g, -0.1)), sum_op.bind(w, axes=(0,))

    program = program_of(update, np.ones(5), np.ones(5))
    (step,) = CompiledExecutable(program, frozenset(), ((0, 0),)).steps
    assert step.kernel.listing.count("load r0[i0]") == 1
    assert [o.name for o in step.kernel.operands] == ["a0", "r0", "r1"]


@pytest.mark.parametrize("held", [0, 1])
def test_a_donated_input_stays_if_somebody_holds_it(held):
    program = program_of(lambda w: add(w, 1.0), np.ones(LARGE))
    executable = CompiledExecutable(program, frozenset(), ((0, 0),))
    inputs = [allocate(Aval((LARGE,), FLOAT))]
    inputs[0].array[:] = 1.0
    keep = inputs[0] if held else None
    address = inputs[0].address
    (found,) = executable.run(inputs)
    assert (found.address == address) is (keep is None)
    np.testing.assert_array_equal(found.array, 2.0)
    if keep is not None:
        np.testing.assert_array_equal(keep.array, 1.0)


def test_memory_comes_back_when_the_last_view_goes():
    buffer = allocate(Aval((LARGE,), FLOAT))
    address, view = buffer.address, buffer.view()[3:]
    del buffer
    assert pool.stats().waiting == 0
    del view
    assert allocate(Aval((LARGE,), FLOAT)).address == address


def test_memory_beyond_the_limit_goes_to_the_system():
    jt.config.max_pool_bytes = LARGE
    view = allocate(Aval((LARGE,), FLOAT)).view()
    del view
    allocate(Aval((LARGE,), FLOAT))
    assert pool.stats().waiting == 0


LATE = """
import sys, numpy as np, jittape as jt
x = jt.constant(np.linspace(0, 1, 100_000))
class Late: pass
sys.late = late = Late()
late.itself, late.arrays = late, [jt.exp(x).numpy() for _ in range(4)]
late.tensors = [jt.exp(x) for _ in range(3)]
[float(t[0]) for t in late.tensors]
np.late = [jt.sin(x).numpy(), jt.sin(x)]
float(np.late[1][0])
"""


def test_a_process_ends_in_silence_whatever_goes_last():
    done = run_python("-c", LATE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
