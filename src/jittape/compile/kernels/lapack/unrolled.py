"""Factorizations and solves of stacks of small matrices in LLVM IR, without calls.

A vector has the same element of several matrices in its lanes. The lanes are loaded one by one, which costs less than
the vectors save. The remaining matrices run one by one.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.ir.lapack import Lapack
from jittape.compile.kernels.lapack import small_matrices
from jittape.compile.kernels.loop.kernel_arguments import operand, range_of_task, size
from jittape.compile.llvm.ir_builder import Builder, vector_type
from jittape.compile.llvm.ir_helpers import for_range, for_steps, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import bool_
from jittape.core.tuning import tuning

__all__ = ["define_unrolled"]

_I8, _I32 = ir.IntType(8), ir.IntType(32)
_Values = list[IRValue]


def define_unrolled(kernel: Lapack, function: ir.Function) -> None:
    """Emit a factorization or a solve of matrices of order ``kernel.order``."""
    _Unrolled(kernel, function).emit()


class _Unrolled:
    """Emitter of one task."""

    def __init__(self, kernel: Lapack, function: ir.Function) -> None:
        self.builder = builder = Builder(function.append_basic_block("entry"))
        self.m = IRMath(builder)
        self.kernel = kernel
        self.n = kernel.order
        self.function = function
        self.symbols = {name: size(builder, function, i) for i, name in enumerate(kernel.SYMBOLS)}
        self.kind = llvm_type(kernel.dtype)
        self.operands = [
            operand(builder, function, i, _I8 if o.dtype == bool_ else self.kind)
            for i, o in enumerate(kernel.operands)
        ]
        self.columns = self.symbols["k"] if kernel.solves else integer(self.n)
        self.area = integer((self.n + 1) * self.n)
        if kernel.routine != "getrf":
            self.area = builder.mul(integer(self.n), self.columns)

    def emit(self) -> None:
        """Emit a loop over vectors of matrices, and a loop over the rest."""
        builder, symbols = self.builder, self.symbols
        begin, end = range_of_task(builder, self.function, symbols["t0"], symbols["b1"])
        if self.kernel.may_fail:
            self.failed = builder.gep(self.operands[-1], [self.function.args[3]])
            builder.store(ir.Constant(_I8, 0), self.failed)
        lanes = tuning.vector_bytes // self.kernel.dtype.itemsize
        count = builder.sub(end, begin)
        rest = builder.sub(end, builder.srem(count, integer(lanes)))
        for start, stop, width in ((begin, rest, lanes), (rest, end, 1)):
            with for_steps(builder, start, stop, integer(width), scalar=True) as first:
                self._matrices([builder.add(first, integer(lane)) for lane in range(width)])
        builder.ret_void()

    def _matrices(self, numbers: list[ir.Value]) -> None:
        """Emit the factorizations or solves of matrices with these numbers."""
        builder, kernel = self.builder, self.kernel
        out = [self._place(self.operands[kernel.result], number, self.area) for number in numbers]
        matrices = out
        if kernel.result:
            start = builder.gep(self.operands[0], [self.symbols["oa"]])
            matrices = [self._place(start, number, self.symbols["x1"]) for number in numbers]
        routine: Callable[[list[ir.Value], list[ir.Value], list[ir.Value]], None]
        routine = getattr(self, f"_{kernel.routine}")
        rhs = out
        if kernel.solves and not kernel.in_place:
            rhs = [self._place(self.operands[1], number, self.area) for number in numbers]
        routine(matrices, rhs, out)

    def _potrf(self, a: list[ir.Value], _: list[ir.Value], out: list[ir.Value]) -> None:
        n = self.n
        factor, failed = small_matrices.cholesky(
            self.m, [[self._element(a, i, j) for j in range(i + 1)] for i in range(n)]
        )
        self._note(failed)
        for i in range(n):
            for j in range(n):
                value = factor[i][j] if j <= i else self.m.literal(0.0, self.kernel.dtype)
                self._store(value, out, integer(i * n + j))

    def _trsm(self, a: list[ir.Value], rhs: list[ir.Value], out: list[ir.Value]) -> None:
        n, lower = self.n, self.kernel.lower
        zero = self.m.literal(0.0, self.kernel.dtype)
        rows = [
            [self._element(a, i, j) if (j <= i if lower else j >= i) else zero for j in range(n)]
            for i in range(n)
        ]
        self._solve(small_matrices.triangular_solver(rows, lower, self.kernel.adjoint), rhs, out)

    def _getrf(self, a: list[ir.Value], _: list[ir.Value], out: list[ir.Value]) -> None:
        n = self.n
        rows = [[self._element(a, i, j) for j in range(n)] for i in range(n)]
        factors, pivots = small_matrices.lu(self.m, rows)
        for j in range(n):
            for i in range(n):
                self._store(factors[i][j], out, integer(j * n + i))
            self._store(pivots[j], out, integer(n * n + j))

    def _getrs(self, a: list[ir.Value], rhs: list[ir.Value], out: list[ir.Value]) -> None:
        n = self.n
        factors = [[self._load(a, integer(j * n + i)) for j in range(n)] for i in range(n)]
        pivots = [self._load(a, integer(n * n + j)) for j in range(n)]
        solve, failed = small_matrices.lu_solver(self.m, factors, pivots, self.kernel.adjoint)
        self._note(failed)
        self._solve(solve, rhs, out)

    def _solve(self, solve: Callable[[_Values], _Values], rhs: list[ir.Value], out: list[ir.Value]) -> None:
        """Emit the loop over the right-hand sides."""
        builder, columns = self.builder, self.columns
        with for_range(builder, columns, scalar=True) as column:
            places = [builder.add(builder.mul(integer(i), columns), column) for i in range(self.n)]
            for place, value in zip(places, solve([self._load(rhs, p) for p in places]), strict=True):
                self._store(value, out, place)

    # ---- memory ----------------------------------------------------------------------------------------------------

    def _place(self, start: ir.Value, number: ir.Value, stride: ir.Value) -> ir.Value:
        return self.builder.gep(start, [self.builder.mul(number, stride)])

    def _element(self, a: list[ir.Value], i: int, j: int) -> IRValue:
        """Return an element of the matrices at `a`."""
        outer, inner = (j, i) if self.kernel.transposed else (i, j)
        return self._load(
            a, self.builder.add(self.builder.mul(integer(outer), self.symbols["la"]), integer(inner))
        )

    def _load(self, places: list[ir.Value], index: ir.Value) -> IRValue:
        """Return a vector of the elements number `index` behind the places; a number for one place."""
        builder = self.builder
        values = [builder.load(builder.gep(place, [index])) for place in places]
        if len(values) == 1:
            return IRValue(builder, values[0], self.kernel.dtype)
        vector = ir.Constant(vector_type(self.kind, len(values)), ir.Undefined)
        for lane, value in enumerate(values):
            vector = builder.insert_element(vector, value, ir.Constant(_I32, lane))
        return IRValue(builder, vector, self.kernel.dtype)

    def _store(self, value: IRValue, places: list[ir.Value], index: ir.Value) -> None:
        builder = self.builder
        for lane, place in enumerate(places):
            element = value.ir
            if value.lanes is not None:
                element = builder.extract_element(value.ir, ir.Constant(_I32, lane))
            builder.store(element, builder.gep(place, [index]))

    def _note(self, failed: IRValue) -> None:
        """Emit the note that a matrix failed."""
        if not self.kernel.may_fail:
            return
        builder, some = self.builder, failed.ir
        if failed.lanes is not None:
            bits = ir.IntType(failed.lanes)
            some = builder.icmp_unsigned("!=", builder.bitcast(some, bits), ir.Constant(bits, 0))
        with builder.if_then(some, likely=False):
            builder.store(ir.Constant(_I8, 1), self.failed)
