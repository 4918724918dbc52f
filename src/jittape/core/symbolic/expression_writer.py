"""`ExpressionWriter`: nested data with varying numbers as the text of a Python expression; functions of such texts."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from jittape.core.program import Body

__all__ = ["COMPARISONS", "OPERATORS", "ExpressionWriter", "guarded_function"]

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}

_ATOM = re.compile(r"\bt(\d+)\b")


class ExpressionWriter:
    """Writer of Python expressions for values that contain varying numbers. An object is built once.

    Parameters
    ----------
    varying : callable
        Returns the expression of a varying number; None for another value. It may add to `lines`.
    lines : list of str
        Assignments that come before the expression; the writer adds to them.

    Attributes
    ----------
    constants : dict
        Values by the names that the expressions use.
    """

    def __init__(self, varying: Callable[[Any], str | None], lines: list[str]) -> None:
        self.lines = lines
        self.constants: dict[str, Any] = {}
        self._varying = varying
        self._known: dict[int, tuple[Any, str, bool]] = {}
        self._named: dict[str, str] = {}

    def text(self, value: Any) -> str:
        """Return the expression of `value`."""
        return self._written(value)[0]

    def _written(self, value: Any) -> tuple[str, bool]:
        """Return the expression of `value`, and whether it varies."""
        known = self._known.get(id(value))
        if known is None:
            text, varies = self._expression(value)
            if varies and self._varying(value) is None:
                text = self._name_of(value, text)
            if not varies:
                text = f"k{len(self.constants)}"
                self.constants[text] = value
            known = self._known[id(value)] = value, text, varies
        return known[1], known[2]

    def _name_of(self, value: Any, text: str) -> str:
        """Return the name of an object that varies. Equal tuples, such as avals, are built once."""
        known = self._named.get(text) if isinstance(value, tuple) else None
        if known is None:
            known = self._named[text] = f"o{len(self.lines)}"
            self.lines.append(f"{known} = {text}")
        return known

    def _expression(self, value: Any) -> tuple[str, bool]:
        own = self._varying(value)
        if own is not None:
            return own, True
        if isinstance(value, tuple):
            items = [self._written(item) for item in value]
            inner = f"({''.join([text + ', ' for text, _ in items])})"
            if hasattr(value, "_fields"):
                self.constants["new"] = tuple.__new__  # takes half the time of `_make`
                inner = f"new({self._class(value)}, {inner})"
            return inner, any([varies for _, varies in items])
        if type(value) is dict:
            pairs = [(self._written(k)[0], *self._written(v)) for k, v in value.items()]
            return f"{{{', '.join([f'{k}: {v}' for k, v, _ in pairs])}}}", any(
                [varies for *_, varies in pairs]
            )
        if isinstance(value, Body):
            text, varies = self._written(value.program)
            self.constants["body"] = Body.of  # follows from a body that was checked
            return f"body({text}, True)", varies
        if hasattr(type(value), "__dataclass_fields__"):
            from dataclasses import fields  # no op of most programs has such a parameter

            items = [self._written(getattr(value, f.name)) for f in fields(value)]
            inner = ", ".join([text for text, _ in items])
            return f"{self._class(value)}({inner})", any([varies for _, varies in items])
        return "", False

    def _class(self, value: Any) -> str:
        name = f"c_{type(value).__name__}"
        self.constants[name] = type(value)
        return name


def guarded_function(
    variables: Sequence[str],
    atoms: Sequence[str],
    tests: Sequence[str],
    results: Sequence[str],
    names: dict[str, Any],
    kind: type,
    of_kind: dict[str, Any],
) -> Callable[..., Any]:
    """Return a function of `variables` that returns the last of `results`, or None if a test fails.

    Parameters
    ----------
    variables : sequence of str
    atoms : sequence of str
        Assignments to ``t<number>``, whose numbers follow those of the variables.
    tests : sequence of str
        Conditions.
    results : sequence of str
        Assignments, and an expression.
    names : dict
        Values by the names that the texts use.
    kind : type
        Another type of variables.
    of_kind : dict
        The values by name for such variables, if they differ from those in `names`.
    """
    *lines, value = results
    tested = _lines_with(len(variables), atoms, tests, results)
    source = "\n".join(
        [
            f"def instantiate({', '.join(variables)}):",
            *[f"    if {v}.__class__ is kind: return of_kind({', '.join(variables)})" for v in variables[:1]],
            "    try:",
            *[f"        {line}" for line in tested or ["pass"]],
            "    except (ArithmeticError, ValueError):",
            "        return None",
            *[f"    {line}" for line in lines],
            f"    return {value}",
        ]
    )
    found = dict(names)
    exec(source, found)
    made: Any = found["instantiate"]
    # The same code with other names: plain numbers, which most calls have, need not be tested for extents.
    found.update(kind=kind, of_kind=FunctionType(made.__code__, {**found, **of_kind, "kind": None}))
    result: Callable[..., Any] = made
    return result


def _lines_with(first: int, atoms: Sequence[str], tests: Sequence[str], results: Sequence[str]) -> list[str]:
    """Return the lines of the atoms that are needed, each followed by the tests that it makes possible."""
    last = [max(map(int, _ATOM.findall(test)), default=first - 1) for test in tests]
    needed = set(map(int, _ATOM.findall(" ".join([*tests, *results]))))
    for number in range(first + len(atoms) - 1, first - 1, -1):
        if number in needed:
            needed.update(map(int, _ATOM.findall(atoms[number - first])))
    lines: list[str] = []
    for number in [first - 1, *sorted(number for number in needed if number >= first)]:
        if number >= first:
            lines.append(atoms[number - first])
        ready = [test for test, at in zip(tests, last, strict=True) if at == number]
        if ready:
            lines += [f"if not ({' and '.join(ready)}):", "    return None"]
    return lines
