"""Nested structures of tensors, such as lists, tuples and dicts, and separate handles to their leaves.

optree flattens them. The common cases, one tensor or a flat list of tensors, do without optree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from jittape.core.primitive import active_recorder
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.trace import CLEARED, Trace

__all__ = ["flatten", "flatten_like", "key_orders", "own_handles"]

Rebuild = Callable[[list[Any]], Any]
_LEAVES = frozenset((np.ndarray, float, type(None)))
"""Common types of leaves. The check with optree takes 1 µs."""


def flatten(structure: Any, check: Callable[[Any], None] | None = None) -> tuple[list[Any], Rebuild]:
    """Return the leaves of `structure` and a function that builds the same structure from other leaves.

    None is a leaf. `check` is called with each leaf that may not be a tensor, and may raise an error.
    """
    if isinstance(structure, Operators):
        return [structure], _only
    kind = type(structure)
    if kind is list or kind is tuple:
        for leaf in structure:
            if not isinstance(leaf, Operators):
                break
        else:
            return list(structure), _as_list if kind is list else tuple
    leaves, rebuild = ([structure], _only) if kind in _LEAVES else _flatten_with_optree(structure)
    if check is not None:
        for leaf in leaves:
            check(leaf)
    return leaves, rebuild


def _flatten_with_optree(structure: Any) -> tuple[list[Any], Rebuild]:
    import optree  # takes 60 ms

    leaves, tree = optree.tree_flatten(structure, none_is_leaf=True, namespace="jittape")
    return leaves, lambda new: optree.tree_unflatten(tree, new)


def flatten_like(name: str, structure: Any, other: Any) -> list[Any]:
    """Return the parts of `other` at the positions of the leaves of `structure`; a part may be an array or a list.

    `name` is the name of `other` in errors.
    """
    if isinstance(structure, Operators):
        return [other]
    kind = type(structure)
    if (
        (kind is list or kind is tuple)
        and type(other) is kind
        and all(isinstance(x, Operators) for x in structure)
    ):
        if len(other) != len(structure):
            raise ValueError(f"{name} has {len(other)} entries for {len(structure)}")
        return list(other)
    import optree

    tree = optree.tree_structure(structure, none_is_leaf=True, namespace="jittape")
    try:
        return tree.flatten_up_to(other)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must have the structure {tree}: {error}") from None


def key_orders(parts: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the keys of the dicts among `parts` and their items, in order: optree takes other orders for equal."""
    orders: tuple[tuple[Any, ...], ...] = ()
    for part in parts:
        if isinstance(part, dict):
            orders += (tuple(part), *key_orders(part.values())) if part else ()
        elif isinstance(part, (list, tuple)):
            orders += key_orders(part)
    return orders


def _only(leaves: list[Any]) -> Any:
    return leaves[0]


def _as_list(leaves: list[Any]) -> Any:
    return leaves


def own_handles(leaves: Sequence[Any]) -> list[Any]:
    """Return `leaves` with new handles to the tensors and with copies of the arrays, for functions that write to them.

    A write to one handle does not change the other. A tape treats both as the same value. A leaf that occurs twice gets
    one new handle.
    """
    made: dict[int, Any] = {}
    recorder = active_recorder()
    trace = recorder if isinstance(recorder, Trace) else None
    for leaf in leaves:
        if trace is not None and leaf.__class__ is Tensor:
            if id(leaf) not in made:
                made[id(leaf)] = _new_handle(trace, leaf)
        elif isinstance(leaf, np.ndarray):
            made.setdefault(id(leaf), leaf.copy())
    return [made.get(id(leaf), leaf) for leaf in leaves] if made else list(leaves)


def _new_handle(trace: Trace, tensor: Tensor) -> Tensor:
    slot = tensor._slot if tensor._trace is trace and tensor._slot >= 0 else trace.import_tensor(tensor)
    buffer = tensor._buffer
    if trace.imported is CLEARED:  # it has run, as imports outside of tapes exceed the memory limit
        return Tensor(tensor._trace, tensor._slot, tensor._aval, buffer)
    handle = Tensor(trace, slot, tensor._aval, buffer)
    if buffer is None:
        trace.adopt(handle)
    elif trace.traced_in is None:  # so that the handle moves too if the ops move to another trace
        if id(tensor) in trace.imported:
            trace.imported[id(handle)] = (slot, handle, buffer)
        else:
            trace.materialized.append(ref(handle))
    return handle
