"""Launch tables of a schedule: kernel calls for the driver, with NumPy steps between the tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.table_layouts import (
    ABORTABLE,
    KERNEL_CALL,
    LAUNCH_HEAD,
    TILE_HEAD,
    TILE_STEP,
    TILE_TEMPORARY,
    with_tables,
)
from jittape.compile.llvm.definition import Definition, Effort, FunctionKind
from jittape.compile.schedule.column_schedule import ColumnSchedule
from jittape.compile.schedule.steps import KernelStep, NumpyStep, RowTile, Schedule
from jittape.core.buffers import address_of
from jittape.core.symbolic.extents import applied
from jittape.core.tuning import tuning
from jittape.runtime.threads import MOST, announce_helper, pool_address
from jittape.runtime.workspace import Layout
from jittape.value_classes import NamedTuple, value_class

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = [
    "TILE_LOOP",
    "Clocks",
    "LaunchTable",
    "announce",
    "cells_of_body",
    "kernel_steps",
    "kernels_of",
    "segments",
    "threads_of_step",
    "threads_of_tile",
    "tile_head",
]


def _define_tiles(function: ir.Function) -> None:
    from jittape.compile.kernels.tiled.emit_tiles import define_row_tiles

    define_row_tiles(function)


TILE_LOOP = Definition("tiles", FunctionKind.KERNEL, _define_tiles, Effort.LEAST)
"""The loop over the blocks of a row tile."""


class Clocks(NamedTuple):
    """Additions of a profile to launch tables.

    Attributes
    ----------
    call : callable
        Returns the call of a clock for the steps that ran since the clock before it; none at the start of a table.
    counter : callable
        Returns the address of a new counter of the runs of a body. Bodies come in the order of `with_bodies`.
    """

    call: Callable[[Sequence[KernelStep]], dict[str, int]]
    counter: Callable[[], int]


@value_class
class LaunchTable:
    """Consecutive kernel calls: the launch table and the arrays that it points to."""

    address: int
    memory: tuple[np.ndarray[Any, Any], ...]

    @property
    def may_abort(self) -> bool:
        """Whether a kernel may abort a run."""
        launch = self.memory[0].tolist()
        count = LAUNCH_HEAD.unpack(launch)["calls"]
        calls = KERNEL_CALL.unpack_array(launch, LAUNCH_HEAD.words, count)
        return any(call["tasks"] == ABORTABLE for call in calls)


def announce(schedules: Sequence[Schedule]) -> None:
    """Have the tile loop and the helpers, if the schedules need them, compiled together with the kernels."""
    columns = [one for one in schedules if isinstance(one, ColumnSchedule)]
    others = [one for one in schedules if not isinstance(one, ColumnSchedule)]
    steps = [step for one in others for step in kernel_steps(one)]
    if any([one.tiles for one in columns]) or any(step.tile is not None for step in steps):
        registry.announce(TILE_LOOP)
    if max([_most_threads(steps), *map(_most_threads_of_columns, columns)]) > 1:
        announce_helper()


def segments(
    schedule: Schedule, layout: Layout, addresses: dict[str, int], clocks: Clocks | None = None
) -> list[LaunchTable | NumpyStep]:
    """Return the steps of a schedule, with consecutive kernels joined to launch tables."""
    if isinstance(schedule, ColumnSchedule) and len(schedule.columns.kernels) and clocks is None:
        return [_table_of_columns(schedule, layout.cell_of, layout.cells, addresses)]
    found: list[LaunchTable | NumpyStep] = []
    for _, group in groupby(schedule.steps, lambda step: isinstance(step, KernelStep)):
        steps = list(group)
        kernels = [step for step in steps if isinstance(step, KernelStep)]
        if kernels:
            found.append(_launch_table(kernels, layout.cell_of, layout.cells, addresses, clocks))
        else:
            found += [step for step in steps if isinstance(step, NumpyStep)]
    return found


def _launch_table(
    steps: list[KernelStep],
    cell_of: Sequence[int],
    cells: int,
    addresses: dict[str, int],
    clocks: Clocks | None = None,
    is_body: bool = False,
) -> LaunchTable:
    """Return the launch table of these steps, on a slot table of `cells` cells."""
    runs = 0 if clocks is None or not is_body else clocks.counter()
    clock = None if clocks is None or is_body else clocks.call
    storages = chain.from_iterable([step.storages for step in steps])
    slots = np.array(list(map(cell_of.__getitem__, storages)), np.int32)
    bodies = [[_body_table(body, addresses, clocks) for body in step.bodies] for step in steps]
    words = [
        with_tables([body.address for body in own], step.sizes) if own else step.sizes
        for own, step in zip(bodies, steps, strict=True)
    ]
    sizes = _as_words(list(chain.from_iterable(words)) or [0])
    memory: list[np.ndarray[Any, Any]] = [
        slots,
        sizes,
        *[a for own in bodies for body in own for a in body.memory],
    ]
    calls = np.zeros(len(steps), KERNEL_CALL.dtype)
    calls["kernel"] = [addresses[step.kernel.name] for step in steps]
    calls["slots"] = address_of(slots) + slots.itemsize * _starts([len(step.storages) for step in steps])
    calls["sizes"] = address_of(sizes) + sizes.itemsize * _starts([len(own) for own in words])
    calls["tasks"] = [ABORTABLE if step.kernel.abortable else step.tasks for step in steps]
    threads = [threads_of_step(step.tasks, step.work) for step in steps]
    calls["threads"] = threads
    table: list[Any] = [] if clock is None else [KERNEL_CALL.pack(**clock([]))]
    for _, group in groupby(range(len(steps)), lambda i: id(steps[i].tile)):
        numbers = list(group)
        tile = steps[numbers[0]].tile
        found = calls[numbers[0] : numbers[-1] + 1]
        if tile is not None:
            found = _tile_loop(tile, cell_of, cells, found, memory)
        if clock is None:
            table.append(found.view(np.int64))
            continue
        for i in range(len(found)):
            done = [steps[k] for k in (numbers[i : i + 1] if tile is None else numbers)]
            table += [found[i : i + 1].view(np.int64), KERNEL_CALL.pack(**clock(done))]
    return _joined(table, max(threads + _threads_of_tiles(steps), default=1), memory, runs)


def _table_of_columns(
    schedule: ColumnSchedule, cell_of: Sequence[int], cells: int, addresses: dict[str, int]
) -> LaunchTable:
    """Return the launch table of a schedule in columns, as `_launch_table` does from its steps."""
    columns = schedule.columns
    slots, sizes = np.array(cell_of, np.int32)[columns.storages], columns.sizes
    memory: list[np.ndarray[Any, Any]] = [slots, sizes]
    calls = np.zeros(len(columns.kernels), KERNEL_CALL.dtype)
    calls["kernel"] = np.array([addresses[kernel.name] for kernel in schedule.kernels])[columns.kernels]
    calls["slots"] = address_of(slots) + slots.itemsize * _starts(columns.storage_counts)
    calls["sizes"] = address_of(sizes) + sizes.itemsize * _starts(columns.size_counts)
    calls["tasks"] = columns.tasks
    calls["threads"] = _threads_of_columns(schedule)
    table: list[Any] = []
    starts = [0, *(np.flatnonzero(np.diff(columns.tiles)) + 1).tolist()]
    for first, end in zip(starts, [*starts[1:], len(calls)], strict=True):
        found, number = calls[first:end], columns.tiles[first]
        if number >= 0:
            found = _tile_loop(schedule.tiles[number], cell_of, cells, found, memory)
        table.append(found.view(np.int64))
    return _joined(table, _most_threads_of_columns(schedule), memory)


def _joined(
    table: list[Any], threads: int, memory: Sequence[np.ndarray[Any, Any]], runs: int = 0
) -> LaunchTable:
    """Return the launch table of the words of its calls."""
    count = sum(map(len, table)) // KERNEL_CALL.words
    head = LAUNCH_HEAD.pack(calls=count, pool=pool_address(threads), runs=runs)
    launch = np.concatenate([np.array(head, np.int64), *table])
    return LaunchTable(address_of(launch), (launch, *memory))


def _tile_loop(
    tile: RowTile,
    cell_of: Sequence[int],
    cells: int,
    calls: np.ndarray[Any, Any],
    memory: list[np.ndarray[Any, Any]],
) -> np.ndarray[Any, Any]:
    """Return the call of the tile loop over `calls`; add its table to `memory`."""
    blocks = _tile_table(tile, cell_of, cells, calls)
    memory.append(blocks)
    loop = registry.address_of(TILE_LOOP), 0, address_of(blocks), tile.groups, threads_of_tile(tile)
    return np.array([loop], KERNEL_CALL.dtype)


def _as_words(numbers: list[int]) -> np.ndarray[Any, Any]:
    """Return numbers modulo 2**64 as words."""
    try:
        return np.array(numbers, np.int64)
    except OverflowError:  # the bits of a negative float
        return np.array([n % 2**64 for n in numbers], np.uint64).view(np.int64)


def _starts(counts: Sequence[int] | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return where each of some stretches of these lengths begins, one after the other."""
    lengths = np.asarray(counts, np.int64)
    return np.cumsum(lengths) - lengths


def kernels_of(steps: Sequence[KernelStep]) -> list[Kernel]:
    """Return the kernels of these steps and of their bodies."""
    inner = [kernels_of(kernel_steps(body)) for step in steps for body in step.bodies]
    return [*[step.kernel for step in steps], *chain.from_iterable(inner)]


def threads_of_step(tasks: int, work: int) -> int:
    """Return how many threads a step is worth."""
    if tasks.__class__ is int and tasks == 1:
        return 1
    return applied(_threads_of_step, tasks, work)


def _threads_of_step(tasks: int, work: int) -> int:
    return 1 if tasks == 1 else min(tasks or MOST, max(1, work // tuning.work_per_thread_ns))


def threads_of_tile(tile: RowTile) -> int:
    """Return how many threads a tile loop is worth."""
    return applied(_threads_of_tile, tile.groups, tile.work)


def _threads_of_tile(groups: int, work: int) -> int:
    return min(groups, max(1, work // tuning.work_per_thread_ns))


def _most_threads(steps: Sequence[KernelStep]) -> int:
    return max([threads_of_step(s.tasks, s.work) for s in steps] + _threads_of_tiles(steps), default=1)


def _threads_of_tiles(steps: Sequence[KernelStep]) -> list[int]:
    return [threads_of_tile(s.tile) for s in steps if s.tile is not None]


def _threads_of_columns(schedule: ColumnSchedule) -> np.ndarray[Any, Any]:
    """Return how many threads each step is worth."""
    tasks, work = schedule.columns.tasks, schedule.columns.work
    parts = np.where(tasks == 0, MOST, tasks)
    return np.where(tasks == 1, 1, np.minimum(parts, np.maximum(1, work // tuning.work_per_thread_ns)))


def _most_threads_of_columns(schedule: ColumnSchedule) -> int:
    tiles = [threads_of_tile(tile) for tile in schedule.tiles]
    return max([int(_threads_of_columns(schedule).max(initial=1)), *tiles])


def _tile_table(
    tile: RowTile, cell_of: Sequence[int], cells: int, calls: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the table of a tile loop over these calls."""
    words = tile_head(tile, cell_of, cells, len(calls))
    for call in calls:
        words += TILE_STEP.pack(**{name: call[name] for name in TILE_STEP.names})
    return np.array(words, np.int64)


def tile_head(tile: RowTile, cell_of: Sequence[int], cells: int, steps: int) -> list[int]:
    """Return the words before the steps of a tile loop's table."""
    words: list[int] = TILE_HEAD.pack(
        cells=cells,
        blocks=tile.blocks,
        share=-(-tile.blocks // tile.groups),
        region=tile.region,
        temporaries=len(tile.moved),
        steps=steps,
    )
    for storage, nbytes in tile.moved:
        words += TILE_TEMPORARY.pack(cell=cell_of[storage], nbytes=nbytes)
    return words


def _body_table(body: Schedule, addresses: dict[str, int], clocks: Clocks | None) -> LaunchTable:
    """Return the launch table of a body, in whose frame each storage has the cell of its own number."""
    cells = cells_of_body(body)
    return _launch_table(kernel_steps(body), cells, len(cells), addresses, clocks, is_body=True)


def cells_of_body(body: Schedule) -> range:
    """Return the cell of each storage of a body in its frame."""
    return range(len(body.program.inputs) + len(body.results) + len(body.offsets))


def kernel_steps(body: Schedule) -> list[KernelStep]:
    """Return the steps of a body, which are kernels."""
    return [step for step in body.steps if isinstance(step, KernelStep)]
