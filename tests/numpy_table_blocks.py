"""Histograms, order, partitions and blocks under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, INTS, SQUARE, E, S, V, X
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


# ---- parts and blocks ------------------------------------------------------------------------------------------------


def parts(data: Any, partitions: Any, count: Any) -> Any:
    """The rows of one part after another."""
    partitions = np.asarray(partitions)
    checked(
        partitions.dtype.kind in "iu" and data.shape[: partitions.ndim] == partitions.shape and count > 0,
        data,
    )
    checked(np.all(partitions >= 0) and np.all(partitions < count), data)
    return [data[partitions == part] for part in range(count)]


def stitched(indices: Any, data: Any) -> Any:
    """One row after another."""
    checked(isinstance(indices, list) and isinstance(data, list) and len(indices) == len(data) > 0, data)
    indices = [np.asarray(i) for i in indices]
    rest = data[0].shape[indices[0].ndim :]
    result = np.zeros((max([int(i.max(initial=-1)) for i in indices]) + 1, *rest), np.result_type(*data))
    for places, values in zip(indices, data, strict=True):
        checked(
            places.dtype.kind in "iu" and values.shape == (*places.shape, *rest) and np.all(places >= 0), data
        )
        for place in np.ndindex(places.shape):
            result[places[place]] = values[place]
    return result


def strided(x: Any, begin: Any, end: Any, strides: Any = None, **masks: int) -> Any:
    """NumPy's indexing with the key that the masks describe."""
    strides = [1] * len(begin) if strides is None else strides
    checked(len(begin) == len(end) == len(strides) and 0 not in strides, x)
    key: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        bits = {name for name, mask in masks.items() if mask >> i & 1}
        if "ellipsis_mask" in bits:
            key.append(Ellipsis)
        elif "new_axis_mask" in bits:
            key.append(None)
        elif "shrink_axis_mask" in bits:
            checked(step > 0, x)
            key.append(start)
        else:
            key.append(
                slice(None if "begin_mask" in bits else start, None if "end_mask" in bits else stop, step)
            )
    return np.array(x[tuple(key)])


def to_depth(x: Any, size: Any, data_format: str = "NHWC") -> Any:
    """Blocks as channels."""
    checked(x.ndim == 4 and size > 1 and data_format in ("NHWC", "NCHW"), x)
    x = np.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    checked(x.shape[1] % size == 0 == x.shape[2] % size, x)
    found = np.concatenate([x[:, i::size, j::size] for i in range(size) for j in range(size)], -1)
    return np.moveaxis(found, -1, 1) if data_format == "NCHW" else found


def to_space(x: Any, size: Any, data_format: str = "NHWC") -> Any:
    """Channels as blocks."""
    checked(x.ndim == 4 and size > 1 and data_format in ("NHWC", "NCHW"), x)
    x = np.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    rest, left = divmod(x.shape[3], size * size)
    checked(left == 0, x)
    found = np.empty((x.shape[0], x.shape[1] * size, x.shape[2] * size, rest), x.dtype)
    for i in range(size):
        for j in range(size):
            first = (i * size + j) * rest
            found[:, i::size, j::size] = x[..., first : first + rest]
    return np.moveaxis(found, -1, 1) if data_format == "NCHW" else found


def to_batch(x: Any, block: Any, paddings: Any) -> Any:
    """Elements of blocks as elements of the batch."""
    block, widths = np.asarray(block), np.asarray(paddings)
    checked(block.ndim == 1 and x.ndim > block.size and np.all(block > 0), x)
    checked(widths.shape == (block.size, 2) and np.all(widths >= 0), x)
    padded = np.pad(x, [(0, 0), *map(tuple, widths), *[(0, 0)] * (x.ndim - 1 - block.size)])
    checked(all(n % b == 0 for n, b in zip(padded.shape[1:], block, strict=False)), x)
    starts = [
        tuple(slice(i, None, b) for i, b in zip(place, block, strict=True)) for place in np.ndindex(*block)
    ]
    return np.concatenate([padded[(slice(None), *start)] for start in starts])


def from_batch(x: Any, block: Any, crops: Any) -> Any:
    """Elements of the batch as elements of blocks."""
    block, widths = np.asarray(block), np.asarray(crops)
    checked(block.ndim == 1 and x.ndim > block.size and np.all(block > 0), x)
    checked(x.shape[0] % block.prod() == 0 and widths.shape == (block.size, 2) and np.all(widths >= 0), x)
    count = x.shape[0] // int(block.prod())
    sizes = [n * b for n, b in zip(x.shape[1:], block, strict=False)]
    checked(all(sum(w) <= n for w, n in zip(widths.tolist(), sizes, strict=True)), x)
    found = np.empty((count, *sizes, *x.shape[1 + block.size :]), x.dtype)
    for k, place in enumerate(np.ndindex(*block)):
        start = tuple(slice(i, None, b) for i, b in zip(place, block, strict=True))
        found[(slice(None), *start)] = x[k * count : (k + 1) * count]
    kept = tuple(slice(a, n - b) for n, (a, b) in zip(sizes, widths.tolist(), strict=True))
    return found[(slice(None), *kept)]


def viewed(x: Any, dtype: Any) -> Any:
    """NumPy's view."""
    x, dtype = np.asarray(x), np.dtype(dtype)
    checked(x.dtype.kind in "iufc" and dtype.kind in "iufc", x)
    if dtype.itemsize < x.dtype.itemsize:
        return x[..., None].copy().view(dtype)
    if dtype.itemsize > x.dtype.itemsize:
        checked(x.ndim and x.shape[-1] * x.dtype.itemsize == dtype.itemsize, x)
        return np.ascontiguousarray(x).view(dtype)[..., 0]
    return x.view(dtype)


def broadcast_shape(x: Any, y: Any) -> Any:
    """NumPy's."""
    return np.broadcast_shapes(tuple(x), tuple(y))


IMAGE = numbers("float64", (2, 4, 6, 8))
IMAGES = given(
    *[(IMAGE, n, f) for n in (2, 3, 4, 1, 0, 1.5) for f in ("NHWC", "NCHW", "HWCN")],
    *[(IMAGE.astype(d), 2) for d in ("bool", "int8", "float16", "complex64")],
    (CUBE, 2),
    (IMAGE[:0], 2),
)
SHAPES = given(
    ([2, 1], [3]), ([], [2]), ((4,), [1]), ([2, 2], [3]), ([0, 1], [5]), (np.array([2, 1]), [3]), ([1.5], [2])
)  # fmt: skip
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
BATCHES = given(
    *[(IMAGE, b, p) for b in ([2], [2, 3], [1, 1, 4]) for p in ([[0, 0]] * 3, [[0, 2], [1, 2], [4, 4]])],
    *[(IMAGE, b, p) for b in ([2], [2, 3]) for p in ([[0, 2]], [[1, 3], [2, 1]], [[1, 0]], [[-1, 1]], [1])],
    (numbers("bool", (6, 2)), [2], [[0, 0]]),
    (numbers("int8", (6, 2)), [3], [[1, 3]]),
    (IMAGE, 2, [[0, 0]]),
    (IMAGE, [0], [[0, 0]]),
    (V, [2], [[0, 0]]),
    (E, [1], [[0, 0]]),
)

BLOCKS = [
    Row(
        "jt.dynamic_partition",
        jt.dynamic_partition,
        parts,
        given(
            *[(numbers(d, (4, 2)), np.array([1, 0, 1, 3]), 4) for d in DTYPES],
            (X, np.array([[1, 0, 1], [0, 0, 0]]), 2),
            (X, [1, 0], 2),
            (X, [1, 2], 2),
            (X, np.array([1, -1]), 2),
            (X, [1.0, 0.0], 2),
            (X, [1, 0, 1], 2),
            (X, [0, 0], 0),
            (S, np.array(1), 2),
            (E, np.zeros(0, int), 2),
        ),
    ),
    Row(
        "jt.dynamic_stitch",
        jt.dynamic_stitch,
        stitched,
        given(
            *[
                ([np.array([0, 5]), np.array([2, 5])], [numbers(d, (2, 2)), numbers("float32", (2, 2), 1)])
                for d in DTYPES
            ],
            ([1, [0, 2]], [V, np.stack([V, V])]),
            ([np.array([[0, 1], [2, 1]])], [CUBE[:, :2]]),
            ([[0, 1]], [V]),
            ([[0, -1]], [V[:2]]),
            ([[0.0]], [V[:1]]),
            ([[0]], [V[:1], V[:1]]),
            ([], []),
            (np.array([[0, 1]]), [V[:2]]),
            ([np.zeros(0, int)], [E]),
            ([[0], [1]], [V[:1], X[:1]]),
        ),
    ),
    Row(
        "jt.strided_slice",
        jt.strided_slice,
        strided,
        given(
            *[
                (CUBE, [0, 1, 3], [2, 3, 0], [1, 1, -2], {name: bit})
                for name in MASKS
                for bit in (1, 2, 3, 4, 7)
            ],
            (CUBE, [0, -1], [2, -3], [1, -1], {"end_mask": 2, "begin_mask": 1}),
            (CUBE, [0, 0, 1], [0, 0, 2], {"ellipsis_mask": 1, "new_axis_mask": 2, "shrink_axis_mask": 4}),
            (CUBE, [5], [6], {"shrink_axis_mask": 1}),
            (CUBE, [0] * 4, [1] * 4),
            (CUBE, [0], [1], [0]),
            (CUBE, [0, 0], [1]),
            (CUBE, [0.5], [1]),
            *[(a, [0], [1]) for a in (BOOLS, COMPLEX, INTS, E)],
            (S, [0], [1]),
        ),
    ),
    Row("jt.nn.space_to_depth", jt.nn.space_to_depth, to_depth, IMAGES),
    Row("jt.nn.depth_to_space", jt.nn.depth_to_space, to_space, IMAGES),
    Row("jt.space_to_batch", jt.space_to_batch, to_batch, BATCHES),
    Row("jt.space_to_batch_nd", jt.space_to_batch_nd, to_batch, BATCHES),
    Row("jt.batch_to_space", jt.batch_to_space, from_batch, BATCHES),
    Row(
        "jt.bitcast",
        jt.bitcast,
        viewed,
        given(
            *[(edges(d), t) for d in DTYPES for t in DTYPES],
            *[
                (numbers(d, (3, 2)), t)
                for d in ("int32", "float32", "uint8")
                for t in ("int64", "complex64", "int16")
            ],
            *[(a, "uint8") for a in (S, E, SQUARE)],
        ),
    ),
    Row("jt.broadcast_static_shape", jt.broadcast_static_shape, broadcast_shape, SHAPES),
    Row(
        "jt.broadcast_dynamic_shape",
        jt.broadcast_dynamic_shape,
        lambda x, y: np.array(broadcast_shape(x, y), np.int32),
        SHAPES,
    ),
    Row(
        "jt.shape_n",
        jt.shape_n,
        lambda xs: [np.array(x.shape, np.int32) for x in xs],
        given(([X, CUBE, S],), ([E],)),
    ),
]

ROWS = [*HISTOGRAMS, *ORDER, *BLOCKS]
