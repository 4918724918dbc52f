"""The step clock: a kernel that computes nothing and notes when the steps before it have ended.

A profile builds launch tables with a clock before the first step and after each step; the driver runs them like all
other kernels, so runs without a profile do not know about clocks. A clock costs 0.03 µs.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.table_layouts import CLOCK_EVENT, CLOCK_LOG, CLOCK_RECORD
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, external, integer
from jittape.compile.llvm.ir_records import IRRecord

__all__ = ["define_step_clock"]

_I64 = ir.IntType(64)
_CLOCK = ir.FunctionType(ir.IntType(32), [_I64.as_pointer(), BYTES])


def define_step_clock(function: ir.Function) -> None:
    """Emit the clock; `function` has a kernel's type.

    Its operand is the cell of the slot table with the time of the previous clock of the run, so runs in other threads
    do not disturb it. Its sizes are a `CLOCK_RECORD`.
    """
    function.attributes.add("optsize")
    slots, operands, sizes, _ = function.args
    builder = Builder(function.append_basic_block("entry"))
    memory = alloca_once(builder, _I64)
    clock = external(builder.module, _CLOCK, "jittape_nanoseconds")
    builder.call(clock, [memory, ir.Constant(BYTES, None)])
    now = builder.load(memory)
    cells = builder.bitcast(slots, _I64.as_pointer())
    cell = builder.gep(cells, [builder.load(operands)])
    before = builder.load(cell)
    builder.store(now, cell)
    record = IRRecord(builder, CLOCK_RECORD, sizes)
    builder.atomic_rmw("add", record.place("total"), builder.sub(now, before), "monotonic")
    builder.atomic_rmw("add", record.place("count"), integer(1), "monotonic")
    log = IRRecord(builder, CLOCK_LOG, record.load("log"))
    with builder.if_then(builder.icmp_signed("<", log.load("used"), log.load("capacity"))):
        index = builder.atomic_rmw("add", log.place("used"), integer(1), "monotonic")
        with builder.if_then(builder.icmp_signed("<", index, log.load("capacity"))):
            event = log.after(CLOCK_EVENT).element(index)
            event.store("began", before)
            event.store("ended", now)
            event.store("record", builder.ptrtoint(sizes, _I64))
            event.store("run", builder.ptrtoint(slots, _I64))
    builder.ret_void()
