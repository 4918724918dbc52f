"""The quick way to call a compiled function: see `fast_call`.

Python takes memory for the results; then one call of machine code, of the binder, checks the arguments, writes all
addresses into the slot table, runs the kernels and makes the Tensors that are returned.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.buffers import Buffer, address_of
from jittape.core.dtypes import float32, float64, info_of
from jittape.core.program import Aval
from jittape.core.scalar_program import GuardFailed, ScalarProgram
from jittape.core.traced_scalar import TracedScalar
from jittape.core.tuning import tuning
from jittape.functions.marshal_plan import Entry, Form, Kind, Returned, plan
from jittape.functions.marshaller import Outcome, marshaller
from jittape.functions.scalar_plan import entries_for
from jittape.functions.signature import GUARD_FAILED, static_value
from jittape.recording.function_trace import Leaf, RandomInput
from jittape.recording.variable import Variable
from jittape.runtime.counters import counters
from jittape.runtime.executable import CompiledExecutable
from jittape.runtime.workspace import CELL, Workspace, array_of

if TYPE_CHECKING:
    from jittape.functions.concrete_function import Concrete

__all__ = ["fast_call"]

_Available = tuple[Workspace, int, int, tuple[np.ndarray[Any, Any], ...]]
"""What one call at a time uses: a workspace, the addresses of its plan and of the one that checks, and these."""
_FLOATS = {float64: Kind.FLOAT64, float32: Kind.FLOAT32}
_NONE: Mapping[int, Buffer] = {}
_NO_CALLS = np.zeros(2, np.int64)
"""A driver's table with nothing in it."""


def fast_call(concrete: Concrete, compiled: CompiledExecutable) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function of leaves that gives the result or `GUARD_FAILED`; None if the program is none for it."""
    layout = compiled.layout
    whole = len(compiled.tables or ()) == 1 and layout.plain_outputs and layout.results and not layout.boxed
    if not whole or concrete.prints or marshaller() is None:
        return None
    return _FastPath(concrete, compiled).call


class _FastPath:
    """What the quick way has prepared."""

    def __init__(self, concrete: Concrete, compiled: CompiledExecutable) -> None:
        self.concrete = concrete
        self.compiled = compiled
        self.entries: list[Entry] = []
        self.direct: set[int] = set()
        self.presets: list[tuple[str, int, Any]] = []
        self.numbers: list[tuple[TracedScalar, int, np.dtype[Any]]] = []
        self.donated = {i: position for position, (i, _, _) in enumerate(compiled.schedule.in_place)}
        self.donors: dict[int, Variable] = {}
        self.draws: list[tuple[int, Aval, RandomInput]] = []
        for cell, (slot, source) in enumerate(zip(concrete.program.inputs, concrete.sources, strict=True)):
            self._place(cell, concrete.program.avals[slot], source)
        self.entries.sort(key=lambda entry: entry.kind is not Kind.VARIABLE)
        self._check_leaves()
        self.host = self._host_program()
        self.checked = list(self.entries)
        for i, (cell, aval, _) in enumerate(self.draws):
            self.entries.append(Entry(Kind.ARRAY, True, len(self.donated) + i, cell, aval))
        self._keep: Any = None
        self.call = self._function()

    def _place(self, cell: int, aval: Aval, source: Any) -> None:
        """See to it that `cell` gets its value."""
        if isinstance(source, Variable):
            self._place_variable(cell, aval, source)
        elif isinstance(source, RandomInput):
            self.draws.append((cell, aval, source))
        elif isinstance(source, Leaf):
            self.entries.append(Entry(Kind.ARRAY, False, source.number, cell, aval))
            self.direct.add(source.number)
        elif isinstance(source, Buffer):
            self.presets.append(("=Q", cell, source.address))
        elif not isinstance(source, TracedScalar):
            self.presets.append(
                (f"={info_of(aval.dtype).scalar_format}", cell, array_of(source, aval.dtype).item())
            )
        elif source.leaf is not None and source.kind is float and aval.dtype in _FLOATS:
            self.entries.append(Entry(_FLOATS[aval.dtype], False, source.leaf, cell))
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

        for first, second, same in concrete.pairs:
            self.entries.append(Entry(Kind.SHARED, False, first, second, value=int(same)))

    def _host_program(self) -> ScalarProgram:
        """What is left to Python of the numbers that the trace has made; nothing if the binder can do it."""
        returned, computed = self.concrete.numbers_returned, self.concrete.computed
        if not returned:
            entries = entries_for(self.numbers, self.settled, computed, len(self.entries))
            if entries is not None:
                self.entries += entries
                return ScalarProgram([], [], [])
        return ScalarProgram([*[number for number, _, _ in self.numbers], *returned], self.settled, computed)

    def _write(self, cells: memoryview, values: Sequence[Any]) -> None:
        """Write the numbers that Python has worked out."""
        for (pack, offset, dtype), value in zip(self._cells, values):  # noqa: B905 - the numbers returned come last
            try:
                pack(cells, offset, value)
            except (struct.error, OverflowError):
                # `struct` is strict where NumPy rounds to infinity or wraps around, and knows no NumPy scalars.
                pack(cells, offset, array_of(value, dtype).item())

    def _available(self, tables: tuple[np.ndarray[Any, Any], ...]) -> _Available:
        """A fresh workspace, with the constants in it, and plans."""
        workspace = self.compiled.workspace()
        workspace.enter()
        for form, cell, value in self.presets:
            struct.pack_into(form, workspace.cells, CELL * cell, value)
        own = tuple([table.copy() for table in tables])
        return workspace, address_of(own[0]), address_of(own[-1]), own

    def _function(self) -> Callable[[tuple[Any, ...]], Any]:
        """The function, with all that it needs at hand."""
        concrete = self.concrete
        avals, assigned, rebuild = concrete.avals, concrete.assigned, concrete.rebuild_tensors
        count, one = len(avals), concrete.returns_one
        several = None if one or rebuild is tuple else rebuild
        new_values = [(count + i, variable) for i, variable in enumerate(assigned)]
        run, free = marshaller(), list[_Available]()
        assert run is not None
        tables, self._keep = self._plans(new_values)
        (calls,) = self.compiled.tables or (0,)
        self._cells = [
            (
                struct.Struct(f"={info_of(dtype).scalar_format}").pack_into,
                CELL * cell,
                dtype,
            )
            for _, cell, dtype in self.numbers
        ]
        new_at_hand, write, unflatten_call = (
            partial(self._available, tables),
            self._write,
            concrete.unflatten_call,
        )
        numbers_from = None if self.host.empty else self._typed(self.host)
        fits = self._check(run) if len(tables) > 1 else None
        arena = self.compiled.schedule.arena >= tuning.workspace_arena_bytes
        donors = [(i, self.donors[i]) for i in self.donated]
        draws = [source.draw for _, _, source in self.draws]
        explain, settle = self._explain, self._settle
        pending, unassigned = Outcome.PENDING.value, Outcome.UNASSIGNED.value

        def call(leaves: tuple[Any, ...]) -> Any:
            held: Any = ()
            if donors:
                held = tuple([v._buffer if v._assigned_in is None else v._computed() for _, v in donors])
            try:
                available = free.pop()
            except IndexError:
                available = new_at_hand()
            numbers: Any = () if fits is None or fits(leaves, held, available) else None
            if numbers is not None and numbers_from is not None:
                numbers = numbers_from(leaves)
            if numbers is None:
                free.append(available)
                return GUARD_FAILED
            if draws:
                held += tuple([Buffer(np.asarray(draw(), order="C")) for draw in draws])
            workspace, entries, _, _ = available
            inputs = {i: held[position] for position, (i, _) in enumerate(donors)} if donors else _NONE
            if arena:
                workspace.enter()
            # Variables refer to what may be written in place, and `held`, besides `inputs`.
            results = workspace.results(inputs, 2)
            if numbers:
                write(workspace.cells, numbers)
            while True:
                try:
                    result = run(leaves, held, results, entries, workspace.address, calls)
                except IndexError:
                    explain(leaves, numbers, held[len(donors) :])
                    raise
                if result.__class__ is not int or result != pending:
                    break
                settle()
            if arena:
                workspace.leave()
            if result.__class__ is int:
                if result == unassigned:
                    for variable, buffer in zip(assigned, results[count:], strict=True):
                        variable._set(buffer)
                elif result:
                    free.append(available)
                    return GUARD_FAILED
                result = unflatten_call(results, numbers)
            elif several is not None:
                result = several(result)
            counters.compiled_runs += 1
            counters.last = concrete
            concrete.visits += 1
            free.append(available)  # not before the buffers are referred to
            return result

        return call

    def _plans(
        self, assigned: Sequence[tuple[int, Variable]]
    ) -> tuple[tuple[np.ndarray[Any, Any], ...], list[Any]]:
        """The plan of a call, and what it points to; with one that only checks, where a call is to be made once.

        A random number that is drawn, and a function of the user's that is called, cannot be taken back.
        """
        concrete, first = self.concrete, self.compiled.layout.count
        count = len(concrete.keys)
        whole = Form.NOTHING if concrete.rebuild_tensors is None else Form.TUPLE
        returned = Returned(first, concrete.avals, Form.TENSOR if concrete.returns_one else whole)
        table, kept = plan(count, self.entries, assigned, returned)
        if not (self.draws or self.host.reads):
            return (table,), kept
        checking, more = plan(count, self.checked, (), Returned(first, (), Form.NOTHING))
        return (table, checking), [*kept, *more]

    def _check(
        self, run: Callable[..., int]
    ) -> Callable[[tuple[Any, ...], tuple[Any, ...], _Available], bool]:
        """What says whether leaves fit, and changes nothing."""
        settle, no_calls, pending = self._settle, address_of(_NO_CALLS), Outcome.PENDING

        def fits(leaves: tuple[Any, ...], held: tuple[Any, ...], available: _Available) -> bool:
            workspace, _, checking, _ = available
            while (outcome := run(leaves, held, (), checking, workspace.address, no_calls)) == pending:
                settle()
            return outcome == Outcome.DONE

        return fits

    def _settle(self) -> None:
        """Have the assignments run that are pending."""
        for source in self.concrete.sources:
            if isinstance(source, Variable):
                source._computed()

    def _explain(self, leaves: tuple[Any, ...], numbers: Sequence[Any], drawn: Sequence[Buffer]) -> None:
        """Raise the error that has ended a run, found by the interpreter: for the same numbers, whatever gave them."""
        concrete = self.concrete
        if self.host.empty:
            every = concrete.host.run(leaves)
        else:
            used = [source for source in concrete.sources if isinstance(source, TracedScalar)]
            known = {number.serial: leaves[number.leaf] for number in used if number.leaf is not None}
            known |= {
                number.serial: value for (number, _, _), value in zip(self.numbers, numbers, strict=False)
            }
            every = [known[number.serial] for number in used]
        self.compiled.explain(concrete.inputs(leaves, every, drawn))

    def _typed(self, host: ScalarProgram) -> Callable[[tuple[Any, ...]], Sequence[Any] | None]:
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
            except GuardFailed:
                return None

        return numbers
