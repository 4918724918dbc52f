"""Insertion of the calls and gradients of a path again, with extents in their keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from jittape.core.primitive import bound
from jittape.errors import ProgramError
from jittape.recording.general.path_edges import Edge
from jittape.recording.trie import Node, aval_of, trie
from jittape.recording.trie_insertion import insert_call
from jittape.transform.templates import is_pure

__all__ = ["ReplayedPath", "derivers", "replayed"]

derivers: dict[str, Callable[[ReplayedPath, tuple[Any, ...]], Node]] = {}
"""Functions that insert a gradient, by the first part of its key. Modules of `autodiff` register them."""


_REPEATABLE = ("jittape.recording.", "jittape.random.", "jittape.flow.")
"""Modules whose functions record the same ops for the same operands, besides those of `is_pure`."""


class ReplayedPath:
    """A path below `base` that is not part of the trie.

    Attributes
    ----------
    node : Node
        The end of the path.
    """

    def __init__(self, base: Node) -> None:
        self._root = trie.separate_root()
        for name in ("n_slots", "n_inputs", "n_ops", "nbytes"):
            setattr(self._root, name, getattr(base, name))
        self._root.parent = base
        self.node = self._root

    def close(self) -> None:
        """Remove the path from the count of the trie."""
        trie.forget(self._root)

    def deriving(self) -> AbstractContextManager[Any]:
        """Return a context for gradient rules, as `Slots.deriving` does."""
        return nullcontext()

    def append(self, key: tuple[Any, ...], recorded: Node) -> Node:
        """Append an edge; `recorded` is its node in the path that is replayed."""
        if isinstance(key[0], str):
            deriver = derivers.get(key[0])
            if deriver is None:
                raise ProgramError("a gradient of another kind")
            node = deriver(self, key)
        elif not _is_repeatable(key):
            raise ProgramError("a call may depend on more than its operands")
        else:
            node = insert_call(self.node, key, [self._operand(part) for part in key[2:]])
        if node.callback is not None:
            raise ProgramError("a path with Python functions")
        sources = zip(node.ops, recorded.ops, strict=True)
        node.set_ops(tuple([op._replace(source=other.source) for op, other in sources]), node.op_avals)
        node.source = recorded.source
        self.node = node
        return node

    def _operand(self, part: Any) -> Any:
        at = self.node
        return _Operand(aval_of(at, part)) if part.__class__ is int and part < at.n_slots else None


class _Operand:
    """An operand of a replayed call."""

    def __init__(self, aval: Any) -> None:
        self._aval = aval


def _is_repeatable(key: Sequence[Any]) -> bool:
    """Return whether a call with this key always records the same ops."""
    body = key[1][0] if key[0] is bound else key[0]
    return is_pure(body) or getattr(body, "__module__", "").startswith(_REPEATABLE)


def replayed(base: Node, edges: Sequence[Edge]) -> list[Node]:
    """Return the nodes of edges below `base`, whose keys may contain extents.

    Raises
    ------
    ProgramError
        If a call or gradient cannot be repeated with other operands.
    """
    path = ReplayedPath(base)
    try:
        return [path.append(key, recorded) for key, recorded in edges]
    finally:
        path.close()
