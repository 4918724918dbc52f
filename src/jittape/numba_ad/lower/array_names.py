"""Names of arrays: which ones are read later, and which memory has one name only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from jittape.numba_ad.structured_ir import Array, Root

__all__ = ["is_live", "is_shared"]


def is_live(frame: Any, name: str) -> bool:
    """Return whether a statement after the current one may read `name` before it is bound again.

    ``name.0`` is an item of a tuple that a loop carries.
    """
    if name.startswith("%"):
        return True
    name = name.partition(".")[0]
    for statements in reversed(frame.ahead):
        use = _first_use(statements, name)
        if use is not None:
            return use == "read"
    return False


def is_shared(frame: Any, root: Root, name: str) -> bool:
    """Return whether memory is that of an argument, or a name other than `name` that may be read later refers to it."""
    if root.block is None or root.origins:
        return True
    for other, value in frame.variables.items():
        if other != name and root in _roots(value) and is_live(frame, other):
            return True
    outer = frame.outer
    while outer is not None:
        if any(root in _roots(value) for value in outer.variables.values()):
            return True
        outer = outer.outer
    return False


def _roots(value: Any) -> Iterator[Root]:
    if isinstance(value, Array):
        yield value.root
    elif isinstance(value, tuple):
        for item in value:
            yield from _roots(item)


def _first_use(statements: list[ast.stmt], name: str) -> str | None:
    """Return "read" if `statements` may read a name first, "bound" if they bind it first on all paths, else None."""
    for statement in statements:
        use = _use(statement, name)
        if use is not None:
            return use
    return None


def _use(statement: ast.stmt, name: str) -> str | None:
    if isinstance(statement, ast.If):
        if _reads(statement.test, name):
            return "read"
        uses = [_first_use(body, name) for body in (statement.body, statement.orelse)]
        return "read" if "read" in uses else "bound" if uses == ["bound", "bound"] else None
    if isinstance(statement, (ast.For, ast.While)):
        head = statement.iter if isinstance(statement, ast.For) else statement.test
        read = _reads(head, name) or _first_use(statement.body, name) == "read"
        return "read" if read else None
    if _reads(statement, name):
        return "read"
    return "bound" if any(_is_name(n, name, ast.Store) for n in ast.walk(statement)) else None


def _reads(node: ast.AST, name: str) -> bool:
    return any(
        _is_name(n, name, ast.Load) or (isinstance(n, ast.AugAssign) and _is_name(n.target, name, ast.Store))
        for n in ast.walk(node)
    )


def _is_name(node: ast.AST, name: str, context: type[ast.expr_context]) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, context)
