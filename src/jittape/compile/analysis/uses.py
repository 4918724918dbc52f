"""Who needs a value: sets of uses, which the values of an unrolled loop share."""

from __future__ import annotations

from collections.abc import Set

from jittape.compile.ir.index_maps import Access

__all__ = ["NOBODY", "Group", "Use", "add_uses"]

Group = tuple[tuple[int, ...], int]
"""Loop extents and depth: what names a nest."""
Use = tuple[Group, Access]
"""Who needs a value, and by which map."""
NOBODY: Set[Use] = frozenset()


def add_uses(uses: dict[int, Set[Use]], slot: int, more: frozenset[Use]) -> None:
    """Note more uses of one of the slots in `uses`; nothing is noted of others.

    A frozen set may be that of many slots, any other belongs to one, and grows.
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
