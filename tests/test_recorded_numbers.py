"""Numbers beside tensors of every dtype: machine code records them, with the values of now and Python's errors."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, gt, mul, sub, truediv
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python, machine_code

__all__ = ["machine_code"]

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*INTS, "float16", "float32", "float64", "complex64", "complex128")
RECORDING = {"apply", "_record", "_any_operands", "array_ufunc", "insert_call"}


def recorded(function: Callable[..., Any], *operands: Any) -> Any:
    """Return the result, and whether machine code recorded the call."""
    found: list[Any] = []
    seen = calls_of_python(lambda: found.append(function(*operands)))
    value = np.asarray(found[0])
    current_trace().flush()
    return value, not RECORDING & seen


def assert_recorded(function: Callable[..., Any], pairs: Any) -> None:
    """Check values and dtypes, and that machine code records the calls as soon as the path is known."""
    for number, (tensor, operand, wanted) in enumerate(pairs):
        found, is_known = recorded(function, tensor, operand)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(found, wanted)
        assert is_known or number < 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_ints_meet_tensors_of_every_dtype(dtype: str):
    array = np.array([1, 2, 3]).astype(dtype)
    x = jt.constant(array)
    for function in (add, mul, sub, truediv):
        numbers = [int(text) for text in ("1", "2", "3", "1")]  # that change from call to call
        assert_recorded(function, [(x, n, function(array, n)) for n in numbers])
        assert_recorded(lambda a, n, f=function: f(n, a), [(x, n, function(n, array)) for n in numbers])
    if not dtype.startswith("complex"):
        assert_recorded(gt, [(x, n, array > n) for n in (1, 2, 3, 0)])


@pytest.mark.parametrize("dtype", INTS)
def test_an_int_out_of_range_is_refused_on_a_known_path(dtype: str):
    x, limits = jt.constant(np.zeros(3, dtype)), np.iinfo(dtype)
    for n in (1, 2, int(limits.max), int(limits.min)):
        np.testing.assert_array_equal((x + n).numpy(), np.zeros(3, dtype) + n)
    for n in (int(limits.max) + 1, int(limits.min) - 1, 2**70):
        with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
            x + n


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_large_ints_are_rounded_as_in_python(dtype: str):
    array = np.ones(2, dtype)
    x = jt.constant(array)
    numbers = (3, 2049, 2**24 + 1, 2**53 + 1, 2**60 + 2**36 + 1, -(2**62) - 1, 10**30, 70000)
    with np.errstate(over="ignore"):
        wanted = [array.real.dtype.type(n).astype(dtype) for n in numbers]
    assert_recorded(mul, [(x, n, array * w) for n, w in zip(numbers, wanted, strict=True)])
    with pytest.raises(OverflowError):
        x * 10**400


@pytest.mark.parametrize("kind", [*DTYPES, "bool"])
def test_scalars_of_numpy_are_inputs_with_their_dtype(kind: str):
    for dtype in ("float32", "float64", "int32"):
        array = np.array([1, 2, 3], dtype)
        x = jt.constant(array)
        scalars = [np.dtype(kind).type(n) for n in (1, 0, 1, 5)]
        for function in (add, mul):
            pairs = [(x, scalar, np.asarray(function(x, jt.constant(scalar)))) for scalar in scalars]
            assert_recorded(function, pairs)
            assert_recorded(lambda a, n, f=function: f(n, a), pairs)


def test_bools_and_subclasses_of_int_stay_with_python():
    class Count(int):
        pass

    x = jt.constant([1, 2, 3])
    for n in (2, 3, 4):
        np.testing.assert_array_equal((x + n).numpy(), np.array([1, 2, 3]) + n)
    np.testing.assert_array_equal((x + True).numpy(), [2, 3, 4])
    np.testing.assert_array_equal((x + Count(5)).numpy(), [6, 7, 8])
