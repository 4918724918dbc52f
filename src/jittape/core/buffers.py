"""`Buffer`, an ndarray with its address, and `pool`, which reuses large memory.

Asking NumPy for an address (`ndarray.ctypes.data`, `__array_interface__`) takes 0.8 µs, more than a small kernel. So
the address is computed once, when the memory is allocated, and read from the ndarray's own memory, which takes 0.1 µs.
Values never change while they can be read: the executable that computed a buffer writes it again only when it holds the
last reference and no view of the memory exists. Views refer to the array, so reference counts show them.

Memory of `LARGE` bytes or more belongs to the pool, though an executable may keep some (`runtime.result_memory`). When
the last reference is gone, views of the user included, the pool reuses the memory for the next buffer of about that
size: the page faults of a fresh allocation of 80 MB cost more than the arithmetic on it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from ctypes import c_size_t
from sys import getrefcount
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.locks import rlock
from jittape.core.program import Aval
from jittape.core.tickets import Ticket
from jittape.value_classes import NamedTuple

__all__ = [
    "LARGE",
    "Buffer",
    "Memory",
    "Pool",
    "PoolStats",
    "address_of",
    "allocate",
    "copied",
    "owned",
    "pool",
]


def _asked(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _read(array: np.ndarray[Any, Any]) -> int:
    return _word(id(array) + _DATA).value


_word = c_size_t.from_address
_DATA = object.__basicsize__
"""Offset, in bytes, of the address in an ndarray: NumPy's ABI stores it right after the object header."""

_samples = [np.empty(n) for n in (1, 1000)]
address_of: Callable[[np.ndarray[Any, Any]], int] = (
    _read if [_read(a) for a in _samples] == [_asked(a) for a in _samples] else _asked
)
"""Function that returns the address of an ndarray's memory."""

LARGE = 1 << 16
"""Minimum size, in bytes, of pooled memory. Taking a block costs 1.5 µs; fresh pages cost 0.1 µs per KiB."""


class _Block:
    """A block of pooled memory: its bytes, the offset at which arrays begin, and its size class.

    `ticket` is None while the block is free. Otherwise the ticket returns the block to the pool when the last reference
    to the memory is gone.
    """

    __slots__ = ("address", "kind", "memory", "start", "ticket")

    def __init__(self, kind: int) -> None:
        owner = np.empty(kind + _PAGE, np.uint8)
        begins = address_of(owner)
        self.kind = kind
        self.memory = owner.data
        self.start = (next(_shifts) - begins) % _PAGE
        self.address = begins + self.start
        self.ticket: Ticket | None = None


class Memory(NamedTuple):
    """A block in use: the array over all of it, which is the base of all views, and an array of the requested shape."""

    block: _Block
    raw: np.ndarray[Any, Any]
    array: np.ndarray[Any, Any]


_PAGE = 4096
_ROOM = 4
"""Ratio of the size of a block with room to grow to the size that was asked for."""
_shifts = itertools.cycle(range(0, _PAGE, _PAGE // 4))
"""Offsets in a page at which arrays begin, taken in turn. The processor mistakes a load for one of data just stored at
the same offset in another page. Rosenbrock's gradient, n=1,000,000, takes 190 to 200 µs if the result begins at the
operand's offset or at least 1,024 bytes after it, and 220 to 310 µs if the distance is 64 to 768 bytes."""


class PoolStats(NamedTuple):
    """Number of requests for large memory, number of fresh allocations, and bytes of free memory in the pool."""

    taken: int
    fresh: int
    waiting: int


class Pool:
    """A pool of large memory by size class; it tracks at most `config.max_pool_bytes`, free and in use together.

    The ticket of a block returns it at any moment, without Python code; `_collect` adds returned blocks to the free
    ones when the pool is next used. Above the limit the pool drops the block whose state has not changed for the
    longest time: a free block is released at once, a block in use when its last reference is gone. So free memory never
    exceeds the limit, although the pool runs no code when memory is freed.
    """

    def __init__(self) -> None:
        self._lock = rlock()  # reentrant: garbage collection may run code that takes memory
        self._waiting: dict[int, list[_Block]] = {}
        self._known: dict[int, _Block] = {}
        """Tracked blocks by identity, ordered by the time when they were allocated or last returned."""
        self._returned: deque[Ticket] = deque()
        self._bytes = 0
        self._taken = 0
        self._fresh = 0

    def take(self, aval: Aval, largest: int = 2) -> Memory:
        """Return memory for a value of `aval`; its contents are arbitrary.

        If no memory of its size waits, larger memory serves, at most `largest` times as large: lengths that vary would
        otherwise need fresh pages for each size. If only smaller memory waits and `largest` is above `_ROOM`, a fresh
        block has room to grow: its pages exist once they are written, so the next longer lengths need only the pages
        beyond. 200 lengths of a multi-head attention touch 100 MB for the first time instead of 199.
        """
        kind = _size_class(aval.nbytes)
        with self._lock:
            self._taken += 1
            if self._returned:
                self._collect()
            waiting = self._waiting.get(kind) or self._larger(kind, largest * kind)
            if waiting:
                block = waiting.pop()
            else:
                self._fresh += 1
                block = self._block(kind, largest)
                kind = block.kind
                if kind <= config._max_pool_bytes:
                    self._bytes += kind
                    self._known[id(block)] = block
                    self._forget()
            raw = np.frombuffer(block.memory, aval.dtype, aval.size, block.start)
            if id(block) in self._known:
                block.ticket = ticket = Ticket(raw, self._returned.append)
                ticket.content = block
        return Memory(block, raw, raw.reshape(aval.shape))

    def _larger(self, kind: int, limit: int) -> list[_Block] | None:
        """Return the free blocks of the smallest size class above `kind` that has some, up to `limit`."""
        known = list(self._waiting)  # garbage collection may add a class
        kinds = [other for other in known if kind < other <= limit and self._waiting[other]]
        return self._waiting[min(kinds)] if kinds else None

    def _block(self, kind: int, largest: int) -> _Block:
        """Return a new block, with room to grow if smaller free ones show that lengths vary."""
        roomy = min(_ROOM * kind, config._max_pool_bytes // _ROOM)
        smaller = [other for other in list(self._waiting) if other < kind <= largest * other]
        if largest > _ROOM and roomy > kind and any([self._waiting[other] for other in smaller]):
            try:
                return _Block(roomy)
            except MemoryError:  # the system counts memory that was never written
                pass
        return _Block(kind)

    def _collect(self) -> None:
        """Add the returned blocks to the free ones."""
        returned, known = self._returned, self._known
        while returned:
            block: _Block = returned.popleft().content
            if known.pop(id(block), None) is block:  # still tracked
                block.ticket = None
                known[id(block)] = block
                if block.kind in self._waiting:
                    self._waiting[block.kind].append(block)
                else:
                    self._waiting[block.kind] = [block]

    def _forget(self) -> None:
        """Drop the oldest blocks until the tracked bytes are within the limit."""
        while self._bytes > config._max_pool_bytes and self._known:
            block = self._known.pop(next(iter(self._known)))
            self._bytes -= block.kind
            waiting = self._waiting.get(block.kind, [])
            if block.ticket is None and block in waiting:
                waiting.remove(block)
            block.ticket = None

    def clear(self) -> None:
        """Free all pooled memory."""
        with self._lock:
            self._collect()
            for block in self._known.values():
                block.ticket = None
            self._known, self._waiting = {}, {}
            self._bytes = 0

    def stats(self) -> PoolStats:
        """Return counts since the process started."""
        with self._lock:
            self._collect()
            waiting = sum([block.kind for block in self._known.values() if block.ticket is None])
        return PoolStats(self._taken, self._fresh, waiting)


pool = Pool()


class Buffer:
    """A C-contiguous ndarray, its address, and whether the user has seen the value.

    Parameters
    ----------
    array : ndarray
        The values.
    pooled : Memory, optional
        The pooled memory that `array` belongs to.
    """

    __slots__ = ("address", "array", "exposed", "nbytes", "pooled")

    def __init__(self, array: np.ndarray[Any, Any], pooled: Memory | None = None) -> None:
        self.pooled = pooled
        self.array = array
        self.address: int = address_of(array) if pooled is None else pooled.block.address
        self.nbytes = array.nbytes
        self.exposed = False

    def is_private(self) -> bool:
        """Return whether this object holds the only reference to the memory, so that the memory may be written."""
        if self.pooled is not None:
            return _references(self.pooled) == _OURS
        return (
            self.array.base is None and self.array.flags.writeable and getrefcount(self.array) == _OURS[1] - 1
        )

    def view(self) -> np.ndarray[Any, Any]:
        """Return a read-only view for the user; the memory is not written while a view of it exists.

        The base of the view is a read-only memoryview, so that NumPy refuses to make the view writeable; with an
        ndarray as base it would not. Machine code replaces the method: ``x.numpy()`` takes 0.12 µs instead of 0.40.
        """
        self.exposed = True
        try:
            return np.asarray(self.array.data.toreadonly())
        except ValueError:  # the buffer protocol has no format for bfloat16
            bits = self.array.view(f"u{self.array.itemsize}")
            return np.asarray(bits.data.toreadonly()).view(self.array.dtype)


def allocate(aval: Aval, largest: int = 2) -> Buffer:
    """Return memory for a value of `aval`, as `Pool.take` does; its contents are arbitrary."""
    if aval.nbytes < LARGE:
        return Buffer(np.empty(aval.shape, aval.dtype))
    memory = pool.take(aval, largest)
    return Buffer(memory.array, memory)


def copied(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a copy in `dtype` and C order; a large copy is pooled, so it is aligned."""
    if array.size * dtype.itemsize < LARGE:
        return np.array(array, dtype, order="C", subok=False)
    copy = pool.take(Aval(array.shape, dtype)).array
    np.copyto(copy, array, casting="unsafe")
    return copy


def owned(array: np.ndarray[Any, Any]) -> Buffer:
    """Return a buffer with memory of its own for a NumPy result, which may share memory with an operand."""
    if array.base is not None or not array.flags.c_contiguous:
        array = np.array(array, order="C")
    return Buffer(array)


def _size_class(nbytes: int) -> int:
    """Return the smallest size class of at least `nbytes`; there are four per power of two."""
    step = 1 << max(0, (nbytes - 1).bit_length() - 3)
    return -(-nbytes // step) * step


def _references(memory: Memory) -> tuple[int, int]:
    return getrefcount(memory.raw), getrefcount(memory.array)


class _Model:
    """An object with the references of an otherwise unreferenced `Buffer`."""

    def __init__(self) -> None:
        self.pooled = Pool().take(Aval((1,), np.dtype(np.uint8)))
        self.array = self.pooled.array


_model = _Model()
_OURS = _references(_model.pooled)
