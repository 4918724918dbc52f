"""The driver: one precompiled function that runs a table of kernel calls, with no Python between them.

A table is an int64 array: the number of calls, then for each call the kernel's address, the address of its operands'
slot numbers (int32) and the address of its sizes (int64).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from jittape.compile.emit import KERNEL_TYPE

__all__ = ["driver", "walk_table"]


@cache
def driver() -> Callable[[int, int], None]:
    """``run(table address, slots address)``; compiled at the first call."""

    @intrinsic
    def run_table(typing_context: Any, table: Any, slots: Any) -> Any:
        return types.void(types.intp, types.intp), _generate

    def run(table, slots):  # type: ignore[no-untyped-def]
        run_table(table, slots)  # type: ignore[call-arg]

    compiled: Callable[[int, int], None] = njit("void(intp, intp)", nogil=True)(run)
    return compiled


def _generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
    walk_table(builder, *args)
    return context.get_dummy_value()


def walk_table(builder: ir.IRBuilder, table_address: ir.Value, slots_address: ir.Value) -> None:
    """Emit the loop over the calls of a table."""
    i64 = ir.IntType(64)
    table = builder.inttoptr(table_address, i64.as_pointer())
    slots = builder.inttoptr(slots_address, KERNEL_TYPE.args[0])
    count = builder.load(table)

    def entry(call: ir.Value, position: int, kind: ir.Type) -> ir.Value:
        index = builder.add(builder.mul(call, ir.Constant(i64, 3)), ir.Constant(i64, 1 + position))
        return builder.inttoptr(builder.load(builder.gep(table, [index])), kind)

    with cgutils.for_range(builder, count, intp=i64) as loop:
        kernel = entry(loop.index, 0, KERNEL_TYPE.as_pointer())
        operand_slots, sizes = (entry(loop.index, i, KERNEL_TYPE.args[i]) for i in (1, 2))
        builder.call(kernel, [slots, operand_slots, sizes])
