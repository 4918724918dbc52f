"""Parameters and shapes of random numbers, as NumPy's generators take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, float32, float64
from jittape.core.user_calls import as_int, shown
from jittape.errors import ShapeError
from jittape.numpy.array_arguments import as_operand, as_tensor
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.random.arguments import extents_of, is_symbolic, operand_shape, parameter
from jittape.recording.tensor import Tensor, holds_tensors

__all__ = [
    "CHANCE",
    "COUNT",
    "EXACT_COUNT",
    "FINITE",
    "MEAN",
    "NOT_NEGATIVE",
    "POSITIVE",
    "PROBABILITY",
    "Take",
    "checked",
    "extents",
    "float_of",
    "ordered",
    "real",
    "refuse_out",
]

Take = Callable[[int], Any]
"""A function that returns a state of the generator for a number of blocks."""

Rule = tuple[Callable[[Any], Any], str]
FINITE: Rule = (lambda x: (x > 0) & (x < np.inf), "be positive and finite")
MEAN: Rule = (
    lambda x: (x >= 0) & (x < 9.2e18),
    "be at least 0 and less than 9.2e18, so that int64 holds the counts",
)
NOT_NEGATIVE: Rule = (lambda x: (x >= 0) | (x != x), "not be negative")
POSITIVE: Rule = (lambda x: (x > 0) | (x != x), "be positive")
CHANCE: Rule = (lambda x: (x > 0) & (x <= 1), "be greater than 0 and at most 1")
PROBABILITY: Rule = (lambda x: (x >= 0) & (x <= 1), "be between 0 and 1")
COUNT: Rule = (lambda x: (x >= 0) & (x == np.floor(x)), "be a whole number of at least 0")
EXACT_COUNT: Rule = (lambda x: x < 2**53, "be less than 2**53, so that float64 holds the counts")


def checked(op: str, argument: str, value: Any, *rule: Any) -> Any:
    """Return a parameter as an operand; numbers and arrays must follow `rule`, the values of tensors are not read."""
    if isinstance(value, (list, tuple)):
        value = as_tensor(value) if holds_tensors(value) else as_operand(value, argument)
    return parameter(op, argument, value, None, *rule)


def real(op: str, argument: str, value: Any, *rule: Any) -> Any:
    """Return a parameter of a continuous law as float64: formulas of Python's numbers would be float32 or int32."""
    given = checked(op, argument, value, *rule)
    if is_symbolic(given):
        return cast(given, float64)
    return given.astype(np.float64) if isinstance(given, np.ndarray) else np.float64(given)


def ordered(op: str, least: str, low: Any, greatest: str, high: Any, strictly: bool = False) -> None:
    """Raise `ValueError` if a number or array `low` exceeds `high`; the values of tensors are not read."""
    if is_symbolic(low) or is_symbolic(high):
        return
    if np.any(np.asarray(low) >= high if strictly else np.asarray(low) > high):
        rule = "must be less than" if strictly else "must not exceed"
        found = " and ".join([shown(x.item() if isinstance(x, np.generic) else x) for x in (low, high)])
        raise ValueError(f"[random.{op}] {least} {rule} {greatest}, got {found}")


def float_of(op: str, dtype: Any) -> Any:
    """Return the dtype of numbers, None being float64; `TypeError` unless it is float32 or float64."""
    wanted = float64 if dtype is None else as_dtype(dtype)
    if wanted not in (float32, float64):
        raise TypeError(f"[random.{op}] dtype must be float32 or float64, got {wanted.name}")
    return wanted


def extents(op: str, size: Any, *parameters: Any) -> tuple[int, ...]:
    """Return the shape `size` of the numbers, by default that to which the parameters broadcast.

    Raises
    ------
    ShapeError
        If the parameters do not broadcast to it.
    """
    if isinstance(size, (bool, np.bool_)):
        raise TypeError(f"[random.{op}] size must be an int or a sequence of ints, got {size!r}")
    shapes = [operand_shape(p) for p in parameters]
    try:
        common = np.broadcast_shapes(*shapes)
        if size is None:
            return common
        several = isinstance(size, (tuple, list, Tensor)) or getattr(size, "ndim", 0) == 1
        wanted = extents_of(op, size if several else (as_int("size", size),))
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
