"""Calls of a `jt.function` that pass or leave out default arguments share a trace."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

X = np.array([1.0, 2.0])


def two(x: Any, a: int = 1, b: float = 2.0) -> Any:
    return x * a + b


def by_name(x: Any, *, training: bool = False, k: int = 3) -> Any:
    return x * k if training else x + k


def rest(x: Any, *more: Any, n: int = 2, **named: Any) -> Any:
    return x * n + sum(more) + sum(named.values())


CALLS: dict[str, tuple[Callable[..., Any], list[tuple[tuple[Any, ...], dict[str, Any]]]]] = {
    "two": (
        two,
        [
            ((), {}),
            ((1,), {}),
            ((1, 2.0), {}),
            ((), {"b": 2.0}),
            ((), {"b": 2.0, "a": 1}),
            ((1,), {"b": 2.0}),
        ],
    ),
    "by name": (
        by_name,
        [((), {}), ((), {"k": 3}), ((), {"training": False}), ((), {"k": 3, "training": False})],
    ),
    "rest": (rest, [((), {}), ((), {"n": 2})]),
}


@pytest.mark.parametrize("name", CALLS)
def test_default_arguments_that_are_passed_or_left_out_share_a_trace(name: str) -> None:
    python, calls = CALLS[name]
    for order in itertools.permutations(calls, min(len(calls), 3)):
        f = jt.function(python)
        for _ in range(3):
            for args, kwargs in order:
                assert f(X, *args, **kwargs).tolist() == python(X, *args, **kwargs).tolist()
        assert f.trace_count == 1


def test_other_values_than_the_default_are_another_trace() -> None:
    f = jt.function(two)
    for _ in range(3):
        assert f(X).tolist() == [3.0, 4.0]
        assert f(X, 2).tolist() == [4.0, 6.0]
        assert f(X, b=3.0).tolist() == [4.0, 5.0]
        assert f(X, 1, 2.0).tolist() == [3.0, 4.0]
        assert f(X, 3, 2.0).tolist() == [5.0, 8.0]
    assert f.trace_count == 3


def test_a_default_has_its_own_type_and_sign() -> None:
    g = jt.function(lambda x, n=1, zero=0.0: x * zero if isinstance(n, bool) else x * 3.0)
    assert g(X).tolist() == [3.0, 6.0]
    assert g(X, True).tolist() == [0.0, 0.0]
    assert np.signbit(g(X, True, -0.0)).all()
    assert not np.signbit(g(X, True, 0.0)).any()
    assert g(X, 1, 0.0).tolist() == [3.0, 6.0]


def test_methods_leave_out_default_arguments() -> None:
    class Model:
        @jt.function
        def __call__(self, x: Any, training: bool = False, *, scale: float = 2.0) -> Any:
            return x * scale if training else x

    model = Model()
    for _ in range(3):
        assert model(X).tolist() == model(X, False).tolist() == model(X, training=False, scale=2.0).tolist()
        assert model(X, training=True).tolist() == [2.0, 4.0]
    assert model.__call__.trace_count == 2  # type: ignore[attr-defined]


def test_default_arrays_are_passed_at_each_call() -> None:
    weights = np.array([1.0, 2.0])

    def f(x: Any, y: Any = weights, *, z: Any = weights, n: int = 1) -> Any:
        return x * y + z * n

    g = jt.function(f)
    for _ in range(3):
        for call in (g(X), g(X, weights), g(X, y=weights, z=weights), g(X, n=1)):
            assert call.tolist() == f(X).tolist()
        weights += 1.0
    assert g.trace_count == 1
    assert g(X, n=4).tolist() == f(X, n=4).tolist()


def test_wrong_arguments_raise_the_errors_of_python() -> None:
    f = jt.function(by_name)
    for args, kwargs, text in [
        ((), {"k": 1}, "missing a required argument: 'x'"),
        ((X, 1), {"k": 1}, "too many positional arguments"),
        ((X,), {"other": 1}, "got an unexpected keyword argument 'other'"),
        ((X,), {"x": X}, "multiple values for argument 'x'"),
    ]:
        with pytest.raises(TypeError, match=text):
            f(*args, **kwargs)  # type: ignore[arg-type]


def test_a_variable_number_of_arguments_keeps_its_defaults_apart() -> None:
    f = jt.function(rest)
    assert f(X, X).tolist() == [3.0, 6.0]
    assert f(X, X, n=2).tolist() == [3.0, 6.0]
    assert f(X, X, n=3).tolist() == [4.0, 8.0]
    assert f(X, n=3, other=X).tolist() == [4.0, 8.0]
    assert f.trace_count == 3


def test_an_input_signature_may_leave_out_parameters_with_defaults() -> None:
    f = jt.function(lambda x, n=2: x * n, input_signature=[jt.TensorSpec([None], jt.float64)])
    for _ in range(3):
        assert f(X).tolist() == f(X, 2).tolist() == f(X, n=2).tolist() == [2.0, 4.0]
    assert f.trace_count == 1
    for wrong in ({"n": 3}, {"m": 2}):
        with pytest.raises(TypeError):
            f(X, **wrong)
    with_number = jt.function(
        lambda x, n=2.0: x * n,
        input_signature=[jt.TensorSpec([None], jt.float64), jt.TensorSpec([], jt.float64)],
    )
    assert [with_number(X).tolist(), with_number(X, 3.0).tolist()] == [[2.0, 4.0], [3.0, 6.0]]
    assert with_number.trace_count == 1


def test_a_concrete_function_takes_its_default_arguments_by_position() -> None:
    class Model:
        @jt.function
        def scaled(self, x: Any, n: int = 2) -> Any:
            return x * n

    for function in (Model().scaled, jt.function(lambda x, n=2: x * n)):
        concrete = function.get_concrete_function(jt.TensorSpec([2], jt.float64))
        for result in (concrete(X), concrete(X, 2), concrete(X, n=2)):
            assert result.tolist() == [2.0, 4.0]
        for args in ((X, 3), (X, 2, 2)):
            with pytest.raises(TypeError):
                concrete(*args)
