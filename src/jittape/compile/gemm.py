"""Matrix products by the BLAS: a loop over the batch around a call of ``jittape_dgemm`` and its like.

The names are symbols that `compile.blas` registers. The calling sequence is Fortran's: every argument by address,
integers of 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from numba.core import cgutils

from jittape.compile.blas import symbol
from jittape.compile.kernel import Gemm

__all__ = ["define_gemm"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BYTES = _I8.as_pointer()
_INTEGERS = _I32.as_pointer()
_GEMM = ir.FunctionType(
    ir.VoidType(),
    [
        _BYTES,
        _BYTES,
        *[_INTEGERS] * 3,
        _BYTES,
        _BYTES,
        _INTEGERS,
        _BYTES,
        _INTEGERS,
        _BYTES,
        _BYTES,
        _INTEGERS,
    ],
)
_ROUTINES = {"float32": "sgemm", "float64": "dgemm", "complex64": "cgemm", "complex128": "zgemm"}


def define_gemm(kernel: Gemm, function: ir.Function) -> None:
    """Write the body: a loop over the batch.

    The BLAS counts columns first, so what it calls A is the transpose of y and what it calls B that of x.
    """
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    slots, operand_slots, sizes = function.args
    x, y, out = (pointer(builder, slots, operand_slots, i) for i in range(3))
    batch, m, n, k, x_stride, y_stride = (size(builder, sizes, i) for i in range(6))
    tx, ty = kernel.transposed
    letters = [_held(builder, [ir.Constant(_I8, ord("T" if t else "N"))]) for t in (ty, tx)]
    leading = [_at_least_one(builder, v) for v in (k if ty else n, m if tx else k, n)]
    columns, rows, inner, ldy, ldx, ldo = (
        _held(builder, [builder.trunc(v, _I32)]) for v in (n, m, k, *leading)
    )
    one, zero = (builder.bitcast(_number(builder, kernel, v), _BYTES) for v in (1.0, 0.0))
    width = ir.Constant(_I64, kernel.dtype.itemsize)
    steps = [builder.mul(v, width) for v in (x_stride, y_stride, builder.mul(m, n))]
    name = symbol(_ROUTINES[kernel.dtype.name])
    gemm = cgutils.get_or_insert_function(builder.module, _GEMM, name)  # type: ignore[no-untyped-call]
    with cgutils.for_range(builder, batch, intp=_I64) as loop:
        xi, yi, oi = (
            builder.gep(p, [builder.mul(loop.index, step)])
            for p, step in zip((x, y, out), steps, strict=True)
        )
        builder.call(gemm, [*letters, columns, rows, inner, one, yi, ldy, xi, ldx, zero, oi, ldo])
    builder.ret_void()


def pointer(builder: ir.IRBuilder, slots: ir.Value, operand_slots: ir.Value, operand: int) -> ir.Value:
    """The address of an operand."""
    number = builder.load(builder.gep(operand_slots, [ir.Constant(_I64, operand)]))
    return builder.load(builder.gep(slots, [builder.sext(number, _I64)]))


def size(builder: ir.IRBuilder, sizes: ir.Value, position: int) -> ir.Value:
    """The integer that a symbol stands for."""
    return builder.load(builder.gep(sizes, [ir.Constant(_I64, position)]))


def _number(builder: ir.IRBuilder, kernel: Gemm, value: float) -> ir.Value:
    """A real number where the routine reads it; a complex one is two floats."""
    kind = ir.FloatType() if kernel.dtype.name in ("float32", "complex64") else ir.DoubleType()
    return _held(builder, [ir.Constant(kind, value), ir.Constant(kind, 0.0)])


def _held(builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
    """The address of values in memory."""
    place = builder.alloca(values[0].type, len(values))
    for i, value in enumerate(values):
        builder.store(value, builder.gep(place, [ir.Constant(_I32, i)]))
    return place


def _at_least_one(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    one = ir.Constant(_I64, 1)
    return builder.select(builder.icmp_signed("<", value, one), one, value)
