"""Segments, orders, clipping and random laws, for `test_number_ops.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

import jittape as jt
from number_ops import Array, NumberOp, between, distinct, normal, outputs

IDS = np.array([0, 0, 1, 3, 3])
MIXED = np.array([2, 0, 2, 1, 0])


def by_segments(ids: Array, count: int, function: Any, empty: float) -> Any:
    return lambda x: np.stack(
        [function(x[ids == i], 0) if (ids == i).any() else np.full(x.shape[1:], empty) for i in range(count)]
    )


SEGMENTS = (
    *(
        NumberOp(
            f"segment_{name}",
            lambda x, f=name: getattr(jt.math, f"segment_{f}")(x, IDS),
            distinct(5, 2),
            by_segments(IDS, 4, function, 1.0 if name == "prod" else 0.0),
            leading=False,
        )
        for name, function in (
            ("sum", np.sum),
            ("mean", np.mean),
            ("max", np.max),
            ("min", np.min),
            ("prod", np.prod),
        )
    ),
    *(
        NumberOp(
            f"unsorted_segment_{name}",
            lambda x, f=name: getattr(jt.math, f"unsorted_segment_{f}")(x, MIXED, 3),
            distinct(5, 2),
            by_segments(MIXED, 3, function, empty),
            leading=False,
        )
        for name, function, empty in (
            ("sum", np.sum, 0.0),
            ("mean", np.mean, 0.0),
            ("max", np.max, -np.finfo(float).max),
            ("min", np.min, np.finfo(float).max),
            ("prod", np.prod, 1.0),
            ("sqrt_n", lambda x, axis: np.sum(x, axis) / np.sqrt(len(x)), 0.0),
        )
    ),
)


def stacked_rows(x: Array, function: Any) -> Array:
    return np.apply_along_axis(function, -1, x)


def scipy_isotonic(row: Array) -> Array:

    return scipy.optimize.isotonic_regression(row, increasing=False).x


ORDER = (
    NumberOp("sort", lambda x: jt.sort(x, axis=-1), distinct(3, 4), lambda x: np.sort(x, -1)),
    NumberOp(
        "sort descending",
        lambda x: jt.sort(x, axis=0, direction="DESCENDING"),
        distinct(3, 4),
        lambda x: -np.sort(-x, 0),
        leading=False,
    ),
    NumberOp("top_k", lambda x: jt.math.top_k(x, 2)[0], distinct(3, 4), lambda x: -np.sort(-x, -1)[..., :2]),
    NumberOp("gather by argsort", lambda x: jt.gather(x, jt.argsort(x)), distinct(6), np.sort, leading=False),
    NumberOp(
        "isotonic_regression",
        lambda x: jt.nn.isotonic_regression(x)[0],
        lambda rng: (rng.standard_normal((3, 8)),),
        lambda x: stacked_rows(x, lambda r: scipy_isotonic(r)),
    ),
    NumberOp(
        "isotonic_regression increasing",
        lambda x: jt.nn.isotonic_regression(x, decreasing=False, axis=0)[0],
        lambda rng: (rng.standard_normal((8, 3)),),
        lambda x: np.swapaxes(stacked_rows(np.swapaxes(x, -1, -2), lambda r: -scipy_isotonic(-r)), -1, -2),
        leading=False,
    ),
    NumberOp(
        "strided_slice",
        lambda x: jt.strided_slice(x, [0, 1], [3, 5], [2, 2]),
        normal((4, 5)),
        lambda x: x[0:3:2, 1:5:2],
        leading=False,
    ),
    NumberOp(
        "clip_by_value",
        lambda x: jt.clip_by_value(x, -0.57, 0.77),
        distinct(3, 4),
        lambda x: np.clip(x, -0.57, 0.77),
    ),
    NumberOp(
        "clip_by_value tensors",
        lambda x, a, b: jt.clip_by_value(x, a, b),
        lambda rng: (distinct(3, 4)(rng)[0], np.full(4, -0.57), np.full(4, 0.77)),
        np.clip,
        leading=False,
    ),
    NumberOp(
        "clip_by_norm",
        lambda x: jt.clip_by_norm(x, 1.5),
        normal((3, 4)),
        lambda x: x * 1.5 / np.linalg.norm(x),
        leading=False,
    ),
    NumberOp(
        "clip_by_global_norm",
        lambda x, y: outputs(*jt.clip_by_global_norm([x, y], 0.7)[0]),
        normal((3,), (4,)),
        None,
        leading=False,
    ),
    NumberOp(
        "clip_by_average_norm", lambda x: jt.clip_by_average_norm(x, 0.1), normal((3, 4)), None, leading=False
    ),
    NumberOp("saturate_cast", lambda x: jt.saturate_cast(x * 2, x.dtype), normal((3,)), lambda x: 2 * x),
    NumberOp(
        "bincount weights",
        lambda w: jt.math.bincount(np.array([0, 2, 2, 1]), weights=w),
        normal((4,)),
        lambda w: np.bincount([0, 2, 2, 1], w),
        leading=False,
    ),
    NumberOp(
        "cumsum",
        lambda x: jt.math.cumsum(x, axis=-1, exclusive=True, reverse=True),
        normal((3, 4)),
        lambda x: np.cumsum(x[..., ::-1], -1)[..., ::-1] - x,
    ),
    NumberOp("cumprod", lambda x: jt.math.cumprod(x, axis=-1), normal((3, 4)), lambda x: np.cumprod(x, -1)),
)


rd = jt.random
SEED = (3, 7)
RANDOM = (
    NumberOp(
        "stateless_normal",
        lambda m, s: rd.stateless_normal([4], SEED, m, s, dtype=m.dtype),
        between(0.5, 2, (), ()),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_uniform",
        lambda a, b: rd.stateless_uniform([4], SEED, a, b + 2, dtype=a.dtype),
        between(0.5, 2, (), ()),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_truncated_normal",
        lambda m, s: rd.stateless_truncated_normal([4], SEED, m, s, dtype=m.dtype),
        between(0.5, 2, (), ()),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_parameterized_truncated_normal",
        lambda m, s, a, b: rd.stateless_parameterized_truncated_normal([4], SEED, m, s, a - 2.5, b + 1),
        between(0.5, 2, (), (), (), ()),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_gamma",
        lambda a, b: rd.stateless_gamma([6], SEED, a, b, dtype=a.dtype),
        between(0.6, 4, (6,), (6,)),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_beta",
        lambda a, b: rd.stateless_beta([6], SEED, a, b, dtype=a.dtype),
        between(0.6, 4, (6,), (6,)),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_exponential",
        lambda a: rd.stateless_exponential([4], SEED, a, dtype=a.dtype),
        between(0.6, 4, (4,)),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_dirichlet",
        lambda a: rd.stateless_dirichlet([2], SEED, a, dtype=a.dtype),
        between(0.6, 4, (4,)),
        None,
        leading=False,
    ),
    NumberOp(
        "stateless_multivariate_normal",
        lambda m, c: rd.stateless_multivariate_normal([2], SEED, m, scale_tril=c, dtype=m.dtype),
        lambda rng: (rng.standard_normal(3), np.tril(rng.standard_normal((3, 3))) + 2 * np.eye(3)),
        None,
        leading=False,
    ),
)
