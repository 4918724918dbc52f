"""Division of a loop of a nest into tasks, which threads run in any order.

The loop is the outermost one, or the second if a scan runs along the first. The division depends on sizes alone and
never on the number of threads, so the results are bitwise the same for any number of threads. If that loop is summed
over, every task has a result of its own, and a second kernel combines the results in order.
"""

from __future__ import annotations

from math import prod, trunc
from typing import Any

import numpy as np

from jittape.compile.analysis.cost import cost_of_map
from jittape.compile.ir.instructions import (
    BoundsMask,
    Compute,
    Instruction,
    KernelReduction,
    KernelStore,
    Load,
)
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.ir.table_layouts import ON_DEMAND
from jittape.core.symbolic.extent_functions import is_about_at_most
from jittape.core.symbolic.extents import applied
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = [
    "Tasks",
    "divided",
    "rows_at_a_time",
    "tasks_on_demand",
    "work_of",
    "work_of_decomposition",
    "work_of_lapack",
    "work_of_products",
]


class Tasks(NamedTuple):
    """Number of tasks, and number of iterations of the divided loop in each task except the last."""

    number: int
    extent: int


def work_of(kernel: LoopKernel, extents: tuple[int, ...]) -> int:
    """Return the estimated time of the nest on one thread, in ns."""
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
    return trunc(total / tuning.instructions_per_ns)


def work_of_products(form: str, dtype: np.dtype[Any], multiplications: int) -> int:
    """Return the estimated time of matrix products on one thread, in ns."""
    return multiplications * dtype.itemsize // tuning.gemm_bytes_per_ns[form.rstrip("0123456789")]


def work_of_lapack(routine: str, dtype: np.dtype[Any], order: int, columns: int, unrolled: bool) -> int:
    """Return the estimated time of one factorization or solve on one thread, in ns."""
    multiplications = {
        "potrf": order**3 // 6,
        "potri": order**3 // 3,
        "getrf": order**3 // 3,
        "trsm": order**2 * columns // 2,
        "getrs": order**2 * columns,
    }
    nbytes = multiplications[routine] * dtype.itemsize
    if unrolled:
        return 1 + (nbytes + order * order * dtype.itemsize) // tuning.unrolled_lapack_bytes_per_ns
    return tuning.lapack_call_ns + nbytes // tuning.lapack_bytes_per_ns


def work_of_decomposition(routine: str, elements: int) -> int:
    """Return the estimated time of one decomposition of a matrix on one thread, in ns."""
    return tuning.decomposition_ns + elements * tuning.decomposition_ns_per_element[routine]


def divided(kernel: LoopKernel, extents: tuple[int, ...], work: int) -> Tasks:
    """Return the tasks of `kernel` for these extents."""
    loop = kernel.divided_loop
    total = extents[loop] if extents else 0
    if not extents or any(_is_in_order(store, loop) for store in kernel.stores):
        return Tasks(1, total)
    partial = [r for r in kernel.reductions if loop in r.axes]
    inner = prod(extents[loop + 1 :])
    results = [_elements_of(r, extents) for r in partial if r.in_memory]
    rows = applied(_least_rows, inner, *results) if results else 0
    extent = applied(_task_extent, total, work, loop == kernel.depth - 1, rows)
    if loop > 0 and not rows:
        extent = applied(_equal_parts, total, extent, inner)
    # Several partial results take memory and a step that adds them. One partial result is the same sum.
    if partial and is_about_at_most(total, extent, exact_if_true=True):
        return Tasks(1, total)
    extent = applied(min, extent, total)
    return Tasks(applied(_tasks_of, total, extent), extent)


def _elements_of(r: KernelReduction, extents: tuple[int, ...]) -> int:
    """Return the number of elements of a reduction's result."""
    return prod([extent for axis, extent in enumerate(extents) if axis not in r.axes])


def _least_rows(inner: int, *results: int) -> int:
    """Return the minimum iterations of a task that adds results of so many elements in memory.

    An iteration computes `inner` elements. If that is more than a result has, a task may have fewer iterations.
    """
    return max(1, -(-tuning.min_task_rows * max(results) // max(1, inner)))


def _task_extent(total: int, work: int, is_innermost: bool, rows: int) -> int:
    """Return the number of iterations of the divided loop, `total` in all, in each task; it may exceed `total`.

    `rows` is the minimum if the iterations add to results in memory, and 0 otherwise.
    """
    time = tuning.task_ns if work >= tuning.parallel_work_ns else tuning.parallel_work_ns
    extent = max(1, -(-total * time // max(1, work)))
    if is_innermost:
        extent = max(tuning.sum_chunk_elements, 1 << (extent - 1).bit_length())
    if rows:
        extent = min(
            max(extent, rows),
            tuning.long_sum_task_rows if total > tuning.long_sum_rows else tuning.long_sum_rows,
        )
    return extent


def _equal_parts(total: int, extent: int, inner: int) -> int:
    """Return the iterations of each of equal tasks of at least `extent` that read long pieces of each row.

    An iteration reads `inner` adjacent elements of a row. Parts of a row are multiples of 16 elements, or cache lines.
    """
    least = max(extent, -(-tuning.scan_task_elements // max(1, inner)))
    part = -(-total // max(1, total // least))
    return part if inner > 1 else -(-part // 16) * 16


def _tasks_of(total: int, extent: int) -> int:
    return -(-total // extent) if total else 1


def tasks_on_demand(work: int) -> int:
    """Return the number of tasks of products that can be divided: `ON_DEMAND` if that pays."""
    return applied(_tasks_on_demand, work)


def _tasks_on_demand(work: int) -> int:
    return ON_DEMAND if work >= tuning.parallel_work_ns else 1


def _is_in_order(store: KernelStore, loop: int) -> bool:
    """Return whether the iterations of a loop must run in order.

    Scattered elements may have the same address, unless each iteration writes its own part of the result.
    """
    if store.scan is not None:
        return store.scan.axis == loop
    return store.scatter is not None and all(v != f"i{loop}" for v, _ in store.address.linear.terms)


def rows_at_a_time(kernel: LoopKernel, extents: tuple[int, ...]) -> int:
    """Return how many iterations of the second innermost loop run at a time.

    There are several for nests that only add short rows which are cheap to compute.
    """
    rows = kernel.depth - 2
    added = all(r.level == kernel.depth and rows in r.axes for r in kernel.reductions)
    if (
        rows < 0
        or extents[-1] > tuning.grouped_row_elements
        or prod(extents) < tuning.grouped_min_elements  # exact, as the order of a sum depends on it
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
    """Return the size of an element relative to 8 bytes."""
    return dtype.itemsize / 8
