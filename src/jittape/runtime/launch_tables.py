"""Launch tables of a schedule: kernel calls for the driver, with NumPy steps between the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from jittape.compile.cache.emit_kernel import Definition
from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.table_layouts import (
    ABORTABLE,
    KERNEL_CALL,
    LAUNCH_HEAD,
    TILE_HEAD,
    TILE_STEP,
    TILE_TEMPORARY,
)
from jittape.compile.kernels.control.control_plan import with_tables
from jittape.compile.kernels.tiled.emit_tiles import define_row_tiles
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE
from jittape.compile.llvm.target import Effort
from jittape.compile.schedule.row_tiling import RowTile
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.buffers import address_of
from jittape.core.records import WORD
from jittape.core.tuning import tuning
from jittape.runtime.threads import MOST, announce_helper, pool_address
from jittape.runtime.workspace import Layout

__all__ = ["LaunchTable", "TableTemplate", "announce", "segments"]

_TILE_LOOP = Definition("tiles", KERNEL_TYPE, define_row_tiles, Effort.LEAST)


@dataclass(frozen=True)
class LaunchTable:
    """Consecutive kernel calls: the launch table and the arrays that it points to."""

    address: int
    memory: tuple[np.ndarray[Any, Any], ...]


def announce(schedules: Sequence[Schedule]) -> None:
    """Have the tile loop and the helpers, if the schedules need them, compiled together with the kernels."""
    steps = [step for one in schedules for step in one.steps if isinstance(step, KernelStep)]
    if any(step.tile is not None for step in steps):
        registry.announce(_TILE_LOOP)
    if _most_threads(steps) > 1:
        announce_helper()


def segments(schedule: Schedule, layout: Layout, addresses: dict[str, int]) -> list[LaunchTable | NumpyStep]:
    """Return the steps of a schedule, with consecutive kernels joined to launch tables."""
    found: list[LaunchTable | NumpyStep] = []
    for _, group in groupby(schedule.steps, lambda step: isinstance(step, KernelStep)):
        steps = list(group)
        kernels = [step for step in steps if isinstance(step, KernelStep)]
        if kernels:
            found.append(_launch_table(kernels, layout.cell_of, layout.cells, addresses))
        else:
            found += [step for step in steps if isinstance(step, NumpyStep)]
    return found


def _launch_table(
    steps: list[KernelStep], cell_of: Sequence[int], cells: int, addresses: dict[str, int]
) -> LaunchTable:
    """Return the launch table of these steps, on a slot table of `cells` cells."""
    slots = np.array([cell_of[s] for step in steps for s in step.storages], np.int32)
    bodies = [[_body_table(body, addresses) for body in step.bodies] for step in steps]
    words = [
        with_tables([body.address for body in own], step.sizes)
        for own, step in zip(bodies, steps, strict=True)
    ]
    sizes = np.array([n % 2**64 for own in words for n in own] or [0], np.uint64)
    memory: list[np.ndarray[Any, Any]] = [
        slots,
        sizes,
        *[a for own in bodies for body in own for a in body.memory],
    ]
    slot, size = address_of(slots), address_of(sizes)
    calls: list[dict[str, int]] = []
    for step, own in zip(steps, words, strict=True):
        tasks = ABORTABLE if step.kernel.abortable else step.tasks
        address, worth = addresses[step.kernel.name], _threads(step.tasks, step.work)
        calls.append({"kernel": address, "slots": slot, "sizes": size, "tasks": tasks, "threads": worth})
        slot += slots.itemsize * len(step.storages)
        size += sizes.itemsize * len(own)
    table: list[int] = []
    for tile, group in groupby(range(len(steps)), lambda i: steps[i].tile):
        found = [calls[i] for i in group]
        if tile is not None:
            blocks = _tile_table(tile, cell_of, cells, found)
            memory.append(blocks)
            address, size = registry.address_of(_TILE_LOOP), address_of(blocks)
            worth = min(tile.groups, max(1, tile.work // tuning.work_per_thread_ns))
            found = [{"kernel": address, "slots": 0, "sizes": size, "tasks": tile.groups, "threads": worth}]
        for call in found:
            table += KERNEL_CALL.pack(**call)
    head = LAUNCH_HEAD.pack(calls=len(table) // KERNEL_CALL.words, pool=pool_address(_most_threads(steps)))
    launch = np.array([*head, *table], np.int64)
    return LaunchTable(address_of(launch), (launch, *memory))


class TableTemplate:
    """The launch table of kernels for other numbers, in a tenth of the time that `segments` takes.

    Parameters
    ----------
    steps : sequence of KernelStep
        Steps without bodies and tile loops.
    layout : Layout
    """

    def __init__(self, steps: Sequence[KernelStep], layout: Layout) -> None:
        cells = [layout.cell_of[s] for step in steps for s in step.storages]
        self._slots = np.array(cells, np.int32)
        self._words = LAUNCH_HEAD.pack(calls=len(steps), pool=0)
        self._calls: list[tuple[str, int, int]] = []
        slot, count = address_of(self._slots), 0
        for step in steps:
            self._calls.append((step.kernel.name, count, ABORTABLE if step.kernel.abortable else 0))
            self._words += KERNEL_CALL.pack(kernel=0, slots=slot, sizes=0, tasks=0, threads=0)
            slot += self._slots.itemsize * len(step.storages)
            count += len(step.sizes)

    def table(
        self, addresses: Mapping[str, int], sizes: Sequence[int], work: Sequence[tuple[int, int]]
    ) -> LaunchTable:
        """Return the launch table.

        Parameters
        ----------
        addresses : mapping
            Addresses of the kernels by name.
        sizes : sequence of int
            The sizes of all steps, one after the other.
        work : sequence of (int, int)
            The tasks and the work of each step.
        """
        words = [*self._words, *sizes]
        launch = np.empty(len(words), np.int64)
        first = address_of(launch) + WORD * len(self._words)
        at, most = LAUNCH_HEAD.words, 1
        for (name, count, abortable), (tasks, time) in zip(self._calls, work, strict=True):
            threads = _threads(tasks, time)
            most = max(most, threads)
            words[at + _KERNEL] = addresses[name]
            words[at + _SIZES] = first + WORD * count
            words[at + _TASKS] = abortable or tasks
            words[at + _THREADS] = threads
            at += KERNEL_CALL.words
        words[LAUNCH_HEAD.word("pool")] = pool_address(most)
        try:
            launch[:] = words
        except OverflowError:  # the bits of a negative float
            launch.view(np.uint64)[:] = [n & _MASK for n in words]
        return LaunchTable(address_of(launch), (launch, self._slots))


_KERNEL, _SIZES, _TASKS, _THREADS = map(KERNEL_CALL.word, ("kernel", "sizes", "tasks", "threads"))
_MASK = 2**64 - 1


def _threads(tasks: int, work: int) -> int:
    """Return how many threads a step is worth."""
    return 1 if tasks == 1 else min(tasks or MOST, max(1, work // tuning.work_per_thread_ns))


def _most_threads(steps: Sequence[KernelStep]) -> int:
    tiles = [
        min(s.tile.groups, s.tile.work // tuning.work_per_thread_ns) for s in steps if s.tile is not None
    ]
    return max([*[_threads(s.tasks, s.work) for s in steps], *tiles], default=1)


def _tile_table(
    tile: RowTile, cell_of: Sequence[int], cells: int, calls: list[dict[str, int]]
) -> np.ndarray[Any, Any]:
    """Return the table of a tile loop over these calls."""
    words = TILE_HEAD.pack(
        cells=cells,
        blocks=tile.blocks,
        share=-(-tile.blocks // tile.groups),
        region=tile.region,
        temporaries=len(tile.moved),
        steps=len(calls),
    )
    for storage, nbytes in tile.moved:
        words += TILE_TEMPORARY.pack(cell=cell_of[storage], nbytes=nbytes)
    for call in calls:
        words += TILE_STEP.pack(**{name: call[name] for name in TILE_STEP.names})
    return np.array(words, np.int64)


def _body_table(body: Schedule, addresses: dict[str, int]) -> LaunchTable:
    """Return the launch table of a body, in whose frame each storage has the cell of its own number."""
    cells = range(len(body.program.inputs) + len(body.results) + len(body.offsets))
    return _launch_table([s for s in body.steps if isinstance(s, KernelStep)], cells, len(cells), addresses)
