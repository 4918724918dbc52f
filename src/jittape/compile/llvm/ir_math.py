"""The math namespace of LLVM values, with which scalar formulas are compiled.

`IRMath` is the `vectormath.math_namespace.MathNamespace` of `IRValue`. A scalar formula such as

    def softsign(m, x):
        return x / (1 + m.absolute(x))

called with an `IRMath` emits its instructions where the builder is and returns the result. No function branches, so
LLVM can vectorize the loop around it.
"""

from __future__ import annotations

import platform
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numpy.typing import DTypeLike

from jittape.compile.llvm.ir_helpers import constant_table, external, integer, keep_scalar
from jittape.compile.llvm.ir_value import IRValue, constant, llvm_type
from jittape.compile.llvm.ir_vectors import like, repeated, shuffled, type_suffix
from jittape.core.dtypes import WIDENED, complex_of
from jittape.vectormath import half
from jittape.vectormath.integer_pow import call_integer_power
from jittape.vectormath.libm_fallback import call_rarely
from jittape.vectormath.machine_math import MachineMath
from jittape.vectormath.math_namespace import Step, Table, TableStep

__all__ = ["IRMath"]


@cache
def _converts_halves() -> bool:
    """Return whether the processor converts float16; LLVM otherwise calls functions of a library that is missing."""
    return platform.machine() in ("aarch64", "arm64") or bool(llvm.get_host_cpu_features().get("f16c"))


@cache
def _computes_in_halves() -> bool:
    """Return whether the processor has arithmetic on float16, which LLVM uses where it gives the same result."""
    features = llvm.get_host_cpu_features()
    return bool(features.get("avx512fp16") or features.get("fullfp16"))


class IRMath(MachineMath):
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

    def literal(self, value: complex, dtype: DTypeLike) -> IRValue:
        """Return an immediate."""
        return constant(self.builder, value, dtype)

    def _convert(self, x: IRValue, dtype: np.dtype[Any]) -> IRValue:
        target = like(llvm_type(dtype), x.lanes)
        if x.dtype.kind in "fc":
            convert = self.builder.fpext if dtype.itemsize > x.dtype.itemsize else self.builder.fptrunc
        elif dtype.kind == "f":
            convert = self.builder.sitofp if x.dtype.kind == "i" else self.builder.uitofp
        elif llvm_type(x.dtype).width > llvm_type(dtype).width:
            convert = self.builder.trunc
        else:
            convert = self.builder.sext if x.dtype.kind == "i" else self.builder.zext
        return self._value(convert(x.ir, target), dtype)

    def real(self, x: IRValue) -> IRValue:
        """Emit the real part."""
        return x.part(0)

    def imag(self, x: IRValue) -> IRValue:
        """Emit the imaginary part."""
        return x.part(1)

    def complex_number(self, real: Any, imag: Any) -> IRValue:
        """Emit a complex number."""
        real, imag = self._common(real, imag)
        dtype = complex_of(real.dtype)
        if real.lanes is None:
            pair = ir.Constant(llvm_type(dtype), ir.Undefined)
            for i, part in enumerate((real, imag)):
                pair = self.builder.insert_element(pair, part.ir, ir.Constant(ir.IntType(32), i))
            return self._value(pair, dtype)
        places = [i for lane in range(real.lanes) for i in (lane, real.lanes + lane)]
        return self._value(shuffled(self.builder, real.ir, imag.ir, places), dtype)

    def _from_half(self, x: IRValue) -> IRValue:
        if x.dtype in WIDENED:
            return half.from_bfloat16(self, self._value(x.ir, np.uint16))
        if not _converts_halves():
            return half.from_half(self, self._value(x.ir, np.uint16))
        number = self.builder.bitcast(x.ir, like(ir.HalfType(), x.lanes))
        return self._value(self.builder.fpext(number, like(ir.FloatType(), x.lanes)), np.float32)

    def _to_half(self, x: IRValue, dtype: np.dtype[Any]) -> IRValue:
        if dtype in WIDENED:
            return self._value(half.to_bfloat16(self, x).ir, dtype)
        if not _converts_halves():
            return self._value(half.to_half(self, x).ir, np.float16)
        if _computes_in_halves() or getattr(x.ir, "opname", "") in ("fptrunc", "select"):
            # LLVM must not contract operations on half, nor merge the conversion with that of a double, for which it
            # calls a library. Loops with fences are not vectorized by LLVM.
            x = self._intrinsic("arithmetic.fence", x)
        number = self.builder.fptrunc(x.ir, like(ir.HalfType(), x.lanes))
        return self._value(self.builder.bitcast(number, like(ir.IntType(16), x.lanes)), np.float16)

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
        chosen = condition.spread(a.lanes).ir
        if a.dtype.kind == "c" and a.lanes is not None:
            chosen = repeated(self.builder, chosen, 2)
        return a._of(self.builder.select(chosen, a.ir, b.ir))

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

    def repeat(
        self,
        step: Step,
        fixed: tuple[IRValue, ...],
        start: tuple[IRValue, ...],
        limit: int = 256,
        skip: IRValue | None = None,
    ) -> tuple[IRValue, ...]:
        """Emit a loop that ends when all lanes are finished, or does not begin if all are skipped."""
        builder, lanes = self.builder, fixed[0].lanes
        before = [value.spread(lanes) for value in start]
        skipped = (self.literal(False, np.bool_) if skip is None else skip).spread(lanes)
        entry = builder.block
        loop, done = (builder.append_basic_block(name) for name in ("repeat", "repeated"))
        builder.cbranch(_in_all_lanes(builder, skipped), done, loop)
        builder.position_at_end(loop)
        number, had_finished = builder.phi(ir.IntType(64)), builder.phi(skipped.ir.type)
        values = [self._value(builder.phi(value.ir.type), value.dtype) for value in before]
        finished, new = step(self._value(number, np.uint64), fixed, tuple(values))
        was_done = self._value(had_finished, np.bool_)
        after = [self.where(was_done, old, x) for old, x in zip(values, new, strict=True)]
        is_done = was_done | finished
        following = builder.add(number, ir.Constant(number.type, 1))
        ends = builder.icmp_unsigned("==", following, ir.Constant(number.type, limit))
        last = builder.block
        builder.cbranch(builder.or_(ends, _in_all_lanes(builder, is_done)), done, loop)
        carries = [(value.ir, old.ir, x.ir) for value, old, x in zip(values, before, after, strict=True)]
        zero = ir.Constant(number.type, 0)
        for phi, first, later in [
            (number, zero, following),
            (had_finished, skipped.ir, is_done.ir),
            *carries,
        ]:
            phi.add_incoming(first, entry)
            phi.add_incoming(later, last)
        builder.position_at_end(done)
        results = [self._value(builder.phi(value.ir.type), value.dtype) for value in before]
        for result, (_, first, later) in zip(results, carries, strict=True):
            result.ir.add_incoming(first, entry)
            result.ir.add_incoming(later, last)
        return tuple(results)

    def accumulate(
        self, step: TableStep, table: Table, fixed: tuple[IRValue, ...], start: tuple[IRValue, ...]
    ) -> tuple[IRValue, ...]:
        """Emit a loop over the rows of a table in the object file."""
        builder, lanes = self.builder, fixed[0].lanes
        before = [value.spread(lanes) for value in start]
        numbers, entry = constant_table(builder.module, table), builder.block
        loop, done = (builder.append_basic_block(name) for name in ("rows", "summed"))
        builder.branch(loop)
        builder.position_at_end(loop)
        number = builder.phi(ir.IntType(64))
        values = [self._value(builder.phi(value.ir.type), value.dtype) for value in before]
        row = [
            builder.load(builder.gep(numbers, [integer(0), number, integer(column)], inbounds=True))
            for column in range(len(table[0]))
        ]
        new = step(tuple([self._value(x, np.float64) for x in row]), fixed, tuple(values))
        following = builder.add(number, integer(1))
        last = builder.block
        again = builder.cbranch(builder.icmp_unsigned("<", following, integer(len(table))), loop, done)
        keep_scalar(again)
        number.add_incoming(integer(0), entry)
        number.add_incoming(following, last)
        for value, first, later in zip(values, before, new, strict=True):
            value.ir.add_incoming(first.ir, entry)
            value.ir.add_incoming(later.spread(lanes).ir, last)
        builder.position_at_end(done)
        return tuple([value.spread(lanes) for value in new])

    def fmod(self, a: Any, b: Any) -> IRValue:
        """Return the C remainder, by a scalar call of the C library's `fmod`."""
        a, b = self._common(a, b)
        return a._of(self.builder.frem(a.ir, b.ir))

    def _quotient(self, a: IRValue, b: IRValue) -> IRValue:
        divide = self.builder.udiv if a.dtype.kind == "u" else self.builder.sdiv
        return a._of(divide(a.ir, b.ir))

    def _unsigned_power(self, a: IRValue, b: IRValue) -> IRValue:
        return a._of(call_integer_power(self.builder, a.ir, b.ir))


def _in_all_lanes(builder: ir.IRBuilder, truth: IRValue) -> ir.Value:
    """Return whether a truth value holds, in all lanes of a vector."""
    if truth.lanes is None:
        return truth.ir
    bits = builder.bitcast(truth.ir, ir.IntType(truth.lanes))
    return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, -1))
