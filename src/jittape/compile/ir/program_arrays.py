"""The operands and the kinds of all ops of a program as arrays, for passes over very long programs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jittape.core.program import Program

__all__ = ["Operands", "first_of_each", "numbered", "operands_of"]

Ints = NDArray[np.int64]


class Operands(NamedTuple):
    """The operands of all ops, one after the other, and the outputs.

    Attributes
    ----------
    counts : array
        The number of operands of each op.
    makers : array
        For each operand, the number of the op that computes it, or ``-1 - i`` for input `i` of the program.
    outputs : array
        The same for each output of the program.
    """

    counts: Ints
    makers: Ints
    outputs: Ints


def operands_of(program: Program) -> Operands:
    """Return the operands of all ops of a program: 0.03 s for 142,000 ops."""
    ops = program.ops
    number = {slot: -1 - i for i, slot in enumerate(program.inputs)}
    number.update(zip([op.out for op in ops], range(len(ops)), strict=True))
    args = [op.args for op in ops]
    counts = np.fromiter(map(len, args), np.int64, len(ops))
    makers = np.fromiter(map(number.__getitem__, chain.from_iterable(args)), np.int64, int(counts.sum()))
    return Operands(counts, makers, np.array([number[slot] for slot in program.outputs], np.int64))


def numbered(keys: Iterable[Hashable]) -> Ints:
    """Return a number for each key, the same for equal ones, in order of their first occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def first_of_each(numbers: Ints) -> list[int]:
    """Return the position at which each number of `numbered` occurs first."""
    positions: list[int] = np.unique(numbers, return_index=True)[1].tolist()
    return positions
