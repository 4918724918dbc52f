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
from jittape.compile.kernels.loop.kernel_arguments import operand, size
from jittape.compile.llvm.fortran_calls import FortranCalls
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, external, for_range, for_steps, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import bool_, info_of
from jittape.core.tuning import tuning

__all__ = ["define_lapack"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def define_lapack(kernel: Lapack, function: ir.Function) -> None:
    """Emit a factorization or a solve."""
    _LapackCalls(kernel, function).emit()


class _LapackCalls(FortranCalls):
    """Emitter of the calls of one task."""

    def __init__(self, kernel: Lapack, function: ir.Function) -> None:
        super().__init__(Builder(function.append_basic_block("entry")), kernel.dtype)
        builder = self.builder
        self.kernel = kernel
        self.task = function.args[3]
        self.symbols = {name: size(builder, function, i) for i, name in enumerate(kernel.SYMBOLS)}
        self.real = llvm_type(info_of(kernel.dtype).real)
        self.is_complex = kernel.dtype.kind == "c"
        self.element = ir.IntType(8 * kernel.dtype.itemsize)
        self.operands = [
            operand(builder, function, i, _I8 if o.dtype == bool_ else self.element)
            for i, o in enumerate(kernel.operands)
        ]
        self.n, self.k = self.symbols["n"], self.symbols["k"]
        self.order, self.columns, self.leading = (self.integer(self.symbols[s]) for s in ("n", "k", "la"))
        self.row_order, self.row_columns = (self.integer(self._at_least_one(v)) for v in (self.n, self.k))
        self.one_step = self.integer(integer(1))
        self.one = self.number(ir.Constant(self.real, 1.0))
        self.info = self.held(ir.Constant(_I32, 0))

    def emit(self) -> None:
        """Emit the loop over the matrices of the task."""
        builder, symbols, kernel = self.builder, self.symbols, self.kernel
        first = builder.mul(self.task, symbols["t0"])
        left = builder.sub(builder.mul(symbols["b0"], symbols["b1"]), first)
        count = self._smaller(left, symbols["t0"])
        if kernel.may_fail:
            self.failed = builder.gep(self.operands[-1], [self.task])
            builder.store(ir.Constant(_I8, 0), self.failed)
        routine: Callable[[ir.Value, ir.Value], None] = getattr(self, f"_{kernel.routine}")
        columns = self.k if kernel.solves else self.n
        rows = builder.add(self.n, integer(1)) if kernel.routine == "getrf" else self.n
        area = builder.mul(rows, columns)
        with for_range(builder, count, scalar=True) as index:
            number = builder.add(first, index)
            out = self._at(self.operands[kernel.result], builder.mul(number, area))
            self.at = number
            if kernel.solves and not kernel.in_place:
                self._copy(out, self._at(self.operands[1], builder.mul(number, area)), area)
            if kernel.result == 0:
                routine(out, out)
            else:
                routine(self._at(self.operands[0], self._offset(number)), out)
        builder.ret_void()

    def _at_least_one(self, extent: ir.Value) -> ir.Value:
        """Return a leading dimension, which LAPACK requires to be positive."""
        one = integer(1)
        return self.builder.select(self.builder.icmp_signed(">", extent, one), extent, one)

    def _offset(self, number: ir.Value) -> ir.Value:
        """Return the distance of matrix `number` of the stack from the beginning of its operand."""
        builder, symbols = self.builder, self.symbols
        outer, inner = builder.sdiv(number, symbols["b1"]), builder.srem(number, symbols["b1"])
        stacked = builder.add(builder.mul(outer, symbols["x0"]), builder.mul(inner, symbols["x1"]))
        return builder.add(symbols["oa"], stacked)

    # ---- routines: called with the places of the matrix and of the result ------------------------------------------

    def _potrf(self, a: ir.Value, out: ir.Value) -> None:
        builder, n = self.builder, self.n
        with for_range(builder, n, scalar=True) as row:
            begin = self._at(out, builder.mul(row, n))
            count = builder.add(row, integer(1))
            if not self.kernel.in_place:
                self._copy_row(begin, a, row, count)
            self._clear(self._at(begin, count), builder.sub(n, count))
        self.call("potrf", self.letter("U"), self.order, out, self.row_order, self.info)
        self._note_failure()

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

    def _potri(self, a: ir.Value, out: ir.Value) -> None:
        """Emit the pullback of a diagonal.

        With p >= 0, or p <= 0, it is the product of ``L^-T diag(|p| / 2)^(1/2)`` and its transpose, as in LAPACK's
        `potri`; otherwise of ``L^-T diag(p / 2)`` and ``L^-1``.
        """
        builder, n = self.builder, self.n
        area = builder.mul(n, n)
        self._copy(out, a, area)
        diagonal = self._at(self.operands[1], builder.mul(self.at, n))
        weights = alloca_once(builder, self.real, n)
        sums = [alloca_once(builder, self.real) for _ in "np"]
        zero = ir.Constant(self.real, 0.0)
        for place in sums:
            builder.store(zero, place)
        with for_range(builder, n, scalar=True) as i:
            pair = (self._at(a, builder.mul(i, builder.add(n, integer(1)))), self._at(diagonal, i))
            first, second = (self._number(place) for place in pair)
            weight = builder.fmul(builder.fmul(first, second), ir.Constant(self.real, 0.5))
            builder.store(weight, builder.gep(weights, [i]))
            for place, sign in zip(sums, "<>", strict=True):
                beyond = builder.fcmp_ordered(sign, weight, zero)
                builder.store(builder.select(beyond, weight, builder.load(place)), place)
        least, greatest = (builder.load(place) for place in sums)
        self.call("trtri", self.letter("U"), self.letter("N"), self.order, out, self.row_order, self.info)
        is_negative = builder.fcmp_ordered("<", least, zero)
        mixed = builder.and_(is_negative, builder.fcmp_ordered(">", greatest, zero))
        with builder.if_else(mixed, likely=False) as (general, alike):
            with general:
                other = self._at(self.operands[3], builder.mul(self.task, area))
                self._scale_rows(other, out, weights)
                letters = [self.letter(letter) for letter in "RUTN"]
                extents = (self.order, self.order, self.one, out, self.row_order)
                self.call("trmm", *letters, *extents, other, self.row_order)
                self._copy(out, other, area)
            with alike:
                with for_range(builder, n) as i:
                    place = builder.gep(weights, [i])
                    builder.store(self._root(builder.load(place)), place)
                self._scale_rows(out, out, weights)
                self.call("lauum", self.letter("U"), self.order, out, self.row_order, self.info)
                self._mirror(out, is_negative)

    def _number(self, place: ir.Value) -> ir.Value:
        return self.builder.load(self.builder.bitcast(place, self.real.as_pointer()))

    def _root(self, weight: ir.Value) -> ir.Value:
        m = IRMath(self.builder)
        return m.sqrt(m.absolute(IRValue(self.builder, weight, self.kernel.dtype))).ir

    def _scale_rows(self, to: ir.Value, source: ir.Value, weights: ir.Value) -> None:
        """Emit the product of a diagonal matrix and a lower triangular matrix, with zeros above the diagonal."""
        builder, n = self.builder, self.n
        kind = self.real.as_pointer()
        with for_range(builder, n, scalar=True) as i:
            weight, row = builder.load(builder.gep(weights, [i])), builder.mul(i, n)
            begin, end = (builder.bitcast(self._at(p, row), kind) for p in (source, to))
            count = builder.add(i, integer(1))
            with for_range(builder, count) as j:
                value = builder.fmul(builder.load(builder.gep(begin, [j])), weight)
                builder.store(value, builder.gep(end, [j]))
            if to is not source:
                self._clear(self._at(self._at(to, row), count), builder.sub(n, count))

    def _mirror(self, out: ir.Value, negated: ir.Value) -> None:
        """Emit the copy of the lower triangle to the upper one, with the other sign if `negated`."""
        builder, n = self.builder, self.n
        numbers = builder.bitcast(out, self.real.as_pointer())
        ones = [ir.Constant(self.real, value) for value in (-1.0, 1.0)]
        sign = builder.select(negated, *ones)
        side = integer(tuning.mirrored_block_side)
        with for_steps(builder, integer(0), n, side, scalar=True) as top:
            bottom = self._smaller(builder.add(top, side), n)
            with for_steps(builder, integer(0), bottom, side, scalar=True) as left:
                right = builder.add(left, side)
                with for_steps(builder, top, bottom, integer(1), scalar=True) as i:
                    end = self._smaller(right, builder.add(i, integer(1)))
                    with for_steps(builder, left, end, integer(1)) as j:
                        place = builder.gep(numbers, [builder.add(builder.mul(i, n), j)])
                        value = builder.fmul(builder.load(place), sign)
                        builder.store(value, place)
                        builder.store(value, builder.gep(numbers, [builder.add(builder.mul(j, n), i)]))

    def _smaller(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_signed("<", x, y), x, y)

    def _getrf(self, a: ir.Value, out: ir.Value) -> None:
        builder, n = self.builder, self.n
        with for_range(builder, n, scalar=True) as column:
            self._copy_column(self._at(out, builder.mul(column, n)), a, column)
        pivots = self._at(out, builder.mul(n, n))
        self.call("getrf", self.order, self.order, out, self.row_order, pivots, self.info)
        self._note_failure()
        self._pivots_to_floats(pivots)

    def _getrs(self, a: ir.Value, out: ir.Value) -> None:
        pivots = self._at(a, self.builder.mul(self.n, self.n))
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

    def _note_failure(self) -> None:
        if self.kernel.may_fail:
            failed = self.builder.icmp_signed("!=", self.builder.load(self.info), ir.Constant(_I32, 0))
            with self.builder.if_then(failed, likely=False):
                self.builder.store(ir.Constant(_I8, 1), self.failed)

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
                first, second = (self._at(out, builder.mul(r, k)) for r in (row, other))
                with for_range(builder, k) as column:
                    places = [self._at(first, column), self._at(second, column)]
                    values = [self._load(place) for place in places]
                    for place, value in zip(places, reversed(values), strict=True):
                        self._store(value, place)

    # ---- memory ----------------------------------------------------------------------------------------------------

    def _at(self, place: ir.Value, elements: ir.Value) -> ir.Value:
        return self.builder.gep(place, [elements])

    @property
    def _align(self) -> int:
        return info_of(self.kernel.dtype).real.itemsize

    def _load(self, place: ir.Value) -> ir.Value:
        return self.builder.load(place, align=self._align)

    def _store(self, value: ir.Value, place: ir.Value) -> None:
        self.builder.store(value, place, align=self._align)

    def _bytes(self, elements: ir.Value) -> ir.Value:
        return self.builder.mul(elements, integer(self.kernel.dtype.itemsize))

    def _copy(self, to: ir.Value, source: ir.Value, elements: ir.Value) -> None:
        function = external(self.builder.module, ir.FunctionType(BYTES, [BYTES, BYTES, _I64]), "memcpy")
        places = [self.builder.bitcast(place, BYTES) for place in (to, source)]
        self.builder.call(function, [*places, self._bytes(elements)])

    def _clear(self, place: ir.Value, elements: ir.Value) -> None:
        function = external(self.builder.module, ir.FunctionType(BYTES, [BYTES, _I32, _I64]), "memset")
        zero = ir.Constant(_I32, 0)
        self.builder.call(function, [self.builder.bitcast(place, BYTES), zero, self._bytes(elements)])

    def _copy_row(self, to: ir.Value, a: ir.Value, row: ir.Value, count: ir.Value) -> None:
        """Emit a copy of the first `count` elements of a row of the matrix at `a`."""
        self._copy_line(to, a, row, count, contiguous=not self.kernel.transposed)

    def _copy_column(self, to: ir.Value, a: ir.Value, column: ir.Value) -> None:
        self._copy_line(to, a, column, self.n, contiguous=self.kernel.transposed)

    def _copy_line(
        self, to: ir.Value, a: ir.Value, line: ir.Value, count: ir.Value, contiguous: bool
    ) -> None:
        builder, leading = self.builder, self.symbols["la"]
        if contiguous:
            self._copy(to, self._at(a, builder.mul(line, leading)), count)
            return
        with for_range(builder, count) as index:
            source = self._at(a, builder.add(builder.mul(index, leading), line))
            self._store(self._load(source), self._at(to, index))

    def _conjugate(self, out: ir.Value) -> None:
        """Emit the conjugation of the right-hand sides."""
        builder = self.builder
        numbers = builder.bitcast(out, self.real.as_pointer())
        with for_range(builder, builder.mul(self.n, self.k)) as index:
            place = builder.gep(numbers, [builder.add(builder.mul(index, integer(2)), integer(1))])
            builder.store(builder.fneg(builder.load(place)), place)
