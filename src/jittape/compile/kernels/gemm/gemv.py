"""Products of a vector and a matrix with rows of up to sixteen vector registers, in loops of jittape's own.

"Rows" are those of the memory here, in which elements are neighbors. Where they are summed over, the vector stays in
registers and each row is read from its beginning to its end; the lanes of the sums of eight rows are added up together.
Where they are added to each other, the results stay in registers, and are written once for `gemv_chunk_rows` rows.
Either way memory is read in one stream: eight rows next to each other, a register of each at a time, take a third
longer from the second-level cache. The order of the sums depends on their number and on nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from jittape.compile.ir.kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import Stack, stack
from jittape.compile.kernels.gemm.small_gemm import Vectors
from jittape.compile.llvm.ir_helpers import alloca_once, for_steps, integer
from jittape.core.tuning import tuning

__all__ = ["define_gemv"]


Masks = Sequence[ir.Value | None]
"""For each register of a row the lanes that there are; None for all."""


def define_gemv(kernel: Gemm, function: ir.Function) -> None:
    """Write the body of a kernel of form ``"rows1"`` to ``"rows16"`` or ``"columns1"`` to ``"columns16"``."""
    function.attributes.add("optsize")
    with stack(kernel, function) as one:
        (_Rows if kernel.form.startswith("rows") else _Columns)(kernel, one).write()


class _Sums(Vectors):
    """Sums of products in vector registers."""

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        super().__init__(kernel, one)
        self.registers = int(kernel.form.removeprefix("rows").removeprefix("columns"))

    def masks(self, length: ir.Value) -> Masks:
        """Those of a row of `length` elements: all registers but the last are full."""
        whole = self.registers - 1
        return [*[None] * whole, self.mask(self.builder.sub(length, integer(whole * self.lanes)))]

    def row(self, number: ir.Value) -> ir.Value:
        """Where a row of the matrix begins."""
        return self.builder.gep(self.x, [self.builder.mul(number, self.symbols["lx"])])

    def register(self, row: ir.Value, number: int, mask: ir.Value | None) -> ir.Value:
        """What belongs in a register of a row."""
        place = self.builder.gep(row, [integer(number * self.lanes)])
        return self.whole(place) if mask is None else self.load(place, mask)

    def whole(self, place: ir.Value, lanes: int = 0) -> ir.Value:
        """A vector in memory, all lanes of it."""
        kind = ir.VectorType(self.kind, lanes or self.lanes)
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()), align=self.width)

    def store_whole(self, value: ir.Value, place: ir.Value) -> None:
        place = self.builder.bitcast(place, value.type.as_pointer())
        self.builder.store(value, place, align=self.width)


class _Rows(_Sums):
    """Writes one product ``x @ y`` of a matrix whose rows are contiguous."""

    def write(self) -> None:
        builder, m = self.builder, self.symbols["m"]
        masks = self.masks(self.symbols["k"])
        ys = [self.register(self.y, i, mask) for i, mask in enumerate(masks)]
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
        """The sums of some rows in a loop over them, or LLVM would read all of the rows at a time."""
        builder = self.builder
        places = alloca_once(builder, self.vector, integer(tuning.gemv_row_block))
        with for_steps(builder, integer(0), integer(tuning.gemv_row_block), integer(1), scalar=True) as index:
            total = self._sum(builder.add(first, index), ys, masks)
            builder.store(total, builder.gep(places, [index]))
        return [builder.load(builder.gep(places, [integer(i)])) for i in range(tuning.gemv_row_block)]

    def _sum(self, number: ir.Value, ys: Sequence[ir.Value], masks: Masks) -> ir.Value:
        """The products of a row with `ys`, added up but for the lanes."""
        row, place = self.row(number), self.new_sum()
        for i, (y, mask) in enumerate(zip(ys, masks, strict=True)):
            self.add_product(place, self.register(row, i, mask), y)
        return self.builder.load(place)

    def _write(self, first: ir.Value, sums: list[ir.Value]) -> None:
        """Add up neighboring lanes, of two registers at a time, until there is one lane for each row."""
        rows = len(sums)
        while len(sums) > 1:
            sums = [self._in_pairs(a, b, self.lanes) for a, b in zip(sums[::2], sums[1::2], strict=True)]
        (total,) = sums
        while total.type.count > rows:
            total = self._in_pairs(total, total, total.type.count // 2)
        out = self.builder.gep(self.out, [first])
        if self.accumulates:
            total = self.builder.fadd(self.whole(out, rows), total)
        self.store_whole(total, out)

    def _in_pairs(self, a: ir.Value, b: ir.Value, lanes: int) -> ir.Value:
        """The sums of neighboring lanes, first those of `a`; so many of them."""
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


class _Columns(_Sums):
    """Writes one product ``x @ y`` of a matrix whose columns are contiguous: they are the rows of the memory."""

    def write(self) -> None:
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
        """The sum of rows times their elements of y, where neighbors are added to different sums first."""
        builder = self.builder
        sums = [[self.new_sum() for _ in masks] for _ in range(chains)]
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

    def _add_row(self, number: ir.Value, places: Sequence[ir.Value], masks: Masks) -> None:
        row = self.row(number)
        y = self.every_lane(self.builder.load(self.builder.gep(self.y, [number])))
        for i, (place, mask) in enumerate(zip(places, masks, strict=True)):
            self.add_product(place, self.register(row, i, mask), y)

    def _write(self, start: ir.Value, masks: Masks, totals: Sequence[ir.Value]) -> None:
        """The first chunk writes the results, unless these are added to; the others add."""
        builder = self.builder
        first = builder.icmp_signed("==", start, integer(0))
        for i, (mask, total) in enumerate(zip(masks, totals, strict=True)):
            before = self.register(self.out, i, mask)
            if not self.accumulates:
                before = builder.select(first, ir.Constant(self.vector, [0.0] * self.lanes), before)
            total = builder.fadd(before, total)
            place = builder.gep(self.out, [integer(i * self.lanes)])
            if mask is None:
                self.store_whole(total, place)
            else:
                self.store(total, place, mask)
