"""Analysis of index keys: the structure and the operands of ``x[key]``.

Start at `parsed`. A key of ints and slices becomes a `Slicing`. A key that contains an array or a mask becomes a
`Picking`: first its slices, then one gather. The values of boolean masks are read, because the shape of the result
depends on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.symbolic.extent_functions import index_of
from jittape.core.symbolic.extents import Extent
from jittape.core.traced_scalar import TracedScalar, traced_index, traced_slice
from jittape.errors import InvalidIndexError
from jittape.primitives.indexing.gather_ops import check_range
from jittape.primitives.indexing.slice_starts import checked_position, is_traced, traced_range
from jittape.primitives.key_structure import Picking, Region, Slicing
from jittape.primitives.shape.shape_extents import known_extents
from jittape.value_classes import NamedTuple

__all__ = ["Selection", "check_mask", "parsed", "selection_of"]


class Selection(NamedTuple):
    """A key of one mask and complete slices.

    Attributes
    ----------
    mask : ndarray
        At least one dimension.
    axis : int
        The dimension of the array that corresponds to the first one of the mask.
    size : int
        Number of true elements.
    """

    mask: np.ndarray[Any, Any]
    axis: int
    size: int


class _Parts:
    """Parts collected from a key; `parsed` makes a `Slicing` or a `Picking` from them."""

    def __init__(self, op: str, shape: tuple[int, ...]) -> None:
        self.op = op
        self.shape = shape
        self.axis = 0
        self.axes: list[int] = []
        self.starts: list[Any] = []
        self.sizes: list[int] = []
        self.steps: list[int] = []
        self.result: list[int] = []
        self.arrays: list[Any] = []
        self.array_axes: list[int] = []
        self.runs = 0
        self.in_run = False

    def take(self, start: Any, size: int, step: int) -> None:
        """Add a range of the next axis; its start is an int, a traced number or a tensor."""
        self.axes.append(self.axis)
        self.starts.append(start)
        self.sizes.append(size)
        self.steps.append(step)
        self.axis += 1

    def add_integer(self, index: Any) -> None:
        size = self.shape[self.axis]
        if isinstance(index, TracedScalar):
            self.take(traced_index(self.op, index, self.axis, size), 1, 1)
            return
        if not -size <= index < size:
            raise InvalidIndexError(
                f"[{self.op}] index {index} is out of bounds for axis {self.axis} with size {size}"
            )
        self.take(index + size if index < 0 else index, 1, 1)

    def add_slice(self, part: slice) -> None:
        self.in_run = False
        start: Any
        if is_traced(part.start) or is_traced(part.stop):
            start, size, step = traced_range(self.op, part, self.axis, self.shape[self.axis])
            self.result.append(size)
            self.take(start, size, step)
            return
        if isinstance(part.start, TracedScalar) or isinstance(part.stop, TracedScalar):
            start, size, step = traced_slice(part, self.shape[self.axis])
        else:
            start, size, step = range_of(part, self.shape[self.axis])
        self.result.append(size)
        extent = self.shape[self.axis]
        # A number is not compared with an extent, nor an extent with 0: a guard would exclude the lengths 1 and 0.
        if step == 1 and type(size) is type(extent) and size == extent:
            self.axis += 1
            return
        if step < 0 and not size:  # it would begin before the array
            start, step = 0, 1
        self.take(start, size, step)

    def add_newaxis(self) -> None:
        self.in_run = False
        self.result.append(1)

    def add_array(self, index: Any) -> None:
        """Add an integer array (or an int next to arrays) for the next axis, which is complete until the gather."""
        if isinstance(index, np.ndarray):
            check_range(self.op, index, self.axis, self.shape[self.axis])
        self.arrays.append(index)
        self.array_axes.append(len(self.result))
        self.result.append(self.shape[self.axis])
        self.axis += 1
        if not self.in_run:
            self.runs += 1
            self.in_run = True

    def add_truth(self, value: bool) -> None:
        """Add a 0-d mask: a new axis of length 1, with its element selected or not."""
        self.arrays.append(np.zeros(int(value), np.int64))
        self.array_axes.append(len(self.result))
        self.result.append(1)
        if not self.in_run:
            self.runs += 1
            self.in_run = True

    def slicing(self) -> Slicing:
        self.result.extend(self.shape[self.axis :])
        region = None
        if self.axes:
            region = Region(tuple(self.axes), (None,) * len(self.axes), tuple(self.sizes), tuple(self.steps))
        return Slicing(region, tuple(self.result))


def _consumed(part: Any) -> int:
    """Return the number of axes of the array that a part of a key applies to."""
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    return len(part.shape) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return not isinstance(part, (int, slice, np.generic, Extent)) and part.dtype.kind == "b"


def _is_pick(part: Any) -> bool:
    """Return whether a part of a key needs a gather: arrays, tensors and 0-d masks."""
    return isinstance(part, bool) or not (
        part is None or part is Ellipsis or isinstance(part, (int, slice, TracedScalar, Extent))
    )


def _normalized(op: str, part: Any) -> Any:
    """Return a part of a key as int, slice, None, Ellipsis, bool, ndarray or tensor."""
    if isinstance(part, TracedScalar):
        if part.can_index:
            return part
        part = part.concretize()
    if part is None or part is Ellipsis or isinstance(part, (int, slice, Extent)):
        return part
    if isinstance(part, np.generic):
        part = part.item() if part.dtype.kind in "iub" else np.asarray(part)
    elif isinstance(part, (list, tuple, range)):
        try:
            array = np.asarray(part)
        except ValueError:
            raise InvalidIndexError(f"[{op}] the parts of the index {part!r} have different shapes") from None
        part = array.astype(np.int64) if array.size == 0 else array
    if isinstance(part, (int, bool)):
        return part
    known = known_extents(part)
    if known is not None and not part.ndim:
        return known
    try:
        dtype = part.dtype
    except AttributeError:
        try:
            return index_of(part)
        except TypeError:
            dtype = type(part).__name__
    if getattr(dtype, "kind", None) not in ("i", "u", "b"):
        raise InvalidIndexError(
            f"[{op}] a key consists of ints, slices, ..., newaxis, and integer or boolean arrays; got {dtype}"
        )
    if isinstance(part, np.ndarray) and part.ndim == 0:
        return part.item()
    return part


def _bounds(op: str, part: slice) -> slice:
    """Return a slice with Python ints; the values of tensors in it are read, except those of a body, which has none."""
    if isinstance(part.step, (int, np.integer)) and part.step == 0:
        raise ValueError(f"[{op}] the step of a slice must not be 0; use 1, or -1 to go backwards")
    kept = (int, TracedScalar, type(None))
    if all(type(b) in kept for b in (part.start, part.stop, part.step)):
        return part
    bounds = (part.start, part.stop, part.step)
    return slice(*[b if type(b) in kept or is_traced(b) else index_of(b) for b in bounds])


def _expanded(op: str, shape: tuple[int, ...], key: Any) -> list[Any]:
    """Return the parts of a key, with complete slices instead of the ellipsis."""
    parts = [_normalized(op, part) for part in key] if isinstance(key, tuple) else [_normalized(op, key)]
    rest = len(shape) - sum([_consumed(part) for part in parts])
    if rest < 0:
        raise InvalidIndexError(
            f"[{op}] too many indices: shape {shape} has {len(shape)} dimensions, the key indexes {len(shape) - rest}"
        )
    ellipses = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise InvalidIndexError(f"[{op}] a key can have only one ellipsis")
    if ellipses:
        at = ellipses[0]
        # As in NumPy, an ellipsis for zero dimensions still separates index arrays.
        parts[at : at + 1] = [slice(None)] * rest if rest else [Ellipsis]
    return parts


def range_of(part: slice, extent: int) -> tuple[int, int, int]:
    """Return the first index, the number of indices and the step of a slice of `extent` elements."""
    if type(extent) is int and Extent not in (type(part.start), type(part.stop)):
        start, stop, step = part.indices(extent)
        return start, len(range(start, stop, step)), step
    # The definition of `slice.indices`, for an extent that is symbolic.
    step = 1 if part.step is None else part.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    first, last = (low, high) if step > 0 else (high, low)
    start = first if part.start is None else _clipped(part.start, extent, low, high)
    stop = last if part.stop is None else _clipped(part.stop, extent, low, high)
    ahead = stop - start if step > 0 else start - stop
    return start, 0 if ahead < 0 else -(-ahead // abs(step)), step  # no guard excludes an extent of 0


def _clipped(bound: int, extent: int, low: int, high: int) -> int:
    """Return a bound of a slice, counted from the end if it is negative, between `low` and `high`."""
    bound = bound + extent if bound < 0 else bound
    if bound < low:
        return low
    return high if bound > high else bound


def parsed(op: str, shape: tuple[int, ...], key: Any) -> tuple[Slicing | Picking, tuple[Any, ...]]:
    """Return the structure of `key` and its operands."""
    expanded = _expanded(op, shape, key)
    picks = any(_is_pick(part) for part in expanded)
    parts = _Parts(op, shape)
    places = picks and _selects_part(expanded)
    for part in expanded:
        if part is None:
            parts.add_newaxis()
        elif part is Ellipsis:
            parts.in_run = False
        elif isinstance(part, slice):
            parts.add_slice(_bounds(op, part))
        elif isinstance(part, bool):
            parts.add_truth(part)
        elif places and _is_pick(part):
            parts.take(checked_position(op, part, parts.axis, shape[parts.axis]), 1, 1)
        elif not isinstance(part, (int, TracedScalar, Extent)):
            _add_picks(parts, part)
        elif picks and not places and isinstance(part, TracedScalar):
            parts.add_array(traced_index(op, part, parts.axis, shape[parts.axis]))
        elif picks and not places:
            parts.add_array(np.asarray(part))
        else:
            parts.add_integer(part)
    slicing = parts.slicing()
    if not picks or places:
        return slicing, tuple(parts.starts)
    arrays = [int(a) if isinstance(a, np.ndarray) and not a.ndim else a for a in parts.arrays]
    return Picking(slicing, tuple(parts.array_axes), parts.runs > 1), (*parts.starts, *arrays)


def _selects_part(expanded: list[Any]) -> bool:
    """Return whether a key, in the body of a loop or branch, has a slice of a part of an axis beside scalar tensors.

    The scalars then become starts, so ``u[k, 1:4] = v`` writes three elements. A gather would come after the slice of
    all rows: with 10,000 rows, 50 iterations took 4 ms instead of 0.3.
    """
    if not any(isinstance(part, slice) and part != slice(None) for part in expanded):
        return False
    picked = [part for part in expanded if _is_pick(part)]
    return all(
        getattr(part, "shape", None) == () and not _is_mask(part) and is_traced(part) for part in picked
    )


def selection_of(op: str, shape: tuple[int, ...], key: Any) -> Selection | None:
    """Return the mask of a key that has a mask and complete slices; None for other keys. The mask's value is read."""
    parts = key if type(key) is tuple else (key,)
    masks = [i for i, part in enumerate(parts) if getattr(part, "dtype", None) == np.bool_]
    if len(masks) != 1 or not parts[masks[0]].shape:
        return None
    (at,) = masks
    others = [part for i, part in enumerate(parts) if i != at]
    ellipses = sum([part is Ellipsis for part in others])
    ndim = len(parts[at].shape)
    if ellipses > 1 or ndim + len(others) - ellipses > len(shape):
        return None
    if any([part is not Ellipsis and not (type(part) is slice and part == slice(None)) for part in others]):
        return None
    axis = at
    if any([part is Ellipsis for part in parts[:at]]):
        axis = len(shape) - ndim - (len(parts) - 1 - at)
    check_mask(op, parts[at].shape, shape, axis)
    mask = np.asarray(parts[at])
    return Selection(mask, axis, int(np.count_nonzero(mask)))


def _add_picks(parts: _Parts, part: Any) -> None:
    if not _is_mask(part):
        parts.add_array(part)
        return
    mask = np.asarray(part)
    if not mask.ndim:
        parts.add_truth(bool(mask))
        return
    check_mask(parts.op, mask.shape, parts.shape, parts.axis)
    for index in np.nonzero(mask):
        parts.add_array(index)


def check_mask(op: str, mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    """Raise `IndexError` unless a mask of shape `mask` fits the axes of `shape` from `axis` on."""
    for position, size in enumerate(mask):
        if size != shape[axis + position]:
            raise InvalidIndexError(
                f"[{op}] a boolean mask of shape {mask} does not fit shape {shape}: "
                f"axis {axis + position} has size {shape[axis + position]}, the mask has {size}"
            )
