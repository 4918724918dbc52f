"""Convolutional layers."""

from __future__ import annotations

from typing import Any

from jittape.keras.layers.convolutions.convolution_base import Convolution
from jittape.primitives.nn.windows import Layout, Padding

__all__ = ["Conv1D", "Conv2D", "Conv3D"]


class Conv1D(Convolution):
    """Convolution of sequences of shape (batch, width, channels).

    Parameters as for `Conv2D`.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Lengths of the filters.
    strides : int or sequence of int, default 1
        Distance of neighboring windows.
    padding : str, default "valid"
        Also ``"causal"``: a result depends on no later input, since the sequence is padded with zeros before its start.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If a size, stride or number of filters is not positive, or the options do not fit together.

    Examples
    --------
    >>> jt.keras.layers.Conv1D(4, 3, padding="same")(jt.ones([2, 10, 1])).shape
    (2, 10, 4)
    """

    spatial = 1

    def _padding_of(self, owner: str, padding: Any, layout: Layout) -> Padding:
        if not isinstance(padding, str) or padding.lower() != "causal":
            return super()._padding_of(owner, padding, layout)
        return (((self.kernel_size[0] - 1) * self.dilation_rate[0], 0),)


class Conv2D(Convolution):
    """Convolution of images of shape (batch, height, width, channels).

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Size of a window.
    strides : int or sequence of int, default 1
        Distance of neighboring windows.
    padding : str, default "valid"
        Or ``"same"``; see `jittape.nn.conv2d`.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    dilation_rate : int or sequence of int, default 1
        Distance of neighboring elements of a window.
    groups : int, default 1
        Number of groups into which channels and filters are divided.
    activation, use_bias, kernel_initializer, bias_initializer, ...
        As for `Dense`.

    Raises
    ------
    ValueError
        For other values, or inputs of another shape.

    Examples
    --------
    >>> layer = jt.keras.layers.Conv2D(16, 3, strides=2, activation="relu")
    >>> layer(jt.ones([2, 9, 9, 3])).shape, layer.count_params()
    ((2, 4, 4, 16), 448)
    """

    spatial = 2


class Conv3D(Convolution):
    """Convolution of volumes of shape (batch, depth, height, width, channels).

    Parameters as for `Conv2D`.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Lengths of the filters.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If a size, stride or number of filters is not positive, or the options do not fit together.

    Examples
    --------
    >>> jt.keras.layers.Conv3D(2, 2)(jt.ones([1, 3, 3, 3, 1])).shape
    (1, 2, 2, 2, 2)
    """

    spatial = 3
