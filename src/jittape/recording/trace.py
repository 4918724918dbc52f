"""The trace: ops recorded since the last step boundary, as a walk in the trie.

Start at `Trace.apply`, through which every recorded operation goes. On a path seen before it makes one key, looks it up
and makes one `Tensor`; everything else in this file is what happens the first time, or at a flush.

The surprising fact: a trace holds no graph. It holds a node of the trie, which is the graph, and the run-time inputs in
the order in which the path asks for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from jittape.builder import Builder, Symbol, WeakScalar
from jittape.config import config
from jittape.dtypes import as_dtype
from jittape.primitive import Primitive, active_recorder, recording_with, replace_recorder, set_default_recorder
from jittape.program import Aval
from jittape.recording.convert import convert_to_tensor
from jittape.recording.source import user_line
from jittape.recording.tensor import FailedBuffer, Tensor
from jittape.recording.trie import Node, cut_program, path_to, trie
from jittape.recording.variable import Variable, read_variable_op
from jittape.runtime.buffers import Buffer
from jittape.runtime.counters import counters
from jittape.runtime.path import PathExecutable

__all__ = ["Trace", "begin_step", "current_trace"]

_SCALARS = frozenset((float, int, bool, complex))
_VARIANTS_PER_NODE = 16


class Trace:
    """A recorder that computes nothing until somebody looks.

    Attributes
    ----------
    node : Node
        Where in the trie the trace has come to.
    inputs : list of Buffer or scalar
        Run-time values of the path's input slots.
    pending : list of weak references to Tensor
        Results that are not computed yet; those that die before the flush never are.
    entered : dict
        The input slots of the tensors that have come in, by identity.
    variables : dict
        The Variables read, by identity, each with its slots, one a version.
    callbacks : dict
        Python gradient functions by the slot of their op.
    holders : int
        Tapes that may still ask this trace for a gradient; while there are any, a flush does not end the trace.
    recording : list of GradientTape
        The tapes that record now, outermost first.
    """

    def __init__(self) -> None:
        self.node: Node = trie.root()
        self.inputs: list[Any] = []
        self.pending: list[ref[Tensor]] = []
        self.materialized: list[ref[Tensor]] = []
        self.entered: dict[int, tuple[int, Tensor]] = {}
        self.variables: dict[int, tuple[Variable, list[int]]] = {}
        self.assigned: dict[int, tuple[Variable, int]] = {}
        self.callbacks: dict[int, Callable[..., Any]] = {}
        self.input_bytes = 0
        self.holders = 0
        self.superseded = False
        self.recording: list[Any] = []
        self._flushing = threading.RLock()

    # ---- recording ---------------------------------------------------------------------------------------------------

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Record ``body(*arrays, *static)``; the result is a pending Tensor, or a tuple of them."""
        parts: list[Any] = [body, static]
        scalars: list[Any] = []
        fresh: list[Any] = []
        for a in arrays:
            kind = a.__class__
            if kind is Tensor or kind is Variable:
                if a._trace is self and a._slot >= 0:
                    parts.append(a._slot)
                elif (
                    a._buffer.__class__ is Buffer
                    and (a._assigned_in is None if kind is Variable else id(a) not in self.entered)
                    and not (fresh and any([a is f for f in fresh]))
                ):
                    parts.append(a._marker or _mark(a))
                    fresh.append(a)
                else:
                    return self._apply_any(body, arrays, static)
            elif kind in _SCALARS:
                parts.append(kind)
                scalars.append(a)
            else:
                return self._apply_any(body, arrays, static)
        key = tuple(parts)
        node = self.node.children.get(key)
        if node is None:
            node = self._grow(key, body, static)
        if fresh:
            slot = self.node.n_slots
            for a in fresh:
                self._enter(a, slot)
                slot += 1
        return self._advance(node, scalars)

    def bind(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """A primitive outside any body is recorded as a body of its own."""
        return self.apply(_bound, operands, (primitive, tuple(sorted(params.items()))))

    def _advance(self, node: Node, scalars: Sequence[Any]) -> Any:
        """Go on to `node` and make the tensors that it results in."""
        inputs = self.inputs
        for position, dtype in node.scalars:
            value = scalars[position]
            if dtype.kind in "iu":
                value = dtype.type(value).item()  # raises OverflowError on the user's line
            inputs.append(value)
        self.node = node
        if node.results is None:
            tensor = Tensor(self, node.slot, node.aval)
            self.pending.append(ref(tensor))
        else:
            tensor = tuple([self._tensor_at(result) for result in node.results])
        if len(self.pending) > config._max_pending_ops or self.input_bytes > config._max_pending_bytes:
            self._relieve()
        return tensor

    def _tensor_at(self, result: tuple[int, Any] | None) -> Tensor | None:
        if result is None:
            return None
        tensor = Tensor(self, *result)
        self.pending.append(ref(tensor))
        return tensor

    def _relieve(self) -> None:
        """Run what is pending, unless a tape needs the trace as it is."""
        if self.holders == 0 and self is active_recorder():
            self.flush()

    def _apply_any(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
        """`apply` for operands of any kind: arrays, lists, other traces' tensors, Variables assigned before."""
        arrays = tuple([self._recordable(a) for a in arrays])
        parts: list[Any] = [body, static]
        scalars: list[Any] = []
        fresh: dict[int, tuple[Any, int]] = {}
        for a in arrays:
            kind = a.__class__
            if kind in _SCALARS:
                parts.append(kind)
                scalars.append(a)
            elif isinstance(a, np.generic):
                parts.append(as_dtype(a.dtype))
                scalars.append(a.item())
            elif a._trace is self and a._slot >= 0:
                parts.append(a._slot)
            elif kind is Tensor and id(a) in self.entered:
                parts.append(self.entered[id(a)][0])
            elif id(a) in fresh:
                parts.append(fresh[id(a)][1])
            else:
                parts.append(a._marker or _mark(a))
                fresh[id(a)] = (a, self.node.n_slots + len(fresh))
        key = tuple(parts)
        node = self.node.children.get(key)
        if node is None:
            node = self._grow(key, body, static)
        for a, slot in fresh.values():
            self._enter(a, slot)
        return self._advance(node, scalars)

    def _recordable(self, a: Any) -> Any:
        """`a` as something that has a slot here or can get one: Tensor, Variable or scalar."""
        kind = a.__class__
        if kind in _SCALARS or isinstance(a, np.generic):
            return a
        if kind is not Variable:
            tensor = a if kind is Tensor else convert_to_tensor(a)
            if tensor._trace is not self and tensor._buffer is None:
                tensor._trace.flush(tensor)
            if tensor._buffer.__class__ is FailedBuffer:
                tensor._buffer.reraise()
            return tensor
        if a._assigned_in is not None:
            if a._assigned_in is not self:
                a._assigned_in.flush()
            elif a._slot < 0:
                self._read_version(a)
        return a

    def _read_version(self, variable: Variable) -> None:
        """Give `variable`, assigned in this trace, the slot under which it is read from now on."""
        value_slot = self.assigned[id(variable)][1]
        key = (read_variable_op, (variable.trainable,), value_slot)
        node = self.node.children.get(key)
        if node is None:
            node = self._grow(key, _read_variable, (variable.trainable,))
        self.node = node
        variable._slot = node.slot
        self.variables.setdefault(id(variable), (variable, []))[1].append(node.slot)

    def _enter(self, a: Tensor | Variable, slot: int) -> None:
        """Make the computed value of `a` the input at `slot`."""
        buffer: Buffer = a._buffer
        self.inputs.append(buffer)
        self.input_bytes += buffer.nbytes
        if a.__class__ is Variable:
            known = self.variables.get(id(a))
            if known is None:
                self.variables[id(a)] = (a, [slot])
            else:
                known[1].append(slot)
        else:
            former = a._trace
            if former is not None and former.holders:
                former.entered[id(a)] = (a._slot, a)
            self.entered[id(a)] = (slot, a)
        a._trace = self
        a._slot = slot

    def _grow(self, key: tuple[Any, ...], body: Callable[..., Any], static: tuple[Any, ...]) -> Node:
        """Make the child for `key`: run `body` once with a builder and keep the ops that it appends."""
        node = Node(self.node)
        node.source = user_line()
        builder = Builder(self.node.n_slots, node.source)
        parts = key[2:]
        node_inputs: list[tuple[int, Any, bool | None]] = []
        for part in parts:
            if part.__class__ is Marker:
                node_inputs.append((builder.new_slot(part.aval).slot, part.aval, part.trainable))
        scalars = _ScalarInputs(builder)
        fresh = iter(node_inputs)
        handles: list[Any] = []
        known = {slot: aval for slot, aval, _ in node_inputs}
        for part in parts:
            if part.__class__ is int:
                handles.append(Symbol(part, known[part] if part in known else self.aval_of(part)))
            elif part.__class__ is Marker:
                slot, aval, _ = next(fresh)
                handles.append(Symbol(slot, aval))
            else:
                handles.append(scalars.handle(part))
        with recording_with(builder):
            result = body(*handles, *static)
            node.results = _settled(result) if isinstance(result, (tuple, list)) else None
            if node.results is None:
                ((node.slot, node.aval),) = _settled((result,))
        node.inputs = (*node_inputs, *((slot, aval, None) for slot, aval in scalars.inputs))
        node.scalars = tuple(scalars.wanted)
        return self.attach(key, node, builder)

    def attach(self, key: tuple[Any, ...], node: Node, builder: Builder) -> Node:
        """Put the finished `node` into the trie."""
        node.ops = tuple(builder.ops)
        node.op_avals = tuple([builder.avals[op.out] for op in builder.ops])
        node.n_slots = builder.next_slot
        node.n_inputs = self.node.n_inputs + len(node.inputs)
        node.n_ops = self.node.n_ops + len(node.ops)
        grown = self.node.children.setdefault(key, node)
        if grown is node:
            trie.added(node)
        return grown

    def aval_of(self, slot: int) -> Any:
        """The aval of a slot of the path, found by walking up."""
        at: Node | None = self.node
        while at is not None:
            if at.slot == slot and at.aval is not None:
                return at.aval
            for known, aval, _ in at.inputs:
                if known == slot:
                    return aval
            for op, aval in zip(at.ops, at.op_avals, strict=True):
                if op.out == slot:
                    return aval
            at = at.parent
        raise KeyError(slot)

    def slot_of(self, tensor: Tensor) -> int | None:
        """The slot of `tensor` in this trace, None if it is not part of it."""
        if tensor._trace is self:
            return tensor._slot
        known = self.entered.get(id(tensor))
        return known[0] if known is not None else None

    def enter(self, tensor: Tensor) -> int:
        """The slot of `tensor`, which comes in as an input if it is not in the trace yet."""
        slot = self.slot_of(tensor)
        if slot is None:
            self.apply(_entered, (tensor,))
            slot = tensor._slot
        return slot

    def enter_variable(self, variable: Variable) -> None:
        """Give `variable` a slot, as if it were read here."""
        self.apply(_entered, (variable,))

    def nbytes(self) -> int:
        """Bytes of the inputs, and of computed results that somebody still holds."""
        computed = [t for r in self.materialized if (t := r()) is not None]
        return self.input_bytes + sum(t.aval.nbytes for t in computed)

    def assign(self, variable: Variable, value: Tensor) -> None:
        """Make `value` the new value of `variable`; reading it later gives a slot of its own."""
        if variable._assigned_in is not None and variable._assigned_in is not self:
            variable._assigned_in.flush()
        slot = self.enter(value)
        self.assigned[id(variable)] = (variable, slot)
        variable._assigned_in = self
        variable._trace = self
        variable._slot = -1

    def forget_assignment(self, variable: Variable) -> None:
        """`variable` has got another value meanwhile."""
        self.assigned.pop(id(variable), None)

    def adopt(self, tensor: Tensor) -> None:
        """Compute `tensor`, a handle that has got a pending slot of this trace, at the next flush."""
        self.pending.append(ref(tensor))

    # ---- running -----------------------------------------------------------------------------------------------------

    def flush(self, wanted: Tensor | None = None) -> None:
        """Compute every pending tensor that is still alive, `wanted` too, and the new values of assigned Variables.

        Nothing is changed before all values are there. If an op fails, the values that do not depend on it are kept, those
        that do raise the same error when looked at, Variables keep the value they had, and the error is raised.
        """
        with self._flushing:
            pending, self.pending = self.pending, []
            alive = [t for r in pending if (t := r()) is not None and t._buffer is None]
            if wanted is not None and wanted._buffer is None and not any(t is wanted for t in alive):
                alive.append(wanted)  # recorded by its own thread at this very moment
            needed = [t._slot for t in alive]
            needed.extend([slot for _, slot in self.assigned.values()])
            if needed:
                at_hand = [t for r in self.materialized if (t := r()) is not None] if self.materialized else []
                counters.flushes += 1
                try:
                    self._commit(alive, self._run(tuple(needed), at_hand))
                except Exception as error:
                    self._salvage(alive, at_hand, error)
                    raise
                finally:
                    self._end()
            else:
                self._end()

    def _run(self, needed: tuple[int, ...], at_hand: list[Tensor]) -> list[Buffer]:
        node = self.node
        key = (needed, tuple([t._slot for t in at_hand]))
        executable = node.executables.get(key)
        if executable is None:
            counters.paths_recorded += 1
            executable = self._new_executable(key)
        else:
            counters.paths_found += 1
        trie.touch(node)
        counters.last = executable
        return executable.run(self.inputs, [t._buffer for t in at_hand])

    def _new_executable(self, key: tuple[tuple[int, ...], tuple[int, ...]]) -> PathExecutable:
        path = path_to(self.node)
        program = cut_program(path, *key)
        picks = {slot: i for i, slot in enumerate(path.inputs)} | {slot: -1 - i for i, slot in enumerate(key[1])}
        scalars = frozenset(
            slot for i, slot in enumerate(path.inputs) if self.inputs[i].__class__ is not Buffer and slot not in key[1]
        )
        executable = PathExecutable(program, [picks[slot] for slot in program.inputs], scalars)
        variants = self.node.executables
        if len(variants) >= _VARIANTS_PER_NODE:
            variants.pop(next(iter(variants)))
        return variants.setdefault(key, executable)

    def _commit(self, alive: list[Tensor], buffers: list[Buffer]) -> None:
        for tensor, buffer in zip(alive, buffers, strict=False):
            tensor._buffer = buffer
        for (variable, _), buffer in zip(self.assigned.values(), buffers[len(alive) :], strict=True):
            variable._adopt(buffer)
        self.assigned = {}
        if self.holders or self is not active_recorder():
            self.materialized.extend([ref(t) for t in alive])

    def _salvage(self, alive: list[Tensor], at_hand: list[Tensor], error: Exception) -> None:
        """After a failed run: compute one by one what can be computed, let the rest raise `error` when looked at."""
        failed = FailedBuffer(error)
        for tensor in alive:
            try:
                (tensor._buffer,) = self._interpreted(tensor._slot, at_hand)
            except Exception:
                tensor._buffer = failed
        for variable, slot in self.assigned.values():
            try:
                variable._adopt(self._interpreted(slot, at_hand)[0])
            except Exception:
                variable._forget_assignment()
        self.assigned = {}
        self.materialized.extend([ref(t) for t in alive if t._buffer is not failed])

    def _interpreted(self, slot: int, at_hand: list[Tensor]) -> list[Buffer]:
        executable = self._new_executable(((slot,), tuple([t._slot for t in at_hand])))
        executable.visits = 0
        return executable.run(self.inputs, [t._buffer for t in at_hand])

    # ---- life --------------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """One tape fewer holds the trace."""
        self.holders -= 1
        if self.superseded and self.holders == 0:
            self._clear()

    def supersede(self) -> Trace:
        """Put a new trace in charge of the thread. This one stays as it is for the tapes that hold it."""
        successor = Trace()
        replace_recorder(successor)
        self.superseded = True
        if self.holders == 0:
            self._clear()
        return successor

    def _end(self) -> None:
        """After a flush: the next op begins a new trace, unless a tape holds this one or another thread records on it."""
        if self.holders == 0:
            if self is active_recorder():
                self.supersede()
            elif self.superseded:
                self._clear()

    def _clear(self) -> None:
        """Let go of everything; tensors may go on pointing here, at an empty shell."""
        self.node = trie.root()
        self.inputs = []
        self.input_bytes = 0
        self.materialized = []
        self.entered = {}
        self.variables = {}
        self.callbacks = {}


class Marker:
    """What a key says of an input that comes in: its aval, and whether it is a Variable's and trainable.

    There is one object for each such kind, so that a key hashes and compares it by identity.
    """

    __slots__ = ("aval", "trainable")

    def __init__(self, aval: Aval, trainable: bool | None) -> None:
        self.aval = aval
        self.trainable = trainable


_markers: dict[tuple[Aval, bool | None], Marker] = {}


def _mark(a: Tensor | Variable) -> Marker:
    """The marker of `a`, kept with it."""
    kind = (a._aval, a.trainable if isinstance(a, Variable) else None)
    marker = _markers.get(kind)
    if marker is None:
        marker = _markers.setdefault(kind, Marker(*kind))
    a._marker = marker
    return marker


class _ScalarInputs:
    """Turns the Python scalars of a call into input slots, in the dtypes that its body asks for."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.inputs: list[tuple[int, Any]] = []
        self.wanted: list[tuple[int, np.dtype[Any]]] = []
        self._count = 0

    def handle(self, part: Any) -> WeakScalar | Symbol:
        """A handle for the next scalar; `part` is its Python type, or the dtype of a NumPy scalar."""
        position = self._count
        self._count += 1
        made: dict[np.dtype[Any], Symbol] = {}

        def resolve(dtype: np.dtype[Any]) -> Symbol:
            symbol = made.get(dtype)
            if symbol is None:
                symbol = made[dtype] = self.builder.new_slot(Aval((), dtype))
                self.inputs.append((symbol.slot, symbol.aval))
                self.wanted.append((position, dtype))
            return symbol

        return WeakScalar(part, resolve) if isinstance(part, type) else resolve(part)


def _settled(results: Sequence[Any]) -> tuple[Any, ...]:
    """(slot, aval) of each handle that a body returned; None stays None."""
    settled = [r.default() if isinstance(r, WeakScalar) else r for r in results]
    return tuple([None if r is None else (r.slot, r.aval) for r in settled])


def _bound(*arguments: Any) -> Any:
    *operands, primitive, params = arguments
    return primitive.bind(*operands, **dict(params))


def _read_variable(value: Any, trainable: bool) -> Any:
    return read_variable_op.bind(value, trainable=trainable)


def _entered(x: Any) -> Any:
    return x


def current_trace() -> Trace:
    """The trace of this thread."""
    trace = active_recorder()
    if not isinstance(trace, Trace):
        raise RuntimeError("tensors cannot be used inside a gradient rule or body: use its handles")
    return trace


def begin_step() -> Trace:
    """A step boundary: run what is pending, then begin a new trace."""
    trace = current_trace()
    trace.flush()
    trace = current_trace()
    return trace.supersede() if trace.holders else trace


set_default_recorder(Trace)
