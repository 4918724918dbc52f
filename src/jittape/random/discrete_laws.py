"""Random counts and classes that draw from the generator of the process: see `stateful`."""

from __future__ import annotations

from typing import Any

from jittape.core.config import config
from jittape.core.dtypes import int32
from jittape.random.discrete import draw_bernoulli, draw_binomial, draw_categorical, draw_poisson
from jittape.random.laws import Shape
from jittape.random.source import taken_from
from jittape.recording.tensor import Tensor

__all__ = ["bernoulli", "binomial", "categorical", "poisson"]


def poisson(
    shape: Shape, lam: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw Poisson distributed counts for each element of `lam`.

    Parameters
    ----------
    shape : sequence of int
        Shape of the counts for one element of `lam`.
    lam : number, array or tensor
        Mean, at least 0. If it is a tensor, an invalid element gives nan, or -1 in an integer dtype.
    dtype : dtype, optional
        An integer or floating dtype; `jt.config.default_float` if not given.
    seed, name
        As for `normal`.

    Returns
    -------
    Tensor
        Its shape is `shape` followed by the shape of `lam`.

    Raises
    ------
    DTypeError
        If `lam` is complex, or `dtype` is neither an integer nor a floating dtype.
    ShapeError
        If a dimension is negative.
    ValueError
        If `lam` is negative or not finite, unless it is a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> counts = jt.random.poisson([100], [0.5, 30.0], dtype=jt.int32)
    >>> counts.shape, bool(jt.reduce_all(counts >= 0))
    ((100, 2), True)
    """
    return draw_poisson(
        "poisson", taken_from(seed), shape, lam, config.default_float if dtype is None else dtype, outer=True
    )


def binomial(
    shape: Shape,
    counts: Any,
    probs: Any,
    dtype: Any = int32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw numbers of successes among `counts` trials with success probability `probs`.

    Parameters
    ----------
    shape : sequence of int
    counts, probs : number, array or tensor that broadcasts to `shape`
        If they are tensors, invalid elements give nan, or -1 in an integer dtype.
    dtype : dtype
        An integer or floating dtype.
    seed, name
        As for `normal`.

    Raises
    ------
    DTypeError
        If `counts` or `probs` is complex, or `dtype` is neither an integer nor a floating dtype.
    ShapeError
        If a dimension is negative, or a parameter does not broadcast to `shape`.
    ValueError
        If `counts` are no integers of at least 0, or `probs` is not between 0 and 1, unless they are tensors.

    Examples
    --------
    >>> import jittape as jt
    >>> heads = jt.random.binomial([100], counts=10, probs=0.5)
    >>> bool(jt.reduce_all((heads >= 0) & (heads <= 10)))
    True
    """
    return draw_binomial("binomial", taken_from(seed), shape, counts, probs, dtype)


def bernoulli(
    shape: Shape = (),
    probs: Any = 0.5,
    dtype: Any = int32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw 1 with probability `probs`, and otherwise 0.

    Parameters
    ----------
    shape : sequence of int
    probs : number, array or tensor that broadcasts to `shape`
        If it is a tensor, an invalid element gives nan, or -1 in an integer dtype, or `ValueError` for bool.
    dtype : dtype
        An integer or floating dtype, or bool.
    seed, name
        As for `normal`.

    Raises
    ------
    DTypeError
        If `probs` is complex, or `dtype` is none of those above.
    ShapeError
        If a dimension is negative, or a parameter does not broadcast to `shape`.
    ValueError
        If `probs` is not between 0 and 1, unless it is a tensor and `dtype` is not bool.

    Examples
    --------
    >>> import jittape as jt
    >>> sorted(set(jt.random.bernoulli([100], 0.3).tolist()))
    [0, 1]
    """
    return draw_bernoulli("bernoulli", taken_from(seed), shape, probs, dtype)


def categorical(
    logits: Any, num_samples: int, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw classes with probabilities proportional to ``exp(logits)``.

    Parameters
    ----------
    logits : tensor-like of shape (batch, classes)
        Of a floating dtype. The class of a logit of -inf is not drawn; logits of inf share the probability. If it is a
        tensor, a row that contains nan or only -inf gives -1.
    num_samples : int
        Number of classes to draw for each row.
    dtype : dtype, optional
        int64 if not given.
    seed, name
        As for `normal`.

    Returns
    -------
    Tensor of shape (batch, num_samples)

    Raises
    ------
    DTypeError
        If `logits` is not floating, or `dtype` cannot hold the number of classes.
    ShapeError
        If `logits` has not two dimensions, or no classes.
    ValueError
        If `num_samples` is negative, or all logits of a row are -inf or one is nan, unless `logits` is a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> classes = jt.random.categorical(jt.math.log([[0.2, 0.0, 0.8]]), 100)
    >>> sorted(set(classes[0].tolist()))
    [0, 2]
    """
    return draw_categorical("categorical", taken_from(seed), logits, num_samples, dtype)
