"""Layers without weights: reshaping, activations, and the declaration of an input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jittape.core.user_calls import as_int
from jittape.keras.activations import activation_of, linear
from jittape.keras.layers.data_formats import format_of
from jittape.keras.layers.layer import Layer
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import hashable, reshape, transpose
from jittape.recording.tensor import Tensor

__all__ = ["Activation", "Concatenate", "Flatten", "Input", "Reshape"]


class Input(Layer):
    """The shape of the inputs, as the first layer of a `Sequential`, which then builds its layers at once.

    Parameters
    ----------
    shape : sequence of int
        Without the batch dimension.
    batch_size : int, optional
        Ignored; for compatibility with TensorFlow.
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    name : str, optional

    Raises
    ------
    ValueError
        If an extent of `shape` is negative.

    Examples
    --------
    >>> layers = jt.keras.layers
    >>> net = jt.keras.Sequential([layers.Input([4]), layers.Dense(3)])
    >>> net.count_params()
    15
    """

    def __init__(
        self,
        shape: Sequence[int],
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        self.shape = hashable(shape)
        if not isinstance(self.shape, tuple) or not all(isinstance(n, int) and n >= 0 for n in self.shape):
            raise ValueError(f"[Input] shape must be a list of ints of at least 0, got {shape!r}")

    def example(self) -> Tensor:
        """Return zeros of the shape of one input."""
        return zeros((1, *self.shape), self.dtype)

    def call(self, inputs: Any) -> Any:
        """Return `inputs` after a check of their shape."""
        if tuple(inputs.shape[1:]) != self.shape:
            raise ValueError(
                f"layer {self.name!r} takes inputs of shape {('batch', *self.shape)}, got shape {tuple(inputs.shape)}"
            )
        return inputs


class Flatten(Layer):
    """All dimensions after the first as one.

    Parameters
    ----------
    data_format : str, optional
        With ``"channels_first"``, the channels of inputs become the last dimension before.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Flatten()(jt.ones([2, 3, 4])).shape
    (2, 12)
    """

    def __init__(self, data_format: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.channels_first = format_of("Flatten", data_format, 1).startswith("NC")

    def call(self, inputs: Any) -> Tensor:
        """Return `inputs` with two dimensions."""
        if not inputs.shape:
            raise ValueError(f"layer {self.name!r} takes inputs with a batch dimension, got a scalar")
        if self.channels_first and len(inputs.shape) > 2:
            inputs = transpose(inputs, (0, *range(2, len(inputs.shape)), 1))
        return reshape(inputs, (inputs.shape[0], math.prod(inputs.shape[1:])))


class Reshape(Layer):
    """The dimensions after the first in another shape, of which one may be -1.

    Parameters
    ----------
    target_shape : tuple or list of int
        Shape without the dimension of the batch.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Reshape([2, -1])(jt.ones([5, 6])).shape
    (5, 2, 3)
    """

    def __init__(self, target_shape: Sequence[int], **options: Any) -> None:
        super().__init__(**options)
        if not isinstance(target_shape, (tuple, list)):
            raise TypeError(f"[Reshape] target_shape must be a tuple or list of ints, got {target_shape!r}")
        self.target_shape = tuple([as_int("target_shape", n) for n in target_shape])

    def call(self, inputs: Any) -> Tensor:
        """Return `inputs` in the shape ``(batch, *target_shape)``."""
        if not inputs.shape:
            raise ValueError(f"layer {self.name!r} takes inputs with a batch dimension, got a scalar")
        shape, size = list(self.target_shape), math.prod(inputs.shape[1:])
        given = math.prod([n for n in shape if n != -1])
        if shape.count(-1) == 1 and type(size) is int and given > 0 and size % given == 0:
            shape[shape.index(-1)] = size // given  # a batch without rows does not determine it
        return reshape(inputs, (inputs.shape[0], *shape))


class Activation(Layer):
    """A function of the inputs, such as ``"relu"``.

    Parameters
    ----------
    activation : str or callable
        Name of an activation, or a function.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Activation("relu")([-1.0, 1.0]).numpy()
    array([0., 1.], dtype=float32)
    """

    def __init__(self, activation: Any, **options: Any) -> None:
        super().__init__(**options)
        self.activation = activation_of("Activation", activation) or linear

    def call(self, inputs: Any) -> Any:
        """Return the activation of `inputs`."""
        return self.activation(inputs)


class Concatenate(Layer):
    """Several inputs joined along a dimension.

    Parameters
    ----------
    axis : int
        The dimension along which the inputs are joined.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Concatenate()([jt.ones([2, 3]), jt.zeros([2, 1])]).shape
    (2, 4)
    """

    def __init__(self, axis: int = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def call(self, inputs: Any) -> Tensor:
        """Return the joined `inputs`."""
        return concat(inputs, self.axis)
