"""Normalization layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.argument_checks import NOT_NEGATIVE, UNIT, number
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError, ShapeError
from jittape.keras import initializers
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.nn.activation import l2_normalize
from jittape.primitives.nn.layer_functions import batch_normalization
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.reduce.statistics import moments
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, reshape, squeeze
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
    "BatchNormalization", "GroupNormalization", "LayerNormalization", "RMSNormalization", "UnitNormalization",
]  # fmt: skip


def _normalized_axis(layer: Layer, axis: Any, ndim: int) -> int:
    number = as_int("axis", axis)
    if not -ndim <= number < ndim:
        raise ShapeError(
            f"layer {layer.name!r}: axis {axis} does not exist in an input with {ndim} dimensions"
        )
    return number % ndim


@with_options(gamma="_gamma", beta="_beta")
class _Normalization(Layer):
    """Scale and offset of normalization layers."""

    supports_masking = True

    takes_floats = True

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.axis = axis
        self.epsilon = number(type(self).__name__, "epsilon", epsilon, NOT_NEGATIVE)
        self.center, self.scale = bool(center), bool(scale)
        self.gamma: Variable | None = None
        self.beta: Variable | None = None
        self._gamma = weight_options(gamma_initializer, gamma_regularizer, gamma_constraint)
        self._beta = weight_options(beta_initializer, beta_regularizer, beta_constraint)

    def _add_scale_and_offset(self, shape: tuple[int, ...]) -> None:
        if self.scale:
            self.gamma = self._gamma.add_to(self, shape, "gamma")
        if self.center:
            self.beta = self._beta.add_to(self, shape, "beta")

    def _normalized(self, x: Any, mean: Any, variance: Any, shape: tuple[int, ...]) -> Tensor:
        """Return ``(x - mean) / sqrt(variance + epsilon) * gamma + beta``, the weights in `shape`."""
        offset, scale = (None if w is None else reshape(w, shape) for w in (self.beta, self.gamma))
        return batch_normalization(x, mean, variance, offset, scale, self.epsilon)


class BatchNormalization(_Normalization):
    """Normalization of each channel: in training over the batch, else with moving averages (Ioffe and Szegedy 2015).

    Parameters
    ----------
    axis : int, default -1
        The dimension of the channels.
    momentum : float, default 0.99
        ``average = momentum * average + (1 - momentum) * batch``
    epsilon : float, default 1e-3
        Added to the variance.
    center, scale : bool, default True
        Whether an offset `beta` is added, and whether the result is multiplied by `gamma`.
    beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer : str or callable
    beta_regularizer, gamma_regularizer : str or callable, optional
    beta_constraint, gamma_constraint : callable, optional

    Notes
    -----
    A layer with ``trainable = False`` uses the moving averages also in training, as in TensorFlow.

    Examples
    --------
    >>> layer = jt.keras.layers.BatchNormalization()
    >>> layer([[1.0], [3.0]], training=True).numpy().round(3).ravel()
    array([-1.,  1.], dtype=float32)
    >>> layer.moving_mean.numpy().round(3)
    array([0.02], dtype=float32)
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        *,
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        **options: Any,
    ) -> None:
        super().__init__(axis, epsilon, center=center, scale=scale, **options)
        self.momentum = number("BatchNormalization", "momentum", momentum, UNIT)
        self.moving_mean: Variable | None = None
        self.moving_variance: Variable | None = None
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)

    def build(self, input_shape: Any) -> None:
        """Create the weights and the moving averages."""
        axis = _normalized_axis(self, self.axis, len(input_shape))
        shape = (int(input_shape[axis]),)
        self._add_scale_and_offset(shape)
        self.moving_mean = self.add_weight(
            shape, self.moving_mean_initializer, trainable=False, name="moving_mean"
        )
        self.moving_variance = self.add_weight(
            shape, self.moving_variance_initializer, trainable=False, name="moving_variance"
        )

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Tensor:
        """Return the normalized `inputs`; in training, update the moving averages.

        In training, the moments are those of the positions where `mask` is True. It has the dimensions of the inputs
        but the last.
        """
        assert self.moving_mean is not None
        assert self.moving_variance is not None
        ndim = len(inputs.shape)
        axis = _normalized_axis(self, self.axis, ndim)
        shape = tuple([n if i == axis else 1 for i, n in enumerate(inputs.shape)])
        if self.moving_mean.shape[0] != shape[axis]:
            raise ShapeError(
                f"layer {self.name!r} takes inputs with extent {self.moving_mean.shape[0]} along axis {self.axis}, got "
                f"shape {inputs.shape}"
            )
        mean: Any = self.moving_mean
        variance: Any = self.moving_variance
        if training and self.trainable:
            if inputs.dtype.kind == "c":
                raise DTypeError(
                    f"layer {self.name!r} takes real inputs in training, got {inputs.dtype.name}"
                )
            if 0 in tuple(inputs.shape):
                raise ShapeError(
                    f"layer {self.name!r} has no moments of an empty batch of shape {inputs.shape}: leave it out, or "
                    "call the layer with training=False"
                )
            others = [i for i in range(ndim) if i != axis]
            mean, variance = moments(inputs, others) if mask is None else self._masked(inputs, mask, others)
            for average, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
                average.assign(add(multiply(self.momentum, average), multiply(1.0 - self.momentum, now)))
        return self._normalized(inputs, reshape(mean, shape), reshape(variance, shape), shape)

    def _masked(self, inputs: Any, mask: Any, axes: list[int]) -> tuple[Any, Any]:
        """Return the moments of the inputs where `mask` is True."""
        weights = as_tensor(mask)
        if tuple(weights.shape) != tuple(inputs.shape[:-1]):
            raise ShapeError(
                f"layer {self.name!r} takes a mask of shape {tuple(inputs.shape[:-1])}, got {tuple(weights.shape)}"
            )
        weights = broadcast_to(expand_dims(cast(weights, inputs.dtype), -1), inputs.shape)
        count = maximum(reduce_sum(weights, axes, keepdims=True), self.epsilon)
        mean = divide(reduce_sum(multiply(inputs, weights), axes, keepdims=True), count)
        variance = divide(
            reduce_sum(multiply(square(subtract(inputs, mean)), weights), axes, keepdims=True), count
        )
        return squeeze(mean, axes), squeeze(variance, axes)


def _normalized_axes(layer: Layer, axis: Any, ndim: int) -> list[int]:
    given = axis if isinstance(axis, Sequence) else [axis]
    return sorted(_normalized_axis(layer, one, ndim) for one in given)


class LayerNormalization(_Normalization):
    """Normalization of each example over its last dimensions (Ba et al. 2016).

    Parameters
    ----------
    axis : int or sequence of int, default -1
        The normalized dimensions.
    epsilon : float, default 1e-3
        Added to the variance.
    center, scale : bool, default True
        Whether an offset `beta` is added, and whether the result is multiplied by `gamma`.
    beta_initializer, gamma_initializer : str or callable
    beta_regularizer, gamma_regularizer : str or callable, optional
    beta_constraint, gamma_constraint : callable, optional

    Examples
    --------
    >>> jt.keras.layers.LayerNormalization()([[1.0, 3.0]]).numpy().round(3)
    array([[-1.,  1.]], dtype=float32)
    """

    def build(self, input_shape: Any) -> None:
        """Create the weights for inputs of this shape."""
        axes = _normalized_axes(self, self.axis, len(input_shape))
        self._add_scale_and_offset(tuple([int(input_shape[axis]) for axis in axes]))

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized `inputs`."""
        axes = _normalized_axes(self, self.axis, len(inputs.shape))
        mean, variance = moments(inputs, axes, keepdims=True)
        shape = tuple([n if i in axes else 1 for i, n in enumerate(inputs.shape)])
        return self._normalized(inputs, mean, variance, shape)


class GroupNormalization(_Normalization):
    """Normalization of each example over groups of channels and all spatial dimensions (Wu and He 2018).

    Parameters
    ----------
    groups : int, default 32
        Number of groups; -1 for one group for each channel.
    axis : int, default -1
        The dimension of the channels.
    epsilon : float, default 1e-3
        Added to the variance.
    center, scale : bool, default True
        Whether an offset `beta` is added, and whether the result is multiplied by `gamma`.
    beta_initializer, gamma_initializer : str or callable
    beta_regularizer, gamma_regularizer : str or callable, optional
    beta_constraint, gamma_constraint : callable, optional

    Raises
    ------
    ValueError
        If the groups do not divide the channels.

    Examples
    --------
    >>> jt.keras.layers.GroupNormalization(2)([[1.0, 3.0, 10.0, 20.0]]).numpy().round(2)
    array([[-1.,  1., -1.,  1.]], dtype=float32)
    """

    def __init__(self, groups: int = 32, axis: int = -1, epsilon: float = 1e-3, **options: Any) -> None:
        super().__init__(axis, epsilon, **options)
        self.groups = as_int("groups", groups)

    def build(self, input_shape: Any) -> None:
        """Create the weights for inputs of this shape."""
        axis = _normalized_axis(self, self.axis, len(input_shape))
        if axis == 0:
            raise ValueError(f"layer {self.name!r}: axis must not be 0, that of the batch, got {self.axis}")
        channels = int(input_shape[axis])
        groups = channels if self.groups == -1 else self.groups
        if groups < 1 or channels % groups:
            raise ValueError(
                f"layer {self.name!r} has {groups} groups, which do not divide {channels} channels"
            )
        self._add_scale_and_offset((channels,))

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized `inputs`."""
        extents = inputs.shape
        axis = _normalized_axis(self, self.axis, len(extents))
        groups = extents[axis] if self.groups == -1 else self.groups
        split = (*extents[:axis], groups, extents[axis] // groups, *extents[axis + 1 :])
        divided = reshape(inputs, split)
        axes = [i for i in range(1, len(split)) if i != axis]
        mean, variance = moments(divided, axes, keepdims=True)
        centered = reshape(batch_normalization(divided, mean, variance, None, None, self.epsilon), extents)
        shape = tuple([n if i == axis else 1 for i, n in enumerate(extents)])
        result = centered if self.gamma is None else multiply(centered, reshape(self.gamma, shape))
        return result if self.beta is None else add(result, reshape(self.beta, shape))


class RMSNormalization(Layer):
    """Division of each example by the root of its mean square (Zhang and Sennrich 2019).

    Parameters
    ----------
    axis : int, default -1
        The normalized dimension.
    epsilon : float, default 1e-6
        Added to the mean square.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.RMSNormalization()([[1.0, 7.0]]).numpy().round(3)
    array([[0.2, 1.4]], dtype=float32)
    """

    supports_masking = takes_floats = True

    def __init__(self, axis: int = -1, epsilon: float = 1e-6, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis
        self.epsilon = number("RMSNormalization", "epsilon", epsilon, NOT_NEGATIVE)
        self.scale: Variable | None = None

    def build(self, input_shape: Any) -> None:
        """Create the scale for inputs of this shape."""
        axis = _normalized_axis(self, self.axis, len(input_shape))
        self.scale = self.add_weight((int(input_shape[axis]),), "ones", name="scale")

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized `inputs`."""
        assert self.scale is not None
        axis = _normalized_axis(self, self.axis, len(inputs.shape))
        root = sqrt(add(reduce_mean(square(inputs), axis, keepdims=True), self.epsilon))
        shape = tuple([n if i == axis else 1 for i, n in enumerate(inputs.shape)])
        return multiply(divide(inputs, root), reshape(self.scale, shape))


class UnitNormalization(Layer):
    """Division of each example by its norm.

    Parameters
    ----------
    axis : int or sequence of int, default -1
        The normalized dimensions.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.UnitNormalization()([[3.0, 4.0]]).numpy()
    array([[0.6, 0.8]], dtype=float32)
    """

    supports_masking = takes_floats = True

    def __init__(self, axis: Any = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized `inputs`."""
        axes = _normalized_axes(self, self.axis, len(inputs.shape))
        return l2_normalize(inputs, axes, epsilon=1e-24)
