"""Where temporaries stand in the arena, by the time in which they live."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from typing import Protocol

from jittape.compile.schedule.row_tiling import RowTile, groups_of
from jittape.core.program import ALIGNMENT, Aval

__all__ = ["Placer"]


class Shared(Protocol):
    """What drafts have in common that are done block by block."""

    @property
    def blocks(self) -> int: ...
    @property
    def moved(self) -> Mapping[int, int]: ...
    @property
    def work(self) -> int: ...


class Placed(Protocol):
    """A draft of a step."""

    @property
    def strip(self) -> Shared | None: ...


class Placer:
    """Gives temporaries their storages and their places in the arena, by the time in which they live."""

    def __init__(self, avals: dict[int, Aval], storage: dict[int, int], first: int) -> None:
        self.avals = avals
        self.storage = storage
        self.first = first
        self.offsets: list[int] = []
        self.lengths: list[int] = []
        self.arena = Arena()

    def place(self, drafts: Sequence[Placed], owners: list[list[int]]) -> dict[int, RowTile]:
        """Place what all drafts touch; returns the strips by the identity of what they come from."""
        last_use = {slot: i for i, own in enumerate(owners) for slot in own}
        strips: dict[int, RowTile] = {}
        at = 0
        while at < len(drafts):
            strip, end = drafts[at].strip, at + 1
            while strip is not None and end < len(drafts) and drafts[end].strip is strip:
                end += 1
            moved = strip.moved if strip is not None else {}
            touched = dict.fromkeys([slot for own in owners[at:end] for slot in own])
            for slot in touched:
                if slot not in self.storage and slot not in moved:
                    nbytes = self.avals[slot].nbytes
                    self._add(slot, self.arena.take(slot, nbytes), nbytes)
            if strip is not None:
                strips[id(strip)] = self._strip(strip, owners[at:end])
            for slot in touched:
                if slot not in moved and self.storage[slot] >= self.first and last_use[slot] < end:
                    self.arena.give_back(slot)
            at = end
        return strips

    def _add(self, slot: int, offset: int, nbytes: int) -> None:
        self.storage[slot] = self.first + len(self.offsets)
        self.offsets.append(offset)
        self.lengths.append(nbytes)

    def _strip(self, strip: Shared, owners: list[list[int]]) -> RowTile:
        """Place what is only needed within a strip: every group has memory for one block of it."""
        last_use = {slot: i for i, own in enumerate(owners) for slot in own}
        own = Arena()
        places: dict[int, int] = {}
        for i, slots in enumerate(owners):
            for slot in dict.fromkeys(slots):
                if slot in strip.moved and slot not in places:
                    places[slot] = own.take(slot, strip.moved[slot])
            for slot in dict.fromkeys(slots):
                if slot in strip.moved and last_use[slot] == i:
                    own.give_back(slot)
        groups = groups_of(strip.blocks, own.size)
        start = self.arena.take(-1, groups * own.size)
        self.arena.give_back(-1)
        for slot, place in places.items():
            self._add(slot, start + place, strip.moved[slot])
        moved = tuple([(self.storage[slot], nbytes) for slot, nbytes in strip.moved.items()])
        return RowTile(strip.blocks, groups, own.size, moved, strip.work)


class Arena:
    """Hands out byte ranges; first fit among those given back, which are in order and do not touch."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []
        self._taken: dict[int, tuple[int, int]] = {}

    def take(self, owner: int, nbytes: int) -> int:
        wanted = max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)
        for i, (start, size) in enumerate(self._free):
            if size >= wanted:
                self._free[i : i + 1] = [(start + wanted, size - wanted)] if size > wanted else []
                break
        else:
            start, self.size = self.size, self.size + wanted
        self._taken[owner] = (start, wanted)
        return start

    def give_back(self, owner: int) -> None:
        start, size = self._taken.pop(owner)
        first = last = bisect(self._free, (start, size))
        if first and sum(self._free[first - 1]) == start:
            first -= 1
            start, size = self._free[first][0], self._free[first][1] + size
        if last < len(self._free) and start + size == self._free[last][0]:
            size += self._free[last][1]
            last += 1
        self._free[first:last] = [(start, size)]
