"""Distances between vectors, under the names of `scipy.spatial.distance`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.solve import inv
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import expand_dims, reshape
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import array_valued, as_operand, float64_tensor, known_values
from jittape.scipy.spatial.distance_metrics import distance_of

__all__ = ["cdist", "pdist", "squareform"]


def _estimates(function: str, *matrices: Any) -> dict[str, Callable[[], Any]]:
    """Return functions that estimate variances, and the inverse of covariances, from all rows."""

    def deviations() -> Any:
        rows = concat(matrices, 0) if len(matrices) > 1 else matrices[0]
        return rows - reduce_mean(rows, 0, keepdims=True)

    def variances() -> Any:
        rows = deviations()
        return reduce_sum(rows * rows, 0) / (rows.shape[0] - 1.0)

    def inverse_covariances() -> Any:
        rows = deviations()
        count, size = rows.shape
        if count <= size:
            raise ValueError(
                f"[{function}] the covariance matrix of {count} vectors of {size} elements is singular; "
                f"mahalanobis needs {size + 1} vectors or VI="
            )
        return inv(matmul(rows, rows, transpose_a=True) / (count - 1.0))

    return {"V": variances, "VI": inverse_covariances}


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
    metric : str or callable
        ``"braycurtis"``, ``"canberra"``, ``"chebyshev"``, ``"cityblock"``, ``"correlation"``, ``"cosine"``, ``"dice"``,
        ``"euclidean"``, ``"hamming"``, ``"jaccard"``, ``"jensenshannon"``, ``"mahalanobis"``, ``"minkowski"``,
        ``"rogerstanimoto"``, ``"russellrao"``, ``"seuclidean"``, ``"sokalsneath"``, ``"sqeuclidean"``, ``"yule"``, one
        of SciPy's shorter names, or a function of two vectors. Those that count elements have no gradient.
    **kwargs
        Parameters of the metric: `p` of ``"minkowski"``, `V` of ``"seuclidean"`` and `VI` of ``"mahalanobis"``, which
        are estimated from all rows if they are left out, and for most metrics `w`, a weight for each column.

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
    if callable(metric):
        return _of_pairs(lambda x, y: metric(x, y, **kwargs), a, b)
    found = distance_of("cdist", metric, kwargs, a.shape[1], _estimates("cdist", a, b))
    return found(expand_dims(a, 1), expand_dims(b, 0))


def _of_pairs(metric: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return the values of a user's function of two vectors for all pairs of rows."""
    rows, columns = a.shape[0], b.shape[0]
    values = [array_valued(metric)(a[i], b[j]) for i in range(rows) for j in range(columns)]
    return (
        reshape(cast(stack(values), float64), (rows, columns)) if values else zeros((rows, columns), float64)
    )


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
    if callable(metric):
        found = array_valued(lambda i, j: metric(x[i], x[j], **kwargs))
        values = [found(i, j) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
        return cast(stack(values), float64) if values else zeros((0,), float64)
    found = distance_of("pdist", metric, kwargs, x.shape[1], _estimates("pdist", x))
    return found(gather(x, rows), gather(x, columns))


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
