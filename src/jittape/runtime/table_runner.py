"""Runs of a table on the list of a trace's inputs.

Machine code writes the values' addresses and the numbers into the slot table; with `struct`, Python took 1.1 µs of the
2.3 µs of a small step for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.built_in_functions import as_function
from jittape.core.config import config
from jittape.native.built_in import built_in

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = ["Feed", "plan", "runner"]

Feed = tuple[int, int]
"""Position of a value in the list of inputs, and the cell of the slot table that the value goes to."""


def plan(
    table: int,
    buffers: Sequence[Feed],
    doubles: Sequence[Feed],
    singles: Sequence[Feed],
    integers: Sequence[Feed],
) -> np.ndarray[Any, Any]:
    """Return a plan for `runner`: a driver's table, the buffers, the floats for cells of 8 and of 4 bytes, the ints."""
    kinds = (buffers, doubles, singles, integers)
    feeds = [number for kind in kinds for feed in kind for number in feed]
    return np.array([table, *map(len, kinds), *feeds], np.int64)


@cache
def runner() -> Callable[[tuple[Any, ...], int, int], int] | None:
    """Return ``run(values, cells, plan)``, whose last two arguments are addresses; None if there is no object layout.

    `run` does not check its arguments: the values must be the buffers and numbers that the plan says.
    """
    return None if _RUNNER is None else as_function(registry.address_of(_RUNNER))


def _write_runner(function: ir.Function, places: Mapping[str, int]) -> None:
    from jittape.runtime.emit_runner import write_runner

    write_runner(function, places)


_RUNNER = built_in("runner", _write_runner)
if _RUNNER is not None and config._native:
    registry.announce(_RUNNER)
