"""What a program is made into before it is cut into loops: ops written out, and sums taken where they are cheaper.

The sums are exact but for rounding, so they stand here and not among the simplifications.

The sum over the rows of ``x @ y`` is the sum over the rows of `x`, times `y`: a product of one row.

The gradient of a number that is used in every step of an unrolled loop is a sum over steps of sums over elements. Added
up element by element first, 252 steps need one accumulation instead of 252: an Asian option of 252 steps takes 4.5 ms
instead of 5.6.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping
from typing import Any

from jittape.core.builder import Builder, Symbol, literal_op
from jittape.core.dtypes import BLAS
from jittape.core.forms import Alias, Call, CheckedMap, Decomposition, DynamicUpdateSlice, Iota, Pad, View
from jittape.core.locks import cached_property
from jittape.core.primitive import Primitive, recording_with
from jittape.core.program import Aval, Op, Program, dead_code_removed
from jittape.core.simplify import common_subexpressions_merged
from jittape.errors import ShapeError
from jittape.primitives.broadcast import reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import negative_op
from jittape.primitives.identity import identity_op
from jittape.primitives.linalg.matmul import matmul_op

__all__ = ["Editor", "distinct", "expanded", "primitives_of", "settled", "sum_before_product"]


class Editor:
    """A copy of a program that ops are added to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.avals = dict(program.avals)
        self.ops: list[Op] = []
        self._next = max(self.avals, default=-1) + 1

    @cached_property
    def uses(self) -> Counter[int]:
        """How often each slot of the program is asked for."""
        return Counter([*self.program.outputs, *[slot for op in self.program.ops for slot in op.args]])

    def new_slot(self, aval: Aval) -> int:
        """A slot that nothing has defined yet."""
        self._next += 1
        self.avals[self._next - 1] = aval
        return self._next - 1

    def bind(
        self, primitive: Primitive, args: tuple[int, ...], like: Op | None, out: int = -1, **params: Any
    ) -> int:
        """Append an op, for the same line as another; its slot."""
        if out < 0:
            out = self.new_slot(primitive.abstract_eval(*[self.avals[slot] for slot in args], **params))
        source = None if like is None else like.source
        self.ops.append(Op(primitive, args, tuple(sorted(params.items())), out, source))
        return out

    def write_out(self, op: Op, form: Decomposition | CheckedMap) -> None:
        """Append what takes the place of an op, or the op itself where nothing does."""
        builder = Builder(self._next, op.source)
        with recording_with(builder):
            made = form.of(*[Symbol(slot, self.avals[slot]) for slot in op.args], **dict(op.params))
        if made is None:
            self.ops.append(op)
            return
        self.avals.update(builder.avals)
        self._next = builder.next_slot
        *before, last = builder.ops
        assert last.out == made.slot, op
        self.ops += [*before, last._replace(out=op.out)]

    def result(self) -> Program:
        """The program, the very same object if nothing was done."""
        if tuple(self.ops) == self.program.ops:
            return self.program
        program = self.program.replaced(tuple(self.ops), self.program.outputs, self.avals)
        return dead_code_removed(program)


def primitives_of(program: Program) -> set[Primitive]:
    """What a pass that rewrites few of them asks for first."""
    return {op.primitive for op in program.ops}


def settled(program: Program, values: Mapping[int, float]) -> Program:
    """`program` with the inputs in `values` known: numbers become literals, and known starts of slices structure.

    The inputs stay, unused.
    """
    editor = Editor(program)
    known = dict(values)
    here: dict[int, int] = {}
    for slot, value in values.items():
        # 0.0 == -0.0, and equal parameters make equal ops.
        number = str(value) if value == 0 and math.copysign(1.0, value) < 0 else value
        out = editor.bind(literal_op, (), None, dtype=editor.avals[slot].dtype, value=number)
        here[slot], known[out] = out, value
    for op in program.ops:
        if not here.keys().isdisjoint(op.args):
            op = op._replace(args=tuple([here.get(slot, slot) for slot in op.args]))
        if isinstance(op.primitive.lowering, View | Pad | DynamicUpdateSlice) and "region" in dict(op.params):
            op = _with_known_starts(op, known, editor.avals)
        editor.ops.append(op)
    return program.replaced(tuple(editor.ops), tuple([here.get(s, s) for s in program.outputs]), editor.avals)


def _with_known_starts(op: Op, known: Mapping[int, float], avals: Mapping[int, Aval]) -> Op:
    """A slice or its like with the starts that are known as parameters."""
    arrays = 2 if isinstance(op.primitive.lowering, DynamicUpdateSlice) else 1
    params, starts = dict(op.params), op.args[arrays:]
    if not any([slot in known for slot in starts]):
        return op
    params["region"] = params["region"].with_starts([known.get(slot) for slot in starts])
    args = (*op.args[:arrays], *[slot for slot in starts if slot not in known])
    try:
        fits = op.primitive.abstract_eval(*[avals[slot] for slot in args], **params) == avals[op.out]
    except ShapeError:
        return op  # it begins outside; what comes of that is found out when it runs
    assert fits, op
    return op._replace(args=args, params=tuple(sorted(params.items())))


def distinct(program: Program) -> Program:
    """Return the program with an op of its own for each output: copies stand for inputs and for repeated outputs."""
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


def expanded(program: Program, dtypes: Container[Any]) -> Program:
    """`program` with the ops that other ops take the place of written out, where all `dtypes` are right."""
    replaced = {p for p in primitives_of(program) if isinstance(p.lowering, Decomposition | Call)}
    if not replaced:
        return checked(program)
    editor = Editor(program)
    avals = editor.avals
    for op in program.ops:
        form = op.primitive.lowering if op.primitive in replaced else None
        if isinstance(form, Call) and form.otherwise is not None and avals[op.out].dtype not in BLAS:
            form = Decomposition(form.otherwise)
        if isinstance(form, Decomposition) and all(
            avals[slot].dtype in dtypes for slot in (*op.args, op.out)
        ):
            editor.write_out(op, form)
        else:
            editor.ops.append(op)
    return checked(editor.result())


def checked(program: Program) -> Program:
    """`program` with the checks that its ops of the form `CheckedMap` need: one for all that need the same."""
    if not any(isinstance(p.lowering, CheckedMap) for p in primitives_of(program)):
        return program
    program = common_subexpressions_merged(program)
    editor = Editor(program)
    op_of: dict[int, Op] = {}
    here: dict[int, int] = {}
    for op in program.ops:
        op = op._replace(args=tuple([here.get(slot, slot) for slot in op.args]))
        form = op.primitive.lowering
        if not isinstance(form, CheckedMap):
            editor.ops.append(op)
        elif _is_below(op.args[0], dict(op.params)["size"], op_of, editor.avals):
            here[op.out] = op.args[0]
        else:
            editor.write_out(op, form)
        op_of[op.out] = op
    return editor.result()


def _is_below(slot: int, size: int, op_of: Mapping[int, Op], avals: Mapping[int, Aval]) -> bool:
    """Whether integers are known to be from 0 to below `size`: coordinates, and views of them."""
    while slot in op_of and isinstance(op_of[slot].primitive.lowering, View | Alias):
        slot = op_of[slot].args[0]
    op = op_of.get(slot)
    if op is None or not isinstance(op.primitive.lowering, Iota):
        return False
    return avals[slot].shape[dict(op.params)["axis"]] <= size


def sum_before_product(program: Program) -> Program:
    """`program` with sums over the rows of a product taken before the product."""
    if not primitives_of(program).issuperset((sum_op, matmul_op)):
        return program
    editor = Editor(program)
    op_of: dict[int, Op] = {}
    for op in program.ops:
        op_of[op.out] = op
        path = _path_to_product(op, op_of, editor) if op.primitive is sum_op else []
        if not path:
            editor.ops.append(op)
            continue
        x, y = path[-1].args
        shape = editor.avals[x].shape
        total = editor.bind(sum_op, (x,), op, axes=(len(shape) - 2,))
        total = editor.bind(reshape_op, (total,), op, shape=(*shape[:-2], 1, shape[-1]))
        total = editor.bind(matmul_op, (total, y), op)
        for _ in path[:-1]:
            total = editor.bind(negative_op, (total,), op)
        editor.bind(sum_op, (total,), op, op.out, **dict(op.params))
    return editor.result()


def _path_to_product(op: Op, op_of: dict[int, Op], editor: Editor) -> list[Op]:
    """From a sum over rows to a product that nothing else needs, by way of negations; empty if there is none."""
    path: list[Op] = []
    before = op_of.get(op.args[0])
    while before is not None and editor.uses[before.out] == 1:
        path.append(before)
        if before.primitive is not negative_op:
            rows = editor.avals[before.out].ndim - 2
            few = editor.avals[before.out].shape[rows : rows + 1] <= (1,)
            return (
                path if before.primitive is matmul_op and rows in dict(op.params)["axes"] and not few else []
            )
        before = op_of.get(before.args[0])
    return []
