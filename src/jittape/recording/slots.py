"""What has a slot in a trace: values that have come in, and versions of Variables.

`Slots` is a base of `Trace`, which records.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from weakref import ref

from jittape.core.buffers import Buffer
from jittape.recording.flushing import Flushing
from jittape.recording.tape_exits import Exits
from jittape.recording.tensor import FailedBuffer, Tensor
from jittape.recording.variable import Variable

__all__ = ["NOTHING_READ", "NOTHING_WRITTEN", "Slots", "Variables"]

Variables = Mapping[int, tuple[Variable, tuple[int, ...]]]
"""Variables by identity, each with its slots, one for each version read."""
NOTHING_READ: Variables = MappingProxyType({})

Written = dict[int, tuple[ref[Tensor], tuple[int, ...]]]
"""Tensors by identity, each with the slots that it had before it was written to, the latest first."""
NOTHING_WRITTEN: Written = {}
"""Shared by all traces without a write; the first write replaces it."""


class Slots(Flushing):
    """Knows what has which slot. The attributes are those of `Trace`."""

    __slots__ = ("exits", "former", "imported", "variables", "written")

    imported: dict[int, tuple[int, Tensor, Buffer]]
    variables: dict[int, tuple[Variable, tuple[int, ...]]]
    former: Mapping[int, int]
    exits: Exits | None
    written: Written

    def _import(self, a: Tensor | Variable, slot: int) -> None:
        """Make the computed value of `a` the input at `slot`."""
        buffer: Buffer = a._buffer
        self.inputs.append(buffer)
        number = id(a)
        if a.__class__ is Variable:
            known = self.variables.get(number)
            self.variables[number] = (a, (slot,) if known is None else (*known[1], slot))
        else:
            former = a._trace
            if former is not None and former.holders:
                former.imported[number] = (a._slot, a, buffer)
            self.imported[number] = (slot, a, buffer)  # type: ignore[assignment]
        a._trace = self
        a._slot = slot

    def _retract(self) -> None:
        """After an interrupt: what has come in for an op that is not recorded goes out again."""
        count = self.node.n_slots
        del self.inputs[self.node.n_inputs :]
        for number, (slot, tensor, _) in list(self.imported.items()):
            if slot >= count:
                del self.imported[number]
                _leave(tensor, self, count)
        for number, (variable, slots) in list(self.variables.items()):
            if slots[-1] >= count:
                del self.variables[number]
                if slots[0] < count:
                    self.variables[number] = (variable, tuple([slot for slot in slots if slot < count]))
                _leave(variable, self, count)

    def note_write(self, tensor: Tensor, slot: int) -> None:
        """Remember `slot`, which `tensor` had before it was written to: a tape may watch that value."""
        if not self.written:
            self.written = {}
        self.written[id(tensor)] = (ref(tensor), (slot, *self.slots_before(tensor)))

    def slots_before(self, tensor: Tensor) -> tuple[int, ...]:
        """Slots that `tensor` had before it was written to, the latest first."""
        known = self.written.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else ()

    def _add_version(self, variable: Variable, slot: int) -> None:
        known = self.variables.get(id(variable))
        self.variables[id(variable)] = (variable, (slot,) if known is None else (*known[1], slot))

    def slot_of(self, tensor: Tensor) -> int | None:
        """The slot of `tensor` in this trace, None if it is not part of it; if it failed the error is raised."""
        if tensor._buffer.__class__ is FailedBuffer:
            tensor._buffer.reraise()
        if tensor._trace is self:
            return tensor._slot
        known = self.imported.get(id(tensor))
        return known[0] if known is not None else None

    def slots_of(self, value: Tensor | Variable) -> tuple[int, ...]:
        """The slots of a tensor or Variable; a Variable has one for each version read, a stranger none."""
        if value.__class__ is Variable:
            known = self.variables.get(id(value))
            return () if known is None else known[1]
        slot = self.slot_of(value)  # type: ignore[arg-type]
        slots: tuple[int, ...] = () if slot is None else (slot,)
        while slots and slots[0] in self.former:
            slots = (self.former[slots[0]], *slots)
        return slots


def _leave(value: Tensor | Variable, trace: Slots, count: int) -> None:
    """Have a value forget its slot in `trace`, if that is none of the first `count`."""
    if value._trace is trace and value._slot >= count:
        value._trace = None
        value._slot = -1
