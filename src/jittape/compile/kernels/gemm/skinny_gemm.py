"""Skinny GEMM: products of few rows and few columns with many summands, which are contiguous in both operands.

Each element of the result is a dot product of two long rows. Vector registers hold a block of up to 5x5 elements, so
each register that is loaded from a row serves five elements. If the extents are no multiple of the block, the last rows
are recomputed: the block stays one piece of code without branches.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import Stack, stack
from jittape.compile.kernels.gemm.small_gemm import Vectors
from jittape.compile.llvm.ir_helpers import external, for_steps, integer

__all__ = ["define_skinny_gemm"]


def define_skinny_gemm(kernel: Gemm, function: ir.Function) -> None:
    """Emit a kernel of form ``"dots2"`` to ``"dots5"``."""
    with stack(kernel, function) as one:
        _SkinnyGemm(kernel, one).emit()


class _SkinnyGemm(Vectors):
    """Emitter of one product ``x @ y.T`` of matrices whose rows are contiguous."""

    def __init__(self, kernel: Gemm, one: Stack) -> None:
        super().__init__(kernel, one)
        self.side = int(kernel.form.removeprefix("dots"))

    def emit(self) -> None:
        builder, symbols, side = self.builder, self.symbols, integer(self.side)
        with (
            for_steps(builder, integer(0), symbols["m"], side, scalar=True) as row,
            for_steps(builder, integer(0), symbols["n"], side, scalar=True) as column,
        ):
            self._block(self._numbers(row, symbols["m"]), self._numbers(column, symbols["n"]))

    def _numbers(self, first: ir.Value, extent: ir.Value) -> list[ir.Value]:
        """Return the numbers of a block's rows or columns; those beyond the last are replaced by the last."""
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
        sums = [self.new_sums(len(ys)) for _ in xs]
        with for_steps(builder, integer(0), k, integer(self.lanes), scalar=True) as at:
            mask = self.mask(builder.sub(k, at))
            across = [self.load(builder.gep(y, [at]), mask) for y in ys]
            for x, places in zip(xs, sums, strict=True):
                self.add_products(places, self.load(builder.gep(x, [at]), mask), across)
        self._write(rows, columns, sums)

    def _write(self, rows: list[ir.Value], columns: list[ir.Value], sums: list[list[ir.Value]]) -> None:
        """Emit the stores. All old elements are read first, as the last rows may occur several times."""
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
        """Return the sum of the lanes, added to `start`."""
        name = f"llvm.vector.reduce.fadd.v{self.lanes}f{8 * self.width}"
        kind = ir.FunctionType(self.kind, [self.kind, self.vector])
        reduce = external(self.builder.module, kind, name)
        total = self.builder.call(reduce, [ir.Constant(self.kind, -0.0), lanes], fastmath=("reassoc",))
        return self.builder.fadd(start, total)
