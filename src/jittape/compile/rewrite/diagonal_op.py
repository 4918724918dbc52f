"""`diagonal_scatter_op`: arrays of zeros with a few diagonals as one op, and the table that its kernel reads.

Its operands are what stands on the diagonals. Where an element stands is a sum: along each dimension of the result an
offset, and a step for each axis of the operand. An axis that several dimensions step along makes a diagonal. Elements
are added up, so operands may meet.

A kernel knows no shapes at all, so there is one for each size of an element: it fills with zeros, then follows a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.compile.rewrite.affine_maps import AffineMap
from jittape.core.forms import Control
from jittape.core.locks import cached_property
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op

__all__ = ["LOOPS", "DiagonalScatter", "diagonal_scatter_op", "fits", "table_of"]

LOOPS = 3
"""An operand is laid by so many loops."""


@dataclass(frozen=True)
class DiagonalScatter(Kernel):
    """What fills with zeros and lays operands into them."""

    dtype: np.dtype[Any]

    @cached_property
    def text(self) -> str:
        return f"()\n  {self.dtype.name}: fills with zeros, and adds operands along steps"

    @property
    def loops(self) -> int:
        """Those over the zeros and over an operand."""
        return 1 + LOOPS


def _result(
    *operands: Aval, shape: tuple[int, ...], spots: tuple[tuple[AffineMap, ...], ...], result_index: int
) -> Aval:
    return Aval(shape, operands[0].dtype)


def _evaluate(
    *operands: Any, shape: tuple[int, ...], spots: tuple[tuple[AffineMap, ...], ...], result_index: int
) -> Any:
    result = np.zeros(shape, operands[0].dtype)
    for x, own in zip(operands, spots, strict=True):
        coordinates = np.indices(x.shape)
        places = [offset + sum([step * coordinates[axis] for axis, step in steps]) for offset, steps in own]
        np.add.at(result, tuple([np.broadcast_to(place, x.shape) for place in places]), x)
    return result


def _run(operands: Sequence[Any], picks: Sequence[int], **params: Any) -> list[Any]:
    return [_evaluate(*operands, result_index=0, **params)]


def _no_gradient(*_: Any, **__: Any) -> Mapping[int, Any]:
    raise NotImplementedError("diagonals are found after gradients are taken")


diagonal_scatter_op = Primitive(
    "laid",
    abstract_eval=_result,
    impl=_evaluate,
    lowering=Control("laid", _run, _no_gradient),
    gradient_stops="it is made by the compiler",
)
"""Zeros of `shape`, and each operand added where its `spots`, one for every dimension, say. `pick` is 0."""


def table_of(op: Op, operands: Sequence[Aval], out: Aval) -> tuple[int, ...]:
    """What the kernel reads: elements of the result, operands, then for each an offset, extents and steps."""
    words = [out.size, len(operands)]
    for x, spots in zip(operands, dict(op.params)["spots"], strict=True):
        offset, loops = _loops(x.shape, spots, out.shape)
        loops = [(1, 0)] * (LOOPS - len(loops)) + loops
        words += [offset, *[n for n, _ in loops], *[step for _, step in loops]]
    return tuple(words)


def fits(shape: tuple[int, ...], spots: Sequence[AffineMap], within: tuple[int, ...]) -> bool:
    """Whether an operand of `shape` can be laid by so few loops."""
    return len(_loops(shape, spots, within)[1]) <= LOOPS


def _loops(
    shape: tuple[int, ...], spots: Sequence[AffineMap], within: tuple[int, ...]
) -> tuple[int, list[tuple[int, int]]]:
    """Where in an array of shape `within` the first element goes, and extents and steps of the loops over the others.

    Axes of which one goes on where the next one ends are one loop.
    """
    offset, stride = 0, 1
    steps = [0] * len(shape)
    for spot, extent in zip(reversed(spots), reversed(within), strict=True):
        offset += stride * spot.offset
        for axis, step in spot.steps:
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
