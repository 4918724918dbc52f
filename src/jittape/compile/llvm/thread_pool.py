"""The thread pool: parallel regions of the driver, and the function of the helper threads.

All of it is compiled code on a shared record, `POOL`, and one `THREAD` for each thread; `runtime.threads` makes them.
CPython's portable `PyThread_start_new_thread` starts the threads, and they sleep on its locks. They never touch Python
objects.

The opener of a region never waits for a helper that has not come. Tasks are taken from counters, so the opener does all
of them if no helper gets a core meanwhile; at the end it waits only for helpers in the middle of a task. OpenMP regions
end when every thread has arrived: on two busy cores, a loop of 0.17 ms took 8 ms. If a helper makes the opener wait far
longer than its tasks took, it has lost its core to another process, and the opener runs the next regions alone: 1, then
3, 7, ... up to 255 regions, and fewer again when all goes well.

Each thread begins with a *block* of tasks, the same in every region and at every call, and then helps with the other
blocks. So a kernel finds in a core's cache what the kernel before left there. With one counter for all threads, the
gradient of rosenbrock for n = 1,000,000 took between 145 and 192 µs on two threads; now it takes 115 to 138.

A step has a fixed number of tasks, the same for any number of threads, or it is divided on demand (`ON_DEMAND`) into as
many equal *shares* as there may be threads, even if no helper comes. So the result depends on `config.threads`, never
on chance; with `config.deterministic` the step is not divided at all. A kernel's last argument is the task, with the
number of shares in the upper half; it is 0 for a step with a fixed number of tasks.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir

from jittape.compile.ir.table_layouts import ASLEEP, AWAKE, GONE, ON_DEMAND, POOL, SHARES_SHIFT, THREAD
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import (
    BYTES,
    KERNEL_TYPE,
    alloca_once,
    external,
    for_range,
    for_steps,
    integer,
)
from jittape.compile.llvm.ir_records import IRRecord
from jittape.core.tuning import tuning

__all__ = ["define_helper", "run_tasks"]


OPEN, ONE_INSIDE = 1, 2
"""Parts of the sum in `state`: `OPEN` if tasks can be taken, and `ONE_INSIDE` for each helper that reads or works."""
MOST_SKIPPED = 255
"""Maximum number of regions that the opener runs alone after a wait; all its bits are set."""

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_ACQUIRE = ir.FunctionType(_I32, [BYTES, _I32])
_ACQUIRE_TIMED = ir.FunctionType(_I32, [BYTES, _I64, _I32])
_RELEASE = ir.FunctionType(ir.VoidType(), [BYTES])
_X86, _ARM = "llvm.x86.sse2.pause", "llvm.aarch64.hint"
_PAUSES = {"x86_64": (_X86, ()), "AMD64": (_X86, ()), "aarch64": (_ARM, (1,)), "arm64": (_ARM, (1,))}


class _Pool(IRRecord):
    """The state of the thread pool, where `builder` is."""

    def __init__(self, builder: ir.IRBuilder, pool: ir.Value) -> None:
        super().__init__(builder, POOL, pool)
        self.threads = self.after(THREAD)

    def call(self, kind: ir.FunctionType, function: str, *arguments: ir.Value) -> None:
        """Emit the call of a function whose address is in the field `function`."""
        self.builder.call(self.builder.inttoptr(self.load(function), kind.as_pointer()), arguments)

    def take_tasks(self, number: ir.Value) -> ir.Value:
        """Emit the loop of thread `number` over all tasks left, its own block first; return their number."""
        builder = self.builder
        done = alloca_once(builder, _I64)
        builder.store(integer(0), done)
        threads = self.load("threads")
        with for_range(builder, threads, scalar=True) as further:
            block = builder.add(number, further)
            round_again = builder.icmp_signed(">=", block, threads)
            block = builder.select(round_again, builder.sub(block, threads), block)
            builder.store(builder.add(builder.load(done), self._take_block(block, threads)), done)
        return builder.load(done)

    def _take_block(self, block: ir.Value, threads: ir.Value) -> ir.Value:
        """Emit the loop over the tasks left in a block; return their number."""
        builder = self.builder
        tasks, kernel = self.load("tasks"), self.load("kernel")
        kernel = builder.inttoptr(kernel, KERNEL_TYPE.as_pointer())
        arguments = [
            builder.inttoptr(word, kind)
            for word, kind in zip(self.load_words("arguments"), KERNEL_TYPE.args[:3], strict=True)
        ]
        first, stop = (
            builder.udiv(builder.mul(tasks, builder.add(block, integer(i))), threads) for i in range(2)
        )
        taken = self.threads.element(block).place("taken")
        before = builder.block
        head, take, body, end = (
            builder.append_basic_block(name) for name in ("left", "take", "task", "none_left")
        )
        builder.branch(head)
        builder.position_at_end(head)
        done = builder.phi(_I64)
        done.add_incoming(integer(0), before)
        # Reading first leaves the cache line with the thread that owns the block.
        left = builder.icmp_signed("<", builder.add(first, _read(builder, taken)), stop)
        builder.cbranch(left, take, end)
        builder.position_at_end(take)
        task = builder.add(first, _update(builder, "add", taken, 1))
        builder.cbranch(builder.icmp_signed("<", task, stop), body, end)
        builder.position_at_end(body)
        builder.call(kernel, [*arguments, builder.or_(task, self.load("shares"))])
        done.add_incoming(builder.add(done, integer(1)), builder.block)
        builder.branch(head)
        builder.position_at_end(end)
        return done

    def clock(self) -> ir.Value:
        """Read the processor's clock, in ticks; 0 if it has none that can be read."""
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


def _read(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
    """Read a word that another thread may have just written."""
    return builder.load_atomic(place, "seq_cst", 8)


def _update(builder: ir.IRBuilder, operation: str, place: ir.Value, value: int) -> ir.Value:
    """Read and write a word in one atomic step; return the value before."""
    return builder.atomic_rmw(operation, place, integer(value), "seq_cst")


def _lock_of(thread: IRRecord) -> ir.Value:
    """Load the lock that a thread sleeps on."""
    return thread.builder.inttoptr(thread.load("lock"), BYTES)


def run_tasks(
    builder: ir.IRBuilder,
    address: ir.Value,
    tasks: ir.Value,
    threads: ir.Value,
    kernel: ir.Value,
    arguments: list[ir.Value],
) -> None:
    """Emit the run of all tasks of a kernel.

    Several threads do them if that is allowed and no other thread has opened a parallel region.
    """
    pool = _Pool(builder, address)
    limit = pool.load("limit")
    threads = builder.select(builder.icmp_signed("<", threads, limit), threads, limit)
    on_demand = builder.icmp_signed("==", tasks, integer(ON_DEMAND))
    whole = builder.and_(on_demand, builder.icmp_signed("!=", pool.load("undivided"), integer(0)))
    threads = builder.select(whole, integer(1), threads)
    tasks = builder.select(on_demand, threads, tasks)
    shares = builder.select(on_demand, builder.shl(threads, integer(SHARES_SHIFT)), integer(0))
    several, region, alone, done = (
        builder.append_basic_block(name) for name in ("several", "region", "alone", "done")
    )
    builder.cbranch(builder.icmp_signed(">", threads, integer(1)), several, alone)
    builder.position_at_end(several)
    free = builder.extract_value(
        builder.cmpxchg(pool.place("busy"), integer(0), integer(1), "seq_cst", "seq_cst"), 1
    )
    opened, skipped = builder.append_basic_block("opened"), builder.append_basic_block("skipped")
    builder.cbranch(free, opened, alone)
    builder.position_at_end(opened)
    skip = pool.load("skip")
    builder.cbranch(builder.icmp_signed(">", skip, integer(0)), skipped, region)
    builder.position_at_end(skipped)
    pool.store("skip", builder.sub(skip, integer(1)))
    builder.store_atomic(integer(0), pool.place("busy"), "seq_cst", 8)
    builder.branch(alone)

    builder.position_at_end(region)
    _run_region(pool, {"threads": threads, "tasks": tasks, "shares": shares}, kernel, arguments)
    builder.branch(done)

    builder.position_at_end(alone)
    with for_range(builder, tasks, scalar=True) as index:
        builder.call(kernel, [*arguments, builder.or_(index, shares)])
    builder.branch(done)
    builder.position_at_end(done)


def _run_region(
    pool: _Pool, numbers: dict[str, ir.Value], kernel: ir.Value, arguments: list[ir.Value]
) -> None:
    """Emit a parallel region: wake helpers, take tasks beside them, and wait until all are done."""
    builder = pool.builder
    for name, value in numbers.items():
        pool.store(name, value)
    pool.store("kernel", builder.ptrtoint(kernel, _I64))
    for i, argument in enumerate(arguments):
        pool.store("arguments", builder.ptrtoint(argument, _I64), i)
    with for_range(builder, numbers["threads"], scalar=True) as number:
        pool.threads.element(number).store("taken", integer(0))
    _update(builder, "or", pool.place("state"), OPEN)
    with for_steps(builder, integer(1), numbers["threads"], integer(1), scalar=True) as number:
        helper = pool.threads.element(number)
        before = _update(builder, "xchg", helper.place("sleep"), AWAKE)
        with builder.if_then(builder.icmp_signed("==", before, integer(ASLEEP))):
            pool.call(_RELEASE, "release", _lock_of(helper))
    begin = pool.clock()
    done_here = pool.take_tasks(integer(0))
    _update(builder, "and", pool.place("state"), ~OPEN)
    _wait_for_helpers(pool, begin, done_here)
    builder.store_atomic(integer(0), pool.place("busy"), "seq_cst", 8)


def _wait_for_helpers(pool: _Pool, begin: ir.Value, tasks: ir.Value) -> None:
    """Emit the wait for helpers in the middle of a task; the opener has done `tasks` tasks since `begin`."""
    builder = pool.builder
    pool.store("napped", integer(0))
    now = pool.clock()
    per_task = builder.udiv(builder.sub(now, begin), builder.add(tasks, integer(1)))
    patience = builder.mul(per_task, integer(tuning.helper_patience_tasks))
    before = builder.block
    head, look, nap, end = (builder.append_basic_block(name) for name in ("wait", "look", "nap", "all_out"))
    builder.branch(head)
    builder.position_at_end(head)
    spins = builder.phi(_I64)
    spins.add_incoming(integer(0), before)
    pool.pause()
    builder.cbranch(builder.icmp_signed("==", _read(builder, pool.place("state")), integer(0)), end, look)
    builder.position_at_end(look)
    spins.add_incoming(builder.add(spins, integer(1)), look)
    waited = builder.sub(pool.clock(), now)
    patient = builder.or_(
        builder.icmp_signed("<", spins, integer(tuning.helper_spins)),
        builder.icmp_signed("<", waited, patience),
    )
    builder.cbranch(patient, head, nap)
    builder.position_at_end(nap)
    pool.store("napped", integer(1))
    lock = builder.inttoptr(pool.load("nap_lock"), BYTES)
    pool.call(_ACQUIRE_TIMED, "acquire_timed", lock, integer(tuning.opener_sleep_us), ir.Constant(_I32, 0))
    spins.add_incoming(spins, nap)
    builder.branch(head)
    builder.position_at_end(end)
    napped = builder.icmp_signed("==", pool.load("napped"), integer(1))
    penalty = pool.load("penalty")
    more = builder.and_(builder.add(builder.shl(penalty, integer(1)), integer(1)), integer(MOST_SKIPPED))
    penalty = builder.select(napped, more, builder.lshr(penalty, integer(1)))
    pool.store("penalty", penalty)
    pool.store("skip", builder.select(napped, penalty, integer(0)))


def define_helper(function: ir.Function) -> None:
    """Emit the function of a helper thread. It has a kernel's type; its first argument points to the `THREAD`."""
    builder = Builder(function.append_basic_block("entry"))
    block: dict[str, Any] = {
        name: builder.append_basic_block(name)
        for name in ("look", "again", "rest", "hurry", "sleep", "woken", "enter", "work", "leave", "gone")
    }
    address = builder.ptrtoint(function.args[0], _I64)
    thread = IRRecord(builder, THREAD, builder.inttoptr(address, _I64.as_pointer()))
    number = thread.load("number")
    distance = builder.add(builder.mul(number, integer(THREAD.nbytes)), integer(POOL.nbytes))
    pool = _Pool(builder, builder.inttoptr(builder.sub(address, distance), _I64.as_pointer()))
    lock = _lock_of(thread)
    entry = builder.block
    builder.branch(block["look"])

    def is_open() -> ir.Value:
        return builder.icmp_signed(
            "!=", builder.and_(_read(builder, pool.place("state")), integer(OPEN)), integer(0)
        )

    builder.position_at_end(block["look"])
    spins = builder.phi(_I64)
    spins.add_incoming(integer(0), entry)
    builder.cbranch(is_open(), block["enter"], block["again"])

    builder.position_at_end(block["again"])
    pool.pause()
    spins.add_incoming(builder.add(spins, integer(1)), block["again"])
    builder.cbranch(
        builder.icmp_signed("<", spins, integer(tuning.helper_spins)), block["look"], block["rest"]
    )

    # From here on the opener of a region wakes this thread, unless it opened the region just before.
    builder.position_at_end(block["rest"])
    _update(builder, "xchg", thread.place("sleep"), ASLEEP)
    stopped = builder.icmp_signed("!=", _read(builder, pool.place("stop")), integer(0))
    builder.cbranch(builder.or_(is_open(), stopped), block["hurry"], block["sleep"])
    builder.position_at_end(block["hurry"])
    before = _update(builder, "xchg", thread.place("sleep"), AWAKE)
    builder.cbranch(builder.icmp_signed("==", before, integer(ASLEEP)), block["woken"], block["sleep"])
    builder.position_at_end(block["sleep"])
    pool.call(_ACQUIRE, "acquire", lock, ir.Constant(_I32, 1))
    builder.branch(block["woken"])
    builder.position_at_end(block["woken"])
    stopped = builder.icmp_signed("!=", _read(builder, pool.place("stop")), integer(0))
    builder.cbranch(stopped, block["gone"], block["enter"])

    builder.position_at_end(block["enter"])
    before = _update(builder, "add", pool.place("state"), ONE_INSIDE)
    opened = builder.icmp_signed("!=", builder.and_(before, integer(OPEN)), integer(0))
    builder.cbranch(opened, block["work"], block["leave"])
    builder.position_at_end(block["work"])
    with builder.if_then(builder.icmp_signed("<", number, pool.load("threads"))):
        pool.take_tasks(number)
        # No task is left. If the opener has lost its core in the middle of a task, this thread would otherwise enter
        # again without end, perhaps on the core that the opener waits for: with one of two cores busy, a gradient of
        # 100 regions took 89 ms instead of 30 (28 on one thread).
        _update(builder, "and", pool.place("state"), ~OPEN)
    builder.branch(block["leave"])
    builder.position_at_end(block["leave"])
    _update(builder, "sub", pool.place("state"), ONE_INSIDE)
    spins.add_incoming(integer(0), block["leave"])
    builder.branch(block["look"])

    builder.position_at_end(block["gone"])
    _update(builder, "xchg", thread.place("sleep"), GONE)
    builder.ret_void()
