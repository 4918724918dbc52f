"""Evaluation of schedules by NumPy, without LLVM, on the memory that they plan, with tasks in random order.

`evaluated` takes a schedule and gives what it computes. Memory is poisoned wherever it holds no value, and each access
is checked to stay within its storage, so a wrong order, a wrong place in the arena or a wrong block shows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from controls import Controls
from lapack import run_lapack
from loop_ir import Nest, run_product
from memory import Array, Heap, Pointer
from scalar_machine import run_table

from jittape.compile.ir.banded_kernel import BandedSubstitution
from jittape.compile.ir.exchanges import Exchanges
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.lapack import Lapack
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.ir.mask_kernels import MaskCounts, MaskLoop
from jittape.compile.ir.table_layouts import DIAGONAL_HEAD, DIAGONAL_OPERAND, ON_DEMAND, SHARES_SHIFT
from jittape.compile.ir.tridiagonal_kernel import TridiagonalSolve
from jittape.compile.kernels.control.control_driver import ControlDriver, Release, Stop
from jittape.compile.kernels.scalar_vm.bytecode import ScalarVM
from jittape.compile.rewrite.diagonal_op import DiagonalScatter
from jittape.compile.schedule.steps import KernelStep, NumpyStep, RowTile, Schedule
from jittape.compile.schedule.validate import touched_by
from jittape.core.forms import Control
from jittape.core.interpret import run_control, run_op
from jittape.core.program import Aval, is_dynamic_dim
from jittape.primitives.linalg.banded import substituted
from jittape.primitives.linalg.tridiagonal import solved_with_exchanges

MOST_SHARES = 3


class Stopped(Exception):
    """Raised if a check ends the run."""


def evaluated(schedule: Schedule, inputs: Sequence[Any], seed: int = 0, in_place: bool = True) -> list[Array]:
    """Return what a schedule computes.

    Parameters
    ----------
    schedule : Schedule
    inputs : sequence of ndarray
    seed : int
        Decides the order of tasks, and into how many shares products are divided.
    in_place : bool
        Whether results get the memory of donated inputs.
    """
    program, avals = schedule.program, schedule.program.input_avals()
    arrays = [np.ascontiguousarray(x, a.dtype).reshape(a.shape) for x, a in zip(inputs, avals, strict=True)]
    heap = Heap(sum([aval.nbytes + 128 for aval in (*avals, *schedule.results)]) + schedule.arena + 256)
    cells = [heap.take(aval.nbytes) for aval in avals]
    for cell, array, aval in zip(cells, arrays, avals, strict=True):
        heap.array(cell, aval)[...] = array
    donors = {result: (position, read) for position, result, read in schedule.in_place}
    for number, aval in enumerate(schedule.results):
        position, read = donors.get(number, (-1, False))
        if position >= 0 and in_place:
            cells.append(cells[position])
            continue
        cells.append(heap.take(aval.nbytes))
        if read:
            heap.array(cells[-1], aval)[...] = arrays[position]
    run = Run(heap, random.Random(seed))
    kept = range(len(arrays)) if not in_place else set(range(len(arrays))) - {i for i, _ in donors.values()}
    with np.errstate(all="ignore"):
        run.schedule(schedule, [*cells, *temporaries(schedule, heap.take(schedule.arena))])
    for position in kept:
        found = heap.array(cells[position], avals[position])
        assert found.tobytes() == arrays[position].tobytes(), f"input {position} has been overwritten"
    return [
        heap.array(cells[storage], program.avals[slot]).copy()
        for storage, slot in zip(schedule.outputs, program.outputs, strict=True)
    ]


def temporaries(schedule: Schedule, arena: Pointer) -> list[Pointer]:
    """Return the memory of each temporary."""
    return [arena.part(*place) for place in zip(schedule.offsets, schedule.lengths, strict=True)]


class Run:
    """One run of a schedule, or of bodies of loops in it."""

    def __init__(self, heap: Heap, rng: random.Random) -> None:
        self.heap = heap
        self.rng = rng
        self.grown: dict[int, Array] = {}
        self.controls = Controls(heap, self.schedule)
        self._last_uses: dict[int, tuple[Schedule, list[list[int]]]] = {}

    def schedule(self, schedule: Schedule, cells: list[Pointer]) -> None:
        """Run all steps of a schedule; temporaries are poisoned after their last use."""
        last_uses = self._last_uses_of(schedule)
        number = 0
        for strip, group in groupby(schedule.steps, lambda step: step.tile):
            steps = list(group)
            if strip is not None:
                self._row_tile(strip, [s for s in steps if isinstance(s, KernelStep)], cells)
            for step in steps:
                if strip is None:
                    self._step(schedule, step, cells)
                for storage in last_uses[number] if strip is None else ():
                    self.heap.poison(cells[storage])
                number += 1
            if strip is not None:
                moved = {storage for storage, _ in strip.moved}
                for own in last_uses[number - len(steps) : number]:
                    for storage in own:
                        if storage not in moved:
                            self.heap.poison(cells[storage])

    def _last_uses_of(self, schedule: Schedule) -> list[list[int]]:
        """Return for each step the temporaries that no later one uses, and whose memory no other one takes over."""
        known = self._last_uses.get(id(schedule))
        if known is None:
            first = len(schedule.program.inputs) + len(schedule.results)
            last = {}
            for number, step in enumerate(schedule.steps):
                last.update({s: number for own in touched_by(step) for s in own if s >= first})
            for step in schedule.steps:
                for before, _ in step.overwritten:
                    last.pop(before, None)
            found: list[list[int]] = [[] for _ in schedule.steps]
            for storage, number in last.items():
                found[number].append(storage)
            known = self._last_uses[id(schedule)] = schedule, found
        return known[1]

    def _row_tile(self, strip: RowTile, steps: list[KernelStep], cells: list[Pointer]) -> None:
        """Run all steps for a block of rows before the next block; the order of groups of blocks is random."""
        share = -(-strip.blocks // strip.groups)
        groups = list(range(strip.groups))
        self.rng.shuffle(groups)
        for group in groups:
            for block in range(group * share, min(strip.blocks, (group + 1) * share)):
                own = list(cells)
                for storage, nbytes in strip.moved:
                    begin = cells[storage].address + group * strip.region
                    own[storage] = Pointer(begin - block * nbytes, begin, begin + nbytes)
                    self.heap.poison(own[storage])
                for step in steps:
                    self._task(step, own, block)

    def _step(self, schedule: Schedule, step: KernelStep | NumpyStep, cells: list[Pointer]) -> None:
        if isinstance(step, NumpyStep):
            self._numpy(schedule, step, cells)
            return
        tasks = list(range(step.tasks))
        if step.tasks == ON_DEMAND:
            shares = self.rng.randint(1, MOST_SHARES)
            tasks = [task | shares << SHARES_SHIFT for task in range(shares)]
        self.rng.shuffle(tasks)
        for task in tasks:
            self._task(step, cells, task)

    def _task(self, step: KernelStep, cells: list[Pointer], task: int) -> None:
        pointers = [cells[storage] for storage in step.storages]
        match step.kernel:
            case LoopKernel():
                Nest(self.heap, step.kernel, pointers, step.sizes, task).run()
            case Gemm():
                run_product(self.heap, step.kernel, pointers, step.sizes, task)
            case Lapack():
                run_lapack(self.heap, step.kernel, pointers, step.sizes, task)
            case Stop():
                (count,) = step.sizes
                if self.heap.array(pointers[0], Aval((count,), np.dtype(bool))).any():
                    raise Stopped
            case ScalarVM():
                run_table(self.heap, step.kernel, pointers, step.sizes)
            case DiagonalScatter():
                self._scatter_diagonals(step.kernel, pointers, step.sizes)
            case Exchanges():
                self._exchange(pointers, step.sizes)
            case MaskCounts():
                self._count_mask(pointers, step.sizes, task)
            case MaskLoop():
                self._mask_loop(step.kernel, pointers, step.sizes, task)
            case BandedSubstitution():
                self._substitute(step.kernel, pointers, step.sizes, task)
            case TridiagonalSolve():
                self._solve_tridiagonal(step.kernel, pointers, step.sizes, task)
            case ControlDriver(kind="loop"):
                self.controls.loop(step, pointers)
            case ControlDriver():
                self.controls.branch(step, pointers)
            case Release():
                self.controls.release(pointers[0])
            case _:
                raise AssertionError(step.kernel)

    def _numpy(self, schedule: Schedule, step: NumpyStep, cells: list[Pointer]) -> None:
        arrays = [
            self.grown[storage] if is_dynamic_dim(aval) else self.heap.array(cells[storage], aval).copy()
            for storage, aval in zip(step.storages, step.avals, strict=True)
        ]
        if isinstance(step.op.primitive.lowering, Control):
            values = run_control(schedule.program, step.ops, arrays)
        else:
            try:
                values = [run_op(schedule.program, step.op, arrays)]
            except IndexError:
                raise Stopped from None
        for storage, aval, value in zip(step.results, step.result_avals, values, strict=True):
            if is_dynamic_dim(aval):
                self.grown[storage] = value
            else:
                self.heap.array(cells[storage], aval)[...] = value

    def _exchange(self, pointers: Sequence[Pointer], sizes: Sequence[int]) -> None:
        """Exchange the elements of rows of numbers one after another."""
        rows, length, first, step = sizes
        targets, result = (self.heap.array(p, Aval((rows, length), np.dtype(np.int64))) for p in pointers)
        result[...] = np.arange(length)
        for row, own in zip(result, targets, strict=True):
            for at in [first + step * i for i in range(length)]:
                row[[at, own[at]]] = row[[own[at], at]]

    def _block(self, mask: Pointer, sizes: Sequence[int], task: int) -> Array:
        """Return the places of the true elements of one block of a mask."""
        share = sizes[1]
        own = self.heap.array(mask, Aval((sizes[0],), np.dtype(bool)))[task * share : (task + 1) * share]
        return task * share + np.flatnonzero(own)

    def _count_mask(self, pointers: Sequence[Pointer], sizes: Sequence[int], task: int) -> None:
        blocks = Aval((-(-sizes[0] // sizes[1]),), np.dtype(np.int64))
        self.heap.array(pointers[1], blocks)[task] = len(self._block(pointers[0], sizes, task))

    def _mask_loop(
        self, kernel: MaskLoop, pointers: Sequence[Pointer], sizes: Sequence[int], task: int
    ) -> None:
        """Do one block of a mask, behind the true elements that the blocks before it have."""
        elements, share, count = sizes
        places, first = self._block(pointers[0], sizes, task), 0
        if kernel.counted:
            counts = self.heap.array(pointers[1], Aval((-(-elements // share),), np.dtype(np.int64)))
            first = int(counts[:task].sum())
        kind = np.dtype((np.void, kernel.nbytes))
        if kernel.form == "expand":
            values = self.heap.array(pointers[-2], Aval((count,), kind))
            result = self.heap.array(pointers[-1], Aval((elements,), kind))
            result[task * share : (task + 1) * share] = np.zeros((), kind)
            result[places] = values[first : first + len(places)]
            return
        dtype = np.dtype(np.int64) if kernel.form == "places" else kind
        result = self.heap.array(pointers[-1], Aval((count,), dtype))
        own = places
        if kernel.form == "select":
            own = self.heap.array(pointers[-2], Aval((elements,), kind))[places]
        result[first : first + len(places)] = own

    def _substitute(
        self, kernel: BandedSubstitution, pointers: Sequence[Pointer], sizes: Sequence[int], task: int
    ) -> None:
        systems, share, rows, columns, count = sizes
        own = slice(task * share, min(systems, (task + 1) * share))
        bands = self.heap.array(pointers[0], Aval((systems, count, rows), kernel.dtype))[own]
        side = Aval((systems, rows, columns), kernel.dtype)
        solutions = substituted(bands, self.heap.array(pointers[1], side)[own], kernel.lower, kernel.adjoint)
        self.heap.array(pointers[2], side)[own] = solutions

    def _solve_tridiagonal(
        self, kernel: TridiagonalSolve, pointers: Sequence[Pointer], sizes: Sequence[int], task: int
    ) -> None:
        systems, share, rows, columns = sizes
        own = slice(task * share, min(systems, (task + 1) * share))
        matrices = self.heap.array(pointers[0], Aval((systems, 3, rows), kernel.dtype))[own]
        side = Aval((systems, rows, columns), kernel.dtype)
        solutions, singular = solved_with_exchanges(matrices, self.heap.array(pointers[1], side)[own])
        self.heap.array(pointers[kernel.solution], side)[own] = solutions
        self.heap.array(pointers[kernel.flags], Aval((systems,), np.dtype(bool)))[own] = singular

    def _scatter_diagonals(
        self, kernel: DiagonalScatter, pointers: Sequence[Pointer], sizes: Sequence[int]
    ) -> None:
        """Fill with zeros and add operands along steps; see `diagonal_op.table_of`."""
        elements, count = DIAGONAL_HEAD.unpack(sizes).values()
        memory = self.heap.view(kernel.dtype)
        result = pointers[count]
        memory[self.heap.indices(result, np.arange(elements), kernel.dtype)] = 0
        for number, record in enumerate(DIAGONAL_OPERAND.unpack_array(sizes, DIAGONAL_HEAD.words, count)):
            offset, extents, steps = record.values()
            loops = np.indices(extents).reshape(len(extents), -1)
            to = self.heap.indices(result, offset + np.array(steps) @ loops, kernel.dtype)
            source = self.heap.indices(pointers[number], np.arange(loops.shape[1]), kernel.dtype)
            np.add.at(memory, to, memory[source])
