"""Layouts of the tables that the runtime packs and that compiled code walks.

A table is an array of int64. It consists of the records that are declared here; `core.records` packs them and
`compile.llvm.ir_records` reads and writes them in machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.compile.ir.records import BitFields, Field, RecordLayout

__all__ = [
    "ABORTABLE",
    "ABORT_STATE",
    "ASLEEP",
    "AWAKE",
    "BODY_COUNT",
    "BODY_TABLE",
    "BRANCH",
    "BRANCH_CARRY",
    "BRANCH_LENGTH",
    "BYTECODE_HEAD",
    "CARRY",
    "CELL_BITS",
    "CLOCK_EVENT",
    "CLOCK_LOG",
    "CLOCK_RECORD",
    "CLOCK_START",
    "DIAGONAL_HEAD",
    "DIAGONAL_LOOPS",
    "DIAGONAL_OPERAND",
    "FIXED",
    "GONE",
    "GROWN_STACK",
    "INSTRUCTION",
    "INSTRUCTION_CELLS",
    "INSTRUCTION_RUN",
    "KERNEL_CALL",
    "LAUNCH_HEAD",
    "LONG_INSTRUCTION",
    "LOOP",
    "ON_DEMAND",
    "PARALLEL_LOOP",
    "POOL",
    "SHARED_FRAMES",
    "SHARES_SHIFT",
    "STACKED_ROW",
    "THREAD",
    "TILE_HEAD",
    "TILE_STEP",
    "TILE_TEMPORARY",
    "with_tables",
]

# ---- launch tables: see `compile.llvm.driver` ------------------------------------------------------------------------

LAUNCH_HEAD = RecordLayout("calls", "pool", "runs")
"""Head of a launch table: the number of kernel calls that follow, the address of the thread pool's `POOL`, and, for the
body of a loop or branch in a profile, that of the number of its runs, else 0."""

KERNEL_CALL = RecordLayout("kernel", "slots", "sizes", "tasks", "threads")
"""A kernel call: the addresses of the kernel, of its operands' slot numbers (int32) and of its sizes (int64); the
number of tasks, `ON_DEMAND` or `ABORTABLE`; the number of threads that the work is worth."""

ON_DEMAND = 0
"""Number of tasks of a step that is divided into as many equal shares as there may be threads."""

ABORTABLE = -1
"""Number of tasks of a step that may abort the run. Its kernel gets the address of the abort state for the task."""

SHARES_SHIFT = 32
"""Lowest bit of the number of shares in a kernel's last argument."""

# ---- the thread pool: see `compile.llvm.thread_pool` -----------------------------------------------------------------

AWAKE, ASLEEP, GONE = range(3)
"""States of a helper thread."""

POOL = RecordLayout(
    *("limit", "helpers", "acquire", "acquire_timed", "release", "nap_lock", "stop", "undivided"),
    *("busy", "napped", "penalty", "skip"),
    Field("state", at=16),
    Field("threads", at=24),
    *("tasks", "kernel", Field("arguments", 3), "shares"),
    words=32,
)
"""State of the thread pool. Words that different threads write are in different cache lines.

`limit` is the number of threads that may work, `helpers` the number of helpers started. The addresses of three
functions of CPython and of a lock follow. `stop` ends the helpers; `undivided` turns off `ON_DEMAND`. `busy` is 1
while a parallel region is open. `napped` says whether the opener waited for a lost core; `skip` is the number of
regions that the opener runs alone for that, `penalty` the number it began with. The other fields describe the open
region."""

THREAD = RecordLayout("sleep", "lock", "number", "taken", words=8)
"""A thread's cache line, behind `POOL`: whether it sleeps, its lock, its number and the number of tasks taken of its
block. Thread 0 opens regions and uses `taken` alone."""

# ---- the abort state of a run: see `compile.llvm.interrupts` ---------------------------------------------------------

ABORT_STATE = RecordLayout("outcome", "countdown", "interval", "second", "stacks", "check")
"""State of a run that may be aborted: why it is over, or 0; iterations left before the next check and between two
checks; the second of the last check; the first `GROWN_STACK`; the address of the function that checks, or 0."""

GROWN_STACK = RecordLayout("memory", "capacity", "next")
"""A stack of a loop of unknown length: the address and size in bytes of its memory, and the next stack of the run."""

# ---- control-flow plans: see `compile.kernels.control` ---------------------------------------------------------------

BODY_COUNT, BODY_TABLE = RecordLayout("count"), RecordLayout("table")
"""Records before a plan. For a loop, the address of its body's launch table; for a branch, the number of bodies and the
addresses of their launch tables."""

LOOP = RecordLayout(
    *("trips", "bound", "limit", "backwards", "count", "predicate"),
    *("frame", "iteration", "fixed", "carries", "rows_read", "rows_written"),
)
"""Head of a loop's plan.

`trips` is the number of iterations, or `loop_parts.WHILE` or a negative number for a loop that is counted at run time;
the operand `bound` then has the first predicate or the count. `limit` is the largest number of iterations, or -1.
`count` is the operand that receives the number of iterations, or -1; `predicate` the cell of the predicate. `frame` is
the operand with the frame, `iteration` its cell for the number of the iteration. The last four fields are the numbers
of records that follow: `FIXED`, `CARRY`, and `STACKED_ROW` twice."""

FIXED = RecordLayout("cell", "operand", "offset")
"""A cell of the frame that points to the same place in all iterations: an operand of the step, and a byte offset."""

CARRY = RecordLayout("read", "written", "start", "result", "other", "nbytes")
"""A carry: the cells of the frame for its old and new value; the operands with the first value, the result and a second
buffer; the size in bytes."""

STACKED_ROW = RecordLayout("cell", "operand", "nbytes", "grown")
"""A stack that is read or written row by row: the cell of the frame, the operand, the bytes of a row, and whether the
operand is a `GROWN_STACK`."""

PARALLEL_LOOP = RecordLayout(
    *("trips", "share", "threads", "places", "frames", "frame_bytes", "arena_bytes"),
    *("number", "iteration", "fixed", "own", "rows"),
)
"""Head of the plan of a loop whose iterations may run at the same time.

`trips` is the number of iterations, `share` the number of those in one parallel region, which Ctrl-C cannot end, and
`threads` the number of threads that they are worth. At most `places` iterations run at the same time, each with a frame
of `frame_bytes` and temporaries of `arena_bytes`; the operand `frames` begins with `SHARED_FRAMES`, then the frames.
`iteration` is the cell that holds the number of the iteration, `number` that of its address. The last three fields are
the numbers of records that follow: `FIXED`, `FIXED` for temporaries, and `STACKED_ROW`."""

SHARED_FRAMES = RecordLayout("free", "first", "state", words=16)
"""Head of the frames of a parallel loop, which its iterations share: a bit for each free place, the first iteration of
the region, and the address of the abort state of the run."""

BRANCH = RecordLayout("index", "frame", "carries")
"""Head of a branch's plan: the operands with the number of the body and with the frame. There follow `carries` records
`BRANCH_CARRY`, a `BRANCH_LENGTH` for each body, and the `FIXED` records of all bodies."""

BRANCH_LENGTH = RecordLayout("fixed")
"""Number of `FIXED` records of a body."""

BRANCH_CARRY = RecordLayout("start", "result", "nbytes")
"""An array of which the bodies change elements: the operands with its first value and with the result, which begins as
a copy; the size in bytes."""

# ---- bytecode: see `compile.kernels.scalar_vm` -----------------------------------------------------------------------

CELL_BITS = 20
"""Number of bits of a cell in an instruction."""

BYTECODE_HEAD = RecordLayout("cells")
"""Head of a bytecode table: the operand with the memory for the cells."""

INSTRUCTION_RUN = BitFields(kind=32, count=32)
"""The word before instructions of one kind."""

INSTRUCTION_CELLS = BitFields(result=CELL_BITS, first=CELL_BITS, second=CELL_BITS)
"""The first word of an instruction. A load has the step's operand in `first`, a store has it in `result`."""

INSTRUCTION, LONG_INSTRUCTION = RecordLayout("cells"), RecordLayout("cells", "extra")
"""An instruction, and one with a second word: the bytes of a constant or the third operand."""

# ---- diagonals: see `compile.kernels.diagonal` -----------------------------------------------------------------------

DIAGONAL_LOOPS = 3
"""Number of loops over an operand of a diagonal scatter."""

DIAGONAL_HEAD = RecordLayout("elements", "operands")
"""Head of a diagonal scatter's table: the number of elements of the result, and of the operands that follow."""

DIAGONAL_OPERAND = RecordLayout("offset", Field("extents", DIAGONAL_LOOPS), Field("steps", DIAGONAL_LOOPS))
"""An operand of a diagonal scatter: the element of the result where it begins; the extents of the loops over it and
their steps in the result."""

# ---- row tiles: see `compile.kernels.tiled` --------------------------------------------------------------------------

TILE_HEAD = RecordLayout("cells", "blocks", "share", "region", "temporaries", "steps")
"""Head of a tile loop's table: the number of cells of the slot table, of blocks, and of blocks of a task; the bytes of
memory of a task; the numbers of `TILE_TEMPORARY` and `TILE_STEP` records that follow."""

TILE_TEMPORARY = RecordLayout("cell", "nbytes")
"""A cell that points into a task's memory, and the bytes of a block there."""

TILE_STEP = RecordLayout("kernel", "slots", "sizes")
"""A kernel call of a tile loop: the first fields of a `KERNEL_CALL`."""

# ---- clocks of a profile: see `compile.llvm.step_clock` --------------------------------------------------------------

CLOCK_START = RecordLayout("runs", "short")
"""Clock at the start of a table: the number of runs, and whether they follow so closely that only some are timed."""

CLOCK_RECORD = RecordLayout("total", "count", "long_total", "long_count", "log")
"""Sums of a clock: the times since the clock before it, in ns, and their number; the address of a `CLOCK_LOG`.

Times of 60 µs and more have their own sum.
"""

CLOCK_LOG = RecordLayout("used", "capacity")
"""Head of a log: the number of `CLOCK_EVENT` records that were written or dropped, and that there is memory for."""

CLOCK_EVENT = RecordLayout("began", "ended", "record", "run")
"""A step that ran: its begin and end in ns, and the addresses of the clock's record and of the run's slot table."""


# ---- bodies of a step ------------------------------------------------------------------------------------------------


def with_tables(tables: Sequence[Any], plan: Sequence[Any], count: Callable[[int], Any] = int) -> list[Any]:
    """Return a plan behind the launch tables of its bodies: one for a loop; for a branch their number comes first."""
    return [*(BODY_COUNT.pack(count=count(len(tables))) if len(tables) > 1 else []), *tables, *plan]
