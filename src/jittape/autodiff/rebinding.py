"""Search of the user's source for a statement that binds a watched name to a new tensor, as ``w = w - rate * g``.

Such a loop runs, but its second step differentiates with respect to a tensor that no tape watches. The search uses
names and source of the running code, and runs only for the diagnostics of a gradient that is None.
"""

from __future__ import annotations

import ast
import linecache
import sys
import textwrap
from collections.abc import Mapping
from functools import lru_cache
from types import FrameType
from typing import Any

from jittape.core.program import SourceLine
from jittape.core.user_calls import is_of_user

__all__ = ["rebinding_of"]

_FRAMES = 8
"""Maximum number of the user's frames that are searched, innermost first."""


def rebinding_of(value: Any) -> str:
    """Return a sentence about the statement that computes a name of `value` from itself; empty if there is none.

    A name of `value` is bound to the tensor or to a list, tuple or dictionary that contains it.
    """
    frame, left = sys._getframe(1), _FRAMES
    while frame is not None and left:
        if is_of_user(frame):
            left -= 1
            for name in _names_of(value, {**frame.f_globals, **frame.f_locals}):
                found = _rebinding(frame, name)
                if found is not None:
                    line, text = found
                    where = SourceLine(frame.f_code.co_filename, line, frame.f_code.co_name).place
                    return (
                        f"; {where}, `{text}`, gives the name {name!r} to a new tensor, which no tape watches: keep a "
                        "jt.Variable and change its value with assign_sub, or watch the tensor in each step"
                    )
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _names_of(value: Any, scope: Mapping[str, Any]) -> list[str]:
    return [name for name, found in scope.items() if _holds(found, value)]


def _holds(found: Any, value: Any) -> bool:
    if isinstance(found, (list, tuple)):
        return any(item is value for item in found)
    if type(found) is dict:
        return any(item is value for item in found.values())
    return found is value


def _rebinding(frame: FrameType, name: str) -> tuple[int, str] | None:
    """Return the statement of the running function that binds `name` anew, the next one to run in a loop."""
    code, now = frame.f_code, frame.f_lineno
    last = max([line for _, _, line in code.co_lines() if line], default=now)
    own = [found for found in _rebindings(code.co_filename, name) if code.co_firstlineno <= found[0] <= last]
    return min(
        own, key=lambda found: (found[0] < now, found[0] if found[0] >= now else -found[0]), default=None
    )


@lru_cache(maxsize=64)
def _rebindings(file: str, name: str) -> tuple[tuple[int, str], ...]:
    """Return the statements of a file, by line and text, that assign to `name` an expression with `name` in it."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if (isinstance(node, ast.AugAssign) and _mentions(node.target, name)) or (
            isinstance(node, ast.Assign)
            and any(_mentions(target, name) for target in node.targets)
            and _mentions(node.value, name)
        ):
            found.append((node.lineno, textwrap.shorten(ast.unparse(node), 80)))
    return tuple(found)


def _mentions(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
