"""Launch tables of a schedule: kernel calls for the driver, with NumPy steps between the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

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
)
from jittape.compile.kernels.control.control_plan import with_tables
from jittape.compile.kernels.tiled.emit_tiles import define_row_tiles
from jittape.compile.llvm.definition import Definition
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE
from jittape.compile.llvm.target import Effort
from jittape.compile.schedule.row_tiling import RowTile
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.buffers import address_of
from jittape.core.records import WORD
from jittape.core.tuning import tuning
from jittape.runtime.threads import MOST, announce_helper, pool_address
from jittape.runtime.workspace import Layout
from jittape.value_classes import value_class

__all__ = [
    "Clocks",
    "LaunchTable",
    "TableNumbers",
    "TableTemplate",
    "announce",
    "kernels_of",
    "segments",
    "table_numbers",
]

_TILE_LOOP = Definition("tiles", KERNEL_TYPE, define_row_tiles, Effort.LEAST)


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


def announce(schedules: Sequence[Schedule]) -> None:
    """Have the tile loop and the helpers, if the schedules need them, compiled together with the kernels."""
    steps = [step for one in schedules for step in one.steps if isinstance(step, KernelStep)]
    if any(step.tile is not None for step in steps):
        registry.announce(_TILE_LOOP)
    if _most_threads(steps) > 1:
        announce_helper()


def segments(
    schedule: Schedule, layout: Layout, addresses: dict[str, int], clocks: Clocks | None = None
) -> list[LaunchTable | NumpyStep]:
    """Return the steps of a schedule, with consecutive kernels joined to launch tables."""
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
    slots = np.array([cell_of[s] for step in steps for s in step.storages], np.int32)
    bodies = [[_body_table(body, addresses, clocks) for body in step.bodies] for step in steps]
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
    calls = np.zeros(len(steps), KERNEL_CALL.dtype)
    calls["kernel"] = [addresses[step.kernel.name] for step in steps]
    calls["slots"] = address_of(slots) + slots.itemsize * _starts([len(step.storages) for step in steps])
    calls["sizes"] = address_of(sizes) + sizes.itemsize * _starts([len(own) for own in words])
    calls["tasks"] = [ABORTABLE if step.kernel.abortable else step.tasks for step in steps]
    calls["threads"] = [_threads(step.tasks, step.work) for step in steps]
    table: list[Any] = [] if clock is None else [KERNEL_CALL.pack(**clock([]))]
    for tile, group in groupby(range(len(steps)), lambda i: steps[i].tile):
        numbers = list(group)
        found = calls[numbers[0] : numbers[-1] + 1]
        if tile is not None:
            blocks = _tile_table(tile, cell_of, cells, found)
            memory.append(blocks)
            loop = registry.address_of(_TILE_LOOP), 0, address_of(blocks), tile.groups, _threads_of_tile(tile)
            found = np.array([loop], KERNEL_CALL.dtype)
        if clock is None:
            table.append(found.view(np.int64))
            continue
        for i in range(len(found)):
            done = [steps[k] for k in (numbers[i : i + 1] if tile is None else numbers)]
            table += [found[i : i + 1].view(np.int64), KERNEL_CALL.pack(**clock(done))]
    count = sum(map(len, table)) // KERNEL_CALL.words
    head = LAUNCH_HEAD.pack(calls=count, pool=pool_address(_most_threads(steps)), runs=runs)
    launch = np.concatenate([np.array(head, np.int64), *table])
    return LaunchTable(address_of(launch), (launch, *memory))


def _starts(counts: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return where each of some stretches of these lengths begins, one after the other."""
    return np.cumsum([0, *counts])[:-1]


class TableNumbers(NamedTuple):
    """The numbers in a launch table that depend on extents.

    Attributes
    ----------
    sizes : sequence of int
        The sizes of all steps, one after the other, with 0 in place of the addresses of the bodies' tables.
    work : sequence of (int, int)
        The tasks and the work of each step.
    tiles : sequence of RowTile
        The tile loops.
    bodies : sequence of TableNumbers
        Of the bodies of all steps.
    """

    sizes: Sequence[int]
    work: Sequence[tuple[int, int]]
    tiles: Sequence[RowTile]
    bodies: Sequence[TableNumbers]


def table_numbers(steps: Sequence[KernelStep]) -> TableNumbers:
    """Return the numbers in the launch table of these steps."""
    return TableNumbers(
        tuple([n for step in steps for n in with_tables([0] * len(step.bodies), step.sizes)]),
        tuple([(step.tasks, step.work) for step in steps]),
        tuple(dict.fromkeys([step.tile for step in steps if step.tile is not None])),
        tuple([table_numbers(_kernel_steps(body)) for step in steps for body in step.bodies]),
    )


def kernels_of(steps: Sequence[KernelStep]) -> list[Kernel]:
    """Return the kernels of these steps and of their bodies."""
    inner = [kernels_of(_kernel_steps(body)) for step in steps for body in step.bodies]
    return [*[step.kernel for step in steps], *chain.from_iterable(inner)]


class _Call(NamedTuple):
    """A step's record in a launch table: its place, the kernel, and the place of the first size among all sizes."""

    at: int
    kernel: str
    first: int
    abortable: int
    is_tiled: bool


class TableTemplate:
    """Template of a launch table. It gives the table for other extents in a tenth of the time that `segments` takes.

    Parameters
    ----------
    steps : sequence of KernelStep
    cell_of : sequence of int
        The cell of each storage in the slot table.
    cells : int
        Number of cells of the slot table.
    """

    def __init__(self, steps: Sequence[KernelStep], cell_of: Sequence[int], cells: int) -> None:
        self._cell_of, self._cells = cell_of, cells
        self._slots = np.array([cell_of[s] for step in steps for s in step.storages], np.int32)
        self._bodies: list[tuple[int, TableTemplate]] = []
        self._calls: list[_Call] = []
        self._loops: list[tuple[int, int]] = []
        groups = [(tile, list(group)) for tile, group in groupby(steps, lambda step: step.tile)]
        calls = sum([len(group) if tile is None else 1 for tile, group in groups])
        self._words = LAUNCH_HEAD.pack(calls=calls, pool=0, runs=0)
        tables: list[int] = []
        first_table = len(self._words) + calls * KERNEL_CALL.words
        slot, count = address_of(self._slots), 0
        for tile, group in groups:
            if tile is not None:
                self._loops.append((len(self._words), first_table + len(tables)))
                loop = registry.address_of(_TILE_LOOP)
                self._words += KERNEL_CALL.pack(kernel=loop, slots=0, sizes=0, tasks=0, threads=0)
                tables += _tile_head(tile, cell_of, cells, len(group))
            for step in group:
                at = len(self._words) if tile is None else first_table + len(tables)
                abortable = ABORTABLE if step.kernel.abortable else 0
                self._calls.append(_Call(at, step.kernel.name, count, abortable, tile is not None))
                if tile is None:
                    self._words += KERNEL_CALL.pack(kernel=0, slots=slot, sizes=0, tasks=0, threads=0)
                else:
                    tables += TILE_STEP.pack(kernel=0, slots=slot, sizes=0)
                slot += self._slots.itemsize * len(step.storages)
                count += self._add_bodies(step, count) + len(step.sizes)
        self._words += tables

    def _add_bodies(self, step: KernelStep, first: int) -> int:
        """Add the templates of a step's bodies; return the number of words before the step's sizes."""
        tables = with_tables(range(-len(step.bodies), 0), ())
        for at, body in enumerate(step.bodies, len(tables) - len(step.bodies)):
            cells = _cells_of_body(body)
            self._bodies.append((first + at, TableTemplate(_kernel_steps(body), cells, len(cells))))
        return len(tables)

    def table(self, addresses: Mapping[str, int], numbers: TableNumbers) -> LaunchTable:
        """Return the launch table; `addresses` are those of the kernels by name."""
        words = [*self._words, *numbers.sizes]
        launch = np.empty(len(words), np.int64)
        memory: tuple[np.ndarray[Any, Any], ...] = (launch, self._slots)
        first, most = address_of(launch) + WORD * len(self._words), 1
        for (at, kernel, count, abortable, is_tiled), (tasks, time) in zip(
            self._calls, numbers.work, strict=True
        ):
            threads = _threads(tasks, time)
            most = max(most, threads)
            words[at + _KERNEL] = addresses[kernel]
            words[at + _SIZES] = first + WORD * count
            if not is_tiled:
                words[at + _TASKS] = abortable or tasks
                words[at + _THREADS] = threads
        for (at, table), tile in zip(self._loops, numbers.tiles, strict=True):
            words[at + _SIZES] = address_of(launch) + WORD * table
            words[at + _TASKS] = tile.groups
            words[at + _THREADS] = threads = _threads_of_tile(tile)
            most = max(most, threads)
            # The head has the same number of words for all extents.
            head = _tile_head(tile, self._cell_of, self._cells, words[table + _STEPS])
            words[table : table + len(head)] = head
        words[LAUNCH_HEAD.word("pool")] = pool_address(most)
        for (count, body), inner in zip(self._bodies, numbers.bodies, strict=True):
            made = body.table(addresses, inner)
            words[len(self._words) + count] = made.address
            memory += made.memory
        try:
            launch[:] = words
        except OverflowError:  # the bits of a negative float
            launch.view(np.uint64)[:] = [n & _MASK for n in words]
        return LaunchTable(address_of(launch), memory)


_KERNEL, _SIZES, _TASKS, _THREADS = map(KERNEL_CALL.word, ("kernel", "sizes", "tasks", "threads"))
_STEPS = TILE_HEAD.word("steps")
_MASK = 2**64 - 1


def _threads(tasks: int, work: int) -> int:
    """Return how many threads a step is worth."""
    return 1 if tasks == 1 else min(tasks or MOST, max(1, work // tuning.work_per_thread_ns))


def _threads_of_tile(tile: RowTile) -> int:
    """Return how many threads a tile loop is worth."""
    return min(tile.groups, max(1, tile.work // tuning.work_per_thread_ns))


def _most_threads(steps: Sequence[KernelStep]) -> int:
    tiles = [_threads_of_tile(s.tile) for s in steps if s.tile is not None]
    return max([*[_threads(s.tasks, s.work) for s in steps], *tiles], default=1)


def _tile_table(
    tile: RowTile, cell_of: Sequence[int], cells: int, calls: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the table of a tile loop over these calls."""
    words = _tile_head(tile, cell_of, cells, len(calls))
    for call in calls:
        words += TILE_STEP.pack(**{name: call[name] for name in TILE_STEP.names})
    return np.array(words, np.int64)


def _tile_head(tile: RowTile, cell_of: Sequence[int], cells: int, steps: int) -> list[int]:
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
    cells = _cells_of_body(body)
    return _launch_table(_kernel_steps(body), cells, len(cells), addresses, clocks, is_body=True)


def _cells_of_body(body: Schedule) -> range:
    return range(len(body.program.inputs) + len(body.results) + len(body.offsets))


def _kernel_steps(body: Schedule) -> list[KernelStep]:
    return [step for step in body.steps if isinstance(step, KernelStep)]
