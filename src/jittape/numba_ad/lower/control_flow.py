"""Early `return`, `break` and `continue` as flags and nested branches, on the syntax tree.

A jump that ends a branch moves the statements after the branch into its other side. Where that is not enough, flags
guard the rest. Names with a percent sign cannot clash with those of the user.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

__all__ = [
    "RETURNED",
    "VALUE",
    "always_returns",
    "assigned_names",
    "loaded_names",
    "nodes_of",
    "rebound_names",
    "split_results",
    "without_jumps",
    "without_loop_else",
]

Node = TypeVar("Node", bound=ast.AST)

VALUE, RETURNED = "%value", "%returned"


def without_jumps(body: list[ast.stmt], loops: tuple[str, ...] = ()) -> list[ast.stmt]:
    """Return `body` without jumps; `loops` are the numbers of the enclosing loops, outermost first.

    A loop with jumps gets the attribute ``number``: ``%skip<number>`` ends the iteration, ``%stop<number>`` the loop.
    """
    result: list[ast.stmt] = []
    for position, statement in enumerate(body):
        rest = body[position + 1 :]
        if isinstance(statement, ast.Return):
            value = statement.value or ast.Constant(None)
            result.append(_at(statement, ast.Assign([ast.Name(VALUE, ast.Store())], value)))
            flags = [RETURNED, *[f"%{kind}{loop}" for loop in loops for kind in ("skip", "stop")]]
            return [*result, *[_flag(statement, flag) for flag in flags]]
        if isinstance(statement, ast.Break):
            return [*result, _flag(statement, f"%skip{loops[-1]}"), _flag(statement, f"%stop{loops[-1]}")]
        if isinstance(statement, ast.Continue):
            return [*result, _flag(statement, f"%skip{loops[-1]}")]
        if isinstance(statement, ast.If):
            then, orelse = statement.body, statement.orelse
            if _jumps(then) or _jumps(orelse):
                if _always_jumps(then):
                    orelse, rest = [*orelse, *rest], []
                elif _always_jumps(orelse):
                    then, rest = [*then, *rest], []
            branch = ast.If(statement.test, without_jumps(then, loops), without_jumps(orelse, loops))
            result.append(_at(statement, branch))
            jumps = _jumps(statement.body) or _jumps(statement.orelse)
        elif isinstance(statement, (ast.For, ast.While)):
            number = f"{statement.lineno}_{statement.col_offset}"
            inner = without_jumps(statement.body, (*loops, number))
            if isinstance(statement, ast.For):
                loop: ast.stmt = ast.For(statement.target, statement.iter, inner, [])
            else:
                loop = ast.While(statement.test, inner, [])
            loop.number = number if _jumps(statement.body, inside_loop=False) else None  # type: ignore[attr-defined]
            result.append(_at(statement, loop))
            jumps = _jumps([statement])
        else:
            result.append(statement)
            jumps = False
        if jumps and rest:
            flag = f"%skip{loops[-1]}" if loops else RETURNED
            test = _at(statement, ast.UnaryOp(ast.Not(), _at(statement, ast.Name(flag, ast.Load()))))
            return [*result, _at(statement, ast.If(test, without_jumps(rest, loops), []))]
        if not rest:
            return result
    return result


def without_loop_else(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return `body`, or a copy in which branches after loops do what the ``else`` of the loops did."""
    if not any(isinstance(n, (ast.For, ast.While)) and n.orelse for n in nodes_of(body)):
        return body
    module = _LoopElse().visit(copy.deepcopy(ast.Module(body, [])))
    return list(module.body)


class _LoopElse(ast.NodeTransformer):
    def visit_For(self, loop: ast.For) -> Any:
        return self._loop(loop)

    def visit_While(self, loop: ast.While) -> Any:
        return self._loop(loop)

    def _loop(self, loop: Any) -> Any:
        self.generic_visit(loop)
        orelse, loop.orelse = loop.orelse, []
        if not orelse:
            return loop
        if not _breaks(loop.body):
            return [loop, *orelse]
        flag = f"%broken{loop.lineno}_{loop.col_offset}"
        loop.body = _before_breaks(loop.body, flag)
        ends = _at(loop, ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())))
        return [_flag(loop, flag, False), loop, _at(loop, ast.If(ends, orelse, []))]


def _before_breaks(body: list[ast.stmt], flag: str) -> list[ast.stmt]:
    """Set a flag before each `break` of a loop with this body."""
    result: list[ast.stmt] = []
    for s in body:
        if isinstance(s, ast.If):
            s.body, s.orelse = _before_breaks(s.body, flag), _before_breaks(s.orelse, flag)
        result += [_flag(s, flag), s] if isinstance(s, ast.Break) else [s]
    return result


def nodes_of(trees: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes and all nodes inside except operators and contexts; `ast.walk` takes twice the time."""
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.Name, ast.Constant)):
            continue
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, list):
                waiting += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, (ast.expr, ast.stmt, ast.keyword, ast.arguments)):
                waiting.append(value)


def split_results(tree: ast.AST, body: list[ast.stmt]) -> list[str]:
    """Assign the items of returned tuples in `body` to names of their own, which a loop can carry; return the names.

    All ``return`` statements of the function `tree` must have tuples with the same number of items; otherwise there
    are no names.
    """
    values = [n.value for n in nodes_of([tree]) if isinstance(n, ast.Return)]
    items = [
        v.elts
        for v in values
        if isinstance(v, ast.Tuple) and not any(isinstance(x, ast.Starred) for x in v.elts)
    ]
    if not items or len(items) < len(values) or len({len(one) for one in items}) > 1:
        return []
    names = [f"{VALUE}{i}" for i in range(len(items[0]))]
    for s in (n for n in nodes_of(body) if isinstance(n, ast.Assign)):
        if isinstance(s.targets[0], ast.Name) and s.targets[0].id == VALUE:
            s.targets = [_at(s, ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store()))]
    return names


def _flag(near: ast.stmt, name: str, is_set: bool = True) -> ast.stmt:
    value = ast.copy_location(ast.Constant(is_set), near)
    return _at(near, ast.Assign([ast.Name(name, ast.Store())], value))


def _at(near: ast.AST, node: Node) -> Node:
    return ast.fix_missing_locations(ast.copy_location(node, near))


def _jumps(body: list[ast.stmt], inside_loop: bool = False) -> bool:
    """Return whether a statement can leave `body`; `break` inside an inner loop does not."""
    for statement in body:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, (ast.Break, ast.Continue)) and not inside_loop:
            return True
        if isinstance(statement, ast.If) and (
            _jumps(statement.body, inside_loop) or _jumps(statement.orelse, inside_loop)
        ):
            return True
        if isinstance(statement, (ast.For, ast.While)) and _jumps(statement.body, inside_loop=True):
            return True
    return False


def _always_jumps(body: list[ast.stmt]) -> bool:
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _always_jumps(last.body) and _always_jumps(last.orelse)
    return isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise))


def always_returns(body: list[ast.stmt]) -> bool:
    """Return whether every path through the original `body` ends in a `return` or `raise`."""
    for statement in body:
        if isinstance(statement, (ast.Return, ast.Raise)):
            return True
        if (
            isinstance(statement, ast.If)
            and always_returns(statement.body)
            and always_returns(statement.orelse)
        ):
            return True
        endless = isinstance(statement, ast.While) and isinstance(statement.test, ast.Constant)
        if endless and statement.test.value and not _breaks(statement.body):  # type: ignore[attr-defined]
            return True
    return False


def _breaks(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(s, ast.Break) or (isinstance(s, ast.If) and (_breaks(s.body) or _breaks(s.orelse)))
        for s in body
    )


def assigned_names(body: list[ast.stmt]) -> list[str]:
    """Return the names that `body` assigns, without duplicates."""
    found: set[str] = set()
    for node in nodes_of(body):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                found.add(node.id)
        elif getattr(node, "number", None) is not None:  # a loop with jumps
            found.update((f"%skip{node.number}", f"%stop{node.number}"))  # type: ignore[attr-defined]
    return sorted(found)


def rebound_names(node: ast.stmt, is_resize: Callable[[ast.Assign], bool]) -> set[str]:
    """Return the names that statements inside `node` bind.

    An update such as ``x += 1`` binds no array, and neither does an assignment for which `is_resize` is true.
    """
    names: list[ast.Name] = []
    updated: set[ast.expr] = set()
    for n in nodes_of([node]):
        if isinstance(n, ast.Name):
            names += [n] if isinstance(n.ctx, ast.Store) else []
        elif isinstance(n, ast.AugAssign):
            updated.add(n.target)
        elif isinstance(n, ast.Assign) and is_resize(n):
            updated.add(n.targets[0])
    return {name.id for name in names if name not in updated}


def loaded_names(node: ast.AST) -> dict[str, int]:
    """Return how often each name is read inside `node`."""
    counts: dict[str, int] = {}
    for child in nodes_of([node]):
        name = child.id if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) else None
        if isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
            name = child.target.id
        if name is not None:
            counts[name] = counts.get(name, 0) + 1
    return counts
