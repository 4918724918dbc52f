"""More random functions that draw from the generator of the process: see `stateful`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.random.gammas import draw_beta, draw_dirichlet, draw_gamma
from jittape.random.location_scale import (
    draw_exponential,
    draw_gumbel,
    draw_laplace,
    draw_multivariate_normal,
)
from jittape.random.source import taken_from
from jittape.recording.tensor import Tensor

__all__ = [
    "Shape",
    "beta",
    "dirichlet",
    "exponential",
    "gamma",
    "gumbel",
    "laplace",
    "multivariate_normal",
]

Shape = Sequence[int] | int


# ---- gamma, beta, Dirichlet ------------------------------------------------------------------------------------------


def gamma(
    shape: Shape,
    alpha: Any,
    beta: Any = None,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw gamma distributed numbers for each pair of parameters.

    Gradients flow to `alpha` (implicit reparameterization, Figurnov et al., NeurIPS 2018) and to `beta`.

    Parameters
    ----------
    shape : sequence of int
        Shape of the numbers for one pair of parameters.
    alpha : number, array or tensor
        Shape parameter of the law, positive.
    beta : number, array or tensor, optional
        Inverse scale, positive; 1 if not given. It broadcasts with `alpha`.
    dtype, seed, name
        As for `normal`.

    Returns
    -------
    Tensor
        Its shape is `shape` followed by the shape to which `alpha` and `beta` broadcast. If `alpha` is a tensor, an
        element that is not positive gives nan.

    Raises
    ------
    DTypeError
        If `alpha` or `beta` is complex, or `dtype` is not floating.
    ShapeError
        If a dimension is negative, or `alpha` and `beta` do not broadcast.
    ValueError
        For parameters that are not positive, unless they are tensors.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.gamma([3], alpha=[0.5, 1.5]).shape
    (3, 2)
    """
    return draw_gamma("gamma", taken_from(seed), shape, alpha, beta, dtype, outer=True)


def beta(
    shape: Shape, a: Any, b: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw beta distributed numbers, between 0 and 1.

    Parameters
    ----------
    shape : sequence of int
    a, b : number, array or tensor that broadcasts to `shape`
        Positive; gradients flow to tensors.
    dtype, seed, name
        As for `normal`.

    Raises
    ------
    DTypeError
        If `a` or `b` is complex, or `dtype` is not floating.
    ShapeError
        If a dimension is negative, or a parameter does not broadcast to `shape`.
    ValueError
        If `a` or `b` is not positive, unless it is a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> draw = jt.random.beta([1000], 2.0, 3.0)
    >>> bool(jt.reduce_all((draw > 0) & (draw < 1)))
    True
    """
    return draw_beta("beta", taken_from(seed), shape, a, b, dtype)


def dirichlet(
    shape: Shape, alpha: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw vectors of positive numbers that add up to 1.

    Parameters
    ----------
    shape : sequence of int
        Shape of the vectors for one vector of parameters.
    alpha : array or tensor of shape (..., n)
        Positive; gradients flow to a tensor.
    dtype, seed, name
        As for `normal`.

    Returns
    -------
    Tensor
        Its shape is `shape` followed by the shape of `alpha`.

    Raises
    ------
    DTypeError
        If `alpha` is complex, or `dtype` is not floating.
    ShapeError
        If a dimension is negative, or the last one of `alpha` is 0 or missing.
    ValueError
        If `alpha` is not positive, unless it is a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> draw = jt.random.dirichlet([5], [1.0, 2.0, 3.0])
    >>> draw.shape, bool(jt.reduce_all(jt.abs(jt.reduce_sum(draw, 1) - 1) < 1e-5))
    ((5, 3), True)
    """
    return draw_dirichlet("dirichlet", taken_from(seed), shape, alpha, dtype)


# ---- location and scale ----------------------------------------------------------------------------------------------


def exponential(
    shape: Shape = (), scale: Any = 1.0, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw exponentially distributed numbers with mean `scale`.

    Parameters
    ----------
    shape : sequence of int
    scale : number, array or tensor that broadcasts to `shape`
        Not negative; gradients flow to a tensor.
    dtype, seed, name
        As for `normal`.

    Raises
    ------
    DTypeError
        If `scale` is complex, or `dtype` is not floating.
    ShapeError
        If a dimension is negative, or a parameter does not broadcast to `shape`.
    ValueError
        If `scale` is negative, unless it is a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> bool(jt.reduce_all(jt.random.exponential([1000], scale=2.0) > 0))
    True
    """
    return draw_exponential("exponential", taken_from(seed), shape, scale, dtype)


def laplace(
    shape: Shape = (),
    loc: Any = 0.0,
    scale: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw numbers with the density ``exp(-abs(x - loc) / scale) / (2 * scale)``.

    Parameters
    ----------
    shape : sequence of int
    loc, scale : number, array or tensor that broadcasts to `shape`
        `scale` is not negative; gradients flow to tensors.
    dtype, seed, name
        As for `normal`.

    Raises
    ------
    DTypeError
        If `loc` or `scale` is complex, or `dtype` is not floating.
    ShapeError
        If a dimension is negative, or a parameter does not broadcast to `shape`.
    ValueError
        If `scale` is negative, unless it is a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.laplace([2, 3]).shape
    (2, 3)
    """
    return draw_laplace("laplace", taken_from(seed), shape, loc, scale, dtype)


def gumbel(
    shape: Shape = (),
    loc: Any = 0.0,
    scale: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw numbers with the distribution function ``exp(-exp(-(x - loc) / scale))``.

    Parameters
    ----------
    shape : sequence of int
    loc, scale : number, array or tensor that broadcasts to `shape`
        `scale` is not negative; gradients flow to tensors.
    dtype, seed, name
        As for `normal`.

    Raises
    ------
    DTypeError
        If `loc` or `scale` is complex, or `dtype` is not floating.
    ShapeError
        If a dimension is negative, or a parameter does not broadcast to `shape`.
    ValueError
        If `scale` is negative, unless it is a tensor.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.gumbel([2, 3]).shape
    (2, 3)
    """
    return draw_gumbel("gumbel", taken_from(seed), shape, loc, scale, dtype)


def multivariate_normal(
    shape: Shape,
    mean: Any,
    cov: Any = None,
    scale_tril: Any = None,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw normally distributed vectors.

    Parameters
    ----------
    shape : sequence of int
        Shape of the vectors for one pair of parameters.
    mean : array or tensor of shape (..., n)
    cov : array or tensor of shape (..., n, n), optional
        Covariance, symmetric and positive definite; jittape factorizes it at each call.
    scale_tril : array or tensor of shape (..., n, n), optional
        Lower triangular factor L of the covariance ``L @ L.T``, instead of `cov`. All its elements are used.
    dtype, seed, name
        As for `normal`.

    Returns
    -------
    Tensor
        Its shape is `shape`, the shape to which the leading dimensions of `mean` and of the matrix broadcast, and
        ``(n,)``. Gradients flow to tensors.

    Raises
    ------
    ShapeError
        For shapes that do not fit.
    ValueError
        If both or neither of `cov` and `scale_tril` are given.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.multivariate_normal([5], [0.0, 1.0], cov=[[2.0, 1.0], [1.0, 2.0]]).shape
    (5, 2)
    """
    return draw_multivariate_normal(
        "multivariate_normal", taken_from(seed), shape, mean, cov, scale_tril, dtype
    )
