"""Loop nests that read neighboring elements, as stencils do, and write another array.

The adjoint of such a read adds to a neighbor, so iterations update the same elements and LLVM does not vectorize the
loop. If a cotangent goes to several neighbors as it is, it is kept for all iterations in an array with a margin of
zeros, and a second loop nest adds up, for each element, what its neighbors receive. Both nests are vectorized.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from numba import types

from jittape.numba_ad.activity import Activity, contributions
from jittape.numba_ad.loops.index_order import ZERO, sum_of
from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Constant,
    Dim,
    Effect,
    If,
    Load,
    Loop,
    Op,
    Statement,
    Store,
    Value,
    is_inside,
    walk,
)

__all__ = ["NeighborReads", "Read", "find_neighbor_reads"]

FEWEST_ITERATIONS = 16
"""Number of iterations of a nest with constant bounds from which its reads are gathered."""


@dataclass(frozen=True)
class Read:
    """A read at constant offsets from the counters; its cotangent is that of `source`, with a sign and a `scale`.

    The scale is a text such as ``" * 4.0"``. An index that is not counted, such as ``t`` in ``u[t, i - 1]``, has the
    offset None.
    """

    load: Load
    offsets: tuple[int | None, ...]
    source: Value
    sign: str
    scale: str = ""


@dataclass(eq=False)
class NeighborReads:
    """The reads of a loop nest that are gathered, by the elements that an iteration without offsets reads.

    Attributes
    ----------
    loops : list of Loop
        The nest, outermost first.
    groups : list of list of Read
        Reads of one array; their offsets differ.
    implied : set of Value
        Values whose cotangents are copies of those of sources.
    """

    loops: list[Loop]
    groups: list[list[Read]]
    implied: set[Value] = field(default_factory=set)

    @property
    def sources(self) -> list[Value]:
        """Values whose cotangents are kept."""
        return list(dict.fromkeys(read.source for group in self.groups for read in group))

    def dtype(self, source: Value) -> Any:
        """Return the dtype in which the cotangents of a value are kept."""
        kinds = {x.load.array.type.dtype for group in self.groups for x in group if x.source is source}
        return kinds.pop() if len(kinds) == 1 else types.float64

    def margins(self) -> list[int]:
        """Return the width of the margin of zeros along each loop."""
        ranges = [self.range_of(group) for group in self.groups]
        return [max(high - low for low, high in pairs) for pairs in zip(*ranges, strict=True)]

    def range_of(self, group: list[Read]) -> list[tuple[int, int]]:
        """Return the least and the largest offset along each loop."""
        rows = [[x for x in read.offsets if x is not None] for read in group]
        return [(min(column), max(column)) for column in zip(*rows, strict=True)]


def find_neighbor_reads(loop: Loop, activity: Activity) -> NeighborReads | None:
    """Return the reads that the adjoint of a loop nest gathers; None if there are none."""
    loops = _nest(loop)
    if loops is None or _is_small(loops):
        return None
    body = loops[-1].body
    statements = list(walk(body))
    if not all(isinstance(s, (Op, Dim, Load, Store, If, Effect)) for s in statements):
        return None
    sources = _Sources(statements, body, activity)
    candidates = _groups(statements, loops, activity, sources)
    uses = Counter(read.source for group in candidates for read in group)
    groups = [one for group in candidates if (one := _gathered(group, sources, uses, loops[0]))]
    if not groups:
        return None
    found = NeighborReads(loops, groups)
    found.implied.update(x.load.result for group in groups for x in group if x.source is not x.load.result)
    for s in body.statements:
        if isinstance(s, Op) and s.result in activity and sources.find(s.result)[0] is not s.result:
            received = [x for x, _ in contributions(s, activity)]
            if found.implied.issuperset(received):
                found.implied.add(s.result)
    return found


def _nest(loop: Loop) -> list[Loop] | None:
    """Return the loops of a perfect nest whose bounds are known before it, with steps of one from zero or higher."""
    loops = [loop]
    while True:
        s = loops[-1]
        if s.counter is None or s.phis or s.trips is not None or s.stop is not None:
            return None
        start, stop, step = s.bounds
        if not (
            isinstance(start, Constant)
            and start.value >= 0
            and isinstance(step, Constant)
            and step.value == 1
        ):
            return None
        if isinstance(stop, Value) and is_inside(stop, loop):
            return None
        inner = [one for one in s.body.statements if isinstance(one, Loop)]
        if not inner:
            return loops
        if len(inner) > 1 or not all(isinstance(one, (Op, Dim, Loop)) for one in s.body.statements):
            return None
        loops.append(inner[0])


def _is_small(loops: list[Loop]) -> bool:
    size = 1
    for s in loops:
        start, stop, _ = s.bounds
        if not isinstance(stop, Constant):
            return False
        size *= max(0, stop.value - start.value)
    return size < FEWEST_ITERATIONS


class _Sources:
    """Values of a block whose cotangents are equal apart from the sign, as those of the terms of a sum are."""

    def __init__(self, statements: list[Statement], body: Block, activity: Activity) -> None:
        self._uses: dict[Any, list[tuple[Op, str] | None]] = {}
        self._body = body
        self._first: dict[Any, Value] = {}
        self._known: dict[Value, tuple[Any, str]] = {}
        for s in statements:
            if isinstance(s, Op) and s.result in activity:
                for x, partial in contributions(s, activity):
                    self._uses.setdefault(x, []).append((s, partial))
            elif isinstance(s, Store):
                self._uses.setdefault(s.value, []).append(None)
            elif isinstance(s, If):
                for phi in s.phis:
                    self._uses.setdefault(phi.then, []).append(None)
                    self._uses.setdefault(phi.orelse, []).append(None)

    def find(self, one: Value) -> tuple[Value, str]:
        """Return the value whose cotangent is computed, and the sign of the other cotangent relative to it."""
        key, sign = self._key(one)
        first = self._first[key]
        return first, "" if sign == self._key(first)[1] else "-"

    def scaled(self, one: Value, others: list[Value], nest: Loop) -> tuple[Value, str, str] | None:
        """Return another value, a sign and a scale from which the cotangent of a value is computed; None without one.

        The scale is the same in all iterations of the nest.
        """
        key, sign = self._key(one)
        use = self._uses[one][0] if isinstance(key, tuple) else None
        form = None if use is None else re.fullmatch(r"{g} ([*/]) {([01])}", use[1])
        if use is None or form is None:
            return None
        factor, other = use[0].operands[int(form[2])], self._first.get(key[1])
        if factor is one or (isinstance(factor, Value) and is_inside(factor, nest)):
            return None
        if other is None or other not in others:
            return None
        return other, "" if sign == self._key(other)[1] else "-", f" {form[1]} {factor.name}"

    def _key(self, one: Value) -> tuple[Any, str]:
        """Return what the cotangent of a value is computed from, and its sign."""
        if one not in self._known:
            self._known[one] = self._computed(one)
            self._first.setdefault(self._known[one][0], one)
        return self._known[one]

    def _computed(self, one: Value) -> tuple[Any, str]:
        uses = self._uses.get(one, [])
        use = uses[0] if len(uses) == 1 else None
        if use is None or use[0].result.block is not self._body or one.block is not self._body:
            return one, ""
        s, partial = use
        key, sign = self._key(s.result)
        if partial in ("{g}", "-{g}"):
            return key, "-" if (partial[0] == "-") != (sign == "-") else ""
        return (partial.format(*[x.name for x in s.operands], r=s.result.name, g="{g}"), key), sign


def _groups(
    statements: list[Statement], loops: list[Loop], activity: Activity, sources: _Sources
) -> list[list[Read]]:
    """Return the active reads of each array that no other statement of the nest uses in another way."""
    found: dict[Any, list[Read]] = {}
    bad = {s.array.root for s in statements if isinstance(s, Store) and s.array in activity}
    arrays: dict[Any, Array] = {}
    for s in statements:
        if not isinstance(s, Load) or s.result not in activity:
            continue
        place = _place(s, loops)
        if place is None or arrays.setdefault(s.array.root, s.array) is not s.array:
            bad.add(s.array.root)
            continue
        key, offsets = place
        found.setdefault((s.array, key), []).append(Read(s, offsets, *sources.find(s.result)))
    return [group for (array, _), group in found.items() if array.root not in bad]


def _place(s: Load, loops: list[Loop]) -> tuple[Any, tuple[int | None, ...]] | None:
    """Return the indices without offsets, and the offsets; None if they have another form."""
    if s.guard is not None or s.result.block is not loops[-1].body or is_inside(s.array, loops[0]):
        return None
    counters = [one.counter for one in loops]
    key: list[Any] = []
    offsets: list[int | None] = []
    for index in s.indices:
        found = sum_of(index)
        if found is None:
            return None
        base, offset = found
        if base in counters:
            position = counters.index(base)
            if loops[position].bounds[0].value + offset < 0:
                return None
            key.append(base)
            offsets.append(offset)
        elif base != ZERO and is_inside(base, loops[0]):
            return None
        else:
            key.append((base, offset))
            offsets.append(None)
    return (tuple(key), tuple(offsets)) if [one for one in key if one in counters] == counters else None


def _gathered(group: list[Read], sources: _Sources, uses: Counter[Value], nest: Loop) -> list[Read]:
    """Return the reads of a group that are gathered: none if no cotangent goes to several elements.

    One cotangent that goes to a single element is added in the nest itself, which has no conflict between iterations,
    unless it is another one times a constant, as that of the center of a stencil is. Such a cotangent is not computed,
    so no read of another group may have it; `uses` counts the reads of all groups by their cotangents.
    """
    counts = Counter(read.source for read in group)
    several = [source for source, count in counts.items() if count > 1]
    found = []
    for read in group:
        scaled = None if uses[read.source] > 1 else sources.scaled(read.source, several, nest)
        if scaled is None:
            found.append(read)
        else:
            source, sign, scale = scaled
            found.append(Read(read.load, read.offsets, source, "" if sign == read.sign else "-", scale))
    single = [read for read in found if counts[read.source] == 1]
    return [read for read in found if read not in single[:1]] if several else []
