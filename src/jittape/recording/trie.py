"""The trie of all op lists recorded before. The path to a node is the signature of a graph.

An edge is one call of a user-level function or one gradient. Its key is the function, the slots of the operands and
the static parameters; the child holds the recorded ops. Ops, shapes and dtypes of a call are inferred and checked
once; from then on, recording the call is one dictionary look-up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.config import config
from jittape.core.program import Aval, Op, SourceLine
from jittape.core.user_calls import frame_of_user
from jittape.runtime.gc_tracking import follow_native, track, track_node, track_tree, untrack
from jittape.transform.differentiate import Callback, Reverse
from jittape.transform.op_paths import Key, Path

if TYPE_CHECKING:
    from jittape.runtime.path_executable import PathExecutable

__all__ = [
    "UNPLACED",
    "Node",
    "ScalarInput",
    "Trie",
    "aval_of",
    "code_of_jittape",
    "forget_growing_paths",
    "growing_path",
    "path_to",
    "trie",
]

ScalarInput = tuple[int, np.dtype[Any] | None]
"""Position of the Python scalar that becomes an input slot, and the dtype that it must fit; None if any value fits."""

_NO_RESULT = Aval((), np.dtype(bool))
_LATEST_PATHS = 2
"""Number of paths that a thread keeps for queries: that of a tape, and that of programs that run between them."""
_KNOWN_PLACES = 4096
"""Maximum number of code locations whose root is found by address."""
_MANY_NODES = 1 << 14
"""Number of nodes at which machine code begins to exclude new ones from the garbage collector."""
code_of_jittape: dict[int, Any] = {}
"""Code objects of jittape by identity, to skip a frame in 0.1 µs; `frame_of_user` takes 0.3 µs."""


class Node:
    """An op list: the parent's, and the ops of the last edge.

    Attributes
    ----------
    inputs : tuple of (slot, Aval, trainable or None)
        Input slots that the edge added; `trainable` is None if the input is not a Variable.
    scalars : tuple of ScalarInput
        Python scalars of the call, which are the last inputs. `takes_scalars_as_given`: each scalar is one input, in
        order, and any value fits.
    conversions : tuple of type or (int, int), or None
        What machine code makes of each scalar, if each is one input, in order: `int` for an int64, the least and the
        greatest number for any other integer dtype, `float` for an int that becomes a float or complex, `object` for
        the scalar as it is. None if Python converts the scalars.
    ops, op_avals : tuples of Op and Aval
        Ops that the edge added, and the avals of their results.
    slot, aval : int, Aval
        The result of the call; if the call returned a tuple, `results` holds all results.
    n_slots, n_inputs, n_ops, nbytes : int
        Totals from the root; `nbytes` is that of the arrays among the inputs.
    callback, reverse
        For a gradient that waits for a Python function: the op, and the reverse pass to continue.
    is_whole_gradient : bool
        Whether the edge is a complete gradient with a result for each source.
    unknown : tuple of int
        For a gradient: the sources without one because of an opaque op, see `jittape.transform.opaque.unknown_among`.
    executables : dict
        Executables of flushes at this node, by `Key`.
    bodies : dict or None
        For the path of a loop's body: the programs that end here, by their results.
    notes : dict or None
        For a gradient that is None: the diagnostics.
    families : Families or None
        The general paths below the node, see `jittape.recording.general.path_families`.
    shortcuts : dict or None
        Nodes and results that several edges below lead to: see `jittape.autodiff.known_gradients`.
    derivation : (GeneralPath, sequence of int) or None
        The general path that gave the node, and the values of the extents. The nodes of one length share it.
    windows : tuple of int, or None
        Where a loop outside tapes had too many pending results: the sizes of the next windows, see
        `jittape.recording.loop_windows`.
    """

    __slots__ = (
        "_op_avals",
        "_ops",
        "aval",
        "bodies",
        "callback",
        "children",
        "conversions",
        "derivation",
        "executables",
        "families",
        "inputs",
        "is_whole_gradient",
        "n_inputs",
        "n_ops",
        "n_slots",
        "nbytes",
        "notes",
        "parent",
        "results",
        "reverse",
        "scalars",
        "shortcuts",
        "slot",
        "source",
        "stamp",
        "takes_scalars_as_given",
        "unknown",
        "windows",
    )

    def __init__(self, parent: Node | None) -> None:
        self.parent = parent
        self.children: dict[Any, Node] = {}
        self.executables: dict[Key, PathExecutable] = {}
        self.inputs: tuple[tuple[int, Aval, bool | None], ...] = ()
        self.scalars: tuple[ScalarInput, ...] = ()
        self.takes_scalars_as_given = False
        self.conversions: tuple[type | tuple[int, int], ...] | None = None
        self._ops: tuple[Op, ...] | None = ()
        self._op_avals: tuple[Aval, ...] = ()
        self.results: tuple[tuple[int, Aval] | None, ...] | None = None
        self.slot = -1
        self.aval = _NO_RESULT
        self.n_slots: int = parent.n_slots if parent is not None else 0
        self.n_inputs: int = parent.n_inputs if parent is not None else 0
        self.n_ops: int = parent.n_ops if parent is not None else 0
        self.nbytes: int = parent.nbytes if parent is not None else 0
        self.source: SourceLine | None = None
        self.stamp = 0
        self.notes: dict[Any, str] | None = None
        self.bodies: dict[Any, Any] | None = None
        self.is_whole_gradient = False
        self.unknown: tuple[int, ...] = ()
        self.callback: Callback | None = None
        self.reverse: tuple[Reverse, tuple[tuple[int, ...], ...]] | None = None
        self.families: Any = None
        self.shortcuts: dict[Any, tuple[Node, tuple[tuple[int, Aval], ...]]] | None = None
        self.derivation: tuple[Any, Sequence[int]] | None = None
        self.windows: tuple[int, ...] | None = None

    @property
    def ops(self) -> tuple[Op, ...]:
        """The ops that the edge added; for a derived node, they are made when they are asked for."""
        if self._ops is None:
            self._make_ops()
        return self._ops  # type: ignore[return-value]

    @property
    def op_avals(self) -> tuple[Aval, ...]:
        """The avals of the results of the ops."""
        if self._ops is None:
            self._make_ops()
        return self._op_avals

    def set_ops(self, ops: tuple[Op, ...], avals: tuple[Aval, ...]) -> None:
        """Set the ops and the avals of their results."""
        self._op_avals, self._ops = avals, ops

    def _make_ops(self) -> None:
        assert self.derivation is not None
        path, values = self.derivation
        self.set_ops(*path.ops_at(values)[path.number_of(self)])


UNPLACED = Node(None)
"""Node of a trace that has recorded nothing; the first op chooses the root. It never has children."""


class Trie:
    """The roots of all op lists, and the clock that tells which nodes were used least recently.

    Attributes
    ----------
    places : dict
        Roots by address of the running instruction in the user's code: `id` of the code object plus ``f_lasti``. The
        key of the root of a whole function or type is its `id`.
    """

    __slots__ = (
        "_kept",
        "_known_code",
        "_roots",
        "_separate_roots",
        "clock",
        "derived_child",
        "n_nodes",
        "places",
        "pruned",
    )

    def __init__(self) -> None:
        self._roots: dict[tuple[Any, ...], Node] = {}
        self.places: dict[int, Node] = {}
        self._known_code: dict[int, Any] = {}  # keeps the objects at these addresses alive
        self._separate_roots: dict[int, Node] = {}
        self.n_nodes = 0
        self.clock = 0
        self.pruned = 0
        self._kept = 0  # nodes that were left by `prune`
        self.derived_child: Callable[[Node, Any], Node | None] = lambda parent, key: None
        """Set to `derived_child` of `jittape.recording.general.path_families`, which inserts calls itself."""

    def root(self, frame: FrameType) -> Node:
        """Return the root of the steps that begin at the running line of the user's code.

        Each line has its own root, so that a node's source line is that of the running code and not that of another
        program with the same ops.

        Parameters
        ----------
        frame : FrameType
            Frame at which the search for the innermost frame outside jittape starts.
        """
        near: FrameType | None = frame
        while near is not None and id(near.f_code) in code_of_jittape:
            near = near.f_back
        known = None if near is None else self.places.get(id(near.f_code) + near.f_lasti)
        return known or self._root_of_line(frame)

    def _root_of_line(self, frame: FrameType) -> Node:
        user = frame_of_user(frame) or frame
        while frame is not user and frame.f_back is not None:
            code_of_jittape[id(frame.f_code)] = frame.f_code
            frame = frame.f_back
        return self._keep_place(id(user.f_code) + user.f_lasti, user.f_code, user.f_lineno)

    def root_of(self, function: Any) -> Node:
        """Return the root of the steps that run `function`, a code object or a type."""
        return self.places.get(id(function)) or self._keep_place(id(function), function, 0)

    def _keep_place(self, at: int, code: Any, line: int) -> Node:
        """Find the root of a line by value and keep it by address, since the hash of a code object takes 1 µs.

        Code objects of equal code in one file compare equal, so a notebook cell that runs again reuses its paths. The
        default float dtype is part of the structure. The entry keeps the code object alive, so its address stays valid.
        """
        place = (getattr(code, "co_filename", ""), code, line, config._default_float)
        root = self._roots.get(place)
        if root is None:
            root = self._roots.setdefault(place, Node(None))
            untrack(root)
        if len(self.places) >= _KNOWN_PLACES:
            self.forget_places()
        self._known_code[id(code)] = code
        self.places[at] = root
        return root

    def forget_places(self) -> None:
        """Find roots by value again, after a change of a setting that roots depend on."""
        self.places.clear()
        self._known_code.clear()

    def added(self, node: Node, count: int = 1) -> None:
        """Count a new node, with nodes below it `count` nodes, and prune the trie if there are too many nodes."""
        node.stamp = self.clock
        self.n_nodes += count
        if self.n_nodes == _MANY_NODES:
            follow_native()
        if self.n_nodes > max(config._max_trie_nodes, 2 * self._kept):
            self.prune()

    def separate_root(self) -> Node:
        """Return a root that no other path shares; call `forget` when it is not needed any more."""
        root = Node(None)
        self._separate_roots[id(root)] = root
        untrack(root)
        return root

    def forget(self, root: Node) -> None:
        """Remove `root`, a result of `separate_root`, and the nodes below it from the count."""
        if self._separate_roots.pop(id(root), None) is root:
            self.n_nodes -= track_tree(root) - 1

    def prune(self) -> None:
        """Drop the least recently used nodes down to half the limit, but none that was used since a path last ran.

        A node counts as used when a node below it is used. A trace on a dropped path goes on unchanged, as nodes refer
        to their parents, but later traces do not reuse the path. So a path with more nodes than the limit is kept while
        it is the latest, and the limit is twice its length as long as it is there.
        """
        order, last_use, now = list(self._walk()), dict[int, int](), self.clock
        for node in reversed(order):
            used = [
                last_use.get(id(child), now) for child in list(node.children.values())
            ]  # `now` if it is new
            last_use[id(node)] = max([node.stamp, *used])
        uses = sorted(last_use.values())
        too_many = max(len(order) - config._max_trie_nodes // 2, 0)
        oldest = min(uses[too_many - 1], self.clock - 1) if too_many else -1
        for node in order:
            node.shortcuts = None
            children = list(node.children.items())  # a copy, as other threads record meanwhile
            for key, child in children:
                if last_use.get(id(child), now) <= oldest and node.children.pop(key, None) is not None:
                    track_node(child, key)
        unused = [place for place, root in list(self._roots.items()) if not root.children]
        track(*[root for place in unused if (root := self._roots.pop(place, None)) is not None])
        self.forget_places()
        before = self.n_nodes
        self.n_nodes = self._kept = sum(1 for _ in self._walk())
        self.pruned += before - self.n_nodes

    def clear(self) -> None:
        """Drop all paths."""
        for root in [*self._roots.values(), *self._separate_roots.values()]:
            track_tree(root)
        self._roots.clear()
        self.forget_places()
        self._separate_roots.clear()
        self.n_nodes = self._kept = 0

    def roots(self) -> list[Node]:
        """Return the roots of the lines where steps begin."""
        return list(self._roots.values())

    def _walk(self) -> Iterator[Node]:
        """Yield the roots and all nodes below them, parents first."""
        stack = [*self._roots.values(), *self._separate_roots.values()]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children.values())


trie = Trie()
config.on_change(trie.forget_places)


def path_to(node: Node) -> Path:
    """Return the op list from the root to `node`."""
    path = Path([], [], {}, {})
    _extend(path, _nodes_after(node, ()))
    return path


def _nodes_after(node: Node, ends: Container[int]) -> list[Node]:
    """Return `node` and the nodes above it, up to a node whose identity is in `ends`, or to the root."""
    found: list[Node] = []
    at: Node | None = node
    while at is not None and id(at) not in ends:
        found.append(at)
        at = at.parent
    return found


def _extend(path: Any, nodes: list[Node]) -> None:
    """Append the inputs and ops of `nodes`, the last first, to the lists of `path`."""
    inputs, avals, variables = path.inputs, path.avals, path.variables
    for step in reversed(nodes):
        for slot, aval, trainable in step.inputs:
            inputs.append(slot)
            avals[slot] = aval
            if trainable is not None:
                variables[slot] = trainable
        added = step.ops
        path.ops += added
        for op, aval in zip(added, step.op_avals, strict=True):
            avals[op.out] = aval
            if op.primitive.reads_variable:
                variables[op.out] = dict(op.params)["trainable"]


class _Latest(threading.local):
    """The paths of this thread's last queries, the latest first. The next query mostly extends one of them."""

    def __init__(self) -> None:
        self.paths: list[tuple[Node, Path]] = []


_latest = _Latest()


def growing_path(node: Node) -> Path:
    """Return the op list from the root to `node`, for a query that ends before the path goes on.

    The lists of the path are those of the last query if `node` is below its node.
    """
    known = _latest.paths
    if known and known[0][0] is node:
        return known[0][1]
    fresh = _nodes_after(node, {id(last) for last, _ in known})
    end = fresh[-1].parent if fresh else node
    extended = next((entry for entry in known if entry[0] is end), None)
    others = [entry for entry in known if entry is not extended]
    _latest.paths = others  # an interrupt would leave the path incomplete
    path = Path([], [], {}, {}) if extended is None else extended[1]
    _extend(path, fresh)
    _latest.paths = [(node, path), *others[: _LATEST_PATHS - 1]]
    return path


def forget_growing_paths() -> None:
    """Free the op lists of this thread's last queries: 22 MB after an unrolled LSTM of 1,024 steps."""
    _latest.paths = []


def aval_of(node: Node, slot: int) -> Aval:
    """Return the aval of a slot on the path to `node`."""
    return growing_path(node).avals[slot]
