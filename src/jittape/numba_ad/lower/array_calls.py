"""NumPy functions that make, join and rearrange arrays, and those whose results are passive."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numba import from_dtype, types

from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.function_source import PythonObject
from jittape.numba_ad.lower.numba_types import result_type, unified
from jittape.numba_ad.lower.whole_arrays import (
    as_lazy,
    assign,
    elementwise,
    evaluated,
    materialize,
)
from jittape.numba_ad.scalar_rules import CASTS, FUNCTIONS, Rule
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value

__all__ = [
    "ARRAY_CALLS",
    "as_array",
    "as_shape",
    "astype",
    "call_text",
    "copied",
    "flattened",
    "in_order",
    "literal",
    "numba_dtype",
    "passive_number",
    "reshaped",
    "transposed",
    "with_axes",
]


def numba_dtype(builder: Builder, dtype: Any) -> Any:
    """Return the Numba type of an argument ``dtype=``; the default is float64."""
    if dtype is None:
        return types.float64
    try:
        value = dtype.value
        return from_dtype(np.dtype(str(value) if isinstance(value, types.Type) else value))
    except (TypeError, AttributeError, NotImplementedError):
        raise builder.refusal(
            "this dtype is not supported", "Use np.float64, np.float32 or an int type."
        ) from None


def as_shape(builder: Builder, shape: Any) -> list[Scalar]:
    """Return the sizes that an argument ``shape`` names."""
    sizes = list(shape) if isinstance(shape, tuple) else [shape]
    if not all(
        isinstance(size, (Value, Constant)) and isinstance(size.type, types.Integer) for size in sizes
    ):
        raise builder.refusal("a shape must be an int or a tuple of ints", "Write it as a tuple.")
    return sizes


def literal(builder: Builder, name: str, value: Any) -> int:
    """Return the value of an argument that must be a literal int."""
    if isinstance(value, Constant) and isinstance(value.value, int):
        return value.value
    raise builder.refusal(f"{name} must be a literal int", "Write the number.")


def as_array(builder: Builder, x: Any) -> Array:
    """Return an array; refuse a number."""
    found = evaluated(builder, x)
    if not isinstance(found, Array):
        raise builder.refusal("an array is needed here", "Pass an array.")
    return found


def copied(builder: Builder, x: Any) -> Array:
    """Return a copy in C order."""
    lazy = replace(as_lazy(builder, x), layout="C", is_view=False)
    return materialize(builder, lazy, getattr(x, "name", "copy"))


def _copied_in_order(builder: Builder, x: Any) -> Array:
    """Return a copy with the order of the array."""
    return materialize(builder, replace(as_lazy(builder, x), is_view=False), getattr(x, "name", "copy"))


def reshaped(builder: Builder, x: Any, *shape: Any) -> Array:
    """Return a view of an array in C order; a size of -1 is computed."""
    x = as_array(builder, x)
    sizes = as_shape(builder, shape[0] if len(shape) == 1 else tuple(shape))
    if x.type.layout != "C":
        raise builder.refusal("only arrays in C order can be reshaped", "Copy the array first.")
    unknown = [i for i, size in enumerate(sizes) if isinstance(size, Constant) and size.value < 0]
    if unknown:
        total: Scalar = constant(1)
        for axis in range(x.type.ndim):
            total = builder.binary("Mult", total, builder.dim(x, axis))
        for i, size in enumerate(sizes):
            if i not in unknown:
                total = builder.binary("FloorDiv", total, size)
        sizes[unknown[0]] = total
    text = ".reshape((" + "".join(f"{{{i}}}, " for i in range(len(sizes))) + "))"
    return builder.view(x, text, sizes, x.type.copy(ndim=len(sizes)), list(sizes))


def _raveled(builder: Builder, x: Any) -> Array:
    x = as_array(builder, x)
    return reshaped(builder, x if x.type.layout == "C" else copied(builder, x), constant(-1))


def flattened(builder: Builder, x: Any) -> Array:
    """Return the elements in C order in a new vector."""
    return reshaped(builder, copied(builder, x), constant(-1))


def transposed(builder: Builder, x: Any, *axes: Any) -> Array:
    """Return a view with the axes in another order."""
    x = as_array(builder, x)
    rank = x.type.ndim
    given = list(axes[0]) if len(axes) == 1 and isinstance(axes[0], tuple) else list(axes)
    if not given or getattr(given[0], "value", 0) is None:
        layout = {"C": "F", "F": "C"}.get(x.type.layout, "A") if rank > 1 else x.type.layout
        return builder.view(x, ".T", [], x.type.copy(layout=layout), x.dims[::-1])
    order = [literal(builder, "an axis", axis) % rank for axis in given]
    if sorted(order) != list(range(rank)):
        raise builder.refusal("the axes are no order of all axes", "Name each axis once.")
    text = f".transpose(({', '.join(str(axis) for axis in order)},))"
    return builder.view(x, text, [], x.type.copy(layout="A"), [x.dims[i] for i in order] if x.dims else [])


def _swapped(builder: Builder, x: Any, one: Any, other: Any) -> Array:
    x = as_array(builder, x)
    order = list(range(x.type.ndim))
    i, j = [literal(builder, "an axis", axis) % x.type.ndim for axis in (one, other)]
    order[i], order[j] = order[j], order[i]
    return transposed(builder, x, tuple([constant(axis) for axis in order]))


def _expanded(builder: Builder, x: Any, axis: Any) -> Array:
    x = as_array(builder, x)
    place = literal(builder, "axis", axis) % (x.type.ndim + 1)
    return with_axes(builder, x, [place])


def with_axes(builder: Builder, x: Array, places: list[int]) -> Array:
    """Return a view with axes of size 1 at these places."""
    rank = x.type.ndim + len(places)
    parts = ["None" if i in places else ":" for i in range(rank)]
    old = iter(x.dims or [None] * x.type.ndim)
    dims = [constant(1) if i in places else next(old) for i in range(rank)]
    index = types.Tuple([types.none if part == "None" else types.slice2_type for part in parts])
    kind = result_type(operator.getitem, [x.type, index])
    return builder.view(x, f"[{', '.join(parts)}]", [], kind, dims)


def _at_least(rank: int) -> Callable[..., Array]:
    def lower(builder: Builder, x: Any) -> Array:
        x = as_array(builder, x)
        if x.type.ndim >= rank:
            return x
        if (x.type.ndim, rank) != (1, 2):
            raise builder.refusal("this form of atleast is not supported", "Index with None.")
        return with_axes(builder, x, [0])

    return lower


def _flipped(*axes: int) -> Callable[..., Array]:
    def lower(builder: Builder, x: Any) -> Array:
        x = as_array(builder, x)
        parts = ["::-1" if not axes or axis in axes else ":" for axis in range(x.type.ndim)]
        return builder.view(x, f"[{', '.join(parts)}]", [], x.type.copy(layout="A"), list(x.dims))

    return lower


def astype(builder: Builder, x: Any, dtype: Any) -> Any:
    """Return a copy with another dtype."""
    kind = numba_dtype(builder, dtype)
    return elementwise(builder, CASTS[str(kind)], [x])


def _from_items(builder: Builder, x: Any, dtype: Any = None) -> Array:
    """Return an array of the items of nested tuples, or a copy of an array."""
    if not isinstance(x, tuple):
        return _copied_in_order(builder, x if dtype is None else astype(builder, x, dtype))
    dims: list[Scalar] = []
    level: Any = x
    while isinstance(level, tuple):
        dims.append(constant(len(level)))
        level = level[0] if level else None
    items: list[tuple[list[Scalar], Scalar]] = []

    def collect(one: Any, indices: list[Scalar]) -> None:
        if len(indices) == len(dims):
            if not isinstance(one, (Value, Constant)):
                raise builder.refusal("the items of np.array must be numbers", "Use np.stack for arrays.")
            items.append((indices, one))
            return
        if not isinstance(one, tuple) or len(one) != dims[len(indices)].value:  # type: ignore[union-attr]
            raise builder.refusal("the items of np.array have different lengths", "Assign each element.")
        for position, item in enumerate(one):
            collect(item, [*indices, constant(position)])

    collect(x, [])
    if not items:
        raise builder.refusal("np.array of nothing is not supported", "Use np.empty(0).")
    kind = reduce(unified, [item.type for _, item in items]) if dtype is None else numba_dtype(builder, dtype)
    array = builder.alloc("array", kind, dims)
    for indices, item in items:
        builder.store(array, indices, item)
    return array


def _as_array(builder: Builder, x: Any, dtype: Any = None) -> Any:
    if isinstance(x, Array) and (dtype is None or numba_dtype(builder, dtype) == x.type.dtype):
        return x
    return _from_items(builder, x, dtype)


def in_order(builder: Builder, x: Any, layout: str = "C") -> Array:
    """Return an array with its elements in an order; a copy, unless Numba knows that they are."""
    x = as_array(builder, x)
    own = x.type.layout
    if own == layout or (x.type.ndim == 1 and own != "A"):
        return x
    found = materialize(builder, replace(as_lazy(builder, x), layout=layout), x.name)
    if own == "A":  # Numba looks at the strides when the code runs, and copies only if it must
        found.root.origins = (*x.root.origins, (x.root, x.root.epoch))
        found.root.reason = (
            "np.ascontiguousarray and np.asfortranarray copy only if the order differs: they may return "
            "the array"
        )
    return found


def _clipped(builder: Builder, x: Any, low: Any, high: Any) -> Any:
    for function, bound in ((np.maximum, low), (np.minimum, high)):
        if getattr(bound, "value", 0) is not None:
            operands = [x, bound]
            scalars = all(isinstance(one, (Value, Constant)) for one in operands)
            rule = FUNCTIONS[function]
            x = builder.op(rule, operands) if scalars else elementwise(builder, rule, operands)
    return x


def passive_number(name: str, function: Any) -> Callable[..., Scalar]:
    """Return the lowering of a function of arrays whose result is an int or a bool."""

    def lower(builder: Builder, *operands: Any) -> Scalar:
        arrays = [evaluated(builder, one) for one in operands]
        rule = Rule(call_text(name, len(arrays)), function, (None,) * len(arrays))
        return builder.op(rule, arrays, function.__name__)

    return lower


def _extreme(function: Any) -> Callable[..., Any]:
    """Return the lowering of ``np.argmax`` or ``np.argmin``."""

    def lower(builder: Builder, a: Any, axis: Any = None) -> Any:
        array = as_array(builder, a)
        if axis is None or isinstance(axis, PythonObject):
            return passive_number(f"np.{function.__name__}", function)(builder, array)
        place = literal(builder, "axis", axis) % array.type.ndim
        dims = [builder.dim(array, i) for i in range(array.type.ndim) if i != place]
        if not dims:
            return passive_number(f"np.{function.__name__}", function)(builder, array)
        return builder.passive_array(f"np.{function.__name__}({{0}}, {place})", [array], types.intp, dims)

    return lower


def call_text(name: str, count: int) -> str:
    """Return the template of a call with `count` operands."""
    return f"{name}({', '.join(f'{{{i}}}' for i in range(count))})"


def _places_of(builder: Builder, a: Any, v: Any, side: Any = None) -> Any:
    """Lower ``np.searchsorted`` for a number or an array."""
    text = "np.searchsorted({0}, {1})"
    if side is not None:
        if not isinstance(side, PythonObject) or side.value not in ("left", "right"):
            raise builder.refusal("side must be a literal", "Write 'left' or 'right'.")
        text = f"np.searchsorted({{0}}, {{1}}, side={side.value!r})"
    array, values = as_array(builder, a), evaluated(builder, v)
    if isinstance(values, Array):
        dims = [builder.dim(values, axis) for axis in range(values.type.ndim)]
        return builder.passive_array(text, [array, values], types.intp, dims)
    return builder.op(Rule(text, np.searchsorted, (None, None)), [array, values], "place")


def _order(builder: Builder, a: Any, kind: Any = None) -> Array:
    array = as_array(builder, a)
    if array.type.ndim != 1:
        raise builder.refusal("only vectors are sorted", "Sort one row after the other.")
    text = "np.argsort({0})"
    if kind is not None:
        if not isinstance(kind, PythonObject):
            raise builder.refusal("kind must be a literal", "Write 'quicksort' or 'mergesort'.")
        text = f"np.argsort({{0}}, kind={kind.value!r})"
    return builder.passive_array(text, [array], types.intp, [builder.dim(array, 0)])


def _divided(builder: Builder, x: Any, y: Any) -> tuple[Scalar, Scalar]:
    return builder.binary("FloorDiv", x, y), builder.binary("Mod", x, y)


def _filled_like(builder: Builder, x: Any, value: Any) -> Array:
    lazy = as_lazy(builder, x)
    array = builder.alloc("array", lazy.dtype, lazy.dims, layout=lazy.layout)
    assign(builder, array, value)
    return array


ARRAY_CALLS: dict[Any, Callable[..., Any]] = {
    divmod: _divided,
    np.copy: _copied_in_order,
    np.reshape: reshaped,
    np.ravel: _raveled,
    np.transpose: transposed,
    np.swapaxes: _swapped,
    np.expand_dims: _expanded,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.flip: _flipped(),
    np.flipud: _flipped(0),
    np.fliplr: _flipped(1),
    np.array: _from_items,
    np.asarray: _as_array,
    np.ascontiguousarray: in_order,
    np.full_like: _filled_like,
    np.clip: _clipped,
    np.argmax: _extreme(np.argmax),
    np.argmin: _extreme(np.argmin),
    np.array_equal: passive_number("np.array_equal", np.array_equal),
    np.allclose: passive_number("np.allclose", np.allclose),
    np.searchsorted: _places_of,
    np.argsort: _order,
}
"""Lowerings of NumPy functions."""
