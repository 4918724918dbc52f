"""The pullback of the diagonal of a Cholesky factor's cotangent in LLVM IR: half of ``L^-T diag(p) L^-1``.

LAPACK's routines compute it as `potri` computes an inverse. They are slow for small matrices: there the rows of the
inverse of L are sums of rows, in vector registers with masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.kernels.lapack.matrix_calls import MatrixCalls
from jittape.compile.llvm.ir_builder import vector_type
from jittape.compile.llvm.ir_helpers import alloca_once, for_range, for_steps, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue
from jittape.compile.llvm.ir_vectors import first_lanes, masked_load, masked_store, numbered, spread
from jittape.core.tuning import tuning

__all__ = ["DiagonalPullback"]


class DiagonalPullback(MatrixCalls):
    """Emitter of the routine ``"potri"``."""

    matrix_number: ir.Value
    """The number of the matrix in the stack."""

    def _potri(self, a: ir.Value, out: ir.Value) -> None:
        builder, n = self.builder, self.n
        other = self.place(self.operands[3], builder.mul(self.task, builder.mul(n, n)))
        weights = alloca_once(builder, self.real, n)
        diagonal = self.place(self.operands[1], builder.mul(self.matrix_number, n))
        with for_range(builder, n, scalar=True) as i:
            pair = (self.place(a, builder.mul(i, builder.add(n, integer(1)))), self.place(diagonal, i))
            first, second = (self.number_at(place) for place in pair)
            weight = builder.fmul(builder.fmul(first, second), ir.Constant(self.real, 0.5))
            builder.store(weight, builder.gep(weights, [i]))
        small = builder.icmp_signed("<=", n, self.k)
        with builder.if_else(small) as (loops, calls):
            with loops:
                places = [self._numbers(place) for place in (a, out, other)]
                self._in_loops(places[0], places[1], places[2], weights)
            with calls:
                self._in_calls(a, out, other, weights)

    def number_at(self, place: ir.Value) -> ir.Value:
        """Load an element as a number."""
        return self.builder.load(self._numbers(place))

    def _numbers(self, place: ir.Value) -> ir.Value:
        return self.builder.bitcast(place, self.real.as_pointer())

    # ---- calls of LAPACK ---------------------------------------------------------------------------------------------

    def _in_calls(self, a: ir.Value, out: ir.Value, other: ir.Value, weights: ir.Value) -> None:
        """Emit the computation with LAPACK.

        With p >= 0, or p <= 0, the result is the product of ``L^-T diag(|p| / 2)^(1/2)`` and its transpose; otherwise
        of ``L^-T diag(p / 2)`` and ``L^-1``.
        """
        builder, n = self.builder, self.n
        area = builder.mul(n, n)
        self.copy(out, a, area)
        self.call("trtri", self.letter("U"), self.letter("N"), self.order, out, self.row_order, self.info)
        is_negative, mixed = self._signs(weights)
        with builder.if_else(mixed, likely=False) as (general, alike):
            with general:
                self._scale_rows(other, out, weights)
                letters = [self.letter(letter) for letter in "RUTN"]
                extents = (self.order, self.order, self.one, out, self.row_order)
                self.call("trmm", *letters, *extents, other, self.row_order)
                self.copy(out, other, area)
            with alike:
                with for_range(builder, n) as i:
                    place = builder.gep(weights, [i])
                    builder.store(self._root(builder.load(place)), place)
                self._scale_rows(out, out, weights)
                self.call("lauum", self.letter("U"), self.order, out, self.row_order, self.info)
                self._mirror(self._numbers(out), is_negative)

    def _signs(self, weights: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return whether a weight is negative, and whether another one is positive then."""
        builder, zero = self.builder, ir.Constant(self.real, 0.0)
        places = [alloca_once(builder, self.real) for _ in "<>"]
        for place in places:
            builder.store(zero, place)
        with for_range(builder, self.n, scalar=True) as i:
            weight = builder.load(builder.gep(weights, [i]))
            for place, sign in zip(places, "<>", strict=True):
                beyond = builder.fcmp_ordered(sign, weight, zero)
                builder.store(builder.select(beyond, weight, builder.load(place)), place)
        least, greatest = (builder.load(place) for place in places)
        is_negative = builder.fcmp_ordered("<", least, zero)
        return is_negative, builder.and_(is_negative, builder.fcmp_ordered(">", greatest, zero))

    def _root(self, weight: ir.Value) -> ir.Value:
        m = IRMath(self.builder)
        return m.sqrt(m.absolute(IRValue(self.builder, weight, self.kernel.dtype))).ir

    def _scale_rows(self, to: ir.Value, source: ir.Value, weights: ir.Value) -> None:
        """Emit the product of a diagonal matrix and a lower triangular matrix, with zeros above the diagonal."""
        builder, n = self.builder, self.n
        kind = self.real.as_pointer()
        with for_range(builder, n, scalar=True) as i:
            weight, row = builder.load(builder.gep(weights, [i])), builder.mul(i, n)
            begin, end = (builder.bitcast(self.place(p, row), kind) for p in (source, to))
            count = builder.add(i, integer(1))
            with for_range(builder, count) as j:
                value = builder.fmul(builder.load(builder.gep(begin, [j])), weight)
                builder.store(value, builder.gep(end, [j]))
            if to is not source:
                self.clear(self.place(self.place(to, row), count), builder.sub(n, count))

    def _mirror(self, numbers: ir.Value, negated: ir.Value) -> None:
        """Emit the copy of the lower triangle to the upper one, with the other sign if `negated`."""
        builder, n = self.builder, self.n
        ones = [ir.Constant(self.real, value) for value in (-1.0, 1.0)]
        sign = builder.select(negated, *ones)
        side = integer(tuning.mirrored_block_side)
        with for_steps(builder, integer(0), n, side, scalar=True) as top:
            bottom = self.smaller(builder.add(top, side), n)
            with for_steps(builder, integer(0), bottom, side, scalar=True) as left:
                right = builder.add(left, side)
                with for_steps(builder, top, bottom, integer(1), scalar=True) as i:
                    end = self.smaller(right, builder.add(i, integer(1)))
                    with for_steps(builder, left, end, integer(1)) as j:
                        place = builder.gep(numbers, [builder.add(builder.mul(i, n), j)])
                        value = builder.fmul(builder.load(place), sign)
                        builder.store(value, place)
                        builder.store(value, builder.gep(numbers, [builder.add(builder.mul(j, n), i)]))

    # ---- loops -------------------------------------------------------------------------------------------------------

    def _in_loops(self, a: ir.Value, out: ir.Value, inverse: ir.Value, weights: ir.Value) -> None:
        """Emit the computation in loops over registers of a row.

        Row i of ``L^-1`` is the unit vector less the sum of ``L[i, k]`` times row k for k < i, divided by
        ``L[i, i]``. The elements above its diagonal are zero, so no register is to the right of it.
        """
        builder, n = self.builder, self.n

        def at(matrix: ir.Value, i: ir.Value, j: ir.Value) -> ir.Value:
            return builder.gep(matrix, [builder.add(builder.mul(i, n), j)])

        with self._registers_of_rows() as (i, column, mask):
            total = self._sum(
                column, i, lambda k: builder.load(at(a, i, k)), lambda k: at(inverse, k, column), mask
            )
            scale = builder.fdiv(ir.Constant(self.real, 1.0), builder.load(at(a, i, i)))
            row = builder.fmul(builder.fneg(total), spread(builder, scale, self.lanes))
            unit = builder.icmp_signed(
                "==", numbered(self.lanes), spread(builder, builder.sub(i, column), self.lanes)
            )
            row = builder.select(unit, spread(builder, scale, self.lanes), row)
            masked_store(builder, row, at(inverse, i, column), mask, self.kernel.dtype.itemsize)

        def weighted(k: ir.Value, i: ir.Value) -> ir.Value:
            return builder.fmul(builder.load(builder.gep(weights, [k])), builder.load(at(inverse, k, i)))

        with self._registers_of_rows() as (i, column, mask):
            row = self._sum(i, n, lambda k: weighted(k, i), lambda k: at(inverse, k, column), mask)
            masked_store(builder, row, at(out, i, column), mask, self.kernel.dtype.itemsize)
        self._mirror(out, ir.Constant(ir.IntType(1), 0))

    @property
    def lanes(self) -> int:
        """Number of elements in a register."""
        return tuning.vector_bytes // self.kernel.dtype.itemsize

    @contextmanager
    def _registers_of_rows(self) -> Iterator[tuple[ir.Value, ir.Value, ir.Value]]:
        """Emit loops over rows, and over the registers up to the diagonal: row, first column and mask."""
        builder, n = self.builder, self.n
        with for_range(builder, n, scalar=True) as i:
            stop = builder.add(i, integer(1))
            with for_steps(builder, integer(0), stop, integer(self.lanes), scalar=True) as column:
                yield i, column, first_lanes(builder, builder.sub(n, column), self.lanes)

    def _sum(
        self,
        first: ir.Value,
        last: ir.Value,
        factor: Callable[[ir.Value], ir.Value],
        row: Callable[[ir.Value], ir.Value],
        mask: ir.Value,
    ) -> ir.Value:
        """Return the sum of rows times factors, in two sums, since an addition waits for the one before."""
        builder, kind = self.builder, vector_type(self.real, self.lanes)
        places = [alloca_once(builder, kind) for _ in range(2)]
        for place in places:
            builder.store(ir.Constant(kind, [0.0] * self.lanes), place)

        def add(k: ir.Value, place: ir.Value) -> None:
            register = masked_load(builder, kind, row(k), mask, self.kernel.dtype.itemsize)
            product = builder.fmul(spread(builder, factor(k), self.lanes), register, flags=("contract",))
            builder.store(builder.fadd(builder.load(place), product, flags=("contract",)), place)

        even = builder.sub(last, builder.and_(builder.sub(last, first), integer(1)))
        with for_steps(builder, first, even, integer(2), scalar=True) as k:
            add(k, places[0])
            add(builder.add(k, integer(1)), places[1])
        with for_steps(builder, even, last, integer(1), scalar=True) as k:
            add(k, places[0])
        return builder.fadd(*[builder.load(place) for place in places])
