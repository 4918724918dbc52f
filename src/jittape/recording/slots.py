"""The slots of a trace: imported values and versions of Variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import MappingProxyType
from typing import Any
from weakref import ref

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.config import config
from jittape.core.dtypes import as_dtype
from jittape.core.forms import Map
from jittape.core.primitive import INTERRUPTED, active, recording_with
from jittape.core.traced_scalar import TracedScalar
from jittape.primitives import elementwise
from jittape.primitives.broadcast import real_op
from jittape.primitives.identity import identity_op
from jittape.recording.flushing import Flushing
from jittape.recording.tape_exits import Exits
from jittape.recording.tensor import FailedBuffer, Tensor
from jittape.recording.trie import aval_of
from jittape.recording.trie_insertion import marked, operand_of
from jittape.recording.variable import Variable

__all__ = ["NOTHING_READ", "NOTHING_WRITTEN", "SCALARS", "Slots", "Variables"]

SCALARS = frozenset((float, int, bool, complex))
"""Python's types of numbers, which are inputs themselves."""

Variables = Mapping[int, tuple[Variable, tuple[int, ...]]]
"""Variables by identity, each with its slots, one for each version that was read."""
NOTHING_READ: Variables = MappingProxyType({})

Written = dict[int, tuple[ref[Tensor], tuple[Any, ...]]]
"""Tensors by identity, each with its latest slot before a write and the pair of the write before that, or ().

So a write to an array that was written to before takes the same time however often that was.
"""
NOTHING_WRITTEN: Written = {}
"""The mapping of all traces without writes; the first write replaces it."""


@cache
def _copies() -> tuple[Any, ...]:
    """Return the bodies of calls that copy, in NumPy too."""
    from jittape.numpy_api.numpy_functions import FUNCTIONS

    return identity_op, FUNCTIONS[np.copy]


class Slots(Flushing):
    """The base of `Trace` that knows the slots of values. `Trace` documents the attributes."""

    __slots__ = ("exits", "former", "imported", "variables", "written")

    imported: dict[int, tuple[int, Tensor, Buffer]]
    variables: dict[int, tuple[Variable, tuple[int, ...]]]
    former: Mapping[int, int]
    exits: Exits | None
    written: Written
    limit: int
    changes_shapes = False
    """Whether the recorder assigns values of other shapes to Variables, by a method `assign_shape`."""
    traced_in: str | None

    def is_unused(self) -> bool:
        """Return whether a tape may begin on the trace, as on a new one."""
        recorder: Any = active.recorder
        used = self.pending or self.assigned or self.holders or self.inputs or self.exits or self.lost
        return not used and self is recorder and self.limit == config._max_pending_ops

    def deriving(self) -> AbstractContextManager[Any]:
        """Return a context for gradient rules, which run no code of the user's; only a signal could interrupt them."""
        return recording_with(INTERRUPTED) if self.traced_in is None else nullcontext()

    def _import(self, a: Tensor | Variable, slot: int) -> None:
        """Make the computed value of `a` the input at `slot`."""
        buffer: Buffer = a._buffer
        self.inputs.append(buffer)
        number = id(a)
        if a.__class__ is Variable:
            self.variables[number] = self._with_version(a, slot)
            if a._assigned_in is not None and a._assigned_in is not self:
                return  # another thread has just assigned: the next read imports the new value
        else:
            former = a._trace
            if former is not None and former.holders:
                former.imported[number] = (a._slot, a, buffer)
            self.imported[number] = (slot, a, buffer)  # type: ignore[assignment]
        a._trace = self
        a._slot = slot

    def _any_operands(
        self, parts: list[Any], arrays: tuple[Any, ...]
    ) -> tuple[list[Any], list[Tensor | Variable], list[Any]]:
        """Return the parts of the key, the values to import and the scalars of any operands.

        Besides those that `Trace.apply` handles these are NumPy scalars, traced scalars and values that were imported
        before.
        """
        scalars: list[Any] = []
        fresh: list[Tensor | Variable] = []
        for a in arrays:
            kind = type(a)
            if kind in SCALARS or kind is TracedScalar:
                parts.append(a.kind if kind is TracedScalar else kind)
                scalars.append(a)
            elif isinstance(a, np.generic):
                parts.append(as_dtype(a.dtype))
                scalars.append(a.item())
            elif a._trace is self and a._slot >= 0:
                parts.append(a._slot)
            elif (known := self.imported.get(id(a))) is not None and known[2] is a._buffer:
                parts.append(known[0])
            else:
                if known is not None and not any([a is f for f in fresh]):
                    self.note_write(a, known[0])
                parts.append(self._import_key(a, fresh))
        return parts, fresh, scalars

    def _import_key(self, a: Tensor | Variable, fresh: list[Any]) -> Any:
        """Return the marker of a value to import and add the value to `fresh`; its slot if it is there already."""
        for i, known in enumerate(fresh):
            if known is a:
                return self.node.n_slots + i
        fresh.append(a)
        return a._marker or marked(a)

    def _retract(self) -> None:
        """Remove the inputs of an op that an interrupt kept from being recorded."""
        count = self.node.n_slots
        del self.inputs[self.node.n_inputs :]
        for number, (slot, tensor, _) in list(self.imported.items()):
            if slot >= count:
                del self.imported[number]
                _forget_slot(tensor, self, count)
        for number, (variable, slots) in list(self.variables.items()):
            if slots[-1] >= count:
                del self.variables[number]
                if slots[0] < count:
                    self.variables[number] = (variable, tuple([slot for slot in slots if slot < count]))
                _forget_slot(variable, self, count)

    def note_write(self, tensor: Tensor, slot: int) -> None:
        """Remember `slot`, which `tensor` has before a write: a tape may watch the old value."""
        if not self.written:
            self.written = {}
        known = self.written.get(id(tensor))
        before = known[1] if known is not None and known[0]() is tensor else ()
        self.written[id(tensor)] = (ref(tensor), (slot, before))

    def slots_before(self, tensor: Tensor) -> Iterator[int]:
        """Yield the slots that `tensor` had before it was written to, the latest first."""
        known = self.written.get(id(tensor))
        before = known[1] if known is not None and known[0]() is tensor else ()
        while before:
            slot, before = before
            yield slot

    def _with_version(self, variable: Variable, slot: int) -> tuple[Variable, tuple[int, ...]]:
        """Return the entry of `variable` in `variables` with one more version."""
        known = self.variables.get(id(variable))
        return variable, ((slot,) if known is None else (*known[1], slot))

    def makes_new(self, slot: int) -> bool:
        """Return whether NumPy gives the result `slot` memory of its own: ``np.empty(3)``, ``x.copy()``, ``x * 0``."""
        node = self.node
        while (parent := node.parent) is not None and parent.n_slots > slot:
            node = parent
        if parent is not None and any(
            n is node and key[0] in _copies() for key, n in list(parent.children.items())
        ):
            return True
        made = {op.out: op.primitive for op in node.ops}
        primitive = made.get(slot)
        is_map = primitive is not None and isinstance(primitive.lowering, Map) and not primitive.is_identity
        if is_map and primitive not in (real_op, elementwise.complex_numbers.imag_op):
            return True
        return all(arg in made or not aval_of(node, arg).shape for op in node.ops for arg in op.args)

    def tensor_of_array(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a computed tensor with the values of an ndarray, which are copied unless they are large and read-only.

        It is a method so that machine code can replace it: ``jt.constant(array)`` takes 1.9 µs without.
        """
        return operand_of(array)

    def shape_tensor(self, numbers: Any, dtype: np.dtype[Any]) -> Any:
        """Return the integers of a shape as a tensor that knows them."""
        from jittape.recording.shapes.shape_tensor import shape_tensor

        return shape_tensor(np.asarray(numbers, dtype))

    def slot_of(self, tensor: Tensor) -> int | None:
        """Return the slot of `tensor` in this trace, or None. Raise the error of a tensor whose computation failed."""
        if tensor._buffer.__class__ is FailedBuffer:
            tensor._buffer.reraise()
        if tensor._trace is self:
            return tensor._slot
        known = self.imported.get(id(tensor))
        return known[0] if known is not None else None

    def slots_of(self, value: Tensor | Variable) -> tuple[int, ...]:
        """Return the slots of a tensor or Variable: one for each version read, none for a value of another trace."""
        if value.__class__ is Variable:
            known = self.variables.get(id(value))
            return () if known is None else known[1]
        slot = self.slot_of(value)  # type: ignore[arg-type]
        slots: tuple[int, ...] = () if slot is None else (slot,)
        while slots and slots[0] in self.former:
            slots = (self.former[slots[0]], *slots)
        return slots


def _forget_slot(value: Tensor | Variable, trace: Slots, count: int) -> None:
    """Clear the slot of a value of `trace`, unless it is one of the first `count` slots."""
    if value._trace is trace and value._slot >= count:
        value._trace = None
        value._slot = -1
