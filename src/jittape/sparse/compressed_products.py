"""Sparse Jacobians from compressed products: passes of differentiation for sums of columns or rows.

A `Compression` says which sums of columns and rows one stacked pass computes, and where each element of the sparse
matrix is among them. See `jittape.sparse.coloring`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.autodiff.tape_jacobians import stacked_cotangents, stacked_tangents
from jittape.core.primitive import recording_with
from jittape.flow.loops import fori_loop
from jittape.primitives.indexing.gather import gather
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor, tensor_of
from jittape.sparse.coloring import (
    Coloring,
    Neighbors,
    acyclic_coloring,
    column_coloring,
    row_coloring,
    star_coloring,
)
from jittape.sparse.sparsity_pattern import SparsityPattern
from jittape.transforms.primals import Primals, tape_of

__all__ = ["Compression", "compressed_jacobian", "compression_of"]

_Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Compression:
    """Passes, and the places of the elements of a matrix among their results.

    Attributes
    ----------
    columns, rows : Coloring
        Colors of the columns, summed up by forward passes, and of the rows, by reverse passes.
    places : ndarray of int64
        For each value, its place in the sums of columns, one color after the other, followed by the sums of rows.
    substitutions : ndarray of int64, shape (n, 2)
        Pairs of these values, in order: the second is subtracted from the first.
    elements : ndarray of int64, shape (nnz,), or None
        Number of each element of the matrix among the values; None if the values are the elements.
    """

    columns: Coloring
    rows: Coloring
    places: _Array
    substitutions: _Array
    elements: _Array | None = None

    @property
    def passes(self) -> int:
        """Number of passes."""
        return self.columns.n_colors + self.rows.n_colors


def compression_of(method: str, pattern: SparsityPattern) -> Compression:
    """Return the compression of a matrix.

    Parameters
    ----------
    method : {"column", "row", "bidirectional", "star", "acyclic"}
        Kind of coloring. The last two are for symmetric matrices.
    pattern : SparsityPattern
    """
    if method == "row":
        coloring = row_coloring(pattern)
        return _direct(pattern, _none(pattern.shape[1]), coloring, np.ones(pattern.nnz, bool))
    if method == "bidirectional":
        return _bidirectional(pattern)
    if method in ("star", "acyclic"):
        neighbors = Neighbors(pattern)
        star = _star(pattern, neighbors)
        # A star coloring is acyclic, and with many hubs may have fewer colors than the one found for trees.
        return (
            star if method == "star" else min(star, _acyclic(pattern, neighbors), key=lambda one: one.passes)
        )
    coloring = column_coloring(pattern)
    return _direct(pattern, coloring, _none(pattern.shape[0]), np.zeros(pattern.nnz, bool))


def _none(count: int) -> Coloring:
    return Coloring(np.full(count, -1, np.int64), 0)


def _direct(
    pattern: SparsityPattern, columns: Coloring, rows: Coloring, by_row: np.ndarray[Any, Any]
) -> Compression:
    """Return the compression that reads each element from a sum of rows, where `by_row` is true, or of columns."""
    m, n = pattern.shape
    first = columns.colors[pattern.columns] * m + pattern.rows
    second = columns.n_colors * m + rows.colors[pattern.rows] * n + pattern.columns
    return Compression(columns, rows, np.where(by_row, second, first), np.zeros((0, 2), np.int64))


def _bidirectional(pattern: SparsityPattern) -> Compression:
    """Return a compression with reverse passes for the rows, or forward passes for the columns, with most elements."""
    found = []
    for lines, is_row in ((pattern.rows, True), (pattern.columns, False)):
        counts = np.bincount(lines, minlength=1)
        # A few limits, from the widest line on: each costs two colorings.
        for limit in np.unique(counts)[-8:]:
            wide = counts[lines] >= limit
            by_row = wide if is_row else ~wide
            columns, rows = column_coloring(pattern, ~by_row), row_coloring(pattern, by_row)
            found.append(_direct(pattern, columns, rows, by_row))
    return min(found, key=lambda one: one.passes) if found else compression_of("column", pattern)


def _star(pattern: SparsityPattern, neighbors: Neighbors) -> Compression:
    coloring = star_coloring(neighbors)
    colors, n = coloring.colors, pattern.shape[0]
    # Element (i, j) is alone in row i of the sum of color c(j), or element (j, i) in row j of that of color c(i).
    alone = _is_alone(pattern, colors)
    direct = colors[pattern.columns] * n + pattern.rows
    mirrored = colors[pattern.rows] * n + pattern.columns
    places = np.where(alone, direct, mirrored)
    return Compression(coloring, _none(n), places, np.zeros((0, 2), np.int64))


def _is_alone(pattern: SparsityPattern, colors: _Array) -> _Array:
    """Return for each element whether no other element of its row has a column of the same color."""
    sums = pattern.rows.astype(np.int64) * (int(colors.max(initial=0)) + 1) + colors[pattern.columns]
    _, numbers, counts = np.unique(sums, return_inverse=True, return_counts=True)
    return np.asarray(counts[numbers.reshape(-1)] == 1)


def _acyclic(pattern: SparsityPattern, neighbors: Neighbors) -> Compression:
    """Return a compression in which elements follow from others, from the leaves of the trees of two colors on."""
    coloring = acyclic_coloring(neighbors)
    colors, n = coloring.colors.tolist(), pattern.shape[0]
    # The ends of the edges at a vertex that have one color, without those whose value follows already.
    open_ends: dict[tuple[int, int], set[int]] = {}
    for i, near in enumerate(neighbors.of):
        for j in near:
            open_ends.setdefault((i, colors[j]), set()).add(j)
    places = [colors[i] * n + i for i in range(n)]  # the diagonal: no neighbor has the color of a vertex
    number = {(i, i): i for i in range(n)}
    solved: dict[tuple[int, int], list[int]] = {}
    substitutions: list[tuple[int, int]] = []
    leaves = [key for key, ends in open_ends.items() if len(ends) == 1]
    while leaves:
        i, color = leaves.pop()
        if not open_ends[i, color]:
            continue  # solved from the other end
        j = open_ends[i, color].pop()
        value = len(places)
        places.append(color * n + i)
        number[i, j] = number[j, i] = value
        substitutions += [(value, other) for other in solved.get((i, color), [])]
        mirror = (j, colors[i])
        open_ends[mirror].discard(i)
        solved.setdefault(mirror, []).append(value)
        if len(open_ends[mirror]) == 1:
            leaves.append(mirror)
    elements = [number[place] for place in zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True)]
    pairs = np.array(substitutions, np.int64).reshape(-1, 2)
    return Compression(coloring, _none(n), np.array(places, np.int64), pairs, np.array(elements, np.int64))


def compressed_jacobian(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnum: int,
    compression: Compression,
) -> Tensor:
    """Record the elements of the Jacobian of `f` with respect to one argument, in the order of its pattern."""
    with tape_of(f, persistent=True) as tape:
        primals = Primals("sparse_jacobian", args, argnum, True)
        (x,) = primals.leaves
        tape.watch(x)
        y = convert_to_tensor(f(*primals.args, **kwargs))
    trace = tape._usable_trace()
    parts = []
    with recording_with(trace):
        query = tape._interval.query(trace, [y], [x])
        columns, rows = compression.columns, compression.rows
        if columns.n_colors:
            parts.append(stacked_tangents(trace, query, 0, _seeds(columns, x), True))
        if rows.n_colors:
            parts += stacked_cotangents(trace, y.aval, query, _seeds(rows, y), True)
    tape._finish(trace)
    flat = [reshape(part, [-1]) for part in parts if part is not None]
    if len(flat) < len(parts) or not flat:  # the value does not depend on the argument
        values = zeros([len(compression.places)], x.aval.dtype)
    else:
        values = gather(concat(flat, 0), compression.places)
    if len(compression.substitutions):
        values = _substituted(values, compression.substitutions)
    return values if compression.elements is None else gather(values, compression.elements)


def _seeds(coloring: Coloring, like: Tensor) -> Tensor:
    """Return, for each color, the sum of the unit vectors of its columns or rows."""
    seeds = np.zeros((coloring.n_colors, like.aval.size), like.aval.dtype)
    used = np.flatnonzero(coloring.colors >= 0)
    seeds[coloring.colors[used], used] = 1
    return tensor_of(seeds.reshape(coloring.n_colors, *like.aval.shape))


def _substituted(values: Tensor, pairs: _Array) -> Tensor:
    """Subtract known values from others, pair by pair."""
    first, second = tensor_of(pairs[:, 0].copy()), tensor_of(pairs[:, 1].copy())

    def subtract(k: Any, known: Any) -> Any:
        known[first[k]] -= known[second[k]]
        return known

    return fori_loop(0, len(pairs), subtract, values)
