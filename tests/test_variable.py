"""`Variable`: reading, assigning inside and outside tapes, writing to parts, scattering, copies."""

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


# ---- assigning -------------------------------------------------------------------------------------------------------


def test_assigning(v, mode):
    for _ in range(3):
        assert v.assign([1.0, 2.0, 3.0]) is v
        assert v.assign_add([1.0, 1.0, 1.0]) is v
        assert v.assign_sub(2.0 * v) is v
        assert v.tolist() == [-2.0, -3.0, -4.0]
        v.assign(v * v)
        v.assign(v)
        assert v.tolist() == [4.0, 9.0, 16.0]
        assert v.assign_add(1.0).tolist() == [5.0, 10.0, 17.0]


def test_swapping(mode):
    a, b = jt.Variable(1.0), jt.Variable(2.0)
    for _ in range(4):
        before = float(a), float(b)
        old = a.value()
        a.assign(b)
        b.assign(old)
        assert (float(b), float(a)) == before


def test_one_tensor_in_two_variables(mode):
    a, b = jt.Variable([0.0]), jt.Variable([0.0])
    for i in range(4):
        t = jt.constant([float(i)]) + 1.0
        a.assign(t)
        b.assign(t)
        a.assign_add([10.0])
        assert (a.tolist(), b.tolist(), t.tolist()) == ([i + 11.0], [i + 1.0], [i + 1.0])


def test_a_number_after_what_is_pending(mode):
    for _ in range(3):
        v, w = jt.Variable(1.0), jt.Variable(1.0)
        v.assign_add(w * 3.0)
        v.assign(7.0)
        w.assign_add(1.0)
        assert float(w) == 2.0
        assert float(v) == 7.0


def test_many_assignments_without_a_look():
    total = jt.Variable(0.0)
    for i in range(1500):
        total.assign_add(float(i))
    assert float(total) == sum(range(1500))


@pytest.mark.parametrize("value", [5.0, [1.0], [[1.0, 2.0, 3.0]], [1.0, 2.0], np.zeros(0)])
def test_another_shape(v, value):
    with pytest.raises(
        ValueError, match=r"Cannot assign value to variable 'v:0': Shape mismatch. The variable shape \(3,\)"
    ):
        v.assign(value)
    assert v.tolist() == [1.0, 2.0, 3.0]
    v.assign_add([1.0, 1.0, 1.0])
    assert v.tolist() == [2.0, 3.0, 4.0]


def test_a_result_of_another_shape():
    s = jt.Variable(1.0)
    for failing in (lambda: s.assign_add([1.0, 2.0]), lambda: s.assign_sub(np.ones((1,), np.float32))):
        with pytest.raises(ValueError, match="Shape mismatch"):
            failing()
    assert float(s.assign_add(1.0)) == 2.0


CASTS = [
    ("float32", np.float64([1.5]), [1.5]),
    ("float32", [2], [2.0]),
    ("float32", np.int64([2]), [2.0]),
    ("float64", np.float16([1.5]), [1.5]),
    ("int32", np.int64([7]), [7]),
    ("int64", np.uint8([7]), [7]),
    ("complex64", [1.5], [1.5 + 0j]),
    ("float16", [True], [1.0]),
]


@pytest.mark.parametrize(("dtype", "value", "wanted"), CASTS)
def test_same_kind_casts(dtype, value, wanted):
    variable = jt.Variable([0], dtype=dtype)
    variable.assign(value)
    assert variable.dtype == dtype
    assert variable.tolist() == wanted
    variable.assign(jt.constant(value))
    assert variable.tolist() == wanted
    variable.assign_add(value)
    assert variable.dtype == dtype


NO_CASTS = [
    ("int32", [1.5]),
    ("int32", np.float32([1])),
    ("float32", [1j]),
    ("bool", [1]),
    ("uint8", np.int32([1])),
]


@pytest.mark.parametrize(("dtype", "value"), NO_CASTS)
def test_other_casts(dtype, value):
    variable = jt.Variable(np.zeros(1, dtype))
    for given in (value, jt.constant(value)):
        with pytest.raises(TypeError, match=rf"does not cast to {dtype} by the same-kind rule; use jt.cast"):
            variable.assign(given)
    assert variable.tolist() == [0]


@pytest.mark.parametrize("value", ["text", None, object(), [[1.0], [2.0, 3.0]]])
def test_what_is_no_value(v, value):
    for method in (v.assign, v.assign_add, v.assign_sub):
        with pytest.raises((TypeError, ValueError)):
            method(value)
    assert v.tolist() == [1.0, 2.0, 3.0]


def test_a_value_that_cannot_be_computed(v, mode):
    other = jt.Variable(1.0)
    for step in range(3):
        v.assign(jt.gather(v, jt.constant([0, 1, 7]) + 0))
        other.assign_add(1.0)
        with pytest.raises(IndexError, match=r"gather|index"):
            v.numpy()
        assert v.tolist() == [1.0, 2.0, 3.0]
        assert float(other) == step + 2.0
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(v * v)
        assert tape.gradient(y, v).tolist() == [2.0, 4.0, 6.0]


def test_an_exception_inside_a_tape(v, mode):
    for step in range(3):
        with pytest.raises(RuntimeError, match="stop"), jt.GradientTape() as tape:
            y = jt.reduce_sum(v * v)
            v.assign_add([1.0, 1.0, 1.0])
            raise RuntimeError("stop")
        assert v.tolist() == [step + 2.0, step + 3.0, step + 4.0]
        assert tape.gradient(y, v).tolist() == [2 * (step + 1.0), 2 * (step + 2.0), 2 * (step + 3.0)]


# ---- assigning inside a tape -----------------------------------------------------------------------------------------


def test_the_gradient_is_at_the_values_of_record_time(v, mode):
    for _ in range(3):
        v.assign([1.0, 2.0, 3.0])
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(v**3)
        v.assign([0.0, 0.0, 0.0])
        assert tape.gradient(y, v).tolist() == [3.0, 12.0, 27.0]
        assert float(y) == 36.0


@pytest.mark.parametrize("pending", [False, True])
def test_assigning_in_the_block(mode, pending):
    for _ in range(3):
        x, w = jt.Variable(3.0), jt.Variable(2.0)
        with jt.GradientTape(persistent=True) as tape:
            y = x * x
            x.assign(w * 2.5 if pending else 5.0)
            z = x * x
        assert (float(y), float(z), float(x)) == (9.0, 25.0, 5.0)
        assert float(tape.gradient(y, x)) == 6.0
        assert float(tape.gradient(z, x)) == 10.0
        assert float(tape.gradient([y, z], x)) == 16.0
        with pytest.warns(jt.UnconnectedGradientWarning):
            assert tape.gradient(z, w) is None


def test_assign_add_in_the_block(mode):
    for _ in range(3):
        x = jt.Variable(1.0)
        with jt.GradientTape() as tape:
            y = jt.constant(0.0)
            for _ in range(3):
                y = y + x * x
                x.assign_add(1.0)
        assert float(tape.gradient(y, x)) == 2 + 4 + 6
        assert float(x) == 4.0


def test_no_gradient_flows_through_an_assignment():
    x, total = jt.Variable(3.0), jt.Variable(0.0)
    with jt.GradientTape(persistent=True) as tape:
        total.assign(x * x)
        y = total * 2.0
    assert float(tape.gradient(y, total)) == 2.0
    with pytest.warns(jt.UnconnectedGradientWarning, match="assigned"):
        assert tape.gradient(y, x) is None


def test_a_training_loop(mode):
    rng = np.random.default_rng(0)
    w = jt.Variable(rng.normal(size=3))
    wanted = w.numpy().copy()
    for _ in range(6):
        a = rng.normal(size=(4, 3))
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(a @ w))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        wanted -= 0.01 * 2 * a.T @ (a @ wanted)
    np.testing.assert_allclose(w.numpy(), wanted, rtol=1e-12)


def test_variables_of_a_superseded_trace(mode):
    """A persistent tape keeps its trace while others come and go."""
    for _ in range(3):
        v = jt.Variable(2.0)
        with jt.GradientTape(persistent=True) as first:
            y = v * v
        v.assign_add(1.0)
        with jt.GradientTape() as second:
            z = v * v * v
        assert float(second.gradient(z, v)) == 27.0
        assert float(first.gradient(y, v)) == 4.0
        v.assign_add(1.0)
        assert float(v) == 4.0


def test_a_tensor_looked_at_and_used_again_in_a_later_tape(mode):
    """What a persistent tape has computed may have moved to another trace when the tape is asked."""
    for _ in range(3):
        x = jt.constant(2.0)
        with jt.GradientTape(persistent=True) as first:
            first.watch(x)
            t = x * x
            u = t * 10.0
            assert (float(t), float(u)) == (4.0, 40.0)
            y = u * t
        with jt.GradientTape() as second:
            second.watch(t)
            z = t * t
        assert float(second.gradient(z, t)) == 8.0
        assert float(first.gradient(y, x)) == 20.0 * 4.0 * 4.0
        assert float(first.gradient(y, t)) == 80.0


# ---- in-place operators and parts ------------------------------------------------------------------------------------


def test_in_place_operators(v, mode):
    for _ in range(3):
        same = v
        v.assign([1.0, 2.0, 3.0])
        v += 1
        v -= [0.5, 0.5, 0.5]
        v *= 4.0
        v /= np.float32(2)
        assert v is same
        assert v.tolist() == [3.0, 5.0, 7.0]


def test_a_failing_in_place_operator():
    n = jt.Variable([1, 2])
    same = n
    with pytest.raises(TypeError, match="same-kind"):
        n /= 2
    with pytest.raises(TypeError, match="same-kind"):
        n += 0.5
    assert n is same
    assert n.tolist() == [1, 2]


def test_writing_to_parts(v, mode):
    for _ in range(3):
        v.assign([1.0, 2.0, 3.0])
        assert v[0].assign(5.0) is v
        assert v.tolist() == [5.0, 2.0, 3.0]
        v[0] = 6.0
        v[1:].assign([7.0, 8.0])
        v[-1] += 1.0
        v[[0, 1]] *= 2.0
        assert v.tolist() == [12.0, 14.0, 9.0]
        v[v > 10.0] = 0.0
        v[0].assign_add(2.0)
        v[1].assign_sub(2.0)
        v[...].assign(-v)
        assert v.tolist() == [-2.0, 2.0, -9.0]


def test_writing_tensors_to_parts():
    m, x = jt.Variable(np.zeros((2, 2))), jt.constant(3.0)
    m[0] = [x, x * x]
    m[:, 1] = jt.constant([5.0, 6.0])
    assert m.tolist() == [[3.0, 5.0], [0.0, 6.0]]
    assert m.dtype == jt.float64


def test_writing_to_a_part_in_a_tape(v, mode):
    for _ in range(3):
        v.assign([1.0, 2.0, 3.0])
        with jt.GradientTape() as tape:
            v[0].assign(5.0)
            y = jt.reduce_sum(v * v)
        assert tape.gradient(y, v).tolist() == [10.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("key", "value"), [(3, 1.0), ((0, 0), 1.0), ("a", 1.0), (0, [1.0, 2.0]), (0, 1j), (0, None)]
)
def test_a_failing_write_to_a_part(v, key, value):
    with pytest.raises((IndexError, ValueError, TypeError)):
        v[key] = value
    assert v.tolist() == [1.0, 2.0, 3.0]
    v[0] = 4.0
    assert v.tolist() == [4.0, 2.0, 3.0]


def test_scattering(v, mode):
    rows = jt.IndexedSlices(jt.constant([10.0, 20.0, 30.0]), jt.constant([0, 2, 0]))
    for _ in range(3):
        v.assign([1.0, 2.0, 3.0])
        assert v.scatter_add(rows) is v
        assert v.tolist() == [41.0, 2.0, 23.0]
        v.scatter_sub(rows)
        v.scatter_update(jt.IndexedSlices([7.0], [1]))
        assert v.tolist() == [1.0, 7.0, 3.0]
        v.scatter_nd_add([[0], [0]], [1.0, 1.0])
        v.scatter_nd_sub([[1]], [1.0])
        v.scatter_nd_update([[2]], [0.0])
        assert v.tolist() == [3.0, 6.0, 0.0]


def test_scattering_needs_slices(v):
    for method in (v.scatter_add, v.scatter_sub, v.scatter_update):
        with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
            method([1.0])


def test_scattering_out_of_range(v, mode):
    for _ in range(3):
        with pytest.raises(IndexError, match="index 5 is out of bounds"):
            v.scatter_add(jt.IndexedSlices([1.0], [5])).numpy()
        assert v.tolist() == [1.0, 2.0, 3.0]


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
