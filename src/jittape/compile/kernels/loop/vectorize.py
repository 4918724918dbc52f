"""Which innermost loops are written as vectors, and of how many lanes.

LLVM's vectorizer makes three loops of one: of several vectors at a time, of one, and of single elements for what is
left. Written as vectors there are two, in the second of which masks keep what is not there from being touched, and
LLVM runs four passes instead of some hundred: the kernels of an LSTM are compiled in 0.10 s instead of 0.22. That needs
masks in the processor (AVX-512); elsewhere, and for what is not here, the vectorizer has its say.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from jittape.compile.analysis.cost import can_be_in_lanes, cost_of_map
from jittape.compile.ir.instructions import (
    Address,
    AffineValue,
    BoundsMask,
    Compute,
    KernelLoad,
    Linear,
    Load,
)
from jittape.compile.ir.kernel import LoopKernel
from jittape.core.tuning import tuning

__all__ = [
    "Lanes",
    "cost_of_innermost",
    "lanes_in",
    "loads_of",
    "reads_ahead",
    "written_twice",
]


class Lanes(NamedTuple):
    """How many elements of an innermost loop are done at a time: as long as there are enough, and of the rest."""

    at_once: int
    least: int


def lanes_in(kernel: LoopKernel) -> Lanes | None:
    """How the innermost loop is written as vectors; None where LLVM is to say."""
    if not kernel.depth or kernel.rows > 1 or not _has_masks() or not _fits(kernel):
        return None
    cost, depth = cost_of_innermost(kernel), kernel.depth
    widest = max([dtype.itemsize for dtype in _dtypes(kernel)])
    summed = any(r.level < depth for r in kernel.reductions)
    together = 1 if cost > tuning.heavy_loop_cost or len(loads_of(kernel)) > tuning.vector_loop_loads else 2
    if cost <= tuning.light_loop_cost:
        together = 4 if summed else 1
    least = min(tuning.vector_bytes // widest, tuning.lanes_limit)
    return Lanes(min(least * together, tuning.lanes_limit), least)


def written_twice(kernel: LoopKernel) -> bool:
    """Whether the loop's body is there for whole vectors, and again for the rest."""
    return cost_of_innermost(kernel) <= tuning.heavy_loop_cost or not reads_ahead(kernel)


def reads_ahead(kernel: LoopKernel) -> bool:
    """Whether all that the innermost loop reads can be read before all else, and what it writes be written after."""
    loads = loads_of(kernel)
    updates = any(r.level == kernel.depth for r in kernel.reductions)
    return len(loads) <= tuning.vector_loop_loads and all(load.mask is None for load in loads) and not updates


def loads_of(kernel: LoopKernel) -> list[KernelLoad]:
    """What the innermost loop reads."""
    pairs = zip(kernel.instructions, kernel.levels, strict=True)
    return [i for i, level in pairs if level == kernel.depth and isinstance(i, Load)]


def cost_of_innermost(kernel: LoopKernel) -> int:
    """Instructions in the innermost loop, but for loads and stores."""
    cost = 0
    for instruction, level in zip(kernel.instructions, kernel.levels, strict=True):
        if isinstance(instruction, Compute) and level == kernel.depth:
            dtypes = tuple([kernel.dtype_of(a) for a in instruction.args])
            cost += cost_of_map(instruction.primitive, instruction.params, dtypes)
    return cost


@cache
def _has_masks() -> bool:
    features = llvm.get_host_cpu_features()
    return all(features.get(name) for name in ("avx512f", "avx512vl", "avx512bw", "avx512dq"))


def _dtypes(kernel: LoopKernel) -> list[np.dtype[Any]]:
    """Of what is read, computed and written in the innermost loop."""
    inside = [n for n, level in enumerate(kernel.levels) if level == kernel.depth]
    written = [kernel.operands[s.address.operand].dtype for s in kernel.stores if s.level == kernel.depth]
    return [*[kernel.dtype_of(n) for n in inside], *written, *[r.dtype for r in kernel.reductions]]


def _fits(kernel: LoopKernel) -> bool:
    """Whether all that the innermost loop does can be done in lanes, and its elements lie next to each other."""
    depth = kernel.depth
    varying = {f"i{depth - 1}", *[f"%{n}" for n, level in enumerate(kernel.levels) if level == depth]}
    found = any(store.level == depth for store in kernel.stores)
    for instruction, level in zip(kernel.instructions, kernel.levels, strict=True):
        if level < depth:
            continue
        found = True
        match instruction:
            case Load(address, _, _):
                if not _is_row(address, varying):
                    return False
            case Compute(primitive, params, args, _):
                if not can_be_in_lanes(primitive, params, tuple([kernel.dtype_of(a) for a in args])):
                    return False
            case AffineValue(linear, divisor, _) | BoundsMask(linear, divisor, _, _, _):
                if divisor != 1 or not _is_plain(linear, varying):
                    return False
            case _:
                pass
    for store in kernel.stores:
        along = store.scan is not None and store.scan.axis == depth - 1
        if along or store.scatter or (store.level == depth and not _is_row(store.address, varying)):
            return False
    within = [r for r in kernel.reductions if r.level == depth]
    return found and all(_is_row(r.address, varying) for r in within)


def _is_row(address: Address, varying: set[str]) -> bool:
    """Whether the innermost loop visits neighbors."""
    terms = [(name, factor) for name, factor in address.linear.terms if name in varying]
    return len(terms) == 1 and terms[0][0][0] == "i" and terms[0][1] == 1


def _is_plain(linear: Linear, varying: set[str]) -> bool:
    return all(name[0] == "i" for name, _ in linear.terms if name in varying)
