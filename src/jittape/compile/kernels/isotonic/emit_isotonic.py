"""The pooling of adjacent violators in LLVM IR: a stack of blocks for each row."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.kernels.loop.kernel_arguments import operand, range_of_task, size
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range, for_steps, integer, keep_scalar

__all__ = ["define_isotonic_blocks"]

_I32, _I64, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_ZERO, _ONE = integer(0), integer(1)


def define_isotonic_blocks(function: ir.Function) -> None:
    """Emit the loop over the rows of a task."""
    builder = Builder(function.append_basic_block("entry"))
    rows, share, length = (size(builder, function, i) for i in range(3))
    start, end = range_of_task(builder, function, share, rows)
    values, numbers = operand(builder, function, 0, _DOUBLE), operand(builder, function, 1, _I32)
    scratch = builder.mul(function.args[3], length)
    means = builder.gep(operand(builder, function, 2, _DOUBLE), [scratch])
    lengths = builder.gep(operand(builder, function, 3, _I64), [scratch])
    with for_steps(builder, start, end, _ONE, scalar=True) as row:
        first = builder.mul(row, length)
        pooling = _Pooling(builder, means, lengths)
        count = pooling.over(builder.gep(values, [first]), length)
        pooling.write_numbers(builder.gep(numbers, [first]), count)
    builder.ret_void()


class _Pooling:
    """Emitter of the pooling of one row; `means` and `lengths` are the stack of blocks."""

    def __init__(self, builder: ir.IRBuilder, means: ir.Value, lengths: ir.Value) -> None:
        self.builder = builder
        self.means, self.lengths = means, lengths

    def over(self, row: ir.Value, length: ir.Value) -> ir.Value:
        """Emit the loop over the elements; return the number of blocks."""
        builder, before = self.builder, self.builder.block
        head, body, after = self._blocks("element")
        builder.branch(head)
        builder.position_at_end(head)
        index, count = builder.phi(_I64), builder.phi(_I64)
        builder.cbranch(builder.icmp_signed("<", index, length), body, after)
        builder.position_at_end(body)
        kept = self._add_element(builder.load(builder.gep(row, [index])), count)
        for phi, first, following in ((index, _ZERO, builder.add(index, _ONE)), (count, _ZERO, kept)):
            phi.add_incoming(first, before)
            phi.add_incoming(following, builder.block)
        keep_scalar(builder.branch(head))
        builder.position_at_end(after)
        return count

    def _add_element(self, value: ir.Value, count: ir.Value) -> ir.Value:
        """Emit the loop that joins an element with the blocks of lower means before it; return the number of blocks."""
        builder, before = self.builder, self.builder.block
        head, look, after = self._blocks("join")
        join = builder.append_basic_block("join.means")
        builder.branch(head)
        builder.position_at_end(head)
        mean, elements, top = builder.phi(_DOUBLE), builder.phi(_I64), builder.phi(_I64)
        builder.cbranch(builder.icmp_signed(">", top, _ZERO), look, after)
        builder.position_at_end(look)
        below = builder.sub(top, _ONE)
        other = builder.load(builder.gep(self.means, [below]))
        builder.cbranch(builder.fcmp_ordered("<", other, mean), join, after)
        builder.position_at_end(join)
        others = builder.load(builder.gep(self.lengths, [below]))
        together = builder.add(others, elements)
        weights = [builder.sitofp(number, _DOUBLE) for number in (others, elements, together)]
        total = builder.fadd(builder.fmul(other, weights[0]), builder.fmul(mean, weights[1]))
        joined = builder.fdiv(total, weights[2])
        for phi, first, following in ((mean, value, joined), (elements, _ONE, together), (top, count, below)):
            phi.add_incoming(first, before)
            phi.add_incoming(following, builder.block)
        keep_scalar(builder.branch(head))
        builder.position_at_end(after)
        builder.store(mean, builder.gep(self.means, [top]))
        builder.store(elements, builder.gep(self.lengths, [top]))
        return builder.add(top, _ONE)

    def write_numbers(self, numbers: ir.Value, count: ir.Value) -> None:
        """Emit the loops that write the number of its block to each element."""
        builder, before = self.builder, self.builder.block
        head, body, after = self._blocks("number")
        builder.branch(head)
        builder.position_at_end(head)
        block, at = builder.phi(_I64), builder.phi(_I64)
        builder.cbranch(builder.icmp_signed("<", block, count), body, after)
        builder.position_at_end(body)
        elements = builder.load(builder.gep(self.lengths, [block]))
        number, own = builder.trunc(block, _I32), builder.gep(numbers, [at])
        with for_range(builder, elements) as index:
            builder.store(number, builder.gep(own, [index]))
        for phi, following in ((block, builder.add(block, _ONE)), (at, builder.add(at, elements))):
            phi.add_incoming(_ZERO, before)
            phi.add_incoming(following, builder.block)
        keep_scalar(builder.branch(head))
        builder.position_at_end(after)

    def _blocks(self, name: str) -> tuple[ir.Block, ir.Block, ir.Block]:
        head, body, after = (
            self.builder.append_basic_block(f"{name}.{part}") for part in ("head", "body", "end")
        )
        return head, body, after
