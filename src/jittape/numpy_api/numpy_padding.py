"""``np.pad`` in all modes, on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import shown
from jittape.errors import ShapeError
from jittape.numpy_api.numpy_operands import converted, dtype_of, has_tensor, shape_of, strong
from jittape.numpy_api.numpy_quantiles import numpy_median
from jittape.numpy_api.numpy_rearranging import moved, positions
from jittape.numpy_api.numpy_reductions import greatest, least, numpy_mean
from jittape.numpy_api.numpy_shapes import numpy_concatenate, numpy_flip
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import floor, round
from jittape.primitives.identity import identity
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.indexing.repetition import pad
from jittape.primitives.shape.reshaping import broadcast_to, reshape

__all__ = ["numpy_pad"]

OPTIONS = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}
"""Arguments of each mode."""


def numpy_pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """``np.pad``."""
    array = strong(array)
    if callable(mode):
        raise TypeError(
            "np.pad on a tensor does not support a function as mode; it would write into an array"
        )
    if mode not in OPTIONS:
        raise ValueError(f"[np.pad] mode {shown(mode)} is not supported; known are {', '.join(OPTIONS)}")
    unknown = set(kwargs) - set(OPTIONS[mode])
    if unknown:
        raise ValueError(f"[np.pad] unsupported keyword arguments for mode '{mode}': {unknown}")
    widths = _widths(pad_width, len(shape_of(array)))
    if not widths:
        return identity(array)
    if mode in ("reflect", "symmetric") and kwargs.get("reflect_type", "even") == "odd":
        return _along_axes(array, widths, lambda x, axis, pair: _odd(x, axis, pair, mode))
    if mode in ("edge", "wrap", "reflect", "symmetric"):
        found = _in_runs(array, widths, mode, kwargs)
        return moved(array, np.pad(positions(array), widths, mode, **kwargs)) if found is None else found
    if mode in ("constant", "empty"):
        return _constant(array, widths, kwargs.get("constant_values", 0))
    if mode == "linear_ramp":
        ends = _pairs("end_values", kwargs.get("end_values", 0), len(widths))
        return _along_axes(array, widths, lambda x, axis, pair: _ramp(x, axis, pair, ends[axis]))
    lengths = _lengths(kwargs.get("stat_length"), len(widths))
    return _along_axes(array, widths, lambda x, axis, pair: _statistic(x, axis, pair, mode, lengths[axis]))


_MOST_RUNS = 8
"""Maximum number of parts of an axis; a gather moves more, one by one."""


def _in_runs(x: Any, widths: list[list[int]], mode: Any, options: dict[str, Any]) -> Any:
    """Return `x` padded by its own elements, axis by axis, as joined parts; None if there are too many parts."""
    indices = [
        np.pad(np.arange(n), pair, mode, **options) for n, pair in zip(shape_of(x), widths, strict=True)
    ]
    runs = [_runs(index) for index in indices]
    if max(map(len, runs)) > _MOST_RUNS:
        return None
    for axis, (parts, pair) in enumerate(zip(runs, widths, strict=True)):
        if any(pair):
            x = numpy_concatenate([_run(x, axis, *part) for part in parts], axis)
    return identity(x) if not any(map(any, widths)) else x


def _runs(index: Any) -> list[tuple[int, int, int]]:
    """Return start, step and length of the parts of an index array with one step each: 1, -1 or 0."""
    found: list[tuple[int, int, int]] = []
    at, n = 0, len(index)
    steps = np.diff(index)
    while at < n:
        step = int(steps[at]) if at + 1 < n and abs(steps[at]) <= 1 else 1
        end = at + 1
        while end < n and steps[end - 1] == step:
            end += 1
        found.append((int(index[at]), step, end - at))
        at = end
    return found


def _run(x: Any, axis: int, start: int, step: int, length: int) -> Any:
    if step == 0:
        shape = shape_of(x)
        return broadcast_to(_part(x, axis, start, start + 1), (*shape[:axis], length, *shape[axis + 1 :]))
    if step == 1:
        return _part(x, axis, start, start + length)
    return numpy_flip(_part(x, axis, start - length + 1, start + 1), axis)


def _widths(pad_width: Any, rank: int) -> list[list[int]]:
    if isinstance(pad_width, dict):
        pairs: list[Any] = [[0, 0]] * rank
        for axis, pair in pad_width.items():
            pairs[axis] = [pair, pair] if isinstance(pair, int) else list(pair)
        pad_width = pairs
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu":
        raise TypeError(f"[np.pad] pad_width must be of integral type, got {shown(pad_width)}")
    if given.min(initial=0) < 0:
        raise ValueError(f"[np.pad] pad_width must not contain negative values, got {shown(pad_width)}")
    return [[int(before), int(after)] for before, after in _broadcast("pad_width", given, rank)]


def _broadcast(argument: str, given: Any, rank: int) -> Any:
    try:
        return np.broadcast_to(given, (rank, 2)).tolist()
    except ValueError:
        raise ShapeError(
            f"[np.pad] {argument} {shown(given)} does not broadcast to a pair for each of {rank} dimensions"
        ) from None


def _pairs(argument: str, values: Any, rank: int) -> list[Any]:
    """Return a pair of numbers or 0-d tensors for each axis."""
    values = strong(values)
    if not has_tensor(values):
        return list(_broadcast(argument, values, rank))
    try:
        table = broadcast_to(values, (rank, 2))
    except ValueError:
        raise ShapeError(
            f"[np.pad] {argument} does not broadcast to a pair for each of {rank} dimensions"
        ) from None
    return [[getitem(table, (i, 0)), getitem(table, (i, 1))] for i in range(rank)]


def _lengths(stat_length: Any, rank: int) -> list[Any]:
    if stat_length is None:
        return [[None, None]] * rank
    given = np.asarray(stat_length)
    if given.dtype.kind not in "iu" or given.min(initial=0) < 0:
        raise ValueError(f"[np.pad] stat_length must be non-negative integers, got {shown(stat_length)}")
    return list(_broadcast("stat_length", given, rank))


def _along_axes(x: Any, widths: list[list[int]], extended: Any) -> Any:
    for axis, pair in enumerate(widths):
        if any(pair):
            if shape_of(x)[axis] == 0:
                raise ValueError(
                    f"[np.pad] can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
            x = extended(x, axis, pair)
    return identity(x) if not any(map(any, widths)) else x


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    return getitem(x, (*(slice(None),) * axis, slice(start, stop)))


def _constant(x: Any, widths: list[list[int]], values: Any) -> Any:
    if np.ndim(values) == 0 and not isinstance(values, (list, tuple)):
        return pad(
            x, widths, "constant", values if values.__class__ is int else converted(values, dtype_of(x))
        )
    fills = _pairs("constant_values", values, len(widths))
    for axis, pair in enumerate(widths):
        shape = shape_of(x)
        before, after = [
            broadcast_to(cast(fill, dtype_of(x)), (*shape[:axis], width, *shape[axis + 1 :]))
            for fill, width in zip(fills[axis], pair, strict=True)
        ]
        x = numpy_concatenate([before, x, after], axis)
    return x


def _statistic(x: Any, axis: int, pair: list[int], mode: str, lengths: list[Any]) -> Any:
    n, shape = shape_of(x)[axis], shape_of(x)
    parts = [x]
    for side, (width, length) in enumerate(zip(pair, lengths, strict=True)):
        length = n if length is None else min(length, n)
        if length == 0 and mode in ("maximum", "minimum"):
            raise ValueError(f"[np.pad] stat_length of 0 yields no value for padding in mode {mode!r}")
        chunk = _part(x, axis, 0, length) if side == 0 else _part(x, axis, n - length, n)
        value = broadcast_to(_value(chunk, axis, mode), (*shape[:axis], width, *shape[axis + 1 :]))
        parts = [value, *parts] if side == 0 else [*parts, value]
    return numpy_concatenate(parts, axis)


def _value(chunk: Any, axis: int, mode: str) -> Any:
    if mode in ("maximum", "minimum"):
        return (greatest if mode == "maximum" else least)(chunk, axis, True)
    value = (numpy_mean if mode == "mean" else numpy_median)(chunk, axis, keepdims=True)
    dtype = dtype_of(chunk)
    return cast(round(value) if dtype.kind in "iu" else value, dtype)


def _ramp(x: Any, axis: int, pair: list[int], ends: list[Any]) -> Any:
    n, dtype, parts = shape_of(x)[axis], dtype_of(x), [x]
    for side, (width, end) in enumerate(zip(pair, ends, strict=True)):
        edge = _part(x, axis, 0, 1) if side == 0 else _part(x, axis, n - 1, n)
        # Weights 0, 1/width, ... of the edge, from the end value inward.
        wide = edge if dtype.kind in "fc" else cast(edge, np.float64)
        weights = reshape(
            np.arange(width) / max(width, 1), [width if i == axis else 1 for i in range(len(shape_of(x)))]
        )
        weights = cast(weights, dtype_of(wide))
        start = cast(end, dtype_of(wide))
        ramp = add(multiply(subtract(wide, start), weights), start)
        ramp = ramp if dtype.kind in "fc" else cast(floor(ramp) if dtype.kind in "iu" else ramp, dtype)
        parts = [ramp, *parts] if side == 0 else [*parts, numpy_flip(ramp, axis)]
    return numpy_concatenate(parts, axis)


def _odd(x: Any, axis: int, pair: list[int], mode: str) -> Any:
    """Extend by the reflection about the edge values, as often as it is needed."""
    edge = int(mode == "reflect")
    before, after = pair
    while before or after:
        n = shape_of(x)[axis]
        period = n - edge
        if period == 0:  # one element reflects to itself
            return moved(
                x,
                np.pad(
                    positions(x), [pair if i == axis else [0, 0] for i in range(len(shape_of(x)))], "edge"
                ),
            )
        left, right = min(before, period), min(after, period)
        first, last = _part(x, axis, 0, 1), _part(x, axis, n - 1, n)
        head = numpy_flip(_part(x, axis, edge, edge + left), axis)
        tail = numpy_flip(_part(x, axis, n - edge - right, n - edge), axis)
        x = numpy_concatenate(
            [
                cast(subtract(multiply(first, 2), head), dtype_of(x)),
                x,
                cast(subtract(multiply(last, 2), tail), dtype_of(x)),
            ],
            axis,
        )
        before, after = before - left, after - right
    return x
