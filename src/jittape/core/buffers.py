"""`Buffer`: memory with its address kept beside it, and `pool`, where large memory waits to be used again.

Asking NumPy for an address (`ndarray.ctypes.data`, `__array_interface__`) costs more than a small kernel, 0.8 µs, so it
is asked once, when the memory is made; and it is read from the ndarray's own memory, which costs 0.1 µs. Values never
change under a reader: a buffer is written once, by the executable that made it, and written again only when nobody but
that executable holds it any more and the user never saw it.

Memory of `LARGE` bytes or more belongs to no executable, though one may keep some (`results`). When the last reference
to it is gone, views of the user included, the pool gives it to the next buffer of about that size: 80 MB fresh from the
system cost more in page faults than the arithmetic on them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from ctypes import c_size_t
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from jittape.core.config import config
from jittape.core.locks import rlock
from jittape.core.program import Aval
from jittape.core.tickets import Ticket

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
"""NumPy's ABI has the address first in an ndarray, after what every object has."""

_samples = [np.empty(n) for n in (1, 1000)]
address_of: Callable[[np.ndarray[Any, Any]], int] = (
    _read if [_read(a) for a in _samples] == [_asked(a) for a in _samples] else _asked
)
"""The address of an ndarray's memory."""

LARGE = 1 << 16
"""Least size, in bytes, of pooled memory. To take a block costs 1.5 µs, fresh pages 0.1 µs per KiB."""


class _Block:
    """A piece of memory that the pool knows: the bytes, where in them arrays begin, and its size class.

    `ticket` is None while the block waits; else it brings the block back when nobody refers to the memory any more.
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
    """A block in use: an array over all of it, to which all views refer in the end, and one of the right shape."""

    block: _Block
    raw: np.ndarray[Any, Any]
    array: np.ndarray[Any, Any]


_PAGE = 4096
_shifts = itertools.cycle(range(0, _PAGE, _PAGE // 4))
"""Where in its page memory begins: the processor takes a load for one of what was just stored at the same place in
another page. Rosenbrock's gradient, n=1,000,000, takes 190 to 200 µs where the result begins at the operand's place or
1,024 bytes or more after it, and 220 to 310 where it does from 64 to 768."""


class PoolStats(NamedTuple):
    """How often large memory was asked for, how often it came fresh from the system, and bytes that wait."""

    taken: int
    fresh: int
    waiting: int


class Pool:
    """Large memory by size class. The pool remembers at most `config.max_pool_bytes` of it, in use or waiting.

    A block comes back by its ticket, at any moment and without any Python code; `_collect` takes it in when the pool
    has work to do. What has been in one state for the longest time is forgotten first: if it waits it goes to the
    system at once, if it is in use, when nobody refers to it any more. So free memory never exceeds the limit, though
    the pool runs no code when memory is freed.
    """

    def __init__(self) -> None:
        self._lock = rlock()  # a collection of garbage in the middle may run code that takes memory
        self._waiting: dict[int, list[_Block]] = {}
        self._known: dict[int, _Block] = {}
        """By identity, in the order in which they were made or came back last."""
        self._returned: deque[Ticket] = deque()
        self._bytes = 0
        self._taken = 0
        self._fresh = 0

    def take(self, aval: Aval) -> Memory:
        """Memory for a value of `aval`, whose contents are arbitrary."""
        kind = _size_class(aval.nbytes)
        with self._lock:
            self._taken += 1
            if self._returned:
                self._collect()
            waiting = self._waiting.get(kind)
            if waiting:
                block = waiting.pop()
            else:
                self._fresh += 1
                block = _Block(kind)
                if kind <= config._max_pool_bytes:
                    self._bytes += kind
                    self._known[id(block)] = block
                    self._forget()
            raw = np.frombuffer(block.memory, aval.dtype, aval.size, block.start)
            if id(block) in self._known:
                block.ticket = ticket = Ticket(raw, self._returned.append)
                ticket.content = block
        return Memory(block, raw, raw.reshape(aval.shape))

    def _collect(self) -> None:
        """Take in what nobody refers to any more."""
        returned, known = self._returned, self._known
        while returned:
            block: _Block = returned.popleft().content
            if known.pop(id(block), None) is block:  # it has not been forgotten meanwhile
                block.ticket = None
                known[id(block)] = block
                if block.kind in self._waiting:
                    self._waiting[block.kind].append(block)
                else:
                    self._waiting[block.kind] = [block]

    def _forget(self) -> None:
        """Keep within the limit."""
        while self._bytes > config._max_pool_bytes and self._known:
            block = self._known.pop(next(iter(self._known)))
            self._bytes -= block.kind
            waiting = self._waiting.get(block.kind, [])
            if block.ticket is None and block in waiting:
                waiting.remove(block)
            block.ticket = None

    def clear(self) -> None:
        """Forget all memory: what waits goes to the system."""
        with self._lock:
            self._collect()
            for block in self._known.values():
                block.ticket = None
            self._known, self._waiting = {}, {}
            self._bytes = 0

    def stats(self) -> PoolStats:
        """Counts since the process began."""
        with self._lock:
            self._collect()
            waiting = sum([block.kind for block in self._known.values() if block.ticket is None])
        return PoolStats(self._taken, self._fresh, waiting)


pool = Pool()


class Buffer:
    """A C-contiguous ndarray, its address, and whether the user has seen a view of it.

    Parameters
    ----------
    array : ndarray
        The memory.
    pooled : Memory, optional
        Where it came from.
    """

    __slots__ = ("address", "array", "exposed", "nbytes", "pooled")

    def __init__(self, array: np.ndarray[Any, Any], pooled: Memory | None = None) -> None:
        self.pooled = pooled
        self.array = array
        self.address: int = address_of(array) if pooled is None else pooled.block.address
        self.nbytes = array.nbytes
        self.exposed = False

    def is_private(self) -> bool:
        """Whether nobody sees the memory but through this object, and it may be written."""
        if self.exposed:
            return False
        if self.pooled is not None:
            return _references(self.pooled) == _OURS
        return (
            self.array.base is None and self.array.flags.writeable and getrefcount(self.array) == _OURS[1] - 1
        )

    def view(self) -> np.ndarray[Any, Any]:
        """A read-only view for the user; from now on the memory is never written while anybody refers to it.

        What it is a view of is a read-only memoryview, so that NumPy refuses to make it writeable again. Of an ndarray
        it would not. 0.32 µs, against 0.29 for a view whose flag is set.
        """
        self.exposed = True
        return np.asarray(self.array.data.toreadonly())


def allocate(aval: Aval) -> Buffer:
    """Memory for a value of `aval`; its contents are arbitrary."""
    if aval.nbytes < LARGE:
        return Buffer(np.empty(aval.shape, aval.dtype))
    memory = pool.take(aval)
    return Buffer(memory.array, memory)


def copied(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A copy in `dtype` and C order; a large one is aligned as the pool does it."""
    if array.size * dtype.itemsize < LARGE:
        return np.array(array, dtype, order="C", subok=False)
    copy = pool.take(Aval(array.shape, dtype)).array
    np.copyto(copy, array, casting="unsafe")
    return copy


def owned(array: np.ndarray[Any, Any]) -> Buffer:
    """A buffer of its own for what a NumPy evaluation returned, which may share memory with an operand."""
    if array.base is not None or not array.flags.c_contiguous:
        array = np.array(array, order="C")
    return Buffer(array)


def _size_class(nbytes: int) -> int:
    """The least of four sizes an octave that is enough."""
    step = 1 << max(0, (nbytes - 1).bit_length() - 3)
    return -(-nbytes // step) * step


def _references(memory: Memory) -> tuple[int, int]:
    return getrefcount(memory.raw), getrefcount(memory.array)


class _Model:
    """As a `Buffer` refers to memory, and nobody else."""

    def __init__(self) -> None:
        self.pooled = Pool().take(Aval((1,), np.dtype(np.uint8)))
        self.array = self.pooled.array


_model = _Model()
_OURS = _references(_model.pooled)
