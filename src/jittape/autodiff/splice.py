"""Splicing the ops that a tape has recorded on an old trace onto the current trace.

If a tape is entered again, or is asked for a gradient, inside a tape that began later, the old and the current ops must
be one op list, to be differentiated together. The old ops become one edge of the current trace. Other tapes do not see
these ops as recorded, and the tensors of the ops get slots in the current trace.

The edge's key is the old ops with new slot numbers, so a loop reuses the edge wherever the ops were recorded before.
"""

from __future__ import annotations

from weakref import ref

from jittape.core.config import config
from jittape.core.program import Op
from jittape.primitives.identity import stop_gradient_op
from jittape.recording.slots import Variables
from jittape.recording.trace import Trace
from jittape.recording.trie import UNPLACED, Node, path_to
from jittape.recording.trie_insertion import insert_node
from jittape.transform.differentiate import TapeView
from jittape.transform.op_paths import Path
from jittape.value_classes import NamedTuple

__all__ = ["Spliced", "splice"]


class Spliced(NamedTuple):
    """Slots and positions after a splice.

    Attributes
    ----------
    slots : dict of int to int
        From slots that the tape needs in the old trace to slots in the new one.
    first : int
        First slot of the spliced ops in the new trace.
    appended : tuple of int
        Old slots of the spliced ops, in order.
    read : list of int
        New slots of trainable Variables that the ops of the tape read.
    """

    slots: dict[int, int]
    first: int
    appended: tuple[int, ...]
    read: list[int]

    def position(self, old: int) -> int:
        """Return the position in the new trace for a position in the old one."""
        return self.first + sum(1 for slot in self.appended if slot < old)

    def versions(self, variables: Variables) -> Variables:
        """Return the new slots of each Variable that the tape needs."""
        moved = {
            number: (variable, tuple([self.slots[slot] for slot in versions if slot in self.slots]))
            for number, (variable, versions) in variables.items()
        }
        return {number: (variable, versions) for number, (variable, versions) in moved.items() if versions}


def splice(old: Trace, view: TapeView, onto: Trace) -> Spliced:
    """Append the ops that a tape with `view` recorded on `old` to `onto`.

    Other tapes do not see the ops as recorded. All tensors of `old` in use must be computed.
    """
    path = path_to(old.node)
    kept = _needed(path, view)
    slots = _shared(old, onto, kept, set(path.inputs))
    first = onto.node.n_slots
    appended = tuple([slot for slot in _in_order(path) if slot in kept and slot not in slots])
    slots |= {slot: first + i for i, slot in enumerate(appended)}
    _append(old, onto, path, slots, appended)
    _move_tensors(old, onto, path, slots)
    onto.callbacks |= {slots[slot]: f for slot, f in old.callbacks.items() if slot in slots}
    moved = {(slots[key[0]], *key[1:]): exit for key, exit in (old.exits or {}).items() if key[0] in slots}
    if moved:
        onto.exits = {**(onto.exits or {}), **moved}
    used = {slot for op in path.ops if view.records(op.out) for slot in op.args} if view.accessed else set()
    read = [slots[slot] for slot, trainable in path.variables.items() if trainable and slot in used]
    return Spliced(slots, first, appended, read)


def _in_order(path: Path) -> list[int]:
    return sorted([*path.inputs, *(op.out for op in path.ops)])


def _needed(path: Path, view: TapeView) -> set[int]:
    """Return the slots that the tape recorded or watched, and all slots that these depend on."""
    needed = {slot for _, slot in view.watches}
    for op in reversed(path.ops):
        if op.out in needed or view.records(op.out):
            needed.add(op.out)
            needed.update(op.args)
    return needed


def _shared(old: Trace, onto: Trace, kept: set[int], inputs: set[int]) -> dict[int, int]:
    """Return the slots of inputs of `old` that `onto` has imported too."""
    shared: dict[int, int] = {}
    for slot, tensor, buffer in list(old.imported.values()):  # other threads may add to it
        if slot in kept and slot in inputs and tensor._buffer is buffer:
            known = onto.slot_of(tensor)
            if known is not None:
                shared[slot] = known
    return shared


def _append(old: Trace, onto: Trace, path: Path, slots: dict[int, int], appended: tuple[int, ...]) -> None:
    """Append the ops as one edge; the Variables that they read become plain values, which no other tape watches."""
    new = set(appended)
    ops = tuple(
        [
            Op(
                stop_gradient_op if op.primitive.reads_variable else op.primitive,
                tuple([slots[slot] for slot in op.args]),
                () if op.primitive.reads_variable else op.params,
                slots[op.out],
                op.source,
            )
            for op in path.ops
            if op.out in new
        ]
    )
    inputs = [(i, slot) for i, slot in enumerate(path.inputs) if slot in new]
    imports = tuple([(slots[slot], path.avals[slot], None) for _, slot in inputs])
    if onto.node is UNPLACED:
        onto.begin()
    parent = onto.node
    key = ("splice", imports, tuple([(op.out, op.key) for op in ops]))
    node = parent.children.get(key)
    if node is None:
        node = Node(parent)
        node.inputs = imports
        node.set_ops(ops, tuple([path.avals[op.out] for op in path.ops if op.out in new]))
        node.n_slots += len(appended)
        node = insert_node(parent, key, node)
    onto.node = node
    onto.inputs += [old.inputs[i] for i, _ in inputs]
    if node.nbytes > config.max_pending_bytes:
        onto.limit = 0


def _move_tensors(old: Trace, onto: Trace, path: Path, slots: dict[int, int]) -> None:
    """Give the tensors of `old` slots in `onto`; `old` keeps their old slots for other tapes."""
    for tensor in old._available():
        assert tensor._buffer is not None
        old.imported[id(tensor)] = (tensor._slot, tensor, tensor._buffer)
    inputs = set(path.inputs)
    for old_slot, tensor, buffer in list(old.imported.values()):  # other threads may add to it
        slot = slots.get(old_slot)
        if slot is None:
            continue
        if tensor._buffer is not buffer:
            onto.note_write(tensor, slot)
            continue
        known = onto.slot_of(tensor)
        if known is not None and known != slot:
            onto.former = {**onto.former, slot: known}
        onto.imported[id(tensor)] = (slot, tensor, buffer)
        if tensor._trace is old or tensor._trace is onto:
            tensor._trace, tensor._slot = onto, slot
            if old_slot not in inputs:
                onto.materialized.append(ref(tensor))
    _move_writes(old, onto, slots)


def _move_writes(old: Trace, onto: Trace, slots: dict[int, int]) -> None:
    """Let `onto` remember the slots that tensors of `old` had before they were written to."""
    for weak, _ in old.written.values():
        if (written := weak()) is not None:
            for old_slot in reversed([*old.slots_before(written)]):
                if old_slot in slots:
                    onto.note_write(written, slots[old_slot])
