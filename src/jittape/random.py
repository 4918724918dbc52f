"""Random tensors: thin over NumPy's generator, under TensorFlow's names.

One generator serves the process; `set_seed` makes a run repeatable. What is drawn is a constant to every tape.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.config import config
from jittape.dtypes import as_dtype, is_floating
from jittape.errors import DTypeError, ShapeError
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor, tensor_of

__all__ = ["normal", "set_seed", "shuffle", "truncated_normal", "uniform"]

_generator: np.random.Generator | None = None


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

    Raises
    ------
    TypeError
        For a dtype that is not floating.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.normal([2, 3]).shape
    (2, 3)
    """
    wanted = _float_dtype("normal", dtype)
    return _tensor(_source(seed).normal(np.asarray(mean), np.asarray(stddev), _shape(shape)), wanted)


def truncated_normal(
    shape: Sequence[int] | int = (),
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers; those beyond two standard deviations are drawn again. Parameters as for `normal`.

    Examples
    --------
    >>> import jittape as jt
    >>> draw = jt.random.truncated_normal([1000], mean=5.0)
    >>> bool(jt.reduce_all((draw >= 3.0) & (draw <= 7.0)))
    True
    """
    wanted = _float_dtype("truncated_normal", dtype)
    source = _source(seed)
    draw = source.standard_normal(_shape(shape))
    outside = np.abs(draw) > 2.0
    while outside.any():
        draw = np.where(outside, source.standard_normal(draw.shape), draw)
        outside = np.abs(draw) > 2.0
    return _tensor(np.asarray(mean) + np.asarray(stddev) * draw, wanted)


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

    Examples
    --------
    >>> import jittape as jt
    >>> dice = jt.random.uniform([1000], 1, 7, jt.int32)
    >>> bool(jt.reduce_all((dice >= 1) & (dice <= 6)))
    True
    """
    wanted = as_dtype(config.default_float if dtype is None else dtype)
    if wanted.kind in "iu":
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {wanted.name}")
        return tensor_of(np.asarray(_source(seed).integers(minval, maxval, _shape(shape), wanted)))
    wanted = _float_dtype("uniform", wanted)
    low, high = np.asarray(minval, wanted), np.asarray(1.0 if maxval is None else maxval, wanted)
    draw = np.asarray(_source(seed).uniform(low, high, _shape(shape))).astype(wanted)
    # In fewer digits a number just below `maxval` may have become `maxval`.
    return tensor_of(np.where((draw >= high) & (low < high), np.nextafter(high, low), draw))


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in random order.

    Parameters
    ----------
    value : tensor-like
        Of one dimension at least.
    seed : int, optional
        Draw from a generator of its own with this seed.
    name : str, optional
        Accepted for TensorFlow's sake.

    Examples
    --------
    >>> import jittape as jt
    >>> sorted(jt.random.shuffle([1, 2, 3]).tolist())
    [1, 2, 3]
    """
    rows = convert_to_tensor(value).numpy()
    if not rows.ndim:
        raise ShapeError("[random.shuffle] a 0-d value has no rows")
    return tensor_of(_source(seed).permutation(rows))


def _source(seed: int | None) -> np.random.Generator:
    """The generator to draw from. The common one is made when it is first needed: numpy.random takes 9 ms to import."""
    global _generator
    if seed is not None:
        return np.random.default_rng(seed)
    if _generator is None:
        _generator = np.random.default_rng()
    return _generator


def _shape(shape: Sequence[int] | int) -> tuple[int, ...]:
    extents = (shape,) if np.ndim(shape) == 0 else tuple(shape)  # type: ignore[arg-type]
    return tuple([operator.index(n) for n in extents])  # type: ignore[arg-type]


def _float_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    wanted = as_dtype(config.default_float if dtype is None else dtype)
    if not is_floating(wanted):
        raise DTypeError(f"[random.{name}] draws floating-point numbers, not {wanted.name}; cast the result")
    return wanted


def _tensor(draw: Any, dtype: np.dtype[Any]) -> Tensor:
    return tensor_of(np.array(draw, dtype))
