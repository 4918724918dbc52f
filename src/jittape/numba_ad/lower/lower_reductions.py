"""Reductions of arrays as loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import types

from jittape.numba_ad.lower.array_calls import astype
from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.lower.whole_arrays import Lazy, as_lazy, check_unwritten
from jittape.numba_ad.scalar_rules import ACCUMULATE, BINARY, COMPARE, FUNCTIONS
from jittape.numba_ad.structured_ir import Constant, Scalar

__all__ = ["REDUCTIONS", "count_nonzero", "reduction"]

NAMES = ("sum", "mean", "min", "max", "prod", "any", "all")


def reduction(builder: Builder, name: str, x: Any, axis: Any = None) -> Any:
    """Return the reduction of all elements, or along an axis that is a literal."""
    if isinstance(x, tuple):
        return _of_tuple(builder, name, x)
    lazy = as_lazy(builder, x)
    check_unwritten(builder, lazy)
    if axis is None or getattr(axis, "value", 0) is None:
        return _reduced(builder, name, lazy, lazy.dims, lambda indices: indices)
    rank = len(lazy.dims)
    if not isinstance(axis, Constant) or not -rank <= axis.value < rank:
        raise builder.refusal("the axis must be a literal int of the array's rank", "Write a loop over it.")
    place = axis.value % rank
    if rank == 1:
        return _reduced(builder, name, lazy, lazy.dims, lambda indices: indices)
    kept = [*lazy.dims[:place], *lazy.dims[place + 1 :]]
    kind = _kind(name, lazy)
    array = builder.alloc(name, kind, kept)

    def entry(indices: list[Scalar]) -> None:
        value = _reduced(
            builder, name, lazy, [lazy.dims[place]], lambda k: [*indices[:place], *k, *indices[place:]]
        )
        builder.store(array, indices, value)

    builder.nest(kept, entry)
    return array


def _of_tuple(builder: Builder, name: str, items: tuple[Any, ...]) -> Any:
    if name != "sum" or not items:
        raise builder.refusal(f"{name} of a tuple is not supported", "Use an array, or operators.")
    total = items[0]
    for item in items[1:]:
        total = builder.binary("Add", total, item)
    return total


def _kind(name: str, lazy: Lazy) -> Any:
    if name in ("any", "all"):
        return types.boolean
    if is_float(lazy.dtype):
        return lazy.dtype
    return types.float64 if name == "mean" else types.int64


def _reduced(
    builder: Builder,
    name: str,
    lazy: Lazy,
    dims: list[Scalar],
    place: Callable[[list[Scalar]], list[Scalar]],
) -> Any:
    """Return a reduction over the indices of `dims`; `place` gives the indices of the element."""

    def element(indices: list[Scalar]) -> Scalar:
        return lazy.element(place(indices))

    if name in ("min", "max"):
        if lazy.dtype == types.boolean:
            raise builder.refusal(f"{name} of {lazy.dtype} is not supported", "Write a loop.")
        rule = FUNCTIONS[np.minimum if name == "min" else np.maximum]
        for size in dims:
            builder.effect("if {0} == 0: raise ValueError('zero-size array to reduction operation')", [size])
        first = element([constant(0) for _ in dims])
        return builder.reduce(
            dims, first, lambda indices, best: builder.op(rule, [best, element(indices)]), "best"
        )
    if name in ("any", "all"):
        operator = BINARY["BitOr" if name == "any" else "BitAnd"]

        def test(indices: list[Scalar], acc: Scalar) -> Scalar:
            value = element(indices)
            is_true = (
                value if value.type == types.boolean else builder.op(COMPARE["NotEq"], [value, constant(0)])
            )
            return builder.op(operator, [acc, is_true])

        return builder.reduce(dims, constant(name == "all"), test, name)
    kind = lazy.dtype if is_float(lazy.dtype) else types.int64
    start = 1 if name == "prod" else 0
    first = Constant(float(start) if is_float(kind) else start, kind)
    rule = BINARY["Mult"] if name == "prod" else ACCUMULATE if is_float(kind) else BINARY["Add"]
    total = builder.reduce(dims, first, lambda indices, acc: builder.op(rule, [acc, element(indices)]))
    if name != "mean":
        return total
    count: Scalar = constant(1)
    for size in dims:
        count = builder.binary("Mult", count, size)
    return builder.binary("Div", total, count)


def count_nonzero(builder: Builder, x: Any, axis: Any = None) -> Any:
    """Return how many elements are not zero."""
    lazy = as_lazy(builder, x)
    zero = constant(0)

    def element(indices: list[Scalar]) -> Scalar:
        return builder.op(COMPARE["NotEq"], [lazy.element(indices), zero])

    return reduction(builder, "sum", Lazy(lazy.dims, types.boolean, element, lazy.reads), axis)


def _sum(builder: Builder, a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return reduction(builder, "sum", a if dtype is None else astype(builder, a, dtype), axis)


REDUCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(np, name): partial(
        lambda builder, x, axis=None, *, kind: reduction(builder, kind, x, axis), kind=name
    )
    for name in NAMES
} | {
    np.sum: _sum,
    np.amax: lambda builder, x: reduction(builder, "max", x),
    np.amin: lambda builder, x: reduction(builder, "min", x),
}
"""Lowerings of reductions."""
