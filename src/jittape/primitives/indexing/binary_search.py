"""Binary search: searchsorted, lower_bound and upper_bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import int32, int64, uint8
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import ShapeError
from jittape.primitives.broadcast import broadcast, cast_to, iota, promote
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.comparison import (
    equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
    where,
)
from jittape.primitives.indexing.index_arrays import indexed_op
from jittape.primitives.indexing.sorting import PLACES
from jittape.primitives.record_parts import integer_dtype, require_kinds
from jittape.typing import Tensor, TensorLike

__all__ = ["lower_bound", "searchsorted", "upper_bound"]


def _searchsorted_impl(edges: Any, values: Any, *, side: Any, dtype: np.dtype[Any]) -> Any:
    found = np.empty(values.shape, dtype)
    for place in np.ndindex(values.shape[:-1]):
        found[place] = np.searchsorted(edges[place], values[place], side)
    return found


def _searchsorted_batch(n: int, stacked: tuple[bool, ...], *operands: Any, **params: Any) -> Any:
    full = [x if s else broadcast(x, (n, *x.shape)) for x, s in zip(operands, stacked, strict=True)]
    return searchsorted_op.bind(*full, **params)


def _precedes(edge: Any, value: Any, side: str) -> Any:
    """Return where `value` is inserted after `edge`; nan is greater than every number."""
    is_float = value.dtype.kind == "f"
    if side == "right":
        found = less_equal(edge, value)
        return logical_or(found, not_equal(value, value)) if is_float else found
    found = less(edge, value)
    if not is_float:
        return found
    return logical_or(found, logical_and(not_equal(value, value), equal(edge, edge)))


def _bisected(edges: Any, values: Any, *, side: str, dtype: np.dtype[Any]) -> Any:
    """Return the decomposition: a binary search without branches, one read of `edges` for each bit of their number.

    The first comparison decides between the first and the last ``stride - 1`` edges, where `stride` is the greatest
    power of two that is at most their number `n`, so that no later index is out of range: L. E. Shar's variant of the
    uniform search in D. E. Knuth, The Art of Computer Programming 3, section 6.2.1.
    """
    n = edges.shape[-1]
    if n == 0:
        return broadcast(literal(0, dtype), values.shape)
    if edges.dtype.kind == "b":
        edges, values = cast_to(edges, uint8), cast_to(values, uint8)
    rows = [iota(values.shape, d, int64) for d in range(len(values.shape) - 1)]

    def precedes(index: Any) -> Any:
        return _precedes(indexed_op.bind(edges, *rows, index, axis=0, count=len(edges.shape)), values, side)

    stride = 1
    while 2 * stride <= n:
        stride *= 2
    zeros, last = [broadcast(literal(k, int64), values.shape) for k in (0, n + 1 - stride)]
    found = where(precedes(broadcast(literal(stride - 1, int64), values.shape)), last, zeros)
    while stride > 1:
        stride //= 2
        found = where(precedes(add(found, stride - 1)), add(found, stride), found)
    return cast_to(found, dtype)


searchsorted_op: Primitive = Primitive(
    "searchsorted",
    abstract_eval=lambda edges, values, *, side, dtype: Aval(values.shape, dtype),
    impl=_searchsorted_impl,
    lowering=Decomposition(_bisected),
    gradient_stops=PLACES,
    batch=_searchsorted_batch,
)


def _searchsorted(edges: Any, values: Any, side: str, dtype: np.dtype[Any]) -> Any:
    edges, values = promote(edges, values)
    require_kinds("searchsorted", "biuf", edges)
    if not edges.shape or not values.shape or edges.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            f"[searchsorted] sorted_sequence of shape {edges.shape} and values of shape {values.shape} must have at "
            "least 1 dimension and equal dimensions except the last"
        )
    return searchsorted_op.bind(edges, values, side=side, dtype=dtype)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: Any = int32,
    name: str | None = None,
) -> Tensor:
    """Return the indices at which `values` would be inserted into `sorted_sequence` to keep its order.

    Parameters
    ----------
    sorted_sequence : tensor_like
        Sorted along the last dimension.
    values : tensor_like
        Values with the same dimensions except the last.
    side : {'left', 'right'}
        Index before or after elements that are equal.
    out_type : dtype
        An integer dtype.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `sorted_sequence` or `values` is complex.
    ShapeError
        If `sorted_sequence` or `values` is a scalar, or the leading dimensions differ.

    Examples
    --------
    >>> jt.searchsorted([1.0, 2.0, 3.0], [2.0, 2.5]).numpy()
    array([1, 2], dtype=int32)
    """
    if not isinstance(side, str) or side not in ("left", "right"):
        raise ValueError(f"[searchsorted] side must be 'left' or 'right', got {side!r}")
    return apply(_searchsorted, (sorted_sequence, values), (side, integer_dtype("out_type", out_type)))


def lower_bound(
    sorted_inputs: TensorLike, values: TensorLike, out_type: Any = int32, name: str | None = None
) -> Tensor:
    """Return the index of the first element that is not less than each value: `searchsorted` with ``side="left"``.

    Parameters
    ----------
    sorted_inputs : tensor_like of shape (..., n)
        Ascending along the last dimension.
    values : tensor_like of shape (..., m)
        Values to find.
    out_type : dtype
        int32 or int64.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `sorted_inputs` or `values` is complex.
    ShapeError
        If `sorted_inputs` or `values` is a scalar, or the leading dimensions differ.

    Examples
    --------
    >>> jt.math.lower_bound([1.0, 2.0, 2.0, 3.0], [2.0]).numpy()
    array([1], dtype=int32)
    """
    return searchsorted(sorted_inputs, values, "left", out_type)


def upper_bound(
    sorted_inputs: TensorLike, values: TensorLike, out_type: Any = int32, name: str | None = None
) -> Tensor:
    """Return the index of the first element that is greater than each value: `searchsorted` with ``side="right"``.

    Parameters
    ----------
    sorted_inputs : tensor_like of shape (..., n)
        Ascending along the last dimension.
    values : tensor_like of shape (..., m)
        Values to find.
    out_type : dtype
        int32 or int64.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `sorted_inputs` or `values` is complex.
    ShapeError
        If `sorted_inputs` or `values` is a scalar, or the leading dimensions differ.

    Examples
    --------
    >>> jt.math.upper_bound([1.0, 2.0, 2.0, 3.0], [2.0]).numpy()
    array([3], dtype=int32)
    """
    return searchsorted(sorted_inputs, values, "right", out_type)
