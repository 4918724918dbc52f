"""Calls of functions that machine code takes from their beginning: results, counts and errors are those of Python."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.functions.bound_function import BoundFunction
from jittape.functions.function import Function
from jittape.functions.marshaller import OFTEN
from jittape.native.object_layout import object_layout
from jittape.runtime.counters import counters
from python_frames import called_code
from test_recording import in_threads

pytestmark = pytest.mark.skipif(object_layout() is None, reason="no machine code over objects in this Python")


def scale(x: Any, y: Any) -> Any:
    return jt.reduce_sum(x * y), x + y


X, Y = jt.constant(np.arange(5.0)), jt.constant(np.full(5, 2.0))
ZEROS = jt.constant(np.zeros(5))


def often_called(python: Callable[..., Any] = scale, *arguments: Any) -> Function:
    """Return a function whose calls with these arguments machine code takes."""
    function: Function = jt.function(python)
    for _ in range(2 * OFTEN + 40):
        function(*(arguments or (X, Y)))
    assert function._recent is not None
    assert function._recent.simple_path is not None
    assert not isinstance(vars(Function)["__call__"], FunctionType)
    return function


def assert_right(result: Any, x: Any = X, y: Any = Y) -> None:
    total, both = result
    x, y = np.asarray(x), np.asarray(y)
    assert float(total) == np.sum(x * y)
    np.testing.assert_array_equal(both, x + y)


def frames_in(call: Callable[[], Any]) -> list[str]:
    """Return the names of the Python functions that run in a call."""
    return [code.co_name for code in called_code(call)]


def test_no_python_runs_in_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "poison_memory", False)
    function = often_called()
    ones = np.ones(5)
    assert frames_in(lambda: function(X, Y)) == ["<lambda>"]
    assert frames_in(lambda: function(ones, Y)) == ["<lambda>"]
    assert "__call__" in frames_in(lambda: function(X, y=Y))


def test_no_python_runs_in_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "poison_memory", False)
    weights = [jt.Variable(np.ones(5)) for _ in range(3)]

    def step(x: Any) -> None:
        for w in weights:
            w.assign_sub(0.5 * x * w)

    function = often_called(step, X)
    assert frames_in(lambda: function(X)) == ["<lambda>"]
    before = [w.numpy().copy() for w in weights]
    function(X)
    for w, old in zip(weights, before, strict=True):
        np.testing.assert_array_equal(w, old - 0.5 * X.numpy() * old)


class Model:
    """Instances with a compiled method."""

    def __init__(self, value: float) -> None:
        self.w = jt.Variable(np.full(5, value))

    @jt.function
    def scaled(self, x: Any) -> Any:
        return x * self.w

    @jt.function
    def step(self, x: Any) -> Any:
        self.w.assign_add(x)
        return jt.reduce_sum(self.w)


def often_called_model(value: float = 2.0) -> Model:
    """Return an instance whose methods machine code calls."""
    model = Model(value)
    for _ in range(2 * OFTEN + 40):
        model.scaled(X)
        model.step(ZEROS)
    for method in (model.scaled, model.step):
        assert method._function._recent.simple_path is not None
    return model


def test_no_python_runs_in_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "poison_memory", False)
    model = often_called_model()
    bound = model.scaled
    for call in (lambda: model.scaled(X), lambda: bound(X), lambda: model.step(X)):
        assert frames_in(call) == ["<lambda>"]
    assert "__call__" in frames_in(lambda: bound(x=X))
    assert repr(model.scaled) == repr(bound)
    assert model.scaled.__self__ is model
    assert Model.scaled is vars(Model)["scaled"]
    assert Model.scaled.__get__(model)._function is bound._function
    np.testing.assert_array_equal(Model.scaled(model, X), X * model.w)


def test_instances_have_traces_of_their_own() -> None:
    models = [often_called_model(float(i)) for i in range(3)]
    for i, model in enumerate(models):
        np.testing.assert_array_equal(model.scaled(X), i * X.numpy())
        assert float(model.step(X)) == 5.0 * i + 10.0
    assert len({id(model.scaled._function) for model in models}) == 3
    for i in range(30):  # new instances in the place of freed ones
        np.testing.assert_array_equal(Model(float(i)).scaled(X), i * X.numpy())


def test_methods_do_not_keep_their_instances() -> None:
    model = often_called_model()
    seen, own = weakref.ref(model), weakref.ref(model.scaled._function)
    references = sys.getrefcount(model), sys.getrefcount(own())
    for _ in range(1000):
        model.scaled(X)
    assert (sys.getrefcount(model), sys.getrefcount(own())) == references
    bound = model.scaled
    del model
    np.testing.assert_array_equal(bound(X), X * 2.0)
    del bound
    gc.collect()
    assert seen() is None
    assert own() is None


def test_instances_without_weak_references() -> None:
    class Small:
        __slots__ = ("factor",)

        def __init__(self, factor: float) -> None:
            self.factor = factor

        scaled = jt.function(lambda self, x: x * self.factor)

    often_called_model()
    for factor in (2.0, 3.0):
        small = Small(factor)
        for _ in range(2 * OFTEN + 40):
            np.testing.assert_array_equal(small.scaled(X), X * factor)


def test_a_fast_path_that_is_taken_away_is_not_used() -> None:
    """As a profile and the search for nan do it."""
    function, taken = often_called(), []
    trace = function._recent
    before = trace.fast_call

    def instead(leaves: tuple[Any, ...]) -> Any:
        taken.append(leaves)
        return before(leaves)

    trace.fast_call = instead
    assert_right(function(X, Y))
    assert len(taken) == 1


def test_runs_are_counted() -> None:
    function = often_called()
    trace, visits = function._recent, function._recent.visits
    other = jt.function(lambda x: x - 1.0)
    other(X)
    runs = counters.compiled_runs
    for _ in range(300):
        function(X, Y)
    assert counters.compiled_runs == runs + 300
    assert trace.visits == visits + 300
    assert counters.last is trace


def test_calls_that_python_takes() -> None:
    function = often_called()
    assert_right(function(X, y=Y))
    assert_right(function(y=Y, x=X))
    assert_right(function(jt.constant(np.ones(3)), 2.0), np.ones(3), 2.0)
    assert_right(function([1.0, 2.0], Y[:2]), [1.0, 2.0], [2.0, 2.0])
    assert_right(function(X, Y))
    with pytest.raises(TypeError):
        function(X)
    with pytest.raises(TypeError):
        function(X, Y, X)
    with pytest.raises(jt.ShapeError):
        function(X, jt.constant(np.ones(4)))
    assert_right(function(X, Y))
    with pytest.raises(TypeError):
        Function.__call__(3, X)


def test_tapes_and_traces_record_the_call() -> None:
    function = often_called()
    with jt.GradientTape() as tape:
        tape.watch(X)
        total, _ = function(X, Y)
    np.testing.assert_array_equal(tape.gradient(total, X), Y)
    assert_right(jt.function(lambda x, y: function(x, y))(X, Y))
    np.testing.assert_array_equal(jt.grad(lambda x: function(x, Y)[0])(X), Y)


def test_settings_hold_from_the_next_call_on() -> None:
    runs: list[int] = []

    def counted(x: Any) -> Any:
        runs.append(1)
        return x * 2.0

    function = often_called(counted, X)
    traced = len(runs)
    jt.config.run_functions_eagerly(True)
    try:
        function(X)
        assert len(runs) == traced + 1
    finally:
        jt.config.run_functions_eagerly(False)
    before = counters.interpreted_runs
    jt.config.interpret = True
    try:
        np.testing.assert_array_equal(function(X), [0.0, 2.0, 4.0, 6.0, 8.0])
        assert counters.interpreted_runs >= before
        assert function._recent is None or not function._recent.ran_compiled
    finally:
        jt.config.interpret = False
    np.testing.assert_array_equal(function(X), [0.0, 2.0, 4.0, 6.0, 8.0])


def test_results_that_are_kept_stay_as_they_are() -> None:
    function = often_called()
    kept = [function(jt.constant(np.full(5, float(i))), Y) for i in range(300)]
    for i, result in enumerate(kept):
        assert_right(result, np.full(5, float(i)))


@pytest.mark.parametrize("keep", [False, True])
def test_references_are_given_back(keep: bool) -> None:
    function = often_called()
    argument = jt.constant(np.ones(5))
    counted = (argument, Y, function, function._recent, None, False)
    kept = []
    gc.collect()
    before = [sys.getrefcount(value) for value in counted]
    for _ in range(1000):
        result = function(argument, Y)
        if keep:
            kept.append(result)
    del result
    kept.clear()
    gc.collect()
    after = [sys.getrefcount(value) for value in counted]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True)), (before, after)
    for _ in range(1000):
        with pytest.raises(TypeError):
            function(argument)
    gc.collect()
    assert abs(sys.getrefcount(argument) - before[0]) < 100


def test_other_objects_of_the_class() -> None:
    function = often_called()
    for copied in (copy.copy(function), copy.deepcopy(function), pickle.loads(pickle.dumps(function))):
        assert_right(copied(X, Y))
    with pytest.raises(AttributeError):
        Function.__new__(Function)(X)
    with pytest.raises(AttributeError):
        Function.__new__(Function).__get__(X)
    with pytest.raises(AttributeError):
        BoundFunction.__new__(BoundFunction)(X)
    with pytest.raises(TypeError):
        function.__get__()


def test_threads_call_the_same_function() -> None:
    function, wrong = often_called(), []

    def calls(number: int) -> None:
        x = jt.constant(np.full(5, float(number)))
        for _ in range(2000):
            total, both = function(x, Y)
            if float(total) != 10.0 * number or both.numpy()[0] != number + 2.0:
                wrong.append(number)

    in_threads(calls, 4)
    assert not wrong
