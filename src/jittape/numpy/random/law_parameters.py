"""Parameters and shapes of random numbers, as NumPy's generators take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.numpy.array_arguments import as_operand, as_tensor
from jittape.random.arguments import extents_of, operand_shape, parameter
from jittape.recording.tensor import Tensor, holds_tensors

__all__ = ["COUNT", "NOT_NEGATIVE", "POSITIVE", "PROBABILITY", "Take", "checked", "extents", "refuse_out"]

Take = Callable[[int], Any]
"""A function that returns a state of the generator for a number of blocks."""

Rule = tuple[Callable[[Any], Any], str]
NOT_NEGATIVE: Rule = (lambda x: (x >= 0) | (x != x), "not be negative")
POSITIVE: Rule = (lambda x: (x > 0) | (x != x), "be positive")
PROBABILITY: Rule = (lambda x: (x >= 0) & (x <= 1), "be between 0 and 1")
COUNT: Rule = (lambda x: (x >= 0) & (x == np.floor(x)), "be a whole number of at least 0")


def checked(op: str, argument: str, value: Any, *rule: Any) -> Any:
    """Return a parameter as an operand; numbers and arrays must follow `rule`, the values of tensors are not read."""
    if isinstance(value, (list, tuple)):
        value = as_tensor(value) if holds_tensors(value) else as_operand(value, argument)
    return parameter(op, argument, value, None, *rule)


def extents(op: str, size: Any, *parameters: Any) -> tuple[int, ...]:
    """Return the shape `size` of the numbers, by default that to which the parameters broadcast.

    Raises
    ------
    ShapeError
        If the parameters do not broadcast to it.
    """
    shapes = [operand_shape(p) for p in parameters]
    try:
        common = np.broadcast_shapes(*shapes)
        if size is None:
            return common
        wanted = extents_of(op, size if isinstance(size, (tuple, list, Tensor)) else (as_int("size", size),))
        if np.broadcast_shapes(common, wanted) == wanted:
            return wanted
    except ValueError:
        pass
    texts = ", ".join(map(str, shapes))
    raise ShapeError(f"[random.{op}] parameters of shapes {texts} do not broadcast to size {size}")


def refuse_out(op: str, out: Any) -> None:
    """Raise `TypeError` for ``out=``."""
    if out is not None:
        raise TypeError(f"[random.{op}] cannot record into out=; use the result")
