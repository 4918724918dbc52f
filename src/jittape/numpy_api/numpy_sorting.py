"""NumPy's functions that sort, search and count, and its sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError, ShapeError
from jittape.numpy_api.numpy_operands import axis_of, dtype_of, given, keeps_dims, shape_of, strong, values_of
from jittape.numpy_api.numpy_rearranging import moved
from jittape.numpy_api.numpy_shapes import numpy_concatenate
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise.arithmetic import add, subtract
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import equal, not_equal
from jittape.primitives.elementwise.complex_numbers import cast, imag, real
from jittape.primitives.elementwise.piecewise import minimum
from jittape.primitives.identity import identity
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather, take_along_axis
from jittape.primitives.indexing.sorting import argsort, sort
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.shape.reshaping import one_axis, reshape

__all__ = ["SORTING", "numpy_argsort", "numpy_searchsorted", "numpy_sort"]


# ---- order -----------------------------------------------------------------------------------------------------------


def _order_of(a: Any, axis: int) -> Any:
    """Return the stable order of `a` along `axis`; complex numbers are ordered by their real part first."""
    if dtype_of(a).kind != "c":
        return argsort(a, axis)
    return _lexical_order(_parts(a), axis)


def _parts(a: Any) -> tuple[Any, ...]:
    """Return what orders complex numbers, the last first."""
    re, im = real(a), imag(a)
    # NumPy puts numbers with nan parts last: those with a nan imaginary part before those with a nan real part.
    groups = add(cast(is_nan(im), np.int64), cast(is_nan(re), np.int64))
    return im, re, add(groups, cast(is_nan(re), np.int64))


def _lexical_order(keys: tuple[Any, ...], axis: int) -> Any:
    """Return the order by the last key first, then by those before it."""
    order = argsort(keys[0], axis)
    for key in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


def _sorted_body(a: Any, axis: int) -> Any:
    axis = one_axis("np.sort", axis, len(a.shape))
    return sort(a, axis) if dtype_of(a).kind != "c" else take_along_axis(a, _order_of(a, axis), axis)


def _order_body(a: Any, axis: int) -> Any:
    axis = one_axis("np.argsort", axis, len(a.shape))
    return cast(_order_of(a, axis), np.intp)


def _checked(name: str, a: Any, axis: Any, kind: Any, order: Any, stable: Any) -> tuple[Any, int]:
    """Return the operand and the axis along which it is sorted."""
    if order is not None:
        raise ValueError(f"[np.{name}] Cannot specify order when the array has no fields: a tensor has none")
    if kind is not None and stable is not None:
        raise ValueError(f"[np.{name}] `kind` and `stable` parameters can't be provided at the same time")
    if kind is not None:
        np.sort(np.empty(0), kind=kind)  # NumPy's check of the name
    a = strong(a)
    if axis is None:
        return reshape(a, -1), 0
    return a, one_axis(f"np.{name}", as_int("axis", axis), len(shape_of(a)))


def numpy_sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """``np.sort``; the sort is always stable."""
    if axis.__class__ is int and kind is order is stable is None and hasattr(a, "aval"):
        return apply(_sorted_body, (a,), (axis,))
    return apply(_sorted_body, *_recorded(_checked("sort", a, axis, kind, order, stable)))


def numpy_argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """``np.argsort``; equal elements keep their order."""
    a = strong(a)
    if not a.shape:
        a = reshape(a, -1)
    if axis.__class__ is int and kind is order is stable is None:
        return apply(_order_body, (a,), (axis,))
    return apply(_order_body, *_recorded(_checked("argsort", a, axis, kind, order, stable)))


def _recorded(operand_and_axis: tuple[Any, int]) -> tuple[tuple[Any], tuple[int]]:
    return (operand_and_axis[0],), (operand_and_axis[1],)


def _partition(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.partition`` or ``np.argpartition``: a sorted array is partitioned at every position."""

    def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
        a = strong(a)
        if name == "argpartition" and not shape_of(a):
            a = reshape(a, -1)
        shape = shape_of(a)
        count = shape if axis is None else [shape[one_axis(f"np.{name}", as_int("axis", axis), len(shape))]]
        if 0 not in shape:
            np.partition(np.empty(count).reshape(-1), kth, kind=kind)  # NumPy's checks of kth and kind
        return function(a, axis, None, order)

    return partition


def _sort_complex(a: Any) -> Any:
    a = strong(a)
    return cast(numpy_sort(a), np.sort_complex(np.empty(0, dtype_of(a))).dtype)


def _lexsort(keys: Any, axis: Any = -1) -> Any:
    keys = tuple([strong(k) for k in keys]) if isinstance(keys, (list, tuple)) else tuple(keys)
    if not keys:
        raise TypeError("[np.lexsort] need sequence of keys with len > 0 in lexsort")
    if len({shape_of(k) for k in keys}) > 1:
        raise ShapeError("[np.lexsort] all keys need to be the same shape")
    rank = len(shape_of(keys[0]))
    axis = one_axis("np.lexsort", as_int("axis", axis), rank or 1)
    if not rank:
        return identity(np.zeros((), np.intp))
    return cast(apply(_lexical_body, keys, (axis,)), np.intp)


def _lexical_body(*operands: Any) -> Any:
    *keys, axis = operands
    parts = [part for key in keys for part in (_parts(key) if dtype_of(key).kind == "c" else (key,))]
    return _lexical_order(tuple(parts), axis)


# ---- searching -------------------------------------------------------------------------------------------------------


def numpy_searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """``np.searchsorted``."""
    a, v = strong(a), strong(v)
    if len(shape_of(a)) != 1:
        raise ShapeError(
            f"[np.searchsorted] a must be a vector, got shape {shape_of(a)}; object too deep for desired array"
        )
    if side not in ("left", "right"):
        raise ValueError(f"[np.searchsorted] side must be 'left' or 'right', got {side!r}")
    if given(sorter):
        a = gather(a, sorter, axis=0)
    if "c" in (dtype_of(a).kind, dtype_of(v).kind):
        return identity(np.searchsorted(values_of(a), values_of(v), side))
    return reshape(searchsorted(a, reshape(v, -1), side, np.int64), shape_of(v))


def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    x, edges = strong(x), strong(bins)
    if dtype_of(x).kind == "c":
        raise DTypeError(f"[np.digitize] x must be real, got {dtype_of(x).name}")
    known = values_of(edges)
    np.digitize(np.empty(0), known)  # NumPy's check that the bins are monotonic
    side = "left" if right else "right"
    if len(known) and known[0] > known[-1]:
        return subtract(len(known), numpy_searchsorted(reverse(edges, 0), x, side))
    return numpy_searchsorted(edges, x, side)


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    a = strong(a)
    axis = axis_of("count_nonzero", a, axis)
    kept = (
        keeps_dims(keepdims) if keepdims or axis is not None else False
    )  # as NumPy, which reads it only then
    return reduce_sum(cast(cast(a, np.bool_), np.int64), axis, kept)


# ---- sets ------------------------------------------------------------------------------------------------------------


class UniqueAllResult(NamedTuple):
    """The distinct elements, their first positions, the number of each element, and counts."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """The distinct elements and how often each occurs."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """The distinct elements and the number of each element among them."""

    values: Any
    inverse_indices: Any


def numpy_unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    """``np.unique``; the values are gathered, so a gradient flows to the first of equal elements."""
    ar = strong(ar)
    _, first, *more = np.unique(
        values_of(ar), True, return_inverse, return_counts, axis_key(axis), equal_nan=equal_nan
    )
    distinct = moved(ar, first) if axis is None else gather(ar, first, axis=axis)
    results = [distinct, *[identity(x) for x in ([first, *more] if return_index else more)]]
    return tuple(results) if len(results) > 1 else distinct


def _unique_all(x: Any) -> UniqueAllResult:
    return UniqueAllResult(*numpy_unique(x, True, True, True, equal_nan=False))


def _unique_counts(x: Any) -> UniqueCountsResult:
    return UniqueCountsResult(*numpy_unique(x, return_counts=True, equal_nan=False))


def _unique_inverse(x: Any) -> UniqueInverseResult:
    return UniqueInverseResult(*numpy_unique(x, return_inverse=True, equal_nan=False))


def _flat_pair(one: Any, other: Any) -> Any:
    return numpy_concatenate([reshape(strong(one), -1), reshape(strong(other), -1)])


def _union1d(ar1: Any, ar2: Any) -> Any:
    return numpy_unique(numpy_concatenate([ar1, ar2], None))


def _intersect1d(ar1: Any, ar2: Any, assume_unique: Any = False, return_indices: Any = False) -> Any:
    ar1, ar2 = strong(ar1), strong(ar2)
    _, first, second = np.intersect1d(values_of(ar1), values_of(ar2), assume_unique, True)
    common = np.result_type(dtype_of(ar1), dtype_of(ar2))
    found = cast(moved(ar1, first), common)
    return (found, identity(first), identity(second)) if return_indices else found


def _setdiff1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    ar1 = reshape(strong(ar1), -1) if assume_unique else numpy_unique(ar1)
    return moved(ar1, np.flatnonzero(~np.isin(values_of(ar1), values_of(ar2), assume_unique=True)))


def _setxor1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    ar1, ar2 = (strong(a) if assume_unique else numpy_unique(a) for a in (ar1, ar2))
    both = numpy_sort(_flat_pair(ar1, ar2))
    values = values_of(both)
    differs = np.concatenate(([True], values[1:] != values[:-1], [True]))
    return moved(both, np.flatnonzero(differs[1:] & differs[:-1])) if len(values) else both


def _isin(
    element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None
) -> Any:
    if kind not in (None, "sort", "table"):
        raise ValueError(f"[np.isin] Invalid kind: {kind!r}. Please use None, 'sort' or 'table'.")
    element, others = strong(element), reshape(strong(test_elements), -1)
    count, kinds = shape_of(others)[0], dtype_of(element).kind + dtype_of(others).kind
    rounds = kinds in ("iu", "ui") and np.result_type(dtype_of(element), dtype_of(others)).kind == "f"
    if not count or "c" in kinds or rounds:
        return identity(np.isin(values_of(element), values_of(others), invert=bool(invert)))
    return apply(_isin_body, (element, others), (bool(invert),))


def _isin_body(element: Any, others: Any, invert: bool) -> Any:
    common = np.result_type(dtype_of(element), dtype_of(others))
    element, ordered = cast(element, common), numpy_sort(cast(others, common))
    place = searchsorted(ordered, reshape(element, -1), "left", np.int64)
    place = minimum(place, shape_of(ordered)[0] - 1)
    found = gather(ordered, place, axis=0)
    found = reshape(found, shape_of(element))
    return not_equal(found, element) if invert else equal(found, element)


SORTING: dict[Any, Callable[..., Any]] = {
    np.argpartition: _partition("argpartition", numpy_argsort),
    np.argsort: numpy_argsort,
    np.count_nonzero: _count_nonzero,
    np.digitize: _digitize,
    np.intersect1d: _intersect1d,
    np.isin: _isin,
    np.lexsort: _lexsort,
    np.partition: _partition("partition", numpy_sort),
    np.searchsorted: numpy_searchsorted,
    np.setdiff1d: _setdiff1d,
    np.setxor1d: _setxor1d,
    np.sort: numpy_sort,
    np.sort_complex: _sort_complex,
    np.union1d: _union1d,
    np.unique: numpy_unique,
    np.unique_all: _unique_all,
    np.unique_counts: _unique_counts,
    np.unique_inverse: _unique_inverse,
    np.unique_values: lambda x: numpy_unique(x, equal_nan=False),
}
