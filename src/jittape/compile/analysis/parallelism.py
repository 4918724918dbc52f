"""How the outermost loop of a nest is divided into tasks, which threads may do in any order.

The division follows from the sizes alone, never from the number of threads: so the results are bitwise the same
whoever does the tasks. Where that loop is summed over, every task has a result of its own, and a second kernel combines
them in order.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from jittape.compile.analysis.cost import cost_of_map
from jittape.compile.ir.instructions import BoundsMask, Compute, Instruction, Load, Store
from jittape.compile.ir.kernel import LoopKernel

__all__ = [
    "HEAVY",
    "Tasks",
    "divided",
    "rows_at_a_time",
    "work_of",
    "work_of_products",
]

TASK = 10_000
"""What a task should take, in ns of `work_of`: long enough that handing it out does not count."""
HEAVY = 20_000
"""From here on work is divided."""
MANY_ROWS = 1024
"""More rows than this are not added up one by one: the error of a sum grows with their number."""
CHUNK_ROWS = 256
"""So many are then."""
LEAST_ROWS = 64
"""Fewer rows are not worth a partial result that is as long as a row."""
LANES = 1024
"""Tasks of a nest of one loop are multiples of this, the chunk in which sums are accumulated."""

SHORT = 32
"""Adding rows of up to so many elements to a row in memory, one after another, is waiting for what has just been stored
there: ten cycles for each."""
MANY = 1 << 13
"""With fewer elements that is a µs, and would take 15 ms to compile."""
HEAVIEST = 16
"""To compute such an element takes so many instructions at most."""
ROWS = 4
"""So many are added up before: the sums of the columns of a 100,000x10 float64 take 158 µs instead of 318."""

_SPEED = 100
"""Instructions of `cost_of_map` a ns on 8-byte elements, with AVX-512."""
_MEMORY = 20
"""Reading or writing an element costs so many instructions."""
_PRODUCTS = {"matrix": 400, "vector": 32, "tiny": 64, "narrow": 128, "dots": 128, "rows": 110, "columns": 110}
"""Bytes of products of elements a ns in each form of `Gemm`; a vector's matrix is read once."""


class Tasks(NamedTuple):
    """So many tasks, each of `extent` iterations of the outermost loop but for the last."""

    number: int
    extent: int


def work_of(kernel: LoopKernel, extents: tuple[int, ...]) -> int:
    """About how long the nest takes on one thread, in ns."""
    times = [1]
    for extent in extents:
        times.append(times[-1] * extent)
    total = 0.0
    for instruction, level in zip(kernel.instructions, kernel.levels, strict=True):
        total += _cost(kernel, instruction) * times[level]
    for store in kernel.stores:
        total += _MEMORY * _width(kernel.dtype_of(store.value)) * times[store.level]
    for r in kernel.reductions:
        total += (1 if r.level < kernel.depth else 2 * _MEMORY) * _width(r.dtype) * times[-1]
    return int(total / _SPEED)


def work_of_products(form: str, dtype: np.dtype[Any], multiplications: int) -> int:
    """About how long matrix products take on one thread, in ns."""
    return multiplications * dtype.itemsize // _PRODUCTS[form.rstrip("0123456789")]


def divided(kernel: LoopKernel, extents: tuple[int, ...], work: int) -> Tasks:
    """The tasks of `kernel` at these sizes."""
    if not extents or not work or any(_is_in_order(store) for store in kernel.stores):
        return Tasks(1, extents[0] if extents else 0)
    total = extents[0]
    partial = [r for r in kernel.reductions if 0 in r.axes]
    row_by_row = any(r.in_memory for r in partial)
    extent = max(1, -(-total * TASK // work)) if work >= HEAVY else total
    if kernel.depth == 1:
        extent = max(LANES, 1 << (extent - 1).bit_length())
    if row_by_row:
        extent = min(max(extent, LEAST_ROWS), CHUNK_ROWS if total > MANY_ROWS else MANY_ROWS)
    if extent >= total:
        return Tasks(1, total)
    return Tasks(-(-total // extent), extent)


def _is_in_order(store: Store) -> bool:
    """Whether the iterations of loop 0 have to be done one after another.

    What is scattered may meet in one place, unless each iteration has a part of the result of its own.
    """
    if store.running is not None:
        return store.running.axis == 0
    return store.scattered is not None and all(variable != "i0" for variable, _ in store.address.linear.terms)


def rows_at_a_time(kernel: LoopKernel, extents: tuple[int, ...]) -> int:
    """How many iterations of the loop outside of the innermost are done at a time.

    That is for nests which do nothing but add up short rows, and not much to make them.
    """
    rows = kernel.depth - 2
    added = all(r.level == kernel.depth and rows in r.axes for r in kernel.reductions)
    if rows < 0 or extents[-1] > SHORT or prod(extents) < MANY or kernel.stores:
        return 1
    light = sum([_cost(kernel, i) for i in kernel.instructions if isinstance(i, Compute)]) <= HEAVIEST
    masked = any(isinstance(i, BoundsMask) for i in kernel.instructions)
    return ROWS if kernel.reductions and added and light and not masked else 1


def _cost(kernel: LoopKernel, instruction: Instruction) -> float:
    match instruction:
        case Compute(primitive, params, args, dtype):
            dtypes = tuple([kernel.dtype_of(a) for a in args])
            return cost_of_map(primitive, params, dtypes) * _width(max([dtype, *dtypes], key=_width))
        case Load(_, _, dtype):
            return _MEMORY * _width(dtype)
        case _:
            return 1.0


def _width(dtype: np.dtype[Any]) -> float:
    """Of a vector register, as a part of what an 8-byte element takes."""
    return dtype.itemsize / 8
