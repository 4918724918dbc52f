"""The math namespace of LLVM values, with which scalar formulas are compiled.

`IRMath` is the `vectormath.math_namespace.MathNamespace` of `IRValue`. A scalar formula such as

    def softsign(m, x):
        return x / (1 + m.absolute(x))

called with an `IRMath` emits its instructions where the builder is and returns the result. No function branches, so
LLVM can vectorize the loop around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import DTypeLike

from jittape.compile.llvm.ir_helpers import external
from jittape.compile.llvm.ir_value import IRValue, constant, llvm_type
from jittape.compile.llvm.ir_vectors import like, type_suffix
from jittape.core.dtypes import info_of
from jittape.vectormath.integer_pow import call_integer_power
from jittape.vectormath.libm_fallback import call_rarely
from jittape.vectormath.math_namespace import MathNamespace


class NotInLanes(TypeError):
    """A function of single numbers was given a vector."""


class IRMath(MathNamespace):
    """The math namespace that emits LLVM IR.

    Parameters
    ----------
    builder
        The builder that instructions are emitted with.
    """

    __slots__ = ("builder",)

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def _value(self, result: ir.Value, dtype: DTypeLike) -> IRValue:
        return IRValue(self.builder, result, dtype)

    def _common(self, *operands: Any) -> tuple[IRValue, ...]:
        """Return the operands as values of one dtype, all of them vectors if one is.

        Python scalars get the dtype of the values, which must agree.
        """
        model = next(operand for operand in operands if isinstance(operand, IRValue))
        values = [model._operand(operand) for operand in operands]
        lanes = next((value.lanes for value in values if value.lanes), None)
        return tuple([value.spread(lanes) for value in values])

    def _intrinsic(self, name: str, *operands: IRValue) -> IRValue:
        """Emit a call of ``llvm.<name>``, with operands and result of one type."""
        kind = operands[0].ir.type
        function_type = ir.FunctionType(kind, [kind] * len(operands))
        function = external(self.builder.module, function_type, f"llvm.{name}.{type_suffix(kind)}")
        return operands[0]._of(self.builder.call(function, [operand.ir for operand in operands]))

    def _rounding(self, name: str, x: IRValue) -> IRValue:
        return self._intrinsic(name, x) if x.dtype.kind == "f" else x

    def literal(self, value: complex, dtype: DTypeLike) -> IRValue:
        """Return an immediate."""
        return constant(self.builder, value, dtype)

    def cast(self, x: IRValue, dtype: DTypeLike) -> IRValue:
        """Convert like NumPy; a float out of range saturates or wraps, nan becomes 0."""
        dtype = np.dtype(dtype)
        if dtype == x.dtype:
            return x
        if dtype.kind == "b":
            return x != 0
        if x.dtype.kind == "f" and dtype.kind in "iu":
            return self._float_to_integer(x, dtype)
        target = like(llvm_type(dtype), x.lanes)
        if x.dtype.kind == "f":
            convert = self.builder.fpext if dtype.itemsize > x.dtype.itemsize else self.builder.fptrunc
        elif dtype.kind == "f":
            convert = self.builder.sitofp if x.dtype.kind == "i" else self.builder.uitofp
        elif llvm_type(x.dtype).width > llvm_type(dtype).width:
            convert = self.builder.trunc
        else:
            convert = self.builder.sext if x.dtype.kind == "i" else self.builder.zext
        return self._value(convert(x.ir, target), dtype)

    def _float_to_integer(self, x: IRValue, dtype: np.dtype[Any]) -> IRValue:
        """Convert with the saturating intrinsics, which have no undefined behavior.

        The conversion goes through a wider signed integer if there is one, so -1.0 becomes 255 as uint8, like in NumPy.
        """
        if dtype == np.uint64:
            negative = self.cast(self._saturate(x, np.dtype(np.int64)), np.uint64)
            return self.where(x < 0, negative, self._saturate(x, dtype))
        return self.cast(self._saturate(x, info_of(dtype).saturates), dtype)

    def _saturate(self, x: IRValue, dtype: np.dtype[Any]) -> IRValue:
        target = like(llvm_type(dtype), x.lanes)
        name = "llvm.fptosi.sat" if dtype.kind == "i" else "llvm.fptoui.sat"
        function_type = ir.FunctionType(target, [x.ir.type])
        name = f"{name}.{type_suffix(target)}.{type_suffix(x.ir.type)}"
        function = external(self.builder.module, function_type, name)
        return self._value(self.builder.call(function, [x.ir]), dtype)

    def bitcast(self, x: IRValue, dtype: DTypeLike) -> IRValue:
        """Reinterpret the bits."""
        return self._value(self.builder.bitcast(x.ir, like(llvm_type(dtype), x.lanes)), dtype)

    def where(self, condition: IRValue, a: Any, b: Any) -> IRValue:
        """Select."""
        a, b = (value.spread(condition.lanes) for value in self._common(a, b))
        return a._of(self.builder.select(condition.spread(a.lanes).ir, a.ir, b.ir))

    def fma(self, a: Any, b: Any, c: Any) -> IRValue:
        """Return a fused multiply-add."""
        return self._intrinsic("fma", *self._common(a, b, c))

    def rounded_add(self, a: Any, b: Any) -> IRValue:
        """Return a sum without the `contract` flag."""
        a, b = self._common(a, b)
        return a._of(self.builder.fadd(a.ir, b.ir))

    def rounded_multiply(self, a: Any, b: Any) -> IRValue:
        """Return a product without the `contract` flag."""
        a, b = self._common(a, b)
        return a._of(self.builder.fmul(a.ir, b.ir))

    def rarely(self, condition: IRValue, function: str, argument: Any, otherwise: Any) -> IRValue:
        """Call the C library where `condition` holds, from an outlined function (see `libm_fallback`)."""
        argument, otherwise = (v.spread(condition.lanes) for v in self._common(argument, otherwise))
        condition = condition.spread(argument.lanes)
        name = function if otherwise.dtype == np.float64 else function + "f"
        result = call_rarely(self.builder, condition.ir, name, argument.ir, otherwise.ir)
        return otherwise._of(result)

    def fmod(self, a: Any, b: Any) -> IRValue:
        """Return the C remainder, by a scalar call of the C library's `fmod`."""
        a, b = self._common(a, b)
        return a._of(self.builder.frem(a.ir, b.ir))

    def sqrt(self, x: IRValue) -> IRValue:
        """Return the square root."""
        return self._intrinsic("sqrt", x)

    def copysign(self, x: Any, y: Any) -> IRValue:
        """Copy a sign."""
        return self._intrinsic("copysign", *self._common(x, y))

    def absolute(self, x: IRValue) -> IRValue:
        """Return the absolute value."""
        if x.dtype.kind in "bu":
            return x
        return self._intrinsic("fabs", x) if x.dtype.kind == "f" else self.where(x < 0, -x, x)

    def floor(self, x: IRValue) -> IRValue:
        """Round down."""
        return self._rounding("floor", x)

    def ceil(self, x: IRValue) -> IRValue:
        """Round up."""
        return self._rounding("ceil", x)

    def trunc(self, x: IRValue) -> IRValue:
        """Round toward zero."""
        return self._rounding("trunc", x)

    def rint(self, x: IRValue) -> IRValue:
        """Round to nearest, ties to even."""
        return self._rounding("rint", x)

    def floor_divide(self, a: Any, b: Any) -> IRValue:
        """Return the quotient rounded down."""
        a, b = self._common(a, b)
        return self._float_divmod(a, b)[0] if a.dtype.kind == "f" else self._integer_divmod(a, b)[0]

    def remainder(self, a: Any, b: Any) -> IRValue:
        """Return the remainder with the sign of `b`."""
        a, b = self._common(a, b)
        return self._float_divmod(a, b)[1] if a.dtype.kind == "f" else self._integer_divmod(a, b)[1]

    def _float_divmod(self, a: IRValue, b: IRValue) -> tuple[IRValue, IRValue]:
        """Divide like NumPy's `npy_divmod`: the quotient is exact, the remainder has the sign of `b`."""
        remainder = self.fmod(a, b)
        wrong_sign = (remainder != 0) & ((b < 0) != (remainder < 0))
        quotient = self.where(wrong_sign, (a - remainder) / b - 1, (a - remainder) / b)
        adjusted = self.where(wrong_sign, remainder + b, remainder)
        floor = self.floor(quotient)
        floor = self.where(quotient - floor > 0.5, floor + 1, floor)
        floor = self.where(quotient == 0, self.copysign(0.0, a / b), floor)
        adjusted = self.where(remainder == 0, self.copysign(0.0, b), adjusted)
        return self.where(b == 0, a / b, floor), self.where(b == 0, remainder, adjusted)

    def _integer_divmod(self, a: IRValue, b: IRValue) -> tuple[IRValue, IRValue]:
        """Divide; by 1 instead of by zero, and of -1 for the least integer, where the processor would trap."""
        zero = b == 0
        if a.dtype.kind == "u":
            divisor = self.where(zero, 1, b)
            quotient = a._of(self.builder.udiv(a.ir, divisor.ir))
            return self.where(zero, 0, quotient), self.where(zero, 0, a - quotient * divisor)
        divisor = self.where(zero | ((b == -1) & (a == int(np.iinfo(a.dtype).min))), 1, b)
        quotient = a._of(self.builder.sdiv(a.ir, divisor.ir))
        remainder = a - quotient * divisor
        inexact = (remainder != 0) & ((remainder ^ divisor) < 0)
        quotient = self.where(inexact, quotient - 1, quotient)
        remainder = self.where(inexact, remainder + divisor, remainder)
        return self.where(zero, 0, quotient), self.where(zero, 0, remainder)

    def left_shift(self, a: Any, b: Any) -> IRValue:
        """Shift left by any count."""
        a, b = self._common(a, b)
        width = 8 * a.dtype.itemsize
        return self.where((b >= 0) & (b < width), a << (b & (width - 1)), 0)

    def right_shift(self, a: Any, b: Any) -> IRValue:
        """Shift right by any count."""
        a, b = self._common(a, b)
        width = 8 * a.dtype.itemsize
        within = (b >= 0) & (b < width)
        if a.dtype.kind == "i":
            return a >> self.where(within, b, width - 1)
        return self.where(within, a >> (b & (width - 1)), 0)

    def _integer_to_integer_power(self, a: IRValue, b: IRValue) -> IRValue:
        """Raise to a power by squaring and multiplying.

        A negative exponent, for which NumPy raises, gives the reciprocal rounded toward zero (0 for base 0).
        """
        a, b = self._common(a, b)
        if a.lanes:
            raise NotInLanes("powers of integers")
        power = a._of(call_integer_power(self.builder, a.ir, b.ir))
        if a.dtype.kind == "u":
            return power
        odd = (b & 1) != 0
        one = self.where(odd, a, a * a)
        inverse = self.where((a == 1) | (a == -1), one, 0)
        return self.where(b < 0, inverse, power)
