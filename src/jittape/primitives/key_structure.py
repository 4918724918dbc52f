"""The structure of index keys and parts of arrays: what is in the key of a call, as values of indices are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.forms import Index
from jittape.core.symbolic.extents import applied
from jittape.errors import ShapeError
from jittape.value_classes import NamedTuple

__all__ = ["Picking", "Region", "Slicing"]


class Region(NamedTuple):
    """A box in an array: an offset, a size and a step along each named axis; the other axes are complete.

    Attributes
    ----------
    axes : tuple of int
        Sorted.
    offsets : tuple of int or None
        First index along each axis; None if an operand contains it.
    sizes, steps : tuple of int
        Number of elements and step along each axis; a step may be negative.
    """

    axes: tuple[int, ...]
    offsets: tuple[int | None, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    def within(self, op: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the region in an array of `shape`; raise if it does not fit."""
        result = list(shape)
        for axis, offset, size, step in zip(*self, strict=True):
            reach = (size - 1) * abs(step)
            first = offset if offset is not None else (reach if step < 0 else 0)
            lowest, highest = (first, first + reach) if step >= 0 else (first - reach, first)
            # Mostly true or false for all lengths, whereas `size` may be 0 for one.
            if (highest >= shape[axis] or lowest < 0) and size:
                raise ShapeError(
                    f"[{op}] {size} elements in steps of {step} do not fit into axis {axis} of shape {shape}"
                )
            result[axis] = size
        return tuple(result)

    def with_starts(self, starts: Sequence[Any]) -> Region:
        """Return the region with offsets filled in from operands; those that are unknown stay None."""
        given = iter(starts)
        offsets = [next(given) if offset is None else offset for offset in self.offsets]
        return self._replace(offsets=tuple([None if o is None else applied(int, o) for o in offsets]))

    def indices(self, ndim: int, arrays: int = 1) -> tuple[Index, ...]:
        """Return the index into each dimension of the whole array, in coordinates of the region.

        `arrays` is the number of operands before the starts.
        """
        found = [Index(axis=axis) for axis in range(ndim)]
        operand = arrays - 1
        for axis, offset, _, step in zip(*self, strict=True):
            if offset is None:
                operand += 1
                found[axis] = Index(axis, step, 0, operand)
            else:
                found[axis] = Index(axis, step, offset)
        return tuple(found)

    def key(self, ndim: int, starts: tuple[Any, ...]) -> tuple[slice, ...]:
        """Return the region as a key for NumPy's indexing; `starts` are the operands."""
        given = iter(starts)
        key = [slice(None)] * ndim
        for axis, offset, size, step in zip(*self, strict=True):
            start = int(next(given)) if offset is None else offset
            stop = start + size * step
            key[axis] = slice(start, stop if stop >= 0 else None, step) if size else slice(0, 0)
        return tuple(key)


class Slicing(NamedTuple):
    """A key of ints, slices, ellipsis and newaxis.

    Attributes
    ----------
    region : Region or None
        The selected part of the array; None for all of it.
    shape : tuple of int
        Shape of the result: without the axes of ints, with those of newaxis.
    """

    region: Region | None
    shape: tuple[int, ...]


class Picking(NamedTuple):
    """A key that contains index arrays, which are applied after its slices.

    Attributes
    ----------
    slicing : Slicing
        The slices; the axes of index arrays are complete.
    axes : tuple of int
        Axes of the sliced array to which the index arrays apply, in order.
    front : bool
        Whether the dimensions of the index arrays come first in the result, as in NumPy if a slice separates two index
        arrays.
    """

    slicing: Slicing
    axes: tuple[int, ...]
    front: bool
