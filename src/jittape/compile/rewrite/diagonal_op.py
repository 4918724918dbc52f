"""`diagonal_scatter_op`: an array of zeros with a few diagonals as one op, and the table that its kernel reads.

The operands are the values on the diagonals. An affine map for each dimension of the result gives the position of an
element: an offset, and a step for each axis of the operand. An axis that several dimensions step along makes a
diagonal. Elements at the same position are added up.

The kernel knows no shapes, so there is one kernel for each dtype: it fills with zeros, then follows a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.table_layouts import DIAGONAL_HEAD, DIAGONAL_LOOPS, DIAGONAL_OPERAND
from jittape.compile.rewrite.affine_maps import AffineMap
from jittape.core.forms import Control
from jittape.core.locks import cached_property
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op
from jittape.value_classes import value_class

__all__ = ["DiagonalScatter", "diagonal_scatter_op", "fits", "table_of"]


@value_class
class DiagonalScatter(Kernel):
    """A kernel that fills with zeros and scatters operands into them."""

    dtype: np.dtype[Any]

    @cached_property
    def text(self) -> str:
        return f"()\n  {self.dtype.name}: fills with zeros, and adds operands along steps"

    @property
    def loops(self) -> int:
        """The loops over the zeros and over an operand."""
        return 1 + DIAGONAL_LOOPS


def _result(
    *operands: Aval, shape: tuple[int, ...], maps: tuple[tuple[AffineMap, ...], ...], result_index: int
) -> Aval:
    return Aval(shape, operands[0].dtype)


def _evaluate(
    *operands: Any, shape: tuple[int, ...], maps: tuple[tuple[AffineMap, ...], ...], result_index: int
) -> Any:
    result = np.zeros(shape, operands[0].dtype)
    for x, own in zip(operands, maps, strict=True):
        coordinates = np.indices(x.shape)
        places = [offset + sum([step * coordinates[axis] for axis, step in steps]) for offset, steps in own]
        np.add.at(result, tuple([np.broadcast_to(place, x.shape) for place in places]), x)
    return result


def _run(operands: Sequence[Any], picks: Sequence[int], **params: Any) -> list[Any]:
    return [_evaluate(*operands, result_index=0, **params)]


diagonal_scatter_op = Primitive(
    "diagonal_scatter",
    abstract_eval=_result,
    impl=_evaluate,
    lowering=Control("diagonal_scatter", _run),
    gradient_stops="it is made by the compiler",
)
"""Zeros of `shape`, to which each operand is added at its `maps`, one for every dimension. `result_index` is 0."""


def table_of(op: Op, operands: Sequence[Aval], out: Aval) -> tuple[int, ...]:
    """Return the table that the kernel reads: a `DIAGONAL_HEAD`, then a `DIAGONAL_OPERAND` for each operand."""
    words = DIAGONAL_HEAD.pack(elements=out.size, operands=len(operands))
    for x, maps in zip(operands, dict(op.params)["maps"], strict=True):
        offset, loops = _loops(x.shape, maps, out.shape)
        loops = [(1, 0)] * (DIAGONAL_LOOPS - len(loops)) + loops
        extents, steps = zip(*loops, strict=True)
        words += DIAGONAL_OPERAND.pack(offset=offset, extents=extents, steps=steps)
    return tuple(words)


def fits(shape: tuple[int, ...], maps: Sequence[AffineMap], within: tuple[int, ...]) -> bool:
    """Return whether `DIAGONAL_LOOPS` loops are enough to scatter an operand of `shape`."""
    return len(_loops(shape, maps, within)[1]) <= DIAGONAL_LOOPS


def _loops(
    shape: tuple[int, ...], maps: Sequence[AffineMap], within: tuple[int, ...]
) -> tuple[int, list[tuple[int, int]]]:
    """Return the offset of the first element in an array of shape `within`, and extents and steps of the loops.

    Axes of which one goes on where the next one ends are one loop.
    """
    offset, stride = 0, 1
    steps = [0] * len(shape)
    for index, extent in zip(reversed(maps), reversed(within), strict=True):
        offset += stride * index.offset
        for axis, step in index.steps:
            steps[axis] += stride * step
        stride *= extent
    loops: list[tuple[int, int]] = []
    for n, step in zip(shape, steps, strict=True):
        if n == 1:
            continue
        if loops and loops[-1][1] == n * step:
            loops[-1] = (loops[-1][0] * n, step)
        else:
            loops.append((n, step))
    return offset, loops
