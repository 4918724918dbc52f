"""Numba implementations of ops that otherwise run in NumPy, so that native functions support them.

Each implementation is a function of flat arrays, the operands and then the result, and of numbers that describe their
layout ``[outer, *sizes, inner]``; `sizes` are the indexed extents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.indexing.gather_ops import gather_op, scatter_add_op

__all__ = ["SUBSTITUTES", "Substitute"]


@dataclass(frozen=True)
class Substitute:
    """A Numba implementation of an op.

    Attributes
    ----------
    function : callable
        ``function(*operands, result, *layout)``, to be compiled by Numba.
    layout : callable
        ``layout(avals, **params)`` returns the numbers, and tuples of numbers.
    several : int or None
        Number of the first operand that is passed in one tuple with all later ones.
    """

    function: Callable[..., None]
    layout: Callable[..., tuple[Any, ...]]
    several: int | None = None


def _indexed_layout(shape: tuple[int, ...], axis: int, count: int) -> tuple[tuple[int, ...], int, int]:
    """Return the indexed extents, the product of the extents before them, and the product of those after them."""
    end = axis + count
    return shape[axis:end], math.prod(shape[:axis]), math.prod(shape[end:])


def _gather(x, indices, result, sizes, outer, inner):  # type: ignore[no-untyped-def]
    count = len(indices[0])
    span = 1
    for size in sizes:
        span *= size
    for j in range(count):
        flat = 0
        for d in range(len(sizes)):
            index = indices[d][j]
            if index < -sizes[d] or index >= sizes[d]:
                raise IndexError("gather: an index is out of bounds")
            flat = flat * sizes[d] + (index + sizes[d] if index < 0 else index)
        for o in range(outer):
            for k in range(inner):
                result[(o * count + j) * inner + k] = x[(o * span + flat) * inner + k]


def _scatter_add(values, indices, result, sizes, outer, inner):  # type: ignore[no-untyped-def]
    count = len(indices[0])
    span = 1
    for size in sizes:
        span *= size
    result[:] = 0
    for j in range(count):
        flat = 0
        for d in range(len(sizes)):
            index = indices[d][j]
            if index < -sizes[d] or index >= sizes[d]:
                raise IndexError("scatter_add: an index is out of bounds")
            flat = flat * sizes[d] + (index + sizes[d] if index < 0 else index)
        for o in range(outer):
            for k in range(inner):
                result[(o * span + flat) * inner + k] += values[(o * count + j) * inner + k]


def _gather_layout(avals: Sequence[Aval], *, axis: int) -> tuple[Any, ...]:
    return _indexed_layout(avals[0].shape, axis, len(avals) - 1)


def _scatter_layout(avals: Sequence[Aval], *, axis: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    return _indexed_layout(shape, axis, len(avals) - 1)


SUBSTITUTES: Mapping[Primitive, Substitute] = {
    gather_op: Substitute(_gather, _gather_layout, several=1),
    scatter_add_op: Substitute(_scatter_add, _scatter_layout, several=1),
}
