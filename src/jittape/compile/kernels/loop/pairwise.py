"""Pairwise summation of the results of chunks, as outlined functions.

The partial results work like a binary counter: entry `i` is the result of 2**i chunks if bit `i` of the number of
chunks is set. The functions run once per about a thousand elements, so they are optimized for size and defined once
per module. Inlined into every nest, each of 96 reductions took 37 ms to compile instead of 23.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range

__all__ = ["LEVELS", "call_add", "call_combine"]

LEVELS = 64
"""Number of partial results: bits of the number of chunks."""
_I64 = ir.IntType(64)
_EXACT = ir.Constant(ir.IntType(1), 0)  # `cttz` and `ctlz` are defined for zero

Combine = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


def call_add(
    builder: ir.IRBuilder,
    label: str,
    combine: Combine,
    partials: ir.Value,
    count: ir.Value,
    value: ir.Value,
    once: bool,
) -> None:
    """Emit the call that adds the result of a chunk and combines partial results of equally many chunks.

    LLVM may add a version of the surrounding loop for rows of one chunk, which need no call: many short rows run faster
    with it. `once` forbids this version: a single row then compiles in 21 ms instead of 27.
    """
    kind = ir.FunctionType(ir.VoidType(), [partials.type, count.type, value.type])
    name = f"jittape_pairwise_add_{label}_once" if once else f"jittape_pairwise_add_{label}"
    function = _outlined(builder.module, name, kind)
    if once:
        function.attributes.add("noduplicate")
    if function.is_declaration:
        _write_add(function, combine)
    builder.call(function, [partials, count, value])


def call_combine(
    builder: ir.IRBuilder, label: str, combine: Combine, partials: ir.Value, count: ir.Value, start: ir.Value
) -> ir.Value:
    """Emit the call that combines `start` with all partial results, those of fewest chunks first."""
    kind = ir.FunctionType(start.type, [partials.type, _I64, start.type])
    function = _outlined(builder.module, f"jittape_pairwise_combine_{label}", kind)
    if function.is_declaration:
        _write_combine(function, combine)
    return builder.call(function, [partials, builder.load(count), start])


def _outlined(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, kind, name)
        function.linkage = "internal"
        for attribute in ("minsize", "noinline", "nounwind", "optsize"):
            function.attributes.add(attribute)
    return function


def _write_add(function: ir.Function, combine: Combine) -> None:
    partials, place, start = function.args
    builder = Builder(function.append_basic_block("entry"))
    total = builder.alloca(start.type)
    builder.store(start, total)
    count = builder.load(place)
    # The trailing ones of the count are the entries to combine with.
    ones = builder.cttz(builder.not_(count), _EXACT)
    with for_range(builder, ones, scalar=True) as index:
        below = builder.load(builder.gep(partials, [index]))
        builder.store(combine(builder, below, builder.load(total)), total)
    builder.store(builder.load(total), builder.gep(partials, [ones]))
    builder.store(builder.add(count, ir.Constant(_I64, 1)), place)
    builder.ret_void()


def _write_combine(function: ir.Function, combine: Combine) -> None:
    partials, count, start = function.args
    builder = Builder(function.append_basic_block("entry"))
    total = builder.alloca(start.type)
    builder.store(start, total)
    bits = builder.sub(ir.Constant(_I64, 64), builder.ctlz(count, _EXACT))
    with for_range(builder, bits, scalar=True) as index:
        used = builder.trunc(builder.lshr(count, index), ir.IntType(1))
        with builder.if_then(used):
            value = builder.load(builder.gep(partials, [index]))
            builder.store(combine(builder, value, builder.load(total)), total)
    builder.ret(builder.load(total))
