"""Memory for the results of an executable: what was handed out earlier and nobody holds any more.

A fresh buffer costs 1.5 µs. So buffers are kept in *sets*, one buffer for every result; a training loop needs two, for
old and new values. Machine code looks whether a whole set is free: with 20 results a step of 8.5 µs beside its kernels
came down to 6.6. Memory that the user has seen is never written again.

Memory of the pool, too, is kept so if it is little: to take it from there and to give it back costs 2.7 µs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from sys import getrefcount

import numpy as np
from llvmlite import ir

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.driver import as_function, object_argument, return_integer
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import for_range, load_at
from jittape.core.buffers import LARGE, Buffer, allocate
from jittape.core.config import config
from jittape.core.program import Aval
from jittape.core.tuning import tuning
from jittape.native.object_layout import ObjectLayout, reader

__all__ = ["ResultMemory", "busy", "count_busy"]


_I64, _I32 = ir.IntType(64), ir.IntType(32)


class ResultMemory:
    """Buffers for results of these avals, one run at a time; large results have memory of their own each time.

    Those at the positions `elsewhere` get theirs in another way.

    Attributes
    ----------
    large : tuple of int
        Positions of the results for which `take` gives nothing.
    """

    _busy: Callable[[tuple[Buffer, ...], bool, None], int]

    @classmethod
    def follow(cls) -> None:
        """Count references by machine code or by Python, as the settings say now."""
        cls._busy = staticmethod(busy() if config._native else count_busy)

    def __init__(self, avals: Sequence[Aval], elsewhere: Collection[int] = ()) -> None:
        pooled = [aval.nbytes for aval in avals if LARGE <= aval.nbytes < tuning.remembered_result_bytes]
        limit = tuning.remembered_result_bytes if sum(pooled) <= tuning.remembered_set_bytes else LARGE
        self.large = tuple([i for i, aval in enumerate(avals) if aval.nbytes >= limit or i in elsewhere])
        self._avals = [aval for i, aval in enumerate(avals) if i not in self.large]
        self._pack = struct.Struct("=" + "Q" * len(self._avals)).pack
        self._sets: list[tuple[tuple[Buffer, ...], bytes]] = []
        type(self).follow()

    def take(self) -> tuple[tuple[Buffer, ...], bytes]:
        """Buffers that nobody holds, and their addresses as they stand in a slot table."""
        sets = self._sets
        if sets and self._busy((found := sets[0])[0], False, None) == 0:
            if len(sets) > 1:
                sets.append(sets.pop(0))  # the next time another is the first to be free again
            return found
        least, best = len(self._avals), -1
        for i, found in enumerate(sets):
            count = self._busy(found[0], False, None)
            if count == 0:
                if len(sets) > 1:
                    sets.append(sets.pop(i))  # the next time another is the first to be free again
                return found
            if count < least:
                least, best = count, i
        return self._renewed(best, least)

    def _renewed(self, best: int, least: int) -> tuple[tuple[Buffer, ...], bytes]:
        """Set number `best`, of which `least` are busy, with fresh buffers for these; or a new one if that is most."""
        if best >= 0 and (2 * least <= len(self._avals) or len(self._sets) == tuning.result_sets_limit):
            old, _ = self._sets.pop(best)
            pairs = zip(_in_use(old), old, self._avals, strict=True)
            buffers = tuple([allocate(aval) if in_use else buffer for in_use, buffer, aval in pairs])
        else:
            del self._sets[: max(0, len(self._sets) - tuning.result_sets_limit + 1)]
            buffers = tuple([allocate(aval) for aval in self._avals])
        made = buffers, self._pack(*[buffer.address for buffer in buffers])
        self._sets.append(made)
        return made


@cache
def busy() -> Callable[[tuple[Buffer, ...], bool, None], int]:
    """``busy(buffers, False, None)``: how many of them something besides the tuple refers to, or the user has seen.

    What is derived from a buffer's array, for example a broadcast operand of a NumPy evaluation, holds the array but
    not the buffer: so the array's references count as well.
    """
    if _BUSY is None:
        return count_busy
    found = as_function(registry.own(_BUSY))
    free = (Buffer(np.empty(1)),)
    other = (free[0],)
    counts = found(free, False, None)
    del other
    return found if (counts, found(free, False, None)) == (1, 0) else count_busy


def count_busy(buffers: tuple[Buffer, ...], false: bool, none: None) -> int:
    """As what `busy` gives, in Python."""
    return sum(_in_use(buffers))


def _in_use(buffers: tuple[Buffer, ...]) -> list[bool]:
    return [getrefcount(b) > _IN_TUPLE or b.exposed or not _is_alone(b) for b in buffers]


def _is_alone(buffer: Buffer) -> bool:
    """Whether nobody else refers to a buffer's array."""
    return getrefcount(buffer.array) <= _IN_BUFFER if buffer.pooled is None else buffer.is_private()


def _counts(buffers: tuple[Buffer, ...]) -> list[tuple[int, int]]:
    return [(getrefcount(b), getrefcount(b.array)) for b in buffers]


_IN_TUPLE, _IN_BUFFER = _counts((allocate(Aval((), np.dtype(float))),))[0]
"""What `getrefcount` says of a buffer in a tuple and a local variable, and of its array."""


def _define(function: ir.Function, layout: ObjectLayout) -> None:
    builder = Builder(function.append_basic_block("entry"))
    buffers, false, none = (builder.ptrtoint(object_argument(builder, function, i), _I64) for i in range(3))

    load = partial(load_at, builder)

    def shared(item: ir.Value, own: int = layout.held) -> ir.Value:
        return builder.icmp_signed("!=", load(item, layout.references, _I32), ir.Constant(_I32, own))

    total = builder.alloca(_I64)
    builder.store(ir.Constant(_I64, 0), total)
    with for_range(builder, load(buffers, layout.tuple_length), scalar=True) as index:
        item = load(builder.add(buffers, builder.mul(index, ir.Constant(_I64, 8))), layout.items)
        seen = builder.icmp_signed("!=", load(item, layout.buffer_exposed), false)
        one = builder.or_(shared(item), seen)
        pooled = load(item, layout.buffer_pooled)
        with builder.if_else(builder.icmp_signed("==", pooled, none)) as (own, from_pool):
            with own:
                alone = shared(load(item, layout.buffer_array))
                own_end = builder.block
            with from_pool:
                raw, array = (load(pooled, layout.items + 8 * i) for i in (1, 2))
                both = builder.or_(shared(raw, layout.raw_references), shared(array, layout.array_references))
                pool_end = builder.block
        memory = builder.phi(ir.IntType(1))
        memory.add_incoming(alone, own_end)
        memory.add_incoming(both, pool_end)
        one = builder.or_(one, memory)
        builder.store(builder.add(builder.load(total), builder.zext(one, _I64)), total)
    return_integer(builder, builder.load(total))


_BUSY = reader("busy", _define)
if _BUSY is not None and config._native:
    registry.announce(_BUSY)
config.on_native_change(ResultMemory.follow)
