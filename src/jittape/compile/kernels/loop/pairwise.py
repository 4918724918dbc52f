"""The sums of chunks, combined pairwise as a binary counter carries: outlined functions.

Entry `i` of the carries holds the sum of 2**i chunks if bit `i` of the count of chunks is set. They run once in a
thousand elements, so they are compiled for size, and once in a module: written into every nest, 96 reductions took 37
ms each to compile instead of 23.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range

__all__ = ["CARRIES", "call_carry", "call_collect"]

CARRIES = 64
_I64 = ir.IntType(64)
_EXACT = ir.Constant(ir.IntType(1), 0)  # zero is no special case for `cttz` and `ctlz`

Combine = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


def call_carry(
    builder: ir.IRBuilder,
    label: str,
    combine: Combine,
    carried: ir.Value,
    count: ir.Value,
    value: ir.Value,
    once: bool,
) -> None:
    """Write the call that adds a chunk's sum: equal numbers of chunks combine and carry.

    With `once` LLVM may not write the loop around it twice, with the call and for one chunk without. For many short
    rows that is good; a single row is compiled in 21 ms instead of 27.
    """
    kind = ir.FunctionType(ir.VoidType(), [carried.type, count.type, value.type])
    name = f"jittape_carry_{label}_once" if once else f"jittape_carry_{label}"
    function = _outlined(builder.module, name, kind)
    if once:
        function.attributes.add("noduplicate")
    if function.is_declaration:
        _write_carry(function, combine)
    builder.call(function, [carried, count, value])


def call_collect(
    builder: ir.IRBuilder, label: str, combine: Combine, carried: ir.Value, count: ir.Value, start: ir.Value
) -> ir.Value:
    """Write the call that combines `start` with the carries that are in use, lowest first."""
    kind = ir.FunctionType(start.type, [carried.type, _I64, start.type])
    function = _outlined(builder.module, f"jittape_collect_{label}", kind)
    if function.is_declaration:
        _write_collect(function, combine)
    return builder.call(function, [carried, builder.load(count), start])


def _outlined(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, kind, name)
        function.linkage = "internal"
        for attribute in ("minsize", "noinline", "nounwind", "optsize"):
            function.attributes.add(attribute)
    return function


def _write_carry(function: ir.Function, combine: Combine) -> None:
    carried, place, start = function.args
    builder = Builder(function.append_basic_block("entry"))
    held = builder.alloca(start.type)
    builder.store(start, held)
    count = builder.load(place)
    # The trailing ones of the count are the carries that are full.
    ones = builder.cttz(builder.not_(count), _EXACT)
    with for_range(builder, ones, scalar=True) as index:
        below = builder.load(builder.gep(carried, [index]))
        builder.store(combine(builder, below, builder.load(held)), held)
    builder.store(builder.load(held), builder.gep(carried, [ones]))
    builder.store(builder.add(count, ir.Constant(_I64, 1)), place)
    builder.ret_void()


def _write_collect(function: ir.Function, combine: Combine) -> None:
    carried, count, start = function.args
    builder = Builder(function.append_basic_block("entry"))
    held = builder.alloca(start.type)
    builder.store(start, held)
    bits = builder.sub(ir.Constant(_I64, 64), builder.ctlz(count, _EXACT))
    with for_range(builder, bits, scalar=True) as index:
        used = builder.trunc(builder.lshr(count, index), ir.IntType(1))
        with builder.if_then(used):
            value = builder.load(builder.gep(carried, [index]))
            builder.store(combine(builder, value, builder.load(held)), held)
    builder.ret(builder.load(held))
