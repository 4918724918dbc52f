"""Decision which innermost loops are written as vectors, and with how many lanes.

LLVM's vectorizer makes three loops of one: over several vectors at a time, over one vector, and over the single
elements that are left. Written as vectors there are two loops, and masks in the second one protect the elements beyond
the end. LLVM then runs four passes instead of about a hundred: the kernels of an LSTM compile in 0.10 s instead of
0.22 s. The processor must have masked instructions (AVX-512), unless an expression has a loop of its own. All other
loops are left to LLVM's vectorizer, as are those over elements that are not adjacent unless their mathematics is
expensive: LLVM computes single elements where it finds a stride too slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from jittape.compile.analysis.cost import can_be_in_lanes, cost_of_map, has_loop
from jittape.compile.ir.instructions import (
    Address,
    AffineValue,
    BoundsMask,
    Compute,
    Factor,
    Instruction,
    KernelLoad,
    Linear,
    Load,
    is_narrow,
)
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = [
    "OBSTACLES",
    "Lanes",
    "addresses_of",
    "cost_of_innermost",
    "is_adjacent",
    "is_reversed",
    "lanes_in",
    "loads_of",
    "narrow_stride",
    "obstacle_to_lanes",
    "prefetches",
    "read_stride",
    "reads_ahead",
    "strided_loads",
    "strided_stores",
    "written_twice",
]


class Lanes(NamedTuple):
    """Number of elements of an innermost loop that run together, in the main loop and in that over the rest."""

    at_once: int
    least: int


def lanes_in(kernel: LoopKernel) -> Lanes | None:
    """Return how the innermost loop is written as vectors; None leaves the loop to LLVM's vectorizer."""
    if obstacle_to_lanes(kernel) is not None:
        return None
    cost, depth = cost_of_innermost(kernel), kernel.depth
    inside = [n for n, level in enumerate(kernel.levels) if level == depth]
    dtypes = [*[kernel.dtype_of(n) for n in inside], *[r.dtype for r in kernel.reductions]]
    dtypes += [kernel.operands[s.address.operand].dtype for s in kernel.stores if s.level == depth]
    sums = [r for r in kernel.reductions if r.level < depth]
    together = 1 if cost > tuning.heavy_loop_cost or len(loads_of(kernel)) > tuning.vector_loop_loads else 2
    if together == 2 and len(addresses_of(kernel)) + len(sums) <= tuning.four_vectors_arrays:
        together = 4
    if cost <= tuning.light_loop_cost:
        together = 4 if sums else 1
    least = min(tuning.vector_bytes // max([dtype.itemsize for dtype in dtypes]), tuning.lanes_limit)
    return Lanes(min(least * together, 2 * tuning.lanes_limit), least)


def written_twice(kernel: LoopKernel) -> bool:
    """Return whether the loop's body is written for whole vectors and again for the rest."""
    return cost_of_innermost(kernel) <= tuning.heavy_loop_cost or not reads_ahead(kernel)


def prefetches(kernel: LoopKernel) -> bool:
    """Return whether a task prefetches the operands of the next one.

    If the steps of a loop run on a few rows at a time, a task reads a few lines of each operand, and the processor
    does not see the pattern: 252 steps of an option wait 1.3 of 5.0 ms for memory. Loops that compute little have no
    time for a prefetch to end.
    """
    alone = kernel.depth == 1 and kernel.task is not None and not kernel.reductions
    return alone and cost_of_innermost(kernel) > tuning.light_loop_cost


def reads_ahead(kernel: LoopKernel) -> bool:
    """Return whether the innermost loop can do all its loads first and all its stores last."""
    loads = loads_of(kernel)
    updates = any(r.level == kernel.depth for r in kernel.reductions)
    return len(loads) <= tuning.vector_loop_loads and all(load.mask is None for load in loads) and not updates


def loads_of(kernel: LoopKernel) -> list[KernelLoad]:
    """Return the loads of the innermost loop."""
    return [i for i in _instructions_of(kernel) if isinstance(i, Load)]


def cost_of_innermost(kernel: LoopKernel) -> int:
    """Return the cost of an iteration of the innermost loop, without loads and stores."""
    computed = [i for i in _instructions_of(kernel) if isinstance(i, Compute)]
    return sum([cost_of_map(i.primitive, i.params, kernel.dtypes_of(i.args)) for i in computed])


def _instructions_of(kernel: LoopKernel) -> list[Instruction]:
    """Return the instructions of the innermost loop."""
    pairs = zip(kernel.instructions, kernel.levels, strict=True)
    return [instruction for instruction, level in pairs if level == kernel.depth]


def addresses_of(kernel: LoopKernel) -> list[Address]:
    """Return the addresses that the innermost loop reads and writes."""
    written = [store.address for store in kernel.stores if store.level == kernel.depth]
    updated = [r.address for r in kernel.reductions if r.level == kernel.depth]
    return [*[load.address for load in loads_of(kernel)], *written, *updated]


# ---- obstacles -------------------------------------------------------------------------------------------------------


@cache
def _has_masks() -> bool:
    """Return whether the processor can mask vectors of all dtypes."""
    features = llvm.get_host_cpu_features()
    return all(features.get(name) for name in ("avx512f", "avx512vl", "avx512bw", "avx512dq"))


def _is_empty(kernel: LoopKernel) -> bool:
    return kernel.depth not in (*kernel.levels, *[store.level for store in kernel.stores])


def _varying_terms(kernel: LoopKernel, linear: Linear) -> list[tuple[str, Factor]]:
    """Return the terms whose variables change in the innermost loop."""
    innermost, levels = kernel.depth - 1, kernel.levels
    return [
        (name, factor)
        for name, factor in linear.terms
        if (int(name[1:]) == innermost if name[0] == "i" else levels[int(name[1:])] > innermost)
    ]


def _stride_of(kernel: LoopKernel, address: Address) -> Factor | None:
    """Return how far elements along the innermost loop are apart; None if not equally far."""
    terms = _varying_terms(kernel, address.linear)
    return terms[0][1] if [name for name, _ in terms] == [f"i{kernel.depth - 1}"] else None


def is_adjacent(kernel: LoopKernel, address: Address) -> bool:
    """Return whether the innermost loop runs through adjacent elements, in either direction."""
    return _stride_of(kernel, address) in (1, -1)


def is_reversed(kernel: LoopKernel, address: Address) -> bool:
    """Return whether the innermost loop runs through adjacent elements from the last to the first."""
    return _stride_of(kernel, address) == -1


def _is_strided(kernel: LoopKernel, address: Address) -> bool:
    return _stride_of(kernel, address) not in (None, 1, -1)


def narrow_stride(kernel: LoopKernel, address: Address) -> int | None:
    """Return how far elements along the innermost loop are apart if vectors of them are accessed in windows."""
    stride = _stride_of(kernel, address)
    return stride if is_narrow(stride) else None


def read_stride(kernel: LoopKernel, address: Address, dtype: np.dtype[Any]) -> int | None:
    """Return how far elements along the innermost loop are apart if vectors of them are read in windows.

    Windows of an even stride that have a single element are slower than loads of single elements.
    """
    stride, lanes = narrow_stride(kernel, address), tuning.vector_bytes // dtype.itemsize
    return stride if stride is not None and (stride % 2 or 2 * stride <= lanes) else None


def strided_loads(kernel: LoopKernel) -> list[KernelLoad]:
    """Return the loads of elements that are not adjacent along the innermost loop, but equally far apart."""
    return [load for load in loads_of(kernel) if _is_strided(kernel, load.address)]


def strided_stores(kernel: LoopKernel) -> list[Address]:
    """Return where the innermost loop writes elements that are not adjacent, but equally far apart."""
    written = [store.address for store in kernel.stores if store.level == kernel.depth]
    return [address for address in written if _is_strided(kernel, address)]


def _has_distant_elements(kernel: LoopKernel) -> bool:
    """Return whether elements are not adjacent, except where expensive mathematics pays for access one by one."""
    loads, written = strided_loads(kernel), strided_stores(kernel)
    dtypes = [*[load.dtype for load in loads], *[kernel.operands[a.operand].dtype for a in written]]
    strides = [
        *[read_stride(kernel, load.address, load.dtype) for load in loads],
        *[narrow_stride(kernel, address) for address in written],
    ]
    single = strides.count(None)
    windows = 0 if _suit_windows(strides, dtypes) else len(strides) - single
    if dtypes and (
        cost_of_innermost(kernel) < tuning.strided_load_cost * single + tuning.window_cost * windows
        or any(load.mask is not None for load in loads)
        or any(dtype.kind == "c" for dtype in dtypes)
    ):
        return True
    read = {load.address for load in loads}
    apart = read.symmetric_difference(written) - (read & {store.address for store in kernel.stores})
    return not all(is_adjacent(kernel, a) for a in addresses_of(kernel) if a not in apart)


def _suit_windows(strides: Sequence[int | None], dtypes: Sequence[np.dtype[Any]]) -> bool:
    """Return whether columns are accessed faster in windows than by LLVM, however cheap the loop is.

    These are columns of rows of five or seven float64, and rows of eight smaller elements that are read and written.
    The products of such columns take 11 us for 4,000 rows of seven float64 and 10 us for rows of eight float32, with
    LLVM's vectors 15 and 30.
    """
    pairs = zip(strides, dtypes, strict=True)
    is_wide = [
        stride is not None and stride % 2 and 2 * stride * d.itemsize > tuning.vector_bytes
        for stride, d in pairs
    ]
    return all(is_wide) or strides.count(8) >= 16


def _has_scalar_expression(kernel: LoopKernel) -> bool:
    computed = [i for i in _instructions_of(kernel) if isinstance(i, Compute)]
    return not all(can_be_in_lanes(i.primitive, i.params, kernel.dtypes_of(i.args)) for i in computed)


def _sums_over_table(kernel: LoopKernel) -> bool:
    """Return whether an expression has a loop, which LLVM does not vectorize around; masks are then emulated."""
    computed = [i for i in _instructions_of(kernel) if isinstance(i, Compute)]
    return any(has_loop(i.primitive, i.params, kernel.dtypes_of(i.args)) for i in computed)


def _has_scalar_integer(kernel: LoopKernel) -> bool:
    integers = [i for i in _instructions_of(kernel) if isinstance(i, AffineValue | BoundsMask)]
    variables = [name for i in integers for name, _ in _varying_terms(kernel, i.linear)]
    return any(i.divisor != 1 for i in integers) or any(name[0] == "%" for name in variables)


OBSTACLES: dict[str, Callable[[LoopKernel], bool]] = {
    "there is no loop": lambda kernel: not kernel.depth,
    "several rows run together": lambda kernel: kernel.rows > 1,
    "the processor cannot mask vectors": lambda kernel: not (_has_masks() or _sums_over_table(kernel)),
    "the innermost loop is empty": _is_empty,
    "elements along the innermost loop are not adjacent": _has_distant_elements,
    "an expression takes one number at a time": _has_scalar_expression,
    "an integer is divided, or computed from loaded ones": _has_scalar_integer,
    "a scan runs along the innermost loop": lambda kernel: any(
        store.scan is not None and store.scan.axis == kernel.depth - 1 for store in kernel.stores
    ),
    "elements are scattered": lambda kernel: any(store.scatter is not None for store in kernel.stores),
}
"""Reasons to leave an innermost loop to LLVM's vectorizer, in the order in which they are checked."""


def obstacle_to_lanes(kernel: LoopKernel) -> str | None:
    """Return why the innermost loop is not written as vectors; None if it is."""
    return next((reason for reason, applies in OBSTACLES.items() if applies(kernel)), None)
