"""Exchanges of elements in LLVM IR: a loop of its own for each row, since each exchange depends on the last one."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.kernels.loop.kernel_arguments import operand, size
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range

__all__ = ["define_exchanges"]


def define_exchanges(function: ir.Function) -> None:
    """Emit the kernel; the operands are the targets and the result, rows of int64."""
    builder = Builder(function.append_basic_block("entry"))
    word = ir.IntType(64)
    targets, result = (operand(builder, function, i, word) for i in range(2))
    rows, length, first, step = (size(builder, function, i) for i in range(4))
    with for_range(builder, rows, scalar=True) as row:
        start = builder.mul(row, length)
        own, order = builder.gep(targets, [start]), builder.gep(result, [start])
        with for_range(builder, length) as index:
            builder.store(index, builder.gep(order, [index]))
        with for_range(builder, length, scalar=True) as index:
            at = builder.add(first, builder.mul(step, index))
            places = [builder.gep(order, [at]), builder.gep(order, [builder.load(builder.gep(own, [at]))])]
            values = [builder.load(place) for place in places]
            for place, value in zip(places, reversed(values), strict=True):
                builder.store(value, place)
    builder.ret_void()
