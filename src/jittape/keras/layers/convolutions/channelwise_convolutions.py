"""Convolutions of each channel with its own filters, alone or followed by a combination of the channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.user_calls import as_int
from jittape.keras.layers.convolutions.convolution_base import Convolution
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.primitives.nn.convolution import convolution
from jittape.primitives.nn.depthwise_convolution import depthwise_convolution
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D"]


@with_options(depthwise="_kernel")
class _Depthwise(Convolution):
    """Convolution of each channel with its own filters."""

    _left_out = "groups kernel_initializer kernel_regularizer kernel_constraint"

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        *,
        depthwise_regularizer: Any = None,
        depthwise_constraint: Any = None,
        **options: Any,
    ) -> None:
        self.depth_multiplier = as_int("depth_multiplier", depth_multiplier)
        if self.depth_multiplier < 1:
            raise ValueError(
                f"[{type(self).__name__}] depth_multiplier must be positive, got {depth_multiplier}"
            )
        super().__init__(
            self.depth_multiplier,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=depthwise_initializer,
            kernel_regularizer=depthwise_regularizer,
            kernel_constraint=depthwise_constraint,
            **options,
        )

    def build(self, input_shape: Any) -> None:
        """Create the filters and the bias for inputs of this shape."""
        channels = self._channels(input_shape)
        self.kernel = self._kernel.add_to(
            self, (*self.kernel_size, channels, self.depth_multiplier), "kernel"
        )
        self.bias = self._add_bias(channels * self.depth_multiplier)

    def _depthwise(self, inputs: Any) -> Tensor:
        assert self.kernel is not None
        return self._with_windows(
            depthwise_convolution(
                type(self).__name__, self.spatial, inputs, self.kernel, **self._window_options()
            )
        )

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of `inputs`."""
        return self._finished(self._depthwise(inputs))


@with_options(pointwise="_pointwise")
class _Separable(_Depthwise):
    """Convolution of each channel with its own filters, then a combination of the channels of each position."""

    pointwise_kernel: Variable | None = None

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        *,
        pointwise_regularizer: Any = None,
        pointwise_constraint: Any = None,
        **options: Any,
    ) -> None:
        first = (kernel_size, strides, padding, depth_multiplier, data_format, dilation_rate)
        super().__init__(*first, activation, use_bias, depthwise_initializer, **options)
        self.filters = as_int("filters", filters)
        if self.filters < 1:
            raise ValueError(f"[{type(self).__name__}] filters must be positive, got {filters}")
        self._pointwise = weight_options(pointwise_initializer, pointwise_regularizer, pointwise_constraint)

    def build(self, input_shape: Any) -> None:
        """Create the filters of both steps and the bias for inputs of this shape."""
        channels = self._channels(input_shape) * self.depth_multiplier
        self.kernel = self._kernel.add_to(
            self,
            (*self.kernel_size, channels // self.depth_multiplier, self.depth_multiplier),
            "depthwise_kernel",
        )
        ones = (1,) * self.spatial
        self.pointwise_kernel = self._pointwise.add_to(
            self, (*ones, channels, self.filters), "pointwise_kernel"
        )
        self.bias = self._add_bias(self.filters)

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of `inputs`."""
        assert self.pointwise_kernel is not None
        channels = self._depthwise(inputs)
        return self._finished(convolution(channels, self.pointwise_kernel, 1, "VALID", self._format))


class DepthwiseConv1D(_Depthwise):
    """Convolution of each channel of sequences with its own filters.

    Parameters
    ----------
    kernel_size : int or sequence of int
    strides, padding : optional
        As for `Conv1D`.
    depth_multiplier : int, default 1
        Number of filters of each channel.
    data_format, dilation_rate, activation, use_bias : optional
        As for `Conv1D`.
    **options
        As for `Conv1D`; initializer, regularizer and constraint are named ``depthwise_...``.

    Raises
    ------
    ValueError
        If a size, stride or `depth_multiplier` is not positive, or the options do not fit together.

    Examples
    --------
    >>> jt.keras.layers.DepthwiseConv1D(3, depth_multiplier=2)(jt.ones([1, 5, 4])).shape
    (1, 3, 8)
    """

    _left_out = "filters"

    spatial = 1


class DepthwiseConv2D(_Depthwise):
    """Convolution of each channel of images with its own filters.

    Parameters
    ----------
    kernel_size : int or sequence of int
    strides, padding : optional
        As for `Conv2D`.
    depth_multiplier : int, default 1
        Number of filters of each channel.
    data_format, dilation_rate, activation, use_bias : optional
        As for `Conv2D`.
    **options
        As for `Conv2D`; initializer, regularizer and constraint are named ``depthwise_...``.

    Raises
    ------
    ValueError
        If a size, stride or `depth_multiplier` is not positive, or the options do not fit together.

    Examples
    --------
    >>> jt.keras.layers.DepthwiseConv2D(3, depth_multiplier=2)(jt.ones([1, 5, 5, 4])).shape
    (1, 3, 3, 8)
    """

    _left_out = "filters"

    spatial = 2


class SeparableConv1D(_Separable):
    """Convolution of each channel of sequences with its own filters, then a combination of the channels of each step.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size, strides, padding, depth_multiplier
        Of the first step, as for `DepthwiseConv1D`.
    **options
        As for `DepthwiseConv1D`; and `pointwise_initializer`, `pointwise_regularizer`, `pointwise_constraint`.

    Raises
    ------
    ValueError
        If a size, stride or number of filters is not positive, or the options do not fit together.

    Examples
    --------
    >>> jt.keras.layers.SeparableConv1D(6, 3)(jt.ones([1, 5, 4])).shape
    (1, 3, 6)
    """

    spatial = 1


class SeparableConv2D(_Separable):
    """Convolution of each channel of images with its own filters, then a combination of the channels of each pixel.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size, strides, padding, depth_multiplier
        Of the first step, as for `DepthwiseConv2D`.
    **options
        As for `DepthwiseConv2D`; and `pointwise_initializer`, `pointwise_regularizer`, `pointwise_constraint`.

    Raises
    ------
    ValueError
        If a size, stride or number of filters is not positive, or the options do not fit together.

    Examples
    --------
    >>> jt.keras.layers.SeparableConv2D(6, 3)(jt.ones([1, 5, 5, 4])).shape
    (1, 3, 3, 6)
    """

    spatial = 2
