"""Small GEMM: matrix products in jittape's own loops.

A BLAS copies or dispatches before it multiplies, which costs more than a small product. Vector registers hold a block
of several rows of the result, one or two registers for each. The loop over the summands loads the vectors of y and one
element of x for each row. If the columns of y are contiguous, they are first packed as rows in a small buffer on the
stack. Each element is the sum of its products in order, so its bits depend on no other extent than that of the sum.

Times in ns of the loops with registers of 64 bytes, and of OpenBLAS with its kernels for AVX-512 and for AVX2:

====================  =======  =======  =======  =======  =======  =======
product               float64  AVX-512     AVX2  float32  AVX-512     AVX2
====================  =======  =======  =======  =======  =======  =======
16x16 @ 16x16              84      111      297       65       92      208
24x24 @ 24x24             264      286      669      164      240      373
32x32 @ 32x32             535      577    1,431      284      319      741
64x64 @ 64x64           4,180    4,270    9,715    2,160    2,200    4,758
128x128 @ 128x128      32,700   47,400   75,176   17,100   21,000   36,187
32x784 @ 784x128       53,300   70,700            25,100   26,100
256x784 @ 784x128     425,000  567,000           197,000  225,000
2x64 @ 64x64              315      201    1,267      166      120      515
4x512 @ 512x512        64,477   38,522            12,675   10,654
64x64 @ 64x4              644      434    1,321      667      266      843
====================  =======  =======  =======  =======  =======  =======

In a stack, 4x4 @ 4x4 takes 10 and 8x8 @ 8x8 23 in float64, where calls of OpenBLAS take 24 and 40. With a transposed y
it is 20 and 47 instead of 86 and 120.

With registers of 32 bytes, four rows of 64 bytes fit. 16x16 @ 16x16 then takes 168 in float64 and 159 in float32, and
24x24 @ 24x24 takes 550 and 675.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from llvmlite import ir

from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import Stack, define_product, real_number, stack
from jittape.compile.kernels.loop.kernel_arguments import size
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import alloca_once, for_range, for_steps, integer
from jittape.compile.llvm.ir_value import llvm_type
from jittape.compile.llvm.ir_vectors import first_lanes, masked_load, masked_store, spread
from jittape.core.tuning import tuning

__all__ = ["Masks", "Vectors", "define_loops_or_matrix", "define_small_gemm"]

Masks = Sequence[ir.Value | None]
"""For each register of a row the mask of its lanes in use; None for all lanes."""

_BLOCKS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "tiny": ((4,), (1,)),
    "tiled": ((8, 4), (2, 1)),
}
"""Rows of a block, and vector registers for each row, by form; three registers compile in 43 instead of 29 ms."""


def define_small_gemm(kernel: Gemm, function: ir.Function) -> None:
    """Emit a kernel of form ``"tiny"`` or ``"tiled"``."""
    with stack(kernel, function) as one:
        _SmallGemm(kernel, one).emit()


def define_loops_or_matrix(kernel: Gemm, function: ir.Function) -> None:
    """Emit a kernel that multiplies in loops or by the BLAS, as its sizes say: one kernel serves all lengths.

    Both are functions. In one function, loops over a transposed x had too few registers and took 12 to 19 % longer.
    """
    builder = Builder(function.append_basic_block("entry"))
    in_loops = builder.icmp_signed("==", size(builder, function, kernel.SYMBOLS.index("pk")), integer(0))
    with builder.if_else(in_loops) as branches:
        for branch, form, define in zip(
            branches, kernel.form.split(" or "), (define_small_gemm, define_product), strict=True
        ):
            inner = ir.Function(function.module, function.function_type, f"{function.name}_{form}")
            inner.linkage = "internal"
            inner.attributes.add("noinline")
            define(replace(kernel, form=form), inner)
            with branch:
                builder.call(inner, function.args)
    builder.ret_void()


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
    """Emitter of one product, which is written or, unless `beta` is zero, multiplied by `alpha` and added."""

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        super().__init__(kernel, one)
        self.transposed = kernel.transposed
        self.block_rows, self.block_registers = _BLOCKS[kernel.form]
        self.alpha = self.every_lane(real_number(kernel, self.builder, self.symbols["alpha"]))
        self.adds = self.builder.icmp_signed("!=", self.symbols["beta"], integer(0))

    def emit(self) -> None:
        """Emit loops over panels of columns, and in each over blocks of rows."""
        for registers, start, stop in self._parts("n", self.block_registers, self.lanes):
            width = integer(registers * self.lanes)
            with for_steps(self.builder, start, stop, width, scalar=True) as column:
                self._panel(column, registers)

    def _parts(
        self, name: str, sizes: tuple[int, ...], unit: int = 1
    ) -> list[tuple[int, ir.Value, ir.Value]]:
        """Return sizes of blocks, in units, and the start and stop of the part of an extent in blocks of each size.

        If there is a second size, a last block that fits it has it.
        """
        builder, extent = self.builder, self.symbols[name]
        large, *others = sizes
        if not others:
            return [(large, integer(0), extent)]
        rest = builder.srem(extent, integer(large * unit))
        fits = builder.icmp_signed("<=", rest, integer(others[0] * unit))
        stop = builder.sub(extent, builder.select(fits, rest, integer(0)))
        return [(large, integer(0), stop), (others[0], stop, extent)]

    def _panel(self, column: ir.Value, registers: int) -> None:
        """Emit the products of all rows of x and a panel of columns of y. Only its last register may not be full."""
        builder = self.builder
        left = builder.sub(self.symbols["n"], column)
        whole = registers - 1
        masks = [*[None] * whole, self.mask(builder.sub(left, integer(whole * self.lanes)))]
        panel, leading = (
            self._packed(column, left, registers) if self.transposed[1] else self._in_place(column)
        )
        for rows, start, stop in self._parts("m", self.block_rows):
            with for_steps(builder, start, stop, integer(rows), scalar=True, as_written=True) as row:
                self._block(panel, leading, masks, row, column, rows)

    def _in_place(self, column: ir.Value) -> tuple[ir.Value, ir.Value]:
        return self.builder.gep(self.y, [column]), self.symbols["ly"]

    def _packed(self, column: ir.Value, left: ir.Value, registers: int) -> tuple[ir.Value, ir.Value]:
        """Pack the panel's columns of y, which are contiguous, as rows of a buffer."""
        builder, symbols = self.builder, self.symbols
        width = registers * self.lanes
        buffer = alloca_once(builder, self.kind, size=integer(tuning.short_gemm_extent * width))
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
        masks: Masks,
        row: ir.Value,
        column: ir.Value,
        count: int,
    ) -> None:
        """Emit the panel's columns of `count` rows of the result; rows beyond the last are replaced by the last."""
        builder, symbols = self.builder, self.symbols
        last = builder.sub(symbols["m"], integer(1))
        rows = [row]
        for offset in range(1, count):
            number = builder.add(row, integer(offset))
            rows.append(builder.select(builder.icmp_signed("<", number, last), number, last))
        row_step, step = (integer(1), symbols["lx"]) if self.transposed[0] else (symbols["lx"], integer(1))
        xs = [builder.gep(self.x, [builder.mul(i, row_step)]) for i in rows]
        sums = [self.new_sums(len(masks)) for _ in rows]
        with for_steps(builder, integer(0), symbols["k"], integer(1), scalar=True, as_written=True) as at:
            ys = self.load_row(builder.gep(panel, [builder.mul(at, leading)]), masks)
            distance = builder.mul(at, step)
            for x, places in zip(xs, sums, strict=True):
                self.add_products(places, self.every_lane(builder.load(builder.gep(x, [distance]))), ys)
        starts = [builder.add(builder.mul(i, symbols["lr"]), column) for i in rows]
        self._write([builder.gep(self.out, [start]) for start in starts], sums, masks)

    def _write(self, rows: list[ir.Value], sums: list[list[ir.Value]], masks: Masks) -> None:
        """Emit the stores. All old elements are read first, as the last row may occur several times."""
        builder = self.builder
        with builder.if_then(self.adds):
            for row, places in zip(rows, sums, strict=True):
                for place, old in zip(places, self.load_row(row, masks), strict=True):
                    scaled = builder.fmul(self.alpha, builder.load(place), flags=("contract",))
                    builder.store(builder.fadd(old, scaled, flags=("contract",)), place)
        for row, places in zip(rows, sums, strict=True):
            for number, (place, mask) in enumerate(zip(places, masks, strict=True)):
                self.store(builder.load(place), self.register_at(row, number), mask)
