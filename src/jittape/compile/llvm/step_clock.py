"""The step clock: a kernel that computes nothing and notes when the steps before it have ended.

A profile builds launch tables with a clock before the first step and after each step; the driver runs them like all
other kernels, so runs without a profile do not know about clocks. A clock costs 0.03 to 0.15 µs. If a table runs again
within 60 µs, only two of 32 runs are timed; in the others, a clock is a call that returns at once.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.table_layouts import CLOCK_EVENT, CLOCK_LOG, CLOCK_RECORD, CLOCK_START
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, external, integer
from jittape.compile.llvm.ir_records import IRRecord
from jittape.core.tuning import tuning

__all__ = ["define_start_clock", "define_step_clock"]

_I64 = ir.IntType(64)
_CLOCK = ir.FunctionType(ir.IntType(32), [_I64.as_pointer(), BYTES])


def define_start_clock(function: ir.Function) -> None:
    """Emit the clock before the first step of a table; `function` has a kernel's type.

    Its operands are two cells of the slot table, so runs in other threads do not disturb it: the time of the previous
    clock of the run, where 0 says that the run is not timed, and the begin of the last timed run. Its sizes are a
    `CLOCK_START`.
    """
    builder, cell, last, sizes = _begin(function)
    record = IRRecord(builder, CLOCK_START, sizes)
    run = builder.atomic_rmw("add", record.place("runs"), integer(1), "monotonic")
    phase = builder.and_(run, integer(tuning.clock_period - 1))
    all_timed = builder.icmp_signed("==", record.load("short"), integer(0))
    timed = builder.or_(all_timed, builder.icmp_signed("<", phase, integer(2)))
    with builder.if_else(timed) as (then, otherwise):
        with then:
            now = _now(builder)
            builder.store(now, cell)
            second = builder.icmp_signed("==", phase, integer(1))
            with builder.if_then(
                builder.and_(second, builder.icmp_signed(">=", run, integer(tuning.clocked_runs)))
            ):
                passed = builder.sub(now, builder.load(last))
                short = builder.icmp_signed("<", passed, integer(tuning.clocked_run_ns))
                record.store("short", builder.zext(short, _I64))
            builder.store(now, last)
        with otherwise:
            builder.store(integer(0), cell)
    builder.ret_void()


def define_step_clock(function: ir.Function) -> None:
    """Emit the clock after a step; `function` has a kernel's type.

    Its operands are the cells of `define_start_clock`, its sizes are a `CLOCK_RECORD`.
    """
    builder, cell, _, sizes = _begin(function)
    before = builder.load(cell)
    with builder.if_then(builder.icmp_signed("!=", before, integer(0))):
        now = _now(builder)
        builder.store(now, cell)
        record = IRRecord(builder, CLOCK_RECORD, sizes)
        passed = builder.sub(now, before)
        with builder.if_else(builder.icmp_signed("<", passed, integer(tuning.clocked_run_ns))) as (
            then,
            otherwise,
        ):
            with then:
                builder.atomic_rmw("add", record.place("total"), passed, "monotonic")
                builder.atomic_rmw("add", record.place("count"), integer(1), "monotonic")
            with otherwise:
                builder.atomic_rmw("add", record.place("long_total"), passed, "monotonic")
                builder.atomic_rmw("add", record.place("long_count"), integer(1), "monotonic")
        log = IRRecord(builder, CLOCK_LOG, record.load("log"))
        with builder.if_then(builder.icmp_signed("<", log.load("used"), log.load("capacity"))):
            index = builder.atomic_rmw("add", log.place("used"), integer(1), "monotonic")
            with builder.if_then(builder.icmp_signed("<", index, log.load("capacity"))):
                event = log.after(CLOCK_EVENT).element(index)
                event.store("began", before)
                event.store("ended", now)
                event.store("record", builder.ptrtoint(sizes, _I64))
                event.store("run", builder.ptrtoint(function.args[0], _I64))
    builder.ret_void()


def _begin(function: ir.Function) -> tuple[Builder, ir.Value, ir.Value, ir.Value]:
    """Return a builder in a new block of `function`, pointers to its two cells, and its sizes."""
    function.attributes.add("optsize")
    slots, operands, sizes, _ = function.args
    builder = Builder(function.append_basic_block("entry"))
    cells = builder.bitcast(slots, _I64.as_pointer())
    first, second = [builder.load(builder.gep(operands, [integer(i)])) for i in (0, 1)]
    return builder, builder.gep(cells, [first]), builder.gep(cells, [second]), sizes


def _now(builder: Builder) -> ir.Value:
    """Emit a read of the clock, in ns."""
    memory = alloca_once(builder, _I64)
    clock = external(builder.module, _CLOCK, "jittape_nanoseconds")
    builder.call(clock, [memory, ir.Constant(BYTES, None)])
    return builder.load(memory)
