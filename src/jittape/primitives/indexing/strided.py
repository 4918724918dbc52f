"""slice and strided_slice: parts of an array, with TensorFlow's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.core.symbolic.extent_functions import index_of
from jittape.core.user_calls import as_int, named
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, cast_to
from jittape.primitives.identity import identity
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.indexing.slice_starts import checked_start
from jittape.primitives.key_structure import Region
from jittape.primitives.shape.reshaping import as_shape, shape_of
from jittape.primitives.shape.shape_extents import known_extents
from jittape.primitives.shape.views import slice_op, sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["slice_", "strided_slice"]


def slice_(input_: TensorLike, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Return the part of `input_` of shape `size` that starts at `begin`; a size of -1 includes all remaining elements.

    Parameters
    ----------
    input_ : tensor_like
        The source. The gradient flows back to the selected elements.
    begin : sequence of int, or integer tensors
        First index of each dimension. Tensors may differ between calls and iterations.
    size : sequence of int
        Shape of the result. Where it is -1, the rest of the dimension, the value of a tensor in `begin` is read.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If lengths differ from the number of dimensions, or the part reaches beyond `input_`.
    IndexError
        If the part reaches beyond `input_` and `begin` is a tensor, when the result is read.

    Examples
    --------
    >>> jt.slice([[1, 2, 3], [4, 5, 6]], begin=[0, 1], size=[2, -1]).numpy()
    array([[2, 3],
           [5, 6]], dtype=int32)
    """
    if hasattr(begin, "aval") and known_extents(begin) is None and len(begin.shape) == 1:
        begin = [getitem(begin, i) for i in range(begin.shape[0])]
    if not isinstance(begin, (list, tuple)) or not any(map(_is_unknown, begin)):
        return apply(_sliced, (input_,), (as_shape("slice", begin), as_shape("slice", size)))
    source = identity(input_) if isinstance(input_, (list, tuple)) else input_
    size = as_shape("slice", size)
    rest = [count < 0 for count in size] + [False] * len(begin)  # `_sizes` refuses other lengths
    begin = [
        start if _is_unknown(start) and not reads else index_of(start)
        for start, reads in zip(begin, rest, strict=False)
    ]
    sizes = _sizes(begin, size, shape_of(source))
    parts = zip(begin, sizes, shape_of(source), strict=True)
    starts = [
        checked_start("slice", start, count, axis, extent) if _is_unknown(start) else start
        for axis, (start, count, extent) in enumerate(parts)
    ]
    return apply(_sliced_at, (source, *starts), (sizes,))


def _is_unknown(start: Any) -> bool:
    """Return whether a start is a tensor whose number is not known when the slice is recorded."""
    return hasattr(start, "aval") and known_extents(start) is None


def _sizes(begin: Sequence[Any], size: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `size` without -1; raise if the lengths differ, or the part with a known begin is not within `shape`."""
    if not len(begin) == len(size) == len(shape):
        raise named(
            ShapeError(
                f"[slice] begin {begin} and size {size} must have an entry for each dimension of {shape}"
            )
        )
    sizes = list(size)
    for axis, (start, count) in enumerate(zip(begin, size, strict=True)):
        if _is_unknown(start):
            continue
        left = shape[axis] - start
        sizes[axis] = left if count == -1 else count
        if start < 0 or not 0 <= sizes[axis] <= left:
            raise named(
                ShapeError(f"[slice] begin {begin} and size {size} reach beyond axis {axis} of shape {shape}")
            )
    return tuple(sizes)


def _sliced(x: Any, begin: tuple[int, ...], size: tuple[int, ...]) -> Any:
    x = as_symbol(x)
    for axis, (start, count) in enumerate(zip(begin, _sizes(begin, size, x.shape), strict=True)):
        x = sliced(x, axis, start, count)
    return x


def _sliced_at(x: Any, *starts_and_sizes: Any) -> Any:
    *starts, sizes = starts_and_sizes
    count = len(sizes)
    region = Region(tuple(range(count)), (None,) * count, sizes, (1,) * count)
    return slice_op.bind(as_symbol(x), *[cast_to(start, int64) for start in starts], region=region)


def strided_slice(
    input_: TensorLike,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: None = None,
    name: str | None = None,
) -> Tensor:
    """Return the part of `input_` from `begin` to before `end` in steps of `strides`, as ``input_[key]`` does.

    Entry `i` of `begin`, `end` and `strides` describes entry `i` of the key: a slice, unless bit `i` of a mask is set.

    Parameters
    ----------
    input_ : tensor_like
        The source. The gradient flows back to the selected elements.
    begin, end : sequence of int
        Bounds, of equal length. Negative bounds count from the end.
    strides : sequence of int, optional
        Steps, which are not 0; 1 by default.
    begin_mask, end_mask : int
        Bits of the entries whose `begin` or `end` is ignored: the slice extends to the end of the dimension.
    ellipsis_mask : int
        The bit of the entry that stands for ``...``.
    new_axis_mask : int
        Bits of the entries that stand for ``jt.newaxis``.
    shrink_axis_mask : int
        Bits of the entries that stand for the index `begin`, which removes the dimension.
    var : None
        Not supported: assign to ``variable[key]`` instead.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If lengths differ, a step is 0, or `ellipsis_mask` has several bits.
    IndexError
        If an index is out of range or there are too many entries.

    Examples
    --------
    >>> x = jt.constant([[1, 2, 3], [4, 5, 6]])
    >>> jt.strided_slice(x, [1, 0], [2, 3], [1, 2]).numpy()
    array([[4, 6]], dtype=int32)
    >>> jt.strided_slice(x, [0, 1], [0, 0], shrink_axis_mask=2, begin_mask=1, end_mask=1).numpy()
    array([2, 5], dtype=int32)
    """
    if var is not None:
        raise named(TypeError("var is not supported; write `variable[key].assign(value)`"))
    starts, ends = as_shape("strided_slice", begin), as_shape("strided_slice", end)
    steps = (1,) * len(starts) if strides is None else as_shape("strided_slice", strides)
    if not len(starts) == len(ends) == len(steps):
        raise named(ShapeError(f"begin {starts}, end {ends} and strides {steps} must have equal lengths"))
    masks = {
        "begin": as_int("begin_mask", begin_mask),
        "end": as_int("end_mask", end_mask),
        "ellipsis": as_int("ellipsis_mask", ellipsis_mask),
        "new_axis": as_int("new_axis_mask", new_axis_mask),
        "shrink_axis": as_int("shrink_axis_mask", shrink_axis_mask),
    }
    if masks["ellipsis"] & (masks["ellipsis"] - 1):
        raise named(
            ValueError(f"ellipsis_mask must have at most one bit, got {masks['ellipsis']:b} in binary")
        )
    parts = zip(starts, ends, steps, strict=True)
    key = tuple(
        [_entry(*part, {n: bool(m >> i & 1) for n, m in masks.items()}) for i, part in enumerate(parts)]
    )
    plain = isinstance(input_, (list, tuple, bool, int, float, complex, np.generic))
    source = identity(input_) if plain else input_
    shape_of(source)
    try:
        return getitem(source, key)
    except IndexError as error:
        raise named(error) from None


def _entry(start: int, end: int, step: int, bits: dict[str, bool]) -> Any:
    """Return the entry of a key that one entry of `begin`, `end` and `strides` stands for."""
    if bits["ellipsis"]:
        return Ellipsis
    if bits["new_axis"]:
        return None
    if step == 0 or (step < 0 and bits["shrink_axis"]):
        wanted = "must be positive for an index" if bits["shrink_axis"] else "must not be 0"
        raise named(ValueError(f"strides {wanted}, got {step}"))
    if bits["shrink_axis"]:
        return start
    return slice(None if bits["begin"] else start, None if bits["end"] else end, step)
