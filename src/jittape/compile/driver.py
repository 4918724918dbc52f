"""The driver: one precompiled function that runs a table of kernel calls, with no Python between them.

A table is an int64 array: the number of calls and the address of the cells of `crew`, then for each call the kernel's
address, the address of its operands' slot numbers (int32), the address of its sizes (int64), its number of tasks and
how many threads they are worth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from jittape.compile.crew import run_tasks
from jittape.compile.emit import KERNEL_TYPE

__all__ = ["driver"]

_I64 = ir.IntType(64)
_HEADER, _CALL = 2, 5
"""Entries of a table before the first call, and of a call."""


@cache
def driver(release_gil: bool) -> Callable[[int, int], None]:
    """``run(table address, slots address)``; compiled at the first call."""

    @intrinsic
    def run_table(typing_context: Any, table: Any, slots: Any) -> Any:
        return types.void(types.intp, types.intp), _generate

    def run(table, slots):  # type: ignore[no-untyped-def]
        run_table(table, slots)  # type: ignore[call-arg]

    compiled: Callable[[int, int], None] = njit("void(intp, intp)", nogil=release_gil)(run)
    return compiled


def _generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
    table = builder.inttoptr(args[0], _I64.as_pointer())
    slots = builder.inttoptr(args[1], KERNEL_TYPE.args[0])
    count, cells = (builder.load(builder.gep(table, [ir.Constant(_I64, i)])) for i in range(_HEADER))
    cells = builder.inttoptr(cells, _I64.as_pointer())

    with cgutils.for_range(builder, count, intp=_I64) as loop:
        first = builder.add(builder.mul(loop.index, ir.Constant(_I64, _CALL)), ir.Constant(_I64, _HEADER))
        kernel, operand_slots, sizes, tasks, threads = (
            builder.load(builder.gep(table, [builder.add(first, ir.Constant(_I64, i))])) for i in range(_CALL)
        )
        kernel = builder.inttoptr(kernel, KERNEL_TYPE.as_pointer())
        arguments = [slots]
        arguments.append(builder.inttoptr(operand_slots, KERNEL_TYPE.args[1]))
        arguments.append(builder.inttoptr(sizes, KERNEL_TYPE.args[2]))
        one = builder.icmp_signed("==", tasks, ir.Constant(_I64, 1))
        with builder.if_else(one, likely=True) as (at_once, divided):
            with at_once:
                builder.call(kernel, [*arguments, ir.Constant(_I64, 0)])
            with divided:
                run_tasks(builder, cells, tasks, threads, kernel, arguments)
    return context.get_dummy_value()
