"""`ExpressionWriter`: nested data with varying numbers as the text of a Python expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["ExpressionWriter"]


class ExpressionWriter:
    """Writer of Python expressions for values that contain varying numbers. An object is built once.

    Parameters
    ----------
    varying : callable
        Returns the expression of a varying number; None for another value.

    Attributes
    ----------
    lines : list of str
        Assignments that come before the expression.
    constants : dict
        Values by the names that the expressions use.
    """

    def __init__(self, varying: Callable[[Any], str | None]) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._varying = varying
        self._known: dict[int, tuple[Any, str, bool]] = {}

    def text(self, value: Any) -> str:
        """Return the expression of `value`."""
        return self._written(value)[0]

    def _written(self, value: Any) -> tuple[str, bool]:
        """Return the expression of `value`, and whether it varies."""
        known = self._known.get(id(value))
        if known is None:
            text, varies = self._expression(value)
            if varies and self._varying(value) is None:
                self.lines.append(f"o{len(self.lines)} = {text}")
                text = f"o{len(self.lines) - 1}"
            if not varies:
                text = f"k{len(self.constants)}"
                self.constants[text] = value
            known = self._known[id(value)] = value, text, varies
        return known[1], known[2]

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
        if is_dataclass(value) and not isinstance(value, type):
            items = [self._written(getattr(value, f.name)) for f in fields(value)]
            inner = ", ".join([text for text, _ in items])
            return f"{self._class(value)}({inner})", any([varies for _, varies in items])
        return "", False

    def _class(self, value: Any) -> str:
        name = f"c_{type(value).__name__}"
        self.constants[name] = type(value)
        return name
