"""What a `jt.function` takes and returns: values of this call, which alias nothing."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import jittape as jt

X, Y = np.array([1.0, 2.0]), np.array([5.0, 7.0])


def in_every_way(f: Any) -> list[Any]:
    """Return callables that call `f` alone, in another function, under a tape, and run eagerly."""
    outer = jt.function(lambda *args: f(*args))

    def taped(*args: Any) -> Any:
        with jt.GradientTape():
            return f(*args)

    def eager(*args: Any) -> Any:
        jt.config.run_functions_eagerly(True)
        try:
            return f(*args)
        finally:
            jt.config.run_functions_eagerly(False)

    return [f, outer, taped, eager]


# ---- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_returned_variable_is_its_value_at_that_point(size: int, mode: str) -> None:
    v = jt.Variable(np.zeros(size))
    functions = {
        "assign_add": (lambda x: v.assign_add(x), lambda r: r),
        "the Variable": (lambda x: [v.assign_add(x), v][1], lambda r: r),
        "nested": (lambda x: {"a": [v.assign_add(x), None], "b": 3}, lambda r: r["a"][0]),
        "looks": (lambda x: v.assign_add(x) if x[0] > 0 else v, lambda r: r),
    }
    for name, (python, part) in functions.items():
        for call in in_every_way(jt.function(python)):
            v.assign(np.zeros(size))
            results = [part(call(np.full(size, value))) for value in (1.0, 2.0, 3.0)]
            assert [float(r[0]) for r in results] == [1.0, 3.0, 6.0], name
            assert not any(isinstance(r, jt.Variable) for r in results)


def test_constants_that_are_returned_are_new_at_each_call(mode: str) -> None:
    held, tensor = np.arange(3.0), jt.constant([1.0, 2.0])
    f = jt.function(lambda x: (x * 2, {"a": held}, tensor, jt.constant([7.0])))
    for call in in_every_way(f):
        for _ in range(3):
            _, inside, a, b = call(1.0)
            assert (inside["a"].tolist(), a.tolist(), b.tolist()) == ([0.0, 1.0, 2.0], [1.0, 2.0], [7.0])
            inside["a"][0] = a[0] = b[0] = 55.0
    assert held.tolist() == [0.0, 1.0, 2.0]
    assert tensor.tolist() == [1.0, 2.0]


# ---- arguments -------------------------------------------------------------------------------------------------------


class Series:
    """Has an array's values, as a pandas object has; not hashable."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype)


@pytest.mark.parametrize(
    "make", [Series, lambda v: array.array("d", v), lambda v: memoryview(array.array("d", v))]
)
def test_array_likes_are_read_at_each_call(make: Any, mode: str) -> None:
    series = make([1.0, 2.0])
    f = jt.function(lambda x: jt.reduce_sum(x[0] if isinstance(x, list) else x))
    for _ in range(3):
        for given in (series, [series]):
            assert float(f(given)) == 3.0
            change(series, 10.0)
            assert float(f(given)) == 12.0
            change(series, 1.0)
    assert f.trace_count == 2


def change(series: Any, value: float) -> None:
    (series.values if isinstance(series, Series) else series)[0] = value


def test_default_arrays_are_read_at_each_call(mode: str) -> None:
    weights, nested = np.ones(2), {"w": [np.ones(2)]}

    @jt.function
    def f(x: Any, scale: Any = 1, w: Any = weights, *, more: Any = nested) -> Any:
        return jt.reduce_sum(x * w * more["w"][0]) * scale

    for _ in range(3):
        assert float(f(X)) == 3.0
        weights[0], nested["w"][0][1] = 10.0, 100.0
        assert [float(f(X)), float(f(x=X)), float(f(X, 2)), float(f(X, 1, X))] == [210.0, 210.0, 420.0, 401.0]
        assert float(f(X, more={"w": [X]})) == 14.0
        weights[0], nested["w"][0][1] = 1.0, 1.0


def test_a_byte_swapped_array_fits_its_signature() -> None:
    f = jt.function(jt.reduce_sum, input_signature=[jt.TensorSpec([2], jt.float64)])
    assert [float(f(X.astype(">f8"))) for _ in range(3)] == [3.0] * 3
    assert [float(f(X.astype(">f4"))) for _ in range(3)] == [3.0] * 3


def test_a_keyword_may_be_called_self() -> None:
    class Scale:
        @jt.function
        def __call__(this, self: Any) -> Any:
            return self * 2.0

    f = jt.function(lambda self, x: self * x)
    for call in in_every_way(f):
        assert float(call(2.0, 3.0)) == 6.0
    for _ in range(3):
        assert float(f(self=2.0, x=3.0)) == float(f(2.0, x=3.0)) == 6.0
        assert float(Scale()(self=3.0)) == 6.0
    assert float(f.get_concrete_function(self=2.0, x=3.0)(self=2.0, x=3.0)) == 6.0
    assert jt.grad(lambda x, self: self * x)(3.0, self=2.0) == 2.0
    assert float(jt.custom_gradient(lambda x, self: (self * x, lambda g: g * self))(3.0, self=2.0)) == 6.0


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
@pytest.mark.parametrize("change", [lambda xs: xs.append(xs[0]), lambda xs: xs.__setitem__(0, xs[0] + 1.0)])
def test_a_function_that_changes_a_list_is_refused(change: Any) -> None:
    def f(first: Any, xs: Any) -> Any:
        change(xs["a"])
        return jt.reduce_sum(xs["a"][0])

    def looks(first: Any, xs: Any) -> Any:
        return f(first, xs) if first > 0 else first

    held = {"a": [jt.constant(X), 2]}
    before = list(held["a"])
    for python in (f, looks):
        for call in in_every_way(jt.function(python)):
            with pytest.raises(ValueError, match="should not modify its Python input arguments, but .* xs"):
                call(1.0, held)
            assert all(a is b for a, b in zip(held["a"], before, strict=True))
    assert float(jt.function(lambda xs: [xs[0].__setitem__(0, 5.0), xs[0]][1])([jt.constant(X)])[0]) == 5.0


# ---- one tensor as several arguments ---------------------------------------------------------------------------------


def slope(a: Any, b: Any) -> Any:
    with jt.GradientTape() as tape:
        tape.watch(a)
        y = jt.reduce_sum(a * b * b)
    return tape.gradient(y, a)


def slope_in_cond(a: Any, b: Any) -> Any:
    return jt.cond(a[0] < 100.0, lambda: slope(a, b), lambda: b)


def tangent(a: Any, b: Any) -> Any:
    with jt.autodiff.ForwardAccumulator(a, jt.ones_like(a)) as accumulator:
        y = a * b * b
    return accumulator.jvp(y)


def written(a: Any, b: Any) -> Any:
    a[0] = 3.0 * b[1]
    return a * b


def slope_in_function(a: Any, b: Any) -> Any:
    return jt.function(slope)(a, b)


@pytest.mark.parametrize("python", [slope, slope_in_cond, tangent, written, slope_in_function])
def test_one_tensor_as_two_arguments_gives_totals(python: Any, mode: str) -> None:
    f = jt.function(python)
    nested = jt.function(lambda pair: python(*pair))
    for _ in range(3):
        for a, b in ((X, X), (X, Y), (Y, X), (Y, Y), (X, X.copy())):
            given = [jt.constant(a), jt.constant(b)]
            given[1] = given[0] if a is b else given[1]
            fresh = [jt.constant(a), jt.constant(b)]
            expected = python(fresh[0], fresh[0] if a is b else fresh[1])
            np.testing.assert_array_equal(f(*given), expected)
            np.testing.assert_array_equal(nested(given), expected)
            np.testing.assert_array_equal(f(a, b), expected)
    assert f.trace_count <= 4
    assert "several arguments are now the same tensor" in f.explain()


def test_one_tensor_as_two_arguments_shares_a_trace_where_it_does_not_matter() -> None:
    f = jt.function(lambda a, b: jt.reduce_sum(a * b))
    for _ in range(3):
        x = jt.constant(X)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = f(x, x)
        np.testing.assert_array_equal(tape.gradient(y, x), 2 * X)
        assert [float(f(x, x)), float(f(X, Y))] == [5.0, 19.0]
        assert jt.grad(f, (0, 1))(X, X)[1].tolist() == [1.0, 2.0]
    assert len(f.signatures()) == 1
    assert f.trace_count == 1 + 3  # each gradient function traces it once


@pytest.mark.parametrize("nested", [False, True])
def test_the_order_of_the_keys_of_a_dict_is_that_of_the_call(nested: bool, mode: str) -> None:
    """Two dicts that differ in the order of their keys are equal for Python and for optree."""

    def rows(given: Any, **by_name: Any) -> Any:
        own = given["own"] if nested else given
        return jt.stack([*own.values(), *by_name.values()])

    f, concrete = jt.function(rows), jt.function(rows)
    calls = [({"a": 1.0, "b": 2.0}, {"c": 3.0, "d": 4.0}), ({"b": 5.0, "a": 6.0}, {"d": 7.0, "c": 8.0})]
    for _ in range(3):
        for given, by_name in calls:
            own = {"own": given} if nested else given
            for call in in_every_way(lambda d, g=f, names=by_name: g(d, **names)):
                assert call(own).tolist() == [*given.values(), *by_name.values()]
    first, second = f.signatures()
    assert "the order of the keys of a dict changed" in first.why + second.why
    taken = concrete.get_concrete_function({"own": calls[1][0]} if nested else calls[1][0], **calls[1][1])
    assert taken({"own": calls[0][0]} if nested else calls[0][0], **calls[0][1]).tolist() == [
        2.0,
        1.0,
        4.0,
        3.0,
    ]
