"""The structure of index keys: what is part of the key of a call, as the values of index arrays are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jittape.value_classes import NamedTuple

if TYPE_CHECKING:
    from jittape.primitives.shape.views import Region

__all__ = ["Picking", "Slicing"]


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
