"""Sums of arrays that are zero except for one element or row, which is added in the memory of the other terms.

The gradient of ``x[i] * x[i + 1]`` is such a sum. In the body of a loop, it changes two elements of the carried
gradient instead of filling and adding arrays. The rewrite is exact except for rounding, so it is not a simplification.
"""

from __future__ import annotations

from jittape.compile.rewrite.program_editor import Editor, inner_additions, primitives_of
from jittape.core.forms import Scatter
from jittape.core.program import Op, Program

__all__ = ["add_scattered"]


def add_scattered(program: Program) -> Program:
    """Return `program` with single elements added to the other terms of a sum."""
    primitives = primitives_of(program)
    if not any(isinstance(p.lowering, Scatter) for p in primitives) or not any(
        p.is_addition for p in primitives
    ):
        return program
    return _Sums(program).result()


class _Sums:
    """The sums of a program. The ops of a sum whose only use is in another one belong to that sum."""

    def __init__(self, program: Program) -> None:
        self.editor = Editor(program)
        self.program = program
        self.op_of = {op.out: op for op in program.ops}
        self.inner = inner_additions(self.editor)

    def result(self) -> Program:
        """Return the program with the terms of each sum in another order."""
        for op in self.program.ops:
            if op.out in self.inner:
                continue
            if op.primitive.is_addition:
                self._add(op)
            else:
                self.editor.ops.append(op)
        return self.editor.result()

    def _is_term(self, slot: int) -> bool:
        return self.editor.uses[slot] == 1

    def _terms(self, op: Op) -> list[tuple[int, Op]]:
        """Return the terms of a sum, each with the op that adds it."""
        found: list[tuple[int, Op]] = []
        for slot in op.args:
            found += self._terms(self.op_of[slot]) if slot in self.inner else [(slot, op)]
        return found

    def _add(self, op: Op) -> None:
        """Append a sum: first the arrays, then the elements."""
        terms = self._terms(op)
        elements = [slot for slot, _ in terms if self._is_element(slot)]
        arrays = [slot for slot, _ in terms if slot not in elements] or [elements.pop(0)]
        if not elements:
            self._as_before(op)
            return
        total = arrays[0]
        for slot in arrays[1:]:
            total = self.editor.bind(op.primitive, (total, slot), op)
        for slot in elements:
            scatter = self.op_of[slot]
            args = (total, *scatter.args[1:])
            out = op.out if slot == elements[-1] else -1
            total = self.editor.bind(scatter.primitive, args, scatter, out, **dict(scatter.params))

    def _as_before(self, op: Op) -> None:
        for slot in op.args:
            if slot in self.inner:
                self._as_before(self.op_of[slot])
        self.editor.ops.append(op)

    def _is_element(self, slot: int) -> bool:
        """Return whether a term is an element, or a part with one index, that is added to zeros."""
        op = self.op_of.get(slot)
        if op is None or not isinstance(op.primitive.lowering, Scatter) or not self._is_term(slot):
            return False
        combining = op.primitive.lowering.combining(**dict(op.params))
        one = self.editor.avals[op.args[2]].size == 1
        return one and combining is not None and combining.is_addition and self._is_zero(op.args[0])

    def _is_zero(self, slot: int) -> bool:
        op = self.op_of.get(slot)
        while op is not None and op.primitive.is_broadcast:
            op = self.op_of.get(op.args[0])
        return op is not None and not op.args and dict(op.params).get("value") == 0
