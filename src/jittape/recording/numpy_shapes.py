"""NumPy's functions that change shapes and move elements: adapters onto user-level functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.arithmetic import subtract
from jittape.primitives.compare import where
from jittape.primitives.einsum import diag_part
from jittape.primitives.index import getitem
from jittape.primitives.joining import concat, meshgrid, split, stack
from jittape.primitives.matrices import diag
from jittape.primitives.shape import (
    as_shape,
    broadcast_to,
    expand_dims,
    reshape,
    reverse,
    transpose,
)
from jittape.primitives.tiling import pad, repeat, tile
from jittape.recording.numpy_reductions import (
    converted,
    refuse,
    shape_of,
)

__all__ = [
    "joining_adapter",
    "numpy_array_split",
    "numpy_broadcast_arrays",
    "numpy_column_stack",
    "numpy_concatenate",
    "numpy_diag",
    "numpy_diff",
    "numpy_flip",
    "numpy_meshgrid",
    "numpy_pad",
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
]


def numpy_reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    """``np.reshape``."""
    if order != "C":
        raise TypeError(f"np.reshape on a tensor takes order='C' only, got {order!r}; transpose first")
    return reshape(a, newshape if shape is None else shape)


def numpy_ravel(a: Any, order: str = "C") -> Any:
    """``np.ravel``."""
    return numpy_reshape(a, -1, order)


def numpy_swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """``np.swapaxes``."""
    perm = list(range(len(shape_of(a))))
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return transpose(a, perm)


def numpy_broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """``np.broadcast_arrays``."""
    shape = np.broadcast_shapes(*[shape_of(a) for a in args])
    return tuple([broadcast_to(a, shape) for a in args])


def numpy_concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    """``np.concatenate``."""
    refuse("concatenate", out=out, casting=casting)
    if axis is None:
        arrays, axis = [reshape(a, -1) for a in arrays], 0
    return converted(concat(list(arrays), axis), dtype)


def numpy_stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    """``np.stack``."""
    refuse("stack", out=out, casting=casting)
    return converted(stack(list(arrays), axis), dtype)


def rank_adapter(rank: int) -> Callable[..., Any]:
    """``np.atleast_1d`` and its kin: dimensions are added up to `rank`."""

    def at_least(*arrays: Any) -> Any:
        results = []
        for a in arrays:
            shape = shape_of(a)
            fitted = np.broadcast_to(False, shape)
            wide = {1: np.atleast_1d, 2: np.atleast_2d, 3: np.atleast_3d}[rank](fitted).shape
            results.append(a if wide == shape else reshape(a, wide))
        return results[0] if len(results) == 1 else tuple(results)

    return at_least


def joining_adapter(rank: int, axis: int) -> Callable[..., Any]:
    """``np.hstack``, ``np.vstack`` or ``np.dstack``."""

    def joined(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
        parts = [rank_adapter(rank)(a) for a in tup]
        along = 0 if axis == 1 and all(len(shape_of(p)) == 1 for p in parts) else axis
        return numpy_concatenate(parts, along, dtype=dtype, casting=casting)

    return joined


def numpy_column_stack(tup: Any) -> Any:
    """``np.column_stack``."""
    return concat([expand_dims(a, 1) if len(shape_of(a)) == 1 else rank_adapter(2)(a) for a in tup], 1)


def numpy_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``np.split``."""
    if isinstance(indices_or_sections, (int, np.integer)):
        return split(ary, int(indices_or_sections), axis)
    length = shape_of(ary)[axis]
    edges = [slice(i, None).indices(length)[0] for i in as_shape("split", indices_or_sections)]
    before = (slice(None),) * (axis % len(shape_of(ary)))
    return [getitem(ary, (*before, slice(a, b))) for a, b in zip([0, *edges], [*edges, length], strict=True)]


def numpy_array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``np.array_split``."""
    if not isinstance(indices_or_sections, (int, np.integer)):
        return numpy_split(ary, indices_or_sections, axis)
    each, extra = divmod(shape_of(ary)[axis], int(indices_or_sections))
    return split(ary, [each + 1] * extra + [each] * (int(indices_or_sections) - extra), axis)


def numpy_flip(m: Any, axis: Any = None) -> Any:
    """``np.flip``."""
    return reverse(m, axis)


def numpy_pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """``np.pad``."""
    value = kwargs.pop("constant_values", 0)
    if kwargs or mode not in ("constant", "reflect", "symmetric"):
        raise TypeError(
            f"np.pad on a tensor has mode constant, reflect or symmetric, got {mode!r} with {kwargs or 'no'} options"
        )
    rank = len(shape_of(array))
    widths = np.broadcast_to(np.asarray(pad_width, np.int64), (rank, 2)).tolist()
    return pad(array, widths, mode, value)


def numpy_diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """``np.diff``."""
    refuse("diff", prepend=prepend, append=append)
    before = (slice(None),) * (axis % len(shape_of(a)))
    for _ in range(operator.index(n)):
        a = subtract(getitem(a, (*before, slice(1, None))), getitem(a, (*before, slice(None, -1))))
    return a


def numpy_diag(v: Any, k: int = 0) -> Any:
    """``np.diag``."""
    return diag_part(v, k) if len(shape_of(v)) == 2 else diag(v, k=k)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    rows, columns = shape_of(m)[-2:]
    keep = np.tri(rows, columns, k if lower else k - 1, np.bool_)
    return where(keep, m, 0) if lower else where(keep, 0, m)


def numpy_tril(m: Any, k: int = 0) -> Any:
    """``np.tril``."""
    return _triangle(m, k, True)


def numpy_triu(m: Any, k: int = 0) -> Any:
    """``np.triu``."""
    return _triangle(m, k, False)


def numpy_repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """``np.repeat``."""
    return repeat(a, repeats, axis)


def numpy_tile(A: Any, reps: Any) -> Any:
    """``np.tile``, which fills up the shorter of shape and `reps` with ones in front."""
    shape, times = shape_of(A), as_shape("tile", reps)
    rank = max(len(shape), len(times))
    tall = A if len(shape) == rank else reshape(A, (*(1,) * (rank - len(shape)), *shape))
    return tile(tall, (*(1,) * (rank - len(times)), *times))


def numpy_meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """``np.meshgrid``."""
    refuse("meshgrid", sparse=sparse or None)
    return tuple(meshgrid(*xi, indexing=indexing))
