"""The trace: ops recorded since the last step boundary, as a walk in the trie.

Start at `Trace.apply`, through which every recorded operation goes. On a path seen before it makes one key, looks it up
and makes one `Tensor`; everything else in this file is what happens the first time, or at a flush.

The surprising fact: a trace holds no graph. It holds a node of the trie, which is the graph, and the run-time inputs in
the order in which the path asks for them.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from weakref import ref

import numpy as np

from jittape.core.buffers import LARGE, Buffer
from jittape.core.config import config
from jittape.core.dtypes import as_dtype
from jittape.core.locks import rlock
from jittape.core.primitive import Primitive, active, active_recorder, set_default_recorder
from jittape.core.program import Aval
from jittape.core.traced_scalar import TracedScalar
from jittape.recording.convert import convert_to_tensor
from jittape.recording.flushing import Assignment
from jittape.recording.scalar_inputs import scalar_inputs
from jittape.recording.slots import NOTHING_WRITTEN, Slots
from jittape.recording.tensor import FailedBuffer, Tensor, tensor_of
from jittape.recording.trie import UNPLACED, Node, trie
from jittape.recording.trie_insertion import Marker, entered, grow, marker_for, refuse_parameters
from jittape.recording.variable import Variable, read_variable_op

__all__ = ["Trace", "begin_step", "current_trace"]

_SAME: Mapping[int, int] = MappingProxyType({})
_CLEARED: Any = MappingProxyType({})
_CLEARED_LIST: Any = ()
_SCALARS = frozenset((float, int, bool, complex))


class Trace(Slots):
    """A recorder that computes nothing until somebody looks.

    Attributes
    ----------
    node : Node
        Where in the trie the trace has come to.
    inputs : list of Buffer or scalar
        Run-time values of the path's input slots.
    pending : list of Tensor
        Results that are not computed yet; those that nobody else refers to at the flush never are.
    entered : dict
        The slots of the tensors that have come in or gone on to another trace, by identity, and the values that they
        had: a tensor that was written to since is another one.
    variables : dict
        The Variables read, by identity, each with its slots, one a version.
    callbacks : dict
        Python gradient functions by the slot of their op.
    large : bool
        Whether a Variable of `LARGE` bytes has been assigned.
    limit : int
        Results that may be pending before they are run unasked; 0 once the inputs are too large to be kept waiting.
    holders : int
        Tapes that may still ask this trace for a gradient; while there are any, a flush does not end the trace.
    spans : list of weak references to Span
        Those of the tapes that have been entered and not left, outermost first; some may be paused.
    written : dict
        The slots that tensors had before they were written to, by identity.
    former : mapping of int to int
        Where a tensor has got another slot meanwhile, from that to the one that it had: see `jittape.autodiff.splice`.
    exits : dict or None
        What has been turned into arrays and numbers while a tape recorded, see `jittape.recording.tape_exits`.
    traced_in : str or None
        The function that is traced, where this is no recording of what happens.
    """

    __slots__ = (
        "__weakref__",
        "_ops_when_left",
        "callbacks",
        "limit",
        "spans",
        "superseded",
    )

    traced_in: str | None = None

    def __init__(self, before: Trace | None = None) -> None:
        self.node: Node = UNPLACED
        self.inputs: list[Any] = []
        self.pending = []
        self.materialized = []
        self.entered = {}
        self.variables = {}
        self.assigned: dict[int, Assignment] = {}
        self.callbacks: dict[int, Callable[..., Any]] = {}
        self.limit = config._max_pending_ops
        self.spans: list[ref[Any]] = []
        self.exits = None
        self.former = _SAME
        self.written = NOTHING_WRITTEN
        self.large = self.superseded = False
        self.holders = self._ops_when_left = 0
        self._flushing = rlock() if before is None else before._flushing
        self.lost = deque() if before is None else before.lost

    @property
    def outermost(self) -> Trace:
        """The trace that this one is in the end recorded into: itself, unless it is that of a loop's body."""
        return self

    # ---- recording ---------------------------------------------------------------------------------------------------

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Record ``body(*arrays, *static)``; the result is a pending Tensor, or a tuple of them."""
        parts: list[Any] = [body, static]
        scalars: list[Any] | None = None
        fresh: list[Any] | None = None
        for a in arrays:
            kind = type(a)
            if kind is Tensor or kind is Variable:
                if a._trace is self and a._slot >= 0:
                    parts.append(a._slot)
                elif a._buffer.__class__ is Buffer and (
                    a._assigned_in is None if kind is Variable else id(a) not in self.entered
                ):
                    if fresh is None:
                        parts.append(a._marker or _marked(a))
                        fresh = [a]
                    else:
                        at = _position(a, fresh)
                        parts.append(a._marker or _marked(a) if at < 0 else self.node.n_slots + at)
                        if at < 0:
                            fresh.append(a)
                else:
                    return self._apply_any(body, arrays, static)
            elif kind in _SCALARS:
                parts.append(kind)
                scalars = [a] if scalars is None else [*scalars, a]
            else:
                return self._apply_any(body, arrays, static)
        key = tuple(parts)
        try:
            node = self.node.children.get(key)
        except TypeError:
            refuse_parameters(static)
            raise
        if node is None:
            node = grow(self.node, key, arrays)
        if scalars is not None and not node.takes_scalars_as_given:
            scalars = scalar_inputs(node, scalars)
        try:
            if fresh is not None:
                slot = self.node.n_slots
                for a in fresh:
                    self._enter(a, slot)
                    slot += 1
                if node.nbytes > config._max_pending_bytes:
                    self.limit = 0
            if scalars is not None:
                self.inputs += scalars
            if node.results is not None:
                return self._advance(node)
            self.node = node
        except BaseException:
            self._retract()
            raise
        tensor = Tensor(self, node.slot, node.aval)
        pending = self.pending
        pending.append(tensor)
        if len(pending) > self.limit:
            self._relieve()
        return tensor

    def bind(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """A primitive outside any body is recorded as a body of its own."""
        return self.apply(_bound, operands, (primitive, tuple(sorted(params.items()))))

    def begin(self) -> None:
        """Choose the root, before the first op of a step that no tape has begun."""
        self.node = trie.root(sys._getframe(1))

    def _advance(self, node: Node) -> Any:
        """Go on to `node` and make the tensors that it results in."""
        self.node = node
        made = self.tensors_at(node)
        if len(self.pending) > self.limit:
            self._relieve()
        return made[0] if node.results is None else tuple(made)

    def tensors_at(self, node: Node) -> list[Any]:
        """Pending tensors for what `node` results in; None where a body returned None."""
        made: list[Tensor | None] = []
        pending = self.pending
        for result in ((node.slot, node.aval),) if node.results is None else node.results:
            if result is None:
                made.append(None)
            else:
                slot, aval = result
                tensor = Tensor(self, slot, aval)
                pending.append(tensor)
                made.append(tensor)
        return made

    def _relieve(self) -> None:
        """Run what is pending and begin a new trace, unless a tape records this one."""
        if not self.spans and self is active_recorder():
            self.flush()
            if self is active_recorder():
                self.supersede()

    def _apply_any(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
        """`apply` for operands of any kind: arrays, lists, other traces' tensors, Variables assigned before."""
        arrays = tuple([self._recordable(a) for a in arrays])
        parts: list[Any] = [body, static]
        scalars: list[Any] = []
        fresh: dict[int, tuple[Any, int]] = {}
        for a in arrays:
            kind = type(a)
            if kind in _SCALARS or kind is TracedScalar:
                parts.append(a.kind if kind is TracedScalar else kind)
                scalars.append(a)
            elif isinstance(a, np.generic):
                parts.append(as_dtype(a.dtype))
                scalars.append(a.item())
            elif a._trace is self and a._slot >= 0:
                parts.append(a._slot)
            elif (known := self.entered.get(id(a))) is not None and known[2] is a._buffer:
                parts.append(known[0])
            elif id(a) in fresh:
                parts.append(fresh[id(a)][1])
            else:
                if known is not None:
                    self.note_write(a, known[0])
                parts.append(a._marker or _marked(a))
                fresh[id(a)] = (a, self.node.n_slots + len(fresh))
        key = tuple(parts)
        try:
            node = self.node.children.get(key)
        except TypeError:
            refuse_parameters(static)
            raise
        if node is None:
            node = grow(self.node, key, arrays)
        values = scalar_inputs(node, scalars)
        try:
            for a, slot in fresh.values():
                self._enter(a, slot)
            if node.nbytes > config._max_pending_bytes:
                self.limit = 0
            self.inputs.extend(values)
            return self._advance(node)
        except BaseException:
            self._retract()
            raise

    def _recordable(self, a: Any) -> Any:
        """`a` as something that has a slot here or can get one: Tensor, Variable or scalar."""
        kind = type(a)
        if kind is TracedScalar:
            return a if a.owner is self else a.concretize()
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
        key = (_read_variable, (variable.trainable,), value_slot)
        node = self.node.children.get(key)
        if node is None:
            node = grow(self.node, key, (variable,))
        self.node = node
        variable._slot = node.slot
        self._add_version(variable, node.slot)

    def enter(self, tensor: Tensor) -> int:
        """The slot of `tensor`, which comes in as an input if it is not in the trace yet."""
        slot = self.slot_of(tensor)
        if slot is None:
            self.apply(entered, (tensor,))
            slot = tensor._slot
        return slot

    def enter_variable(self, variable: Variable) -> None:
        """Give `variable` a slot, as if it were read here."""
        self.apply(entered, (variable,))

    def nbytes(self) -> int:
        """Bytes of the inputs, and of computed results that somebody still holds."""
        return self.node.nbytes + sum(t.aval.nbytes for t in self._available())

    def assign(self, variable: Variable, value: Tensor) -> None:
        """Make `value` the new value of `variable`; reading it later gives a slot of its own."""
        if variable._assigned_in is not None and variable._assigned_in is not self:
            variable._assigned_in.flush()
        slot = value._slot if value._trace is self and value._slot >= 0 else self.enter(value)
        if self.superseded:  # too large an input to wait: entering `value` has run the whole trace
            variable._set(value._computed())
            return
        before = self.assigned.get(id(variable)) if variable._assigned_in is self else None
        self.assigned[id(variable)] = (variable, slot, self.node, before)
        self.large = self.large or variable._buffer.nbytes >= LARGE
        variable._assigned_in = variable._trace = self
        variable._slot = -1

    def forget_assignment(self, variable: Variable) -> None:
        """`variable` has got another value meanwhile."""
        self.assigned.pop(id(variable), None)

    def draw(self, draw: Callable[[], np.ndarray[Any, Any]], aval: Aval) -> Tensor:
        """A tensor of what `draw` gives now."""
        return tensor_of(draw())

    def adopt(self, tensor: Tensor) -> None:
        """Compute `tensor`, a handle that has got a pending slot of this trace, at the next flush."""
        self.pending.append(tensor)

    # ---- life --------------------------------------------------------------------------------------------------------

    def leave(self, span: ref[Any]) -> None:
        """A tape has been left; it goes on holding the trace."""
        self.spans.remove(span)
        self._ops_when_left = self.node.n_ops

    def release(self) -> None:
        """One tape fewer holds the trace."""
        self.holders -= 1
        if self.superseded and self.holders == 0:
            self._clear()

    def step(self) -> Trace:
        """A step boundary: run what is pending; the trace that is recorded on from here."""
        self.flush()
        trace: Any = active.recorder
        return trace.supersede() if trace.holders else trace

    def supersede(self) -> Trace:
        """Put a new trace in charge of the thread. This one stays as it is for the tapes that hold it."""
        successor = Trace(self)
        active.recorder = successor
        self.superseded = True
        if self.holders == 0:
            self._clear()
        return successor

    def _end(self) -> None:
        """After a flush: the next op begins a new trace, unless a tape holds this one or another thread records on it.

        A tape that has been left holds it while its gradient is likely to come: not over a whole loop of other things.
        """
        if self is not active.recorder:
            if self.holders == 0 and self.superseded:
                self._clear()
        elif self.holders == 0 or (
            not self.spans and self.node.n_ops - self._ops_when_left > config._max_pending_ops
        ):
            self.supersede()

    def _clear(self) -> None:
        """Let go of everything; tensors may go on pointing here, at an empty shell that cannot be recorded on."""
        self.node = UNPLACED
        self.inputs = self.materialized = _CLEARED_LIST
        self.entered = self.variables = self.callbacks = _CLEARED
        self.exits, self.written = None, NOTHING_WRITTEN


def _position(a: Any, fresh: list[Any]) -> int:
    """Return the position of `a` itself in `fresh`, -1 if it is not there."""
    for i, known in enumerate(fresh):
        if known is a:
            return i
    return -1


def _marked(a: Tensor | Variable) -> Marker:
    """The marker of `a`, kept with it."""
    marker = marker_for(a._aval, a.trainable if isinstance(a, Variable) else None)
    a._marker = marker
    return marker


def _bound(*arguments: Any) -> Any:
    *operands, primitive, params = arguments
    return primitive.bind(*operands, **dict(params))


def _read_variable(value: Any, trainable: bool) -> Any:
    return read_variable_op.bind(value, trainable=trainable)


def current_trace() -> Trace:
    """The trace of this thread."""
    trace = active.recorder
    if not isinstance(trace, Trace):
        raise RuntimeError("tensors cannot be used inside a gradient rule or body: use its handles")
    if trace.lost:
        trace.release_lost()
    return trace


def begin_step() -> Trace:
    """A step boundary: see `Trace.step`."""
    return current_trace().step()


def _settings_changed() -> None:
    """A trace reads the settings when it begins; so begin one, unless a tape records this one."""
    recorder = active_recorder()
    if isinstance(recorder, Trace) and not recorder.spans:
        begin_step()


set_default_recorder(Trace)
config.on_change(_settings_changed)
