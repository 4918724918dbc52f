"""Reading of a kernel's arguments: addresses of operands, and the integers of symbols.

Each is a call of a small function that LLVM inlines. Written out, they would be a third of all instructions of a
program's kernels, and writing an instruction takes 7 µs.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE, integer

__all__ = ["operand", "range_of_task", "size"]

_SLOTS, _NUMBERS, _SIZES, _ = KERNEL_TYPE.args
_I64 = ir.IntType(64)


def operand(builder: ir.IRBuilder, kernel: ir.Function, number: int, element: ir.Type) -> ir.Value:
    """Emit the address of an operand of `kernel`, as a pointer to elements."""
    name, kind = f"jittape_operand_{element}", element.as_pointer()
    function = builder.module.globals.get(name)
    if function is None:
        function, inner = _inlined(builder.module, name, ir.FunctionType(kind, [_SLOTS, _NUMBERS, _I64]))
        slots, numbers, at = function.args
        slot = inner.sext(inner.load(inner.gep(numbers, [at])), _I64)
        inner.ret(inner.bitcast(inner.load(inner.gep(slots, [slot])), kind))
    return builder.call(function, [*kernel.args[:2], integer(number)])


def size(builder: ir.IRBuilder, kernel: ir.Function, position: int) -> ir.Value:
    """Emit the integer of a symbol of `kernel`."""
    name = "jittape_size"
    function = builder.module.globals.get(name)
    if function is None:
        function, inner = _inlined(builder.module, name, ir.FunctionType(_I64, [_SIZES, _I64]))
        inner.ret(inner.load(inner.gep(function.args[0], [function.args[1]])))
    return builder.call(function, [kernel.args[2], integer(position)])


def range_of_task(
    builder: ir.IRBuilder, kernel: ir.Function, share: ir.Value, count: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Emit start and end of the part of `count` items that belongs to the task; each task but the last has `share`."""
    start = builder.mul(kernel.args[3], share)
    end = builder.add(start, share)
    return start, builder.select(builder.icmp_signed("<", end, count), end, count)


def _inlined(module: ir.Module, name: str, kind: ir.FunctionType) -> tuple[ir.Function, ir.IRBuilder]:
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    return function, Builder(function.append_basic_block("entry"))
