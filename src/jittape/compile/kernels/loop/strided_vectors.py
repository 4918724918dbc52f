"""Vectors of elements that are a small known number of elements apart, such as a column of an array of five columns.

A vector is read in windows of adjacent elements, which a masked load merges into it. Windows are placed such that every
element has a lane of its own, so one permutation puts all in order: for columns of five, five loads and a permutation
take the place of eight loads and seven insertions. Vectors of several columns of a row are stored together. Only
elements of the vectors are accessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from llvmlite import ir

from jittape.compile.llvm.ir_builder import vector_type
from jittape.compile.llvm.ir_helpers import integer
from jittape.compile.llvm.ir_vectors import masked_load, masked_store, shuffled
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["load_column", "store_columns"]

_BIT = ir.IntType(1)


class Window(NamedTuple):
    """Adjacent elements in memory.

    Attributes
    ----------
    first : int
        Position of the window in the row.
    elements : tuple of int
        For each lane, the number of its element in the vector, or -1.
    """

    first: int
    elements: tuple[int, ...]


@cache
def _windows(stride: int, lanes: int, first: int) -> tuple[Window, ...]:
    """Return windows that contain all elements of a vector, each in a lane that no other element has.

    The first element of the vector is at position `first` of the row. Windows of an odd stride do not overlap, and are
    the same for all columns: most vectors of aligned rows are then aligned.
    """
    if stride % 2:
        elements = {first + stride * e: e for e in range(lanes)}
        starts = range(first // lanes * lanes, first + stride * lanes, lanes)
        windows = [Window(at, tuple([elements.get(at + lane, -1) for lane in range(lanes)])) for at in starts]
        return tuple([window for window in windows if max(window.elements) >= 0])
    return _overlapping_windows(stride, lanes, first)


def _overlapping_windows(stride: int, lanes: int, first: int) -> tuple[Window, ...]:
    """Return windows that begin wherever most elements have lanes that are free."""
    free, element, result = set(range(lanes)), 0, list[Window]()
    while element < lanes:
        found: list[int] = []
        for start in sorted(free):
            row = range(start, lanes, stride)[: lanes - element]
            taken = next((row[:i] for i, lane in enumerate(row) if lane not in free), row)
            if len(taken) > len(found):
                found = list(taken)
        elements = [-1] * lanes
        for i, lane in enumerate(found):
            elements[lane] = element + i
        result.append(Window(first + stride * element - found[0], tuple(elements)))
        free.difference_update(found)
        element += len(found)
    return tuple(result)


def load_column(
    builder: ir.IRBuilder,
    place: ir.Value,
    kind: ir.VectorType,
    stride: int,
    first: int,
    mask: ir.Value | None,
    itemsize: int,
) -> ir.Value:
    """Emit the load of a vector.

    Parameters
    ----------
    builder : ir.IRBuilder
    place : ir.Value
        Address of the row.
    kind : ir.VectorType
        Type of the vector.
    stride, first : int
        Distance of two elements, and position of the first one in the row.
    mask : ir.Value or None
        The lanes that exist; the others are undefined.
    itemsize : int
        Size of an element, in bytes.
    """
    lanes = min(kind.count, tuning.vector_bytes // itemsize)
    windows = _windows(stride, lanes, first)
    lane_of = {e: lane for window in windows for lane, e in enumerate(window.elements) if e >= 0}
    parts = []
    for start in range(0, kind.count, lanes):
        part: ir.Value = ir.Constant(vector_type(kind.element, lanes), ir.Undefined)
        for window in windows:
            at = builder.gep(place, [integer(stride * start + window.first)], source_etype=kind.element)
            exists = _in_memory(builder, [start + e if e >= 0 else -1 for e in window.elements], mask)
            part = masked_load(builder, part.type, at, exists, itemsize, part)
        parts.append(shuffled(builder, part, part, [lane_of[e] for e in range(lanes)]))
    while len(parts) > 1:
        both = range(2 * parts[0].type.count)
        parts = [shuffled(builder, a, b, both) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def store_columns(
    builder: ir.IRBuilder,
    place: ir.Value,
    columns: Mapping[int, ir.Value],
    stride: int,
    mask: ir.Value | None,
    itemsize: int,
) -> None:
    """Emit the store of vectors.

    Adjacent elements are blended from all vectors and stored together. For an odd stride, a permutation of each vector
    puts its elements into the lanes in which they are stored.

    Parameters
    ----------
    builder : ir.IRBuilder
    place : ir.Value
        Address of the row.
    columns : mapping of int to ir.Value
        The vectors, by the position of the first element, which is below `stride`.
    stride : int
        Distance of two elements of a vector.
    mask : ir.Value or None
        The lanes of the vectors that exist.
    itemsize : int
        Size of an element, in bytes.
    """
    count = next(iter(columns.values())).type.count
    lanes = min(count, tuning.vector_bytes // itemsize)
    for first in range(0, count, lanes):
        parts, lane_of = dict[int, ir.Value](), dict[int, Sequence[int]]()
        for column, vector in columns.items():
            places = [(column + stride * e) % lanes for e in range(lanes)] if stride % 2 else range(lanes)
            order = [first + places.index(lane) for lane in range(lanes)]
            parts[column], lane_of[column] = shuffled(builder, vector, vector, order), places
        for start in range(0, stride * lanes, lanes):
            elements = [divmod(start + lane, stride) for lane in range(lanes)]
            blended: ir.Value = ir.Constant(vector_type(vector.type.element, lanes), ir.Undefined)
            for column in sorted(parts.keys() & {c for _, c in elements}):
                own = lane_of[column]
                chosen = [lanes + own[e] if c == column else lane for lane, (e, c) in enumerate(elements)]
                blended = shuffled(builder, blended, parts[column], chosen)
            at = builder.gep(place, [integer(stride * first + start)], source_etype=vector.type.element)
            numbers = [first + e if c in columns else -1 for e, c in elements]
            if mask is None and min(numbers) >= 0:
                builder.store(blended, at, align=itemsize)
            elif max(numbers) >= 0:
                masked_store(builder, blended, at, _in_memory(builder, numbers, mask), itemsize)


def _in_memory(builder: ir.IRBuilder, numbers: Sequence[int], mask: ir.Value | None) -> ir.Value:
    """Emit the mask of elements, by their number in the vector of `mask`; those with -1 are not accessed."""
    if mask is None:
        return ir.Constant(vector_type(_BIT, len(numbers)), [int(number >= 0) for number in numbers])
    none = ir.Constant(mask.type, None)
    return shuffled(builder, mask, none, [number if number >= 0 else mask.type.count for number in numbers])
