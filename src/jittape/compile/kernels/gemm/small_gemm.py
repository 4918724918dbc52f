"""Tiny matrix products in loops of jittape's own, where a call of the BLAS costs more than the arithmetic.

A row of the result is held in one or two vector registers, several rows at a time, while the summands run past: for
each the vectors of y, and one element of x for each row. Where columns of y are contiguous, they are laid out as rows
first, in a small buffer on the stack. The order of the sums depends on nothing but their number.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import Stack, stack
from jittape.compile.llvm.ir_helpers import alloca_once, for_range, for_steps
from jittape.compile.llvm.ir_value import llvm_type
from jittape.compile.llvm.ir_vectors import first_lanes, masked_load, masked_store, spread
from jittape.core.tuning import tuning

__all__ = ["Vectors", "define_small_gemm"]

_I64 = ir.IntType(64)


def define_small_gemm(kernel: Gemm, function: ir.Function) -> None:
    """Write the body of a kernel of form ``"tiny"`` or ``"narrow"``."""
    with stack(kernel, function) as one:
        _Tiny(kernel, one).write()


def _integer(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


class Vectors:
    """What is done with vector registers, at the place of a builder.

    Attributes
    ----------
    x, y, out : ir.Value
        The addresses of a product's operands, as pointers to elements.
    """

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        self.builder = one.builder
        self.symbols = one.symbols
        self.accumulates = kernel.accumulates
        self.width = kernel.dtype.itemsize
        self.lanes = tuning.vector_bytes // self.width
        self.kind = llvm_type(kernel.dtype)
        self.vector = ir.VectorType(self.kind, self.lanes)
        self.x, self.y, self.out = (
            self.builder.bitcast(p, self.kind.as_pointer()) for p in (one.x, one.y, one.out)
        )

    def mask(self, left: ir.Value) -> ir.Value:
        """True in the lanes of columns that exist."""
        return first_lanes(self.builder, left, self.lanes)

    def every_lane(self, value: ir.Value) -> ir.Value:
        return spread(self.builder, value, self.lanes)

    def load(self, place: ir.Value, mask: ir.Value) -> ir.Value:
        return masked_load(self.builder, self.vector, place, mask, self.width)

    def store(self, value: ir.Value, place: ir.Value, mask: ir.Value) -> None:
        masked_store(self.builder, value, place, mask, self.width)

    def new_sum(self) -> ir.Value:
        """The place of a sum, with zeros in it."""
        place = alloca_once(self.builder, self.vector)
        self.builder.store(ir.Constant(self.vector, [0.0] * self.lanes), place)
        return place

    def add_product(self, place: ir.Value, x: ir.Value, y: ir.Value) -> None:
        product = self.builder.fmul(x, y, flags=("contract",))
        self.builder.store(self.builder.fadd(self.builder.load(place), product, flags=("contract",)), place)


class _Tiny(Vectors):
    """Writes one product."""

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        super().__init__(kernel, one)
        self.transposed = kernel.transposed
        self.panels = 2 if kernel.form == "narrow" else 1
        self.rows = (8, 2, 1) if kernel.form == "narrow" else (4, 1)

    def write(self) -> None:
        """Panels of as many columns as the vectors have lanes; in each, several rows at a time, then fewer."""
        builder, symbols = self.builder, self.symbols
        width = _integer(self.panels * self.lanes)
        with for_steps(builder, _integer(0), symbols["n"], width, scalar=True) as column:
            left = builder.sub(symbols["n"], column)
            masks = [
                self.mask(builder.sub(left, _integer(panel * self.lanes))) for panel in range(self.panels)
            ]
            panel, leading = self._packed(column) if self.transposed[1] else self._in_place(column)
            first = _integer(0)
            for count in self.rows:
                rows = _integer(count)
                last = builder.mul(builder.sdiv(symbols["m"], rows), rows)
                with for_steps(builder, first, last, rows, scalar=True) as row:
                    self._block(panel, leading, masks, row, column, count)
                first = last

    def _in_place(self, column: ir.Value) -> tuple[ir.Value, ir.Value]:
        return self.builder.gep(self.y, [column]), self.symbols["ly"]

    def _packed(self, column: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The panel's columns of y, which lie one after another, as rows of a buffer."""
        builder, symbols = self.builder, self.symbols
        width = self.panels * self.lanes
        buffer = alloca_once(builder, self.kind, size=_integer(tuning.short_gemm_extent * width))
        left = builder.sub(symbols["n"], column)
        columns = builder.select(builder.icmp_signed("<", left, _integer(width)), left, _integer(width))
        with for_range(builder, columns, scalar=True) as lane:
            start = builder.mul(builder.add(column, lane), symbols["ly"])
            with for_range(builder, symbols["k"], scalar=True) as at:
                value = builder.load(builder.gep(self.y, [builder.add(start, at)]))
                place = builder.add(builder.mul(at, _integer(width)), lane)
                builder.store(value, builder.gep(buffer, [place]))
        return buffer, _integer(width)

    def _block(
        self,
        panel: ir.Value,
        leading: ir.Value,
        masks: list[ir.Value],
        row: ir.Value,
        column: ir.Value,
        count: int,
    ) -> None:
        """A panel's columns of `count` rows of the result."""
        builder, symbols = self.builder, self.symbols
        rows = [builder.add(row, _integer(i)) for i in range(count)]
        sums = [[self.new_sum() for _ in masks] for _ in rows]
        with for_range(builder, symbols["k"], scalar=self.panels > 1) as at:
            start = builder.gep(panel, [builder.mul(at, leading)])
            ys = [self.load(self._further(start, i), mask) for i, mask in enumerate(masks)]
            for i, places in zip(rows, sums, strict=True):
                outer, inner = (at, i) if self.transposed[0] else (i, at)
                element = builder.add(builder.mul(outer, symbols["lx"]), inner)
                x = self.every_lane(builder.load(builder.gep(self.x, [element])))
                for place, y in zip(places, ys, strict=True):
                    self.add_product(place, x, y)
        for i, places in zip(rows, sums, strict=True):
            start = builder.gep(self.out, [builder.add(builder.mul(i, symbols["lr"]), column)])
            for number, (place, mask) in enumerate(zip(places, masks, strict=True)):
                total, out = builder.load(place), self._further(start, number)
                if self.accumulates:
                    total = builder.fadd(self.load(out, mask), total)
                self.store(total, out, mask)

    def _further(self, start: ir.Value, vectors: int) -> ir.Value:
        return self.builder.gep(start, [_integer(vectors * self.lanes)]) if vectors else start
