"""From steps to what runs them: tables of kernel calls for the driver, with NumPy steps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from jittape.compile.cache.emit_kernel import Definition
from jittape.compile.cache.kernel_cache import registry
from jittape.compile.kernels.tiled.emit_tiles import define_row_tiles
from jittape.compile.llvm.driver import WATCHED
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE
from jittape.compile.llvm.target import Effort
from jittape.compile.schedule.row_tiling import RowTile
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.buffers import address_of
from jittape.core.tuning import tuning
from jittape.runtime.threads import MOST, announce_helper, cells_address
from jittape.runtime.workspace import Layout

__all__ = ["Calls", "announce", "segments"]

_STRIP = Definition("strip", KERNEL_TYPE, define_row_tiles, Effort.LEAST)


@dataclass(frozen=True)
class Calls:
    """Kernel calls in a row: the driver's table and what it points to."""

    address: int
    memory: tuple[np.ndarray[Any, Any], ...]


def announce(schedules: Sequence[Schedule]) -> None:
    """Have what the tables of these will need besides kernels compiled together with the kernels."""
    steps = [step for one in schedules for step in one.steps if isinstance(step, KernelStep)]
    if any(step.tile is not None for step in steps):
        registry.announce(_STRIP)
    if _most_threads(steps) > 1:
        announce_helper()


def segments(schedule: Schedule, layout: Layout, addresses: dict[str, int]) -> list[Calls | NumpyStep]:
    """The steps with runs of kernels joined to tables."""
    cell_of, count = layout.cell_of, layout.cells
    found: list[Calls | NumpyStep] = []
    run: list[KernelStep] = []
    for step in schedule.steps:
        if isinstance(step, KernelStep):
            run.append(step)
            continue
        if run:
            found.append(_calls(run, cell_of, count, addresses))
            run = []
        found.append(step)
    if run:
        found.append(_calls(run, cell_of, count, addresses))
    return found


def _calls(steps: list[KernelStep], cell_of: Sequence[int], count: int, addresses: dict[str, int]) -> Calls:
    """The table of these steps; `count` is that of the cells."""
    slots = np.array([cell_of[s] for step in steps for s in step.storages], np.int32)
    bodies = [[_body_calls(body, addresses) for body in step.bodies] for step in steps]
    words = [_table_words(own) + list(step.sizes) for own, step in zip(bodies, steps, strict=True)]
    sizes = np.array([n % 2**64 for own in words for n in own] or [0], np.uint64)
    threads = [_threads(step) for step in steps]
    table = [0, cells_address(_most_threads(steps))]
    slot, size = address_of(slots), address_of(sizes)
    memory: list[np.ndarray[Any, Any]] = [
        slots,
        sizes,
        *[a for own in bodies for body in own for a in body.memory],
    ]
    rows: list[list[int]] = []
    for step, own, worth in zip(steps, words, threads, strict=True):
        tasks = WATCHED if step.kernel.watched else step.tasks
        rows.append([addresses[step.kernel.name], slot, size, tasks, worth])
        slot += 4 * len(step.storages)
        size += 8 * len(own)
    for strip, group in groupby(range(len(steps)), lambda i: steps[i].tile):
        found = [rows[i] for i in group]
        if strip is not None:
            blocks = _strip_table(strip, cell_of, count, found)
            memory.append(blocks)
            worth = min(strip.groups, max(1, strip.work // tuning.work_per_thread_ns))
            found = [[registry.own(_STRIP), 0, address_of(blocks), strip.groups, worth]]
        for row in found:
            table += row
        table[0] += len(found)
    calls = np.array(table, np.int64)
    return Calls(address_of(calls), (calls, *memory))


def _threads(step: KernelStep) -> int:
    """How many threads a step is worth."""
    return min(step.tasks or MOST, max(1, step.work // tuning.work_per_thread_ns))


def _most_threads(steps: Sequence[KernelStep]) -> int:
    strips = [
        min(s.tile.groups, s.tile.work // tuning.work_per_thread_ns) for s in steps if s.tile is not None
    ]
    return max([*map(_threads, steps), *strips], default=1)


def _strip_table(
    strip: RowTile, cell_of: Sequence[int], cells: int, rows: list[list[int]]
) -> np.ndarray[Any, Any]:
    """What `stripper` reads: see there."""
    share = -(-strip.blocks // strip.groups)
    words = [cells, strip.blocks, share, strip.region, len(strip.moved), len(rows)]
    for storage, nbytes in strip.moved:
        words += [cell_of[storage], nbytes]
    for row in rows:
        words += row[:3]
    return np.array(words, np.int64)


def _body_calls(body: Schedule, addresses: dict[str, int]) -> Calls:
    """The table of a body, in whose frame every storage has the cell of its own number."""
    cells = range(len(body.program.inputs) + len(body.results) + len(body.offsets))
    return _calls([s for s in body.steps if isinstance(s, KernelStep)], cells, len(cells), addresses)


def _table_words(bodies: list[Calls]) -> list[int]:
    """What comes before the words of a plan: the tables' addresses, and how many if there may be several."""
    found = [body.address for body in bodies]
    return found if len(found) < 2 else [len(found), *found]
