"""Memory planning: storages for the slots of all steps, and places in the arena for temporaries by their lifetimes."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence

from jittape.compile.schedule.row_tiling import groups_of
from jittape.compile.schedule.steps import KernelStep, NumpyStep, RowTile, Schedule, Step, pairs_of
from jittape.compile.schedule.unplaced_steps import Draft, TiledRows, UnplacedStep
from jittape.core.program import ALIGNMENT, Aval, Program
from jittape.core.symbolic.extent_functions import never_negative
from jittape.core.symbolic.extents import hint_of
from jittape.value_classes import NamedTuple

__all__ = ["Arena", "plan_memory", "planned"]


def plan_memory(draft: Draft) -> None:
    """Give every slot a storage; the schedule of the draft is then complete."""
    draft.schedule = planned(draft)


def planned(draft: Draft) -> Schedule:
    """Return the schedule of the draft's steps as they are."""
    program = draft.program
    storage = {slot: i for i, slot in enumerate(program.inputs)}
    results: list[Aval] = []
    for slot in dict.fromkeys(program.outputs):
        owner = draft.owner_of.get(slot, slot)
        if owner not in storage:
            storage[owner] = len(program.inputs) + len(results)
            results.append(draft.avals[slot])
    owners = [draft.owners(step.touched) for step in draft.steps]
    overwritten = {
        y: x
        for step, own in zip(draft.steps, owners, strict=True)
        for x, y in pairs_of(own[len(step.operands) :])
    }
    planner = _Planner(draft.avals, storage, len(program.inputs) + len(results), overwritten)
    tiles = planner.place(draft.steps, owners)
    steps = [
        _placed(step, program, [storage[s] for s in own], tiles.get(id(step.tile)))
        for step, own in zip(draft.steps, owners, strict=True)
    ]
    in_place = [
        (storage[x], storage[owner] - len(program.inputs), read)
        for x, (owner, read) in draft.in_place.items()
    ]
    return Schedule(
        program,
        tuple(steps),
        tuple([storage[s] for s in draft.owners(program.outputs)]),
        tuple(results),
        tuple(planner.offsets),
        tuple(planner.lengths),
        planner.arena.size,
        tuple(in_place),
        tuple(draft.spare.values()),
    )


def _placed(step: UnplacedStep, program: Program, storages: list[int], tile: RowTile | None) -> Step:
    """Return the step with storages for its operands."""
    if step.kernel is not None:
        count = len(step.operands)
        operands, overwritten = tuple(storages[:count]), pairs_of(storages[count:])
        return KernelStep(
            step.kernel, operands, step.sizes, step.ops, step.tasks, step.work, tile, step.bodies, overwritten
        )
    avals = tuple([program.avals[s] for s in step.operands])
    n = len(step.operands) - len(step.ops)
    return NumpyStep(step.ops, tuple(storages[:n]), avals[:n], tuple(storages[n:]), avals[n:])


class _Planner:
    """Planner of storages for temporaries, from number `first` on, and of their ranges of the arena.

    `overwritten` has the temporaries that take the range of another one, which ends where they begin.
    """

    def __init__(
        self, avals: dict[int, Aval], storage: dict[int, int], first: int, overwritten: dict[int, int]
    ) -> None:
        self.avals = avals
        self.storage = storage
        self.first = first
        self.overwritten = overwritten
        self.handed_on = frozenset(overwritten.values())
        self.offsets: list[int] = []
        self.lengths: list[int] = []
        self.arena = Arena()

    def place(self, steps: Sequence[UnplacedStep], owners: list[list[int]]) -> dict[int, RowTile]:
        """Place the operands of all steps; return the tile loops by the identity of their `TiledRows`."""
        last_use = {slot: i for i, own in enumerate(owners) for slot in own}
        tiles: dict[int, RowTile] = {}
        at = 0
        while at < len(steps):
            tile, end = steps[at].tile, at + 1
            while tile is not None and end < len(steps) and steps[end].tile is tile:
                end += 1
            moved = tile.moved if tile is not None else {}
            touched = dict.fromkeys([slot for own in owners[at:end] for slot in own])
            for slot in touched:
                if slot not in self.storage and slot not in moved:
                    nbytes = self.avals[slot].nbytes
                    self._add(slot, self._range(self.arena, slot, nbytes), nbytes)
            if tile is not None:
                tiles[id(tile)] = self._tile(tile, owners[at:end])
            for slot in touched:
                if slot not in moved and self.storage[slot] >= self.first and last_use[slot] < end:
                    self._give_back(self.arena, slot)
            at = end
        return tiles

    def _range(self, arena: Arena, slot: int, nbytes: int) -> int:
        """Return the place of a new temporary, which may be that of one that ends."""
        before = self.overwritten.get(slot)
        return arena.take(slot, nbytes) if before is None else arena.hand_on(before, slot)

    def _give_back(self, arena: Arena, slot: int) -> None:
        if slot not in self.handed_on:
            arena.give_back(slot)

    def _add(self, slot: int, offset: int, nbytes: int) -> None:
        self.storage[slot] = self.first + len(self.offsets)
        self.offsets.append(offset)
        self.lengths.append(nbytes)

    def _tile(self, tile: TiledRows, owners: list[list[int]]) -> RowTile:
        """Place the slots that only one tile loop needs: each of its groups has memory for one block of them."""
        last_use = {slot: i for i, own in enumerate(owners) for slot in own}
        own = Arena()
        places: dict[int, int] = {}
        for i, slots in enumerate(owners):
            for slot in dict.fromkeys(slots):
                if slot in tile.moved and slot not in places:
                    places[slot] = self._range(own, slot, tile.moved[slot])
            for slot in dict.fromkeys(slots):
                if slot in tile.moved and last_use[slot] == i:
                    self._give_back(own, slot)
        groups = groups_of(tile.blocks, own.size)
        start = self.arena.take(-1, groups * own.size)
        self.arena.give_back(-1)
        for slot, place in places.items():
            self._add(slot, start + place, tile.moved[slot])
        moved = tuple([(self.storage[slot], nbytes) for slot, nbytes in tile.moved.items()])
        return RowTile(tile.blocks, groups, own.size, moved, tile.work)


class _Range(NamedTuple):
    """A free range of bytes; `sure` bytes of it are there for all values of the extents in `size`."""

    start: int
    size: int
    sure: int


class Arena:
    """First-fit allocator of byte ranges. The free list is sorted; adjacent ranges are merged.

    If sizes are extents, a range is reused only if it fits for all lengths. Otherwise the offsets would change at each
    length at which one value outgrows another.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: list[_Range] = []
        self._taken: dict[int, _Range] = {}

    def take(self, owner: int, nbytes: int) -> int:
        """Allocate at least `nbytes` for `owner` and return the offset."""
        nbytes = max(1, nbytes)
        wanted = -(-nbytes // ALIGNMENT) * ALIGNMENT
        for i, (start, size, sure) in enumerate(self._free):
            if never_negative(sure - nbytes):  # all sizes are multiples of `ALIGNMENT`
                rest = size - wanted
                # The difference of two roundings is not the rounding of the difference.
                known = rest if rest.__class__ is int else sure - nbytes - (ALIGNMENT - 1)
                is_rest = rest.__class__ is not int or rest > 0
                self._free[i : i + 1] = [_Range(start + wanted, rest, known)] if is_rest else []
                break
        else:
            start, self.size = self.size, self.size + wanted
        sure = wanted if type(wanted) is int else nbytes
        self._taken[owner] = _Range(start, wanted, sure)
        return start

    def hand_on(self, owner: int, other: int) -> int:
        """Give the range of `owner` to `other` and return the offset."""
        self._taken[other] = self._taken.pop(owner)
        return self._taken[other].start

    def give_back(self, owner: int) -> None:
        """Free the range of `owner`."""
        start, size, sure = self._taken.pop(owner)
        # The order of the ranges is the same for all values of the extents.
        first = last = bisect(self._free, hint_of(start), key=_place)
        if first and _meet(self._free[first - 1], start):
            first -= 1
            before = self._free[first]
            start, size, sure = before.start, before.size + size, before.sure + sure
        if last < len(self._free) and _meet(_Range(start, size, sure), self._free[last].start):
            size, sure = size + self._free[last].size, sure + self._free[last].sure
            last += 1
        self._free[first:last] = [_Range(start, size, sure)]


def _place(free: _Range) -> int:
    place: int = hint_of(free.start)
    return place


def _meet(free: _Range, start: int) -> bool:
    """Return whether a range ends where another one starts, for all values of the extents."""
    distance = start - free.start - free.size
    return distance.__class__ is int and distance == 0
