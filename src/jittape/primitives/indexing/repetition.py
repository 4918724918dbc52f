"""Functions that extend a tensor: tile, repeat and pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.primitive import apply
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, axis_key, broadcast, cast_to, to_shape
from jittape.primitives.indexing.gather_ops import gather_op
from jittape.primitives.shape.reshaping import as_shape, hashable, one_axis
from jittape.primitives.shape.views import concat_op, flipped, placed, sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["pad", "repeat", "tile"]


def _tile(x: Any, multiples: tuple[int, ...]) -> Any:
    x = as_symbol(x)
    if len(multiples) != len(x.shape):
        raise ShapeError(
            f"[tile] multiples must have one entry for each dimension of shape {x.shape}, got {multiples}"
        )
    if any(t < 0 for t in multiples):
        raise ShapeError(f"[tile] multiples {multiples} must not be negative")
    apart = [n for size in x.shape for n in (1, size)]
    spread = [n for pair in zip(multiples, x.shape, strict=True) for n in pair]
    shape = tuple([t * n for t, n in zip(multiples, x.shape, strict=True)])
    return to_shape(broadcast(to_shape(x, tuple(apart)), tuple(spread)), shape)


def tile(input: TensorLike, multiples: Any, name: str | None = None) -> Tensor:
    """Repeat `input` side by side, ``multiples[i]`` times along dimension `i`.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    multiples : sequence of int
        One number of copies for each dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `multiples` does not have one entry per dimension.

    Examples
    --------
    >>> jt.tile([[1, 2]], [2, 2]).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    return apply(_tile, (input,), (as_shape("tile", multiples),))


def _repeat(x: Any, times: int, axis: int | None) -> Any:
    x = as_symbol(x)
    if axis is None:
        return _repeat(to_shape(x, (x.aval.size,)), times, 0)
    a = one_axis("repeat", axis, len(x.shape))
    n = x.shape[a]
    if times < 0:
        raise ShapeError(f"[repeat] repeats must not be negative, got {times}")
    lead, rest = x.shape[: a + 1], x.shape[a + 1 :]
    return to_shape(
        broadcast(to_shape(x, (*lead, 1, *rest)), (*lead, times, *rest)), (*x.shape[:a], n * times, *rest)
    )


def _repeat_each(x: Any, rows: Any, count: int, axis: int | None) -> Any:
    x = as_symbol(x)
    if axis is None:
        return _repeat_each(to_shape(x, (x.aval.size,)), rows, count, 0)
    a = one_axis("repeat", axis, len(x.shape))
    if count != x.shape[a]:
        raise ShapeError(
            f"[repeat] {count} repeats do not fit axis {axis} of shape {x.shape}: give one for each element"
        )
    return gather_op.bind(x, rows, axis=a)


def repeat(
    input: TensorLike, repeats: int | Sequence[int], axis: int | None = None, name: str | None = None
) -> Tensor:
    """Repeat each element of `input` along `axis`; without an axis, along the flattened input.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    repeats : int or sequence of int
        How often each element is repeated: one number for all, or one for each position along `axis`.
    axis : int, optional
        The dimension to lengthen; None flattens the input first.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `repeats` is negative, or does not fit the axis.

    Examples
    --------
    >>> jt.repeat([1, 2], 2).numpy()
    array([1, 1, 2, 2], dtype=int32)
    >>> jt.repeat([[1], [2]], [2, 1], axis=0).numpy()
    array([[1],
           [1],
           [2]], dtype=int32)
    """
    counts = as_shape("repeat", repeats)
    if len(counts) == 1:
        return apply(_repeat, (input,), (counts[0], axis_key(axis)))
    if min(counts, default=0) < 0:
        raise ShapeError(f"[repeat] repeats must not be negative, got {counts}")
    rows = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return apply(_repeat_each, (input, rows), (len(counts), axis_key(axis)))


PAD_MODES = ("CONSTANT", "REFLECT", "SYMMETRIC")


def _zero_pad(x: Any, paddings: tuple[tuple[int, int], ...]) -> Any:
    x = as_symbol(x)
    _check_paddings(x.shape, paddings)
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, paddings, strict=True)])
    return placed(x, tuple([before for before, _ in paddings]), shape)


def _pad(x: Any, value: Any, paddings: tuple[tuple[int, int], ...]) -> Any:
    x = as_symbol(x)
    _check_paddings(x.shape, paddings)
    value = cast_to(value, x.dtype)
    for axis, widths in enumerate(paddings):
        before, after = [broadcast(value, (*x.shape[:axis], width, *x.shape[axis + 1 :])) for width in widths]
        if any(widths):
            x = concat_op.bind(before, x, after, axis=axis)
    return x


def _mirrored_pad(x: Any, paddings: tuple[tuple[int, int], ...], edge: int) -> Any:
    x = as_symbol(x)
    _check_paddings(x.shape, paddings)
    for axis, (before, after) in enumerate(paddings):
        n = x.shape[axis]
        if max(before, after) > n - edge:
            raise ShapeError(
                f"[pad] paddings {(before, after)} of axis {axis} must be at most {n - edge} "
                f"for shape {x.shape} in mode {'REFLECT' if edge else 'SYMMETRIC'}"
            )
        parts = [x]
        if before:
            parts.insert(0, flipped(sliced(x, axis, edge, before), (axis,)))
        if after:
            parts.append(flipped(sliced(x, axis, n - edge - after, after), (axis,)))
        x = concat_op.bind(*parts, axis=axis) if len(parts) > 1 else x
    return x


def _check_paddings(shape: tuple[int, ...], paddings: Any) -> None:
    pairs = [pair for pair in paddings if isinstance(pair, tuple) and len(pair) == 2 and min(pair) >= 0]
    if not len(pairs) == len(paddings) == len(shape):
        raise ShapeError(
            f"[pad] paddings must be a pair of counts for each dimension of shape {shape}, got {paddings!r}"
        )


def pad(
    tensor: TensorLike,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Extend `tensor` before and after its elements along each dimension.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to extend.
    paddings : sequence of pairs of int
        Numbers of elements to add before and after, for each dimension.
    mode : {"CONSTANT", "REFLECT", "SYMMETRIC"}
        Added elements: `constant_values`, or the mirrored tensor without or with its edge.
    constant_values : tensor_like
        A scalar.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `paddings` is not a pair of counts for each dimension.

    Examples
    --------
    >>> jt.pad([[1.0, 2.0]], [[0, 1], [1, 1]]).numpy()
    array([[0., 1., 2., 0.],
           [0., 0., 0., 0.]], dtype=float32)
    """
    widths = hashable(paddings)
    if not isinstance(widths, tuple):
        raise ShapeError(f"[pad] paddings must be a pair of counts for each dimension, got {paddings!r}")
    if not isinstance(mode, str) or mode.upper() not in PAD_MODES:
        raise ValueError(f"[pad] mode must be one of {', '.join(PAD_MODES)}, got {mode!r}")
    mode = mode.upper()
    if mode == "CONSTANT":
        if type(constant_values) is int and constant_values == 0:
            return apply(_zero_pad, (tensor,), (widths,))
        return apply(_pad, (tensor, constant_values), (widths,))
    return apply(_mirrored_pad, (tensor,), (widths, int(mode == "REFLECT")))
