"""Machine code that runs the tables of `scalars`: a loop for each kind of instruction, and a jump between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from jittape.compile.kernels.scalar_vm.bytecode import BITS, CONSTANT, FIRST, LOAD, STORE, Code, ScalarVM
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, memory_type
from jittape.core.forms import Map

__all__ = ["define_scalar_vm"]

_I64, _I32 = ir.IntType(64), ir.IntType(32)


def define_scalar_vm(machine: ScalarVM, function: ir.Function) -> None:
    """Write the function: it reads heads and jumps to the loop of their kind."""
    _Writer(machine, function).write()


class _Writer:
    def __init__(self, machine: ScalarVM, function: ir.Function) -> None:
        self.machine = machine
        self.function = function
        self.slots, self.operands, self.words = function.args[:3]

    def write(self) -> None:
        builder = self.builder = Builder(self.function.append_basic_block("entry"))
        # The first word is the position of the cells among the operands.
        frame = self.operand(builder.load(self.words))
        self.cells = builder.bitcast(frame, _I64.as_pointer())
        before = builder.block
        head, end = (builder.append_basic_block(name) for name in ("head", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        position = builder.phi(_I64)
        position.add_incoming(integer(1), before)
        word = self.word(position)
        kind, count = builder.trunc(word, _I32), builder.lshr(word, integer(32))
        first = builder.add(position, integer(1))
        choice = builder.switch(kind, end)
        for number, write, words in self._kinds():
            block = builder.append_basic_block(f"kind{number}")
            choice.add_case(ir.Constant(_I32, number), block)
            builder.position_at_end(block)
            with for_range(builder, count) as index:
                write(builder.add(first, builder.mul(index, integer(words))))
            position.add_incoming(builder.add(first, builder.mul(count, integer(words))), builder.block)
            builder.branch(head)
        builder.position_at_end(end)
        builder.ret_void()

    def _kinds(self) -> list[tuple[int, Callable[[ir.Value], None], int]]:
        """Each kind's number, what writes one instruction of it, and how many words that has."""
        found: list[tuple[int, Callable[[ir.Value], None], int]] = [(CONSTANT, self.constant, 2)]
        for i in range(4):
            found.append((LOAD + i, partial(self.load, size=1 << i), 1))
            found.append((STORE + i, partial(self.store, size=1 << i), 1))
        for i, code in enumerate(self.machine.codes):
            words = 2 if len(code.dtypes) > 2 else 1
            found.append((FIRST + i, partial(self.compute, code=code), words))
        return found

    def word(self, position: ir.Value) -> ir.Value:
        return self.builder.load(self.builder.gep(self.words, [position]))

    def operand(self, position: ir.Value) -> ir.Value:
        builder = self.builder
        cell = builder.load(builder.gep(self.operands, [position]))
        return builder.load(builder.gep(self.slots, [cell]))

    def field(self, word: ir.Value, number: int) -> ir.Value:
        shifted = self.builder.lshr(word, integer(BITS * number)) if number else word
        return self.builder.and_(shifted, integer((1 << BITS) - 1))

    def place(self, cell: ir.Value, kind: ir.Type) -> ir.Value:
        """The address of a cell."""
        return self.builder.bitcast(self.builder.gep(self.cells, [cell]), kind.as_pointer())

    def load(self, at: ir.Value, size: int) -> None:
        """From an operand of the step to a cell."""
        builder, kind, word = self.builder, ir.IntType(8 * size), self.word(at)
        source = builder.bitcast(self.operand(self.field(word, 1)), kind.as_pointer())
        builder.store(builder.load(source), self.place(self.field(word, 0), kind))

    def store(self, at: ir.Value, size: int) -> None:
        """From a cell to an operand of the step."""
        builder, kind, word = self.builder, ir.IntType(8 * size), self.word(at)
        to = builder.bitcast(self.operand(self.field(word, 0)), kind.as_pointer())
        builder.store(builder.load(self.place(self.field(word, 1), kind)), to)

    def constant(self, at: ir.Value) -> None:
        """A number of the table to a cell."""
        value = self.word(self.builder.add(at, integer(1)))
        self.builder.store(value, self.place(self.field(self.word(at), 0), _I64))

    def compute(self, at: ir.Value, code: Code) -> None:
        """An op on cells."""
        builder, word = self.builder, self.word(at)
        cells = [self.field(word, 1), self.field(word, 2)][: len(code.dtypes)]
        if len(code.dtypes) > 2:
            cells.append(self.word(builder.add(at, integer(1))))
        operands = []
        for cell, dtype in zip(cells, code.dtypes, strict=True):
            value = builder.load(self.place(cell, memory_type(dtype)))
            if dtype.kind == "b":
                value = builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
            operands.append(IRValue(builder, value, dtype))
        form = code.primitive.lowering
        assert isinstance(form, Map)
        result = form.expression(IRMath(builder), *operands, **dict(code.params)).ir
        if code.dtype.kind == "b":
            result = builder.zext(result, ir.IntType(8))
        builder.store(result, self.place(self.field(word, 0), memory_type(code.dtype)))
