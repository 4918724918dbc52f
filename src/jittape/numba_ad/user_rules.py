"""Rules that users give to functions which are not looked into."""

from __future__ import annotations

import re
from typing import Any

from jittape.value_classes import value_class

__all__ = ["ArrayRule", "UserRule", "add_rule", "rule_of"]


@value_class
class UserRule:
    """A function of scalars with the derivative that its user gave; the parts are those of `scalar_rules.Rule`.

    `passive` has the numbers of the operands without a derivative.
    """

    name: str
    template: str
    function: Any
    vjp: Any
    count: int
    jvp: Any = None
    passive: tuple[int, ...] = ()

    @property
    def partials(self) -> tuple[str | None, ...]:
        """Texts of the cotangents of the operands."""
        operands = ", ".join(f"{{{i}}}" for i in range(self.count))
        call = f"{self.vjp_name}({{g}}, {{r}}, {operands})"
        if self.count == 1:
            return (call,)
        return tuple([None if i in self.passive else f"{call}[{i}]" for i in range(self.count)])

    @property
    def vjp_name(self) -> str:
        """Name of the derivative in the generated code."""
        return f"{self.name}_vjp"

    @property
    def jvp_name(self) -> str:
        """Name of the derivative in forward mode in the generated code."""
        return f"{self.name}_jvp"

    @property
    def of_arrays(self) -> ArrayRule:
        """Rule for operands that are arrays."""
        return ArrayRule(self.template, self.vjp_name, self.jvp_name if self.jvp is not None else "", self)


@value_class
class ArrayRule:
    """A function of arrays: the text of a call, and the names of its derivatives in the generated code."""

    template: str
    vjp: str
    jvp: str
    user: UserRule | None = None


_RULES: dict[Any, UserRule] = {}


def add_rule(
    function: Any, vjp: Any, count: int, jvp: Any = None, passive: tuple[int, ...] = (), user: Any = None
) -> None:
    """Give `function` a derivative; if there is a `user`, give it to that callable, which calls `function`.

    The function itself gets the derivative of its first user if it has none.
    """
    own = re.sub(r"\W", "", function.__name__)  # "lambda" of a lambda
    name = f"rule_{len(_RULES)}_{own}"
    operands = ", ".join(f"{{{i}}}" for i in range(count))
    rule = UserRule(name, f"{name}({operands})", function, vjp, count, jvp, passive)
    if user is None:
        _RULES[function] = rule
    else:
        _RULES[user] = rule
        _RULES.setdefault(function, rule)


def rule_of(function: Any) -> UserRule | None:
    """Return the rule of a function; None without one."""
    try:
        return _RULES.get(function)
    except TypeError:
        return None
