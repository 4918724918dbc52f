"""Proof that elements which are written later are other elements.

Indices are a counter or an outer value plus a constant. An order between two instances of loops gives inequalities
between such sums; a path in the graph of these inequalities proves another one. (Difference constraints: Cormen et al.,
Introduction to Algorithms, chapter 22.)
"""

from __future__ import annotations

from typing import Any

from jittape.numba_ad.scalar_rules import BINARY, COMPARE
from jittape.numba_ad.structured_ir import Array, Block, Constant, Dim, Loop, Op, Value, is_inside

__all__ = ["ZERO", "differ_between_iterations", "is_overwritten_by", "lower_bound", "sum_of"]

ZERO = "0"


def is_overwritten_by(
    array: Array,
    indices: list[Any],
    block: Block,
    is_before: bool,
    store: Any,
    store_block: Block,
    repeated: set[Loop],
) -> bool:
    """Return whether a store may write the element ``array[indices]`` after an access to it in `block`.

    Parameters
    ----------
    array, indices, block
        The access.
    is_before : bool
        Whether the access precedes the store within one iteration of the loops around both.
    store, store_block
        The store.
    repeated : set of Loop
        Loops whose later iterations count.
    """
    if array is not store.array or (array.block is not None and array.block.loop is not None):
        return True
    around, store_around = block.loops()[::-1], store_block.loops()[::-1]
    shared = [one for one, other in zip(around, store_around, strict=False) if one is other]
    levels: list[int] = [level for level, loop in enumerate(shared) if loop in repeated]
    if is_before:
        levels.append(len(shared))
    bounds = _bounds_of(block), _bounds_of(store_block)
    return not all(
        _differ(indices, around, store.indices, store_around, shared, level, bounds) for level in levels
    )


def differ_between_iterations(one: Any, other: Any, loop: Loop) -> bool:
    """Return whether two accesses to memory are to different elements in different iterations of a loop around both.

    The loops outside are in the same iteration.
    """
    if one.array is not other.array or is_inside(one.array, loop):
        return False
    around = [loop, *loop.outer.loops()][::-1]
    pairs = [(one, other)] if one is other else [(one, other), (other, one)]
    return all(_differ(x.indices, around, y.indices, around, around, len(around) - 1) for x, y in pairs)


def _differ(
    indices: list[Any],
    around: list[Loop],
    other: list[Any],
    other_around: list[Loop],
    shared: list[Loop],
    level: int,
    bounds: tuple[dict[Any, int], ...] = ({}, {}),
) -> bool:
    """Return whether two elements differ if the loops outside `level` are in the same iteration.

    `bounds` are smallest values of counters at each of the two accesses.
    """
    order = _Order(shared[:level])
    for side, (loops, least) in enumerate(zip((around, other_around), bounds, strict=True)):
        for loop in loops:
            order.add_bounds(loop, side)
        for counter, bound in least.items():
            order.add_least(counter, bound, side)
    if level < len(shared):
        order.add_later(shared[level])
    for one, another in zip(indices, other, strict=True):
        x, y = order.place(one, 0), order.place(another, 1)
        if x is None or y is None:
            continue
        # An index below zero would count from the end.
        none_is_negative = order.is_at_least(x, (ZERO, 0)) and order.is_at_least(y, (ZERO, 0))
        differ = order.is_at_least(x, (y[0], y[1] + 1)) or order.is_at_least(y, (x[0], x[1] + 1))
        if none_is_negative and differ:
            return True
    return False


def sum_of(one: Any) -> tuple[Any, int] | None:
    """Return a value, or `ZERO`, and the constant whose sum an index is; None for an index of another form."""
    offset = 0
    while isinstance(one, Value) and isinstance(one.statement, Op):
        rule, operands = one.statement.rule, one.statement.operands
        if rule is BINARY["Add"] and isinstance(operands[0], Constant):
            operands = operands[::-1]
        elif rule is not BINARY["Add"] and rule is not BINARY["Sub"]:
            break
        if not isinstance(operands[1], Constant) or not isinstance(operands[1].value, int):
            break
        offset += operands[1].value if rule is BINARY["Add"] else -operands[1].value
        one = operands[0]
    if isinstance(one, Constant):
        return (ZERO, offset + one.value) if isinstance(one.value, int) else None
    return (one, offset) if isinstance(one, Value) else None


def lower_bound(condition: Any, holds: bool) -> dict[Any, int]:
    """Return the smallest value of a counter for which a comparison with a constant holds, or does not hold."""
    s = condition.statement if isinstance(condition, Value) else None
    operands = getattr(s, "operands", [])
    if len(operands) != 2 or not isinstance(operands[1], Constant) or type(operands[1].value) is not int:
        return {}
    bound = operands[1].value
    rule = s.rule  # type: ignore[union-attr]
    if rule is COMPARE["Gt" if holds else "LtE"]:
        return {operands[0]: bound + 1}
    if rule is COMPARE["GtE" if holds else "Lt"]:
        return {operands[0]: bound}
    if rule is COMPARE["NotEq" if holds else "Eq"] and bound == 0 and _counts_from_zero(operands[0]):
        return {operands[0]: 1}
    return {}


def _counts_from_zero(one: Any) -> bool:
    """Return whether a value is a counter that is never negative."""
    loop = one.block.loop if isinstance(one, Value) and one.block is not None else None
    if loop is None or loop.counter is not one or not isinstance(loop.bounds[2], Constant):
        return False
    start, stop, step = loop.bounds
    least, bound = (start, 0) if step.value > 0 else (stop, -1)
    return isinstance(least, Constant) and least.value >= bound


def _bounds_of(block: Block) -> dict[Any, int]:
    """Return lower bounds of counters that the branches around a block imply."""
    found: dict[Any, int] = {}
    around: Block | None = block
    while around is not None:
        for counter, bound in ({} if around.branch is None else lower_bound(*around.branch)).items():
            found[counter] = max(bound, found.get(counter, bound))
        around = around.parent
    return found


class _Order:
    """Inequalities between sums of a value and a constant."""

    def __init__(self, same: list[Loop]) -> None:
        self._same = same
        self._edges: dict[Any, list[tuple[Any, int]]] = {}

    def place(self, one: Any, side: int) -> tuple[Any, int] | None:
        """Return a node and a constant; None for a value that is not such a sum."""
        found = sum_of(one)
        if found is None or found[0] == ZERO:
            return found
        one, offset = found
        loops = [] if one.block is None else one.block.loops()
        if all(loop in self._same for loop in loops):
            if isinstance(one.statement, Dim):
                self._add((one, 0), (ZERO, 0))
            return one, offset
        return (one, side), offset

    def _add(self, larger: tuple[Any, int], smaller: tuple[Any, int]) -> None:
        self._edges.setdefault(smaller[0], []).append((larger[0], smaller[1] - larger[1]))

    def add_bounds(self, loop: Loop, side: int) -> None:
        """Add that the counter of a loop lies in its range."""
        if loop.counter is None or not isinstance(loop.bounds[2], Constant):
            return
        counter = self.place(loop.counter, side)
        start, stop = [self.place(bound, side) for bound in loop.bounds[:2]]
        assert counter is not None
        forward = loop.bounds[2].value > 0
        if start is not None:
            self._add(*((counter, start) if forward else (start, counter)))
        if stop is not None:
            self._add(*((stop, (counter[0], 1)) if forward else ((counter[0], -1), stop)))

    def add_least(self, one: Any, bound: int, side: int) -> None:
        """Add that a value is at least as large as a constant."""
        place = self.place(one, side)
        if place is not None:
            self._add(place, (ZERO, bound))

    def add_later(self, loop: Loop) -> None:
        """Add that the second access is in a later iteration of a loop."""
        if loop.counter is not None and isinstance(loop.bounds[2], Constant):
            first, second = (loop.counter, 0), (loop.counter, 1)
            if loop.bounds[2].value > 0:
                self._add((second, 0), (first, 1))
            else:
                self._add((first, 0), (second, 1))

    def is_at_least(self, larger: tuple[Any, int], smaller: tuple[Any, int]) -> bool:
        """Return whether the inequalities imply ``larger >= smaller``."""
        best = {smaller[0]: 0}
        work = [smaller[0]]
        for _ in range(200):
            if not work:
                break
            node = work.pop()
            for following, weight in self._edges.get(node, ()):
                distance = best[node] + weight
                if distance > best.get(following, -(10**9)):
                    best[following] = distance
                    work.append(following)
        return larger[0] in best and best[larger[0]] + larger[1] >= smaller[1]
