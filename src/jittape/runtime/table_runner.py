"""Running a table on the very list of a trace's inputs: see `runner`.

The values' addresses and the floats go into the slot table in machine code; written by Python, with `struct`, this took
1.1 of 2.3 µs of a small step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.driver import (
    address_argument,
    as_function,
    object_argument,
    return_unless,
    run_table,
)
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, external, for_range, load_at
from jittape.core.config import config
from jittape.native.object_layout import ObjectLayout, reader

__all__ = ["Feed", "plan", "runner"]

Feed = tuple[int, int]
"""Which value goes to which cell of the slot table."""

_I64 = ir.IntType(64)
_HEAD = 4


def plan(
    table: int, buffers: Sequence[Feed], doubles: Sequence[Feed], singles: Sequence[Feed]
) -> np.ndarray[Any, Any]:
    """What `runner` runs: a driver's table, and which values are buffers, and floats for 8 or for 4 bytes."""
    feeds = [number for feed in (*buffers, *doubles, *singles) for number in feed]
    return np.array([table, len(buffers), len(doubles), len(singles), *feeds], np.int64)


@cache
def runner() -> Callable[[tuple[Any, ...], int, int], int] | None:
    """``run(values, cells, plan)``, the last two addresses; None where there is none.

    It trusts its caller: the values are the buffers and floats that the plan says.
    """
    return None if _RUNNER is None else as_function(registry.own(_RUNNER))


def _define(function: ir.Function, layout: ObjectLayout) -> None:
    builder = Builder(function.append_basic_block("entry"))
    values = builder.ptrtoint(object_argument(builder, function, 0), _I64)
    cells, plan = (address_argument(builder, function, i) for i in (1, 2))

    load = partial(load_at, builder)

    empty = builder.append_basic_block("empty")

    def buffer(item: ir.Value) -> ir.Value:
        array = load(item, layout.buffer_array)
        on = builder.append_basic_block("on")
        builder.cbranch(builder.icmp_signed("!=", array, ir.Constant(_I64, 0)), on, empty)
        builder.position_at_end(on)
        return load(array, layout.data)

    def double(item: ir.Value) -> ir.Value:
        return load(item, layout.float_value, ir.DoubleType())

    def single(item: ir.Value) -> ir.Value:
        return builder.fptrunc(double(item), ir.FloatType())

    feed = builder.add(plan, ir.Constant(_I64, 8 * _HEAD))
    size = ir.Constant(_I64, 8)
    for kind, convert in enumerate((buffer, double, single)):
        count = load(plan, 8 * (1 + kind))
        with for_range(builder, count, scalar=True) as index:
            row = builder.add(feed, builder.mul(index, ir.Constant(_I64, 16)))
            item = load(builder.add(values, builder.mul(load(row, 0), size)), layout.items)
            value = convert(item)
            cell = builder.add(cells, builder.mul(load(row, 8), size))
            builder.store(value, builder.inttoptr(cell, value.type.as_pointer()))
        feed = builder.add(feed, builder.mul(count, ir.Constant(_I64, 16)))
    return_unless(builder, run_table(builder, load(plan, 0), cells), ir.Constant(_I64, 0))
    builder.position_at_end(empty)  # a buffer that was never made
    builder.call(external(function.module, ir.FunctionType(ir.IntType(32), []), "PyErr_BadArgument"), [])
    builder.ret(ir.Constant(BYTES, None))


_RUNNER = reader("runner", _define)
if _RUNNER is not None and config._native:
    registry.announce(_RUNNER)
