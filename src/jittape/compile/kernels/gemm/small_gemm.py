"""Small GEMM: matrix products in jittape's own loops, for which a call of the BLAS costs more than the arithmetic.

Vector registers hold several rows of the result, one or two registers for each. The loop over the summands loads the
vectors of y and one element of x for each row. If the columns of y are contiguous, they are first packed as rows in a
small buffer on the stack. The order of a sum depends on the number of its summands only.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from jittape.compile.ir.kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import Stack, stack
from jittape.compile.llvm.ir_helpers import alloca_once, for_range, for_steps, integer
from jittape.compile.llvm.ir_value import llvm_type
from jittape.compile.llvm.ir_vectors import first_lanes, masked_load, masked_store, spread
from jittape.core.tuning import tuning

__all__ = ["Masks", "Vectors", "define_small_gemm"]

Masks = Sequence[ir.Value | None]
"""For each register of a row the mask of its lanes in use; None for all lanes."""


def define_small_gemm(kernel: Gemm, function: ir.Function) -> None:
    """Emit a kernel of form ``"tiny"`` or ``"narrow"``."""
    with stack(kernel, function) as one:
        _SmallGemm(kernel, one).emit()


class Vectors:
    """Operations on vector registers for one product, at the place of a builder.

    Attributes
    ----------
    x, y, out : ir.Value
        The addresses of the product's operands, as pointers to elements.
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
        """Return the mask of the lanes of a register if `left` elements are left."""
        return first_lanes(self.builder, left, self.lanes)

    def every_lane(self, value: ir.Value) -> ir.Value:
        """Return a vector of a number in all lanes."""
        return spread(self.builder, value, self.lanes)

    def register_at(self, row: ir.Value, number: int) -> ir.Value:
        """Return a pointer to the elements of a row that belong in register `number`."""
        return self.builder.gep(row, [integer(number * self.lanes)]) if number else row

    def load(self, place: ir.Value, mask: ir.Value | None) -> ir.Value:
        """Load a register."""
        if mask is None:
            return self.load_lanes(place, self.lanes)
        return masked_load(self.builder, self.vector, place, mask, self.width)

    def load_lanes(self, place: ir.Value, lanes: int) -> ir.Value:
        """Load a vector of `lanes` lanes."""
        kind = ir.VectorType(self.kind, lanes)
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()), align=self.width)

    def load_row(self, row: ir.Value, masks: Masks) -> list[ir.Value]:
        """Load all registers of a row."""
        return [self.load(self.register_at(row, i), mask) for i, mask in enumerate(masks)]

    def store(self, value: ir.Value, place: ir.Value, mask: ir.Value | None = None) -> None:
        """Store a vector."""
        if mask is None:
            place = self.builder.bitcast(place, value.type.as_pointer())
            self.builder.store(value, place, align=self.width)
        else:
            masked_store(self.builder, value, place, mask, self.width)

    def new_sums(self, count: int) -> list[ir.Value]:
        """Return places for sums, with zeros in them."""
        places = [alloca_once(self.builder, self.vector) for _ in range(count)]
        for place in places:
            self.builder.store(ir.Constant(self.vector, [0.0] * self.lanes), place)
        return places

    def add_products(self, sums: Sequence[ir.Value], x: ir.Value, ys: Sequence[ir.Value]) -> None:
        """Add ``x * y`` to the sum for each y."""
        for place, y in zip(sums, ys, strict=True):
            product = self.builder.fmul(x, y, flags=("contract",))
            total = self.builder.fadd(self.builder.load(place), product, flags=("contract",))
            self.builder.store(total, place)


class _SmallGemm(Vectors):
    """Emitter of one product."""

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        super().__init__(kernel, one)
        self.transposed = kernel.transposed
        self.panels = 2 if kernel.form == "narrow" else 1
        self.rows = (8, 2, 1) if kernel.form == "narrow" else (4, 1)

    def emit(self) -> None:
        """Emit a loop over panels of one or two registers of columns; in each, several rows at a time, then fewer."""
        builder, symbols = self.builder, self.symbols
        width = integer(self.panels * self.lanes)
        with for_steps(builder, integer(0), symbols["n"], width, scalar=True) as column:
            left = builder.sub(symbols["n"], column)
            masks = [
                self.mask(builder.sub(left, integer(panel * self.lanes))) for panel in range(self.panels)
            ]
            panel, leading = self._packed(column) if self.transposed[1] else self._in_place(column)
            first = integer(0)
            for count in self.rows:
                rows = integer(count)
                last = builder.mul(builder.sdiv(symbols["m"], rows), rows)
                with for_steps(builder, first, last, rows, scalar=True) as row:
                    self._block(panel, leading, masks, row, column, count)
                first = last

    def _in_place(self, column: ir.Value) -> tuple[ir.Value, ir.Value]:
        return self.builder.gep(self.y, [column]), self.symbols["ly"]

    def _packed(self, column: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Pack the panel's columns of y, which are contiguous, as rows of a buffer."""
        builder, symbols = self.builder, self.symbols
        width = self.panels * self.lanes
        buffer = alloca_once(builder, self.kind, size=integer(tuning.short_gemm_extent * width))
        left = builder.sub(symbols["n"], column)
        columns = builder.select(builder.icmp_signed("<", left, integer(width)), left, integer(width))
        with for_range(builder, columns, scalar=True) as lane:
            start = builder.mul(builder.add(column, lane), symbols["ly"])
            with for_range(builder, symbols["k"], scalar=True) as at:
                value = builder.load(builder.gep(self.y, [builder.add(start, at)]))
                place = builder.add(builder.mul(at, integer(width)), lane)
                builder.store(value, builder.gep(buffer, [place]))
        return buffer, integer(width)

    def _block(
        self,
        panel: ir.Value,
        leading: ir.Value,
        masks: list[ir.Value],
        row: ir.Value,
        column: ir.Value,
        count: int,
    ) -> None:
        """Emit the panel's columns of `count` rows of the result."""
        builder, symbols = self.builder, self.symbols
        rows = [builder.add(row, integer(i)) for i in range(count)]
        sums = [self.new_sums(len(masks)) for _ in rows]
        with for_range(builder, symbols["k"], scalar=self.panels > 1) as at:
            ys = self.load_row(builder.gep(panel, [builder.mul(at, leading)]), masks)
            for i, places in zip(rows, sums, strict=True):
                outer, inner = (at, i) if self.transposed[0] else (i, at)
                element = builder.add(builder.mul(outer, symbols["lx"]), inner)
                x = self.every_lane(builder.load(builder.gep(self.x, [element])))
                self.add_products(places, x, ys)
        for i, places in zip(rows, sums, strict=True):
            start = builder.gep(self.out, [builder.add(builder.mul(i, symbols["lr"]), column)])
            for number, (place, mask) in enumerate(zip(places, masks, strict=True)):
                total, out = builder.load(place), self.register_at(start, number)
                if self.accumulates:
                    total = builder.fadd(self.load(out, mask), total)
                self.store(total, out, mask)
