"""Texts of extents that are only printed, as by ``print("tracing", x.shape)``, so that no value depends on them."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from functools import lru_cache
from types import CodeType, FrameType

from jittape.core.user_calls import is_of_user

__all__ = ["is_only_printed"]

_REPRESENTATIONS = frozenset(("__repr__", "__str__"))
_TEXTS = frozenset(("print", "str", "repr", "format"))
"""Functions whose results contain the texts of their arguments."""
_KEYWORDS = frozenset(("sep", "end", "flush"))
_PARTS = (
    ast.Attribute,
    ast.BinOp,
    ast.Constant,
    ast.List,
    ast.Name,
    ast.Slice,
    ast.Starred,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
    ast.expr_context,
    ast.keyword,
    ast.operator,
    ast.unaryop,
)
"""Parts of expressions that keep no text."""
_PARTS_WITH_TEXTS = (*_PARTS, ast.FormattedValue, ast.JoinedStr)


def is_only_printed() -> bool:
    """Return whether the user's running line is a call of `print` and asks for a text that nothing else can see."""
    frame: FrameType | None = sys._getframe(2)
    called = ""
    while frame is not None and not is_of_user(frame):
        called, frame = frame.f_code.co_name, frame.f_back
    if frame is None or (called and called not in _REPRESENTATIONS):
        return False
    names = [name for name in _TEXTS if name in frame.f_locals or name in frame.f_globals]
    return (
        not names
        and frame.f_builtins.get("print") is builtins.print
        and _prints(frame.f_code, frame.f_lineno)
    )


@lru_cache(maxsize=256)
def _prints(code: CodeType, line: int) -> bool:
    """Return whether the statement at `line` of a function does nothing but print."""
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return False
    line -= max(first, 1) - 1
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    return bool(found) and all([_is_print(node) for node in found if not hasattr(node, "body")])


def _is_print(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "print":
        return False
    return all([keyword.arg in _KEYWORDS for keyword in call.keywords]) and _keeps_no_text(call)


def _keeps_no_text(node: ast.AST) -> bool:
    """Return whether only the result of an expression can contain a text that it makes."""
    if not isinstance(node, ast.Call):
        return isinstance(node, _PARTS_WITH_TEXTS) and all(map(_keeps_no_text, ast.iter_child_nodes(node)))
    if _is_text_function(node.func):
        return all(map(_keeps_no_text, [*node.args, *node.keywords]))
    return all(map(_makes_no_text, ast.walk(node)))


def _is_text_function(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _TEXTS
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant)


def _makes_no_text(node: ast.AST) -> bool:
    """Return whether a part of an argument of another function, which may keep its arguments, makes no text."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if name in _TEXTS or name.startswith("__") or isinstance(node, ast.Mod):
        return False
    return isinstance(node, (*_PARTS, ast.Call))
