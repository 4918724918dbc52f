"""Random functions of a seed, with TensorFlow's names and arguments. The same seed gives the same numbers.

The numbers are not TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.dtypes import as_dtype, int32
from jittape.random.arguments import seed_operand
from jittape.random.continuous import (
    Take,
    draw_normal,
    draw_truncated_normal,
    draw_uniform,
    draw_uniform_full_int,
)
from jittape.random.discrete import draw_binomial, draw_categorical, draw_poisson, draw_shuffle
from jittape.random.gammas import draw_gamma
from jittape.random.location_scale import draw_normal_between
from jittape.random.seeds import require_algorithm
from jittape.recording.tensor import Tensor

__all__ = [
    "Shape",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_parameterized_truncated_normal",
    "stateless_poisson",
    "stateless_shuffle",
    "stateless_truncated_normal",
    "stateless_uniform",
    "taken_from_seed",
]

Shape = Sequence[int] | int


def taken_from_seed(op: str, seed: Any, alg: Any = None) -> Take:
    """Return a function that gives the state of a seed for any number of blocks."""
    require_algorithm(op, alg)
    given = seed_operand(op, seed)
    return lambda blocks: given


def stateless_normal(
    shape: Shape,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Return normally distributed numbers that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    mean, stddev, dtype, name
        As for `normal`.
    alg : str
        Only Philox is available; for compatibility with TensorFlow.

    Raises
    ------
    DTypeError
        If `seed` is not an integer.
    ShapeError
        If a dimension is negative, or `seed` is not two numbers.

    Examples
    --------
    >>> import jittape as jt
    >>> a, b = (jt.random.stateless_normal([3], seed=[1, 2]) for _ in range(2))
    >>> bool(jt.reduce_all(a == b))
    True
    """
    take = taken_from_seed("stateless_normal", seed, alg)
    return draw_normal("stateless_normal", take, shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: Shape,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Return normal numbers within two standard deviations that depend only on the arguments.

    The parameters are those of `stateless_normal`.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    seed : tensor_like of shape (2,)
        Two integers.
    mean, stddev : float or tensor_like
        Mean and standard deviation before truncation.
    dtype : dtype, optional
        A float; the default float.
    alg : str or int
        Ignored.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `seed` is not an integer.
    ShapeError
        If a dimension is negative, or `seed` is not two numbers.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.reduce_max(jt.abs(jt.random.stateless_truncated_normal([1000], [1, 2])))) <= 2
    True
    """
    take = taken_from_seed("stateless_truncated_normal", seed, alg)
    return draw_truncated_normal("stateless_truncated_normal", take, shape, mean, stddev, dtype)


def stateless_parameterized_truncated_normal(
    shape: Shape,
    seed: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    name: str | None = None,
) -> Tensor:
    """Return normal numbers between bounds that depend only on the arguments.

    Gradients flow to all four parameters. The distribution function is inverted in float64.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result, to which the parameters broadcast.
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    means, stddevs : tensor-like
        Mean and standard deviation before truncation. The dtype of the result is that of the parameters, or the default
        float.
    minvals, maxvals : tensor-like
        Bounds of the numbers, also infinite ones. An interval that begins more than 37 standard deviations from the
        mean gives nan, and so do bounds in the wrong order in tensors.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `minvals` or `maxvals` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or the shapes do not broadcast.
    ValueError
        If `minvals` is not less than `maxvals`.

    Examples
    --------
    >>> import jittape as jt
    >>> draw = jt.random.stateless_parameterized_truncated_normal([1000], [1, 2], minvals=3.0, maxvals=4.0)
    >>> bool(jt.reduce_all((draw >= 3) & (draw <= 4)))
    True
    """
    op = "stateless_parameterized_truncated_normal"
    return draw_normal_between(op, taken_from_seed(op, seed), shape, means, stddevs, minvals, maxvals)


def stateless_uniform(
    shape: Shape,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = None,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Return uniformly distributed numbers in ``[minval, maxval)`` that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    minval, maxval, dtype, name
        As for `uniform`. For an integer dtype both may be None: all integers of the dtype.
    alg : str
        Only Philox is available; for compatibility with TensorFlow.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `minval` or `maxval` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or the shapes do not broadcast.
    ValueError
        If `minval` is not less than `maxval`.

    Examples
    --------
    >>> import jittape as jt
    >>> dice = jt.random.stateless_uniform([1000], [1, 2], 1, 7, jt.int32)
    >>> bool(jt.reduce_all((dice >= 1) & (dice <= 6)))
    True
    """
    take = taken_from_seed("stateless_uniform", seed, alg)
    if minval is None and maxval is None and dtype is not None and as_dtype(dtype).kind in "iu":
        return draw_uniform_full_int("stateless_uniform", take, shape, dtype)
    return draw_uniform("stateless_uniform", take, shape, minval, maxval, dtype)


def stateless_gamma(
    shape: Shape, seed: Any, alpha: Any, beta: Any = None, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return gamma distributed numbers that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result, to which `alpha` and `beta` broadcast.
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    alpha, beta, dtype, name
        As for `gamma`. Gradients flow to `alpha` and `beta`.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `alpha` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or the shapes do not broadcast.
    ValueError
        If `alpha` is not positive.

    Examples
    --------
    >>> import jittape as jt
    >>> bool(jt.reduce_all(jt.random.stateless_gamma([100], [1, 2], alpha=0.5) > 0))
    True
    """
    return draw_gamma("stateless_gamma", taken_from_seed("stateless_gamma", seed), shape, alpha, beta, dtype)


def stateless_poisson(
    shape: Shape, seed: Any, lam: Any, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Return Poisson distributed counts that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result, to which `lam` broadcasts.
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    lam, dtype, name
        As for `poisson`.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `lam` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or the shapes do not broadcast.
    ValueError
        If `lam` is negative or infinite, or exceeds an integer dtype.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.stateless_poisson([3], [1, 2], lam=5.0).dtype
    jt.int32
    """
    return draw_poisson("stateless_poisson", taken_from_seed("stateless_poisson", seed), shape, lam, dtype)


def stateless_binomial(
    shape: Shape, seed: Any, counts: Any, probs: Any, output_dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Return numbers of successes that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result, to which `counts` and `probs` broadcast.
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    counts, probs, name
        As for `binomial`.
    output_dtype : dtype
        An integer or floating dtype.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `counts` or `probs` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or the shapes do not broadcast.
    ValueError
        If `counts` is negative, or `probs` is not from 0 to 1.

    Examples
    --------
    >>> import jittape as jt
    >>> int(jt.reduce_max(jt.random.stateless_binomial([100], [1, 2], counts=10, probs=0.5))) <= 10
    True
    """
    take = taken_from_seed("stateless_binomial", seed)
    return draw_binomial("stateless_binomial", take, shape, counts, probs, output_dtype)


def stateless_categorical(
    logits: Any, num_samples: int, seed: Any, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return classes, drawn with probabilities proportional to ``exp(logits)``, that depend only on the arguments.

    Parameters
    ----------
    logits, num_samples, dtype, name
        As for `categorical`.
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.

    Raises
    ------
    DTypeError
        If `logits` is not real floating, or `seed` is not an integer.
    ShapeError
        If `logits` has not two dimensions, or `seed` is not two numbers.
    ValueError
        If a row of `logits` has a nan or no entry above -inf, or `num_samples` is negative.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.stateless_categorical([[0.0, 1.0]], 5, seed=[1, 2]).shape
    (1, 5)
    """
    take = taken_from_seed("stateless_categorical", seed)
    return draw_categorical("stateless_categorical", take, logits, num_samples, dtype)


def stateless_shuffle(value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None) -> Tensor:
    """Return the rows of `value` in an order that depends only on the arguments.

    Parameters
    ----------
    value : tensor-like
        Of at least one dimension.
    seed : tensor-like of shape (2,)
        Integers.
    alg : str
        Only Philox is available; for compatibility with TensorFlow.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `seed` is not an integer.
    ShapeError
        If `value` is a scalar, or `seed` is not two numbers.

    Examples
    --------
    >>> import jittape as jt
    >>> sorted(jt.random.stateless_shuffle([3, 1, 2], seed=[1, 2]).tolist())
    [1, 2, 3]
    """
    return draw_shuffle("stateless_shuffle", taken_from_seed("stateless_shuffle", seed, alg), value)
