"""What runs a strip: a kernel that calls other kernels for one block of rows after another.

Its sizes are a table: the cells of the slot table, blocks, blocks of a group, bytes of a group's own memory, the number
of cells that point into that memory, the number of steps; then for each such cell its number and the bytes of a
block; then for each step the address of its kernel, of its operands' slot numbers and of its sizes.

A kernel finds a block at a distance from where an array begins. So that a block stands in the group's own memory, the
kernels get a slot table in which the array begins as far before that.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, for_range, for_steps, integer

__all__ = ["define_row_tiles"]

_I64 = ir.IntType(64)
_HEADER, _MOVED, _STEP = 6, 2, 3
"""Entries of the table before the first cell, for a cell and for a step."""


def define_row_tiles(function: ir.Function) -> None:
    """Write the body; `function` has a kernel's type, and a task is a group."""
    function.attributes.add("optsize")
    slots, _, table, group = function.args
    builder = Builder(function.append_basic_block("entry"))

    def entry(position: ir.Value) -> ir.Value:
        return builder.load(builder.gep(table, [position]))

    cells, blocks, share, region, moved, steps = (entry(integer(i)) for i in range(_HEADER))
    own = builder.alloca(BYTES, size=cells)
    with for_range(builder, cells, scalar=True) as cell:
        builder.store(builder.load(builder.gep(slots, [cell])), builder.gep(own, [cell]))
    first = builder.mul(group, share)
    last = builder.add(first, share)
    last = builder.select(builder.icmp_signed("<", last, blocks), last, blocks)
    memory = builder.mul(group, region)
    calls = builder.add(integer(_HEADER), builder.mul(moved, integer(_MOVED)))
    with for_steps(builder, first, last, integer(1), scalar=True) as block:
        with for_range(builder, moved, scalar=True) as index:
            place = builder.add(integer(_HEADER), builder.mul(index, integer(_MOVED)))
            cell, nbytes = entry(place), entry(builder.add(place, integer(1)))
            distance = builder.sub(memory, builder.mul(block, nbytes))
            begin = builder.load(builder.gep(slots, [cell]))
            builder.store(builder.gep(begin, [distance]), builder.gep(own, [cell]))
        with for_range(builder, steps, scalar=True) as index:
            place = builder.add(calls, builder.mul(index, integer(_STEP)))
            kernel, operands, sizes = (entry(builder.add(place, integer(i))) for i in range(_STEP))
            kernel = builder.inttoptr(kernel, KERNEL_TYPE.as_pointer())
            operands, sizes = (
                builder.inttoptr(value, kind)
                for value, kind in zip((operands, sizes), KERNEL_TYPE.args[1:3], strict=True)
            )
            builder.call(kernel, [own, operands, sizes, block])
    builder.ret_void()
