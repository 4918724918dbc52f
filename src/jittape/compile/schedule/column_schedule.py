"""`ColumnSchedule`: a schedule whose steps are columns of integers until somebody asks for them.

It comes from disk, or from the segments of a long program. The 20,000 steps of an LSTM of 1,024 steps take 0.02 s to
create, and 16 ms of each full garbage collection. The launch table is made of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, repeat

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.program_arrays import Ints
from jittape.compile.schedule.steps import KernelStep, RowTile, Schedule, pairs_of
from jittape.core.locks import cached_property
from jittape.core.program import Aval, Program
from jittape.value_classes import NamedTuple

__all__ = ["ColumnSchedule", "ScheduleColumns"]


class ScheduleColumns(NamedTuple):
    """The numbers of a schedule, for all steps or temporaries one after the other.

    Attributes
    ----------
    kernels, tasks, work, tiles
        For each step; a kernel and a tile by its number, -1 for no tile.
    storage_counts, size_counts, overwritten_counts
        For each step, how many of `storages`, `sizes` and `overwritten` it has.
    offsets, lengths
        For each temporary.
    """

    kernels: Ints
    storage_counts: Ints
    storages: Ints
    size_counts: Ints
    sizes: Ints
    tasks: Ints
    work: Ints
    tiles: Ints
    overwritten_counts: Ints
    overwritten: Ints
    offsets: Ints
    lengths: Ints

    def check(self, kernels: int, tiles: int, storages: int) -> None:
        """Raise `ValueError` if the columns do not belong together, or a number is not below one of these."""
        counts = (self.storage_counts, self.storages), (self.size_counts, self.sizes)
        parts = (*counts, (self.overwritten_counts, self.overwritten))
        lengths = {len(c) for c in (self.kernels, self.tasks, self.work, self.tiles, *[n for n, _ in parts])}
        limits = (self.kernels, 0, kernels), (self.tiles, -1, tiles), (self.storages, 0, storages)
        if (
            len(lengths) > 1
            or any([n.min(initial=0) < 0 or n.sum() != len(values) for n, values in parts])
            or any([c.min(initial=0) < low or c.max(initial=-1) >= high for c, low, high in limits])
        ):
            raise ValueError("the columns of a schedule do not belong together")


class ColumnSchedule(Schedule):
    """A schedule whose steps are kernels without bodies and cannot end the run; they have no ops."""

    def __init__(
        self,
        program: Program,
        kernels: Sequence[Kernel],
        tiles: Sequence[RowTile],
        columns: ScheduleColumns,
        outputs: tuple[int, ...],
        results: tuple[Aval, ...],
        arena: int,
        in_place: tuple[tuple[int, int, bool], ...],
        spare: tuple[Kernel, ...] = (),
    ) -> None:
        columns.check(len(kernels), len(tiles), len(program.inputs) + len(results) + len(columns.offsets))
        vars(self).update(
            program=program,
            outputs=outputs,
            results=results,
            offsets=tuple(columns.offsets.tolist()),
            lengths=tuple(columns.lengths.tolist()),
            arena=arena,
            in_place=in_place,
            spare=spare,
            columns=columns,
            tiles=tiles,
            _kernels=kernels,
        )

    columns: ScheduleColumns
    tiles: Sequence[RowTile]
    _kernels: Sequence[Kernel]

    @classmethod
    def of(cls, schedule: Schedule) -> ColumnSchedule | None:
        """Return a schedule in columns; None if a step has bodies, may end the run or is evaluated with NumPy."""
        if isinstance(schedule, cls):
            return schedule
        steps = [step for step in schedule.steps if isinstance(step, KernelStep)]
        if len(steps) < len(schedule.steps) or any([s.kernel.abortable or s.bodies for s in steps]):
            return None
        # One name may stand for a product that is written and for one that is added: the operands say which.
        keys = [(step.kernel.name, step.kernel.operands) for step in steps]
        kernels = {key: step.kernel for key, step in zip(keys, steps, strict=True)}
        number_of = {key: i for i, key in enumerate(kernels)}
        tiles = list(dict.fromkeys([step.tile for step in steps if step.tile is not None]))
        number_of_tile: dict[RowTile | None, int] = {None: -1, **{tile: i for i, tile in enumerate(tiles)}}
        columns: list[Sequence[int]] = [
            [number_of[key] for key in keys],
            [len(step.storages) for step in steps],
            list(chain.from_iterable([step.storages for step in steps])),
            [len(step.sizes) for step in steps],
            [n - 2**64 if n >= 2**63 else n for step in steps for n in step.sizes],
            [step.tasks for step in steps],
            [step.work for step in steps],
            [number_of_tile[step.tile] for step in steps],
            [2 * len(step.overwritten) for step in steps],
            [storage for step in steps for pair in step.overwritten for storage in pair],
            schedule.offsets,
            schedule.lengths,
        ]
        return cls(
            schedule.program,
            list(kernels.values()),
            tiles,
            ScheduleColumns(*[np.array(column, np.int64) for column in columns]),
            schedule.outputs,
            schedule.results,
            schedule.arena,
            schedule.in_place,
            schedule.spare,
        )

    @property
    def kernels(self) -> Sequence[Kernel]:
        return self._kernels

    @property
    def bodies(self) -> Sequence[Schedule]:
        return ()

    @cached_property
    def steps(self) -> tuple[KernelStep, ...]:
        """The steps as objects."""
        columns = self.columns
        made = map(
            KernelStep,
            [self._kernels[number] for number in columns.kernels.tolist()],
            _parts(columns.storages, columns.storage_counts),
            _parts(columns.sizes, columns.size_counts),
            repeat(()),
            columns.tasks.tolist(),
            columns.work.tolist(),
            [None if number < 0 else self.tiles[number] for number in columns.tiles.tolist()],
            repeat(()),
            map(pairs_of, _parts(columns.overwritten, columns.overwritten_counts)),
        )
        return tuple(made)


def _parts(values: Ints, counts: Ints) -> list[tuple[int, ...]]:
    """Return consecutive parts of `values` with these lengths."""
    together, lengths = tuple(values.tolist()), counts.tolist()
    return [together[end - n : end] for n, end in zip(lengths, accumulate(lengths), strict=True)]
