"""Tables of named rules: an optimization applies where all rules of its table hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Rule", "broken_rule"]

T = TypeVar("T")


class Rule(Generic[T]):
    """A condition with a name; a later rule of a table may rely on the earlier ones."""

    def __init__(self, name: str, holds: Callable[[T], bool]) -> None:
        self.name = name
        self.holds = holds


def broken_rule(rules: Sequence[Rule[T]], candidate: T) -> str | None:
    """Return the name of the first rule that does not hold for `candidate`; None if all rules hold."""
    return next((rule.name for rule in rules if not rule.holds(candidate)), None)
