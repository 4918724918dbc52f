"""Decomposition: ops that stand for others are written out, and range checks are added once for all ops."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import partial
from typing import Any

import numpy as np

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.dtypes import BLAS, info_of
from jittape.core.forms import Alias, Call, CheckedMap, Control, Decomposition, Iota, Reduce, View
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op, Program
from jittape.core.simplify import common_subexpressions_merged
from jittape.primitives.broadcast import cast_to
from jittape.primitives.record_parts import constant_of

__all__ = ["decompose"]


def decompose(program: Program, dtypes: Container[Any], counters: Mapping[int, int] | None = None) -> Program:
    """Return `program` with its decompositions written out, where operands and result have one of `dtypes`.

    `counters` has inputs that are integers from 0 to below a limit, by slot.
    """
    counters = counters or {}
    replaced = {p for p in primitives_of(program) if isinstance(p.lowering, Decomposition | Call)}
    if not replaced:
        return _with_checks(_with_wide_reductions(program), counters)
    editor = Editor(program)
    avals = editor.avals
    partners = {p.lowering.beside for p in replaced if isinstance(p.lowering, Decomposition | Call)} - {None}
    present = {(op.primitive, op.args, op.params) for op in program.ops if op.primitive in partners}
    for op in program.ops:
        form = op.primitive.lowering if op.primitive in replaced else None
        if isinstance(form, Call) and form.otherwise is not None:
            shared = (form.beside, op.args, op.params) in present
            if shared or avals[op.out].dtype not in BLAS:
                form = Decomposition(form.otherwise)
        elif isinstance(form, Decomposition) and (form.beside, op.args, op.params) in present:
            assert form.shared is not None
            form = Decomposition(form.shared)
        if isinstance(form, Decomposition) and all(
            avals[slot].dtype in dtypes for slot in (*op.args, op.out)
        ):
            editor.write_out(op, form)
        else:
            editor.ops.append(op)
    result = editor.result()
    # Ops with the same mask find its places once: equal ops of a `Control` primitive would be one run.
    if partners or any(
        isinstance(p.lowering, Control) for p in primitives_of(result) - primitives_of(program)
    ):
        result = common_subexpressions_merged(result)
    return _with_checks(_with_wide_reductions(result), counters)


def _with_wide_reductions(program: Program) -> Program:
    """Return `program` with its reductions in the dtypes that compiled loops compute with."""
    if all(info_of(dtype).arithmetic == dtype for dtype in {a.dtype for a in program.avals.values()}):
        return program
    editor = Editor(program)
    for op in program.ops:
        dtype = program.avals[op.out].dtype
        if isinstance(op.primitive.lowering, Reduce) and info_of(dtype).arithmetic != dtype:
            editor.write_out(op, Decomposition(partial(_in_wider_dtype, op.primitive, dtype)))
        else:
            editor.ops.append(op)
    return editor.result()


def _in_wider_dtype(primitive: Primitive, dtype: np.dtype[Any], x: Any, **params: Any) -> Any:
    return cast_to(primitive.bind(cast_to(x, info_of(dtype).arithmetic), **params), dtype)


def _with_checks(program: Program, counters: Mapping[int, int]) -> Program:
    """Return `program` with the range checks of its `CheckedMap` ops; ops that need the same check share it."""
    if not any(isinstance(p.lowering, CheckedMap) for p in primitives_of(program)):
        return program
    program = common_subexpressions_merged(program)
    editor = Editor(program)
    op_of: dict[int, Op] = {}
    replacement: dict[int, int] = {}
    for op in program.ops:
        op = op._replace(args=tuple([replacement.get(slot, slot) for slot in op.args]))
        form = op.primitive.lowering
        if not isinstance(form, CheckedMap):
            editor.ops.append(op)
        elif _is_below(op.args[0], dict(op.params)["size"], op_of, editor.avals, counters):
            replacement[op.out] = op.args[0]
        else:
            editor.write_out(op, form)
        op_of[op.out] = op
    return editor.result(tuple([replacement.get(slot, slot) for slot in program.outputs]))


def _is_below(
    slot: int, size: int, op_of: Mapping[int, Op], avals: Mapping[int, Aval], counters: Mapping[int, int]
) -> bool:
    """Return whether the integers of a slot are known to be from 0 to below `size`.

    They are if they are coordinates, literals, checked indices or numbers of iterations, or views or copies of these.
    """
    most = size
    while (op := op_of.get(slot)) is not None and (
        isinstance(op.primitive.lowering, View | Alias) or op.primitive.is_identity or op.primitive.is_cast
    ):
        if op.primitive.is_cast:
            if avals[op.out].dtype.kind not in "iu" or avals[op.args[0]].dtype.kind not in "iu":
                return False
            # Larger numbers would change in the cast.
            most = min(most, int(np.iinfo(avals[op.out].dtype).max))
        slot = op.args[0]
    if op is None:
        return slot in counters and bool(counters[slot] <= most)
    if isinstance(op.primitive.lowering, CheckedMap):
        return bool(dict(op.params)["size"] <= most)
    if (value := constant_of(slot, op_of)) is not None:
        return bool(0 <= value < most)
    if not isinstance(op.primitive.lowering, Iota):
        return False
    return bool(avals[slot].shape[dict(op.params)["axis"]] <= most)
