"""The order in which the blocks of a sum are added: a binary tree that depends on the number of blocks alone.

A node is a range of blocks. Whoever adds up a node, and however many workers there are, the same pairs are added, so
that the result has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TypeVar

__all__ = ["Node", "add_up", "largest_nodes"]

Sum = TypeVar("Sum")
Node = tuple[int, int]
"""Range of blocks, from the first to one behind the last."""


def _middle(node: Node) -> int:
    """Return where a node of more than one block is divided: after the largest power of two of blocks."""
    start, stop = node
    return start + (1 << (stop - start - 1).bit_length() - 1)


def largest_nodes(node: Node, blocks: Set[int]) -> list[Node]:
    """Return the largest nodes below `node` that consist of `blocks` only; together they are all these blocks.

    >>> largest_nodes((0, 5), {0, 1, 2, 4})
    [(0, 2), (2, 3), (4, 5)]
    """
    start, stop = node
    inside = sum(start <= block < stop for block in blocks)
    if not inside:
        return []
    if inside == stop - start:
        return [node]
    middle = _middle(node)
    return largest_nodes((start, middle), blocks) + largest_nodes((middle, stop), blocks)


def add_up(node: Node, known: Callable[[Node], Sum | None], add: Callable[[Sum, Sum], Sum]) -> Sum:
    """Return the sum of a node; `known` returns the sum of a node below it, or None to divide that node further.

    >>> names = {(0, 1): "a", (1, 2): "b", (2, 3): "c"}
    >>> add_up((0, 3), names.get, lambda x, y: f"({x} + {y})")
    '((a + b) + c)'
    """
    found = known(node)
    if found is not None:
        return found
    start, stop = node
    middle = _middle(node)
    return add(add_up((start, middle), known, add), add_up((middle, stop), known, add))
