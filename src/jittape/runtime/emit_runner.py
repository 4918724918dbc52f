"""Machine code that writes inputs into a slot table and runs a launch table: see `table_runner`."""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from jittape.compile.llvm.driver import return_unless, run_table
from jittape.compile.llvm.ir_helpers import BYTES, integer
from jittape.native.object_code import DOUBLE, ObjectCode

__all__ = ["fill_cells", "write_runner"]

_HEAD = 5
"""Words of a plan before the first `Feed`."""


def write_runner(function: ir.Function, places: Mapping[str, int]) -> None:
    """Emit the runner."""
    code = ObjectCode(function, places)
    builder = code.builder
    values, cells, plan = code.argument(0), code.address_argument(1), code.address_argument(2)
    empty, failed = code.block("empty"), code.block("failed")
    fill_cells(code, values, cells, plan, empty, failed)
    return_unless(builder, run_table(builder, code.read(plan), cells), integer(0))
    code.begin(empty)  # a buffer without an array, made by ``object.__new__``
    code.call("PyErr_BadArgument")
    builder.branch(failed)
    code.begin(failed)
    builder.ret(ir.Constant(BYTES, None))


def fill_cells(
    code: ObjectCode, values: ir.Value, cells: ir.Value, plan: ir.Value, empty: ir.Block, failed: ir.Block
) -> None:
    """Write the inputs, a tuple, to the slot table as a plan says.

    Branch to `empty` if a buffer has no array, and to `failed`, with an error set, if an int does not fit.
    """
    builder = code.builder

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
