"""Functions that make tensors of numbers, whose calls machine code takes: the same as in Python, without Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.native import switch
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python


@pytest.fixture(autouse=True)
def machine_code() -> Iterator[None]:
    before = switch.is_used()
    current_trace().flush()
    switch.use()
    yield
    if not before:
        switch.use_python()


def record(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with jt.GradientTape():
        return function(*args, **kwargs)


OF_STEPS = {"__init__", "flush", "is_unused", "release_lost", "step"}
"""Functions of jittape that begin and end a tape."""


def runs_no_python(call: Callable[..., Any], *args: Any) -> bool:
    return calls_of_python(lambda: record(call, *args)) <= OF_STEPS


CALLS: list[Callable[[Any], Any]] = [
    lambda np_: np_.zeros(3),
    lambda np_: np_.zeros((2, 3), np_.float32),
    lambda np_: np_.ones((2, 3), dtype=int),
    lambda np_: np_.full(3, 2.5),
    lambda np_: np_.full((2, 2), 7),
    lambda np_: np_.full((2, 2), True),
    lambda np_: np_.eye(3),
    lambda np_: np_.eye(2, 3, k=1),
    lambda np_: np_.identity(2),
    lambda np_: np_.arange(5),
    lambda np_: np_.arange(0.0, 1.0, 0.1),
    lambda np_: np_.arange(5, dtype=np_.float32),
    lambda np_: np_.linspace(0, 1, 5),
    lambda np_: np_.linspace(0.5, 2.0, num=4, endpoint=False),
    lambda np_: np_.logspace(0.0, 2.0, 3),
    lambda np_: np_.geomspace(1.0, 8.0, 4),
    lambda np_: np_.tri(3),
    lambda np_: np_.hanning(5),
    lambda np_: np_.array([1.0, 2.0]),
    lambda np_: np_.array((1, 2)),
    lambda np_: np_.array(2.5),
    lambda np_: np_.array(-3),
    lambda np_: np_.asarray([0.1, 0.2]),
    lambda np_: np_.asarray(2),
    lambda np_: np_.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    lambda np_: np_.asarray([(1, 2), [3, 4]]),
    lambda np_: np_.array([[1.0, 0], [2**60 + 1, -0.5]]),
    lambda np_: np_.array((1, 2.5)),
    lambda np_: np_.array([1, 2], dtype=np_.float64),
    lambda np_: np_.array([1.0, 0.1], np_.float32),
    lambda np_: np_.asarray([[1, 2], [3, 4]], dtype="int32"),
    lambda np_: np_.asarray(0.1, dtype=float),
    lambda np_: np_.array([1.0, 2.0], dtype=None),
]


@pytest.mark.parametrize("call", CALLS)
def test_known_calls_run_no_python(call: Callable[[Any], Any]):
    expected = call(np)
    for _ in range(5):
        found = record(call, jnp)
    assert runs_no_python(call, jnp)
    for made in (found, record(call, jnp)):
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)


def test_equal_numbers_of_other_types_are_other_calls():
    for _ in range(4):
        for value in (1, 1.0, True, 0, 0.0, -0.0, False, np.float32(1.0)):
            found, expected = record(jnp.full, 3, value).numpy(), np.full(3, value)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
        assert record(jnp.arange, 3).dtype == np.int64
        assert record(jnp.arange, 3.0).dtype == np.float64
        assert np.isnan(record(jnp.full, 2, float("nan")).numpy()).all()


def test_each_call_makes_a_tensor_of_its_own():
    for i in range(6):
        made = [record(jnp.zeros, 3), record(jnp.arange, 3.0), record(jnp.array, [1.0, 2.0, 3.0])]
        for tensor in made:
            tensor[1] = 10.0 + i
        for tensor, first in zip(made, ([0, 0, 0], [0, 1, 2], [1, 2, 3]), strict=True):
            np.testing.assert_array_equal(tensor, [first[0], 10.0 + i, first[2]])
    array = jnp.zeros(3).numpy()
    assert not array.flags.writeable or array is not jnp.zeros(3).numpy()


def test_lists_are_read_at_each_call():
    numbers = [0.0, 0.0]
    for i in range(6):
        numbers[0] = float(i)
        made = record(jnp.array, numbers)
        numbers[1] = -1.0
        np.testing.assert_array_equal(made, [i, 0.0])
        numbers[1] = 0.0


def test_numbers_that_do_not_fit_are_left_to_numpy():
    for _ in range(4):
        assert record(jnp.array, [1, 2**63]).dtype == np.array([1, 2**63]).dtype
        assert record(jnp.array, 2**63).dtype == np.array(2**63).dtype
        assert record(jnp.array, [1, 2.5]).dtype == np.float64
        assert record(jnp.array, [True, False]).dtype == np.bool_
        assert record(jnp.array, [1, 2**40]).dtype == np.int64
        assert record(jnp.array, [[1, 2], [3, 4]]).dtype == np.int64
        assert record(jnp.array, [[1, 2], [3, 2**63]]).dtype == np.array([[1, 2], [3, 2**63]]).dtype
        assert record(jnp.array, [[[1.0], [2.0]]]).shape == (1, 2, 1)
        assert record(jnp.array, [[], []]).shape == (2, 0)
        assert record(jnp.array, [[True, 2]]).dtype == np.int64
        assert record(jnp.array, [[1.0] * 600]).shape == (1, 600)
        with pytest.raises(ValueError, match="different shapes"):
            record(jnp.array, [[1.0], [2.0, 3.0]])
        with pytest.raises(ValueError, match="negative dimensions"):
            record(jnp.zeros, -1)


def test_nested_constants_have_the_default_dtypes():
    for rows in ([[1.0, 2], [3.5, -4]], [[1, 2, 3]], [(0.1,), (0.2,)], [1, 0.5]):
        before = switch.is_used()
        switch.use_python()
        expected = jt.constant(rows)
        switch.use()
        assert before
        for _ in range(3):
            found = record(jt.constant, rows)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found, expected)
        assert runs_no_python(jt.constant, rows)
    assert record(jt.constant, [[1, 2**40]]).dtype == np.int64
    rows = [[0.0, 0.0], [0.0, 0.0]]
    for i in range(4):
        rows[1][0] = float(i)
        made = record(jt.constant, rows)
        rows[1][0] = -1.0
        np.testing.assert_array_equal(made, [[0.0, 0.0], [i, 0.0]])


def test_constants_of_other_dtypes_are_those_of_python():
    calls: list[Callable[[], Any]] = [
        lambda: jt.constant(2.5, dtype=jt.float64),
        lambda: jt.constant([1, 2.5], jt.float32),
        lambda: jt.constant([[1, 2], [3, 4]], dtype="int64"),
        lambda: jt.constant(3, dtype=np.float64),
        lambda: jt.convert_to_tensor([0.1, 0.2], dtype=jt.float64),
        lambda: jt.constant(True, dtype=jt.float32),
        lambda: jt.constant([1, 2], dtype=jt.float16),
        lambda: jt.constant([1, 2], dtype=jt.complex64),
        lambda: jt.constant([1e39, -1e39, float("inf")], dtype=jt.float32),
        lambda: jt.constant(np.array([1, 2]), dtype=jt.float64),
        lambda: jt.constant(jt.constant([1, 2]), dtype=jt.int32),
        lambda: jt.constant(2.5, dtype=jt.int32),
        lambda: jt.constant(300, dtype=jt.int8),
        lambda: jt.constant(2**40, dtype=jt.int32),
        lambda: jt.constant([2.5, 1], dtype=jt.int64),
        lambda: jt.constant(1.0, dtype="nothing"),
        lambda: jnp.array([1.5, 2], dtype=int),
        lambda: jnp.array([1, 300], dtype=jnp.uint8),
    ]
    for i, call in enumerate(calls):
        switch.use_python()
        expected = outcome(call)
        switch.use()
        for _ in range(3):
            assert outcome(call) == expected
        assert i > 4 or runs_no_python(call)


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Return the values and the dtype of a call, or its error."""
    try:
        tensor = record(call)
    except Exception as error:
        return type(error), str(error)
    return tensor.numpy().tobytes(), tensor.dtype, tensor.shape


def test_the_default_dtype_decides_at_each_call():
    before = jt.config.default_float
    try:
        for dtype in ("float64", "float32", "float64"):
            jt.config.default_float = dtype
            for _ in range(3):
                assert record(jt.constant, [1.0, 2.0]).dtype == dtype
                assert record(jt.constant, [1.0, 2.0], dtype=jt.float32).dtype == np.float32
                assert record(jt.constant, 1.0, jt.float64).dtype == np.float64
                np.testing.assert_array_equal(record(jt.constant, [0.1, 1], jt.float64), [0.1, 1.0])
    finally:
        jt.config.default_float = before


def test_elements_of_shapes_are_known_numbers():
    x = jt.constant(np.zeros((3, 4, 5)))

    def element(i: int) -> Any:
        return jt.shape(x)[i]

    for i in (0, 2, -1, -3):
        for _ in range(3):
            found = record(element, i)
        assert runs_no_python(element, i)
        assert (type(found).__name__, found.dtype, found.shape) == ("ShapeTensor", np.int32, ())
        assert [0] * int(found) == [0] * x.shape[i]
        assert int(found * 2) == 2 * x.shape[i]
    for i in (3, -4):
        with pytest.raises(IndexError):
            record(element, i)
    assert record(lambda: jt.shape(x)[1:]).shape == (2,)
    assert record(lambda: jt.shape(x)[True]).shape == (1, 3)


def test_range_follows_its_numbers():
    for i in range(6):
        np.testing.assert_array_equal(record(jt.range, 3), [0, 1, 2])
        np.testing.assert_array_equal(record(jt.range, i, i + 2), [i, i + 1])
        np.testing.assert_array_equal(record(jt.range, 0.0, 1.0, 0.5), [0.0, 0.5])
        assert record(jt.range, 3.0).dtype == np.float32
        assert record(jt.range, 3).dtype == np.int32


def test_tensors_among_the_numbers_are_recorded():
    for i in range(5):
        end = jt.constant(1.0 + i)
        with jt.GradientTape() as tape:
            tape.watch(end)
            made = jnp.linspace(0.0, end, 3)
        np.testing.assert_array_equal(made, [0.0, (1.0 + i) / 2, 1.0 + i])
        np.testing.assert_allclose(tape.gradient(made, end), 1.5)


def test_a_traced_function_makes_its_own_constants():
    @jt.function
    def f(x: Any) -> Any:
        return x * jnp.arange(3.0) + jnp.array([1.0, 2.0, 3.0])

    for i in range(5):
        np.testing.assert_array_equal(
            f(jt.constant(float(i), dtype=jt.float64)), i * np.arange(3) + [1, 2, 3]
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.complex64])
def test_nested_lists_of_tensors_and_numbers_have_numpys_dtype(dtype: Any):
    a, b = dtype(2), dtype(3)
    x, y = jt.constant(a), jt.constant(b)
    for _ in range(4):
        for made, expected in (
            (record(lambda: jnp.array([[x, y], [y, x]])), [[a, b], [b, a]]),
            (record(lambda: jnp.array([[x, 0.0], [1.0, y]])), [[a, 0.0], [1.0, b]]),
            (record(lambda: jnp.array([[x, 0], [1, y]])), [[a, 0], [1, b]]),
            (record(lambda: jnp.asarray([x, 2.5])), [a, 2.5]),
            (record(lambda: jnp.asarray([[[x], [y]]])), [[[a], [b]]]),
        ):
            assert made.dtype == np.array(expected).dtype
            np.testing.assert_array_equal(made, expected)


def test_nested_lists_differentiate():
    angle = jt.constant(0.3, dtype=jt.float64)
    for _ in range(4):
        with jt.GradientTape() as tape:
            tape.watch(angle)
            c, s = jnp.cos(angle), jnp.sin(angle)
            turned = jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ jnp.array([1.0, 2.0, 3.0])
        np.testing.assert_allclose(tape.gradient(turned, angle), -3 * np.sin(0.3) - np.cos(0.3))
    with pytest.raises(ValueError, match="shapes"):
        jnp.array([[c, s], [c]])


def test_the_dtypes_of_the_namespace_are_structure():
    x = jt.constant(np.arange(3.0))
    for call in (
        lambda: x.astype(jnp.float32),
        lambda: jnp.sum(x, dtype=jnp.float32),
        lambda: np.sum(x, dtype=jnp.float32),
        lambda: jnp.zeros(3, dtype=jnp.float32),
    ):
        for _ in range(5):
            record(call)
        assert runs_no_python(call)
        assert record(call).dtype == np.float32
