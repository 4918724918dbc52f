"""More random functions of a seed, for laws that TensorFlow has no such function of: see `stateless`."""

from __future__ import annotations

from typing import Any

from jittape.random.gammas import draw_beta, draw_dirichlet
from jittape.random.location_scale import draw_exponential, draw_multivariate_normal
from jittape.random.stateless import Shape, taken_from_seed
from jittape.recording.tensor import Tensor

__all__ = ["stateless_beta", "stateless_dirichlet", "stateless_exponential", "stateless_multivariate_normal"]


def stateless_beta(
    shape: Shape, seed: Any, a: Any, b: Any, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return beta distributed numbers that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    a, b, dtype, name
        As for `beta`. Gradients flow to `a` and `b`.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `a` or `b` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or a parameter does not broadcast to `shape`.
    ValueError
        If `a` or `b` is not positive.

    Examples
    --------
    >>> import jittape as jt
    >>> draw = jt.random.stateless_beta([100], [1, 2], 2.0, 3.0)
    >>> bool(jt.reduce_all((draw > 0) & (draw < 1)))
    True
    """
    return draw_beta("stateless_beta", taken_from_seed("stateless_beta", seed), shape, a, b, dtype)


def stateless_dirichlet(
    shape: Shape, seed: Any, alpha: Any, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return vectors of positive numbers that add up to 1 and depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
        Shape of the vectors for one vector of parameters.
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    alpha, dtype, name
        As for `dirichlet`. Gradients flow to `alpha`.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `alpha` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or the last dimension of `alpha` is 0 or missing.
    ValueError
        If `alpha` is not positive.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.stateless_dirichlet([5], [1, 2], [1.0, 2.0, 3.0]).shape
    (5, 3)
    """
    op = "stateless_dirichlet"
    return draw_dirichlet(op, taken_from_seed(op, seed), shape, alpha, dtype)


def stateless_exponential(
    shape: Shape, seed: Any, scale: Any = 1.0, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return exponentially distributed numbers that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    scale, dtype, name
        As for `exponential`. Gradients flow to `scale`.

    Raises
    ------
    DTypeError
        If `seed` is not an integer, or `scale` is complex.
    ShapeError
        If a dimension is negative, `seed` is not two numbers, or `scale` does not broadcast to `shape`.
    ValueError
        If `scale` is negative.

    Examples
    --------
    >>> import jittape as jt
    >>> bool(jt.reduce_all(jt.random.stateless_exponential([100], [1, 2], scale=2.0) > 0))
    True
    """
    op = "stateless_exponential"
    return draw_exponential(op, taken_from_seed(op, seed), shape, scale, dtype)


def stateless_multivariate_normal(
    shape: Shape,
    seed: Any,
    mean: Any,
    cov: Any = None,
    scale_tril: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return normally distributed vectors that depend only on the arguments.

    Parameters
    ----------
    shape : sequence of int
        Shape of the vectors for one pair of parameters.
    seed : tensor-like of shape (2,)
        Integers. Use each seed once; `split` and `fold_in` make new ones.
    mean, cov, scale_tril, dtype, name
        As for `multivariate_normal`. Gradients flow to the parameters.

    Raises
    ------
    DTypeError
        If `seed` is not an integer.
    ShapeError
        If `seed` is not two numbers, or for shapes that do not fit.
    ValueError
        If both or neither of `cov` and `scale_tril` are given.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.stateless_multivariate_normal([5], [1, 2], [0.0, 1.0], scale_tril=[[2.0, 0.0], [1.0, 2.0]]).shape
    (5, 2)
    """
    op = "stateless_multivariate_normal"
    return draw_multivariate_normal(op, taken_from_seed(op, seed), shape, mean, cov, scale_tril, dtype)
