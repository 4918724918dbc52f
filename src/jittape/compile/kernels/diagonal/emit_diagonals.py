"""Machine code for `laid`: zeros, and operands added to them along the steps of a table."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from jittape.compile.kernels.loop.kernel_arguments import size
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range, integer
from jittape.compile.llvm.ir_value import memory_type
from jittape.compile.rewrite.diagonal_op import LOOPS, DiagonalScatter

__all__ = ["define_diagonal_scatter"]

_I64 = ir.IntType(64)
_HEAD, _ROW = 2, 1 + 2 * LOOPS
"""Words of a table before the first operand, and of an operand."""


def define_diagonal_scatter(kernel: DiagonalScatter, function: ir.Function) -> None:
    """Write the function: see `laid.table_of`."""
    slots, operand_slots, sizes, _ = function.args
    builder = Builder(function.append_basic_block("entry"))
    kind = memory_type(kernel.dtype)
    elements, count = size(builder, function, 0), size(builder, function, 1)
    number = builder.load(builder.gep(operand_slots, [count]))
    result = builder.load(builder.gep(slots, [builder.sext(number, _I64)]))
    result = builder.bitcast(result, kind.as_pointer())
    with for_range(builder, elements) as index:
        builder.store(ir.Constant(kind, 0.0), builder.gep(result, [index]))
    with for_range(builder, count, scalar=True) as operand:
        at = builder.load(builder.gep(operand_slots, [operand]))
        x = builder.load(builder.gep(slots, [builder.sext(at, _I64)]))
        x = builder.bitcast(x, kind.as_pointer())
        row = builder.add(integer(_HEAD), builder.mul(operand, integer(_ROW)))
        offset, *words = (
            builder.load(builder.gep(sizes, [builder.add(row, integer(i))])) for i in range(_ROW)
        )
        _add(builder, x, builder.gep(result, [offset]), words[:LOOPS], words[LOOPS:])
    builder.ret_void()


def _add(
    builder: ir.IRBuilder,
    x: ir.Value,
    result: ir.Value,
    extents: Sequence[ir.Value],
    steps: Sequence[ir.Value],
) -> None:
    """Add what stands at `x` to the result by as many loops as there are extents."""
    if not extents:
        builder.store(builder.fadd(builder.load(result), builder.load(x)), result)
        return
    inner = integer(1)
    for extent in extents[1:]:
        inner = builder.mul(inner, extent)
    with for_range(builder, extents[0], scalar=True) as index:
        x = builder.gep(x, [builder.mul(index, inner)])
        result = builder.gep(result, [builder.mul(index, steps[0])])
        _add(builder, x, result, extents[1:], steps[1:])
