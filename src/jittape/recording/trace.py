"""The trace: ops recorded since the last step boundary, as a path in the trie.

All recorded operations go through `Trace.apply`. On a known path it builds one key, looks it up and makes one `Tensor`;
all other code in this file runs at the first recording of a call or at a flush.

A trace holds no graph, only a node of the trie that represents it, and the inputs in the order of the path's slots.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from weakref import ref

import numpy as np

from jittape.core.buffers import LARGE, Buffer
from jittape.core.config import config
from jittape.core.dtypes import float64
from jittape.core.locks import rlock
from jittape.core.primitive import (
    INTERRUPTED,
    Primitive,
    active,
    active_recorder,
    any_dtype,
    bound,
    set_default_recorder,
)
from jittape.core.program import Aval
from jittape.core.tickets import TicketQueue
from jittape.core.traced_scalar import TracedScalar
from jittape.recording.convert import convert_to_tensor
from jittape.recording.flushing import Assignments
from jittape.recording.loop_windows import LoopWindows, flush_over_limit
from jittape.recording.scalar_inputs import converted_sequences, scalar_inputs
from jittape.recording.slots import NOTHING_WRITTEN, SCALARS, Slots
from jittape.recording.tensor import FailedBuffer, Tensor, tensor_of
from jittape.recording.trie import UNPLACED, Node, trie
from jittape.recording.trie_insertion import imported, insert_call, marked, operand_of, refuse_parameters
from jittape.recording.variable import Variable, read_variable_op

__all__ = ["CLEARED", "SAME", "Trace", "begin_step", "current_trace", "read_variable"]

SAME: Mapping[int, int] = MappingProxyType({})
CLEARED: Any = MappingProxyType({})
"""The mappings of a trace that records no more."""
_CLEARED_LIST: Any = ()


class Trace(Slots):
    """A recorder that postpones computation until a value is needed.

    Attributes
    ----------
    node : Node
        Current node of the trie.
    inputs : list of Buffer or scalar
        Run-time values of the path's input slots.
    pending : list of Tensor
        Results without values. A flush computes those that something else refers to.
    imported : dict
        By identity, the slot and the former value of tensors that were imported or that moved to another trace.
    variables : dict
        By identity, the slots of Variables that were read, one for each version.
    callbacks : dict
        Python gradient functions by the slot of their op.
    large : bool
        Whether a Variable of at least `LARGE` bytes has been assigned.
    limit : int
        Number of pending results above which the trace flushes automatically; 0 if the inputs exceed the memory limit.
    holders : int
        Number of tapes that may still ask this trace for a gradient. If there are any, a flush does not end the trace.
    intervals : list of weak references to TapeInterval
        Intervals of the tapes that have been entered and not left, outermost first; some may be paused.
    written : dict
        By identity, the slots that tensors had before they were written to.
    former : mapping of int to int
        From the slot of a tensor that got another one to its former slot: see `jittape.autodiff.splice`.
    windows : LoopWindows or None
        Where the loop that the trace records flushes, if the trace before had too many pending results.
    exits : dict or None
        Values that became arrays or numbers while a tape recorded: see `jittape.recording.tape_exits`.
    traced_in : str or None
        Name of the function or body that is traced; None if operations are recorded in order to run.
    """

    __slots__ = (
        "__weakref__",
        "_ops_when_left",
        "callbacks",
        "intervals",
        "limit",
        "superseded",
        "windows",
    )

    traced_in: str | None = None
    _imports_values = True
    """Whether `apply` imports computed values as they are, without `_recordable`."""

    def __init__(self, before: Trace | None = None) -> None:
        self.node: Node = UNPLACED
        self.inputs: list[Any] = []
        self.pending = []
        self.materialized = []
        self.imported = {}
        self.variables = {}
        self.assigned: Assignments = {}
        self.callbacks: dict[int, Callable[..., Any]] = {}
        self.limit = config._max_pending_ops
        self.windows: LoopWindows | None = None
        self.intervals: list[ref[Any]] = []
        self.exits = None
        self.former = SAME
        self.written = NOTHING_WRITTEN
        self.large = self.superseded = False
        self.holders = self._ops_when_left = 0
        self._flushing = rlock() if before is None else before._flushing
        self.lost = TicketQueue() if before is None else before.lost

    @property
    def outermost(self) -> Trace:
        """The trace outside all loop bodies that this trace is recorded for; the trace itself if it is no body's."""
        return self

    # ---- recording ---------------------------------------------------------------------------------------------------

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Record ``body(*arrays, *static)``; return a pending Tensor or a tuple of them."""
        made = self._record(body, arrays, static)
        if made is NotImplemented and self.imported is not CLEARED:
            if self._imports_values and any([a.__class__ is np.ndarray for a in arrays]):
                return self.apply(body, tuple(map(operand_of, arrays)), static)  # by machine code
            arrays = tuple([self._recordable(a) for a in converted_sequences(body, arrays, static)])
            made = self._record(body, arrays, static, takes_any=True)
        if made is NotImplemented:  # a signal handler has begun another step
            return active.recorder.apply(body, arrays, static)
        if len(self.pending) > self.limit:
            self._flush_over_limit()
        return made

    def _record(
        self,
        body: Callable[..., Any],
        arrays: tuple[Any, ...],
        static: tuple[Any, ...],
        takes_any: bool = False,
    ) -> Any:
        """Record a call as `apply` does, which no signal handler can disturb.

        The result is NotImplemented if the trace records no more, or if there are operands that `_any_operands` handles
        and `takes_any` is False.
        """
        recorder = active.recorder
        try:
            if self.traced_in is None:
                active.recorder = INTERRUPTED
            if self.imported is CLEARED:
                return NotImplemented
            # This loop finds the key, the values to import and the scalars. As a function it would add 3 % to a step.
            parts: list[Any] = [body, static]
            fresh: list[Any] | None = None
            scalars: list[Any] | None = None
            for a in arrays:
                kind = type(a)
                if kind is Tensor or kind is Variable:
                    if a._trace is self and a._slot >= 0:
                        parts.append(a._slot)
                        continue
                    if (
                        a._buffer.__class__ is Buffer
                        and self._imports_values
                        and (a._assigned_in is None if kind is Variable else id(a) not in self.imported)
                    ):
                        if fresh is None:
                            parts.append(a._marker or marked(a))
                            fresh = [a]
                        else:
                            parts.append(self._import_key(a, fresh))
                        continue
                elif kind in SCALARS:
                    parts.append(kind)
                    scalars = [a] if scalars is None else [*scalars, a]
                    continue
                elif kind is np.float64:
                    parts.append(float64)
                    scalars = [a.item()] if scalars is None else [*scalars, a.item()]
                    continue
                if not takes_any:
                    return NotImplemented
                parts, fresh, scalars = self._any_operands([body, static], arrays)
                break
            key = tuple(parts)
            try:
                node = self.node.children.get(key)
            except TypeError:
                refuse_parameters(static)
                raise
            if node is None:
                node = insert_call(self.node, key, arrays)
            if scalars and not node.takes_scalars_as_given:
                scalars = scalar_inputs(node, scalars)
            return self._advance(node, fresh, scalars)
        finally:
            active.recorder = recorder

    def bind(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record a primitive that is called outside any body."""
        return self.apply(bound, operands, (primitive, tuple(sorted(params.items()))))

    def begin(self) -> None:
        """Choose the root before the first op of a step outside tapes."""
        self.node = trie.root(sys._getframe(1))

    def _advance(self, node: Node, fresh: list[Any] | None, scalars: list[Any] | None) -> Any:
        """Import the operands `fresh` and `scalars`, go on to `node` and return its results."""
        try:
            if fresh:
                slot = self.node.n_slots
                for a in fresh:
                    self._import(a, slot)
                    slot += 1
                if node.nbytes > config._max_pending_bytes:
                    self.limit = 0
            if scalars:
                self.inputs += scalars
            self.node = node
        except BaseException:
            self._retract()
            raise
        if node.results is not None:
            return tuple(self.tensors_at(node))
        tensor = Tensor(self, node.slot, node.aval)
        self.pending.append(tensor)
        return tensor

    def tensors_at(self, node: Node) -> list[Any]:
        """Return pending tensors for the results of `node`, and None where a body returned None."""
        results = ((node.slot, node.aval),) if node.results is None else node.results
        made = [None if result is None else Tensor(self, *result) for result in results]
        new = [tensor for tensor in made if tensor is not None]
        self.pending += new  # in one statement, which no signal handler interrupts
        return made

    _flush_over_limit = flush_over_limit

    def _recordable(self, a: Any) -> Any:
        """Return `a` as a Tensor, Variable or scalar that has a slot here or can get one."""
        kind = type(a)
        if kind is TracedScalar:
            return a if a.owner is self else a.concretize()
        if kind in SCALARS or isinstance(a, np.generic):
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
            elif a._slot < 0 or a._trace is not self:
                self._read_version(a)
        return a

    def _read_version(self, variable: Variable) -> None:
        """Give `variable`, which was assigned in this trace, a slot for its new version."""
        number, before, assignment = id(variable), self.node, self.assigned.get(id(variable))
        if assignment is None:  # another thread has just run it
            return
        key = (read_variable, (variable.trainable,), assignment[1])
        node = before.children.get(key) or insert_call(before, key, (variable,))
        versions = self._with_version(variable, node.slot)
        if self.node is not before:  # a handler or finalizer has recorded, or run the assignment
            self._recordable(variable)
            return
        # From here on nothing is called or allocated, so no handler, finalizer or other thread can run.
        if variable._assigned_in is self:
            self.variables[number] = versions
            self.node, variable._trace, variable._slot = node, self, node.slot

    def import_tensor(self, tensor: Tensor) -> int:
        """Return the slot of `tensor`; import the tensor as an input if it has none."""
        slot = self.slot_of(tensor)
        if slot is None:
            self.apply(imported, (tensor,))
            slot = self.slot_of(tensor)  # not `tensor._slot`: another thread may have imported it
        return tensor._slot if slot is None else slot

    def import_variable(self, variable: Variable) -> None:
        """Read `variable`, so that it has a slot."""
        self.apply(imported, (variable,))

    def assign(self, variable: Variable, value: Tensor) -> None:
        """Make `value` the new value of `variable`; reading it later gives another slot."""
        if variable._assigned_in is not None and variable._assigned_in is not self:
            variable._assigned_in.flush()
        slot = value._slot if value._trace is self and value._slot >= 0 else self.import_tensor(value)
        number = id(variable)
        large = self.large or variable._buffer.nbytes >= LARGE
        before = self.assigned.get(number) if variable._assigned_in is self else None
        assignment = variable, slot, self.node, before
        if self.superseded:
            # It has run, as imports exceed the memory limit or a handler or finalizer began a step.
            variable._set(value._computed())
            return
        # From here on nothing is called or allocated, so no handler or finalizer can run.
        self.assigned[number] = assignment
        self.large = large
        variable._assigned_in = variable._trace = self
        variable._slot = -1

    def draw(
        self, draw: Callable[..., np.ndarray[Any, Any]], arguments: tuple[Any, ...], aval: Aval
    ) -> Tensor:
        """Return ``draw(*arguments)``, a random array, as a tensor; ``draw(*arguments, lead)`` is stacked to `lead`."""
        return tensor_of(draw(*arguments))

    def reserve(self, make: Callable[[tuple[int, ...]], Tensor], lead: tuple[int, ...] = ()) -> Tensor:
        """Return ``make(lead)``: tensors for each iteration of loops with `lead` iterations."""
        return make(lead)

    def adopt(self, tensor: Tensor) -> None:
        """Compute `tensor`, a handle that got a pending slot of this trace, at the next flush."""
        self.pending.append(tensor)

    # ---- life --------------------------------------------------------------------------------------------------------

    def leave(self, span: ref[Any]) -> None:
        """Close the interval of a tape that has been left; the tape still holds the trace."""
        self.intervals.remove(span)
        self._ops_when_left = self.node.n_ops

    def release(self) -> None:
        """Decrement the number of tapes that hold the trace."""
        self.holders -= 1
        if self.superseded and self.holders == 0:
            self._clear()

    def step(self) -> Trace:
        """Flush at a step boundary and return the trace that records next."""
        if self.node is UNPLACED and self.is_unused():
            return self
        self.flush()
        trace: Any = active.recorder
        return trace.supersede() if trace.holders else trace

    def supersede(self) -> Trace:
        """Make a new trace the thread's recorder. This one stays unchanged for the tapes that hold it."""
        successor = Trace(self)
        if self.pending or self.assigned:  # a signal handler has recorded since the flush
            return self.step()
        active.recorder = successor
        self.superseded = True
        if self.holders == 0:
            self._clear()
        return successor

    def _end(self) -> None:
        """End the trace after a flush, unless a tape holds it or another thread records with it.

        A tape that has been left holds the trace while its gradient is likely to come: until as many ops as may be
        pending were recorded after it.
        """
        if self is not active.recorder:
            if self.holders == 0 and self.superseded:
                self._clear()
        elif self.holders == 0 or (
            not self.intervals and self.node.n_ops - self._ops_when_left > config._max_pending_ops
        ):
            self.supersede()

    def _clear(self) -> None:
        """Release everything. Tensors may still refer to the trace, which records no more."""
        self.node = UNPLACED
        self.inputs = self.materialized = _CLEARED_LIST
        self.imported = self.variables = self.callbacks = CLEARED
        self.exits, self.written = None, NOTHING_WRITTEN


@any_dtype
def read_variable(value: Any, trainable: bool) -> Any:
    """Read a Variable that was assigned in the same trace: a body, so that the path shows the read."""
    return read_variable_op.bind(value, trainable=trainable)


def current_trace() -> Trace:
    """Return the trace of this thread."""
    trace = active.recorder
    if not isinstance(trace, Trace):
        if trace is INTERRUPTED:
            trace.refuse()
        raise RuntimeError(
            "tensors cannot be used inside a gradient rule or body: use its handles; nor in a signal handler or "
            "finalizer that interrupts one"
        )
    if trace.lost:
        trace.release_lost()
    return trace


def begin_step() -> Trace:
    """Flush at a step boundary: see `Trace.step`."""
    return current_trace().step()


def _settings_changed() -> None:
    """Begin a new trace, which reads the settings, unless a tape records the current one."""
    recorder = active_recorder()
    if isinstance(recorder, Trace) and not recorder.intervals:
        begin_step()


set_default_recorder(Trace)
config.on_change(_settings_changed)
