"""Operators of tensors against NumPy's, on all dtypes and from both sides."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import jittape as jt

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


@pytest.mark.parametrize("operation", [*DIVISION, *SHIFTS, operator.pow])
def test_truth_values_in_divisions_and_shifts_become_int8_as_in_numpy(mode, operation):
    a, b = np.array([True, False, True]), np.array([True, True, True])
    for _ in range(2):
        assert_same(operation(jt.constant(a), jt.constant(b)), operation(a, b))
        assert_same(operation(True, jt.constant(b)), operation(True, b))


@pytest.mark.parametrize("signed", ["int8", "int32", "int64"])
def test_uint64_and_signed_integers_are_compared_exactly(signed, mode):
    """Their common dtype is float64, which has no 2**63 - 1."""
    unsigned = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)[:, None]
    limits = np.iinfo(signed)
    others = np.array([limits.min, -1, 0, 1, limits.max], signed)
    traced = jt.function(lambda x, y: (x == y, x < y))
    for _ in range(2):
        for a, b in ((unsigned, others), (others, unsigned)):
            for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
                found = getattr(np, name)(jt.constant(a), b)
                np.testing.assert_array_equal(found.numpy(), getattr(np, name)(a, b))
            np.testing.assert_array_equal(a > jt.constant(b), a > b)
            for found, expected in zip(traced(a, b), (a == b, a < b), strict=True):
                np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.isin(jt.constant(a), b), np.isin(a, b))
