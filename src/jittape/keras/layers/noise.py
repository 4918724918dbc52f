"""Layers that change inputs at random in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape import random
from jittape.core.argument_checks import BELOW_ONE, NOT_NEGATIVE, number
from jittape.errors import DTypeError
from jittape.keras.layers.layer import Layer
from jittape.primitives.elementwise.arithmetic import add
from jittape.random.dropout import dropped
from jittape.random.generator import Generator

__all__ = ["Dropout", "GaussianNoise", "drop", "generator_of"]


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
        self.rate = number("Dropout", "rate", rate, BELOW_ONE)
        self.noise_shape = None if noise_shape is None else tuple(noise_shape)
        self.seed = seed
        self.seed_generator = generator_of(seed)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return `inputs`, in training with dropout."""
        if not training or not self.rate:
            return inputs
        shape = self.noise_shape
        if shape is not None:
            if len(shape) != len(inputs.shape):
                raise ValueError(
                    f"layer {self.name!r}: noise_shape must have an entry for each of the {len(inputs.shape)} "
                    f"dimensions of the inputs, got {shape}"
                )
            shape = tuple([n if m is None else m for m, n in zip(shape, inputs.shape, strict=True)])
        return drop(self.seed_generator, inputs, self.rate, shape)


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
        normal = random.normal if self.seed_generator is None else self.seed_generator.normal
        return add(inputs, normal(inputs.shape, 0.0, self.stddev, inputs.dtype))
