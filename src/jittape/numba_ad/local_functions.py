"""Functions and lambdas that an ``@njit`` function defines for itself, on the syntax tree.

Such a function is taken out of the tree, and what it reads of the variables around it becomes keyword arguments of each
call: ``def scaled(u): return c * u`` is called as ``scaled(x, c=c)``. All analyses of names then see these reads.
"""

from __future__ import annotations

import ast

__all__ = ["lift_local_functions"]

_REFUSED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Nonlocal, ast.Global,
)  # fmt: skip
"""Syntax that a local function may not contain."""


def lift_local_functions(tree: ast.FunctionDef) -> dict[str, ast.FunctionDef]:
    """Remove the local functions of a function and return them by name; calls pass what they read.

    Functions remain that are defined in a loop or branch, have decorators or default values, are used as values or
    called with keywords, or read a variable that is assigned after their definition.
    """
    lifted: dict[str, ast.FunctionDef] = {}
    for statement in list(tree.body):
        function = _function(statement)
        if function is None:
            continue
        captured = _captured(function, tree, set(lifted))
        if captured is None:
            continue
        tree.body.remove(statement)
        _PassReads(function.name, captured).visit(tree)  # in later local functions too
        function.args.kwonlyargs = [ast.arg(name) for name in captured]
        function.args.kw_defaults = [None] * len(captured)
        lifted[function.name] = function
    return lifted


def _function(statement: ast.stmt) -> ast.FunctionDef | None:
    """Return the function that a statement defines, also by a lambda; None for other statements."""
    if isinstance(statement, ast.FunctionDef):
        return None if statement.decorator_list else statement
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Lambda):
        return None
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return None
    result = ast.copy_location(ast.Return(statement.value.body), statement)
    function = ast.FunctionDef(target.id, statement.value.args, [result], [])
    return ast.fix_missing_locations(ast.copy_location(function, statement))


def _captured(function: ast.FunctionDef, tree: ast.FunctionDef, lifted: set[str]) -> list[str] | None:
    """Return the variables of `tree` that a local function reads; None if it cannot be lifted."""
    arguments, name = function.args, function.name
    unusual = arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs
    inside = [node for statement in function.body for node in ast.walk(statement)]
    # Numba 0.68 takes the default value of a local function's argument even if a call names the argument.
    if unusual or arguments.defaults or any(isinstance(node, _REFUSED) for node in inside):
        return None
    position = next(k for k, s in enumerate(tree.body) if _defines(s, name))
    earlier = _names(tree.body[:position], ast.Store) | {one.arg for one in tree.args.args}
    later, calls = tree.body[position + 1 :], _called(tree.body[position + 1 :])
    others = {one.name for one in map(_function, tree.body) if one is not None}
    own = _names(function.body, ast.Store) | {one.arg for one in arguments.args}
    read = _names(function.body, ast.Load) - own - lifted
    used = sum(isinstance(n, ast.Name) and n.id == name for s in later for n in ast.walk(s))
    is_bound_once = name not in earlier | _names(later, ast.Store) and used == calls.count(name)
    if not is_bound_once or read & others or read & _names(later, ast.Store):
        return None
    return sorted(read & earlier)


def _defines(statement: ast.stmt, name: str) -> bool:
    function = _function(statement)
    return function is not None and function.name == name


def _names(body: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    """Return the names that statements read or assign."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _called(body: list[ast.stmt]) -> list[str]:
    """Return the names that statements call with arguments by position only."""
    calls = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return [one.func.id for one in calls if isinstance(one.func, ast.Name) and not one.keywords]


class _PassReads(ast.NodeTransformer):
    """Passes variables by keyword in calls of a local function."""

    def __init__(self, function: str, variables: list[str]) -> None:
        self._function, self._variables = function, variables

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Add the keywords to a call."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == self._function:
            for name in self._variables:
                value = ast.copy_location(ast.Name(name, ast.Load()), node)
                node.keywords.append(ast.copy_location(ast.keyword(name, value), node))
        return node
