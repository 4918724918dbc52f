"""Integers that must be in a range: class numbers, lengths, elements of a permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.forms import CheckedMap
from jittape.core.primitive import Primitive
from jittape.core.user_calls import named
from jittape.errors import DTypeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, cast_to
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.comparison import greater_equal, less, logical_or, where

__all__ = ["UNBOUNDED", "check_integers", "checked_integers", "integer_array", "placed_at"]

UNBOUNDED = 2**62
"""Size of a range without an upper end."""


def placed_at(wrong: np.ndarray[Any, Any]) -> str:
    """Return the position of the first true element in brackets, for messages; empty for 0 dimensions."""
    place = ", ".join([str(int(i)) for i in np.argwhere(wrong)[0]])
    return f"[{place}]" if place else ""


def check_integers(op: str, argument: str, values: np.ndarray[Any, Any], size: int = UNBOUNDED) -> None:
    """Raise `ValueError` if one of the `values`, given as `argument`, is negative or not less than `size`."""
    if values.size and (values.min() < 0 or int(values.max()) >= size):
        wrong = (values < 0) | (values >= size)
        bounds = "must not be negative" if size == UNBOUNDED else f"must be from 0 to {size - 1}"
        raise ValueError(f"[{op}] {argument} {bounds}, got {argument}{placed_at(wrong)} = {values[wrong][0]}")


def _impl(values: Any, *, size: int, op: str, argument: str) -> Any:
    check_integers(op, argument, values, size)
    return values


def _checked(values: Any, *, size: int, op: str, argument: str) -> Any:
    """Return the decomposition for compiled code: a value out of range ends the run, which the interpreter repeats."""
    wrong = logical_or(less(values, 0), greater_equal(values, size))
    end_run_where(wrong, "ValueError", f"{op}: {argument} is out of range")
    return where(wrong, 0, values)


checked_integer_op = Primitive(
    "checked_integer",
    abstract_eval=lambda values, *, size, op, argument: values,
    impl=_impl,
    lowering=CheckedMap(_checked),
    gradient_stops="integers have no gradient",
    batch=alike(),
)
"""Integers from 0 to below `size`; `op` and `argument` name others in errors."""


def checked_integers(op: str, argument: str, values: Any, size: int = UNBOUNDED) -> Any:
    """Return `values` as int64; the first one that is negative or not less than `size` raises an error at run time."""
    values = as_symbol(values)
    if values.dtype.kind not in "iu":
        raise DTypeError(f"[{op}] {argument} must be integers, got {values.dtype.name}; cast them first")
    return checked_integer_op.bind(cast_to(values, int64), size=size, op=op, argument=argument)


def integer_array(argument: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return `array`, given as `argument`, in int64; raise `DTypeError` unless it has integers or no elements."""
    if array.dtype.kind not in "iu" and array.size:
        raise named(DTypeError(f"{argument} must be integers, got {array.dtype.name}; cast them first"))
    return array.astype(int64, copy=False)
