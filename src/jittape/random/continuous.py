"""Uniform and normal numbers, whichever source the state comes from.

Each function checks its arguments before it calls `take`, which gives the state for a number of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar, literal
from jittape.core.config import config
from jittape.core.dtypes import as_dtype, int64, uint64
from jittape.core.primitive import Primitive, any_dtype, apply
from jittape.primitives.broadcast import broadcast, broadcast_operands, cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import (
    equal,
    greater_equal,
    less,
    less_equal,
    logical_and,
    where,
)
from jittape.primitives.elementwise.random_numbers import multiply_high, normal_op, truncated_normal_op
from jittape.random.arguments import extents_of, float_dtype, is_symbolic, parameter, real_array
from jittape.random.checked_values import checked_value_op
from jittape.random.coordinates import bits, coordinates, not_negative, scaled, unit_of_bits
from jittape.recording.tensor import Tensor

__all__ = ["Take", "draw_normal", "draw_truncated_normal", "draw_uniform", "draw_uniform_full_int"]

Take = Callable[[int], Any]
"""A function that returns a state for a number of blocks."""


# ---- normal ----------------------------------------------------------------------------------------------------------


def _standard(state: Any, shape: tuple[int, ...], dtype: np.dtype[Any], op: Primitive) -> Any:
    return op.bind(*coordinates(state, shape), dtype=dtype)


def _scaled(
    state: Any, center: Any, scale: Any, shape: tuple[int, ...], dtype: np.dtype[Any], op: Primitive
) -> Any:
    return scaled(center, not_negative(scale, dtype), _standard(state, shape, dtype, op))


def _draw(op: str, record: Primitive, take: Take, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Tensor:
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    center = parameter(op, "mean", mean, extents)
    scale = parameter(op, "stddev", stddev, extents, lambda x: (x >= 0) | (x != x), "not be negative")
    state = take(math.prod(extents))
    if type(center) is float and type(scale) is float and center == 0.0 and scale == 1.0:
        return apply(_standard, (state,), (extents, wanted, record))
    return apply(_scaled, (state, center, scale), (extents, wanted, record))


def draw_normal(op: str, take: Take, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Tensor:
    """Draw normally distributed numbers."""
    return _draw(op, normal_op, take, shape, mean, stddev, dtype)


def draw_truncated_normal(op: str, take: Take, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Tensor:
    """Draw normally distributed numbers within two standard deviations."""
    return _draw(op, truncated_normal_op, take, shape, mean, stddev, dtype)


# ---- uniform ---------------------------------------------------------------------------------------------------------


@any_dtype
def _unit(state: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return unit_of_bits(bits(state, shape), dtype)


@any_dtype
def _between(state: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    low, high = [broadcast(cast_to(x, dtype), shape) for x in (low, high)]
    width = subtract(high, low)
    x = scaled(low, width, _unit(state, shape, dtype))
    defined = logical_and(greater_equal(width, 0), less(width, math.inf))
    return where(defined, where(less(x, high), x, low), math.nan)  # rounding may give `high`


def draw_uniform(op: str, take: Take, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Tensor:
    """Draw uniformly distributed numbers in ``[minval, maxval)``."""
    wanted = as_dtype(config.default_float if dtype is None else dtype)
    extents = extents_of(op, shape)
    if wanted.kind in "iu":
        return _draw_integers(op, take, extents, minval, maxval, wanted)
    wanted = float_dtype(op, wanted)
    low = parameter(op, "minval", 0 if minval is None else minval, extents)
    high = parameter(op, "maxval", 1.0 if maxval is None else maxval, extents)
    if type(low) is int and type(high) is float and low == 0 and high == 1.0:
        return apply(_unit, (take(math.prod(extents)),), (extents, wanted))
    if not (is_symbolic(low) or is_symbolic(high)):
        first, last = np.asarray(low, wanted), np.asarray(high, wanted)
        if not np.all((first <= last) & np.isfinite(last - first)):
            raise ValueError(
                f"[random.{op}] minval must not exceed maxval, and both be finite, got {minval!r} and {maxval!r}"
            )
    return apply(_between, (take(math.prod(extents)), low, high), (extents, wanted))


# ---- integers --------------------------------------------------------------------------------------------------------


def _integers(state: Any, first: Any, width: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return ``first`` plus the integer part of a fraction of 128 bits times `width`; a width of 0 is 2**64.

    The probabilities of the results differ by less than 2**-64 of one.
    """
    first, width = [broadcast(cast_to(x, uint64), shape) for x in (first, width)]
    low, high = bits(state, shape, 0), bits(state, shape, 1)
    product, carried = multiply(high, width), multiply_high(low, width)
    carry = cast_to(less(add(product, carried), product), uint64)
    chosen = add(multiply_high(high, width), carry)
    everything = equal(width, broadcast(literal(0, uint64), shape))
    return cast_to(add(first, where(everything, high, chosen)), dtype)


def _draw_integers(
    op: str, take: Take, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: np.dtype[Any]
) -> Tensor:
    if maxval is None:
        raise ValueError(f"[random.{op}] Must specify maxval for integer dtype {dtype.name}")
    minval = 0 if minval is None else minval
    first, width = _range(op, minval, maxval, shape, dtype)
    return apply(_integers, (take(math.prod(shape)), first, width), (shape, dtype))


def _range(
    op: str, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[Any, Any]:
    """Return the least integer and the number of integers, modulo 2**64, as uint64."""
    if is_symbolic(minval) or is_symbolic(maxval):
        first: Any
        first, end = [parameter(op, name, x, shape) for name, x in (("minval", minval), ("maxval", maxval))]
        return first, apply(_width, (first, end), (op, dtype))
    low, high = _exact(op, "minval", minval, shape), _exact(op, "maxval", maxval, shape)
    limits = np.iinfo(dtype)
    if not np.all((low < high) & (low >= limits.min) & (high <= int(limits.max) + 1)):
        raise ValueError(
            f"[random.{op}] minval must be below maxval and both within {dtype.name}, got {minval!r} and {maxval!r}"
        )
    modulus = 1 << 64
    return np.asarray(low % modulus, np.uint64), np.asarray((high - low) % modulus, np.uint64)


def _exact(op: str, argument: str, value: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return a bound as an array of Python's ints, which hold 2**64 too."""
    if isinstance(value, int):
        return np.array(value, object)
    parameter(op, argument, value, shape)
    array = real_array(op, argument, value)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"[random.{op}] {argument} must be finite, got {value!r}")
    return np.asarray(np.vectorize(int, otypes="O")(array) if array.size else array.astype(object))


def _width(first: Any, end: Any, op: str, dtype: np.dtype[Any]) -> Any:
    """Return the number of integers as uint64; no integers, or some that `dtype` cannot hold, raise at run time."""
    work = uint64 if dtype == uint64 else int64
    signed = [x for x in (first, end) if not isinstance(x, WeakScalar) and x.dtype.kind != "u"]
    first, end = broadcast_operands(cast_to(first, work), cast_to(end, work))
    last: Any = subtract(end, 1)
    valid = logical_and(less(first, end), less_equal(last, int(np.iinfo(dtype).max)))
    least = int(np.iinfo(dtype).min)
    for x in signed if work == uint64 else (first,):
        valid = logical_and(valid, broadcast(greater_equal(x, least), first.shape))
    rule = f"exceed minval, and both must be within {dtype.name}"
    checked = checked_value_op.bind(end, valid, op=op, argument="maxval", rule=rule)
    return subtract(cast_to(checked, uint64), cast_to(first, uint64))


def _full(state: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return cast_to(bits(state, shape), dtype)


def draw_uniform_full_int(op: str, take: Take, shape: Any, dtype: Any) -> Tensor:
    """Draw integers among all that `dtype` has."""
    wanted, extents = as_dtype(dtype), extents_of(op, shape)
    if wanted.kind not in "iu":
        raise TypeError(f"[random.{op}] dtype must be an integer dtype, got {wanted.name}")
    return apply(_full, (take(math.prod(extents)),), (extents, wanted))
