"""Gradients of Cholesky factorizations in the form of their cotangents.

`primitives.linalg.cholesky_rules` explains the forms. The pullback of a sum of cotangents of a factor is the sum of the
pullbacks. Terms from solutions and diagonals have cheap pullbacks, so the gradient of the log-likelihood of a Gaussian
process takes three calls of LAPACK, as by hand. The rewrite is exact except for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.forms import Decomposition, Map
from jittape.core.program import Op, Program
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add, multiply, negative
from jittape.primitives.linalg.cholesky_rules import cholesky_diagonal_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.linalg.triangular import triangular_solve_op
from jittape.primitives.record_parts import constant_of
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.value_classes import NamedTuple

__all__ = ["split_cholesky_cotangents"]


def split_cholesky_cotangents(program: Program) -> Program:
    """Return `program` with the pullbacks of Cholesky factors taken term by term."""
    roles = {p.cholesky_role for p in primitives_of(program)}
    if "solve" in roles:
        program = _share_solutions(program)
    if "pullback" not in roles or roles.isdisjoint(("term", "diagonal", "triangular")):
        return program
    editor = Editor(program)
    op_of = {op.out: op for op in program.ops}
    for op in program.ops:
        parts = _Cotangent(op, op_of, editor).parts if op.primitive.cholesky_role == "pullback" else []
        if any(part.form is not _pullback for part in parts):
            _write_parts(op, parts, editor)
        else:
            editor.ops.append(op)
    return editor.result()


class _Part(NamedTuple):
    """A term of a pullback: ``weight * form(factor, *operands)``; `_pullback` stands for the pullback of any form."""

    weight: float
    form: Callable[..., Any]
    operands: tuple[int, ...]


def _write_parts(op: Op, parts: list[_Part], editor: Editor) -> None:
    """Append the weighted sum of the parts of a pullback; cotangents without a form share one pullback."""
    rest = [part for part in parts if part.form is _pullback]
    cheap = [part for part in parts if part.form is not _pullback]
    operands = dict.fromkeys([op.args[0], *[slot for part in parts for slot in part.operands]])

    def total(*handles: Any) -> Any:
        handle = dict(zip(operands, handles, strict=True))
        factor = handle[op.args[0]]
        values = [_weighted(p.weight, p.form(factor, *[handle[slot] for slot in p.operands])) for p in cheap]
        if rest:
            others = [_weighted(part.weight, handle[part.operands[0]]) for part in rest]
            values.append(_pullback(op, factor, _sum(others)))
        return _sum(values)

    editor.write_out(op._replace(args=tuple(operands), params=()), Decomposition(total))


# ---- terms -----------------------------------------------------------------------------------------------------------


class _Cotangent:
    """The cotangent of a factor, taken apart.

    Attributes
    ----------
    parts : list of _Part
        The pullbacks of its terms.
    """

    def __init__(self, pullback: Op, op_of: dict[int, Op], editor: Editor) -> None:
        self.factor, cotangent = pullback.args
        self.op_of = op_of
        self.editor = editor
        self.parts: list[_Part] = []
        self.solutions: list[tuple[float, int]] = []
        for weight, slot in self._terms(cotangent):
            self._add(weight, slot)
        self._add_solutions()

    def _terms(self, cotangent: int) -> list[tuple[float, int]]:
        """Return the slots whose weighted sum is the cotangent, with their weights."""
        found: list[tuple[float, int]] = []
        waiting = [(1.0, cotangent)]
        while waiting:
            weight, slot = waiting.pop()
            made = self.op_of.get(slot)
            if made is None or not made.primitive.weights or self.editor.uses[slot] > 1:
                found.append((weight, slot))
            else:
                pairs = zip(made.primitive.weights, made.args, strict=True)
                waiting += [(weight * factor, operand) for factor, operand in pairs]
        return found

    def _add(self, weight: float, slot: int) -> None:
        """Add the pullback of a term; terms of triangular solves wait for their partners.

        For small matrices, unrolled solves cost less than LAPACK's routines for a diagonal.
        """
        made = self.op_of.get(slot)
        role = "" if made is None else made.primitive.cholesky_role
        large = self.editor.avals[slot].shape[-1] > tuning.unrolled_lapack_order
        if made is not None and role == "term" and made.args[0] == self.factor:
            self.parts.append(_Part(weight, _outer, made.args[1:]))
        elif made is not None and role == "diagonal" and large:
            self.parts.append(_Part(weight, _diagonal, made.args))
        elif made is not None and role == "triangular" and self._solved(made.args[0]) is not None:
            self.solutions.append((weight, slot))
        else:
            self.parts.append(_Part(weight, _pullback, (slot,)))

    def _solved(self, slot: int) -> int | None:
        """Return the right-hand side of which a slot is the solution with the adjoint of the factor; else None."""
        made = self.op_of.get(slot)
        if made is None or made.primitive.cholesky_role != "triangular solve" or made.args[0] != self.factor:
            return None
        params = dict(made.params)
        return made.args[1] if params["lower"] and params["adjoint"] else None

    def _add_solutions(self) -> None:
        """Add the pullbacks of terms of triangular solves ``-tril(u x^T)`` with ``u = L^-T q``.

        Each is half of ``-L^-T (q x^T) L^-1 = -u (L^-T x)^T`` if that is symmetric: if q is a multiple of x, or
        together with a term where q and x are exchanged.
        """
        waiting: dict[tuple[float, int, int], int] = {}
        for weight, slot in self.solutions:
            u, x = self.op_of[slot].args
            q = self._solved(u)
            assert q is not None
            if self._is_multiple(q, x):
                self.parts.append(_Part(weight, _symmetric, (u, x)))
            elif (weight, x, q) in waiting:
                partner = self.op_of[waiting.pop((weight, x, q))]
                self.parts.append(_Part(weight, _outer, (u, partner.args[0])))
            else:
                waiting[weight, q, x] = slot
        self.parts += [_Part(weight, _pullback, (slot,)) for (weight, _, _), slot in waiting.items()]

    def _is_multiple(self, slot: int, of: int) -> bool:
        """Return whether each matrix of `slot` is known to be a multiple of that of `of`."""
        waiting, seen = [slot], {of}
        while waiting:
            slot = waiting.pop()
            made = self.op_of.get(slot)
            if slot in seen:
                continue
            seen.add(slot)
            if made is None or not isinstance(made.primitive.lowering, Map):
                return False
            if made.primitive.weights:
                waiting += made.args
                continue
            linear = (*made.primitive.linear, *made.primitive.linear_if_finite)
            scaled = [
                i for i in range(len(made.args)) if (i,) in linear and self._is_uniform(made.args[1 - i])
            ]
            if len(made.args) != 2 or not scaled:
                return False
            waiting.append(made.args[scaled[0]])
        return True

    def _is_uniform(self, slot: int) -> bool:
        """Return whether all elements of each matrix of a slot are known to be equal."""
        made = self.op_of.get(slot)
        while made is not None and made.primitive.is_broadcast:
            slot = made.args[0]
            if set(self.editor.avals[slot].shape[-2:]) <= {1}:
                return True
            made = self.op_of.get(slot)
        return constant_of(slot, self.op_of) is not None


# ---- pullbacks -------------------------------------------------------------------------------------------------------


def _sum(values: list[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = add(result, value)
    return result


def _weighted(weight: float, x: Any) -> Any:
    if weight in (1, -1):
        return x if weight == 1 else negative(x)
    return multiply(weight, x)


def _pullback(op: Op, factor: Any, g: Any) -> Any:
    """Return the pullback of a cotangent of any form."""
    return op.primitive.bind(factor, g)


def _outer(factor: Any, u: Any, x: Any) -> Any:
    """Return half of ``-(u x^T + x u^T)``, the pullback of the term from a solution; loops multiply vectors."""
    if u.shape[-1] == 1:
        product = multiply(broadcast(u, factor.shape), broadcast(matrix_transpose(x), factor.shape))
    else:
        product = matmul_op.bind(u, matrix_transpose(x))
    return multiply(-0.5, add(product, matrix_transpose(product)))


def _symmetric(factor: Any, u: Any, x: Any) -> Any:
    """Return half of ``-u (L^-T x)^T``, which is symmetric except for rounding."""
    return multiply(0.5, _outer(factor, u, triangular_solve_op.bind(factor, x, lower=True, adjoint=True)))


def _diagonal(factor: Any, d: Any) -> Any:
    """Return the pullback of a diagonal."""
    return cholesky_diagonal_op.bind(factor, d)


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
