"""Names of arrays, also in tuples: which ones are read later, and which memory has one name only."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from jittape.numba_ad.lower.function_source import NamedItems
from jittape.numba_ad.structured_ir import Array, Constant, Root, Value

__all__ = ["TupleItems", "is_live", "is_shared", "tuple_items", "tuple_shape"]


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


class TupleItems:
    """Names for the items of tuples, ``name.0``, while the variables of two places are compared.

    Parameters
    ----------
    tuples : dict
        Names of tuples, and what these are made of.
    """

    def __init__(self, tuples: dict[str, Any]) -> None:
        self.tuples = tuples

    @classmethod
    def common(cls, one: dict[str, Any], other: dict[str, Any]) -> TupleItems:
        """Return those of the tuples with arrays that two sets of variables have, made of the same."""
        found = {}
        for name, value in one.items():
            if isinstance(value, tuple) and value is not other.get(name) and any(_roots(value)):
                shape = tuple_shape(value)
                if tuple_shape(other.get(name)) == shape:
                    found[name] = shape
        return cls(found)

    def names(self, names: Iterable[str]) -> list[str]:
        """Return names, those of items in place of those of tuples."""
        items = {name: list(tuple_items(name, shape)) for name, shape in self.tuples.items()}
        return [item for name in names for item in items.get(name, [name])]

    def split(self, variables: dict[str, Any]) -> dict[str, Any]:
        """Return variables, items in place of tuples."""
        found = dict(variables)
        for name, shape in self.tuples.items():
            value = found.pop(name, None)
            if isinstance(value, tuple):
                found.update(tuple_items(name, shape, value))
        return found

    def join(self, variables: dict[str, Any]) -> None:
        """Put the tuples in place of their items."""
        for name, shape in self.tuples.items():
            variables[name] = _joined(name, shape, variables)
            for item in tuple_items(name, shape):
                variables.pop(item, None)


def tuple_shape(value: Any) -> Any:
    """Return what a tuple is made of: "number", "array", another object, or a pair of its class and its items."""
    if isinstance(value, tuple):
        return getattr(value, "kind", None), [tuple_shape(item) for item in value]
    return (
        "array" if isinstance(value, Array) else "number" if isinstance(value, (Constant, Value)) else value
    )


def tuple_items(name: str, shape: Any, value: Any = None) -> dict[str, Any]:
    """Return the names of the numbers and arrays of a tuple, with their values if it is given."""
    if isinstance(shape, tuple):
        found: dict[str, Any] = {}
        for position, part in enumerate(shape[1]):
            found |= tuple_items(f"{name}.{position}", part, None if value is None else value[position])
        return found
    return {name: value} if shape in ("array", "number") else {}


def _joined(name: str, shape: Any, variables: dict[str, Any]) -> Any:
    if isinstance(shape, tuple):
        items = [_joined(f"{name}.{position}", part, variables) for position, part in enumerate(shape[1])]
        return tuple(items) if shape[0] is None else NamedItems.of(shape[0], items)
    return variables.get(name) if shape in ("array", "number") else shape
