"""Assertions about signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.debugging.assertion_op import CONDITIONS, Condition, check, first_elements
from jittape.primitives.elementwise.comparison import greater, greater_equal, less, less_equal

__all__ = ["assert_negative", "assert_non_negative", "assert_non_positive", "assert_positive"]


def _text_of_one(sign: str) -> Callable[..., str]:
    """Return the function for the text about one tensor: the first element that fails, and the first elements."""

    def text(holds: Any, x: Any, *, labels: Any, count: int) -> str:
        place = [int(i) for i in np.argwhere(~holds)[0]]
        where = f" at {place}" if place else ""
        return (
            f"Condition x {sign} 0 did not hold element-wise: it is {x[~holds][0]}{where}\n"
            f"x (shape={x.shape} dtype={x.dtype.name}) = \n{first_elements(x, count)}"
        )

    return text


CONDITIONS |= {
    "x > 0": Condition(lambda x: greater(x, 0), _text_of_one(">")),
    "x >= 0": Condition(lambda x: greater_equal(x, 0), _text_of_one(">=")),
    "x < 0": Condition(lambda x: less(x, 0), _text_of_one("<")),
    "x <= 0": Condition(lambda x: less_equal(x, 0), _text_of_one("<=")),
}


def assert_positive(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless all elements are positive; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.debugging.assert_positive([1, 2])
    """
    check("x > 0", (x,), message, summarize)


def assert_negative(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless all elements are negative; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.debugging.assert_negative([-1, -2])
    """
    check("x < 0", (x,), message, summarize)


def assert_non_negative(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless all elements are at least 0; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.debugging.assert_non_negative([0, 1])
    """
    check("x >= 0", (x,), message, summarize)


def assert_non_positive(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise an error unless all elements are at most 0; the arguments are those of `assert_equal`.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    message, summarize, name : those of `assert_equal`

    Raises
    ------
    InvalidArgumentError
        If the condition does not hold for an element.
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.debugging.assert_non_positive([0, -1])
    """
    check("x <= 0", (x,), message, summarize)
