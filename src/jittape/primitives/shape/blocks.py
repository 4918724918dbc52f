"""Blocks of pixels: space_to_depth, space_to_batch and their inverses, composed of reshape and transpose."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import as_array, as_int, named, shown
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, to_shape
from jittape.primitives.shape.reshaping import as_shape, hashable
from jittape.primitives.shape.views import permuted, placed, sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["batch_to_space", "depth_to_space", "space_to_batch", "space_to_batch_nd", "space_to_depth"]


# ---- depth -----------------------------------------------------------------------------------------------------------


def _as_image(op: str, x: Any, data_format: str) -> Any:
    """Return `x` with the channels in the last dimension."""
    x = as_symbol(x)
    if len(x.shape) != 4:
        raise ShapeError(f"[{op}] input must have 4 dimensions, got shape {x.shape}")
    return permuted(x, (0, 2, 3, 1)) if data_format == "NCHW" else x


def _restored(x: Any, data_format: str) -> Any:
    return permuted(x, (0, 3, 1, 2)) if data_format == "NCHW" else x


def _to_depth(x: Any, size: int, data_format: str) -> Any:
    x = _as_image("space_to_depth", x, data_format)
    n, height, width, depth = x.shape
    if height % size or width % size:
        raise ShapeError(
            f"[space_to_depth] height {height} and width {width} must be divisible by block_size={size}"
        )
    blocks = permuted(to_shape(x, (n, height // size, size, width // size, size, depth)), (0, 1, 3, 2, 4, 5))
    return _restored(to_shape(blocks, (n, height // size, width // size, size * size * depth)), data_format)


def _to_space(x: Any, size: int, data_format: str) -> Any:
    x = _as_image("depth_to_space", x, data_format)
    n, height, width, depth = x.shape
    if depth % (size * size):
        raise ShapeError(
            f"[depth_to_space] depth {depth} must be divisible by block_size ** 2 = {size * size}"
        )
    rest = depth // (size * size)
    blocks = permuted(to_shape(x, (n, height, width, size, size, rest)), (0, 1, 3, 2, 4, 5))
    return _restored(to_shape(blocks, (n, height * size, width * size, rest)), data_format)


def _depth_call(body: Any, x: Any, block_size: Any, data_format: Any) -> Tensor:
    size = as_int("block_size", block_size)
    if size < 2:
        raise named(ValueError(f"block_size must be at least 2, got {size}"))
    if data_format not in ("NHWC", "NCHW"):
        raise named(ValueError(f"data_format must be 'NHWC' or 'NCHW', got {shown(data_format)}"))
    return apply(body, (x,), (size, data_format))


def space_to_depth(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Move each block of pixels into the channels of one pixel.

    Parameters
    ----------
    input : tensor_like
        Shape ``(batch, height, width, channels)``; for "NCHW" the channels are the second dimension.
    block_size : int
        Height and width of a block, at least 2; they must divide those of the input.
    data_format : {'NHWC', 'NCHW'}
        Order of the dimensions.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> x = jt.reshape(jt.range(4), [1, 2, 2, 1])
    >>> jt.nn.space_to_depth(x, 2).numpy()
    array([[[[0, 1, 2, 3]]]], dtype=int32)
    """
    return _depth_call(_to_depth, input, block_size, data_format)


def depth_to_space(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Arrange the channels of each pixel as a block of pixels: the inverse of `space_to_depth`.

    See `space_to_depth` for the arguments. The number of channels must be divisible by ``block_size ** 2``.

    Parameters
    ----------
    input : tensor_like of shape (batch, height, width, channels)
    block_size : int
        Side of a block, in pixels.
    data_format : str
        ``"NHWC"`` or ``"NCHW"``.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has a wrong number of dimensions, or the depth is not divisible by ``block_size**2``.
    ValueError
        If `block_size` is too small.

    Examples
    --------
    >>> jt.nn.depth_to_space(jt.reshape(jt.range(4), [1, 1, 1, 4]), 2).numpy()[0, :, :, 0]
    array([[0, 1],
           [2, 3]], dtype=int32)
    """
    return _depth_call(_to_space, input, block_size, data_format)


# ---- batch -----------------------------------------------------------------------------------------------------------


def _check_rank(op: str, shape: tuple[int, ...], block: tuple[int, ...]) -> None:
    if len(shape) < len(block) + 1:
        raise ShapeError(
            f"[{op}] input of shape {shape} must have a batch dimension and one for each of block_shape {block}"
        )


def _to_batch(x: Any, block: tuple[int, ...], paddings: tuple[tuple[int, int], ...]) -> Any:
    op = "space_to_batch"
    x = as_symbol(x)
    m = len(block)
    _check_rank(op, x.shape, block)
    n, space, rest = x.shape[0], x.shape[1 : m + 1], x.shape[m + 1 :]
    padded = tuple([before + size + after for size, (before, after) in zip(space, paddings, strict=True)])
    if any(size % b for size, b in zip(padded, block, strict=True)):
        raise ShapeError(f"[{op}] the padded sizes {padded} must be divisible by block_shape {block}")
    offsets = (0, *[before for before, _ in paddings], *(0,) * len(rest))
    x = placed(x, offsets, (n, *padded, *rest))
    counts = [size // b for size, b in zip(padded, block, strict=True)]
    apart = [part for pair in zip(counts, block, strict=True) for part in pair]
    blocks = to_shape(x, (n, *apart, *rest))
    order = (
        *range(2, 2 * m + 1, 2),
        0,
        *range(1, 2 * m + 1, 2),
        *range(2 * m + 1, 2 * m + 1 + len(rest)),
    )
    return to_shape(permuted(blocks, order), (n * math.prod(block), *counts, *rest))


def _from_batch(x: Any, block: tuple[int, ...], crops: tuple[tuple[int, int], ...]) -> Any:
    op = "batch_to_space"
    x = as_symbol(x)
    m = len(block)
    _check_rank(op, x.shape, block)
    n, space, rest = x.shape[0], x.shape[1 : m + 1], x.shape[m + 1 :]
    if n % math.prod(block):
        raise ShapeError(f"[{op}] the batch size {n} must be divisible by the product of block_shape {block}")
    n //= math.prod(block)
    blocks = to_shape(x, (*block, n, *space, *rest))
    pairs = [axis for d in range(m) for axis in (m + 1 + d, d)]
    order = (m, *pairs, *range(2 * m + 1, 2 * m + 1 + len(rest)))
    full = [size * b for size, b in zip(space, block, strict=True)]
    x = to_shape(permuted(blocks, order), (n, *full, *rest))
    for axis, (size, (before, after)) in enumerate(zip(full, crops, strict=True), 1):
        if before + after > size:
            raise ShapeError(
                f"[{op}] crops {(before, after)} are more than the {size} elements of axis {axis}"
            )
        x = sliced(x, axis, before, size - before - after)
    return x


def _batch_call(body: Any, x: Any, block_shape: Any, argument: str, pairs: Any) -> Tensor:
    if as_array("block_shape", block_shape).ndim != 1:
        raise named(ShapeError(f"block_shape must have 1 dimension, got {shown(block_shape)}"))
    block = as_shape("space_to_batch", block_shape)
    if any(b < 1 for b in block):
        raise named(ValueError(f"block_shape must be positive, got {block}"))
    widths = hashable(pairs)
    fits = isinstance(widths, tuple) and len(widths) == len(block)
    if not fits or not all(isinstance(w, tuple) and len(w) == 2 and min(w) >= 0 for w in widths):
        raise named(
            ShapeError(
                f"{argument} must be a pair of counts for each entry of block_shape {block}, got {pairs!r}"
            )
        )
    return apply(body, (x,), (block, widths))


def space_to_batch(input: TensorLike, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Pad the dimensions after the first with zeros, and move each element of a block into an element of the batch.

    Parameters
    ----------
    input : tensor_like
        Shape ``(batch, *space, ...)``.
    block_shape : sequence of int
        Size of a block along each dimension of `space`.
    paddings : sequence of pairs of int
        Numbers of zeros before and after, for each dimension of `space`. The padded sizes must be divisible by those of
        a block.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> jt.space_to_batch([[1, 2, 3]], [2], [[0, 1]]).numpy()
    array([[1, 3],
           [2, 0]], dtype=int32)
    """
    return _batch_call(_to_batch, input, block_shape, "paddings", paddings)


def space_to_batch_nd(input: TensorLike, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Pad and move the elements of each block into the batch: another name of `space_to_batch`.

    Parameters
    ----------
    input : tensor_like of shape (batch, spatial..., rest...)
    block_shape : sequence of int
        Lengths of a block.
    paddings : sequence of pairs of int
        Zeros before and after each spatial dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shape does not fit `block_shape`, or `paddings` is not a pair of counts for each dimension.
    ValueError
        If `block_shape` is not positive.

    Examples
    --------
    >>> jt.space_to_batch_nd([[1, 2]], [2], [[0, 0]]).numpy()
    array([[1],
           [2]], dtype=int32)
    """
    return _batch_call(_to_batch, input, block_shape, "paddings", paddings)


def batch_to_space(input: TensorLike, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Arrange elements of the batch as blocks, and remove elements at the ends: the inverse of `space_to_batch`.

    Parameters
    ----------
    input : tensor_like
        Shape ``(batch, *space, ...)``; the batch size must be divisible by the product of `block_shape`.
    block_shape : sequence of int
        Size of a block along each dimension of `space`.
    crops : sequence of pairs of int
        Numbers of elements to remove before and after, for each dimension of `space`.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If the shape does not fit.

    Examples
    --------
    >>> jt.batch_to_space([[1, 3], [2, 0]], [2], [[0, 1]]).numpy()
    array([[1, 2, 3]], dtype=int32)
    """
    return _batch_call(_from_batch, input, block_shape, "crops", crops)
