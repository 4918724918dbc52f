"""Partitions and blocks under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, INTS, SQUARE, E, S, V, X
from numpy_rows import Row
from numpy_samples import DTYPES, edges, given, numbers
from numpy_table import checked

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

ROWS = BLOCKS
