"""Steps run after what they depend on, and a schedule that breaks this rule is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.llvm.blas import host_facts
from jittape.compile.schedule.pipeline import run_passes
from jittape.compile.schedule.steps import KernelStep
from jittape.compile.schedule.unplaced_steps import Draft
from jittape.compile.schedule.validate import check_schedule
from jittape.compile.schedule.versions import check_versions
from jittape.core.interpret import interpret
from jittape.core.simplify import simplify
from jittape.errors import ProgramError
from jittape.primitives.broadcast import sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.gather_ops import gather_op, scatter_update_op
from jittape.primitives.indexing.sorting import sort
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.cumulative import cumsum_op
from jittape.primitives.shape.views import Region, concat_op, slice_op
from programs import compiled, program_of

N = 1000
rng = np.random.default_rng(5)
INDICES = rng.integers(0, 7, N)
TABLE = rng.normal(size=7)


def total(x):
    return sum_op.bind(x, axes=tuple(range(len(x.shape))))


# ---- a piece of a long nest that a check waits for -------------------------------------------------------------------


def long_chain(x):
    y = x
    for _ in range(10):
        y = jt.sin(y) * 1.1 + 0.1 * y
    return jt.reduce_sum(y * jt.gather(jt.constant(TABLE), INDICES))


def one_expensive_power(x):
    p = (x + 3) ** jt.tanh(x)
    return jt.reduce_sum(p * jt.gather(jt.constant(TABLE), INDICES))


def computed_indices(x):
    y = jt.exp(jt.tanh(x)) ** jt.sin(x)
    places = jt.cast(jt.cumsum(y) % 7, jt.int64)
    return jt.reduce_sum(jt.gather(jt.constant(TABLE), places) * y) + jt.gather(y, [3])[0]


def several_checks(x):
    y = x
    for step in range(4):
        y = jt.tanh(y) ** 2 + jt.exp(-y) * jt.gather(y, (INDICES + step) % N)
    return jt.reduce_sum(y)


@pytest.mark.parametrize(
    "function", [long_chain, one_expensive_power, computed_indices, several_checks], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("decorated", [False, True], ids=["tape", "function"])
def test_every_visit_gives_what_the_first_gives(function, decorated):
    x = jt.constant(np.linspace(-1, 1, N))
    called = jt.function(function) if decorated else function
    jt.config.interpret = True
    try:
        with jt.GradientTape() as tape:
            tape.watch(x)
            expected = function(x)
        slope = tape.gradient(expected, x).numpy()
        expected = float(expected)
    finally:
        jt.config.interpret = False
    for _ in range(4):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = called(x)
        found = tape.gradient(y, x)
        np.testing.assert_allclose([float(y)], [expected], rtol=1e-9)
        np.testing.assert_allclose(found, slope, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("limit", [4, 16, 64, 256])
def test_nests_cut_anywhere_keep_their_order(override_tuning, limit):
    override_tuning(split_cost_limit=limit, split_piece_cost=max(1, limit // 4))

    def function(x, table, indices):
        y = sin(x)
        for _ in range(6):
            y = multiply(add(tanh(y), x), gather(table, indices))
        return total(y), gather(y, indices), exp(cumsum_op.bind(y, axis=0))

    operands = np.linspace(0, 1, 50), TABLE, INDICES[:50]
    program = program_of(function, *operands)
    check_schedule(schedule(program))
    for got, expected in zip(compiled(program, operands), interpret(program, operands), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.parametrize("decorated", [False, True], ids=["tape", "function"])
def test_a_product_and_a_sort_of_one_element(decorated):
    x = jt.constant([0.7])

    def function(x):
        return 4 * jt.reduce_prod(x) + 3 * jt.reduce_sum(jt.sort(x, 0, "DESCENDING"))

    called = jt.function(function) if decorated else function
    for _ in range(4):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = called(x)
        assert tape.gradient(y, x).tolist() == [7.0]


@pytest.mark.parametrize("empty_first", [False, True])
def test_an_operand_without_elements_writes_nothing_into_a_concatenation(empty_first):
    def function(x, y):
        none = slice_op.bind(y, region=Region((0,), (0,), (0,), (1,)))
        parts = (none, multiply(x, x)) if empty_first else (multiply(x, x), none)
        return concat_op.bind(*parts, axis=0)

    (got,) = compiled(program_of(function, [3.0], [5.0]), [[3.0], [5.0]])
    assert got.tolist() == [9.0]


# ---- schedules that are wrong ----------------------------------------------------------------------------------------


def a_schedule(donated=()):
    """Of steps that wait for each other, with temporaries that share memory."""

    def function(x, w):
        a = matmul_op.bind(x, w)
        b = matmul_op.bind(tanh(a), w)
        c = matmul_op.bind(exp(b), w)
        return total(matmul_op.bind(sort(c, axis=0), w)), add(w, w)

    return schedule(program_of(function, np.ones((40, 40)), np.ones((40, 40))), donated)


def test_steps_in_another_order_are_refused():
    good = a_schedule()
    assert check_schedule(good) is good
    for i in range(1, len(good.steps)):
        steps = list(good.steps)
        steps.insert(0, steps.pop(i))
        if good.steps[i].storages[0] < 2:
            continue  # it reads inputs alone
        with pytest.raises(
            ProgramError, match=r"step \d+ reads storage \d+ before it is written\n(.*\n)*-> "
        ):
            check_schedule(replace(good, steps=tuple(steps)))


def test_steps_that_are_missing_are_noticed():
    good = a_schedule()
    for i in [i for i, step in enumerate(good.steps) if not (step.kernel and step.kernel.effectful)]:
        with pytest.raises(ProgramError, match=r"before it is written|is not written"):
            check_schedule(replace(good, steps=(*good.steps[:i], *good.steps[i + 1 :])))


def test_steps_that_run_twice_are_noticed():
    good = a_schedule()
    with pytest.raises(ProgramError, match="writes a storage after it has been read"):
        check_schedule(replace(good, steps=(*good.steps, good.steps[0])))


def test_temporaries_that_meet_are_refused():
    good = a_schedule()
    assert len(set(good.offsets)) < len(good.offsets)
    with pytest.raises(ProgramError, match="in the memory of"):
        check_schedule(replace(good, offsets=(0,) * len(good.offsets)))
    with pytest.raises(ProgramError, match="outside of its memory"):
        check_schedule(replace(good, arena=good.arena - 64))


def test_changed_memory_is_read_before_the_next_change():
    def body(x, i, j):
        x = scatter_update_op.bind(x, multiply(gather_op.bind(x, j, axis=0), 2.0), i, axis=0)
        both = add(gather_op.bind(x, i, axis=0), gather_op.bind(x, j, axis=0))
        return scatter_update_op.bind(x, both, j, axis=0)

    program = simplify(program_of(body, np.ones(50), np.int64(3), np.int64(7)))
    draft = Draft(program, schedule, host_facts, donated=((0, 0),), is_body=True)
    run_passes(draft)
    assert draft.schedule.in_place == ((0, 0, True),)
    *others, first, reader, second = draft.steps
    for steps in ([reader, first, second], [first, second, reader], [second, reader, first]):
        draft.steps = [*others, *steps]
        with pytest.raises(ProgramError, match=r"step \d+ needs version -?\d of %\d+, as %\d+, but finds"):
            check_versions(draft)


def test_an_input_that_is_still_read_is_not_overwritten():
    def function(x, y):
        return matmul_op.bind(x, y), add(x, y)

    operands = np.ones((9, 9)), np.ones((9, 9))
    good = schedule(program_of(function, *operands), ((0, 1),))
    assert good.in_place == ((0, 1, True),)
    steps = good.steps[::-1]
    with pytest.raises(ProgramError, match="over input 0, which is read afterwards"):
        check_schedule(replace(good, steps=steps))


def test_nothing_is_overwritten_while_the_run_may_end():
    def function(x, table, indices):
        return add(x, matmul_op.bind(gather(table, indices), table))

    operands = np.ones((7, 7)), np.ones((7, 7)), INDICES[:7]
    good = schedule(program_of(function, *operands), ((0, 0),))
    assert check_schedule(good).in_place == ((0, 0, True),)
    check = next(step for step in good.steps if step.kernel.effectful)
    late = [step for step in good.steps if step is not check]
    with pytest.raises(ProgramError, match="over input 0 while the run may still end"):
        check_schedule(replace(good, steps=(*late, check)))


def test_a_strip_keeps_its_memory_to_itself(override_tuning):
    override_tuning(row_tile_cached_bytes=1 << 12, row_tile_bytes=1 << 10, row_tile_step_bytes=1 << 6)

    def function(x, w):
        h = tanh(matmul_op.bind(x, w))
        return total(matmul_op.bind(h, w)), exp(h)

    good = schedule(program_of(function, np.ones((512, 8)), np.ones((8, 8))))
    (tile,) = {step.tile for step in good.steps if step.tile is not None}
    assert tile.moved
    with pytest.raises(ProgramError, match="outside of its memory"):
        smaller = replace(tile, region=tile.region - 64)
        steps = [replace(s, tile=smaller) if s.tile is tile else s for s in good.steps]
        check_schedule(replace(good, steps=tuple(steps)))
    with pytest.raises(ProgramError, match="begins a tile loop whose own memory other steps use"):
        last = [i for i, step in enumerate(good.steps) if step.tile is tile][-1]
        steps = list(good.steps)
        assert isinstance(steps[last], KernelStep)
        steps[last] = replace(steps[last], tile=None)
        check_schedule(replace(good, steps=tuple(steps)))


@pytest.mark.parametrize("decorated", [True, False])
def test_views_of_views_are_results_in_memory_of_their_own(decorated):
    def views(x):
        rows = jt.reshape(x, [-1, 3])
        line = jt.reshape(rows, [-1])
        return rows, line, jt.expand_dims(line, 0), jt.reshape(line, [3, -1])

    x = np.arange(12.0).reshape(2, 2, 3)
    run = jt.function(views) if decorated else views
    for _ in range(3):
        found = [result.numpy() for result in run(jt.constant(x))]
        for array, shape in zip(found, [(4, 3), (12,), (1, 12), (3, 4)], strict=True):
            np.testing.assert_array_equal(array, x.reshape(shape))
        assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(found, 2))


def test_outputs_of_two_shapes_in_one_storage_are_refused():
    good = a_schedule()
    with pytest.raises(ProgramError, match="are one storage of two shapes"):
        check_schedule(replace(good, outputs=good.outputs[:1] * 2))
