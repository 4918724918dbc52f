"""Calls of LAPACK on the matrices of one task, and operations on their memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from llvmlite import ir

from jittape.compile.ir.lapack import Lapack
from jittape.compile.kernels.loop.kernel_arguments import operand, size
from jittape.compile.llvm.fortran_calls import FortranCalls
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, external, for_range, integer
from jittape.compile.llvm.ir_value import llvm_type
from jittape.core.dtypes import bool_, info_of, int32

__all__ = ["MatrixCalls"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


class MatrixCalls(FortranCalls):
    """Emitter of calls for the matrices of one task.

    Attributes
    ----------
    symbols : dict
        The integers of the kernel by name.
    operands : list of ir.Value
        The addresses of the operands, as pointers to elements; an element of a matrix is an integer of its size.
    order, columns, leading : ir.Value
        Addresses of the order, the number of right-hand sides and the leading dimension of the matrix, for LAPACK.
    row_order, row_columns : ir.Value
        The first two as leading dimensions.
    info : ir.Value
        The address of LAPACK's error code.
    """

    def __init__(self, kernel: Lapack, function: ir.Function) -> None:
        super().__init__(Builder(function.append_basic_block("entry")), kernel.dtype)
        builder = self.builder
        self.kernel = kernel
        self.task = function.args[3]
        self.symbols = {name: size(builder, function, i) for i, name in enumerate(kernel.SYMBOLS)}
        self.real = llvm_type(info_of(kernel.dtype).real)
        self.is_complex = kernel.dtype.kind == "c"
        self.element = ir.IntType(8 * kernel.dtype.itemsize)
        real = info_of(kernel.dtype).real
        pair = ir.IntType(16 * real.itemsize)
        kinds = {bool_: _I8, int32: _I32, real: self.real, np.result_type(real, np.complex64): pair}
        kinds[kernel.dtype] = self.element
        self.operands = [operand(builder, function, i, kinds[o.dtype]) for i, o in enumerate(kernel.operands)]
        self.n, self.k = self.symbols["n"], self.symbols["k"]
        self.order, self.columns, self.leading = (self.integer(self.symbols[s]) for s in ("n", "k", "la"))
        self.row_order, self.row_columns = (self.integer(self.positive(v)) for v in (self.n, self.k))
        self.one_step = self.integer(integer(1))
        self.one = self.number(ir.Constant(self.real, 1.0))
        self.info = self.held(ir.Constant(_I32, 0))

    @contextmanager
    def matrices_of_task(self) -> Iterator[ir.Value]:
        """Emit the loop over the matrices of the task, and return the number of a matrix in the stack."""
        builder, symbols = self.builder, self.symbols
        first = builder.mul(self.task, symbols["t0"])
        left = builder.sub(builder.mul(symbols["b0"], symbols["b1"]), first)
        if self.kernel.may_fail:
            self.failed = builder.gep(self.operands[-1], [self.task])
            builder.store(ir.Constant(_I8, 0), self.failed)
        with for_range(builder, self.smaller(left, symbols["t0"]), scalar=True) as index:
            yield builder.add(first, index)
        builder.ret_void()

    def matrix_at(self, number: ir.Value) -> ir.Value:
        """Return the place of matrix `number` of the stack in the first operand."""
        builder, symbols = self.builder, self.symbols
        outer, inner = builder.sdiv(number, symbols["b1"]), builder.srem(number, symbols["b1"])
        stacked = builder.add(builder.mul(outer, symbols["x0"]), builder.mul(inner, symbols["x1"]))
        return self.place(self.operands[0], builder.add(symbols["oa"], stacked))

    def note_failure(self) -> None:
        """Emit the note that a matrix failed, if LAPACK returned an error code."""
        if self.kernel.may_fail:
            failed = self.builder.icmp_signed("!=", self.builder.load(self.info), ir.Constant(_I32, 0))
            with self.builder.if_then(failed, likely=False):
                self.builder.store(ir.Constant(_I8, 1), self.failed)

    def positive(self, extent: ir.Value) -> ir.Value:
        """Return a leading dimension, which LAPACK requires to be positive."""
        one = integer(1)
        return self.builder.select(self.builder.icmp_signed(">", extent, one), extent, one)

    def smaller(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return the smaller of two integers."""
        return self.builder.select(self.builder.icmp_signed("<", x, y), x, y)

    # ---- memory ----------------------------------------------------------------------------------------------------

    def place(self, place: ir.Value, elements: ir.Value) -> ir.Value:
        """Return the place that many elements further."""
        return self.builder.gep(place, [elements])

    @property
    def _align(self) -> int:
        return info_of(self.kernel.dtype).real.itemsize

    def load(self, place: ir.Value) -> ir.Value:
        """Load an element."""
        return self.builder.load(place, align=self._align)

    def store(self, value: ir.Value, place: ir.Value) -> None:
        """Store an element."""
        self.builder.store(value, place, align=self._align)

    def nbytes(self, elements: ir.Value) -> ir.Value:
        """Return the size of elements in bytes."""
        return self.builder.mul(elements, integer(self.kernel.dtype.itemsize))

    def copy(self, to: ir.Value, source: ir.Value, elements: ir.Value) -> None:
        """Emit a copy of elements."""
        function = external(self.builder.module, ir.FunctionType(BYTES, [BYTES, BYTES, _I64]), "memcpy")
        places = [self.builder.bitcast(place, BYTES) for place in (to, source)]
        self.builder.call(function, [*places, self.nbytes(elements)])

    def clear(self, place: ir.Value, elements: ir.Value) -> None:
        """Emit zeros."""
        function = external(self.builder.module, ir.FunctionType(BYTES, [BYTES, _I32, _I64]), "memset")
        zero = ir.Constant(_I32, 0)
        self.builder.call(function, [self.builder.bitcast(place, BYTES), zero, self.nbytes(elements)])

    def copy_row(self, to: ir.Value, a: ir.Value, row: ir.Value, count: ir.Value) -> None:
        """Emit a copy of the first `count` elements of a row of the matrix at `a`."""
        self._copy_line(to, a, row, count, contiguous=not self.kernel.transposed)

    def copy_column(self, to: ir.Value, a: ir.Value, column: ir.Value, rows: ir.Value | None = None) -> None:
        """Emit a copy of a column of the matrix at `a`, which is square unless the number of `rows` is given."""
        self._copy_line(to, a, column, self.n if rows is None else rows, contiguous=self.kernel.transposed)

    def _copy_line(
        self, to: ir.Value, a: ir.Value, line: ir.Value, count: ir.Value, contiguous: bool
    ) -> None:
        builder, leading = self.builder, self.symbols["la"]
        if contiguous:
            self.copy(to, self.place(a, builder.mul(line, leading)), count)
            return
        with for_range(builder, count) as index:
            source = self.place(a, builder.add(builder.mul(index, leading), line))
            self.store(self.load(source), self.place(to, index))
