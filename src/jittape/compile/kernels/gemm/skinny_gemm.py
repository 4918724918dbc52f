"""Products of few rows and few columns with many summands, where those lie next to each other in both operands.

Each element of the result is a dot product of two long rows. A block of up to 5x5 of them is held in vector registers,
so that what is loaded of a row serves five elements. Where the extents are no multiple of the block, the last rows are
taken again: the block stays one piece of code without a branch in it.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import Stack, stack
from jittape.compile.kernels.gemm.small_gemm import Vectors
from jittape.compile.llvm.ir_helpers import external, for_steps, integer

__all__ = ["define_skinny_gemm"]


def define_skinny_gemm(kernel: Gemm, function: ir.Function) -> None:
    """Write the body of a kernel of form ``"dots2"`` to ``"dots5"``."""
    with stack(kernel, function) as one:
        _Dots(kernel, one).write()


class _Dots(Vectors):
    """Writes one product ``x @ y.T`` of matrices whose rows are contiguous."""

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        super().__init__(kernel, one)
        self.side = int(kernel.form.removeprefix("dots"))

    def write(self) -> None:
        builder, symbols, side = self.builder, self.symbols, integer(self.side)
        with (
            for_steps(builder, integer(0), symbols["m"], side, scalar=True) as row,
            for_steps(builder, integer(0), symbols["n"], side, scalar=True) as column,
        ):
            self._block(self._numbers(row, symbols["m"]), self._numbers(column, symbols["n"]))

    def _numbers(self, first: ir.Value, extent: ir.Value) -> list[ir.Value]:
        """A block's rows or columns; beyond the last there is the last again."""
        builder, last = self.builder, self.builder.sub(extent, integer(1))
        found = []
        for offset in range(self.side):
            number = builder.add(first, integer(offset))
            found.append(builder.select(builder.icmp_signed("<", number, last), number, last))
        return found

    def _block(self, rows: list[ir.Value], columns: list[ir.Value]) -> None:
        builder, k = self.builder, self.symbols["k"]
        xs = [builder.gep(self.x, [builder.mul(i, self.symbols["lx"])]) for i in rows]
        ys = [builder.gep(self.y, [builder.mul(j, self.symbols["ly"])]) for j in columns]
        sums = [[self.new_sum() for _ in ys] for _ in xs]
        with for_steps(builder, integer(0), k, integer(self.lanes), scalar=True) as at:
            mask = self.mask(builder.sub(k, at))
            across = [self.load(builder.gep(y, [at]), mask) for y in ys]
            for x, places in zip(xs, sums, strict=True):
                down = self.load(builder.gep(x, [at]), mask)
                for place, y in zip(places, across, strict=True):
                    self.add_product(place, down, y)
        self._write(rows, columns, sums)

    def _write(self, rows: list[ir.Value], columns: list[ir.Value], sums: list[list[ir.Value]]) -> None:
        """What is added to is read before anything is written, as the last rows may be there several times."""
        builder = self.builder
        results = []
        for i, places in zip(rows, sums, strict=True):
            for j, place in zip(columns, places, strict=True):
                out = builder.gep(self.out, [builder.add(builder.mul(i, self.symbols["n"]), j)])
                start = builder.load(out) if self.accumulates else ir.Constant(self.kind, 0.0)
                results.append((out, self._total(start, builder.load(place))))
        for out, total in results:
            builder.store(total, out)

    def _total(self, start: ir.Value, lanes: ir.Value) -> ir.Value:
        """The sum of the lanes, added to `start`."""
        name = f"llvm.vector.reduce.fadd.v{self.lanes}f{8 * self.width}"
        kind = ir.FunctionType(self.kind, [self.kind, self.vector])
        reduce = external(self.builder.module, kind, name)
        total = self.builder.call(reduce, [ir.Constant(self.kind, -0.0), lanes], fastmath=("reassoc",))
        return self.builder.fadd(start, total)
