"""What the operands and the results of a loop are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jittape.core.program import Body

__all__ = ["COUNT", "COUNTED", "WHILE", "Parts", "Pick", "carry", "stack"]

WHILE = -1
"""In the place of a number of iterations: as long as the predicate holds. The first operand is the predicate before the
first iteration, the body's output after the carries the one for the next."""
COUNTED = -2
"""In the place of a number of iterations: as many as the first operand says, an int64."""

Pick = tuple[str, int]
COUNT: Pick = ("count", 0)


def carry(number: int) -> Pick:
    """The last value of a carry."""
    return ("carry", number)


def stack(slot: int) -> Pick:
    """The values of a slot of the body, one for each iteration."""
    return ("stack", slot)


class Parts(NamedTuple):
    """The operands of a loop, or the slots of its body's inputs, taken apart; `head` is what says how long it runs."""

    head: tuple[Any, ...]
    fixed: tuple[Any, ...]
    carries: tuple[Any, ...]
    stacks: tuple[Any, ...]

    @classmethod
    def of(cls, values: Sequence[Any], heads: int, fixed: int, carries: int) -> Parts:
        first, second = heads + fixed, heads + fixed + carries
        parts = (values[:heads], values[heads:first], values[first:second], values[second:])
        return cls(*[tuple(part) for part in parts])

    @classmethod
    def of_operands(cls, operands: Sequence[Any], trips: int, fixed: int, carries: int) -> Parts:
        return cls.of(operands, int(trips < 0), fixed, carries)

    @classmethod
    def of_body(cls, body: Body, fixed: int, carries: int) -> Parts:
        return cls.of(body.program.inputs, 1, fixed, carries)
