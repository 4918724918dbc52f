"""The gamma and beta families under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special

import jittape as jt
from numpy_rows import Row
from numpy_samples import edges, given, numbers, unary
from numpy_table import floats, of_floats
from primitive_table_gamma import by_mpmath, positive, shape_slope

PAIRS = [
    # SciPy's functions are nan at the largest numbers.
    *[(edges(d)[:17, None], edges(d)[:17]) for d in ("float16", "float32", "float64")],
    (numbers("float32"), numbers("float64", (3,))),
    (numbers("int32"), numbers("float16", (3,))),
    (numbers("complex64"), numbers("float64", (3,))),
    (numbers("float64"), 2),
    (2.5, abs(numbers("float32"))),
    (np.zeros((0, 3)), np.ones(3)),
    (numbers("float64"), np.ones(2)),
]
"""Two operands at the edges of their dtypes, of two dtypes, and of shapes that do not fit."""


def of_pairs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two floats, computed in float64."""

    def reference(x: Any, y: Any) -> Any:
        dtype = np.result_type(*[a if isinstance(a, (int, float)) else floats(a) for a in (x, y)])
        if dtype.kind == "c":
            raise TypeError
        return np.asarray(function(*[np.asarray(a).astype(np.float64) for a in (x, y)])).astype(dtype)

    return reference


INTEGER_PAIRS = [
    *[
        (edges(d)[:, None], edges(d))
        for d in ("int8", "uint8", "int32", "uint64", "float16", "float32", "float64")
    ],
    (numbers("int8"), numbers("float32", (3,))),
    (numbers("bool"), numbers("bool")),
    (numbers("complex64"), numbers("complex64")),
    (numbers("float64"), np.ones(2)),
]


def gamma(x: Any) -> Any:
    """SciPy's; at the negative integers and minus infinity, where there is no limit, nan."""
    return np.where((x < 0) & (x == np.floor(x)), np.nan, scipy.special.gamma(x))


MODERATE = [(abs(numbers("float32")) + 0.5, numbers("float64", (3,), 1) + 2), *PAIRS[-4:]]


def betaln(x: Any, y: Any) -> Any:
    """The logarithm of the beta function; there is no limit where one argument is 0 and the other infinite."""
    found = scipy.special.betaln(x, y)
    found = np.where(np.minimum(x, y) == 0, np.inf, np.where(np.maximum(x, y) == np.inf, -np.inf, found))
    known = (x >= 0) & (y >= 0) & ~((np.minimum(x, y) == 0) & (np.maximum(x, y) == np.inf))
    return np.where(known, found, np.nan)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """SciPy's, for finite positive parameters."""
    arrays = [floats(np.asarray(v)) if isinstance(v, np.ndarray) else v for v in (a, b, x)]
    dtype = np.result_type(*arrays)
    if dtype.kind == "c":
        raise TypeError
    a, b, x = (np.asarray(v).astype(np.float64) for v in (a, b, x))
    known = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x >= 0) & (x <= 1)
    return np.where(
        known, scipy.special.betainc(*[np.where(known, v, 0.5) for v in (a, b, x)]), np.nan
    ).astype(dtype)


def polygamma(n: Any, x: Any) -> Any:
    """SciPy's, for orders that are natural numbers."""
    known = (n >= 0) & (n == np.floor(n))
    return np.where(known, scipy.special.polygamma(np.where(known, n, 0).astype(int), x), np.nan)


def zeta(s: Any, q: Any) -> Any:
    """The sum with mpmath; at 0 and the negative integers as in TensorFlow."""

    def one(s: float, q: float) -> float:
        if not s >= 1 or q != q or q == -np.inf:
            return np.nan
        if s == 1:
            return np.inf
        if s == np.inf:
            return 0.0 if q > 1 else 1.0 if q == 1 else np.inf if q > 0 else np.nan
        if q == np.inf:
            return 0.0
        if q > 0:
            return float(mpmath.zeta(mpmath.mpf(s), mpmath.mpf(q)))
        if q == np.floor(q):
            return np.inf if s % 2 == 0 else np.nan
        if s != np.floor(s):
            return np.nan
        steps = int(np.ceil(-q))
        terms = [(mpmath.mpf(q) + k) ** -int(s) for k in range(steps)]
        return float(mpmath.fsum(terms) + mpmath.zeta(int(s), mpmath.mpf(q) + steps))

    return np.vectorize(one, [float])(s, q)


def lbeta(x: Any) -> Any:
    """The sum of the logarithms, minus that of the sum; of no elements, minus infinity."""
    if x.ndim == 0 or x.dtype.kind == "c":
        raise ValueError
    dtype = floats(x).dtype
    x = x.astype(np.float64)
    found = np.sum(scipy.special.gammaln(x), -1) - scipy.special.gammaln(np.sum(x, -1))
    return np.asarray(found if x.shape[-1] else np.full(x.shape[:-1], -np.inf)).astype(dtype)


def multigammaln(a: Any, d: int) -> Any:
    """SciPy's, in the dtype of `a`."""
    if not 1 <= d <= 1000:
        raise ValueError
    one = np.vectorize(lambda x: scipy.special.multigammaln(x, d), [float])
    return one(a.astype(np.float64)).astype(floats(a).dtype)


def truncated(x: Any, y: Any, of_floats: Any, remainder: bool) -> Any:
    """C's quotient or remainder; 0 for integers divided by zero."""
    dtype = np.result_type(*[np.asarray(v) for v in (x, y)])
    x, y = np.broadcast_arrays(np.asarray(x).astype(dtype), np.asarray(y).astype(dtype))
    if dtype.kind == "f":
        return of_floats(x, y)
    if dtype.kind not in "iu":
        raise TypeError
    rest = np.fmod(x, y)
    if remainder:
        return rest
    return np.where(y == 0, np.zeros((), dtype), np.floor_divide(x - rest, y)).astype(dtype)


def saturated(x: Any, dtype: Any) -> Any:
    """The nearest number of `dtype`, in Python's numbers."""
    dtype = np.dtype(dtype)
    if "b" in (x.dtype.kind, dtype.kind):
        raise TypeError
    if x.dtype.kind == dtype.kind == "c":
        return x.astype(dtype)
    x = x.real
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        found = [
            0 if v != v else high if v > high else low if v < low else int(v) for v in x.ravel().tolist()
        ]
        return np.array(found, dtype).reshape(x.shape)
    limit = np.finfo(dtype).max
    # Infinity stays if the dtype is as wide.
    narrower = x.dtype.kind in "iu" or np.finfo(x.dtype).max > limit
    return (np.clip(x, -limit, limit) if narrower else x).astype(dtype)


def in_top_k(targets: Any, predictions: Any, k: Any) -> Any:
    """The loop of TensorFlow's documentation."""
    if predictions.ndim != 2 or targets.shape != predictions.shape[:1] or predictions.dtype.kind != "f":
        raise ValueError
    if targets.dtype.kind not in "iu":
        raise TypeError
    found = []
    for target, row in zip(targets, predictions, strict=True):
        known = 0 <= target < len(row) and np.isfinite(row).all()
        found.append(bool(known and np.sum(row > row[target]) < k))
    return np.array(found, bool)


def unraveled(indices: Any, dims: Any) -> Any:
    """NumPy's coordinates as one array."""
    if indices.ndim > 1 or not len(dims) or np.prod(dims) == 0 or (indices < 0).any():
        raise ValueError
    return np.stack(np.unravel_index(indices, dims)).astype(indices.dtype)


def cumulative(x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """NumPy's ufunc, accumulated."""
    x = floats(x)
    if x.dtype.kind == "c":
        raise TypeError
    x = np.flip(x, axis) if reverse else x
    found = np.logaddexp.accumulate(x, axis)
    if exclusive:
        first = np.full_like(np.take(x, [0], axis), -np.inf)
        found = np.concatenate([first, np.delete(found, -1, axis)], axis)
    return np.flip(found, axis) if reverse else found


def clipped(t: Any, clip_norm: float) -> Any:
    """Scaled so that the norm, divided by the size, is at most `clip_norm`."""
    t = floats(t)
    average = np.sqrt(np.sum(abs(t) ** 2)) / max(t.size, 1)
    return (t * (clip_norm / max(average, clip_norm))).astype(t.dtype)


TARGETS = np.array([2, 0, -1, 7, 1])
PREDICTIONS = np.array([[0.1, 0.5, 0.2], [3.0, 3.0, 1.0], [1, 2, 3], [1, 2, 3], [np.inf, 1, 2]])

ROWS: list[Row] = [
    Row("jt.math.gamma", jt.math.gamma, of_floats(gamma), unary("biuf"), (), 64),
    Row(
        "jt.math.betainc",
        jt.math.betainc,
        betainc,
        given(
            *[
                (edges(d)[:17, None, None], edges(d)[:17, None], edges(d)[:17])
                for d in ("float32", "float64")
            ],
            *[
                (abs(numbers(d)) + 1, abs(numbers(d, (3,), 1)) + 1, abs(numbers(d, (), 2)) / 4)
                for d in ("float16", "float64")
            ],
            (numbers("int32"), numbers("float32", (3,)), 0.5),
            (numbers("complex64"), 1.0, 0.5),
            (numbers("float64"), np.ones(2), 0.5),
        ),
        rtol=512,
    ),
    Row(
        "jt.math.zeta",
        jt.math.zeta,
        of_pairs(zeta),
        given(
            *[(edges(d)[:17, None], edges(d)[:17]) for d in ("float32", "float64")],
            *PAIRS[3:],
        ),
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.math.polygamma (orders in a tensor)",
        jt.math.polygamma,
        of_pairs(polygamma),
        given(
            (np.arange(4.0), np.array([[0.5], [2.0], [30.0], [-0.5], [-7.25]])),
            (np.array([1, 2], np.int32), np.float32(1.5)),
            (np.array([0.5, -1.0]), np.ones(2)),
            (numbers("complex64"), np.ones(3)),
        ),
        rtol=512,
    ),
    Row("jt.math.betaln", jt.math.betaln, of_pairs(betaln), given(*PAIRS), rtol=64, signed_zeros=False),
    Row(
        "jt.math.lbeta",
        jt.math.lbeta,
        lbeta,
        given(
            (abs(numbers("float64")) + 0.5,),
            (abs(numbers("float16")) + np.float16(0.5),),
            (abs(numbers("int32")) + 1,),
            (np.zeros((2, 0)),),
            (np.array(2.0),),
            (numbers("complex64"),),
        ),
        rtol=64,
    ),
    Row(
        "jt.math.multigammaln",
        jt.math.multigammaln,
        multigammaln,
        given(
            (abs(numbers("float64")) + 2.5, 3),
            (abs(numbers("int32")) + 2, 1),
            (np.ones(2), 0),
            (np.ones(2), 1001),
        ),
        rtol=64,
    ),
    Row(
        "jt.truncatediv",
        jt.truncatediv,
        lambda x, y: truncated(x, y, lambda a, b: np.trunc(a / b), False),
        given(*INTEGER_PAIRS),
    ),
    Row(
        "jt.truncatemod",
        jt.truncatemod,
        lambda x, y: truncated(x, y, np.fmod, True),
        given(*INTEGER_PAIRS),
    ),
    Row(
        "jt.math.nextafter",
        jt.math.nextafter,
        np.nextafter,
        given(
            *[(edges(d)[:, None], edges(d)) for d in ("float32", "float64")],
            (numbers("float32"), numbers("float64", (3,))),
            (numbers("complex64"), numbers("float64", (3,))),
        ),
    ),
    Row(
        "jt.saturate_cast",
        jt.saturate_cast,
        saturated,
        given(
            *[
                (edges(a), b)
                for a in (
                    "bool",
                    "int8",
                    "uint8",
                    "int64",
                    "uint64",
                    "float16",
                    "float32",
                    "float64",
                    "complex64",
                )
                for b in (
                    "bool",
                    "int8",
                    "uint16",
                    "int32",
                    "int64",
                    "uint64",
                    "float16",
                    "float32",
                    "complex64",
                )
            ]
        ),
    ),
    Row(
        "jt.math.in_top_k",
        jt.math.in_top_k,
        in_top_k,
        given(
            *[
                (TARGETS, PREDICTIONS.astype(d), k)
                for d in ("float16", "float32", "float64")
                for k in (0, 1, 2, 3, 4)
            ],
            (TARGETS, PREDICTIONS[:3], 1),
            (TARGETS + 0.5, PREDICTIONS, 1),
            (TARGETS, PREDICTIONS[0], 1),
            (np.zeros(0, int), np.zeros((0, 3)), 1),
            (np.zeros(2, int), np.zeros((2, 0)), 1),
        ),
    ),
    Row(
        "jt.unravel_index",
        jt.unravel_index,
        unraveled,
        given(
            (np.array([3, 7]), (2, 4)),
            (np.array(3), [2, 4]),
            (np.array([3, 0, 23], np.int8), (2, 3, 4)),
            (np.array([8]), (2, 4)),
            (np.array([-1]), (2, 4)),
            (np.array([[1]]), (2, 4)),
            (np.array([0]), ()),
            (np.array([0]), (2, 0)),
            (np.zeros(0, int), (2, 2)),
        ),
    ),
    Row(
        "jt.math.cumulative_logsumexp",
        jt.math.cumulative_logsumexp,
        cumulative,
        given(
            *[
                (numbers(d), {"axis": axis, "exclusive": exclusive, "reverse": reverse})
                for d in ("float16", "float32", "float64", "int32")
                for axis in (0, 1, -1, 2)
                for exclusive in (False, True)
                for reverse in (False, True)
            ],
            (edges("float64"),),
            (np.zeros((0, 3)),),
            (np.array(1.0),),
            (numbers("complex64"),),
        ),
        rtol=64,
    ),
    Row(
        "jt.clip_by_average_norm",
        jt.clip_by_average_norm,
        clipped,
        given(
            *[
                (numbers(d), limit)
                for d in ("float16", "float32", "float64", "int32")
                for limit in (0.25, 100.0)
            ],
            (np.zeros((0, 3)), 1.0),
            (np.array(3.0), 1.0),
        ),
    ),
    Row("jt.math.igamma", jt.math.igamma, of_pairs(positive(scipy.special.gammainc)), given(*PAIRS), rtol=64),
    Row(
        "jt.math.igammac",
        jt.math.igammac,
        of_pairs(positive(scipy.special.gammaincc)),
        given(*PAIRS),
        rtol=512,
    ),
    Row(
        "jt.math.random_gamma_grad",
        jt.math.random_gamma_grad,
        of_pairs(positive(by_mpmath(shape_slope))),
        given(*MODERATE),
        rtol=512,
    ),
]
