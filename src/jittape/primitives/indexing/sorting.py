"""Sorting: sort, argsort and top_k. Gradients flow through sorted values, not through indices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import int32, int64, uint8
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.batched_params import along_axis
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
from jittape.primitives.indexing.index_arrays import scattered_op
from jittape.primitives.record_parts import integer_dtype, require_kinds
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["PLACES", "TopK", "argsort", "argsort_op", "sort", "top_k"]

PLACES = "positions in an order are integers"
FEW = 32
"""Maximum number of elements along the sorted dimension that compiled code compares in pairs; NumPy sorts more."""


def _argsort_impl(x: Any, *, axis: int, descending: bool, dtype: np.dtype[Any]) -> Any:
    if not descending:
        return np.argsort(x, axis, "stable").astype(dtype)
    # Reversed twice, so that equal elements keep their order.
    order = np.flip(np.argsort(np.flip(x, axis), axis, "stable"), axis)
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


def _by_ranks(x: Any, *, axis: int, descending: bool, dtype: np.dtype[Any]) -> Any:
    """Return the decomposition for few elements: each is written to the number of elements that come before it."""
    n = x.shape[axis]
    if n > FEW or x.aval.size == 0:
        return None
    x = cast_to(x, uint8) if x.dtype.kind == "b" else x
    lead, rest = x.shape[:axis], x.shape[axis + 1 :]
    shape = (*lead, n, n, *rest)
    mine, other = [broadcast(to_shape(x, (*lead, *pair, *rest)), shape) for pair in ((n, 1), (1, n))]
    before, same = _is_before(other, mine, descending)
    earlier = less(iota(shape, axis + 1, int64), iota(shape, axis, int64))
    rank = sum_over(cast_to(logical_or(before, logical_and(same, earlier)), int64), (axis + 1,))
    places = [rank if d == axis else iota(x.shape, d, int64) for d in range(len(x.shape))]
    zeros = broadcast(literal(0, int64), x.shape)
    order = scattered_op.bind(
        zeros, iota(x.shape, axis, int64), *places, axis=0, count=len(places), how="update"
    )
    return cast_to(order, dtype)


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


def _descending(direction: Any) -> bool:
    if not isinstance(direction, str) or direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"[sort] direction must be 'ASCENDING' or 'DESCENDING', got {direction!r}")
    return bool(direction == "DESCENDING")


def _order(op: str, x: Any, axis: int, direction: str) -> tuple[Any, Any, int]:
    x = as_symbol(x)
    a = one_axis(op, axis, len(x.shape))
    return x, argsort_op.bind(x, axis=a, descending=_descending(direction), dtype=int32), a


def _argsort(x: Any, axis: int, direction: str) -> Any:
    return _order("argsort", x, axis, direction)[1]


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
    return apply(_argsort, (values,), (axis_key(axis), direction))


def _sort(x: Any, axis: int, direction: str) -> Any:
    x, order, a = _order("sort", x, axis, direction)
    return take_along_axis(x, order, a)


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
    return apply(_sort, (values,), (axis_key(axis), direction))


class TopK(NamedTuple):
    """The `k` greatest elements and their indices, as returned by `top_k`."""

    values: Tensor
    indices: Tensor


def _top_k(x: Any, k: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    x = as_symbol(x)
    if not x.shape or not 0 <= k <= x.shape[-1]:
        raise ShapeError(
            f"[top_k] k must be between 0 and the last dimension of input, got k={k} for shape {x.shape}"
        )
    last = len(x.shape) - 1
    order = argsort_op.bind(x, axis=last, descending=True, dtype=int32)
    first = sliced(order, last, 0, k)
    return take_along_axis(x, first, last), cast_to(first, dtype)


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
