"""`Workspace`: the memory of one run at a time of an executable; every thread that runs takes one of its own.

One `struct` call writes the inputs into the *slot table*. Temporaries are in an arena; a large arena comes from the
pool for one run.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from copy import copy
from ctypes import memset
from functools import cache
from sys import getrefcount
from typing import Any

import numpy as np

from jittape.compile.ir.records import WORD
from jittape.compile.schedule.steps import NumpyStep, Schedule
from jittape.core.buffers import LARGE, Buffer, address_of, allocate
from jittape.core.dtypes import info_of
from jittape.core.interpret import run_ops
from jittape.core.program import ALIGNMENT, Aval, Program, is_dynamic_dim
from jittape.core.tuning import tuning
from jittape.runtime.result_memory import ResultMemory

__all__ = ["CELL", "Input", "Layout", "PoisonedWorkspace", "Workspace", "array_of"]

Input = Buffer | bool | int | float | complex

CELL = WORD
"""Size of an entry of the slot table, in bytes."""

_LARGEST_RATIO = 8
"""Maximum ratio of the memory that an arena takes from the pool to its size: the memory is free again after the run."""
POISON = 0xFF
"""Byte that memory without a value is filled with (`config.poison_memory`)."""


class Layout:
    """Layout of the slot table.

    It has a cell for every input (an address, or the raw value of a scalar) and for the address of every result, which
    change from run to run. The addresses of temporaries and of the scalars' cells follow.
    """

    def __init__(self, program: Program, scalar_inputs: frozenset[int], schedule: Schedule) -> None:
        self.count = len(program.inputs)
        self.results = schedule.results
        self.scalar_dtypes = [
            program.avals[slot].dtype if slot in scalar_inputs else None for slot in program.inputs
        ]
        # A complex scalar does not fit a cell; each run makes it a 0-d array.
        self.boxed = [
            i for i, d in enumerate(self.scalar_dtypes) if d is not None and info_of(d).scalar_format is None
        ]
        formats = ["Q" if d is None else info_of(d).scalar_format or "Q" for d in self.scalar_dtypes]
        unsigned = self.unsigned_scalars()
        self.raw = [i for i, text in enumerate(formats) if text != "Q" or i in unsigned]
        self.is_raw = [text != "Q" or i in unsigned for i, text in enumerate(formats)]
        self.pack_into = struct.Struct("=" + "".join(formats)).pack_into
        first = self.count + len(self.results)
        self.temporaries = first
        self.scalar_pointers = first + len(schedule.offsets)
        self.cells = self.scalar_pointers + len(self.raw)
        self.cell_of = list(range(self.scalar_pointers))
        for position, i in enumerate(self.raw):
            self.cell_of[i] = self.scalar_pointers + position
        self.plain_outputs = schedule.outputs == tuple(range(self.count, first))

    def with_results(self, results: tuple[Aval, ...]) -> Layout:
        """Return the layout for results of other extents."""
        if results is self.results:
            return self
        other = copy(self)
        other.results = results
        return other

    def unsigned_scalars(self) -> set[int]:
        """Return the inputs that are uint64 scalars, whose format is that of an address."""
        return {i for i, d in enumerate(self.scalar_dtypes) if d is not None and d == np.uint64}


class Workspace:
    """The slot table, the arena and the result buffers of one run at a time."""

    __slots__ = (
        "_arena",
        "_arena_address",
        "_arena_aval",
        "_boxed",
        "_first",
        "_grown",
        "_in_place",
        "_last",
        "_layout",
        "_offsets",
        "_pack_results",
        "_program",
        "_results",
        "_stacks",
        "_table",
        "_temporaries",
        "address",
        "cells",
        "keeps_arena",
        "stacks_address",
    )

    def __init__(self, schedule: Schedule, layout: Layout) -> None:
        self._program = schedule.program
        self._layout = layout
        self._table = _aligned(max(1, layout.cells) * CELL)
        self.address = address_of(self._table)
        self.cells = self._table.data
        cells = self._table.view(np.int64)
        for position, i in enumerate(layout.raw):
            cells[layout.scalar_pointers + position] = self.address + CELL * i
        self._offsets = schedule.offsets
        self._temporaries = cells[layout.temporaries : layout.scalar_pointers]
        self._arena_aval = Aval((schedule.arena,), np.dtype(np.uint8))
        self._arena: Buffer | None = None
        self._arena_address = 0
        self.keeps_arena = schedule.arena < tuning.workspace_arena_bytes
        self._first, self._last = CELL * layout.count, CELL * (layout.count + len(layout.results))
        self._pack_results = struct.Struct(f"={len(layout.results)}Q").pack_into
        self._boxed: list[Input] = []
        self._grown: dict[int, np.ndarray[Any, Any]] = {}
        self._stacks = np.zeros(1, np.int64)
        self.stacks_address = address_of(self._stacks)
        self._in_place = {result: (i, read) for i, result, read in schedule.in_place}
        self._results = ResultMemory(layout.results, self._in_place)

    def adapt(self, schedule: Schedule, layout: Layout) -> None:
        """Serve the runs of a schedule that differs in numbers only, with an arena that is at least large enough."""
        self._program = schedule.program
        self._offsets = schedule.offsets
        self._arena_address = 0
        if schedule.arena >= tuning.workspace_arena_bytes:
            self._arena, self.keeps_arena = None, False
            self._arena_aval = Aval((schedule.arena,), np.dtype(np.uint8))
        elif self._arena is None or self._arena_aval.nbytes < schedule.arena:
            self._arena, self.keeps_arena = None, True
            self._arena_aval = Aval((max(LARGE, 2 * schedule.arena),), np.dtype(np.uint8))
        else:
            self._place_temporaries_at(self._arena.address)
        if layout is not self._layout:
            self._layout = layout
            self._results = ResultMemory(layout.results, self._in_place)

    def fill(self, inputs: list[Input], held: int | _Counting) -> list[Buffer]:
        """Write addresses and scalars into the slot table; return the buffers for the results."""
        layout = self._layout
        if layout.boxed:
            inputs = list(inputs)
            self._boxed = inputs  # keeps the arrays alive while the kernels run
            for i in layout.boxed:
                inputs[i] = Buffer(array_of(inputs[i], layout.scalar_dtypes[i]))
        values: list[Any]
        if layout.raw:
            values = [x if raw else x.address for x, raw in zip(inputs, layout.is_raw, strict=True)]  # type: ignore[union-attr]
        else:
            values = [x.address for x in inputs]  # type: ignore[union-attr]
        results = list(self.begin(inputs, held))
        try:
            layout.pack_into(self.cells, 0, *values)
        except (struct.error, OverflowError):
            # `struct` raises where NumPy rounds to infinity or wraps around.
            for i in layout.raw:
                values[i] = array_of(inputs[i], layout.scalar_dtypes[i]).item()
            layout.pack_into(self.cells, 0, *values)
        return results

    def begin(self, inputs: Sequence[Any] | Mapping[int, Any], held: int | _Counting) -> tuple[Buffer, ...]:
        """Take the memory of a run, write its addresses to the slot table and return the buffers for the results.

        A later run reuses the buffers that are unreferenced then.
        """
        if self._arena is None:
            self._place_temporaries()
        small, packed = self._results.take()
        if not self._results.large:
            self.cells[self._first : self._last] = packed
            return small
        results = self._with_large(small, inputs, held)
        self._pack_results(self.cells, self._first, *[b.address for b in results])
        return results

    def enter(self) -> None:
        """Take an arena unless the workspace has one."""
        if self._arena is None:
            self._place_temporaries()

    def results(self, inputs: Sequence[Any] | Mapping[int, Any], held: int | _Counting) -> tuple[Buffer, ...]:
        """Return the buffers for the results, like `begin`; the caller writes their addresses."""
        small, _ = self._results.take()
        return self._with_large(small, inputs, held) if self._results.large else small

    def _with_large(
        self, small: tuple[Buffer, ...], inputs: Sequence[Any] | Mapping[int, Any], held: int | _Counting
    ) -> tuple[Buffer, ...]:
        found = list(small)
        for i in self._results.large:
            found.insert(i, self._large(i, inputs, held))
        return tuple(found)

    def _large(self, result: int, inputs: Sequence[Any] | Mapping[int, Any], held: int | _Counting) -> Buffer:
        if result in self._in_place:
            return _donated(inputs, *self._in_place[result], held)
        return allocate(self._layout.results[result])

    def _place_temporaries(self) -> None:
        """Take an arena, which is mostly that of the last run."""
        self._arena = arena = _arena(self._arena_aval)
        if arena.address != self._arena_address:
            self._place_temporaries_at(arena.address)

    def _place_temporaries_at(self, address: int) -> None:
        self._temporaries[:] = [offset + address for offset in self._offsets]
        self._arena_address = address

    def has_stacks(self) -> bool:
        """Return whether the run has grown stacks to free; `stacks_address` is the address of their list."""
        return self._stacks.item() != 0

    def leave(self) -> None:
        """Release the memory of the run."""
        self._grown.clear()
        if not self.keeps_arena:
            self._arena = None

    def evaluate(self, step: NumpyStep, inputs: list[Input], results: list[Buffer]) -> None:
        """Run a NumPy step."""
        arrays = [self._array(s, a, inputs, results) for s, a in zip(step.storages, step.avals, strict=True)]
        with np.errstate(all="ignore"):
            values = run_ops(self._program, step.ops, arrays)
        for storage, aval, value in zip(step.results, step.result_avals, values, strict=True):
            if is_dynamic_dim(aval):
                self._grown[storage] = value
            else:
                np.copyto(self._array(storage, aval, inputs, results), value)

    def _array(
        self, storage: int, aval: Aval, inputs: list[Input], results: list[Buffer]
    ) -> np.ndarray[Any, Any]:
        """Return the memory of a storage as an array."""
        layout = self._layout
        if is_dynamic_dim(aval):
            return self._grown[storage]
        if storage < layout.count:
            value = inputs[storage]
            if not isinstance(value, Buffer):
                return array_of(value, layout.scalar_dtypes[storage]).reshape(aval.shape)
            return value.array.reshape(aval.shape)
        if storage < layout.temporaries:
            return results[storage - layout.count].array.reshape(aval.shape)
        offset = self._offsets[storage - layout.temporaries]
        assert self._arena is not None
        return self._arena.array[offset : offset + aval.nbytes].view(aval.dtype).reshape(aval.shape)


class PoisonedWorkspace(Workspace):
    """A workspace that fills memory before each run, as `config.poison_memory` says."""

    __slots__ = ()

    def begin(self, inputs: Sequence[Any] | Mapping[int, Any], held: int | _Counting) -> tuple[Buffer, ...]:
        """Take the memory of a run, and poison it."""
        return self.poison(super().begin(inputs, held), inputs)

    def results(self, inputs: Sequence[Any] | Mapping[int, Any], held: int | _Counting) -> tuple[Buffer, ...]:
        """Return the buffers for the results, poisoned."""
        return self.poison(super().results(inputs, held), inputs)

    def poison(
        self, results: tuple[Buffer, ...], inputs: Sequence[Any] | Mapping[int, Any]
    ) -> tuple[Buffer, ...]:
        """Fill memory without a value with bytes that are nan in every float dtype; return `results`."""
        for i, buffer in enumerate(results):
            position, read = self._in_place.get(i, (-1, False))
            if not read and (position < 0 or buffer is not inputs[position]):
                memset(buffer.address, POISON, buffer.nbytes)
        assert self._arena is not None
        memset(self._arena.address, POISON, self._arena_aval.nbytes)
        return results


def _donated(
    inputs: Sequence[Any] | Mapping[int, Any], position: int, read: bool, held: int | _Counting
) -> Buffer:
    """Return the buffer of an input if its value is not needed later, else a new one (a copy if it is `read`)."""
    buffer = inputs[position]
    assert isinstance(buffer, Buffer)
    references = getrefcount(buffer)
    if isinstance(held, _Counting):
        held.found = references
    elif references == _own_references() + held and buffer.is_private():
        buffer.exposed = False
        return buffer
    fresh = allocate(Aval(buffer.array.shape, buffer.array.dtype))
    if read:
        np.copyto(fresh.array, buffer.array)
    return fresh


class _Counting:
    """A placeholder for a number of references, which records the actual number."""

    found = 0


@cache
def _own_references() -> int:
    """Return the reference count, measured in a run, of an input that only the inputs refer to; -1 if it varies.

    The count depends on the version of Python: some versions do not count all local variables.
    """
    aval, seen = Aval((LARGE,), np.dtype(np.uint8)), []
    program = Program((0,), (), (0,), {0: aval})
    schedule = Schedule(program, (), (1,), (aval,), (), (), 0, ((0, 0, False),), ())
    for kind in (list, dict):
        workspace, counting = Workspace(schedule, Layout(program, frozenset(), schedule)), _Counting()
        inputs: list[Input] = [Buffer(np.empty(LARGE, np.uint8))]
        if kind is list:
            workspace.fill(inputs, counting)
        else:
            workspace.begin({0: inputs.pop()}, counting)
        seen.append(counting.found)
    return seen[0] if seen[0] == seen[1] else -1


def _aligned(nbytes: int) -> np.ndarray[Any, Any]:
    """Return memory whose address is a multiple of `ALIGNMENT`."""
    raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -address_of(raw) % ALIGNMENT
    return raw[start : start + nbytes]


def _arena(aval: Aval) -> Buffer:
    """Return aligned memory for temporaries."""
    if aval.nbytes >= tuning.workspace_arena_bytes:
        return allocate(aval, _LARGEST_RATIO)
    return Buffer(_aligned(max(1, aval.nbytes)))


def array_of(value: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """Return a Python scalar as a 0-d array, rounded or wrapped like in a cast."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(value).astype(dtype)
