"""`Tensor`: operators against NumPy's, conversions, printing, and writing to a part of one."""

from __future__ import annotations

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import jittape as jt
from jittape.runtime.counters import counters

REAL = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
NUMBERS = REAL + INTEGERS + COMPLEX

EQUALITY = [operator.eq, operator.ne]
ORDER = [operator.lt, operator.le, operator.gt, operator.ge]
FIELD = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
DIVISION = [operator.floordiv, operator.mod]
LOGIC = [operator.and_, operator.or_, operator.xor]
SHIFTS = [operator.lshift, operator.rshift]


def operators_for(dtype):
    """The binary operators that NumPy has for `dtype` and that mean something."""
    kind = np.dtype(dtype).kind
    if kind == "c":
        return [*FIELD, *EQUALITY]
    if kind == "f":
        return [*FIELD, *DIVISION, *EQUALITY, *ORDER]
    return [*FIELD, *DIVISION, *LOGIC, *SHIFTS, *EQUALITY, *ORDER]


def operands(dtype):
    a, b = np.array([1, 2, 3, 7], dtype), np.array([2, 3, 1, 3], dtype)
    return (a + 1j * b, b - 2j * a) if np.dtype(dtype).kind == "c" else (a, b)


def assert_all_same(pairs):
    """Everything is recorded before the first look, so that it runs as one program."""
    for got, wanted in pairs:
        assert_same(got, wanted)


def assert_same(got, wanted):
    assert isinstance(got, jt.Tensor)
    wanted = np.asarray(wanted)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    # Powers and products may be rounded differently in the last place or two.
    eps = np.finfo(wanted.dtype).eps if wanted.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got.numpy(), wanted, rtol=8 * eps, atol=0)


# ---- operators -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
def test_binary_operators(mode, dtype):
    a, b = operands(dtype)
    t, u = jt.constant(a), jt.constant(b)
    for _ in range(2):
        assert_all_same([(op(t, u), op(a, b)) for op in operators_for(dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "complex64"])
def test_reflected_operators_with_an_array_on_the_left(mode, dtype):
    a, b = operands(dtype)
    t = jt.constant(b)
    for _ in range(2):
        assert_all_same([(op(a, t), op(a, b)) for op in operators_for(dtype)])
        assert_all_same([(op(a[1], t), op(a[1], b)) for op in operators_for(dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "complex64"])
def test_reflected_operators_with_a_python_number_on_the_left(mode, dtype):
    _, b = operands(dtype)
    t = jt.constant(b)
    for _ in range(2):
        assert_all_same([(op(3, t), op(3, b)) for op in operators_for(dtype)])
        assert_all_same([(op(t, 3), op(b, 3)) for op in operators_for(dtype)])


def test_a_list_on_either_side():
    t = jt.constant([1.0, 2.0])
    assert_same([10.0, 20.0] * t, np.float32([10, 40]))
    assert_same(t - [1.0, 1.0], np.float32([0, 1]))
    assert_same((2.0, 3.0) * t, np.float32([2, 6]))


def test_bools():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    t, u = jt.constant(a), jt.constant(b)
    for op in (*LOGIC, *EQUALITY, *ORDER):
        assert_same(op(t, u), op(a, b))
        assert_same(op(a, u), op(a, b))
    assert_same(~t, ~a)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_unary_operators(mode, dtype):
    a, _ = operands(dtype)
    t = jt.constant(a)
    for _ in range(2):
        for op in (operator.neg, operator.pos, abs):
            assert_same(op(t), op(a))
        if np.dtype(dtype).kind in "iu":
            assert_same(~t, ~a)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_divmod(dtype):
    a, b = operands(dtype)
    for got in (divmod(jt.constant(a), jt.constant(b)), divmod(a, jt.constant(b)), divmod(jt.constant(a), b)):
        for part, wanted in zip(got, divmod(a, b), strict=True):
            assert_same(part, wanted)
    quotient, rest = divmod(7, jt.constant(b))
    assert_same(quotient, 7 // b)
    assert_same(rest, 7 % b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_matmul(mode, dtype):
    a, b = operands(dtype)
    m, n = a.reshape(2, 2), b.reshape(2, 2)
    for _ in range(2):
        for got in (jt.constant(m) @ jt.constant(n), m @ jt.constant(n), jt.constant(m) @ n):
            assert_same(got, m @ n)


PAIRS = [(a, b) for a in ["bool", *NUMBERS] for b in ["int32", "uint8", "float16", "float32", "complex64"]]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_mixed_dtypes_promote_as_in_numpy(one, other):
    a, b = np.ones(2, one), np.ones(2, other)
    assert (jt.constant(a) * jt.constant(b)).dtype == (a * b).dtype
    assert (jt.constant(a) * b).dtype == (a * b).dtype
    assert (jt.constant(a) * b[0]).dtype == (a * b[0]).dtype


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
@pytest.mark.parametrize("scalar", [True, 3, 2.5, 1j])
def test_python_scalars_are_weak(dtype, scalar):
    a = np.ones(2, dtype)
    assert (jt.constant(a) * scalar).dtype == (a * scalar).dtype
    assert (scalar * jt.constant(a)).dtype == (a * scalar).dtype


def test_a_python_int_that_does_not_fit():
    t = jt.constant(np.ones(2, np.uint8))
    for number in (300, -1):
        with pytest.raises(OverflowError):
            t + number
    np.testing.assert_array_equal((t + 255).numpy(), [0, 0])


EDGES = [
    ("float16", 1e10),
    ("float32", -1e300),
    ("float32", np.nan),
    ("float32", 2**100),
    ("float64", np.inf),
    ("float64", -0.0),
    ("int64", -(2**63)),
    ("uint64", 2**64 - 1),
    ("int8", 127),
    ("int32", 2.5),
    ("complex64", complex(1, np.inf)),
    ("bool", True),
]


@pytest.mark.parametrize(("dtype", "scalar"), EDGES)
def test_python_scalars_at_the_edges(mode, dtype, scalar):
    a = np.array([1, 0, 1], dtype)
    for _ in range(3):
        with np.errstate(all="ignore"):
            wanted = [a + scalar, scalar * a, a == scalar]
        t = jt.constant(a)
        for got, array in zip([t + scalar, scalar * t, t == scalar], wanted, strict=True):
            assert got.dtype == array.dtype
            np.testing.assert_array_equal(got.numpy(), array)


def test_in_place_operators_make_another_tensor():
    t = before = jt.constant([1.0, 2.0])
    t += 1.0
    t *= 2.0
    assert t is not before
    assert before.tolist() == [1.0, 2.0]
    assert t.tolist() == [4.0, 6.0]


def test_an_array_cannot_be_added_to_in_place():
    a = np.ones(2)
    with pytest.raises(TypeError, match="array = array \\+ tensor"):
        a += jt.constant(a)
    np.testing.assert_array_equal(a, [1, 1])


def test_plus_makes_a_tensor_of_its_own():
    t = jt.constant([1.0, 2.0])
    u = +t
    u[0] = 5.0
    assert t.tolist() == [1.0, 2.0]


def test_comparison_with_none():
    t = jt.constant([1.0, 2.0])
    assert (t == None) is False  # noqa: E711
    assert (t != None) is True  # noqa: E711


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.matmul, operator.lt, operator.eq])
def test_shapes_that_do_not_fit(op):
    t = jt.constant([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="shape"):
        op(t, jt.constant(np.ones((4, 2), np.float32)))
    assert t.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("other", ["text", None, object(), {"a": 1}])
def test_what_is_no_number_is_refused(other):
    with pytest.raises(TypeError):
        jt.constant(1.0) + other


def test_operators_of_floats_that_only_integers_have():
    t = jt.constant([1.0])
    for op in (operator.and_, operator.or_, operator.lshift, operator.invert):
        with pytest.raises(TypeError):
            op(t) if op is operator.invert else op(t, t)


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


def test_in_is_refused():
    with pytest.raises(TypeError, match="reduce_any"):
        assert 1.0 in jt.constant([1.0])


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


def test_a_read_only_array_is_not_copied():
    a = np.float32([1, 2])
    a.flags.writeable = False
    assert np.shares_memory(jt.constant(a).numpy(), a)
    assert np.shares_memory(jt.constant(a[1:]).numpy(), a)
    data = b"abcd"
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
    assert_same(jt.constant(a) + a, np.float64([2, 4]))


# ---- writing to a part -----------------------------------------------------------------------------------------------


def test_writing_to_a_part(mode):
    for _ in range(2):
        t = jt.constant(np.arange(6.0).reshape(2, 3)) * 1.0
        a = np.arange(6.0).reshape(2, 3)
        keys = [(0, 0), (slice(None), 1), -1, (0, [2, 0]), a > 3, ..., (None, 1, 2)]
        for number, key in enumerate(keys):
            t[key] = number + 0.5
            a[key] = number + 0.5
            np.testing.assert_array_equal(t.numpy(), a)
        t[0] += 1.0
        t[:, 0] *= [2.0, 3.0]
        a[0] += 1.0
        a[:, 0] *= [2.0, 3.0]
        np.testing.assert_array_equal(t.numpy(), a)


def test_writing_is_differentiable(mode):
    for _ in range(2):
        x, w = jt.constant([1.0, 2.0, 3.0]), jt.Variable(5.0)
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            t = x * 2.0
            before = jt.reduce_sum(t)
            t[1] = w * w
            y = jt.reduce_sum(t * t)
        assert t.tolist() == [2.0, 25.0, 6.0]
        assert tape.gradient(y, x).tolist() == [8.0, 0.0, 24.0]
        assert float(tape.gradient(y, w)) == 2 * 25.0 * 10.0
        assert tape.gradient(before, x).tolist() == [2.0, 2.0, 2.0]


def test_writing_a_list_of_tensors():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        t = jt.zeros([2, 2])
        t[0] = [x * x, 1.0]
        t[:, 1] = (x, x)
        y = jt.reduce_sum(t)
    assert t.tolist() == [[9.0, 3.0], [0.0, 3.0]]
    assert float(tape.gradient(y, x)) == 8.0
    exact = jt.zeros([2], "float64")
    exact[:] = [0.1, 0.2]
    assert exact.tolist() == [0.1, 0.2]


def test_a_handle_written_to_again_and_again_is_computed_once(mode):
    for _ in range(3):
        t = jt.zeros([5])
        for i in range(5):
            t[i] = i
        assert t.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
        forgotten = jt.zeros([5])
        for i in range(5):
            forgotten[i] = i
        del forgotten
        u = jt.constant(1.0) + 1.0
        assert float(u) == 2.0
        assert len(counters.last.program.outputs) == 1


def test_the_handle_is_a_source_by_its_new_value():
    t = jt.constant([1.0, 2.0])
    with jt.GradientTape() as tape:
        tape.watch(t)
        t[0] = 9.0
        y = jt.reduce_sum(t * t)
    assert tape.gradient(y, t).tolist() == [18.0, 4.0]


def test_writing_after_a_look_inside_a_tape(mode):
    for _ in range(3):
        x = jt.constant([1.0, 2.0, 3.0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            t = x * 2.0
            assert t.tolist() == [2.0, 4.0, 6.0]
            t[0] = 1.0
            assert t.tolist() == [1.0, 4.0, 6.0]
            assert float(jt.reduce_sum(t)) == 11.0
            t[1] = 1.0
            y = jt.reduce_sum(t * t)
            assert float(y) == 38.0
        assert tape.gradient(y, x).tolist() == [0.0, 0.0, 24.0]


def test_tensors_do_not_alias():
    t = jt.constant([1.0, 2.0])
    others = [
        jt.identity(t),
        jt.reshape(t, [2]),
        jt.cast(t, jt.float32),
        jt.constant(t),
        copy.copy(t),
        t[:],
        t[0:1],
    ]
    array = t.numpy()
    doubled = t * 2.0
    t[0] = 7.0
    assert t.tolist() == [7.0, 2.0]
    assert [u.tolist()[0] for u in others] == [1.0] * 7
    assert array.tolist() == [1.0, 2.0]
    assert doubled.tolist() == [2.0, 4.0]
    others[1][1] = 8.0
    assert t.tolist() == [7.0, 2.0]


def test_a_part_of_a_tensor_is_a_value():
    t = jt.constant([[1.0, 2.0], [3.0, 4.0]])
    row = t[0]
    row[0] = 9.0
    assert t.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        (5, 1.0, IndexError),
        ((0, 0), 1.0, IndexError),
        ("a", 1.0, IndexError),
        (0, [1.0, 2.0], ValueError),
        (0, 1j, TypeError),
        (slice(None), np.ones(3, np.float32), ValueError),
        (0, "text", TypeError),
    ],
)
def test_a_failing_write_changes_nothing(key, value, error):
    t = jt.constant([1.0, 2.0])
    with pytest.raises(error):
        t[key] = value
    assert t.tolist() == [1.0, 2.0]
    t[0] = 3.0
    assert t.tolist() == [3.0, 2.0]


def test_integers_take_no_floats():
    t = jt.constant([1, 2])
    with pytest.raises(TypeError, match="cast"):
        t[0] = 1.5
    t[0] = 5
    assert t.tolist() == [5, 2]


def test_a_tensor_has_no_assign():
    with pytest.raises(AttributeError, match=r"t\[0\] = 1.0"):
        jt.constant(1.0).assign(2.0)


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
