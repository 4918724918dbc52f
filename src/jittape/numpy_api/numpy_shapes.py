"""NumPy's functions that change shapes, move elements or make ranges: adapters to user-level functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, int64
from jittape.core.primitive import active_recorder, apply
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError, ShapeError
from jittape.numpy_api.numpy_operands import (
    array_like,
    axis_of,
    converted,
    dtype_of,
    is_number,
    reject,
    shape_of,
    strong,
    values_of,
)
from jittape.primitives.broadcast import aligned_shapes, axis_key, iota
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater_equal, less_equal, not_equal, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.identity import identity
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.indexing.repetition import repeat, tile
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.matrices import diag
from jittape.primitives.shape import creation
from jittape.primitives.shape.joining import concat, meshgrid, split, stack
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.shape.reshaping import (
    as_shape,
    broadcast_to,
    expand_dims,
    one_axis,
    reshape,
    transpose,
)

__all__ = [
    "RANGES",
    "common_shape",
    "joining_adapter",
    "numpy_array_split",
    "numpy_broadcast_arrays",
    "numpy_column_stack",
    "numpy_concatenate",
    "numpy_diag",
    "numpy_diff",
    "numpy_flip",
    "numpy_meshgrid",
    "numpy_ravel",
    "numpy_repeat",
    "numpy_reshape",
    "numpy_split",
    "numpy_stack",
    "numpy_swapaxes",
    "numpy_tile",
    "numpy_tril",
    "numpy_triu",
    "rank_adapter",
    "with_weak_numbers",
]


def numpy_reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    """``np.reshape``."""
    a, shape = strong(a), newshape if shape is None else shape
    if order == "F":
        return transpose(reshape(transpose(a), as_shape("np.reshape", shape)[::-1]))
    if order not in ("C", "A", "K"):
        raise ValueError(f"[np.reshape] order must be 'C', 'F', 'A' or 'K', got {order!r}")
    return reshape(a, shape)


def numpy_ravel(a: Any, order: str = "C") -> Any:
    """``np.ravel``."""
    return numpy_reshape(a, -1, order)


def numpy_swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """``np.swapaxes``."""
    rank = len(shape_of(a))
    perm = list(range(rank))
    first, second = (one_axis("np.swapaxes", axis_key(axis), rank) for axis in (axis1, axis2))
    perm[first], perm[second] = second, first
    return transpose(a, perm)


def numpy_broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """``np.broadcast_arrays``; None and texts, which matplotlib passes along, become arrays as in NumPy."""
    arrays = [np.asarray(a) if a is None or isinstance(a, str) else strong(a) for a in args]
    shape = common_shape("broadcast_arrays", arrays)
    return tuple([(np.broadcast_to if dtype_of(a).kind in "OU" else broadcast_to)(a, shape) for a in arrays])


def common_shape(function: str, arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape to which `arrays` broadcast."""
    shapes = [shape_of(a) for a in arrays]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"[np.{function}] shapes {' and '.join(map(str, shapes))} do not broadcast; reshape one of them\n"
            f"{aligned_shapes(*shapes)}"
        ) from None


def with_weak_numbers(arrays: Any) -> list[Any]:
    """Return arrays, with Python's numbers among them in the dtype to which NumPy promotes them."""
    weak = [type(a) in (int, float, complex) for a in arrays]
    if not any(weak) or all(weak):
        return [strong(a) for a in arrays]
    known = [type(a)(0) if w else dtype_of(strong(a)) for a, w in zip(arrays, weak, strict=True)]
    common = np.result_type(*known)
    return [np.asarray(a).astype(common) if w else strong(a) for a, w in zip(arrays, weak, strict=True)]


def numpy_concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    """``np.concatenate``."""
    if out is not None or casting not in (None, "same_kind"):
        reject("concatenate", out=out, casting=casting)
    if axis is None:
        arrays, axis = [reshape(a, -1) for a in with_weak_numbers(arrays)], 0
    else:
        arrays = [strong(a) for a in arrays]
    return converted(concat(arrays, axis), dtype, "same_kind")


def numpy_stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    """``np.stack``."""
    if out is not None or casting not in (None, "same_kind"):
        reject("stack", out=out, casting=casting)
    joined = stack([strong(a) for a in arrays], axis)
    return joined if dtype is None else converted(joined, dtype, "same_kind")


def rank_adapter(rank: int) -> Callable[..., Any]:
    """Return ``np.atleast_1d``, ``np.atleast_2d`` or ``np.atleast_3d``."""

    def at_least(*arrays: Any) -> Any:
        results = []
        for a in map(strong, arrays):
            shape = shape_of(a)
            empty = np.broadcast_to(False, shape)
            wide = {1: np.atleast_1d, 2: np.atleast_2d, 3: np.atleast_3d}[rank](empty).shape
            results.append(a if wide == shape else reshape(a, wide))
        return results[0] if len(results) == 1 else tuple(results)

    return at_least


def joining_adapter(rank: int, axis: int) -> Callable[..., Any]:
    """Return ``np.hstack``, ``np.vstack`` or ``np.dstack``."""

    def joined(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
        parts = [rank_adapter(rank)(a) for a in tup]
        along = 0 if axis == 1 and all(len(shape_of(p)) == 1 for p in parts) else axis
        return numpy_concatenate(parts, along, dtype=dtype, casting=casting)

    return joined


def numpy_column_stack(tup: Any) -> Any:
    """``np.column_stack``."""
    parts = [strong(a) for a in tup]
    return concat([expand_dims(reshape(a, -1), 1) if len(shape_of(a)) < 2 else a for a in parts], 1)


def numpy_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``np.split``."""
    shape = shape_of(ary)
    axis = one_axis("np.split", axis_key(axis), len(shape))
    if isinstance(indices_or_sections, (int, np.integer)):
        return split(ary, int(indices_or_sections), axis)
    length = shape[axis]
    edges = [slice(i, None).indices(length)[0] for i in as_shape("split", indices_or_sections)]
    before = (slice(None),) * axis
    return [getitem(ary, (*before, slice(a, b))) for a, b in zip([0, *edges], [*edges, length], strict=True)]


def numpy_array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``np.array_split``."""
    if not isinstance(indices_or_sections, (int, np.integer)):
        return numpy_split(ary, indices_or_sections, axis)
    shape, sections = shape_of(ary), int(indices_or_sections)
    axis = one_axis("np.array_split", axis_key(axis), len(shape))
    if sections < 1:
        raise ValueError(f"[np.array_split] number of sections must be larger than 0, got {sections}")
    each, extra = divmod(shape[axis], sections)
    return split(ary, [each + 1] * extra + [each] * (sections - extra), axis)


def numpy_flip(m: Any, axis: Any = None) -> Any:
    """``np.flip``."""
    return reverse(m, axis)


def numpy_diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """``np.diff``."""
    reject("diff", prepend=prepend, append=append)
    a, n = array_like(a), as_int("n", n)
    if n < 0:
        raise ValueError(f"[np.diff] n must not be negative, got {n}")
    if n == 0:
        return identity(a)
    before = (slice(None),) * one_axis("np.diff", axis_key(axis), len(shape_of(a)))
    difference = not_equal if dtype_of(a).kind == "b" else subtract
    for _ in range(n):
        a = difference(getitem(a, (*before, slice(1, None))), getitem(a, (*before, slice(None, -1))))
    return a


def numpy_diag(v: Any, k: int = 0) -> Any:
    """``np.diag``."""
    rank = len(shape_of(v))
    if rank not in (1, 2):
        raise ShapeError(
            f"[np.diag] v must have 1 or 2 dimensions, got shape {shape_of(v)}; jt.linalg.diag supports more"
        )
    return diag_part(v, k) if rank == 2 else diag(v, k=k)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    m, name = array_like(m), "tril" if lower else "triu"
    if not shape_of(m):
        raise ShapeError(f"[np.{name}] m must have at least 1 dimension, got a scalar")
    return apply(_triangle_body, (m,), (as_int("k", k), lower))


def _triangle_body(m: Any, k: int, lower: bool) -> Any:
    shape = (tuple(m.shape) * 2)[-2:]
    diagonal, column = add(iota(shape, 0, int64), k), iota(shape, 1, int64)
    kept = less_equal(column, diagonal) if lower else greater_equal(column, diagonal)
    return where(kept, m, cast(0, m.dtype))


def numpy_tril(m: Any, k: int = 0) -> Any:
    """``np.tril``."""
    return _triangle(m, k, True)


def numpy_triu(m: Any, k: int = 0) -> Any:
    """``np.triu``."""
    return _triangle(m, k, False)


def numpy_repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """``np.repeat``."""
    return repeat(a, repeats, axis_of("repeat", a, axis))


def numpy_tile(A: Any, reps: Any) -> Any:
    """``np.tile``; the shorter of shape and `reps` is padded with leading ones."""
    shape, times = shape_of(A), as_shape("tile", reps)
    rank = max(len(shape), len(times))
    tall = A if len(shape) == rank else reshape(A, (*(1,) * (rank - len(shape)), *shape))
    return tile(tall, (*(1,) * (rank - len(times)), *times))


def numpy_meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """``np.meshgrid``."""
    xi = tuple([strong(x) for x in xi])
    if not sparse:
        return tuple(meshgrid(*xi, indexing=indexing))
    flat = [reshape(x, -1) for x in xi]
    order = [shape_of(x)[0] for x in flat]
    grids = np.meshgrid(*[np.empty(n, bool) for n in order], sparse=True, indexing=indexing)  # type: ignore[call-overload]
    return tuple([reshape(x, grid.shape) for x, grid in zip(flat, grids, strict=True)])


# ---- ranges of numbers between tensors ------------------------------------------------------------------------------


def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    # An int, such as -1, need not fit the dtype of the other end.
    start, stop = [array_like(float(end) if type(end) is int else end) for end in (start, stop)]
    numbers = creation.evenly_spaced(start, stop, num, axis, endpoint, broadcasts=True)
    exact = dtype_of(numbers)
    if dtype is None or as_dtype(dtype).kind not in "iu":
        numbers = converted(numbers, dtype)
    else:
        numbers = cast(floor(numbers), dtype)
    if not retstep:
        return numbers
    intervals = num - bool(endpoint)
    stop, start = [converted(strong(end), exact) for end in (stop, start)]
    return numbers, divide(subtract(stop, start), float(intervals) if intervals > 0 else np.nan)


def _logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    base = base if is_number(base) else strong(base)
    if shape_of(base):
        start, stop, base = _of_equal_rank(strong(start), strong(stop), base)
        base = expand_dims(base, axis)
    return converted(pow(base, _linspace(start, stop, num, endpoint, axis=axis)), dtype)


def _of_equal_rank(*arrays: Any) -> list[Any]:
    rank = max(len(shape_of(a)) for a in arrays)
    return [reshape(a, [*(1,) * (rank - len(shape_of(a))), *shape_of(a)]) for a in arrays]


def _geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    start, stop = add(strong(start), 0.0), add(strong(stop), 0.0)
    if "c" in (dtype_of(start).kind, dtype_of(stop).kind):
        raise DTypeError(
            "[np.geomspace] on a tensor is not defined for complex numbers; use np.exp of np.linspace"
        )
    for name, value in (("start", start), ("stop", stop)):
        if active_recorder().traced_in is None and np.any(values_of(value) == 0):
            raise ValueError(f"[np.geomspace] Geometric sequence cannot include zero, got {name} with a zero")
    weights = creation.evenly_spaced(np.float64(0), np.float64(1), num, 0, endpoint, broadcasts=True)
    shape = np.broadcast_shapes(shape_of(start), shape_of(stop))
    axis = one_axis("np.geomspace", axis, len(shape) + 1)
    weights = reshape(weights, [*(1,) * axis, num, *(1,) * (len(shape) - axis)])
    first, ratio = broadcast_to(start, shape), divide(stop, start)
    numbers = multiply(expand_dims(first, axis), pow(expand_dims(broadcast_to(ratio, shape), axis), weights))
    return converted(numbers, dtype)


RANGES: dict[Any, Callable[..., Any]] = {
    np.geomspace: _geomspace,
    np.linspace: _linspace,
    np.logspace: _logspace,
}
