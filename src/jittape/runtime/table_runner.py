"""Runs of a table on the list of a trace's inputs.

Machine code writes the values' addresses and the numbers into the slot table; with `struct`, Python took 1.1 µs of the
2.3 µs of a small step for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.driver import as_function, return_unless, run_table
from jittape.compile.llvm.ir_helpers import BYTES, integer
from jittape.core.config import config
from jittape.native.object_code import DOUBLE, ObjectCode, built_in

__all__ = ["Feed", "plan", "runner"]

Feed = tuple[int, int]
"""Position of a value in the list of inputs, and the cell of the slot table that the value goes to."""

_HEAD = 5
"""Words of a plan before the first `Feed`."""


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
    code = ObjectCode(function, places)
    builder = code.builder
    values, cells, plan = code.argument(0), code.address_argument(1), code.address_argument(2)
    empty, failed = code.block("empty"), code.block("failed")

    def buffer(item: ir.Value) -> ir.Value:
        return code.get_unchecked(code.get(item, "buffer_array", empty), "data")

    def double(item: ir.Value) -> ir.Value:
        return code.get_unchecked(item, "float_value", DOUBLE)

    def single(item: ir.Value) -> ir.Value:
        return builder.fptrunc(double(item), ir.FloatType())

    def signed(item: ir.Value) -> ir.Value:
        return code.index(item, failed)

    feed = builder.add(plan, integer(8 * _HEAD))
    for kind, convert in enumerate((buffer, double, single, signed)):
        count = code.read(plan, 1 + kind)
        with code.each(count) as index:
            row = code.element(feed, index, 16)
            value = convert(code.item(values, code.load(row)))
            code.store(value, code.element(cells, code.load(row, 8)))
        feed = code.element(feed, count, 16)
    return_unless(builder, run_table(builder, code.read(plan), cells), integer(0))
    code.begin(empty)  # a buffer without an array, made by ``object.__new__``
    code.call("PyErr_BadArgument")
    builder.branch(failed)
    code.begin(failed)
    builder.ret(ir.Constant(BYTES, None))


_RUNNER = built_in("runner", _write_runner)
if _RUNNER is not None and config._native:
    registry.announce(_RUNNER)
