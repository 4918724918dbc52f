"""Square roots and logarithms of matrices and their derivatives in a direction in LLVM IR, by Schur factors.

The method is that of `jittape.primitives.spectra.triangular_functions`. All triangular matrices are complex128, with
contiguous columns, whatever the dtype of the operand: LAPACK takes most of the time for small matrices.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import numpy as np
from llvmlite import ir

from jittape.compile.ir.lapack import Lapack
from jittape.compile.kernels.lapack.decompositions import Decompositions
from jittape.compile.llvm.fortran_calls import FortranCalls
from jittape.compile.llvm.ir_helpers import BYTES, constant_table, for_range, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import bool_, complex128, float64
from jittape.vectormath.matrix_pade import LOGARITHM_RADIUS, MOST_ROOTS, logarithm_nodes_and_weights

__all__ = ["define_schur_function"]

_I1, _I32 = ir.IntType(1), ir.IntType(32)
_DOUBLE, _PAIR = ir.DoubleType(), llvm_type(complex128)


def define_schur_function(kernel: Lapack, function: ir.Function) -> None:
    """Emit a stack of functions or derivatives; then the columns of a direction follow those of each matrix."""
    _SchurFunctions(kernel, function).emit()


class _SchurFunctions(Decompositions):
    """Emitter of the functions of one task.

    Attributes
    ----------
    side : ir.Value
        The order of the triangular matrices: that of the operand, `m`, or twice as much for a derivative.
    real_factors : ir.Value
        The address of whether the factors are real: negative eigenvalues then have no logarithm.
    limit : ir.Value
        The address of the size of rounding errors, for the square root.
    """

    def __init__(self, kernel: Lapack, function: ir.Function) -> None:
        super().__init__(kernel, function)
        builder, m = self.builder, self.m
        self.math = IRMath(builder)
        self.of_doubles, self.of_pairs = (FortranCalls(builder, dtype) for dtype in (float64, complex128))
        self.is_derivative = kernel.routine.endswith("_derivative")
        self.side = builder.mul(m, integer(2)) if self.is_derivative else m
        self.area = builder.mul(m, m)
        self.leading_side = self.integer(self.positive(self.side))
        copied = builder.and_(builder.add(builder.mul(m, self.n), integer(3)), integer(-4))
        start = builder.bitcast(self.place(self.memory, copied), _PAIR.as_pointer())
        square = builder.mul(self.side, self.side)
        lengths = [*[self.area] * 3, *[square] * 4, *[m] * 2]
        places = [start]
        for length in lengths:
            places.append(builder.gep(places[-1], [length]))
        self.t, self.z, self.other = places[:3]
        self.block, self.root, self.following, self.part = places[3:7]
        self.values, self.more_values, self.work = places[7:]
        self.work_length = self.integer(self.positive(builder.mul(m, integer(4))))
        self.dimension = self.held(ir.Constant(_I32, 0))
        self.real_factors = self.held(ir.Constant(_I1, 0))
        self.undefined = self.held(ir.Constant(_I1, 0))
        self.limit = self.held(ir.Constant(_DOUBLE, 0.0))
        self.pair_one, self.pair_zero = (self.number(ir.Constant(_DOUBLE, x)) for x in (1.0, 0.0))

    def _area(self) -> ir.Value:
        return self.area

    def _emit_function(self, a: ir.Value, out: ir.Value) -> None:
        builder = self.builder
        with self._if_finite(a, self.memory) as (finite, broken):
            with finite, builder.if_else(self._factorize(), likely=True) as (defined, without):
                with defined:
                    self._fill_block()
                    if self.kernel.routine.startswith("sqrtm"):
                        self._square_root(self.block, self.root)
                    else:
                        self._logarithm()
                    self._store_result(out)
                with without:
                    self._fill_nan(out, self.area)
            with broken:
                self._fill_nan(out, self.area)

    _sqrtm = _sqrtm_derivative = _logm = _logm_derivative = _emit_function

    # ---- Schur factors -----------------------------------------------------------------------------------------------

    def _factorize(self) -> ir.Value:
        """Emit the factors `t` and `z`; return whether the operand has a function."""
        builder = self.builder
        if self.is_complex:
            self._complex_factors()
            return ir.Constant(_I1, 1)
        matrix, vectors, real, imaginary = (
            builder.bitcast(place, _DOUBLE.as_pointer())
            for place in (self.other, self.part, self.values, self.more_values)
        )
        with for_range(builder, self.area) as i:
            builder.store(self._number_of_copy(i).ir, builder.gep(matrix, [i]))
        self._gees(self.of_doubles, matrix, [real, imaginary], vectors, [])
        rounding, zero = self._rounding_error(matrix, self.area, self.m), self._double(0.0)
        turning, negative = self.held(ir.Constant(_I1, 0)), self.held(ir.Constant(_I1, 0))
        for flag in (turning, negative):
            builder.store(ir.Constant(_I1, 0), flag)
        with for_range(builder, self.m, scalar=True) as i:
            x, y = (self._float(builder.load(builder.gep(part, [i]))) for part in (real, imaginary))
            self._note((y != zero).ir, turning)
            self._note(((y == zero) & (x < -rounding)).ir, negative)
        turns = builder.load(turning)
        builder.store(builder.not_(turns), self.real_factors)
        with builder.if_else(turns) as (pairs, numbers):
            with pairs:
                self._complex_factors()
            with numbers, for_range(builder, self.area) as i:
                for source, to in ((matrix, self.t), (vectors, self.z)):
                    x = self._float(builder.load(builder.gep(source, [i])))
                    self._put(self.math.complex_number(x, zero), to, i)
        return builder.not_(builder.load(negative))

    def _complex_factors(self) -> None:
        """Emit the factors of the operand as a complex matrix."""
        with for_range(self.builder, self.area) as i:
            self._put(self._pair_of_copy(i), self.t, i)
        self._gees(self.of_pairs, self.t, [self.values], self.z, [self.more_values])

    def _gees(
        self,
        calls: FortranCalls,
        matrix: ir.Value,
        values: list[ir.Value],
        vectors: ir.Value,
        reals: list[ir.Value],
    ) -> None:
        nothing = ir.Constant(BYTES, None)
        calls.call(
            "gees",
            *(self.letter("V"), self.letter("N"), nothing, self.rows, matrix, self.leading_rows),
            *(self.dimension, *values, vectors, self.leading_rows, self.work, self.work_length),
            *(*reals, nothing, self.info),
            letters=2,
        )
        self.note_failure()

    def _fill_block(self) -> None:
        """Emit the triangular matrix whose function is computed: `t`, or ``[[t, z^H e z], [0, t]]``."""
        builder, m = self.builder, self.m
        if not self.is_derivative:
            self._copy_square(self.t, self.block, integer(0), integer(0))
            return
        with for_range(builder, self.area) as i:
            self._put(self._pair_of_copy(builder.add(i, self.area)), self.following, i)
        self._gemm("N", "N", self.following, self.leading_rows, self.z, self.other)
        self._gemm("C", "N", self.z, self.leading_rows, self.other, self.following)
        zero = self.math.literal(0.0, complex128)
        with for_range(builder, builder.mul(self.side, self.side)) as i:
            self._put(zero, self.block, i)
        for source, row, column in ((self.t, integer(0), integer(0)), (self.t, m, m)):
            self._copy_square(source, self.block, row, column)
        self._copy_square(self.following, self.block, integer(0), m)

    def _copy_square(self, source: ir.Value, to: ir.Value, row: ir.Value, column: ir.Value) -> None:
        builder = self.builder
        with for_range(builder, self.m, scalar=True) as j, for_range(builder, self.m) as i:
            value = self._get(source, builder.add(builder.mul(j, self.m), i))
            self._put(value, to, self._at(builder.add(row, i), builder.add(column, j)))

    def _store_result(self, out: ir.Value) -> None:
        """Emit ``z f z^H`` for the function `root`, or for the block of it that is the derivative."""
        builder, math_ = self.builder, self.math
        found = self.root
        if self.is_derivative:
            found = builder.gep(found, [self._at(integer(0), self.m)])
        self._gemm("N", "N", self.z, self.leading_rows, found, self.other, self.leading_side)
        self._gemm("N", "C", self.other, self.leading_rows, self.z, self.part)
        numbers, parts = builder.bitcast(out, self.real.as_pointer()), 1 + self.is_complex
        with for_range(builder, self.m, scalar=True) as i, for_range(builder, self.m, scalar=True) as j:
            value = self._get(self.part, builder.add(builder.mul(j, self.m), i))
            index = builder.mul(builder.add(builder.mul(i, self.m), j), integer(parts))
            for number, part in enumerate((math_.real(value), math_.imag(value))[:parts]):
                place = builder.gep(numbers, [builder.add(index, integer(number))])
                builder.store(builder.fptrunc(part.ir, self.real), place)

    def _gemm(
        self,
        flag: str,
        other_flag: str,
        x: ir.Value,
        leading: ir.Value,
        y: ir.Value,
        out: ir.Value,
        leading_y: ir.Value | None = None,
    ) -> None:
        """Emit the product of two square matrices of order `m`."""
        letters = [self.letter(letter) for letter in (flag, other_flag)]
        extents = (self.rows,) * 3
        matrices = (x, leading, y, leading_y or self.leading_rows)
        self.of_pairs.call(
            "gemm", *letters, *extents, self.pair_one, *matrices, self.pair_zero, out, self.leading_rows
        )

    # ---- square root -------------------------------------------------------------------------------------------------

    def _square_root(self, t: ir.Value, root: ir.Value) -> None:
        """Emit the square root of a triangular matrix, element by element; nan if there is none."""
        builder, m = self.builder, self.math
        count = builder.mul(self.side, self.side)
        limit = self._rounding_error(builder.bitcast(t, _DOUBLE.as_pointer()), count, self.side, is_pair=True)
        builder.store(limit.ir, self.limit)
        builder.store(ir.Constant(_I1, 0), self.undefined)
        with for_range(builder, count) as i:
            self._put(m.literal(0.0, complex128), root, i)
        with self._columns() as i:
            place = self._at(i, i)
            value, limit = self._diagonal(t, i), self._float(builder.load(self.limit))
            is_zero = (m.imag(value) == 0.0) & (m.real(value) < 0.0) & (m.real(value) >= -limit)
            self._put(m.where(is_zero, m.literal(0.0, complex128), m.sqrt(value)), root, place)
        with self._columns() as column, for_range(builder, column, scalar=True) as step:
            self._root_element(t, root, builder.sub(builder.sub(column, integer(1)), step), column)
        with builder.if_then(builder.load(self.undefined), likely=False):
            self._fill_undefined(root)

    def _root_element(self, t: ir.Value, root: ir.Value, row: ir.Value, column: ir.Value) -> None:
        """Emit an element above the diagonal, from those to the left and below."""
        builder, m = self.builder, self.math
        rest = self._reduced(self._get(t, self._at(row, column)), root, root, row, column)
        zero, one = m.literal(0.0, complex128), m.literal(1.0, complex128)
        divisor = self._get(root, self._at(row, row)) + self._get(root, self._at(column, column))
        is_zero = divisor == zero
        excess = is_zero & (m.absolute(rest) > self._float(builder.load(self.limit)))
        self._note(excess.ir, self.undefined)
        value = m.divide(m.where(is_zero, zero, rest), m.where(is_zero, one, divisor))
        self._put(value, root, self._at(row, column))

    def _reduced(
        self, start: IRValue, x: ir.Value, y: ir.Value, row: ir.Value, column: ir.Value, first: int = 1
    ) -> IRValue:
        """Return `start` minus the sum of ``x[row, k] * y[k, column]`` for `k` between `row` and `column`.

        Column `column` itself is left out if `first` is 1.
        """
        builder = self.builder
        total = self.held(start.ir)
        builder.store(start.ir, total)
        count = builder.sub(builder.sub(column, row), integer(first))
        with for_range(builder, count, scalar=True) as index:
            k = builder.add(builder.add(row, integer(1)), index)
            product = self._get(x, self._at(row, k)) * self._get(y, self._at(k, column))
            before = IRValue(builder, builder.load(total), complex128)
            builder.store((before - product).ir, total)
        return IRValue(builder, builder.load(total), complex128)

    # ---- logarithm ---------------------------------------------------------------------------------------------------

    def _logarithm(self) -> None:
        """Emit the logarithm of `block` in `root`: inverse scaling and squaring with a Padé approximant."""
        builder, m = self.builder, self.math
        count = builder.mul(self.side, self.side)
        active, singular = self.held(ir.Constant(_I1, 0)), self.held(ir.Constant(_I1, 0))
        scale = self.held(ir.Constant(_DOUBLE, 1.0))
        builder.store(ir.Constant(_DOUBLE, 1.0), scale)
        builder.store(ir.Constant(_I1, 0), singular)
        with for_range(builder, count) as i:
            self._put(self._get(self.block, i), self.root, i)
        with self._columns() as i:
            self._note((self._diagonal(self.block, i) == m.literal(0.0, complex128)).ir, singular)
        builder.store(builder.not_(builder.load(singular)), active)
        with for_range(builder, integer(MOST_ROOTS), scalar=True), builder.if_then(builder.load(active)):
            far = self._norm_without_identity(self.root) > LOGARITHM_RADIUS
            builder.store(far.ir, active)
            with builder.if_then(far.ir):
                self._square_root(self.root, self.following)
                with for_range(builder, count) as i:
                    self._put(self._get(self.following, i), self.root, i)
                builder.store(builder.fmul(builder.load(scale), ir.Constant(_DOUBLE, 2.0)), scale)
        self._approximant()
        times = m.complex_number(self._float(builder.load(scale)), self._double(0.0))
        with for_range(builder, count) as i:
            self._put(self._get(self.following, i) * times, self.root, i)
        with self._columns() as i:
            self._put(self._logarithm_of_diagonal(i), self.root, self._at(i, i))
        with builder.if_then(builder.load(singular), likely=False):
            self._fill_undefined(self.root)

    def _approximant(self) -> None:
        """Emit the sum of ``weight * (1 + node * d)^-1 d`` over the nodes in `following`, for ``d = root - 1``."""
        builder, m = self.builder, self.math
        zero, one = m.literal(0.0, complex128), m.literal(1.0, complex128)
        with for_range(builder, builder.mul(self.side, self.side)) as i:
            self._put(zero, self.following, i)
        with self._columns() as i:
            place = self._at(i, i)
            self._put(self._get(self.root, place) - one, self.root, place)
        table = logarithm_nodes_and_weights()
        address = constant_table(builder.module, table)
        with for_range(builder, integer(len(table)), scalar=True) as number:
            entries = [builder.gep(address, [integer(0), number, integer(i)]) for i in range(2)]
            node, weight = [
                m.complex_number(self._float(builder.load(entry)), self._double(0.0)) for entry in entries
            ]
            with self._columns() as column, self._up_to(column) as step:
                row = builder.sub(column, step)
                place = self._at(row, column)
                known = self._get(self.root, place) * weight
                rest = known + node * self._reduced(zero, self.root, self.part, row, column, first=0)
                pivot = one + self._get(self.root, self._at(row, row)) * node
                solution = m.divide(rest, pivot)
                self._put(solution, self.part, place)
                self._put(self._get(self.following, place) + solution, self.following, place)

    def _logarithm_of_diagonal(self, index: ir.Value) -> IRValue:
        """Return the logarithm of a diagonal element; nan for a negative one of real factors."""
        m, value = self.math, self._diagonal(self.block, index)
        is_real = IRValue(self.builder, self.builder.load(self.real_factors), bool_)
        missing = is_real & (m.real(value) <= 0.0)
        return m.where(missing, m.literal(complex(math.nan, 0.0), complex128), m.log(value))

    def _norm_without_identity(self, matrix: ir.Value) -> IRValue:
        """Return the greatest sum of absolute values of a column of a matrix minus the identity."""
        builder, m = self.builder, self.math
        greatest, total = self.held(ir.Constant(_DOUBLE, 0.0)), self.held(ir.Constant(_DOUBLE, 0.0))
        builder.store(ir.Constant(_DOUBLE, 0.0), greatest)
        zero, one = m.literal(0.0, complex128), m.literal(1.0, complex128)
        with self._columns() as column:
            builder.store(ir.Constant(_DOUBLE, 0.0), total)
            with self._up_to(column) as row:
                on_diagonal = IRValue(builder, builder.icmp_signed("==", row, column), bool_)
                value = self._get(matrix, self._at(row, column)) - m.where(on_diagonal, one, zero)
                builder.store((self._float(builder.load(total)) + m.absolute(value)).ir, total)
            found = m.maximum(self._float(builder.load(greatest)), self._float(builder.load(total)))
            builder.store(found.ir, greatest)
        return self._float(builder.load(greatest))

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def _at(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Return the index of an element of a triangular matrix."""
        return self.builder.add(self.builder.mul(column, self.side), row)

    def _columns(self) -> AbstractContextManager[ir.Value]:
        """Emit a loop over the columns of a triangular matrix."""
        return for_range(self.builder, self.side, scalar=True)

    def _up_to(self, last: ir.Value) -> AbstractContextManager[ir.Value]:
        """Emit a loop from 0 to `last`."""
        return for_range(self.builder, self.builder.add(last, integer(1)), scalar=True)

    def _get(self, place: ir.Value, index: ir.Value) -> IRValue:
        return IRValue(self.builder, self.builder.load(self.builder.gep(place, [index]), align=8), complex128)

    def _put(self, value: IRValue, place: ir.Value, index: ir.Value) -> None:
        self.builder.store(value.ir, self.builder.gep(place, [index]), align=8)

    def _diagonal(self, matrix: ir.Value, index: ir.Value) -> IRValue:
        """Return a diagonal element; an imaginary part that is zero is a positive zero."""
        m, value = self.math, self._get(matrix, self._at(index, index))
        return m.complex_number(m.real(value), m.where(m.imag(value) == 0.0, 0.0, m.imag(value)))

    def _number_of_copy(self, index: ir.Value) -> IRValue:
        numbers = self.builder.bitcast(self.memory, self.real.as_pointer())
        number = self.builder.load(self.builder.gep(numbers, [index]))
        return self._float(self.builder.fpext(number, _DOUBLE))

    def _pair_of_copy(self, index: ir.Value) -> IRValue:
        if not self.is_complex:
            return self.math.complex_number(self._number_of_copy(index), self._double(0.0))
        first = self.builder.mul(index, integer(2))
        parts = (first, self.builder.add(first, integer(1)))
        return self.math.complex_number(*[self._number_of_copy(part) for part in parts])

    def _rounding_error(
        self, numbers: ir.Value, count: ir.Value, order: ir.Value, is_pair: bool = False
    ) -> IRValue:
        """Return the size of rounding errors of eigenvalues, from the greatest absolute value of an element."""
        builder, m = self.builder, self.math
        greatest = self.held(ir.Constant(_DOUBLE, 0.0))
        builder.store(ir.Constant(_DOUBLE, 0.0), greatest)
        pairs = builder.bitcast(numbers, _PAIR.as_pointer())
        with for_range(builder, count, scalar=True) as i:
            value = self._get(pairs, i) if is_pair else self._float(builder.load(builder.gep(numbers, [i])))
            found = m.maximum(self._float(builder.load(greatest)), m.absolute(value))
            builder.store(found.ir, greatest)
        scale = self._float(builder.sitofp(order, _DOUBLE)) * float(np.finfo(np.float64).eps)
        return scale * self._float(builder.load(greatest))

    def _fill_undefined(self, matrix: ir.Value) -> None:
        nan = self.math.literal(complex(math.nan, 0.0), complex128)
        with for_range(self.builder, self.builder.mul(self.side, self.side)) as i:
            self._put(nan, matrix, i)

    def _note(self, condition: ir.Value, flag: ir.Value) -> None:
        self.builder.store(self.builder.or_(self.builder.load(flag), condition), flag)

    def _float(self, value: ir.Value) -> IRValue:
        return IRValue(self.builder, value, float64)

    def _double(self, value: float) -> IRValue:
        return self.math.literal(value, float64)
