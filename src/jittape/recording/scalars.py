"""Python numbers as run-time inputs of a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.calls import named
from jittape.hostnumber import HostNumber, derived
from jittape.primitives.broadcast import cast_op
from jittape.recording.trie import Node

__all__ = ["scalar_inputs", "within"]


def scalar_inputs(node: Node, scalars: Sequence[Any]) -> list[Any]:
    """The run-time values of the scalar inputs of `node`. An int that does not fit is an error on the user's line."""
    return [
        scalars[position] if dtype is None else _fitted(scalars[position], dtype)
        for position, dtype in node.scalars
    ]


def _fitted(value: Any, integer: np.dtype[Any]) -> Any:
    try:
        if type(value) is HostNumber:
            return derived(within, value.text, value, integer)
        return within(value, integer)
    except OverflowError as error:
        named(error)
        raise


def within(value: Any, integer: np.dtype[Any]) -> Any:
    """A number as an element of an integer dtype.

    Raises
    ------
    OverflowError
        If it is an int that does not fit.
    """
    if isinstance(value, (float, complex)):
        return cast_op.evaluate(np.asarray(value), dtype=integer).item()
    try:
        return integer.type(value).item()
    except OverflowError:
        raise OverflowError(
            f"the number {value} does not fit {integer.name}, the dtype of what it meets; jt.cast that to a wider "
            "dtype first"
        ) from None
