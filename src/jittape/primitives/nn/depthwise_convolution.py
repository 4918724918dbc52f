"""Depthwise convolutions: a sum of products of taps and numbers, which is one loop nest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from jittape.core.primitive import apply
from jittape.errors import ShapeError
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.nn.convolution import conv2d, conv_operands
from jittape.primitives.nn.windows import Layout, Sliding, Windows, layout_of, sliding_of
from jittape.primitives.shape.reshaping import reshape, shape_of
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["depthwise_conv2d", "depthwise_convolution", "separable_conv2d"]


def _depthwise(x: Any, filters: Any, op: str, layout: Layout, sliding: Sliding) -> Any:
    x, filters = conv_operands(op, x, filters, layout)
    *kernel, channels, multiplier = filters.shape
    if x.shape[-1] != channels:
        raise ShapeError(f"[{op}] the input has {x.shape[-1]} channels, and the filter takes {channels}")
    windows = Windows.over(op, x.shape[1:-1], kernel, sliding)
    shape = (x.shape[0], *windows.outputs, channels, multiplier)
    numbers = reshape(filters, (math.prod(kernel), channels, multiplier))
    terms = [
        multiply(broadcast(reshape(tap, (*tap.shape, 1)), shape), sliced(numbers, 0, i, 1))
        for i, tap in enumerate(windows.taps(windows.pad(x)))
    ]
    return layout.from_last(reshape(reduce(add, terms), (*shape[:-2], channels * multiplier)))


def depthwise_convolution(
    op: str,
    spatial: int,
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str,
    dilations: int | Sequence[int] | None,
) -> Tensor:
    """Convolve each channel with its own filters; `spatial` is the number of spatial dimensions.

    Arguments as for `depthwise_conv2d`; `op` is the name in errors.
    """
    layout = layout_of(op, data_format, spatial)
    return apply(
        _depthwise, (input, filter), (op, layout, sliding_of(op, strides, padding, dilations, layout))
    )


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "VALID",
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve each channel of images with its own filters.

    Parameters
    ----------
    input : tensor_like of shape (batch, height, width, channels)
    filter : tensor_like of shape (height, width, channels, multiplier)
    strides, padding, data_format, dilations
        As for `conv2d`.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (batch, height, width, channels * multiplier)

    Raises
    ------
    ShapeError
        If `input` or `filter` has a wrong number of dimensions, the numbers of channels do not fit, or a
        window does not fit.

    Examples
    --------
    >>> jt.nn.depthwise_conv2d(jt.ones([1, 2, 2, 2]), jt.ones([2, 2, 2, 1])).numpy().ravel()
    array([4., 4.], dtype=float32)
    """
    return depthwise_convolution(
        "depthwise_conv2d", 2, input, filter, strides, padding, data_format, dilations
    )


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "VALID",
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve each channel of images with its own filters, then combine the channels of each pixel.

    Parameters
    ----------
    input : tensor_like of shape (batch, height, width, channels)
    depthwise_filter : tensor_like of shape (height, width, channels, multiplier)
    pointwise_filter : tensor_like of shape (1, 1, channels * multiplier, filters)
    strides, padding, data_format, dilations
        As for `conv2d`; of the first step.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` or `depthwise_filter` has a wrong number of dimensions, the numbers of channels do not
        fit, a window does not fit, or `pointwise_filter` has a wrong shape.

    Examples
    --------
    >>> x = jt.ones([1, 2, 2, 2])
    >>> jt.nn.separable_conv2d(x, jt.ones([2, 2, 2, 1]), jt.ones([1, 1, 2, 1])).numpy().ravel()
    array([8.], dtype=float32)
    """
    shape = shape_of(pointwise_filter)
    if len(shape) != 4 or shape[:2] != (1, 1):
        raise ShapeError(
            f"[separable_conv2d] pointwise_filter must have shape (1, 1, channels, filters), got {shape}"
        )
    channels = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(channels, pointwise_filter, 1, "VALID", data_format)
