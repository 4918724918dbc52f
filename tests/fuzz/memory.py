"""The memory that the evaluator of schedules works on: one array of bytes, poisoned, with room between allocations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.program import ALIGNMENT, Aval
from jittape.runtime.workspace import POISON

Array = np.ndarray[Any, Any]


class Pointer(NamedTuple):
    """An address, and the bytes from `low` to `high` that may be touched through it."""

    address: int
    low: int
    high: int

    def moved(self, nbytes: int) -> Pointer:
        """Return the pointer that much further."""
        return self._replace(address=self.address + nbytes)

    def part(self, nbytes: int, length: int) -> Pointer:
        """Return a pointer to a part of the memory."""
        address = self.address + nbytes
        assert self.low <= address <= self.high - length, "a part is outside of its memory"
        return Pointer(address, address, address + length)


class Heap:
    """Memory with addresses from 0 on, seen as an array of each dtype that is asked for."""

    def __init__(self, nbytes: int) -> None:
        self.bytes: Array = np.full(-(-nbytes // ALIGNMENT) * ALIGNMENT, POISON, np.uint8)
        self.used = 0
        self._views: dict[np.dtype[Any], Array] = {}

    def take(self, nbytes: int) -> Pointer:
        """Return new memory, after which some bytes stay poisoned."""
        start = self.used
        self.used += -(-(nbytes + 1) // ALIGNMENT) * ALIGNMENT
        if self.used > len(self.bytes):
            more = np.full(2 * self.used, POISON, np.uint8)
            more[: len(self.bytes)] = self.bytes
            self.bytes, self._views = more, {}
        return Pointer(start, start, start + nbytes)

    def view(self, dtype: np.dtype[Any]) -> Array:
        """Return all memory as an array of this dtype."""
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self.bytes.view(dtype)
        return found

    def indices(self, pointer: Pointer, elements: Any, dtype: np.dtype[Any], mask: Any = None) -> Any:
        """Return where elements, numbered from a pointer on, are in the view of a dtype, having checked that they may
        be touched; those where `mask` is false become the first element.
        """
        size = dtype.itemsize
        assert pointer.address % size == 0, "an address that is not aligned"
        found = elements + pointer.address // size
        first, last = pointer.low // size, pointer.high // size - 1
        if mask is not None:
            found = np.where(mask, found, first if last >= first else 0)
            if last < first:
                assert not mask.any(), "an element of an empty array"
                return found
        if np.size(found):
            least, most = (found, found) if isinstance(found, int) else (found.min(), found.max())
            assert first <= least <= most <= last, f"elements {least} to {most}, not within {first} to {last}"
        return found

    def array(self, pointer: Pointer, aval: Aval) -> Array:
        """Return the memory of a value as an array."""
        assert pointer.low <= pointer.address
        assert pointer.address + aval.nbytes <= pointer.high
        part = self.bytes[pointer.address : pointer.address + aval.nbytes]
        return part.view(aval.dtype).reshape(aval.shape)

    def word(self, pointer: Pointer, position: int = 0) -> int:
        """Return an integer of 8 bytes."""
        return int(self.bytes[pointer.address + 8 * position :][:8].view(np.int64)[0])

    def set_word(self, pointer: Pointer, position: int, value: int) -> None:
        """Write an integer of 8 bytes."""
        self.bytes[pointer.address + 8 * position :][:8].view(np.int64)[0] = value

    def copy(self, to: Pointer, source: Pointer, nbytes: int) -> None:
        """Copy bytes."""
        self.bytes[to.address : to.address + nbytes] = self.bytes[source.address : source.address + nbytes]

    def poison(self, pointer: Pointer) -> None:
        """Forget what stands where a pointer may touch."""
        self.bytes[pointer.low : pointer.high] = POISON
