"""Memory for the results of an executable: earlier results that are unreferenced are reused.

A fresh buffer costs 1.5 µs. Buffers are kept in *sets* with one buffer for each result; a training loop needs two
sets, for old and new values. Machine code checks whether a whole set is free: for 20 results, the time of a step
outside its kernels fell from 8.5 to 6.6 µs. Memory is not written while the user has a view of it.

Small buffers of the memory pool are kept as well, since taking one from the pool and returning it costs 2.7 µs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from sys import getrefcount
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.built_in_functions import as_function
from jittape.core.buffers import LARGE, Buffer, allocate
from jittape.core.config import config
from jittape.core.program import Aval
from jittape.core.tuning import tuning
from jittape.native.built_in import buffer_places, built_in

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = ["ResultMemory", "busy", "count_busy"]


_BATCH_SETS, _BATCH_BYTES = 32, 1 << 14
"""Maximum number of sets that are made at once, and of their bytes."""


class ResultMemory:
    """Reusable buffers for the results of one run at a time.

    Parameters
    ----------
    avals : sequence of Aval
        Shapes and dtypes of the results.
    elsewhere : collection of int
        Positions of results whose memory the caller provides.

    Attributes
    ----------
    large : tuple of int
        Positions of the results that `take` leaves out: large ones, and those in `elsewhere`.
    """

    __slots__ = ("_avals", "_is_batched", "_misses", "_pack", "_sets", "_small", "large")

    _busy: ClassVar[Any]
    """`busy` or `count_busy`."""

    @classmethod
    def follow(cls) -> None:
        """Count references in machine code or in Python, as the current settings say."""
        cls._busy = staticmethod(busy() if config._native else count_busy)

    def __init__(self, avals: Sequence[Aval], elsewhere: Collection[int] = ()) -> None:
        pooled = [aval.nbytes for aval in avals if LARGE <= aval.nbytes < tuning.remembered_result_bytes]
        limit = tuning.remembered_result_bytes if sum(pooled) <= tuning.remembered_set_bytes else LARGE
        self.large = tuple([i for i, aval in enumerate(avals) if aval.nbytes >= limit or i in elsewhere])
        self._avals = [aval for i, aval in enumerate(avals) if i not in self.large]
        self._pack = struct.Struct("=" + "Q" * len(self._avals)).pack
        self._sets: list[tuple[tuple[Buffer, ...], bytes]] = []
        self._misses = 0
        self._is_batched = False  # whether results have been kept so long that sets are made in batches
        small = all([aval.nbytes < LARGE for aval in self._avals])
        self._small = tuple([(*aval, aval.nbytes) for aval in self._avals]) if small else None
        type(self).follow()

    def take(self) -> tuple[tuple[Buffer, ...], bytes]:
        """Return unreferenced buffers, and their addresses in the format of a slot table."""
        sets = self._sets
        if sets and self._busy((found := sets[0])[0], False, None) == 0:
            self._misses = 0
            if len(sets) > 1:
                sets.append(sets.pop(0))  # the next run finds another set free first
            return found
        if self._is_batched:
            del sets[:1]
            if sets and self._busy((found := sets[0])[0], False, None) == 0:  # only one result is kept
                sets.append(sets.pop(0))
                return found
            return self._batch()
        if self._misses > tuning.result_misses:
            return self._batch()
        least, best = len(self._avals), -1
        for i, found in enumerate(sets):
            count = self._busy(found[0], False, None)
            if count == 0:
                sets.append(sets.pop(i))
                return found
            if count < least:
                least, best = count, i
        # Two sets serve old and new values in turn: a step that reads its loss then takes 8 instead of 21 µs.
        is_nearly_free = 2 * least <= len(self._avals) and len(sets) > 1
        if best >= 0 and (is_nearly_free or len(sets) == tuning.result_sets_limit):
            return self._renewed(best)
        self._misses += 1
        return self._fresh()

    def _renewed(self, best: int) -> tuple[tuple[Buffer, ...], bytes]:
        """Return set `best` with fresh buffers for its busy ones."""
        old, _ = self._sets.pop(best)
        pairs = zip(_in_use(old), old, self._avals, strict=True)
        return self._keep(tuple([allocate(aval) if in_use else buffer for in_use, buffer, aval in pairs]))

    def _batch(self) -> tuple[tuple[Buffer, ...], bytes]:
        """Return a new set; if results are small, make more sets for the next runs, which machine code takes.

        A call whose result is kept takes 1.6 us; with one set at a time, which Python makes, it took 2.2.
        """
        count = (
            0 if self._small is None else _BATCH_BYTES // max(1, sum([aval.nbytes for aval in self._avals]))
        )
        if count < 2 or _NEW is None or not config._native:
            return self._fresh()
        made = new_set()
        sets = [made(self._small, np.empty, Buffer, False, None) for _ in range(min(count, _BATCH_SETS))]
        self._sets[:] = sets[1:] + sets[:1]
        self._is_batched = True
        return sets[0]

    def _fresh(self) -> tuple[tuple[Buffer, ...], bytes]:
        """Return a new set, in place of the oldest one if there are many."""
        if len(self._sets) >= tuning.result_sets_limit:
            del self._sets[0]
        if self._small is None or _NEW is None or not config._native:
            return self._keep(tuple([allocate(aval) for aval in self._avals]))
        made = new_set()(self._small, np.empty, Buffer, False, None)
        self._sets.append(made)
        return made

    def _keep(self, buffers: tuple[Buffer, ...]) -> tuple[tuple[Buffer, ...], bytes]:
        made = buffers, self._pack(*[buffer.address for buffer in buffers])
        self._sets.append(made)
        return made


@cache
def busy() -> Callable[[tuple[Buffer, ...], bool, None], int]:
    """Return ``busy(buffers, False, None)``, which counts the buffers that are not free.

    A buffer is free if only the tuple refers to it and only the buffer refers to its array. The array's references
    count because a view of it, such as the user's or a broadcast operand of a NumPy evaluation, refers to the array and
    not to the buffer. The user has not seen the next value of a free buffer.
    """
    if _BUSY is None:
        return count_busy
    found = as_function(registry.address_of(_BUSY))
    free = (Buffer(np.empty(1)),)
    other = (free[0],)
    counts = found(free, False, None)
    del other
    return found if (counts, found(free, False, None)) == (1, 0) else count_busy


def count_busy(buffers: tuple[Buffer, ...], false: bool, none: None) -> int:
    """Count the buffers that are not free, in Python."""
    used = _in_use(buffers)
    for i, in_use in enumerate(used):
        if not in_use:
            buffers[i].exposed = False
    return sum(used)


def _in_use(buffers: tuple[Buffer, ...]) -> list[bool]:
    return [getrefcount(b) > _IN_TUPLE or not _is_alone(b) for b in buffers]


@cache
def new_set() -> Callable[..., tuple[tuple[Buffer, ...], bytes]]:
    """Return ``new(avals, np.empty, Buffer, False, None)``, which returns Buffers with arbitrary contents as a set.

    Each of `avals` is a tuple of a shape, a dtype and the size in bytes.
    """
    assert _NEW is not None
    return as_function(registry.address_of(_NEW))


def _is_alone(buffer: Buffer) -> bool:
    """Return whether only the buffer refers to its array."""
    return getrefcount(buffer.array) <= _IN_BUFFER if buffer.pooled is None else buffer.is_private()


def _counts(buffers: tuple[Buffer, ...]) -> list[tuple[int, int]]:
    return [(getrefcount(b), getrefcount(b.array)) for b in buffers]


_IN_TUPLE, _IN_BUFFER = _counts((allocate(Aval((), np.dtype(float))),))[0]
"""The values of `getrefcount` for a buffer in a tuple and a local variable, and for its array."""


def _write_busy(function: ir.Function, places: Mapping[str, int]) -> None:
    from jittape.runtime.emit_result_sets import write_busy

    write_busy(function, places)


def _write_new(function: ir.Function, places: Mapping[str, int]) -> None:
    from jittape.runtime.emit_result_sets import write_new

    write_new(function, places)


_BUSY = built_in("busy", _write_busy)
_NEW = built_in("resultset", _write_new, buffer_places()) if _BUSY is not None else None
for _definition in (_BUSY, _NEW):
    if _definition is not None and config._native:
        registry.announce(_definition)
config.on_native_change(ResultMemory.follow)
