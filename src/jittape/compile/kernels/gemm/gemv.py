"""gemv: products of a vector and a matrix with rows of up to sixteen vector registers, in jittape's own loops.

"Rows" are those of the memory here, in which elements are contiguous. If the sum runs along the rows, registers hold
the vector and each row is read from start to end; the lanes of the sums of eight rows are added together. If the rows
are added to each other, registers hold the results, which are stored once for `gemv_chunk_rows` rows. Both loops read
memory in one stream: reading one register each of eight adjacent rows takes a third longer from the second-level cache.
The order of a sum depends on the number of its summands only.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import Stack, stack
from jittape.compile.kernels.gemm.small_gemm import Masks, Vectors
from jittape.compile.llvm.ir_helpers import alloca_once, for_steps, integer
from jittape.core.tuning import tuning

__all__ = ["define_gemv"]


def define_gemv(kernel: Gemm, function: ir.Function) -> None:
    """Emit a kernel of form ``"rows1"`` to ``"rows16"`` or ``"columns1"`` to ``"columns16"``."""
    function.attributes.add("optsize")
    with stack(kernel, function) as one:
        (_Rows if kernel.form.startswith("rows") else _Columns)(kernel, one).emit()


class _Gemv(Vectors):
    """Rows of a matrix in registers."""

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        super().__init__(kernel, one)
        self.registers = int(kernel.form.removeprefix("rows").removeprefix("columns"))

    def masks(self, length: ir.Value) -> Masks:
        """Return the masks of a row of `length` elements: all registers but the last are full."""
        whole = self.registers - 1
        return [*[None] * whole, self.mask(self.builder.sub(length, integer(whole * self.lanes)))]

    def row(self, number: ir.Value) -> ir.Value:
        """Return a pointer to a row of the matrix."""
        return self.builder.gep(self.x, [self.builder.mul(number, self.symbols["lx"])])


class _Rows(_Gemv):
    """Emitter of one product ``x @ y`` of a matrix whose rows are contiguous."""

    def emit(self) -> None:
        builder, m = self.builder, self.symbols["m"]
        masks = self.masks(self.symbols["k"])
        ys = self.load_row(self.y, masks)
        whole = builder.sub(m, builder.srem(m, integer(tuning.gemv_row_block)))
        with for_steps(builder, integer(0), whole, integer(tuning.gemv_row_block), scalar=True) as first:
            if self.registers <= tuning.gemv_unrolled_registers:
                sums = [
                    self._sum(builder.add(first, integer(i)), ys, masks) for i in range(tuning.gemv_row_block)
                ]
            else:
                sums = self._one_by_one(first, ys, masks)
            self._write(first, sums)
        with for_steps(builder, whole, m, integer(1), scalar=True) as number:
            self._write(number, [self._sum(number, ys, masks)])

    def _one_by_one(self, first: ir.Value, ys: Sequence[ir.Value], masks: Masks) -> list[ir.Value]:
        """Return the sums of a block of rows, computed in a loop; unrolled, LLVM would read all rows at a time."""
        builder = self.builder
        places = alloca_once(builder, self.vector, integer(tuning.gemv_row_block))
        with for_steps(builder, integer(0), integer(tuning.gemv_row_block), integer(1), scalar=True) as index:
            total = self._sum(builder.add(first, index), ys, masks)
            builder.store(total, builder.gep(places, [index]))
        return [builder.load(builder.gep(places, [integer(i)])) for i in range(tuning.gemv_row_block)]

    def _sum(self, number: ir.Value, ys: Sequence[ir.Value], masks: Masks) -> ir.Value:
        """Return the sum of the products of a row with `ys`, lane by lane."""
        row, sums = self.row(number), self.new_sums(1)
        for i, (y, mask) in enumerate(zip(ys, masks, strict=True)):
            self.add_products(sums, self.load(self.register_at(row, i), mask), [y])
        return self.builder.load(sums[0])

    def _write(self, first: ir.Value, sums: list[ir.Value]) -> None:
        """Emit the stores: add neighboring lanes, of two registers at a time, until there is one lane for each row."""
        rows = len(sums)
        while len(sums) > 1:
            sums = [self._in_pairs(a, b, self.lanes) for a, b in zip(sums[::2], sums[1::2], strict=True)]
        (total,) = sums
        while total.type.count > rows:
            total = self._in_pairs(total, total, total.type.count // 2)
        out = self.builder.gep(self.out, [first])
        if self.accumulates:
            total = self.builder.fadd(self.load_lanes(out, rows), total)
        self.store(total, out)

    def _in_pairs(self, a: ir.Value, b: ir.Value, lanes: int) -> ir.Value:
        """Return the first `lanes` sums of neighboring lanes, those of `a` before those of `b`."""
        even, odd = (
            self.builder.shuffle_vector(
                a,
                b,
                ir.Constant(
                    ir.VectorType(ir.IntType(32), lanes), list(range(2 * a.type.count))[first::2][:lanes]
                ),
            )
            for first in (0, 1)
        )
        return self.builder.fadd(even, odd)


class _Columns(_Gemv):
    """Emitter of one product ``x @ y`` of a matrix whose columns are contiguous: they are the rows of the memory."""

    def emit(self) -> None:
        builder, k = self.builder, self.symbols["k"]
        masks = self.masks(self.symbols["m"])
        chains = 1
        while chains * self.registers < tuning.gemv_min_sums:
            chains *= 2
        with for_steps(builder, integer(0), k, integer(tuning.gemv_chunk_rows), scalar=True) as start:
            stop = builder.add(start, integer(tuning.gemv_chunk_rows))
            stop = builder.select(builder.icmp_signed("<", stop, k), stop, k)
            self._write(start, masks, self._totals(start, stop, masks, chains))

    def _totals(self, start: ir.Value, stop: ir.Value, masks: Masks, chains: int) -> list[ir.Value]:
        """Return the sum of rows times their elements of y; adjacent rows are added to different sums first."""
        builder = self.builder
        sums = [self.new_sums(len(masks)) for _ in range(chains)]
        whole = builder.sub(stop, builder.srem(builder.sub(stop, start), integer(chains)))
        with for_steps(builder, start, whole, integer(chains), scalar=True) as first:
            for i, places in enumerate(sums):
                self._add_row(builder.add(first, integer(i)), places, masks)
        if chains > 1:
            with for_steps(builder, whole, stop, integer(1), scalar=True) as number:
                self._add_row(number, sums[0], masks)
        totals = [[builder.load(place) for place in places] for places in sums]
        while len(totals) > 1:
            pairs = zip(totals[::2], totals[1::2], strict=True)
            totals = [[builder.fadd(a, b) for a, b in zip(one, other, strict=True)] for one, other in pairs]
        return totals[0]

    def _add_row(self, number: ir.Value, sums: Sequence[ir.Value], masks: Masks) -> None:
        row = self.row(number)
        y = self.every_lane(self.builder.load(self.builder.gep(self.y, [number])))
        self.add_products(sums, y, self.load_row(row, masks))

    def _write(self, start: ir.Value, masks: Masks, totals: Sequence[ir.Value]) -> None:
        """Emit the stores: the first chunk writes the results, unless the kernel accumulates; the others add."""
        builder = self.builder
        first = builder.icmp_signed("==", start, integer(0))
        for i, (mask, total) in enumerate(zip(masks, totals, strict=True)):
            place = self.register_at(self.out, i)
            before = self.load(place, mask)
            if not self.accumulates:
                before = builder.select(first, ir.Constant(self.vector, [0.0] * self.lanes), before)
            self.store(builder.fadd(before, total), place, mask)
