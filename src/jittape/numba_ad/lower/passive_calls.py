"""NumPy functions whose results have no derivative, and those that split, broadcast and turn arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from jittape.numba_ad.lower.array_calls import (
    as_array,
    as_shape,
    call_text,
    in_order,
    literal,
    numba_dtype,
    passive_number,
    reshaped,
    transposed,
    with_axes,
)
from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.function_source import PythonObject
from jittape.numba_ad.lower.whole_arrays import Lazy, as_lazy, assign, elementwise, evaluated, materialize
from jittape.numba_ad.scalar_rules import BINARY, Rule
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value

__all__ = [
    "PASSIVE_CALLS",
    "at_least_3d",
    "conjugate",
    "flat_view",
    "nonzero",
    "only_item",
    "push_elements",
    "rounded",
    "size_of",
]


# ---- numbers and arrays without derivatives ----


def rounded(name: str, function: Any) -> Callable[..., Any]:
    """Return the lowering of a function of each element whose other arguments are numbers."""

    def lower(builder: Builder, *operands: Any) -> Any:
        rule = Rule(call_text(name, len(operands)), function, (None,) * len(operands))
        if any(isinstance(x, (Array, Lazy)) for x in operands):
            return elementwise(builder, rule, list(operands))
        return builder.op(rule, list(operands), "rounded")

    return lower


def _vector(name: str, kind: Any) -> Callable[..., Array]:
    """Return the lowering of a function with a passive vector as its result."""

    def lower(builder: Builder, *operands: Any) -> Array:
        arrays = [evaluated(builder, one) for one in operands]
        return builder.passive_array(call_text(name, len(arrays)), arrays, kind, [None])  # type: ignore[list-item]

    return lower


def _pair(name: str) -> Callable[..., tuple[Array, ...]]:
    """Return the lowering of a function that returns the indices of two axes."""

    def lower(builder: Builder, *operands: Any) -> tuple[Array, ...]:
        arrays = [evaluated(builder, one) for one in operands]
        text = call_text(name, len(arrays))
        return tuple(
            [builder.passive_array(f"{text}[{i}]", arrays, types.intp, [None]) for i in (0, 1)]  # type: ignore[list-item]
        )

    return lower


def nonzero(builder: Builder, x: Any) -> tuple[Array, ...]:
    """Return a vector of indices for each axis."""
    array = as_array(builder, x)
    return tuple(
        [
            builder.passive_array(f"np.nonzero({{0}})[{axis}]", [array], types.intp, [None])  # type: ignore[list-item]
            for axis in range(array.type.ndim)
        ]
    )


def _places(builder: Builder, a: Any) -> Array:
    """Lower ``np.argwhere``."""
    array = as_array(builder, a)
    dims: list[Any] = [None, constant(array.type.ndim)]
    return builder.passive_array("np.argwhere({0})", [array], types.intp, dims)


def _partition_order(builder: Builder, a: Any, kth: Any) -> Array:
    array = as_array(builder, a)
    if array.type.ndim != 1:
        raise builder.refusal("only vectors are partitioned", "Partition one row after the other.")
    return builder.passive_array(
        "np.argpartition({0}, {1})", [array, kth], types.intp, [builder.dim(array, 0)]
    )


def _bins_of(builder: Builder, x: Any, bins: Any, right: Any = None) -> Any:
    """Lower ``np.digitize``."""
    text = "np.digitize({0}, {1}" + ("" if right is None else ", {2}") + ")"
    operands = [evaluated(builder, x), as_array(builder, bins), *([] if right is None else [right])]
    first = operands[0]
    if isinstance(first, Array):
        dims = [builder.dim(first, axis) for axis in range(first.type.ndim)]
        return builder.passive_array(text, operands, types.intp, dims)
    return builder.op(Rule(text, np.digitize, (None,) * len(operands)), operands, "bin")


def _is_in(builder: Builder, element: Any, test_elements: Any) -> Array:
    array = as_array(builder, element)
    dims = [builder.dim(array, axis) for axis in range(array.type.ndim)]
    operands = [array, as_array(builder, test_elements)]
    return builder.passive_array("np.isin({0}, {1})", operands, types.boolean, dims)


def _index_grid(builder: Builder, dimensions: Any) -> Array:
    sizes = as_shape(builder, dimensions)
    text = "np.indices((" + "".join(f"{{{i}}}, " for i in range(len(sizes))) + "))"
    return builder.passive_array(text, sizes, types.int64, [constant(len(sizes)), *sizes])


def _unwrapped(builder: Builder, p: Any, discont: Any = None) -> Lazy:
    """Lower ``np.unwrap`` along the last axis: an offset that is constant between its jumps is added."""
    array = as_array(builder, p)
    dims = [builder.dim(array, axis) for axis in range(array.type.ndim)]
    operands = [array] if discont is None else [array, discont]
    text = f"{call_text('np.unwrap', len(operands))} - {{0}}"
    offset = builder.passive_array(text, operands, types.float64, dims)
    return elementwise(builder, BINARY["Add"], [array, offset])


def _kaiser(builder: Builder, M: Any, beta: Any) -> Array:
    if not isinstance(beta, Constant):
        raise builder.refusal(
            "the derivative of kaiser by beta is unknown",
            "Pass a literal beta, or give a function with the window a rule with jt.njit_rule.",
        )
    return _vector("np.kaiser", types.float64)(builder, M, beta)


# ---- views and new arrangements ----


def flat_view(builder: Builder, x: Any) -> Array:
    """Return ``x.flat`` as a view of the elements; raise NoGradientError for an array that is not in C order."""
    if x.type.layout != "C":
        raise builder.refusal(
            "the attribute flat is only supported for arrays in C order", "Use x.flatten()."
        )
    return x if x.type.ndim == 1 else reshaped(builder, x, constant(-1))


def push_elements(builder: Builder, stack: Array, at: Scalar, array: Array) -> None:
    """Write the elements of an array in C order to a stack, from place `at` on, as `save_array` does."""
    sizes = as_lazy(builder, array).dims
    size = size_of(builder, array)
    part = builder.view(stack, "[{0} : {1}]", [at, builder.binary("Add", at, size)], stack.type, [size])
    target = part if len(sizes) == 1 else reshaped(builder, part, tuple(sizes))
    assign(builder, target, array, buffered=False)


def only_item(builder: Builder, x: Any) -> Scalar:
    """Return the element of an array of one element."""
    for axis in range(x.type.ndim):
        builder.effect(
            "if {0} != 1: raise ValueError('item(): can only convert an array of size 1 to a Python scalar')",
            [builder.dim(x, axis)],
        )
    return builder.load(x, [constant(0)] * x.type.ndim)


def _moved(builder: Builder, a: Any, source: Any, destination: Any) -> Array:
    array = as_array(builder, a)
    rank = array.type.ndim
    places = [list(one) if isinstance(one, tuple) else [one] for one in (source, destination)]
    old, new = [[literal(builder, "an axis", axis) % rank for axis in one] for one in places]
    order = [axis for axis in range(rank) if axis not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return transposed(builder, array, tuple([constant(axis) for axis in order]))


def at_least_3d(builder: Builder, x: Any) -> Array:
    """Return a view with three axes."""
    array = as_array(builder, x)
    places = {1: [0, 2], 2: [2]}.get(array.type.ndim)
    return array if places is None else with_axes(builder, array, places)


def _fortran_order(builder: Builder, x: Any) -> Array:
    return in_order(builder, x, "F")


def conjugate(builder: Builder, x: Any) -> Any:
    """Return a number, or the elements of a new array."""
    return x if isinstance(x, (Value, Constant)) else as_lazy(builder, x)


def _broadcast(builder: Builder, array: Any, shape: Any) -> Lazy:
    """Return an array or a number with more elements; sizes must be equal, or literally 1."""
    lazy, dims = as_lazy(builder, array), as_shape(builder, shape)
    missing = len(dims) - len(lazy.dims)
    if missing < 0:
        raise builder.refusal("the shape has fewer dimensions than the array", "Index the array.")
    kept = []
    for own, wanted in zip(lazy.dims, dims[missing:], strict=True):
        is_one = isinstance(own, Constant) and own.value == 1
        kept.append(not is_one)
        if not is_one:
            builder.require_equal(own, wanted)

    def element(indices: list[Scalar]) -> Scalar:
        own = indices[missing:]
        return lazy.element([i if keep else constant(0) for i, keep in zip(own, kept, strict=True)])

    return Lazy(dims, lazy.dtype, element, lazy.reads, is_view=True)


def _broadcast_all(builder: Builder, *arrays: Any) -> tuple[Array, ...]:
    lazies = [as_lazy(builder, one) for one in arrays]
    rank = max(len(one.dims) for one in lazies)
    dims: list[Scalar] = []
    for axis in range(-rank, 0):
        sizes = [one.dims[axis] for one in lazies if len(one.dims) >= -axis]
        dims.append(next((n for n in sizes if not (isinstance(n, Constant) and n.value == 1)), sizes[0]))
    return tuple([materialize(builder, _broadcast(builder, one, tuple(dims)), "broadcast") for one in lazies])


def _split(first: int | None, is_even: bool) -> Callable[..., tuple[Array, ...]]:
    """Return the lowering of ``np.split`` and its relatives; `is_even` asks for parts of equal size."""

    def lower(builder: Builder, ary: Any, indices_or_sections: Any, axis: Any = None) -> tuple[Array, ...]:
        array = as_array(builder, ary)
        place = first if axis is None else literal(builder, "axis", axis)
        place = (place if place is not None else 0 if array.type.ndim == 1 else 1) % array.type.ndim
        size = builder.dim(array, place)
        bounds: list[Scalar] = []
        if isinstance(indices_or_sections, tuple):
            bounds = list(indices_or_sections)
        else:
            bounds = _section_bounds(builder, size, indices_or_sections, is_even)
        parts = []
        for start, stop in zip([None, *bounds], [*bounds, None], strict=True):
            text, operands = _slice_text([start, stop])
            index = ":, " * place + text
            layout = array.type.layout if place == 0 and array.type.layout == "C" else "A"
            dims = list(array.dims or [None] * array.type.ndim)
            dims[place] = None
            parts.append(builder.view(array, f"[{index}]", operands, array.type.copy(layout=layout), dims))
        return tuple(parts)

    return lower


def _slice_text(bounds: list[Scalar | None]) -> tuple[str, list[Scalar]]:
    operands = [one for one in bounds if one is not None]
    numbers = iter(range(len(operands)))
    return ":".join("" if one is None else f"{{{next(numbers)}}}" for one in bounds), operands


def _section_bounds(builder: Builder, size: Scalar, sections: Any, is_even: bool) -> list[Scalar]:
    count = literal(builder, "the sections of an array, of which code needs the number,", sections)
    rest = builder.binary("Mod", size, constant(count))
    each = builder.binary("FloorDiv", size, constant(count))
    if is_even:
        message = "array split does not result in an equal division"
        builder.effect(f"if {{0}} != 0: raise ValueError({message!r})", [rest])
        return [builder.binary("Mult", constant(i), each) for i in range(1, count)]
    found = []
    for i in range(1, count):
        longer = builder.op(FEWER, [constant(i), rest])
        found.append(builder.binary("Add", builder.binary("Mult", constant(i), each), longer))
    return found


FEWER = Rule("min({0}, {1})", min, (None, None))
"""Rule of the number of longer sections."""


def _real(builder: Builder, x: Any) -> Any:
    return x


def _shape(builder: Builder, x: Any) -> tuple[Scalar, ...]:
    array = as_lazy(builder, x)
    return tuple(array.dims)


def size_of(builder: Builder, x: Any) -> Scalar:
    """Return the number of elements; of a vector, its dimension, with which loops over it are recognized."""
    dims = as_lazy(builder, x).dims
    count: Scalar = dims[0] if dims else constant(1)
    for one in dims[1:]:
        count = builder.binary("Mult", one, count)
    return count


def _quotients(builder: Builder, x: Any, y: Any) -> tuple[Any, Any]:
    return tuple([elementwise(builder, BINARY[name], [x, y]) for name in ("FloorDiv", "Mod")])  # type: ignore[return-value]


PASSIVE_CALLS: dict[Any, Callable[..., Any]] = {
    np.round: rounded("np.round", np.round),
    np.around: rounded("np.around", np.around),
    np.isclose: rounded("np.isclose", np.isclose),
    np.isneginf: rounded("np.isneginf", np.isneginf),
    np.isposinf: rounded("np.isposinf", np.isposinf),
    np.angle: rounded("np.angle", np.angle),
    np.nanargmax: passive_number("np.nanargmax", np.nanargmax),
    np.nanargmin: passive_number("np.nanargmin", np.nanargmin),
    np.linalg.matrix_rank: passive_number("np.linalg.matrix_rank", np.linalg.matrix_rank),
    np.flatnonzero: _vector("np.flatnonzero", types.intp),
    **{
        getattr(np, name): _vector(f"np.{name}", types.float64)
        for name in ("bartlett", "blackman", "hamming", "hanning")
    },
    np.kaiser: _kaiser,
    **{
        getattr(np, name): _pair(f"np.{name}")
        for name in ("tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from")
    },
    np.nonzero: nonzero,
    np.argwhere: _places,
    np.argpartition: _partition_order,
    np.digitize: _bins_of,
    np.isin: _is_in,
    np.indices: _index_grid,
    np.unwrap: _unwrapped,
    np.moveaxis: _moved,
    np.atleast_3d: at_least_3d,
    np.asfortranarray: _fortran_order,
    np.broadcast_to: _broadcast,
    np.broadcast_arrays: _broadcast_all,
    np.split: _split(0, True),
    np.array_split: _split(0, False),
    np.vsplit: _split(0, True),
    np.hsplit: _split(None, True),
    np.dsplit: _split(2, True),
    np.isrealobj: lambda builder, x: constant(True),
    np.iscomplexobj: lambda builder, x: constant(False),
    np.real: _real,
    np.conjugate: conjugate,
    np.shape: _shape,
    np.size: size_of,
    np.isscalar: lambda builder, x: constant(isinstance(x, (Value, Constant))),
    np.divmod: _quotients,
    np.finfo: lambda builder, dtype: PythonObject(np.finfo(str(numba_dtype(builder, dtype)))),
    np.iinfo: lambda builder, dtype: PythonObject(np.iinfo(str(numba_dtype(builder, dtype)))),
}
"""Lowerings of NumPy functions."""
