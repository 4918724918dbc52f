"""Gradients of Cholesky factorizations in the form of their cotangents.

`primitives.linalg.cholesky_rules` explains the forms. The pullback of a sum of cotangents of a factor is the sum of the
pullbacks. Terms from solutions and diagonals have cheap pullbacks, so the gradient of the log-likelihood of a Gaussian
process takes three calls of LAPACK, as by hand. The rewrite is exact except for rounding.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.forms import Decomposition, Map
from jittape.core.program import Op, Program
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add, multiply, negative
from jittape.primitives.linalg.cholesky_rules import cholesky_diagonal_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.record_parts import constant_of
from jittape.primitives.shape.reshaping import matrix_transpose

__all__ = ["split_cholesky_cotangents"]


def split_cholesky_cotangents(program: Program) -> Program:
    """Return `program` with the pullbacks of Cholesky factors taken term by term."""
    roles = {p.cholesky_role for p in primitives_of(program)}
    if "solve" in roles:
        program = _share_solutions(program)
    if "pullback" not in roles or roles.isdisjoint(("term", "diagonal")):
        return program
    editor = Editor(program)
    op_of = {op.out: op for op in program.ops}
    for op in program.ops:
        terms = _terms(op, op_of, editor) if op.primitive.cholesky_role == "pullback" else []
        if any(_has_form(term, op, op_of, editor) for _, term in terms):
            _write_terms(op, terms, op_of, editor)
        else:
            editor.ops.append(op)
    return editor.result()


# ---- terms -----------------------------------------------------------------------------------------------------------


def _terms(op: Op, op_of: dict[int, Op], editor: Editor) -> list[tuple[float, int]]:
    """Return the slots whose weighted sum is the cotangent of the factor, with their weights."""
    found: list[tuple[float, int]] = []
    waiting = [(1.0, op.args[1])]
    while waiting:
        weight, slot = waiting.pop()
        made = op_of.get(slot)
        if made is None or not made.primitive.weights or editor.uses[slot] > 1:
            found.append((weight, slot))
        else:
            pairs = zip(made.primitive.weights, made.args, strict=True)
            waiting += [(weight * factor, operand) for factor, operand in pairs]
    return found


def _has_form(slot: int, pullback: Op, op_of: dict[int, Op], editor: Editor) -> bool:
    """Return whether a cotangent of the factor has a cheap pullback.

    For small matrices, unrolled solves cost less than LAPACK's routines for a diagonal.
    """
    made = op_of.get(slot)
    if made is None:
        return False
    if made.primitive.cholesky_role == "term":
        return made.args[0] == pullback.args[0]
    large = editor.avals[slot].shape[-1] > tuning.unrolled_lapack_order
    return large and made.primitive.cholesky_role == "diagonal"


def _write_terms(op: Op, terms: list[tuple[float, int]], op_of: dict[int, Op], editor: Editor) -> None:
    """Append the sum of the pullbacks of all terms; those without a form share one pullback."""
    factor = op.args[0]
    rest = [(weight, slot) for weight, slot in terms if not _has_form(slot, op, op_of, editor)]
    operands, parts = [factor], []
    for weight, slot in terms:
        if (weight, slot) not in rest:
            made = op_of[slot]
            own = made.args[1:] if made.primitive.cholesky_role == "term" else made.args
            parts.append((_outer if len(own) == 2 else _diagonal, weight, len(operands), len(own)))
            operands += own
    first = len(operands)
    operands += [slot for _, slot in rest]

    def total(*handles: Any) -> Any:
        values = [form(weight, handles[0], *handles[at : at + count]) for form, weight, at, count in parts]
        if rest:
            others = [_weighted(weight, x) for (weight, _), x in zip(rest, handles[first:], strict=True)]
            values.append(op.primitive.bind(handles[0], _sum(others)))
        return _sum(values)

    editor.write_out(op._replace(args=tuple(operands), params=()), Decomposition(total))


def _sum(values: list[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = add(result, value)
    return result


def _weighted(weight: float, x: Any) -> Any:
    if weight in (1, -1):
        return x if weight == 1 else negative(x)
    return multiply(weight, x)


def _outer(weight: float, factor: Any, u: Any, x: Any) -> Any:
    """Return the pullback of the term from a solution, half of ``-(u x^T + x u^T)``; loops multiply vectors."""
    if u.shape[-1] == 1:
        product = multiply(broadcast(u, factor.shape), broadcast(matrix_transpose(x), factor.shape))
    else:
        product = matmul_op.bind(u, matrix_transpose(x))
    return multiply(-0.5 * weight, add(product, matrix_transpose(product)))


def _diagonal(weight: float, factor: Any, d: Any) -> Any:
    """Return the pullback of a diagonal."""
    return cholesky_diagonal_op.bind(factor, _weighted(weight, d))


# ---- solutions -------------------------------------------------------------------------------------------------------


def _share_solutions(program: Program) -> Program:
    """Return `program` with the solutions for multiples of right-hand sides as multiples of solutions."""
    editor = Editor(program)
    op_of: dict[int, Op] = {}
    solutions: dict[tuple[int, int], int] = {}
    for op in program.ops:
        op_of[op.out] = op
        if op.primitive.cholesky_role == "solve":
            factor, b = op.args
            scaled = _scaled(op_of.get(b), op_of)
            known = None if scaled is None else solutions.get((factor, scaled[1]))
            if scaled is not None and known is not None:
                product, operand = scaled
                args = tuple([known if slot == operand else slot for slot in product.args])
                editor.bind(product.primitive, args, op, op.out, **dict(product.params))
                continue
            solutions[factor, b] = op.out
        editor.ops.append(op)
    return editor.result()


def _scaled(op: Op | None, op_of: dict[int, Op]) -> tuple[Op, int] | None:
    """Return `op` and the operand that it multiplies by one constant, which is not zero; None if it does not."""
    if op is None or len(op.args) != 2 or not isinstance(op.primitive.lowering, Map):
        return None
    for position in (0, 1):
        linear = (position,) in op.primitive.linear_if_finite
        value = constant_of(op.args[1 - position], op_of)
        if linear and isinstance(value, int | float) and math.isfinite(value) and value != 0:
            return op, op.args[position]
    return None
