"""Numbers that are arguments of a `jt.function`: what Python does with them, the function does at each call."""

from __future__ import annotations

import copy
import datetime
import enum
import json
import numbers
import operator
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import jittape as jt
from number_programs import converted, mismatch, same

X = np.float32([1.0, 2.0, 3.0])
INTS = np.int32([1, 2, 3])


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.IntFlag):
    A = 1
    B = 2


TABLE = {Level.LOW: 10.0, Level.HIGH: 20.0, 3: 30.0}


def matched(x: Any, i: Any) -> Any:
    match i:
        case Level.LOW:
            return x
        case Level.HIGH:
            return x * 2
        case int():
            return x * 3
    return x * 4


def widened(x: Any, i: Any) -> Any:
    try:
        return x + jt.constant(i)
    except OverflowError:
        return x


def handled(x: Any, i: Any) -> Any:
    try:
        return x * (6 // i)
    except ZeroDivisionError:
        return -x


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return plain(function(*arguments))
    except Exception as error:
        return type(error)


def plain(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [plain(part) for part in result]
    result = converted(result)
    return (type(result), result.numpy()) if isinstance(result, jt.Tensor) else (type(result), result)


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
@pytest.mark.parametrize("seed", range(40))
def test_a_random_function_is_the_same_decorated(seed: int) -> None:
    assert not mismatch(seed)


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda x, i: x * 2 if i == Level.LOW else x, [2, 1, 3, 1]),
        (lambda x, i: x * 2 if i in (Level.LOW, 5) else x, [2, 1, 5]),
        (lambda x, i: x * 2 if i in {Level.LOW, 5} else x, [2, 1, 5]),
        (lambda x, i: x * TABLE[i], [1, 2, 3, 4]),
        (lambda x, i: x * TABLE.get(i, 7.0), [4, 1, 2, 3]),
        (matched, [3, 1, 2, True, 1.0, 2.5]),
        (lambda x, i: x * (i + Level.HIGH) * (Level.HIGH - i), [1, 3]),
        (lambda x, i: x * 2 if Flags.B & i else x * int(i | Flags.A), [1, 2, 3]),
        (lambda x, i: x * float(i * Fraction(1, 3) + Fraction(1, 2) * i), [1, 2, 0.5]),
        (lambda x, i: x if i == Fraction(1) else x * 2 if Fraction(5, 2) > i else -x, [2, 1, 3, 1.0, 2.5]),
        (lambda x, i: x if i < Decimal("1.5") else x * float(i + Decimal(1)), [1, 2, 3]),
        (lambda x, i: (datetime.timedelta(1) * i, i * datetime.timedelta(2)), [1, 2, 0.5]),
        (lambda x, every: x * 10 if every and 4 % every == 0 else x, [2, 0, 3, 0]),
        (lambda x, n: x * 2.0**n if n < 100 else x, [2, 5000, 3]),
        (lambda x, n: x if n > 60 else x * (1 << n), [3, 10**9, -1]),
        (handled, [2, 0, 3, 0]),
        (lambda x, n: (1 // n, x)[1], [1, 0, 2]),
        (lambda x, i: (x[i], x)[1], [1, 3, -3, -4]),
        (lambda x, i: jt.constant(INTS) ** i, [2, 3, -1, 0]),
        (lambda x, i: np.power(jt.constant(INTS), i), [2, -2]),
        (lambda x, i: jt.constant(i), [2, 2**40, -(2**31) - 1, 2**63, 3]),
        (lambda x, i: jt.constant([i, 1]), [2, 2**40]),
        (widened, [2, 2**40, 2**63, 3]),
        (lambda x, i: x * i, [2, 2**63, 10**30, 10**400, 3]),
        (lambda x, i: jt.zeros_like(i), [2, 2**40]),
        (lambda x, i: jt.range(i), [True, 3, 2.5, False]),
        (lambda x, i: jt.range(i, 4), [True, 2, False]),
        (lambda x, i: (jt.roll(x, i, 0), jt.roll(x, 1, i)), [True, 0, False]),
        (lambda x, i: jt.expand_dims(x, i), [True, 0, False]),
        (lambda x, i: jt.reduce_sum(x, axis=i), [0, False, -1, 1]),
        (lambda x, i: (f"{i:5}|{i!r}|{i}", f"{i!s:>9}"), [True, 2, 2.5, 3]),
        (lambda x, i: (i.real, i.numerator, i.bit_length(), i.as_integer_ratio()), [2, True]),
        (lambda x, a: (a.imag, a.is_integer(), a.hex()), [2.0, 0.5]),
        (lambda x, i: json.dumps([i]), [1, 2, 0.5, True]),
        (lambda x, i: pow(i, 3, 5), [2, 7]),
        (lambda x, i: [isinstance(i, t) for t in (int, bool, float, np.generic, numbers.Integral)], [1, True, 0.5]),
        (lambda x, i: hasattr(i, "dtype"), [1, 0.5, np.float32(2), np.int64(2)]),
        (lambda x, i: (i * np.float32(0.0), i * np.float32(-0.0)), [1, 2]),
        (lambda x, i: np.int64(5) == i, [1, 5]),
        (lambda x, i: x * 2 if i in range(3) else x, [1, 5, 2, 2.0, 0.5]),
        (lambda x, i: copy.deepcopy([i])[0] * pickle.loads(pickle.dumps(i)), [2, 3]),
        (lambda x, a: jt.cast((a - 5) ** 0.5, jt.float32) * x, [1, 2]),
        (lambda x, a: jt.stack([(a - 5) ** 0.5, 1.0]), [1, 2, 1, 1]),
        (lambda x, i: len([*range(i)]) + operator.index(i), [1, 3, True]),
    ],
)  # fmt: skip
def test_a_number_does_what_it_does_undecorated(function: Any, values: list[Any]) -> None:
    traced = jt.function(function)
    x = jt.constant(X)
    for _ in range(3):
        for value in values:
            wanted, found = outcome(function, x, value), outcome(traced, x, value)
            assert same(wanted, found), f"{value}: {found}, not {wanted}"


def test_a_guard_behind_a_guard_needs_no_other_trace() -> None:
    f = jt.function(lambda x, every: x * 10 if every and 4 % every == 0 else x)
    for every in (0, 1, 3, 0, 2, 4, 0, 5):
        assert float(f(X, every)[0]) == (10.0 if every and 4 % every == 0 else 1.0)
    assert f.trace_count == 3


def test_an_error_leaves_the_traces_as_they_are() -> None:
    f = jt.function(lambda x, i, rate: x * (rate / i))
    assert float(f(X, 1, 2.0)[0]) == 2.0
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(X, 0, 2.0)
    assert float(f(X, 2, 3.0)[0]) == 1.5
    assert len(f.signatures()) == 1
    assert not f.signatures()[0].recorded


def test_a_concrete_function_raises_the_error_of_its_numbers() -> None:
    concrete = jt.function(lambda x, i: x[i]).get_concrete_function(X, 1)
    assert float(concrete(X, 2)) == 3.0
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        concrete(X, 3)


def test_a_float_that_c_code_refuses_is_recorded() -> None:
    f = jt.function(lambda x, a: x * len(json.dumps([a])))
    with pytest.warns(
        jt.FunctionWarning, match=r"the number a is needed by what raises TypeError .* at .*json"
    ):
        assert float(f(X, 0.25)[0]) == 6.0
    assert float(f(X, 0.125)[0]) == 7.0


@pytest.mark.parametrize("other", [False, True])
def test_a_flag_that_is_asked_for_its_identity(other: bool) -> None:
    f = jt.function(lambda x, flag, n, other: next(x * n if g is True else x for g in [flag]))
    for flag, n in ((True, 2), (False, 2), (True, 5), (False, 3)):
        assert float(f(X, flag, n, other)[0]) == (n if flag else 1.0)
    assert f.trace_count == 2


def test_numbers_with_numbers_of_other_kinds_stay_dynamic() -> None:
    f = jt.function(lambda x, i: x * (i + Level.HIGH) if i != Level.LOW else x)
    for i in range(2, 9):
        assert float(f(X, i)[0]) == i + 2
    assert f.trace_count == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int32])
def test_an_int_beyond_all_floats_is_refused_on_its_line(dtype: Any) -> None:
    v, w = jt.Variable(np.ones(3, dtype)), jt.Variable(1.0)
    for number in (10**400, -(10**5000)):
        for _ in range(2):
            w.assign_add(1.0)
            with pytest.raises(OverflowError, match=r"\[multiply\] the number of \d+ bits does not fit"):
                v * number
            v.assign(v * 1)
    assert float(w) == 5.0
    np.testing.assert_array_equal(v, np.ones(3))
    assert float(jt.cast(2**70, jt.float64)) == 2.0**70
    with pytest.raises(
        OverflowError, match=r"^\[cast\] the number of 1329 bits does not fit float64.*give a float"
    ):
        jt.cast(10**400, jt.float64)


def test_the_path_that_ran_before_refuses_it_too() -> None:
    v = jt.Variable(np.ones(3))

    def gradient(number: Any) -> float:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(v * number)
        return float(tape.gradient(y, v)[0])

    for _ in range(150):
        assert gradient(3) == 3.0
    for number in (2**62, 2**63, 2**70, -(2**63) - 1, 10**308):
        assert gradient(number) == float(number)
    with pytest.raises(OverflowError):
        gradient(10**400)
    assert gradient(5) == 5.0
