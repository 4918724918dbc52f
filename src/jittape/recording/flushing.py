"""Flushes of a trace: find the live values, run the executable and distribute the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from sys import getrefcount
from typing import Any
from weakref import ref

import numpy as np

from jittape.core.buffers import LARGE, Buffer, owned
from jittape.core.forms import Control
from jittape.core.interpret import interpret
from jittape.core.primitive import INTERRUPTED, active
from jittape.core.tickets import TicketQueue
from jittape.native import switch
from jittape.recording.general.path_families import note_path
from jittape.recording.new_programs import warn_of_new_program
from jittape.recording.tensor import FailedBuffer, Tensor
from jittape.recording.trie import Node, forget_growing_paths, growing_path, trie
from jittape.recording.variable import Variable
from jittape.runtime.counters import counters
from jittape.runtime.gc_tracking import untrack_all
from jittape.runtime.path_executable import PathExecutable
from jittape.transform.op_paths import Key, cut_program, effects_of, parts_of

__all__ = ["FLUSH_CLOCKS", "LOOP", "Assignments", "Flushing", "live_among"]

Assignment = tuple[Variable, int, Node, Any]
"""A Variable, the slot of its new value, the node of the assignment, and the previous assignment or None."""
Assignments = dict[int, Assignment]
"""Assignments by the identities of their Variables."""
_VARIANTS_PER_NODE = 16
"""Maximum number of executables that a node keeps, one for each set of live values."""
FLUSH_CLOCKS: list[Any] = []
"""The profiles that time `Flushing.flush`. Machine code leaves flushes to that method while there is one."""
LOOP = 100
"""Number of flushes of known paths after which machine code records.

Loading the machine code takes 8 ms, and the first process compiles it in 0.1 s; a short program avoids both.
"""
_NEW_LENGTHS = 2000
"""Number of flushes of new lengths after which machine code records, too: it saves 0.03 ms of each.

Loading it with the modules that it needs takes 45 ms after so many lengths, as much as 1,500 of them save.
"""


_MEMORY_ADVICE = (
    "jt.plot.memory() shows the bytes in use in each part of the step, and the line of the largest value"
)
_HOLDS = Buffer(np.array(True))
"""The result of a check that a later flush must not run again."""
_OPS_APART = 50
"""Maximum number of ops of an initial value that is computed apart from the other pending ops."""


class _Held:
    """A strong reference to a tensor, called like a weak one."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __call__(self) -> Tensor:
        return self._tensor


class Flushing:
    """The base of `Trace` that runs pending ops. `Trace` documents the attributes."""

    __slots__ = (
        "_flushing",
        "assigned",
        "holders",
        "inputs",
        "large",
        "lost",
        "materialized",
        "node",
        "pending",
    )

    node: Node
    inputs: list[Any]
    intervals: list[ref[Any]]
    pending: list[Tensor]
    materialized: list[Callable[[], Tensor | None]]
    assigned: Assignments
    large: bool
    holders: int
    lost: TicketQueue
    """Tickets of deallocated tapes of this thread that still hold a trace: see `release_lost`."""
    _flushing: Any

    def created(self, initial: Tensor) -> Buffer:
        """Return the initial value of a new Variable; in a tape, as in the first call of a layer, without a flush."""
        if initial._trace is not self or initial._buffer is not None or not self.intervals:
            return initial._computed()
        path = growing_path(self.node)
        program = cut_program(path, (initial._slot,), ())
        if len(program.ops) > _OPS_APART:
            return initial._computed()
        sources = dict(zip(path.inputs, self.inputs, strict=True))
        values = [sources[slot] for slot in program.inputs]
        (array,) = interpret(program, [x.array if isinstance(x, Buffer) else x for x in values])
        return owned(np.array(array))

    def _end(self) -> None:
        raise NotImplementedError

    def nbytes(self) -> int:
        """Return the size, in bytes, of the inputs and of computed results that are still referred to."""
        return self.node.nbytes + sum(t.aval.nbytes for t in self._available())

    def value_of(self, tensor: Tensor) -> Buffer:
        """Return the value of a pending tensor of the trace, after a flush."""
        self.flush(tensor)
        buffer: Buffer | None = tensor._buffer
        assert buffer is not None
        return buffer

    def forget_assignment(self, variable: Variable) -> None:
        """Drop the pending assignment of `variable`, which gets another value, or wait while a thread runs it."""
        with self._flushing:
            self.assigned.pop(id(variable), None)

    def release_lost(self) -> None:
        """Release the traces that deallocated tapes of this thread held."""
        while self.lost:
            try:
                ticket = self.lost.popleft()
            except IndexError:  # another thread, which flushes a tensor of this one, was faster
                return
            if self.lost.held.pop(id(ticket), None) is ticket:
                trace, ticket.content = ticket.content, None
                if ticket in trace.intervals:
                    trace.leave(ticket)
                trace.release()

    def flush(self, wanted: Tensor | None = None) -> None:
        """Compute all pending tensors that are still referred to, `wanted`, and the new values of assigned Variables.

        Nothing changes before all values are computed. If an op fails, its error is raised. Each Variable then has the
        value that it would have if each op had run when it was recorded: all assignments after the first failed op are
        lost. Tensors that depend on a failed op raise the same error when they are used; other tensors are computed.
        After an interrupt (``KeyboardInterrupt``) everything is pending as before, except results of loops: see
        `_keep_pending`.
        """
        if self.lost:
            self.release_lost()
        with self._flushing:
            if self._run_known(wanted):
                return
            recorder: Any = active.recorder
            if recorder is INTERRUPTED:
                recorder.refuse()
            try:
                try:
                    if recorder.traced_in is None:  # else the user's function runs
                        active.recorder = INTERRUPTED
                    self._flush(wanted, is_current=self is recorder)
                finally:
                    active.recorder = recorder
            except Exception:
                self._end()
                raise
            self._end()

    def _flush(self, wanted: Tensor | None, is_current: bool) -> None:
        """Flush, without ending the trace."""
        pending, alive, assigned, needed = self._take_pending()
        if wanted is not None and wanted._buffer is None:
            for tensor in alive:
                if tensor is wanted:
                    break
            else:  # recorded by its own thread at this very moment
                needed = (*needed[: len(alive)], wanted._slot, *needed[len(alive) :])
                alive.append(wanted)
        if not needed:
            return
        goes_on = self.holders > 0 or not is_current
        available = self._available() if self.materialized else []
        counters.flushes += 1
        buffers = None
        try:
            buffers = self._run(needed, assigned, available, goes_on)
            self._commit(alive, assigned, buffers, goes_on)
        except Exception as error:
            self._salvage(pending, alive, assigned, available, error)
            if isinstance(error, MemoryError):
                raise MemoryError(f"{error}; {_MEMORY_ADVICE}") from None
            raise
        except BaseException:
            self.pending[:0] = pending
            if buffers is None:
                self._keep_pending(alive, needed, available)
            else:  # a Variable may have been updated in place, which must not happen twice
                self._commit(alive, assigned, buffers, goes_on)
                self.pending = [tensor for tensor in self.pending if tensor._buffer is None]
            raise

    def _run_known(self, wanted: Tensor | None) -> bool:
        """Flush as `flush` does and return True if that is a common case for machine code, which replaces this method.

        The flush ends the trace and runs a known program that cannot fail.
        """
        return False

    def _take_pending(self) -> tuple[list[Tensor], list[Tensor], Assignments, tuple[int, ...]]:
        """Return the pending tensors, the live ones, a copy of `assigned`, and the slots of the last two."""
        pending, self.pending = self.pending, []
        alive = live_among(pending) if pending else []
        needed = [t._slot for t in alive]
        assigned = self.assigned.copy()
        if assigned:
            needed += [slot for _, slot, _, _ in assigned.values()]
        return pending, alive, assigned, tuple(needed)

    def _available(self) -> list[Tensor]:
        """Return the computed results that programs can take as inputs, one for each slot.

        A handle is left out if another trace imported it or if it was written to.
        """
        held = [t for r in self.materialized if (t := r()) is not None]
        return list({t._slot: t for t in held if t._trace is self and t._buffer is not None}.values())

    def _run(
        self, needed: tuple[int, ...], assigned: Assignments, available: list[Tensor], goes_on: bool
    ) -> list[Buffer]:
        node = self.node
        slots = tuple([t._slot for t in available]) if available else ()
        key = (needed, slots, self._donated(needed, assigned) if self.large and not goes_on else ())
        executable = node.executables.get(key)
        if executable is None:
            counters.paths_recorded += 1
            executable = self._new_executable(key)
            if not goes_on:  # the next trace begins at the root
                forget_growing_paths()
        else:
            counters.paths_found += 1
            if counters.paths_found % LOOP == 0:
                switch.follow()
        trie.clock = node.stamp = trie.clock + 1
        counters.last = executable
        return executable.run(self.inputs, [t._buffer for t in available] if available else [])

    def _donated(self, needed: tuple[int, ...], assigned: Assignments) -> tuple[tuple[int, int], ...]:
        """Return large old values that new ones may overwrite, as pairs of positions in the inputs and in `needed`.

        Only a flush that ends the trace may overwrite them: else values may be computed from them again.
        """
        first = len(needed) - len(assigned)
        buffers = [variable._buffer for variable, *_ in assigned.values()]
        large = [(buffer, first + i) for i, buffer in enumerate(buffers) if buffer.nbytes >= LARGE]
        positions = {id(value): i for i, value in enumerate(self.inputs)}
        return tuple([(positions[id(buffer)], output) for buffer, output in large if id(buffer) in positions])

    def _new_executable(self, key: Key) -> PathExecutable:
        node = self.node
        if node.derivation is None:
            note_path(node)
            if not node.executables:
                warn_of_new_program(node)
            executable = self._build_executable(key)
        else:
            counters.paths_derived += 1
            if counters.paths_derived % _NEW_LENGTHS == 0:
                switch.follow()
            path, values = node.derivation
            executable = path.executable(path.number_of(node), values, key, self.inputs)
        variants = node.executables
        if len(variants) >= _VARIANTS_PER_NODE:
            variants.pop(next(iter(list(variants))), None)
        executable = variants.setdefault(key, executable)
        if node.derivation is not None:  # in no cycle
            untrack_all([executable, variants])
        return executable

    def _build_executable(self, key: Key) -> PathExecutable:
        return PathExecutable(*parts_of(growing_path(self.node), key, self.inputs))

    def _commit(
        self, alive: list[Tensor], assigned: Assignments, buffers: list[Buffer], goes_on: bool
    ) -> None:
        self._distribute(alive, assigned, buffers)
        if goes_on:
            self._keep(alive)

    def _keep(self, computed: list[Tensor]) -> None:
        """Let later programs take `computed` as inputs; while a tape records, also those dropped before the next flush.

        In a loop such as ``y = f(y); print(float(y))`` inside a tape, the user drops the value from which the next
        flush computes. Without it, each flush would repeat all steps from the first one.
        """
        former = [r if t._buffer is _HOLDS else ref(t) for r in self.materialized if (t := r()) is not None]
        self.materialized = [*former, *[_Held(t) if self.intervals else ref(t) for t in computed]]

    def _distribute(self, alive: list[Tensor], assigned: Assignments, buffers: list[Buffer]) -> None:
        """Give the first buffers to the tensors and the others to the assigned Variables."""
        values = iter(buffers)
        for tensor in alive:
            tensor._buffer = next(values)
        if assigned:
            fresh: Assignments = {}
            for (number, assignment), value in zip(assigned.items(), values, strict=True):
                variable, before = assignment[0], assignment[0]._buffer  # noqa: F841 - deallocated later
                # The trace's own thread, if it is another one, may have assigned again meanwhile. From here on nothing
                # is called or deallocated, so no other thread and no handler can run.
                if number in self.assigned and self.assigned[number] is assignment:
                    del self.assigned[number]
                    variable._buffer = value  # as `_adopt` does, in half the time
                    variable._assigned_in = variable._trace = None
                    variable._slot = -1
            if not self.assigned:
                self.assigned = fresh  # so that `roll_back` detects the flush

    def _keep_pending(self, alive: list[Tensor], needed: tuple[int, ...], available: list[Tensor]) -> None:
        """Keep everything pending after an interrupt, except what depends on a loop.

        The next flush must not start a possibly endless loop again. Therefore Variables keep their last assignments
        before the first loop, and tensors that depend on a loop raise an error.
        """
        program = cut_program(growing_path(self.node), needed, tuple([t._slot for t in available]))
        loops = [op.out for op in program.ops if isinstance(op.primitive.lowering, Control)]
        if not loops:
            return
        dependent = set(loops)
        for op in program.ops:
            if not dependent.isdisjoint(op.args):
                dependent.add(op.out)
        failed = FailedBuffer(
            RuntimeError("an interrupt ended the loop that this tensor depends on: compute it again")
        )
        for tensor in alive:
            if tensor._slot in dependent:
                tensor._slot, tensor._buffer = -1, failed
        self.pending = [tensor for tensor in self.pending if tensor._buffer is not failed]
        for key, last in list(self.assigned.items()):
            kept = next((version for version in _versions(last) if version[2].n_slots <= loops[0]), None)
            last[0]._forget_assignment()
            if kept is None:
                del self.assigned[key]
            else:
                self.assigned[key] = kept
                kept[0]._assigned_in = kept[0]._trace = self

    def _salvage(
        self,
        pending: list[Tensor],
        alive: list[Tensor],
        assigned: Assignments,
        available: list[Tensor],
        error: Exception,
    ) -> None:
        """Compute what does not fail, after a failed run: see `flush`. Only an interrupt leaves anything pending."""
        buffers: list[Buffer | None]
        versions = [list(_versions(last)) for last in assigned.values()]
        slots = [t._slot for t in alive] + [slot for own in versions for _, slot, *_ in own]
        failed = FailedBuffer(error)
        try:
            executable = self._build_executable((tuple(slots), tuple([t._slot for t in available]), ()))
            buffers, first = executable.salvage(self.inputs, [t._buffer for t in available])
        except Exception:  # the interpreter cannot run it either: nothing stays pending
            buffers, first = [None] * len(slots), -1
        except BaseException:
            self.pending[:0] = pending
            raise
        for tensor, buffer in zip(alive, buffers, strict=False):
            tensor._buffer = failed if buffer is None else buffer
            if buffer is None:
                tensor._slot = -1  # so that `Trace.apply` checks the tensor, if the trace goes on
        values = iter(buffers[len(alive) :])
        for (number, last), own in zip(assigned.items(), versions, strict=True):
            found = list(islice(values, len(own)))
            if self.assigned.get(number) is last:
                del self.assigned[number]
                _adopt_last_valid(own, found, first)
        if not self.assigned:
            self.assigned = {}  # another one, so that `roll_back` detects the flush
        self.materialized.extend([ref(t) for t in alive if t._buffer is not failed])
        path = growing_path(self.node)  # its checks do not run again
        ran = effects_of(path).keys() - {t._slot for t in available}
        self.materialized.extend([_Held(Tensor(self, slot, path.avals[slot], _HOLDS)) for slot in ran])


def _adopt_last_valid(versions: list[Assignment], values: list[Buffer | None], first_failed: int) -> None:
    """Give a Variable the first value, the latest comes first, that was assigned before the first failed op."""
    variable = versions[0][0]
    for (_, _, node, _), value in zip(versions, values, strict=True):
        if value is not None and node.n_slots <= first_failed:
            variable._adopt(value)
            return
    variable._forget_assignment()


def _versions(assignment: Assignment | None) -> Iterator[Assignment]:
    """Yield an assignment and the previous ones of the same Variable."""
    while assignment is not None:
        yield assignment
        assignment = assignment[3]


def live_among(pending: list[Any]) -> list[Any]:
    """Return the tensors of `pending` without a value that are referenced outside of the list.

    Reference counts find them at the lowest cost: weak references took 0.13 of the 0.56 µs of a recorded op.
    """
    return [t for t in pending if getrefcount(t) > _UNREFERENCED and t._buffer is None]


def _reference_counts(values: list[Any]) -> list[int]:
    return [getrefcount(t) for t in values if t is not None]


_UNREFERENCED = _reference_counts([object()])[0]
"""The reference count, in a comprehension as in `live_among`, of an object that only the list refers to."""
