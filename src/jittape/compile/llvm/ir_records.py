"""Records in LLVM IR: loads and stores of the fields of a `RecordLayout` by name."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.records import WORD, BitFields, RecordLayout
from jittape.compile.llvm.ir_helpers import integer

__all__ = ["IRRecord", "bit_field"]

_I64 = ir.IntType(64)


class IRRecord:
    """A record in memory, read and written where a builder is.

    Parameters
    ----------
    builder : ir.IRBuilder
    layout : RecordLayout
    table : ir.Value
        A pointer to i64, or an address as an i64.
    first : int or ir.Value
        Number of the word of the table at which the record begins.
    """

    def __init__(
        self, builder: ir.IRBuilder, layout: RecordLayout, table: ir.Value, first: int | ir.Value = 0
    ) -> None:
        self.builder = builder
        self.layout = layout
        self.table = table
        self.first = first

    def place(self, name: str, index: int = 0) -> ir.Value:
        """Return a pointer to a field, or to its word `index`."""
        word = self._further(self.layout.word(name, index))
        if self.table.type != _I64:
            return self.builder.gep(self.table, [integer(word) if isinstance(word, int) else word])
        if isinstance(word, int):
            address = self.builder.add(self.table, integer(WORD * word)) if word else self.table
        else:
            address = self.builder.add(self.table, self.builder.mul(word, integer(WORD)))
        return self.builder.inttoptr(address, _I64.as_pointer())

    def load(self, name: str, index: int = 0) -> ir.Value:
        """Load a field, or its word `index`."""
        return self.builder.load(self.place(name, index))

    def load_words(self, name: str) -> list[ir.Value]:
        """Load all words of a field."""
        return [self.load(name, index) for index in range(self.layout.count(name))]

    def store(self, name: str, value: ir.Value, index: int = 0) -> None:
        """Store a field, or its word `index`."""
        self.builder.store(value, self.place(name, index))

    def element(self, index: ir.Value) -> IRRecord:
        """Return record number `index` of an array of records that begins with this one."""
        first = self.builder.mul(index, integer(self.layout.words))
        if not isinstance(self.first, int):
            first = self.builder.add(self.first, first)
        elif self.first:
            first = self.builder.add(first, integer(self.first))
        return IRRecord(self.builder, self.layout, self.table, first)

    def after(self, layout: RecordLayout, count: ir.Value | None = None) -> IRRecord:
        """Return a record of another layout behind this one, or behind an array of `count` such records."""
        if count is None:
            return IRRecord(self.builder, layout, self.table, self._further(self.layout.words))
        return IRRecord(self.builder, layout, self.table, self.element(count).first)

    def _further(self, words: int) -> int | ir.Value:
        if isinstance(self.first, int):
            return self.first + words
        return self.builder.add(self.first, integer(words)) if words else self.first


def bit_field(builder: ir.IRBuilder, layout: BitFields, word: ir.Value, name: str) -> ir.Value:
    """Return a part of a word as an i64."""
    shift, width = layout.shift_and_width(name)
    if shift:
        word = builder.lshr(word, integer(shift))
    return builder.and_(word, integer((1 << width) - 1)) if shift + width < 8 * WORD else word
