"""`Buffer`: memory with its address kept beside it, and `pool`, where large memory waits to be used again.

Asking NumPy for an address (`ndarray.ctypes.data`, `__array_interface__`) costs more than a small kernel, 0.8 µs, so it
is asked once, when the memory is made; and it is read from the ndarray's own memory, which costs 0.1 µs. Values never
change under a reader: a buffer is written once, by the executable that made it, and written again only when nobody but
that executable holds it any more and the user never saw it.

Memory of `LARGE` bytes or more belongs to nobody in particular, though an executable may keep some (`results`). When
the last reference to it goes, views of the user included, it goes to the pool, and the next buffer of about that size
gets it: 80 MB fresh from the system cost more in page faults than the arithmetic on them.
"""

from __future__ import annotations

import atexit
import itertools
import threading
from collections.abc import Callable
from ctypes import c_size_t
from sys import getrefcount
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jittape.config import config
from jittape.program import Aval

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
"""From so many bytes on memory is pooled. A take and a give back cost 2 µs, fresh pages 0.1 µs a KiB."""


class Memory(NamedTuple):
    """A piece of memory, seen as bytes, the array that an aligned part of them was last used as, and its address."""

    block: _Block
    raw: np.ndarray[Any, Any]
    array: np.ndarray[Any, Any]
    address: int


class _Block:
    """What all views of a piece of memory refer to in the end; when the last has gone, the memory goes to the pool."""

    __slots__ = ("__array_interface__", "owner", "shift")

    returns: ClassVar[bool] = True
    """Whether the pool wants it. Not as the process ends: then the names that the way back takes are gone."""

    def __init__(self, owner: np.ndarray[Any, Any], shift: int) -> None:
        self.owner: np.ndarray[Any, Any] | None = owner
        self.shift = shift
        self.__array_interface__ = owner.__array_interface__

    def __del__(self) -> None:
        if self.owner is not None and self.returns:
            pool.give_back(_placed(_Block(self.owner, self.shift), _BYTE))

    def retire(self) -> None:
        """Let the memory go to the system when the last view has gone."""
        self.owner = None


_BYTE = Aval((1,), np.dtype(np.uint8))
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
    """Large memory that nobody holds, by size class; at most `config.max_pool_bytes` of it.

    Memory comes back from finalizers, which run at any moment, in the middle of the pool's own work too: so giving back
    never waits for the lock. If it is taken, the memory goes to the system instead.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, list[Memory]] = {}
        self._bytes = 0
        self._taken = 0
        self._fresh = 0

    def take(self, aval: Aval) -> Memory:
        """Memory for a value of `aval`, whose contents are arbitrary."""
        kind = _size_class(aval.nbytes)
        with self._lock:
            self._taken += 1
            memory = self._found(kind, aval)
            if memory is None:
                self._fresh += 1
        if memory is None:
            return _placed(_Block(np.empty(kind + _PAGE, np.uint8), next(_shifts)), aval)
        if memory.array.shape != aval.shape or memory.array.dtype != aval.dtype:
            return _placed(memory.block, aval)
        return memory

    def _found(self, kind: int, aval: Aval) -> Memory | None:
        """What came back last; rather something that had the same shape."""
        waiting = self._waiting.get(kind)
        if not waiting:
            return None
        self._bytes -= kind
        for i in range(len(waiting) - 1, -1, -1):
            if waiting[i].array.shape == aval.shape and waiting[i].array.dtype == aval.dtype:
                return waiting.pop(i)
        return waiting.pop()

    def give_back(self, memory: Memory) -> None:
        """Keep `memory`, which nobody else refers to; what has waited longest makes room."""
        kind = len(memory.raw) - _PAGE
        limit = config._max_pool_bytes
        if kind > limit or not self._lock.acquire(blocking=False):
            memory.block.retire()
            return
        try:
            waiting = self._waiting.pop(kind, [])
            waiting.append(memory)
            self._waiting[kind] = waiting  # the last class is the one used last
            self._bytes += kind
            while self._bytes > limit:
                oldest = next(iter(self._waiting))
                self._waiting[oldest].pop(0).block.retire()
                self._bytes -= oldest
                if not self._waiting[oldest]:
                    del self._waiting[oldest]
        finally:
            self._lock.release()

    def clear(self) -> None:
        """Let all memory that waits go to the system."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._bytes = 0
        for memories in waiting.values():
            for memory in memories:
                memory.block.retire()

    def stats(self) -> PoolStats:
        """Counts since the process began."""
        return PoolStats(self._taken, self._fresh, self._bytes)


pool = Pool()


def _close() -> None:
    _Block.returns = False


atexit.register(_close)


class Buffer:
    """A C-contiguous ndarray, its address, and whether the user has seen a view of it.

    Parameters
    ----------
    array : ndarray
        The memory.
    pooled : Memory, optional
        Where it came from; goes back there when nobody refers to it any more.
    """

    __slots__ = ("address", "array", "exposed", "nbytes", "pooled")

    def __init__(self, array: np.ndarray[Any, Any], pooled: Memory | None = None) -> None:
        self.pooled = pooled
        self.array = array
        self.address: int = address_of(array) if pooled is None else pooled.address
        self.nbytes = array.nbytes
        self.exposed = False

    def __del__(self) -> None:
        try:
            if self.pooled is None:
                return
        except AttributeError:
            return  # an interrupt came before `__init__`
        # A view refers to the bytes, whatever it was made from; who uses the array itself refers to that.
        if self.pooled.block.returns and _references(self.pooled) == _OURS:
            pool.give_back(self.pooled)

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


def _placed(block: _Block, aval: Aval) -> Memory:
    """An array in `block`, whose last `_PAGE` bytes are room for its beginning."""
    raw = np.asarray(block)
    start = (block.shift - address_of(raw)) % _PAGE
    array = raw[start : start + aval.nbytes].view(aval.dtype).reshape(aval.shape)
    return Memory(block, raw, array, address_of(raw) + start)


def _size_class(nbytes: int) -> int:
    """The least of four sizes an octave that is enough."""
    step = 1 << max(0, (nbytes - 1).bit_length() - 3)
    return -(-nbytes // step) * step


def _references(memory: Memory) -> tuple[int, int]:
    return getrefcount(memory.raw), getrefcount(memory.array)


class _Model:
    """As a `Buffer` refers to memory, and nobody else."""

    def __init__(self) -> None:
        self.pooled = _placed(_Block(np.empty(2 * _PAGE, np.uint8), 0), _BYTE)
        self.array = self.pooled.array


_model = _Model()
_OURS = _references(_model.pooled)
