"""What the binder reads: a call as a list of entries, one machine instruction of a kind each.

A *plan* is an int64 array: a head (`Head`), then for each entry `WORDS` words: its kind, what the kind says, and at
last a place for a value. A number that Python would work out from the arguments at each call is such a value, on which
other entries calculate; see `numbers`. So a plan is written to by a call, and each call at the same time has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from jittape.core.buffers import Buffer, address_of
from jittape.core.program import Aval
from jittape.recording.tensor import Tensor

__all__ = ["TYPES", "VALUE", "WORDS", "Entry", "Form", "Head", "Kind", "Returned", "plan"]

WORDS = 7
VALUE = 8 * (WORDS - 1)
"""The byte of an entry at which its value stands."""
TYPES: tuple[type, ...] = (np.ndarray, Tensor, Buffer, float, int)


class Head(IntEnum):
    """Positions in the head of a plan; there is no address in the code itself, so it has those of objects and types."""

    ARGUMENTS = 0
    ENTRIES = 1
    VARIABLES = 2
    ASSIGNED = 3
    FIRST_RESULT = 4
    """The cell of the first of the results, whose addresses stand in a row."""
    RETURNED = 5
    """How many of them are returned."""
    FORM = 6
    """As what: a `Form`."""
    NONE = 7
    MINUS_ONE = 8
    TYPES = 9


class Form(IntEnum):
    """What the binder makes of the results that are returned."""

    NOTHING = 0
    """Python sees to it."""
    TENSOR = 1
    """The one Tensor."""
    TUPLE = 2
    """A tuple of Tensors."""


class Kind(IntEnum):
    """What an entry is."""

    VARIABLE = 0
    """A Variable, for a cell. These come first."""
    ARRAY = 1
    """An array, for a cell."""
    LIKE = 2
    """The same without a cell."""
    FLOAT64 = 3
    """A Python float, for a cell of this dtype."""
    FLOAT32 = 4
    TYPE = 5
    """An object of a type."""
    SAME = 6
    """One very object."""
    INT = 7
    """A Python int; a value."""
    FLOAT = 8
    """A Python float; a value."""
    CONSTANT = 9
    """A value."""
    ADD = 10
    SUBTRACT = 11
    MULTIPLY = 12
    FLOOR_DIVIDE = 13
    MODULO = 14
    EQUAL = 15
    NOT_EQUAL = 16
    LESS = 17
    LESS_EQUAL = 18
    GREATER = 19
    GREATER_EQUAL = 20
    START = 21
    """Of a slice from one value to another, in an axis of so many elements."""
    LENGTH = 22
    FROM_FRONT = 23
    """An index, which may count from the end of an axis of so many elements."""
    TO_FLOAT = 24
    """An int value as a float."""
    FLOAT_ADD = 25
    FLOAT_SUBTRACT = 26
    FLOAT_MULTIPLY = 27
    FLOAT_DIVIDE = 28
    WITHIN = 29
    """Nothing but that an int value lies between two bounds."""
    WRITE = 30
    """A value, for a cell of 8 bytes."""
    WRITE_INT32 = 31
    WRITE_FLOAT32 = 32
    """A float value, for a cell of this dtype."""
    SHARED = 33
    """Two arguments, which are one object or are not, as the value says; the cell is the position of the second."""


@dataclass(frozen=True)
class Entry:
    """What one argument must be, and where it goes; or what is done with values.

    Attributes
    ----------
    kind : Kind
    held : bool
        Whether an argument is in the second tuple.
    position : int
        In its tuple.
    cell : int
        Of the slot table.
    what : Aval, type or object
        What an array, an object of a type, one very object must be; the Variable.
    operands : tuple of int
        The numbers of the entries with the values that this one takes.
    extent, bounds : int, (int, int)
        Of an axis; what a value must lie between.
    value : int or float
        A constant.
    """

    kind: Kind
    held: bool = False
    position: int = 0
    cell: int = 0
    what: Any = None
    operands: tuple[int, ...] = ()
    extent: int = 0
    bounds: tuple[int, int] = (0, 0)
    value: int | float = 0


class Returned(NamedTuple):
    """The first results: the cell of the first, what they are, and as what they are returned."""

    cell: int
    avals: Sequence[Aval]
    form: Form


def plan(
    arguments: int, entries: Sequence[Entry], assigned: Sequence[tuple[int, Any]], returned: Returned
) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """The plan of a call with that many arguments, and the objects that it points to and that must be kept.

    `assigned` are Variables with the position of their new value among the results.
    """
    variables = sum(entry.kind is Kind.VARIABLE for entry in entries)
    head = [arguments, len(entries), variables, len(assigned), returned.cell, len(returned.avals)]
    head += [returned.form, id(None), id(-1), *map(id, TYPES)]
    words = list(head)
    kept: list[Any] = []
    for entry in entries:
        words += _words(entry, len(head), kept)
    for position, variable in assigned:
        words += [0, 0, position, 0, id(variable), 0, 0]
        kept.append(variable)
    for aval in returned.avals:
        words += [0, 0, 0, 0, id(aval), 0, 0]
        kept.append(aval)
    return np.array(words, np.int64), kept


def _words(entry: Entry, head: int, kept: list[Any]) -> list[int]:
    kind = entry.kind
    if kind in (Kind.ARRAY, Kind.LIKE):
        shape = np.array([len(entry.what.shape), *entry.what.shape], np.int64)
        kept += [shape, entry.what.dtype]
        what, more = id(entry.what.dtype), address_of(shape)
    elif kind is Kind.WITHIN:
        what, more = entry.bounds
    elif kind in (Kind.VARIABLE, Kind.TYPE, Kind.SAME):
        kept.append(entry.what)
        what, more = id(entry.what), 0
    else:
        what, more = entry.extent, 0
    first, second = int(entry.held), entry.position
    if entry.operands:
        places = [8 * (head + WORDS * number) + VALUE for number in entry.operands]
        first, second = places[0], places[-1]
    value = entry.value
    word = int(np.float64(value).view(np.int64)) if isinstance(value, float) else value
    return [kind, first, second, entry.cell, what, more, word]
