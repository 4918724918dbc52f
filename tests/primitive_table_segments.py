"""The rows of segments, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.indexing import segments as sg
from jittape.primitives.indexing.segment_ops import restarting_op
from primitive_table import INF, NAN, Array, Row, Sampler

SEGMENTS = 4
REDUCE: dict[str, Callable[[Array], Array]] = {
    "sum": lambda rows: rows.sum(0),
    "mean": lambda rows: rows.mean(0),
    "sqrt_n": lambda rows: rows.sum(0) / np.sqrt(len(rows)),
    "prod": lambda rows: rows.prod(0),
    "max": lambda rows: rows.max(0),
    "min": lambda rows: rows.min(0),
}


def empty_segment(how: str, dtype: Any) -> Any:
    """TensorFlow's value of a segment without rows."""
    if how in ("max", "min") and np.dtype(dtype).kind in "iuf":
        limits: Any = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
        return limits.min if how == "max" else limits.max
    return int(how == "prod")


def reduced(how: str, data: Array, ids: Array, count: int, empty: Any) -> Array:
    """Return the rows of each segment, reduced one segment after another."""
    rest = data.shape[ids.ndim :]
    rows, flat = data.reshape(ids.size, *rest), ids.reshape(-1)
    result = np.full((count, *rest), empty, data.dtype)
    for segment in range(count):
        if (flat == segment).any():
            result[segment] = REDUCE[how](rows[flat == segment])
    return result


def finite(how: str) -> Callable[[Array, Array], Array]:
    """Return the reference of an unsorted reduction, whose empty segments are 0 in the table."""
    return lambda data, ids: reduced(how, data, ids, SEGMENTS, 0 if how in ("max", "min") else how == "prod")


def function(how: str) -> Callable[[Any, Any], Any]:
    """Return the function; empty segments of extrema, which depend on the dtype, are tested elsewhere."""
    call = getattr(sg, f"unsorted_segment_{how}")
    return lambda data, ids: call(data, ids, SEGMENTS)


def drawn(*shape: int) -> Sampler:
    """Return distinct data and ids: every segment has rows, and some ids are negative."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        count = shape[0]
        data = (rng.permutation(int(np.prod(shape))) * 0.2 - 1.0).reshape(shape)
        ids = np.concatenate([np.arange(SEGMENTS), rng.integers(-2, SEGMENTS, count - SEGMENTS)])
        return data, rng.permutation(ids)

    return sample


FULL = np.array([0, 1, 2, 3, 1, 1, 3])
EDGES: tuple[tuple[Any, ...], ...] = (
    (np.array([INF, -INF, NAN, 0.0, 2.0, -INF, -0.0]), FULL),
    (np.array([-INF, -INF, INF, 1.0, -INF, -INF, 1.0]), FULL),
    (np.array([[1.0], [2.0], [0.0], [0.0], [2.0], [2.0], [0.0]]), FULL),
    (np.zeros((7, 0)), FULL),
    (np.arange(8.0).reshape(2, 4), np.array([[0, 1, 2, 3], [3, -1, 0, 0]])),
)
NO_ROWS = (np.zeros((0, 2)), np.zeros(0, int))


def restarted(begins: Array, a: Array, b: Array) -> Array:
    """Return the recurrence along the first dimension, one element after another."""
    result = b.copy()
    for i, j in np.ndindex(b.shape):
        if i and not begins[i, j]:
            result[i, j] += a[i, j] * result[i - 1, j]
    return result


def with_begins(rng: np.random.Generator) -> tuple[Array, ...]:
    return rng.integers(0, 2, (6, 3)).astype(bool), *rng.standard_normal((2, 6, 3))


RECURRENCE = Row(
    "segmented_recurrence",
    lambda begins, a, b: restarting_op.bind(begins, a, b, axis=0),
    with_begins,
    restarted,
    edges=(
        (np.array([[True], [False], [True], [False]]), np.zeros((4, 1)), np.array([[INF], [1], [2], [NAN]])),
    ),
)

REDUCTIONS = tuple(
    Row(
        f"unsorted_segment_{how}{name}",
        function(how),
        drawn(*shape),
        finite(how),
        edges=(*EDGES, *([] if how in ("max", "min") else [NO_ROWS])),
        rtol=1e-13,
    )
    for how in REDUCE
    for name, shape in (("", (9,)), (" rows", (7, 3)))
)

ROWS: tuple[Row, ...] = (RECURRENCE, *REDUCTIONS)
