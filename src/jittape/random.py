"""Random tensors: thin over NumPy's generator, under TensorFlow's names.

One generator serves the process; `set_seed` makes a run repeatable. What is drawn is a constant to every tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.config import config
from jittape.dtypes import as_dtype
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor, tensor_of

__all__ = ["normal", "set_seed", "shuffle", "truncated_normal", "uniform"]

_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    """Begin the sequence of random numbers anew.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.set_seed(1)
    >>> a = jt.random.normal([2])
    >>> jt.random.set_seed(1)
    >>> bool(jt.reduce_all(a == jt.random.normal([2])))
    True
    """
    global _generator
    _generator = np.random.default_rng(seed)


def normal(
    shape: Sequence[int] | int = (),
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers.

    Parameters
    ----------
    shape : sequence of int
    mean, stddev : float or array that broadcasts to `shape`
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    seed : int, optional
        Draw from a generator of its own with this seed.
    name : str, optional
        Accepted for TensorFlow's sake.
    """
    draw = _source(seed).normal(np.asarray(mean), np.asarray(stddev), _shape(shape))
    return _tensor(draw, dtype)


def truncated_normal(
    shape: Sequence[int] | int = (),
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers; those beyond two standard deviations are drawn again. Parameters as for `normal`."""
    source = _source(seed)
    draw = source.standard_normal(_shape(shape))
    outside = np.abs(draw) > 2.0
    while outside.any():
        draw = np.where(outside, source.standard_normal(draw.shape), draw)
        outside = np.abs(draw) > 2.0
    return _tensor(mean + stddev * draw, dtype)


def uniform(
    shape: Sequence[int] | int = (),
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers equally likely in ``[minval, maxval)``.

    Parameters
    ----------
    shape : sequence of int
    minval, maxval : number or array that broadcasts to `shape`
        `maxval` is 1 for floats if not given; integers need one.
    dtype : dtype, optional
        `jt.config.default_float` if not given; an integer dtype draws integers.
    seed : int, optional
        Draw from a generator of its own with this seed.
    name : str, optional
        Accepted for TensorFlow's sake.

    Raises
    ------
    ValueError
        For an integer dtype without `maxval`.
    """
    wanted = as_dtype(config.default_float if dtype is None else dtype)
    if wanted.kind in "iu":
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {wanted.name}")
        return tensor_of(np.asarray(_source(seed).integers(minval, maxval, _shape(shape), wanted)))
    low, high = np.asarray(minval), np.asarray(1.0 if maxval is None else maxval)
    return _tensor(_source(seed).uniform(low, high, _shape(shape)), wanted)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in random order."""
    rows = convert_to_tensor(value).numpy()
    return tensor_of(_source(seed).permutation(rows))


def _source(seed: int | None) -> np.random.Generator:
    return _generator if seed is None else np.random.default_rng(seed)


def _shape(shape: Sequence[int] | int) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)


def _tensor(draw: Any, dtype: Any) -> Tensor:
    return tensor_of(np.array(draw, as_dtype(config.default_float if dtype is None else dtype)))
