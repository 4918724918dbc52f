"""Solution of tridiagonal systems with partial pivoting in LLVM IR.

A step exchanges its row with the next one if that has the greater element below the diagonal, and eliminates this
element. An exchange moves an element to the second superdiagonal. Scratch memory has the inverse pivots and the two
superdiagonals, of which the one next to the diagonal is in the place of the compact form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.ir.tridiagonal_kernel import TridiagonalSolve
from jittape.compile.kernels.loop.kernel_arguments import operand, range_of_task, size
from jittape.compile.kernels.tridiagonal.matrix_elements import MatrixElements
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import alloca_once, for_range, for_steps, integer
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import bool_

__all__ = ["define_tridiagonal_solve"]

_I8 = ir.IntType(8)


def define_tridiagonal_solve(kernel: TridiagonalSolve, function: ir.Function) -> None:
    """Emit the loop over the systems of a task."""
    builder = Builder(function.append_basic_block("entry"))
    systems, share, rows, columns = (size(builder, function, i) for i in range(4))
    start, end = range_of_task(builder, function, share, systems)
    element = llvm_type(kernel.dtype)
    matrices, sides = (operand(builder, function, i, element) for i in (0, 1))
    solutions, scratch = (operand(builder, function, i, element) for i in (kernel.solution, 4))
    flags = operand(builder, function, kernel.flags, _I8)
    compact, area = builder.mul(rows, integer(3)), builder.mul(rows, columns)
    with for_steps(builder, start, end, integer(1), scalar=True) as number:
        matrix, own = (builder.gep(base, [builder.mul(number, compact)]) for base in (matrices, scratch))
        side, solution = (builder.gep(base, [builder.mul(number, area)]) for base in (sides, solutions))
        system = _System(builder, kernel.dtype, rows, columns, matrix, own, solution)
        with for_range(builder, area) as index:
            system.put(system.at(side, index), solution, index)
        builder.store(builder.zext(system.solve(), _I8), builder.gep(flags, [number]))
    builder.ret_void()


class _System(MatrixElements):
    """Emitter of the solution of one system."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        dtype: np.dtype[Any],
        rows: ir.Value,
        columns: ir.Value,
        matrix: ir.Value,
        scratch: ir.Value,
        solution: ir.Value,
    ) -> None:
        super().__init__(builder, dtype)
        self.rows, self.columns, self.solution = rows, columns, solution
        self.zero = self.math.literal(0.0, dtype)
        self.last = builder.sub(rows, integer(1))
        twice = builder.mul(rows, integer(2))
        self.above, self.diagonal, self.below = (
            matrix,
            builder.gep(matrix, [rows]),
            builder.gep(matrix, [twice]),
        )
        self.pivots, self.first, self.second = (
            scratch,
            builder.gep(scratch, [rows]),
            builder.gep(scratch, [twice]),
        )
        self.pivot, self.next = (alloca_once(builder, llvm_type(dtype)) for _ in range(2))
        self.singular = alloca_once(builder, ir.IntType(1))

    def _held(self, place: ir.Value) -> IRValue:
        return IRValue(self.builder, self.builder.load(place), self.dtype)

    def _row(self, index: ir.Value) -> ir.Value:
        return self.builder.gep(self.solution, [self.builder.mul(index, self.columns)])

    def solve(self) -> ir.Value:
        """Emit elimination and substitution; return whether a pivot is zero."""
        builder = self.builder
        builder.store(ir.Constant(ir.IntType(1), 0), self.singular)
        builder.store(self.at(self.diagonal, integer(0)).ir, self.pivot)
        builder.store(self._superdiagonal(integer(0)).ir, self.next)
        with for_range(builder, self.last, scalar=True) as index:
            self._eliminate(index)
        self._keep(self.last, self._held(self.pivot), self.zero, self.zero)
        with for_range(builder, self.rows, scalar=True) as step:
            self._substitute(builder.sub(self.last, step))
        return builder.load(self.singular)

    def _superdiagonal(self, index: ir.Value) -> IRValue:
        """Return the element above the diagonal; zero in the last row, where the compact form has anything."""
        unused = IRValue(self.builder, self.builder.icmp_signed("==", index, self.last), bool_)
        return self.math.where(unused, self.zero, self.at(self.above, index))

    def _keep(self, index: ir.Value, pivot: IRValue, first: IRValue, second: IRValue) -> None:
        builder = self.builder
        fails = (pivot == self.zero).ir
        builder.store(builder.or_(builder.load(self.singular), fails), self.singular)
        for base, value in ((self.pivots, pivot), (self.first, first), (self.second, second)):
            self.put(value, base, index)

    def _eliminate(self, index: ir.Value) -> None:
        """Emit the choice of the pivot and the elimination below it."""
        builder, m = self.builder, self.math
        following = builder.add(index, integer(1))
        pivot, beside = self._held(self.pivot), self._held(self.next)
        below, diagonal, above = (
            self.at(self.below, following),
            self.at(self.diagonal, following),
            self._superdiagonal(following),
        )
        swaps = self.size_of(pivot) < self.size_of(below)
        kept = m.where(swaps, below, pivot)
        self._keep(index, kept, m.where(swaps, diagonal, beside), m.where(swaps, above, self.zero))
        factor = m.divide(m.where(swaps, pivot, below), kept)

        def reduced(changed: IRValue, by: IRValue) -> IRValue:
            return changed - factor * by

        builder.store(m.where(swaps, reduced(beside, diagonal), reduced(diagonal, beside)).ir, self.pivot)
        builder.store(m.where(swaps, reduced(self.zero, above), above).ir, self.next)
        here, there = self._row(index), self._row(following)
        with for_range(builder, self.columns) as column:
            own, other = (self.at(row, column) for row in (here, there))
            self.put(m.where(swaps, other, own), here, column)
            self.put(m.where(swaps, reduced(own, other), reduced(other, own)), there, column)

    def _substitute(self, index: ir.Value) -> None:
        """Emit one row of the solution; rows beyond the last one count nothing."""
        builder = self.builder
        pivot, here = self.at(self.pivots, index), self._row(index)
        for ahead, base in ((1, self.first), (2, self.second)):
            other = builder.add(index, integer(ahead))
            with builder.if_then(builder.icmp_signed("<", other, self.rows)):
                factor, row = self.at(base, index), self._row(other)
                with for_range(builder, self.columns) as column:
                    self.put(self.at(here, column) - factor * self.at(row, column), here, column)
        with for_range(builder, self.columns) as column:
            self.put(self.math.divide(self.at(here, column), pivot), here, column)
