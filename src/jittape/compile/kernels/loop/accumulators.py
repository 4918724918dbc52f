"""Sums and the like in registers: lanes within a chunk, the sums of chunks combined pairwise."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
from llvmlite import ir

from jittape.compile.ir.instructions import KernelReduction
from jittape.compile.ir.kernel import label_of
from jittape.compile.kernels.loop.pairwise import CARRIES, call_carry, call_collect
from jittape.compile.kernels.loop.scalar_body import I64, LaneMath
from jittape.compile.kernels.loop.vector_body import LaneBody
from jittape.compile.llvm.ir_helpers import alloca_once, integer
from jittape.compile.llvm.ir_value import IRValue, memory_type
from jittape.compile.llvm.ir_vectors import like
from jittape.core.forms import Reduce

__all__ = ["Accumulator"]


class Accumulator:
    """A reduction that is combined in registers along the innermost loop."""

    def __init__(self, nest: LaneBody, reduction: KernelReduction) -> None:
        self.nest = nest
        self.reduction = reduction
        self.in_chunks = reduction.dtype.kind == "f"
        self.is_innermost = reduction.level == nest.kernel.depth - 1
        kind = memory_type(reduction.dtype)
        self.held = alloca_once(nest.builder, kind)
        if self.in_chunks:
            self.count = alloca_once(nest.builder, I64)
            self.carried = alloca_once(nest.builder, kind, size=integer(CARRIES))

    def begin(self) -> None:
        if self.in_chunks:
            self.nest.builder.store(integer(0), self.count)
        if self.is_innermost or not self.in_chunks:
            self._hold(self.nest.identity(self.reduction))

    def begin_chunk(self) -> None:
        self._hold(self.nest.identity(self.reduction))

    def begin_lanes(self, lanes: int) -> None:
        """Before a loop that is written as vectors."""
        kind = like(memory_type(self.reduction.dtype), lanes)
        self.in_lanes = alloca_once(self.nest.builder, kind)
        self.nest.store_to(self.in_lanes, self.nest.identity(self.reduction).spread(lanes))

    def add(self, value: IRValue) -> None:
        nest, r = self.nest, self.reduction
        if nest.width is None:
            self._hold(nest.combine(r, self._held(), value, reorder=True))
            return
        value = value.spread(nest.width)
        if nest.mask is not None:
            value = nest.math.where(IRValue(nest.builder, nest.mask, np.bool_), value, nest.identity(r))
        nest.store_to(self.in_lanes, nest.combine(r, nest.load_from(self.in_lanes, r.dtype), value))

    def narrow_lanes(self, lanes: int, fewer: int) -> None:
        """Go on with fewer lanes."""
        if lanes > fewer:
            total = self._combined(lanes, fewer)
            self.begin_lanes(fewer)
            self.nest.store_to(self.in_lanes, total)

    def finish_lanes(self, lanes: int) -> None:
        """Combine the lanes, and with what is held."""
        nest, r = self.nest, self.reduction
        total = self._combined(lanes, 1).ir
        last = nest.builder.extract_element(total, ir.Constant(ir.IntType(32), 0))
        self._hold(nest.combine(r, self._held(), IRValue(nest.builder, last, r.dtype)))

    def _combined(self, lanes: int, fewer: int) -> IRValue:
        """The lanes combined pairwise until there are so few."""
        nest, r = self.nest, self.reduction
        builder, total = nest.builder, nest.load_from(self.in_lanes, r.dtype)
        while lanes > fewer:
            lanes //= 2
            half = ir.VectorType(ir.IntType(32), lanes)
            low, high = (
                IRValue(builder, builder.shuffle_vector(total.ir, total.ir, ir.Constant(half, part)), r.dtype)
                for part in (list(range(lanes)), list(range(lanes, 2 * lanes)))
            )
            total = nest.combine(r, low, high)
        return total

    def finish_chunk(self, several: ir.Value) -> None:
        """Add the chunk's sum to the carries; the only one of a loop that is all there is, is the result."""
        with self._if(several):
            held = self._held().ir
            builder, once = self.nest.builder, self.nest.kernel.depth == 1
            call_carry(builder, self._label, self._combine, self.carried, self.count, held, once)

    def finish_loop(self, several: ir.Value) -> None:
        """At the end of a loop that is all there is, collect the carries."""
        if self.is_innermost:
            with self._if(several):
                self._collect()

    def finish(self) -> None:
        """Write the result."""
        nest = self.nest
        if self.in_chunks and not self.is_innermost:
            self._collect()
        result = self._held()
        address = self.reduction.address
        if self.reduction.in_memory:
            result = nest.combine(self.reduction, nest.load(address, self.reduction.dtype), result)
        nest.store(address, result)

    def _collect(self) -> None:
        builder, start = self.nest.builder, self.nest.identity(self.reduction)
        total = call_collect(builder, self._label, self._combine, self.carried, self.count, start.ir)
        self._hold(IRValue(builder, total, self.reduction.dtype))

    def _if(self, several: ir.Value) -> AbstractContextManager[object]:
        """Rows of up to a chunk need no carries: 2,000 sums of 32 elements take 24 µs instead of 34."""
        return self.nest.builder.if_then(several) if self.is_innermost else nullcontext()

    def _held(self) -> IRValue:
        return self.nest.load_from(self.held, self.reduction.dtype)

    def _hold(self, value: IRValue) -> None:
        self.nest.store_to(self.held, value)

    @property
    def _label(self) -> str:
        """What the functions of the carries are named by."""
        return f"{label_of(self.reduction.primitive)}_{self.reduction.dtype.name}"

    def _combine(self, builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
        """One step of the reduction at the place of another builder."""
        form, dtype = self.reduction.primitive.lowering, self.reduction.dtype
        assert isinstance(form, Reduce)
        value: IRValue = form.combine(
            LaneMath(builder), IRValue(builder, a, dtype), IRValue(builder, b, dtype)
        )
        return value.ir
