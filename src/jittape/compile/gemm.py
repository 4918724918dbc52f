"""Matrix products: a call of the C helper behind Numba's `np.dot`, which finds SciPy's BLAS."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils
from numba.np.linalg import ensure_blas

from jittape.compile.kernel import Gemm

__all__ = ["define_gemm"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BYTES = _I8.as_pointer()
_XXGEMM = ir.FunctionType(
    _I32,
    [_I8, _I8, _I8, _I64, _I64, _I64, _BYTES, _BYTES, _I64, _BYTES, _I64, _BYTES, _BYTES, _I64],
)
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def define_gemm(kernel: Gemm, function: ir.Function) -> None:
    """Write the body: a loop over the batch.

    The BLAS counts columns first, so what it calls A is the transpose of y and what it calls B that of x.
    """
    ensure_blas()  # type: ignore[no-untyped-call]
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    slots, operand_slots, sizes = function.args[:3]
    x, y, out = (pointer(builder, slots, operand_slots, i) for i in range(3))
    batch, m, n, k, x_stride, y_stride = (size(builder, sizes, i) for i in range(6))
    one, zero = _constants(builder, kernel)
    xxgemm = cgutils.get_or_insert_function(builder.module, _XXGEMM, "numba_xxgemm")  # type: ignore[no-untyped-call]
    width = ir.Constant(_I64, kernel.dtype.itemsize)
    x_step, y_step = builder.mul(x_stride, width), builder.mul(y_stride, width)
    out_step = builder.mul(builder.mul(m, n), width)
    letters = [ir.Constant(_I8, ord(_LETTERS[kernel.dtype.name]))]
    tx, ty = kernel.transposed
    letters += [ir.Constant(_I8, ord("t" if t else "n")) for t in (ty, tx)]
    ldy, ldx = _at_least_one(builder, k if ty else n), _at_least_one(builder, m if tx else k)
    ldo = _at_least_one(builder, n)
    with cgutils.for_range(builder, batch, intp=_I64) as loop:
        xi, yi, oi = (
            builder.gep(p, [builder.mul(loop.index, step)])
            for p, step in ((x, x_step), (y, y_step), (out, out_step))
        )
        builder.call(xxgemm, [*letters, n, m, k, one, yi, ldy, xi, ldx, zero, oi, ldo])
    builder.ret_void()


def pointer(builder: ir.IRBuilder, slots: ir.Value, operand_slots: ir.Value, operand: int) -> ir.Value:
    """The address of an operand."""
    number = builder.load(builder.gep(operand_slots, [ir.Constant(_I64, operand)]))
    return builder.load(builder.gep(slots, [builder.sext(number, _I64)]))


def size(builder: ir.IRBuilder, sizes: ir.Value, position: int) -> ir.Value:
    """The integer that a symbol stands for."""
    return builder.load(builder.gep(sizes, [ir.Constant(_I64, position)]))


def _constants(builder: ir.IRBuilder, kernel: Gemm) -> list[ir.Value]:
    """Pointers to one and zero; a complex number is two floats."""
    kind = ir.FloatType() if kernel.dtype.name in ("float32", "complex64") else ir.DoubleType()
    pair = ir.ArrayType(kind, 2)
    pointers = []
    for value in (1.0, 0.0):
        place = builder.alloca(pair)
        builder.store(ir.Constant(pair, [value, 0.0]), place)
        pointers.append(builder.bitcast(place, _BYTES))
    return pointers


def _at_least_one(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    one = ir.Constant(_I64, 1)
    return builder.select(builder.icmp_signed("<", value, one), one, value)
