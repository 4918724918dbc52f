"""Distances between two vectors, under the names of `scipy.spatial.distance`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jittape.errors import ShapeError
from jittape.primitives.shape.reshaping import expand_dims
from jittape.scipy.scipy_operands import float64_tensor
from jittape.scipy.spatial.distances import cdist

__all__ = [
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean", "hamming",
    "jaccard", "jensenshannon", "mahalanobis", "minkowski", "rogerstanimoto", "russellrao", "seuclidean",
    "sokalsneath", "sqeuclidean", "yule",
]  # fmt: skip

TEMPLATE = """Return the distance {name!r} between two vectors; see `cdist`.

Parameters
----------
u, v : tensor-like of shape (k,)
w : tensor-like of shape (k,), optional
    Weight of each element.

Returns
-------
Tensor
    A float64.

Raises
------
ShapeError
    If `u` or `v` is no vector, or if they have different lengths.
DTypeError
    If they are complex.

Examples
--------
>>> from jittape.scipy.spatial import distance
>>> round(float(distance.{name}([1.0, 0.0, 1.0], [1.0, 1.0, 0.0])), 4)
{example}
"""


def _distance(metric: str, u: Any, v: Any, **parameters: Any) -> Any:
    rows = []
    for name, x in (("u", u), ("v", v)):
        row = float64_tensor(metric, x)
        if len(row.shape) != 1:
            raise ShapeError(f"[{metric}] {name} must be a vector, got shape {tuple(row.shape)}")
        rows.append(expand_dims(row, 0))
    if rows[0].shape != rows[1].shape:
        raise ShapeError(
            f"[{metric}] u and v must have equal lengths, got {rows[0].shape[1]} and {rows[1].shape[1]}"
        )
    return cdist(rows[0], rows[1], metric, **{k: p for k, p in parameters.items() if p is not None})[0, 0]


def _function(name: str, example: float) -> Callable[..., Any]:
    def distance(u: Any, v: Any, w: Any = None) -> Any:
        return _distance(name, u, v, w=w)

    distance.__name__ = distance.__qualname__ = name
    distance.__doc__ = TEMPLATE.format(name=name, example=example)
    return distance


braycurtis = _function("braycurtis", 0.5)
canberra = _function("canberra", 2.0)
chebyshev = _function("chebyshev", 1.0)
cityblock = _function("cityblock", 2.0)
correlation = _function("correlation", 1.5)
cosine = _function("cosine", 0.5)
dice = _function("dice", 0.5)
euclidean = _function("euclidean", 1.4142)
hamming = _function("hamming", 0.6667)
jaccard = _function("jaccard", 0.6667)
rogerstanimoto = _function("rogerstanimoto", 0.8)
russellrao = _function("russellrao", 0.6667)
sokalsneath = _function("sokalsneath", 0.8)
sqeuclidean = _function("sqeuclidean", 2.0)
yule = _function("yule", 2.0)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Return the distance by the norm of order `p`; see `cdist`.

    Parameters
    ----------
    u, v : tensor-like of shape (k,)
    p : float
    w : tensor-like of shape (k,), optional
        Weight of each element.

    Raises
    ------
    ShapeError
        If `u` or `v` is no vector, or if they have different lengths.
    DTypeError
        If they are complex.
    ValueError
        If `p` is not positive.

    Examples
    --------
    >>> from jittape.scipy.spatial import distance
    >>> round(float(distance.minkowski([0.0, 0.0], [1.0, 2.0], 3)), 4)
    2.0801
    """
    return _distance("minkowski", u, v, p=p, w=w)


def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """Return Mahalanobis' distance; see `cdist`.

    Parameters
    ----------
    u, v : tensor-like of shape (k,)
    VI : tensor-like of shape (k, k)
        Inverse of the covariance matrix.

    Raises
    ------
    ShapeError
        If `u` or `v` is no vector, or if they have different lengths.
    DTypeError
        If they are complex.

    Examples
    --------
    >>> from jittape.scipy.spatial import distance
    >>> float(distance.mahalanobis([0.0, 0.0], [1.0, 2.0], [[1.0, 0.0], [0.0, 2.0]]))
    3.0
    """
    return _distance("mahalanobis", u, v, VI=VI)


def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """Return the Euclidean distance of elements that are divided by their deviations; see `cdist`.

    Parameters
    ----------
    u, v : tensor-like of shape (k,)
    V : tensor-like of shape (k,)
        Variance of each element.

    Raises
    ------
    ShapeError
        If `u` or `v` is no vector, or if they have different lengths.
    DTypeError
        If they are complex.

    Examples
    --------
    >>> from jittape.scipy.spatial import distance
    >>> round(float(distance.seuclidean([0.0, 0.0], [1.0, 2.0], [1.0, 4.0])), 4)
    1.4142
    """
    return _distance("seuclidean", u, v, V=V)


def jensenshannon(p: Any, q: Any, base: float | None = None) -> Any:
    """Return the root of the Jensen-Shannon divergence of two laws; see `cdist`.

    Parameters
    ----------
    p, q : tensor-like of shape (k,)
        Probabilities, which are divided by their sum.
    base : float, optional
        Base of the logarithm; by default e.

    Raises
    ------
    ShapeError
        If `p` or `q` is no vector, or if they have different lengths.
    DTypeError
        If they are complex.

    Examples
    --------
    >>> from jittape.scipy.spatial import distance
    >>> round(float(distance.jensenshannon([1.0, 0.0], [0.5, 0.5])), 4)
    0.4645
    """
    found = _distance("jensenshannon", p, q)
    return found if base is None else found / math.sqrt(math.log(base))
