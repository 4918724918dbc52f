"""Diagonal scatter in LLVM IR: zeros, and operands added to them along the steps of a table."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from jittape.compile.ir.table_layouts import DIAGONAL_HEAD, DIAGONAL_OPERAND
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range, integer
from jittape.compile.llvm.ir_records import IRRecord
from jittape.compile.llvm.ir_value import memory_type
from jittape.compile.rewrite.diagonal_op import DiagonalScatter

__all__ = ["define_diagonal_scatter"]

_I64 = ir.IntType(64)


def define_diagonal_scatter(kernel: DiagonalScatter, function: ir.Function) -> None:
    """Emit a diagonal scatter; its sizes are the table that `diagonal_op.table_of` returns."""
    slots, operand_slots, table, _ = function.args
    builder = Builder(function.append_basic_block("entry"))
    kind = memory_type(kernel.dtype).as_pointer()

    def operand(position: ir.Value) -> ir.Value:
        cell = builder.sext(builder.load(builder.gep(operand_slots, [position])), _I64)
        return builder.bitcast(builder.load(builder.gep(slots, [cell])), kind)

    head = IRRecord(builder, DIAGONAL_HEAD, table)
    elements, count = head.load("elements"), head.load("operands")
    first, result = head.after(DIAGONAL_OPERAND), operand(count)
    with for_range(builder, elements) as index:
        builder.store(ir.Constant(kind.pointee, 0.0), builder.gep(result, [index]))
    with for_range(builder, count, scalar=True) as index:
        diagonal = first.element(index)
        place = builder.gep(result, [diagonal.load("offset")])
        _add(builder, operand(index), place, diagonal.load_words("extents"), diagonal.load_words("steps"))
    builder.ret_void()


def _add(
    builder: ir.IRBuilder,
    x: ir.Value,
    result: ir.Value,
    extents: Sequence[ir.Value],
    steps: Sequence[ir.Value],
) -> None:
    """Emit the addition of the elements at `x` to the result, with a loop for each extent."""
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
