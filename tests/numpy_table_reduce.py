"""Reductions under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt
from numpy_rows import NO_ORDER, Deviation, Row
from numpy_samples import each, reductions, together, unary
from numpy_table import floats, function_of


def by_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of NumPy under TensorFlow's rule for axes: a list names some too, and a scalar has none."""

    def reference(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
        if axis in (0, -1) and not isinstance(axis, (list, tuple)) and not x.ndim:
            raise ValueError
        return function(x, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims)

    return reference


def one_of(function: Callable[..., Any], neutral: Callable[[Any], Any]) -> Callable[..., Any]:
    """The extremum; of no elements the neutral element of the dtype, as in TensorFlow."""
    return lambda x, **options: function(x, **({} if x.size else {"initial": neutral(x.dtype)}), **options)


def least(dtype: Any) -> Any:
    """The neutral element of the maximum."""
    return -np.inf if dtype.kind in "fc" else dtype.kind != "b" and np.iinfo(dtype).min


def greatest(dtype: Any) -> Any:
    """The neutral element of the minimum."""
    return np.inf if dtype.kind in "fc" else dtype.kind == "b" or np.iinfo(dtype).max


def total(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum or product in the dtype of the operand, as in TensorFlow; bools in int64."""
    return lambda x, **options: function(x, dtype=np.int64 if x.dtype.kind == "b" else x.dtype, **options)


def logsumexp(x: Any, **options: Any) -> Any:
    """NumPy's `logaddexp` of all, in the dtype that its exp has."""
    wide = floats(x).astype(np.float64) if x.dtype.kind != "c" else x
    return np.logaddexp.reduce(wide, **options).astype(floats(x).dtype)


def euclidean(x: Any, **options: Any) -> Any:
    """The root of the sum of squares, computed in double."""
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    wide = np.abs(x).astype(np.float64)
    return np.sqrt(np.sum(wide * wide, **options)).astype(x.real.dtype)


PLACES = (None, 0, 1, -1, 2, -3, True, 1.0, (0, 1), "0")


def placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The place of an extremum along the first axis, as TensorFlow has it."""

    def reference(x: Any, axis: Any = None) -> Any:
        if isinstance(axis, tuple) or not x.ndim:
            raise TypeError
        return function(x, axis=0 if axis is None else axis)

    return reference


def running(function: Callable[..., Any]) -> Callable[..., Any]:
    """A running sum or product with TensorFlow's dtype, axis and options."""

    def reference(x: Any, axis: Any = 0, exclusive: Any = False, reverse: Any = False) -> Any:
        if not x.ndim or axis is None:
            raise ValueError
        dtype = np.int64 if x.dtype.kind == "b" else x.dtype
        x = np.flip(x, axis) if reverse else x
        if exclusive:
            first = np.full_like(np.take(x, [0], axis), function is np.cumprod, dtype=dtype)
            x = np.concatenate([first, np.delete(x.astype(dtype), -1, axis)], axis)
        found = function(x, axis=axis, dtype=dtype)
        return np.flip(found, axis) if reverse else found

    return reference


RUNNING = together(
    unary(),
    each("bif", *[{"axis": a} for a in (0, 1, -1, 2, -3, True, 1.0, None)]),
    each("bif", *[{"axis": 1, "exclusive": e, "reverse": r} for e in (False, True) for r in (False, True)]),
)
REDUCTIONS: dict[str, tuple[Callable[..., Any], tuple[Deviation, ...]]] = {
    "reduce_all": (np.all, ()),
    "reduce_any": (np.any, ()),
    "reduce_sum": (total(np.sum), ()),
    "reduce_prod": (total(np.prod), ()),
    "reduce_max": (one_of(np.max, least), (NO_ORDER,)),
    "reduce_min": (one_of(np.min, greatest), (NO_ORDER,)),
    "reduce_mean": (np.mean, ()),
    "math.reduce_variance": (np.var, ()),
    "math.reduce_std": (np.std, ()),
    "math.count_nonzero": (np.count_nonzero, ()),
    "math.reduce_euclidean_norm": (euclidean, ()),
    "reduce_logsumexp": (logsumexp, ()),
}

ROWS: list[Row] = [
    *[Row(f"jt.{n}", function_of(n), by_axes(f), reductions(), d, 16) for n, (f, d) in REDUCTIONS.items()],
    Row("jt.argmax", jt.argmax, placed(np.argmax), reductions("biufc", PLACES, keepdims=False), (NO_ORDER,)),
    Row("jt.argmin", jt.argmin, placed(np.argmin), reductions("biufc", PLACES, keepdims=False), (NO_ORDER,)),
    Row("jt.cumsum", jt.cumsum, running(np.cumsum), RUNNING),
    Row("jt.cumprod", jt.cumprod, running(np.cumprod), RUNNING),
    Row("jt.math.zero_fraction", jt.math.zero_fraction, lambda x: np.mean(x == 0, dtype=np.float32), unary()),
    Row(
        "jt.nn.moments",
        jt.nn.moments,
        lambda x, axes: (np.mean(x, axes), np.var(x, axes)),
        each("biufc", (None,), (0,), ((0, 1),), (2,)),
        rtol=16,
    ),
]
