"""Rules that users give to functions which are not looked into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["UserRule", "add_rule", "rule_of"]


@dataclass(frozen=True)
class UserRule:
    """A function of scalars with the derivative that its user gave; the parts are those of `scalar_rules.Rule`."""

    name: str
    template: str
    function: Any
    vjp: Any
    count: int

    @property
    def partials(self) -> tuple[str, ...]:
        """Texts of the cotangents of the operands."""
        operands = ", ".join(f"{{{i}}}" for i in range(self.count))
        call = f"{self.vjp_name}({{g}}, {{r}}, {operands})"
        return (call,) if self.count == 1 else tuple([f"{call}[{i}]" for i in range(self.count)])

    @property
    def vjp_name(self) -> str:
        """Name of the derivative in the generated code."""
        return f"{self.name}_vjp"


_RULES: dict[Any, UserRule] = {}


def add_rule(function: Any, vjp: Any, count: int) -> None:
    """Give `function` a derivative."""
    name = f"rule_{len(_RULES)}_{function.__name__}"
    operands = ", ".join(f"{{{i}}}" for i in range(count))
    _RULES[function] = UserRule(name, f"{name}({operands})", function, vjp, count)


def rule_of(function: Any) -> UserRule | None:
    """Return the rule of a function; None without one."""
    try:
        return _RULES.get(function)
    except TypeError:
        return None
