"""`Tensor`: conversions, printing, copies of its arguments and of itself."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import jittape as jt
from jittape.core.dtypes import SUPPORTED

# ---- what is known without running -----------------------------------------------------------------------------------


def test_shape_and_dtype_run_nothing():
    before = jt.stats().flushes
    t = jt.constant(np.ones((2, 3), np.float64)) * 2.0
    assert t.shape == (2, 3)
    assert t.get_shape() == (2, 3)
    assert (t.ndim, t.size, len(t)) == (2, 6, 2)
    assert t.dtype == jt.float64
    assert t.T.shape == (3, 2)
    assert jt.stats().flushes == before


def test_len_of_a_0d_tensor():
    with pytest.raises(TypeError, match="0-d tensor has no len"):
        len(jt.constant(1.0))


# ---- conversions -----------------------------------------------------------------------------------------------------


def test_to_python_numbers():
    assert float(jt.constant(2.5) * 2) == 5.0
    assert int(jt.constant(3.7)) == 3
    assert complex(jt.constant(1 + 2j)) == 1 + 2j
    assert bool(jt.constant(0.0)) is False
    assert bool(jt.constant([[2]])) is True
    assert jt.constant(7).item() == 7
    assert jt.constant([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert math.floor(jt.constant(2.5)) == 2
    assert round(jt.constant(2.6)) == 3
    assert round(jt.constant(2.75), 1) == 2.8
    assert isinstance(jt.constant(1.0).item(), float)


@pytest.mark.parametrize("kind", [float, int, complex, bool, round])
def test_many_elements_are_not_one_number(kind):
    with pytest.raises(ValueError, match=r"one element.*\(2,\).*reduce"):
        kind(jt.constant([1.0, 2.0]))


def test_an_empty_tensor_is_no_number():
    with pytest.raises(ValueError, match="one element"):
        bool(jt.zeros([0]))


def test_as_an_index():
    letters = ["a", "b", "c"]
    assert letters[jt.constant(2)] == "c"
    assert list(range(jt.constant(3))) == [0, 1, 2]
    assert np.arange(5)[jt.constant(3)] == 3
    for value in (1.0, True, [1]):
        with pytest.raises(TypeError, match="0-d integer tensors"):
            letters[jt.constant(value)]


def test_iteration_is_differentiable():
    x = jt.Variable([1.0, 2.0, 3.0])
    with jt.GradientTape() as tape:
        a, b, c = x
        y = a * b + c
    assert tape.gradient(y, x).tolist() == [2.0, 1.0, 1.0]
    assert [row.shape for row in jt.zeros([2, 3])] == [(3,), (3,)]
    with pytest.raises(TypeError, match="0-d"):
        iter(jt.constant(1.0))


def test_as_an_array():
    t = jt.constant([1.0, 2.0]) * 2.0
    np.testing.assert_array_equal(np.asarray(t), np.float32([2, 4]))
    assert np.asarray(t).dtype == np.float32
    assert np.asarray(t, np.float64).dtype == np.float64
    copied = np.array(t)
    copied[0] = 9.0
    assert t.tolist() == [2.0, 4.0]
    assert isinstance(jt.constant(1.0).numpy(), np.ndarray | np.generic)
    np.testing.assert_array_equal(np.array([jt.constant(1.0), jt.constant(2.0)]), [1, 2])


def test_an_array_of_another_dtype_needs_a_copy():
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(jt.constant([1.0]), np.float64, copy=False)
    assert np.shares_memory(np.asarray(t := jt.constant([1.0]), copy=False), t.numpy())


def test_numpy_gives_a_view_that_cannot_be_written():
    t = jt.constant([1.0, 2.0]) + 1.0
    view = t.numpy()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5.0
    assert np.shares_memory(view, t.numpy())


def test_views_and_tensors_outlive_later_steps(mode):
    v = jt.Variable([0.0, 1.0])
    views, tensors, snapshots = [], [], []
    for _ in range(8):
        tensors.append(v * 10.0)
        snapshots.append(v.value())
        v.assign_add([1.0, 1.0])
        views.append(v.numpy())
    for i in range(8):
        assert views[i].tolist() == [i + 1.0, i + 2.0]
        assert tensors[i].tolist() == [i * 10.0, i * 10.0 + 10.0]
        assert snapshots[i].tolist() == [i, i + 1.0]


def test_hash_and_ref():
    t, u = jt.constant([1.0]), jt.constant([1.0])
    with pytest.raises(TypeError, match=r"Tensor is unhashable. Instead, use tensor.ref\(\) as the key."):
        hash(t)
    names = {t.ref(): "t", u.ref(): "u"}
    assert names[t.ref()] == "t"
    assert t.ref() == t.ref()
    assert t.ref() != u.ref()
    assert t.ref() != t
    assert u.ref().deref() is u


# ---- printing --------------------------------------------------------------------------------------------------------

PRINTED = [
    (6.0, "jt.Tensor(6.0, shape=(), dtype=float32)", "<jt.Tensor: shape=(), dtype=float32, numpy=6.0>"),
    (3, "jt.Tensor(3, shape=(), dtype=int32)", "<jt.Tensor: shape=(), dtype=int32, numpy=3>"),
    (True, "jt.Tensor(True, shape=(), dtype=bool)", "<jt.Tensor: shape=(), dtype=bool, numpy=True>"),
    (
        [1.0, 2.5],
        "jt.Tensor([1.  2.5], shape=(2,), dtype=float32)",
        "<jt.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>",
    ),
    (
        np.float64([[1, 2], [3, 4]]),
        "jt.Tensor([[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float64)",
        "<jt.Tensor: shape=(2, 2), dtype=float64, numpy=array([[1., 2.],\n       [3., 4.]])>",
    ),
    (
        np.zeros((0, 3), np.float32),
        "jt.Tensor([], shape=(0, 3), dtype=float32)",
        "<jt.Tensor: shape=(0, 3), dtype=float32, numpy=array([], shape=(0, 3), dtype=float32)>",
    ),
    (
        1 + 2j,
        "jt.Tensor((1+2j), shape=(), dtype=complex128)",
        "<jt.Tensor: shape=(), dtype=complex128, numpy=(1+2j)>",
    ),
]


@pytest.mark.parametrize(("value", "printed", "represented"), PRINTED)
def test_printing(value, printed, represented):
    t = jt.constant(value)
    assert str(t) == printed
    assert repr(t) == represented


def test_printing_follows_numpys_options():
    with np.printoptions(precision=2):
        assert str(jt.constant([1 / 3])) == "jt.Tensor([0.33], shape=(1,), dtype=float32)"


def test_formatting():
    assert f"{jt.constant(2 / 3):.2f}" == "0.67"
    assert f"{jt.constant(7):04d}" == "0007"
    assert f"{jt.constant(1.5)}" == "1.5"
    assert f"{jt.constant([1.0, 2.0])}" == "[1. 2.]"
    assert f"{jt.constant(1234.0) * 1:.1e}" == "1.2e+03"
    with pytest.raises(TypeError, match="format"):
        f"{jt.constant([1.0, 2.0]):.2f}"


# ---- copies of arguments ---------------------------------------------------------------------------------------------


def test_an_array_is_copied_when_it_is_given(mode):
    x = jt.Variable([1.0, 1.0])
    for _ in range(3):
        a = np.float32([1, 2])
        t = jt.constant(a)
        with jt.GradientTape() as tape:
            y = x * a + t
            z = a - x
        a[:] = 100.0
        assert y.tolist() == [2.0, 4.0]
        assert z.tolist() == [0.0, 1.0]
        assert t.tolist() == [1.0, 2.0]
        assert tape.gradient(y, x).tolist() == [1.0, 2.0]


def test_a_large_read_only_array_is_not_copied():
    a = np.arange(20_000, dtype=np.float32)
    a.flags.writeable = False
    assert np.shares_memory(jt.constant(a).numpy(), a)
    assert np.shares_memory(jt.constant(a[1:]).numpy(), a)
    data = bytes(70_000)
    assert np.shares_memory(jt.constant(np.frombuffer(data, "uint8")).numpy(), np.frombuffer(data, "uint8"))


def test_a_read_only_view_of_what_can_be_written_is_copied():
    a = np.float32([1, 2])
    view = a.view()
    view.flags.writeable = False
    t = jt.constant(view)
    a[0] = 9.0
    assert t.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1], lambda a: a.T, lambda a: a[:, ::2]])
def test_any_layout(mode, layout):
    a = layout(np.arange(12.0).reshape(3, 4))
    assert jt.constant(a).tolist() == a.tolist()
    for _ in range(2):
        np.testing.assert_array_equal((jt.ones(a.shape, "float64") + a).numpy(), a + 1)


def test_foreign_byte_order():
    a = np.array([1.0, 2.0], ">f8")
    total = jt.constant(a) + a
    assert total.dtype == jt.float64
    assert total.tolist() == [2.0, 4.0]


# ---- copying and pickling --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies(copier):
    for t in (jt.constant([1.0, 2.0]), jt.constant([0.5, 1.0]) * 2.0, jt.constant(np.float64([1, 2]))):
        copied = copier(t)
        assert copied.dtype == t.dtype
        t[0] = 5.0
        assert copied.tolist() == [1.0, 2.0]
        copied[1] = 6.0
        assert t.tolist() == [5.0, 2.0]


def test_a_copy_of_what_is_pending_survives_its_trace():
    t = jt.constant([1.0, 2.0]) * 2.0
    copied = copy.copy(t)
    assert t.tolist() == [2.0, 4.0]
    for _ in range(3):
        float(jt.constant(1.0) + 1.0)
    assert copied.tolist() == [2.0, 4.0]


def test_a_copy_is_the_same_value_to_a_tape():
    x = jt.constant(3.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = copy.copy(x * x)
    assert float(tape.gradient(y, x)) == 6.0


@pytest.mark.parametrize("dtype", sorted({*SUPPORTED, jt.bfloat16}, key=str), ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (0, 3), (2, 1, 2), (1,) * 32], ids=len)
def test_what_numpy_gives_cannot_be_made_writeable(dtype, shape):
    """A value that others may hold, a tape among them, is no business of who looks at it."""
    for t in (jt.ones(shape, dtype), jt.Variable(np.ones(shape, dtype))):
        array = t.numpy()
        assert (array.dtype, array.shape, type(array)) == (dtype, shape, np.ndarray)
        for view in (array, array.view(), array.T, np.asarray(t)):
            assert not view.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.flags.writeable = True
        assert np.array(t).flags.writeable
