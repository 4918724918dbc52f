"""Places of nodes in rows, so that arrows point downwards and are short."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

__all__ = ["rows_of"]

Node = TypeVar("Node", bound=Hashable)


def rows_of(nodes: Sequence[Node], parents: Mapping[Node, Sequence[Node]]) -> list[list[Node]]:
    """Return the nodes in rows: each below all its parents, and in a row near them.

    The nodes are in topological order. The order in a row is that of the mean position of the parents, as in the method
    of Sugiyama, Tagawa and Toda (1981); one downward pass is enough for programs, whose nodes have few parents.

    >>> rows_of("abcd", {"c": "a", "d": "bc"})
    [['a', 'b'], ['c'], ['d']]
    """
    depth: dict[Node, int] = {}
    for node in nodes:
        depth[node] = max([depth[p] + 1 for p in parents.get(node, ()) if p in depth], default=0)
    rows: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        rows[depth[node]].append(node)
    place: dict[Node, float] = {}
    for row in rows:
        for i, node in enumerate(row):
            above = [place[p] for p in parents.get(node, ()) if p in place]
            place[node] = sum(above) / len(above) if above else (i + 0.5) / len(row)
        row.sort(key=place.__getitem__)
        for i, node in enumerate(row):
            place[node] = (i + 0.5) / len(row)
    return rows
