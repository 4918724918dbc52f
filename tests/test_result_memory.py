"""Memory for results is used again as soon as nobody holds it, and never before."""

import numpy as np
import pytest

import jittape as jt
from jittape.core.buffers import LARGE
from jittape.core.program import Aval
from jittape.core.tuning import tuning
from jittape.runtime.result_memory import ResultMemory, busy, count_busy

FLOAT = np.dtype(float)


def memory(*shapes):
    return ResultMemory([Aval(shape, FLOAT) for shape in shapes])


@pytest.fixture(params=["machine code", "Python"])
def count(request):
    return busy() if request.param == "machine code" else count_busy


def test_there_is_machine_code():
    assert busy() is not count_busy


def test_what_makes_a_buffer_busy(count):
    buffers, _ = memory((2,), (), (3, 4)).take()
    assert count(buffers, False, None) == 0
    held = buffers[1]
    assert count(buffers, False, None) == 1
    also = buffers[1]
    assert count(buffers, False, None) == 1
    derived = buffers[0].array[1:]
    assert count(buffers, False, None) == 2
    del held, also, derived
    assert count(buffers, False, None) == 0
    seen = buffers[2].view()
    assert count(buffers, False, None) == 1
    for use in (lambda a: a[1:], memoryview, np.from_dlpack, lambda a: a.T.base):
        part = use(seen)
        assert count(buffers, False, None) == 1
    del seen
    assert count(buffers, False, None) == 1
    assert buffers[2].exposed
    del part
    assert count(buffers, False, None) == 0
    assert not buffers[2].exposed


def test_no_buffers_are_free(count):
    assert count((), False, None) == 0


@pytest.mark.parametrize("way", ["machine code", "Python"])
def test_sets_come_back(way, monkeypatch):
    if way == "Python":
        monkeypatch.setattr("jittape.runtime.result_memory._BUSY", None)
        busy.cache_clear()
    results = memory((4,), (5,))
    first, packed = results.take()
    assert list(np.frombuffer(packed, np.int64)) == [b.address for b in first]
    assert results.take() == (first, packed)
    held = list(first)
    second, _ = results.take()
    assert not set(second) & set(first)
    del held
    assert results.take()[0] is first
    busy.cache_clear()


def test_two_sets_serve_a_value_that_is_kept_until_the_next_run():
    """A training step that reads its loss: half of the first set is busy while the Variable has the new value."""
    results = memory((), (4,))
    taken = []
    for _ in range(6):
        found, _ = results.take()
        variable = found[1]
        taken.append([b.address for b in found])
        del found
    assert variable.address == taken[-1][1]
    assert taken[0] != taken[1]
    assert taken == taken[:2] * 3
    assert len(results._sets) == 2


def test_of_two_sets_one_with_a_buffer_in_use_gets_another_for_it():
    results = memory((4,), (5,), (6,))
    first, _ = results.take()
    held = [first[1]]
    second, _ = results.take()
    assert not set(second) & set(first)
    held += second[1:]
    third, packed = results.take()
    assert (third[0], third[2]) == (first[0], first[2])
    assert third[1] not in held
    assert list(np.frombuffer(packed, np.int64)) == [b.address for b in third]


def test_not_more_than_so_many_are_kept():
    results = memory((1500,))
    held = [results.take()[0][0] for _ in range(10)]
    assert len({id(b) for b in held}) == 10
    assert len(results._sets) == tuning.result_sets_limit


@pytest.mark.parametrize("native", [True, False])
def test_results_that_the_caller_keeps(native, monkeypatch):
    monkeypatch.setattr(jt.config, "_native", native)
    results = memory((4,), (2, 3))
    held = []
    for _ in range(20):
        buffers, packed = results.take()
        assert [b.array.shape for b in buffers] == [(4,), (2, 3)]
        assert list(np.frombuffer(packed, np.int64)) == [b.address for b in buffers]
        assert [b.address for b in buffers] == [b.array.ctypes.data for b in buffers]
        assert [(b.nbytes, b.pooled, b.exposed) for b in buffers] == [(32, None, False), (48, None, False)]
        held += buffers
    assert len({b.address for b in held}) == 40
    places = {b.address for b in held[-2:]}
    del buffers, held
    for _ in range(len(results._sets)):  # the oldest sets are free first
        reused = {b.address for b in results.take()[0]}
    assert reused == places


def batched(*shapes):
    """Return a memory whose results have been kept until it made a batch of sets."""
    results = memory(*shapes)
    held = [results.take()[0][0] for _ in range(tuning.result_misses + 6)]
    assert len({id(b) for b in held}) == len(held)
    return results, held


def test_small_results_that_are_kept_are_made_in_batches():
    results, held = batched((4,))
    assert len(results._sets) == 32
    for _ in range(100):
        held.append(results.take()[0][0])
    assert len({b.address for b in held}) == len({id(b) for b in held}) == len(held)
    assert len(results._sets) == 32


def test_one_result_that_is_kept_ends_no_reuse():
    results, held = batched((4,))
    del held
    kept = results.take()[0][0]
    places = {results.take()[0][0].address for _ in range(200)}
    assert len(places) == 31
    assert kept.address not in places


def test_batches_have_few_bytes():
    results, _ = batched((500,))
    assert len(results._sets) == 4
    results, _ = batched((1500,))
    assert len(results._sets) == tuning.result_sets_limit


def test_calls_whose_results_are_kept_or_dropped():
    f = jt.function(lambda x: x * 2.0)
    x = jt.constant(np.arange(24.0))
    held = []
    for i in range(300):
        result = f(x + float(i))
        if i % 100 > 20:
            held.append((i, result))
    for i, result in held:
        np.testing.assert_array_equal(result.numpy(), (np.arange(24.0) + i) * 2.0)


def test_moderate_results_are_kept_though_they_are_of_the_pool(count):
    results = memory((LARGE // 8,), (3,))
    assert results.large == ()
    first, _ = results.take()
    assert count(first, False, None) == 0
    assert first[0].pooled is not None
    for use in (lambda b: b, lambda b: b.array, lambda b: b.array[5:], lambda b: memoryview(b.array)):
        held = use(first[0])
        assert count(first, False, None) == 1
        del held
        assert count(first, False, None) == 0
    view = first[0].view()
    assert count(first, False, None) == 1
    del view
    assert count(first, False, None) == 0
    view = first[0].view()
    assert results.take()[0][0].address != first[0].address
    del view


def test_results_that_are_much_together_are_not_kept():
    assert memory(*[(LARGE // 4,)] * 9).large == tuple(range(9))
    assert memory((4,), (5,)).large == ()
    assert ResultMemory([Aval((4,), FLOAT), Aval((5,), FLOAT)], {1}).large == (1,)


def test_large_results_are_not_kept():
    results = memory((4,), (tuning.remembered_result_bytes // 8,), ())
    assert results.large == (1,)
    assert [b.array.shape for b in results.take()[0]] == [(4,), ()]


@pytest.mark.parametrize("way", [lambda f: f, jt.function], ids=["recorded", "function"])
def test_results_keep_their_values_whoever_holds_them(way):
    """Tensors, views, arrays derived from views, and nothing at all, in turn."""

    @way
    def program(x):
        return x + 1.0, x * 2.0, jt.reduce_sum(x)

    keep, expected = [], []
    for i in range(40):
        x = np.full(3, float(i))
        plus, twice, total = program(jt.constant(x))
        kinds = [plus, plus.numpy(), twice.numpy()[1:], float(total), None]
        keep.append(kinds[i % 5])
        expected.append([x + 1, x + 1, (x * 2)[1:], 3.0 * i, None][i % 5])
        del plus, twice, total, kinds
    for found, wanted in zip(keep, expected, strict=True):
        if wanted is not None:
            np.testing.assert_array_equal(found, wanted)
