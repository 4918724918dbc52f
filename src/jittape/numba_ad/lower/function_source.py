"""The source, the names and the arguments of a user's function."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import re
import textwrap
import types
import weakref
from dataclasses import dataclass, field
from typing import Any

from jittape.errors import NoGradientError
from jittape.numba_ad.local_functions import lift_local_functions
from jittape.numba_ad.lower.joined_branches import join_branches
from jittape.numba_ad.structured_ir import Where

__all__ = ["MissingResult", "NamedItems", "PythonObject", "Source", "read_source"]


_SHOWN_LINE = re.compile(r"\s*# (?:(\S+):)?(\d+): (.*)")
"""A comment of generated code."""


@dataclass(frozen=True)
class PythonObject:
    """An object that is known when the gradient is derived: a function, a module, a dtype, None, a string."""

    value: Any


@dataclass(frozen=True)
class MissingResult:
    """A result of a library function that must not be read, why, and what replaces it."""

    reason: str
    way_out: str


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
    """A function with its syntax tree; line numbers are those of the file.

    `local_functions` are the functions that it defines for itself, which the tree does not contain.
    """

    function: Any
    tree: ast.FunctionDef
    file: str
    lines: list[str]
    parallel: bool
    local_functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def where(self, line: int, text: str | None = None) -> Where:
        """Return the place of a line with its text; the line of the user's function that generated code is for."""
        place = line - self.first
        if text is None:
            text = self.lines[place] if 0 <= place < len(self.lines) else ""
        user = _user_function(self.function)
        if user is self.function:
            return Where(self.file, line, text)
        for above in reversed(self.lines[: place + 1]):
            shown = _SHOWN_LINE.match(above)
            if shown is not None:
                return Where(shown[1] or user.__code__.co_filename, int(shown[2]), shown[3])
        return Where(user.__code__.co_filename, user.__code__.co_firstlineno, f"def {user.__code__.co_name}")

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


@dataclass(frozen=True)
class _Read:
    """Source of a function at its first reading; the file may have changed since."""

    code: types.CodeType
    is_derived: bool
    tree: ast.FunctionDef
    file: str
    lines: list[str]
    local_functions: dict[str, ast.FunctionDef]


_READ: weakref.WeakKeyDictionary[Any, _Read] = weakref.WeakKeyDictionary()
"""Functions that were read. Their trees are not changed; a gradient reads each several times, at 3 ms a function."""


def _user_function(python: Any) -> Any:
    """Return the Python function that the user wrote, of one that was derived from it, perhaps repeatedly."""
    while hasattr(python, "derived_from"):
        function = python.derived_from
        while not hasattr(function, "py_func"):  # a gradient
            function = function.function
        python = function.py_func
    return python


def read_source(function: Any, purpose: str) -> Source:
    """Read an ``@njit`` function; raise NoGradientError for one without source text or with unusual parameters."""
    python = function.py_func
    parallel = bool(function.targetoptions.get("parallel"))
    known = _READ.get(python)
    if (
        known is not None
        and known.code is python.__code__
        and known.is_derived == hasattr(python, "derived_from")
    ):
        return Source(python, known.tree, known.file, known.lines, parallel, known.local_functions)
    try:
        lines, first = inspect.getsourcelines(python)
    except (OSError, TypeError):
        raise NoGradientError(
            f"{purpose}: the source text of {python.__name__} is not available. Define the function in a file or in a "
            "notebook cell"
        ) from None
    file = inspect.getsourcefile(python) or "<unknown>"
    name = python.__name__
    where = f"{purpose}: {file}:{first}: `{name}`"
    tree = _definition(lines)
    # The lines of a lambda in a decorator are those of the decorated function.
    if python.__code__.co_name == "<lambda>":
        raise NoGradientError(f"{where}: only functions written with `def` have gradients. Use `def`")
    if tree is None or tree.name != python.__code__.co_name or not _has_code(tree, python):
        raise NoGradientError(
            f"{where}: the lines there are not the source of the function, because the file has changed since Python "
            "read it. Reload the module or start Python again"
        )
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise NoGradientError(
            f"{where}: *args, **kwargs and special parameters are not supported. Name each argument"
        )
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            raise NoGradientError(f"{where}: a generator has no gradient. Return the values in an array")
    ast.increment_lineno(tree, first - 1)
    is_derived = hasattr(python, "derived_from")
    if is_derived:
        tree.body = join_branches(tree.body)
    local_functions = lift_local_functions(tree)
    _READ[python] = _Read(python.__code__, is_derived, tree, file, lines, local_functions)
    return Source(python, tree, file, lines, parallel, local_functions)


def _definition(lines: list[str]) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent("".join(lines))).body
    except SyntaxError:  # a lambda inside another expression
        return None
    return tree[0] if tree and isinstance(tree[0], ast.FunctionDef) else None


def _has_code(tree: ast.FunctionDef, python: Any) -> bool:
    """Return whether Python compiles a definition to the code of a function; line numbers may differ."""
    code = python.__code__
    free = code.co_freevars
    outer = f"def outer({', '.join(free)}):\n    {'pass' if tree.name in free else f'global {tree.name}'}\n"
    # Python compiles calls of functions of modules that the file imports in another way.
    imported = [name for name in code.co_names if isinstance(python.__globals__.get(name), types.ModuleType)]
    module = ast.parse("".join(f"import {name}\n" for name in imported) + outer)
    module.body[-1].body.append(tree)  # type: ignore[attr-defined]
    compiled = compile(module, code.co_filename, "exec", dont_inherit=True)
    for name in ("outer", tree.name):
        compiled = next(c for c in compiled.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    return _content(compiled) == _content(code) or _instructions(compiled) == _instructions(code)


def _content(code: types.CodeType) -> Any:
    constants = [_content(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars


def _constant(value: Any) -> Any:
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _instructions(code: types.CodeType) -> Any:
    """Return the instructions in a form that does not depend on what the file imports."""
    kept = [
        one
        for one in dis.get_instructions(code)
        if one.opname not in ("PUSH_NULL", "CACHE", "PRECALL", "NOP")
    ]
    places = {one.offset: place for place, one in enumerate(kept)}
    found = []
    for one in kept:
        value: Any = one.argval
        if isinstance(value, types.CodeType):
            value = _instructions(value)
        elif one.opname.startswith(("JUMP", "POP_JUMP", "FOR_ITER", "SEND")):
            value = next((places[at] for at in range(value, value + 200, 2) if at in places), None)
        else:
            value = _constant(value)
        found.append((one.opname.replace("LOAD_METHOD", "LOAD_ATTR"), value))
    return found
