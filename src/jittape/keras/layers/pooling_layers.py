"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from jittape.keras.layers.data_formats import format_name, format_of, require_dimensions
from jittape.keras.layers.layer import Layer
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.nn.average_pooling import avg_pool
from jittape.primitives.nn.pooling import max_pool
from jittape.primitives.nn.windows import layout_of, padding_of, per_dimension
from jittape.primitives.reduce.reductions import reduce_max, reduce_mean, reduce_sum
from jittape.primitives.shape.reshaping import expand_dims
from jittape.recording.tensor import Tensor

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
]


class _Pooling(Layer):
    """Arguments that pooling layers share."""

    spatial: ClassVar[int]
    function: ClassVar[Any]

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        owner = type(self).__name__
        self._format = format_of(owner, data_format, self.spatial)
        self.data_format = format_name(self._format)
        layout = layout_of(owner, self._format, self.spatial)
        self.pool_size = per_dimension(owner, "pool_size", pool_size, layout)
        self.strides = self.pool_size if strides is None else per_dimension(owner, "strides", strides, layout)
        self._padding = padding_of(owner, padding, layout)
        self.padding = padding.lower() if isinstance(padding, str) else padding

    def call(self, inputs: Any) -> Tensor:
        """Return the pooled `inputs`."""
        require_dimensions(self.name, inputs.shape, self.spatial)
        result: Tensor = type(self).function(
            inputs, self.pool_size, self.strides, self._padding, self._format
        )
        return result


class _GlobalPooling(Layer):
    """Arguments that global pooling layers share."""

    spatial: ClassVar[int]
    function: ClassVar[Any]

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._format = format_of(type(self).__name__, data_format, self.spatial)
        self.data_format = format_name(self._format)
        self.keepdims = bool(keepdims)

    def call(self, inputs: Any) -> Tensor:
        """Return the pooled `inputs`."""
        require_dimensions(self.name, inputs.shape, self.spatial)
        first = 2 if self._format.startswith("NC") else 1
        axes = list(range(first, first + self.spatial))
        result: Tensor = type(self).function(inputs, axes, keepdims=self.keepdims)
        return result


class MaxPooling1D(_Pooling):
    """The greatest element of each window of sequences of shape (batch, width, channels).

    Parameters
    ----------
    pool_size : int or sequence of int, default 2
        Size of a window.
    strides : int or sequence of int, optional
        Distance of neighboring windows; `pool_size` if not given.
    padding : str, default "valid"
        Or ``"same"``; see `jittape.nn.max_pool`.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.

    Examples
    --------
    >>> jt.keras.layers.MaxPooling1D()(jt.ones([2, 4, 3])).shape
    (2, 2, 3)
    """

    spatial = 1
    function = staticmethod(max_pool)


class MaxPooling2D(_Pooling):
    """The greatest element of each window of images of shape (batch, height, width, channels).

    Parameters
    ----------
    pool_size : int or sequence of int, default 2
        Size of a window.
    strides : int or sequence of int, optional
        Distance of neighboring windows; `pool_size` if not given.
    padding : str, default "valid"
        Or ``"same"``; see `jittape.nn.max_pool`.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.

    Examples
    --------
    >>> jt.keras.layers.MaxPooling2D()(jt.ones([2, 4, 4, 3])).shape
    (2, 2, 2, 3)
    """

    spatial = 2
    function = staticmethod(max_pool)


class MaxPooling3D(_Pooling):
    """The greatest element of each window of volumes of shape (batch, depth, height, width, channels).

    Parameters
    ----------
    pool_size : int or sequence of int, default 2
        Size of a window.
    strides : int or sequence of int, optional
        Distance of neighboring windows; `pool_size` if not given.
    padding : str, default "valid"
        Or ``"same"``; see `jittape.nn.max_pool`.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.

    Examples
    --------
    >>> jt.keras.layers.MaxPooling3D()(jt.ones([2, 4, 4, 4, 3])).shape
    (2, 2, 2, 2, 3)
    """

    spatial = 3
    function = staticmethod(max_pool)


class AveragePooling1D(_Pooling):
    """The mean of each window of sequences of shape (batch, width, channels).

    Parameters
    ----------
    pool_size : int or sequence of int, default 2
        Size of a window.
    strides : int or sequence of int, optional
        Distance of neighboring windows; `pool_size` if not given.
    padding : str, default "valid"
        Or ``"same"``; see `jittape.nn.max_pool`.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.

    Examples
    --------
    >>> jt.keras.layers.AveragePooling1D()(jt.ones([2, 4, 3])).shape
    (2, 2, 3)
    """

    spatial = 1
    function = staticmethod(avg_pool)


class AveragePooling2D(_Pooling):
    """The mean of each window of images of shape (batch, height, width, channels).

    Parameters
    ----------
    pool_size : int or sequence of int, default 2
        Size of a window.
    strides : int or sequence of int, optional
        Distance of neighboring windows; `pool_size` if not given.
    padding : str, default "valid"
        Or ``"same"``; see `jittape.nn.max_pool`.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.

    Examples
    --------
    >>> jt.keras.layers.AveragePooling2D()(jt.ones([2, 4, 4, 3])).shape
    (2, 2, 2, 3)
    """

    spatial = 2
    function = staticmethod(avg_pool)


class AveragePooling3D(_Pooling):
    """The mean of each window of volumes of shape (batch, depth, height, width, channels).

    Parameters
    ----------
    pool_size : int or sequence of int, default 2
        Size of a window.
    strides : int or sequence of int, optional
        Distance of neighboring windows; `pool_size` if not given.
    padding : str, default "valid"
        Or ``"same"``; see `jittape.nn.max_pool`.
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.

    Examples
    --------
    >>> jt.keras.layers.AveragePooling3D()(jt.ones([2, 4, 4, 4, 3])).shape
    (2, 2, 2, 2, 3)
    """

    spatial = 3
    function = staticmethod(avg_pool)


class GlobalMaxPooling1D(_GlobalPooling):
    """The greatest element of each channel of sequences of shape (batch, width, channels).

    Parameters
    ----------
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    keepdims : bool, default False
        Whether the result has dimensions of length 1 instead of the spatial dimensions.

    Examples
    --------
    >>> jt.keras.layers.GlobalMaxPooling1D()(jt.ones([2, 4, 3])).shape
    (2, 3)
    """

    spatial = 1
    function = staticmethod(reduce_max)


class GlobalMaxPooling2D(_GlobalPooling):
    """The greatest element of each channel of images of shape (batch, height, width, channels).

    Parameters
    ----------
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    keepdims : bool, default False
        Whether the result has dimensions of length 1 instead of the spatial dimensions.

    Examples
    --------
    >>> jt.keras.layers.GlobalMaxPooling2D()(jt.ones([2, 4, 4, 3])).shape
    (2, 3)
    """

    spatial = 2
    function = staticmethod(reduce_max)


class GlobalMaxPooling3D(_GlobalPooling):
    """The greatest element of each channel of volumes of shape (batch, depth, height, width, channels).

    Parameters
    ----------
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    keepdims : bool, default False
        Whether the result has dimensions of length 1 instead of the spatial dimensions.

    Examples
    --------
    >>> jt.keras.layers.GlobalMaxPooling3D()(jt.ones([2, 4, 4, 4, 3])).shape
    (2, 3)
    """

    spatial = 3
    function = staticmethod(reduce_max)


class GlobalAveragePooling1D(_GlobalPooling):
    """The mean of each channel of sequences of shape (batch, width, channels).

    Parameters
    ----------
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    keepdims : bool, default False
        Whether the result has dimensions of length 1 instead of the spatial dimensions.

    Examples
    --------
    >>> jt.keras.layers.GlobalAveragePooling1D()(jt.ones([2, 4, 3])).shape
    (2, 3)
    """

    spatial = 1
    function = staticmethod(reduce_mean)

    def call(self, inputs: Any, mask: Any = None) -> Tensor:
        """Return the mean of the steps for which `mask` of shape (batch, width) is True."""
        if mask is None:
            return super().call(inputs)
        require_dimensions(self.name, inputs.shape, 1)
        steps = 2 if self._format.startswith("NC") else 1
        counts = cast(expand_dims(mask, 3 - steps), "bool")
        total = reduce_sum(where(counts, inputs, 0), steps, keepdims=self.keepdims)
        return divide(total, reduce_sum(cast(counts, inputs.dtype), steps, keepdims=self.keepdims))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """Return None: the result has no steps."""


class GlobalAveragePooling2D(_GlobalPooling):
    """The mean of each channel of images of shape (batch, height, width, channels).

    Parameters
    ----------
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    keepdims : bool, default False
        Whether the result has dimensions of length 1 instead of the spatial dimensions.

    Examples
    --------
    >>> jt.keras.layers.GlobalAveragePooling2D()(jt.ones([2, 4, 4, 3])).shape
    (2, 3)
    """

    spatial = 2
    function = staticmethod(reduce_mean)


class GlobalAveragePooling3D(_GlobalPooling):
    """The mean of each channel of volumes of shape (batch, depth, height, width, channels).

    Parameters
    ----------
    data_format : str, optional
        ``"channels_last"`` or ``"channels_first"``.
    keepdims : bool, default False
        Whether the result has dimensions of length 1 instead of the spatial dimensions.

    Examples
    --------
    >>> jt.keras.layers.GlobalAveragePooling3D()(jt.ones([2, 4, 4, 4, 3])).shape
    (2, 3)
    """

    spatial = 3
    function = staticmethod(reduce_mean)
