"""Functions that split, merge and reorder rows: dynamic_partition, dynamic_stitch, reverse_sequence, permutations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import int64
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_array, as_int, named
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    cast_to,
    iota,
    one_axis_key,
    promote,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import subtract
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.comparison import greater_equal, less, logical_or, where
from jittape.primitives.indexing.checked_integers import (
    check_integers,
    checked_integers,
    integer_array,
    placed_at,
)
from jittape.primitives.indexing.gather import known_indices
from jittape.primitives.indexing.gather_ops import gather_op
from jittape.primitives.indexing.index_arrays import counted, scattered_op
from jittape.primitives.shape.reshaping import one_axis, shape_of
from jittape.primitives.shape.views import concat_op, inverse, permuted
from jittape.typing import Tensor, TensorLike

__all__ = ["dynamic_partition", "dynamic_stitch", "invert_permutation", "reverse_sequence"]


# ---- partition and stitch --------------------------------------------------------------------------------------------


def _partitioned(data: Any, *rows_and_shape: Any) -> tuple[Any, ...]:
    *rows, shape = rows_and_shape
    data = as_symbol(data)
    if data.shape[: len(shape)] != shape:
        raise ShapeError(
            f"[dynamic_partition] the shape of data {data.shape} must start with the shape of partitions {shape}"
        )
    data = to_shape(data, (int(np.prod(shape, dtype=np.int64)), *data.shape[len(shape) :]))
    return tuple([gather_op.bind(data, row, axis=0) for row in rows])


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Split the rows of `data` into `num_partitions` tensors, in order.

    The number of rows of each part depends on `partitions`, whose values are read, so pending operations run. In a
    compiled function, use `jt.where` or segments.

    Parameters
    ----------
    data : tensor_like
        Shape ``(*partitions.shape, ...)``.
    partitions : tensor_like of int
        The part that each row belongs to, from 0 to below `num_partitions`.
    num_partitions : int
        Number of parts, at least 1.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If a partition is out of range or the shapes do not fit.

    Examples
    --------
    >>> low, high = jt.dynamic_partition([1.0, 5.0, 2.0], [0, 1, 0], num_partitions=2)
    >>> print(low.numpy(), high.numpy())
    [1. 2.] [5.]
    """
    count = as_int("num_partitions", num_partitions)
    if count < 1:
        raise named(ValueError(f"num_partitions must be positive, got {count}"))
    numbers = integer_array("partitions", as_array("partitions", partitions, "use jt.where or segments"))
    check_integers("dynamic_partition", "partitions", numbers, count)
    rows = [np.flatnonzero(numbers == part) for part in range(count)]
    return list(apply(_partitioned, (data, *rows), (numbers.shape,)))


def _stitched(source: Any, *data_and_shapes: Any) -> Any:
    *data, shapes = data_and_shapes
    data = list(promote(*data))
    rest = data[0].shape[len(shapes[0]) :]
    for i, (part, shape) in enumerate(zip(data, shapes, strict=True)):
        if part.shape != (*shape, *rest):
            raise ShapeError(
                f"[dynamic_stitch] data[{i}] must have the shape {shape} of indices[{i}], followed by {rest}, "
                f"got {part.shape}"
            )
        data[i] = to_shape(part, (int(np.prod(shape, dtype=np.int64)), *rest))
    rows = concat_op.bind(*data, axis=0) if len(data) > 1 else data[0]
    if rows.shape[0] == 0:
        return broadcast(literal(0, rows.dtype), (*source.shape, *rest))
    found = gather_op.bind(rows, where(less(source, 0), 0, source), axis=0)
    written = to_shape(greater_equal(source, 0), (*source.shape, *(1,) * len(rest)))
    return where(written, found, 0)


def dynamic_stitch(
    indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None
) -> Tensor:
    """Merge the rows of several tensors into one: row ``indices[m][i]`` of the result is ``data[m][i]``.

    If several rows have one index, the last is used, and only that one has a gradient. Rows without an index are 0.

    Parameters
    ----------
    indices : sequence of tensor_like of int
        Their values are read, so pending operations run: the result has as many rows as the greatest index plus 1.
    data : sequence of tensor_like
        ``data[m]`` has the shape of ``indices[m]``, followed by the shape of one row.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If an index is negative or the shapes do not fit.

    Examples
    --------
    >>> jt.dynamic_stitch([[0, 2], [1, 3]], [[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([1., 3., 2., 4.], dtype=float32)
    """
    if not isinstance(indices, (list, tuple)) or not isinstance(data, (list, tuple)):
        raise named(TypeError("indices and data must be lists of tensors"))
    if len(indices) != len(data) or not data:
        raise named(
            ValueError(
                f"indices and data must be lists of equal length, at least 1, got {len(indices)} and {len(data)}"
            )
        )
    arrays = []
    for i, part in enumerate(indices):
        arrays.append(integer_array(f"indices[{i}]", as_array(f"indices[{i}]", part)))
        check_integers("dynamic_stitch", f"indices[{i}]", arrays[-1])
    flat = np.concatenate([array.reshape(-1) for array in arrays])
    source = np.full(int(flat.max(initial=-1)) + 1, -1, np.int64)
    source[flat] = np.arange(flat.size)
    return apply(_stitched, (source, *data), (tuple([array.shape for array in arrays]),))


# ---- reverse ---------------------------------------------------------------------------------------------------------


def _reversed(x: Any, lengths: Any, seq_axis: int, batch_axis: int) -> Any:
    op = "reverse_sequence"
    x, lengths = as_symbol(x), as_symbol(lengths)
    along, batch = [one_axis(op, axis, len(x.shape)) for axis in (seq_axis, batch_axis)]
    if along == batch:
        raise ShapeError(f"[{op}] seq_axis and batch_axis must differ, both are {along}")
    if lengths.shape != (x.shape[batch],):
        raise ShapeError(
            f"[{op}] seq_lengths must have the shape ({x.shape[batch]},) for axis {batch} of shape {x.shape}, "
            f"got {lengths.shape}"
        )
    count = x.shape[along]
    lengths = checked_integers(op, "seq_lengths", lengths, count + 1)
    if x.aval.size == 0:
        return x
    order = (batch, along, *[d for d in range(len(x.shape)) if d not in (batch, along)])
    shape = (x.shape[batch], count)
    place, ends = iota(shape, 1, int64), broadcast(to_shape(lengths, (shape[0], 1)), shape)
    place = where(less(place, ends), subtract(subtract(ends, 1), place), place)
    return permuted(gather_op.bind(permuted(x, order), iota(shape, 0, int64), place, axis=0), inverse(order))


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Reverse the first ``seq_lengths[i]`` elements of each sequence; the elements after them keep their place.

    Parameters
    ----------
    input : tensor_like
        At least 2 dimensions.
    seq_lengths : tensor_like of int
        Shape ``(input.shape[batch_axis],)``, from 0 to ``input.shape[seq_axis]``.
    seq_axis : int
        The dimension along which sequences are reversed.
    batch_axis : int, optional
        The dimension of the sequences; the first by default.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If a length is out of range: immediately if the lengths are a list or an array, when the result is read if they
        are a tensor. If the shapes do not fit.

    Examples
    --------
    >>> jt.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy()
    array([[2, 1, 3],
           [6, 5, 4]], dtype=int32)
    """
    if seq_axis is None:
        raise named(TypeError("seq_axis must be an int, got None"))
    axes = (one_axis_key(seq_axis), 0 if batch_axis is None else one_axis_key(batch_axis))
    known, shape = known_indices(seq_lengths), shape_of(input)
    if known is not None and -len(shape) <= axes[0] < len(shape):
        check_integers("reverse_sequence", "seq_lengths", known, shape[axes[0]] + 1)
    return apply(_reversed, (input, seq_lengths if known is None else known), axes)


# ---- permutations ----------------------------------------------------------------------------------------------------


def _inverse_abstract_eval(x: Aval) -> Aval:
    if x.ndim != 1:
        raise ShapeError(f"[invert_permutation] x must have 1 dimension, got shape {x.shape}")
    if x.dtype.kind not in "iu":
        raise DTypeError(f"[invert_permutation] x must be integers, got {x.dtype.name}; cast them first")
    return x


def _inverse_impl(x: Any) -> Any:
    check_integers("invert_permutation", "x", x, x.size)
    result = np.full(x.size, -1, np.int64)
    result[x] = np.arange(x.size)
    twice = result[x] != np.arange(x.size)
    if twice.any():
        raise ValueError(
            f"[invert_permutation] x must contain each number once, got x{placed_at(twice)} = {x[twice][0]} again"
        )
    return result.astype(x.dtype)


def _inverse_scattered(x: Any) -> Any:
    """Return the decomposition for compiled code: numbers are scattered, and each must have been written."""
    size = x.shape[0]
    index, order = cast_to(x, int64), iota((size,), 0, int64)
    places = counted((index,), (size,))
    if places is None:
        return broadcast(literal(0, x.dtype), (0,))
    start = broadcast(literal(-1, int64), (size,))
    result = scattered_op.bind(start, order, *places, axis=0, count=1, how="update")
    wrong = logical_or(less(index, 0), less(result, 0))
    end_run_where(wrong, "ValueError", "invert_permutation: x is no permutation")
    return cast_to(where(wrong, 0, result), x.dtype)


inverse_permutation_op = Primitive(
    "invert_permutation",
    abstract_eval=_inverse_abstract_eval,
    impl=_inverse_impl,
    lowering=Decomposition(_inverse_scattered),
    gradient_stops="a permutation consists of integers",
)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse `y` of a permutation: ``y[x[i]] == i``.

    Parameters
    ----------
    x : tensor_like of int
        Shape ``(n,)``: the numbers from 0 to ``n - 1`` in any order.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `x` is not a permutation, when the result is computed.

    Examples
    --------
    >>> jt.math.invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    return apply(inverse_permutation_op, (x,))
