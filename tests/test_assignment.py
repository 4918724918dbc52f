"""Assigning to Variables: inside and outside tapes, to the whole and to parts, and what cannot be assigned."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt


@pytest.fixture
def v():
    return jt.Variable([1.0, 2.0, 3.0], name="v")


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
    ) as raised:
        v.assign(value)
    assert "keep an array of changing length as a tensor" in str(raised.value)
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
    other, after = jt.Variable(1.0), jt.Variable(1.0)
    for step in range(3):
        other.assign_add(1.0)
        v.assign(jt.gather(v, jt.constant([0, 1, 7]) + 0))
        other.assign_add(5.0)
        after.assign_add(1.0)
        with pytest.raises(IndexError, match=r"gather|index"):
            v.numpy()
        assert v.tolist() == [1.0, 2.0, 3.0]
        assert float(other) == step + 2.0  # as if the error had come on its own line
        assert float(after) == 1.0
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


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("scatter_mul", [30.0, 2.0, 15.0]),
        ("scatter_div", [1 / 30.0, 2.0, 0.6]),
        ("scatter_max", [10.0, 2.0, 5.0]),
        ("scatter_min", [1.0, 2.0, 3.0]),
    ],
)
def test_scattering_rows_that_are_combined(v, mode, method, expected):
    rows = jt.IndexedSlices(jt.constant([10.0, 5.0, 3.0]), jt.constant([0, 2, 0]))
    for _ in range(3):
        v.assign([1.0, 2.0, 3.0])
        assert getattr(v, method)(rows) is v
        np.testing.assert_allclose(v.numpy(), expected, rtol=1e-6)


def test_dividing_rows_of_integers_is_refused():
    counts = jt.Variable([4, 6])
    with pytest.raises(TypeError, match=r"\[scatter_div\] needs a floating or complex dtype, got int32"):
        counts.scatter_div(jt.IndexedSlices([2], [0]))
    assert counts.tolist() == [4, 6]


def test_scattering_and_reading_by_coordinates(mode):
    for _ in range(3):
        v = jt.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        assert v.scatter_nd_max([[0, 1], [2, 0]], [9.0, 1.0]) is v
        assert v.tolist() == [[1.0, 9.0], [3.0, 4.0], [5.0, 6.0]]
        assert v.scatter_nd_min([[0, 1], [2, 0]], [7.0, 8.0]) is v
        assert v.tolist() == [[1.0, 7.0], [3.0, 4.0], [5.0, 6.0]]
        assert v.gather_nd([[0, 1], [2, 0]]).tolist() == [7.0, 5.0]
        assert v.sparse_read([2, 0]).tolist() == [[5.0, 6.0], [1.0, 7.0]]
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(v.sparse_read([2, 2])) + v.gather_nd([0, 1])
        assert tape.gradient(y, v).tolist() == [[0.0, 1.0], [0.0, 0.0], [2.0, 2.0]]


def test_scattering_into_the_members_of_a_batch(mode):
    values = np.arange(8.0).reshape(2, 2, 2)
    for _ in range(3):
        v = jt.Variable(np.zeros((2, 3, 2)))
        assert v.batch_scatter_update(jt.IndexedSlices(values, [[0, 2], [1, 0]])) is v
        assert v.tolist() == [[[0, 1], [0, 0], [2, 3]], [[6, 7], [4, 5], [0, 0]]]
        with pytest.raises(
            ValueError, match=r"\[batch_scatter_update\] indices of shape \(3, 1\) must have the"
        ):
            v.batch_scatter_update(jt.IndexedSlices([[1.0]] * 3, [[0]] * 3))


def test_updates_that_tie_share_the_gradient(mode):
    x, u = jt.Variable([1.0, 5.0, 3.0]), jt.Variable([5.0, 5.0, 2.0])
    for _ in range(3):
        with jt.GradientTape() as tape:
            y = jt.tensor_scatter_nd_max(x, [[1], [1], [2]], u)
        dx, du = tape.gradient(y, [x, u])
        np.testing.assert_allclose(dx, [1.0, 1 / 3, 1.0], rtol=1e-6)
        np.testing.assert_allclose(du, [1 / 3, 1 / 3, 0.0], rtol=1e-6)


def test_scattering_needs_slices(v):
    for method in (v.scatter_add, v.scatter_sub, v.scatter_update, v.scatter_max, v.batch_scatter_update):
        with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
            method([1.0])


def test_scattering_out_of_range(v, mode):
    for _ in range(3):
        with pytest.raises(IndexError, match="index 5 is out of bounds"):
            v.scatter_add(jt.IndexedSlices([1.0], [5])).numpy()
        assert v.tolist() == [1.0, 2.0, 3.0]
