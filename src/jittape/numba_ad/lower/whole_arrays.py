"""Whole-array expressions as loops over elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.numba_types import is_float, result_type
from jittape.numba_ad.scalar_rules import ACCUMULATE, BINARY, Rule
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value

__all__ = [
    "Lazy", "as_lazy", "assign", "check_unwritten", "elementwise", "evaluated", "materialize", "matmul",
]  # fmt: skip


@dataclass(eq=False)
class Lazy:
    """An array that is computed element by element where it is used; `reads` are the arrays and their versions.

    `layout` is that of Numba's array. In Numba, `is_view` is a view of the arrays in `reads`.
    """

    dims: list[Scalar]
    dtype: Any
    element: Callable[[list[Scalar]], Scalar]
    reads: list[tuple[Array, int]]
    layout: str = "C"
    is_view: bool = False


def as_lazy(builder: Builder, x: Any) -> Lazy:
    """Return an array or a scalar as elements."""
    if isinstance(x, Lazy):
        return x
    if isinstance(x, Array):
        dims = [builder.dim(x, axis) for axis in range(x.type.ndim)]
        return Lazy(
            dims, x.type.dtype, lambda indices: builder.load(x, indices), [(x, x.root.epoch)], x.type.layout
        )
    if isinstance(x, (Value, Constant)):
        return Lazy([], x.type, lambda indices: x, [])
    raise builder.refusal(
        "an array expression has an operand that is not an array or a number",
        "Write a loop over its elements.",
    )


def elementwise(builder: Builder, rule: Rule, operands: list[Any]) -> Lazy:
    """Apply the rule of a scalar function to each element; sizes must be equal, or literally 1."""
    lazies = [as_lazy(builder, x) for x in operands]
    try:
        kind = result_type(rule.function, [x.dtype for x in lazies]) if rule.function else lazies[1].dtype
    except TypeError as error:
        raise builder.refusal(str(error), "Write a loop over the elements.") from None
    rank = max(len(x.dims) for x in lazies)
    dims: list[Scalar] = []
    for axis in range(-rank, 0):
        sizes = [x.dims[axis] for x in lazies if len(x.dims) >= -axis]
        long = [size for size in sizes if not _is_one(size)]
        for other in long[1:]:
            builder.require_equal(long[0], other)
        dims.append(long[0] if long else sizes[0])

    def element(indices: list[Scalar]) -> Scalar:
        scalars = []
        for x in lazies:
            own = indices[len(indices) - len(x.dims) :]
            scalars.append(
                x.element([constant(0) if _is_one(n) else i for n, i in zip(x.dims, own, strict=True)])
            )
        return builder.op(rule, scalars)

    reads = [read for x in lazies for read in x.reads]
    return Lazy(dims, kind, element, reads, _layout(rule, lazies))


def _layout(rule: Rule, lazies: list[Lazy]) -> str:
    """Return the layout of Numba's result of a function of elements."""
    layouts = [x.layout for x in lazies if x.dims]
    if "F" not in layouts:
        return "C"
    if rule.function is None:
        kinds = [types.Array(x.dtype, len(x.dims), x.layout) if x.dims else x.dtype for x in lazies]
        found: str = result_type(np.where, kinds).layout
        return found
    return "C" if "C" in layouts else "F"


def _is_one(size: Scalar) -> bool:
    return isinstance(size, Constant) and size.value == 1


def check_unwritten(builder: Builder, lazy: Lazy) -> None:
    """Refuse an expression with a call that writes an array which the expression read before."""
    for array, epoch in lazy.reads:
        if array.root.epoch != epoch:
            raise builder.refusal(
                f"a call in this expression writes the array {array.root.name}, which the expression reads",
                "Assign the result of the call to a variable first.",
            )


def evaluated(builder: Builder, value: Any, base: str = "t") -> Any:
    """Return an array for a lazy one, and any other value itself."""
    return materialize(builder, value, base) if isinstance(value, Lazy) else value


def materialize(builder: Builder, lazy: Lazy, base: str) -> Array:
    """Compute all elements into a new array."""
    check_unwritten(builder, lazy)
    array = builder.alloc(base, lazy.dtype, lazy.dims, layout=lazy.layout)
    builder.nest(lazy.dims, lambda indices: builder.store(array, indices, lazy.element(indices)))
    if lazy.is_view:
        array.root.reason = "broadcasting makes a view, here of"
        array.root.origins = tuple(
            [origin for one, _ in lazy.reads for origin in (*one.root.origins, (one.root, one.root.epoch))]
        )
    return array


def assign(builder: Builder, target: Array, value: Any, sign: str = "", buffered: bool = True) -> None:
    """Write ``target[...] = value``, or update it with `sign`.

    If `value` reads other views of the same array, it is computed completely before the first write. Without
    `buffered`, each element is computed just before it is written, in Numba's order.
    """
    lazy = as_lazy(builder, value)
    check_unwritten(builder, lazy)
    overlaps = any(array.root is target.root and array is not target for array, _ in lazy.reads)
    layouts = [array.type.layout for array, _ in lazy.reads] + [target.type.layout] * bool(sign)
    columns_first = overlaps and layouts.count("F") > layouts.count("C")
    if buffered and overlaps:
        lazy = as_lazy(builder, materialize(builder, lazy, "copied"))
    sizes = [builder.dim(target, axis) for axis in range(target.type.ndim)]
    if len(lazy.dims) > len(sizes):
        raise builder.refusal("the value has more dimensions than the target", "Index or reshape the value.")
    own = sizes[len(sizes) - len(lazy.dims) :]
    for size, other in zip(own, lazy.dims, strict=True):
        if not _is_one(other):
            builder.require_equal(size, other)

    def write(indices: list[Scalar]) -> None:
        used = indices[len(indices) - len(lazy.dims) :]
        used = [constant(0) if _is_one(n) else i for n, i in zip(lazy.dims, used, strict=True)]
        builder.store(target, indices, lazy.element(used), sign)

    if columns_first:
        builder.nest(sizes[::-1], lambda indices: write(indices[::-1]))
    else:
        builder.nest(sizes, write)


def matmul(builder: Builder, x: Any, y: Any) -> Any:
    """Return the product of vectors and matrices as loops: a number, or a new array."""
    x, y = [
        one
        if isinstance(one, Array)
        else as_lazy(builder, materialize(builder, as_lazy(builder, one), "operand"))
        for one in (x, y)
    ]
    one, other = as_lazy(builder, x), as_lazy(builder, y)
    if not (1 <= len(one.dims) <= 2 and 1 <= len(other.dims) <= 2):
        raise builder.refusal("a product of arrays needs vectors or matrices", "Write the loops.")
    builder.require_equal(one.dims[-1], other.dims[0])
    kind = result_type(BINARY["Mult"].function, [one.dtype, other.dtype])
    zero = Constant(0.0 if is_float(kind) else 0, kind)

    def entry(row: list[Scalar], column: list[Scalar]) -> Scalar:
        def step(k: list[Scalar], acc: Scalar) -> Scalar:
            product = builder.binary("Mult", one.element([*row, *k]), other.element([*k, *column]))
            return builder.op(ACCUMULATE if is_float(kind) else BINARY["Add"], [acc, product])

        return builder.reduce([one.dims[-1]], zero, step)

    rows, columns = one.dims[:-1], other.dims[1:]
    if not rows and not columns:
        return entry([], [])
    dims = [*rows, *columns]
    array = builder.alloc("product", kind, dims)
    count = len(rows)
    builder.nest(dims, lambda indices: builder.store(array, indices, entry(indices[:count], indices[count:])))
    return array
