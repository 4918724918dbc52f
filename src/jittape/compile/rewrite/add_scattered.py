"""Sums of arrays that are zero except for a few elements, which are added in the memory of the other terms.

The gradient of ``x[i] * x[i + 1]`` is such a sum. In the body of a loop, it changes two elements of the carried
gradient instead of filling and adding arrays. The rewrite is exact except for rounding, so it is not a simplification.
"""

from __future__ import annotations

from jittape.compile.rewrite.add_in_control import is_zero
from jittape.compile.rewrite.program_editor import (
    Editor,
    inner_additions,
    ops_of_sum,
    primitives_of,
    terms_of_sum,
)
from jittape.compile.rewrite.scatter_parts import is_small_part, part_op
from jittape.core.forms import Pad, Scatter
from jittape.core.program import Op, Program

__all__ = ["add_scattered"]


def add_scattered(program: Program, writes_parts: bool = False) -> Program:
    """Return `program` with single elements, or with `writes_parts` small parts, added to the other terms of a sum."""
    primitives = primitives_of(program)
    forms = Scatter | Pad if writes_parts else Scatter
    if not any(isinstance(p.lowering, forms) for p in primitives) or not any(
        p.is_addition for p in primitives
    ):
        return program
    return _Sums(program, writes_parts).result()


class _Sums:
    """The sums of a program. The ops of a sum whose only use is in another one belong to that sum."""

    def __init__(self, program: Program, writes_parts: bool) -> None:
        self.writes_parts = writes_parts
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

    def _add(self, op: Op) -> None:
        """Append a sum: first the arrays, then the elements."""
        elements, arrays = list[int](), list[int]()
        for slot in terms_of_sum(op, self.op_of, self.inner):
            (elements if self._is_element(slot) else arrays).append(slot)
        if not arrays:
            arrays.append(elements.pop(0))
        if not elements:
            self.editor.ops += ops_of_sum(op, self.op_of, self.inner)
            return
        total = arrays[0]
        for slot in arrays[1:]:
            total = self.editor.bind(op.primitive, (total, slot), op)
        for slot in elements:
            out = op.out if slot == elements[-1] else -1
            total = self._added(total, self.op_of[slot], out)

    def _added(self, total: int, term: Op, out: int) -> int:
        """Append the op that adds the elements of a term to `total`, and return its slot."""
        params = dict(term.params)
        if isinstance(term.primitive.lowering, Scatter):
            return self.editor.bind(term.primitive, (total, *term.args[1:]), term, out, **params)
        return self.editor.bind(part_op, (total, *term.args), term, out, region=params["region"], how="add")

    def _is_element(self, slot: int) -> bool:
        """Return whether a term is an element, or a part with one index, that is added to zeros.

        With `writes_parts`, few elements or a small part of an array of zeros are enough.
        """
        op, avals = self.op_of.get(slot), self.editor.avals
        if op is None or not self._is_term(slot):
            return False
        form = op.primitive.lowering
        if isinstance(form, Pad):
            return self.writes_parts and is_small_part(avals[op.args[0]], avals[slot])
        if not isinstance(form, Scatter):
            return False
        combining = form.combining(**dict(op.params))
        few = self.writes_parts and is_small_part(avals[op.args[1]], avals[slot])
        one = few or avals[op.args[2]].size == 1
        return one and combining is not None and combining.is_addition and is_zero(op.args[0], self.op_of)
