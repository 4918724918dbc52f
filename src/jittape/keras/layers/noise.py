"""Layers that change inputs at random in training."""

from __future__ import annotations

from typing import Any

from jittape import random
from jittape.core.argument_checks import BELOW_ONE, NOT_NEGATIVE, number
from jittape.keras.layers.layer import Layer
from jittape.primitives.elementwise.arithmetic import add
from jittape.random.dropout import dropout

__all__ = ["Dropout", "GaussianNoise"]


class Dropout(Layer):
    """In training, a random fraction of the elements set to 0, and the others scaled up.

    Parameters
    ----------
    rate : float
        The fraction, at least 0 and below 1.
    noise_shape : sequence of int, optional
        Shape of the random mask, which broadcasts to that of the inputs; None in it is the extent of the inputs.
    seed : int, optional
        Every call with a seed uses the same mask.

    Examples
    --------
    >>> layer = jt.keras.layers.Dropout(0.5)
    >>> sorted(set(layer(jt.ones([1000]), training=True).tolist())), set(layer(jt.ones([1000])).tolist())
    ([0.0, 2.0], {1.0})
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.rate = number("Dropout", "rate", rate, BELOW_ONE)
        self.noise_shape = None if noise_shape is None else tuple(noise_shape)
        self.seed = seed

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return `inputs`, in training with dropout."""
        if not training or not self.rate:
            return inputs
        shape = self.noise_shape
        if shape is not None:
            shape = tuple([n if m is None else m for m, n in zip(shape, inputs.shape, strict=True)])
        return dropout(inputs, self.rate, shape, self.seed)


class GaussianNoise(Layer):
    """In training, normally distributed noise added to the inputs.

    Parameters
    ----------
    stddev : float
        Standard deviation of the noise.
    seed : int, optional
        Seed of the numbers; the same seed gives the same numbers.
    **options : those of `Layer`

    Examples
    --------
    >>> layer = jt.keras.layers.GaussianNoise(1.0)
    >>> layer([1.0]).tolist(), layer([1.0], training=True).tolist() != [1.0]
    ([1.0], True)
    """

    def __init__(self, stddev: float, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.stddev = number("GaussianNoise", "stddev", stddev, NOT_NEGATIVE)
        self.seed = seed

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Return `inputs`, in training with noise."""
        if not training:
            return inputs
        return add(inputs, random.normal(inputs.shape, 0.0, self.stddev, inputs.dtype, self.seed))
