"""Convolutions: products of filters and the windows of an array.

The taps of the windows are joined to a matrix with a row for each window, and one matrix product does the rest
(im2col).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jittape.core.primitive import apply
from jittape.errors import ShapeError
from jittape.primitives.broadcast import promote
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn.windows import Layout, Sliding, Windows, layout_of, sliding_of
from jittape.primitives.record_parts import require_kinds
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import reshape, shape_of
from jittape.primitives.shape.views import permuted
from jittape.typing import Tensor, TensorLike

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_operands",
    "convolution",
]


def conv_operands(op: str, x: Any, filters: Any, layout: Layout) -> tuple[Any, Any]:
    """Return the input with its channels last, and the filters, in one dtype."""
    x, filters = promote(x, filters)
    require_kinds(op, "fc", x.aval)
    rank = layout.spatial + 2
    for name, operand in (("input", x), ("filters", filters)):
        if len(operand.shape) != rank:
            raise ShapeError(f"[{op}] {name} must have {rank} dimensions, got shape {operand.shape}")
    if 0 in filters.shape[:-2]:
        raise ShapeError(f"[{op}] filters must not be empty, got shape {filters.shape}")
    return layout.to_last(x), filters


def _convolution(x: Any, filters: Any, op: str, layout: Layout, sliding: Sliding) -> Any:
    x, filters = conv_operands(op, x, filters, layout)
    *kernel, inputs, outputs = filters.shape
    channels = x.shape[-1]
    if not inputs or channels % inputs or outputs % (channels // inputs):
        raise ShapeError(
            f"[{op}] the channels of the input, {channels}, must be those of the filters, {inputs}, or a multiple for "
            f"groups that divide the {outputs} filters"
        )
    windows = Windows.over(op, x.shape[1:-1], kernel, sliding)
    groups = channels // inputs
    taps = [x] if windows.is_identity else windows.taps(windows.pad(x))
    rows = concat(taps, -1)
    if groups == 1:
        result = matmul(reshape(rows, (-1, math.prod(kernel) * channels)), reshape(filters, (-1, outputs)))
    else:
        size = (-1, math.prod(kernel), groups, inputs)
        stacked = permuted(reshape(rows, size), (2, 0, 1, 3))
        each = permuted(
            reshape(filters, (math.prod(kernel), inputs, groups, outputs // groups)), (2, 0, 1, 3)
        )
        products = matmul(
            reshape(stacked, (groups, -1, math.prod(kernel) * inputs)),
            reshape(each, (groups, -1, outputs // groups)),
        )
        result = permuted(products, (1, 0, 2))
    return layout.from_last(reshape(result, (x.shape[0], *windows.outputs, outputs)))


def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve an array with filters over one, two or three spatial dimensions; see `conv2d`.

    Parameters
    ----------
    input : tensor_like of shape (batch, spatial..., channels)
        One, two or three spatial dimensions.
    filters : tensor_like of shape (spatial..., channels, filters)
    strides, padding, data_format, dilations
        See `conv2d`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or a window is larger than the array by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> x = jt.reshape(jt.range(5.0), [1, 5, 1])
    >>> jt.nn.convolution(x, jt.ones([2, 1, 1])).numpy().ravel()
    array([1., 3., 5., 7.], dtype=float32)
    """
    spatial = len(shape_of(filters)) - 2
    if not 1 <= spatial <= 3:
        raise ShapeError(f"[convolution] filters must have 3 to 5 dimensions, got {spatial + 2}")
    return _convolve("convolution", spatial, input, filters, strides, padding, data_format, dilations)


def _convolve(
    op: str, spatial: int, x: Any, filters: Any, strides: Any, padding: Any, data_format: Any, dilations: Any
) -> Tensor:
    layout = layout_of(op, data_format, spatial)
    return apply(
        _convolution, (x, filters), (op, layout, sliding_of(op, strides, padding, dilations, layout))
    )


def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "VALID",
    data_format: str = "NWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve sequences with filters; see `conv2d`.

    Parameters
    ----------
    input : tensor_like of shape (batch, width, channels)
        With `data_format` ``"NCW"`` of shape (batch, channels, width).
    filters : tensor_like of shape (size, channels, filters)
    stride, padding, data_format, dilations, name : those of `conv2d`

    Raises
    ------
    ShapeError
        If the shapes do not fit, or a window is larger than the sequence by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> x = jt.reshape(jt.range(5.0), [1, 5, 1])
    >>> jt.nn.conv1d(x, [[[1.0]], [[-1.0]]], padding="SAME").numpy().ravel()
    array([-1., -1., -1., -1.,  4.], dtype=float32)
    """
    return _convolve("conv1d", 1, input, filters, stride, padding, data_format, dilations)


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "VALID",
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve images with filters.

    Each element of the result is the sum of products of a filter and a window of the image (a cross-correlation).

    Parameters
    ----------
    input : tensor_like of shape (batch, height, width, channels)
        With `data_format` ``"NCHW"`` of shape (batch, channels, height, width).
    filters : tensor_like of shape (height, width, channels / groups, filters)
        If the input has a multiple of the filters' channels, channels and filters are divided into groups.
    strides : int or sequence of int
        Distance of neighboring windows: one int, one for each spatial dimension, or one for each dimension.
    padding : str or sequence of pairs
        ``"VALID"`` uses only windows inside the image. ``"SAME"`` adds zeros, so that there are
        ``ceil(extent / stride)`` windows. Or the number of zeros before and after each of the four dimensions.
    data_format : str
    dilations : int or sequence of int, optional
        Distance of neighboring elements of a window in the image.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (batch, height, width, filters)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or a window is larger than the image by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> images = jt.ones([1, 4, 4, 1])
    >>> jt.nn.conv2d(images, jt.ones([3, 3, 1, 2]), padding="SAME").numpy()[0, :, :, 0]
    array([[4., 6., 6., 4.],
           [6., 9., 9., 6.],
           [6., 9., 9., 6.],
           [4., 6., 6., 4.]], dtype=float32)
    """
    return _convolve("conv2d", 2, input, filters, strides, padding, data_format, dilations)


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "VALID",
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve volumes with filters; see `conv2d`.

    Parameters
    ----------
    input : tensor_like of shape (batch, depth, height, width, channels)
        With `data_format` ``"NCDHW"`` the channels are the second dimension.
    filters : tensor_like of shape (depth, height, width, channels, filters)
    strides, padding, data_format, dilations, name : those of `conv2d`

    Raises
    ------
    ShapeError
        If the shapes do not fit, or a window is larger than the volume by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> jt.nn.conv3d(jt.ones([1, 2, 2, 2, 1]), jt.ones([2, 2, 2, 1, 1])).numpy().ravel()
    array([8.], dtype=float32)
    """
    return _convolve("conv3d", 3, input, filters, strides, padding, data_format, dilations)
