"""Index maps from the iterations of a loop nest to elements of a value, and their composition.

A `Position` is an index along one dimension. An `Access` has a position for each dimension of a value, and the
conditions under which the element exists (`Pad` gives zero elsewhere). Both are hashable data: the scheduler shares
work between uses of one value under one access. Frequent queries are cached, since hashing an access to a matrix takes
0.06 µs and finding its axes 1.3 µs.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from jittape.core.forms import Index
from jittape.core.tuning import threshold_cache, tuning
from jittape.value_classes import NamedTuple

__all__ = [
    "EVERYWHERE", "Access", "Condition", "Position", "Quotient", "affine_of_alias", "element_of", "identity",
    "is_unrolled", "lanes", "nest_over", "picks", "placed", "repeats", "space_of", "times_along", "unrolled",
    "viewed", "visited",
]  # fmt: skip


class Quotient(NamedTuple):
    """An index that is another one divided by a step other than 1 and -1."""

    numerator: Position
    step: int


class Position(NamedTuple):
    """``step * variable + offset + sum of (element * factor)``.

    The variable is a loop axis, a `Quotient`, or None. An element is a slot and an `Access` to it.
    """

    variable: Any = None
    step: int = 0
    offset: int = 0
    dynamic: tuple[tuple[tuple[int, Access], int], ...] = ()

    def constant(self) -> bool:
        return self.variable is None and not self.dynamic


class Condition(NamedTuple):
    """The element exists where ``0 <= numerator / step < extent`` and the division leaves no remainder.

    No step is -1: the numerator is negative instead.
    """

    numerator: Position
    step: int
    extent: int


class Access(NamedTuple):
    """The index of an element along each dimension of a value, and the conditions under which it exists."""

    positions: tuple[Position, ...]
    conditions: tuple[Condition, ...] = ()


ORIGIN = Position()
EVERYWHERE = Access(())
"""The access to a value that has no dimensions."""
REMEMBERED = 4096


@lru_cache(REMEMBERED)
def axes_of(access: Access) -> frozenset[int]:
    """Return the loop axes that the positions depend on."""
    return frozenset().union(*[_axes_of(position) for position in access.positions])


def _axes_of(position: Position) -> frozenset[int]:
    found = frozenset[int]().union(*[axes_of(access) for (_, access), _ in position.dynamic])
    variable = position.variable
    if isinstance(variable, Quotient):
        return found | _axes_of(variable.numerator)
    return found if variable is None else found | {variable}


@lru_cache(REMEMBERED)
def picks(access: Access) -> int:
    """Return how deep indices that are read from arrays are nested; 0 for an affine map."""
    dynamic = [inner for position in access.positions for (_, inner), _ in position.dynamic]
    return max([1 + picks(inner) for inner in dynamic if inner != EVERYWHERE], default=0)


@lru_cache(REMEMBERED)
def visited(extents: tuple[int, ...], access: Access) -> int:
    """Return the number of elements of a value that the nest over `extents` accesses."""
    return prod([extents[axis] for axis in axes_of(access)])


@lru_cache(REMEMBERED)
def repeats(access: Access) -> bool:
    """Return whether a nest accesses elements repeatedly, since the positions do not depend on an outer loop."""
    axes = axes_of(access)
    return bool(axes) and len(axes) <= max(axes)


def times_along(extents: tuple[int, ...], access: Access) -> int:
    """Return the number of accesses to an element by the nest over `extents`.

    It is 0 unless the innermost loop runs along the value's last axis.
    """
    if not access.positions or access.positions[-1].variable != len(extents) - 1:
        return 0
    return prod(extents) // max(1, visited(extents, access))


def space_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the loop extents that visit every element of `shape`; dimensions of extent 1 have no loop."""
    return tuple([n for n in shape if n != 1])


@lru_cache(REMEMBERED)
def identity(shape: tuple[int, ...]) -> Access:
    """Return the access by which the nest over `space_of(shape)` visits a value of `shape`."""
    positions, axis = [], 0
    for n in shape:
        if n == 1:
            positions.append(ORIGIN)
        else:
            positions.append(Position(axis, 1))
            axis += 1
    return Access(tuple(positions))


def is_unrolled(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Return whether a reduction of `shape` over `axes` becomes an expression without a loop."""
    return 0 < prod([shape[axis] for axis in axes]) <= tuning.unrolled_elements


def nest_over(shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Return the loop extents of a reduction of `shape`, and the number of leading dimensions that they cover.

    The dimensions after these have few elements, which are written out.
    """
    loops, count = len(shape), 1
    while loops and count * shape[loops - 1] <= tuning.unrolled_elements and shape[loops - 1]:
        loops -= 1
        count *= shape[loops]
    leading = space_of(shape[:loops])
    return (leading, loops) if leading and count > 1 else (space_of(shape), len(shape))


@threshold_cache(REMEMBERED)
def lanes(shape: tuple[int, ...]) -> tuple[Access, ...]:
    """Return the accesses by which the loops of `nest_over` visit all elements of `shape`."""
    leading = nest_over(shape)[1]
    return tuple(unrolled(identity(shape[:leading]), shape, tuple(range(leading, len(shape)))))


def unrolled(access: Access, shape: tuple[int, ...], axes: tuple[int, ...]) -> list[Access]:
    """Return the accesses to the elements of `shape` that a reduction over `axes` combines into `access`."""
    found = []
    for index in product(*[range(shape[axis]) for axis in axes]):
        fixed, kept = dict(zip(axes, index, strict=True)), iter(access.positions)
        positions = [Position(offset=fixed[a]) if a in fixed else next(kept) for a in range(len(shape))]
        found.append(Access(tuple(positions), access.conditions))
    return found


def viewed(
    access: Access, index: tuple[Index, ...], operand_shape: tuple[int, ...], args: tuple[int, ...]
) -> Access:
    """Return the access to the operand of a view for `access` to the result."""
    positions = []
    for entry, extent in zip(index, operand_shape, strict=True):
        if extent == 1:
            positions.append(ORIGIN)
            continue
        base = access.positions[entry.axis] if entry.axis is not None else ORIGIN
        dynamic = _scaled(base.dynamic, entry.step)
        if entry.dynamic is not None:
            dynamic = _summed(dynamic, (((args[entry.dynamic], element_of(access, entry.at)), 1),))
        step = base.step * entry.step
        offset = base.offset * entry.step + entry.offset
        positions.append(Position(base.variable if step else None, step, offset, dynamic))
    return Access(tuple(positions), access.conditions)


def element_of(access: Access, at: tuple[int, ...]) -> Access:
    """Return the access to the index operand for `access` to the result."""
    if not at:
        return EVERYWHERE
    return Access(tuple([access.positions[axis] for axis in at]), access.conditions)


def placed(
    access: Access,
    index: tuple[Index, ...],
    operand_shape: tuple[int, ...],
    args: tuple[int, ...],
    extents: tuple[int, ...],
) -> Access:
    """Return the access to the operand of a `Pad` for `access` to the result in the nest over `extents`."""
    positions = [ORIGIN] * len(operand_shape)
    conditions = list(access.conditions)
    for entry, base in zip(index, access.positions, strict=True):
        dynamic = base.dynamic
        if entry.dynamic is not None:
            dynamic = _summed(dynamic, (((args[entry.dynamic], EVERYWHERE), -1),))
        numerator = base._replace(offset=base.offset - entry.offset, dynamic=dynamic)
        extent, step = (1, 1) if entry.axis is None else (operand_shape[entry.axis], entry.step)
        if step == -1:
            numerator, step = _divided(numerator, step), 1
        condition = Condition(numerator, step, extent)
        if not _always(condition, extents) and condition not in conditions:
            conditions.append(condition)
        if entry.axis is not None and extent != 1:
            positions[entry.axis] = _divided(numerator, step)
    return Access(tuple(positions), tuple(conditions))


def affine_of_alias(access: Access, shape: tuple[int, ...], operand_shape: tuple[int, ...]) -> Access:
    """Return the access to the operand of an `Alias` that only adds or removes dimensions of extent 1."""
    kept = iter([p for p, n in zip(access.positions, shape, strict=True) if n != 1])
    return Access(tuple([ORIGIN if n == 1 else next(kept) for n in operand_shape]), access.conditions)


def _divided(numerator: Position, step: int) -> Position:
    if abs(step) == 1:
        return Position(
            numerator.variable,
            numerator.step * step,
            numerator.offset * step,
            _scaled(numerator.dynamic, step),
        )
    return Position(Quotient(numerator, step), 1)


def _always(condition: Condition, extents: tuple[int, ...]) -> bool:
    """Return whether a condition holds on the whole nest."""
    position, step, extent = condition
    if position.dynamic or step != 1 or isinstance(position.variable, Quotient):
        return False
    count = extents[position.variable] if position.variable is not None else 1
    ends = (position.offset, position.offset + position.step * (count - 1))
    return min(ends) >= 0 and max(ends) < extent


Dynamic = tuple[tuple[tuple[int, Access], int], ...]


def _scaled(dynamic: Dynamic, step: int) -> Dynamic:
    if not dynamic or step == 1:
        return dynamic
    return tuple([(element, factor * step) for element, factor in dynamic if step])


def _summed(a: Dynamic, b: Dynamic) -> Dynamic:
    factors = dict(a)
    for element, factor in b:
        factors[element] = factors.get(element, 0) + factor
    return tuple(sorted([pair for pair in factors.items() if pair[1]], key=lambda pair: pair[0][0]))
