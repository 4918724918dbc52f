"""The trie of all op lists seen before. The path to a node is the graph signature.

An edge stands for one call of a user-level function, or for one gradient: the key says which function on which slots
with which static parameters, and the child holds the ops that it stands for. So what a call records, infers and checks
is worked out once; after that it is one dictionary look-up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.config import config
from jittape.core.program import Aval, Op, Program, SourceLine, dead_code_removed
from jittape.core.user_calls import frame_of_user
from jittape.transform.differentiate import Callback, Path, Reverse

if TYPE_CHECKING:
    from jittape.runtime.path_executable import PathExecutable

__all__ = ["UNPLACED", "Key", "Node", "ScalarInput", "Trie", "aval_of", "cut_program", "path_to", "trie"]

ScalarInput = tuple[int, np.dtype[Any] | None]
"""Which Python scalar of a call becomes an input slot, and the dtype that it must fit if it may not."""

Key = tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]
"""What a flush asks for: slots needed, slots at hand, and which inputs' memory may be used for which of the former."""

_NO_RESULT = Aval((), np.dtype(bool))
_KNOWN_PLACES = 4096
"""Maximum number of places whose root is found by their address."""
_code_of_jittape: dict[int, Any] = {}
"""Code objects of jittape by identity: a frame is passed in 0.1 µs, `frame_of_user` takes 0.3."""


class Node:
    """The op list up to here, as what the last edge added to the parent's.

    Attributes
    ----------
    inputs : tuple of (slot, Aval, trainable or None)
        Input slots that the edge added; `trainable` is None for what is no Variable.
    scalars : tuple of ScalarInput
        The last of these inputs, which are Python scalars of the call; `takes_scalars_as_given` if each is one input,
        in order, and none needs a look at its value; `takes_one_float` if there is one, an int as a float64.
    ops, op_avals : tuples of Op and Aval
        What the edge added to the list, and what each gives.
    slot, aval : int, Aval
        The result of the call; `results` has them all where the call gave a tuple.
    n_slots, n_inputs, n_ops, nbytes : int
        Totals from the root; the last of the arrays among the inputs.
    callback, reverse
        Where a gradient waits for a Python function: for which op, and the walk to go on with.
    is_whole_gradient : bool
        Whether it is one, which waits for nothing and has a result for each source.
    unknown : tuple of int
        For a gradient: what has none because of an opaque op, see `jittape.transform.opaque.unknown_among`.
    executables : dict
        What runs when the trace is flushed here, by `Key`.
    bodies : dict or None
        For the path of a loop's body: the programs that end here, by what they result in.
    notes : dict or None
        For a gradient that is None: the sentences that say why.
    """

    __slots__ = (
        "aval",
        "bodies",
        "callback",
        "children",
        "executables",
        "inputs",
        "is_whole_gradient",
        "n_inputs",
        "n_ops",
        "n_slots",
        "nbytes",
        "notes",
        "op_avals",
        "ops",
        "parent",
        "results",
        "reverse",
        "scalars",
        "slot",
        "source",
        "stamp",
        "takes_one_float",
        "takes_scalars_as_given",
        "unknown",
    )

    def __init__(self, parent: Node | None) -> None:
        self.parent = parent
        self.children: dict[Any, Node] = {}
        self.executables: dict[Key, PathExecutable] = {}
        self.inputs: tuple[tuple[int, Aval, bool | None], ...] = ()
        self.scalars: tuple[ScalarInput, ...] = ()
        self.takes_scalars_as_given = False
        self.takes_one_float = False
        self.ops: tuple[Op, ...] = ()
        self.op_avals: tuple[Aval, ...] = ()
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


UNPLACED = Node(None)
"""Node of a trace that has recorded nothing; the first op chooses the root. It never has children."""


class Trie:
    """All op lists, and the clock by which cold ones are told.

    Attributes
    ----------
    places : dict
        The roots of places in the user's code, by the address of the running instruction: `id` of the code object,
        which holds its instructions, plus ``f_lasti``. The root of a whole function or type is under its address.
    """

    def __init__(self) -> None:
        self._roots: dict[tuple[Any, ...], Node] = {}
        self.places: dict[int, Node] = {}
        self._known_code: dict[int, Any] = {}  # keeps what the addresses point to alive
        self._apart: dict[int, Node] = {}
        self.n_nodes = 0
        self.clock = 0
        self.pruned = 0

    def root(self, frame: FrameType) -> Node:
        """Return the root of the steps that begin at the running line of the user's code.

        Each line has a root of its own, so that a node's source line is that of the code that runs, and not of a
        program with the same ops elsewhere.

        Parameters
        ----------
        frame : FrameType
            Any frame; the user's is the innermost one from there on that is not jittape's.
        """
        near: FrameType | None = frame
        while near is not None and id(near.f_code) in _code_of_jittape:
            near = near.f_back
        known = None if near is None else self.places.get(id(near.f_code) + near.f_lasti)
        return known or self._root_of_line(frame)

    def _root_of_line(self, frame: FrameType) -> Node:
        user = frame_of_user(frame) or frame
        while frame is not user and frame.f_back is not None:
            _code_of_jittape[id(frame.f_code)] = frame.f_code
            frame = frame.f_back
        return self._keep_place(id(user.f_code) + user.f_lasti, user.f_code, user.f_lineno)

    def root_of(self, function: Any) -> Node:
        """Return the root of the steps that run `function`, a code object or a type."""
        return self.places.get(id(function)) or self._keep_place(id(function), function, 0)

    def _keep_place(self, at: int, code: Any, line: int) -> Node:
        """Find the root of a line by value, and keep it by identity: the hash of a code object takes 1 µs.

        Code objects compare by all but their file, so a notebook cell that is run again finds its paths. The default
        float dtype is structure. The entry keeps the code object alive, and so its identity.
        """
        place = (getattr(code, "co_filename", ""), code, line, config._default_float)
        root = self._roots.get(place)
        if root is None:
            root = self._roots.setdefault(place, Node(None))
        if len(self.places) >= _KNOWN_PLACES:
            self.forget_places()
        self._known_code[id(code)] = code
        self.places[at] = root
        return root

    def forget_places(self) -> None:
        """Find the roots by value again: a setting that they depend on has changed."""
        self.places.clear()
        self._known_code.clear()

    def added(self, node: Node) -> None:
        """Count a new node, and drop cold subtrees if there are too many."""
        node.stamp = self.clock
        self.n_nodes += 1
        if self.n_nodes > config._max_trie_nodes:
            self.prune()

    def apart(self) -> Node:
        """A root of a trie of its own, for a path that nothing else walks; until it is forgotten."""
        root = Node(None)
        self._apart[id(root)] = root
        return root

    def forget(self, root: Node) -> None:
        """Count what is below `root`, a root of a trie of its own, no longer."""
        if self._apart.pop(id(root), None) is root:
            self.n_nodes -= sum(1 for _ in _below([root])) - 1

    def prune(self) -> None:
        """Drop the half of the nodes that has gone unused the longest.

        A subtree is as warm as its warmest node. A trace on a dropped path goes on undisturbed, as nodes know their
        parents; the path is just not found again.
        """
        order = list(self._walk())
        warmth: dict[int, int] = {}
        for node in reversed(order):
            warmth[id(node)] = max([node.stamp, *(warmth[id(child)] for child in node.children.values())])
        limit = sorted(warmth.values())[len(order) // 2]
        for node in order:
            for key, child in list(node.children.items()):
                if warmth[id(child)] <= limit:
                    del node.children[key]
        self._roots = {place: root for place, root in self._roots.items() if root.children}
        self.forget_places()
        before = self.n_nodes
        self.n_nodes = sum(1 for _ in self._walk())
        self.pruned += before - self.n_nodes

    def clear(self) -> None:
        """Forget all paths."""
        self._roots.clear()
        self.forget_places()
        self._apart.clear()
        self.n_nodes = 0

    def _walk(self) -> Iterator[Node]:
        """The roots and all nodes below them, parents first."""
        return _below([*self._roots.values(), *self._apart.values()])


def _below(stack: list[Node]) -> Iterator[Node]:
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children.values())


trie = Trie()
config.on_change(trie.forget_places)


def path_to(node: Node) -> Path:
    """The whole op list from the root to `node`."""
    chain: list[Node] = []
    at: Node | None = node
    while at is not None:
        chain.append(at)
        at = at.parent
    inputs: list[int] = []
    ops: list[Op] = []
    avals: dict[int, Aval] = {}
    variables: dict[int, bool] = {}
    for step in reversed(chain):
        for slot, aval, trainable in step.inputs:
            inputs.append(slot)
            avals[slot] = aval
            if trainable is not None:
                variables[slot] = trainable
        for op, aval in zip(step.ops, step.op_avals, strict=True):
            ops.append(op)
            avals[op.out] = aval
            if op.primitive.reads_variable:
                variables[op.out] = dict(op.params)["trainable"]
    return Path(tuple(inputs), tuple(ops), avals, variables)


class _Known(threading.local):
    """The slots on the path that this thread asked about last: the next question is about a step further."""

    def __init__(self) -> None:
        self.node: Node | None = None
        self.avals: dict[int, Aval] = {}


_known = _Known()


def aval_of(node: Node, slot: int) -> Aval:
    """The aval of a slot on the path to `node`."""
    if _known.node is not node:
        fresh: list[Node] = []
        at: Node | None = node
        while at is not None and at is not _known.node:
            fresh.append(at)
            at = at.parent
        avals: dict[int, Aval] = {} if at is None else _known.avals
        for step in reversed(fresh):
            for known, aval, _ in step.inputs:
                avals[known] = aval
            for op, aval in zip(step.ops, step.op_avals, strict=True):
                avals[op.out] = aval
            avals[step.slot] = step.aval
        _known.node, _known.avals = node, avals
    return _known.avals[slot]


def cut_program(path: Path, needed: tuple[int, ...], available: tuple[int, ...]) -> Program:
    """The ops of `path` that compute the slots in `needed`, starting from the inputs and the slots `available`."""
    cut = set(available)
    ops = tuple([op for op in path.ops if op.out not in cut])
    inputs = tuple(dict.fromkeys(path.inputs + available))  # the result of a call may be its very argument
    return dead_code_removed(Program(inputs, ops, needed, path.avals), keep_inputs=False)
