"""Branches of generated code on the same condition, joined before the code is derived again.

A branch that restores arrays and a later one that uses them become one. Then the arrays are local to it, and need not
have sizes that are known before.
"""

from __future__ import annotations

import ast

__all__ = ["join_branches"]

PLAIN = (
    ast.Assign, ast.Name, ast.Tuple, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp,
    ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip
"""Syntax of statements on numbers only, which read and write no memory."""


def join_branches(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements with the same effect in which branches on the same condition are one, where that is possible.

    Statements between the branches run before them if they can, otherwise at the end of both sides of the first one.
    """
    done: list[ast.stmt] = []
    for statement in body:
        earlier = _partner(done, statement) if isinstance(statement, ast.If) else None
        if earlier is None:
            done.append(statement)
            continue
        one, between = done[earlier], done[earlier + 1 :]
        assert isinstance(one, ast.If)
        assert isinstance(statement, ast.If)
        del done[earlier:]
        if _may_precede(between, one):
            done += between
            between = []
        one.body = [*one.body, *between, *statement.body]
        one.orelse = [*one.orelse, *between, *statement.orelse]
        done.append(one)
    for statement in done:
        for name in ("body", "orelse"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                setattr(statement, name, join_branches(inner))
    return done


def _partner(done: list[ast.stmt], statement: ast.If) -> int | None:
    """Return the place of the branch with the condition of `statement` that may be joined with it."""
    if not isinstance(statement.test, ast.Name):
        return None
    condition = statement.test.id
    for place in range(len(done) - 1, -1, -1):
        one = done[place]
        if condition in _names(one)[1]:
            return None
        if isinstance(one, ast.If) and isinstance(one.test, ast.Name) and one.test.id == condition:
            jumps = any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in ast.walk(one))
            return None if jumps else place
        if not (_is_plain(one) or _is_growth(one)):
            return None
    return None


def _may_precede(between: list[ast.stmt], one: ast.If) -> bool:
    """Return whether statements that follow a branch may run before it."""
    own_read, own_written = _names(one)
    names = [_names(statement) for statement in between]
    return all(
        own_written.isdisjoint(read | written) and written.isdisjoint(own_read) for read, written in names
    )


def _is_plain(statement: ast.stmt) -> bool:
    return all(isinstance(n, PLAIN) for n in ast.walk(statement))


def _is_growth(statement: ast.stmt) -> bool:
    """Return whether a statement enlarges a stack."""
    call = getattr(statement, "value", None)
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "reserve"


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement reads and those that it binds."""
    nodes = list(ast.walk(statement))
    names = [n for n in nodes if isinstance(n, ast.Name)]
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    updated = {n.target.id for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    return {n.id for n in names if isinstance(n.ctx, ast.Load)} | updated, bound
