"""Random functions that draw from the generator of the process, with TensorFlow's names and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.random.continuous import draw_normal, draw_truncated_normal, draw_uniform
from jittape.random.discrete import draw_shuffle
from jittape.random.source import taken_from
from jittape.recording.tensor import Tensor

__all__ = ["normal", "shuffle", "truncated_normal", "uniform"]

Shape = Sequence[int] | int


def normal(
    shape: Shape = (),
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw normally distributed numbers.

    Parameters
    ----------
    shape : sequence of int
    mean, stddev : float, array or tensor that broadcasts to `shape`
        Gradients flow to tensors.
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    seed : int, optional
        Seed of a separate generator: every call with it gives the same numbers.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    TypeError
        For a dtype that is not floating.
    ValueError
        For a negative `stddev` that is not a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.normal([2, 3]).shape
    (2, 3)
    """
    return draw_normal("normal", taken_from(seed), shape, mean, stddev, dtype)


def truncated_normal(
    shape: Shape = (),
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw normally distributed numbers within two standard deviations. Parameters as for `normal`.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    mean, stddev : float or tensor_like
        Mean and standard deviation before truncation.
    dtype : dtype, optional
        A float; the default float.
    seed : int, optional
        Seed of the call.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `mean` is complex.
    ShapeError
        If a dimension is negative, or the shapes do not broadcast.

    Examples
    --------
    >>> import jittape as jt
    >>> draw = jt.random.truncated_normal([1000], mean=5.0)
    >>> bool(jt.reduce_all((draw >= 3.0) & (draw <= 7.0)))
    True
    """
    return draw_truncated_normal("truncated_normal", taken_from(seed), shape, mean, stddev, dtype)


def uniform(
    shape: Shape = (),
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw uniformly distributed numbers in ``[minval, maxval)``.

    Parameters
    ----------
    shape : sequence of int
    minval, maxval : number, array or tensor that broadcasts to `shape`
        `maxval` is 1 for floats by default, and required for integers. Gradients flow to tensors.
    dtype : dtype, optional
        `jt.config.default_float` if not given; an integer dtype draws integers.
    seed : int, optional
        Seed of a separate generator: every call with it gives the same numbers.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    ValueError
        For an integer dtype without `maxval`, and for an empty range.

    Examples
    --------
    >>> import jittape as jt
    >>> dice = jt.random.uniform([1000], 1, 7, jt.int32)
    >>> bool(jt.reduce_all((dice >= 1) & (dice <= 6)))
    True
    """
    return draw_uniform("uniform", taken_from(seed), shape, minval, maxval, dtype)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return the rows of `value` in random order.

    Parameters
    ----------
    value : tensor-like
        Of at least one dimension.
    seed : int, optional
        Seed of a separate generator: every call with it gives the same order.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    ShapeError
        If `value` is a scalar.

    Examples
    --------
    >>> import jittape as jt
    >>> sorted(jt.random.shuffle([1, 2, 3]).tolist())
    [1, 2, 3]
    """
    return draw_shuffle("shuffle", taken_from(seed), value)
