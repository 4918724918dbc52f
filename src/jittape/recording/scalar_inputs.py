"""Python numbers as run-time inputs of a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.core.symbolic.extent_functions import converted
from jittape.core.traced_scalar import TracedScalar, derived
from jittape.core.user_calls import named
from jittape.primitives.broadcast import cast_op
from jittape.recording.trie import Node

__all__ = ["scalar_inputs", "within"]

_EXACT = 2**53
"""Ints up to this size fit int64 and float64. Without NumPy's conversion, a start of a slice takes 2.6 µs less."""


def scalar_inputs(node: Node, scalars: Sequence[Any]) -> list[Any]:
    """Return the run-time values of the scalar inputs of `node`; raise if an int does not fit its dtype."""
    return [
        scalars[position] if dtype is None else _fitted(scalars[position], dtype)
        for position, dtype in node.scalars
    ]


def _fitted(value: Any, dtype: np.dtype[Any]) -> Any:
    if type(value) is int and -_EXACT <= value <= _EXACT:
        if dtype is int64:
            return value
        if dtype is float64:
            return float(value)
    try:
        if type(value) is TracedScalar:
            return derived(within, value.text, value, dtype)
        return converted(within, value, dtype)
    except OverflowError as error:
        named(error)
        raise


def within(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python number converted to `dtype`, which is an integer dtype or, for an int, a float dtype.

    Raises
    ------
    OverflowError
        If an int does not fit; for a float dtype, if it does not fit float64.
    """
    if isinstance(value, (float, complex)):
        return cast_op.impl(np.asarray(value), dtype=dtype).item()
    try:
        with np.errstate(over="ignore"):
            return dtype.type(value).item()
    except OverflowError:
        text, remedy = _short(value), "give a float"
        if dtype.kind in "iu":
            remedy = "jt.cast that to a wider dtype first"
        raise OverflowError(
            f"the number {text} does not fit {dtype.name}, the dtype of what it meets; {remedy}"
        ) from None


def _short(number: int) -> str:
    """Return the number for a message. Python raises an error for a text of thousands of digits."""
    return str(number) if abs(number) < 10**40 else f"of {number.bit_length()} bits"
