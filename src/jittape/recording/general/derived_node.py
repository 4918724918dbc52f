"""`derived_edges`: the edges of a general path, made in two thirds of the time of `Node` and its attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jittape.core.program import Aval
from jittape.recording.general.path_edges import Edge
from jittape.recording.trie import Node, ScalarInput, trie
from jittape.recording.trie_insertion import marker_for
from jittape.value_classes import NamedTuple

__all__ = ["FixedContents", "VaryingContents", "derived_edges"]

_new = Node.__new__


class FixedContents(NamedTuple):
    """The contents of a node that do not depend on extents."""

    scalars: tuple[ScalarInput, ...]
    takes_scalars_as_given: bool
    conversions: tuple[type | tuple[int, int], ...] | None
    slot: int
    n_slots: int
    n_inputs: int
    n_ops: int
    source: Any
    is_whole_gradient: bool
    unknown: tuple[int, ...]
    notes: dict[Any, str] | None


class VaryingContents(NamedTuple):
    """The contents of a node that may depend on extents. The key has avals in place of markers with extents."""

    key: tuple[Any, ...]
    inputs: tuple[tuple[int, Aval, bool | None], ...]
    aval: Aval
    results: tuple[tuple[int, Aval] | None, ...] | None
    nbytes: int


def derived_edges(
    base: Node,
    fixed: Iterable[tuple[Sequence[tuple[int, bool | None]], FixedContents]],
    varying: Iterable[VaryingContents],
    derivation: tuple[Any, Sequence[int]],
) -> list[Edge]:
    """Return edges below `base`, each below the one before, whose ops are made when they are asked for.

    The first is not among the children of `base`. `fixed` has the positions of the markers with extents in each key,
    and whether each is trainable.
    """
    edges: list[Edge] = []
    parent, stamp = base, trie.clock
    siblings: dict[Any, Node] = {}
    for (markers, contents), (key, inputs, aval, results, nbytes) in zip(fixed, varying, strict=True):
        if markers:
            parts: list[Any] = list(key)
            for position, trainable in markers:
                parts[position] = marker_for(parts[position], trainable)
            key = tuple(parts)
        node = _new(Node)
        (
            node.scalars,
            node.takes_scalars_as_given,
            node.conversions,
            node.slot,
            node.n_slots,
            node.n_inputs,
            node.n_ops,
            node.source,
            node.is_whole_gradient,
            node.unknown,
            node.notes,
        ) = contents
        node.parent = parent
        node.executables = {}
        node.inputs = inputs
        node.aval = aval
        node.results = results
        node.nbytes = nbytes
        node.derivation = derivation
        node.stamp = stamp
        node._ops, node._op_avals = None, ()
        node.bodies = node.callback = node.reverse = node.families = node.shortcuts = node.windows = None
        siblings[key] = node
        node.children = siblings = {}
        edges.append((key, node))
        parent = node
    return edges
