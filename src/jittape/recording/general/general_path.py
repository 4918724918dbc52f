"""`GeneralPath`: a part of a path in the trie, with extents, and the nodes and executables for their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.core.program import Aval, Op, Program
from jittape.core.symbolic.extents import Extent, Extents
from jittape.core.symbolic.plain_numbers import numbers_of
from jittape.errors import ProgramError
from jittape.recording.general.derived_node import FixedContents, VaryingContents, derived_edges
from jittape.recording.general.path_edges import Edge, is_same_content
from jittape.recording.general.path_replay import replayed
from jittape.recording.trie import Node, path_to, trie
from jittape.recording.trie_insertion import Marker
from jittape.runtime.gc_tracking import follow_native, untrack, untrack_child, untrack_path
from jittape.runtime.path_executable import (
    GeneralPathExecutable,
    GeneralProgram,
    PathExecutable,
    donated_positions,
)
from jittape.runtime.repeated_starts import RepeatedStarts
from jittape.transform.op_paths import Key, Path, parts_of

__all__ = ["GeneralPath"]

_MOST_EXECUTABLES = 64
"""Maximum number of general executables of a path, one for each flush and set of live values."""


class GeneralPath:
    """Edges below `base` for all values of some extents.

    Parameters
    ----------
    base : Node
    edges : sequence of (key, Node)
        Keys with extents, and the nodes of the recorded path whose extents have the present values.
    extents : Extents

    Raises
    ------
    ProgramError
        If the path holds for the present values only.

    Attributes
    ----------
    base : Node
    is_used : bool
        Whether a step ended at a derived node; the family sets it to False.
    """

    def __init__(self, base: Node, edges: Sequence[Edge], extents: Extents) -> None:
        follow_native()
        self.is_used = True
        self.base = base
        self._extents = extents
        self._nodes = replayed(base, edges)
        for node, (_, recorded) in zip(self._nodes, edges, strict=True):
            node.notes = recorded.notes
        path = path_to(self._nodes[-1])
        program = Program(tuple(path.inputs), tuple(path.ops), (), dict(path.avals))
        if not extents.is_general(numbers_of(program)):
            raise ProgramError("the extents are in no general position")
        keys = [key for key, _ in edges]
        self._fixed = [_fixed(key, node) for key, node in zip(keys, self._nodes, strict=True)]
        varying = [_varying(key, node) for key, node in zip(keys, self._nodes, strict=True)]
        self._varying_at: Callable[..., Sequence[VaryingContents] | None] = extents.function(tuple(varying))
        self._all_ops_at: Callable[..., Any] = extents.function(
            tuple([(n.ops, n.op_avals) for n in self._nodes])
        )
        self._last_ops: tuple[Sequence[int], Any] = ((), ())
        self._executables: dict[tuple[int, Key], GeneralProgram] = {}
        self._parts: dict[Any, tuple[Any, Callable[..., Any]]] = {}

    def insert(self, values: Sequence[int]) -> bool:
        """Insert the nodes for these values into the trie; return whether the guards hold."""
        found = self._edges_at(values)
        if found is None:
            return False
        key, first = found[0]
        if self.base.children.setdefault(key, first) is first:  # with all nodes below it
            untrack_path(self.base, found)
            untrack(values)
            trie.added(first, len(found))
        else:
            self._merge(found)
        return True

    def _merge(self, edges: Sequence[Edge]) -> None:
        """Insert the nodes of edges that the trie has not."""
        parent = self.base
        for key, node in edges:
            node.parent = parent
            kept = parent.children.setdefault(key, node)
            if kept is node:
                untrack_child(parent, key, node)
                untrack(node.aval)
                trie.added(node)
            parent = kept

    def agrees(self, values: Sequence[int], edges: Sequence[Edge]) -> bool | None:
        """Return whether the nodes for these values equal recorded ones; None if a guard fails."""
        found = self._edges_at(values)
        if found is None:
            return None
        return all(
            [
                key == recorded_key and is_same_content(node, recorded)
                for (key, node), (recorded_key, recorded) in zip(found, edges, strict=True)
            ]
        )

    def _edges_at(self, values: Sequence[int]) -> list[Edge] | None:
        """Return the edges for these values, whose nodes are not in the trie yet; None if a guard fails."""
        found = self._varying_at(*values)
        return None if found is None else derived_edges(self.base, self._fixed, found, (self, values))

    def number_of(self, node: Node) -> int:
        """Return the number of a derived node among those of its length."""
        number = -1
        while node is not self.base:
            number += 1
            assert node.parent is not None
            node = node.parent
        return number

    def ops_at(self, values: Sequence[int]) -> Sequence[tuple[tuple[Op, ...], tuple[Aval, ...]]]:
        """Return the ops of each node, and the avals of their results, for values whose guards hold."""
        known, found = self._last_ops
        if known is not values:
            found = self._all_ops_at(*values)
            self._last_ops = values, found
        return found

    def part(self, at: int, key: Any, make: Callable[[Path], Any]) -> tuple[Any, Callable[..., Any]]:
        """Return ``make(path)`` and the function that gives it for values of the extents; `path` ends at node `at`.

        `key` identifies what `make` does, which depends on no extent.
        """
        known = self._parts.get((at, key))
        if known is None:
            made = make(path_to(self._nodes[at]))
            known = self._parts[at, key] = made, self._extents.function(made)
        return known

    def executable(self, at: int, values: Sequence[int], key: Key, inputs: Sequence[Any]) -> PathExecutable:
        """Return the executable of a flush at node number `at`; `inputs` are the values of the path's inputs."""
        self.is_used = True
        known = self._executables.get((at, key))
        if known is None:
            if len(self._executables) >= _MOST_EXECUTABLES:
                self._executables.clear()
            known = self._executables[at, key] = self._general_executable(self._nodes[at], key, inputs)
        untrack(key)
        return GeneralPathExecutable(known, values)

    def _general_executable(self, node: Node, key: Key, inputs: Sequence[Any]) -> GeneralProgram:
        """Return the program of a flush, for all values of the extents."""
        from jittape.runtime.general_executable import GeneralExecutable

        def general(program_at: Callable[..., Any], *parts: Any) -> GeneralProgram:
            picks, scalars, donated, *starts = parts
            executables = GeneralExecutable(program_at, scalars, donated_positions(donated, picks))
            return GeneralProgram(program_at, executables.derived_at, picks, scalars, donated, *starts)

        program, picks, scalars, donated = parts_of(path_to(node), key, inputs)
        program_at = self._extents.function(program)
        starts = RepeatedStarts.of(program, picks, scalars, inputs)
        if starts is None:
            return general(program_at, tuple(picks), scalars, donated)

        def bound_at(*values: int) -> Program | None:
            found = program_at(*values)
            return None if found is None else starts.bound(found)

        bound_picks = starts.picks_without(program, picks)
        at_starts = general(bound_at, bound_picks, scalars - {*starts.slots}, donated)
        return general(program_at, tuple(picks), scalars, donated, starts, at_starts)


def _fixed(key: tuple[Any, ...], node: Node) -> tuple[Sequence[tuple[int, bool | None]], FixedContents]:
    markers = [(i, part.trainable) for i, part in enumerate(key) if _varies(part)]
    return tuple(markers), FixedContents(*[getattr(node, name) for name in FixedContents._fields])


def _varying(key: tuple[Any, ...], node: Node) -> VaryingContents:
    parts = tuple([part.aval if _varies(part) else part for part in key])
    return VaryingContents(parts, *[getattr(node, name) for name in VaryingContents._fields[1:]])


def _varies(part: Any) -> bool:
    """Return whether a part of a key is a marker with extents."""
    return part.__class__ is Marker and any([isinstance(n, Extent) for n in part.aval.shape])
