"""The tables of the machine for scalars, run by NumPy; see `scalars`."""

from __future__ import annotations

from collections.abc import Sequence

from loop_ir import computed
from memory import Heap, Pointer

from jittape.compile.kernels.scalar_vm.bytecode import BITS, CONSTANT, FIRST, LOAD, STORE, ScalarVM

CELL = 8


def run_table(heap: Heap, machine: ScalarVM, pointers: Sequence[Pointer], sizes: Sequence[int]) -> None:
    """Run the instructions of a table."""
    cells = pointers[sizes[0]]
    at = 1

    def cell(number: int) -> Pointer:
        return cells.part(CELL * number, CELL)

    def fields(word: int) -> list[int]:
        return [word >> BITS * i & (1 << BITS) - 1 for i in range(3)]

    while sizes[at]:
        kind, count = sizes[at] & 0xFFFFFFFF, sizes[at] >> 32
        at += 1
        for _ in range(count):
            first, second, third = fields(sizes[at])
            at += 1
            if LOAD <= kind < LOAD + 4:
                heap.copy(cell(first), pointers[second], 1 << kind - LOAD)
            elif STORE <= kind < STORE + 4:
                heap.copy(pointers[first], cell(second), 1 << kind - STORE)
            elif kind == CONSTANT:
                heap.set_word(cell(first), 0, sizes[at])
                at += 1
            else:
                code = machine.codes[kind - FIRST]
                numbers = [second, third][: len(code.dtypes)]
                if len(code.dtypes) > 2:
                    numbers.append(sizes[at])
                    at += 1
                pairs = zip(numbers, code.dtypes, strict=True)
                operands = [heap.view(d)[cell(n).address // d.itemsize] for n, d in pairs]
                place = cell(first).address // code.dtype.itemsize
                heap.view(code.dtype)[place] = computed(code.primitive, code.params, operands, code.dtype)
