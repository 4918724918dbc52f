"""Order of ops in the bodies of loops and branches: small parts of an array are read before it changes.

Then the change can happen in the memory of the array. The order of ops in a gradient is often the opposite.
"""

from __future__ import annotations

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.compile.rewrite.scatter_parts import is_small_part
from jittape.core.forms import Alias, Iota, Map, Scatter, View
from jittape.core.program import Op, Program

__all__ = ["reads_first"]


def reads_first(program: Program) -> Program:
    """Return `program` with the reads of small parts of each array that is scattered to before the scatter."""
    if not any(isinstance(p.lowering, Scatter) for p in primitives_of(program)):
        return program
    return _Order(program).result()


class _Order:
    """The ops of a program in their new order."""

    def __init__(self, program: Program) -> None:
        self.editor = Editor(program)
        self.op_of = {op.out: op for op in program.ops}
        self.position = {op.out: i for i, op in enumerate(program.ops)}
        self.placed: set[int] = set()
        self.reads: dict[int, list[Op]] = {}
        for op in program.ops:
            if isinstance(op.primitive.lowering, View):
                whole = op.args[0]
                if is_small_part(program.avals[op.out], program.avals[whole]):
                    self.reads.setdefault(whole, []).append(op)

    def result(self) -> Program:
        """Return the program in its new order."""
        for op in self.editor.program.ops:
            if isinstance(op.primitive.lowering, Scatter):
                for read in self.reads.get(op.args[0], ()):
                    self._place(self._needed(read))
            self._place([op])
        return self.editor.result()

    def _place(self, ops: list[Op]) -> None:
        for op in ops:
            if op.out not in self.placed:
                self.placed.add(op.out)
                self.editor.ops.append(op)

    def _needed(self, read: Op) -> list[Op]:
        """Return a read with all that must be placed before it, in order; nothing unless that is cheap."""
        found, pending = {read.out: read}, [read]
        while pending:
            for slot in pending.pop().args:
                op = self.op_of.get(slot)
                if op is None or slot in self.placed or slot in found:
                    continue
                if not isinstance(op.primitive.lowering, Map | View | Alias | Iota):
                    return []
                found[slot] = op
                pending.append(op)
        return [found[slot] for slot in sorted(found, key=self.position.__getitem__)]
