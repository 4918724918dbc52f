"""Layers of transposed convolutions, which enlarge their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.keras.layers.convolutions.convolution_base import Convolution
from jittape.primitives.nn.conv_transpose import conv_transpose
from jittape.primitives.nn.windows import layout_of, per_dimension
from jittape.recording.tensor import Tensor

__all__ = ["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"]


class _Transposed(Convolution):
    """The adjoint of a convolution as a layer; the size of the result follows from the size of the input."""

    _left_out = "groups"

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        output_padding: int | Sequence[int] | None = None,
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        **options: Any,
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, **options)
        owner = type(self).__name__
        self.output_padding: tuple[int, ...] | None = None
        if output_padding is None:
            return
        layout = layout_of(owner, self._format, self.spatial)
        self.output_padding = per_dimension(owner, "output_padding", output_padding, layout, least=0)
        if any(size >= stride for size, stride in zip(self.output_padding, self.strides, strict=True)):
            raise ValueError(
                f"[{owner}] output_padding must be less than strides, got {output_padding} and {strides}"
            )

    def _extent(self, n: int, dimension: int) -> int:
        """Return the extent of the result along a spatial dimension of extent `n`."""
        stride, size = self.strides[dimension], self.kernel_size[dimension]
        reach = (size - 1) * self.dilation_rate[dimension] + 1
        if not isinstance(self._padding, str):
            removed = sum(self._padding[dimension])
        elif self.output_padding is None:
            return n * stride if self._padding == "SAME" else n * stride + max(reach - stride, 0)
        else:
            removed = 2 * (size // 2) if self._padding == "SAME" else 0
        added = 0 if self.output_padding is None else self.output_padding[dimension]
        return (n - 1) * stride + reach - removed + added

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
        first = self._format.startswith("NC")
        extents = inputs.shape[2:] if first else inputs.shape[1:-1]
        spatial = [self._extent(n, dimension) for dimension, n in enumerate(extents)]
        shape = (
            (inputs.shape[0], self.filters, *spatial) if first else (inputs.shape[0], *spatial, self.filters)
        )
        return self._finished(conv_transpose(inputs, self.kernel, shape, **self._window_options()))


class Conv1DTranspose(_Transposed):
    """Transposed convolution of sequences.

    Parameters as for `Conv2D`.

    Parameters
    ----------
    filters : int
        Number of channels of the result.
    kernel_size : int or sequence of int
        Lengths of the filters.
    output_padding : int or sequence of int, optional
        Length that is added to the smallest possible result, less than the stride.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If a size, stride or number of filters is not positive, or the options do not fit together.

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
    output_padding : int or sequence of int, optional
        Length that is added to the smallest possible result, less than the stride.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If a size, stride or number of filters is not positive, or the options do not fit together.

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
    output_padding : int or sequence of int, optional
        Length that is added to the smallest possible result, less than the stride.
    other arguments : those of `Conv2D`
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If a size, stride or number of filters is not positive, or the options do not fit together.

    Examples
    --------
    >>> jt.keras.layers.Conv3DTranspose(1, 2, strides=2)(jt.ones([1, 2, 2, 2, 1])).shape
    (1, 4, 4, 4, 1)
    """

    spatial = 3

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        output_padding: int | Sequence[int] | None = None,
        dilation_rate: int | Sequence[int] = 1,
        **options: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, output_padding, data_format, dilation_rate, **options
        )
