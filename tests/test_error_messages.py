"""What a mistake is told: the message names the function that was called, the argument, what was found, the way out."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jittape as jt

VECTOR = jt.constant([1.0, 2.0])
COMPLEX = jt.constant([1j])
SMALL = jt.constant([1], jt.int8)
VARIABLE = jt.Variable([1.0, 2.0])


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        # what is no number
        (
            lambda: VECTOR + "x",
            TypeError,
            r"^\[add\] other: Cannot convert 'x' to a tensor: give a number, an ",
        ),
        (lambda: "x" - VECTOR, TypeError, r"^\[subtract\] other: Cannot convert 'x'"),
        (
            lambda: VECTOR @ object(),
            TypeError,
            r"^\[matmul\] other: Cannot convert <object .* of type 'object'",
        ),
        (lambda: VECTOR // None, TypeError, r"^\[floor_divide\] other: Cannot convert None"),
        (lambda: VECTOR < "x", TypeError, r"^\[less\] other: Cannot convert 'x'"),
        (lambda: jt.exp("x"), TypeError, r"^\[exp\] x: Cannot convert 'x'"),
        (lambda: jt.reduce_sum(None), TypeError, r"^\[reduce_sum\] input_tensor: Cannot convert None"),
        (lambda: jt.matmul(VECTOR, {}), TypeError, r"^\[matmul\] b: Cannot convert {} of type 'dict'"),
        (lambda: np.linalg.inv(VECTOR), jt.errors.ShapeError, r"^\[np\.linalg\.inv\] a must have"),
        (lambda: np.fft.fft(VECTOR, axis=7), jt.errors.ShapeError, r"^\[np\.fft\.fft\] axis 7"),
        (
            lambda: jt.njit_function(lambda x: x, np.ones(100)),
            TypeError,
            r"got an array; use jt\.TensorSpec\(\[100\], 'float64'\)$",
        ),
        (lambda: np.add(VECTOR, None), TypeError, r"^\[np\.add\] Cannot convert None"),
        (lambda: jt.Variable("x"), TypeError, r"^\[Variable\] initial_value: Cannot convert 'x'"),
        (lambda: VARIABLE.assign("x"), TypeError, r"^\[assign\] value: Cannot convert 'x'"),
        (lambda: VARIABLE.assign_add(None), TypeError, r"^\[assign_add\] delta: Cannot convert None"),
        (lambda: VECTOR.__setitem__(0, "x"), TypeError, r"^\[setitem\] value: Cannot convert 'x'"),
        (lambda: jt.nn.Dense(3)("x"), TypeError, r"^\[Dense\] inputs: Cannot convert 'x'"),
        (
            lambda: jt.constant([[1], [1, 2]]),
            ValueError,
            r"^\[constant\] value: .* its parts have different sh",
        ),
        # numbers that do not fit
        (lambda: SMALL + 1000, OverflowError, r"^\[add\] the number 1000 does not fit int8.*; jt\.cast that"),
        (lambda: jt.maximum(SMALL, -129), OverflowError, r"^\[maximum\] the number -129 does not fit int8"),
        (
            lambda: jt.constant(300, jt.int8),
            OverflowError,
            r"^\[constant\] value: the number 300 does not fit",
        ),
        (lambda: jt.zeros(10**30), ValueError, r"^\[zeros\] .*more than memory has addresses"),
        # the function that was called, not one that it is made of
        (lambda: jt.nn.relu(COMPLEX), TypeError, r"^\[relu\] is not defined for complex128"),
        (
            lambda: jt.clip_by_value(COMPLEX, 0, 1),
            TypeError,
            r"^\[clip_by_value\] is not defined for complex128",
        ),
        (lambda: jt.nn.softmax(COMPLEX), TypeError, r"^\[softmax\] is not defined for complex128"),
        (lambda: jt.reduce_max(COMPLEX), TypeError, r"^\[reduce_max\] is not defined for complex128"),
        (lambda: jt.reduce_min(COMPLEX), TypeError, r"^\[reduce_min\] is not defined for complex128"),
        (lambda: jt.argmin(COMPLEX), TypeError, r"^\[argmin\] is not defined for complex128"),
        (lambda: jt.argmax([]), ValueError, r"^\[argmax\] axis 0 of shape \(0,\) has no elements"),
        (lambda: jt.gather_nd(VECTOR, [[0, 0]]), ValueError, r"^\[gather_nd\] the last dimension of indices"),
        (
            lambda: jt.scatter_nd([[1]], [1.0, 2.0], [4]),
            ValueError,
            r"^\[scatter_nd\] updates of shape \(2,\)",
        ),
        (
            lambda: jt.boolean_mask(VECTOR, [True] * 3),
            IndexError,
            r"^\[boolean_mask\] a boolean mask of shape ",
        ),
        (lambda: jt.boolean_mask(VECTOR, [[True]]), ValueError, r"^\[boolean_mask\] a mask of 2 dimensions"),
        (
            lambda: VARIABLE.assign_sub(np.ones(5)),
            ValueError,
            r"^\[assign_sub\] shapes \(2,\) and \(5,\) do no",
        ),
        (
            lambda: np.sum(VECTOR, axis=4),
            ValueError,
            r"^\[np\.sum\] axis 4 is out of range for 1 dimension; use",
        ),
        (
            lambda: jt.expand_dims(np.ones((1,) * 32), 0),
            ValueError,
            r"^\[expand_dims\] the result has 33",
        ),
        # arguments that are part of a program's structure
        (
            lambda: jt.reduce_sum(VECTOR, axis={}),
            TypeError,
            r"^\[reduce_sum\] axis must be an int or a sequence of ints, got \{",
        ),
        (
            lambda: jt.reduce_sum(VECTOR, axis=VECTOR),
            TypeError,
            r"^\[reduce_sum\] axis must be an int or a sequence of ints, got <jt.Tensor",
        ),
        (lambda: jt.concat(VECTOR, "x"), TypeError, r"^\[concat\] axis must be an int, got 'x'"),
        (lambda: jt.concat(3.0, 0), TypeError, r"^\[concat\] values must be a sequence of tensors, got 3\.0"),
        (
            lambda: jt.reverse(VECTOR, "x"),
            TypeError,
            r"^\[reverse\] axis must be an int or a sequence of ints",
        ),
        (lambda: jt.gather(VECTOR, 0, axis="x"), TypeError, r"^\[gather\] axis must be an int, got 'x'"),
        (lambda: jt.gather(VECTOR, 1.5), TypeError, r"^\[gather\] indices must be integers, got a float"),
        (lambda: jt.cumsum(VECTOR, None), TypeError, r"^\[cumsum\] axis must be one int, got None"),
        (
            lambda: jt.cast(VECTOR, "flaot"),
            TypeError,
            r"^\[cast\] dtype: Cannot convert 'flaot' to a dtype; give",
        ),
        (lambda: jt.zeros_like("x"), TypeError, r"^\[zeros_like\] input: Cannot convert 'x' to a tensor"),
        (lambda: jt.pad(VECTOR, 3), ValueError, r"^\[pad\] paddings must be a pair"),
        (lambda: jt.pad(VECTOR, [[1, 1]], "EDGE"), ValueError, r"^\[pad\] mode must be one of CONSTANT"),
        (lambda: jt.range(float("nan")), ValueError, r"^\[range\] start, limit and delta must be finite"),
        (
            lambda: jt.range(5, 0),
            ValueError,
            r"^\[range\] start must be at most limit if delta is 1, got start 5 and limit 0",
        ),
        (
            lambda: jt.range(0, 5, -2),
            ValueError,
            r"start must be at least limit .* a delta of 2 counts the other way",
        ),
        (lambda: jt.range(-3.0), ValueError, r"^\[range\] start must be at most limit"),
        (lambda: jt.norm(VECTOR, np.ones(2)), ValueError, r"^\[norm\] ord of a vector must be"),
        (lambda: jt.function(jt.linalg.inv)(VECTOR), ValueError, r"^\[inv\] input must have at least 2"),
        (lambda: jt.math.polygamma("x", 1.0), TypeError, r"^\[polygamma\] a must be a number, got 'x'"),
        (lambda: jt.nn.gelu(VECTOR, np.ones(2)), TypeError, r"^\[gelu\] approximate must be True or False"),
        (lambda: VECTOR[0:1:0], ValueError, r"^\[getitem\] the step of a slice must not be 0; use 1, or -1"),
        (
            lambda: VECTOR[[[1], [1, 2]]],
            IndexError,
            r"^\[getitem\] the parts of the index .* different shapes",
        ),
        # two ways at once, one too few
        (
            lambda: jt.matmul(jt.eye(2), jt.eye(2), transpose_b=True, adjoint_b=True),
            ValueError,
            r"^\[matmul\] Only one of `transpose_b` and `adjoint_b` can be True",
        ),
        (
            lambda: jt.tile(jt.eye(2), [2]),
            ValueError,
            r"^\[tile\] multiples must have one entry for each dim",
        ),
        (
            lambda: jt.py_function(lambda x: (x, x), [VECTOR], jt.float32),
            ValueError,
            r"^\[py_function\] <lambda> returned 2 results in a tuple, Tout names one; pass Tout as a list",
        ),
        (
            lambda: jt.py_function(3, [VECTOR], jt.float32),
            TypeError,
            r"^\[py_function\] func must be callable",
        ),
        # random numbers
        (
            lambda: jt.random.normal("x"),
            TypeError,
            r"^\[normal\] shape: must be an int or a sequence of ints",
        ),
        (
            lambda: jt.random.normal([2], stddev=-1.0),
            ValueError,
            r"^\[random\.normal\] stddev must not be negative",
        ),
        (
            lambda: jt.random.normal([2], [1.0] * 3),
            ValueError,
            r"^\[random\.normal\] mean of shape \(3,\) does n",
        ),
        (
            lambda: jt.random.uniform([2], 5, 1),
            ValueError,
            r"^\[random\.uniform\] minval must not exceed maxval",
        ),
        (
            lambda: jt.random.uniform([2], 5, 5, jt.int32),
            ValueError,
            r"^\[random\.uniform\] minval must be below",
        ),
        (lambda: jt.random.uniform([2], 0, 500, jt.int8), ValueError, r"both within int8, got 0 and 500"),
        (
            lambda: jt.random.uniform([-2]),
            ValueError,
            r"^\[random\.uniform\] dimensions must not be negative",
        ),
        (
            lambda: jt.random.set_seed("x"),
            TypeError,
            r"^\[set_seed\] seed must be an int of at least 0, got 'x'",
        ),
        # layers
        (lambda: jt.nn.Dense("x"), TypeError, r"^\[Dense\] units must be an int, got 'x'"),
        (lambda: jt.nn.Dense(-1), ValueError, r"^\[Dense\] units must be positive, got -1"),
        (
            lambda: jt.nn.Dense(1, ["relu"]),
            ValueError,
            r"^\[Dense\] Unknown activation \['relu'\]; known are",
        ),
        (
            lambda: jt.nn.Sequential(5),
            TypeError,
            r"^\[Sequential\] layers must be a list of layers, got 5: write",
        ),
        (lambda: jt.nn.Sequential([3]), TypeError, r"^\[Sequential\] a layer must be callable, .*got 3"),
        # looks and settings
        (
            lambda: f"{VECTOR:.2f}",
            TypeError,
            r"'\.2f' is for one number, this tensor has shape \(2,\): format an",
        ),
        (lambda: f"{VARIABLE:.2f}", TypeError, r"'\.2f' is for one number"),
        (
            lambda: setattr(jt.config, "default_float", "x"),
            ValueError,
            r"must be 'float32' or 'float64', got 'x'",
        ),
    ],
)
def test_message(do: Callable[[], Any], error: type[Exception], message: str) -> None:
    for _ in range(2):
        with pytest.raises(error, match=message):
            do()


def test_a_function_of_the_users_is_not_named() -> None:
    """The name is that of what the user's own line has called, inside a traced function as well."""

    @jt.function
    def mine(x: Any) -> Any:
        return jt.nn.relu(x)

    with pytest.raises(TypeError, match=r"^\[relu\] is not defined"):
        mine(COMPLEX)


def test_an_error_of_an_earlier_op_keeps_its_name() -> None:
    with pytest.raises(IndexError, match=r"^\[gather\] index 9 is out of bounds"):
        jt.exp(jt.gather(VECTOR, jt.constant([3]) * 3)).numpy()


BAD = {
    "text": "x",
    "None": None,
    "an object": object(),
    "a dict": {"a": 1},
    "a number": 1.5,
    "a negative number": -1,
    "an axis too far": 99,
    "an int too great": 10**30,
    "nan": float("nan"),
    "an array": np.ones(3, np.float32),
    "a tensor": jt.constant([1.0, 2.0, 3.0, 4.0]),
    "an empty array": np.zeros((0, 3), np.float32),
    "complex numbers": jt.constant([[1j, 2j, 3j]]),
    "ints": jt.constant([[1, 2, 3]]),
    "bools": jt.constant([True, False]),
    "an empty list": [],
    "a ragged list": [[1], [2, 3]],
    "texts": ["a", "b"],
    "a function": lambda *args: args,
    "a slice": slice(1),
    "too many dimensions": jt.constant(np.ones((1, 1, 1, 2, 3), np.float32)),
}
MATRIX = jt.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
GOOD: dict[str, Any] = {
    "a": MATRIX,
    "axes": 0,
    "axis": 0,
    "clip_norm": 1.0,
    "clip_value_max": 1.0,
    "clip_value_min": 0.0,
    "condition": MATRIX > 0,
    "delta": 1,
    "depth": 3,
    "dims": [2],
    "dtype": jt.float32,
    "func": jt.exp,
    "indices": [0],
    "inp": [MATRIX],
    "inputs": [MATRIX, MATRIX],
    "limit": 4,
    "mask": [True, False],
    "multiples": [1, 2],
    "num": 3,
    "num_or_size_splits": 1,
    "num_rows": 3,
    "paddings": [[1, 1], [0, 0]],
    "repeats": 2,
    "seed": 1,
    "shape": [2, 3],
    "shift": 1,
    "start": 1,
    "stop": 3.0,
    "t_list": [MATRIX],
    "Tout": jt.float32,
    "values": [MATRIX, MATRIX],
}
"""Arguments by name that most functions take; others get a matrix."""
ASSERTIONS = {"Assert", "assert_equal", "assert_greater", "assert_less", "assert_rank"}
"""Functions whose errors are their results, in TensorFlow's words; see `test_assertions`."""
NO_OPS = {
    "custom_gradient",
    "explain",
    "explain_recompiles",
    "function",
    "print",
    "profile",
    "progress",
    "reset_stats",
    "stats",
} | ASSERTIONS
INTERNALS = (
    "interpreted as an integer",
    "not supported between",
    "object is not",
    "has no attribute",
    "to unpack",
)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    modules: dict[str, ModuleType] = {"": jt, "math.": jt.math, "nn.": jt.nn, "linalg.": jt.linalg}
    modules |= {"random.": jt.random, "bitwise.": jt.bitwise}
    modules |= {"signal.": jt.signal}
    seen: set[Any] = set()
    for prefix, module in modules.items():
        public = module.__all__ if module is jt.random else dir(module)
        for name in public:
            function = getattr(module, name)
            if inspect.isfunction(function) and function not in seen and name not in NO_OPS:
                seen.add(function)
                yield prefix + name, function


def look(result: Any) -> None:
    for part in result if isinstance(result, (list, tuple)) else ():
        look(part)
    if isinstance(result, jt.Tensor):
        result.numpy()


def is_raw(error: Exception) -> bool:
    """Whether an error comes from the insides of NumPy or Python, or does not say which function it is about."""
    text = str(error)
    return not re.match(r"\[[\w.]+\] ", text) or any(part in text for part in INTERNALS)


@pytest.mark.parametrize("name_and_function", list(functions()), ids=lambda pair: pair[0])
def test_every_function_answers_for_itself(name_and_function: tuple[str, Callable[..., Any]]) -> None:
    """Whatever an argument is replaced with, there is a result or an error that names the function."""
    function = name_and_function[1]
    parameters = inspect.signature(function).parameters.values()
    given = [
        p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in ("name", "Tout", "inp")
    ]
    good = {
        p.name: GOOD.get(p.name, MATRIX)
        for p in parameters
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    }
    raw = []
    for parameter in given:
        for what, value in BAD.items():
            try:
                result = function(**{**good, parameter.name: value})
                look(result)
            except (RecursionError, AssertionError) as error:
                raw.append((parameter.name, what, repr(error)))
            except Exception as error:
                if is_raw(error):
                    raw.append((parameter.name, what, repr(error)))
    assert not raw


def test_values_that_are_no_mistakes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f"{jt.constant(2.5):.2f} {jt.constant([2.5]):.1f} {jt.constant([1, 2])}" == "2.50 2.5 [1 2]"
        assert jt.tile([[1, 2]], [2, 1]).tolist() == [[1, 2], [1, 2]]
        assert np.tile(jt.constant([1, 2]), (2, 1)).tolist() == [[1, 2], [1, 2]]
        assert np.tile(jt.constant([[1, 2]]), 2).tolist() == [[1, 2, 1, 2]]
        assert jt.random.uniform([2], 3, 3).tolist() == [3.0, 3.0]
        assert jt.random.uniform([2], 127, 128, jt.int8).tolist() == [127, 127]


def test_messages_name_the_call_that_explains_more() -> None:
    w = jt.Variable(1.0)
    with jt.GradientTape() as tape:
        y = jt.constant(2.0) * 3.0
    with pytest.warns(jt.UnconnectedGradientWarning, match=r"; see tape\.explain\(target, source\)$"):
        assert tape.gradient(y, w) is None
    with pytest.raises(jt.NumericsError, match=r"`with jt\.debugging\.trace_nans\(\):` names the first op"):
        jt.debugging.check_numerics(jt.math.log(jt.constant(-1.0)), "loss")
    with pytest.raises(MemoryError, match=r"^\[cumsum\] .* jt\.plot\.memory\(\) shows"):
        jt.cumsum(jt.ones([10**7, 10**7])).numpy()
    x = jt.ones([10**7])
    with pytest.raises(
        MemoryError, match=r"^\[outer\] .*\[10000000,10000000\], the result of .* recorded at"
    ):
        jt.function(jt.linalg.outer)(x, x).numpy()
    with jt.GradientTape() as tape:
        w * 2.0
    assert "jt.plot.memory()" in repr(tape)
