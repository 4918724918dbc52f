"""Assertions about values: comparisons of two tensors, and `Assert`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import bool_
from jittape.debugging.assertion_op import CONDITIONS, Condition, check, first_elements
from jittape.errors import DTypeError
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import absolute
from jittape.recording.convert import convert_to_tensor

__all__ = [
    "Assert",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_none_equal",
]


def _text_of_two(sign: str) -> Callable[..., str]:
    """Return the function for the text about two tensors: where they fail, and the values there."""

    def text(holds: Any, x: Any, y: Any, *, labels: Any, count: int) -> str:
        lines = [f"Condition x {sign} y did not hold."]
        if holds.ndim:
            wrong = np.argwhere(~holds)
            wrong = wrong if count < 0 else wrong[:count]
            lines += [f"Indices of first {len(wrong)} different values:", str(wrong)]
            for name, value in (("x", x), ("y", y)):
                there = np.broadcast_to(value, holds.shape)[tuple(wrong.T)]
                lines += [f"Corresponding {name} values:", str(there)]
        for name, value in (("x", x), ("y", y)):
            first = first_elements(value, count)
            lines += [f"First {len(first)} elements of {name}:", str(first)]
        return "\n".join(lines)

    return text


def _near(x: Any, y: Any, rtol: Any, atol: Any) -> Any:
    return less_equal(absolute(subtract(x, y)), add(atol, multiply(rtol, absolute(y))))


def _text_of_near(holds: Any, x: Any, y: Any, rtol: Any, atol: Any, *, labels: Any, count: int) -> str:
    text = _text_of_two("~=")(holds, x, y, labels=labels, count=count)
    return f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}\n{text}"


def _text_of_assert(holds: Any, condition: Any, *data: Any, labels: Any, count: int) -> str:
    values = iter(data)
    shown = [_summary(next(values), count) if label is None else label for label in labels]
    return f"Expected '{condition}' to be true. Summarized data: " + "\n".join(shown)


def _summary(array: Any, count: int) -> str:
    first = first_elements(array, count)
    return ", ".join([*map(str, first), *(["..."] if first.size < array.size else [])])


CONDITIONS |= {
    "x == y": Condition(equal, _text_of_two("==")),
    "x != y": Condition(not_equal, _text_of_two("!=")),
    "x < y": Condition(less, _text_of_two("<")),
    "x <= y": Condition(less_equal, _text_of_two("<=")),
    "x > y": Condition(greater, _text_of_two(">")),
    "x >= y": Condition(greater_equal, _text_of_two(">=")),
    "near": Condition(_near, _text_of_near),
    "Assert": Condition(lambda condition, *data: cast(condition, bool_), _text_of_assert),
}


def assert_equal(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless `x` and `y` are equal, element by element.

    In a `jt.function` or the body of a loop, the check runs each time.

    Parameters
    ----------
    x, y : tensor-like
        Tensors that broadcast together.
    message : str, optional
        Start of the error message.
    summarize : int, optional
        Number of elements to show; 3 by default, -1 for all.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    InvalidArgumentError
        With the first elements that fail and their positions. The other assertions about values raise it too.

    Examples
    --------
    >>> jt.debugging.assert_equal([1, 2], [1, 2])
    >>> try:
    ...     jt.debugging.assert_equal([1, 2], [1, 3], message="labels")
    ... except ValueError as error:
    ...     print(error)
    labels
    Condition x == y did not hold.
    Indices of first 1 different values:
    [[1]]
    Corresponding x values:
    [2]
    Corresponding y values:
    [3]
    First 2 elements of x:
    [1 2]
    First 2 elements of y:
    [1 3]
    """
    check("x == y", (x, y), message, summarize)


def assert_none_equal(
    x: Any, y: Any, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> None:
    """Raise an error unless `x` and `y` differ in every element; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.debugging.assert_none_equal([1, 2], [2, 1])
    """
    check("x != y", (x, y), message, summarize)


def assert_less(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless `x` is less than `y`, element by element; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.debugging.assert_less([1, 2], 3)
    """
    check("x < y", (x, y), message, summarize)


def assert_less_equal(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless `x` is at most `y`, element by element; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.debugging.assert_less_equal([1, 2], 2)
    """
    check("x <= y", (x, y), message, summarize)


def assert_greater(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless `x` is greater than `y`, element by element; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.debugging.assert_greater([1, 2], 0)
    """
    check("x > y", (x, y), message, summarize)


def assert_greater_equal(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless `x` is at least `y`, element by element; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.debugging.assert_greater_equal([1, 2], 1)
    """
    check("x >= y", (x, y), message, summarize)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise an error unless ``abs(x - y) <= atol + rtol * abs(y)``, element by element.

    Parameters
    ----------
    x, y : tensor-like
        Tensors of floats or complex numbers that broadcast together.
    rtol, atol : number, optional
        Ten times the distance from 1 to the next number of the dtype of `x` by default.
    message, summarize, name
        As for `assert_equal`.

    Raises
    ------
    InvalidArgumentError
        If a difference is greater, or a value is nan.
    DTypeError
        If `x` is neither floating nor complex.

    Examples
    --------
    >>> jt.debugging.assert_near([1.0, 2.0], [1.0, 2.000001])
    """
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, dtype_hint=x.dtype)
    if x.dtype.kind not in "fc":
        raise DTypeError(f"[assert_near] x must be floating or complex, got {x.dtype.name}; use assert_equal")
    own = 10 * float(np.finfo(x.dtype).eps)
    bounds = [own if bound is None else bound for bound in (rtol, atol)]
    check("near", (x, y, *bounds), message, summarize)


def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error that shows `data` unless all elements of `condition` are true.

    Parameters
    ----------
    condition : tensor-like
        Bools, or numbers that are not 0.
    data : sequence
        Strings and tensors for the message.
    summarize : int, optional
        Number of elements of each tensor to show; 3 by default, -1 for all.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    TypeError
        If `data` is no list or tuple.
    ValueError
        If the condition is not true. In a `jt.function` or the body of a loop, when it runs.

    Examples
    --------
    >>> x = jt.constant([1.0, -2.0])
    >>> try:
    ...     jt.debugging.Assert(jt.reduce_min(x) > 0.0, ["x must be positive:", x])
    ... except ValueError as error:
    ...     print(error)
    Expected 'False' to be true. Summarized data: x must be positive:
    1.0, -2.0
    """
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"values must be a sequence: [Assert] data must be a list, got {data!r}")
    labels = tuple([value if isinstance(value, str) else None for value in data])
    values = [value for value in data if not isinstance(value, str)]
    check("Assert", (condition, *values), None, summarize, labels)
