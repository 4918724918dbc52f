"""`Editor`, which copies a program op by op with changes; and helpers that several passes share."""

from __future__ import annotations

from collections import Counter
from typing import Any

from jittape.core.builder import Builder, Symbol
from jittape.core.forms import CheckedMap, Decomposition
from jittape.core.locks import cached_property
from jittape.core.primitive import Primitive, recording_with
from jittape.core.program import Aval, Op, Program, dead_code_removed
from jittape.primitives.identity import identity_op

__all__ = [
    "Editor",
    "inner_additions",
    "ops_of_sum",
    "primitives_of",
    "separate_outputs",
    "terms_of_sum",
]


class Editor:
    """A copy of a program that ops are added to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.avals = dict(program.avals)
        self.ops: list[Op] = []
        self._next = max(self.avals, default=-1) + 1

    @cached_property
    def uses(self) -> Counter[int]:
        """The number of uses of each slot in the program, outputs included."""
        return Counter([*self.program.outputs, *[slot for op in self.program.ops for slot in op.args]])

    def new_slot(self, aval: Aval) -> int:
        """Return a new slot for a value of this shape and dtype."""
        self._next += 1
        self.avals[self._next - 1] = aval
        return self._next - 1

    def bind(
        self, primitive: Primitive, args: tuple[int, ...], like: Op | None, out: int = -1, **params: Any
    ) -> int:
        """Append an op with the source line of `like` and return its slot: `out`, or a new one."""
        if out < 0:
            out = self.new_slot(primitive.abstract_eval(*[self.avals[slot] for slot in args], **params))
        source = None if like is None else like.source
        self.ops.append(Op(primitive, args, tuple(sorted(params.items())), out, source))
        return out

    def write_out(self, op: Op, form: Decomposition | CheckedMap) -> None:
        """Append the ops that `form` replaces `op` by; append `op` itself if there are none."""
        builder = Builder(self._next, op.source)
        with recording_with(builder):
            made = form.of(*[Symbol(slot, self.avals[slot]) for slot in op.args], **dict(op.params))
        if made is None:
            self.ops.append(op)
            return
        self.avals.update(builder.avals)
        self._next = builder.next_slot
        if made.slot in op.args:  # for these parameters, the op returns its operand
            self.bind(identity_op, (made.slot,), op, op.out)
            return
        *before, last = builder.ops
        assert last.out == made.slot, op
        self.ops += [*before, last._replace(out=op.out)]

    def result(self, outputs: tuple[int, ...] | None = None) -> Program:
        """Return the new program without dead code, or the very same object if nothing has changed.

        It has the outputs of the old one, or those that are given.
        """
        outputs = self.program.outputs if outputs is None else outputs
        if (tuple(self.ops), outputs) == (self.program.ops, self.program.outputs):
            return self.program
        program = self.program.replaced(tuple(self.ops), outputs, self.avals)
        return dead_code_removed(program)


def inner_additions(editor: Editor) -> set[int]:
    """Return the results of additions whose only use is in another addition, so they belong to its sum."""
    sums = {op.out for op in editor.program.ops if op.primitive.is_addition}
    used = [slot for op in editor.program.ops if op.primitive.is_addition for slot in op.args]
    return {slot for slot in used if slot in sums and editor.uses[slot] == 1}


def terms_of_sum(op: Op, op_of: dict[int, Op], inner: set[int]) -> list[int]:
    """Return the slots that the addition `op` and its `inner` ones add, in order; a sum may have thousands."""
    found, pending = list[int](), [*reversed(op.args)]
    while pending:
        slot = pending.pop()
        if slot in inner:
            pending += reversed(op_of[slot].args)
        else:
            found.append(slot)
    return found


def ops_of_sum(op: Op, op_of: dict[int, Op], inner: set[int]) -> list[Op]:
    """Return `op` after the `inner` additions that belong to its sum, operands first."""
    found, pending = list[Op](), [op]
    while pending:
        one = pending.pop()
        found.append(one)
        pending += [op_of[slot] for slot in one.args if slot in inner]
    return found[::-1]


def primitives_of(program: Program) -> set[Primitive]:
    """Return the primitives of a program; a pass checks first whether any of them concerns it."""
    return {op.primitive for op in program.ops}


def separate_outputs(program: Program) -> Program:
    """Return the program with a separate op for each output: inputs and repeated outputs are copied."""
    taken = set(program.inputs)
    ops, outputs, avals = list(program.ops), [], dict(program.avals)
    free = max(avals, default=-1) + 1
    for slot in program.outputs:
        if slot in taken:
            ops.append(Op(identity_op, (slot,), (), free))
            avals[free] = avals[slot]
            slot, free = free, free + 1
        taken.add(slot)
        outputs.append(slot)
    return program.replaced(tuple(ops), tuple(outputs), avals)
