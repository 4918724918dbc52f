"""The math namespace `m`: the functions that a scalar formula may use.

A formula is a function of the namespace and of values, `def sinh(m, x)`. The same formula computes with NumPy arrays
(`NumPyMath`, in `numpy_math`) and emits LLVM IR (`IRMath`, in `jittape.compile.llvm.ir_math`). Each of the two classes
implements the abstract methods; all other methods are written once, in terms of the abstract methods and of Python
operators. Start reading at `MathNamespace.literal`; mind `rounded_add`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jittape.vectormath import erf, exp, log, pow, sin, sinh
from jittape.vectormath.gamma_family import lgamma
from jittape.vectormath.gamma_family.gamma_functions import GammaFunctions
from jittape.vectormath.special_functions import SpecialFunctions

__all__ = ["MathNamespace", "Step", "Table", "TableStep", "Value"]

#: An `IRValue` or an array: both have `dtype` and the Python operators.
Value = Any
#: A step of `MathNamespace.repeat`.
Step = Callable[[Value, tuple[Value, ...], tuple[Value, ...]], tuple[Value, tuple[Value, ...]]]
#: A table of constants, and a step of `MathNamespace.accumulate`.
Table = tuple[tuple[float, ...], ...]
TableStep = Callable[[tuple[Value, ...], tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]]


class MathNamespace(SpecialFunctions, GammaFunctions, ABC):
    """Scalar functions over values, with the meaning of NumPy's functions of the same names.

    The operands of one call have one dtype. A Python scalar next to a value takes its dtype.
    """

    # --- abstract methods -------------------------------------------------------------------------

    @abstractmethod
    def literal(self, value: complex, dtype: DTypeLike) -> Value:
        """Return the constant `value` as a value of `dtype`."""

    @abstractmethod
    def cast(self, x: Value, dtype: DTypeLike) -> Value:
        """Convert as `astype` does; a float out of range of an integer dtype gives some integer."""

    @abstractmethod
    def bitcast(self, x: Value, dtype: DTypeLike) -> Value:
        """Reinterpret the bits as another dtype of the same width."""

    @abstractmethod
    def where(self, condition: Value, a: Value, b: Value) -> Value:
        """Select by a bool; both sides are evaluated, and one of them may be a Python scalar."""

    @abstractmethod
    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Return ``a * b + c`` rounded once, even on processors without the instruction, where it is slow."""

    @abstractmethod
    def rounded_add(self, a: Value, b: Value) -> Value:
        """Return ``a + b`` rounded separately.

        A plain ``+`` or ``-`` next to a ``*`` may be contracted to a fused multiply-add. Error-free transformations
        must not be contracted, so they use `rounded_add` and `rounded_multiply`.
        """

    @abstractmethod
    def rounded_multiply(self, a: Value, b: Value) -> Value:
        """Return ``a * b`` rounded separately."""

    @abstractmethod
    def rarely(self, condition: Value, function: str, argument: Value, otherwise: Value) -> Value:
        """Return the C library's `function` of the argument if `condition` holds, else `otherwise`.

        This is for arguments so rare that a branch-free form would slow down all others. The surrounding loop still
        vectorizes.
        """

    @abstractmethod
    def repeat(
        self,
        step: Step,
        fixed: tuple[Value, ...],
        start: tuple[Value, ...],
        limit: int = 256,
        skip: Value | None = None,
    ) -> tuple[Value, ...]:
        """Repeat ``finished, values = step(number, fixed, values)`` for each element until it is finished.

        The loop ends after `limit` iterations at the latest. It is for sampling by rejection and for computations that
        few elements need.

        Parameters
        ----------
        step : callable
            Gets the number of the iteration as a uint64. It must use no other values than its arguments.
        fixed : tuple
            Values that stay the same. The first one is a vector if any is.
        start : tuple
            Initial values. An element keeps its values when it is finished.
        skip : bool value, optional
            Elements that are finished from the start.
        """

    @abstractmethod
    def accumulate(
        self, step: TableStep, table: Table, fixed: tuple[Value, ...], start: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        """Return the last ``values = step(row, fixed, values)`` over the rows of a table, beginning with `start`.

        Machine code has a loop over the table, so that long sums compile fast: the integral of 28 nodes in `igamma`,
        unrolled, took LLVM seven times as long.

        Parameters
        ----------
        step : callable
            It may use other values than its arguments.
        table : tuple of rows
            Constants; a step gets them as float64.
        fixed : tuple
            Values that stay the same. The first one is a vector if any is.
        start : tuple
            Initial values.
        """

    @abstractmethod
    def fmod(self, a: Value, b: Value) -> Value:
        """Return the remainder of floats with the sign of `a`, as in C."""

    @abstractmethod
    def sqrt(self, x: Value) -> Value:
        """Return the square root, correctly rounded."""

    @abstractmethod
    def copysign(self, x: Value, y: Value) -> Value:
        """Return the magnitude of `x` with the sign of `y`."""

    @abstractmethod
    def absolute(self, x: Value) -> Value:
        """Return the absolute value; the least integer is unchanged."""

    @abstractmethod
    def floor(self, x: Value) -> Value:
        """Round down."""

    @abstractmethod
    def ceil(self, x: Value) -> Value:
        """Round up."""

    @abstractmethod
    def trunc(self, x: Value) -> Value:
        """Round toward zero."""

    @abstractmethod
    def rint(self, x: Value) -> Value:
        """Round to nearest, ties to even."""

    @abstractmethod
    def floor_divide(self, a: Value, b: Value) -> Value:
        """Return the quotient rounded down; an integer divided by zero gives 0."""

    @abstractmethod
    def remainder(self, a: Value, b: Value) -> Value:
        """Return the remainder with the sign of `b`; an integer divided by zero gives 0."""

    @abstractmethod
    def left_shift(self, a: Value, b: Value) -> Value:
        """Shift left; a count of at least the width gives 0."""

    @abstractmethod
    def right_shift(self, a: Value, b: Value) -> Value:
        """Shift right, arithmetically if signed; a count of at least the width gives 0, or -1 if negative."""

    @abstractmethod
    def _integer_to_integer_power(self, a: Value, b: Value) -> Value:
        """Return the power of integers, modulo 2 to the width."""

    # --- arithmetic and logic ---------------------------------------------------------------------

    def add(self, a: Value, b: Value) -> Value:
        """Return the sum; of bools, logical or."""
        return a | b if _is_bool(a) else a + b

    def subtract(self, a: Value, b: Value) -> Value:
        """Return the difference; raise `TypeError` for bools."""
        return a - b

    def multiply(self, a: Value, b: Value) -> Value:
        """Return the product; of bools, logical and."""
        return a & b if _is_bool(a) else a * b

    def divide(self, a: Value, b: Value) -> Value:
        """Return the quotient of floats."""
        return a / b

    def negative(self, x: Value) -> Value:
        """Return ``-x``."""
        return -x

    def reciprocal(self, x: Value) -> Value:
        """Return ``1 / x`` of a float."""
        return 1 / x

    def square(self, x: Value) -> Value:
        """Return ``x * x``; a bool is unchanged."""
        return self.multiply(x, x)

    def bitwise_and(self, a: Value, b: Value) -> Value:
        """Return ``a & b`` of integers or bools."""
        return a & b

    def bitwise_or(self, a: Value, b: Value) -> Value:
        """Return ``a | b`` of integers or bools."""
        return a | b

    def bitwise_xor(self, a: Value, b: Value) -> Value:
        """Return ``a ^ b`` of integers or bools."""
        return a ^ b

    def invert(self, x: Value) -> Value:
        """Return ``~x`` of an integer or bool."""
        return ~x

    def logical_and(self, a: Value, b: Value) -> Value:
        """Return whether both are nonzero."""
        return self.cast(a, np.bool_) & self.cast(b, np.bool_)

    def logical_or(self, a: Value, b: Value) -> Value:
        """Return whether at least one is nonzero."""
        return self.cast(a, np.bool_) | self.cast(b, np.bool_)

    def logical_xor(self, a: Value, b: Value) -> Value:
        """Return whether exactly one is nonzero."""
        return self.cast(a, np.bool_) ^ self.cast(b, np.bool_)

    def logical_not(self, x: Value) -> Value:
        """Return whether `x` is zero."""
        return ~self.cast(x, np.bool_)

    def equal(self, a: Value, b: Value) -> Value:
        """Return ``a == b``."""
        return a == b

    def not_equal(self, a: Value, b: Value) -> Value:
        """Return ``a != b``, which is true for nan."""
        return a != b

    def less(self, a: Value, b: Value) -> Value:
        """Return ``a < b``."""
        return a < b

    def less_equal(self, a: Value, b: Value) -> Value:
        """Return ``a <= b``."""
        return a <= b

    def greater(self, a: Value, b: Value) -> Value:
        """Return ``a > b``."""
        return a > b

    def greater_equal(self, a: Value, b: Value) -> Value:
        """Return ``a >= b``."""
        return a >= b

    def isnan(self, x: Value) -> Value:
        """Return whether `x` is nan."""
        return x != x

    def isinf(self, x: Value) -> Value:
        """Return whether `x` is plus or minus infinity."""
        return self.absolute(x) == np.inf if _is_float(x) else x != x

    def isfinite(self, x: Value) -> Value:
        """Return whether `x` is neither infinite nor nan."""
        return self.absolute(x) < np.inf if _is_float(x) else x == x

    def signbit(self, x: Value) -> Value:
        """Return whether `x` is negative, minus zero, or a nan with the sign bit set."""
        return self.bitcast(x, _signed_dtype(x)) < 0 if _is_float(x) else x < 0

    def minimum(self, a: Value, b: Value) -> Value:
        """Return the lesser of the two; nan if either is nan."""
        return a & b if _is_bool(a) else self.where((a < b) | (a != a), a, b)

    def maximum(self, a: Value, b: Value) -> Value:
        """Return the greater of the two; nan if either is nan."""
        return a | b if _is_bool(a) else self.where((a > b) | (a != a), a, b)

    def sign(self, x: Value) -> Value:
        """Return -1, 0 or 1; nan for nan."""
        zero = self.literal(0, x.dtype)
        one = self.literal(1, x.dtype)
        if x.dtype.kind == "u":
            return self.where(x > 0, one, zero)
        return self.where(x > 0, one, self.where(x < 0, -one, self.where(x == 0, zero, x)))

    # --- powers -----------------------------------------------------------------------------------

    def power(self, a: Value, b: Value) -> Value:
        """Return ``a ** b``: of floats as C99 `pow`, of integers modulo 2 to the width."""
        return pow.power(self, a, b) if _is_float(a) else self._integer_to_integer_power(a, b)

    def integer_power(self, x: Value, exponent: int) -> Value:
        """Return ``x ** exponent`` for an exponent that is known when the kernel is compiled."""
        return pow.integer_power(self, x, exponent)

    def rsqrt(self, x: Value) -> Value:
        """Return ``1 / sqrt(x)``."""
        return pow.rsqrt(self, x)

    # --- elementary functions ---------------------------------------------------------------------

    def exp(self, x: Value) -> Value:
        """Return the exponential."""
        return exp.exp(self, x)

    def exp2(self, x: Value) -> Value:
        """Return ``2 ** x``."""
        return exp.exp2(self, x)

    def expm1(self, x: Value) -> Value:
        """Return ``exp(x) - 1`` without cancellation."""
        return exp.expm1(self, x)

    def log(self, x: Value) -> Value:
        """Return the natural logarithm."""
        return log.log(self, x)

    def log2(self, x: Value) -> Value:
        """Return the logarithm to base 2, exact for powers of two."""
        return log.log2(self, x)

    def log10(self, x: Value) -> Value:
        """Return the logarithm to base 10."""
        return log.log10(self, x)

    def log1p(self, x: Value) -> Value:
        """Return ``log(1 + x)`` without cancellation."""
        return log.log1p(self, x)

    def sin(self, x: Value) -> Value:
        """Return the sine, for arguments of any size."""
        return sin.sin(self, x)

    def cos(self, x: Value) -> Value:
        """Return the cosine, for arguments of any size."""
        return sin.cos(self, x)

    def tan(self, x: Value) -> Value:
        """Return the tangent, for arguments of any size."""
        return sin.tan(self, x)

    def arcsin(self, x: Value) -> Value:
        """Return the inverse sine."""
        return sin.arcsin(self, x)

    def arccos(self, x: Value) -> Value:
        """Return the inverse cosine."""
        return sin.arccos(self, x)

    def arctan(self, x: Value) -> Value:
        """Return the inverse tangent."""
        return sin.arctan(self, x)

    def arctan2(self, y: Value, x: Value) -> Value:
        """Return the angle of the point (x, y)."""
        return sin.arctan2(self, y, x)

    def sinh(self, x: Value) -> Value:
        """Return the hyperbolic sine."""
        return sinh.sinh(self, x)

    def cosh(self, x: Value) -> Value:
        """Return the hyperbolic cosine."""
        return sinh.cosh(self, x)

    def tanh(self, x: Value) -> Value:
        """Return the hyperbolic tangent."""
        return sinh.tanh(self, x)

    def sigmoid(self, x: Value) -> Value:
        """Return ``1 / (1 + exp(-x))``."""
        return sinh.sigmoid(self, x)

    def softplus(self, x: Value) -> Value:
        """Return ``log(1 + exp(x))``."""
        return sinh.softplus(self, x)

    # --- special functions ------------------------------------------------------------------------

    def erf(self, x: Value) -> Value:
        """Return the error function."""
        return erf.erf(self, x)

    def erfc(self, x: Value) -> Value:
        """Return ``1 - erf(x)`` without cancellation."""
        return erf.erfc(self, x)

    def lgamma(self, x: Value) -> Value:
        """Return the logarithm of the absolute value of the gamma function."""
        return lgamma.lgamma(self, x)

    def digamma(self, x: Value) -> Value:
        """Return the logarithmic derivative of the gamma function."""
        return lgamma.digamma(self, x)


def _is_float(x: Value) -> bool:
    return bool(x.dtype.kind == "f")


def _is_bool(x: Value) -> bool:
    return bool(x.dtype.kind == "b")


def _signed_dtype(x: Value) -> np.dtype[Any]:
    return np.dtype(f"i{x.dtype.itemsize}")
