"""Sets of uses of values. The values of an unrolled loop share them."""

from __future__ import annotations

from collections.abc import Set

from jittape.compile.ir.index_maps import Access

__all__ = ["NO_USES", "Group", "Use", "add_uses"]

Group = tuple[tuple[int, ...], int]
"""The loop extents and the depth that identify a loop nest."""
Use = tuple[Group, Access]
"""A loop nest that needs a value, and the index map by which it reads the value."""
NO_USES: Set[Use] = frozenset()


def add_uses(uses: dict[int, Set[Use]], slot: int, more: frozenset[Use]) -> None:
    """Add uses of a slot; slots that are not in `uses` are ignored.

    Several slots may share a frozen set. A mutable set belongs to one slot and grows.
    """
    before = uses.get(slot)
    if before is None or before is more:
        return
    if isinstance(before, set):
        before |= more
    elif not before:
        uses[slot] = more
    elif not more <= before:
        uses[slot] = {*before, *more}
