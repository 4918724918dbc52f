"""Solution of tridiagonal systems with partial pivoting in LLVM IR.

A step exchanges its row with the next one if that has the greater element below the diagonal, and eliminates this
element. An exchange moves an element to the second superdiagonal. Scratch memory has the inverse pivots and the two
superdiagonals, of which the one next to the diagonal is in the place of the compact form.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from jittape.compile.ir.tridiagonal_kernel import TridiagonalSolve
from jittape.compile.kernels.loop.kernel_arguments import operand, range_of_task, size
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import alloca_once, for_range, for_steps, integer
from jittape.compile.llvm.ir_value import memory_type

__all__ = ["define_tridiagonal_solve"]

_I8 = ir.IntType(8)


def define_tridiagonal_solve(kernel: TridiagonalSolve, function: ir.Function) -> None:
    """Emit the loop over the systems of a task."""
    builder = Builder(function.append_basic_block("entry"))
    systems, share, rows, columns = (size(builder, function, i) for i in range(4))
    start, end = range_of_task(builder, function, share, systems)
    element = memory_type(kernel.dtype)
    matrices, sides = (operand(builder, function, i, element) for i in (0, 1))
    solutions, scratch = (operand(builder, function, i, element) for i in (kernel.solution, 4))
    flags = operand(builder, function, kernel.flags, _I8)
    compact, area = builder.mul(rows, integer(3)), builder.mul(rows, columns)
    with for_steps(builder, start, end, integer(1), scalar=True) as number:
        matrix, own = (builder.gep(base, [builder.mul(number, compact)]) for base in (matrices, scratch))
        side, solution = (builder.gep(base, [builder.mul(number, area)]) for base in (sides, solutions))
        with for_range(builder, area) as index:
            builder.store(builder.load(builder.gep(side, [index])), builder.gep(solution, [index]))
        system = _System(builder, element, rows, columns, matrix, own, solution)
        builder.store(builder.zext(system.solve(), _I8), builder.gep(flags, [number]))
    builder.ret_void()


class _System:
    """Emitter of the solution of one system."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        element: ir.Type,
        rows: ir.Value,
        columns: ir.Value,
        matrix: ir.Value,
        scratch: ir.Value,
        solution: ir.Value,
    ) -> None:
        self.builder, self.rows, self.columns, self.solution = builder, rows, columns, solution
        self.zero = ir.Constant(element, 0.0)
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
        self.pivot, self.next = alloca_once(builder, element), alloca_once(builder, element)
        self.singular = alloca_once(builder, ir.IntType(1))

    def _at(self, base: ir.Value, index: ir.Value) -> Any:
        return self.builder.load(self.builder.gep(base, [index]))

    def _row(self, index: ir.Value) -> ir.Value:
        return self.builder.gep(self.solution, [self.builder.mul(index, self.columns)])

    def solve(self) -> ir.Value:
        """Emit elimination and substitution; return whether a pivot is zero."""
        builder = self.builder
        builder.store(ir.Constant(ir.IntType(1), 0), self.singular)
        builder.store(builder.load(self.diagonal), self.pivot)
        builder.store(self._superdiagonal(integer(0)), self.next)
        with for_range(builder, self.last, scalar=True) as index:
            self._eliminate(index)
        self._keep(self.last, builder.load(self.pivot), self.zero, self.zero)
        with for_range(builder, self.rows, scalar=True) as step:
            self._substitute(builder.sub(self.last, step))
        return builder.load(self.singular)

    def _superdiagonal(self, index: ir.Value) -> ir.Value:
        """Return the element above the diagonal; zero in the last row, where the compact form has anything."""
        unused = self.builder.icmp_signed("==", index, self.last)
        return self.builder.select(unused, self.zero, self._at(self.above, index))

    def _keep(self, index: ir.Value, pivot: ir.Value, first: ir.Value, second: ir.Value) -> None:
        builder = self.builder
        fails = builder.fcmp_ordered("==", pivot, self.zero)
        builder.store(builder.or_(builder.load(self.singular), fails), self.singular)
        for base, value in ((self.pivots, pivot), (self.first, first), (self.second, second)):
            builder.store(value, builder.gep(base, [index]))

    def _eliminate(self, index: ir.Value) -> None:
        """Emit the choice of the pivot and the elimination below it."""
        builder = self.builder
        following = builder.add(index, integer(1))
        pivot, beside = builder.load(self.pivot), builder.load(self.next)
        below, diagonal, above = (
            self._at(self.below, following),
            self._at(self.diagonal, following),
            self._superdiagonal(following),
        )
        sizes = [
            builder.select(builder.fcmp_ordered("<", v, self.zero), builder.fneg(v), v)
            for v in (pivot, below)
        ]
        swaps = builder.fcmp_ordered("<", sizes[0], sizes[1])
        kept = builder.select(swaps, below, pivot)
        self._keep(
            index,
            kept,
            builder.select(swaps, diagonal, beside),
            builder.select(swaps, above, self.zero),
        )
        factor = builder.fdiv(builder.select(swaps, pivot, below), kept)

        def reduced(changed: ir.Value, by: ir.Value) -> ir.Value:
            return builder.fsub(changed, builder.fmul(factor, by))

        builder.store(builder.select(swaps, reduced(beside, diagonal), reduced(diagonal, beside)), self.pivot)
        builder.store(builder.select(swaps, reduced(self.zero, above), above), self.next)
        here, there = self._row(index), self._row(following)
        with for_range(builder, self.columns) as column:
            places = [builder.gep(row, [column]) for row in (here, there)]
            own, other = (builder.load(place) for place in places)
            builder.store(builder.select(swaps, other, own), places[0])
            builder.store(builder.select(swaps, reduced(own, other), reduced(other, own)), places[1])

    def _substitute(self, index: ir.Value) -> None:
        """Emit one row of the solution; rows beyond the last one count nothing."""
        builder = self.builder
        pivot, here = self._at(self.pivots, index), self._row(index)
        for ahead, base in ((1, self.first), (2, self.second)):
            other = builder.add(index, integer(ahead))
            with builder.if_then(builder.icmp_signed("<", other, self.rows)):
                factor, row = self._at(base, index), self._row(other)
                with for_range(builder, self.columns) as column:
                    place = builder.gep(here, [column])
                    product = builder.fmul(factor, builder.load(builder.gep(row, [column])))
                    builder.store(builder.fsub(builder.load(place), product), place)
        with for_range(builder, self.columns) as column:
            place = builder.gep(here, [column])
            builder.store(builder.fdiv(builder.load(place), pivot), place)
