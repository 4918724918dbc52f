"""The quick way to call a compiled function: see `quick_call`.

`struct` writes the addresses of the results into the slot table; then one call of machine code, of the binder, checks
the arguments, adds theirs and runs the kernels.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.functions.binder import ARRAY, FLOAT32, FLOAT64, LIKE, SAME, TYPE, Entry, binder, plan
from jittape.functions.signature import MISS, static_value
from jittape.hostnumber import HostNumber
from jittape.hostprogram import Changed, HostProgram
from jittape.program import Aval
from jittape.recording.tensor import Tensor
from jittape.recording.tracing import Drawn, Leaf
from jittape.recording.variable import Variable
from jittape.runtime.buffers import Buffer
from jittape.runtime.counters import counters
from jittape.runtime.executable import CompiledExecutable
from jittape.runtime.workspace import CELL, KEPT, SCALAR_FORMATS, Workspace, array_of

if TYPE_CHECKING:
    from jittape.functions.concrete import Concrete

__all__ = ["quick_call"]

_FLOATS = {"f8": FLOAT64, "f4": FLOAT32}
_ONE_OBJECT = range(-5, 257)
"""Of these ints Python has one object each."""
_NONE: Mapping[int, Buffer] = {}


def quick_call(concrete: Concrete, compiled: CompiledExecutable) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function of leaves that gives the result or `MISS`; None if the program is none for it."""
    layout = compiled.layout
    whole = len(compiled.tables or ()) == 1 and layout.plain_outputs and layout.results and not layout.boxed
    if not whole or concrete.prints or binder() is None:
        return None
    return _Quick(concrete, compiled).call


class _Quick:
    """What the quick way has prepared."""

    def __init__(self, concrete: Concrete, compiled: CompiledExecutable) -> None:
        self.concrete = concrete
        self.compiled = compiled
        self.entries: list[Entry] = []
        self.direct: set[int] = set()
        self.variables: list[Variable] = []
        self.draws: list[Drawn] = []
        self.presets: list[tuple[str, int, Any]] = []
        self.numbers: list[HostNumber] = []
        self.cells: list[tuple[Callable[..., None], int, np.dtype[Any]]] = []
        held: list[tuple[Any, int, Aval]] = []
        for cell, (slot, source) in enumerate(zip(concrete.program.inputs, concrete.sources, strict=True)):
            aval = concrete.program.avals[slot]
            if isinstance(source, (Variable, Drawn)):
                held.append((source, cell, aval))
            else:
                self._place(cell, aval, source)
        held.sort(key=lambda one: isinstance(one[0], Drawn))
        self.held = {cell: position for position, (_, cell, _) in enumerate(held)}
        for position, (source, cell, aval) in enumerate(held):
            self.entries.append(Entry(ARRAY, True, position, cell, aval))
            (self.draws if isinstance(source, Drawn) else self.variables).append(source)
        self._check_leaves()
        self._keep: Any = None
        self.call = self._function()

    def _place(self, cell: int, aval: Aval, source: Any) -> None:
        """See to it that `cell` gets its value."""
        code = f"{aval.dtype.kind}{aval.dtype.itemsize}"
        if isinstance(source, Leaf):
            self.entries.append(Entry(ARRAY, False, source.number, cell, aval))
            self.direct.add(source.number)
        elif isinstance(source, Buffer):
            self.presets.append(("=Q", cell, source.address))
        elif not isinstance(source, HostNumber):
            self.presets.append(("=" + SCALAR_FORMATS[code], cell, array_of(source, aval.dtype).item()))
        elif source.leaf is not None and source.kind is float and code in _FLOATS:
            self.entries.append(Entry(_FLOATS[code], False, source.leaf, cell))
            self.direct.add(source.leaf)
        else:
            self.numbers.append(source)
            self.cells.append((struct.Struct("=" + SCALAR_FORMATS[code]).pack_into, CELL * cell, aval.dtype))

    def _check_leaves(self) -> None:
        """Entries for arguments that are not written anywhere, but must be what they were."""
        concrete = self.concrete
        one_object = {
            number.leaf: value
            for number, value in concrete.settled
            if number.leaf is not None
            and (type(value) is bool or (type(value) is int and value in _ONE_OBJECT))
        }
        self.settled = [
            pair for pair in concrete.settled if pair[0].leaf is None or pair[0].leaf not in one_object
        ]
        for i, key in enumerate(concrete.keys):
            if i in one_object:
                self.entries.append(Entry(SAME, False, i, 0, one_object[i]))
            elif i in self.direct:
                continue
            elif isinstance(key, Aval):
                self.entries.append(Entry(LIKE, False, i, 0, key))
            elif isinstance(key, type):
                self.entries.append(Entry(TYPE, False, i, 0, key))
            else:
                self.entries.append(Entry(SAME, False, i, 0, static_value(key)))

    def _workspace(self) -> Workspace:
        """A fresh one, with the constants in it."""
        workspace = self.compiled.workspace()
        for form, cell, value in self.presets:
            struct.pack_into(form, workspace.cells, CELL * cell, value)
        return workspace

    def _write(self, cells: memoryview, values: Sequence[Any]) -> None:
        """Write the numbers that Python has worked out."""
        for (pack, offset, dtype), value in zip(self.cells, values):  # noqa: B905 - the numbers returned come last
            try:
                pack(cells, offset, value)
            except (struct.error, OverflowError):
                # `struct` is strict where NumPy rounds to infinity or wraps around, and knows no NumPy scalars.
                pack(cells, offset, array_of(value, dtype).item())

    def _function(self) -> Callable[[tuple[Any, ...]], Any]:
        """The function, with all that it needs at hand."""
        table, kept = plan(len(self.concrete.keys), self.entries)
        self._keep = table, kept
        entries: int = table.__array_interface__["data"][0]
        (calls,) = self.compiled.tables or (0,)
        run, free = binder(), list[Workspace]()
        assert run is not None
        concrete = self.concrete
        new_workspace, write, put_together = self._workspace, self._write, concrete.put_together
        variables, draws = self.variables, [drawn.draw for drawn in self.draws]
        host = HostProgram([*self.numbers, *concrete.numbers_returned], self.settled)
        numbers_from = None if host.empty else self._typed(host)
        avals, assigned, rebuild = concrete.avals, concrete.assigned, concrete.rebuild_tensors
        count, single = len(avals), len(avals) == 1
        arena = self.compiled.schedule.arena >= KEPT
        donors = [(i, self.held[i]) for i, _, _ in self.compiled.schedule.in_place]

        def call(leaves: tuple[Any, ...]) -> Any:
            numbers = () if numbers_from is None else numbers_from(leaves)
            if numbers is None:
                return MISS
            held: Any = ()
            if variables:
                held = tuple([v._buffer if v._assigned_in is None else v._computed() for v in variables])
            if draws:
                held += tuple([Buffer(np.asarray(draw(), order="C")) for draw in draws])
            try:
                workspace = free.pop()
            except IndexError:
                workspace = new_workspace()
            try:
                inputs = {i: held[position] for i, position in donors} if donors else _NONE
                # Variables refer to what may be written in place, and `held`, besides `inputs`.
                results = workspace.begin(inputs, 2)
                if numbers:
                    write(workspace.cells, numbers)
                if run(leaves, held, entries, workspace.address, calls):
                    return MISS
            finally:
                if arena:
                    workspace.leave()
                free.append(workspace)
            counters.compiled_runs += 1
            counters.last = concrete
            concrete.visits += 1
            if assigned:
                for variable, buffer in zip(assigned, results[count:]):  # noqa: B905 - as many, and it is called often
                    if variable._trace is None:  # no trace has read it, or has a value for it
                        variable._buffer = buffer
                    else:
                        variable._set(buffer)
            if rebuild is None:
                return put_together(results, numbers)
            if single:
                return rebuild([Tensor(None, -1, avals[0], results[0])])
            return rebuild([Tensor(None, -1, aval, buffer) for aval, buffer in zip(avals, results)])  # noqa: B905

        return call

    def _typed(self, host: HostProgram) -> Callable[[tuple[Any, ...]], Sequence[Any] | None]:
        """What gives the numbers; None where the arguments are of other types, or the trace does not hold for them."""
        kinds = [(i, key) for i, key in enumerate(self.concrete.keys) if isinstance(key, type)]
        count = len(self.concrete.keys)

        def numbers(leaves: tuple[Any, ...]) -> Sequence[Any] | None:
            if len(leaves) != count:
                return None
            for i, kind in kinds:
                if leaves[i].__class__ is not kind:
                    return None
            try:
                return host.run(leaves)
            except Changed:
                return None

        return numbers
