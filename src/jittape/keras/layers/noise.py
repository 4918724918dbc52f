"""Layers that change inputs at random in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from jittape import random
from jittape.core.argument_checks import BELOW_ONE, NOT_NEGATIVE, listed, number
from jittape.core.dtypes import is_floating
from jittape.errors import DTypeError
from jittape.keras.layers.data_formats import format_name, format_of, require_dimensions
from jittape.keras.layers.layer import Layer
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.comparison import greater_equal, where
from jittape.random.dropout import dropped
from jittape.random.generator import Generator

__all__ = [
    "AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D", "SpatialDropout2D",
    "SpatialDropout3D", "drop", "generator_of",
]  # fmt: skip


def generator_of(seed: int | None) -> Generator | None:
    """Return a generator for the calls of a layer with this seed; None for that of the process."""
    return None if seed is None else Generator.from_seed(seed)


def drop(generator: Generator | None, x: Any, rate: float, noise_shape: Sequence[int] | None = None) -> Any:
    """Return `x` with dropout, by a mask of the shape `noise_shape` that the generator draws."""
    if not x.dtype.is_floating:
        raise DTypeError(f"[Dropout] takes floating-point inputs, got {x.dtype.name}; cast them first")
    uniform = random.uniform if generator is None else generator.uniform
    return dropped(x, rate, uniform(x.shape if noise_shape is None else noise_shape, dtype=x.dtype))


class Dropout(Layer):
    """In training, a random fraction of the elements set to 0, and the others scaled up.

    Parameters
    ----------
    rate : float
        The fraction, at least 0 and below 1.
    noise_shape : sequence of int, optional
        Shape of the random mask, which broadcasts to that of the inputs; None in it is the extent of the inputs.
    seed : int, optional
        Layers with the same seed use the same sequence of masks. Each call uses the next mask of the sequence.

    Raises
    ------
    ValueError
        If `rate` is not at least 0 and below 1.
    DTypeError
        At a call in training, if the inputs are not floating-point numbers.

    Examples
    --------
    >>> layer = jt.keras.layers.Dropout(0.5)
    >>> sorted(set(layer(jt.ones([1000]), training=True).tolist())), set(layer(jt.ones([1000])).tolist())
    ([0.0, 2.0], {1.0})
    """

    supports_masking = True

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.rate = number(type(self).__name__, "rate", rate, BELOW_ONE)
        self.noise_shape = (
            None if noise_shape is None else tuple(listed("Dropout", "noise_shape", noise_shape))
        )
        self.seed = seed
        self.seed_generator = generator_of(seed)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return `inputs`, in training with dropout."""
        if not training or not self.rate:
            return inputs
        shape = inputs.shape if self.noise_shape is None else self.noise_shape
        if self.noise_shape is not None:
            if len(shape) != len(inputs.shape):
                raise ValueError(
                    f"layer {self.name!r}: noise_shape must have an entry for each of the {len(inputs.shape)} "
                    f"dimensions of the inputs, got {shape}"
                )
            shape = tuple([n if m is None else m for m, n in zip(shape, inputs.shape, strict=True)])
        return self._drop(inputs, shape)

    def _drop(self, x: Any, shape: Sequence[int]) -> Any:
        return drop(self.seed_generator, x, self.rate, shape)


class _SpatialDropout(Dropout):
    """Dropout of whole channels."""

    spatial: ClassVar[int]

    _left_out = "noise_shape"

    def __init__(
        self, rate: float, seed: int | None = None, data_format: str | None = None, **options: Any
    ) -> None:
        super().__init__(rate, None, seed, **options)
        self._format = format_of(type(self).__name__, data_format, self.spatial)
        self.data_format = format_name(self._format)

    def _config_of(self, home: type) -> dict[str, Any]:
        config = super()._config_of(home)
        del config["trainable"]  # Keras's layers have no such argument
        return config

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return `inputs`, in training without some channels."""
        require_dimensions(self.name, inputs.shape, self.spatial)
        if not training or not self.rate:
            return inputs
        ones = (1,) * self.spatial
        first = self._format.startswith("NC")
        shape = (*inputs.shape[:2], *ones) if first else (inputs.shape[0], *ones, inputs.shape[-1])
        return drop(self.seed_generator, inputs, self.rate, shape)


class SpatialDropout1D(_SpatialDropout):
    """In training, a random fraction of the channels of sequences set to 0, and the others scaled up.

    Parameters
    ----------
    rate : float
        The fraction, at least 0 and below 1.
    seed, **options : those of `Dropout`

    Examples
    --------
    >>> jt.keras.layers.SpatialDropout1D(0.5)(jt.ones([2, 3, 4])).shape
    (2, 3, 4)
    """

    _left_out = "data_format"

    spatial = 1


class SpatialDropout2D(_SpatialDropout):
    """In training, a random fraction of the channels of images set to 0, and the others scaled up.

    Parameters
    ----------
    rate : float
        The fraction, at least 0 and below 1.
    seed, data_format, **options : those of `Dropout` and of `Conv2D`

    Examples
    --------
    >>> jt.keras.layers.SpatialDropout2D(0.5)(jt.ones([2, 3, 3, 4])).shape
    (2, 3, 3, 4)
    """

    spatial = 2


class SpatialDropout3D(_SpatialDropout):
    """In training, a random fraction of the channels of volumes set to 0, and the others scaled up.

    Parameters
    ----------
    rate : float
        The fraction, at least 0 and below 1.
    seed, data_format, **options : those of `Dropout` and of `Conv3D`

    Examples
    --------
    >>> jt.keras.layers.SpatialDropout3D(0.5)(jt.ones([2, 3, 3, 3, 4])).shape
    (2, 3, 3, 3, 4)
    """

    spatial = 3


_SELU_MINIMUM = -1.6732632423543772 * 1.0507009873554805
"""Limit of the activation selu for large negative inputs."""


class AlphaDropout(Dropout):
    """Dropout for the activation selu: mean and variance of the inputs remain (Klambauer et al., NeurIPS 2017).

    In training, a random fraction of the elements becomes the limit of selu for large negative inputs. A factor and a
    shift then restore mean 0 and variance 1.

    Parameters
    ----------
    rate : float
        The fraction, at least 0 and below 1.
    noise_shape : sequence of int, optional
        As for `Dropout`.
    seed : int, optional
        As for `Dropout`.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `rate` is not at least 0 and below 1.
    DTypeError
        At a call in training, if the inputs are not floating-point numbers.

    Examples
    --------
    >>> layer = jt.keras.layers.AlphaDropout(0.5)
    >>> found = np.unique(layer(jt.ones([1000]), training=True).numpy())
    >>> [f"{value:.3f}" for value in found], set(layer(jt.ones([9])).tolist())
    (['-0.779', '1.666'], {1.0})
    """

    def _drop(self, x: Any, shape: Sequence[int]) -> Any:
        if not x.dtype.is_floating:
            raise DTypeError(
                f"[AlphaDropout] takes floating-point inputs, got {x.dtype.name}; cast them first"
            )
        uniform = random.uniform if self.seed_generator is None else self.seed_generator.uniform
        kept = greater_equal(uniform(shape, dtype=x.dtype), self.rate)
        factor = ((1.0 - self.rate) * (1.0 + self.rate * _SELU_MINIMUM**2)) ** -0.5
        return add(multiply(where(kept, x, _SELU_MINIMUM), factor), -factor * _SELU_MINIMUM * self.rate)


class GaussianDropout(Layer):
    """In training, the inputs times normally distributed numbers of mean 1 and deviation ``sqrt(rate / (1 - rate))``.

    Parameters
    ----------
    rate : float
        At least 0 and below 1.
    seed : int, optional
        As for `Dropout`.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `rate` is not at least 0 and below 1.

    Examples
    --------
    >>> layer = jt.keras.layers.GaussianDropout(0.5)
    >>> layer([1.0]).tolist(), layer([1.0], training=True).tolist() != [1.0]
    ([1.0], True)
    """

    supports_masking = True

    def __init__(self, rate: float, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.rate = number("GaussianDropout", "rate", rate, BELOW_ONE)
        self.seed, self.seed_generator = seed, generator_of(seed)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return `inputs`, in training times random numbers."""
        if not training or not self.rate:
            return inputs
        normal = random.normal if self.seed_generator is None else self.seed_generator.normal
        deviation = math.sqrt(self.rate / (1.0 - self.rate))
        return multiply(inputs, normal(inputs.shape, mean=1.0, stddev=deviation, dtype=inputs.dtype))


class GaussianNoise(Layer):
    """In training, normally distributed noise added to the inputs.

    Parameters
    ----------
    stddev : float
        Standard deviation of the noise.
    seed : int, optional
        Layers with the same seed add the same sequence of noise. Each call adds the next noise of the sequence.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `stddev` is negative or not finite.
    DTypeError
        At a call in training, if the inputs are not floating-point numbers.

    Examples
    --------
    >>> layer = jt.keras.layers.GaussianNoise(1.0)
    >>> layer([1.0]).tolist(), layer([1.0], training=True).tolist() != [1.0]
    ([1.0], True)
    """

    supports_masking = True

    def __init__(self, stddev: float, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.stddev = number("GaussianNoise", "stddev", stddev, NOT_NEGATIVE)
        self.seed = seed
        self.seed_generator = generator_of(seed)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return `inputs`, in training with noise."""
        if not training:
            return inputs
        if not is_floating(inputs.dtype):
            raise DTypeError(
                f"[GaussianNoise] takes floating-point inputs, got {inputs.dtype.name}; cast them first"
            )
        normal = random.normal if self.seed_generator is None else self.seed_generator.normal
        return add(inputs, normal(inputs.shape, 0.0, self.stddev, inputs.dtype))
