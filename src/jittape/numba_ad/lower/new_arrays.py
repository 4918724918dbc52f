"""NumPy functions that make arrays from numbers, join arrays and choose between arrays."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numba import types

from jittape.numba_ad.lower.array_calls import as_array, as_shape, literal, numba_dtype, with_axes
from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.lower_reductions import reduction
from jittape.numba_ad.lower.numba_types import is_float, result_type
from jittape.numba_ad.lower.passive_calls import at_least_3d, nonzero
from jittape.numba_ad.lower.whole_arrays import Lazy, as_lazy, assign, check_unwritten, elementwise, evaluated
from jittape.numba_ad.scalar_rules import FUNCTIONS, SELECT
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value
from jittape.numba_ad.tape_support import new_empty, new_zeros

__all__ = ["NEW_ARRAYS"]


def _filled(name: str) -> Callable[..., Any]:
    """Return the lowering of a function that makes an array of a shape."""

    def allocate(builder: Builder, shape: Any, dtype: Any = None) -> Array:
        return builder.alloc("array", numba_dtype(builder, dtype), as_shape(builder, shape), name)

    return allocate


def _like(name: str) -> Callable[..., Any]:
    """Return the lowering of a function that makes an array like another one."""

    def allocate(builder: Builder, x: Any, dtype: Any = None) -> Array:
        lazy = as_lazy(builder, x)
        return builder.alloc(
            "array",
            lazy.dtype if dtype is None else numba_dtype(builder, dtype),
            lazy.dims,
            name,
            lazy.layout,
        )

    return allocate


def _full(builder: Builder, shape: Any, value: Any, dtype: Any = None) -> Array:
    """Return an array that holds one number."""
    kind = value.type if dtype is None else numba_dtype(builder, dtype)
    array = builder.alloc("array", kind, as_shape(builder, shape))
    assign(builder, array, value)
    return array


def _arange(builder: Builder, *bounds: Any) -> Lazy:
    """Return evenly spaced numbers in an interval."""
    if not 1 <= len(bounds) <= 3 or not all(isinstance(bound, (Value, Constant)) for bound in bounds):
        raise builder.refusal("np.arange needs one to three numbers", "Pass start, stop and step.")
    start, stop = (constant(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else constant(1)
    floats = any(is_float(bound.type) for bound in bounds)
    if floats or len(bounds) == 3:
        quotient = builder.binary("Div", builder.binary("Sub", stop, start), step)
        size = builder.op(FUNCTIONS[builtins.int], [builder.op(FUNCTIONS[math.ceil], [quotient])])
    else:
        size = builder.binary("Sub", stop, start)
    if len(bounds) > 1 or floats:
        size = builder.op(FUNCTIONS[builtins.max], [size, constant(0)])

    def element(indices: list[Scalar]) -> Scalar:
        moved = indices[0] if len(bounds) < 3 else builder.binary("Mult", indices[0], step)
        return builder.binary("Add", moved, start)

    return Lazy([size], types.float64 if floats else types.int64, element, [])


def _linspace(builder: Builder, start: Any, stop: Any, num: Any = None) -> Lazy:
    """Return `num` evenly spaced numbers."""
    count = constant(50) if num is None else num
    last = builder.op(FUNCTIONS[builtins.max], [builder.binary("Sub", count, constant(1)), constant(1)])
    step = builder.binary("Div", builder.binary("Sub", stop, start), last)

    def element(indices: list[Scalar]) -> Scalar:
        return builder.binary("Add", start, builder.binary("Mult", step, indices[0]))

    return Lazy([count], types.float64, element, [])


def _where(builder: Builder, condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return elements of `x` where a condition is true, and of `y` elsewhere."""
    if x is None:
        return nonzero(builder, condition)
    operands = [condition, x, y]
    if all(isinstance(one, (Value, Constant)) for one in operands):
        kind = result_type(operator.add, [x.type, y.type])
        return builder.op(SELECT, [condition, *[_as_type(builder, one, kind) for one in (x, y)]])
    kind = result_type(operator.add, [as_lazy(builder, x).dtype, as_lazy(builder, y).dtype])
    return elementwise(builder, SELECT, [condition, *[_lazy_as_type(builder, one, kind) for one in (x, y)]])


def _lazy_as_type(builder: Builder, x: Any, kind: Any) -> Lazy:
    lazy = as_lazy(builder, x)
    return replace(lazy, dtype=kind, element=lambda indices: _as_type(builder, lazy.element(indices), kind))


def _as_type(builder: Builder, x: Scalar, kind: Any) -> Scalar:
    if x.type == kind or not is_float(kind):
        return x
    if isinstance(x, Constant):
        return Constant(float(x.value), kind)
    return builder.op(FUNCTIONS[np.float64 if kind == types.float64 else np.float32], [x])


def _selected(builder: Builder, condlist: Any, choicelist: Any, default: Any = None) -> Any:
    """Return the elements of the first choice whose condition is true."""
    if not all(isinstance(one, tuple) for one in (condlist, choicelist)) or len(condlist) != len(choicelist):
        raise builder.refusal("np.select needs as many conditions as choices", "Write two lists.")
    found = constant(0) if default is None else default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        found = _where(builder, condition, choice, found)
    return found


def _histogram(builder: Builder, a: Any, bins: Any = None, range: Any = None) -> tuple[Any, Any]:
    """Return the passive counts of elements in intervals, and the edges."""
    array, given = as_array(builder, a), constant(10) if bins is None else evaluated(builder, bins)
    ends = list(range) if isinstance(range, tuple) else []
    text = "np.histogram({0}, {1}" + (", ({2}, {3})" if ends else "") + ")[0]"
    counts = builder.passive_array(text, [array, given, *ends], types.intp, [None])  # type: ignore[list-item]
    if isinstance(given, Array):
        return counts, given
    if not ends:
        ends = [reduction(builder, name, array) for name in ("min", "max")]
    first, last = ends
    return counts, _linspace(builder, first, last, builder.binary("Add", given, constant(1)))


def _joined(builder: Builder, arrays: Any, axis: Any = None) -> Array:
    """Return arrays one after the other along an axis."""
    lazies = _lazies(builder, arrays)
    rank = len(lazies[0].dims)
    place = 0 if axis is None else literal(builder, "axis", axis) % max(rank, 1)
    if rank == 0 or any(len(one.dims) != rank for one in lazies):
        raise builder.refusal("the arrays have different ranks", "Reshape them first.")
    dims = list(lazies[0].dims)
    for one in lazies[1:]:
        for i in range(rank):
            if i != place:
                builder.require_equal(dims[i], one.dims[i])
        dims[place] = builder.binary("Add", dims[place], one.dims[place])
    result = builder.alloc("joined", _common(builder, lazies), dims, layout=_common_layout(lazies))
    start: Scalar = constant(0)
    for one in lazies:

        def copy(indices: list[Scalar], one: Lazy = one, start: Scalar = start) -> None:
            at = builder.binary("Add", indices[place], start)
            builder.store(result, [*indices[:place], at, *indices[place + 1 :]], one.element(indices))

        builder.nest(one.dims, copy)
        start = builder.binary("Add", start, one.dims[place])
    return result


def _lazies(builder: Builder, arrays: Any) -> list[Lazy]:
    if not isinstance(arrays, tuple) or not arrays:
        raise builder.refusal("a tuple of arrays is needed here", "Write the arrays in a tuple.")
    lazies = [as_lazy(builder, one) for one in arrays]
    for one in lazies:
        check_unwritten(builder, one)
    return lazies


def _common(builder: Builder, lazies: list[Lazy]) -> Any:
    return reduce(lambda x, y: result_type(operator.add, [x, y]), [one.dtype for one in lazies])


def _common_layout(lazies: list[Lazy]) -> str:
    """Return the layout of Numba's result of joining arrays."""
    return "F" if all(one.layout == "F" for one in lazies) else "C"


def _stacked(builder: Builder, arrays: Any, axis: Any = None) -> Array:
    """Return arrays of one shape along a new axis."""
    lazies = _lazies(builder, arrays)
    rank = len(lazies[0].dims)
    place = 0 if axis is None else literal(builder, "axis", axis) % (rank + 1)
    for one in lazies[1:]:
        if len(one.dims) != rank:
            raise builder.refusal("the arrays have different ranks", "Reshape them first.")
        for i in range(rank):
            builder.require_equal(lazies[0].dims[i], one.dims[i])
    dims = lazies[0].dims
    count = constant(len(lazies))
    sizes = [*dims[:place], count, *dims[place:]]
    result = builder.alloc("stacked", _common(builder, lazies), sizes, layout=_common_layout(lazies))
    for position, one in enumerate(lazies):

        def copy(indices: list[Scalar], one: Lazy = one, position: int = position) -> None:
            at = constant(position)
            builder.store(result, [*indices[:place], at, *indices[place:]], one.element(indices))

        builder.nest(dims, copy)
    return result


def _side_by_side(builder: Builder, arrays: Any) -> Array:
    rank = len(_lazies(builder, arrays)[0].dims)
    return _joined(builder, arrays, constant(min(1, rank - 1)))


def _rows(builder: Builder, arrays: Any) -> Array:
    rank = len(_lazies(builder, arrays)[0].dims)
    return _stacked(builder, arrays) if rank == 1 else _joined(builder, arrays)


def _columns(builder: Builder, arrays: Any) -> Array:
    lazies = _lazies(builder, arrays)
    if all(len(one.dims) == 1 for one in lazies):
        return _stacked(builder, arrays, constant(1))
    matrices = [as_array(builder, one) for one in arrays]
    matrices = [with_axes(builder, one, [1]) if one.type.ndim == 1 else one for one in matrices]
    return _joined(builder, tuple(matrices), constant(1))


def _in_depth(builder: Builder, arrays: Any) -> Array:
    """Lower ``np.dstack``."""
    return _joined(builder, tuple([at_least_3d(builder, one) for one in arrays]), constant(2))


NEW_ARRAYS: dict[Any, Callable[..., Any]] = {
    np.empty: _filled("new_empty"),
    new_empty: _filled("new_empty"),
    np.zeros: _filled("new_zeros"),
    new_zeros: _filled("new_zeros"),
    np.ones: _filled("np.ones"),
    np.empty_like: _like("new_empty"),
    np.zeros_like: _like("new_zeros"),
    np.ones_like: _like("np.ones"),
    np.full: _full,
    np.arange: _arange,
    np.linspace: _linspace,
    np.concatenate: _joined,
    np.stack: _stacked,
    np.hstack: _side_by_side,
    np.vstack: _rows,
    np.column_stack: _columns,
    np.dstack: _in_depth,
    np.where: _where,
    np.select: _selected,
    np.histogram: _histogram,
}
"""Lowerings of NumPy functions, and of those that generated code calls in their place."""
