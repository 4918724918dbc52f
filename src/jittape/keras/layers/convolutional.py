"""Convolutional layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from jittape.core.user_calls import as_int
from jittape.keras.activations import Activation, activation_of
from jittape.keras.layers.data_formats import format_of, require_dimensions
from jittape.keras.layers.layer import Layer, weight_options
from jittape.primitives.nn.convolution import conv_transpose, convolution
from jittape.primitives.nn.depthwise_convolution import depthwise_conv2d
from jittape.primitives.nn.layer_functions import bias_add
from jittape.primitives.nn.windows import layout_of, padding_of, per_dimension
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "DepthwiseConv2D",
    "SeparableConv2D",
]


class _Convolution(Layer):
    """Arguments that convolutional layers share; `spatial` is the number of spatial dimensions."""

    spatial: ClassVar[int]
    kernel: Variable | None = None
    bias: Variable | None = None

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        groups: int = 1,
        activation: Activation | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **options)
        owner = type(self).__name__
        self.data_format = format_of(owner, data_format, self.spatial)
        layout = layout_of(owner, self.data_format, self.spatial)
        self.filters, self.groups = as_int("filters", filters), as_int("groups", groups)
        if self.filters < 1 or self.groups < 1 or self.filters % self.groups:
            raise ValueError(
                f"[{owner}] filters must be positive and a multiple of groups, got {filters} and {groups}"
            )
        self.kernel_size = per_dimension(owner, "kernel_size", kernel_size, layout)
        self.strides = per_dimension(owner, "strides", strides, layout)
        self.dilation_rate = per_dimension(owner, "dilation_rate", dilation_rate, layout)
        self.padding = padding_of(owner, padding, layout)
        self.activation = activation_of(owner, activation)
        self.use_bias = use_bias
        self._kernel = weight_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_options(bias_initializer, bias_regularizer, bias_constraint)

    def _channels(self, input_shape: Any) -> int:
        """Return the number of channels of inputs of this shape."""
        require_dimensions(self.name, input_shape, self.spatial)
        channels = int(input_shape[1] if self.data_format.startswith("NC") else input_shape[-1])
        if channels % self.groups:
            raise ValueError(
                f"layer {self.name!r} has {self.groups} groups, which do not divide {channels} channels"
            )
        return channels

    def _add_bias(self, count: int) -> Variable | None:
        return self._bias.add_to(self, (count,), "bias") if self.use_bias else None

    def _finished(self, result: Tensor) -> Tensor:
        """Return the result with bias and activation."""
        if self.bias is not None:
            result = bias_add(result, self.bias, self.data_format)
        return result if self.activation is None else self.activation(result)

    def build(self, input_shape: Any) -> None:
        """Create the filters and the bias for inputs of this shape."""
        channels = self._channels(input_shape)
        self.kernel = self._kernel.add_to(
            self, (*self.kernel_size, channels // self.groups, self.filters), "kernel"
        )
        self.bias = self._add_bias(self.filters)

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of `inputs`."""
        assert self.kernel is not None
        padding: Any = self.padding
        return self._finished(
            convolution(inputs, self.kernel, self.strides, padding, self.data_format, self.dilation_rate)
        )


class Conv1D(_Convolution):
    """Convolution of sequences of shape (batch, width, channels).

    Parameters as for `Conv2D`.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Lengths of the filters.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Conv1D(4, 3, padding="same")(jt.ones([2, 10, 1])).shape
    (2, 10, 4)
    """

    spatial = 1


class Conv2D(_Convolution):
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


class Conv3D(_Convolution):
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

    Examples
    --------
    >>> jt.keras.layers.Conv3D(2, 2)(jt.ones([1, 3, 3, 3, 1])).shape
    (1, 2, 2, 2, 2)
    """

    spatial = 3


class _Transposed(_Convolution):
    """The adjoint of a convolution as a layer; the size of the result follows from the size of the input."""

    def build(self, input_shape: Any) -> None:
        """Create the filters and the bias for inputs of this shape."""
        channels = self._channels(input_shape)
        if self.groups != 1:
            raise ValueError(
                f"layer {self.name!r}: a transposed convolution has no groups, got {self.groups}"
            )
        self.kernel = self._kernel.add_to(self, (*self.kernel_size, self.filters, channels), "kernel")
        self.bias = self._add_bias(self.filters)

    def call(self, inputs: Any) -> Tensor:
        """Return the transposed convolution of `inputs`."""
        assert self.kernel is not None
        first = self.data_format.startswith("NC")
        extents = inputs.shape[2:] if first else inputs.shape[1:-1]
        spatial = []
        for n, k, stride, dilation in zip(
            extents, self.kernel_size, self.strides, self.dilation_rate, strict=True
        ):
            reach = (k - 1) * dilation + 1
            spatial.append(n * stride if self.padding == "SAME" else n * stride + max(reach - stride, 0))
        shape = (
            (inputs.shape[0], self.filters, *spatial) if first else (inputs.shape[0], *spatial, self.filters)
        )
        padding: Any = self.padding
        return self._finished(
            conv_transpose(
                inputs, self.kernel, shape, self.strides, padding, self.data_format, self.dilation_rate
            )
        )


class Conv1DTranspose(_Transposed):
    """Transposed convolution of sequences.

    Parameters as for `Conv2D`.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Lengths of the filters.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Conv1DTranspose(4, 3, strides=2, padding="same")(jt.ones([2, 5, 1])).shape
    (2, 10, 4)
    """

    spatial = 1


class Conv2DTranspose(_Transposed):
    """Transposed convolution of images, which enlarges them by `strides`.

    Parameters as for `Conv2D`.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Lengths of the filters.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Conv2DTranspose(4, 3, strides=2)(jt.ones([2, 5, 5, 1])).shape
    (2, 11, 11, 4)
    """

    spatial = 2


class Conv3DTranspose(_Transposed):
    """Transposed convolution of volumes.

    Parameters as for `Conv2D`.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Lengths of the filters.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Conv3DTranspose(1, 2, strides=2)(jt.ones([1, 2, 2, 2, 1])).shape
    (1, 4, 4, 4, 1)
    """

    spatial = 3


class DepthwiseConv2D(_Convolution):
    """Convolution of each channel of images with its own filters.

    Parameters
    ----------
    kernel_size : int or sequence of int
    strides, padding : optional
        As for `Conv2D`.
    depth_multiplier : int, default 1
        Number of filters of each channel.
    **options
        As for `Conv2D`; initializer, regularizer and constraint are named ``depthwise_...``.

    Examples
    --------
    >>> jt.keras.layers.DepthwiseConv2D(3, depth_multiplier=2)(jt.ones([1, 5, 5, 4])).shape
    (1, 3, 3, 8)
    """

    spatial = 2

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        depthwise_initializer: Any = "glorot_uniform",
        depthwise_regularizer: Any = None,
        depthwise_constraint: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(
            depth_multiplier,
            kernel_size,
            strides,
            padding,
            kernel_initializer=depthwise_initializer,
            kernel_regularizer=depthwise_regularizer,
            kernel_constraint=depthwise_constraint,
            **options,
        )
        self.depth_multiplier = self.filters

    def build(self, input_shape: Any) -> None:
        """Create the filters and the bias for inputs of this shape."""
        channels = self._channels(input_shape)
        self.kernel = self._kernel.add_to(
            self, (*self.kernel_size, channels, self.depth_multiplier), "kernel"
        )
        self.bias = self._add_bias(channels * self.depth_multiplier)

    def _depthwise(self, inputs: Any) -> Tensor:
        assert self.kernel is not None
        padding: Any = self.padding
        return depthwise_conv2d(
            inputs, self.kernel, self.strides, padding, self.data_format, self.dilation_rate
        )

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of `inputs`."""
        return self._finished(self._depthwise(inputs))


class SeparableConv2D(DepthwiseConv2D):
    """Convolution of each channel of images with its own filters, then a combination of the channels of each pixel.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size, strides, padding, depth_multiplier
        Of the first step, as for `DepthwiseConv2D`.
    **options
        As for `DepthwiseConv2D`; and `pointwise_initializer`, `pointwise_regularizer`, `pointwise_constraint`.

    Examples
    --------
    >>> jt.keras.layers.SeparableConv2D(6, 3)(jt.ones([1, 5, 5, 4])).shape
    (1, 3, 3, 6)
    """

    pointwise_kernel: Variable | None = None

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        pointwise_initializer: Any = "glorot_uniform",
        pointwise_regularizer: Any = None,
        pointwise_constraint: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(kernel_size, strides, padding, depth_multiplier, **options)
        self.filters = as_int("filters", filters)
        if self.filters < 1:
            raise ValueError(f"[SeparableConv2D] filters must be positive, got {filters}")
        self._pointwise = weight_options(pointwise_initializer, pointwise_regularizer, pointwise_constraint)

    def build(self, input_shape: Any) -> None:
        """Create the filters of both steps and the bias for inputs of this shape."""
        channels = self._channels(input_shape) * self.depth_multiplier
        self.kernel = self._kernel.add_to(
            self,
            (*self.kernel_size, channels // self.depth_multiplier, self.depth_multiplier),
            "depthwise_kernel",
        )
        self.pointwise_kernel = self._pointwise.add_to(
            self, (1, 1, channels, self.filters), "pointwise_kernel"
        )
        self.bias = self._add_bias(self.filters)

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of `inputs`."""
        assert self.pointwise_kernel is not None
        channels = self._depthwise(inputs)
        return self._finished(convolution(channels, self.pointwise_kernel, 1, "VALID", self.data_format))
