"""Sorting: sort, argsort and top_k. Gradients flow through sorted values, not through indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import int32, int64, uint8
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike, along_axis
from jittape.primitives.broadcast import (
    as_symbol,
    axis_key,
    broadcast,
    cast_to,
    iota,
    sum_over,
    to_shape,
)
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    less,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from jittape.primitives.indexing.gather import take_along_axis
from jittape.primitives.indexing.index_arrays import indexed_op, scattered_op
from jittape.primitives.record_parts import integer_dtype, require_kinds
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike
from jittape.value_classes import NamedTuple

__all__ = ["PLACES", "TopK", "argsort", "argsort_op", "sort", "stable_order", "top_k"]

PLACES = "positions in an order are integers"
FEW = 32
"""Maximum number of elements along the sorted dimension that compiled code compares in pairs; NumPy sorts more."""
MANY = 4096
"""Maximum number of elements along the sorted dimension that NumPy sorts with vectors; above it gains little."""


def stable_order(x: Any, axis: int) -> Any:
    """Return the positions that sort `x` along `axis`, equal elements and nans in their order.

    NumPy sorts 16 bits by their digits: 1,000,000 int64 ids below 1,000 take 12 instead of 69 ms.

    NumPy's unstable sorting uses vectors: 10,000 rows of 100 float64 elements take 7 instead of 26 ms. Then the
    positions of equal elements are sorted.
    """
    n = x.shape[axis]
    if x.dtype.kind in "iu" and x.dtype.itemsize > 2 and x.size and n > FEW:
        low, high = x.min(), x.max()
        if int(high) - int(low) < 1 << 16:
            return np.argsort((x - low).astype(np.uint16), axis, "stable")
    if not FEW < n <= MANY or x.dtype.kind != "f" or x.dtype.itemsize < 4:
        return np.argsort(x, axis, "stable")
    rows = np.moveaxis(x, axis, -1)
    order = np.argsort(rows)
    ordered = np.take_along_axis(rows, order, -1)
    before, after = ordered[..., :-1], ordered[..., 1:]
    same = ~(before < after)
    if same.any():
        same &= (before == after) | (before != before)
        run = np.zeros(order.shape, np.int64)
        np.cumsum(~same, axis=-1, out=run[..., 1:])
        run *= n
        order += run
        order.sort(-1)
        order -= run
    return np.moveaxis(order, -1, axis)


def _argsort_impl(x: Any, *, axis: int, descending: bool, dtype: np.dtype[Any]) -> Any:
    if not descending:
        return stable_order(x, axis).astype(dtype)
    # Reversed twice, so that equal elements keep their order.
    order = np.flip(stable_order(np.flip(x, axis), axis), axis)
    return (x.shape[axis] - 1 - order).astype(dtype)


def _is_before(other: Any, mine: Any, descending: bool) -> tuple[Any, Any]:
    """Return where `other` must come before `mine`, and where their order is that of their positions."""
    before = greater(other, mine) if descending else less(other, mine)
    same = equal(other, mine)
    if mine.dtype.kind != "f":
        return before, same
    last, first = (other, mine) if descending else (mine, other)
    last_nan, first_nan = not_equal(last, last), not_equal(first, first)
    return (
        logical_or(before, logical_and(last_nan, logical_not(first_nan))),
        logical_or(same, logical_and(last_nan, first_nan)),
    )


def _ranks(x: Any, axis: int, descending: bool) -> Any:
    """Return the number of elements that come before each one, for few elements along `axis`."""
    n = x.shape[axis]
    x = cast_to(x, uint8) if x.dtype.kind == "b" else x
    lead, rest = x.shape[:axis], x.shape[axis + 1 :]
    shape = (*lead, n, n, *rest)
    mine, other = [broadcast(to_shape(x, (*lead, *pair, *rest)), shape) for pair in ((n, 1), (1, n))]
    before, same = _is_before(other, mine, descending)
    earlier = less(iota(shape, axis + 1, int64), iota(shape, axis, int64))
    return sum_over(cast_to(logical_or(before, logical_and(same, earlier)), int64), (axis + 1,))


def _places(order: Any, axis: int) -> list[Any]:
    """Return the indices of the elements at the int64 positions `order` along `axis`."""
    return [order if d == axis else iota(order.shape, d, int64) for d in range(len(order.shape))]


def _written(x: Any, order: Any, axis: int) -> Any:
    """Return the elements of `x`, each at its position in `order`, permutations along `axis`."""
    zeros = broadcast(literal(0, x.dtype), x.shape)
    return scattered_op.bind(zeros, x, *_places(order, axis), axis=0, count=len(order.shape), how="update")


def _inverse(order: Any, axis: int) -> Any:
    """Return the inverses of int64 permutations along `axis`."""
    return _written(iota(order.shape, axis, int64), order, axis)


def _few(x: Any, axis: int) -> bool:
    return bool(x.shape[axis] <= FEW and x.aval.size)


def _by_ranks(x: Any, *, axis: int, descending: bool, dtype: np.dtype[Any]) -> Any:
    """Return the decomposition for few elements."""
    return cast_to(_inverse(_ranks(x, axis, descending), axis), dtype) if _few(x, axis) else None


argsort_op = Primitive(
    "argsort",
    abstract_eval=lambda x, *, axis, descending, dtype: Aval(
        require_kinds("argsort", "biuf", x).shape, dtype
    ),
    impl=_argsort_impl,
    lowering=Decomposition(_by_ranks),
    gradient_stops=PLACES,
    batch=along_axis(),
)


def _sort_impl(x: Any, *, axis: int, descending: bool, dtype: np.dtype[Any]) -> Any:
    # Zeros of both signs are equal: the order of the elements decides, as in compiled code.
    has_both = x.dtype.kind == "f" and np.signbit(x[x == 0]).any()
    ordered = np.sort(x, axis, kind="stable" if has_both else None)
    return np.flip(ordered, axis) if descending else ordered


def _sorted_by_ranks(x: Any, *, axis: int, descending: bool, dtype: np.dtype[Any]) -> Any:
    """Return the decomposition for few elements: each is written to the number of elements that come before it."""
    return _written(x, _ranks(x, axis, descending), axis) if _few(x, axis) else None


def _by_order(x: Any, *, axis: int, descending: bool, dtype: np.dtype[Any]) -> Any:
    """Return the elements at their positions in the order, which the program also needs."""
    if not x.aval.size or _few(x, axis):
        return _sorted_by_ranks(x, axis=axis, descending=descending, dtype=dtype)
    order = cast_to(argsort_op.bind(x, axis=axis, descending=descending, dtype=dtype), int64)
    return indexed_op.bind(x, *_places(order, axis), axis=0, count=len(x.shape))


def _sort_vjp(g: Any, out: Any, x: Any, *, axis: int, **params: Any) -> Any:
    """Return the cotangents, each at the position of its element."""
    order = argsort_op.bind(x, axis=axis, **params)
    return take_along_axis(g, _inverse(cast_to(order, int64), axis), axis)


sort_op = Primitive(
    "sort",
    abstract_eval=lambda x, *, axis, descending, dtype: require_kinds("sort", "biuf", x),
    impl=_sort_impl,
    any_dtype=True,
    vjp=(_sort_vjp,),
    lowering=Decomposition(_sorted_by_ranks, beside=argsort_op, shared=_by_order),
    batch=along_axis(),
)
"""The elements in order; `dtype` is that of their positions, so that an `argsort` of the operand is shared."""


def _descending(direction: Any) -> bool:
    if not isinstance(direction, str) or direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"[sort] direction must be 'ASCENDING' or 'DESCENDING', got {direction!r}")
    return bool(direction == "DESCENDING")


def _ordered(x: Any, axis: int, direction: str, op: Primitive) -> Any:
    x = as_symbol(x)
    a = one_axis(op.name, axis, len(x.shape))
    return op.bind(x, axis=a, descending=_descending(direction), dtype=int32)


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the int32 indices along `axis` in the order that sorts `values`; equal elements keep their order.

    Parameters
    ----------
    values : tensor_like
        A tensor of a real or bool dtype. nan is greater than every number.
    axis : int
        The dimension to sort along.
    direction : {'ASCENDING', 'DESCENDING'}
        Order of the result.
    stable : bool
        Ignored: the order is always stable.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `values` is complex.
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.argsort([3.0, 1.0, 2.0]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    return apply(_ordered, (values,), (axis_key(axis), direction, argsort_op))


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Sort `values` along `axis`; the gradient flows back to the original position of each element.

    Parameters
    ----------
    values : tensor_like
        A tensor of a real or bool dtype. nan is greater than every number.
    axis : int
        The dimension to sort along.
    direction : {'ASCENDING', 'DESCENDING'}
        Order of the result.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `values` is complex.
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.sort([3.0, 1.0, 2.0], direction="DESCENDING").numpy()
    array([3., 2., 1.], dtype=float32)
    """
    return apply(_ordered, (values,), (axis_key(axis), direction, sort_op))


class TopK(NamedTuple):
    """The `k` greatest elements and their indices, as returned by `top_k`."""

    values: Tensor
    indices: Tensor


def _top_places_impl(x: Any, *, k: int) -> Any:
    """Return the positions of the `k` greatest elements of each row.

    If they are few, a partition finds the k-th greatest one: 10 of 1,000,000 elements take 12 instead of 140 ms.
    """
    n = x.shape[-1]
    if 0 < k <= n // 8:
        least = np.partition(x, n - k, -1)[..., n - k, None]
        chosen = ~(x <= least)  # nan is greater than every number
        equal_ones = x == least
        missing = k - np.count_nonzero(chosen, -1, keepdims=True)
        chosen |= equal_ones & (np.cumsum(equal_ones, -1, dtype=np.int32) <= missing)
        if not np.any(least != least):
            places = np.nonzero(chosen)[-1].reshape(*x.shape[:-1], k)
            order = _argsort_impl(
                np.take_along_axis(x, places, -1), axis=x.ndim - 1, descending=True, dtype=np.dtype(np.int64)
            )
            return np.take_along_axis(places, order, -1).astype(int32)
    return _argsort_impl(x, axis=x.ndim - 1, descending=True, dtype=int32)[..., :k]


def _first_of_order(x: Any, *, k: int) -> Any:
    last = len(x.shape) - 1
    order = _by_ranks(x, axis=last, descending=True, dtype=int32)
    return None if order is None else sliced(order, last, 0, k)


top_places_op = Primitive(
    "top_places",
    abstract_eval=lambda x, *, k: Aval((*require_kinds("top_k", "biuf", x).shape[:-1], k), int32),
    impl=_top_places_impl,
    lowering=Decomposition(_first_of_order),
    gradient_stops=PLACES,
    batch=alike(),
)
"""Positions of the `k` greatest elements of each row, greatest first; equal ones keep their order."""


def _top_k(x: Any, k: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    x = as_symbol(x)
    if not x.shape or not 0 <= k <= x.shape[-1]:
        raise ShapeError(
            f"[top_k] k must be between 0 and the last dimension of input, got k={k} for shape {x.shape}"
        )
    places = top_places_op.bind(x, k=k)
    return take_along_axis(x, places, len(x.shape) - 1), cast_to(places, dtype)


def top_k(
    input: TensorLike, k: int = 1, sorted: bool = True, index_type: Any = int32, name: str | None = None
) -> TopK:
    """Return the `k` greatest elements along the last dimension, greatest first, and their indices.

    Of equal elements, the one with the lower index comes first. A gradient flows through the values.

    Parameters
    ----------
    input : tensor_like
        A tensor of a real or bool dtype. nan is greater than every number.
    k : int
        Number of elements.
    sorted : bool
        Ignored: the elements are always sorted.
    index_type : dtype
        Dtype of the indices.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `input` is complex.
    ShapeError
        If `k` is negative or greater than the last dimension.

    Examples
    --------
    >>> values, indices = jt.math.top_k([1.0, 5.0, 3.0], k=2)
    >>> print(values.numpy(), indices.numpy())
    [5. 3.] [1 2]
    """
    return TopK(*apply(_top_k, (input,), (as_int("k", k), integer_dtype("index_type", index_type))))
