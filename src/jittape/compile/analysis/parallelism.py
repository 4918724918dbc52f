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
from jittape.compile.ir.instructions import BoundsMask, Compute, Instruction, KernelStore, Load
from jittape.compile.ir.kernel import LoopKernel
from jittape.core.tuning import tuning

__all__ = [
    "Tasks",
    "divided",
    "rows_at_a_time",
    "work_of",
    "work_of_products",
]


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
        total += tuning.memory_access_cost * _width(kernel.dtype_of(store.value)) * times[store.level]
    for r in kernel.reductions:
        total += (
            (1 if r.level < kernel.depth else 2 * tuning.memory_access_cost) * _width(r.dtype) * times[-1]
        )
    return int(total / tuning.instructions_per_ns)


def work_of_products(form: str, dtype: np.dtype[Any], multiplications: int) -> int:
    """About how long matrix products take on one thread, in ns."""
    return multiplications * dtype.itemsize // tuning.gemm_bytes_per_ns[form.rstrip("0123456789")]


def divided(kernel: LoopKernel, extents: tuple[int, ...], work: int) -> Tasks:
    """The tasks of `kernel` at these sizes."""
    if not extents or not work or any(_is_in_order(store) for store in kernel.stores):
        return Tasks(1, extents[0] if extents else 0)
    total = extents[0]
    partial = [r for r in kernel.reductions if 0 in r.axes]
    row_by_row = any(r.in_memory for r in partial)
    extent = max(1, -(-total * tuning.task_ns // work)) if work >= tuning.parallel_work_ns else total
    if kernel.depth == 1:
        extent = max(tuning.sum_chunk_elements, 1 << (extent - 1).bit_length())
    if row_by_row:
        extent = min(
            max(extent, tuning.min_task_rows),
            tuning.long_sum_task_rows if total > tuning.long_sum_rows else tuning.long_sum_rows,
        )
    if extent >= total:
        return Tasks(1, total)
    return Tasks(-(-total // extent), extent)


def _is_in_order(store: KernelStore) -> bool:
    """Whether the iterations of loop 0 have to be done one after another.

    What is scattered may meet in one place, unless each iteration has a part of the result of its own.
    """
    if store.scan is not None:
        return store.scan.axis == 0
    return store.scatter is not None and all(variable != "i0" for variable, _ in store.address.linear.terms)


def rows_at_a_time(kernel: LoopKernel, extents: tuple[int, ...]) -> int:
    """How many iterations of the loop outside of the innermost are done at a time.

    That is for nests which do nothing but add up short rows, and not much to make them.
    """
    rows = kernel.depth - 2
    added = all(r.level == kernel.depth and rows in r.axes for r in kernel.reductions)
    if (
        rows < 0
        or extents[-1] > tuning.grouped_row_elements
        or prod(extents) < tuning.grouped_min_elements
        or kernel.stores
    ):
        return 1
    cost = sum([_cost(kernel, i) for i in kernel.instructions if isinstance(i, Compute)])
    light = cost <= tuning.grouped_cost_limit
    masked = any(isinstance(i, BoundsMask) for i in kernel.instructions)
    return tuning.grouped_rows if kernel.reductions and added and light and not masked else 1


def _cost(kernel: LoopKernel, instruction: Instruction) -> float:
    match instruction:
        case Compute(primitive, params, args, dtype):
            dtypes = kernel.dtypes_of(args)
            return cost_of_map(primitive, params, dtypes) * _width(max([dtype, *dtypes], key=_width))
        case Load(_, _, dtype):
            return tuning.memory_access_cost * _width(dtype)
        case _:
            return 1.0


def _width(dtype: np.dtype[Any]) -> float:
    """Of a vector register, as a part of what an 8-byte element takes."""
    return dtype.itemsize / 8
