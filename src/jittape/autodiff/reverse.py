"""Gradients as ops that are appended to a trace: derived once, then found in the trie.

If the same gradient was recorded at the same node, `record_gradient` is one look-up. A `custom_gradient` on the way
splits the gradient into parts with one look-up each: between them the user's Python function is called and its ops are
recorded.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from jittape.core.builder import Builder, Symbol, literal
from jittape.core.dtypes import is_differentiable
from jittape.core.primitive import recording_with
from jittape.core.program import Aval
from jittape.primitives.broadcast import broadcast
from jittape.recording.general.path_replay import ReplayedPath, derivers
from jittape.recording.tensor import Tensor, tensor_of
from jittape.recording.trace import Trace
from jittape.recording.trie import Node, aval_of, growing_path
from jittape.recording.trie_insertion import insert_ops
from jittape.recording.user_line import user_line
from jittape.runtime.gc_pause import gc_paused
from jittape.transform.differentiate import Callback, Reverse, TapeView, seen
from jittape.transform.op_paths import Path
from jittape.transform.opaque import OpaqueRules, unknown_among

__all__ = ["ORDINARY", "Slots", "gradient_key", "record_gradient"]

Slots = tuple[int, ...]
ORDINARY = OpaqueRules()
"""Rules for opaque ops of a gradient in reverse mode whose unconnected sources get None."""


def record_gradient(
    trace: Trace,
    targets: Slots,
    sources: tuple[Slots, ...],
    seeds: tuple[int | None, ...],
    view: TapeView,
    opaque_rules: OpaqueRules = ORDINARY,
) -> list[Tensor | None]:
    """Append the reverse ops to `trace`; return a pending cotangent or None for each source.

    Parameters
    ----------
    trace : Trace
    targets : tuple of int
        Slots whose gradients are summed.
    sources : tuple of tuples of int
        Slots of each source; a Variable has one for each version that was read.
    seeds : tuple of int or None
        Slot of the cotangent of each target; None means ones.
    view : TapeView
        Positions and slots that the tape recorded and watched.
    opaque_rules : OpaqueRules
        Dependences for which a missing derivative is an error.
    """
    key = gradient_key(targets, sources, seeds, view)
    if opaque_rules is not ORDINARY:
        key = (*key, opaque_rules)
    with trace.deriving():
        node = trace.node.children.get(key)
        if node is None:
            with gc_paused():
                node = _derive(trace, key, growing_path(trace.node), opaque_rules)
        trace.node = node
    while node.callback is not None:
        node = _after_callback(trace, node)
    return trace.tensors_at(node)


def _replayed(path: ReplayedPath, key: tuple[Any, ...]) -> Node:
    """Insert a gradient again, for arrays of any length."""
    return _derive(path, key, growing_path(path.node), key[5] if len(key) > 5 else ORDINARY)


derivers["gradient"] = _replayed


def gradient_key(
    targets: Slots, sources: tuple[Slots, ...], seeds: tuple[int | None, ...], view: TapeView
) -> tuple[Any, ...]:
    """Return the key of an ordinary gradient in the trie."""
    return ("gradient", targets, sources, seeds, view)


def _derive(trace: Trace | ReplayedPath, key: tuple[Any, ...], path: Path, opaque_rules: OpaqueRules) -> Node:
    """Return the node for the first part of a gradient: to the end or to the first Python function."""
    _, targets, sources, seeds, view, *_ = key
    tracked = seen(path, view)
    unknown = unknown_among(path, view, tracked, targets, sources, opaque_rules)
    if not opaque_rules.jointly:
        sources = tuple([() if i in unknown else slots for i, slots in enumerate(sources)])
    flat = [slot for slots in sources for slot in slots]
    reverse = Reverse.between(path, tracked, targets, flat)
    builder = Builder(trace.node.n_slots, user_line())
    # A target that is a source receives its seed, watched or not.
    reachable = {op.out for op, _ in reverse.steps} | {
        s for s in flat if is_differentiable(path.avals[s].dtype)
    }
    for slot, seed in zip(targets, seeds, strict=True):
        if slot in reachable:
            reverse.seed(builder, slot, _seed(builder, path, slot, seed))
    return _continue(trace, key, reverse, builder, sources, unknown)


def _seed(builder: Builder, path: Path, slot: int, seed: int | None) -> Symbol:
    aval = path.avals[slot]
    if seed is not None:
        return Symbol(seed, aval)
    with recording_with(builder):
        ones: Symbol = broadcast(literal(1, aval.dtype), aval.shape)
    return ones


def _continue(
    trace: Trace | ReplayedPath,
    key: tuple[Any, ...],
    reverse: Reverse,
    builder: Builder,
    sources: tuple[Slots, ...],
    unknown: tuple[int, ...],
) -> Node:
    """Continue the reverse pass and insert its ops into the trie as the child for `key`."""
    node = Node(trace.node)
    node.source = builder.source
    node.unknown = unknown
    with trace.deriving():
        node.callback = reverse.run(builder)
        if node.callback is not None:
            node.reverse = (reverse, sources)
        else:
            node.results = tuple([_total(reverse, builder, slots) for slots in sources])
            node.is_whole_gradient = None not in node.results
    return insert_ops(trace.node, key, node, builder)


def _total(reverse: Reverse, builder: Builder, slots: Slots) -> tuple[int, Aval] | None:
    """Return the cotangent of one source: the sum over its versions."""
    parts = [reverse.cotangents[slot] for slot in slots if slot in reverse.cotangents]
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = reverse.sum(builder, total, part)
    return total.slot, total.aval


def _after_callback(trace: Trace, node: Node) -> Node:
    """Call the Python function at which `node` ends, record its ops and continue the reverse pass."""
    assert node.callback is not None
    assert node.reverse is not None
    op = node.callback.op
    given = _called(trace, node.callback)
    key = ("after callback", node.callback.slots, given)
    with trace.deriving():
        child = trace.node.children.get(key)
        if child is None:
            before, sources = node.reverse
            reverse = before.copy()
            builder = Builder(trace.node.n_slots, user_line())
            symbols = [None if slot is None else Symbol(slot, aval_of(trace.node, slot)) for slot in given]
            reverse.supply(builder, op, symbols)
            child = _continue(trace, key, reverse, builder, sources, node.unknown)
        trace.node = child
    return child


def _called(trace: Trace, callback: Callback) -> tuple[int | None, ...]:
    """Call the Python function and return the slots of its results."""
    upstream = []
    for slot, cotangent in zip(callback.slots, callback.cotangents, strict=True):
        if cotangent is None:
            aval = aval_of(trace.node, slot)
            upstream.append(tensor_of(np.zeros(aval.shape, aval.dtype)))
        else:
            upstream.append(Tensor(trace, cotangent.slot, cotangent.aval))
            trace.adopt(upstream[-1])
    outer = ref(trace)
    trace.intervals.append(outer)  # makes a tape that the function enters an inner one, which begins no step
    try:
        tensors = trace.callbacks[callback.slots[0]](*upstream)
    finally:
        trace.intervals.remove(outer)
    return tuple([None if t is None else trace.import_tensor(t) for t in tensors])
