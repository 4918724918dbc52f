"""NumPy's functions that reorder, select, insert and delete elements: adapters to user-level functions.

Many of them only move elements. These run in NumPy on the *positions* of the elements, and one gather then moves the
elements: the shapes and errors are NumPy's own, and the gradient is that of the gather.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.numpy_api.numpy_operands import (
    array_like,
    axis_of,
    dtype_of,
    reject,
    shape_of,
    strong,
    values_of,
)
from jittape.numpy_api.numpy_shapes import (
    numpy_concatenate,
    numpy_flip,
    numpy_ravel,
    numpy_split,
    numpy_swapaxes,
)
from jittape.primitives.broadcast import axis_key, iota
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.comparison import equal, less, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.identity import identity
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.shape.joining import unstack
from jittape.primitives.shape.reordering import roll
from jittape.primitives.shape.reshaping import broadcast_to, one_axis, reshape, transpose

__all__ = ["REARRANGING", "delete_at", "insert_at", "moved", "positions", "take_at"]


def positions(a: Any) -> np.ndarray[Any, Any]:
    """Return an array of the shape of `a` that contains the position of each element in C order."""
    shape = shape_of(a)
    return np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)


def moved(a: Any, where: Any) -> Any:
    """Return the elements of `a` at the positions `where`."""
    return gather(reshape(a, -1), where, axis=0)


def _rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    m = array_like(m)
    np.rot90(np.broadcast_to(False, shape_of(m)), k, axes)  # NumPy's checks of the axes
    first, second = axes
    turns = k % 4
    if turns == 0:
        return numpy_ravel(m) if not shape_of(m) else reshape(m, shape_of(m))
    if turns == 2:
        return numpy_flip(numpy_flip(m, first), second)
    if turns == 1:
        return numpy_swapaxes(numpy_flip(m, second), first, second)
    return numpy_flip(numpy_swapaxes(m, first, second), second)


def _whole(shift: Any) -> Any:
    """Return a float as an int, toward zero, as NumPy does."""
    return int(shift) if isinstance(shift, (float, np.floating)) else shift


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is not None and isinstance(shift, (tuple, list)) | isinstance(axis, (tuple, list)):
        try:
            shift, axis = (tuple(pair.tolist()) for pair in np.broadcast_arrays(shift, axis))
        except ValueError:
            raise ShapeError(
                f"[np.roll] shift {shift} and axis {axis} do not broadcast to each other"
            ) from None
    elif axis is None and isinstance(shift, (tuple, list)):
        shift = sum(shift)
    shift = [_whole(s) for s in shift] if isinstance(shift, (tuple, list)) else _whole(shift)
    for by, along in (
        [(shift, axis)] if not isinstance(axis, (tuple, list)) else zip(shift, axis, strict=True)
    ):
        a = roll(a, by, along)
    return a


def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    a = array_like(a)
    rank = len(shape_of(a))
    order = np.rollaxis(np.empty((0, *range(1, rank)) if rank else ()), axis, start).shape
    return transpose(a, list(order))


def _splitter(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.hsplit``, ``np.vsplit`` or ``np.dsplit``."""
    fixed = {np.vsplit: 0, np.dsplit: 2}

    def split(ary: Any, indices_or_sections: Any) -> Any:
        ary = array_like(ary)
        rank = len(shape_of(ary))
        function(np.zeros((0,) * rank), [0])  # NumPy's check of the rank
        axis = fixed.get(function, 0 if rank == 1 else 1)
        return numpy_split(ary, indices_or_sections, axis)

    return split


def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(unstack(strong(x), axis=one_axis("np.unstack", axis_key(axis), len(shape_of(x)))))


def _block(arrays: Any) -> Any:
    depth, level = 0, arrays
    rank = _greatest_rank(arrays)
    while isinstance(level, list):
        depth, level = depth + 1, level[0]
    return _joined(arrays, depth, max(depth, rank))


def _greatest_rank(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("[np.block] arrays must be nested lists, got a tuple; only lists express blocks")
    if isinstance(arrays, list):
        if not arrays:
            raise ValueError("[np.block] lists of arrays must not be empty")
        return max(map(_greatest_rank, arrays))
    return len(shape_of(strong(arrays)))


def _joined(arrays: Any, depth: int, rank: int) -> Any:
    if isinstance(arrays, list) != (depth > 0):
        raise ValueError("[np.block] list depths are mismatched: every array must be nested equally deep")
    if depth:
        return numpy_concatenate([_joined(a, depth - 1, rank) for a in arrays], axis=-depth)
    a = strong(arrays)
    return reshape(a, (*(1,) * (rank - len(shape_of(a))), *shape_of(a)))


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    arr, values = strong(arr), strong(values)
    if axis is None:
        return numpy_concatenate([reshape(arr, -1), reshape(values, -1)])
    return numpy_concatenate([arr, values], as_int("axis", axis))


def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    arr = strong(arr)
    if type(values) in (int, float, complex):
        number: Any = np.array(values, dtype_of(arr))  # raises for a number that does not fit, as NumPy does
        if type(obj) is int and _is_along(axis, shape_of(arr)):
            n = _extent(shape_of(arr), axis)
            if -n <= obj <= n:
                return apply(_with_one_more, (arr, obj, number[()]), (axis,))
        values = number
    values = cast(strong(values), dtype_of(arr))
    at = positions(arr)
    found = np.insert(at, _index(obj), at.size + positions(values), axis)
    return gather(numpy_concatenate([reshape(arr, -1), reshape(values, -1)]), found, axis=0)


def _index(obj: Any) -> Any:
    if isinstance(obj, slice):
        return obj
    found = values_of(obj)
    return found.astype(np.intp) if not found.size and isinstance(obj, (list, tuple)) else found


def _delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    arr = strong(arr)
    if type(obj) is int and _is_along(axis, shape_of(arr)):
        n = _extent(shape_of(arr), axis)
        if -n <= obj < n:
            return apply(_with_one_less, (arr, obj), (axis,))
    return moved(arr, np.delete(positions(arr), _index(obj), axis))


def _is_along(axis: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an argument is an axis of a shape, or None, for which the elements are taken in C order."""
    return axis is None or (type(axis) is int and -len(shape) <= axis < len(shape))


def _extent(shape: tuple[int, ...], axis: int | None) -> int:
    return int(np.prod(shape, dtype=np.int64)) if axis is None else shape[axis]


def _with_one_less(a: Any, place: Any, axis: int | None) -> Any:
    """Return `a` without the elements at a place along an axis. The place is an input: others are the same program."""
    a, axis = (reshape(a, -1), 0) if axis is None else (a, axis % len(shape_of(a)))
    n = shape_of(a)[axis]
    before, after = _part(a, axis, 0, n - 1), _part(a, axis, 1, n)
    return where(less(_index_along(before, axis), _from_the_front(place, n)), before, after)


def _with_one_more(a: Any, place: Any, value: Any, axis: int | None) -> Any:
    """Return `a` with a number inserted at a place along an axis."""
    a, axis = (reshape(a, -1), 0) if axis is None else (a, axis % len(shape_of(a)))
    shape = shape_of(a)
    # Machine code gives the numbers to the program in the order in which the body takes them.
    place, value = _from_the_front(place, shape[axis]), cast(value, dtype_of(a))
    one = broadcast_to(value, (*shape[:axis], 1, *shape[axis + 1 :]))
    before, after = numpy_concatenate([a, one], axis), numpy_concatenate([one, a], axis)
    index = _index_along(after, axis)
    return where(less(index, place), before, where(equal(index, place), value, after))


def _from_the_front(place: Any, n: int) -> Any:
    """Return an index among `n` elements; a negative one counts from the end."""
    place = cast(place, np.int64)
    return where(less(place, 0), add(place, n), place)


def delete_at(arr: Any, obj: Any, axis: Any = None) -> Any:
    """``np.delete`` of an element of a vector, in a body; the index is in range."""
    _require_index("delete", obj, axis)
    return _with_one_less(arr, obj, axis)


def insert_at(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """``np.insert`` of a number into a vector of floats, in a body; the index is in range."""
    _require_index("insert", obj, axis)
    if dtype_of(arr).kind not in "fc" or shape_of(values) or dtype_of(values).kind != "f":
        raise TypeError("the values need NumPy's checks")
    return _with_one_more(arr, obj, values, axis)


def take_at(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """``np.take``, in a body; an index that is a number is in range, and `a` is then a vector."""
    if type(indices) is not WeakScalar:
        return _take(a, indices, axis, out, mode)
    if out is not None or mode != "raise":
        raise TypeError("the arguments need NumPy's checks")
    _require_index("take", indices, axis)
    return gather(a, _from_the_front(indices, shape_of(a)[0]), axis=0)


def _require_index(name: str, index: Any, axis: Any) -> None:
    one_axis(f"np.{name}", axis_key(0 if axis is None else axis), 1)
    if type(index) is not WeakScalar or index.kind is not int:
        raise TypeError("an index that is no int moves elements by their positions")


def _index_along(a: Any, axis: int) -> Any:
    """Return the index of each element of `a` along an axis, of a shape that broadcasts to that of `a`."""
    shape = shape_of(a)
    return iota(tuple([n if i == axis else 1 for i, n in enumerate(shape)]), axis, np.dtype(np.int64))


def _part(a: Any, axis: int, start: int, stop: int) -> Any:
    return getitem(a, (*(slice(None),) * axis, slice(start, stop)))


def _compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    reject("compress", out=out)
    a = strong(a)
    return moved(a, np.compress(values_of(condition), positions(a), axis))


def _extract(condition: Any, arr: Any) -> Any:
    arr = strong(arr)
    return moved(arr, np.extract(values_of(condition), positions(arr)))


def _resize(a: Any, new_shape: Any) -> Any:
    a = strong(a)
    if 0 in shape_of(a):
        zero = np.resize(np.empty(0, dtype_of(a)), new_shape)
        return broadcast_to(zero, zero.shape)
    shape = np.resize(np.empty(1, np.bool_), new_shape).shape  # with NumPy's errors
    n, total = int(np.prod(shape_of(a))), int(np.prod(shape))
    times = max(-(-total // n), 1)
    flat = reshape(broadcast_to(reshape(a, (1, n)), (times, n)), (times * n,))
    return reshape(getitem(flat, slice(0, total)), shape)


def _trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Any:
    filt = strong(filt)
    values = values_of(filt)
    shape, nonzero = np.trim_zeros(values, trim, axis).shape, np.argwhere(values)
    if not len(nonzero):
        return moved(filt, np.zeros(shape, np.int64))
    first, last = nonzero.min(0), nonzero.max(0)
    key = [slice(None)] * values.ndim
    for i in range(values.ndim) if axis is None else np.atleast_1d(axis):
        key[i] = slice(first[i] if "f" in trim.lower() else 0, last[i] + 1 if "b" in trim.lower() else None)
    return moved(filt, positions(filt)[tuple(key)])


def _tri_indices(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda arr, k=0: function(np.broadcast_to(False, shape_of(arr)), k)


def _diagflat(v: Any, k: int = 0) -> Any:
    v = strong(v)
    where = np.diagflat(positions(v) + 1, k)
    padded = numpy_concatenate([np.zeros(1, dtype_of(v)), reshape(v, -1)])
    return gather(padded, where, axis=0)


def _has_known_index(a: Any, indices: Any) -> bool:
    """Return whether `a` is a tensor, but no Variable, and `indices` are an int or an array or list of ints."""
    kind = indices.__class__
    if kind is list:
        known = bool(indices) and all([i.__class__ is int for i in indices])
    else:
        known = kind is int or (kind is np.ndarray and indices.dtype.kind in "iu")
    return known and hasattr(a, "_aval") and not hasattr(a, "_assigned_in")


def _elements(a: Any, indices: Any, axis: Any) -> Any:
    """Return elements by an index whose value is known; machine code records this by the operator."""
    rank = len(shape_of(a))
    if indices.__class__ is list:
        indices = np.asarray(indices)
    if axis is None:
        return (a if rank == 1 else reshape(a, -1))[indices]
    along = one_axis("np.take", axis_key(axis), rank)
    return a[(*(slice(None),) * along, indices) if along else indices]


def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Any:
    """Return all windows; a tensor shares no memory, so it is a copy, which is writeable."""
    x = strong(x)
    return moved(x, np.lib.stride_tricks.sliding_window_view(positions(x), window_shape, axis))


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    reject("take", out=out)
    if mode == "raise" and _has_known_index(a, indices):
        try:
            return _elements(a, indices, axis)
        except IndexError:  # raised below, with the name of the function
            pass
    a = strong(a)
    axis = axis_of("take", a, axis)
    if mode == "raise":
        shape = shape_of(a)
        along = 0 if axis is None else one_axis("np.take", axis, len(shape))
        if 0 in shape[:along]:  # the result is empty, and NumPy checks no index
            return broadcast_to(
                np.zeros((), dtype_of(a)), [*shape[:along], *identity(indices).shape, *shape[along + 1 :]]
            )
        return gather(reshape(a, -1), indices, axis=0) if axis is None else gather(a, indices, axis=axis)
    n = (
        int(np.prod(shape_of(a), dtype=np.int64))
        if axis is None
        else shape_of(a)[one_axis("np.take", axis, len(shape_of(a)))]
    )
    return _take(a, np.take(np.arange(n), values_of(indices), mode=mode), axis)


REARRANGING: dict[Any, Callable[..., Any]] = {
    np.append: _append,
    np.block: _block,
    np.compress: _compress,
    np.delete: _delete,
    np.diag_indices_from: lambda arr: np.diag_indices_from(np.broadcast_to(False, shape_of(arr))),
    np.diagflat: _diagflat,
    np.dsplit: _splitter(np.dsplit),
    np.extract: _extract,
    np.hsplit: _splitter(np.hsplit),
    np.lib.stride_tricks.sliding_window_view: _sliding_window_view,
    np.insert: _insert,
    np.resize: _resize,
    np.roll: _roll,
    np.rollaxis: _rollaxis,
    np.rot90: _rot90,
    np.take: _take,
    np.tril_indices_from: _tri_indices(np.tril_indices_from),
    np.trim_zeros: _trim_zeros,
    np.triu_indices_from: _tri_indices(np.triu_indices_from),
    np.unstack: _unstack,
    np.vsplit: _splitter(np.vsplit),
}
