"""Distances between vectors, under the names of `scipy.spatial.distance`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import equal, logical_and, logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.exponential import log, sqrt
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.reductions import reduce_all, reduce_any, reduce_max, reduce_mean, reduce_sum
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.reshaping import expand_dims, reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import as_operand, float64_tensor, floating_operand, known_values

__all__ = ["cdist", "pdist", "squareform"]


def _root(squares: Any) -> Any:
    """Return the square root, with gradient 0 at 0."""
    return where(equal(squares, 0), 0.0, sqrt(squares))


def _quotient(a: Any, b: Any) -> Any:
    """Return ``a / b``, and 0 where `b` is 0."""
    return where(equal(b, 0), 0.0, a / b)


def _minkowski(x: Any, y: Any, p: Any) -> Any:
    total = reduce_sum(pow(absolute(x - y), p), -1)
    return where(equal(total, 0), 0.0, pow(total, 1.0 / p))


def _cosine(x: Any, y: Any) -> Any:
    lengths = sqrt(reduce_sum(x * x, -1)) * sqrt(reduce_sum(y * y, -1))
    return 1.0 - reduce_sum(x * y, -1) / lengths


def _correlation(x: Any, y: Any) -> Any:
    return _cosine(x - reduce_mean(x, -1, keepdims=True), y - reduce_mean(y, -1, keepdims=True))


def _share(counted: Any, among: Any) -> Any:
    """Return how many of the elements `among` are `counted`; 0 if there are none."""
    part, whole = (reduce_sum(cast(mask, float64), -1) for mask in (logical_and(counted, among), among))
    return where(whole > 0, part / where(whole > 0, whole, 1.0), 0.0)


def _jaccard(x: Any, y: Any) -> Any:
    x, y = x != 0, y != 0
    return _share(x != y, logical_or(x, y))


def _jensenshannon(x: Any, y: Any) -> Any:
    no_law = logical_or(_is_no_law(x), _is_no_law(y))
    x, y = x / reduce_sum(x, -1, keepdims=True), y / reduce_sum(y, -1, keepdims=True)
    middle = 0.5 * (x + y)
    total = reduce_sum(_relative_entropy(x, middle) + _relative_entropy(y, middle), -1)
    return where(no_law, np.inf, _root(0.5 * total))


def _is_no_law(x: Any) -> Any:
    """Return whether a vector cannot be scaled to probabilities: the distance to it is infinite in SciPy."""
    return logical_or(reduce_any(x < 0, -1), reduce_all(equal(x, 0), -1))


def _relative_entropy(x: Any, y: Any) -> Any:
    nothing = equal(x, 0)
    return where(nothing, 0.0, x * log(where(nothing, 1.0, x) / where(nothing, 1.0, y)))


METRICS: dict[str, Callable[[Any, Any], Any]] = {
    "braycurtis": lambda x, y: reduce_sum(absolute(x - y), -1) / reduce_sum(absolute(x + y), -1),
    "canberra": lambda x, y: reduce_sum(_quotient(absolute(x - y), absolute(x) + absolute(y)), -1),
    "chebyshev": lambda x, y: reduce_max(absolute(x - y), -1),
    "cityblock": lambda x, y: reduce_sum(absolute(x - y), -1),
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": lambda x, y: _root(reduce_sum((x - y) ** 2, -1)),
    "hamming": lambda x, y: reduce_mean(cast(x != y, float64), -1),
    "jaccard": _jaccard,
    "jensenshannon": _jensenshannon,
    "sqeuclidean": lambda x, y: reduce_sum((x - y) ** 2, -1),
}
"""Distance of vectors in the last dimension, by name."""
WITH_PARAMETER = {"minkowski": ("p", 2.0), "mahalanobis": ("VI", None), "seuclidean": ("V", None)}


def _distance(function: str, metric: Any, parameters: dict[str, Any]) -> Callable[[Any, Any], Any]:
    known = sorted([*METRICS, *WITH_PARAMETER])
    if metric not in known:
        raise ValueError(f"[{function}] metric must be one of {', '.join(known)}, got {metric!r}")
    name, default = WITH_PARAMETER.get(metric, ("", None))
    unknown = sorted(set(parameters) - {name})
    if unknown:
        raise TypeError(f"[{function}] the metric {metric} has no parameter {unknown[0]!r}")
    if not name:
        return METRICS[metric]
    if default is None and name not in parameters:
        raise TypeError(
            f"[{function}] the metric {metric} needs {name}=; it is not estimated from the vectors"
        )
    value = floating_operand(parameters.get(name, default))
    if metric == "minkowski":
        if np.ndim(value) == 0 and known_values(value) == np.inf:
            return METRICS["chebyshev"]
        return lambda x, y: _minkowski(x, y, value)
    if metric == "seuclidean":
        return lambda x, y: _root(reduce_sum((x - y) ** 2 / value, -1))

    def mahalanobis(x: Any, y: Any) -> Any:
        return _root(reduce_sum(matmul(x - y, value) * (x - y), -1))

    return mahalanobis


def _vectors(function: str, name: str, x: Any) -> Any:
    x = float64_tensor(function, x)
    if len(x.shape) != 2:
        raise ShapeError(f"[{function}] {name} must have two dimensions, got shape {tuple(x.shape)}")
    return x


def cdist(XA: Any, XB: Any, metric: str = "euclidean", **kwargs: Any) -> Any:
    """Return the distances between all rows of two matrices.

    They are computed from differences in float64, and differentiable in both matrices and in the parameters. The
    gradient of ``"euclidean"``, ``"minkowski"``, ``"seuclidean"`` and ``"mahalanobis"`` is 0 at distance 0.

    Parameters
    ----------
    XA : tensor-like of shape (m, k)
        Vectors in rows.
    XB : tensor-like of shape (n, k)
        Vectors in rows.
    metric : str
        ``"braycurtis"``, ``"canberra"``, ``"chebyshev"``, ``"cityblock"``, ``"correlation"``, ``"cosine"``,
        ``"euclidean"``, ``"hamming"``, ``"jaccard"``, ``"jensenshannon"``, ``"mahalanobis"`` (with `VI`),
        ``"minkowski"`` (with `p`), ``"seuclidean"`` (with `V`) or ``"sqeuclidean"``. ``"hamming"`` and ``"jaccard"``
        count, so they have no gradient.
    **kwargs
        Parameter of the metric.

    Returns
    -------
    Tensor of shape (m, n)
        Distances.

    Raises
    ------
    ValueError
        For an unknown metric.
    ShapeError
        If the matrices do not fit.

    Examples
    --------
    >>> from jittape.scipy.spatial import distance
    >>> distance.cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]]).numpy()
    array([[5., 1.]])
    """
    a, b = _vectors("cdist", "XA", XA), _vectors("cdist", "XB", XB)
    if a.shape[1] != b.shape[1]:
        raise ShapeError(
            f"[cdist] XA and XB must have the same number of columns, got shapes {tuple(a.shape)} and {tuple(b.shape)}"
        )
    return _distance("cdist", metric, kwargs)(expand_dims(a, 1), expand_dims(b, 0))


def pdist(X: Any, metric: str = "euclidean", **kwargs: Any) -> Any:
    """Return the distances between all pairs of rows, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Parameters
    ----------
    X : tensor-like of shape (m, k)
        Vectors in rows.
    metric, **kwargs
        As in `cdist`.

    Returns
    -------
    Tensor of shape (m (m - 1) / 2,)
        Distances.

    Raises
    ------
    ShapeError
        If `X` has a wrong number of dimensions.
    DTypeError
        For complex numbers.

    Examples
    --------
    >>> from jittape.scipy.spatial import distance
    >>> distance.pdist([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]).numpy().round(4)
    array([5.    , 1.    , 4.2426])
    """
    x = _vectors("pdist", "X", X)
    rows, columns = np.triu_indices(x.shape[0], 1)
    return _distance("pdist", metric, kwargs)(gather(x, rows), gather(x, columns))


def squareform(X: Any) -> Any:
    """Return the symmetric matrix of the distances of `pdist`, or from such a matrix its upper triangle as a vector.

    Parameters
    ----------
    X : tensor-like of shape (m (m - 1) / 2,) or (m, m)
        Distances. The lower triangle of a matrix is not read, but it must be symmetric if its values are known.

    Raises
    ------
    ShapeError
        If the number of distances belongs to no matrix.
    ValueError
        If a matrix is not symmetric, or its diagonal is not zero.

    Examples
    --------
    >>> from jittape.scipy.spatial import distance
    >>> distance.squareform([1.0, 2.0, 3.0]).numpy()
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    x = convert_to_tensor(as_operand(X))
    if len(x.shape) == 2 and x.shape[0] == x.shape[1]:
        known = known_values(X)
        if known is not None and not (np.allclose(known, known.T) and not known.diagonal().any()):
            raise ValueError("[squareform] X must be symmetric with zeros on its diagonal")
        rows, columns = np.triu_indices(x.shape[0], 1)
        return gather(reshape(x, (-1,)), rows * x.shape[0] + columns)
    m = (1 + math.isqrt(1 + 8 * x.shape[0])) // 2 if len(x.shape) == 1 else 0
    if len(x.shape) != 1 or m * (m - 1) // 2 != x.shape[0]:
        raise ShapeError(
            f"[squareform] X must be a square matrix or a vector of pdist, got shape {tuple(x.shape)}"
        )
    place = np.zeros((m, m), int)
    place[np.triu_indices(m, 1)] = np.arange(x.shape[0])
    if m == 1:
        return zeros((1, 1), dtype=np.dtype(x.dtype))
    return where(np.eye(m, dtype=bool), 0, gather(x, place + place.T))
