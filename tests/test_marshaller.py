"""Tests of the argument marshaller: Python numbers of each call, Variables that are read and assigned."""

from __future__ import annotations

import gc
import math
import sys
import threading
from typing import Any

import numpy as np
import optree
import pytest

import jittape as jt
from jittape.functions import marshaller
from jittape.functions.signature import GUARD_FAILED
from jittape.native import built_in

pytestmark = pytest.mark.usefixtures("small_heap")

DATA = np.arange(40.0).reshape(20, 2)
LARGEST = 2**63 - 1


def quick(function: Any, *args: Any) -> Any:
    """What the quick way of the last trace gives; `GUARD_FAILED` if it does not do it."""
    return function._recent.fast_call(args)


def warm(python: Any, *args: Any) -> Any:
    """A compiled function with a quick way."""
    function = jt.function(python)
    for _ in range(3):
        function(*args)
    assert function._recent is not None
    return function


# ---- numbers ---------------------------------------------------------------------------------------------------------

NUMBERS = {
    "add": (lambda i: i + 3, (5, -7, 2**62)),
    "subtract": (lambda i: 10 - i, (5, -7, -(2**62))),
    "multiply": (lambda i: i * -3, (5, -7, 2**60)),
    "floor divide": (lambda i: i // 4, (7, -7, -8, 0, -(2**63))),
    "modulo": (lambda i: i % 4 * 2, (7, -7, -8, 0, -(2**63))),
    "negative slices": (lambda i: 100 - (i - 3) % 7, (0, 2, 3, 11)),
    "float add": (lambda a: 1.5 + a, (0.25, -1.5, math.inf, 1e308)),
    "float subtract": (lambda a: a - 1.5, (0.25, 1.5, -math.inf)),
    "float multiply": (lambda a: a * 3.7 * a, (0.1, -1e-200, 1e200)),
    "float divide": (lambda a: 1.0 / a, (0.3, -7.0, math.inf, 5e-324)),
    "int divide": (lambda i: i / 7, (1, -22, 2**53)),
    "int and float": (lambda i: i * 0.1 + 1, (3, -3, 2**62 + 1)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_arithmetic_of_numbers_is_that_of_python(name):
    compute, values = NUMBERS[name]
    function = warm(lambda x, n: x + compute(n), np.zeros(2), values[0])
    for value in (*values, values[0]):
        found = quick(function, np.zeros(2), value)
        assert found is not GUARD_FAILED
        expected = np.zeros(2) + compute(value)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(function(np.zeros(2), value), expected)
    assert function.trace_count == 1


@pytest.mark.parametrize(
    ("compute", "good", "bad"),
    [
        (lambda i: i + 1, 1, LARGEST),
        (lambda i: i - 1, 1, -LARGEST - 1),
        (lambda i: i * i, 1, 2**32),
        (lambda i: 7 // i, 2, -2),
        (lambda i: 7 % i, 2, -2),
        (lambda i: i / 7, 1, 2**53 + 1),
        (lambda i: i * 1.0, 1, 2**80),
    ],
)
def test_what_does_not_fit_is_left_to_python(compute, good, bad):
    function = warm(lambda x, n: x + compute(n), np.zeros(2), good)
    assert quick(function, np.zeros(2), good) is not GUARD_FAILED
    assert quick(function, np.zeros(2), bad) is GUARD_FAILED
    np.testing.assert_array_equal(function(np.zeros(2), bad), np.zeros(2) + float(compute(bad)))


def test_division_by_zero_is_pythons_error():
    for compute in (lambda i: 7 // i, lambda i: 7 % i, lambda i: 7 / i):
        function = warm(lambda x, n, compute=compute: x + compute(n), np.zeros(2), 2)
        with pytest.raises(ZeroDivisionError):
            function(np.zeros(2), 0)
        np.testing.assert_array_equal(function(np.zeros(2), 4), np.zeros(2) + compute(4))


def test_the_sign_of_zero_and_small_floats():
    function = warm(lambda x, a: x * (a * 0.0 + a * -0.0 * 0.0), np.ones(2), 1.0)
    for a in (1.0, -1.0):
        expected = a * 0.0 + a * -0.0 * 0.0
        assert np.signbit(quick(function, np.ones(2), a).numpy()).all() == (math.copysign(1, expected) < 0)
    single = warm(lambda x, a: x * (a * 1.0), np.ones(2, np.float32), 0.1)
    for a in (0.1, 1e-50, 1e300, -math.inf):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(
                quick(single, np.ones(2, np.float32), a), np.ones(2, np.float32) * a
            )


def test_slices_and_indices():
    part = warm(lambda i: jt.reduce_sum(jt.constant(DATA)[i : i + 3], axis=0), 4)
    row = warm(lambda i: jt.constant(DATA)[i] * 1.0, 4)
    for i in (0, 3, 17, -4, -20):
        np.testing.assert_array_equal(quick(part, i), DATA[i : i + 3].sum(axis=0))
        np.testing.assert_array_equal(quick(row, i), DATA[i])
    for i in (18, -2, -1, 30):  # a slice of another length
        assert quick(part, i) is GUARD_FAILED
    for i in (20, -21, 2**70):
        assert quick(row, i) is GUARD_FAILED
        with pytest.raises((IndexError, OverflowError)):
            row(i)


def test_ints_that_the_trace_holds_for():
    def power(x, n, steps):
        for _ in range(n):
            x = x * 2.0
        return x + 1.0 if steps < 100 else x - 1.0

    function = warm(power, np.ones(2), 1000, 7)
    assert quick(function, np.ones(2), 1000, 99) is not GUARD_FAILED
    assert quick(function, np.ones(2), 1000, 100) is GUARD_FAILED
    assert quick(function, np.ones(2), 1001, 7) is GUARD_FAILED
    assert quick(function, np.ones(2), True, 7) is GUARD_FAILED
    np.testing.assert_array_equal(function(np.ones(2), 3, 200), [7.0, 7.0])


def test_an_int_must_fit_the_dtype_that_it_meets():
    x = np.arange(3, dtype=np.int32)
    function = warm(lambda x, n: x + n * 2, x, 5)
    np.testing.assert_array_equal(quick(function, x, -7), x - 14)
    assert quick(function, x, 2**30) is GUARD_FAILED
    with pytest.raises(OverflowError, match="does not fit int32"):
        function(x, 2**30)
    unsigned = warm(lambda x, n: x + n, np.arange(3, dtype=np.uint64), 5)
    with pytest.raises(OverflowError, match="does not fit uint64"):
        unsigned(np.arange(3, dtype=np.uint64), -1)


def test_what_only_python_can_do_is_still_quick():
    function = warm(lambda x, n: x * float(3) ** n, np.ones(2), 2.0)
    np.testing.assert_array_equal(quick(function, np.ones(2), 3.0), [27.0, 27.0])
    both = warm(lambda x, n: (x + n, n * 2), np.ones(2), 2)
    shifted, number = quick(both, np.ones(2), 5)
    np.testing.assert_array_equal(shifted, [6.0, 6.0])
    assert number == 10


# ---- Variables -------------------------------------------------------------------------------------------------------


def counter() -> tuple[Any, jt.Variable, jt.Variable]:
    total, last = jt.Variable(np.zeros(3)), jt.Variable(np.zeros(3))

    def step(x):
        last.assign(x * 2.0)
        total.assign_add(x)
        return jt.reduce_sum(total)

    return warm(step, np.zeros(3)), total, last


def test_variables_are_read_and_assigned():
    step, total, last = counter()
    for i in range(1, 6):
        assert float(quick(step, np.full(3, float(i)))) == 3 * sum(range(i + 1))
        np.testing.assert_array_equal(last, np.full(3, 2.0 * i))
    total.assign(np.ones(3))
    assert float(quick(step, np.ones(3))) == 6.0


def test_an_assignment_that_has_not_run_runs_first():
    step, total, last = counter()
    total.assign_add(np.ones(3))
    assert total._assigned_in is not None
    assert float(quick(step, np.ones(3))) == 6.0
    last.assign_add(np.ones(3))  # is assigned, but not read
    assert float(quick(step, np.ones(3))) == 9.0
    np.testing.assert_array_equal(last, np.full(3, 2.0))


def test_what_was_read_before_a_call_keeps_its_value():
    step, total, _ = counter()
    quick(step, np.ones(3))
    before = total * 1.0
    assert total._trace is not None
    assert float(quick(step, np.ones(3))) == 6.0
    np.testing.assert_array_equal(before, np.ones(3))
    np.testing.assert_array_equal(total * 1.0, np.full(3, 2.0))


def test_old_values_stay_as_they_are():
    step, total, _ = counter()
    seen = []
    for _ in range(8):
        quick(step, np.ones(3))
        seen.append(total.numpy())
    np.testing.assert_array_equal(np.stack(seen)[:, 0], np.arange(1.0, 9.0))


def test_references_are_counted():
    step, total, last = counter()
    buffers = set()
    for _ in range(50):
        quick(step, np.ones(3))
        buffers |= {id(total._buffer), id(last._buffer)}
    gc.collect()
    assert len(buffers) <= 6  # the sets of the result memory
    counts = {sys.getrefcount(total._buffer), sys.getrefcount(last._buffer)}
    for _ in range(50):
        quick(step, np.ones(3))
    assert {sys.getrefcount(total._buffer), sys.getrefcount(last._buffer)} == counts
    none = sys.getrefcount(None)
    for _ in range(2000):
        quick(step, np.ones(3))
    assert abs(sys.getrefcount(None) - none) < 1000


RETURNED = {
    "one": (lambda x: x + 1.0, lambda a, b: a),
    "pair": (lambda x: (x + 1.0, x * 2.0), lambda a, b: (a, b)),
    "list": (lambda x: [x + 1.0, x * 2.0], lambda a, b: [a, b]),
    "tuple of one": (lambda x: (x + 1.0,), lambda a, b: (a,)),
    "nested": (lambda x: {"a": x + 1.0, "b": [x * 2.0]}, lambda a, b: {"a": a, "b": [b]}),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_is_returned_is_as_python_makes_it(name):
    python, unflatten_call = RETURNED[name]
    x = jt.constant([1.0, 2.0])
    function = warm(python, x)
    found = quick(function, x)
    expected = unflatten_call(np.array([2.0, 3.0]), np.array([2.0, 4.0]))
    tensors, structure = optree.tree_flatten(found)
    arrays, wanted = optree.tree_flatten(expected)
    assert structure == wanted
    assert type(found) is type(expected) or name == "one"
    for tensor, array, aval in zip(tensors, arrays, function._recent.avals, strict=True):
        assert type(tensor) is jt.Tensor
        slots = tensor._trace, tensor._slot, tensor._aval, tensor._marker, tensor._origin
        assert slots == (None, -1, aval, None, None)
        assert gc.is_tracked(tensor)
        np.testing.assert_array_equal(tensor, array)


@pytest.mark.parametrize("name", RETURNED)
def test_the_references_of_what_is_returned_are_counted(name):
    x = jt.constant([1.0, 2.0])
    function = warm(RETURNED[name][0], x)

    def counts():
        avals = function._recent.avals
        return [sys.getrefcount(one) for one in (jt.Tensor, avals, *avals)]

    kept = [function(x) for _ in range(3)]
    del kept
    gc.collect()
    before, objects = counts(), len(gc.get_objects())
    for _ in range(1000):
        function(x)
    gc.collect()
    assert counts() == before
    assert abs(len(gc.get_objects()) - objects) < 100


def test_a_missed_call_changes_nothing():
    step, total, last = counter()
    quick(step, np.ones(3))
    counts = sys.getrefcount(total._buffer), sys.getrefcount(last._buffer)
    for _ in range(20):
        assert quick(step, np.ones(4)) is GUARD_FAILED
        assert quick(step, np.ones(3), 1.0) is GUARD_FAILED
    assert (sys.getrefcount(total._buffer), sys.getrefcount(last._buffer)) == counts
    np.testing.assert_array_equal(total, np.ones(3))


def test_a_variable_assigned_by_one_thread_and_used_by_others():
    weights = jt.Variable(np.ones(2000))
    read = warm(lambda x: jt.reduce_sum(weights * x) / jt.reduce_max(weights), np.ones(2000))
    stop, wrong = threading.Event(), []

    def use() -> None:
        while not stop.is_set():
            found = float(read(np.ones(2000)))
            if found != 2000.0:
                wrong.append(found)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(3000):
        weights.assign(np.full(2000, 1.0 + i % 7))
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_variable_without_arguments():
    v = jt.Variable([1.0, 2.0])
    double = warm(lambda: jt.reduce_sum(v.assign(v * 2.0)))
    assert float(quick(double)) == 48.0
    np.testing.assert_array_equal(v, [16.0, 32.0])


def test_another_learning_rate_at_each_step_is_no_new_trace():
    w = jt.Variable(np.ones(3))
    optimizer = jt.optimizers.SGD(0.5)

    @jt.function
    def step():
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(w * w)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    value = 1.0
    for i in range(1, 8):
        optimizer.learning_rate = 0.5 / i
        assert float(step()) == pytest.approx(3 * value**2, rel=1e-12)
        value *= 1 - 1.0 / i
    assert step.trace_count == 1
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="learning_rate"):
            optimizer.learning_rate = bad
    assert float(optimizer.learning_rate) == 0.5 / 7


def test_functions_without_machine_code_over_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the layout of objects is unknown, nothing is compiled for arguments, and calls give the same."""
    for module in (marshaller, built_in):
        monkeypatch.setattr(module, "object_layout", lambda: None)
    marshaller._definitions.cache_clear()
    try:
        assert marshaller.is_worth_compiling(1)
        assert marshaller.marshaller() is None
        assert marshaller.simple_call() is None
        function = jt.function(lambda x: x * 2.0)
        for _ in range(4):
            np.testing.assert_array_equal(function(DATA), DATA * 2.0)
    finally:
        marshaller._definitions.cache_clear()
