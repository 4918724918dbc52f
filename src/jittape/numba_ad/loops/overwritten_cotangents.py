"""Loops whose adjoint clears the cotangents of elements that the next gather can then assign.

In ``for i in range(1, n): b[i] = ...a...`` and, later, ``for i in range(1, n): a[i] = ...b...``, the adjoint of the
second loop takes the cotangent of each ``a[i]`` and clears it, and that of the first loop adds to it. If nothing else
uses these cotangents in between, they are not cleared, and the second addition is an assignment: jacobi_1d of NPBench
takes 53 us instead of 58.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jittape.numba_ad.loops.index_order import sum_of
from jittape.numba_ad.loops.neighbor_reads import NeighborReads, Read
from jittape.numba_ad.structured_ir import Array, Block, Constant, If, Loop, Root, Statement, Store, walk

__all__ = ["overwritten_elements"]


def overwritten_elements(
    block: Block, nests: Mapping[Loop, NeighborReads], last: int
) -> dict[int, tuple[Store, int]]:
    """Return groups of gathered reads, by their ids, that find cotangents of other elements only at both ends.

    A group comes with the store whose adjoint need not clear its element, and with the offset of that element. `last`
    is the number of statements whose adjoints run in reverse order.
    """
    found: dict[int, tuple[Store, int]] = {}
    statements = block.statements[:last]
    for position, s in enumerate(statements):
        reads = nests.get(s) if isinstance(s, Loop) else None
        if reads is None or len(reads.loops) > 1:
            continue
        for group in reads.groups:
            written = _clearing(statements, position, reads.loops[0], group)
            if written is not None:
                found[id(group)] = written
    return found


def _clearing(
    statements: list[Statement], position: int, loop: Loop, group: list[Read]
) -> tuple[Store, int] | None:
    """Return the store whose adjoint clears the elements that the adjoint of `loop` adds to next, and its offset."""
    root = group[0].load.array.root
    if root.origins or len(group[0].offsets) != 1 or not _only_reads(loop, group, root):
        return None
    later = next((s for s in statements[position + 1 :] if _uses(s, root)), None)
    if not isinstance(later, Loop) or later.phis or later.trips is not None or later.stop is not None:
        return None
    if later.counter is None or not all(map(_is_same, later.bounds, loop.bounds)):
        return None
    stores = [s for s in walk(later.body) if _uses(s, root)]
    if len(stores) != 1 or stores[0] not in later.body.statements:
        return None
    store = stores[0]
    if not isinstance(store, Store) or store.sign or store.array is not group[0].load.array:
        return None
    index = sum_of(store.indices[0])
    if index is None or index[0] is not later.counter:
        return None
    offsets = [read.offsets[0] for read in group]
    return (store, index[1]) if min(offsets) <= index[1] <= max(offsets) else None  # type: ignore[type-var,operator]


def _only_reads(loop: Loop, group: list[Read], root: Root) -> bool:
    """Return whether a loop uses memory in the reads of one group only."""
    own = {read.load for read in group}
    return all(s in own or not _uses(s, root) for s in walk(loop.body))


def _is_same(one: Any, other: Any) -> bool:
    constants = isinstance(one, Constant) and isinstance(other, Constant)
    return one is other or (constants and one.value == other.value)


def _uses(s: Statement, root: Root) -> bool:
    """Return whether a statement, or one inside it, has an array that may be in the memory."""
    if isinstance(s, Loop):
        return any(_uses(one, root) for one in walk(s.body)) or (
            s.header is not None and any(_uses(one, root) for one in walk(s.header))
        )
    if isinstance(s, If):
        return any(_uses(one, root) for block in (s.then, s.orelse) for one in walk(block))
    fields = [getattr(s, name, None) for name in ("array", "base", "result", "value")]
    arrays = [one for one in [*fields, *getattr(s, "operands", [])] if isinstance(one, Array)]
    return any(_may_be(one.root, root) for one in arrays)


def _may_be(one: Root, root: Root) -> bool:
    return one is root or any(_may_be(origin, root) for origin, _ in one.origins)
