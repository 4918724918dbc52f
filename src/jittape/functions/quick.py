"""The quick way to call a compiled function: see `quick_call`.

Python takes memory for the results; then one call of machine code, of the binder, checks the arguments, writes all
addresses into the slot table, runs the kernels and makes the Tensors that are returned.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.functions.binder import Outcome, binder
from jittape.functions.entries import Entry, Form, Kind, Returned, plan
from jittape.functions.numbers import entries_for
from jittape.functions.signature import MISS, static_value
from jittape.hostnumber import HostNumber
from jittape.hostprogram import Changed, HostProgram
from jittape.program import Aval
from jittape.recording.tracing import Drawn, Leaf
from jittape.recording.variable import Variable
from jittape.runtime.buffers import Buffer, address_of
from jittape.runtime.counters import counters
from jittape.runtime.executable import CompiledExecutable
from jittape.runtime.workspace import CELL, KEPT, SCALAR_FORMATS, Workspace, array_of

if TYPE_CHECKING:
    from jittape.functions.concrete import Concrete

__all__ = ["quick_call"]

_AtHand = tuple[Workspace, int, np.ndarray[Any, Any]]
"""What one call at a time uses: a workspace, and a plan, by its address and itself."""
_FLOATS = {"f8": Kind.FLOAT64, "f4": Kind.FLOAT32}
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
        self.presets: list[tuple[str, int, Any]] = []
        self.numbers: list[tuple[HostNumber, int, np.dtype[Any]]] = []
        self.donated = {i: position for position, (i, _, _) in enumerate(compiled.schedule.in_place)}
        self.donors: dict[int, Variable] = {}
        self.draws: list[Drawn] = []
        for cell, (slot, source) in enumerate(zip(concrete.program.inputs, concrete.sources, strict=True)):
            self._place(cell, concrete.program.avals[slot], source)
        self.entries.sort(key=lambda entry: entry.kind is not Kind.VARIABLE)
        self._check_leaves()
        self.host = self._host_program()
        self._keep: Any = None
        self.call = self._function()

    def _place(self, cell: int, aval: Aval, source: Any) -> None:
        """See to it that `cell` gets its value."""
        code = f"{aval.dtype.kind}{aval.dtype.itemsize}"
        if isinstance(source, Variable):
            self._place_variable(cell, aval, source)
        elif isinstance(source, Drawn):
            position = len(self.donated) + len(self.draws)
            self.entries.append(Entry(Kind.ARRAY, True, position, cell, aval))
            self.draws.append(source)
        elif isinstance(source, Leaf):
            self.entries.append(Entry(Kind.ARRAY, False, source.number, cell, aval))
            self.direct.add(source.number)
        elif isinstance(source, Buffer):
            self.presets.append(("=Q", cell, source.address))
        elif not isinstance(source, HostNumber):
            self.presets.append(("=" + SCALAR_FORMATS[code], cell, array_of(source, aval.dtype).item()))
        elif source.leaf is not None and source.kind is float and code in _FLOATS:
            self.entries.append(Entry(_FLOATS[code], False, source.leaf, cell))
            self.direct.add(source.leaf)
        else:
            self.numbers.append((source, cell, aval.dtype))

    def _place_variable(self, cell: int, aval: Aval, variable: Variable) -> None:
        """The binder reads it, unless it may be written in place: who else refers to its memory Python finds out."""
        if cell in self.donated:
            self.donors[cell] = variable
            self.entries.append(Entry(Kind.ARRAY, True, self.donated[cell], cell, aval))
        else:
            self.entries.append(Entry(Kind.VARIABLE, cell=cell, what=variable))

    def _check_leaves(self) -> None:
        """Entries for arguments that are not written anywhere, but must be what they were."""
        concrete = self.concrete
        bools = {number.leaf: value for number, value in concrete.settled if number.kind is bool}
        bools.pop(None, None)
        self.settled = [pair for pair in concrete.settled if pair[0].leaf is None or pair[0].kind is not bool]
        for i, key in enumerate(concrete.keys):
            if i in bools:
                self.entries.append(Entry(Kind.SAME, False, i, 0, bools[i]))
            elif i in self.direct:
                continue
            elif isinstance(key, Aval):
                self.entries.append(Entry(Kind.LIKE, False, i, 0, key))
            elif isinstance(key, type):
                self.entries.append(Entry(Kind.TYPE, False, i, 0, key))
            else:
                self.entries.append(Entry(Kind.SAME, False, i, 0, static_value(key)))

    def _host_program(self) -> HostProgram:
        """What is left to Python of the numbers that the trace has made; nothing if the binder can do it."""
        returned = self.concrete.numbers_returned
        if not returned:
            entries = entries_for(self.numbers, self.settled, len(self.entries))
            if entries is not None:
                self.entries += entries
                return HostProgram([], [])
        return HostProgram([*[number for number, _, _ in self.numbers], *returned], self.settled)

    def _write(self, cells: memoryview, values: Sequence[Any]) -> None:
        """Write the numbers that Python has worked out."""
        for (pack, offset, dtype), value in zip(self._cells, values):  # noqa: B905 - the numbers returned come last
            try:
                pack(cells, offset, value)
            except (struct.error, OverflowError):
                # `struct` is strict where NumPy rounds to infinity or wraps around, and knows no NumPy scalars.
                pack(cells, offset, array_of(value, dtype).item())

    def _at_hand(self, table: np.ndarray[Any, Any]) -> _AtHand:
        """A fresh workspace, with the constants in it, and a plan."""
        workspace = self.compiled.workspace()
        workspace.enter()
        for form, cell, value in self.presets:
            struct.pack_into(form, workspace.cells, CELL * cell, value)
        own = table.copy()
        return workspace, address_of(own), own

    def _function(self) -> Callable[[tuple[Any, ...]], Any]:
        """The function, with all that it needs at hand."""
        concrete = self.concrete
        avals, assigned, rebuild = concrete.avals, concrete.assigned, concrete.rebuild_tensors
        count, one = len(avals), concrete.returns_one
        several = None if one or rebuild is tuple else rebuild
        new_values = [(count + i, variable) for i, variable in enumerate(assigned)]
        form = Form.NOTHING if rebuild is None else Form.TENSOR if one else Form.TUPLE
        returned = Returned(self.compiled.layout.count, avals, form)
        table, kept = plan(len(concrete.keys), self.entries, new_values, returned)
        self._keep = kept
        (calls,) = self.compiled.tables or (0,)
        run, free = binder(), list[_AtHand]()
        assert run is not None
        self._cells = [
            (
                struct.Struct("=" + SCALAR_FORMATS[f"{dtype.kind}{dtype.itemsize}"]).pack_into,
                CELL * cell,
                dtype,
            )
            for _, cell, dtype in self.numbers
        ]
        new_at_hand, write, put_together = partial(self._at_hand, table), self._write, concrete.put_together
        numbers_from = None if self.host.empty else self._typed(self.host)
        arena = self.compiled.schedule.arena >= KEPT
        donors = [(i, self.donors[i]) for i in self.donated]
        draws = [drawn.draw for drawn in self.draws]
        pending, unassigned = Outcome.PENDING.value, Outcome.UNASSIGNED.value

        def call(leaves: tuple[Any, ...]) -> Any:
            numbers = () if numbers_from is None else numbers_from(leaves)
            if numbers is None:
                return MISS
            held: Any = ()
            if donors:
                held = tuple([v._buffer if v._assigned_in is None else v._computed() for _, v in donors])
            if draws:
                held += tuple([Buffer(np.asarray(draw(), order="C")) for draw in draws])
            try:
                at_hand = free.pop()
            except IndexError:
                at_hand = new_at_hand()
            workspace, entries, _ = at_hand
            inputs = {i: held[position] for position, (i, _) in enumerate(donors)} if donors else _NONE
            if arena:
                workspace.enter()
            # Variables refer to what may be written in place, and `held`, besides `inputs`.
            results = workspace.results(inputs, 2)
            if numbers:
                write(workspace.cells, numbers)
            try:
                result = run(leaves, held, results, entries, workspace.address, calls)
                if result.__class__ is int and result == pending:
                    for source in concrete.sources:
                        if isinstance(source, Variable):
                            source._computed()
                    result = run(leaves, held, results, entries, workspace.address, calls)
            except IndexError:
                return MISS  # the general way comes to it again, and says where it is
            if arena:
                workspace.leave()
            if result.__class__ is int:
                if result == unassigned:
                    for variable, buffer in zip(assigned, results[count:], strict=True):
                        variable._set(buffer)
                elif result:
                    free.append(at_hand)
                    return MISS
                result = put_together(results, numbers)
            elif several is not None:
                result = several(result)
            counters.compiled_runs += 1
            counters.last = concrete
            concrete.visits += 1
            free.append(at_hand)  # not before the buffers are referred to
            return result

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
