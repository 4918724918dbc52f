"""The tile loop: a kernel that calls other kernels for one block of rows after another.

Its sizes are a table: a `TILE_HEAD`, then its `TILE_TEMPORARY` and `TILE_STEP` records.

A kernel finds a block at a distance from the start of an array. A temporary has memory for one block of a task only, so
the kernels get a slot table in which the temporary begins that distance before the task's memory.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.table_layouts import TILE_HEAD, TILE_STEP, TILE_TEMPORARY
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, for_range, for_steps, integer
from jittape.compile.llvm.ir_records import IRRecord

__all__ = ["define_row_tiles"]


def define_row_tiles(function: ir.Function) -> None:
    """Emit the tile loop; `function` has a kernel's type, and a task does a group of blocks."""
    function.attributes.add("optsize")
    slots, _, table, task = function.args
    builder = Builder(function.append_basic_block("entry"))
    head = IRRecord(builder, TILE_HEAD, table)
    cells, blocks, share, region, temporaries, steps = (head.load(name) for name in TILE_HEAD.names)
    own = builder.alloca(BYTES, size=cells)
    with for_range(builder, cells, scalar=True) as cell:
        builder.store(builder.load(builder.gep(slots, [cell])), builder.gep(own, [cell]))
    first = builder.mul(task, share)
    last = builder.add(first, share)
    last = builder.select(builder.icmp_signed("<", last, blocks), last, blocks)
    memory = builder.mul(task, region)
    first_temporary = head.after(TILE_TEMPORARY)
    first_step = first_temporary.after(TILE_STEP, temporaries)
    with for_steps(builder, first, last, integer(1), scalar=True) as block:
        with for_range(builder, temporaries, scalar=True) as index:
            temporary = first_temporary.element(index)
            cell, nbytes = temporary.load("cell"), temporary.load("nbytes")
            distance = builder.sub(memory, builder.mul(block, nbytes))
            begin = builder.load(builder.gep(slots, [cell]))
            builder.store(builder.gep(begin, [distance]), builder.gep(own, [cell]))
        with for_range(builder, steps, scalar=True) as index:
            step = first_step.element(index)
            kernel = builder.inttoptr(step.load("kernel"), KERNEL_TYPE.as_pointer())
            operands = builder.inttoptr(step.load("slots"), KERNEL_TYPE.args[1])
            sizes = builder.inttoptr(step.load("sizes"), KERNEL_TYPE.args[2])
            builder.call(kernel, [own, operands, sizes, block])
    builder.ret_void()
