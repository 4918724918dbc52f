"""Reductions of rows that share a segment: the checked row of a segment id, products and extrema.

A *segment* is the set of rows with the same segment id. Sums need no op of their own: they are `scatter_add_op`. The
other ops take a one-dimensional int64 operand of ids for the dimension `axis` of the data. Rows with a negative id are
dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import bool_, float_limits, int32, int64, is_floating
from jittape.core.forms import CheckedMap, Decomposition, Map, Scan
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.errors import InvalidIndexError, ShapeError
from jittape.primitives.batched_params import alike, along_axis
from jittape.primitives.broadcast import broadcast, cast_to, conj, iota, to_shape
from jittape.primitives.elementwise.arithmetic import multiply, zero_dominant_multiply
from jittape.primitives.elementwise.assertions import MADE, end_run_where
from jittape.primitives.elementwise.comparison import equal, greater_equal, logical_and, not_equal, where
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.indexing.gather_ops import EXTREMA, gather_op, scatter_add_op, scatter_update_op
from jittape.primitives.indexing.index_arrays import scattered_op
from jittape.primitives.indexing.sorting import argsort_op
from jittape.primitives.record_parts import highest, lowest
from jittape.primitives.shape.views import concat_op, flipped, placed, sliced

__all__ = ["along_rows", "check_ids", "kept_rows", "segment_extremum_op", "segment_prod_op", "segment_row_op"]


# ---- rows ------------------------------------------------------------------------------------------------------------


def check_ids(op: str, ids: np.ndarray[Any, Any], size: int) -> None:
    """Raise `IndexError` if one of the segment ids is not less than `size`."""
    if ids.size and ids.max() >= size:
        position = np.unravel_index(int(np.argmax(ids >= size)), ids.shape)
        place = ", ".join([str(int(i)) for i in position])
        raise InvalidIndexError(
            f"[{op}] segment_ids[{place}] = {int(ids[position])} is out of range: it must be less than "
            f"num_segments={size}; negative ids are dropped"
        )


def _row_impl(ids: Any, *, size: int, op: str) -> Any:
    check_ids(op, ids, size)
    return np.maximum(ids, 0)


too_large_op = Primitive(
    "too_large",
    abstract_eval=lambda ids, size: Aval(ids.shape, bool_),
    impl=lambda ids, size: ids >= size,
    lowering=Map(lambda m, ids, size: ids >= size),
    gradient_stops=MADE,
)

limited_op = Primitive(
    "limited",
    abstract_eval=lambda ids, size: ids,
    impl=lambda ids, size: np.clip(ids, 0, size - 1),
    lowering=Map(lambda m, ids, size: m.minimum(m.maximum(ids, 0 * size), size - 1)),
    gradient_stops=MADE,
)


def _checked_row(ids: Any, *, size: int, op: str) -> Any:
    """Return the decomposition for compiled code. The limit keeps accesses inside the array until the run ends."""
    extent = broadcast(literal(size, int64), ids.shape)
    end_run_where(too_large_op.bind(ids, extent), "IndexError", f"{op}: a segment id is out of range")
    return limited_op.bind(ids, extent)


segment_row_op = Primitive(
    "segment_row",
    abstract_eval=lambda ids, *, size, op: ids,
    impl=_row_impl,
    lowering=CheckedMap(_checked_row),
    gradient_stops="segment ids are integers",
    batch=alike(),
)
"""Row of the result for each segment id, 0 for negative ids; `op` names the function in errors."""


def kept_rows(ids: Any) -> Any:
    """Return whether each row is kept: its id is not negative."""
    return greater_equal(ids, 0)


def along_rows(x: Any, like: Any, axis: int) -> Any:
    """Return `x`, one element per row, broadcast to the shape of `like`, whose dimension `axis` contains the rows."""
    return broadcast(to_shape(x, (*x.shape, *(1,) * (len(like.shape) - axis - 1))), like.shape)


def _abstract_eval(x: Aval, ids: Aval, *, size: int, axis: int, op: str, **_: Any) -> Aval:
    if ids.shape != x.shape[axis : axis + 1] or ids.dtype != int64:
        raise ShapeError(f"[{op}] segment ids of {ids} do not fit dimension {axis} of shape {x.shape}")
    return Aval((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)


def _combined(combine: np.ufunc, start: Any, x: Any, ids: Any, size: int, axis: int, op: str) -> Any:
    """Return the NumPy evaluation: `combine` applied to the rows of each segment, in order."""
    check_ids(op, ids, size)
    result = np.full((size, *x.shape[:axis], *x.shape[axis + 1 :]), start, x.dtype)
    kept = ids >= 0
    combine.at(result, ids[kept], np.moveaxis(x, axis, 0)[kept])
    return np.ascontiguousarray(np.moveaxis(result, 0, axis))


def _scattered(start: Any, x: Any, ids: Any, size: int, axis: int, op: str, how: str) -> Any:
    """Return the decomposition for compiled code: a loop over the rows in their order."""
    row = segment_row_op.bind(ids, size=size, op=op)
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    neutral = broadcast(literal(start, x.dtype), x.shape)
    kept = where(along_rows(kept_rows(ids), x, axis), x, neutral)
    return scattered_op.bind(
        broadcast(literal(start, x.dtype), shape), kept, row, axis=axis, count=1, how=how
    )


def _row_values(x: Any, ids: Any, size: int, axis: int, op: str) -> Any:
    """Return, for each row of the data, the row of `x` that belongs to its segment; zeros for dropped rows."""
    found = gather_op.bind(x, segment_row_op.bind(ids, size=size, op=op), axis=axis)
    return where(along_rows(kept_rows(ids), found, axis), found, 0)


def _shape_with_no_rows(x: Any, size: int, axis: int) -> bool:
    return size == 0 or x.shape[axis] == 0


# ---- extrema ---------------------------------------------------------------------------------------------------------


def _start(dtype: np.dtype[Any], how: str) -> Any:
    return lowest(dtype) if how == "max" else highest(dtype)


def _empty_value(dtype: np.dtype[Any], how: str) -> Any:
    """Return TensorFlow's value of an empty segment: the least or the greatest finite number of the dtype."""
    limits = float_limits(dtype) if is_floating(dtype) else np.iinfo(dtype)
    return dtype.type(limits.min if how == "max" else limits.max).item()


def _extremum_impl(x: Any, ids: Any, *, how: str, size: int, axis: int, op: str) -> Any:
    result = _combined(EXTREMA[how], _start(x.dtype, how), x, ids, size, axis, op)
    occupied = np.zeros(size, bool)
    occupied[ids[ids >= 0]] = True
    occupied = occupied.reshape(-1, *(1,) * (x.ndim - axis - 1))
    return np.where(occupied, result, x.dtype.type(_empty_value(x.dtype, how)))


def _extremum_scattered(x: Any, ids: Any, *, how: str, size: int, axis: int, op: str) -> Any:
    if _shape_with_no_rows(x, size, axis):
        return None
    found = _scattered(_start(x.dtype, how), x, ids, size, axis, op, how)
    if not is_floating(x.dtype):
        return found
    # A segment whose elements are all infinite differs from an empty one.
    ones = cast_to(kept_rows(ids), int32)
    occupied = _scattered(0, ones, ids, size, 0, op, "max")
    empty = broadcast(literal(_empty_value(x.dtype, how), x.dtype), found.shape)
    return where(along_rows(greater_equal(occupied, 1), found, axis), found, empty)


def _extremum_vjp(g: Any, out: Any, x: Any, ids: Any, *, how: str, size: int, axis: int, op: str) -> Any:
    """Return the cotangent of an extremum; equal elements of a segment share it equally."""
    if _shape_with_no_rows(x, size, axis):
        return broadcast(literal(0, x.dtype), x.shape)
    row = segment_row_op.bind(ids, size=size, op=op)
    kept = along_rows(kept_rows(ids), x, axis)
    # Again: if an earlier run has computed it, this one may round `x` differently, and no element would equal it.
    out = segment_extremum_op.bind(x, ids, how=how, size=size, axis=axis, op=op)
    chosen = cast_to(logical_and(equal(x, gather_op.bind(out, row, axis=axis)), kept), x.dtype)
    winners = scatter_add_op.bind(chosen, row, axis=axis, shape=out.shape)
    share = zero_dominant_multiply(g, reciprocal(winners))
    return where(kept, zero_dominant_multiply(gather_op.bind(share, row, axis=axis), chosen), 0)


segment_extremum_op = Primitive(
    "segment_extremum",
    abstract_eval=_abstract_eval,
    impl=_extremum_impl,
    any_dtype=True,
    vjp=(_extremum_vjp, None),
    lowering=Decomposition(_extremum_scattered),
    batch=along_axis(1),
)
"""Maximum or minimum of the rows of each segment; `how` is a key of `EXTREMA`."""


# ---- products --------------------------------------------------------------------------------------------------------


def _restarting_impl(begins: Any, a: Any, b: Any, *, axis: int) -> Any:
    result = np.empty_like(b)
    starts, factors, terms, states = (np.moveaxis(x, axis, 0) for x in (begins, a, b, result))
    state = np.zeros(terms.shape[1:], b.dtype)
    for i in range(len(terms)):
        state = np.where(starts[i], terms[i], terms[i] + factors[i] * state)
        states[i] = state
    return result


def _delayed(x: Any, axis: int) -> Any:
    """Return `x` shifted by one towards the end of `axis`; the first element is 0."""
    kept = sliced(x, axis, 0, x.shape[axis] - 1)
    return placed(kept, tuple([int(a == axis) for a in range(len(x.shape))]), x.shape)


def _reversed_begins(begins: Any, axis: int) -> Any:
    """Return where segments begin in the reversed order: at their ends."""
    n = begins.shape[axis]
    last = broadcast(literal(True, bool_), tuple([1 if a == axis else m for a, m in enumerate(begins.shape)]))
    return flipped(concat_op.bind(sliced(begins, axis, 1, n - 1), last, axis=axis), (axis,))


def _restarting_terms_vjp(g: Any, out: Any, begins: Any, a: Any, b: Any, *, axis: int) -> Any:
    factors = _delayed(flipped(conj(a), (axis,)), axis)
    reverse = restarting_op.bind(_reversed_begins(begins, axis), factors, flipped(g, (axis,)), axis=axis)
    return flipped(reverse, (axis,))


def _restarting_factors_vjp(g: Any, out: Any, begins: Any, a: Any, b: Any, *, axis: int) -> Any:
    terms = _restarting_terms_vjp(g, out, begins, a, b, axis=axis)
    return where(begins, 0, multiply(terms, conj(_delayed(out, axis))))


restarting_op: Primitive = Primitive(
    "segmented_recurrence",
    abstract_eval=lambda begins, a, b, *, axis: b,
    impl=_restarting_impl,
    vjp=(None, _restarting_factors_vjp, _restarting_terms_vjp),
    lowering=Scan(
        lambda m, before, begins, a, b: m.where(begins, b, m.add(b, m.multiply(a, before))),
        0.0,
    ),
    batch=along_axis(),
)
"""The linear recurrence s[i] = b[i] + a[i] s[i-1] along `axis`, which starts anew with s[i] = b[i] at each segment."""


def _products_before(x: Any, begins: Any, axis: int) -> Any:
    """Return, for each element, the product of the elements before it in its segment; a segment is contiguous."""
    one = broadcast(literal(1, x.dtype), x.shape)
    return restarting_op.bind(begins, where(begins, 0, _delayed(x, axis)), where(begins, one, 0), axis=axis)


def _products_of_others(x: Any, ids: Any, axis: int) -> Any:
    """Return, for each element, the product of all other elements of its segment. Nothing is divided, so 0 is exact."""
    count = x.shape[axis]
    order = cast_to(argsort_op.bind(ids, axis=0, descending=False, dtype=int32), int64)
    ordered_ids = gather_op.bind(ids, order, axis=0)
    changes = not_equal(sliced(ordered_ids, 0, 1, count - 1), sliced(ordered_ids, 0, 0, count - 1))
    begins = concat_op.bind(broadcast(literal(True, bool_), (1,)), changes, axis=0)
    ordered = gather_op.bind(x, order, axis=axis)
    begins = along_rows(begins, x, axis)
    before = _products_before(ordered, begins, axis)
    after = _products_before(flipped(ordered, (axis,)), _reversed_begins(begins, axis), axis)
    inverse = scatter_update_op.bind(order, iota(order.shape, 0, int64), order, axis=0)
    return gather_op.bind(multiply(before, flipped(after, (axis,))), inverse, axis=axis)


def _prod_vjp(g: Any, out: Any, x: Any, ids: Any, *, size: int, axis: int, op: str) -> Any:
    if _shape_with_no_rows(x, size, axis):
        return broadcast(literal(0, x.dtype), x.shape)
    return zero_dominant_multiply(
        _row_values(g, ids, size, axis, op), conj(_products_of_others(x, ids, axis))
    )


segment_prod_op = Primitive(
    "segment_prod",
    abstract_eval=_abstract_eval,
    impl=lambda x, ids, *, size, axis, op: _combined(np.multiply, 1, x, ids, size, axis, op),
    vjp=(_prod_vjp, None),
    lowering=Decomposition(
        lambda x, ids, *, size, axis, op: (
            None if _shape_with_no_rows(x, size, axis) else _scattered(1, x, ids, size, axis, op, "mul")
        )
    ),
    batch=along_axis(1),
)
"""Product of the rows of each segment."""
