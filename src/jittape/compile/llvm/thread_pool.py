"""Threads that help with tasks: what the driver runs in a parallel region, and what the helping threads run.

Everything here is compiled code on shared *cells*, an int64 array that `runtime.threads` makes. The threads are started
by CPython's portable `PyThread_start_new_thread` and sleep on its locks; they never touch Python.

What is special: nobody waits for a thread that has not come. Tasks are taken from counters, so the thread that opened
the region does them all if no other gets a core meanwhile, and at the end it waits only for those that are in the
middle of a task. With OpenMP, whose regions end when every thread has been there, a loop of 0.17 ms took 8 ms on two
busy cores. If such a one keeps the opener waiting for far longer than its tasks took, it has lost its core to another
process, and the next regions are done alone: 1, then 3, 7, ... up to 255 of them, and fewer again when all goes well.

Each thread has a *block* of tasks that it begins with, the same in every region and at every call, before it helps with
the others': what one kernel leaves in a core's cache the next one finds there. With one counter for all, the gradient
of rosenbrock, n=1,000,000, took between 145 and 192 µs on two threads; now it takes 115 to 138.

A step either has a number of tasks of its own, the same for any number of threads; or it is divided on demand
(`ON_DEMAND`), into as many equal *shares* as there may be threads, also where no other thread comes: so the result
depends on `config.threads`, never on chance, and with `config.deterministic` not even on that, as all is done at once.
A kernel is told by its last argument: the task, and in the upper half the number of shares, 0 for a step that has tasks
of its own.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir

from jittape.compile.ir.task_counts import ON_DEMAND, SHARES_SHIFT
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, alloca_once, external, for_range, integer
from jittape.core.tuning import tuning

__all__ = ["Cell", "define_helper", "run_tasks"]


class Cell:
    """Positions of the cells; what different threads write stands in different cache lines."""

    LIMIT = 0
    HELPERS = 1
    ACQUIRE = 2
    ACQUIRE_TIMED = 3
    RELEASE = 4
    NAP = 5
    STOP = 6
    AT_ONCE = 7
    BUSY = 8
    NAPPED = 9
    PENALTY = 10
    SKIP = 11
    STATE = 16
    THREADS = 24
    TASKS = 25
    KERNEL = 26
    ARGUMENTS = 27
    SHARES = 30
    NEXT = 35
    """How many tasks of the opener's block are taken; those of the helpers' stand one line further each."""
    FIRST_HELPER = 40
    LINE = 8
    """For every helper a line of its own: whether it sleeps, its lock, its number."""


OPEN, ONE_INSIDE = 1, 2
"""`STATE` is the sum: whether tasks can be taken, and the helpers that are looking or at work."""
AWAKE, ASLEEP, GONE = range(3)
MOST_SKIPPED = 255
"""Regions done alone at most after one that had to wait; all bits are set."""

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_ACQUIRE = ir.FunctionType(_I32, [BYTES, _I32])
_ACQUIRE_TIMED = ir.FunctionType(_I32, [BYTES, _I64, _I32])
_RELEASE = ir.FunctionType(ir.VoidType(), [BYTES])
_X86, _ARM = "llvm.x86.sse2.pause", "llvm.aarch64.hint"
_PAUSES = {"x86_64": (_X86, ()), "AMD64": (_X86, ()), "aarch64": (_ARM, (1,)), "arm64": (_ARM, (1,))}


class _Cells:
    """The cells, seen from the function that `builder` writes."""

    def __init__(self, builder: ir.IRBuilder, base: ir.Value) -> None:
        self.builder = builder
        self.base = base

    def at(self, position: int | ir.Value) -> ir.Value:
        position = integer(position) if isinstance(position, int) else position
        return self.builder.gep(self.base, [position])

    def get(self, position: int | ir.Value) -> ir.Value:
        return self.builder.load(self.at(position))

    def look(self, position: int | ir.Value) -> ir.Value:
        """The value that another thread may have just written."""
        return self.builder.load_atomic(self.at(position), "seq_cst", 8)

    def put(self, position: int | ir.Value, value: ir.Value) -> None:
        self.builder.store(value, self.at(position))

    def change(self, operation: str, position: int | ir.Value, value: int) -> ir.Value:
        """Read and write at once; gives the value before."""
        return self.builder.atomic_rmw(operation, self.at(position), integer(value), "seq_cst")

    def call(self, kind: ir.FunctionType, function: int, *arguments: ir.Value) -> None:
        pointer = self.builder.inttoptr(self.get(function), kind.as_pointer())
        self.builder.call(pointer, arguments)

    def lock_of(self, line: ir.Value) -> ir.Value:
        return self.builder.inttoptr(self.get(self.builder.add(line, integer(1))), BYTES)

    def take_tasks(self, number: ir.Value) -> ir.Value:
        """Do tasks until none is left, first those of the block of this thread; gives how many these were."""
        builder = self.builder
        done = alloca_once(builder, _I64)
        builder.store(integer(0), done)
        threads = self.get(Cell.THREADS)
        with for_range(builder, threads, scalar=True) as further:
            block = builder.add(number, further)
            round_again = builder.icmp_signed(">=", block, threads)
            block = builder.select(round_again, builder.sub(block, threads), block)
            builder.store(builder.add(builder.load(done), self._take_block(block, threads)), done)
        return builder.load(done)

    def _take_block(self, block: ir.Value, threads: ir.Value) -> ir.Value:
        """Do what is left of a block; gives how many tasks these were."""
        builder = self.builder
        tasks, kernel = self.get(Cell.TASKS), self.get(Cell.KERNEL)
        kernel = builder.inttoptr(kernel, KERNEL_TYPE.as_pointer())
        arguments = [
            builder.inttoptr(self.get(Cell.ARGUMENTS + i), kind)
            for i, kind in enumerate(KERNEL_TYPE.args[:3])
        ]
        first, stop = (
            builder.udiv(builder.mul(tasks, builder.add(block, integer(i))), threads) for i in range(2)
        )
        counter = self.counter_of(block)
        before = builder.block
        head, take, body, end = (
            builder.append_basic_block(name) for name in ("left", "take", "task", "none_left")
        )
        builder.branch(head)
        builder.position_at_end(head)
        done = builder.phi(_I64)
        done.add_incoming(integer(0), before)
        # A look does not take the line from the thread whose block it is.
        left = builder.icmp_signed("<", builder.add(first, self.look(counter)), stop)
        builder.cbranch(left, take, end)
        builder.position_at_end(take)
        task = builder.add(first, self.change("add", counter, 1))
        builder.cbranch(builder.icmp_signed("<", task, stop), body, end)
        builder.position_at_end(body)
        builder.call(kernel, [*arguments, builder.or_(task, self.get(Cell.SHARES))])
        done.add_incoming(builder.add(done, integer(1)), builder.block)
        builder.branch(head)
        builder.position_at_end(end)
        return done

    def counter_of(self, block: ir.Value) -> ir.Value:
        """The position of a block's counter."""
        return self.builder.add(self.builder.mul(block, integer(Cell.LINE)), integer(Cell.NEXT))

    def clock(self) -> ir.Value:
        """Ticks of the processor's clock; where it has none that can be read, 0."""
        return self.builder.call(
            external(self.builder.module, ir.FunctionType(_I64, []), "llvm.readcyclecounter"), []
        )

    def pause(self) -> None:
        """Tell the processor that this is a waiting loop."""
        name, arguments = _PAUSES.get(platform.machine(), ("", ()))
        if name:
            kind = ir.FunctionType(ir.VoidType(), [_I32] * len(arguments))
            function = external(self.builder.module, kind, name)
            self.builder.call(function, [ir.Constant(_I32, a) for a in arguments])


def run_tasks(
    builder: ir.IRBuilder,
    base: ir.Value,
    tasks: ir.Value,
    threads: ir.Value,
    kernel: ir.Value,
    arguments: list[ir.Value],
) -> None:
    """Write the code that does all tasks of a kernel; on several threads if that is allowed and nobody else does so."""
    cells = _Cells(builder, base)
    limit = cells.get(Cell.LIMIT)
    threads = builder.select(builder.icmp_signed("<", threads, limit), threads, limit)
    on_demand = builder.icmp_signed("==", tasks, integer(ON_DEMAND))
    whole = builder.and_(on_demand, builder.icmp_signed("!=", cells.get(Cell.AT_ONCE), integer(0)))
    threads = builder.select(whole, integer(1), threads)
    tasks = builder.select(on_demand, threads, tasks)
    shares = builder.select(on_demand, builder.shl(threads, integer(SHARES_SHIFT)), integer(0))
    several, region, alone, done = (
        builder.append_basic_block(name) for name in ("several", "region", "alone", "done")
    )
    builder.cbranch(builder.icmp_signed(">", threads, integer(1)), several, alone)
    builder.position_at_end(several)
    free = builder.extract_value(
        builder.cmpxchg(cells.at(Cell.BUSY), integer(0), integer(1), "seq_cst", "seq_cst"), 1
    )
    opened, skipped = builder.append_basic_block("opened"), builder.append_basic_block("skipped")
    builder.cbranch(free, opened, alone)
    builder.position_at_end(opened)
    skip = cells.get(Cell.SKIP)
    builder.cbranch(builder.icmp_signed(">", skip, integer(0)), skipped, region)
    builder.position_at_end(skipped)
    cells.put(Cell.SKIP, builder.sub(skip, integer(1)))
    builder.store_atomic(integer(0), cells.at(Cell.BUSY), "seq_cst", 8)
    builder.branch(alone)

    builder.position_at_end(region)
    cells.put(Cell.THREADS, threads)
    cells.put(Cell.TASKS, tasks)
    cells.put(Cell.SHARES, shares)
    cells.put(Cell.KERNEL, builder.ptrtoint(kernel, _I64))
    for i, argument in enumerate(arguments):
        cells.put(Cell.ARGUMENTS + i, builder.ptrtoint(argument, _I64))
    with for_range(builder, threads, scalar=True) as block:
        cells.put(cells.counter_of(block), integer(0))
    cells.change("or", Cell.STATE, OPEN)
    with for_range(builder, builder.sub(threads, integer(1)), scalar=True) as index:
        line = builder.add(builder.mul(index, integer(Cell.LINE)), integer(Cell.FIRST_HELPER))
        before = cells.change("xchg", line, AWAKE)
        with builder.if_then(builder.icmp_signed("==", before, integer(ASLEEP))):
            cells.call(_RELEASE, Cell.RELEASE, cells.lock_of(line))
    begin = cells.clock()
    done_here = cells.take_tasks(integer(0))
    cells.change("and", Cell.STATE, ~OPEN)
    _wait_for_helpers(cells, begin, done_here)
    builder.store_atomic(integer(0), cells.at(Cell.BUSY), "seq_cst", 8)
    builder.branch(done)

    builder.position_at_end(alone)
    with for_range(builder, tasks, scalar=True) as index:
        builder.call(kernel, [*arguments, builder.or_(index, shares)])
    builder.branch(done)
    builder.position_at_end(done)


def _wait_for_helpers(cells: _Cells, begin: ir.Value, tasks: ir.Value) -> None:
    """Write the wait for those in the middle of a task; the opener has done so many since `begin`."""
    builder = cells.builder
    cells.put(Cell.NAPPED, integer(0))
    now = cells.clock()
    per_task = builder.udiv(builder.sub(now, begin), builder.add(tasks, integer(1)))
    patience = builder.mul(per_task, integer(tuning.helper_patience_tasks))
    before = builder.block
    head, look, nap, end = (builder.append_basic_block(name) for name in ("wait", "look", "nap", "all_out"))
    builder.branch(head)
    builder.position_at_end(head)
    spins = builder.phi(_I64)
    spins.add_incoming(integer(0), before)
    cells.pause()
    builder.cbranch(builder.icmp_signed("==", cells.look(Cell.STATE), integer(0)), end, look)
    builder.position_at_end(look)
    spins.add_incoming(builder.add(spins, integer(1)), look)
    waited = builder.sub(cells.clock(), now)
    patient = builder.or_(
        builder.icmp_signed("<", spins, integer(tuning.helper_spins)),
        builder.icmp_signed("<", waited, patience),
    )
    builder.cbranch(patient, head, nap)
    builder.position_at_end(nap)
    cells.put(Cell.NAPPED, integer(1))
    lock = builder.inttoptr(cells.get(Cell.NAP), BYTES)
    cells.call(
        _ACQUIRE_TIMED, Cell.ACQUIRE_TIMED, lock, integer(tuning.opener_sleep_us), ir.Constant(_I32, 0)
    )
    spins.add_incoming(spins, nap)
    builder.branch(head)
    builder.position_at_end(end)
    napped = builder.icmp_signed("==", cells.get(Cell.NAPPED), integer(1))
    penalty = cells.get(Cell.PENALTY)
    more = builder.and_(builder.add(builder.shl(penalty, integer(1)), integer(1)), integer(MOST_SKIPPED))
    penalty = builder.select(napped, more, builder.lshr(penalty, integer(1)))
    cells.put(Cell.PENALTY, penalty)
    cells.put(Cell.SKIP, builder.select(napped, penalty, integer(0)))


def define_helper(function: ir.Function) -> None:
    """Write what a helping thread runs; `function` has a kernel's type, its first argument is the helper's line."""
    builder = Builder(function.append_basic_block("entry"))
    block: dict[str, Any] = {
        name: builder.append_basic_block(name)
        for name in ("look", "again", "rest", "hurry", "sleep", "woken", "enter", "work", "leave", "gone")
    }
    line_address = builder.ptrtoint(function.args[0], _I64)
    place = builder.inttoptr(line_address, _I64.as_pointer())
    number = builder.load(builder.gep(place, [integer(2)]))
    line = builder.add(builder.mul(number, integer(Cell.LINE)), integer(Cell.FIRST_HELPER))
    base = builder.inttoptr(builder.sub(line_address, builder.mul(line, integer(8))), _I64.as_pointer())
    cells = _Cells(builder, base)
    lock = cells.lock_of(line)
    entry = builder.block
    builder.branch(block["look"])

    def is_open() -> ir.Value:
        return builder.icmp_signed("!=", builder.and_(cells.look(Cell.STATE), integer(OPEN)), integer(0))

    builder.position_at_end(block["look"])
    spins = builder.phi(_I64)
    spins.add_incoming(integer(0), entry)
    builder.cbranch(is_open(), block["enter"], block["again"])

    builder.position_at_end(block["again"])
    cells.pause()
    spins.add_incoming(builder.add(spins, integer(1)), block["again"])
    builder.cbranch(
        builder.icmp_signed("<", spins, integer(tuning.helper_spins)), block["look"], block["rest"]
    )

    # From here on the opener of a region wakes this thread; one that was opened just before has not seen it lie down.
    builder.position_at_end(block["rest"])
    cells.change("xchg", line, ASLEEP)
    stopped = builder.icmp_signed("!=", cells.look(Cell.STOP), integer(0))
    builder.cbranch(builder.or_(is_open(), stopped), block["hurry"], block["sleep"])
    builder.position_at_end(block["hurry"])
    before = cells.change("xchg", line, AWAKE)
    builder.cbranch(builder.icmp_signed("==", before, integer(ASLEEP)), block["woken"], block["sleep"])
    builder.position_at_end(block["sleep"])
    cells.call(_ACQUIRE, Cell.ACQUIRE, lock, ir.Constant(_I32, 1))
    builder.branch(block["woken"])
    builder.position_at_end(block["woken"])
    stopped = builder.icmp_signed("!=", cells.look(Cell.STOP), integer(0))
    builder.cbranch(stopped, block["gone"], block["enter"])

    builder.position_at_end(block["enter"])
    before = cells.change("add", Cell.STATE, ONE_INSIDE)
    opened = builder.icmp_signed("!=", builder.and_(before, integer(OPEN)), integer(0))
    builder.cbranch(opened, block["work"], block["leave"])
    builder.position_at_end(block["work"])
    block_number = builder.add(number, integer(1))
    with builder.if_then(builder.icmp_signed("<", block_number, cells.get(Cell.THREADS))):
        cells.take_tasks(block_number)
    builder.branch(block["leave"])
    builder.position_at_end(block["leave"])
    cells.change("sub", Cell.STATE, ONE_INSIDE)
    spins.add_incoming(integer(0), block["leave"])
    builder.branch(block["look"])

    builder.position_at_end(block["gone"])
    cells.change("xchg", line, GONE)
    builder.ret_void()
