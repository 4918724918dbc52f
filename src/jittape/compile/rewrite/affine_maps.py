"""Where the elements of an array belong in another: an affine index into each of its dimensions.

An axis that several dimensions step along makes a diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jittape.core.forms import Index
from jittape.core.tuning import threshold_cache, tuning

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


def is_diagonal(spots: Sequence[AffineMap]) -> bool:
    """Whether two dimensions step along one axis, or one along two."""
    axes = [axis for spot in spots for axis, _ in spot.steps]
    return len(axes) > len(set(axes)) or any(len(spot.steps) > 1 for spot in spots)


@threshold_cache(256)
def do_meet(
    terms: tuple[tuple[tuple[int, ...], tuple[AffineMap, ...]], ...], within: tuple[int, ...]
) -> bool:
    """Whether two of these, each of a shape and where it lies, may have an element in common."""
    if sum([math.prod(shape) for shape, _ in terms]) > tuning.overlap_check_elements:
        return True
    found = []
    for shape, spots in terms:
        coordinates = np.indices(shape)
        at: Any = np.zeros(shape, np.int64)
        for (offset, steps), extent in zip(spots, within, strict=True):
            at = at * extent + offset + sum([step * coordinates[axis] for axis, step in steps])
        found.append(at.reshape(-1))
    places = np.sort(np.concatenate(found))  # `np.unique` would import `numpy.ma`, 17 ms
    return bool((places[1:] == places[:-1]).any())


def placed(spots: Sequence[AffineMap], index: Sequence[Index]) -> tuple[AffineMap, ...]:
    """Where in an array the values are that stand at `spots` of a part of it."""
    found = []
    for entry in index:
        own = AffineMap() if entry.axis is None else times(spots[entry.axis], entry.step)
        found.append(plus(own, AffineMap(entry.offset)))
    return tuple(found)


def times(spot: AffineMap, factor: int) -> AffineMap:
    """A multiple of an index."""
    return AffineMap(spot.offset * factor, tuple([(axis, step * factor) for axis, step in spot.steps]))


def plus(a: AffineMap, b: AffineMap) -> AffineMap:
    """The sum of two indices."""
    steps = dict(a.steps)
    for axis, step in b.steps:
        steps[axis] = steps.get(axis, 0) + step
    return AffineMap(a.offset + b.offset, tuple(sorted(steps.items())))


def step_along(spot: AffineMap, axis: int) -> int:
    """The step along an axis, 0 if there is none."""
    return dict(spot.steps).get(axis, 0)


def renumbered(spot: AffineMap, numbers: Mapping[int, int]) -> AffineMap:
    """With the axes that `numbers` names, by their new numbers."""
    return AffineMap(
        spot.offset, tuple([(numbers[axis], step) for axis, step in spot.steps if axis in numbers])
    )


def with_axis_split(spot: AffineMap, axis: int, extents: Sequence[int]) -> AffineMap:
    """With an axis of the values become several, of these extents."""
    steps = []
    for a, step in spot.steps:
        if a == axis:
            steps += [(a + i, step * math.prod(extents[i + 1 :])) for i in range(len(extents))]
        else:
            steps.append((a + len(extents) - 1 if a > axis else a, step))
    return AffineMap(spot.offset, tuple(steps))


def cut(count: int, step: int, extents: Sequence[int]) -> list[int]:
    """The extents into which an axis of `count` steps falls where dimensions of `extents` end."""
    found, stride = list[int](), 1
    for extent in reversed(extents[1:]):
        stride *= extent
        part, rest = divmod(stride, step * math.prod(found))
        left, odd = divmod(count, math.prod(found) * max(1, part))
        if part > 1 and left > 1 and not rest and not odd:
            found.insert(0, part)
    return [count // math.prod(found), *found]


def split(spot: AffineMap, extents: Sequence[int], shape: tuple[int, ...]) -> list[AffineMap] | None:
    """The indices into dimensions of these extents that an index into all of them as one amounts to, if they are."""
    found: list[AffineMap] = []
    for extent in reversed(extents[1:]):
        rest = AffineMap(spot.offset % extent, tuple([pair for pair in spot.steps if pair[1] % extent]))
        low, high = ends(rest, shape)
        if low < 0 or high >= extent:
            return None
        quotients = [(axis, step // extent) for axis, step in spot.steps if not step % extent]
        found.append(rest)
        spot = AffineMap(spot.offset // extent, tuple(quotients))
    return [spot, *reversed(found)]


def parts_of(spot: AffineMap, extent: int, shape: tuple[int, ...]) -> list[tuple[AffineMap, int]]:
    """A dimension that several axes step along, as dimensions with one axis at most; empty if it is no such product."""
    strides = [1, *sorted({abs(step) for _, step in spot.steps} - {1}), extent]
    if any(b % a for a, b in pairwise(strides)):
        return []
    extents = [b // a for a, b in pairwise(strides)][::-1]
    several = split(spot, extents, shape)
    if several is None or any(len(one.steps) > 1 for one in several):
        return []
    return list(zip(several, extents, strict=True))


def ends(spot: AffineMap, shape: tuple[int, ...]) -> tuple[int, int]:
    """The least and the greatest index."""
    reach = [step * (shape[axis] - 1) for axis, step in spot.steps]
    return spot.offset + sum([r for r in reach if r < 0]), spot.offset + sum([r for r in reach if r > 0])


def same_size(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, list[int]]]:
    """The dimensions of two shapes in groups with as many elements: of the first how many, of the second which."""
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
