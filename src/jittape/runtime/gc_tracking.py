"""Exclusion of objects from Python's cyclic garbage collector, which visits every tracked object in a full collection.

A collection of everything runs each time that a quarter more objects are alive, so an object that is kept costs about
1.2 µs of collections. The nodes of a length that a plain LSTM meets took 0.2 ms that way, those of 100,000 recorded ops
half of 2.2 s. They are garbage only once the trie drops them, and are then tracked again.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from jittape.core.config import config

__all__ = [
    "follow_native",
    "track",
    "track_node",
    "track_tree",
    "untrack",
    "untrack_all",
    "untrack_child",
    "untrack_path",
]


def _nothing(value: Any) -> None:
    """Leave the object as it is, where objects cannot be excluded."""


untrack = track_again = _nothing

if sys.implementation.name == "cpython":
    _prototype = ctypes.PYFUNCTYPE(None, ctypes.py_object)
    untrack = _prototype(("PyObject_GC_UnTrack", ctypes.pythonapi))
    track_again = _prototype(("PyObject_GC_Track", ctypes.pythonapi))


def untrack_all(values: list[Any]) -> None:
    """Exclude the objects among `values` that the collector visits."""
    _exclude(values)


def _untrack_each(values: list[Any]) -> None:
    for value in filter(gc.is_tracked, values):  # a test takes a tenth of the time of a call
        untrack(value)


_exclude: Callable[[list[Any]], Any] = _untrack_each


def follow_native() -> None:
    """Exclude objects by machine code if the settings allow it: 22 objects in 0.2 µs instead of 7.

    The code is loaded when a program first meets many lengths or records many ops: 100,000 ops take 0.15 s less.
    """
    global _exclude
    _exclude = (_machine_code() if config._native else None) or _untrack_each


@cache
def _machine_code() -> Callable[[list[Any]], Any] | None:
    from jittape.compile.cache.kernel_cache import registry
    from jittape.compile.llvm.built_in_functions import as_function
    from jittape.native.collector_exclusion import EXCLUSION

    return None if EXCLUSION is None else as_function(registry.address_of(EXCLUSION))


def untrack_child(parent: Any, key: Any, child: Any) -> None:
    """Exclude a new node with its key, unless its parent is tracked: then the trie has dropped that."""
    if not gc.is_tracked(parent):
        untrack_all([child, key, parent.children])


def untrack_path(parent: Any, edges: Sequence[tuple[Any, Any]]) -> None:
    """Exclude the nodes of a new path with their keys and avals, as `untrack_child` does.

    Most keys and avals are those of other paths, and excluded already.
    """
    found = [node.aval for _, node in edges]
    if not gc.is_tracked(parent):
        found += (parent.children, edges[0][1].derivation)
        for key, node in edges:
            found += (node, key, node.children)
            if node.inputs:
                found += (node.inputs, *node.inputs, *[aval for _, aval, _ in node.inputs])
    untrack_all(found)


def track(*values: Any) -> None:
    """Let the collector visit objects again."""
    for value in values:
        if not gc.is_tracked(value):
            track_again(value)


def track_tree(top: Any) -> int:
    """Let the collector visit a node and all nodes below it again, with their keys; return the number of nodes."""
    count, waiting = 0, [top]
    while waiting:
        node = waiting.pop()
        count += 1
        waiting += node.children.values()
        track_node(node, *node.children)
    return count


def track_node(node: Any, *keys: Any) -> None:
    """Let the collector visit a node and the `keys` of edges again."""
    track(node, node.children, node.executables, *keys)
    if node.derivation is not None:
        track(node.derivation)
