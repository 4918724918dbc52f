"""Ops that otherwise run in NumPy, written for Numba: so a native function need not be refused for them.

Each is a function of flat arrays, the operands and then the result, and of numbers that say how these are laid out:
seen as ``[outer, *sizes, inner]``, where `sizes` are the extents that are indexed.
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
    """A function for an op.

    Attributes
    ----------
    function : callable
        ``function(*operands, result, *layout)``, for Numba to compile.
    layout : callable
        ``layout(avals, **params)``: the numbers, and tuples of numbers.
    several : int or None
        The operands from this number on are given as one tuple.
    """

    function: Callable[..., None]
    layout: Callable[..., tuple[Any, ...]]
    several: int | None = None


def _picked(shape: tuple[int, ...], axis: int, count: int) -> tuple[tuple[int, ...], int, int]:
    """The extents that are indexed, and the product of those before and behind."""
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
    return _picked(avals[0].shape, axis, len(avals) - 1)


def _scatter_layout(avals: Sequence[Aval], *, axis: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    return _picked(shape, axis, len(avals) - 1)


SUBSTITUTES: Mapping[Primitive, Substitute] = {
    gather_op: Substitute(_gather, _gather_layout, several=1),
    scatter_add_op: Substitute(_scatter_add, _scatter_layout, several=1),
}
