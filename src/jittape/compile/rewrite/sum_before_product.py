"""Sums over the rows of a product: the sum of the rows of ``x @ y`` is the sum of the rows of `x`, times `y`.

The product then has one row. The rewrite is exact except for rounding, so it is not a simplification.
"""

from __future__ import annotations

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.program import Op, Program
from jittape.primitives.broadcast import reshape_op

__all__ = ["sum_before_product"]


def sum_before_product(program: Program) -> Program:
    """Return `program` with sums over the rows of a product computed before the product."""
    primitives = primitives_of(program)
    if not any(p.is_sum for p in primitives) or not any(p.is_matmul for p in primitives):
        return program
    editor = Editor(program)
    op_of: dict[int, Op] = {}
    for op in program.ops:
        op_of[op.out] = op
        path = _path_to_product(op, op_of, editor) if op.primitive.is_sum else []
        if not path:
            editor.ops.append(op)
            continue
        x, y = path[-1].args
        shape = editor.avals[x].shape
        rows = {**dict(op.params), "axes": (len(shape) - 2,)}
        total = editor.bind(op.primitive, (x,), op, **rows)
        total = editor.bind(reshape_op, (total,), op, shape=(*shape[:-2], 1, shape[-1]))
        product = path[-1]
        total = editor.bind(product.primitive, (total, y), op, **dict(product.params))
        for scaled in path[:-1]:
            total = editor.bind(scaled.primitive, (total,), op, **dict(scaled.params))
        editor.bind(op.primitive, (total,), op, op.out, **dict(op.params))
    return editor.result()


def _path_to_product(op: Op, op_of: dict[int, Op], editor: Editor) -> list[Op]:
    """Return the ops from a sum over rows back to its product; empty if there is no such product.

    Only the sum uses the product. Between the two are ops that scale one operand, such as negations.
    """
    path: list[Op] = []
    before = op_of.get(op.args[0])
    while before is not None and editor.uses[before.out] == 1:
        path.append(before)
        if len(before.primitive.weights) != 1:
            rows = editor.avals[before.out].ndim - 2
            few = editor.avals[before.out].shape[rows : rows + 1] <= (1,)
            return path if before.primitive.is_matmul and rows in dict(op.params)["axes"] and not few else []
        before = op_of.get(before.args[0])
    return []
