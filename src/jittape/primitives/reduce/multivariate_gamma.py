"""The multivariate beta and gamma functions: sums of logarithms of gamma functions."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.builder import literal
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add, subtract
from jittape.primitives.elementwise.comparison import greater, where
from jittape.primitives.elementwise.gamma_beta import betaln
from jittape.primitives.elementwise.special import lgamma
from jittape.primitives.record_parts import filled, floating, require_kinds
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.reduce.reductions import reduce_min, reduce_sum
from jittape.primitives.shape.reshaping import expand_dims
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["lbeta", "multigammaln"]


def _lbeta(x: Any) -> Any:
    x = floating(x)
    require_kinds("lbeta", "f", x.aval)
    if not x.shape:
        raise ShapeError("[lbeta] x must have at least one dimension, got a scalar; the last one is reduced")
    if x.shape[-1] == 0:
        return filled(reduce_sum(x, -1), -math.inf)
    difference = subtract(reduce_sum(lgamma(x), -1), lgamma(reduce_sum(x, -1)))
    if x.shape[-1] == 1:
        return difference
    # The logarithms of great and small elements cancel, so the beta functions of partial sums and next elements are
    # multiplied instead. They are defined only for positive elements.
    positive = greater(reduce_min(x, -1), 0)
    ones = where(broadcast(expand_dims(positive, -1), x.shape), x, 1)
    axis = len(x.shape) - 1
    count = x.shape[-1] - 1
    sums, rest = sliced(cumsum(ones, axis=axis), axis, 0, count), sliced(ones, axis, 1, count)
    return where(positive, reduce_sum(betaln(sums, rest), -1), difference)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the beta function of the elements along the last dimension.

    It is the sum of their `lgamma`, minus the `lgamma` of their sum: the normalization of the Dirichlet distribution.
    Elements of very different sizes lose no digits if all are positive.

    Parameters
    ----------
    x : tensor_like, shape (..., n)
        Positive; integers give floats. Without elements the result is -inf.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor, shape (...)

    Raises
    ------
    ShapeError
        If `x` is a scalar.

    Examples
    --------
    >>> jt.math.lbeta([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]]).numpy().round(4)
    array([-4.0943, -4.7875], dtype=float32)
    """
    return apply(_lbeta, (x,))


def _multigammaln(a: Any, d: int) -> Any:
    a = floating(a)
    require_kinds("multigammaln", "f", a.aval)
    total: Any = literal(d * (d - 1) / 4 * math.log(math.pi), a.dtype)
    for j in range(d):
        total = add(total, lgamma(subtract(a, j / 2)))
    return total


def multigammaln(a: TensorLike, d: int, name: str | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension `d` (DLMF 35.3.4).

    Parameters
    ----------
    a : tensor_like
        Greater than ``(d - 1) / 2``; integers give floats.
    d : int
        Dimension of the matrices, at least 1. It is part of the program's structure.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `d` is less than 1.

    Examples
    --------
    >>> jt.math.multigammaln([3.0], 2).numpy().round(4)
    array([1.5502], dtype=float32)
    """
    dimension = as_int("d", d)
    if not 1 <= dimension <= 1000:
        raise ValueError(f"[multigammaln] d, the dimension, must be from 1 to 1000, got {d}")
    return apply(_multigammaln, (a,), (dimension,))
