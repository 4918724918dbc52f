"""`NumPyMath`: the math namespace over NumPy arrays."""

from __future__ import annotations

import ctypes
import math
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jittape.vectormath.math_namespace import MathNamespace, Step, Table, TableStep

__all__ = ["Array", "NumPyMath"]

Array = Any


class NumPyMath(MathNamespace):
    """Formulas over NumPy arrays, for tests and for functions that NumPy lacks.

    Use it under ``np.errstate(all="ignore")``: formulas compute all branches and select.
    """

    def literal(self, value: complex, dtype: DTypeLike) -> Array:
        """Return a 0-d constant."""
        return np.asarray(value).astype(dtype)[()]

    def cast(self, x: Array, dtype: DTypeLike) -> Array:
        """Convert with `astype`."""
        return np.asarray(x).astype(dtype)

    def bitcast(self, x: Array, dtype: DTypeLike) -> Array:
        """Reinterpret the bits."""
        return np.asarray(x).view(dtype)

    def where(self, condition: Array, a: Array, b: Array) -> Array:
        """Select elements by `condition`."""
        return np.where(condition, a, b)

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        """Return ``a * b + c`` rounded once: in float64 for float32, with exact products (Dekker 1971) for float64.

        Double rounding may change the last bit. If the splitting would overflow, the result is plain ``a * b + c``.
        """
        dtype = np.result_type(a, b, c)
        if dtype == np.float32:
            return (np.float64(a) * np.float64(b) + np.float64(c)).astype(np.float32)
        product = a * b
        a_high, a_low = _split(a)
        b_high, b_low = _split(b)
        error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
        total = product + c
        back = total - product
        total_error = (product - (total - back)) + (c - back)
        fused = total + (total_error + error)
        return np.where(np.isfinite(fused), fused, total)

    def rounded_add(self, a: Array, b: Array) -> Array:
        """Return the sum."""
        return a + b

    def rounded_multiply(self, a: Array, b: Array) -> Array:
        """Return the product."""
        return a * b

    def rarely(self, condition: Array, function: str, argument: Array, otherwise: Array) -> Array:
        """Call the function of Python's `math` for the elements at which `condition` is true."""
        result = np.array(otherwise)
        for place in np.argwhere(condition):
            index = tuple(place)
            result[index] = _call_library(function, float(np.asarray(argument)[index]))
        return result

    def repeat(
        self,
        step: Step,
        fixed: tuple[Array, ...],
        start: tuple[Array, ...],
        limit: int = 256,
        skip: Array | None = None,
    ) -> tuple[Array, ...]:
        """Repeat a step for the elements that are not finished."""
        shape = np.broadcast_shapes(*[np.shape(x) for x in (*fixed, *start)])
        constants = [np.broadcast_to(x, shape).ravel() for x in fixed]
        values = [np.array(np.broadcast_to(x, shape).ravel()) for x in start]
        waiting = np.arange(values[0].size) if skip is None else np.flatnonzero(~np.broadcast_to(skip, shape))
        for number in range(limit):
            if not waiting.size:
                break
            finished, new = step(
                np.uint64(number),
                tuple([x[waiting] for x in constants]),
                tuple([x[waiting] for x in values]),
            )
            for value, x in zip(values, new, strict=True):
                value[waiting] = x
            waiting = waiting[~finished]
        return tuple([value.reshape(shape) for value in values])

    def accumulate(
        self, step: TableStep, table: Table, fixed: tuple[Array, ...], start: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Repeat a step for each row."""
        values = start
        for row in table:
            values = step(tuple([np.float64(number) for number in row]), fixed, values)
        return values

    def fmod(self, a: Array, b: Array) -> Array:
        """Return the remainder with the sign of `a`, as in C."""
        return np.fmod(a, b)

    def sqrt(self, x: Array) -> Array:
        """Return the square root."""
        return np.sqrt(x)

    def copysign(self, x: Array, y: Array) -> Array:
        """Return the magnitude of `x` with the sign of `y`."""
        return np.copysign(x, y)

    def absolute(self, x: Array) -> Array:
        """Return the absolute value."""
        return np.absolute(x)

    def floor(self, x: Array) -> Array:
        """Round down."""
        return np.floor(x)

    def ceil(self, x: Array) -> Array:
        """Round up."""
        return np.ceil(x)

    def trunc(self, x: Array) -> Array:
        """Round toward zero."""
        return np.trunc(x)

    def rint(self, x: Array) -> Array:
        """Round to the nearest integer; integers are unchanged."""
        return np.rint(x) if np.asarray(x).dtype.kind == "f" else x

    def floor_divide(self, a: Array, b: Array) -> Array:
        """Return the quotient rounded down."""
        return np.floor_divide(a, b)

    def remainder(self, a: Array, b: Array) -> Array:
        """Return the remainder with the sign of `b`."""
        return np.remainder(a, b)

    def left_shift(self, a: Array, b: Array) -> Array:
        """Shift left."""
        return np.left_shift(a, b)

    def right_shift(self, a: Array, b: Array) -> Array:
        """Shift right."""
        return np.right_shift(a, b)

    def _integer_to_integer_power(self, a: Array, b: Array) -> Array:
        reached = np.power(a, np.maximum(b, 0))
        inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)).astype(a.dtype)
        return np.where(b < 0, inverse, reached)


def _split(x: Array) -> tuple[Array, Array]:
    """Split a float64 into two halves of 26 bits (Veltkamp)."""
    shifted = x * 134217729.0
    high = shifted - (shifted - x)
    return high, x - high


def _call_library(function: str, argument: float) -> float:
    """Call the function, with the C library's result if Python raises."""
    if function == "lgamma":
        return float(_c_lgamma()(argument))
    return float(getattr(math, function)(argument)) if math.isfinite(argument) else math.nan


@cache
def _c_lgamma() -> Any:
    """Return the C library's lgamma, as called by machine code; Python's is inaccurate near its negative zeros."""
    function = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).lgamma
    function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double
    return function
