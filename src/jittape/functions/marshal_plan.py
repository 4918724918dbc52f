"""The plan of the argument marshaller: a call as a list of entries, one step each.

A *plan* is an int64 array: a head (`Head`), then `WORDS` words for each entry (`Field`). The last word is the entry's
value. A number that Python would compute from the arguments at each call is such a value, and other entries calculate
with it: see `scalar_plan`. A call writes to its plan, so each concurrent call has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from jittape.core.buffers import Buffer, address_of
from jittape.core.program import Aval
from jittape.recording.tensor import Tensor
from jittape.value_classes import value_class

__all__ = [
    "TENSOR_SLOTS",
    "TYPES",
    "VALUE",
    "WORDS",
    "Entry",
    "Field",
    "Form",
    "Head",
    "Kind",
    "Outcome",
    "Returned",
    "object_word",
    "plan",
]


TENSOR_SLOTS = ("_buffer", "_aval", "_slot", "_trace", "_marker", "_origin")
"""The slots of a Tensor."""


class Outcome(IntEnum):
    """Outcome of a call."""

    DONE = 0
    MISSED = 1
    """The arguments do not fit, and nothing has run."""
    PENDING = 2
    """A Variable has a pending assignment, and nothing has run."""
    UNASSIGNED = 3
    """The table has run, but a trace has read a Variable to assign, so no Variable has its new value."""


class Field(IntEnum):
    """Positions in an entry. The kind of the entry decides what a word with several names is."""

    KIND = 0
    HELD = 1
    FIRST = 1
    """Offset in the plan, in bytes, of the first value that the entry takes."""
    POSITION = 2
    SECOND = 2
    """Offset in the plan, in bytes, of the second value."""
    CELL = 3
    OBJECT = 4
    """Address of a dtype, type, aval, Variable or other object."""
    EXTENT = 4
    LOWER = 4
    SHAPE = 5
    """Address of the number of dimensions and the extents."""
    UPPER = 5
    VALUE = 6


WORDS = len(Field)
VALUE = 8 * Field.VALUE
"""Offset of the value in an entry, in bytes."""
TYPES: tuple[type, ...] = (np.ndarray, Tensor, Buffer, float, int)
"""The types whose addresses the head holds, in this order."""


class Head(IntEnum):
    """Positions in the head of a plan. The head holds addresses of objects and types, since code on disk has none."""

    ARGUMENTS = 0
    ENTRIES = 1
    VARIABLES = 2
    ASSIGNED = 3
    FIRST_RESULT = 4
    """Cell of the first result; the addresses of the others follow it."""
    RETURNED = 5
    """Number of results that are returned."""
    FORM = 6
    """A `Form`."""
    NONE = 7
    MINUS_ONE = 8
    TYPES = 9


class Form(IntEnum):
    """Result that the argument marshaller builds."""

    NOTHING = 0
    """No result; Python builds it."""
    TENSOR = 1
    """The only Tensor."""
    TUPLE = 2
    """A tuple of Tensors."""
    NONE = 3
    """None."""


class Kind(IntEnum):
    """Kind of an entry: a check, a calculation or a write to a cell."""

    VARIABLE = 0
    """A Variable, for a cell. These come first."""
    ARRAY = 1
    """An array, for a cell."""
    LIKE = 2
    """An array that is checked only."""
    FLOAT64 = 3
    """A Python float, for a cell of this dtype."""
    FLOAT32 = 4
    """A Python float, for a cell of this dtype."""
    TYPE = 5
    """An object of a given type."""
    SAME = 6
    """A given object."""
    INT = 7
    """A Python int, as a value."""
    FLOAT = 8
    """A Python float, as a value."""
    CONSTANT = 9
    """A constant value."""
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
    """Start of a slice between two values of an axis of a given extent."""
    LENGTH = 22
    """Length of such a slice."""
    FROM_FRONT = 23
    """An index of an axis of a given extent; it may count from the end."""
    TO_FLOAT = 24
    """An int value as a float."""
    FLOAT_ADD = 25
    FLOAT_SUBTRACT = 26
    FLOAT_MULTIPLY = 27
    FLOAT_DIVIDE = 28
    WITHIN = 29
    """A check that an int value lies between two bounds."""
    WRITE = 30
    """A value, for a cell of 8 bytes."""
    WRITE_INT32 = 31
    """An int value, for a cell of this dtype."""
    WRITE_FLOAT32 = 32
    """A float value, for a cell of this dtype."""
    SHARED = 33
    """A check whether two arguments are one object, as the value says; the cell is the position of the second."""


@value_class
class Entry:
    """A check of one argument with the cell that it is written to, or a calculation on values.

    Attributes
    ----------
    kind : Kind
    held : bool
        Whether an argument is in the second tuple.
    position : int
        Position of the argument in its tuple.
    cell : int
        Position in the slot table.
    what : Aval, type or object
        The aval of an array, the type of an object, the object itself or the Variable.
    operands : tuple of int
        Numbers of the entries with the values that this entry takes.
    extent, bounds : int, (int, int)
        Extent of an axis; lower and upper bound of a value.
    value : int or float
        A constant.
    argument : int or None
        Number of the argument that `what`, a Variable, is: other calls pass other Variables.
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
    argument: int | None = None


class Returned(NamedTuple):
    """The returned results: the cell of the first result, positions among the results with avals, and the form."""

    cell: int
    results: Sequence[tuple[int, Aval]]
    form: Form


def object_word(row: int) -> int:
    """Return the position in a plan of the address of the object of entry `row`; assignments follow the entries."""
    return Head.TYPES + len(TYPES) + WORDS * row + Field.OBJECT


def plan(
    arguments: int, entries: Sequence[Entry], assigned: Sequence[tuple[int, Any]], returned: Returned
) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """Return the plan of a call, and the objects that the plan points to, which the caller must keep.

    Parameters
    ----------
    arguments : int
        Number of arguments of the call.
    entries : sequence of Entry
        Those of kind `Kind.VARIABLE` come first.
    assigned : sequence of (int, Variable)
        Variables to assign, with the position of the new value among the results.
    returned : Returned
    """
    variables = sum(entry.kind is Kind.VARIABLE for entry in entries)
    head = [arguments, len(entries), variables, len(assigned), returned.cell, len(returned.results)]
    head += [returned.form, id(None), id(-1), *map(id, TYPES)]
    words = list(head)
    kept: list[Any] = []
    for entry in entries:
        words += _words(entry, len(head), kept)
    for position, variable in assigned:
        words += [0, 0, position, 0, id(variable), 0, 0]
        kept.append(variable)
    for position, aval in returned.results:
        words += [0, 0, position, 0, id(aval), 0, 0]
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
        offsets = [8 * (head + WORDS * number) + VALUE for number in entry.operands]
        first, second = offsets[0], offsets[-1]
    value = entry.value
    word = int(np.float64(value).view(np.int64)) if isinstance(value, float) else value
    return [kind, first, second, entry.cell, what, more, word]
