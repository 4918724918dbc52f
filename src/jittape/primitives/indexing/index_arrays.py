"""Indexing by arrays in compiled code: indices counted from the start, and reads and writes at these.

The user's functions record the ops of `gather_ops`; compiled code uses the ops of this module instead. Counted indices
are always in range, so kernels never access memory outside an array. `assert_op` detects original indices that are out
of range, and ends the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import bool_, int64
from jittape.core.forms import CheckedMap, Map, Scatter, View
from jittape.core.forms import Index as At
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add_op, multiply_op
from jittape.primitives.elementwise.assertions import MADE, end_run_where
from jittape.primitives.elementwise.division import divide_op
from jittape.primitives.elementwise.piecewise import maximum_op, minimum_op

__all__ = ["COMBINING", "counted", "indexed_op", "scattered_op"]

# ---- indices ---------------------------------------------------------------------------------------------------------

outside_op = Primitive(
    "outside",
    abstract_eval=lambda index, size: Aval(index.shape, bool_),
    impl=lambda index, size: (index < -size) | (index >= size),
    lowering=Map(lambda m, index, size: (index < -size) | (index >= size)),
    gradient_stops=MADE,
)
"""Whether an index into `size` elements is out of range."""


def _from_start(m: Any, index: Any, size: Any) -> Any:
    from_start = m.where(index < 0, index + size, index)
    return m.minimum(m.maximum(from_start, 0 * size), size - 1)


within_op = Primitive(
    "within",
    abstract_eval=lambda index, size: index,
    impl=lambda index, size: np.clip(np.where(index < 0, index + size, index), 0, size - 1),
    lowering=Map(_from_start),
    gradient_stops=MADE,
)
"""Index into `size` elements, counted from the start and limited to the range."""


def _checked(index: Any, *, size: int) -> Any:
    extent = broadcast(literal(size, int64), index.shape)
    outside = outside_op.bind(index, extent)
    end_run_where(outside, "IndexError", "an index is out of bounds")
    return within_op.bind(index, extent)


counted_op = Primitive(
    "counted",
    abstract_eval=lambda index, *, size: index,
    impl=within_op.impl,
    lowering=CheckedMap(_checked),
    gradient_stops=MADE,
)
"""`within_op` after a check that the index is in range."""


def counted(indices: tuple[Any, ...], sizes: tuple[int, ...]) -> list[Any] | None:
    """Return checked indices counted from the start, for dimensions of `sizes`; None if a dimension has no elements."""
    if 0 in sizes:
        return None
    if 0 in indices[0].shape:
        return list(indices)
    return [counted_op.bind(index, size=size) for index, size in zip(indices, sizes, strict=True)]


# ---- reading and writing ---------------------------------------------------------------------------------------------


def _index(ndim: int, picked: Aval, axis: int, count: int, first: int) -> tuple[At, ...]:
    """Return the index maps of an array of `ndim` dimensions, of which `count` operands select elements.

    The operands, numbered from `first`, are indices into the axes from `axis` on. The maps are in coordinates of the
    selected elements, where the dimensions of the operands replace these axes.
    """
    end = axis + picked.ndim - ndim + count
    where = tuple(range(axis, end))
    before = [At(d) for d in range(axis)]
    return (
        *before,
        *[At(None, dynamic=first + d, at=where) for d in range(count)],
        *[At(d) for d in range(end, picked.ndim)],
    )


def _picked_abstract_eval(x: Aval, *indices: Aval, axis: int, count: int) -> Aval:
    return Aval((*x.shape[:axis], *indices[0].shape, *x.shape[axis + count :]), x.dtype)


indexed_op = Primitive(
    "indexed",
    abstract_eval=_picked_abstract_eval,
    impl=lambda x, *indices, axis, count: x[(slice(None),) * axis + indices],
    lowering=View(lambda x, out, *, axis, count: _index(x.ndim, out, axis, count, 1)),
    gradient_stops=MADE,
)
"""Elements of an array at `count` indices into the axes from `axis` on."""

COMBINING: dict[str, Primitive | None] = {
    "add": add_op,
    "mul": multiply_op,
    "div": divide_op,
    "max": maximum_op,
    "min": minimum_op,
    "update": None,
}


def _scattered(x: Any, v: Any, *indices: Any, axis: int, count: int, how: str) -> Any:
    result, where, combining = x.copy(), (slice(None),) * axis + indices, COMBINING[how]
    if combining is None:
        result[where] = v
    else:
        ufunc: Any = combining.impl
        ufunc.at(result, where, v)
    return result


scattered_op = Primitive(
    "scattered",
    abstract_eval=lambda x, v, *indices, axis, count, how: x,
    impl=_scattered,
    lowering=Scatter(
        lambda v, out, *, axis, count, how: _index(out.ndim, v, axis, count, 2),
        lambda *, axis, count, how: COMBINING[how],
    ),
    gradient_stops=MADE,
)
"""`x` with elements of `v` combined into it, as `how` says, at `count` indices into the axes from `axis` on."""
