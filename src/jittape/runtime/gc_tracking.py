"""Exclusion of objects from Python's cyclic garbage collector, which visits every tracked object in a full collection.

A collection of everything runs each time that a quarter more objects are alive, so an object that is kept costs about
1.2 µs of collections. The nodes of a length that a plain LSTM meets took 0.2 ms that way, those of 100,000 recorded ops
half of 2.2 s. They are garbage only once the trie drops them, and are then tracked again.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["track", "track_tree", "untrack", "untrack_all", "untrack_child", "untrack_path"]


def _nothing(value: Any) -> None:
    """Leave the object as it is, where objects cannot be excluded."""


untrack = track_again = _nothing

if sys.implementation.name == "cpython":
    _prototype = ctypes.PYFUNCTYPE(None, ctypes.py_object)
    untrack = _prototype(("PyObject_GC_UnTrack", ctypes.pythonapi))
    track_again = _prototype(("PyObject_GC_Track", ctypes.pythonapi))


def untrack_all(values: Iterable[Any]) -> None:
    """Exclude the objects among `values` that the collector visits: a test takes a tenth of the time of a call."""
    for value in filter(gc.is_tracked, values):
        untrack(value)


def untrack_child(parent: Any, key: Any, child: Any) -> None:
    """Exclude a new node with its key, unless its parent is tracked: then the trie has dropped that."""
    if not gc.is_tracked(parent):
        untrack(child)
        untrack(key)
        untrack(parent.children)


def untrack_path(parent: Any, edges: Sequence[tuple[Any, Any]]) -> None:
    """Exclude the nodes of a new path with their keys and avals, as `untrack_child` does.

    Most keys and avals are those of other paths, and excluded already.
    """
    found = [node.aval for _, node in edges]
    if not gc.is_tracked(parent):
        found.append(parent.children)
        for key, node in edges:
            found += (node, key, node.children, node.inputs, *node.inputs)
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
        track(node, node.children, *node.children)
    return count
