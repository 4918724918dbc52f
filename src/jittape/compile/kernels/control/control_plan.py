"""Loops and branches as steps: their bodies scheduled, and the plans that their drivers read.

A loop or branch is a step like a kernel. Its body is a program, scheduled like any other, with a slot table of its own,
the *frame*; frame and arena of the body are temporaries of the step. `emit_control` has the code that runs a plan.

A loop's *plan* is a `LOOP` record, then its `FIXED`, `CARRY` and `STACKED_ROW` records, with rows that are read before
rows that are written. A branch's plan is a `BRANCH` record, then `BRANCH_CARRY` records, then a `BRANCH_LENGTH` for
each body, then the `FIXED` records of the bodies. `with_tables` puts the addresses of the bodies' launch tables before
a plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from jittape.compile.ir.banded_kernel import BandedSubstitution
from jittape.compile.ir.exchanges import Exchanges
from jittape.compile.ir.general_band_kernel import GeneralBandSolve
from jittape.compile.ir.isotonic_kernel import IsotonicBlocks
from jittape.compile.ir.mask_kernels import MaskCounts, MaskLoop
from jittape.compile.ir.records import WORD
from jittape.compile.ir.table_layouts import (
    BYTECODE_HEAD,
    CARRY,
    FIXED,
    LOOP,
    PARALLEL_LOOP,
    SHARED_FRAMES,
    STACKED_ROW,
)
from jittape.compile.ir.tridiagonal_kernel import TridiagonalSolve
from jittape.compile.kernels.control.branch_plan import BranchPlanner
from jittape.compile.kernels.control.control_driver import ControlDriver, Plan, arena_cells, is_native
from jittape.compile.kernels.scalar_vm.bytecode import instructions_of
from jittape.compile.rewrite.diagonal_op import DiagonalScatter, table_of
from jittape.control.loop_parts import COUNT, WHILE, Parts, live_part
from jittape.core.forms import Control
from jittape.core.program import ALIGNMENT, Aval, Body, Op, Program
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["plan_of"]


def plan_of(
    run: Sequence[Op],
    avals: Mapping[int, Aval],
    schedule: Callable[..., Any],
    literals: Mapping[int, Op],
    parallel: bool,
) -> Plan | None:
    """Return the plan of a run of `Control` ops; None if a body has a NumPy step.

    Literals among the operands of a loop become a part of its body. With `parallel`, threads share the independent
    iterations of a loop.
    """
    form = run[0].primitive.lowering
    assert isinstance(form, Control)
    if form.kind == "scalars":
        return _scalars(run)
    if form.kind == "diagonal_scatter":
        return _diagonals(run[0], avals)
    if form.kind == "exchanges":
        return _exchanges(run[0], avals)
    if form.kind == "isotonic_blocks":
        return _isotonic_blocks(avals[run[0].out])
    if form.kind == "mask_counts":
        return _mask_counts(run[0], avals)
    if form.kind == "mask_loop":
        return _mask_loop(run[0], avals)
    if form.kind == "tridiagonal":
        return _tridiagonal(run, avals)
    if form.kind == "banded":
        return _banded(run[0], avals)
    if form.kind == "general_bands":
        return _general_bands(run, avals)
    if form.kind == "branch":
        return BranchPlanner(run, schedule).plan()
    return _Loop(run, schedule, literals, parallel).plan()


def _scalars(run: Sequence[Op]) -> Plan:
    """Return the plan of a bytecode table."""
    params = [dict(op.params) for op in run]
    machine, words, cells = instructions_of(params[0]["body"], [one["result_index"] for one in params])
    head = BYTECODE_HEAD.pack(cells=len(run[0].args) + len(run))
    return Plan(machine, (), (Aval((cells,), np.dtype(np.int64)),), (*head, *words))


def _diagonals(op: Op, avals: Mapping[int, Aval]) -> Plan:
    out = avals[op.out]
    return Plan(DiagonalScatter((), out.dtype), (), (), table_of(op, [avals[slot] for slot in op.args], out))


def _exchanges(op: Op, avals: Mapping[int, Aval]) -> Plan:
    shape = avals[op.out].shape
    first, step = (shape[-1] - 1, -1) if dict(op.params)["backwards"] else (0, 1)
    return Plan(Exchanges(()), (), (), (math.prod(shape[:-1]), shape[-1], first, step))


def _isotonic_blocks(out: Aval) -> Plan:
    rows, length = math.prod(out.shape[:-1]), out.shape[-1]
    share, tasks, work = _shared(rows, length * 8)
    scratch = tuple([Aval((tasks, length), np.dtype(dtype)) for dtype in (np.float64, np.int64)])
    return Plan(IsotonicBlocks(()), (), scratch, (rows, share, length), tasks, work)


def _mask_counts(op: Op, avals: Mapping[int, Aval]) -> Plan:
    (elements,), (blocks,) = avals[op.args[0]].shape, avals[op.out].shape
    return Plan(MaskCounts(()), (), (), (elements, dict(op.params)["share"]), blocks, elements // 16)


def _mask_loop(op: Op, avals: Mapping[int, Aval]) -> Plan:
    mask, *others = [avals[slot] for slot in op.args]
    params, out = dict(op.params), avals[op.out]
    form, counted = params["form"], params["share"] < mask.shape[0]
    count = others[-1].shape[0] if form == "expand" else out.shape[0]
    kernel = MaskLoop((), form, out.dtype.itemsize, counted)
    tasks = others[0].shape[0] if counted else 1
    return Plan(kernel, (), (), (mask.shape[0], params["share"], count), tasks, mask.shape[0])


def _tridiagonal(run: Sequence[Op], avals: Mapping[int, Aval]) -> Plan | None:
    matrix, side = (avals[slot] for slot in run[0].args)
    results = _results_of_solve(run)
    if results is None:
        return None
    kernel = TridiagonalSolve((), side.dtype, *results)
    systems, (rows, columns) = math.prod(side.shape[:-2]), side.shape[-2:]
    share, tasks, work = _shared(systems, rows * (20 + 4 * columns))
    return Plan(kernel, (), (matrix,), (systems, share, rows, columns), tasks, work)


def _banded(op: Op, avals: Mapping[int, Aval]) -> Plan:
    bands, side = (avals[slot] for slot in op.args)
    systems, (rows, columns), count = math.prod(side.shape[:-2]), side.shape[-2:], bands.shape[-2]
    share, tasks, work = _shared(systems, rows * count * (2 + columns))
    kernel = BandedSubstitution((), side.dtype, **dict(op.params))
    return Plan(kernel, (), (), (systems, share, rows, columns, count), tasks, work)


def _general_bands(run: Sequence[Op], avals: Mapping[int, Aval]) -> Plan | None:
    side = avals[run[0].args[1]]
    results = _results_of_solve(run)
    if results is None:
        return None
    below, above = (dict(run[0].params)[name] for name in ("below", "above"))
    systems, (rows, columns) = math.prod(side.shape[:-2]), side.shape[-2:]
    width = 2 * below + above + 1
    share, tasks, work = _shared(systems, rows * (20 + (below + 1) * (width + 2 * columns)))
    kernel = GeneralBandSolve((), side.dtype, *results)
    scratch = Aval((tasks, rows, width), side.dtype)
    return Plan(kernel, (), (scratch,), (systems, share, rows, columns, below, above), tasks, work)


def _results_of_solve(run: Sequence[Op]) -> tuple[int, int] | None:
    """Return the numbers of the operands for the solutions and for the flags; None if one of the ops is missing."""
    found = {dict(op.params)["result_index"]: 2 + i for i, op in enumerate(run)}
    return (found[0], found[1]) if len(found) == 2 else None


def _shared(systems: int, each: int) -> tuple[int, int, int]:
    """Return the number of systems of a task, that of tasks, and the work, in ns, for `each` ns for a system."""
    work = systems * each
    tasks = min(systems, tuning.max_decomposition_tasks) if work >= tuning.parallel_work_ns else 1
    share = -(-systems // tasks)
    return share, -(-systems // share), work


def _work_of(scheduled: Any) -> int | None:
    """Return the estimated time of a body on one thread, in ns; None if it has loops of unknown length."""
    total = 0
    for step in scheduled.steps:
        times = 1
        if isinstance(step.kernel, ControlDriver) and step.kernel.kind == "loop":
            times = LOOP.unpack(step.sizes)["trips"]
        inner = [_work_of(body) for body in step.bodies]
        known = [work for work in inner if work is not None]
        if times < 0 or len(known) < len(inner):
            return None
        total += times * max(known, default=step.work)
    return total


class _Shares(NamedTuple):
    """How threads share the iterations of a loop.

    Attributes
    ----------
    places : int
        Maximum number of iterations that run at the same time, each in memory of its own.
    threads : int
        Number of threads that the loop is worth.
    share : int
        Number of iterations of one parallel region.
    work : int
        Estimated time of all iterations on one thread, in ns.
    """

    places: int
    threads: int
    share: int
    work: int


class _Loop:
    def __init__(
        self, run: Sequence[Op], schedule: Callable[..., Any], literals: Mapping[int, Op], parallel: bool
    ) -> None:
        self.run = run
        self.schedule = schedule
        self.parallel = parallel
        params = dict(run[0].params)
        self.trips: int = params["trips"]
        self.limit: int | None = params["limit"]
        self.backwards: bool = params["backwards"]
        body: Body = params["body"]
        self.body = body.program
        fixed, carries = params["fixed"], params["carries"]
        self.inputs = Parts.of_body(body, fixed, carries)
        positions = range(len(run[0].args))
        self.positions = Parts.of_operands(positions, self.trips, fixed, carries)
        given = Parts.of_operands(run[0].args, self.trips, fixed, carries).fixed
        pairs = zip(self.inputs.fixed, given, strict=True)
        self.literals = {
            slot: literals[operand]._replace(out=slot) for slot, operand in pairs if operand in literals
        }
        self.results = {dict(op.params)["result_index"]: len(positions) + i for i, op in enumerate(run)}
        self.temporaries: list[Aval] = []
        self.first_temporary = len(positions) + len(run)
        self.stacked = list(dict.fromkeys(n for kind, n in self.results if kind == "stack"))

    def _temporary(self, aval: Aval) -> int:
        """Return the position of a new temporary among the operands."""
        self.temporaries.append(aval)
        return self.first_temporary + len(self.temporaries) - 1

    def _scheduled_body(self) -> tuple[list[int], Program, Any]:
        """Return the numbers of the live carries, the part of the body that is needed, and its schedule."""
        used = frozenset(number for kind, number in self.results if kind == "carry")
        body: Body = dict(self.run[0].params)["body"]
        live, program = live_part(body, self.inputs, used, tuple(self.stacked), self.trips)
        inside = [self.literals[slot] for slot in program.inputs if slot in self.literals]
        inputs = tuple([slot for slot in program.inputs if slot not in self.literals])
        program = simplify(Program(inputs, (*inside, *program.ops), program.outputs, program.avals))
        cell = {slot: i for i, slot in enumerate(program.inputs)}
        carried = [(cell.get(self.inputs.carries[i], -1), at) for at, i in enumerate(live)]
        counters = {} if self.trips < 0 else {self.body.inputs[0]: self.trips}
        donated = tuple([pair for pair in carried if pair[0] >= 0])
        return list(live), program, self.schedule(program, donated, counters)

    def plan(self) -> Plan | None:
        live, program, scheduled = self._scheduled_body()
        if not is_native(scheduled):
            return None
        shares = None if live else self._shares(scheduled)
        if shares is not None:
            return self._parallel(shares, program, scheduled)
        cell = {slot: i for i, slot in enumerate(program.inputs)}
        in_place = {result for _, result, _ in scheduled.in_place}
        count = len(program.inputs)
        written = [count + i for i in range(len(program.outputs))]
        cells = count + len(scheduled.results) + len(scheduled.offsets)
        n = len(live)
        spare = iter(range(cells + 1, cells + 1 + n))
        read = [cell[self.inputs.carries[i]] if self.inputs.carries[i] in cell else next(spare) for i in live]
        frame = self._temporary(Aval(((cells + 1 + 2 * n) * WORD,), np.dtype(np.uint8)))
        arena = self._temporary(Aval((max(ALIGNMENT, scheduled.arena),), np.dtype(np.uint8)))
        fixed = self._fixed(cell)
        fixed += arena_cells(count + len(scheduled.results), arena, scheduled)
        number = self.body.inputs[0]
        if number in cell:
            fixed.append(FIXED.pack(cell=cell[number], operand=frame, offset=cells * WORD))
        carries = [self._carry(i, read[at], written[at], at in in_place) for at, i in enumerate(live)]
        rows_read, rows_written = self._rows(cell, count + n + (self.trips == WHILE))
        predicate = -1
        if self.trips == WHILE:
            predicate = written[n]
            place = self._temporary(Aval((1,), np.dtype(bool)))
            fixed.append(FIXED.pack(cell=predicate, operand=place, offset=0))
        head = LOOP.pack(
            trips=self.trips,
            bound=self.positions.head[0] if self.trips < 0 else -1,
            limit=-1 if self.limit is None else self.limit,
            backwards=int(self.backwards),
            count=self.results.get(COUNT, -1),
            predicate=predicate,
            frame=frame,
            iteration=cells,
            fixed=len(fixed),
            carries=n,
            rows_read=len(rows_read),
            rows_written=len(rows_written),
        )
        records = [head, *fixed, *carries, *rows_read, *rows_written]
        words = tuple(chain.from_iterable(records))
        return Plan(ControlDriver((), "loop"), (scheduled,), tuple(self.temporaries), words)

    def _shares(self, scheduled: Any) -> _Shares | None:
        """Return how threads share the iterations, none of which needs another; None if one thread does them all."""
        trips = self.trips
        if (
            not self.parallel
            or trips < tuning.row_tile_min_groups
            or self.limit is not None
            or COUNT in self.results
        ):
            return None
        each = _work_of(scheduled)
        if each is None or not tuning.task_ns <= each <= tuning.parallel_region_ns // 2:
            return None
        work = trips * each
        # Memory as for the groups of a tile loop. With much more, the kernels of the body are divided instead.
        few, memory = tuning.row_tile_min_groups, tuning.row_tile_memory_bytes
        if few * scheduled.arena > 16 * memory:
            return None
        places = min(trips, max(few, memory // max(1, scheduled.arena)), tuning.row_tile_groups_limit)
        threads = min(places, max(1, work // tuning.work_per_thread_ns))
        return _Shares(places, threads, max(places, tuning.parallel_region_ns // each), work)

    def _parallel(self, shares: _Shares, program: Program, scheduled: Any) -> Plan:
        """Return the plan of a loop without carries whose iterations run at the same time."""
        cell = {slot: i for i, slot in enumerate(program.inputs)}
        count = len(program.inputs)
        cells = count + len(scheduled.results) + len(scheduled.offsets)
        frame_bytes, arena_bytes = (
            -(-n // ALIGNMENT) * ALIGNMENT for n in ((cells + 1) * WORD, scheduled.arena)
        )
        nbytes = SHARED_FRAMES.nbytes + shares.places * frame_bytes
        frames = self._temporary(Aval((nbytes,), np.dtype(np.uint8)))
        arena = self._temporary(Aval((max(ALIGNMENT, shares.places * arena_bytes),), np.dtype(np.uint8)))
        fixed = self._fixed(cell)
        own = arena_cells(count + len(scheduled.results), arena, scheduled)
        rows = self._rows(cell, count)
        head = PARALLEL_LOOP.pack(
            trips=self.trips,
            share=shares.share,
            threads=shares.threads,
            places=shares.places,
            frames=frames,
            frame_bytes=frame_bytes,
            arena_bytes=arena_bytes,
            number=cell.get(self.body.inputs[0], cells),
            iteration=cells,
            fixed=len(fixed),
            own=len(own),
            rows=sum(map(len, rows)),
        )
        words = tuple(chain(head, *fixed, *own, *chain.from_iterable(rows)))
        driver = ControlDriver((), "parallel loop")
        return Plan(driver, (scheduled,), tuple(self.temporaries), words, self.trips, shares.work)

    def _fixed(self, cell: Mapping[int, int]) -> list[list[int]]:
        """Return the records of the operands that are the same in all iterations."""
        return [
            FIXED.pack(cell=cell[slot], operand=position, offset=0)
            for slot, position in zip(self.inputs.fixed, self.positions.fixed, strict=True)
            if slot in cell
        ]

    def _rows(self, cell: Mapping[int, int], first: int) -> tuple[list[list[int]], list[list[int]]]:
        """Return the records of the stacks that are read and written; cell `first` is that of the first row written."""
        read = [
            self._row(cell[slot], slot, position)
            for slot, position in zip(self.inputs.stacks, self.positions.stacks, strict=True)
            if slot in cell
        ]
        return read, [
            self._row(first + i, slot, self.results["stack", slot]) for i, slot in enumerate(self.stacked)
        ]

    def _carry(self, number: int, read: int, written: int, in_place: bool) -> list[int]:
        """Return the record of a carry. It alternates between two buffers, or stays in the result if it is `in_place`.

        The result gets its last value.
        """
        aval = self.body.avals[self.inputs.carries[number]]
        result = self.results.get(("carry", number))
        result = self._temporary(aval) if result is None else result
        other = result if in_place else self._temporary(aval)
        return CARRY.pack(
            read=read,
            written=written,
            start=self.positions.carries[number],
            result=result,
            other=other,
            nbytes=aval.nbytes,
        )

    def _row(self, cell: int, slot: int, position: int) -> list[int]:
        """Return the record of the rows of the stack at a position among the operands."""
        nbytes, grown = self.body.avals[slot].nbytes, int(self.trips < 0)
        return STACKED_ROW.pack(cell=cell, operand=position, nbytes=nbytes, grown=grown)
