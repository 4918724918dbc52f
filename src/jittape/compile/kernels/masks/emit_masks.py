"""Loops over the true elements of a mask in LLVM IR.

A branch on random elements would be predicted wrong half of the time. Eight elements, a word of the mask, are therefore
all stored, each behind the true elements before it, so that the next one overwrites it if the element is false. The
last stores of a block must not write behind its results: there each store that does not count goes elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.ir.mask_kernels import MaskLoop
from jittape.compile.kernels.loop.kernel_arguments import operand, range_of_task, size
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import alloca_once, for_steps, integer, keep_scalar

__all__ = ["define_mask_counts", "define_mask_loop"]

_I8, _I64 = ir.IntType(8), ir.IntType(64)
_ZERO, _ONE, _WORD = integer(0), integer(1), integer(8)
_ONES = 0x0101010101010101


def _accumulated(
    builder: ir.IRBuilder,
    start: ir.Value,
    stop: ir.Value,
    step: ir.Value,
    before: ir.Value,
    body: Callable[[ir.Value, ir.Value], ir.Value],
    scalar: bool = True,
) -> tuple[ir.Value, ir.Value]:
    """Emit a loop while ``index + step <= stop`` and return the last index and the value that the body carries on."""
    entry = builder.block
    head, inside, after = (builder.append_basic_block(f"mask.{part}") for part in ("head", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    index, value = builder.phi(_I64), builder.phi(_I64)
    index.add_incoming(start, entry)
    value.add_incoming(before, entry)
    following = builder.add(index, step)
    builder.cbranch(builder.icmp_signed("<=", following, stop), inside, after)
    builder.position_at_end(inside)
    carried = body(index, value)
    index.add_incoming(following, builder.block)
    value.add_incoming(carried, builder.block)
    again = builder.branch(head)
    if scalar:
        keep_scalar(again)
    builder.position_at_end(after)
    return index, value


def _block(builder: ir.IRBuilder, function: ir.Function) -> tuple[ir.Value, ir.Value]:
    """Return the first element of the task's block and the end of the block."""
    elements, share = size(builder, function, 0), size(builder, function, 1)
    return range_of_task(builder, function, share, elements)


def _truth(builder: ir.IRBuilder, mask: ir.Value, index: ir.Value) -> ir.Value:
    """Return whether an element is true; any byte except 0 is."""
    return builder.icmp_unsigned("!=", builder.load(builder.gep(mask, [index])), ir.Constant(_I8, 0))


def define_mask_counts(function: ir.Function) -> None:
    """Emit the kernel `MaskCounts`."""
    builder = Builder(function.append_basic_block("entry"))
    mask, counts = operand(builder, function, 0, _I8), operand(builder, function, 1, _I64)
    start, end = _block(builder, function)

    def count(index: ir.Value, total: ir.Value) -> ir.Value:
        return builder.add(total, builder.zext(_truth(builder, mask, index), _I64))

    _, total = _accumulated(builder, start, end, _ONE, _ZERO, count, scalar=False)
    builder.store(total, builder.gep(counts, [function.args[3]]))
    builder.ret_void()


def define_mask_loop(kernel: MaskLoop, function: ir.Function) -> None:
    """Emit the kernel `MaskLoop`."""
    _MaskLoop(kernel, function).emit()


class _MaskLoop:
    """Emitter of the loop over one block."""

    def __init__(self, kernel: MaskLoop, function: ir.Function) -> None:
        self.kernel = kernel
        self.function = function
        self.builder = builder = Builder(function.append_basic_block("entry"))
        self.element = ir.IntType(8 * kernel.nbytes)
        self.align = min(8, kernel.nbytes)
        self.mask = operand(builder, function, 0, _I8)
        self.result = operand(builder, function, kernel.result, self.element)
        if kernel.form != "places":
            self.values = operand(builder, function, kernel.result - 1, self.element)
        self.elements, self.limit = size(builder, function, 0), size(builder, function, 2)
        self.start, self.end = _block(builder, function)
        self.zero = ir.Constant(self.element, 0)
        self.elsewhere = alloca_once(builder, self.element)
        builder.store(self.zero, self.elsewhere, align=self.align)
        self.first, self.room = _ZERO, self.limit
        if kernel.counted:
            self._count_before()

    def _count_before(self) -> None:
        """Emit the sum of the counts of the blocks before this one."""
        builder, counts = self.builder, operand(self.builder, self.function, 1, _I64)

        def added(block: ir.Value, total: ir.Value) -> ir.Value:
            return builder.add(total, builder.load(builder.gep(counts, [block])))

        task = self.function.args[3]
        _, self.first = _accumulated(builder, _ZERO, task, _ONE, _ZERO, added)
        room = added(task, self.first)
        self.room = builder.select(builder.icmp_signed("<", room, self.limit), room, self.limit)

    def emit(self) -> None:
        """Emit the loops over words and over the elements that remain; then zeros for places that are missing."""
        builder = self.builder
        index, at = _accumulated(builder, self.start, self.end, _WORD, self.first, self._word)
        _, at = _accumulated(builder, index, self.end, _ONE, at, self._one)
        if self.kernel.form != "expand":
            is_last = builder.icmp_signed("==", self.end, self.elements)
            with builder.if_then(is_last), for_steps(builder, at, self.limit, _ONE, scalar=True) as missing:
                self._store(self.zero, builder.gep(self.result, [missing]))
        builder.ret_void()

    def _load(self, place: ir.Value) -> ir.Value:
        return self.builder.load(place, align=self.align)

    def _store(self, value: ir.Value, place: ir.Value) -> None:
        self.builder.store(value, place, align=self.align)

    def _value(self, index: ir.Value) -> ir.Value:
        """Return what is stored for a true element."""
        return index if self.kernel.form == "places" else self._load(self.builder.gep(self.values, [index]))

    def _one(self, index: ir.Value, at: ir.Value) -> ir.Value:
        builder = self.builder
        true = _truth(builder, self.mask, index)
        kept = builder.and_(true, builder.icmp_signed("<", at, self.room))
        if self.kernel.form == "expand":
            place = builder.select(kept, builder.gep(self.values, [at]), self.elsewhere)
            self._store(self._load(place), builder.gep(self.result, [index]))
        else:
            place = builder.select(kept, builder.gep(self.result, [at]), self.elsewhere)
            self._store(self._value(index), place)
        return builder.add(at, builder.zext(true, _I64))

    def _word(self, index: ir.Value, at: ir.Value) -> ir.Value:
        builder = self.builder
        bits = _bits_of(builder, builder.gep(self.mask, [index]))
        following = builder.add(at, builder.lshr(builder.mul(bits, integer(_ONES)), integer(56)))
        fits = builder.icmp_signed("<=", builder.add(at, _WORD), self.room)
        with builder.if_else(fits) as (all_fit, few):
            with all_fit:
                self._eight(bits, index, at)
            with few:
                _accumulated(builder, index, builder.add(index, _WORD), _ONE, at, self._one)
        return following

    def _eight(self, bits: ir.Value, index: ir.Value, at: ir.Value) -> None:
        """Emit the moves of eight elements; if all are false, nothing or zeros."""
        builder = self.builder
        before = builder.mul(bits, integer(_ONES << 8 & (1 << 64) - 1))
        expands = self.kernel.form == "expand"
        with builder.if_else(builder.icmp_unsigned("!=", bits, _ZERO)) as (some, none):
            with some:
                for k in range(8):
                    ahead = builder.and_(builder.lshr(before, integer(8 * k)), integer(255))
                    own, place = builder.add(index, integer(k)), builder.add(at, ahead)
                    if expands:
                        true = builder.trunc(builder.lshr(bits, integer(8 * k)), ir.IntType(1))
                        value = self._load(builder.gep(self.values, [place]))
                        self._store(builder.select(true, value, self.zero), builder.gep(self.result, [own]))
                    else:
                        self._store(self._value(own), builder.gep(self.result, [place]))
            with none:
                for k in range(8 if expands else 0):
                    self._store(self.zero, builder.gep(self.result, [builder.add(index, integer(k))]))


def _bits_of(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
    """Return eight elements of a mask as a word whose bytes are 0 or 1."""
    bits = builder.load(builder.bitcast(place, _I64.as_pointer()), align=1)
    for shift in (4, 2, 1):
        bits = builder.or_(bits, builder.lshr(bits, integer(shift)))
    return builder.and_(bits, integer(_ONES))
