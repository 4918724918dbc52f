"""`MachineMath`: formulas for the namespaces whose operations are machine instructions.

`IRMath` writes these instructions as LLVM IR and `CountingMath` adds up what they cost. Both take the formulas from
here, so an estimate and the code that it is an estimate of have the same instructions.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jittape.core.dtypes import WIDENED, info_of
from jittape.vectormath import complex_formulas
from jittape.vectormath.complex_formulas import is_complex
from jittape.vectormath.math_namespace import MathNamespace, Value

__all__ = ["MachineMath", "NoFormula", "NotInLanes"]


class NoFormula(TypeError):
    """Raised if a formula of real numbers is given a complex one; NumPy then computes the op."""


class NotInLanes(TypeError):
    """Raised if a formula that works on one number at a time is given a vector."""


class MachineMath(MathNamespace):
    """Everything that follows from a few instructions: conversions, integer division, shifts and remainders.

    Subclasses provide the instructions and `_common`.
    """

    __slots__ = ()

    @abstractmethod
    def _common(self, *operands: Any) -> tuple[Value, ...]:
        """Return the operands as values of one dtype; all are vectors if one is."""

    @abstractmethod
    def _intrinsic(self, name: str, *operands: Value) -> Value:
        """Call ``llvm.<name>``, whose result and operands have one type."""

    @abstractmethod
    def _convert(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """Convert between dtypes other than bool results and float-to-integer; free if the bits stay the same."""

    @abstractmethod
    def real(self, x: Value) -> Value:
        """Return the real part of a complex number."""

    @abstractmethod
    def imag(self, x: Value) -> Value:
        """Return the imaginary part of a complex number."""

    @abstractmethod
    def complex_number(self, real: Value, imag: Value) -> Value:
        """Return the complex number with these parts."""

    @abstractmethod
    def _from_half(self, x: Value) -> Value:
        """Convert float16 or bfloat16 to float32."""

    @abstractmethod
    def _to_half(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """Convert float32 to float16 or bfloat16, rounding to nearest."""

    @abstractmethod
    def _saturate(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """Convert a float to the nearest integer of `dtype` toward zero; nan gives 0."""

    @abstractmethod
    def _quotient(self, a: Value, b: Value) -> Value:
        """Divide integers rounding toward zero; the result must exist."""

    @abstractmethod
    def _unsigned_power(self, a: Value, b: Value) -> Value:
        """Return ``a ** b`` of integers with wrap-around, with the bits of `b` read as an unsigned number."""

    def _rounding(self, name: str, x: Value) -> Value:
        return self._intrinsic(name, x) if x.dtype.kind == "f" else x

    def cast(self, x: Value, dtype: DTypeLike) -> Value:
        """Convert as NumPy; a float out of range saturates or wraps, nan gives 0.

        Numbers become bfloat16 by way of float32, as in ml_dtypes and TensorFlow.
        """
        dtype = np.dtype(dtype)
        if dtype == x.dtype:
            return x
        if (x.dtype.kind == "c") != (dtype.kind == "c") and dtype.kind != "b":
            return self._from_or_to_complex(x, dtype)
        if info_of(x.dtype).arithmetic != x.dtype:
            return self.cast(self._from_half(x), dtype)
        if info_of(dtype).arithmetic != dtype:
            single = self.cast(x, np.float32) if dtype in WIDENED else self._to_single(x)
            return self._to_half(single, dtype)
        if dtype.kind == "b":
            return x != 0
        if x.dtype.kind == "f" and dtype.kind in "iu":
            return self._float_to_integer(x, dtype)
        return self._convert(x, dtype)

    def _from_or_to_complex(self, x: Value, dtype: np.dtype[Any]) -> Value:
        if x.dtype.kind == "c":
            return self.cast(self.real(x), dtype)
        part = info_of(dtype).real
        return self.complex_number(self.cast(x, part), self.literal(0, part))

    def _to_single(self, x: Value) -> Value:
        """Convert to float32 such that the result, rounded to float16, is `x` rounded once.

        An inexact conversion from float64 rounds to an odd last bit (Boldo and Melquiond, IEEE Transactions on
        Computers 57, 2008): the neighbor whose last bit is set, on the same side of all float16 numbers and midpoints.
        """
        single = self.cast(x, np.float32)
        if x.dtype.kind != "f" or x.dtype == np.float32:
            return single
        back = self.cast(single, x.dtype)
        bits = self.bitcast(single, np.int32)
        toward_zero = self.where(self.absolute(back) > self.absolute(x), bits - 1, bits)
        is_inexact = (back < x) | (back > x)
        return self.bitcast(self.where(is_inexact, toward_zero | 1, bits), np.float32)

    def _float_to_integer(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """Convert with the saturating intrinsics, which have no undefined behavior.

        The conversion goes through a wider signed integer where there is one. -1.0 therefore becomes 255 as uint8, as
        in NumPy.
        """
        if dtype == np.uint64:
            negative = self.cast(self._saturate(x, np.dtype(np.int64)), np.uint64)
            return self.where(x < 0, negative, self._saturate(x, dtype))
        return self.cast(self._saturate(x, info_of(dtype).saturates), dtype)

    def fma(self, a: Any, b: Any, c: Any) -> Value:
        """Fused multiply-add."""
        return self._intrinsic("fma", *self._common(a, b, c))

    def conj(self, x: Value) -> Value:
        """Return the complex conjugate."""
        return self.complex_number(self.real(x), -self.imag(x))

    def divide(self, a: Value, b: Value) -> Value:
        """Quotient."""
        return complex_formulas.divide(self, *self._common(a, b)) if is_complex(a) else super().divide(a, b)

    def reciprocal(self, x: Value) -> Value:
        """Reciprocal."""
        return self.divide(self.literal(1, x.dtype), x) if is_complex(x) else super().reciprocal(x)

    def exp(self, x: Value) -> Value:
        """Exponential."""
        return complex_formulas.exp(self, x) if is_complex(x) else super().exp(x)

    def log(self, x: Value) -> Value:
        """Natural logarithm."""
        return complex_formulas.log(self, x) if is_complex(x) else super().log(x)

    def cos(self, x: Value) -> Value:
        """Cosine."""
        return complex_formulas.cos(self, x) if is_complex(x) else super().cos(x)

    def cosh(self, x: Value) -> Value:
        """Hyperbolic cosine."""
        return complex_formulas.cosh(self, x) if is_complex(x) else super().cosh(x)

    def sin(self, x: Value) -> Value:
        """Sine."""
        return complex_formulas.sin(self, x) if is_complex(x) else super().sin(x)

    def sinh(self, x: Value) -> Value:
        """Hyperbolic sine."""
        return complex_formulas.sinh(self, x) if is_complex(x) else super().sinh(x)

    def tan(self, x: Value) -> Value:
        """Tangent."""
        return complex_formulas.tan(self, x) if is_complex(x) else super().tan(x)

    def tanh(self, x: Value) -> Value:
        """Hyperbolic tangent."""
        return complex_formulas.tanh(self, x) if is_complex(x) else super().tanh(x)

    def integer_power(self, x: Value, exponent: int) -> Value:
        """Power with a known exponent."""
        if is_complex(x):
            return complex_formulas.integer_power(self, x, exponent)
        return super().integer_power(x, exponent)

    def isinf(self, x: Value) -> Value:
        """Whether a part is infinite."""
        return complex_formulas.isinf(self, x) if is_complex(x) else super().isinf(x)

    def isfinite(self, x: Value) -> Value:
        """Whether all parts are finite."""
        return complex_formulas.isfinite(self, x) if is_complex(x) else super().isfinite(x)

    def sqrt(self, x: Value) -> Value:
        """Square root."""
        if is_complex(x):
            return complex_formulas.sqrt(self, x)
        return self._intrinsic("sqrt", x)

    def copysign(self, x: Any, y: Any) -> Value:
        """Copy a sign."""
        return self._intrinsic("copysign", *self._common(x, y))

    def absolute(self, x: Value) -> Value:
        """Absolute value."""
        if is_complex(x):
            return complex_formulas.absolute(self, x)
        if x.dtype.kind in "bu":
            return x
        return self._intrinsic("fabs", x) if x.dtype.kind == "f" else self.where(x < 0, -x, x)

    def floor(self, x: Value) -> Value:
        """Round down."""
        return self._rounding("floor", x)

    def ceil(self, x: Value) -> Value:
        """Round up."""
        return self._rounding("ceil", x)

    def trunc(self, x: Value) -> Value:
        """Round toward zero."""
        return self._rounding("trunc", x)

    def rint(self, x: Value) -> Value:
        """Round to nearest, ties to even."""
        return self._rounding("rint", x)

    def floor_divide(self, a: Any, b: Any) -> Value:
        """Quotient rounded down."""
        return self._divmod(a, b)[0]

    def remainder(self, a: Any, b: Any) -> Value:
        """Remainder with the sign of `b`."""
        return self._divmod(a, b)[1]

    def _divmod(self, a: Any, b: Any) -> tuple[Value, Value]:
        a, b = self._common(a, b)
        return self._float_divmod(a, b) if a.dtype.kind == "f" else self._integer_divmod(a, b)

    def _float_divmod(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Divide as NumPy's `npy_divmod`: the quotient is exact, the remainder has the sign of `b`."""
        remainder = self.fmod(a, b)
        wrong_sign = (remainder != 0) & ((b < 0) != (remainder < 0))
        quotient = self.where(wrong_sign, (a - remainder) / b - 1, (a - remainder) / b)
        adjusted = self.where(wrong_sign, remainder + b, remainder)
        floor = self.floor(quotient)
        floor = self.where(quotient - floor > 0.5, floor + 1, floor)
        floor = self.where(quotient == 0, self.copysign(0.0, a / b), floor)
        adjusted = self.where(remainder == 0, self.copysign(0.0, b), adjusted)
        return self.where(b == 0, a / b, floor), self.where(b == 0, remainder, adjusted)

    def _integer_divmod(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Divide by 1 where the processor would trap: at zero, and for the least integer by -1."""
        zero = b == 0
        if a.dtype.kind == "u":
            divisor = self.where(zero, 1, b)
            quotient = self._quotient(a, divisor)
            return self.where(zero, 0, quotient), self.where(zero, 0, a - quotient * divisor)
        divisor = self.where(zero | ((b == -1) & (a == int(np.iinfo(a.dtype).min))), 1, b)
        quotient = self._quotient(a, divisor)
        remainder = a - quotient * divisor
        inexact = (remainder != 0) & ((remainder ^ divisor) < 0)
        quotient = self.where(inexact, quotient - 1, quotient)
        remainder = self.where(inexact, remainder + divisor, remainder)
        return self.where(zero, 0, quotient), self.where(zero, 0, remainder)

    def left_shift(self, a: Any, b: Any) -> Value:
        """Shift left by any count."""
        a, b = self._common(a, b)
        width = 8 * a.dtype.itemsize
        return self.where((b >= 0) & (b < width), a << (b & (width - 1)), 0)

    def right_shift(self, a: Any, b: Any) -> Value:
        """Shift right by any count."""
        a, b = self._common(a, b)
        width = 8 * a.dtype.itemsize
        within = (b >= 0) & (b < width)
        if a.dtype.kind == "i":
            return a >> self.where(within, b, width - 1)
        return self.where(within, a >> (b & (width - 1)), 0)

    def _integer_to_integer_power(self, a: Any, b: Any) -> Value:
        """Square and multiply.

        A negative exponent, which NumPy rejects, gives the reciprocal rounded toward zero (0 for base 0).
        """
        a, b = self._common(a, b)
        if a.lanes:
            raise NotInLanes("powers of integers")
        power = self._unsigned_power(a, b)
        if a.dtype.kind == "u":
            return power
        odd = (b & 1) != 0
        one = self.where(odd, a, a * a)
        inverse = self.where((a == 1) | (a == -1), one, 0)
        return self.where(b < 0, inverse, power)
