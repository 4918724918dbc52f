"""`Convolution`: what convolutional layers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from jittape.core.symbolic.extent_functions import is_always
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.keras.activations import Activation, activation_of, linear
from jittape.keras.layers.data_formats import format_name, format_of, require_dimensions
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.primitives.nn.convolution import convolution
from jittape.primitives.nn.layer_functions import bias_add
from jittape.primitives.nn.windows import Layout, Padding, layout_of, padding_of, per_dimension
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["Convolution"]


@with_options(kernel="_kernel", bias="_bias")
class Convolution(Layer):
    """Arguments that convolutional layers share; `spatial` is the number of spatial dimensions."""

    takes_floats = True
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
        self._format = format_of(owner, data_format, self.spatial)
        self.data_format = format_name(self._format)
        layout = layout_of(owner, self._format, self.spatial)
        self.filters, self.groups = as_int("filters", filters), as_int("groups", groups)
        if self.filters < 1 or self.groups < 1 or self.filters % self.groups:
            raise ValueError(
                f"[{owner}] filters must be positive and a multiple of groups, got {filters} and {groups}"
            )
        self.kernel_size = per_dimension(owner, "kernel_size", kernel_size, layout)
        self.strides = per_dimension(owner, "strides", strides, layout)
        self.dilation_rate = per_dimension(owner, "dilation_rate", dilation_rate, layout)
        self._padding = self._padding_of(owner, padding, layout)
        self.padding = padding.lower() if isinstance(padding, str) else padding
        self.activation = activation_of(owner, activation) or linear
        self.use_bias = use_bias
        self._kernel = weight_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_options(bias_initializer, bias_regularizer, bias_constraint)

    def _padding_of(self, owner: str, padding: Any, layout: Layout) -> Padding:
        return padding_of(owner, padding, layout)

    def _channels(self, input_shape: Any) -> int:
        """Return the number of channels of inputs of this shape."""
        require_dimensions(self.name, input_shape, self.spatial)
        channels = int(input_shape[1] if self._format.startswith("NC") else input_shape[-1])
        if channels % self.groups:
            raise ValueError(
                f"layer {self.name!r} has {self.groups} groups, which do not divide {channels} channels"
            )
        return channels

    def _window_options(self) -> dict[str, Any]:
        """Return how windows move, as arguments of the functions of `jt.nn`."""
        padding: Any = self._padding
        if not isinstance(padding, str):  # pairs of the spatial dimensions
            none = ((0, 0),)
            padding = (*none, *none, *padding) if self._format.startswith("NC") else (*none, *padding, *none)
        return {
            "strides": self.strides,
            "padding": padding,
            "data_format": self._format,
            "dilations": self.dilation_rate,
        }

    def _add_bias(self, count: int) -> Variable | None:
        return self._bias.add_to(self, (count,), "bias") if self.use_bias else None

    def _finished(self, result: Tensor) -> Tensor:
        """Return the result with bias and activation."""
        if self.bias is not None:
            result = bias_add(result, self.bias, self._format)
        return result if self.activation is linear else self.activation(result)

    def build(self, input_shape: Any) -> None:
        """Create the filters and the bias for inputs of this shape."""
        channels = self._channels(input_shape)
        self.kernel = self._kernel.add_to(
            self, (*self.kernel_size, channels // self.groups, self.filters), "kernel"
        )
        self.bias = self._add_bias(self.filters)

    def _with_windows(self, result: Tensor) -> Tensor:
        """Return a result; as in Keras, one without elements because no window fits into the inputs is an error.

        Raises
        ------
        ShapeError
        """
        extents = result.shape[2:] if self._format.startswith("NC") else result.shape[1:-1]
        for axis, extent in enumerate(extents):
            if is_always(0, extent):
                raise ShapeError(
                    f"[{type(self).__name__}] a window of {self.kernel_size[axis]} elements with dilation "
                    f"{self.dilation_rate[axis]} does not fit into spatial dimension {axis} of the inputs of layer "
                    f"{self.name!r}; padding='same' adds zeros"
                )
        return result

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of `inputs`."""
        assert self.kernel is not None
        return self._finished(self._with_windows(convolution(inputs, self.kernel, **self._window_options())))
