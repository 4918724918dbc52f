"""Bytecode tables, run with NumPy; see `bytecode`."""

from __future__ import annotations

from collections.abc import Sequence

from loop_ir import computed
from memory import Heap, Pointer

from jittape.compile.ir.records import WORD
from jittape.compile.ir.table_layouts import (
    BYTECODE_HEAD,
    INSTRUCTION,
    INSTRUCTION_CELLS,
    INSTRUCTION_RUN,
    LONG_INSTRUCTION,
)
from jittape.compile.kernels.scalar_vm.bytecode import CONSTANT, FIRST, LOAD, STORE, ScalarVM


def run_table(heap: Heap, machine: ScalarVM, pointers: Sequence[Pointer], sizes: Sequence[int]) -> None:
    """Run the instructions of a table."""
    cells = pointers[BYTECODE_HEAD.unpack(sizes)["cells"]]
    at = BYTECODE_HEAD.words

    def cell(number: int) -> Pointer:
        return cells.part(WORD * number, WORD)

    while sizes[at]:
        kind, count = INSTRUCTION_RUN.unpack(sizes[at]).values()
        at += 1
        code = machine.codes[kind - FIRST] if kind >= FIRST else None
        layout = LONG_INSTRUCTION if kind == CONSTANT else INSTRUCTION if code is None else code.layout
        for words in layout.unpack_array(sizes, at, count):
            first, second, third = INSTRUCTION_CELLS.unpack(words["cells"]).values()
            if LOAD <= kind < LOAD + 4:
                heap.copy(cell(first), pointers[second], 1 << kind - LOAD)
            elif STORE <= kind < STORE + 4:
                heap.copy(pointers[first], cell(second), 1 << kind - STORE)
            elif code is None:
                heap.set_word(cell(first), 0, words["extra"])
            else:
                numbers = [second, third][: len(code.dtypes)]
                if "extra" in words:
                    numbers.append(words["extra"])
                pairs = zip(numbers, code.dtypes, strict=True)
                operands = [heap.view(d)[cell(n).address // d.itemsize] for n, d in pairs]
                place = cell(first).address // code.dtype.itemsize
                heap.view(code.dtype)[place] = computed(code.primitive, code.params, operands, code.dtype)
        at += count * layout.words
