"""Pooling: the greatest element or the mean of each window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import bool_
from jittape.core.primitive import apply
from jittape.core.user_calls import shown
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, broadcast
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.nn.windows import Layout, Sliding, Windows, layout_of, per_dimension, sliding_of
from jittape.primitives.record_parts import require_kinds
from jittape.primitives.shape.reshaping import shape_of
from jittape.typing import Tensor, TensorLike

__all__ = [
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pool",
    "pooled",
]


def _pooled(x: Any, op: str, kind: str, layout: Layout, size: tuple[int, ...], sliding: Sliding) -> Any:
    x = as_symbol(x)
    require_kinds(op, "f", x.aval)
    if len(x.shape) != layout.spatial + 2:
        raise ShapeError(f"[{op}] input must have {layout.spatial + 2} dimensions, got shape {x.shape}")
    x = layout.to_last(x)
    windows = Windows.over(op, x.shape[1:-1], size, sliding)
    return layout.from_last(_greatest(x, windows) if kind == "MAX" else _mean(x, windows))


def _greatest(x: Any, windows: Windows) -> Any:
    """Return the greatest element of each window. The first of equal elements gets the gradient."""
    taps = windows.taps(windows.pad(x), True)
    if windows.is_padded:
        lowest = broadcast(literal(-np.inf, x.dtype), taps[0].shape)
        inside = windows.taps(windows.pad(_ones(windows, bool_)), True)
        taps = [where(mask, tap, lowest) for mask, tap in zip(inside, taps, strict=True)]
    return reduce(maximum, taps)


def _mean(x: Any, windows: Windows) -> Any:
    """Return the mean of the elements of the array in each window; padding does not count."""
    total = reduce(add, windows.taps(windows.pad(x), True))
    if not windows.is_padded:
        return divide(total, math.prod(windows.kernel))
    return divide(total, reduce(add, windows.taps(windows.pad(_ones(windows, x.dtype)), True)))


def _ones(windows: Windows, dtype: np.dtype[Any]) -> Any:
    return broadcast(literal(1, dtype), (1, *windows.extents, 1))


def pooled(
    op: str,
    kind: str,
    spatial: int,
    x: Any,
    size: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any = 1,
) -> Tensor:
    """Pool the tensor-like `x` by the function `op`; `kind` is ``"MAX"`` or ``"AVG"``."""
    layout = layout_of(op, data_format, spatial)
    sliding = sliding_of(op, strides, padding, dilations, layout)
    return apply(_pooled, (x,), (op, kind, layout, per_dimension(op, "ksize", size, layout), sliding))


def max_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the greatest element of each window, over one, two or three spatial dimensions.

    Parameters
    ----------
    input : tensor_like of shape (batch, spatial..., channels)
        With `data_format` ``"NCHW"``, ``"NCW"`` or ``"NCDHW"`` the channels are the second dimension.
    ksize : int or sequence of int
        Size of a window: one int, one for each spatial dimension, or one for each dimension.
    strides : int or sequence of int
        Distance of neighboring windows, in the same forms.
    padding : str or sequence of pairs
        As for `conv2d`. Elements outside the array do not count.
    data_format : str, optional
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the input has another number of dimensions, or a window is larger than the array by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers and complex numbers.

    Notes
    -----
    The gradient goes to the first of equal greatest elements.

    Examples
    --------
    >>> x = jt.reshape(jt.range(5.0), [1, 5, 1])
    >>> jt.nn.max_pool(x, 2, 2, "SAME").numpy().ravel()
    array([1., 3., 4.], dtype=float32)
    """
    shape = shape_of(input)
    if not 3 <= len(shape) <= 5:
        raise ShapeError(f"[max_pool] input must have 3 to 5 dimensions, got shape {shape}")
    return pooled("max_pool", "MAX", len(shape) - 2, input, ksize, strides, padding, data_format)


def max_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Return the greatest element of each window of sequences; see `max_pool`.

    Parameters
    ----------
    input : tensor_like of shape (batch, width, channels)
    ksize, strides : int or sequence of int
        Size of a window, and distance of neighboring windows.
    padding : str
        ``"VALID"`` or ``"SAME"``.
    data_format : str
        ``"NWC"``, or with the channels in second place.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the input has another number of dimensions, or a window is larger than the array by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers and complex numbers.

    Examples
    --------
    >>> jt.nn.max_pool1d(jt.ones([1, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2)
    """
    return pooled("max_pool1d", "MAX", 1, input, ksize, strides, padding, data_format)


def max_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Return the greatest element of each window of images; see `max_pool`.

    Parameters
    ----------
    input : tensor_like of shape (batch, height, width, channels)
    ksize, strides : int or sequence of int
        Size of a window, and distance of neighboring windows.
    padding : str
        ``"VALID"`` or ``"SAME"``.
    data_format : str
        ``"NHWC"``, or with the channels in second place.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the input has another number of dimensions, or a window is larger than the array by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers and complex numbers.

    Examples
    --------
    >>> jt.nn.max_pool2d(jt.ones([1, 4, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2, 2)
    """
    return pooled("max_pool2d", "MAX", 2, input, ksize, strides, padding, data_format)


def max_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Return the greatest element of each window of volumes; see `max_pool`.

    Parameters
    ----------
    input : tensor_like of shape (batch, depth, height, width, channels)
    ksize, strides : int or sequence of int
        Size of a window, and distance of neighboring windows.
    padding : str
        ``"VALID"`` or ``"SAME"``.
    data_format : str
        ``"NDHWC"``, or with the channels in second place.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the input has another number of dimensions, or a window is larger than the array by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers and complex numbers.

    Examples
    --------
    >>> jt.nn.max_pool3d(jt.ones([1, 4, 4, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2, 2, 2)
    """
    return pooled("max_pool3d", "MAX", 3, input, ksize, strides, padding, data_format)


def pool(
    input: TensorLike,
    window_shape: int | Sequence[int],
    pooling_type: str,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] = "VALID",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the greatest element or the mean of each window; see `max_pool`.

    Parameters
    ----------
    input : tensor_like of shape (batch, spatial..., channels)
    window_shape : int or sequence of int
    pooling_type : str
        ``"MAX"`` or ``"AVG"``.
    strides, padding, data_format
        As for `max_pool`; strides are 1 by default.
    dilations : int or sequence of int, optional
        Distance of neighboring elements of a window.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the input has another number of dimensions, or a window is larger than the array by two strides or more.
    ValueError
        For other values of an argument.
    DTypeError
        For integers and complex numbers.

    Examples
    --------
    >>> x = jt.reshape(jt.range(5.0), [1, 5, 1])
    >>> jt.nn.pool(x, 2, "MAX", dilations=2).numpy().ravel()
    array([2., 3., 4.], dtype=float32)
    """
    if not isinstance(pooling_type, str) or pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"[pool] pooling_type must be 'MAX' or 'AVG', got {shown(pooling_type)}")
    spatial = len(shape_of(input)) - 2
    if not 1 <= spatial <= 3:
        raise ShapeError(f"[pool] input must have 3 to 5 dimensions, got {spatial + 2}")
    return pooled(
        "pool", pooling_type, spatial, input, window_shape, strides, padding, data_format, dilations
    )
