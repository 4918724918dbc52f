"""The fast path of a compiled function: see `fast_call`.

Python allocates the results. One call of machine code, the argument marshaller, then checks the arguments, writes all
addresses into the slot table, runs the kernels and creates the returned Tensors.
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
from jittape.functions.marshal_plan import Entry, Form, Kind, Outcome, Returned, object_word, plan
from jittape.functions.marshaller import marshaller, simple_path
from jittape.functions.scalar_plan import entries_for, number_writer
from jittape.functions.signature import GUARD_FAILED, static_value
from jittape.functions.variable_arguments import ArgumentVariable, VariableKind, kinds_of
from jittape.recording.function_trace import Captured, Leaf, RandomInput
from jittape.recording.variable import Variable
from jittape.runtime.counters import counters
from jittape.runtime.executable import CompiledExecutable
from jittape.runtime.workspace import CELL, Workspace, array_of

if TYPE_CHECKING:
    from jittape.functions.concrete_function import Concrete

__all__ = ["fast_call"]

_CallState = tuple[Workspace, int, int, tuple[np.ndarray[Any, Any], ...], dict[int, Variable]]
"""State of one call.

A workspace, the addresses of its plan and of the plan that only checks, both plans, and the Variables among the
arguments that the plans refer to.
"""
_FLOATS = {float64: Kind.FLOAT64, float32: Kind.FLOAT32}
_NONE: Mapping[int, Buffer] = {}
_NO_CALLS = np.zeros(2, np.int64)
"""Empty call table of the driver."""


def fast_call(
    concrete: Concrete, compiled: CompiledExecutable, leaves: tuple[Any, ...]
) -> Callable[[tuple[Any, ...]], Any] | None:
    """Return a function of leaves that returns the result or `GUARD_FAILED`; None if the program has no fast path.

    `leaves` are those of a call that the trace holds for.
    """
    layout = compiled.layout
    computed = min(compiled.memory.outputs, default=0) >= layout.count  # not an input
    whole = len(compiled.tables or ()) == 1 and computed and layout.results and not layout.boxed
    if not whole or concrete.prints or concrete.variables.may_change_shape(leaves) or marshaller() is None:
        return None
    return _FastPath(concrete, compiled, leaves).call


class _FastPath:
    """The prepared fast path of one trace.

    Attributes
    ----------
    entries : list of Entry
        Entries of the marshaller's plan.
    checked : list of Entry
        Entries that only check.
    direct : set of int
        Leaves that the marshaller reads itself.
    presets : list of (format, cell, value)
        Constants, written once into each workspace.
    numbers : list of (number, cell, dtype)
        Numbers that Python or the plan computes.
    donated : dict of int to int
        Inputs that may be updated in place, and their positions among the held buffers.
    donors : dict of int to Variable
        Variables of the donated inputs.
    draws : list of (cell, aval, source)
        Random inputs.
    bound : dict of int to Variable
        The Variables among the arguments that new plans refer to, by the number of the argument.
    scalars : ScalarProgram
        Numbers that Python computes at each call; empty if the plan computes all of them.
    """

    def __init__(self, concrete: Concrete, compiled: CompiledExecutable, leaves: tuple[Any, ...]) -> None:
        self.concrete = concrete
        self.compiled = compiled
        self.bound: dict[int, Variable] = {i: leaves[i] for i in concrete.variables.free}
        self.entries: list[Entry] = []
        self.direct: set[int] = set()
        self.presets: list[tuple[str, int, Any]] = []
        self.numbers: list[tuple[TracedScalar, int, np.dtype[Any]]] = []
        self.donated = {i: position for position, (i, _, _) in enumerate(compiled.memory.in_place)}
        self.donors: dict[int, Variable] = {}
        self.draws: list[tuple[int, Aval, RandomInput]] = []
        for cell, (slot, source) in enumerate(zip(concrete.program.inputs, concrete.sources, strict=True)):
            self._place(cell, concrete.program.avals[slot], source)
        self.entries.sort(key=lambda entry: entry.kind is not Kind.VARIABLE)
        self._check_leaves()
        self.scalars = self._scalar_program()
        self.checked = list(self.entries)
        for i, (cell, aval, _) in enumerate(self.draws):
            self.entries.append(Entry(Kind.ARRAY, True, len(self.donated) + i, cell, aval))
        self._keep: Any = None
        self.call = self._function()

    def _place(self, cell: int, aval: Aval, source: Any) -> None:
        """Arrange for `cell` to get its value."""
        if isinstance(source, Variable):
            self._place_variable(cell, aval, source)
        elif isinstance(source, ArgumentVariable):
            number = source.number
            self.entries.append(Entry(Kind.VARIABLE, cell=cell, what=self.bound[number], argument=number))
        elif isinstance(source, RandomInput):
            self.draws.append((cell, aval, source))
        elif isinstance(source, Leaf):
            self.entries.append(Entry(Kind.ARRAY, False, source.number, cell, aval))
            self.direct.add(source.number)
        elif isinstance(source, Captured):
            self.presets.append(("=Q", cell, source.buffer.address))
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
        """Let the marshaller read a Variable. Python reads a donated one: it counts references to the memory."""
        if cell in self.donated:
            self.donors[cell] = variable
            self.entries.append(Entry(Kind.ARRAY, True, self.donated[cell], cell, aval))
        else:
            self.entries.append(Entry(Kind.VARIABLE, cell=cell, what=variable))

    def _check_leaves(self) -> None:
        """Add entries for arguments that are not read but must have the traced type, dtype, shape or value."""
        concrete = self.concrete
        bools = {number.leaf: value for number, value in concrete.specialized if number.kind is bool}
        bools.pop(None, None)
        self.specialized = [
            pair for pair in concrete.specialized if pair[0].leaf is None or pair[0].kind is not bool
        ]
        for i, key in enumerate(concrete.keys):
            if i in bools:
                self.entries.append(Entry(Kind.SAME, False, i, 0, bools[i]))
            elif i in self.direct:
                continue
            elif isinstance(key, Aval):
                self.entries.append(Entry(Kind.LIKE, False, i, 0, key))
            elif isinstance(key, type):
                self.entries.append(Entry(Kind.TYPE, False, i, 0, key))
            elif isinstance(key, VariableKind):
                what = self.bound[i] if i in self.bound else concrete.variables.pinned[i]
                self.entries.append(
                    Entry(Kind.SAME, False, i, 0, what, argument=i if i in self.bound else None)
                )
            else:
                self.entries.append(Entry(Kind.SAME, False, i, 0, static_value(key)))

        for first, second, same in concrete.pairs:
            self.entries.append(Entry(Kind.SHARED, False, first, second, value=int(same)))

    def _scalar_program(self) -> ScalarProgram:
        """Return the numbers that Python must compute; add plan entries instead if the marshaller can compute all."""
        computed = self.concrete.computed
        entries = entries_for(self.numbers, self.specialized, computed, len(self.entries))
        if entries is not None:
            self.entries += entries
            return ScalarProgram([], [], [])
        return ScalarProgram([number for number, _, _ in self.numbers], self.specialized, computed)

    def _new_state(self, tables: tuple[np.ndarray[Any, Any], ...]) -> _CallState:
        """Return a new workspace that contains the constants, with copies of the plans."""
        workspace = self.compiled.workspace()
        workspace.enter()
        for form, cell, value in self.presets:
            struct.pack_into(form, workspace.cells, CELL * cell, value)
        own = tuple([table.copy() for table in tables])
        return workspace, address_of(own[0]), address_of(own[-1]), own, self.bound.copy()

    def _function(self) -> Callable[[tuple[Any, ...]], Any]:
        """Return the fast path as a closure over local variables."""
        concrete = self.concrete
        avals, rebuild, assigned_at = concrete.avals, concrete.rebuild_tensors, concrete.assigned_at
        count, one = len(avals), concrete.returns_one
        several = None if one or rebuild is tuple or concrete.returns_none else rebuild
        positions = [storage - self.compiled.layout.count for storage in self.compiled.memory.outputs]
        new_values = list(zip(positions[count:], concrete.assigned, strict=True))
        run, free = marshaller(), list[_CallState]()
        assert run is not None
        tables, self._keep = self._plans(positions[:count], new_values)
        (calls,) = self.compiled.tables or (0,)
        new_state, write = partial(self._new_state, tables), number_writer(self.numbers)
        unflatten_result = concrete.unflatten_result
        numbers_from = None if self.scalars.empty else self._typed(self.scalars)
        may_go_on = self._rebinder() if self.bound else self._run_pending
        fits = self._check(run, may_go_on) if len(tables) > 1 else None
        arena = self.compiled.memory.arena >= tuning.workspace_arena_bytes
        donors = [(i, self.donors[i]) for i in self.donated]
        draws = [source.draw for _, _, source in self.draws]
        explain, unassigned = self._explain, Outcome.UNASSIGNED.value

        def call(leaves: tuple[Any, ...]) -> Any:
            held: Any = ()
            if donors:
                held = tuple([v._buffer if v._assigned_in is None else v._computed() for _, v in donors])
            try:
                state = free.pop()
            except IndexError:
                state = new_state()
            numbers: Any = () if fits is None or fits(leaves, held, state) else None
            if numbers is not None and numbers_from is not None:
                numbers = numbers_from(leaves)
            if numbers is None:
                free.append(state)
                return GUARD_FAILED
            if draws:
                held += tuple([Buffer(np.asarray(draw(), order="C")) for draw in draws])
            workspace, entries, _, _, _ = state
            inputs = {i: held[position] for position, (i, _) in enumerate(donors)} if donors else _NONE
            if arena:
                workspace.enter()
            # A donated buffer has two more references besides `inputs`: its Variable and `held`.
            results = workspace.results(inputs, 2)
            if numbers:
                write(workspace.cells, numbers)
            while True:
                try:
                    result = run(leaves, held, results, entries, workspace.address, calls)
                except IndexError:
                    explain(leaves, numbers, held[len(donors) :])
                    raise
                if result.__class__ is not int or not result or not may_go_on(leaves, state, result):
                    break
            if arena:
                workspace.leave()
            if result.__class__ is int:
                if result == unassigned:
                    for variable, position in zip(assigned_at(leaves), positions[count:], strict=True):
                        variable._set(results[position])
                elif result:
                    free.append(state)
                    return GUARD_FAILED
                result = unflatten_result([results[position] for position in positions])
            elif several is not None:
                result = several(result)
            counters.compiled_runs += 1
            counters.last = concrete
            concrete.visits += 1
            free.append(state)  # only after the results are referenced
            return result

        return simple_path(concrete, call, free, calls) if self._is_simple() else call

    def _is_simple(self) -> bool:
        """Return whether machine code can do all of a call: see `simple_call`."""
        concrete, compiled = self.concrete, self.compiled
        by_python = self.donors or self.draws or not self.scalars.empty
        large = compiled.memory.arena >= tuning.workspace_arena_bytes
        whole = concrete.returns_one or concrete.returns_none or concrete.rebuild_tensors is tuple
        return bool(whole and not (by_python or large or compiled.may_fail))

    def _plans(
        self, returned_at: Sequence[int], assigned: Sequence[tuple[int, Variable | ArgumentVariable]]
    ) -> tuple[tuple[np.ndarray[Any, Any], ...], list[Any]]:
        """Return the plan of a call, followed by a plan that only checks if necessary, and the objects they point to.

        Checks come first if the call draws random numbers or reads user functions: neither can be undone.
        """
        concrete, first = self.concrete, self.compiled.layout.count
        count = len(concrete.keys)
        several = Form.NOTHING if concrete.rebuild_tensors is None else Form.TUPLE
        form = Form.TENSOR if concrete.returns_one else Form.NONE if concrete.returns_none else several
        returned = Returned(first, tuple(zip(returned_at, concrete.avals, strict=True)), form)
        variables = [(i, self.bound[v.number] if isinstance(v, ArgumentVariable) else v) for i, v in assigned]
        table, kept = plan(count, self.entries, variables, returned)
        if not (self.draws or self.scalars.reads):
            return (table,), kept
        checking, more = plan(count, self.checked, (), Returned(first, (), Form.NOTHING))
        return (table, checking), [*kept, *more]

    def _check(
        self, run: Callable[..., int], may_go_on: Callable[[tuple[Any, ...], _CallState, int], bool]
    ) -> Callable[[tuple[Any, ...], tuple[Any, ...], _CallState], bool]:
        """Return a function that checks leaves without side effects."""
        no_calls = address_of(_NO_CALLS)

        def fits(leaves: tuple[Any, ...], held: tuple[Any, ...], state: _CallState) -> bool:
            workspace, _, checking, _, _ = state
            while True:
                outcome = run(leaves, held, (), checking, workspace.address, no_calls)
                if not outcome or not may_go_on(leaves, state, outcome):
                    return outcome == Outcome.DONE

        return fits

    def _rebinder(self) -> Callable[[tuple[Any, ...], _CallState, int], bool]:
        """Return a function that makes the plans of a state refer to the Variables among the leaves.

        It returns whether a run with these leaves can succeed now, which it cannot if the trace does not hold for them.
        It runs after machine code has found that an argument differs, or that the Variable of an earlier call has a
        pending assignment: a check in Python would add 0.2 µs to each call.
        """
        concrete, count, run_pending = self.concrete, len(self.concrete.keys), self._run_pending
        positions = list(self.bound)
        rows = [(row, entry.argument) for row, entry in enumerate(self.entries)]
        rows += [
            (row, variable.number if isinstance(variable, ArgumentVariable) else None)
            for row, variable in enumerate(concrete.assigned, len(self.entries))
        ]
        words = [(object_word(row), number) for row, number in rows if number is not None]
        checks = [
            (object_word(row), e.argument) for row, e in enumerate(self.checked) if e.argument is not None
        ]

        def may_go_on(leaves: tuple[Any, ...], state: _CallState, outcome: int) -> bool:
            bound = state[-1]
            if len(leaves) != count:
                return False
            if all([leaves[i] is bound[i] for i in positions]):
                return run_pending(leaves, state, outcome)
            keys = concrete.keys
            if kinds_of(leaves) != [(i, key) for i, key in enumerate(keys) if isinstance(key, VariableKind)]:
                return False
            if not concrete.variables.holds(leaves) or concrete.variables.may_change_shape(leaves):
                return False
            for table, places in zip(state[3], (words, checks), strict=False):
                for word, number in places:
                    table[word] = id(leaves[number])
            for i in positions:
                bound[i] = leaves[i]
            return True

        return may_go_on

    def _run_pending(self, leaves: tuple[Any, ...], state: _CallState, outcome: int) -> bool:
        """Run the pending assignments of the Variables if they ended a run; return whether they did."""
        if outcome != Outcome.PENDING:
            return False
        for source in self.concrete.sources:
            if isinstance(source, Variable):
                source._computed()
            elif isinstance(source, ArgumentVariable):
                leaves[source.number]._computed()
        return True

    def _explain(self, leaves: tuple[Any, ...], numbers: Sequence[Any], drawn: Sequence[Buffer]) -> None:
        """Raise the error that ended a run: the interpreter runs the program with the same numbers."""
        concrete = self.concrete
        if self.scalars.empty:
            every = concrete.scalars.run(leaves)
        else:
            used = [source for source in concrete.sources if isinstance(source, TracedScalar)]
            known = {number.serial: leaves[number.leaf] for number in used if number.leaf is not None}
            known |= {
                number.serial: value for (number, _, _), value in zip(self.numbers, numbers, strict=False)
            }
            every = [known[number.serial] for number in used]
        self.compiled.explain(concrete.inputs(leaves, every, drawn))

    def _typed(self, host: ScalarProgram) -> Callable[[tuple[Any, ...]], Sequence[Any] | None]:
        """Return a function that computes the numbers, or None if types differ or the trace does not hold."""
        types = [(i, key) for i, key in enumerate(self.concrete.keys) if isinstance(key, type)]
        count = len(self.concrete.keys)

        def numbers(leaves: tuple[Any, ...]) -> Sequence[Any] | None:
            if len(leaves) != count:
                return None
            for i, cls in types:
                if leaves[i].__class__ is not cls:
                    return None
            try:
                return host.run(leaves)
            except GuardFailed:
                return None

        return numbers
