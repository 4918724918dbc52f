"""Transposed convolutions: the adjoints of convolutions with respect to their input.

One matrix product gives the elements of all windows, which are added to the places that the windows see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import shown
from jittape.errors import ShapeError
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn.convolution import conv_operands
from jittape.primitives.nn.windows import Layout, Sliding, Windows, layout_of, sliding_of
from jittape.primitives.shape.reshaping import hashable, reshape
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["conv1d_transpose", "conv2d_transpose", "conv3d_transpose", "conv_transpose"]


def _transposed(
    x: Any, filters: Any, op: str, shape: tuple[int, ...], layout: Layout, sliding: Sliding
) -> Any:
    """Return the adjoint of a convolution with respect to its input, whose shape is `shape`."""
    x, filters = conv_operands(op, x, filters, layout)
    *kernel, outputs, inputs = filters.shape
    if layout.channels_first:
        shape = (shape[0], *shape[2:], shape[1])
    if x.shape[-1] != inputs:
        raise ShapeError(f"[{op}] the input has {x.shape[-1]} channels, and the filters take {inputs}")
    windows = Windows.over(op, shape[1:-1], kernel, sliding)
    if (x.shape[0], *windows.outputs, outputs) != (shape[0], *x.shape[1:-1], shape[-1]):
        raise ShapeError(
            f"[{op}] output_shape {shape} does not fit an input of shape {x.shape}: a convolution of it has "
            f"{windows.outputs} windows, and there are {outputs} filters"
        )
    count, size = math.prod(x.shape[:-1]), math.prod(kernel)
    rows = matmul(reshape(x, (count, inputs)), reshape(filters, (size * outputs, inputs)), transpose_b=True)
    rows = reshape(rows, (*x.shape[:-1], size * outputs))
    taps = [sliced(rows, len(shape) - 1, i * outputs, outputs) for i in range(size)]
    return layout.from_last(windows.crop(reduce(add, windows.spread(taps))))


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of a convolution with respect to its input; see `conv2d_transpose`.

    Parameters
    ----------
    input : tensor_like of shape (batch, spatial..., channels)
    filters : tensor_like of shape (spatial..., filters, channels)
    output_shape : sequence of int
        Shape of the result.
    strides, padding, data_format, dilations
        Those of the convolution, see `conv2d`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the convolution of an array of `output_shape` has not the shape of `input`.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> x = jt.ones([1, 4, 3])
    >>> jt.nn.conv_transpose(x, jt.ones([2, 5, 3]), [1, 8, 5], strides=2).shape
    (1, 8, 5)
    """
    shape = hashable(output_shape)
    if not isinstance(shape, tuple) or not 3 <= len(shape) <= 5:
        raise ShapeError(f"[conv_transpose] output_shape must have 3 to 5 entries, got {shown(output_shape)}")
    return _convolve_transposed(
        "conv_transpose", len(shape) - 2, input, filters, shape, strides, padding, data_format, dilations
    )


def _convolve_transposed(
    op: str,
    spatial: int,
    x: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
) -> Tensor:
    layout, shape = layout_of(op, data_format, spatial), hashable(output_shape)
    if not isinstance(shape, tuple) or len(shape) != spatial + 2:
        raise ShapeError(f"[{op}] output_shape must have {spatial + 2} entries, got {output_shape!r}")
    return apply(
        _transposed, (x, filters), (op, shape, layout, sliding_of(op, strides, padding, dilations, layout))
    )


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str = "NWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv1d` with respect to its input; see `conv2d_transpose`.

    Parameters
    ----------
    input : tensor_like of shape (batch, spatial..., channels)
    filters : tensor_like of shape (spatial..., filters, channels)
    output_shape : sequence of int
        Shape of the result.
    strides, padding, data_format, dilations
        Those of the convolution, see `conv2d`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `conv1d` of an array of `output_shape` has not the shape of `input`.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> x = jt.reshape(jt.constant([1.0, 2.0]), [1, 2, 1])
    >>> jt.nn.conv1d_transpose(x, jt.ones([2, 1, 1]), [1, 4, 1], 2).numpy().ravel()
    array([1., 1., 2., 2.], dtype=float32)
    """
    return _convolve_transposed(
        "conv1d_transpose", 1, input, filters, output_shape, strides, padding, data_format, dilations
    )


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv2d` with respect to its input, often used to enlarge images.

    Parameters
    ----------
    input : tensor_like of shape (batch, height, width, channels)
        In the place of the gradient of the result of `conv2d`.
    filters : tensor_like of shape (height, width, output channels, channels)
    output_shape : sequence of int
        Shape of the result, that is of the input of `conv2d`.
    strides, padding, data_format, dilations
        As for `conv2d`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `conv2d` of an array of `output_shape` has not the shape of `input`.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> jt.nn.conv2d_transpose(jt.ones([1, 1, 1, 1]), jt.ones([2, 2, 1, 1]), [1, 2, 2, 1], 2).numpy()[0, :, :, 0]
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _convolve_transposed(
        "conv2d_transpose", 2, input, filters, output_shape, strides, padding, data_format, dilations
    )


def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]] = "SAME",
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv3d` with respect to its input; see `conv2d_transpose`.

    Parameters
    ----------
    input : tensor_like of shape (batch, spatial..., channels)
    filters : tensor_like of shape (spatial..., filters, channels)
    output_shape : sequence of int
        Shape of the result.
    strides, padding, data_format, dilations
        Those of the convolution, see `conv2d`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `conv3d` of an array of `output_shape` has not the shape of `input`.
    ValueError
        For other values of an argument.
    DTypeError
        For integers.

    Examples
    --------
    >>> x = jt.ones([1, 2, 2, 2, 3])
    >>> jt.nn.conv3d_transpose(x, jt.ones([2, 2, 2, 1, 3]), [1, 4, 4, 4, 1], strides=2).shape
    (1, 4, 4, 4, 1)
    """
    return _convolve_transposed(
        "conv3d_transpose", 3, input, filters, output_shape, strides, padding, data_format, dilations
    )
