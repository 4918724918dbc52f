"""Instructions of a loop nest in LLVM IR, for one element at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.ir.instructions import (
    Address,
    AffineValue,
    BoundsMask,
    Compute,
    Constant,
    Instruction,
    KernelMask,
    KernelReduction,
    Linear,
    Load,
    ZeroMask,
)
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop.outline import result_of
from jittape.compile.llvm.ir_helpers import external, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type, memory_type
from jittape.compile.llvm.ir_vectors import like, spread
from jittape.core.forms import Reduce
from jittape.core.tuning import tuning

__all__ = ["I64", "NO_WRAP", "LaneMath", "ScalarBody"]

I64 = ir.IntType(64)
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
NO_WRAP = ("nsw",)


_HIDDEN = "llvm.strip.invariant.group.p0"


def _places(kernel: LoopKernel) -> list[int]:
    """Return the operand of each address that an iteration accesses."""
    loads = [i.address for i in kernel.instructions if isinstance(i, Load)]
    written = [s.address for s in kernel.stores] + [r.address for r in kernel.reductions]
    return [address.operand for address in {*loads, *written}]


class LaneMath(IRMath):
    """The math namespace of reductions. Maximum and minimum are intrinsics, so that LLVM vectorizes their reductions.

    The maximum of 10⁵ float32 takes 10 µs instead of 127.
    """

    __slots__ = ()

    def maximum(self, a: Any, b: Any) -> IRValue:
        return self._intrinsic("maximum", a, b) if a.dtype.kind == "f" else super().maximum(a, b)

    def minimum(self, a: Any, b: Any) -> IRValue:
        return self._intrinsic("minimum", a, b) if a.dtype.kind == "f" else super().minimum(a, b)


class ScalarBody:
    """Emitter of a kernel's instructions.

    Attributes
    ----------
    values : dict
        The values of the instructions, by number.
    integers : dict
        The values of the kernel's symbols and loop variables, by name.
    certain : set of int
        The masks that are known to be true here.
    counted : dict
        For each loop, by name, its start and the number of iterations so far.
    width : int or None
        Number of elements of the innermost loop that run together; None if it is not written as vectors.
    """

    def __init__(
        self,
        kernel: LoopKernel,
        builder: ir.IRBuilder,
        pointers: Sequence[ir.Value],
        symbols: Mapping[str, ir.Value],
    ) -> None:
        self.kernel = kernel
        self.builder = builder
        self.pointers = pointers
        self.integers = dict(symbols)
        self.math = IRMath(builder)
        self.lanes = LaneMath(builder)
        self.values: dict[int, IRValue] = {}
        self.certain: set[int] = set()
        self.counted: dict[str, tuple[ir.Value | None, ir.Value]] = {}
        self.width: int | None = None
        self._places = _places(kernel)

    def instruction(self, instruction: Instruction) -> IRValue:
        match instruction:
            case Load(address, mask, dtype):
                if mask is None or self._is_true(mask):
                    return self.load(address, dtype)
                return self.masked_load(address, mask, dtype)
            case Compute(primitive, params, args, dtype):
                operands = [self.values[a].spread(self.width) for a in args]
                if isinstance(primitive.lowering, Reduce):
                    operands = [self.math.cast(operand, dtype) for operand in operands]
                return result_of(self.math, primitive, params, operands, dtype)
            case Constant(symbol, dtype):
                bits = ir.IntType(8 * dtype.itemsize)
                whole = self.integers[symbol]
                number = whole if bits == I64 else self.builder.trunc(whole, bits)
                return IRValue(self.builder, self.builder.bitcast(number, llvm_type(dtype)), dtype)
            case AffineValue(linear, divisor, dtype):
                whole = self.whole(linear)
                if divisor != 1:
                    whole = self.builder.sdiv(whole, integer(divisor))
                return self.math.cast(IRValue(self.builder, whole, INT64), dtype)
            case BoundsMask():
                return self._inside(instruction)
            case ZeroMask(mask, value):
                kept = self.values[value]
                if self._is_true(mask):
                    return kept
                return self.math.where(self.values[mask], kept, self.math.literal(0, kept.dtype))

    def _is_true(self, mask: int) -> bool:
        """Return whether a mask and those that it includes are known to be true here."""
        instruction = self.kernel.instructions[mask]
        assert isinstance(instruction, BoundsMask)
        return mask in self.certain and (instruction.also is None or self._is_true(instruction.also))

    def _inside(self, condition: KernelMask) -> IRValue:
        """Emit the mask; a negative number is, unsigned, beyond the extent."""
        builder = self.builder
        whole = self.whole(condition.linear)
        extent = self.integers[condition.extent]
        if self.width is not None:
            extent = spread(builder, extent, self.width)
        if condition.divisor == 1:
            mask = builder.icmp_unsigned("<", whole, extent)
        else:
            divisor = integer(condition.divisor)
            quotient = builder.sdiv(whole, divisor)
            exact = builder.icmp_signed("==", builder.mul(quotient, divisor), whole)
            mask = builder.and_(exact, builder.icmp_unsigned("<", quotient, extent))
        if condition.also is not None:
            mask = builder.and_(mask, self.values[condition.also].spread(self.width).ir)
        return IRValue(builder, mask, BOOL)

    def masked_load(self, address: Address, mask: int, dtype: np.dtype[Any]) -> IRValue:
        """Emit the load in a branch, which LLVM turns into a masked vector load."""
        builder = self.builder
        before = builder.block
        with builder.if_then(self.values[mask].ir):
            loaded = self.load(address, dtype)
            inside = builder.block
        merged = builder.phi(loaded.ir.type)
        merged.add_incoming(self.math.literal(0, dtype).ir, before)
        merged.add_incoming(loaded.ir, inside)
        return IRValue(builder, merged, dtype)

    def combine(self, r: KernelReduction, a: IRValue, b: IRValue, reorder: bool = False) -> IRValue:
        """Emit one step of a reduction; with `reorder`, LLVM may vectorize it."""
        assert isinstance(r.primitive.lowering, Reduce)
        first = len(self.builder.block.instructions)
        result = r.primitive.lowering.combine(self.lanes, a, b)
        if reorder:
            for written in self.builder.block.instructions[first:]:
                if written.opname in ("fadd", "fmul"):
                    written.flags = ["reassoc", "contract"]
        return result

    def identity(self, r: KernelReduction) -> IRValue:
        """Return the neutral element."""
        assert isinstance(r.primitive.lowering, Reduce)
        return self.math.literal(r.primitive.lowering.identity(r.dtype), r.dtype)

    # ---- memory --------------------------------------------------------------------------------------------------

    def load(self, address: Address, dtype: np.dtype[Any]) -> IRValue:
        return self.load_from(self._place(address), dtype)

    def store(self, address: Address, value: IRValue) -> None:
        self.store_to(self._place(address), value)

    def load_from(self, place: ir.Value, dtype: np.dtype[Any]) -> IRValue:
        kind = memory_type(dtype) if place.type.is_opaque else None
        return self.from_memory(self.builder.load(place, align=dtype.alignment, typ=kind), dtype)

    def from_memory(self, loaded: ir.Value, dtype: np.dtype[Any]) -> IRValue:
        if dtype.kind == "b":
            loaded = self.builder.icmp_unsigned("!=", loaded, ir.Constant(loaded.type, 0))
        return IRValue(self.builder, loaded, dtype)

    def store_to(self, place: ir.Value, value: IRValue) -> None:
        self.builder.store(self.in_memory(value), place, align=value.dtype.alignment)

    def in_memory(self, value: IRValue) -> ir.Value:
        if value.dtype.kind == "b":
            return self.builder.zext(value.ir, like(ir.IntType(8), value.lanes))
        return value.ir

    def _place(self, address: Address) -> ir.Value:
        """Emit the address of an element.

        LLVM's strength reduction tries all ways to write the addresses of a loop as sums of one another. This takes
        0.15 s for a loop over 50 arrays, and a sixth of the code generation of an ordinary nest. An address is
        therefore an opaque pointer plus the index of the innermost loop, unless loads would suffer (`_may_hide`).
        """
        pointer, linear = self.pointers[address.operand], address.linear
        loop = f"i{self.kernel.depth - 1}"
        if loop not in self.counted or not self._may_hide(address):
            return self.builder.gep(pointer, [self.linear(linear)], inbounds=True)
        here = self.integers[loop]
        start, index = self.counted[loop]
        self.integers[loop] = integer(0) if start is None else start
        first = self.builder.gep(pointer, [self.linear(linear)], inbounds=True)
        self.integers[loop] = index
        along = tuple([term for term in linear.terms if term[0] == loop])
        step = self.linear(Linear(along))
        self.integers[loop] = here
        element = pointer.type.pointee
        return self.builder.gep(self.hidden(first), [step], inbounds=True, source_etype=element)

    def hidden(self, place: ir.Value) -> ir.Value:
        """Emit a copy of a pointer that is opaque to LLVM's analyses, without an element type."""
        anywhere = ir.PointerType()
        hide = external(self.builder.module, ir.FunctionType(anywhere, [anywhere]), _HIDDEN)
        return self.builder.call(hide, [place])

    def _may_hide(self, address: Address) -> bool:
        """Return whether LLVM may lose the distances between this address and others.

        If an operand is accessed at several addresses, LLVM needs them to load neighbors together, unless there are
        many addresses.
        """
        names = [name for name, _ in address.linear.terms]
        if f"i{self.kernel.depth - 1}" not in names or any(name[0] == "%" for name in names):
            return False
        if self._places.count(address.operand) == 1:
            return True
        return self.kernel.depth == 1 and len(self._places) >= tuning.unrelated_min_places

    def whole(self, linear: Linear) -> ir.Value:
        """Emit the integer sum of an instruction, which `VectorBody` overrides."""
        return self.linear(linear)

    def linear(self, linear: Linear) -> ir.Value:
        """Emit an integer sum."""
        builder = self.builder
        total = self.integers[linear.offset] if linear.offset is not None else None
        for variable, factor in linear.terms:
            term = self._variable(variable)
            if isinstance(factor, tuple):
                for symbol in factor:
                    term = builder.mul(term, self.integers[symbol], flags=NO_WRAP)
            elif isinstance(factor, str):
                term = builder.mul(term, self.integers[factor], flags=NO_WRAP)
            elif factor != 1:
                term = builder.mul(term, integer(factor), flags=NO_WRAP)
            total = term if total is None else builder.add(total, term, flags=NO_WRAP)
        if linear.fixed and total is not None:
            total = builder.add(total, integer(linear.fixed), flags=NO_WRAP)
        return integer(linear.fixed) if total is None else total

    def _variable(self, name: str) -> ir.Value:
        if name[0] != "%":
            return self.integers[name]
        return self.math.cast(self.values[int(name[1:])], INT64).ir
