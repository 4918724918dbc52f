"""Path families: from the third length on, a plain step gets the nodes and the executable of its path at once.

The keys of a path contain shapes, so each new length of an array takes a plain step to new nodes. Two recorded paths
that differ in extents only are the *samples* of a family. When a third length arrives, the calls and gradients of the
second sample are recorded again with extents (`GeneralPath`). A length for which all guards hold then gets its nodes
without running any code of the calls; all others are recorded one by one as before.

The user's Python runs every time. If it takes another branch, it leaves the derived nodes at that call. A wrong guess
of how a parameter depends on the lengths gives nodes that no call looks up, never a wrong node: a node's contents
follow from its key and its parent, and the guards ensure that they are what the call would have recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jittape.core.locks import rlock
from jittape.core.symbolic.extents import Extents
from jittape.errors import ProgramError
from jittape.recording.general.path_edges import (
    Edge,
    are_in_trie,
    edges_to,
    key_with,
    skeleton_of,
    varying_ints,
)
from jittape.recording.trie import Node, trie
from jittape.runtime.gc_pause import gc_paused

if TYPE_CHECKING:
    from jittape.recording.general.general_path import GeneralPath

__all__ = ["Families", "note_path"]

_MOST_OPS = 4000
"""Maximum number of ops of a path that is a sample."""
_FEW_OPS = 256
"""Maximum number of ops of a path that is always a sample; a longer one must be twice as long as at the last flush.

Inside a tape that reads a value in each of 800 steps, taking each path took 3 of 4.5 s.
"""
_MOST_SAMPLES = 32
"""Maximum number of samples at a root that wait for a second one."""
_MOST_FAMILIES = 4
"""Maximum number of families below a node, such as for two branches of the user's code."""
_MOST_FAILURES = 2
"""Number of pairs of samples in vain after which paths of this kind are not samples any more."""
_MOST_UNUSED = 8
"""Number of lengths in succession for which no step reached the end of a derived path; then a family is given up."""
_LARGEST_STEP = 16
"""Largest step of slices and strides whose lengths are derived."""
_SMALLEST = 3
"""Smallest length that families serve: 0, 1 and 2 have meanings of their own."""

_lock = rlock()


class _Sample:
    """The edges of a path that waits for a path of another length, and the number of pairs in vain."""

    edges: Sequence[Edge] = ()
    failures = 0


class Families:
    """The samples of a root, and the families of the paths that part at a node."""

    def __init__(self) -> None:
        self.samples: dict[int, _Sample] = {}
        self.known: list[_Family] = []

    def insert(self, key: tuple[Any, ...]) -> None:
        """Insert the nodes of all paths that begin with `key` and belong to a family."""
        with _lock:
            for family in list(self.known):
                family.insert(key)
                if family.is_useless():
                    self.known.remove(family)


def derived_child(parent: Node, key: tuple[Any, ...]) -> Node | None:
    """Return the child of `parent` for a call that was not recorded yet, from a family; None without one.

    At a derived node, the step leaves the path of one family and may follow that of another, with the same first call.
    """
    base, first = parent, key
    if parent.derivation is not None:
        path, _ = parent.derivation
        base, number = path.base, path.number_of(parent)
        edges = edges_to(parent)
        if len(edges) <= number:  # pruned
            return None
        first = edges[-number - 1][0]
    if base.families is not None:
        base.families.insert(first)
    return parent.children.get(key)


def note_path(node: Node) -> None:
    """Take the path to `node`, which was just recorded, as a sample."""
    if node.n_ops > _MOST_OPS or (node.n_ops > _FEW_OPS and _last_run(node).n_ops > node.n_ops // 2):
        return
    edges = edges_to(node)
    if not edges:
        return
    root = edges[0][1].parent
    skeleton = hash(tuple([skeleton_of(key) for key, _ in edges]))
    with _lock:
        families = _families_of(root)
        sample = families.samples.pop(skeleton, None) or _Sample()
        while len(families.samples) >= _MOST_SAMPLES:
            del families.samples[next(iter(families.samples))]
        families.samples[skeleton] = sample
        if sample.failures >= _MOST_FAILURES:
            return
        first, sample.edges = sample.edges, edges
        if not (first and are_in_trie(first)):
            return
        try:
            family = _Family(first, edges)
        except ProgramError:
            sample.failures += 1
            return
        sample.edges = ()
        below = _families_of(family.base).known
        below[:] = [family, *[known for known in below if not family.extends(known)]][:_MOST_FAMILIES]


def _last_run(node: Node) -> Node:
    """Return the last node above `node` at which a flush has run, or the root."""
    at = node
    while at.parent is not None:
        at = at.parent
        if at.executables:
            break
    return at


def _families_of(node: Any) -> Families:
    if node.families is None:
        node.families = Families()
    found: Families = node.families
    return found


class _Family:
    """The paths that differ from two samples in extents only.

    Attributes
    ----------
    base : Node
        The node at which the samples part.

    Raises
    ------
    ProgramError
        If the samples differ in more than extents, or one has an extent below `_SMALLEST`.
    """

    def __init__(self, first: Sequence[Edge], second: Sequence[Edge]) -> None:
        if len(first) != len(second):
            raise ProgramError("paths of different calls")
        at = next((i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a[1] is not b[1]), -1)
        base = first[at][1].parent
        if at < 0 or base is None:
            raise ProgramError("the paths are equal")
        self.base = base
        self._first, self._second = first[at:], second[at:]
        key = second[at][0]
        self._pairs = list(dict.fromkeys([pair for pair, _ in varying_ints(first[at][0], key, key)]))
        if not self._pairs or min([n for pair in self._pairs for n in pair]) < _SMALLEST:
            raise ProgramError("no extents that vary")
        for (a, _), (b, _) in zip(self._first, self._second, strict=True):
            key_with(a, b, self._number(range(len(self._pairs))), lambda program: None)
        self._path: GeneralPath | None = None
        self._failed = False
        self._unused = 0

    def _number(self, variables: Sequence[Any]) -> Any:
        """Return a function that expresses ints of the two samples by `variables`, their first extents."""

        def number(a: int, b: int) -> Any:
            if (a, b) in self._pairs:
                return variables[self._pairs.index((a, b))]
            for (before, now), variable in zip(self._pairs, variables, strict=True):
                factor, rest = divmod(b - a, now - before)
                if rest == 0:
                    return variable * factor + (b - factor * now)
            for (before, now), variable in zip(self._pairs, variables, strict=True):
                for divisor in range(2, _LARGEST_STEP + 1):
                    offset = _offset_of_quotients((before, a), (now, b), divisor)
                    if offset is not None:
                        return (variable + offset) // divisor
            raise ProgramError("an int that depends on the extents in an unknown way")

        return number

    def extends(self, other: _Family) -> bool:
        """Return whether the paths of `other`, another family at this base, end within those of this one."""
        nodes = [node for _, node in self._second]
        return any([other._second[-1][1] is node for node in nodes])

    def is_useless(self) -> bool:
        """Return whether the family gives no nodes that steps use."""
        return self._failed or self._unused > _MOST_UNUSED

    def insert(self, key: tuple[Any, ...]) -> None:
        """Insert the nodes of a path that begins with `key`, if it belongs to the family."""
        values = self._values(key)
        if values is None:
            return
        if self._path is None:
            self._path = self._general_path()
            self._failed = self._path is None
        if self._path is not None and self._path.insert(values):
            self._unused = 0 if self._path.is_used else self._unused + 1
            self._path.is_used = False

    def _values(self, key: tuple[Any, ...]) -> list[int] | None:
        """Return the extents of a call with this key at the base; None if the call belongs to no path of the family."""
        found: dict[tuple[int, int], int] = {}
        try:
            for pair, extent in varying_ints(self._first[0][0], self._second[0][0], key):
                if found.setdefault(pair, extent) != extent:
                    return None
        except ProgramError:
            return None
        values = [found[pair] for pair in self._pairs]
        return values if min(values) >= _SMALLEST else None

    def _general_path(self) -> GeneralPath | None:
        """Return the paths of the family as one; None if there are no such paths."""
        from jittape.recording.general.general_path import GeneralPath  # programs of one length need none

        extents = Extents([now for _, now in self._pairs])
        try:
            with extents.hashed_by_expression(), gc_paused():
                number = self._number(extents.variables)
                edges = [
                    (key_with(a, b, number), node)
                    for (a, _), (b, node) in zip(self._first, self._second, strict=True)
                ]
                path = GeneralPath(self.base, edges, extents)
        except TimeoutError:  # from a signal handler
            raise
        except Exception:
            return None
        finally:
            extents.close()
        first, second = [[pair[i] for pair in self._pairs] for i in (0, 1)]
        agree = path.agrees(second, self._second) and path.agrees(first, self._first) is not False
        return path if agree else None


def _offset_of_quotients(first: tuple[int, int], second: tuple[int, int], divisor: int) -> int | None:
    """Return a number `c` with ``(n + c) // divisor == quotient`` for both samples ``(n, quotient)``; None without one.

    Several numbers may do. The first choice is a length that is rounded up, as that of ``x[::2]``, the second one that
    is rounded down.
    """
    samples = first, second
    low = max([quotient * divisor - n for n, quotient in samples])
    high = min([quotient * divisor - n + divisor - 1 for n, quotient in samples])
    found = sorted(range(low, high + 1), key=lambda c: ((c + 1) % divisor != 0, c % divisor != 0))
    return found[0] if found else None


trie.derived_child = derived_child
