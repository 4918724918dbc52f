"""Functions that move elements along dimensions: moveaxis, reverse and roll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import require_ints
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, axis_key, normalized_axes, to_shape
from jittape.primitives.shape.reshaping import hashable, one_axis
from jittape.primitives.shape.views import concat_op, flipped, permuted, sliced
from jittape.typing import Tensor, TensorLike

__all__ = [
    "moveaxis",
    "reverse",
    "roll",
]


def _moveaxis(x: Any, source: Any, destination: Any) -> Any:
    x = as_symbol(x)
    ndim = len(x.shape)
    pairs = []
    for axes in (source, destination):
        normalized_axes("moveaxis", axes, ndim)
        pairs.append([a % ndim for a in (axes if isinstance(axes, tuple) else (axes,))])
    if len(pairs[0]) != len(pairs[1]):
        raise ShapeError(
            f"[moveaxis] source {source!r} and destination {destination!r} must name equally many axes"
        )
    order = [a for a in range(ndim) if a not in pairs[0]]
    for destination_axis, source_axis in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(destination_axis, source_axis)
    return permuted(x, tuple(order))


def moveaxis(a: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move the dimensions `source` to the positions `destination`; the others keep their order."""
    return apply(_moveaxis, (a,), (axis_key(source), axis_key(destination)))


def _reverse(x: Any, axis: Any) -> Any:
    x = as_symbol(x)
    return flipped(x, normalized_axes("reverse", axis, len(x.shape)))


def reverse(tensor: TensorLike, axis: int | Sequence[int] | None, name: str | None = None) -> Tensor:
    """Reverse the order of the elements along `axis`; None reverses all dimensions.

    Parameters
    ----------
    tensor : tensor_like
        Any shape.
    axis : int, sequence of int or None
        The dimensions to reverse.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `axis` names a dimension twice.

    Examples
    --------
    >>> jt.reverse([[1, 2], [3, 4]], [1]).numpy()
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return apply(_reverse, (tensor,), (axis_key(axis),))


def _roll(x: Any, shift: Any, axis: Any) -> Any:
    x = as_symbol(x)
    if axis is None:
        return to_shape(_roll(to_shape(x, (x.aval.size,)), shift, 0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"[roll] shift {shift!r} and axis {axis!r} must be equally many")
    for one_shift, one in zip(shifts, axes, strict=True):
        a = one_axis("roll", one, len(x.shape))
        n = x.shape[a]
        by = one_shift % n if n else 0
        if by:
            x = concat_op.bind(sliced(x, a, n - by, by), sliced(x, a, 0, n - by), axis=a)
    return x


def roll(
    input: TensorLike, shift: int | Sequence[int], axis: int | Sequence[int] | None, name: str | None = None
) -> Tensor:
    """Shift the elements of `input` by `shift` along `axis`; elements beyond the end reappear at the beginning.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    shift : int or sequence of int
        Number of places, one for each of `axis`.
    axis : int, sequence of int or None
        The dimensions to shift; None shifts the flattened input.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `shift` and `axis` have different lengths.

    Examples
    --------
    >>> jt.roll([1, 2, 3, 4], 1, axis=0).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    by = hashable(shift)
    require_ints("shift", by)
    return apply(_roll, (input,), (by, axis_key(axis)))
