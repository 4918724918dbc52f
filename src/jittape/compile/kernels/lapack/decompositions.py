"""Decompositions in LLVM IR: eigenvalues, singular values and QR factors by calls such as ``jittape_dsyevd``.

The calls are those of NumPy on the same matrices, so the signs of vectors are those of the interpreter. LAPACK's
matrices are column-major and it overwrites its operand: each matrix is copied column by column. Its vectors are columns
again, which are rows of the results, so most of them are written in place.

A matrix with inf or nan has the result nan, except in a QR decomposition, which LAPACK computes for any numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from jittape.compile.ir.lapack import Lapack
from jittape.compile.kernels.lapack.matrix_calls import MatrixCalls
from jittape.compile.llvm.ir_helpers import for_range, integer
from jittape.core.dtypes import info_of

__all__ = ["Decompositions", "define_decomposition"]

_EXPONENTS = {32: 0x7F80_0000, 64: 0x7FF0_0000_0000_0000}
"""Bits that are all ones in inf and nan, by the number of bits."""


def define_decomposition(kernel: Lapack, function: ir.Function) -> None:
    """Emit a stack of decompositions."""
    Decompositions(kernel, function).emit()


class Decompositions(MatrixCalls):
    """Emitter of the decompositions of one task.

    Attributes
    ----------
    m : ir.Value
        The number of rows of a matrix; `n` is that of columns, and `k` that of vectors or values.
    memory, reals, integers : ir.Value
        Places of the task's scratch memory for elements, real numbers and integers.
    """

    def __init__(self, kernel: Lapack, function: ir.Function) -> None:
        super().__init__(kernel, function)
        builder, symbols = self.builder, self.symbols
        self.m = symbols["m"]
        self.rows = self.integer(self.m)
        self.leading_rows = self.integer(self.positive(self.m))
        self.least = self.smaller(self.m, self.n)
        places = [
            self.place(operand, builder.mul(self.task, symbols[length]))
            for operand, length in zip(self.operands[2:5], ("s1", "s2", "s3"), strict=False)
        ]
        self.memory = places[0]
        if len(places) > 1:
            self.reals = builder.bitcast(places[1], self.real.as_pointer())
        if len(places) > 2:
            self.integers = places[2]

    def emit(self) -> None:
        """Emit the loop over the matrices of the task."""
        builder = self.builder
        routine: Callable[[ir.Value, ir.Value], None] = getattr(self, f"_{self.kernel.routine}")
        area = self._area()
        with self.matrices_of_task() as number:
            routine(self.matrix_at(number), self.place(self.operands[1], builder.mul(number, area)))

    def _area(self) -> ir.Value:
        """Return the number of elements of a result."""
        builder, m, n, k = self.builder, self.m, self.n, self.k
        match self.kernel.routine:
            case "eigh" | "eig":
                return builder.mul(builder.add(n, integer(1)), n)
            case "svd":
                return builder.mul(k, self._width())
            case "qr":
                return builder.mul(k, builder.add(m, n))
            case "complement":
                return builder.mul(m, k)
            case _:
                return k

    # ---- eigenvalues -------------------------------------------------------------------------------------------------

    def _eigh(self, a: ir.Value, out: ir.Value) -> None:
        builder, n = self.builder, self.n
        vectors = self.place(out, n)
        with self._if_finite(a, vectors) as (finite, broken):
            with finite:
                self._symmetric("V", vectors, self.reals, self.memory)
                with for_range(builder, n) as i:
                    self._store_value(i, self.place(out, i))
            with broken:
                self._fill_nan(out, self._area())

    def _eigvalsh(self, a: ir.Value, out: ir.Value) -> None:
        matrix, values = self.memory, self.builder.bitcast(out, self.real.as_pointer())
        with self._if_finite(a, matrix) as (finite, broken):
            with finite:
                self._symmetric("N", matrix, values, self._behind_copy())
            with broken:
                self._fill_nan(values, self.n)

    def _symmetric(self, job: str, matrix: ir.Value, values: ir.Value, work: ir.Value) -> None:
        """Emit the call for one triangle of `matrix`, which the vectors overwrite."""
        letters = [self.letter(letter) for letter in (job, "L" if self.kernel.lower else "U")]
        length, integers = self._length_of(work), self.integer(self.symbols["s3"])
        real_work = []
        if self.is_complex:
            # `zheevd` has memory for reals too; it follows the values.
            place = self.place(self.reals, self.n)
            real_work = [place, self.integer(self.builder.sub(self.symbols["s2"], self.n))]
        self.call(
            "heevd" if self.is_complex else "syevd",
            *(*letters, self.order, matrix, self.row_order, values, work, length),
            *(*real_work, self.integers, integers, self.info),
            letters=2,
        )
        self.note_failure()

    def _eig(self, a: ir.Value, out: ir.Value) -> None:
        builder, n = self.builder, self.n
        with self._if_finite(a, self.memory) as (finite, broken):
            with finite:
                if self.is_complex:
                    # Values and vectors are stored where the result needs them.
                    self._general([out], self.place(out, n), self._behind_copy(), [self.reals])
                else:
                    vectors = self._behind_copy()
                    work = self.place(vectors, builder.mul(n, n))
                    self._general([self.reals, builder.gep(self.reals, [n])], vectors, work, [])
                    self._store_pairs(builder.bitcast(vectors, self.real.as_pointer()), out)
            with broken:
                self._fill_nan(out, self._area())

    def _general(
        self, values: list[ir.Value], vectors: ir.Value, work: ir.Value, reals: list[ir.Value]
    ) -> None:
        """Emit the call for the copy of a general matrix; no left vectors are computed."""
        letters = [self.letter(letter) for letter in "NV"]
        self.call(
            "geev",
            *(*letters, self.order, self.memory, self.row_order, *values, work, self.one_step),
            *(vectors, self.row_order, work, self._length_of(work), *reals, self.info),
            letters=2,
        )
        self.note_failure()

    def _store_pairs(self, vectors: ir.Value, out: ir.Value) -> None:
        """Emit the result of a real matrix: LAPACK stores two conjugate vectors as real and imaginary part."""
        builder, n = self.builder, self.n
        numbers, zero = builder.bitcast(out, self.real.as_pointer()), ir.Constant(self.real, 0.0)
        parts = [self.reals, builder.gep(self.reals, [n])]

        def store(index: ir.Value, real: ir.Value, imaginary: ir.Value) -> None:
            place = builder.mul(index, integer(2))
            builder.store(real, builder.gep(numbers, [place]))
            builder.store(imaginary, builder.gep(numbers, [builder.add(place, integer(1))]))

        with for_range(builder, n, scalar=True) as j:
            real, imaginary = (builder.load(builder.gep(part, [j])) for part in parts)
            store(j, real, imaginary)
            first, second = (builder.fcmp_ordered(sign, imaginary, zero) for sign in "><")
            before, after = (builder.zext(which, j.type) for which in (second, first))
            real_row = builder.mul(builder.sub(j, before), n)
            imaginary_row = builder.mul(builder.add(j, after), n)
            of_one = ir.Constant(self.real, 1.0)
            sign = builder.select(first, of_one, builder.select(second, ir.Constant(self.real, -1.0), zero))
            start = builder.mul(builder.add(j, integer(1)), n)
            with for_range(builder, n) as i:
                x, y = (
                    builder.load(builder.gep(vectors, [builder.add(r, i)])) for r in (real_row, imaginary_row)
                )
                store(builder.add(start, i), x, builder.fmul(y, sign))

    # ---- singular values ---------------------------------------------------------------------------------------------

    def _width(self) -> ir.Value:
        """Return the length of a row of the result: a left vector, a value and a right vector."""
        return self.builder.add(self.builder.add(self.m, self.n), integer(1))

    def _svd(self, a: ir.Value, out: ir.Value) -> None:
        builder, m, n, k = self.builder, self.m, self.n, self.k
        with self._if_finite(a, self.memory) as (finite, broken):
            with finite:
                right = self._behind_copy()
                work = self.place(right, builder.mul(k, n))
                width = self._width()
                self._singular("S", self.reals, out, self.integer(width), right, work)
                with for_range(builder, k, scalar=True) as i:
                    row = self.place(out, builder.mul(i, width))
                    self._store_value(i, self.place(row, m))
                    row = self.place(row, builder.add(m, integer(1)))
                    self._copy_strided(row, self.place(right, i), n, k)
            with broken:
                self._fill_nan(out, self._area())

    def _svdvals(self, a: ir.Value, out: ir.Value) -> None:
        values = self.builder.bitcast(out, self.real.as_pointer())
        with self._if_finite(a, self.memory) as (finite, broken):
            with finite:
                # LAPACK does not use the places of the vectors.
                work = self._behind_copy()
                self._singular("N", values, work, self.leading_rows, work, work)
            with broken:
                self._fill_nan(values, self.k)

    def _singular(
        self, job: str, values: ir.Value, left: ir.Value, width: ir.Value, right: ir.Value, work: ir.Value
    ) -> None:
        """Emit the call for the copy of the matrix; left vectors are `width` elements apart."""
        count = self.integer(self.positive(self.k))
        real_work = [self.place(self.reals, self.k)] if self.is_complex else []
        self.call(
            "gesdd",
            *(self.letter(job), self.rows, self.order, self.memory, self.leading_rows, values),
            *(left, width, right, count, work, self._length_of(work), *real_work, self.integers, self.info),
            letters=1,
        )
        self.note_failure()

    # ---- QR ----------------------------------------------------------------------------------------------------------

    def _qr(self, a: ir.Value, out: ir.Value) -> None:
        builder, m, n, k = self.builder, self.m, self.n, self.k
        factors = self.memory
        self._copy_matrix(a, factors)
        # Either all columns are computed with, or those of q, which may be more.
        columns = builder.select(builder.icmp_signed(">", n, k), n, k)
        work = self._reflectors(columns)
        with for_range(builder, k, scalar=True) as i:
            row = self.place(self.place(out, builder.mul(i, builder.add(m, n))), m)
            zeros = self.smaller(i, n)
            self.clear(row, zeros)
            first = self.place(factors, builder.add(i, builder.mul(zeros, m)))
            self._copy_strided(self.place(row, zeros), first, builder.sub(n, zeros), m)
        self._orthonormal(self.columns, columns, work)
        with for_range(builder, k, scalar=True) as i:
            row = self.place(out, builder.mul(i, builder.add(m, n)))
            self.copy(row, self.place(factors, builder.mul(i, m)), m)

    def _complement(self, a: ir.Value, out: ir.Value) -> None:
        builder, m, n, k = self.builder, self.m, self.n, self.k
        with self._if_finite(a, self.memory) as (finite, broken):
            with finite:
                work = self._reflectors(m)
                self._orthonormal(self.rows, m, work)
                first = self.place(self.memory, builder.mul(n, m))
                with for_range(builder, m, scalar=True) as i:
                    self._copy_strided(self.place(out, builder.mul(i, k)), self.place(first, i), k, m)
            with broken:
                self._fill_nan(out, self._area())

    def _reflectors(self, columns: ir.Value) -> ir.Value:
        """Emit the factorization of the copy, in memory for so many columns; return the place behind the reflectors."""
        scales = self.place(self.memory, self.builder.mul(self.m, columns))
        work = self.place(scales, self.least)
        length = self._length_of(work)
        extents = self.rows, self.order
        self.call("geqrf", *extents, self.memory, self.leading_rows, scales, work, length, self.info)
        return work

    def _orthonormal(self, count: ir.Value, columns: ir.Value, work: ir.Value) -> None:
        """Emit the computation of orthonormal columns from reflectors; `count` is the address of their number."""
        scales = self.place(self.memory, self.builder.mul(self.m, columns))
        reflectors = self.integer(self.least)
        self.call(
            "ungqr" if self.is_complex else "orgqr",
            *(self.rows, count, reflectors, self.memory, self.leading_rows, scales),
            *(work, self._length_of(work), self.info),
        )

    # ---- memory ------------------------------------------------------------------------------------------------------

    def _behind_copy(self) -> ir.Value:
        """Return the place behind the copy of the matrix in scratch memory."""
        return self.place(self.memory, self.builder.mul(self.m, self.n))

    def _length_of(self, work: ir.Value) -> ir.Value:
        """Return the address of the number of elements of scratch memory from `work` to its end."""
        builder = self.builder
        end = self.place(self.memory, self.symbols["s1"])
        begin, end = (builder.ptrtoint(place, ir.IntType(64)) for place in (work, end))
        return self.integer(builder.sdiv(builder.sub(end, begin), self.nbytes(integer(1))))

    def _copy_matrix(self, a: ir.Value, to: ir.Value) -> None:
        """Emit the copy of a matrix with contiguous columns."""
        with for_range(self.builder, self.n, scalar=True) as column:
            self.copy_column(self.place(to, self.builder.mul(column, self.m)), a, column, self.m)

    @contextmanager
    def _if_finite(self, a: ir.Value, to: ir.Value) -> Iterator[tuple[Any, Any]]:
        """Emit the copy of a matrix with contiguous columns, and two branches: for a finite one and for others."""
        builder = self.builder
        self._copy_matrix(a, to)
        kind = ir.IntType(8 * info_of(self.kernel.dtype).real.itemsize)
        exponent = ir.Constant(kind, _EXPONENTS[kind.width])
        numbers = builder.bitcast(to, kind.as_pointer())
        is_broken = self.held(ir.Constant(kind, 0))
        count = builder.mul(builder.mul(self.m, self.n), integer(1 + self.is_complex))
        with for_range(builder, count) as index:
            bits = builder.and_(builder.load(builder.gep(numbers, [index])), exponent)
            found = builder.zext(builder.icmp_unsigned("==", bits, exponent), kind)
            builder.store(builder.or_(builder.load(is_broken), found), is_broken)
        finite = builder.icmp_unsigned("==", builder.load(is_broken), ir.Constant(kind, 0))
        with builder.if_else(finite, likely=True) as branches:
            yield branches

    def _store_value(self, index: ir.Value, place: ir.Value) -> None:
        """Emit the copy of one of the real values in scratch memory to an element."""
        builder = self.builder
        number = builder.bitcast(place, self.real.as_pointer())
        builder.store(builder.load(builder.gep(self.reals, [index])), number)
        if self.is_complex:
            builder.store(ir.Constant(self.real, 0.0), builder.gep(number, [integer(1)]))

    def _copy_strided(self, to: ir.Value, source: ir.Value, count: ir.Value, stride: ir.Value) -> None:
        """Emit the copy of elements that are `stride` elements apart to contiguous memory."""
        builder = self.builder
        with for_range(builder, count) as index:
            self.store(self.load(self.place(source, builder.mul(index, stride))), self.place(to, index))

    def _fill_nan(self, place: ir.Value, count: ir.Value) -> None:
        """Emit nan for elements, or for real numbers, at `place`; imaginary parts are 0."""
        builder = self.builder
        step = 1 + (self.kernel.operands[1].dtype.kind == "c")
        numbers = builder.bitcast(place, self.real.as_pointer())
        with for_range(builder, count, scalar=True) as index:
            number = builder.gep(numbers, [builder.mul(index, integer(step))])
            builder.store(ir.Constant(self.real, math.nan), number)
            if step > 1:
                builder.store(ir.Constant(self.real, 0.0), builder.gep(number, [integer(1)]))
