"""`CompiledExecutable`: a program as a table of kernel calls, ready to run on buffers.

Running is: write addresses and scalars into the *slot table* with one `struct` call, and let the driver walk the table
of kernels. All that can be prepared is prepared: temporaries have their place in an arena, results are mostly buffers
handed out earlier that nobody holds any more. What belongs to one run at a time is a `Workspace`; every thread that
runs takes one of its own. Large memory belongs to no executable: results and arenas come from the pool for one run
and go back.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from sys import getrefcount
from typing import Any

import numpy as np

from jittape.compile.emit import Definition
from jittape.compile.irtools import KERNEL_TYPE
from jittape.compile.kernel import Kernel
from jittape.compile.registry import Origin, registry
from jittape.compile.schedule import KernelStep, NumpyStep, Schedule, schedule
from jittape.compile.stripper import define_strip
from jittape.compile.strips import Strip
from jittape.compile.tasks import HEAVY
from jittape.interpret import run_control, run_op
from jittape.primitive import Control
from jittape.program import ALIGNMENT, Aval, Program, is_grown
from jittape.runtime.buffers import Buffer, address_of, allocate
from jittape.runtime.results import ResultMemory
from jittape.runtime.threads import cells_address

__all__ = ["CELL", "KEPT", "SCALAR_FORMATS", "CompiledExecutable", "UsedKernel", "Workspace"]

Input = Buffer | bool | int | float | complex

_STRIP = Definition("strip", KERNEL_TYPE, define_strip)
CELL = 8
"""Bytes of an entry of the slot table."""
KEPT = 1 << 20
"""An arena of fewer bytes stays with its workspace: asking the pool for one costs 2.5 µs a run."""
SHARE = HEAVY // 2
"""Another thread is worth its while for so many ns of work."""

SCALAR_FORMATS = {"b1": "?7x", "f2": "e6x", "f4": "f4x", "f8": "d"} | {
    "i1": "b7x",
    "i2": "h6x",
    "i4": "i4x",
    "i8": "q",
    "u1": "B7x",
    "u2": "H6x",
    "u4": "I4x",
    "u8": "Q",
}


@dataclass(frozen=True)
class UsedKernel:
    """A kernel of an executable, and where its machine code came from."""

    kernel: Kernel
    origin: Origin

    @property
    def found(self) -> bool:
        """Whether it had been compiled before, by this process or another."""
        return self.origin is not Origin.COMPILED

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def listing(self) -> str:
        return self.kernel.listing

    @property
    def loops(self) -> int:
        return self.kernel.loops


class CompiledExecutable:
    """A program, scheduled and compiled.

    Parameters
    ----------
    program : Program
        Simplified, without dead code.
    scalar_inputs : frozenset of int
        Input slots of shape () that `run` gets as Python scalars.
    donated : tuple of (int, int)
        Inputs and outputs by position: the output may be computed in the input's memory if nobody else refers to that.
    """

    def __init__(
        self, program: Program, scalar_inputs: frozenset[int], donated: tuple[tuple[int, int], ...] = ()
    ) -> None:
        self.program = program
        self.schedule: Schedule = schedule(program, donated)
        self.scalar_inputs = scalar_inputs
        schedules = _with_bodies(self.schedule)
        steps = [step for one in schedules for step in one.steps if isinstance(step, KernelStep)]
        kernels = {step.kernel.name: step.kernel for step in steps}
        spare = [kernel for one in schedules for kernel in one.spare]
        addresses, origins = registry.addresses([*kernels.values(), *spare])
        self.kernels = tuple([UsedKernel(k, origins[k.name]) for k in kernels.values()])
        self._layout = Layout(program, scalar_inputs, self.schedule)
        known = dict(zip(kernels, addresses, strict=False))
        self._segments = _segments(self.schedule, self._layout, known)
        self._drive = registry.driver()
        self.free_workspaces: list[Workspace] = []

    @property
    def steps(self) -> tuple[KernelStep | NumpyStep, ...]:
        """What runs, in order; each step knows the ops that it covers."""
        return self.schedule.steps

    @property
    def listing(self) -> str:
        """The listings of all kernels."""
        return "\n\n".join(kernel.listing for kernel in self.kernels)

    @property
    def layout(self) -> Layout:
        """Where in a slot table things stand."""
        return self._layout

    @property
    def tables(self) -> list[int] | None:
        """The driver's tables, for who fills a slot table himself; None if a NumPy step needs the inputs."""
        tables = [segment.address for segment in self._segments if isinstance(segment, _Calls)]
        return tables if len(tables) == len(self._segments) else None

    def workspace(self) -> Workspace:
        """A fresh one."""
        return Workspace(self.schedule, self._layout)

    def run(self, inputs: list[Input], held: int = 0) -> list[Buffer]:
        """Compute the outputs.

        Parameters
        ----------
        inputs : list
            One for each input of the program: a Python scalar for the slots in `scalar_inputs`, else a buffer of the
            declared shape and dtype.
        held : int
            So many references to a donated input, besides that in `inputs`, are given up after the run. With more, its
            memory stays as it is.

        Returns
        -------
        list of Buffer
            One for each output of the program.
        """
        try:
            workspace = self.free_workspaces.pop()
        except IndexError:
            workspace = Workspace(self.schedule, self._layout)
        try:
            results = workspace.fill(inputs, held)
            for segment in self._segments:
                if isinstance(segment, _Calls):
                    self._drive(segment.address, workspace.address)
                else:
                    workspace.evaluate(segment, inputs, results)
        finally:
            workspace.leave()
            self.free_workspaces.append(workspace)
        return results if self._layout.plain_outputs else self._outputs(inputs, results)

    def _outputs(self, inputs: list[Input], results: list[Buffer]) -> list[Buffer]:
        """The outputs where some are inputs or asked for twice."""
        count = len(inputs)
        outputs: list[Buffer] = []
        for slot, storage in zip(self.program.outputs, self.schedule.outputs, strict=True):
            value = inputs[storage] if storage < count else results[storage - count]
            if isinstance(value, Buffer):
                outputs.append(value)
            else:
                outputs.append(Buffer(_array_of(value, self.program.avals[slot].dtype)))
        return outputs


class Layout:
    """Where in the slot table things stand.

    First one cell for every input (an address, or the raw value of a scalar), then the addresses of results: these
    change from run to run. Then the addresses of temporaries and of the scalars' cells.
    """

    def __init__(self, program: Program, scalar_inputs: frozenset[int], schedule: Schedule) -> None:
        self.count = len(program.inputs)
        self.results = schedule.results
        self.scalar_dtypes = [
            program.avals[slot].dtype if slot in scalar_inputs else None for slot in program.inputs
        ]
        # A complex scalar does not fit a cell; it becomes a 0-d array when it comes.
        self.boxed = [i for i, d in enumerate(self.scalar_dtypes) if d is not None and d.kind == "c"]
        formats = []
        for i, dtype in enumerate(self.scalar_dtypes):
            raw = dtype is not None and i not in self.boxed
            formats.append(SCALAR_FORMATS[f"{dtype.kind}{dtype.itemsize}"] if raw and dtype else "Q")
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

    def unsigned_scalars(self) -> set[int]:
        """uint64 scalars have the same format as an address."""
        return {i for i, d in enumerate(self.scalar_dtypes) if d is not None and d == np.uint64}


class Workspace:
    """What one run at a time uses: the slot table, the arena, and buffers handed out earlier."""

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
        self.keeps_arena = schedule.arena < KEPT
        self._results = ResultMemory(layout.results)
        self._first, self._last = CELL * layout.count, CELL * (layout.count + len(layout.results))
        self._boxed: list[Input] = []
        self._grown: dict[int, np.ndarray[Any, Any]] = {}
        self._in_place = {result: (i, read) for i, result, read in schedule.in_place}

    def fill(self, inputs: list[Input], held: int) -> list[Buffer]:
        """Write addresses and scalars into the slot table; returns the buffers for the results."""
        layout = self._layout
        if layout.boxed:
            inputs = list(inputs)
            self._boxed = inputs  # they live as long as the kernels run
            for i in layout.boxed:
                inputs[i] = Buffer(_array_of(inputs[i], layout.scalar_dtypes[i]))
        values: list[Any]
        if layout.raw:
            values = [x if raw else x.address for x, raw in zip(inputs, layout.is_raw, strict=True)]  # type: ignore[union-attr]
        else:
            values = [x.address for x in inputs]  # type: ignore[union-attr]
        results = self.begin(inputs, held)
        try:
            layout.pack_into(self.cells, 0, *values)
        except (struct.error, OverflowError):
            # `struct` is strict where NumPy rounds to infinity or wraps around.
            for i in layout.raw:
                values[i] = _array_of(inputs[i], layout.scalar_dtypes[i]).item()
            layout.pack_into(self.cells, 0, *values)
        return results

    def begin(self, inputs: Sequence[Any] | Mapping[int, Any], held: int) -> list[Buffer]:
        """Take what memory a run needs; the buffers for the results, whose addresses stand in the slot table then."""
        if self._arena is None:
            self._place_temporaries()
        small, packed = self._results.take()
        if not self._results.large:
            self.cells[self._first : self._last] = packed
            return list(small)
        waiting = iter(small)
        results = [
            self._large(i, inputs, held) if i in self._results.large else next(waiting)
            for i in range(len(self._layout.results))
        ]
        struct.pack_into(f"={len(results)}Q", self.cells, self._first, *[b.address for b in results])
        return results

    def _large(self, result: int, inputs: Sequence[Any] | Mapping[int, Any], held: int) -> Buffer:
        if result in self._in_place:
            return _donated(inputs, *self._in_place[result], held)
        return allocate(self._layout.results[result])

    def _place_temporaries(self) -> None:
        """Take an arena; mostly it is the one that the last run gave back."""
        self._arena = arena = _arena(self._arena_aval)
        if arena.address != self._arena_address:
            self._temporaries[:] = np.array(self._offsets, np.int64) + arena.address
            self._arena_address = arena.address

    def leave(self) -> None:
        """The run is over."""
        self._grown.clear()
        if not self.keeps_arena:
            self._arena = None

    def evaluate(self, step: NumpyStep, inputs: list[Input], results: list[Buffer]) -> None:
        """Run a NumPy step."""
        arrays = [self._array(s, a, inputs, results) for s, a in zip(step.storages, step.avals, strict=True)]
        if isinstance(step.ops[0].primitive.form, Control):
            values = run_control(self._program, step.ops, arrays)
        else:
            values = [run_op(self._program, step.ops[0], arrays)]
        for storage, aval, value in zip(step.results, step.result_avals, values, strict=True):
            if is_grown(aval):
                self._grown[storage] = value
            else:
                np.copyto(self._array(storage, aval, inputs, results), value)

    def _array(
        self, storage: int, aval: Aval, inputs: list[Input], results: list[Buffer]
    ) -> np.ndarray[Any, Any]:
        """The memory of a storage as an array."""
        layout = self._layout
        if is_grown(aval):
            return self._grown[storage]
        if storage < layout.count:
            value = inputs[storage]
            if not isinstance(value, Buffer):
                return _array_of(value, layout.scalar_dtypes[storage])
            return value.array.reshape(aval.shape)
        if storage < layout.temporaries:
            return results[storage - layout.count].array.reshape(aval.shape)
        offset = self._offsets[storage - layout.temporaries]
        assert self._arena is not None
        return self._arena.array[offset : offset + aval.nbytes].view(aval.dtype).reshape(aval.shape)


def _donated(inputs: Sequence[Any] | Mapping[int, Any], position: int, read: bool, held: int) -> Buffer:
    """The buffer of an input if nobody needs its value any more, else a new one, with that value if it is `read`."""
    buffer = inputs[position]
    assert isinstance(buffer, Buffer)
    if getrefcount(buffer) == _REFERENCES + held and buffer.is_private():
        return buffer
    fresh = allocate(Aval(buffer.array.shape, buffer.array.dtype))
    if read:
        np.copyto(fresh.array, buffer.array)
    return fresh


(_REFERENCES,) = [getrefcount(entry) for entry in [object()]]
"""What `getrefcount` says of something in a list and a local variable."""


@dataclass(frozen=True)
class _Calls:
    """Kernel calls in a row: the driver's table and what it points to."""

    address: int
    memory: tuple[np.ndarray[Any, Any], ...]


def _with_bodies(schedule: Schedule) -> list[Schedule]:
    """The schedule and those of the bodies of its loops and branches."""
    found, waiting = [], [schedule]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += [body for step in one.steps if isinstance(step, KernelStep) for body in step.bodies]
    return found


def _segments(schedule: Schedule, layout: Layout, addresses: dict[str, int]) -> list[_Calls | NumpyStep]:
    """The steps with runs of kernels joined to tables."""
    cell_of, count = layout.cell_of, layout.cells
    segments: list[_Calls | NumpyStep] = []
    run: list[KernelStep] = []
    for step in schedule.steps:
        if isinstance(step, KernelStep):
            run.append(step)
            continue
        if run:
            segments.append(_calls(run, cell_of, count, addresses))
            run = []
        segments.append(step)
    if run:
        segments.append(_calls(run, cell_of, count, addresses))
    return segments


def _calls(steps: list[KernelStep], cell_of: Sequence[int], count: int, addresses: dict[str, int]) -> _Calls:
    """The table of these steps; `count` is that of the cells."""
    slots = np.array([cell_of[s] for step in steps for s in step.storages], np.int32)
    bodies = [[_body_calls(body, addresses) for body in step.bodies] for step in steps]
    words = [_table_words(own) + list(step.sizes) for own, step in zip(bodies, steps, strict=True)]
    sizes = np.array([n % 2**64 for own in words for n in own] or [0], np.uint64)
    threads = [min(step.tasks, max(1, step.work // SHARE)) for step in steps]
    most = [min(s.strip.groups, s.strip.work // SHARE) for s in steps if s.strip is not None]
    table = [0, cells_address(max([*threads, *most], default=1))]
    slot, size = address_of(slots), address_of(sizes)
    memory: list[np.ndarray[Any, Any]] = [
        slots,
        sizes,
        *[a for own in bodies for body in own for a in body.memory],
    ]
    rows: list[list[int]] = []
    for step, own, worth in zip(steps, words, threads, strict=True):
        rows.append([addresses[step.kernel.name], slot, size, step.tasks, worth])
        slot += 4 * len(step.storages)
        size += 8 * len(own)
    for strip, group in groupby(range(len(steps)), lambda i: steps[i].strip):
        found = [rows[i] for i in group]
        if strip is not None:
            blocks = _strip_table(strip, cell_of, count, found)
            memory.append(blocks)
            worth = min(strip.groups, max(1, strip.work // SHARE))
            found = [[registry.own(_STRIP), 0, address_of(blocks), strip.groups, worth]]
        for row in found:
            table += row
        table[0] += len(found)
    calls = np.array(table, np.int64)
    return _Calls(address_of(calls), (calls, *memory))


def _strip_table(
    strip: Strip, cell_of: Sequence[int], cells: int, rows: list[list[int]]
) -> np.ndarray[Any, Any]:
    """What `stripper` reads: see there."""
    share = -(-strip.blocks // strip.groups)
    words = [cells, strip.blocks, share, strip.region, len(strip.moved), len(rows)]
    for storage, nbytes in strip.moved:
        words += [cell_of[storage], nbytes]
    for row in rows:
        words += row[:3]
    return np.array(words, np.int64)


def _body_calls(body: Schedule, addresses: dict[str, int]) -> _Calls:
    """The table of a body, in whose frame every storage has the cell of its own number."""
    cells = range(len(body.program.inputs) + len(body.results) + len(body.offsets))
    return _calls([s for s in body.steps if isinstance(s, KernelStep)], cells, len(cells), addresses)


def _table_words(bodies: list[_Calls]) -> list[int]:
    """What comes before the words of a plan: the tables' addresses, and how many if there may be several."""
    found = [body.address for body in bodies]
    return found if len(found) < 2 else [len(found), *found]


def _aligned(nbytes: int) -> np.ndarray[Any, Any]:
    """Bytes that begin at a multiple of `ALIGNMENT`."""
    raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -address_of(raw) % ALIGNMENT
    return raw[start : start + nbytes]


def _arena(aval: Aval) -> Buffer:
    """Room for temporaries, aligned."""
    return allocate(aval) if aval.nbytes >= KEPT else Buffer(_aligned(max(1, aval.nbytes)))


def _array_of(value: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """A Python scalar as a 0-d array, rounded or wrapped as a cast does."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(value).astype(dtype)
