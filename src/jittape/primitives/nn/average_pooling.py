"""Average pooling: the mean of each window."""

from __future__ import annotations

from collections.abc import Sequence

from jittape.errors import ShapeError
from jittape.primitives.nn.pooling import pooled
from jittape.primitives.shape.reshaping import shape_of
from jittape.typing import Tensor, TensorLike

__all__ = ["avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d"]


def avg_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the mean of each window, over one, two or three spatial dimensions.

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

    Examples
    --------
    >>> x = jt.reshape(jt.range(5.0), [1, 5, 1])
    >>> jt.nn.avg_pool(x, 2, 2, "SAME").numpy().ravel()
    array([0.5, 2.5, 4. ], dtype=float32)
    """
    shape = shape_of(input)
    if not 3 <= len(shape) <= 5:
        raise ShapeError(f"[avg_pool] input must have 3 to 5 dimensions, got shape {shape}")
    return pooled("avg_pool", "AVG", len(shape) - 2, input, ksize, strides, padding, data_format)


def avg_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Return the mean of each window of sequences; see `avg_pool`.

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
    >>> jt.nn.avg_pool1d(jt.ones([1, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2)
    """
    return pooled("avg_pool1d", "AVG", 1, input, ksize, strides, padding, data_format)


def avg_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Return the mean of each window of images; see `avg_pool`.

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
    >>> jt.nn.avg_pool2d(jt.ones([1, 4, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2, 2)
    """
    return pooled("avg_pool2d", "AVG", 2, input, ksize, strides, padding, data_format)


def avg_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Return the mean of each window of volumes; see `avg_pool`.

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
    >>> jt.nn.avg_pool3d(jt.ones([1, 4, 4, 4, 2]), 2, 2, "VALID").shape
    (1, 2, 2, 2, 2)
    """
    return pooled("avg_pool3d", "AVG", 3, input, ksize, strides, padding, data_format)
