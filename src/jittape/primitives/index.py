"""``x[key]`` and ``x[key] = value`` with all of NumPy's keys: `getitem` and `setitem`.

A key is taken apart when it is recorded, into *structure* (which axes, how long, in what steps) and *operands* (where a
slice starts, arrays of indices). Start at `getitem`: the short way, `Slicing`, is for keys of ints and slices; a key with an
array or a mask in it goes the long way, `Picking`: first its slices, then one gather. Boolean masks are looked at, because
the shape of the result depends on them.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from jittape.builder import WeakScalar
from jittape.dtypes import int64
from jittape.errors import DTypeError, ShapeError
from jittape.primitive import apply
from jittape.primitives.broadcast import broadcast, broadcast_operands, cast_to, settle, to_shape
from jittape.primitives.compare import where
from jittape.primitives.gathering import check_range, gather_op, integer_index, scatter_update_op
from jittape.primitives.views import Region, inverse, permuted, slice_op, update_op
from jittape.typing import Tensor, TensorLike

__all__ = ["getitem", "setitem"]


# ---- taking a key apart ----------------------------------------------------------------------------------------------


class Slicing(NamedTuple):
    """A key of ints, slices, ellipsis and newaxis.

    Attributes
    ----------
    region : Region or None
        The part of the array that it picks; None for all of it.
    shape : tuple of int
        Of the result: without the axes of ints, with those of newaxis.
    """

    region: Region | None
    shape: tuple[int, ...]


class Picking(NamedTuple):
    """A key with index arrays in it, which come after its slices.

    Attributes
    ----------
    slicing : Slicing
        With the axes that index arrays go into left whole.
    axes : tuple of int
        The axes of the sliced array that the index arrays go into, in order.
    front : bool
        Whether the dimensions of the index arrays come first in the result, as they do in NumPy when a slice stands
        between two of them.
    """

    slicing: Slicing
    axes: tuple[int, ...]
    front: bool


class _Parts:
    """What has been gathered from a key so far; `finish` makes a `Slicing` or a `Picking` of it."""

    def __init__(self, op: str, shape: tuple[int, ...]) -> None:
        self.op = op
        self.shape = shape
        self.axis = 0
        self.axes: list[int] = []
        self.starts: list[int] = []
        self.sizes: list[int] = []
        self.steps: list[int] = []
        self.result: list[int] = []
        self.arrays: list[Any] = []
        self.array_axes: list[int] = []
        self.runs = 0
        self.in_run = False

    def take(self, start: int, size: int, step: int) -> None:
        """Pick a part of the next axis."""
        self.axes.append(self.axis)
        self.starts.append(start)
        self.sizes.append(size)
        self.steps.append(step)
        self.axis += 1

    def add_integer(self, index: int) -> None:
        size = self.shape[self.axis]
        if not -size <= index < size:
            raise IndexError(
                f"[{self.op}] index {index} is out of bounds for axis {self.axis} with size {size}"
            )
        self.take(index + size if index < 0 else index, 1, 1)

    def add_slice(self, part: slice) -> None:
        self.in_run = False
        start, stop, step = part.indices(self.shape[self.axis])
        size = len(range(start, stop, step))
        self.result.append(size)
        if size == self.shape[self.axis] and step == 1:
            self.axis += 1
        else:
            self.take(start if size else 0, size, step if size else 1)

    def add_newaxis(self) -> None:
        self.in_run = False
        self.result.append(1)

    def add_array(self, index: Any) -> None:
        """An integer array (or an int among arrays) for the next axis, which stays whole until the gather."""
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
        """A 0-d mask: a new axis of length 1 with its one element picked or not."""
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
    """How many axes of the array a part of a key is for."""
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    return len(part.shape) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return not isinstance(part, (int, slice, np.generic)) and part.dtype.kind == "b"


def _normalized(op: str, part: Any) -> Any:
    """A part of a key as int, slice, None, Ellipsis, bool, ndarray or tensor."""
    if part is None or part is Ellipsis or isinstance(part, (int, slice)):
        return part
    if isinstance(part, np.generic):
        part = part.item() if part.dtype.kind in "iub" else np.asarray(part)
    elif isinstance(part, (list, tuple)):
        array = np.asarray(part)
        part = array.astype(np.int64) if array.size == 0 else array
    if isinstance(part, (int, bool)):
        return part
    try:
        dtype = part.dtype
    except AttributeError:
        try:
            return operator.index(part)
        except TypeError:
            dtype = type(part).__name__
    if getattr(dtype, "kind", None) not in ("i", "u", "b"):
        raise IndexError(
            f"[{op}] a key is made of ints, slices, ..., newaxis, and integer or boolean arrays; got {dtype}"
        )
    if isinstance(part, np.ndarray) and part.ndim == 0:
        return part.item()
    return part


def _bounds(part: slice) -> slice:
    """A slice with Python ints: tensors in it are looked at."""
    if all([b is None or type(b) is int for b in (part.start, part.stop, part.step)]):
        return part
    return slice(*[None if b is None else operator.index(b) for b in (part.start, part.stop, part.step)])


def _expanded(op: str, shape: tuple[int, ...], key: Any) -> list[Any]:
    """The parts of a key, with whole slices in place of the ellipsis."""
    parts = [_normalized(op, part) for part in key] if isinstance(key, tuple) else [_normalized(op, key)]
    rest = len(shape) - sum([_consumed(part) for part in parts])
    if rest < 0:
        raise IndexError(
            f"[{op}] too many indices: shape {shape} has {len(shape)} dimensions, the key is for {len(shape) - rest}"
        )
    ellipses = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError(f"[{op}] a key can have only one ellipsis")
    if ellipses:
        at = ellipses[0]
        # An empty ellipsis still separates index arrays, as in NumPy.
        parts[at : at + 1] = [slice(None)] * rest if rest else [Ellipsis]
    return parts


def _parsed(op: str, shape: tuple[int, ...], key: Any) -> tuple[Slicing | Picking, tuple[Any, ...]]:
    """The structure of `key` and its operands."""
    expanded = _expanded(op, shape, key)
    picks = any([not isinstance(p, (int, slice)) and p is not None and p is not Ellipsis for p in expanded])
    picks = picks or any([isinstance(p, bool) for p in expanded])
    parts = _Parts(op, shape)
    for part in expanded:
        if part is None:
            parts.add_newaxis()
        elif part is Ellipsis:
            parts.in_run = False
        elif isinstance(part, slice):
            parts.add_slice(_bounds(part))
        elif isinstance(part, bool):
            parts.add_truth(part)
        elif not isinstance(part, int):
            _add_picks(parts, part)
        elif picks:
            parts.add_array(np.asarray(part))
        else:
            parts.add_integer(part)
    slicing = parts.slicing()
    if not picks:
        return slicing, tuple(parts.starts)
    arrays = [int(a) if isinstance(a, np.ndarray) and not a.ndim else a for a in parts.arrays]
    return Picking(slicing, tuple(parts.array_axes), parts.runs > 1), (*parts.starts, *arrays)


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
            raise IndexError(
                f"[{op}] a boolean mask of shape {mask} does not fit shape {shape}: "
                f"axis {axis + position} has size {shape[axis + position]}, the mask has {size}"
            )


# ---- getitem ---------------------------------------------------------------------------------------------------------


def _slice(x: Any, *starts_and_slicing: Any) -> Any:
    *starts, slicing = starts_and_slicing
    x = settle(x)
    if slicing.region is not None:
        x = slice_op.bind(x, *[cast_to(start, int64) for start in starts], region=slicing.region)
    return to_shape(x, slicing.shape)


def _split_operands(operands: Any, picking: Picking) -> tuple[Any, Any]:
    """Where slices start, and the index arrays in one shape."""
    region = picking.slicing.region
    count = len(region.axes) if region is not None else 0
    indices = [i if isinstance(i, WeakScalar) else integer_index("getitem", i) for i in operands[count:]]
    try:
        indices = list(broadcast_operands(*[cast_to(i, int64) for i in indices], op="getitem"))
    except ShapeError as error:
        raise IndexError(str(error)) from None
    return operands[:count], indices


def _order(ndim: int, picking: Picking) -> tuple[tuple[int, ...], int]:
    """The order of dimensions in which the axes of the index arrays are adjacent, and where they begin in it."""
    if not picking.front:
        return tuple(range(ndim)), picking.axes[0]
    return (*picking.axes, *[axis for axis in range(ndim) if axis not in picking.axes]), 0


def _pick(x: Any, *operands_and_picking: Any) -> Any:
    *operands, picking = operands_and_picking
    starts, indices = _split_operands(operands, picking)
    part = _slice(x, *starts, picking.slicing)
    order, axis = _order(len(part.shape), picking)
    return gather_op.bind(permuted(part, order), *indices, axis=axis)


@lru_cache(maxsize=1024)
def _row(shape: tuple[int, ...]) -> Slicing:
    """The structure of ``x[i]``."""
    return Slicing(Region((0,), (None,), (1,), (1,)), shape[1:])


def getitem(x: TensorLike, key: Any) -> Tensor:
    """``x[key]`` with NumPy's meaning.

    Parameters
    ----------
    x : tensor_like
    key : int, slice, Ellipsis, None, integer or boolean array, or a tuple of these
        Where a slice starts and what an index is may change from call to call at no cost; how long a slice is may not.

    Raises
    ------
    IndexError
        If an index is out of range: at once where it is known, when the value is looked at where it is a tensor.
    """
    shape = x.shape
    if type(key) is int and shape:
        size = shape[0]
        if not -size <= key < size:
            raise IndexError(f"[getitem] index {key} is out of bounds for axis 0 with size {size}")
        return apply(_slice, (x, key + size if key < 0 else key), (_row(shape),))
    plan, operands = _parsed("getitem", shape, key)
    return apply(_slice if isinstance(plan, Slicing) else _pick, (x, *operands), (plan,))


# ---- setitem ---------------------------------------------------------------------------------------------------------

RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
WEAK_RANK = {bool: 0, int: 1, float: 2, complex: 3}


def _cast_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """`value` in the dtype of the array that it goes into, by NumPy's same-kind rule."""
    if isinstance(value, WeakScalar):
        fits = WEAK_RANK[value.kind] <= RANK[dtype.kind]
        name = value.kind.__name__
    else:
        fits = np.can_cast(value.dtype, dtype, "same_kind")
        name = value.dtype.name
    if not fits:
        raise DTypeError(
            f"[setitem] cannot put {name} values into a tensor of {dtype.name}; cast one of them"
        )
    return cast_to(value, dtype)


def _filling(value: Any, shape: tuple[int, ...]) -> Any:
    """`value` broadcast to what a key picks; as in NumPy it may have further leading dimensions of length 1."""
    extra = len(value.shape) - len(shape)
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        value = to_shape(value, value.shape[extra:])
    try:
        return broadcast(value, shape)
    except ShapeError:
        raise ShapeError(
            f"[setitem] a value of shape {value.shape} cannot be broadcast to the shape {shape} that the key picks"
        ) from None


def _set_slice(x: Any, value: Any, *starts_and_slicing: Any) -> Any:
    *starts, slicing = starts_and_slicing
    x = settle(x)
    value = _filling(_cast_value(value, x.dtype), slicing.shape)
    if slicing.region is None:
        return to_shape(value, x.shape)
    part = to_shape(value, slicing.region.within("setitem", x.shape))
    return update_op.bind(x, part, *[cast_to(start, int64) for start in starts], region=slicing.region)


def _set_picked(x: Any, value: Any, *operands_and_picking: Any) -> Any:
    *operands, picking = operands_and_picking
    x = settle(x)
    starts, indices = _split_operands(operands, picking)
    part = _slice(x, *starts, picking.slicing)
    order, axis = _order(len(part.shape), picking)
    part = permuted(part, order)
    picked = (*part.shape[:axis], *indices[0].shape, *part.shape[axis + len(indices) :])
    value = _filling(_cast_value(value, x.dtype), picked)
    part = permuted(scatter_update_op.bind(part, value, *indices, axis=axis), inverse(order))
    return _set_slice(x, part, *starts, picking.slicing)


def _set_masked(x: Any, value: Any, mask: Any) -> Any:
    x = settle(x)
    rest = len(x.shape) - len(mask.shape)
    value = _filling(_cast_value(value, x.dtype), x.shape[len(mask.shape) :])
    return where(to_shape(mask, (*mask.shape, *(1,) * rest)), value, x)


def setitem(x: TensorLike, key: Any, value: TensorLike) -> Tensor:
    """`x` as it is after ``x[key] = value``; `x` itself does not change.

    Differentiable in `x` and `value`. Where a key picks an element twice, the last value wins.

    Parameters
    ----------
    x : tensor_like
    key : int, slice, Ellipsis, None, integer or boolean array, or a tuple of these
    value : tensor_like
        Broadcast to the shape of ``x[key]`` and cast to the dtype of `x` if that is of the same kind.
    """
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    scalar = isinstance(value, (int, float, complex)) or not value.shape
    if scalar and getattr(key, "dtype", None) == np.bool_ and len(key.shape) <= len(x.shape):
        check_mask("setitem", key.shape, x.shape, 0)
        return apply(_set_masked, (x, value, key))
    plan, operands = _parsed("setitem", x.shape, key)
    return apply(_set_slice if isinstance(plan, Slicing) else _set_picked, (x, value, *operands), (plan,))
