"""The multivariate beta and gamma functions: sums of logarithms of gamma functions."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.builder import literal
from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.broadcast import broadcast, iota
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import equal, greater, greater_equal, logical_and, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import log, log1p
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.elementwise.special import lgamma
from jittape.primitives.identity import stop_gradient_op
from jittape.primitives.record_parts import filled, floating, require_kinds
from jittape.primitives.reduce.reductions import reduce_max, reduce_min, reduce_sum
from jittape.primitives.reduce.statistics import argmax
from jittape.primitives.shape.reshaping import expand_dims
from jittape.typing import Tensor, TensorLike

__all__ = ["lbeta", "multigammaln"]

LARGE = 8.0
"""Number from which on Stirling's series is accurate to double precision."""
HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""Coefficients of the odd powers of ``1 / x`` in Stirling's series."""


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
    correction = subtract(_lbeta_by_series(x), difference)
    defined = logical_and(greater(reduce_min(x, -1), 0), is_finite(correction))
    return add(difference, stop_gradient_op.bind(where(defined, correction, 0)))


def _lbeta_by_series(x: Any) -> Any:
    """Return `lbeta` of positive elements with Stirling's series where the logarithms of the gamma functions cancel.

    With t the sum of the elements, those below `LARGE` contribute ``lgamma(x) - x (log(t) - 1)``, and others
    ``x log(x / t) - log(x) / 2 + log(2 pi) / 2 + correction(x)``.
    """
    rank = len(x.shape)
    place = broadcast(expand_dims(argmax(x, axis=-1, output_type=int64), -1), x.shape)
    greatest = equal(iota(x.shape, rank - 1, int64), place)
    rest = reduce_sum(where(greatest, 0, x), -1)
    total = add(rest, reduce_max(x, -1))
    each_total, each_rest = [broadcast(expand_dims(t, -1), x.shape) for t in (total, rest)]
    log_total = log(total)
    large = maximum(x, LARGE)
    log_ratio = where(greatest, log1p(negative(divide(each_rest, each_total))), log(divide(x, each_total)))
    of_large = subtract(multiply(x, log_ratio), multiply(log(large), 0.5))
    of_large = add(of_large, add(_stirling_correction(large), HALF_LOG_2_PI))
    of_small = subtract(lgamma(x), multiply(x, subtract(broadcast(expand_dims(log_total, -1), x.shape), 1.0)))
    terms = reduce_sum(where(greater_equal(x, LARGE), of_large, of_small), -1)
    of_total = add(_stirling_correction(maximum(total, LARGE)), HALF_LOG_2_PI)
    sums = subtract(add(terms, multiply(log_total, 0.5)), of_total)
    return where(greater_equal(total, LARGE), sums, math.nan)


def _stirling_correction(x: Any) -> Any:
    """Return ``lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2`` of numbers of at least `LARGE`."""
    inverse = reciprocal(x)
    square_of_inverse = multiply(inverse, inverse)
    total: Any = filled(x, STIRLING[-1])
    for coefficient in STIRLING[-2::-1]:
        total = add(multiply(total, square_of_inverse), coefficient)
    return multiply(total, inverse)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the beta function of the elements along the last dimension.

    It is the sum of their `lgamma`, minus the `lgamma` of their sum: the normalization of the Dirichlet distribution.
    If all are positive, the error is a few units in the last place of the larger of 1 and the result.

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
