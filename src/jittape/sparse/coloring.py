"""Colorings: groups of columns or rows of a sparse matrix that one pass of differentiation computes together.

A pass computes the sum of the columns of one color. In a *column* coloring no two columns of a color have an element in
the same row, so every element can be read from the sums; a *row* coloring is one of the transpose. Some rows by reverse
passes and the rest by forward passes are a *bidirectional* coloring: it serves matrices with a few dense rows.
A symmetric matrix needs fewer colors. In a *star* coloring each element, or its mirror image, can be read from a sum;
in an *acyclic* coloring it follows from other elements by substitution.

Source: A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your Jacobian? Graph coloring for computing
derivatives", SIAM Review 47 (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.sparse.sparsity_pattern import SparsityPattern

__all__ = ["Coloring", "Neighbors", "acyclic_coloring", "column_coloring", "row_coloring", "star_coloring"]

_Integers = np.ndarray[Any, np.dtype[Any]]


class Coloring(NamedTuple):
    """The color of each column or row.

    Attributes
    ----------
    colors : ndarray of int64
        Color of each column or row; -1 for one that no pass needs.
    n_colors : int
        Number of colors, which is the number of passes.
    """

    colors: _Integers
    n_colors: int


def column_coloring(pattern: SparsityPattern, elements: _Integers | None = None) -> Coloring:
    """Color the columns so that no two columns of a color have an element in the same row.

    Columns are colored greedily in the order of the matrix and, where that gives fewer colors, those with the most
    elements first.

    Parameters
    ----------
    pattern : SparsityPattern
    elements : ndarray of bool, optional
        The elements of the pattern that count; all by default.
    """
    return _distance_two(pattern.columns, pattern.rows, pattern.shape[::-1], elements)


def row_coloring(pattern: SparsityPattern, elements: _Integers | None = None) -> Coloring:
    """Color the rows so that no two rows of a color have an element in the same column; see `column_coloring`."""
    return _distance_two(pattern.rows, pattern.columns, pattern.shape, elements)


def _distance_two(
    lines: _Integers, crossing: _Integers, shape: tuple[int, int], elements: _Integers | None
) -> Coloring:
    if elements is not None:
        lines, crossing = lines[elements], crossing[elements]
    crossed = _grouped(lines, crossing, shape[0])
    natural = _greedy(crossed, range(shape[0]), shape[1])
    widest = np.bincount(crossing, minlength=1).max() if len(crossing) else 0
    if (
        natural.n_colors <= widest
    ):  # as few as possible: the elements of one line all have colors of their own
        return natural
    largest_first = sorted(range(shape[0]), key=lambda line: -len(crossed[line]))
    return min(natural, _greedy(crossed, largest_first, shape[1]), key=lambda coloring: coloring.n_colors)


def _greedy(crossed: Sequence[Sequence[int]], order: Sequence[int], count: int) -> Coloring:
    """Give each line the first color that no line which it meets has; the colors of a crossing line are bits."""
    taken = [0] * count
    colors = np.full(len(crossed), -1, np.int64)
    for line in order:
        if not crossed[line]:
            continue
        mask = 0
        for cross in crossed[line]:
            mask |= taken[cross]
        bit = ~mask & (mask + 1)
        colors[line] = bit.bit_length() - 1
        for cross in crossed[line]:
            taken[cross] |= bit
    return Coloring(colors, int(colors.max(initial=-1)) + 1)


def _grouped(keys: _Integers, values: _Integers, count: int) -> list[list[int]]:
    """Return, for each key below `count`, the list of its values."""
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys, minlength=count)).tolist()
    ordered = values[order].tolist()
    return [ordered[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


class Neighbors:
    """The graph of a symmetric pattern: columns are vertices, elements off the diagonal are edges."""

    def __init__(self, pattern: SparsityPattern) -> None:
        edges = pattern.rows != pattern.columns
        self.of = _grouped(pattern.columns[edges], pattern.rows[edges], pattern.shape[1])


def star_coloring(neighbors: Neighbors) -> Coloring:
    """Color a graph so that neighbors differ and each path of four vertices has three colors or more.

    The graph is colored in three ways, of which the one with the fewest colors is taken. Vertices with many neighbors
    first is best for most graphs. The order of the graph is best for grids.

    Source: A. H. Gebremedhin, A. Tarafdar, F. Manne and A. Pothen, "New acyclic and star coloring algorithms with
    application to computing Hessians", SIAM Journal on Scientific Computing 29 (2007).
    """
    graph = neighbors.of
    natural = range(len(graph))
    largest_first = sorted(natural, key=lambda vertex: -len(graph[vertex]))
    ways = [(natural, False), (natural, True), (largest_first, True)]
    found = [_Stars(graph).colored(order, looks_ahead) for order, looks_ahead in ways]
    return min(found, key=lambda coloring: coloring.n_colors)


class _Stars:
    """A star coloring in the making: the vertices of two colors are stars, a hub with leaves that touch only the hub.

    Sets of colors are the bits of an int.
    """

    def __init__(self, graph: Sequence[Sequence[int]]) -> None:
        self._graph = graph
        self._colors = [-1] * len(graph)
        self._near = [0] * len(graph)  # colors of the neighbors
        self._hubs = [0] * len(graph)  # colors of the hubs that the vertex is a leaf of
        self._only: dict[
            tuple[int, int], int
        ] = {}  # vertex, color -> its neighbor of that color; -1: several

    def colored(self, order: Sequence[int], looks_ahead: bool) -> Coloring:
        """Color all vertices; looking ahead, two neighbors of a vertex without color get different colors."""
        for vertex in order:
            groups: dict[int, list[int]] = {}
            forbidden = 0
            for near in self._graph[vertex]:
                if self._colors[near] >= 0:
                    groups.setdefault(self._colors[near], []).append(near)
                elif looks_ahead:
                    forbidden |= self._near[near]
            for color, group in groups.items():
                forbidden |= 1 << color
                for near in group:  # a group of several makes the vertex their hub, so they must be leaves
                    forbidden |= self._hubs[near] if len(group) == 1 else self._near[near]
            self._give(vertex, (~forbidden & (forbidden + 1)).bit_length() - 1, groups)
        return Coloring(np.array(self._colors, np.int64), max(self._colors, default=-1) + 1)

    def _give(self, vertex: int, color: int, groups: dict[int, list[int]]) -> None:
        """Give a vertex a color and note the stars that it joins; `groups` are its neighbors by their colors."""
        self._colors[vertex] = color
        for near in self._graph[vertex]:
            self._near[near] |= 1 << color
        for other, group in groups.items():
            self._only[vertex, other] = group[0] if len(group) == 1 else -1
            for near in group:
                first = self._only.get((near, color))
                self._only[near, color] = vertex if first is None else -1
                if len(group) > 1:
                    self._hubs[near] |= 1 << color
                elif first is not None:  # the neighbor is a hub, perhaps since now
                    self._hubs[vertex] |= 1 << other
                    if first >= 0:
                        self._hubs[first] |= 1 << other


def acyclic_coloring(neighbors: Neighbors) -> Coloring:
    """Color a graph so that neighbors differ and every cycle has three colors or more: two colors make a forest.

    The trees of two colors are kept as disjoint sets. A vertex may not join two of its neighbors of one color that are
    in the same tree already.
    """
    graph = neighbors.of
    colors = [-1] * len(graph)
    trees: dict[tuple[int, int, int], tuple[int, int, int]] = {}

    def root(vertex: int, a: int, b: int) -> tuple[int, int, int]:
        key = (vertex, min(a, b), max(a, b))
        path = []
        while trees.get(key, key) != key:
            path.append(key)
            key = trees[key]
        for one in path:
            trees[one] = key
        return key

    for vertex in range(len(graph)):
        colored = [near for near in graph[vertex] if colors[near] >= 0]
        color = -1
        forbidden = {colors[near] for near in colored}
        while True:
            color = _first_free(forbidden)
            roots = [root(near, colors[near], color) for near in colored]
            if len(set(roots)) == len(roots):
                break
            forbidden.add(color)
        colors[vertex] = color
        for near, tree in zip(colored, roots, strict=True):
            trees[tree] = root(vertex, colors[near], color)
    return Coloring(np.array(colors, np.int64), max(colors, default=-1) + 1)


def _first_free(forbidden: set[int]) -> int:
    color = 0
    while color in forbidden:
        color += 1
    return color
