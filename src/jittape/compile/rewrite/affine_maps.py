"""Affine index maps: the positions of the elements of one array in another, as an affine index for each dimension.

An axis that several dimensions step along makes a diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jittape.core.forms import Index
from jittape.core.tuning import threshold_cache, tuning
from jittape.value_classes import NamedTuple

__all__ = [
    "AffineMap",
    "cut",
    "do_meet",
    "ends",
    "is_diagonal",
    "parts_of",
    "placed",
    "plus",
    "renumbered",
    "same_size",
    "split",
    "step_along",
    "times",
    "with_axis_split",
]


class AffineMap(NamedTuple):
    """An index into one dimension: ``offset + sum of step * coordinate[axis]``; `steps` are sorted pairs of those."""

    offset: int = 0
    steps: tuple[tuple[int, int], ...] = ()


def is_diagonal(maps: Sequence[AffineMap]) -> bool:
    """Return whether two dimensions step along one axis, or one dimension along two."""
    axes = [axis for index in maps for axis, _ in index.steps]
    return len(axes) > len(set(axes)) or any(len(index.steps) > 1 for index in maps)


@threshold_cache(256)
def do_meet(
    terms: tuple[tuple[tuple[int, ...], tuple[AffineMap, ...]], ...], within: tuple[int, ...]
) -> bool:
    """Return whether two terms, each a shape and the affine maps of its elements, may have an element in common."""
    if sum([math.prod(shape) for shape, _ in terms]) > tuning.overlap_check_elements:
        return True
    found = []
    for shape, maps in terms:
        coordinates = np.indices(shape)
        at: Any = np.zeros(shape, np.int64)
        for (offset, steps), extent in zip(maps, within, strict=True):
            at = at * extent + offset + sum([step * coordinates[axis] for axis, step in steps])
        found.append(at.reshape(-1))
    places = np.sort(np.concatenate(found))  # `np.unique` would import `numpy.ma`, 17 ms
    return bool((places[1:] == places[:-1]).any())


def placed(maps: Sequence[AffineMap], index: Sequence[Index]) -> tuple[AffineMap, ...]:
    """Return the maps into an array for values with `maps` into a part of the array; `index` places that part."""
    found = []
    for entry in index:
        own = AffineMap() if entry.axis is None else times(maps[entry.axis], entry.step)
        found.append(plus(own, AffineMap(entry.offset)))
    return tuple(found)


def times(index: AffineMap, factor: int) -> AffineMap:
    """Return a multiple of an index."""
    return AffineMap(index.offset * factor, tuple([(axis, step * factor) for axis, step in index.steps]))


def plus(a: AffineMap, b: AffineMap) -> AffineMap:
    """Return the sum of two indices."""
    steps = dict(a.steps)
    for axis, step in b.steps:
        steps[axis] = steps.get(axis, 0) + step
    return AffineMap(a.offset + b.offset, tuple(sorted(steps.items())))


def step_along(index: AffineMap, axis: int) -> int:
    """Return the step along an axis, 0 if there is none."""
    return dict(index.steps).get(axis, 0)


def renumbered(index: AffineMap, numbers: Mapping[int, int]) -> AffineMap:
    """Return the map with only the axes in `numbers`, under their new numbers."""
    return AffineMap(
        index.offset, tuple([(numbers[axis], step) for axis, step in index.steps if axis in numbers])
    )


def with_axis_split(index: AffineMap, axis: int, extents: Sequence[int]) -> AffineMap:
    """Return the map after an axis of the values is split into several of these extents."""
    steps = []
    for a, step in index.steps:
        if a == axis:
            steps += [(a + i, step * math.prod(extents[i + 1 :])) for i in range(len(extents))]
        else:
            steps.append((a + len(extents) - 1 if a > axis else a, step))
    return AffineMap(index.offset, tuple(steps))


def cut(count: int, step: int, extents: Sequence[int]) -> list[int]:
    """Return the extents that an axis of `count` steps is split into at the ends of dimensions of `extents`."""
    found, stride = list[int](), 1
    for extent in reversed(extents[1:]):
        stride *= extent
        part, rest = divmod(stride, step * math.prod(found))
        left, odd = divmod(count, math.prod(found) * max(1, part))
        if part > 1 and left > 1 and not rest and not odd:
            found.insert(0, part)
    return [count // math.prod(found), *found]


def split(index: AffineMap, extents: Sequence[int], shape: tuple[int, ...]) -> list[AffineMap] | None:
    """Return the indices into dimensions of these extents for an index into all as one; None if they are not affine."""
    found: list[AffineMap] = []
    for extent in reversed(extents[1:]):
        rest = AffineMap(index.offset % extent, tuple([pair for pair in index.steps if pair[1] % extent]))
        low, high = ends(rest, shape)
        if low < 0 or high >= extent:
            return None
        quotients = [(axis, step // extent) for axis, step in index.steps if not step % extent]
        found.append(rest)
        index = AffineMap(index.offset // extent, tuple(quotients))
    return [index, *reversed(found)]


def parts_of(index: AffineMap, extent: int, shape: tuple[int, ...]) -> list[tuple[AffineMap, int]]:
    """Return a dimension that several axes step along as dimensions with at most one axis each; empty if impossible."""
    strides = [1, *sorted({abs(step) for _, step in index.steps} - {1}), extent]
    if any(b % a for a, b in pairwise(strides)):
        return []
    extents = [b // a for a, b in pairwise(strides)][::-1]
    several = split(index, extents, shape)
    if several is None or any(len(one.steps) > 1 for one in several):
        return []
    return list(zip(several, extents, strict=True))


def ends(index: AffineMap, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the least and the greatest index."""
    reach = [step * (shape[axis] - 1) for axis, step in index.steps]
    return index.offset + sum([r for r in reach if r < 0]), index.offset + sum([r for r in reach if r > 0])


def same_size(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return groups of dimensions of equal size in two shapes: the number in the first, the extents in the second."""
    found: list[tuple[int, list[int]]] = []
    i = j = 0
    while i < len(old):
        taken, given, first, extents = old[i], new[j], i, [new[j]]
        i, j = i + 1, j + 1
        while taken != given:
            if taken < given:
                taken, i = taken * old[i], i + 1
            else:
                given, extents, j = given * new[j], [*extents, new[j]], j + 1
        found.append((i - first, extents))
    return found
