"""The interpreter of bytecode tables: a loop for each kind of instruction, and a jump between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from jittape.compile.analysis.cost import computed, narrowed
from jittape.compile.ir.records import RecordLayout
from jittape.compile.ir.table_layouts import (
    BYTECODE_HEAD,
    INSTRUCTION,
    INSTRUCTION_CELLS,
    INSTRUCTION_RUN,
    LONG_INSTRUCTION,
)
from jittape.compile.kernels.scalar_vm.bytecode import CONSTANT, FIRST, LOAD, STORE, Code, ScalarVM
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range, integer
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_records import IRRecord, bit_field
from jittape.compile.llvm.ir_value import IRValue, memory_type

__all__ = ["define_scalar_vm"]

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_RUN = RecordLayout("run")


def define_scalar_vm(machine: ScalarVM, function: ir.Function) -> None:
    """Emit the interpreter: it reads the word before a run of instructions and jumps to the loop of their kind."""
    _Emitter(machine, function).emit()


class _Emitter:
    def __init__(self, machine: ScalarVM, function: ir.Function) -> None:
        self.machine = machine
        self.function = function
        self.slots, self.operands, self.words = function.args[:3]

    def emit(self) -> None:
        builder = self.builder = Builder(self.function.append_basic_block("entry"))
        head_record = IRRecord(builder, BYTECODE_HEAD, self.words)
        self.cells = builder.bitcast(self.operand(head_record.load("cells")), _I64.as_pointer())
        before = builder.block
        head, end = (builder.append_basic_block(name) for name in ("head", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        position = builder.phi(_I64)
        position.add_incoming(integer(BYTECODE_HEAD.words), before)
        run = IRRecord(builder, _RUN, self.words, position)
        word = run.load("run")
        kind = builder.trunc(bit_field(builder, INSTRUCTION_RUN, word, "kind"), _I32)
        count = bit_field(builder, INSTRUCTION_RUN, word, "count")
        first = run.after(INSTRUCTION).first
        choice = builder.switch(kind, end)
        for number, emit, layout in self._kinds():
            block = builder.append_basic_block(f"kind{number}")
            choice.add_case(ir.Constant(_I32, number), block)
            builder.position_at_end(block)
            instructions = IRRecord(builder, layout, self.words, first)
            with for_range(builder, count) as index:
                emit(instructions.element(index))
            position.add_incoming(instructions.element(count).first, builder.block)
            builder.branch(head)
        builder.position_at_end(end)
        builder.ret_void()

    def _kinds(self) -> list[tuple[int, Callable[[IRRecord], None], RecordLayout]]:
        """Return for each kind its number, the emitter of one instruction and the layout of an instruction."""
        found: list[tuple[int, Callable[[IRRecord], None], RecordLayout]] = [
            (CONSTANT, self.constant, LONG_INSTRUCTION)
        ]
        for i in range(4):
            found.append((LOAD + i, partial(self.load, size=1 << i), INSTRUCTION))
            found.append((STORE + i, partial(self.store, size=1 << i), INSTRUCTION))
        for i, code in enumerate(self.machine.codes):
            found.append((FIRST + i, partial(self.compute, code=code), code.layout))
        return found

    def operand(self, position: ir.Value) -> ir.Value:
        """Load the address of an operand of the step."""
        builder = self.builder
        cell = builder.load(builder.gep(self.operands, [position]))
        return builder.load(builder.gep(self.slots, [cell]))

    def cell(self, word: ir.Value, name: str) -> ir.Value:
        """Return a part of the first word of an instruction."""
        return bit_field(self.builder, INSTRUCTION_CELLS, word, name)

    def place(self, cell: ir.Value, kind: ir.Type) -> ir.Value:
        """Return a pointer to a cell."""
        return self.builder.bitcast(self.builder.gep(self.cells, [cell]), kind.as_pointer())

    def load(self, instruction: IRRecord, size: int) -> None:
        """Emit a load: from an operand of the step to a cell."""
        builder, kind, word = self.builder, ir.IntType(8 * size), instruction.load("cells")
        source = builder.bitcast(self.operand(self.cell(word, "first")), kind.as_pointer())
        builder.store(builder.load(source), self.place(self.cell(word, "result"), kind))

    def store(self, instruction: IRRecord, size: int) -> None:
        """Emit a store: from a cell to an operand of the step."""
        builder, kind, word = self.builder, ir.IntType(8 * size), instruction.load("cells")
        to = builder.bitcast(self.operand(self.cell(word, "result")), kind.as_pointer())
        builder.store(builder.load(self.place(self.cell(word, "first"), kind)), to)

    def constant(self, instruction: IRRecord) -> None:
        """Emit a constant: from the table to a cell."""
        place = self.place(self.cell(instruction.load("cells"), "result"), _I64)
        self.builder.store(instruction.load("extra"), place)

    def compute(self, instruction: IRRecord, code: Code) -> None:
        """Emit an op on cells."""
        builder, word = self.builder, instruction.load("cells")
        cells = [self.cell(word, name) for name in ("first", "second")][: len(code.dtypes)]
        if len(code.dtypes) > 2:
            cells.append(instruction.load("extra"))
        operands = []
        for cell, dtype in zip(cells, code.dtypes, strict=True):
            value = builder.load(self.place(cell, memory_type(dtype)))
            if dtype.kind == "b":
                value = builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
            operands.append(IRValue(builder, value, dtype))
        m = IRMath(builder)
        result = narrowed(m, computed(m, code.primitive, code.params, operands), code.dtype).ir
        if code.dtype.kind == "b":
            result = builder.zext(result, ir.IntType(8))
        builder.store(result, self.place(self.cell(word, "result"), memory_type(code.dtype)))
