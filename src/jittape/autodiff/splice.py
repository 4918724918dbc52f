"""Moving what a tape has recorded from the trace that it was recorded on into the one that is recorded now.

A tape that is entered again, or query for a gradient, inside a tape that began later: then what it recorded and what is
recorded now must be one op list, to be differentiated as one. So the old ops become an edge of the current trace, which
adds nothing to what other tapes have seen, and the tensors that they gave get slots here.

The edge's key is the old ops, numbered anew: a loop that comes by again finds it, wherever they stood before.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import ref

from jittape.core.config import config
from jittape.core.program import Op
from jittape.primitives.identity import stop_gradient_op
from jittape.recording.slots import Variables
from jittape.recording.trace import Trace
from jittape.recording.trie import UNPLACED, Node, path_to
from jittape.recording.trie_insertion import insert_node
from jittape.transform.differentiate import Path, TapeView

__all__ = ["Spliced", "splice"]


class Spliced(NamedTuple):
    """Where things stand now.

    Attributes
    ----------
    slots : dict of int to int
        From the slots that the tape needs in the old trace to those in the new.
    first : int
        The new trace's next slot before.
    appended : tuple of int
        The old slots that became new ones, in order.
    read : list of int
        New slots of trainable Variables that the tape's ops read.
    """

    slots: dict[int, int]
    first: int
    appended: tuple[int, ...]
    read: list[int]

    def position(self, old: int) -> int:
        """Where `old`, a position in the old trace, is in the new one."""
        return self.first + sum(1 for slot in self.appended if slot < old)

    def versions(self, variables: Variables) -> Variables:
        """The slots of each Variable among those that the tape needs."""
        moved = {
            number: (variable, tuple([self.slots[slot] for slot in versions if slot in self.slots]))
            for number, (variable, versions) in variables.items()
        }
        return {number: (variable, versions) for number, (variable, versions) in moved.items() if versions}


def splice(old: Trace, view: TapeView, onto: Trace) -> Spliced:
    """Append what a tape with `view` recorded on `old` to `onto`. No other tape sees these ops as recorded.

    All values of `old` that anybody holds are computed.
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
    """What the tape recorded or watched, and what that is computed from."""
    needed = {slot for _, slot in view.watches}
    for op in reversed(path.ops):
        if op.out in needed or view.records(op.out):
            needed.add(op.out)
            needed.update(op.args)
    return needed


def _shared(old: Trace, onto: Trace, kept: set[int], inputs: set[int]) -> dict[int, int]:
    """Inputs of `old` that are in `onto` already."""
    shared: dict[int, int] = {}
    for slot, tensor, buffer in old.imported.values():
        if slot in kept and slot in inputs and tensor._buffer is buffer:
            known = onto.slot_of(tensor)
            if known is not None:
                shared[slot] = known
    return shared


def _append(old: Trace, onto: Trace, path: Path, slots: dict[int, int], appended: tuple[int, ...]) -> None:
    """Make the ops an edge of the trie; Variables read come in as plain values, which no other tape watches."""
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
    entering = tuple([(slots[slot], path.avals[slot], None) for _, slot in inputs])
    if onto.node is UNPLACED:
        onto.begin()
    parent = onto.node
    key = ("splice", entering, tuple([(op.out, op.key) for op in ops]))
    node = parent.children.get(key)
    if node is None:
        node = Node(parent)
        node.inputs, node.ops = entering, ops
        node.op_avals = tuple([path.avals[op.out] for op in path.ops if op.out in new])
        node.n_slots += len(appended)
        node = insert_node(parent, key, node)
    onto.node = node
    onto.inputs += [old.inputs[i] for i, _ in inputs]
    if node.nbytes > config.max_pending_bytes:
        onto.limit = 0


def _move_tensors(old: Trace, onto: Trace, path: Path, slots: dict[int, int]) -> None:
    """Give the tensors of `old` their slots in `onto`; `old` remembers them for other tapes."""
    for tensor in old._available():
        assert tensor._buffer is not None
        old.imported[id(tensor)] = (tensor._slot, tensor, tensor._buffer)
    inputs = set(path.inputs)
    for old_slot, tensor, buffer in old.imported.values():
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
    for weak, before in old.written.values():
        written = weak()
        for old_slot in reversed(before):
            if written is not None and old_slot in slots:
                onto.note_write(written, slots[old_slot])
