"""Exponentials of matrices and their derivatives in a direction in LLVM IR, by products and one solve.

The method is that of `jittape.primitives.spectra.matrix_exponential`: scaling and squaring with a Padé approximant,
of degree 7 for small norms. The matrices have contiguous columns, as LAPACK expects, and the result is transposed.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir

from jittape.compile.ir.lapack import Lapack
from jittape.compile.kernels.lapack.decompositions import Decompositions
from jittape.compile.llvm.ir_helpers import for_range, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue
from jittape.core.dtypes import float64, info_of
from jittape.value_classes import NamedTuple
from jittape.vectormath.matrix_pade import (
    COEFFICIENTS,
    COEFFICIENTS_OF_7,
    FEW_HALVINGS,
    LARGEST,
    LARGEST_EXPONENT,
    LARGEST_OF_7,
    LEADING_ERROR,
)

__all__ = ["define_exponential"]

_I64, _DOUBLE = ir.IntType(64), ir.DoubleType()


class _Pair(NamedTuple):
    """The places of a matrix and of its derivative, which is None if only values are computed."""

    value: ir.Value
    slope: ir.Value | None

    @property
    def parts(self) -> list[ir.Value]:
        return [self.value] if self.slope is None else [self.value, self.slope]


def define_exponential(kernel: Lapack, function: ir.Function) -> None:
    """Emit a stack of exponentials or of derivatives; then the columns of a direction follow those of each matrix."""
    _Exponentials(kernel, function).emit()


class _Exponentials(Decompositions):
    """Emitter of the exponentials of one task; `m` is the order of the matrices."""

    def __init__(self, kernel: Lapack, function: ir.Function) -> None:
        super().__init__(kernel, function)
        self.math = IRMath(self.builder)
        self.side, self.leading_side = self.rows, self.leading_rows
        self.area = self.builder.mul(self.m, self.m)
        self.has_slope = kernel.routine == "expm_derivative"
        self.zero = self.number(ir.Constant(self.real, 0.0))
        self.minus_one = self.number(ir.Constant(self.real, -1.0))

    def _area(self) -> ir.Value:
        return self.area

    def _expm(self, a: ir.Value, out: ir.Value) -> None:
        with self._if_finite(a, self.memory) as (finite, broken):
            with finite:
                result = self._exponential().parts[-1]
                with for_range(self.builder, self.m, scalar=True) as row:
                    to = self.place(out, self.builder.mul(row, self.m))
                    self._copy_strided(to, self.place(result, row), self.m, self.m)
            with broken:
                self._fill_nan(out, self.area)

    _expm_derivative = _expm

    def _exponential(self) -> _Pair:
        """Emit the computation for the copy of the operand."""
        builder = self.builder
        x, x2, x4, x6, t, u, v = (self._pair(number) for number in range(7))
        self.copy(x.value, self.memory, builder.mul(self.m, self.n))
        norm = self._norm(x.value)
        lifted = self._lifted_exponent(norm)
        self._halve(x, lifted)
        self._even_powers(x, x2, x4, x6)
        halvings = self._halvings(norm, lifted, x, x4, x6, (t, u))
        is_moderate = builder.icmp_signed("==", lifted, integer(0))
        with builder.if_else(is_moderate, likely=True) as (moderate, large):
            with moderate:
                scale = self._power_of_two(builder.sub(integer(0), halvings))
                square = builder.fmul(scale, scale)
                fourth = builder.fmul(square, square)
                for pair, factor in (
                    (x, scale),
                    (x2, square),
                    (x4, fourth),
                    (x6, builder.fmul(fourth, square)),
                ):
                    self._scale(pair, factor)
            with large:
                self.copy(x.value, self.memory, builder.mul(self.m, self.n))
                self._halve(x, halvings)
                self._even_powers(x, x2, x4, x6)
        is_small = builder.fcmp_ordered("<=", norm, ir.Constant(_DOUBLE, LARGEST_OF_7))
        with builder.if_else(is_small) as (few, many):
            with few:
                self._approximant_of_7(x, x2, x4, x6, u, v)
            with many:
                self._approximant_of_13(x, x2, x4, x6, t, u, v)
        self._combine(t, 0.0, (1.0, u), (1.0, v))
        self._combine(x2, 0.0, (1.0, u), (-1.0, v))
        self._solve(x2, t)
        with for_range(builder, halvings, scalar=True):
            self._multiply(u, t, t)
            for to, source in zip(t.parts, u.parts, strict=True):
                self.copy(to, source, self.area)
        return t

    def _approximant_of_7(self, x: _Pair, x2: _Pair, x4: _Pair, x6: _Pair, u: _Pair, v: _Pair) -> None:
        """Emit the even and the odd part of the numerator, `u` and `v`, with one product."""
        c = COEFFICIENTS_OF_7
        self._combine(u, c[1], (c[7], x6), (c[5], x4), (c[3], x2))
        self._multiply(v, x, u)
        self._combine(u, c[0], (c[6], x6), (c[4], x4), (c[2], x2))

    def _approximant_of_13(
        self, x: _Pair, x2: _Pair, x4: _Pair, x6: _Pair, t: _Pair, u: _Pair, v: _Pair
    ) -> None:
        """Emit the even and the odd part of the numerator, `u` and `v`, with three products; `t` is free."""
        c = COEFFICIENTS
        self._combine(t, 0.0, (c[13], x6), (c[11], x4), (c[9], x2))
        self._multiply(u, x6, t)
        self._combine(u, c[1], (1.0, u), (c[7], x6), (c[5], x4), (c[3], x2))
        self._multiply(v, x, u)
        self._combine(t, 0.0, (c[12], x6), (c[10], x4), (c[8], x2))
        self._multiply(u, x6, t)
        self._combine(u, c[0], (1.0, u), (c[6], x6), (c[4], x4), (c[2], x2))

    def _even_powers(self, x: _Pair, x2: _Pair, x4: _Pair, x6: _Pair) -> None:
        self._multiply(x2, x, x)
        self._multiply(x4, x2, x2)
        self._multiply(x6, x4, x2)

    # ---- scaling -----------------------------------------------------------------------------------------------------

    def _lifted_exponent(self, norm: ir.Value) -> ir.Value:
        """Return how often the matrix is halved so that its powers do not overflow."""
        builder = self.builder
        bits = builder.lshr(builder.bitcast(norm, _I64), integer(52))
        above = builder.sub(bits, integer(1022 + LARGEST_EXPONENT[info_of(self.kernel.dtype).real.itemsize]))
        return builder.select(builder.icmp_signed(">", above, integer(0)), above, integer(0))

    def _halvings(
        self, norm: ir.Value, lifted: ir.Value, x: _Pair, x4: _Pair, x6: _Pair, free: tuple[_Pair, _Pair]
    ) -> ir.Value:
        """Return how often the matrix is halved, which has been halved `lifted` times; see `matrix_exponential`."""
        builder, m = self.builder, self.math
        place = self.held(integer(0))
        builder.store(integer(0), place)
        with builder.if_then(builder.fcmp_ordered(">", norm, ir.Constant(_DOUBLE, LARGEST))):
            already, zero = (
                self._float(builder.sitofp(lifted, _DOUBLE)),
                self._float(ir.Constant(_DOUBLE, 0.0)),
            )
            fourth, sixth = self._log2_of_root(x4.value, 4), self._log2_of_root(x6.value, 6)
            size = self.held(m.maximum(fourth, sixth).ir)
            builder.store(m.maximum(fourth, sixth).ir, size)
            limit = math.log2(LARGEST) + FEW_HALVINGS
            with builder.if_then((already + self._float(builder.load(size)) > limit).ir, likely=False):
                x8, x10 = (pair.value for pair in free)
                self._gemm(x8, self.one, x4.value, x4.value, self.zero)
                self._gemm(x10, self.one, x4.value, x6.value, self.zero)
                eighth, tenth = self._log2_of_root(x8, 8), self._log2_of_root(x10, 10)
                smaller = m.minimum(m.maximum(sixth, eighth), m.maximum(eighth, tenth))
                builder.store(m.minimum(self._float(builder.load(size)), smaller).ir, size)
            halvings = m.maximum(m.ceil(already + self._float(builder.load(size)) - math.log2(LARGEST)), zero)
            builder.store(builder.fptosi(halvings.ir, _I64), place)
            log_norm = self._log2(norm)
            limit = math.log2(LEADING_ERROR * float(np.finfo(self.kernel.dtype).eps) / 2)
            error = (log_norm - halvings) * 26.0 - limit
            with builder.if_then((error > 0.0).ir, likely=False):
                # The norm of abs(x)**27 bounds the error.
                error = (
                    (already - halvings) * 26.0 + (already - log_norm) + self._log2_of_power(x.value) - limit
                )
                more = m.maximum(m.ceil(error * (1 / 26)), zero)
                builder.store(builder.fptosi((halvings + more).ir, _I64), place)
        return builder.load(place)

    def _log2_of_root(self, power: ir.Value, k: int) -> IRValue:
        """Return the logarithm of the root of order `k` of the norm of a matrix."""
        return self._log2(self._norm(power)) * (1 / k)

    def _log2_of_power(self, matrix: ir.Value) -> IRValue:
        """Return the logarithm of the greatest element of ``ones @ abs(matrix)**27``."""
        builder, n = self.builder, self.m
        vectors = [self.reals, builder.gep(self.reals, [n])]
        with for_range(builder, n, scalar=True) as i:
            builder.store(ir.Constant(self.real, 1.0), builder.gep(vectors[0], [i]))
        total = self.held(ir.Constant(_DOUBLE, 0.0))
        with for_range(builder, integer(27), scalar=True):
            greatest = self.held(ir.Constant(_DOUBLE, 0.0))
            builder.store(ir.Constant(_DOUBLE, 0.0), greatest)
            with for_range(builder, n, scalar=True) as i:
                value = self._sum_of_column(matrix, i, vectors[0])
                builder.store(builder.fptrunc(value, self.real), builder.gep(vectors[1], [i]))
                self._store_greater(value, greatest)
            found = builder.load(greatest)
            builder.store(builder.fadd(builder.load(total), self._log2(found).ir), total)
            is_zero = builder.fcmp_ordered("==", found, ir.Constant(_DOUBLE, 0.0))
            divisor = builder.select(is_zero, ir.Constant(_DOUBLE, 1.0), found)
            with for_range(builder, n, scalar=True) as i:
                value = builder.fpext(builder.load(builder.gep(vectors[1], [i])), _DOUBLE)
                value = builder.fptrunc(builder.fdiv(value, divisor), self.real)
                builder.store(value, builder.gep(vectors[0], [i]))
        return self._float(builder.load(total))

    def _norm(self, matrix: ir.Value) -> ir.Value:
        """Return the greatest sum of absolute values of a column, a double."""
        greatest = self.held(ir.Constant(_DOUBLE, 0.0))
        self.builder.store(ir.Constant(_DOUBLE, 0.0), greatest)
        with for_range(self.builder, self.m, scalar=True) as i:
            self._store_greater(self._sum_of_column(matrix, i, None), greatest)
        return self.builder.load(greatest)

    def _store_greater(self, value: ir.Value, place: ir.Value) -> None:
        builder = self.builder
        before = builder.load(place)
        builder.store(builder.select(builder.fcmp_ordered(">", value, before), value, before), place)

    def _sum_of_column(self, matrix: ir.Value, column: ir.Value, weights: ir.Value | None) -> ir.Value:
        """Return the sum of absolute values, of both parts of complex numbers, times weights."""
        builder, parts = self.builder, 1 + self.is_complex
        numbers = builder.bitcast(matrix, self.real.as_pointer())
        start = builder.mul(builder.mul(column, self.m), integer(parts))
        total = self.held(ir.Constant(_DOUBLE, 0.0))
        builder.store(ir.Constant(_DOUBLE, 0.0), total)
        with for_range(builder, self.m, scalar=True) as j:
            for part in range(parts):
                index = builder.add(start, builder.add(builder.mul(j, integer(parts)), integer(part)))
                number = builder.fpext(builder.load(builder.gep(numbers, [index])), _DOUBLE)
                size = self.math.absolute(self._float(number)).ir
                if weights is not None:
                    weight = builder.fpext(builder.load(builder.gep(weights, [j])), _DOUBLE)
                    size = builder.fmul(size, weight)
                builder.store(builder.fadd(builder.load(total), size), total)
        return builder.load(total)

    def _float(self, value: ir.Value) -> IRValue:
        return IRValue(self.builder, value, float64)

    def _log2(self, value: ir.Value) -> IRValue:
        return self.math.log2(self._float(value))

    def _power_of_two(self, exponent: ir.Value) -> ir.Value:
        """Return 2 to an integer between -1022 and 1023, as a real number."""
        bits = self.builder.shl(self.builder.add(exponent, integer(1023)), integer(52))
        return self.builder.fptrunc(self.builder.bitcast(bits, _DOUBLE), self.real)

    # ---- pairs -------------------------------------------------------------------------------------------------------

    def _pair(self, number: int) -> _Pair:
        """Return the places of pair `number` behind the copy of the operand."""
        builder, count = self.builder, 1 + self.has_slope
        start = self._behind_copy()
        places = [
            self.place(start, builder.mul(self.area, integer(number * count + part))) for part in range(count)
        ]
        return _Pair(places[0], places[1] if self.has_slope else None)

    def _halve(self, x: _Pair, times: ir.Value) -> None:
        """Emit the division by 2 to a number of times, in two steps, since the power may be no normal number."""
        half = self.builder.ashr(times, integer(1))
        for part in (half, self.builder.sub(times, half)):
            self._scale(x, self._power_of_two(self.builder.sub(integer(0), part)))

    def _scale(self, x: _Pair, factor: ir.Value) -> None:
        builder = self.builder
        for part in x.parts:
            numbers = builder.bitcast(part, self.real.as_pointer())
            with for_range(builder, self._numbers()) as i:
                place = builder.gep(numbers, [i])
                builder.store(builder.fmul(builder.load(place), factor), place)

    def _numbers(self) -> ir.Value:
        """Return the number of real numbers in a matrix."""
        return self.builder.mul(self.area, integer(1 + self.is_complex))

    def _combine(self, to: _Pair, identity: float, *terms: tuple[float, _Pair]) -> None:
        """Emit the weighted sum of pairs plus a multiple of the identity; `to` may be one of them."""
        builder = self.builder
        for part, place in enumerate(to.parts):
            numbers = builder.bitcast(place, self.real.as_pointer())
            sources = [(weight, builder.bitcast(x.parts[part], numbers.type)) for weight, x in terms]
            with for_range(builder, self._numbers()) as i:
                total = ir.Constant(self.real, 0.0)
                for weight, source in sources:
                    value = builder.fmul(
                        builder.load(builder.gep(source, [i])), ir.Constant(self.real, weight)
                    )
                    total = builder.fadd(total, value, flags=("contract",))
                builder.store(total, builder.gep(numbers, [i]))
        if identity:
            numbers = builder.bitcast(to.value, self.real.as_pointer())
            step = builder.mul(builder.add(self.m, integer(1)), integer(1 + self.is_complex))
            with for_range(builder, self.m, scalar=True) as i:
                place = builder.gep(numbers, [builder.mul(i, step)])
                builder.store(builder.fadd(builder.load(place), ir.Constant(self.real, identity)), place)

    def _multiply(self, out: _Pair, x: _Pair, y: _Pair) -> None:
        """Emit the product of two pairs, by the product rule."""
        self._gemm(out.value, self.one, x.value, y.value, self.zero)
        if out.slope is not None:
            self._gemm(out.slope, self.one, x.value, y.slope, self.zero)
            self._gemm(out.slope, self.one, x.slope, y.value, self.one)

    def _gemm(
        self, out: ir.Value, alpha: ir.Value, x: ir.Value | None, y: ir.Value | None, beta: ir.Value
    ) -> None:
        flag, side, leading = self.letter("N"), self.side, self.leading_side
        self.call("gemm", flag, flag, side, side, side, alpha, x, leading, y, leading, beta, out, leading)

    def _solve(self, matrix: _Pair, rhs: _Pair) -> None:
        """Emit the solution of a linear system of pairs, which overwrites both."""
        side, leading = self.side, self.leading_side
        self.call("gesv", side, side, matrix.value, leading, self.integers, rhs.value, leading, self.info)
        if rhs.slope is not None:
            self._gemm(rhs.slope, self.minus_one, matrix.slope, rhs.value, self.one)
            factors = (matrix.value, leading, self.integers)
            self.call("getrs", self.letter("N"), side, side, *factors, rhs.slope, leading, self.info)
