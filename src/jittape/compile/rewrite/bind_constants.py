"""Specialization of a program to inputs that are the same at every run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jittape.compile.rewrite.program_editor import Editor
from jittape.core.builder import literal_op
from jittape.core.forms import DynamicUpdateSlice, Pad, View
from jittape.core.program import Aval, Op, Program
from jittape.core.symbolic.extents import hint_of
from jittape.errors import ShapeError

__all__ = ["bind_constants"]


def bind_constants(program: Program, values: Mapping[int, float]) -> Program:
    """Return `program` with the inputs in `values` as literals, and known starts of slices as parameters.

    The inputs remain, unused.
    """
    editor = Editor(program)
    known = dict(values)
    literals: dict[int, int] = {}
    for slot, value in values.items():
        # 0.0 == -0.0, and equal parameters make equal ops. An integer extent is not compared: a guard would exclude 0.
        is_negative_zero = type(hint_of(value)) is float and value == 0 and math.copysign(1.0, value) < 0
        number = str(value) if is_negative_zero else value
        out = editor.bind(literal_op, (), None, dtype=editor.avals[slot].dtype, value=number)
        literals[slot], known[out] = out, value
    for op in program.ops:
        if not literals.keys().isdisjoint(op.args):
            op = op._replace(args=tuple([literals.get(slot, slot) for slot in op.args]))
        if isinstance(op.primitive.lowering, View | Pad | DynamicUpdateSlice) and "region" in dict(op.params):
            op = _with_known_starts(op, known, editor.avals)
        editor.ops.append(op)
    return program.replaced(
        tuple(editor.ops), tuple([literals.get(s, s) for s in program.outputs]), editor.avals
    )


def _with_known_starts(op: Op, known: Mapping[int, float], avals: Mapping[int, Aval]) -> Op:
    """Return a slice, pad or update with its known starts as parameters."""
    arrays = 2 if isinstance(op.primitive.lowering, DynamicUpdateSlice) else 1
    params, starts = dict(op.params), op.args[arrays:]
    if not any([slot in known for slot in starts]):
        return op
    params["region"] = params["region"].with_starts([known.get(slot) for slot in starts])
    args = (*op.args[:arrays], *[slot for slot in starts if slot not in known])
    try:
        fits = op.primitive.abstract_eval(*[avals[slot] for slot in args], **params) == avals[op.out]
    except ShapeError:
        return op  # The region begins outside of the array; the run raises the error.
    assert fits, op
    return op._replace(args=args, params=tuple(sorted(params.items())))
