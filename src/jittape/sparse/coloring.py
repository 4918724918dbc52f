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

    Source: Algorithm 4.1 of Gebremedhin, Manne and Pothen (2005).
    """
    graph = neighbors.of
    colors = [-1] * len(graph)
    for vertex in range(len(graph)):
        forbidden = set()
        for near in graph[vertex]:
            if colors[near] >= 0:
                forbidden.add(colors[near])
            for far in graph[near]:
                if far == vertex or colors[far] < 0:
                    continue
                if colors[near] < 0 or any(colors[end] == colors[near] for end in graph[far] if end != near):
                    forbidden.add(colors[far])
        colors[vertex] = _first_free(forbidden)
    return Coloring(np.array(colors, np.int64), max(colors, default=-1) + 1)


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
