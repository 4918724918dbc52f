"""The source, the names and the arguments of a user's function."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from jittape.errors import NoGradientError

__all__ = ["NamedItems", "PythonObject", "Source", "read_source"]


@dataclass(frozen=True)
class PythonObject:
    """An object that is known when the gradient is derived: a function, a module, a dtype, None, a string."""

    value: Any


class NamedItems(tuple[Any, ...]):
    """The lowered items of a named tuple; `kind` is its class."""

    kind: Any

    @classmethod
    def of(cls, kind: Any, items: Any) -> NamedItems:
        """Return a named tuple with these items."""
        found = cls(items)
        found.kind = kind
        return found


@dataclass(frozen=True)
class Source:
    """A function with its syntax tree; line numbers are those of the file."""

    function: Any
    tree: ast.FunctionDef
    file: str
    lines: list[str]
    parallel: bool

    def text(self, line: int) -> str:
        """Return a line of the file."""
        return self.lines[line - self.first] if 0 <= line - self.first < len(self.lines) else ""

    @property
    def first(self) -> int:
        """Number of the first line."""
        return int(self.function.__code__.co_firstlineno)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters."""
        return [argument.arg for argument in self.tree.args.args]

    def lookup(self, name: str) -> Any:
        """Return the object of a name that is not local; raise KeyError without one."""
        code = self.function.__code__
        if name in code.co_freevars:
            return self.function.__closure__[code.co_freevars.index(name)].cell_contents
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return vars(builtins)[name]


def read_source(function: Any, purpose: str) -> Source:
    """Read an ``@njit`` function; raise NoGradientError for one without source text or with unusual parameters."""
    python = function.py_func
    name = python.__name__
    try:
        lines, first = inspect.getsourcelines(python)
    except (OSError, TypeError):
        raise NoGradientError(
            f"{purpose}: the source text of {name} is not available. Define the function in a file or in a notebook "
            "cell"
        ) from None
    file = inspect.getsourcefile(python) or "<unknown>"
    where = f"{purpose}: {file}:{first}: `{name}`"
    try:
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:
        tree = None  # a lambda inside another expression
    # The lines of a lambda in a decorator are those of the decorated function.
    if not isinstance(tree, ast.FunctionDef) or tree.name != python.__code__.co_name:
        raise NoGradientError(f"{where}: only functions written with `def` have gradients. Use `def`")
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise NoGradientError(
            f"{where}: *args, **kwargs and special parameters are not supported. Name each argument"
        )
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            raise NoGradientError(f"{where}: a generator has no gradient. Return the values in an array")
    ast.increment_lineno(tree, first - 1)
    return Source(python, tree, file, lines, bool(function.targetoptions.get("parallel")))
