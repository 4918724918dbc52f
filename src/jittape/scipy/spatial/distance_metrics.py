"""Metrics of `scipy.spatial.distance`: distances of vectors in the last dimension, with weights of the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.core.user_calls import shown
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import equal, logical_and, logical_not, logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.exponential import log, sqrt
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.reductions import reduce_all, reduce_any, reduce_max, reduce_mean, reduce_sum
from jittape.scipy.scipy_operands import float64_tensor, floating_operand, known_values

__all__ = ["PARAMETERS", "distance_of"]

Metric = Callable[[Any, Any], Any]


# ---- sums over the elements; without weights, `w` is None ------------------------------------------------------------


def _sum(values: Any, w: Any, keepdims: bool = False) -> Any:
    return reduce_sum(values if w is None else w * values, -1, keepdims=keepdims)


def _mean(values: Any, w: Any, keepdims: bool = False) -> Any:
    if w is None:
        return reduce_mean(values, -1, keepdims=keepdims)
    return reduce_sum(w / reduce_sum(w) * values, -1, keepdims=keepdims)


def _count(mask: Any, w: Any) -> Any:
    return _sum(cast(mask, float64), w)


def _root(squares: Any) -> Any:
    """Return the square root, with gradient 0 at 0."""
    return where(equal(squares, 0), 0.0, sqrt(squares))


def _quotient(a: Any, b: Any) -> Any:
    """Return ``a / b``, and 0 where `b` is 0."""
    return where(equal(b, 0), 0.0, a / b)


# ---- metrics of real numbers -----------------------------------------------------------------------------------------


def _braycurtis(x: Any, y: Any, w: Any) -> Any:
    return _sum(absolute(x - y), w) / _sum(absolute(x + y), w)


def _canberra(x: Any, y: Any, w: Any) -> Any:
    return _sum(_quotient(absolute(x - y), absolute(x) + absolute(y)), w)


def _chebyshev(x: Any, y: Any, w: Any) -> Any:
    """Return the greatest difference among those whose weight is not zero; other values of weights have no effect."""
    differences = absolute(x - y)
    return reduce_max(differences if w is None else where(w > 0, differences, 0.0), -1)


def _minkowski(x: Any, y: Any, w: Any, p: Any) -> Any:
    total = _sum(pow(absolute(x - y), p), w)
    return where(equal(total, 0), 0.0, pow(total, 1.0 / p))


def _cosine(x: Any, y: Any, w: Any) -> Any:
    lengths = sqrt(_sum(x * x, w)) * sqrt(_sum(y * y, w))
    return 1.0 - _sum(x * y, w) / lengths


def _correlation(x: Any, y: Any, w: Any) -> Any:
    return _cosine(x - _mean(x, w, keepdims=True), y - _mean(y, w, keepdims=True), w)


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


# ---- metrics of truth values: how many elements differ ---------------------------------------------------------------


def _jaccard(x: Any, y: Any, w: Any) -> Any:
    x, y = x != 0, y != 0
    return _quotient(_count(x != y, w), _count(logical_or(x, y), w))


def _dice(x: Any, y: Any, w: Any) -> Any:
    """Return the distance of weights of membership between 0 and 1, as SciPy computes it for floats."""
    unequal = _sum(x * (1.0 - y) + (1.0 - x) * y, w)
    return unequal / (2.0 * _sum(x * y, w) + unequal)


def _rogerstanimoto(x: Any, y: Any, w: Any) -> Any:
    unequal, of_all = _unequal_and_all(x, y, w)
    return 2.0 * unequal / (of_all + unequal)


def _russellrao(x: Any, y: Any, w: Any) -> Any:
    _, of_all = _unequal_and_all(x, y, w)
    return (of_all - _count(logical_and(x != 0, y != 0), w)) / of_all


def _sokalsneath(x: Any, y: Any, w: Any) -> Any:
    unequal, _ = _unequal_and_all(x, y, w)
    return 2.0 * unequal / (_count(logical_and(x != 0, y != 0), w) + 2.0 * unequal)


def _unequal_and_all(x: Any, y: Any, w: Any) -> tuple[Any, Any]:
    unequal = (x != 0) != (y != 0)
    return _count(unequal, w), _count(logical_or(unequal, logical_not(unequal)), w)


def _yule(x: Any, y: Any, w: Any) -> Any:
    x, y = x != 0, y != 0
    crossed = _count(logical_and(x, logical_not(y)), w) * _count(logical_and(logical_not(x), y), w)
    alike = _count(logical_and(x, y), w) * _count(logical_not(logical_or(x, y)), w)
    return _quotient(2.0 * crossed, alike + crossed)


METRICS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": lambda x, y, w: _sum(absolute(x - y), w),
    "correlation": _correlation,
    "cosine": _cosine,
    "dice": _dice,
    "euclidean": lambda x, y, w: _root(_sum((x - y) ** 2, w)),
    "hamming": lambda x, y, w: _mean(cast(x != y, float64), w),
    "jaccard": _jaccard,
    "rogerstanimoto": _rogerstanimoto,
    "russellrao": _russellrao,
    "sokalsneath": _sokalsneath,
    "sqeuclidean": lambda x, y, w: _sum((x - y) ** 2, w),
    "yule": _yule,
}
"""Metrics without parameters besides weights."""
PARAMETERS = {
    **dict.fromkeys(METRICS, ("w",)),
    **{"jensenshannon": (), "mahalanobis": ("VI",), "minkowski": ("p", "w"), "seuclidean": ("V",)},
}
"""Names of the parameters of each metric."""
ALIASES = {
    **dict.fromkeys(("cheb", "chebychev", "cheby", "ch"), "chebyshev"),
    **dict.fromkeys(("c", "cb", "cblock"), "cityblock"),
    **{"co": "correlation", "cos": "cosine", "js": "jensenshannon"},
    **dict.fromkeys(("e", "eu", "euclid"), "euclidean"),
    **dict.fromkeys(("h", "ha", "hamm", "matching"), "hamming"),
    **dict.fromkeys(("j", "ja", "jacc"), "jaccard"),
    **dict.fromkeys(("mah", "mahal"), "mahalanobis"),
    **dict.fromkeys(("m", "mi", "pnorm"), "minkowski"),
    **dict.fromkeys(("s", "se"), "seuclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
}
"""SciPy's other names of metrics."""


def distance_of(
    function: str, metric: Any, parameters: dict[str, Any], size: int, estimates: dict[str, Callable[[], Any]]
) -> Metric:
    """Return the metric with its parameters, for vectors of `size` elements.

    Parameters
    ----------
    function : str
        Name of the called function, for messages.
    metric : str or callable
        SciPy's name, or a function of two vectors.
    parameters : dict
        Parameters of the metric.
    size : int
        Number of elements of a vector.
    estimates : dict
        Functions that estimate the parameters V and VI from the vectors.
    """
    name = ALIASES.get(metric.lower(), metric.lower()) if isinstance(metric, str) else metric
    if name not in PARAMETERS:
        raise ValueError(
            f"[{function}] metric must be one of {', '.join(sorted(PARAMETERS))}, got {shown(metric)}"
        )
    unknown = sorted(set(parameters) - set(PARAMETERS[name]))
    if unknown:
        raise TypeError(f"[{function}] the metric {name} has no parameter {unknown[0]!r}")
    w = parameters.get("w")
    w = None if w is None else _weights(function, w, size)
    if name == "jensenshannon":
        return _jensenshannon
    if name == "minkowski":
        return _minkowski_of(function, parameters.get("p", 2.0), w)
    if name in ("seuclidean", "mahalanobis"):
        (key,) = PARAMETERS[name]
        given = parameters.get(key)
        scale = estimates[key]() if given is None else floating_operand(given)
        if name == "seuclidean":
            return lambda x, y: _root(reduce_sum((x - y) ** 2 / scale, -1))
        return lambda x, y: _root(reduce_sum(matmul(x - y, scale) * (x - y), -1))
    return lambda x, y: METRICS[name](x, y, w)


def _weights(function: str, w: Any, size: int) -> Any:
    known, w = known_values(w), float64_tensor(function, w)
    if tuple(w.shape) != (size,):
        raise ShapeError(
            f"[{function}] w must have one weight for each of the {size} columns, got shape {tuple(w.shape)}"
        )
    if known is not None and (known < 0).any():
        raise ValueError(f"[{function}] w must not be negative, got a minimum of {known.min():.6g}")
    return w


def _minkowski_of(function: str, p: Any, w: Any) -> Metric:
    p = floating_operand(p)
    known = known_values(p) if np.ndim(p) == 0 else None
    if known is not None and not known > 0:
        raise ValueError(f"[{function}] p must be greater than 0, got {float(known):.6g}")
    if known == np.inf:
        return lambda x, y: _chebyshev(x, y, w)
    return lambda x, y: _minkowski(x, y, w, p)
