"""The rows of segments, histograms and blocks, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.elementwise import bits as bi
from jittape.primitives.indexing import histograms as hi
from jittape.primitives.indexing import isotonic as iso
from jittape.primitives.indexing import partitions as pa
from jittape.primitives.indexing import strided as sd
from jittape.primitives.indexing import unsorted_segments
from jittape.primitives.indexing.segment_ops import restarting_op
from jittape.primitives.reduce import statistics as st
from jittape.primitives.shape import blocks as bl
from primitive_table import INF, NAN, SPECIALS, Array, Row, Sampler, normal

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
    call = getattr(unsorted_segments, f"unsorted_segment_{how}")
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


# ---- histograms ------------------------------------------------------------------------------------------------------


def weighted(high: int, *shape: int) -> Sampler:
    """Return integers from 0 to below `high` and weights."""
    return lambda rng: (rng.integers(0, high, shape), rng.standard_normal(shape))


def counted(ids: Array, weights: Array, size: int = 5) -> Array:
    result = np.zeros(size, weights.dtype)
    for i, w in zip(ids.reshape(-1), weights.reshape(-1), strict=True):
        if i < size:
            result[i] += w
    return result


def confused(labels: Array, predictions: Array, weights: Array) -> Array:
    result = np.zeros((4, 4), weights.dtype)
    np.add.at(result, (labels, predictions), weights)
    return result


ENDS = np.array([-1.0, 1.0])


def binned(x: Array) -> Array:
    """Return which of 5 bins from -1 to 1 each number is in."""
    bins = np.clip(np.floor((np.clip(x, -2, 2) + 1) * 2.5), 0, 4)
    return np.where(np.isnan(x), -1, bins).astype(np.int32)


HISTOGRAMS = (
    Row(
        "bincount",
        lambda ids, w: hi.bincount(ids, w, 5, 5),
        weighted(7, 3, 4),
        counted,
        edges=((np.zeros((0, 2), int), np.zeros((0, 2))),),
        rtol=1e-13,
    ),
    Row(
        "bincount of rows",
        lambda ids, w: hi.bincount(ids, w, 5, 5, axis=-1),
        weighted(7, 3, 4),
        lambda ids, w: np.stack([counted(i, x) for i, x in zip(ids, w, strict=True)]),
        rtol=1e-13,
    ),
    Row(
        "confusion_matrix",
        lambda labels, predictions, w: hi.confusion_matrix(labels, predictions, 4, w, w.dtype),
        lambda rng: (rng.integers(0, 4, 9), rng.integers(0, 4, 9), rng.standard_normal(9)),
        confused,
        rtol=1e-13,
    ),
    Row(
        "histogram_fixed_width_bins",
        lambda x, ends: hi.histogram_fixed_width_bins(x, ends, 5),
        lambda rng: (rng.standard_normal((3, 4)), ENDS),
        lambda x, ends: binned(x),
        edges=((SPECIALS, ENDS), (np.zeros((0, 2)), ENDS), (np.array(0.5), ENDS)),
        wrt=(),
    ),
    Row(
        "histogram_fixed_width",
        lambda x, ends: hi.histogram_fixed_width(x, ends, 5),
        lambda rng: (rng.standard_normal((3, 4)), ENDS),
        lambda x, ends: np.bincount(binned(x)[binned(x) >= 0].reshape(-1), minlength=5).astype(np.int32),
        edges=((SPECIALS, ENDS), (np.zeros((0, 2)), ENDS)),
        wrt=(),
    ),
)


# ---- order -----------------------------------------------------------------------------------------------------------


def monotone(x: Array) -> Array:
    """Return the closest decreasing sequences, as least of the greatest means around each element."""
    if not x.ndim:
        return x
    result = np.empty_like(x)
    for place in np.ndindex(x.shape):
        row, i = x[place[:-1]], place[-1]
        result[place] = min(max(row[j : k + 1].mean() for k in range(i, len(row))) for j in range(i + 1))
    return result


def first_reversed(x: Array, lengths: Array) -> Array:
    result = x.copy()
    for row, n in zip(result, lengths, strict=True):
        row[:n] = row[:n][::-1].copy()
    return result


ORDER = (
    Row(
        "isotonic_regression",
        lambda x: iso.isotonic_regression(x).output,
        lambda rng: (np.cumsum(rng.standard_normal((3, 6)), -1),),
        monotone,
        edges=((np.zeros((2, 0)),), (np.array([[1.0, 1.0, 2.0, 2.0]]),), (np.array(2.5),)),
        rtol=1e-13,
    ),
    Row(
        "isotonic_regression increasing",
        lambda x: iso.isotonic_regression(x, False, 0).output,
        lambda rng: (rng.standard_normal((5, 2)),),
        lambda x: -monotone(-x.T).T,
        rtol=1e-13,
    ),
    Row(
        "isotonic_regression segments",
        lambda x: iso.isotonic_regression(x).segments,
        normal((3, 6)),
        lambda x: np.cumsum(np.diff(monotone(x), axis=-1, prepend=monotone(x)[:, :1]) != 0, -1).astype(
            np.int32
        ),
        wrt=(),
    ),
    Row(
        "invert_permutation",
        pa.invert_permutation,
        lambda rng: (rng.permutation(6),),
        np.argsort,
        edges=((np.zeros(0, int),),),
        dtypes=("float64",),
    ),
    Row(
        "reverse_sequence",
        lambda x, n: pa.reverse_sequence(x, n, 1, 0),
        lambda rng: (rng.standard_normal((3, 4, 2)), np.array([0, 4, 3])),
        first_reversed,
        edges=((np.zeros((2, 0)), np.zeros(2, int)),),
    ),
    Row(
        "is_non_decreasing",
        st.is_non_decreasing,
        normal((3, 2)),
        lambda x: np.all(x.reshape(-1)[1:] >= x.reshape(-1)[:-1]),
        edges=((np.array([1.0, 1.0, 2.0]),), (np.zeros((0, 2)),), (np.array(1.0),), (np.array([1.0, NAN]),)),
        wrt=(),
    ),
    Row(
        "is_strictly_increasing",
        st.is_strictly_increasing,
        normal((3, 2)),
        lambda x: np.all(x.reshape(-1)[1:] > x.reshape(-1)[:-1]),
        edges=((np.array([1.0, 1.0, 2.0]),), (np.array([1.0, 2.0]),), (np.zeros((0, 2)),)),
        wrt=(),
    ),
    Row(
        "strided_slice",
        lambda x: sd.strided_slice(x, [1, 9, 0, 3], [2, 9, 0, 0], [1, 1, 1, -2], 0, 0, 4, 2, 1),
        normal((3, 2, 4)),
        lambda x: x[1, None, ..., 3:0:-2],
    ),
)


# ---- blocks ----------------------------------------------------------------------------------------------------------


def depth_of(x: Array) -> Array:
    """Return each 2×2 block as the channels of one pixel."""
    return np.concatenate([x[:, i::2, j::2] for i in range(2) for j in range(2)], -1)


def batch_of(x: Array) -> Array:
    """Return every second column and every third row of the padded image, for all starts."""
    padded = np.pad(x, [(0, 0), (1, 2), (0, 1)])
    return np.concatenate([padded[:, i::3, j::2] for i in range(3) for j in range(2)])


BLOCKS = (
    Row("space_to_depth", lambda x: bl.space_to_depth(x, 2), normal((2, 4, 6, 3)), depth_of),
    Row(
        "depth_to_space",
        lambda x: bl.depth_to_space(x, 2, "NCHW"),
        lambda rng: (depth_of(rng.standard_normal((2, 4, 6, 3))).transpose(0, 3, 1, 2),),
        lambda x: np.block(
            [
                [
                    [
                        [x[b, c::3][2 * i + j, h, w] for w in range(3) for j in range(2)]
                        for h in range(2)
                        for i in range(2)
                    ]
                    for c in range(3)
                ]
                for b in range(2)
            ]
        ),
    ),
    Row(
        "space_to_batch",
        lambda x: bl.space_to_batch(x, [3, 2], [[1, 2], [0, 1]]),
        normal((2, 3, 3)),
        batch_of,
    ),
    Row(
        "batch_to_space",
        lambda x: bl.batch_to_space(x, [3], [[1, 0]]),
        normal((6, 2, 2)),
        lambda x: x.reshape(3, 2, 2, 2).transpose(1, 2, 0, 3).reshape(2, 6, 2)[:, 1:],
    ),
    Row(
        "bitcast",
        lambda x: bi.bitcast(x, np.int64),
        normal((3, 2)),
        lambda x: x.view(np.int64),
        edges=((SPECIALS,), (np.array(1.5),)),
        dtypes=("float64",),
        wrt=(),
    ),
    Row(
        "bitcast to smaller numbers",
        lambda x: bi.bitcast(x, np.uint16),
        normal((3, 2)),
        lambda x: x[..., None].view(np.uint16),
        edges=((SPECIALS,), (np.array([1.5]),)),
        dtypes=("float64",),
        wrt=(),
    ),
)

ROWS: tuple[Row, ...] = (RECURRENCE, *REDUCTIONS, *HISTOGRAMS, *ORDER, *BLOCKS)
