"""Solution of banded systems with partial pivoting in LLVM IR.

The scratch memory has a row for each row of the matrix, whose element `below` is on the diagonal. A row has room for
`below` more elements above the diagonal than the matrix has, which exchanges of rows fill.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.general_band_kernel import GeneralBandSolve
from jittape.compile.kernels.loop.kernel_arguments import operand, range_of_task, size
from jittape.compile.kernels.tridiagonal.matrix_elements import MatrixElements
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import alloca_once, for_range, for_steps, integer
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import info_of
from jittape.value_classes import NamedTuple

__all__ = ["define_general_band_solve"]

_I8, _ZERO, _ONE = ir.IntType(8), integer(0), integer(1)


class _Extents(NamedTuple):
    rows: ir.Value
    columns: ir.Value
    below: ir.Value
    reach: ir.Value  #: number of elements above the diagonal, with those that exchanges of rows fill
    width: ir.Value  #: number of elements of a row


def define_general_band_solve(kernel: GeneralBandSolve, function: ir.Function) -> None:
    """Emit the loop over the systems of a task."""
    builder = Builder(function.append_basic_block("entry"))
    systems, share, rows, columns, below, above = (size(builder, function, i) for i in range(6))
    start, end = range_of_task(builder, function, share, systems)
    element = llvm_type(kernel.dtype)
    matrices, sides = (operand(builder, function, i, element) for i in (0, 1))
    solutions, scratch = (operand(builder, function, i, element) for i in (kernel.solution, 4))
    flags = operand(builder, function, kernel.flags, _I8)
    reach = builder.add(below, above)
    width = builder.add(builder.add(below, reach), _ONE)
    extents = _Extents(rows, columns, below, reach, width)
    factors = builder.gep(scratch, [builder.mul(function.args[3], builder.mul(rows, width))])
    stored, area = builder.mul(rows, builder.add(reach, _ONE)), builder.mul(rows, columns)
    with for_steps(builder, start, end, _ONE, scalar=True) as number:
        bands = builder.gep(matrices, [builder.mul(number, stored)])
        side, solution = (builder.gep(base, [builder.mul(number, area)]) for base in (sides, solutions))
        system = _System(kernel, builder, extents, bands, factors, solution)
        with for_range(builder, area) as index:
            system.put(system.at(side, index), solution, index)
        builder.store(builder.zext(system.solve(), _I8), builder.gep(flags, [number]))
    builder.ret_void()


class _System(MatrixElements):
    """Emitter of the solution of one system."""

    def __init__(
        self,
        kernel: GeneralBandSolve,
        builder: ir.IRBuilder,
        extents: _Extents,
        bands: ir.Value,
        factors: ir.Value,
        solution: ir.Value,
    ) -> None:
        super().__init__(builder, kernel.dtype)
        self.rows, self.columns, self.below, self.reach, self.width = extents
        self.bands, self.factors, self.solution = bands, factors, solution
        self.last = builder.sub(self.rows, _ONE)
        self.zero = self.math.literal(0.0, kernel.dtype)
        self.place = alloca_once(builder, ir.IntType(64))
        self.greatest = alloca_once(builder, llvm_type(info_of(kernel.dtype).real))
        self.singular = alloca_once(builder, ir.IntType(1))

    def solve(self) -> ir.Value:
        """Emit elimination and substitution; return whether a pivot is zero."""
        builder = self.builder
        builder.store(ir.Constant(ir.IntType(1), 0), self.singular)
        with for_range(builder, self.rows, scalar=True) as row:
            self._load(row)
        with for_range(builder, self.rows, scalar=True) as row:
            self._eliminate(row)
        with for_range(builder, self.rows, scalar=True) as step:
            self._substitute(builder.sub(self.last, step))
        return builder.load(self.singular)

    def _factors(self, row: ir.Value, first: ir.Value) -> ir.Value:
        """Return the address of an element of a row of the factors."""
        return self.builder.gep(self.factors, [self.builder.add(self.builder.mul(row, self.width), first)])

    def _row(self, index: ir.Value) -> ir.Value:
        return self.builder.gep(self.solution, [self.builder.mul(index, self.columns)])

    def _least(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_signed("<", a, b), a, b)

    def _load(self, row: ir.Value) -> None:
        """Emit the copy of a row of the matrix; elements outside of it become zeros."""
        builder = self.builder
        own, first = self._factors(row, _ZERO), builder.sub(row, self.below)
        with for_range(builder, self.width, scalar=True) as index:
            column = builder.add(first, index)
            inside = builder.and_(
                builder.icmp_unsigned("<", column, self.rows), builder.icmp_signed("<=", index, self.reach)
            )
            with builder.if_else(inside) as (stored, outside):
                with stored:
                    at = builder.add(builder.mul(builder.sub(self.reach, index), self.rows), column)
                    self.put(self.at(self.bands, at), own, index)
                with outside:
                    self.put(self.zero, own, index)

    def _choose(self, row: ir.Value, following: ir.Value) -> ir.Value:
        """Emit the search of the greatest element in the column of a pivot; return the number of its row."""
        builder = self.builder
        builder.store(row, self.place)
        builder.store(self.size_of(self.at(self._factors(row, self.below), _ZERO)).ir, self.greatest)
        real = info_of(self.dtype).real
        with for_range(builder, following, scalar=True) as step:
            ahead = builder.add(step, _ONE)
            other = builder.add(row, ahead)
            found = self.size_of(self.at(self._factors(other, builder.sub(self.below, ahead)), _ZERO))
            greatest = IRValue(builder, builder.load(self.greatest), real)
            is_greater = (greatest < found).ir
            builder.store(builder.select(is_greater, found.ir, greatest.ir), self.greatest)
            builder.store(builder.select(is_greater, other, builder.load(self.place)), self.place)
        return builder.load(self.place)

    def _exchange(self, a: ir.Value, b: ir.Value, count: ir.Value) -> None:
        """Emit the exchange of two arrays."""
        with for_range(self.builder, count, scalar=True) as index:
            first, second = self.at(a, index), self.at(b, index)
            self.put(second, a, index)
            self.put(first, b, index)

    def _subtract(self, factor: IRValue, row: ir.Value, changed: ir.Value, count: ir.Value) -> None:
        """Emit the subtraction of a multiple of an array from another one."""
        with for_range(self.builder, count) as index:
            self.put(self.at(changed, index) - factor * self.at(row, index), changed, index)

    def _eliminate(self, row: ir.Value) -> None:
        """Emit the choice of a pivot and the elimination below it."""
        builder, m = self.builder, self.math
        remaining = builder.sub(self.last, row)
        following, reached = self._least(self.below, remaining), self._least(self.reach, remaining)
        chosen = self._choose(row, following)
        own = self._factors(row, self.below)
        with builder.if_then(builder.icmp_signed("!=", chosen, row)):
            other = self._factors(chosen, builder.sub(self.below, builder.sub(chosen, row)))
            self._exchange(own, other, builder.add(reached, _ONE))
            self._exchange(self._row(row), self._row(chosen), self.columns)
        pivot = self.at(own, _ZERO)
        fails = (pivot == self.zero).ir
        builder.store(builder.or_(builder.load(self.singular), fails), self.singular)
        beyond = builder.gep(own, [_ONE])
        with for_range(builder, following, scalar=True) as step:
            ahead = builder.add(step, _ONE)
            index = builder.add(row, ahead)
            lead = self._factors(index, builder.sub(self.below, ahead))
            factor = m.divide(self.at(lead, _ZERO), pivot)
            self._subtract(factor, beyond, builder.gep(lead, [_ONE]), reached)
            self._subtract(factor, self._row(row), self._row(index), self.columns)

    def _substitute(self, row: ir.Value) -> None:
        """Emit one row of the solution, after those below it."""
        builder = self.builder
        reached = self._least(self.reach, builder.sub(self.last, row))
        factors, here = self._factors(row, self.below), self._row(row)
        with for_range(builder, reached, scalar=True) as step:
            ahead = builder.add(step, _ONE)
            self._subtract(self.at(factors, ahead), self._row(builder.add(row, ahead)), here, self.columns)
        pivot = self.at(factors, _ZERO)
        with for_range(builder, self.columns) as column:
            self.put(self.math.divide(self.at(here, column), pivot), here, column)
