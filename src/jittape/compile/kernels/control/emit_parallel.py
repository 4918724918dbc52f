"""Driver of a loop whose iterations are independent: they are the tasks of parallel regions.

An iteration takes a *place*: a frame, and memory for the temporaries of the body. The places are taken in order, so one
thread uses a single one, which stays in its cache. Which iteration runs where has no influence on a result, and the
rows that an iteration writes are its own. A parallel region ends after some iterations, and Python checks for Ctrl-C.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.table_layouts import (
    BODY_TABLE,
    FIXED,
    LAUNCH_HEAD,
    PARALLEL_LOOP,
    SHARED_FRAMES,
    STACKED_ROW,
)
from jittape.compile.kernels.control.emit_control import Driver
from jittape.compile.llvm.interrupts import adopt_abort, check_interrupts, is_aborted, new_abort_state
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE, external, for_range, integer
from jittape.compile.llvm.ir_records import IRRecord
from jittape.compile.llvm.thread_pool import run_tasks

__all__ = ["define_parallel_loop"]

_I64, _I1 = ir.IntType(64), ir.IntType(1)


class _ParallelLoop(Driver):
    """The code of the loop, and of one iteration."""

    def __init__(self, function: ir.Function) -> None:
        super().__init__(function)
        tables = self.record(BODY_TABLE)
        self.table = tables.load("table")
        self.head = tables.after(PARALLEL_LOOP)
        self.frames = self.operand(self.head.load("frames"))
        self.shared = IRRecord(self.builder, SHARED_FRAMES, self.frames)

    def emit_regions(self, iteration: ir.Function) -> None:
        """Emit the loop over parallel regions, whose tasks are calls of `iteration`."""
        builder, shared = self.builder, self.shared
        trips, share = self.head.load("trips"), self.head.load("share")
        threads = self.head.load("threads")
        all_free = builder.lshr(integer(-1), builder.sub(integer(64), self.head.load("places")))
        shared.store("free", all_free)
        shared.store("state", self.state)
        pool = self.at(IRRecord(builder, LAUNCH_HEAD, self.at(self.table)).load("pool"))
        before = builder.block
        head, region, end = (
            builder.append_basic_block(name) for name in ("regions", "region", "regions_end")
        )
        builder.branch(head)
        builder.position_at_end(head)
        first = builder.phi(_I64)
        first.add_incoming(integer(0), before)
        builder.cbranch(builder.icmp_signed("<", first, trips), region, end)
        builder.position_at_end(region)
        check_interrupts(builder, self.state, end)
        shared.store("first", first)
        left = builder.sub(trips, first)
        tasks = builder.select(builder.icmp_signed("<", share, left), share, left)
        run_tasks(builder, pool, tasks, threads, iteration, [self.slots, self.operands, self.words])
        after = builder.add(first, tasks)
        aborted = is_aborted(builder, self.state)
        first.add_incoming(after, builder.block)
        builder.cbranch(aborted, end, head)
        builder.position_at_end(end)
        self.note_runs(self.table, trips)
        builder.ret_void()

    def emit_iteration(self) -> None:
        """Emit one iteration; the last argument of the function is its number in the region."""
        builder, head = self.builder, self.head
        number = builder.add(self.shared.load("first"), self.state)
        place = self._take_place()
        frame = builder.add(self.frames, integer(SHARED_FRAMES.nbytes))
        frame = self.at(builder.add(frame, builder.mul(place, head.load("frame_bytes"))))
        fixed, own, rows = (head.load(name) for name in ("fixed", "own", "rows"))
        first_fixed = head.after(FIXED)
        self.set_fixed(frame, first_fixed, fixed)
        first_own = first_fixed.after(FIXED, fixed)
        distance = builder.mul(place, head.load("arena_bytes"))
        with for_range(builder, own, scalar=True) as index:
            cell, operand, offset = map(first_own.element(index).load, FIXED.names)
            address = builder.add(builder.add(self.operand(operand), offset), distance)
            builder.store(address, self.cell(frame, cell))
        first_row = first_own.after(STACKED_ROW, own)
        with for_range(builder, rows, scalar=True) as index:
            row = first_row.element(index)
            address = builder.add(self.operand(row.load("operand")), builder.mul(number, row.load("nbytes")))
            builder.store(address, self.cell(frame, row.load("cell")))
        own_number = self.cell(frame, head.load("iteration"))
        builder.store(builder.ptrtoint(own_number, _I64), self.cell(frame, head.load("number")))
        builder.store(number, own_number)
        state, self.state = self.shared.load("state"), new_abort_state(builder, interruptible=False)
        self.walk(self.table, frame)
        adopt_abort(builder, state, self.state)
        builder.atomic_rmw("or", self.shared.place("free"), builder.shl(integer(1), place), "seq_cst")
        builder.ret_void()

    def _take_place(self) -> ir.Value:
        """Emit the search for the first free place; there is one, since there are as many as threads."""
        builder = self.builder
        word = self.shared.place("free")
        look, taken = builder.append_basic_block("look"), builder.append_basic_block("taken")
        builder.branch(look)
        builder.position_at_end(look)
        free = builder.load_atomic(word, "seq_cst", 8)
        others = builder.and_(free, builder.sub(free, integer(1)))
        exchanged = builder.cmpxchg(word, free, others, "seq_cst", "seq_cst")
        builder.cbranch(builder.extract_value(exchanged, 1), taken, look)
        builder.position_at_end(taken)
        count = external(self.module, ir.FunctionType(_I64, [_I64, _I1]), "llvm.cttz.i64")
        return builder.call(count, [free, ir.Constant(_I1, 0)])


def define_parallel_loop(function: ir.Function) -> None:
    """Emit the driver of a loop whose iterations are independent."""
    iteration = ir.Function(function.module, KERNEL_TYPE, f"{function.name}_iteration")
    iteration.linkage = "internal"
    _ParallelLoop(iteration).emit_iteration()
    _ParallelLoop(function).emit_regions(iteration)
