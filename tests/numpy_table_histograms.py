"""Histograms and order under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import CUBE, E, S, V, X
from numpy_rows import NO_ORDER, NOT_COMPLEX, WHOLE, Row
from numpy_samples import DTYPES, edges, given, numbers, unary
from numpy_table import checked, floats
from primitive_table_segments import monotone

# ---- histograms ------------------------------------------------------------------------------------------------------

COUNTS = np.array([[1, 2, 2], [5, 0, 2]])
IS_INTEGER = "TensorFlow: the values must be integers"


def counted(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = "int32",
    axis: Any = None,
    binary_output: bool = False,
) -> Any:
    """NumPy's, cut and cast as in TensorFlow."""
    arr = np.asarray(arr)
    checked(arr.dtype.kind in "iu" or not arr.size, arr)
    checked(axis in (None, 0, -1) and not (binary_output and weights is not None), arr)
    checked(all(n is None or n >= 0 for n in (minlength, maxlength)), arr)
    checked(weights is None or (weights.shape == arr.shape and weights.dtype.kind in "iufc"), arr)
    size = max(int(arr.max()) + 1 if arr.size else 0, minlength or 0)
    size = size if maxlength is None else min(size, maxlength)
    rows = arr.reshape(-1, arr.shape[-1]) if axis == -1 else arr.reshape(1, -1)
    result = np.zeros((len(rows), size), dtype if weights is None else weights.dtype)
    one = np.ones(arr.shape, result.dtype) if weights is None else weights
    for row, ids, values in zip(result, rows, one.reshape(rows.shape), strict=True):
        checked(np.all(ids >= 0), arr)
        np.add.at(row, ids[ids < size].astype(int), values[ids < size])
    result = (result > 0).astype(dtype) if binary_output else result
    return result.reshape(*arr.shape[:-1], size) if axis == -1 else result[0]


def confused(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = "int32"
) -> Any:
    """Pairs, one after another."""
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 and predictions.ndim == 1 else labels
    checked(labels.dtype.kind in "iu" and predictions.dtype.kind in "iu" and labels.ndim == 1, labels)
    checked(labels.shape == predictions.shape, labels)
    size = (
        int(max(labels.max(initial=-1), predictions.max(initial=-1))) + 1
        if num_classes is None
        else num_classes
    )
    result = np.zeros((size, size), dtype)
    checked(np.all(labels >= 0) and np.all(predictions >= 0), labels)
    np.add.at(result, (labels, predictions), 1 if weights is None else weights.astype(dtype))
    return result


def binned(values: Any, ends: Any, nbins: Any = 100, dtype: Any = "int32") -> Any:
    """The bin of each value, -1 for nan."""
    values = values if values.dtype.kind == "f" else values.astype(float)
    low, high = np.asarray(ends).astype(values.dtype)
    checked(low < high and nbins > 0 and np.dtype(dtype).kind in "iu", values)
    place = np.floor((values - low) / (high - low) * values.dtype.type(nbins))
    return np.where(np.isnan(values), -1, np.nan_to_num(np.clip(place, 0, nbins - 1))).astype(dtype)


def histogram(values: Any, ends: Any, nbins: Any = 100, dtype: Any = "int32") -> Any:
    """The number of values in each bin."""
    bins = binned(values, ends, nbins, dtype).astype(int)
    bins = np.where(np.isnan(values), -1, bins)
    return np.bincount(bins[bins >= 0].reshape(-1), minlength=nbins).astype(dtype)


ENDS = np.array([-1.0, 1.5])
BINS = given(
    *[(edges(d), ENDS, 5) for d in DTYPES],
    *[(numbers(d), ENDS, 3) for d in DTYPES],
    (X, [0, 2], 4),
    (X.astype("float32"), [0, 2], 4),
    (X, ENDS),
    (X, ENDS, 4, "uint8"),
    (X, ENDS, 0),
    (X, ENDS, 2.5),
    (X, ENDS, 4, "float32"),
    (X, ENDS[::-1].copy(), 4),
    (X, np.zeros(2), 4),
    (X, np.array([0.0, np.nan]), 4),
    (X, np.zeros(3), 4),
    (E, ENDS, 4),
    (S, ENDS, 4),
)

HISTOGRAMS = [
    Row(
        "jt.math.bincount",
        jt.math.bincount,
        counted,
        given(
            (COUNTS,),
            *[(COUNTS.astype(d),) for d in ("int8", "uint8", "uint64", "float32", "bool")],
            *[(COUNTS, numbers(d), {"axis": a}) for d in DTYPES for a in (None, -1)],
            *[
                (COUNTS, {"minlength": n, "maxlength": m, "axis": a, "binary_output": b})
                for n in (None, 0, 3, 8, -1)
                for m in (None, 0, 3, 8, 1.5)
                for a, b in ((None, False), (0, True), (-1, False), (-1, True))
            ],
            (COUNTS, {"axis": 1}),
            (COUNTS, {"axis": True}),
            (COUNTS, {"dtype": "float64"}),
            (COUNTS, X[:, 0]),
            (COUNTS, X, {"binary_output": True}),
            (-COUNTS,),
            (np.zeros(0, int),),
            (np.array(3),),
            (np.array(3), {"axis": -1}),
            ([1, 2, 2],),
            ([],),
            (V,),
        ),
    ),
    Row(
        "jt.math.confusion_matrix",
        jt.math.confusion_matrix,
        confused,
        given(
            (COUNTS[0], COUNTS[1]),
            (COUNTS[0], COUNTS[1].astype("uint8"), 6),
            (COUNTS[0], COUNTS[1], 5),
            (COUNTS[0], -COUNTS[1], 6),
            (COUNTS[0], -COUNTS[1]),
            (COUNTS[0], COUNTS[1], None, X[0], "float64"),
            (COUNTS[0], COUNTS[1], None, X[0], "int32"),
            (COUNTS[0], COUNTS[1], None, X, "float64"),
            (COUNTS[0][:, None], COUNTS[1]),
            (COUNTS, COUNTS),
            (COUNTS[0], COUNTS[1, :2]),
            (COUNTS[0].astype(float), COUNTS[1]),
            (np.zeros(0, int), np.zeros(0, int)),
            (COUNTS[0], COUNTS[1], -1),
            (COUNTS[0], COUNTS[1], 1.5),
        ),
    ),
    Row(
        "jt.histogram_fixed_width_bins",
        jt.histogram_fixed_width_bins,
        binned,
        BINS,
        (NOT_COMPLEX, WHOLE),
    ),
    Row("jt.histogram_fixed_width", jt.histogram_fixed_width, histogram, BINS, (NOT_COMPLEX,)),
]


# ---- order -----------------------------------------------------------------------------------------------------------


def distinct(x: Any, out_idx: Any = "int32") -> Any:
    """One element after another; every nan is new."""
    x = np.asarray(x, np.int32 if isinstance(x, list) else None)
    checked(x.ndim == 1 and np.dtype(out_idx).kind in "iu", x)
    found: list[Any] = []
    numbers_: list[int] = []
    for value in x:
        known = [i for i, other in enumerate(found) if other == value]
        numbers_.append(known[0] if known else len(found))
        found += [] if known else [value]
    counts = [numbers_.count(i) for i in range(len(found))]
    return np.array(found, x.dtype), np.array(numbers_, out_idx), np.array(counts, out_idx)


def pooled(row: Any) -> Any:
    """The number of the block of each element: the first neighbors whose means rise are merged, again and again."""
    blocks = [[value] for value in row.tolist()]
    while True:
        means = [np.mean(block) for block in blocks]
        rising = [i for i in range(len(blocks) - 1) if means[i] < means[i + 1]]
        if not rising:
            return np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        blocks[rising[0] : rising[0] + 2] = [blocks[rising[0]] + blocks[rising[0] + 1]]


def regression(x: Any, decreasing: Any = True, axis: Any = -1) -> Any:
    """The closest monotone sequence, from the extreme means around each element, and its blocks."""
    x = floats(x)
    checked(not isinstance(axis, bool) and isinstance(axis, int) and -x.ndim <= axis < x.ndim, x)
    sign = 1 if decreasing else -1
    rows = sign * np.moveaxis(x.astype(float), axis, -1)
    output, blocks = sign * monotone(rows), np.zeros(rows.shape, np.int32)
    for place in np.ndindex(rows.shape[:-1]):
        blocks[place] = pooled(rows[place])
    return np.moveaxis(output, -1, axis).astype(x.dtype), np.moveaxis(blocks, -1, axis)


def bound(side: str) -> Any:
    """NumPy's search in one row after another."""

    def reference(rows: Any, values: Any, out_type: Any = "int32") -> Any:
        checked(rows.ndim and values.ndim and rows.shape[:-1] == values.shape[:-1], rows)
        checked(np.dtype(out_type).kind in "iu", rows)
        found = np.empty(values.shape, out_type)
        for place in np.ndindex(values.shape[:-1]):
            found[place] = np.searchsorted(rows[place], values[place], side)
        return found

    return reference


def reversed_(x: Any, lengths: Any, seq_axis: Any = None, batch_axis: Any = 0) -> Any:
    """The first elements of one sequence after another."""
    lengths = np.asarray(lengths)
    axes = np.array([seq_axis, batch_axis])
    checked(axes.dtype.kind == "i" and np.all(axes < x.ndim) and axes[0] % x.ndim != axes[1] % x.ndim, x)
    checked(lengths.dtype.kind in "iu" and lengths.shape == (x.shape[batch_axis],), x)
    checked(np.all(lengths >= 0) and np.all(lengths <= x.shape[seq_axis]), x)
    result = x.copy()
    rows = np.moveaxis(result, (batch_axis, seq_axis), (0, 1))
    for row, n in zip(rows, lengths, strict=True):
        row[:n] = row[:n][::-1].copy()
    return result


def inverted(x: Any) -> Any:
    """The order that sorts a permutation."""
    checked(x.dtype.kind in "iu" and x.ndim == 1 and sorted(x.tolist()) == list(range(x.size)), x)
    return np.argsort(x).astype(x.dtype)


def rises(x: Any, strictly: bool = False) -> Any:
    """A comparison of neighbors."""
    before, after = x.reshape(-1)[:-1], x.reshape(-1)[1:]
    return np.all(before < after if strictly else before <= after)


UNIQUE = given(
    *[(edges(d),) for d in DTYPES],
    *[(np.tile(edges(d), 2),) for d in DTYPES],
    ([3, 1, 3],),
    (V, "int64"),
    (V, "float32"),
    (X,),
    (S,),
    (np.zeros(0),),
)
BOUNDS = given(
    (np.sort(V), V),
    (np.sort(V), V, "int64"),
    (np.sort(V), V, "float32"),
    (np.sort(X), X),
    (V, S),
    (np.sort(V), X),
)
LENGTHS = np.array([2, 0])

ORDER = [
    Row("jt.unique", jt.unique, lambda *args: distinct(*args)[:2], UNIQUE),
    Row("jt.unique_with_counts", jt.unique_with_counts, distinct, UNIQUE),
    Row(
        "jt.nn.isotonic_regression",
        jt.nn.isotonic_regression,
        regression,
        given(
            *[(numbers(d),) for d in DTYPES],
            *[(CUBE, d, a) for d in (True, False) for a in (0, 1, 2, -1, 3, True, 1.5)],
            (E,),
            (V,),
        ),
        (NOT_COMPLEX,),
        rtol=16,
        signed_zeros=False,
    ),
    Row("jt.math.lower_bound", jt.math.lower_bound, bound("left"), BOUNDS),
    Row("jt.math.upper_bound", jt.math.upper_bound, bound("right"), BOUNDS),
    Row(
        "jt.math.invert_permutation",
        jt.math.invert_permutation,
        inverted,
        given(
            (np.array([2, 0, 1]),),
            (np.array([1, 0], "uint8"),),
            (np.array([1, 1]),),
            (np.array([0, -1]),),
            (np.array([0, 2]),),
            (np.zeros(0, "int32"),),
            (np.zeros((1, 1), int),),
            (np.array([0.0]),),
        ),
    ),
    Row(
        "jt.reverse_sequence",
        jt.reverse_sequence,
        reversed_,
        given(
            *[(numbers(d), LENGTHS, {"seq_axis": 1}) for d in DTYPES],
            *[
                (CUBE, np.arange(CUBE.shape[b]) % 3, {"seq_axis": a, "batch_axis": b})
                for a in (0, 1, 2, -1)
                for b in (0, 1, 2)
            ],
            (X, [1, 2], {"seq_axis": 1}),
            (X, [1, 4], {"seq_axis": 1}),
            (X, np.array([1, 4]), {"seq_axis": 1}),
            (X, np.array([1, -1]), {"seq_axis": 1}),
            (X, np.array([1.0, 2.0]), {"seq_axis": 1}),
            (X, np.array([1]), {"seq_axis": 1}),
            (X, LENGTHS),
            (X, LENGTHS, {"seq_axis": 2}),
            (E, np.zeros(0, int), {"seq_axis": 1}),
        ),
    ),
    Row("jt.math.is_non_decreasing", jt.math.is_non_decreasing, rises, unary(), (NO_ORDER,)),
    Row(
        "jt.math.is_strictly_increasing",
        jt.math.is_strictly_increasing,
        lambda x: rises(x, True),
        unary(),
        (NO_ORDER,),
    ),
]

ROWS = [*HISTOGRAMS, *ORDER]
