"""Schedules of long programs: each distinct segment is scheduled once and placed wherever it occurs.

Segments exchange values through storages of the whole program. The temporaries of a segment share one region of the
arena with those of all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.program_arrays import Ints
from jittape.compile.schedule import pipeline
from jittape.compile.schedule.column_schedule import ColumnSchedule, ScheduleColumns
from jittape.compile.schedule.memory_planning import Arena
from jittape.compile.schedule.program_segments import Segment, segments_of
from jittape.compile.schedule.steps import Donated, NumpyStep, RowTile, Schedule, Step
from jittape.compile.schedule.validate import check_schedule
from jittape.core.program import Op, Program
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["schedule_in_segments", "text_of_segments"]


def schedule_in_segments(
    program: Program,
    donated: Donated,
    schedule: Callable[[Program, Donated], Schedule],
    with_ops: bool = False,
    repetition: int = 2,
) -> Schedule | None:
    """Return the checked schedule of a long program with repetitions, placed segment by segment; None for all others.

    Loops, checks and NumPy steps need the whole program. So do row tiles if the arena becomes large: a tile loop saves
    the memory of values that segments exchange.

    Parameters
    ----------
    program : Program
        As recorded.
    donated : tuple of (int, int)
        Inputs and outputs by position: the output may be computed in the input's memory.
    schedule : callable
        Returns the schedule of a program as recorded.
    with_ops : bool
        Whether the result has the program after all rewrites, and steps have its ops, which explain them.
    repetition : int
        Minimum number of ops for each op of a distinct segment.
    """
    segments = segments_of(program, repetition)
    if segments is None:
        return None
    known: dict[Any, _Scheduled] = {}
    placed: list[_Scheduled] = []
    for segment in segments:
        is_donated = segment is segments[-1] and not any([_gives_back_inputs(one.columns) for one in placed])
        own = _donated_to(segment, program, donated) if is_donated else ()
        one = known.get((segment.key, own))
        if one is None:
            made = schedule(segment.program(program.avals), own)
            columns = ColumnSchedule.of(made)
            if columns is None:
                return None
            one = known[segment.key, own] = _Scheduled(made, columns)
        placed.append(one)
    placement = _Placement(program, segments, [one.columns for one in placed])
    whole = placement.schedule()
    if whole.arena > tuning.segments_arena_bytes and whole.tiles:
        return None
    check_schedule(placement.outline(whole))
    if not (with_ops or pipeline.verify_each_pass):
        return whole
    explained = _with_ops(whole, segments, [one.schedule for one in placed])
    if pipeline.verify_each_pass:
        check_schedule(explained)
    return explained if with_ops else whole


class _Scheduled(NamedTuple):
    """The schedule of a segment, and the same in columns."""

    schedule: Schedule
    columns: ColumnSchedule


def _donated_to(last: Segment, program: Program, donated: Donated) -> Donated:
    """Return the pairs of `donated` by position in the last segment: earlier ones do not know who reads an input."""
    pairs = [(program.inputs[position], program.outputs[output]) for position, output in donated]
    return tuple(
        [
            (last.inputs.index(given), last.outputs.index(result))
            for given, result in pairs
            if given in last.inputs and result in last.outputs and given not in program.outputs
        ]
    )


def text_of_segments(program: Program) -> str:
    """Return a line for each distinct segment of a long program with repetitions."""
    segments = segments_of(program) or []
    counts = Counter([segment.key for segment in segments])
    lengths = {segment.key: len(segment.ops) for segment in segments}
    return "\n".join([f"{counts[key]} times {length} ops" for key, length in lengths.items()])


def _gives_back_inputs(schedule: Schedule) -> bool:
    """Return whether an output is an input: then two slots may have the memory of one input."""
    return min(schedule.outputs, default=0) < len(schedule.program.inputs)


class _Renaming:
    """The ops of all segments after their rewrites, in one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ops: list[Op] = []
        self.avals = dict(program.avals)
        self.names: dict[int, int] = {}
        self._next = max(self.avals, default=-1) + 1

    def add(self, segment: Segment, rewritten: Program) -> dict[int, Op]:
        """Append the ops of a segment; return them by their slots in `rewritten`, a program of an equal segment."""
        slots = dict(
            zip(rewritten.inputs, [self.names.get(slot, slot) for slot in segment.inputs], strict=True)
        )
        found: dict[int, Op] = {}
        for op in rewritten.ops:
            slots[op.out] = self._next
            self.avals[self._next] = rewritten.avals[op.out]
            self._next += 1
            found[op.out] = op._replace(args=tuple([slots[slot] for slot in op.args]), out=slots[op.out])
        self.ops += found.values()
        self.names.update(zip(segment.outputs, [slots[slot] for slot in rewritten.outputs], strict=True))
        return found

    def result(self) -> Program:
        """Return the program."""
        outputs = tuple([self.names.get(slot, slot) for slot in self.program.outputs])
        return self.program.replaced(tuple(self.ops), outputs, self.avals)


def _with_ops(made: Schedule, segments: Sequence[Segment], schedules: Sequence[Schedule]) -> Schedule:
    """Return a schedule of segments with the program after all rewrites, and steps with its ops."""
    renaming = _Renaming(made.program)
    ops: list[tuple[Op, ...]] = []
    for segment, schedule in zip(segments, schedules, strict=True):
        found = renaming.add(segment, schedule.program)
        ops += [tuple([found[op.out] for op in step.ops]) for step in schedule.steps]
    steps = [replace(step, ops=own) for step, own in zip(made.steps, ops, strict=True)]
    memory = made.outputs, made.results, made.offsets, made.lengths, made.arena, made.in_place
    return Schedule(renaming.result(), tuple(steps), *memory, made.spare)


class _Placement:
    """The schedules of all segments of a program in one: `owners` has the number of the value that each slot holds.

    Values are numbered: inputs of the program first, then the results of all segments in order.
    """

    def __init__(
        self, program: Program, segments: Sequence[Segment], schedules: Sequence[ColumnSchedule]
    ) -> None:
        self.program = program
        self.segments = segments
        self.schedules = schedules
        self.owners = {slot: number for number, slot in enumerate(program.inputs)}
        self.first_results: list[int] = []
        self._number_results()
        given = len(program.inputs)
        outputs = dict.fromkeys([(self.owners[slot], program.avals[slot]) for slot in program.outputs])
        self.results = {owner: aval for owner, aval in outputs if owner >= given}
        self.storage = {owner: owner for owner in range(given)}
        self.storage.update([(owner, given + i) for i, owner in enumerate(self.results)])
        self.arena = Arena()
        self.offsets: list[int] = []
        self.lengths: list[int] = []
        self.regions: list[tuple[int, int]] = []
        """The offset and the size of the memory of each segment's temporaries."""

    def _number_results(self) -> None:
        count = len(self.program.inputs)
        for segment, schedule in zip(self.segments, self.schedules, strict=True):
            self.first_results.append(count)
            inputs = len(segment.inputs)
            for slot, storage in zip(segment.outputs, schedule.outputs, strict=True):
                if storage < inputs:
                    self.owners[slot] = self.owners[segment.inputs[storage]]
                else:
                    self.owners[slot] = count + storage - inputs
            count += len(schedule.results)

    def schedule(self) -> ColumnSchedule:
        kernels: list[Kernel] = []
        first_kernels: dict[int, int] = {}
        tiles: list[RowTile] = []
        parts: list[ScheduleColumns] = []
        for own, storages in zip(self.schedules, self._storages_of_segments(), strict=True):
            if id(own) not in first_kernels:
                first_kernels[id(own)] = len(kernels)
                kernels += own.kernels
            columns = own.columns
            parts.append(
                columns._replace(
                    kernels=columns.kernels + first_kernels[id(own)],
                    storages=storages[columns.storages],
                    tiles=np.where(columns.tiles < 0, -1, columns.tiles + len(tiles)),
                    overwritten=storages[columns.overwritten],
                )
            )
            tiles += [_placed_tile(tile, storages) for tile in own.tiles]
        memory = {"offsets": np.array(self.offsets, np.int64), "lengths": np.array(self.lengths, np.int64)}
        return ColumnSchedule(
            self.program,
            kernels,
            tiles,
            ScheduleColumns(*map(np.concatenate, zip(*parts, strict=True)))._replace(**memory),
            tuple([self.storage[self.owners[slot]] for slot in self.program.outputs]),
            tuple(self.results.values()),
            self.arena.size,
            self._in_place(),
            tuple({kernel.name: kernel for own in self.schedules for kernel in own.spare}.values()),
        )

    def _storages_of_segments(self) -> Iterator[Ints]:
        """Place the values of all segments; yield the storages of the whole program for those of each segment."""
        last_use: dict[int, int] = {}
        for number, segment in enumerate(self.segments):
            last_use.update(dict.fromkeys([self.owners[slot] for slot in segment.inputs], number))
        ending: dict[int, list[int]] = {}
        for owner, number in last_use.items():
            ending.setdefault(number, []).append(owner)
        given = len(self.program.inputs) + len(self.results)
        for number in range(len(self.segments)):
            yield np.array(self._storages(number), np.int64)
            for owner in ending.get(number, ()):
                if self.storage[owner] >= given:
                    self.arena.give_back(owner)

    def _storages(self, number: int) -> list[int]:
        """Return the storages of the whole program for those of a segment, whose values get memory."""
        segment, own = self.segments[number], self.schedules[number]
        storages = [self.storage[self.owners[slot]] for slot in segment.inputs]
        for owner, aval in enumerate(own.results, self.first_results[number]):
            if owner not in self.storage:
                self.storage[owner] = self._new_storage()
                self.offsets.append(self.arena.take(owner, aval.nbytes))
                self.lengths.append(aval.nbytes)
            storages.append(self.storage[owner])
        region = self.arena.take(-1, own.arena)
        self.arena.give_back(-1)
        self.regions.append((region, own.arena))
        first = self._new_storage()
        storages += range(first, first + len(own.offsets))
        self.offsets += [region + offset for offset in own.offsets]
        self.lengths += own.lengths
        return storages

    def _new_storage(self) -> int:
        """Return the storage of the next temporary."""
        return len(self.program.inputs) + len(self.results) + len(self.offsets)

    def outline(self, made: Schedule) -> Schedule:
        """Return `made` with one step for each segment, which writes its results and a region for its temporaries.

        The schedules of segments have been checked, donated inputs too. For 100,000 steps, the check of the outline
        takes 0.13 s, that of all steps 0.54.
        """
        count = len(self.program.inputs) + len(self.results) + len(self.offsets)
        steps: list[Step] = []
        for segment, schedule, first in zip(self.segments, self.schedules, self.first_results, strict=True):
            reads = tuple([self.storage[self.owners[slot]] for slot in segment.inputs])
            writes = [self.storage[first + i] for i in range(len(schedule.results))]
            steps.append(NumpyStep(segment.ops, reads, (), (*writes, count + len(steps)), ()))
        offsets, lengths = zip(*self.regions, strict=True)
        memory = (*made.offsets, *offsets), (*made.lengths, *lengths), made.arena
        return Schedule(self.program, tuple(steps), made.outputs, made.results, *memory, (), ())

    def _in_place(self) -> tuple[tuple[int, int, bool], ...]:
        """Return the inputs whose memory results of the last segment take."""
        segment, schedule, first = self.segments[-1], self.schedules[-1], self.first_results[-1]
        given = len(self.program.inputs)
        return tuple(
            [
                (self.owners[segment.inputs[position]], self.storage[first + result] - given, is_read)
                for position, result, is_read in schedule.in_place
            ]
        )


def _placed_tile(tile: RowTile, storages: Ints) -> RowTile:
    """Return the tile loop of a segment on storages of the whole program."""
    return replace(tile, moved=tuple([(int(storages[storage]), nbytes) for storage, nbytes in tile.moved]))
