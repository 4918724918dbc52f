"""`constant` and `convert_to_tensor`: which dtype, which shape, what is copied, what is refused."""

from __future__ import annotations

import array
import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp


@pytest.fixture
def float64_by_default():
    jt.config.default_float = "float64"
    yield
    jt.config.default_float = "float32"


# ---- dtypes ----------------------------------------------------------------------------------------------------------

DTYPES = [
    (1.5, "float32"),
    (3, "int32"),
    (2**40, "int64"),
    (-(2**31), "int32"),
    (True, "bool"),
    (1j, "complex128"),
    ([1.0, 2], "float32"),
    ([1, 2], "int32"),
    ([1, 2**40], "int64"),
    ([-(2**31), 2**31 - 1], "int32"),
    ([True, False], "bool"),
    ([[1, 2.5], (3, 4j)], "complex128"),
    ([], "float32"),
    (range(3), "int32"),
    (np.float64(1.5), "float64"),
    ([np.float64(1.5), 2.0], "float64"),
    (np.int8(1), "int8"),
    (np.zeros(2), "float64"),
    ([np.zeros(2, "float16"), np.zeros(2, "float16")], "float16"),
    (np.array([1.0], ">f8"), "float64"),
    (array.array("d", [1.0, 2.0]), "float64"),
]


@pytest.mark.parametrize("convert", [jt.constant, jt.convert_to_tensor])
@pytest.mark.parametrize(("value", "dtype"), DTYPES)
def test_dtypes(convert, value, dtype):
    tensor = convert(value)
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(value))


@pytest.mark.usefixtures("float64_by_default")
def test_another_default():
    assert jt.constant(0.1).dtype == jt.float64
    assert float(jt.constant([0.1])) == 0.1
    assert jt.Variable(0.1).dtype == jt.float64
    assert jt.zeros([2]).dtype == jt.float64
    assert jt.constant(np.float32(1)).dtype == jt.float32


@pytest.mark.parametrize(
    "dtype", ["float16", "float64", "complex64", "int64", "uint8", jt.float32, float, np.int16]
)
def test_a_dtype_that_is_asked_for(dtype):
    for value in (3, [1, 2], np.int8([4, 5])):
        assert jt.constant(value, dtype).dtype == np.dtype(dtype)
        assert jt.convert_to_tensor(value, dtype).dtype == np.dtype(dtype)
        np.testing.assert_array_equal(jt.constant(value, dtype).numpy(), value)


@pytest.mark.parametrize("value", [1.5, [1.5, 2.0], 2.0, np.float32([1.5]), np.float64(2), 1j, [1j]])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_no_floats_for_integers(value, dtype):
    for convert in (jt.constant, jt.convert_to_tensor):
        with pytest.raises(TypeError, match=rf"Cannot convert .* to a tensor of dtype {dtype}; use jt.cast"):
            convert(value, dtype)


def test_no_complex_numbers_for_floats():
    with pytest.raises(TypeError, match="float32"):
        jt.constant([1j], jt.float32)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "uint8"), ([1, 300], "uint8"), (-1, "uint64"), ([2**40], "int32"), ([-1, 2**63], "uint64")],
)
def test_integers_that_do_not_fit(value, dtype):
    with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
        jt.constant(value, dtype)


@pytest.mark.parametrize("value", [2**70, [2**63], [0, 2**63], [[-1, 0], [1, 2**64 - 1]]])
def test_integers_beyond_all_dtypes(value):
    with pytest.raises(OverflowError, match="does not fit int64"):
        jt.constant(value)


@pytest.mark.parametrize("convert", [jt.constant, jt.convert_to_tensor, jt.Variable])
def test_small_and_large_unsigned_integers_in_one_list(convert):
    value = [[0, True], [2**63 + 1, 2**64 - 1]]
    result = convert(value, dtype=jt.uint64).numpy()
    assert result.dtype == np.uint64
    assert result.tolist() == value


def test_floats_that_do_not_fit_are_infinite_without_a_warning():
    assert jt.constant([1e300]).tolist() == [np.inf]
    assert jt.constant(np.array([1e300, 1.0]), "float16").tolist() == [np.inf, 1.0]


def test_hints():
    assert jt.convert_to_tensor([1, 2], dtype_hint="float64").dtype == jt.float64
    assert jt.convert_to_tensor(1.5, dtype_hint="int32").dtype == jt.float32
    assert jt.convert_to_tensor(np.zeros(2), dtype_hint="float32").dtype == jt.float64


def test_enums_are_integers():
    kind = enum.IntEnum("kind", ["first", "second"])
    assert int(jt.constant(kind.second)) == 2


# ---- shapes ----------------------------------------------------------------------------------------------------------


def test_shapes():
    assert jt.constant(range(6), shape=[2, 3]).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert jt.constant(7.0, shape=(2, 2)).tolist() == [[7.0, 7.0], [7.0, 7.0]]
    assert jt.constant([1, 2], shape=2).tolist() == [1, 2]
    assert jt.constant(1.0, shape=[0, 3]).shape == (0, 3)
    assert jt.constant(np.float64(1.5), shape=[2]).dtype == jt.float64


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], jt.constant([1.0, 2.0, 3.0])])
def test_shapes_that_do_not_fit(value):
    with pytest.raises(ValueError, match=r"3 elements of shape \(3,\) do not fill shape \(2, 2\)"):
        jt.constant(value, shape=[2, 2])


def test_empty_and_nested():
    assert jt.constant([[], []]).shape == (2, 0)
    assert jt.constant(np.zeros((0, 3))).shape == (0, 3)
    assert jt.constant([[[1]]]).shape == (1, 1, 1)


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [jt.constant, jt.convert_to_tensor, jt.Variable])
@pytest.mark.parametrize(
    "value",
    [
        "text",
        b"bytes",
        ["a", "b"],
        [None, 1.0],
        {"a": 1},
        object(),
        np.array(["a"]),
        np.array([None]),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(2, "longdouble") if np.dtype("longdouble").itemsize > 8 else "text",
        np.ma.array([1.0, 2.0], mask=[False, True]),
        [np.ma.array([1.0, 2.0], mask=[False, True])],
    ],
)
def test_what_is_no_number(convert, value):
    with pytest.raises(TypeError, match=r"Cannot convert|not supported"):
        convert(value)


@pytest.mark.parametrize(
    "use",
    [
        lambda masked: jt.constant([3.0, 4.0]) * masked,
        lambda masked: np.add(masked, jt.constant([3.0, 4.0])),
        lambda masked: jnp.asarray(masked),
        lambda masked: jt.function(lambda x: x * 2.0)(masked),
        lambda masked: jt.Variable([3.0, 4.0], dtype="float64").assign(masked),
    ],
)
def test_masked_elements_are_refused(use):
    """An array whose mask is empty is an array like any other."""
    use(np.ma.array([1.0, 2.0]))
    with pytest.raises(TypeError, match="Cannot convert a masked array"):
        use(np.ma.array([1.0, 2.0], mask=[False, True]))


def test_none():
    with pytest.raises(TypeError, match="Cannot convert None"):
        jt.constant(None)
    with pytest.raises(ValueError, match="needs an initial_value"):
        jt.Variable(None)


@pytest.mark.parametrize("value", [[[1, 2], [3]], [1.0, [2.0]]])
def test_ragged(value):
    with pytest.raises(ValueError, match="of type 'list' to a tensor: its parts have different shapes"):
        jt.constant(value)


def test_long_values_are_shortened_in_messages():
    with pytest.raises(TypeError) as raised:
        jt.constant([1.5] * 1000, jt.int32)
    assert len(str(raised.value)) < 120


# ---- tensors ---------------------------------------------------------------------------------------------------------


def test_a_tensor_is_converted_as_it_is():
    t = jt.constant([1.0])
    assert jt.convert_to_tensor(t) is t
    assert jt.convert_to_tensor(t, jt.float32) is t
    for convert in (jt.convert_to_tensor, jt.constant):
        with pytest.raises(
            ValueError, match="requested dtype float64 for Tensor with dtype float32.*jt.cast"
        ):
            convert(t, jt.float64)


def test_a_variable_is_converted_as_it_is_now():
    v = jt.Variable([1.0])
    t, c = jt.convert_to_tensor(v), jt.constant(v)
    v.assign([2.0])
    assert t.tolist() == c.tolist() == [1.0]


def test_gradients_flow_through():
    x, v = jt.constant(2.0), jt.Variable([1.0, 3.0])
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = jt.reduce_sum(jt.convert_to_tensor([x, x * x, 5.0]))
        z = jt.reduce_sum(jt.constant([[v[0], x], [1.0, v[1] * v[1]]]))
        w = jt.reduce_sum(jt.constant(x * x, shape=[3]) * jt.constant(v, shape=[2, 1]))
    assert float(tape.gradient(y, x)) == 5.0
    assert tape.gradient(z, v).tolist() == [1.0, 6.0]
    assert float(tape.gradient(z, x)) == 1.0
    assert float(tape.gradient(w, x)) == 3 * 4.0 * 4.0


def test_a_constant_of_a_tensor_is_a_tensor_of_its_own():
    t = jt.constant([1.0, 2.0])
    c = jt.constant(t)
    c[0] = 5.0
    assert t.tolist() == [1.0, 2.0]


def test_python_numbers_beside_tensors_are_weak():
    x = jt.constant(1.0, jt.float64)
    t = jt.convert_to_tensor([[x, 2], [0.1, 3]])
    assert t.dtype == jt.float64
    assert t.tolist() == [[1.0, 2.0], [0.1, 3.0]]
    assert jt.convert_to_tensor([[jt.constant(1), 2], [3, 4]]).dtype == jt.int32
    assert jt.convert_to_tensor([[jt.constant(1), 2], [3, 4.5]]).tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert jt.convert_to_tensor([[jt.constant(1.0), 2], [3, np.float64(0.1)]]).tolist()[1][1] == 0.1
    assert jt.convert_to_tensor([x, 2], jt.float32).dtype == jt.float32


def test_tensors_in_a_ragged_list():
    with pytest.raises(ValueError, match="shape"):
        jt.convert_to_tensor([jt.constant([1.0, 2.0]), jt.constant([1.0])])


def test_lists_as_operands():
    x = jt.Variable(2.0)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(jt.multiply([x, 3.0], [x, x]))
    assert float(tape.gradient(y, x)) == 7.0


# ---- sequences of floats next to doubles -----------------------------------------------------------------------------

TENTHS = [0.1, 0.2, 0.3]
DOUBLES = {
    "+": lambda x: x + TENTHS,
    "reflected": lambda x: tuple(TENTHS) + x,
    "nested": lambda x: jt.add(x, [TENTHS, TENTHS]),
    "ints and floats": lambda x: jt.add(x, [1, 0.2, 3]),
    "where": lambda x: jt.where(x > 0.5, x, TENTHS),
    "concat": lambda x: jt.concat([x, TENTHS], 0),
    "stack": lambda x: jt.stack([TENTHS, x]),
    "product": lambda x: jt.linalg.matvec(x[None], TENTHS),
    "scatter": lambda x: jt.tensor_scatter_nd_add(x, [[1]], [0.1]),
    "function": lambda x: jt.function(lambda a: a + TENTHS)(x),
    "loop": lambda x: jt.fori_loop(0, 2, lambda i, s: s * TENTHS, x),
    "vmap": lambda x: jt.vmap(lambda a: a + TENTHS)(jt.stack([x, x])),
    "gradient": lambda x: jt.grad(lambda a: jt.reduce_sum(a * TENTHS))(x),
}


@pytest.mark.parametrize("kind", [jt.constant, jt.Variable])
@pytest.mark.parametrize("name", DOUBLES)
def test_floats_in_a_sequence_are_doubles_next_to_doubles(name, kind):
    """They were rounded to float32 first: 0.1 became 0.10000000149."""
    x = kind(np.array([1.0, 0.0, 2.0]))
    found = DOUBLES[name](x).numpy()
    assert found.dtype == np.float64
    thousandths = np.round(1000 * found)
    np.testing.assert_allclose(found, thousandths / 1000, rtol=1e-15)


INTEGERS: dict[str, Callable[[Any], Any]] = {
    name: eval(f"lambda n: {name}")
    for name in (
        "n * TENTHS", "tuple(TENTHS) + n", "jt.multiply(n, [TENTHS, TENTHS])", "jt.add([1, 2, 3], TENTHS) + 0 * n",
        "jt.stack([n, TENTHS])", "jt.where(n > 1, n, TENTHS)", "jt.tensordot(n, TENTHS, 1)", "np.dot(n, TENTHS)",
        "jt.function(lambda a: a * TENTHS)(n)", "jt.vmap(lambda a: a * TENTHS)(jt.stack([n, n]))",
        "n.numpy() - (n * TENTHS)",
    )
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("name", INTEGERS)
def test_floats_in_a_sequence_are_doubles_next_to_wide_integers(name, dtype):
    """The result is float64, but the floats were rounded to float32 first."""
    for kind in (jt.constant, jt.Variable):
        found = INTEGERS[name](kind(np.array([1, 0, 2], dtype))).numpy()
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, np.round(1000 * found) / 1000, rtol=1e-15)


def test_comparisons_of_wide_integers_with_sequences_are_exact():
    n = jt.constant([2**24 + 1, 2])
    assert (n == [2.0**24 + 1, 2.5]).numpy().tolist() == [True, False]
    assert jt.greater_equal([2.0**24 + 1, 2.5], n).numpy().tolist() == [True, True]


def test_sequences_next_to_indices_keep_their_dtype():
    n, x = jt.constant([1, 0]), jt.zeros(2)
    assert jt.gather(TENTHS, n).dtype == jt.float32
    assert jt.math.segment_sum(TENTHS, jt.constant([0, 0, 1])).dtype == jt.float32
    assert jt.tensor_scatter_nd_add(x, n[:, None], [0.1, 0.2]).dtype == jt.float32
    assert (jt.constant(np.array([1, 2], np.int16)) * [0.1, 0.2]).dtype == jt.float32


def test_assignments_of_sequences_to_doubles():
    v = jt.Variable(np.zeros(3))
    v.assign_add(TENTHS)
    assert v.numpy().tolist() == TENTHS
    v.scatter_nd_update([[0], [2]], [0.7, 0.9])
    assert v.numpy().tolist() == [0.7, 0.2, 0.9]


def test_complex_numbers_in_a_sequence():
    assert jt.add(np.zeros(2), [0.1j, 0.2]).numpy().tolist() == [0.1j, 0.2]
    assert jt.add([0.1, 0.2], np.zeros(2, complex)).numpy().tolist() == [0.1, 0.2]


def test_sequences_next_to_other_tensors_keep_their_dtype():
    assert (jt.ones(3) + TENTHS).dtype == jt.float32
    assert jt.gather(jt.constant(np.arange(3.0)), [2, 0]).numpy().tolist() == [2.0, 0.0]
