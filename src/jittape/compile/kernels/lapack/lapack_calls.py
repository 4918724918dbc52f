"""Factorizations and solves in LLVM IR: a loop over the matrices of a task around calls such as ``jittape_dpotrf``.

LAPACK's matrices are column-major, so it sees the transpose M of each matrix in memory. No matrix is transposed for it:

- The lower Cholesky factor L of A, row by row, is the upper factor U of conj(A): ``U^H U = conj(L) L^T``.
- Right-hand sides are rows for LAPACK. ``op(A) X = B`` is ``X^T op(A)^T = B^T``, a solve from the right.
- The packed factors of an LU decomposition are stored transposed, as LAPACK writes them.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.ir.lapack import Lapack
from jittape.compile.kernels.lapack.diagonal_pullback import DiagonalPullback
from jittape.compile.llvm.ir_helpers import for_range, integer

__all__ = ["define_lapack"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def define_lapack(kernel: Lapack, function: ir.Function) -> None:
    """Emit a factorization or a solve."""
    _LapackCalls(kernel, function).emit()


class _LapackCalls(DiagonalPullback):
    """Emitter of the calls of one task."""

    def emit(self) -> None:
        """Emit the loop over the matrices of the task."""
        builder, kernel = self.builder, self.kernel
        routine: Callable[[ir.Value, ir.Value], None] = getattr(self, f"_{kernel.routine}")
        columns = self.k if kernel.solves else self.n
        rows = builder.add(self.n, integer(1)) if kernel.routine == "getrf" else self.n
        area = builder.mul(rows, columns)
        with self.matrices_of_task() as number:
            out = self.place(self.operands[kernel.result], builder.mul(number, area))
            self.matrix_number = number
            if kernel.solves and not kernel.in_place:
                self.copy(out, self.place(self.operands[1], builder.mul(number, area)), area)
            if kernel.result == 0:
                routine(out, out)
            else:
                routine(self.matrix_at(number), out)

    # ---- routines: called with the places of the matrix and of the result ------------------------------------------

    def _potrf(self, a: ir.Value, out: ir.Value) -> None:
        builder, n = self.builder, self.n
        with for_range(builder, n, scalar=True) as row:
            begin = self.place(out, builder.mul(row, n))
            count = builder.add(row, integer(1))
            if not self.kernel.in_place:
                self.copy_row(begin, a, row, count)
            self.clear(self.place(begin, count), builder.sub(n, count))
        self.call("potrf", self.letter("U"), self.order, out, self.row_order, self.info)
        self.note_failure()

    def _trsm(self, a: ir.Value, out: ir.Value) -> None:
        kernel = self.kernel
        upper = "U" if kernel.lower != kernel.transposed else "L"
        flag = ("TN" if kernel.transposed else "NC")[kernel.adjoint]
        vector = {"N": "T", "T": "N", "C": "N"}[flag]
        if self.is_complex and kernel.adjoint:
            self._solve(upper, flag, "N", a, out)
            return
        with self.builder.if_else(self._is_vector()) as (single, several):
            with single:
                self._solve_vector(upper, vector, "N", a, out)
            with several:
                self._solve(upper, flag, "N", a, out)

    def _getrf(self, a: ir.Value, out: ir.Value) -> None:
        builder, n = self.builder, self.n
        with for_range(builder, n, scalar=True) as column:
            self.copy_column(self.place(out, builder.mul(column, n)), a, column)
        pivots = self.place(out, builder.mul(n, n))
        self.call("getrf", self.order, self.order, out, self.row_order, pivots, self.info)
        self.note_failure()
        self._pivots_to_floats(pivots)

    def _getrs(self, a: ir.Value, out: ir.Value) -> None:
        pivots = self.place(a, self.builder.mul(self.n, self.n))
        self._note_zero_pivots(a)
        adjoint = self.kernel.adjoint
        if not adjoint:
            self._swap_rows(pivots, out, backwards=False)
        with self.builder.if_else(self._is_vector()) as (single, several):
            with single:
                for upper in "UL" if adjoint else "LU":
                    self._solve_vector(upper, "C" if adjoint else "N", "U" if upper == "L" else "N", a, out)
            with several:
                # No routine solves with the conjugate of a matrix: the right-hand sides are conjugated instead.
                conjugated = self.is_complex and adjoint
                if conjugated:
                    self._conjugate(out)
                for upper in "UL" if adjoint else "LU":
                    self._solve(upper, "N" if adjoint else "T", "U" if upper == "L" else "N", a, out)
                if conjugated:
                    self._conjugate(out)
        if adjoint:
            self._swap_rows(pivots, out, backwards=True)

    def _solve(self, upper: str, flag: str, diagonal: str, a: ir.Value, out: ir.Value) -> None:
        letters = [self.letter(letter) for letter in ("R", upper, flag, diagonal)]
        extents = (self.columns, self.order)
        self.call("trsm", *letters, *extents, self.one, a, self.leading, out, self.row_columns)

    def _solve_vector(self, upper: str, flag: str, diagonal: str, a: ir.Value, out: ir.Value) -> None:
        letters = [self.letter(letter) for letter in (upper, flag, diagonal)]
        self.call("trsv", *letters, self.order, a, self.leading, out, self.one_step)

    def _is_vector(self) -> ir.Value:
        return self.builder.icmp_signed("==", self.k, integer(1))

    def _note_zero_pivots(self, a: ir.Value) -> None:
        if not self.kernel.may_fail:
            return
        builder = self.builder
        numbers = builder.bitcast(a, self.real.as_pointer())
        step = builder.mul(builder.add(self.n, integer(1)), integer(1 + self.is_complex))
        zero = ir.Constant(self.real, 0.0)
        with for_range(builder, self.n, scalar=True) as index:
            place = builder.gep(numbers, [builder.mul(index, step)])
            failed = builder.fcmp_ordered("==", builder.load(place), zero)
            if self.is_complex:
                imaginary = builder.load(builder.gep(place, [integer(1)]))
                failed = builder.and_(failed, builder.fcmp_ordered("==", imaginary, zero))
            with builder.if_then(failed, likely=False):
                builder.store(ir.Constant(_I8, 1), self.failed)

    # ---- pivots ----------------------------------------------------------------------------------------------------

    def _pivots_to_floats(self, place: ir.Value) -> None:
        """Emit the conversion of pivots, counted from 1 as 32-bit integers, to numbers counted from 0, in place.

        A number takes at least as many bytes, so the last pivot is converted first.
        """
        builder = self.builder
        integers = builder.bitcast(place, _I32.as_pointer())
        numbers = builder.bitcast(place, self.real.as_pointer())
        with for_range(builder, self.n, scalar=True) as index:
            at = builder.sub(builder.sub(self.n, integer(1)), index)
            pivot = builder.sub(builder.load(builder.gep(integers, [at])), ir.Constant(_I32, 1))
            value = builder.sitofp(pivot, self.real)
            if self.is_complex:
                at = builder.mul(at, integer(2))
                builder.store(
                    ir.Constant(self.real, 0.0), builder.gep(numbers, [builder.add(at, integer(1))])
                )
            builder.store(value, builder.gep(numbers, [at]))

    def _swap_rows(self, pivots: ir.Value, out: ir.Value, backwards: bool) -> None:
        """Emit the exchange of each row of the right-hand sides with that of its pivot."""
        builder, n, k = self.builder, self.n, self.k
        numbers = builder.bitcast(pivots, self.real.as_pointer())
        with for_range(builder, n, scalar=True) as index:
            row = builder.sub(builder.sub(n, integer(1)), index) if backwards else index
            at = builder.mul(row, integer(2)) if self.is_complex else row
            other = builder.fptosi(builder.load(builder.gep(numbers, [at])), _I64)
            with builder.if_then(builder.icmp_signed("!=", row, other)):
                first, second = (self.place(out, builder.mul(r, k)) for r in (row, other))
                with for_range(builder, k) as column:
                    places = [self.place(first, column), self.place(second, column)]
                    values = [self.load(place) for place in places]
                    for place, value in zip(places, reversed(values), strict=True):
                        self.store(value, place)

    def _conjugate(self, out: ir.Value) -> None:
        """Emit the conjugation of the right-hand sides."""
        builder = self.builder
        numbers = builder.bitcast(out, self.real.as_pointer())
        with for_range(builder, builder.mul(self.n, self.k)) as index:
            place = builder.gep(numbers, [builder.add(builder.mul(index, integer(2)), integer(1))])
            builder.store(builder.fneg(builder.load(place)), place)
