"""Loop-invariant code motion for loops that are emitted as vectors; LLVM compiles these with few passes."""

from __future__ import annotations

import re

from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder, Instruction

__all__ = ["hoist_invariants"]

_HOISTED = frozenset(("fcmp", "icmp", "insertelement", "shufflevector"))
"""Operations that move. Others have operands of the loop, as the instructions of a nest are in their own levels."""
_REFERENCE = re.compile(r'%"[^"]*"')


def hoist_invariants(builder: Builder, before: ir.Block) -> None:
    """Move broadcasts, and comparisons of them, out of a loop, which follows the block `before`.

    LLVM's code generator hoists neither, as each takes a single instruction.
    """
    blocks = builder.function.basic_blocks
    inside = blocks[blocks.index(before) + 1 : blocks.index(builder.block)]
    varying = {i.get_reference() for block in inside for i in block.instructions}
    for block in inside:
        kept = []
        for instruction in block.instructions:
            if instruction.opname in _HOISTED and varying.isdisjoint(_operands_of(instruction)):
                varying.discard(instruction.get_reference())
                before.instructions.insert(-1, instruction)
            else:
                kept.append(instruction)
        block.instructions[:] = kept


def _operands_of(instruction: ir.Instruction) -> list[str]:
    if isinstance(instruction, Instruction):
        return _REFERENCE.findall(instruction.rest)
    return [operand.get_reference() for operand in instruction.operands]
