"""Python numbers, and sequences of them, as inputs of a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import is_
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import DOUBLES, WIDE_INTS, as_dtype, float64, int32, int64
from jittape.core.primitive import active
from jittape.core.program import Aval
from jittape.core.symbolic.extent_functions import converted
from jittape.core.symbolic.extents import open_extents
from jittape.core.traced_scalar import TracedScalar, derived
from jittape.core.user_calls import named
from jittape.primitives.broadcast import cast_op
from jittape.recording.convert import convert_to_tensor, plain_kind
from jittape.recording.operators import Operators
from jittape.recording.tensor import leaves_of, tensor_of
from jittape.recording.trie import Node
from jittape.recording.trie_insertion import Marker, marker_for, result_dtypes
from jittape.transform.templates import is_pure, types_of

__all__ = ["converted_sequences", "scalar_inputs", "within"]

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


# ---- sequences of Python floats --------------------------------------------------------------------------------------

_SINGLE = frozenset(map(np.dtype, ("float32", "complex64")))


def converted_sequences(
    body: Callable[..., Any], operands: tuple[Any, ...], static: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the operands of a call with sequences of Python floats in double precision if the call needs it.

    It does if another operand is a double, or if another one is an integer and the result is no float32. The sequence
    would be rounded to float32 first: ``jt.constant([1, 2]) * [0.1, 0.2]`` is a float64 tensor.
    """
    if not any([x.__class__ in (list, tuple) for x in operands]):
        return operands
    kinds = [plain_kind(x) if x.__class__ in (list, tuple) else type(None) for x in operands]
    if None not in kinds and active.recorder.traced_in is None:
        return _plain_sequences(body, operands, static, kinds)
    precise = tuple([_in_doubles(x) if x.__class__ in (list, tuple) else x for x in operands])
    if all(map(is_, precise, operands)):
        return operands
    return precise if _needs_doubles(body, static, list(map(_part, operands))) else operands


def _needs_doubles(body: Callable[..., Any], static: tuple[Any, ...], parts: list[Any]) -> bool:
    """Return whether a call with these parts of its key needs doubles: see `converted_sequences`."""
    dtypes = [part.aval.dtype if isinstance(part, Marker) else part for part in parts]
    if not DOUBLES.isdisjoint(dtypes):
        return True
    return not WIDE_INTS.isdisjoint(dtypes) and _SINGLE.isdisjoint(_dtypes_of((body, static, *parts)))


def _plain_sequences(
    body: Callable[..., Any], operands: tuple[Any, ...], static: tuple[Any, ...], kinds: list[Any]
) -> tuple[Any, ...]:
    """Return the operands with the sequences of plain numbers of these `kinds` as tensors, each converted once.

    ``x + [1.0, 2.0]`` takes 7 µs instead of 20, ``jt.scatter_nd([[0], [1]], [1.0, 2.0], [4])`` 13 instead of 93.
    """
    arrays = [
        x if kind is type(None) else np.array(x, float64 if kind is float else int32)
        for x, kind in zip(operands, kinds, strict=True)
    ]
    dtype = np.dtype(config.default_float)
    if float in kinds and dtype != float64:
        # Without the first test, `x + [1.0, 2.0]` takes 8.6 instead of 6.7 µs.
        beside_double = any([x._aval.dtype in DOUBLES for x in arrays if hasattr(x, "_aval")])
        if beside_double or _needs_doubles(body, static, _parts_of(arrays, kinds, dtype)):
            dtype = float64
    return tuple(
        [
            x if kind is type(None) else tensor_of(x if kind is int else x.astype(dtype, copy=False))
            for x, kind in zip(arrays, kinds, strict=True)
        ]
    )


def _parts_of(arrays: list[Any], kinds: list[Any], dtype: np.dtype[Any]) -> list[Any]:
    """Return the parts of a call's key for operands and for arrays of numbers of these `kinds`."""
    dtypes = {float: dtype, int: int32}
    return [
        _part(x) if kind is type(None) else marker_for(Aval(x.shape, dtypes[kind]), None)
        for x, kind in zip(arrays, kinds, strict=True)
    ]


def _dtypes_of(key: tuple[Any, ...]) -> list[np.dtype[Any]]:
    """Return the dtypes of the results of a call; a body that is not pure runs each time."""
    kinds = types_of(key[1])
    if open_extents or kinds is None or not is_pure(key[0]):
        return result_dtypes(key)
    return _known_dtypes(key, kinds, config._default_float)


@lru_cache(maxsize=1024)
def _known_dtypes(key: tuple[Any, ...], kinds: Any, default_float: str) -> list[np.dtype[Any]]:
    return result_dtypes(key)


def _part(operand: Any) -> Any:
    """Return the part of a call's key for an operand: a marker, or the type of a number."""
    if isinstance(operand, TracedScalar):
        return operand.kind
    if isinstance(operand, np.generic):
        return as_dtype(operand.dtype)
    if type(operand) in (float, int, bool, complex):
        return type(operand)
    value: Any = operand if isinstance(operand, Operators) else convert_to_tensor(operand)
    return marker_for(value.aval, getattr(value, "trainable", None))


def _in_doubles(value: Any) -> Any:
    """Return a sequence of Python floats or complex numbers in double precision, another value unchanged."""
    kinds = {type(x) for x in leaves_of(value)}
    if kinds <= {int, float, complex} and not kinds <= {int}:
        return convert_to_tensor(value, complex if complex in kinds else float)
    return value
