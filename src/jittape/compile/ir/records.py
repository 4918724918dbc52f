"""Layouts of records that Python and compiled code share: 64-bit words with names.

A layout is declared once, and no position is written anywhere else. Python packs a record with `RecordLayout.pack` or
reads it in an array of `RecordLayout.dtype`. Compiled code reads and writes the fields by name through
`compile.llvm.ir_records.IRRecord`.

>>> point = RecordLayout("x", Field("steps", 2))
>>> point.pack(x=7, steps=(1, 2))
[7, 1, 2]
>>> point.word("steps", 1)
2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.value_classes import NamedTuple

__all__ = ["WORD", "BitFields", "Field", "RecordLayout"]

WORD = 8
"""Size of a word, in bytes."""


class Field(NamedTuple):
    """A field of a record.

    Attributes
    ----------
    name : str
    words : int
        Number of words.
    at : int
        Number of the first word; -1 for the word after the field before.
    """

    name: str
    words: int = 1
    at: int = -1


class RecordLayout:
    """Names and positions of the words of a record.

    Parameters
    ----------
    *fields : str or Field
        In order; a name is a field of one word.
    words : int
        Number of words, if there are unused ones at the end.
    """

    def __init__(self, *fields: str | Field, words: int = 0) -> None:
        self._fields: dict[str, tuple[int, int]] = {}
        end = 0
        for field in fields:
            name, count, at = Field(field) if isinstance(field, str) else field
            at = max(at, end)
            self._fields[name] = at, count
            end = at + count
        self.words = max(words, end)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return WORD * self.words

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return tuple(self._fields)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The structured dtype of a record in a NumPy array."""
        formats = [(np.int64, (count,)) if count > 1 else np.int64 for _, count in self._fields.values()]
        offsets = [WORD * at for at, _ in self._fields.values()]
        return np.dtype(
            {"names": self.names, "formats": formats, "offsets": offsets, "itemsize": self.nbytes}
        )

    def word(self, name: str, index: int = 0) -> int:
        """Return the number of a field's word `index`."""
        return self._fields[name][0] + index

    def count(self, name: str) -> int:
        """Return the number of words of a field."""
        return self._fields[name][1]

    def pack(self, **values: Any) -> list[Any]:
        """Return the words of a record, given the value of every field; several words are given as a sequence."""
        if values.keys() != self._fields.keys():
            raise TypeError(f"a record of {self.names} was given {tuple(values)}")
        words: list[Any] = [0] * self.words
        for name, (at, count) in self._fields.items():
            found = values[name] if count > 1 else (values[name],)
            if len(found) != count:
                raise TypeError(f"field {name} has {count} words, got {len(found)}")
            words[at : at + count] = found
        return words

    def unpack(self, words: Sequence[Any], first: int = 0) -> dict[str, Any]:
        """Return the value of every field of the record at word `first` of a table."""
        return {
            name: words[first + at] if count == 1 else tuple(words[first + at : first + at + count])
            for name, (at, count) in self._fields.items()
        }

    def unpack_array(self, words: Sequence[Any], first: int, count: int) -> list[dict[str, Any]]:
        """Return `count` records that follow one another from word `first` of a table."""
        return [self.unpack(words, first + i * self.words) for i in range(count)]


class BitFields:
    """Names and widths in bits of the parts of one word, the lowest first."""

    def __init__(self, **widths: int) -> None:
        self._fields: dict[str, tuple[int, int]] = {}
        shift = 0
        for name, width in widths.items():
            self._fields[name] = shift, width
            shift += width
        if shift > 8 * WORD:
            raise TypeError(f"{shift} bits do not fit one word")

    def shift_and_width(self, name: str) -> tuple[int, int]:
        """Return the position of a part's lowest bit, and its number of bits."""
        return self._fields[name]

    def pack(self, **values: int) -> int:
        """Return the word with these parts; a part that is not given is 0."""
        return sum(value << self._fields[name][0] for name, value in values.items())

    def unpack(self, word: int) -> dict[str, int]:
        """Return every part of a word."""
        return {name: word >> shift & (1 << width) - 1 for name, (shift, width) in self._fields.items()}
