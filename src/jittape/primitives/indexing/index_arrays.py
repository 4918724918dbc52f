"""What indexing by arrays is in machine code: indices counted from the start, an array read and written at these.

`gathering` has the ops that the user's functions record; when they are compiled, the ops here take their place. Counted
indices are never out of range, so that no kernel reads or writes elsewhere, whatever it is given. That an index was out
of range in the first place is found out by `check_op`, which ends the run.
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
"""An index into `size` elements, counted from the start; if there is no such element, the nearest."""


def _checked(index: Any, *, size: int) -> Any:
    extent = broadcast(literal(size, int64), index.shape)
    outside = outside_op.bind(index, extent)
    end_run_where(outside)
    return within_op.bind(index, extent)


counted_op = Primitive(
    "counted",
    abstract_eval=lambda index, *, size: index,
    impl=within_op.impl,
    lowering=CheckedMap(_checked),
    gradient_stops=MADE,
)
"""`within_op` after a check."""


def counted(indices: tuple[Any, ...], sizes: tuple[int, ...]) -> list[Any] | None:
    """Indices into dimensions of these sizes, checked and counted from the start; None if one has no element."""
    if 0 in sizes:
        return None
    if 0 in indices[0].shape:
        return list(indices)
    return [counted_op.bind(index, size=size) for index, size in zip(indices, sizes, strict=True)]


# ---- reading and writing ---------------------------------------------------------------------------------------------


def _index(ndim: int, picked: Aval, axis: int, count: int, first: int) -> tuple[At, ...]:
    """The index into an array of `ndim` dimensions of which `count` operands, from number `first`, pick elements.

    They are for the axes from `axis` on. In terms of the coordinates of what is picked, in which the dimensions of the
    operands stand in the place of these axes.
    """
    end = axis + picked.ndim - ndim + count
    where = tuple(range(axis, end))
    before = [At(d) for d in range(axis)]
    return (
        *before,
        *[At(None, dynamic=first + d, at=where) for d in range(count)],
        *[At(d) for d in range(end, picked.ndim)],
    )


def _picked_result(x: Aval, *indices: Aval, axis: int, count: int) -> Aval:
    return Aval((*x.shape[:axis], *indices[0].shape, *x.shape[axis + count :]), x.dtype)


indexed_op = Primitive(
    "indexed",
    abstract_eval=_picked_result,
    impl=lambda x, *indices, axis, count: x[(slice(None),) * axis + indices],
    lowering=View(lambda x, out, *, axis, count: _index(x.ndim, out, axis, count, 1)),
    gradient_stops=MADE,
)
"""An array at `count` indices into the axes from `axis` on."""

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
