"""`Variable`: making, reading, printing and copying one, and threads that share one."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import jittape as jt


@pytest.fixture
def v():
    return jt.Variable([1.0, 2.0, 3.0], name="v")


# ---- making one ------------------------------------------------------------------------------------------------------


def test_arguments():
    variable = jt.Variable([1, 2], trainable=False, name="counts", dtype="float64", constraint=abs, shape=[2])
    assert variable.tolist() == [1.0, 2.0]
    assert (variable.dtype, variable.shape, variable.trainable) == (jt.float64, (2,), False)
    assert variable.name == "counts:0"
    assert variable.constraint is abs
    assert jt.Variable(1.0).trainable
    assert jt.Variable(1.0).name == "Variable:0"
    assert jt.Variable(lambda: [1.0, 2.0]).shape == (2,)


def test_an_initial_value_of_another_shape():
    with pytest.raises(
        ValueError, match=r"The initial value's shape \(\(2,\)\) is not the given shape \(\(3,\)\)"
    ):
        jt.Variable([1.0, 2.0], shape=(3,))
    assert jt.Variable([[1.0, 2.0]], shape=(None, 2)).shape == (1, 2)


def test_an_initial_value_that_is_pending(mode):
    for _ in range(3):
        x = jt.constant([1.0, 2.0])
        doubled = jt.Variable(x * 2.0)
        other = jt.Variable(doubled, dtype="float64")
        doubled.assign_add([1.0, 1.0])
        assert other.tolist() == [2.0, 4.0]
        assert other.dtype == jt.float64
        assert doubled.tolist() == [3.0, 5.0]


def test_an_initial_array_is_copied():
    a = np.ones(2, np.float32)
    variable = jt.Variable(a)
    a[0] = 9.0
    assert variable.tolist() == [1.0, 1.0]
    variable.assign_add(a)
    assert a.tolist() == [9.0, 1.0]


def test_trainable_is_settled(v):
    with pytest.raises(AttributeError):
        v.trainable = False


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_a_value_does_not_change_with_later_assignments(v, mode):
    for _ in range(3):
        v.assign([1.0, 2.0, 3.0])
        values = [v.value(), v.read_value(), jt.identity(v), v * 1.0, +v, v[:], v.numpy(), copy.copy(v)]
        v.assign([7.0, 8.0, 9.0])
        for value in values:
            assert value.tolist() == [1.0, 2.0, 3.0]


def test_reading_is_watched(v):
    for read in (v.value, v.read_value, lambda: v, lambda: v[:], lambda: jt.convert_to_tensor(v)):
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(jt.square(read()))
        assert tape.gradient(y, v).tolist() == [2.0, 4.0, 6.0]


def test_numpy_functions_record(v):
    with jt.GradientTape() as tape:
        y = np.sum(np.sin(v))
    np.testing.assert_allclose(tape.gradient(y, v), np.cos([1.0, 2.0, 3.0]), rtol=1e-6)


def test_as_number_and_array():
    n = jt.Variable(3)
    assert float(jt.Variable(2.5)) == 2.5
    assert list(range(n)) == [0, 1, 2]
    assert ["a", "b", "c", "d"][n] == "d"
    assert np.asarray(n).dtype == np.int32
    assert bool(n)
    assert [float(x) for x in jt.Variable([1.0, 2.0])] == [1.0, 2.0]


@pytest.mark.parametrize(
    "key",
    [
        1,
        -1,
        slice(1, None),
        slice(None, None, -2),
        ...,
        None,
        (..., None),
        [2, 0],
        np.array([[0, 1], [2, 2]]),
        np.array([True, False, True]),
    ],
)
def test_indexing_is_numpys(v, key):
    np.testing.assert_array_equal(v[key].numpy(), np.float32([1, 2, 3])[key])
    np.testing.assert_array_equal(v[jt.constant(key) if isinstance(key, np.ndarray) else key], v.numpy()[key])


# ---- identity --------------------------------------------------------------------------------------------------------


def test_unhashable(v):
    with pytest.raises(TypeError, match=r"Variable is unhashable. Instead, use variable.ref\(\) as the key."):
        hash(v)
    other = jt.Variable([1.0, 2.0, 3.0])
    known = {v.ref(): "v", other.ref(): "other"}
    assert known[v.ref()] == "v"
    assert v.ref().deref() is v
    assert len({v.ref(), v.ref(), other.ref()}) == 2


def test_equality_is_elementwise(v):
    assert (v == [1.0, 0.0, 3.0]).tolist() == [True, False, True]
    assert (v != v).tolist() == [False, False, False]
    assert (v == None) is False  # noqa: E711
    with pytest.raises(ValueError, match="one element"):
        bool(v)


def test_printing(v):
    assert repr(v) == "<jt.Variable 'v:0' shape=(3,) dtype=float32, numpy=array([1., 2., 3.], dtype=float32)>"
    assert str(v) == f"{v}" == repr(v)
    assert repr(jt.Variable(6.0)) == "<jt.Variable 'Variable:0' shape=() dtype=float32, numpy=6.0>"
    assert repr(jt.Variable(True, name="flag")) == "<jt.Variable 'flag:0' shape=() dtype=bool, numpy=True>"
    assert f"{jt.Variable(2 / 3):.3f}" == "0.667"


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
@pytest.mark.parametrize("pending", [False, True])
def test_copies(copier, pending):
    original = jt.Variable([1.0, 2.0], trainable=False, name="w", constraint=np.abs, dtype="float64")
    if pending:
        original.assign_add([1.0, 1.0])
        original.assign_sub([1.0, 1.0])
    copied = copier(original)
    assert (copied.name, copied.trainable, copied.constraint, copied.dtype) == (
        "w:0",
        False,
        np.abs,
        jt.float64,
    )
    original.assign([5.0, 5.0])
    assert copied.tolist() == [1.0, 2.0]
    copied[0] = 9.0
    assert original.tolist() == [5.0, 5.0]


def test_shared_variables_stay_shared_in_a_pickle(v):
    one, other = pickle.loads(pickle.dumps((v, [v])))
    assert one is other[0]


def test_a_variable_is_freed():
    v = jt.Variable([1.0, 2.0])
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(v * v)
    v.assign_sub(tape.gradient(y, v))
    assert v.tolist() == [-1.0, -2.0]
    alive = weakref.ref(v)
    del v, y, tape
    gc.collect()
    assert alive() is None


# ---- threads ---------------------------------------------------------------------------------------------------------


def run_in_threads(work, count):
    """Run ``work(i)`` in `count` threads; errors come up here."""
    errors, results = [], [None] * count

    def run(i):
        try:
            results[i] = work(i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors
    return results


def test_threads_with_variables_of_their_own(mode):
    def work(i):
        w = jt.Variable(float(i))
        for _ in range(20):
            with jt.GradientTape() as tape:
                loss = jt.square(w - 3.0)
            w.assign_sub(0.25 * tape.gradient(loss, w))
        return float(w)

    for w in run_in_threads(work, 4):
        assert w == pytest.approx(3.0, abs=1e-4)


def test_threads_that_share_variables(mode):
    shared = [jt.Variable(i + 1.0) for i in range(4)]

    def work(i):
        a, b, c, d = shared
        for _ in range(60):
            with jt.GradientTape() as tape:
                y = a * b + c * d * float(i)
            gradients = tape.gradient(y, shared)
            assert float(y) == 2.0 + 12.0 * i
            assert [float(g) for g in gradients] == [2.0, 1.0, 4.0 * i, 3.0 * i]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run_in_threads(work, 3)
    finally:
        sys.setswitchinterval(before)


def test_a_variable_assigned_in_another_thread(v, mode):
    doubled = v * 2.0
    run_in_threads(lambda i: v.assign_add([1.0, 1.0, 1.0]), 1)
    assert doubled.tolist() == [2.0, 4.0, 6.0]
    assert v.tolist() == [2.0, 3.0, 4.0]
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(v * v)
    assert tape.gradient(y, v).tolist() == [4.0, 6.0, 8.0]


def test_a_pending_tensor_looked_at_by_another_thread(v, mode):
    doubled = v * 2.0
    assert run_in_threads(lambda i: doubled.tolist(), 1) == [[2.0, 4.0, 6.0]]
    assert (doubled + 1.0).tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("kind", [jt.Variable, jt.Tensor])
def test_variables_and_tensors_are_not_subclassed(kind):
    with pytest.raises(TypeError, match=f"jt.{kind.__name__} cannot be subclassed"):
        type("Mine", (kind,), {})
