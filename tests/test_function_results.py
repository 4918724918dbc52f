"""Results of `jt.function` that are no tensors, and concrete functions; recorded from TensorFlow 2.21."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")

Pair = namedtuple("Pair", "a b")
V = jt.Variable(3.0)

RESULTS: list[tuple[Any, Any]] = [
    (3, ("int32", 3)),
    (2.5, ("float32", 2.5)),
    (True, ("bool", True)),
    (1j, ("complex128", 1j)),
    (None, None),
    (2**40, ("int64", 2**40)),
    (np.ones(2), ("float64", [1.0, 1.0])),
    (np.float64(2.0), ("float64", 2.0)),
    (np.int8(2), ("int8", 2)),
    (V, ("float32", 3.0)),
    ([1, 2.0], [("int32", 1), ("float32", 2.0)]),
    ((1,), (("int32", 1),)),
    ((), ()),
    ({"a": 1, "b": None}, {"a": ("int32", 1), "b": None}),
    (OrderedDict(a=1), OrderedDict(a=("int32", 1))),
    (Pair(1, 2.0), Pair(("int32", 1), ("float32", 2.0))),
    ({"a": [1, (2, np.zeros(1))]}, {"a": [("int32", 1), (("int32", 2), ("float64", [0.0]))]}),
]
"""Results, and what ``tf.function`` makes of them: dtype and value of each tensor."""


def described(value: Any) -> Any:
    """Return `value` with dtype and value in place of each tensor."""
    if isinstance(value, jt.Tensor):
        return value.dtype.name, value.numpy().tolist()
    if isinstance(value, dict):
        return type(value)({key: described(part) for key, part in value.items()})
    if isinstance(value, Pair):
        return Pair(*map(described, value))
    return type(value)(map(described, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize(("result", "expected"), RESULTS, ids=lambda x: repr(x)[:40])
def test_python_results_become_tensors(result: Any, expected: Any) -> None:
    f = jt.function(lambda: result)
    assert [described(f()) for _ in range(3)] == [expected] * 3
    with jt.GradientTape():
        assert described(f()) == expected
    inner = jt.function(lambda: result)
    assert described(jt.function(lambda: inner())()) == expected


@pytest.mark.parametrize(
    "value", [3, 2.5, True, None, np.ones(2), [1, 2], (1,), {"a": 1}, np.float32(1)], ids=repr
)
def test_arguments_that_are_returned(value: Any) -> None:
    expected = described(jt.function(lambda: value)())
    f = jt.function(lambda x: x)
    assert [described(f(value)) for _ in range(3)] == [expected] * 3


def test_returned_numbers_are_computed_at_each_call() -> None:
    f = jt.function(lambda n, x: (n + 1, x / 2, n > 2))
    for n, x in ((1, 3.0), (2, 5.0), (3, 8.0)):
        assert described(f(n, x)) == (("int32", n + 1), ("float32", x / 2), ("bool", n > 2))
    assert f.trace_count == 1


def test_a_returned_int_has_the_dtype_of_its_size() -> None:
    f = jt.function(lambda n: n * 2)
    for n in (3, 2**30, 5, -(2**30), -(2**31), 2**30 - 1, 2**40, 7):
        assert described(f(n)) == described(jt.constant(n * 2))
    assert f.trace_count == 3  # int32, and int64 above and below


def test_results_of_functions_that_are_recorded() -> None:
    f = jt.function(lambda x: 3 if x > 0 else np.float64(2.0))
    with pytest.warns(jt.FunctionWarning):
        assert described(f(jt.constant(1.0))) == ("int32", 3)
    assert described(f(jt.constant(-1.0))) == ("float64", 2.0)


def test_other_objects_stay() -> None:
    marker = object()
    f = jt.function(lambda x: ("text", marker, {1, 2}, abs, x * 2.0))
    for _ in range(3):
        text, same, numbers, function, _ = f(1.0)
        assert (text, same, numbers, function) == ("text", marker, {1, 2}, abs)


# ---- concrete functions ----------------------------------------------------------------------------------------------


def line(x: Any, y: Any = 2, *, z: Any = 1.0) -> Any:
    return x * y + z


T = jt.constant([1.0, 2.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c(T),
        lambda c: c(x=T),
        lambda c: c(T, 3),
        lambda c: c(T, y=3, z=1.0),
        lambda c: c([1.0, 2.0], 3, z=1.0),
        lambda c: c(np.float32([1.0, 2.0])),
        lambda c: c(jt.Variable([1.0, 2.0])),
    ],
)
def test_python_arguments_are_bound(call: Any) -> None:
    f = jt.function(line)
    concrete = f.get_concrete_function(jt.TensorSpec([2]), 3)
    assert [call(concrete).tolist() for _ in range(3)] == [[4.0, 7.0]] * 3
    assert f.trace_count == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c(), r"got \(\)"),
        (lambda c: c(T, 3, 4), "argument 2: int"),
        (lambda c: c(T, q=1), "got 1 positional arguments, q"),
        (lambda c: c(T, x=T), "got 1 positional arguments, x"),
        (lambda c: c(jt.ones(3)), r"got \(x: float32\[3\]"),
        (lambda c: c(jt.constant([1, 2])), r"got \(x: int32\[2\]"),
        (lambda c: c(None), r"got \(x: None"),
        (lambda c: c(T, z=2.0), "z"),
    ],
)
def test_arguments_that_do_not_fit(call: Any, message: str) -> None:
    concrete = jt.function(line).get_concrete_function(jt.TensorSpec([2]), 3)
    with pytest.raises(
        TypeError, match=r"this concrete function is for \(x: float32\[2\], y: int\), .*" + message
    ):
        call(concrete)


def test_a_bound_flag() -> None:
    """A flag holds for its value only, as TensorFlow's ``Can not cast False to Literal[True]``."""
    f = jt.function(lambda x, training=False: x * 2.0 if training else x)
    concrete = f.get_concrete_function(jt.TensorSpec([]), training=True)
    assert [float(concrete(1.0)), float(concrete(1.0, True)), float(concrete(x=1.0))] == [2.0] * 3
    with pytest.raises(TypeError, match="this concrete function is for"):
        concrete(1.0, training=False)
    only_python = jt.function(line).get_concrete_function(3, 4)
    assert float(only_python()) == 13.0


def test_structures_and_names() -> None:
    f = jt.function(lambda d, *rest, **kw: d["x"] + 2.0 * d["y"] + sum(rest) + sum(kw.values()))
    spec = jt.TensorSpec([])
    concrete = f.get_concrete_function({"x": spec, "y": spec}, spec, k=spec)
    one, two = jt.constant(1.0), jt.constant(2.0)
    assert float(concrete({"x": one, "y": two}, one, k=two)) == 8.0
    assert float(concrete(one, two, one, two)) == 8.0
    with pytest.raises(TypeError, match="this concrete function is for"):
        concrete({"x": one}, one, k=one)
    named = jt.function(lambda a, b: a - b).get_concrete_function(jt.TensorSpec([], name="first"), spec)
    assert float(named(first=two, b=one)) == float(named(b=one, a=two)) == 1.0


def test_variables_are_tensors_of_a_concrete_function() -> None:
    v, w = jt.Variable(1.0), jt.Variable(5.0)
    concrete = jt.function(lambda v, x: v * x).get_concrete_function(v, jt.TensorSpec([]))
    assert [float(concrete(one, 2.0)) for one in (v, w, v)] == [2.0, 10.0, 2.0]
    with pytest.raises(TypeError, match="this concrete function is for"):
        concrete(jt.constant(1.0))


class Model(jt.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = jt.Variable(2.0, name="w")

    @jt.function
    def __call__(self, x: Any, training: bool = False) -> Any:
        return self.w * x if training else x


def test_a_concrete_method() -> None:
    model = Model()
    concrete = model.__call__.get_concrete_function(jt.TensorSpec([]), training=True)
    assert [float(concrete(jt.constant(1.0))), float(concrete(jt.constant(1.0), True))] == [2.0, 2.0]
    assert concrete.structured_input_signature == ((jt.TensorSpec([], name="x"), True), {})
    assert concrete.variables == concrete.trainable_variables == (model.w,)


def test_the_signature_of_a_concrete_function() -> None:
    f = jt.function(lambda a, b: {"s": a + b, "n": None, "l": [a, 3]})
    concrete = f.get_concrete_function(jt.TensorSpec([2], name="aa"), jt.TensorSpec([2]))
    (a, b), by_name = concrete.structured_input_signature
    assert (a, a.name, b.name, by_name) == (jt.TensorSpec([2]), "aa", "b", {})
    outputs = {"s": jt.TensorSpec([2]), "n": None, "l": [jt.TensorSpec([2]), jt.TensorSpec([], jt.int32)]}
    assert concrete.structured_outputs == outputs
    assert concrete.inputs == [jt.TensorSpec([2])] * 2
    assert len(concrete.outputs) == 3
    assert concrete.output_dtypes == {"s": jt.float32, "n": None, "l": [jt.float32, jt.int32]}
    assert concrete.output_shapes == {"s": (2,), "n": None, "l": [(2,), ()]}
    with pytest.raises(AttributeError, match="jittape has no graphs"):
        concrete.graph  # noqa: B018
    assert jt.function(line).get_concrete_function(3, 4).structured_input_signature == ((3, 4), {"z": 1.0})


def test_printed_signatures() -> None:
    f = jt.function(line)
    assert f.pretty_printed_concrete_signatures() == ""
    concrete = f.get_concrete_function(jt.TensorSpec([2]), 3)
    expected = """Input Parameters:
  x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(2,), dtype=float32, name=None)
  y (POSITIONAL_OR_KEYWORD): int
  z (KEYWORD_ONLY): Literal[1.0]
Output Type:
  TensorSpec(shape=(2,), dtype=float32, name=None)
Captures:
  None"""
    assert concrete.pretty_printed_signature() == f.pretty_printed_concrete_signatures() == expected
    g = jt.function(lambda d, mode: {"r": [d["a"] * V, None]})
    g({"a": jt.constant(1.0)}, "fast")
    text = g.pretty_printed_concrete_signatures()
    assert "d (POSITIONAL_OR_KEYWORD): Dict[['a', TensorSpec(shape=(), dtype=float32, name=None)]]" in text
    assert "mode (POSITIONAL_OR_KEYWORD): Literal['fast']" in text
    assert "Dict[['r', List[TensorSpec(shape=(), dtype=float32, name=None), Literal[None]]]]" in text
    assert text.endswith("Captures:\n  Variable:0: Variable float32[]")
