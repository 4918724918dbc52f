"""Substitution with triangular matrices that have few diagonals in LLVM IR."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.banded_kernel import BandedSubstitution
from jittape.compile.kernels.loop.kernel_arguments import operand, range_of_task, size
from jittape.compile.kernels.tridiagonal.matrix_elements import MatrixElements
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range, for_steps, integer
from jittape.compile.llvm.ir_value import IRValue, llvm_type

__all__ = ["define_banded_substitution"]


def define_banded_substitution(kernel: BandedSubstitution, function: ir.Function) -> None:
    """Emit the loop over the systems of a task."""
    builder = Builder(function.append_basic_block("entry"))
    systems, share, rows, columns, count = (size(builder, function, i) for i in range(5))
    start, end = range_of_task(builder, function, share, systems)
    element = llvm_type(kernel.dtype)
    matrices, sides, solutions = (operand(builder, function, i, element) for i in range(3))
    stored, area = builder.mul(rows, count), builder.mul(rows, columns)
    with for_steps(builder, start, end, integer(1), scalar=True) as number:
        bands = builder.gep(matrices, [builder.mul(number, stored)])
        side, solution = (builder.gep(base, [builder.mul(number, area)]) for base in (sides, solutions))
        system = _System(kernel, builder, (rows, columns, count), bands, solution)
        with for_range(builder, area) as index:
            system.put(system.at(side, index), solution, index)
        with for_range(builder, rows, scalar=True) as step:
            system.substitute(step)
    builder.ret_void()


class _System(MatrixElements):
    """Emitter of the solution of one system."""

    def __init__(
        self,
        kernel: BandedSubstitution,
        builder: ir.IRBuilder,
        extents: tuple[ir.Value, ir.Value, ir.Value],
        bands: ir.Value,
        solution: ir.Value,
    ) -> None:
        super().__init__(builder, kernel.dtype)
        self.kernel = kernel
        self.rows, self.columns, self.count = extents
        self.bands, self.solution = bands, solution
        self.forward = kernel.lower != kernel.adjoint

    def substitute(self, step: ir.Value) -> None:
        """Emit one row of the solution, after `step` rows."""
        builder, one = self.builder, integer(1)
        row = step if self.forward else builder.sub(builder.sub(self.rows, one), step)
        here = self._row(row)
        diagonals = builder.sub(self.count, one)
        reached = builder.select(builder.icmp_signed("<", diagonals, step), diagonals, step)
        with for_range(builder, reached, scalar=True) as index:
            k = builder.add(index, one)
            other = builder.sub(row, k) if self.forward else builder.add(row, k)
            factor, there = self._element(k, other if self.kernel.adjoint else row), self._row(other)
            with for_range(builder, self.columns) as column:
                self.put(self.at(here, column) - factor * self.at(there, column), here, column)
        pivot = self._element(integer(0), row)
        with for_range(builder, self.columns) as column:
            self.put(self.math.divide(self.at(here, column), pivot), here, column)

    def _row(self, index: ir.Value) -> ir.Value:
        return self.builder.gep(self.solution, [self.builder.mul(index, self.columns)])

    def _element(self, k: ir.Value, column: ir.Value) -> IRValue:
        """Return an element of the `k`-th diagonal beside the main one, conjugated for an adjoint."""
        builder = self.builder
        row = k if self.kernel.lower else builder.sub(builder.sub(self.count, integer(1)), k)
        value = self.at(self.bands, builder.add(builder.mul(row, self.rows), column))
        if not self.kernel.adjoint or self.dtype.kind != "c":
            return value
        return self.math.complex_number(self.math.real(value), -self.math.imag(value))
