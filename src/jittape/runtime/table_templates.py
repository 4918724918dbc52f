"""`TableTemplate`: launch tables of a schedule for any extents.

A table and the tables of its bodies are one array. Most of its words are the same for all extents: they are copied from
an array that is made once for the machine code of the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.records import WORD
from jittape.compile.ir.table_layouts import ABORTABLE, KERNEL_CALL, LAUNCH_HEAD, TILE_STEP, with_tables
from jittape.compile.schedule.steps import KernelStep, RowTile
from jittape.core.buffers import address_of
from jittape.core.symbolic.extents import Extent, applied
from jittape.runtime.launch_tables import (
    TILE_LOOP,
    LaunchTable,
    cells_of_body,
    kernel_steps,
    threads_of_step,
    threads_of_tile,
    tile_head,
)
from jittape.runtime.threads import pool_address

__all__ = ["TableTemplate"]

_MASK = 2**64 - 1


class TableTemplate:
    """Template of a launch table. It gives the table for other extents in a twentieth of the time of `segments`.

    Parameters
    ----------
    steps : sequence of KernelStep
        Steps with extents.
    cell_of : sequence of int
        The cell of each storage in the slot table.
    cells : int
        Number of cells of the slot table.

    Attributes
    ----------
    varying : tuple
        The numbers that `table` takes for other extents: the largest number of threads, and the words that vary.
    """

    def __init__(self, steps: Sequence[KernelStep], cell_of: Sequence[int], cells: int) -> None:
        self._words: list[Any] = []
        self._kernels: list[tuple[int, str]] = []
        self._tile_loops: list[int] = []
        self._pools: list[int] = []
        self._pointers: list[tuple[int, int]] = []
        self._threads: list[Any] = []
        self._slots: list[int] = []
        self._slot_pointers: list[tuple[int, int]] = []
        self._add_table(steps, cell_of, cells)
        self._slot_array = np.array(self._slots, np.int32)
        self._slot_itemsize = self._slot_array.itemsize
        self._pointer_at = np.array([at for at, _ in self._pointers], np.intp)
        self._pointer_to = np.array([WORD * to for _, to in self._pointers], np.int64)
        places = [(at, word) for at, word in enumerate(self._words) if word.__class__ is Extent]
        # By the terms: extents that are hashed themselves would have to be in general position.
        distinct = {word._terms: word for _, word in places}
        number_of = {terms: number for number, terms in enumerate(distinct, 1)}
        self._varying_at = np.array([at for at, _ in places], np.intp)
        self._which = np.array([number_of[word._terms] for _, word in places], np.intp)
        self.varying = (_most(self._threads), *distinct.values())
        for at, _ in places:
            self._words[at] = 0
        self._addresses: Mapping[str, int] | None = None
        self._base: np.ndarray[Any, Any]

    def table(self, addresses: Mapping[str, int]) -> LaunchTable:
        """Return a launch table for `write`; `addresses` are those of the kernels by name."""
        if self._addresses is not addresses:
            self._base, self._addresses = self._base_for(addresses), addresses
        launch = self._base.copy()
        address = address_of(launch)
        launch[self._pointer_at] = self._pointer_to + address
        return LaunchTable(address, (launch, self._slot_array))

    def write(self, table: LaunchTable, values: Sequence[int]) -> None:
        """Write the words for these values of `varying` into a launch table."""
        pool_address(values[0])  # starts the threads that the table is worth
        try:
            numbers = np.array(values, np.int64)
        except OverflowError:  # the bits of a negative float
            numbers = np.array([n & _MASK for n in values], np.uint64).view(np.int64)
        table.memory[0][self._varying_at] = numbers[self._which]

    def _base_for(self, addresses: Mapping[str, int]) -> np.ndarray[Any, Any]:
        """Return the words that are the same for all extents."""
        words = list(self._words)
        for at, name in self._kernels:
            words[at] = addresses[name]
        for at in self._tile_loops:
            words[at] = registry.address_of(TILE_LOOP)
        for at in self._pools:
            words[at] = pool_address(1)
        first = address_of(self._slot_array)
        for at, slot in self._slot_pointers:
            words[at] = first + self._slot_itemsize * slot
        return np.array([n & _MASK for n in words], np.uint64).view(np.int64)

    def _add_table(self, steps: Sequence[KernelStep], cell_of: Sequence[int], cells: int) -> int:
        """Add a table, and the tables of its bodies after it; return the place of its first word."""
        groups = [list(group) for _, group in groupby(steps, lambda step: id(step.tile))]
        count = sum([len(group) if group[0].tile is None else 1 for group in groups])
        first = len(self._words)
        self._pools.append(first + LAUNCH_HEAD.word("pool"))
        self._words += LAUNCH_HEAD.pack(calls=count, pool=0, runs=0)
        at = len(self._words)
        self._words += [0] * (count * KERNEL_CALL.words)
        for group in groups:
            tile = group[0].tile
            if tile is not None:
                self._add_tile(at, tile, group, cell_of, cells)
                at += KERNEL_CALL.words
                continue
            for step in group:
                self._add_call(at, step, cell_of)
                at += KERNEL_CALL.words
        return first

    def _add_call(self, at: int, step: KernelStep, cell_of: Sequence[int]) -> None:
        threads = threads_of_step(step.tasks, step.work)
        tasks = ABORTABLE if step.kernel.abortable else step.tasks
        self._threads.append(threads)
        call = KERNEL_CALL.pack(kernel=0, slots=0, sizes=0, tasks=tasks, threads=threads)
        self._words[at : at + len(call)] = call
        self._add_operands(at, step, cell_of)

    def _add_tile(
        self, at: int, tile: RowTile, steps: Sequence[KernelStep], cell_of: Sequence[int], cells: int
    ) -> None:
        threads = threads_of_tile(tile)
        self._threads += [threads, *[threads_of_step(step.tasks, step.work) for step in steps]]
        loop = KERNEL_CALL.pack(kernel=0, slots=0, sizes=0, tasks=tile.groups, threads=threads)
        self._words[at : at + len(loop)] = loop
        self._tile_loops.append(at + KERNEL_CALL.word("kernel"))
        self._pointers.append((at + KERNEL_CALL.word("sizes"), len(self._words)))
        self._words += tile_head(tile, cell_of, cells, len(steps))
        inner = len(self._words)
        self._words += [0] * (len(steps) * TILE_STEP.words)
        for i, step in enumerate(steps):
            self._add_operands(inner + i * TILE_STEP.words, step, cell_of)

    def _add_operands(self, at: int, step: KernelStep, cell_of: Sequence[int]) -> None:
        """Note the addresses in a `KERNEL_CALL` or `TILE_STEP`, and add the sizes and the tables of the bodies."""
        self._kernels.append((at + _KERNEL, step.kernel.name))
        self._slot_pointers.append((at + _SLOTS, len(self._slots)))
        self._slots += [cell_of[storage] for storage in step.storages]
        sizes = len(self._words)
        self._pointers.append((at + _SIZES, sizes))
        self._words += with_tables([0] * len(step.bodies), step.sizes)
        body_at = len(self._words) - len(step.sizes) - len(step.bodies)
        for i, body in enumerate(step.bodies):
            frame = cells_of_body(body)
            self._pointers.append((body_at + i, self._add_table(kernel_steps(body), frame, len(frame))))


_KERNEL, _SLOTS, _SIZES = map(KERNEL_CALL.word, ("kernel", "slots", "sizes"))
assert tuple(map(TILE_STEP.word, ("kernel", "slots", "sizes"))) == (_KERNEL, _SLOTS, _SIZES)


def _most(threads: Sequence[Any]) -> Any:
    """Return the largest number; it may be an extent."""
    distinct = {n._terms if n.__class__ is Extent else n: n for n in threads}
    found = list(distinct.values())
    return applied(max, 1, *found) if found else 1
