"""Random numbers from a seed, from a `SeedGenerator`, or from the generator of the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape import random
from jittape.random.generator import Generator
from jittape.recording.tensor import Tensor

__all__ = ["SeedGenerator", "normal", "randint", "truncated_normal", "uniform"]


class SeedGenerator:
    """A source of seeds: each call of a function that gets it as `seed` draws other numbers.

    Parameters
    ----------
    seed : int, optional
        Generators with the same seed give the same numbers in the same order.

    Raises
    ------
    ValueError
        If `seed` is no int.

    Examples
    --------
    >>> first, second = jt.keras.random.SeedGenerator(3), jt.keras.random.SeedGenerator(3)
    >>> [bool(x == y) for x, y in [(jt.keras.random.normal([], seed=s), jt.keras.random.normal([], seed=t))
    ...                            for s, t in [(first, second), (first, second)]]]
    [True, True]
    """

    def __init__(self, seed: int | None = None, name: str | None = None) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer))):
            raise ValueError(f"[SeedGenerator] seed must be an int or None, got {seed!r}")
        made = Generator.from_non_deterministic_state() if seed is None else Generator.from_seed(int(seed))
        self.generator: Generator = made
        self.seed, self.name = seed, name


def _source(function: str, seed: Any) -> Any:
    """Return what has the methods `normal` and `uniform`, and the arguments that it gets besides."""
    if seed is None:
        return random
    if isinstance(seed, SeedGenerator):
        return seed.generator
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(
            f"[{function}] seed must be None, an int or a jt.keras.random.SeedGenerator, got {seed!r}"
        )
    return Generator.from_seed(int(seed))


def normal(
    shape: Sequence[int], mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Draw normally distributed numbers.

    Parameters
    ----------
    shape : sequence of int
    mean, stddev : float
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    seed : int or SeedGenerator, optional
        With an int, each call gives the same numbers.

    Raises
    ------
    TypeError
        If `seed` is anything else, or a parameter is no number.
    ValueError
        If a parameter has no values that numbers can be drawn with.
    ShapeError
        If an extent is negative, or a parameter does not broadcast to `shape`.

    Examples
    --------
    >>> jt.keras.random.normal([2, 3], seed=1).shape
    (2, 3)
    """
    return _draw("normal", seed, shape, mean, stddev, dtype)


def truncated_normal(
    shape: Sequence[int], mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Draw normally distributed numbers within two standard deviations.

    Parameters
    ----------
    shape, mean, stddev, dtype, seed
        As for `normal`.

    Raises
    ------
    TypeError
        If `seed` is anything else, or a parameter is no number.
    ValueError
        If a parameter has no values that numbers can be drawn with.
    ShapeError
        If an extent is negative, or a parameter does not broadcast to `shape`.

    Examples
    --------
    >>> float(jt.reduce_max(jt.abs(jt.keras.random.truncated_normal([100], seed=1)))) <= 2.0
    True
    """
    return _draw("truncated_normal", seed, shape, mean, stddev, dtype)


def uniform(
    shape: Sequence[int], minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Draw uniformly distributed numbers in ``[minval, maxval)``.

    Parameters
    ----------
    shape, dtype, seed
        As for `normal`.
    minval, maxval : float

    Raises
    ------
    TypeError
        If `seed` is anything else, or a parameter is no number.
    ValueError
        If a parameter has no values that numbers can be drawn with.
    ShapeError
        If an extent is negative, or a parameter does not broadcast to `shape`.

    Examples
    --------
    >>> jt.keras.random.uniform([2, 3], minval=-1.0, seed=1).shape
    (2, 3)
    """
    return _draw("uniform", seed, shape, minval, maxval, dtype)


def randint(shape: Sequence[int], minval: int, maxval: int, dtype: Any = "int32", seed: Any = None) -> Tensor:
    """Draw integers in ``[minval, maxval)``.

    Parameters
    ----------
    shape, seed
        As for `normal`.
    minval, maxval : int
    dtype : dtype

    Raises
    ------
    TypeError
        If `seed` is anything else, or a parameter is no number.
    ValueError
        If a parameter has no values that numbers can be drawn with.
    ShapeError
        If an extent is negative, or a parameter does not broadcast to `shape`.

    Examples
    --------
    >>> bool(jt.reduce_all(jt.keras.random.randint([100], 0, 3, seed=1) < 3))
    True
    """
    return _draw("uniform", seed, shape, minval, maxval, dtype)


def _draw(function: str, seed: Any, *arguments: Any) -> Tensor:
    draw: Callable[..., Tensor] = getattr(_source(function, seed), function)
    return draw(*arguments)
