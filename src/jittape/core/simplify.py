"""Passes that make a program smaller without changing what it computes.

`simplify` runs them in order and checks the program after each. The rewrites are exact: they keep nans, infinities,
signs of zeros and rounding.
"""

from __future__ import annotations

from collections.abc import Callable

from jittape.core.program import Op, Program, check, dead_code_removed

__all__ = ["PASSES", "common_subexpressions_merged", "identities_removed", "simplify"]


def simplify(program: Program) -> Program:
    """Return the program after all passes, checking it before and after each of them."""
    check(program)
    for rewrite in PASSES:
        program = check(rewrite(program), program)
    return program


def common_subexpressions_merged(program: Program) -> Program:
    """Compute equal ops on equal arguments once. Primitives are pure, so equal keys mean equal values."""
    seen: dict[object, int] = {}
    replacement: dict[int, int] = {}
    ops: list[Op] = []
    renamed = replacement.keys()
    for op in program.ops:
        if not renamed.isdisjoint(op.args):
            op = op._replace(args=tuple([replacement.get(slot, slot) for slot in op.args]))
        first = seen.setdefault(op.key, op.out)
        if first == op.out:
            ops.append(op)
        else:
            replacement[op.out] = first
    outputs = tuple([replacement.get(slot, slot) for slot in program.outputs])
    return program.replaced(tuple(ops), outputs, program.avals)


def identities_removed(program: Program) -> Program:
    """Drop ops that their own record declares to be the identity for these arguments (`Primitive.simplified`)."""
    replacement: dict[int, int] = {}
    producers: dict[int, Op] = {}
    ops: list[Op] = []
    renamed = replacement.keys()
    for op in program.ops:
        if not renamed.isdisjoint(op.args):
            op = op._replace(args=tuple([replacement.get(slot, slot) for slot in op.args]))
        rule = op.primitive.simplified
        same_as = None if rule is None else rule(op, producers)
        if same_as is not None and program.avals[same_as] == program.avals[op.out]:
            replacement[op.out] = same_as
        else:
            producers[op.out] = op
            ops.append(op)
    outputs = tuple([replacement.get(slot, slot) for slot in program.outputs])
    return program.replaced(tuple(ops), outputs, program.avals)


PASSES: tuple[Callable[[Program], Program], ...] = (
    dead_code_removed,
    identities_removed,
    common_subexpressions_merged,
    dead_code_removed,
)
