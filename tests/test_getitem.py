"""Indexing against NumPy: random keys, errors, structure and operands of keys, gradients by the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import jittape as jt
from jittape.core.primitive import recording_with
from jittape.primitives.indexing.gather import boolean_mask, gather, gather_nd
from jittape.primitives.indexing.getitem import getitem, setitem
from jittape.primitives.indexing.scatter import scatter_nd, tensor_scatter_nd_update

Array = np.ndarray[Any, Any]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Return a random key of any kind for an array of `shape`, drawn axis by axis."""
    indices = hnp.array_shapes(min_dims=0, max_dims=2, max_side=3)
    broadcast = draw(indices)
    parts: list[Any] = []
    axis = 0
    while axis < len(shape):
        size = shape[axis]
        kind = draw(st.sampled_from(["int", "slice", "newaxis", "ellipsis", "array", "mask", "bool", "stop"]))
        if kind == "int" and size:
            parts.append(draw(st.integers(-size, size - 1)))
            axis += 1
        elif kind == "slice":
            parts.append(draw(st.slices(size)))
            axis += 1
        elif kind == "newaxis":
            parts.append(None)
        elif kind == "ellipsis" and Ellipsis not in [p for p in parts if not isinstance(p, np.ndarray)]:
            parts.append(Ellipsis)
            axis += draw(st.integers(0, len(shape) - axis))
        elif kind == "array" and size:
            ones = tuple(draw(st.sampled_from([n, 1])) for n in broadcast)
            parts.append(draw(hnp.arrays(np.int64, ones, elements=st.integers(-size, size - 1))))
            axis += 1
        elif kind == "mask":
            count = draw(st.integers(1, len(shape) - axis))
            parts.append(draw(hnp.arrays(np.bool_, shape[axis : axis + count])))
            axis += count
        elif kind == "bool":
            parts.append(draw(st.booleans()))
        elif kind == "stop":
            break
    return tuple(parts) if len(parts) != 1 or draw(st.booleans()) else parts[0]


@st.composite
def arrays_and_keys(draw: st.DrawFn) -> tuple[Array, Any]:
    shape = draw(SHAPES)
    return np.arange(float(np.prod(shape))).reshape(shape), draw(keys(shape))


def fits(x: Array, key: Any) -> bool:
    try:
        x[key]
    except IndexError:
        return False
    return True


@settings(max_examples=300, deadline=None, derandomize=True)
@given(arrays_and_keys())
def test_getitem_is_numpys(drawn: tuple[Array, Any]) -> None:
    x, key = drawn
    tensor = jt.constant(x)
    if not fits(x, key):
        with pytest.raises(IndexError):
            tensor[key].numpy()
        return
    expected = np.asarray(x[key])
    got = tensor[key]
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(arrays_and_keys(), st.data())
def test_setitem_is_numpys(drawn: tuple[Array, Any], data: st.DataObject) -> None:
    x, key = drawn
    if not fits(x, key):
        return
    picked = np.shape(x[key])
    shape = tuple(data.draw(st.sampled_from([n, 1])) for n in picked)
    # NumPy does not accept values with further dimensions for a single element.
    shape = data.draw(st.sampled_from([shape, (1, 1, *shape), ()])) if shape else ()
    value = -1.0 - np.arange(float(np.prod(shape))).reshape(shape)
    expected = x.copy()
    try:
        expected[key] = value
    except TypeError:
        return  # under some masks NumPy wants a value of at most 1 dimension
    tensor = jt.constant(x)
    tensor[key] = value
    np.testing.assert_array_equal(tensor.numpy(), expected)


def test_keys_may_be_tensors_lists_and_numpy_scalars() -> None:
    x = np.arange(12.0).reshape(4, 3)
    t = jt.constant(x)
    for key in (
        [0, 2],
        np.int64(1),
        (np.int32(-1), [0]),
        np.array(2),
        [],
        [True, False, True, True],
        np.uint8(3),
    ):
        np.testing.assert_array_equal(t[key].numpy(), x[key])
    i = jt.constant([3, 0])
    np.testing.assert_array_equal(t[i].numpy(), x[[3, 0]])
    np.testing.assert_array_equal(t[1:, i[1]].numpy(), x[1:, 0])
    np.testing.assert_array_equal(t[t > 4.0].numpy(), x[x > 4])
    np.testing.assert_array_equal(t[i[1] : i[0]].numpy(), x[0:3])
    assert [row.numpy().tolist() for row in t] == x.tolist()


# ---- errors ----------------------------------------------------------------------------------------------------------

X = np.arange(20.0).reshape(5, 4)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (7, r"\[getitem\] index 7 is out of bounds for axis 0 with size 5"),
        (-6, r"\[getitem\] index -6 is out of bounds for axis 0 with size 5"),
        ((slice(None), 4), r"index 4 is out of bounds for axis 1 with size 4"),
        ([0, 5], r"index 5 is out of bounds for axis 0 with size 5"),
        ((0, np.array([-5])), r"index -5 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), r"too many indices: shape \(5, 4\) has 2 dimensions, the key indexes 3"),
        ((Ellipsis, Ellipsis), "only one ellipsis"),
        (1.0, "ints, slices, ..., newaxis, and integer or boolean arrays; got float"),
        ("a", "got str"),
        (np.array([0.5]), "got float64"),
        (np.array([True, False]), r"mask of shape \(2,\) does not fit shape \(5, 4\): axis 0 has size 5"),
        (([0, 1], [0, 1, 2]), r"\(2,\) and \(3,\) do not broadcast"),
    ],
    ids=str,
)
def test_bad_keys(key: Any, message: str) -> None:
    t = jt.constant(X)
    with pytest.raises(IndexError, match=message):
        t[key]
    with pytest.raises(IndexError, match=message.replace("getitem", "setitem")):
        t[key] = 0.0
    np.testing.assert_array_equal(t.numpy(), X)


def test_an_index_that_is_a_tensor_is_checked_when_it_is_looked_at() -> None:
    t = jt.constant(X)
    i = jt.constant([1]) * 5
    bad = t[i]
    with pytest.raises(IndexError, match=r"\[getitem\] index 5 is out of bounds for axis 0 with size 5"):
        bad.numpy()
    np.testing.assert_array_equal((t[i - 1]).numpy(), X[[4]])


@pytest.mark.parametrize(
    ("dtype", "value", "error", "message"),
    [
        ("float32", np.zeros(3), ValueError, r"shape \(3,\) cannot be broadcast to the shape \(4,\)"),
        ("int32", 1.5, TypeError, "cannot put float values into a tensor of int32"),
        ("int32", np.zeros(4), TypeError, "cannot put float64 values"),
        ("float32", 1j, TypeError, "cannot put complex values"),
        ("bool", 1, TypeError, "cannot put int values"),
    ],
)
def test_bad_values(dtype: str, value: Any, error: type[Exception], message: str) -> None:
    t = jt.constant(X.astype(dtype))
    with pytest.raises(error, match=message):
        t[0] = value


def test_values_are_cast_by_the_same_kind_rule() -> None:
    t = jt.constant(np.zeros(3, np.float32))
    t[0] = np.float64(1.5)
    t[1] = 2
    t[2] = True
    assert t.dtype == np.float32
    assert t.numpy().tolist() == [1.5, 2.0, 1.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gather(X, [5]), IndexError, r"\[gather\] index 5 is out of bounds for axis 0 with size 5"),
        (lambda: gather(X, [0], axis=2), ValueError, "axis 2 is out of range"),
        (lambda: gather(X, np.array([0.0])), TypeError, "indices must be integers, got float64"),
        (lambda: gather(X, [[0]], batch_dims=1), ValueError, "batch_dims=1 does not fit"),
        (lambda: gather_nd(X, [[0, 0, 0]]), ValueError, "must be 1 to 2"),
        (lambda: gather_nd(X, [[5, 0]]).numpy(), IndexError, "index 5 is out of bounds for axis 0"),
        (lambda: scatter_nd([[0]], np.zeros((1, 3)), [5, 4]), ValueError, r"shape \(1, 3\) do not fit"),
        (lambda: scatter_nd([[0]], [1.0], [2.5]), TypeError, r"\[scatter_nd\] shape: must be an int"),
        (
            lambda: tensor_scatter_nd_update([1, 2], [[0]], [1.5]),
            TypeError,
            "cannot put float32 values into int32",
        ),
        (lambda: boolean_mask(X, [1, 0]), TypeError, "mask must be bool"),
        (lambda: boolean_mask(X, True), ValueError, "mask cannot be scalar"),
        (lambda: boolean_mask(X, [True]), IndexError, "does not fit"),
    ],
)
def test_bad_gathers_and_scatters(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# ---- structure and operands ------------------------------------------------------------------------------------------


class Spy:
    """A recorder that stores the calls it gets."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def apply(self, body: Any, arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> None:
        self.told.append((body, static, arrays[1:]))

    def bind(self, primitive: Any, operands: Any, params: Any) -> None:
        raise AssertionError("a user-level function records one body")


def told(*calls: Any) -> list[Any]:
    spy = Spy()
    with recording_with(spy):
        for call in calls:
            call()
    return spy.told


@pytest.mark.parametrize(
    "make",
    [
        lambda i: i,
        lambda i: slice(i, i + 2),
        lambda i: slice(i, i + 3, 2),
        lambda i: (i, slice(None)),
        lambda i: (slice(i, i + 2), i),
        lambda i: (Ellipsis, slice(None, None, -1), i),
        lambda i: [i, 0],
        lambda i: (i, [0, 1]),
    ],
)
def test_where_a_key_starts_is_an_operand(make: Any) -> None:
    x = np.zeros((6, 6))
    for recorded in (
        told(*[lambda i=i: getitem(x, make(i)) for i in range(4)]),
        told(*[lambda i=i: setitem(x, make(i), 1.0) for i in range(4)]),
    ):
        assert len(recorded) == 4
        assert len({(body, static) for body, static, _ in recorded}) == 1
        assert len({str(operands) for _, _, operands in recorded}) == 4


def test_the_length_of_a_slice_is_structure() -> None:
    x = np.zeros(6)
    (_, two, _), (_, three, _) = told(lambda: getitem(x, slice(0, 2)), lambda: getitem(x, slice(0, 3)))
    assert two != three


def test_a_mask_with_a_scalar_needs_no_look_at_it() -> None:
    x = np.zeros((3, 2))
    (first,) = told(lambda: setitem(x, np.array([True, False, True]), 1.0))
    (second,) = told(lambda: setitem(x, np.array([True, True, True]), 1.0))
    assert first[:2] == second[:2]


# ---- gradients -------------------------------------------------------------------------------------------------------


def test_gradient_flows_through_writes() -> None:
    x, v = jt.Variable([1.0, 2.0, 3.0]), jt.Variable(10.0)
    with jt.GradientTape() as tape:
        t = x * 2.0
        t[1] = v * v
        y = jt.reduce_sum(t * t)
    dx, dv = tape.gradient(y, [x, v])
    assert dx.numpy().tolist() == [8.0, 0.0, 24.0]
    assert dv.numpy() == 4000.0


def test_where_two_writes_meet_the_last_one_has_the_gradient() -> None:
    v = jt.Variable([1.0, 2.0, 3.0])
    with jt.GradientTape() as tape:
        t = jt.constant([0.0, 0.0])
        t[[1, 1, 0]] = v
        y = jt.reduce_sum(t * jt.constant([10.0, 100.0]))
    assert t.numpy().tolist() == [3.0, 2.0]
    assert tape.gradient(y, v).numpy().tolist() == [0.0, 100.0, 10.0]


def test_gather_adds_up_what_was_taken_twice() -> None:
    x = jt.Variable([1.0, 2.0, 3.0])
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(x[[0, 0, -1]] * jt.constant([1.0, 10.0, 100.0]))
    assert tape.gradient(y, x).numpy().tolist() == [11.0, 0.0, 100.0]


def test_nan_outside_of_what_is_picked_stays_outside() -> None:
    x = jt.Variable([np.nan, 2.0, np.inf])
    with jt.GradientTape() as tape:
        t = x * 1.0
        t[0] = 0.0
        y = jt.reduce_sum(t[:2]) + x[1]
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 2.0, 0.0]
