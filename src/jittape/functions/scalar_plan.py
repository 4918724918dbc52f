"""Plan entries for the Python numbers of a call: the argument marshaller computes them instead of `ScalarProgram`.

`ScalarProgram` takes 1.8 µs to compute the start and the length of ``x[i : i + 32]``; the marshaller takes a few ns. It
supports 64-bit ints, floats, and arithmetic that cannot fail. If a result overflows, the call falls back to Python.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import float32, float64, info_of, int32, int64
from jittape.core.scalar_program import reachable
from jittape.core.traced_scalar import TracedScalar, from_front, slice_length, slice_start
from jittape.functions.marshal_plan import Entry, Kind
from jittape.recording.scalar_inputs import within
from jittape.runtime.workspace import CELL, array_of

__all__ = ["entries_for", "number_writer"]

_LIMITS = -(1 << 63), (1 << 63) - 1
_INT32 = -(1 << 31), (1 << 31) - 1
_EXACT = 1 << 53
"""Largest int up to which all ints are exact floats, so that Python's division of ints is a division of floats."""

_INTS: dict[Any, Kind] = {
    operator.add: Kind.ADD, operator.sub: Kind.SUBTRACT, operator.mul: Kind.MULTIPLY,
    operator.floordiv: Kind.FLOOR_DIVIDE, operator.mod: Kind.MODULO,
    operator.eq: Kind.EQUAL, operator.ne: Kind.NOT_EQUAL, operator.lt: Kind.LESS,
    operator.le: Kind.LESS_EQUAL, operator.gt: Kind.GREATER, operator.ge: Kind.GREATER_EQUAL,
}  # fmt: skip
_FLOATS: dict[Any, Kind] = {
    operator.add: Kind.FLOAT_ADD, operator.sub: Kind.FLOAT_SUBTRACT,
    operator.mul: Kind.FLOAT_MULTIPLY, operator.truediv: Kind.FLOAT_DIVIDE,
}  # fmt: skip


class _NotSupported(Exception):
    """Signal that the marshaller cannot compute a number."""


def entries_for(
    written: Sequence[tuple[TracedScalar, int, np.dtype[Any]]],
    specialized: Sequence[tuple[TracedScalar, Any]],
    computed: Sequence[TracedScalar],
    first: int,
) -> list[Entry] | None:
    """Return entries that write numbers to cells and check specialized numbers; None if one is not supported.

    Parameters
    ----------
    written : sequence of (number, cell, dtype)
        Numbers to write.
    specialized : sequence of (number, value)
        Numbers with the values that the trace holds for.
    computed : sequence of number
        Numbers that are computed only for their errors.
    first : int
        Number of the first entry.
    """
    try:
        return _Writer(first).all_of(written, specialized, computed)
    except _NotSupported:
        return None


class _Writer:
    def __init__(self, first: int) -> None:
        self.first = first
        self.entries: list[Entry] = []
        self.known: dict[Any, tuple[int, type]] = {}
        """Entry and type of each value, by the serial of its number or by its kind, operands and options."""

    def all_of(
        self,
        written: Sequence[tuple[TracedScalar, int, np.dtype[Any]]],
        specialized: Sequence[tuple[TracedScalar, Any]],
        computed: Sequence[TracedScalar],
    ) -> list[Entry]:
        needed = [*[number for number, *_ in written], *[number for number, _ in specialized], *computed]
        for number in reachable(needed):
            self.known[number.serial] = self._value(number)
        for number, value in specialized:
            self._check(*self.known[number.serial], value)
        for number, cell, dtype in written:
            self._write(*self.known[number.serial], cell, dtype)
        return self.entries

    def _add(self, kind: Kind, *operands: int, **more: Any) -> int:
        self.entries.append(Entry(kind, operands=operands, **more))
        return self.first + len(self.entries) - 1

    def _once(self, result: type, kind: Kind, *operands: int, **more: Any) -> tuple[int, type]:
        """Return the entry of a value and its type; add the entry if it is missing."""
        key = (kind, operands, repr(more))
        if key not in self.known:
            self.known[key] = self._add(kind, *operands, **more), result
        return self.known[key]

    # ---- values ----------------------------------------------------------------------------------------------------

    def _value(self, number: TracedScalar) -> tuple[int, type]:
        kind = type(number.now)
        if number.leaf is not None:
            if kind not in (int, float):
                raise _NotSupported
            return self._once(kind, Kind.INT if kind is int else Kind.FLOAT, position=number.leaf)
        known = self._slice(number) or self._index(number) or self._arithmetic(number)
        if known is None or known[1] is not kind:
            raise _NotSupported
        return known

    def _part(self, part: Any) -> tuple[int, type]:
        if isinstance(part, TracedScalar):
            return self.known[part.serial]
        if type(part) is float or (type(part) is int and _LIMITS[0] <= part <= _LIMITS[1]):
            return self._once(type(part), Kind.CONSTANT, value=part)
        raise _NotSupported

    def _int(self, part: Any) -> int:
        entry, kind = self._part(part)
        if kind is not int:
            raise _NotSupported
        return entry

    def _slice(self, number: TracedScalar) -> tuple[int, type] | None:
        if number.compute not in (slice_start, slice_length):
            return None
        start, stop, step, size = number.parts
        if step != 1:
            raise _NotSupported
        begin, end = self._int(0 if start is None else start), self._int(size if stop is None else stop)
        kind = Kind.START if number.compute is slice_start else Kind.LENGTH
        return self._once(int, kind, begin, end, extent=size)

    def _index(self, number: TracedScalar) -> tuple[int, type] | None:
        if number.compute is from_front:
            index, _, _, size = number.parts
            return self._once(int, Kind.FROM_FRONT, self._int(index), extent=size)
        if number.compute is within:
            value, dtype = number.parts
            if dtype.kind == "f":
                return self._float(*self._part(value)), float
            if dtype.kind not in "iu":
                raise _NotSupported
            limits = np.iinfo(dtype)
            entry = self._int(value)
            if limits.min > _LIMITS[0] or limits.max < _LIMITS[1]:
                bounds = max(limits.min, _LIMITS[0]), min(limits.max, _LIMITS[1])
                self._once(int, Kind.WITHIN, entry, bounds=bounds)
            return entry, int
        return None

    def _arithmetic(self, number: TracedScalar) -> tuple[int, type] | None:
        if len(number.parts) != 2:
            return None
        operands = [self._part(part) for part in number.parts]
        if number.compute is not operator.truediv and all(kind is int for _, kind in operands):
            doing = _INTS.get(number.compute)
            compares = doing is not None and Kind.EQUAL <= doing <= Kind.GREATER_EQUAL
            entries = [entry for entry, _ in operands]
            return None if doing is None else self._once(bool if compares else int, doing, *entries)
        doing = _FLOATS.get(number.compute)
        if doing is None or any(kind is bool for _, kind in operands):
            return None
        exact = number.compute is operator.truediv and all(kind is int for _, kind in operands)
        return self._once(float, doing, *[self._float(*operand, exact) for operand in operands])

    def _float(self, entry: int, kind: type, exact: bool = False) -> int:
        """Return the entry of a value as a float; with `exact`, guard that an int converts without rounding."""
        if kind is float:
            return entry
        if exact:
            self._once(int, Kind.WITHIN, entry, bounds=(-_EXACT, _EXACT))
        return self._once(float, Kind.TO_FLOAT, entry)[0]

    # ---- checks and writes -----------------------------------------------------------------------------------------

    def _check(self, entry: int, kind: type, value: Any) -> None:
        if kind is float or not _LIMITS[0] <= value <= _LIMITS[1]:
            raise _NotSupported
        self._once(int, Kind.WITHIN, entry, bounds=(int(value), int(value)))

    def _write(self, entry: int, kind: type, cell: int, dtype: np.dtype[Any]) -> None:
        if kind is bool or dtype not in _CELLS:
            raise _NotSupported
        if dtype.kind == "f":
            entry = self._float(entry, kind)
        elif kind is not int:
            raise _NotSupported
        elif dtype == int32:
            self._once(int, Kind.WITHIN, entry, bounds=_INT32)
        self._add(_CELLS[dtype], entry, cell=cell)


_CELLS = {float64: Kind.WRITE, int64: Kind.WRITE, int32: Kind.WRITE_INT32, float32: Kind.WRITE_FLOAT32}


def number_writer(
    numbers: Sequence[tuple[TracedScalar, int, np.dtype[Any]]],
) -> Callable[[memoryview, Sequence[Any]], None]:
    """Return a function that writes numbers that Python has computed into their cells."""
    places = [
        (struct.Struct(f"={info_of(dtype).scalar_format}").pack_into, CELL * cell, dtype)
        for _, cell, dtype in numbers
    ]

    def write(cells: memoryview, values: Sequence[Any]) -> None:
        for (pack, offset, dtype), value in zip(places, values, strict=True):
            try:
                pack(cells, offset, value)
            except (struct.error, OverflowError):
                # `struct` is strict where NumPy rounds to infinity or wraps around, and knows no NumPy scalars.
                pack(cells, offset, array_of(value, dtype).item())

    return write
