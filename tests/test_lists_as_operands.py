"""Lists and tuples of numbers as operands, which machine code records: the values and dtypes that Python gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.native import switch
from jittape.recording.trace import current_trace
from test_native_recording import machine_code
from test_shape_arguments import python_of

__all__ = ["machine_code"]

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    name: eval(f"lambda x, values: {name}")
    for name in (
        "x + values", "values + x", "x * values", "values - x", "x / values", "x < values", "x == values",
        "x != values", "jt.add(x, values)", "jt.maximum(x, values)", "np.add(x, values)", "np.maximum(values, x)",
        "jnp.add(x, values)", "jnp.multiply(values, x)", "np.hypot(x, values)", "np.power(x, values)",
        "x % values", "x ** values", "x + (values * 2)[1:4]", "(x + values) * values",
    )
}  # fmt: skip
LISTS: tuple[Any, ...] = (
    [1.5, 2.5, 0.1], (1.5, 2.5, 0.1), [2.0], (0.3,), [1, 2, 3], (1, 2.5, 3), [True, False, True], [[1.0, 2.0, 0.1]],
    [1e300, -1e300, 1.0], [2**31, 0, 1], [2**70, 0, 1], [-(2**31), 2**31 - 1, 0],
    [float("nan"), float("inf"), -0.0], [np.float64(0.1)] * 3, [0.1, 1j, 2.0],
)  # fmt: skip


def outcome(call: Callable[[Any, Any], Any], x: Any, values: Any) -> Any:
    current_trace().step()
    try:
        with np.errstate(all="ignore"):
            found = call(x, values)
            return found.dtype, found.shape, found.numpy()
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "float16"])
def test_values_and_dtypes_are_those_of_python(name: str, dtype: str):
    call, x = CALLS[name], jt.constant(np.array([1, 2, 3], dtype))
    switch.use_python()
    wanted = [outcome(call, x, values) for values in LISTS]
    switch.use()
    for _ in range(3):
        for values, expected in zip(LISTS, wanted, strict=True):
            found = outcome(call, x, values)
            assert found[:2] == expected[:2]
            if len(found) == 3:
                np.testing.assert_allclose(
                    found[2], expected[2], rtol=1e-6 if found[0].itemsize > 2 else 1e-2
                )


def test_known_paths_of_lists_run_no_python():
    x, values, three = jt.constant(np.ones(3, np.float32)), [1.0, 2.0, 3.0], (1.0, 2.0, 3.0)
    ints = [1, 2, 3]
    for call in (lambda: x + values, lambda: values * x, lambda: x - three, lambda: three < x):
        assert not python_of(call)
    for other in (jt.constant(np.ones(3)), jt.constant([1, 2, 3]), jt.Variable(np.ones(3, np.uint32))):
        for call in (lambda x=other: x + values, lambda x=other: three < x):
            assert not python_of(call)
    for call in (lambda: np.add(x, values), lambda: np.multiply(three, x), lambda: jnp.add(values, x)):
        assert not python_of(call)
    for call in (lambda: x + ints, lambda: np.add(x, ints), lambda: jnp.multiply((1, 2, 3), x)):
        assert not python_of(call)
    assert np.add(x, [0.1, 0.1, 0.1]).numpy().tolist() == [1.1] * 3


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "complex128"])
def test_floats_are_doubles_where_a_float32_array_took_the_path(dtype: str):
    x, array = jt.constant(np.array([1, 2, 3], dtype)), np.array([0.1, 0.2, 0.3], np.float32)

    def product(values: Any) -> Any:
        with jt.GradientTape():
            return x * values

    for _ in range(4):
        assert product(array).tolist() == (x.numpy() * array).tolist()
        assert product([0.1, 0.2, 0.3]).tolist() == (x.numpy() * np.array([0.1, 0.2, 0.3])).tolist()


def test_lists_are_read_at_each_call():
    x, values = jt.constant(np.ones(3)), [1.0, 2.0, 3.0]
    for i in range(40):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum((x * values) * [float(i), 1.0, 1.0])
            before = [*values]
            values[i % 3] += 0.5
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), [before[0] * i, before[1], before[2]])
    kept = [x * [float(i), 0.0, 0.0] for i in range(100)]
    assert [k.tolist()[0] for k in kept] == [float(i) for i in range(100)]
    for n in (0, 1, 511, 512, 513):
        assert (jt.ones([n]) + [0.5] * n).tolist() == [1.5] * n


def test_the_dtype_follows_the_settings():
    x, before = jt.constant(np.array([1, 2, 3])), jt.config.default_float
    try:
        for dtype in (jt.float64, jt.float32, jt.float64):
            jt.config.default_float = dtype
            for _ in range(4):
                current_trace().step()
                assert (x * [0.1, 0.2, 0.3]).dtype == (jt.constant([0.1]) * x).dtype
                found = jt.constant([2.5, 1.5], dtype) * [0.1, 0.2]
                np.testing.assert_allclose(
                    found.numpy(), np.multiply([2.5, 1.5], np.array([0.1, 0.2], dtype)), rtol=1e-7
                )
    finally:
        jt.config.default_float = before


VALUES: tuple[Any, ...] = (
    *LISTS, 2.5, 7, -(2**31), 2**31, 2**70, True, 1j, float("inf"), 1e300, np.float64(2.5), np.ones((), np.int8), [],
    "a", None, np.ones((2, 2), np.float32), [[1, 2], [3, 4]], np.array("a"), np.ma.array([1.0], mask=[True]),
)  # fmt: skip


@pytest.mark.parametrize("function", [jt.constant, jt.convert_to_tensor])
def test_constants_are_those_of_python(function: Any):
    def found(value: Any) -> Any:
        return outcome(lambda x, value: function(value), None, value)

    switch.use_python()
    wanted = [found(value) for value in VALUES]
    switch.use()
    for _ in range(3):
        for value, expected in zip(VALUES, wanted, strict=True):
            one = found(value)
            assert one[:2] == expected[:2], value
            if len(one) == 3:
                np.testing.assert_array_equal(one[2], expected[2])


def test_constants_run_no_python_and_do_not_alias():
    x, array = jt.constant(np.ones(2)), np.ones(3)
    for value in (2.5, 3, [1.0, 2.0], (1, 2), array, x):
        for function in (jt.constant, jt.convert_to_tensor):
            assert not python_of(lambda function=function, value=value: function(value))
    made = [jt.constant(float(i)) for i in range(100)]
    constant = jt.constant(array)
    array[0] = 7.0
    assert [float(t) for t in made] == [float(i) for i in range(100)]
    assert constant.tolist() == [1.0] * 3
    assert jt.convert_to_tensor(x) is x
    assert jt.constant(x) is not x
    array.flags.writeable = False
    assert np.shares_memory(jt.convert_to_tensor(array).numpy(), array)
    assert not np.shares_memory(jt.constant(array).numpy(), array)


def test_an_array_of_tensors_on_a_known_path_runs_no_python():
    x, y, v = jt.constant(2.0), jt.constant(3.0), jt.Variable(4.0)
    for call in (lambda: jnp.array([x, y]), lambda: jnp.array((y, v, x)), lambda: jnp.array([x])):
        assert not python_of(call)
    assert jnp.array([x, y]).tolist() == [2.0, 3.0]
