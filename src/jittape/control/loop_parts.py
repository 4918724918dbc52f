"""Roles of a loop's operands and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.control.body import body_part
from jittape.core.program import Body, Program
from jittape.value_classes import NamedTuple

__all__ = ["COUNT", "COUNTED", "WHILE", "Parts", "Pick", "carry", "live_part", "stack"]

WHILE = -1
"""Value of `trips` for a loop that runs while its predicate holds. The first operand is the predicate of the first
iteration; the body's output after the carries is the predicate of the next one."""
COUNTED = -2
"""Value of `trips` for a loop whose first operand, an int64, is the number of iterations."""

Pick = tuple[str, int]
COUNT: Pick = ("count", 0)


def carry(number: int) -> Pick:
    """Return the result index of the final value of a carry."""
    return ("carry", number)


def stack(slot: int) -> Pick:
    """Return the result index of the stacked values of a slot of the body."""
    return ("stack", slot)


class Parts(NamedTuple):
    """The operands of a loop, or its body's inputs, by role; `head` is the operand that determines how long it runs."""

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


def live_part(
    body: Body, inputs: Parts, used: frozenset[int], stacked: tuple[int, ...], trips: int
) -> tuple[list[int], Program]:
    """Return the carries that the used results of a loop depend on, and the part of the body that it runs.

    Parameters
    ----------
    body : Body
    inputs : Parts
        Of the body.
    used : frozenset of int
        Carries whose final values are used.
    stacked : tuple of int
        Slots of the body whose values are stacked.
    trips : int
        As for `loop_op`.

    Returns
    -------
    carries : list of int
        In ascending order.
    program : Program
        Its outputs are the new values of these carries, the predicate of a ``while`` loop, and the stacked slots. Its
        inputs are those of the body that it reads.
    """
    program, live = body.program, set(used)
    predicate = program.outputs[len(inputs.carries) :][: trips == WHILE]
    while True:
        order = sorted(live)
        outputs = (*[program.outputs[i] for i in order], *predicate, *stacked)
        part = body_part(body, outputs)
        read = {i for i, slot in enumerate(inputs.carries) if slot in part.inputs}
        if read <= live:
            return order, part
        live |= read
