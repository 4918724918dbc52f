"""Overwritten elements that the backward pass puts back one by one, so that it reads all elements again.

In ``for i in range(1, n): a[i] = 3.5 * a[i] * (1.0 - a[i - 1])``, each iteration needs two elements that later ones
overwrite, but it overwrites only one. The forward pass keeps that one. The adjoint of the iteration puts it back first:
then the array is what it was before the iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from jittape.numba_ad.activity import Activity
from jittape.numba_ad.loops.index_order import is_overwritten_by
from jittape.numba_ad.loops.loop_direction import is_order_free
from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Constant,
    Dim,
    Function,
    If,
    Load,
    Loop,
    Op,
    Root,
    Statement,
    Store,
    Value,
    View,
    results_of,
    walk,
)

__all__ = ["RestoredElements", "find_restored_elements"]

Places = list[tuple[int, Store, Block]]


class RestoredElements:
    """The memory whose overwritten elements are put back.

    Attributes
    ----------
    old : dict
        For each body of a loop, the writes of its iterations, and for each the read that has the element from before.
    """

    def __init__(self) -> None:
        self.roots: set[Root] = set()
        self.old: dict[Block, list[tuple[Store, Load]]] = {}

    def can_read_again(self, load: Load, stores: Places, position: dict[Any, int]) -> bool:
        """Return whether the adjoint of an iteration finds the same element, after it has put back its own.

        `stores` are the writes of the memory, and `position` has the places of all statements in program order.
        """
        block = load.result.block
        assert block is not None
        return not any(
            _meet(load.array, load.indices, block, store, around)
            for place, store, around in stores
            if _is_at_the_wrong_time(position[load], block.loops(), place, around.loops())
        )

    def order(self, block: Block, statements: list[Statement]) -> Iterator[Statement]:
        """Yield the statements of an iteration in the order in which their results are made available.

        Indices of elements come first, then the elements that are put back. A `Store` puts back its element.
        """
        pairs = self.old.get(block, [])
        first = {s for _, load in pairs for s in _definitions(load.indices, block)}
        loads = {load for _, load in pairs}
        yield from [s for s in statements if s in first]
        yield from [s for s in statements if s in loads]
        seen: set[Load] = set()
        for store, load in reversed(pairs):
            if load not in seen:
                yield store
            seen.add(load)
        yield from [s for s in statements if s not in first and s not in loads and not isinstance(s, Store)]

    def value(self, store: Store, block: Block) -> Value:
        """Return the element that a write of an iteration overwrites."""
        return next(load.result for one, load in self.old[block] if one is store)

    def changes(self, loop: Loop) -> bool:
        """Return whether the adjoint of a loop puts back elements."""
        return bool(self.old) and any(
            one in self.old for one in [loop.body, *[s.body for s in walk(loop.body) if isinstance(s, Loop)]]
        )

    def arguments(self) -> list[Array]:
        """Return the argument arrays whose elements are put back."""
        arrays = [store.array for pairs in self.old.values() for store, _ in pairs]
        return [one for one in dict.fromkeys(arrays) if one.statement is None]


def find_restored_elements(
    function: Function,
    activity: Activity,
    plan: Any,
    stores: dict[Any, Places],
    position: dict[Any, int],
) -> RestoredElements:
    """Return the elements to put back in place of reads that a plan records.

    The reads of elements before they are overwritten become part of the function. `stores` has, for each memory, the
    position, the statement and the block of each write, and `position` the places of all statements in program order.
    """
    recorded: dict[Root, list[Load]] = {}
    for one in plan.recorded:
        if isinstance(one, Value) and isinstance(one.statement, Load) and one.statement.array.root in stores:
            recorded.setdefault(one.statement.array.root, []).append(one.statement)
    found = RestoredElements()
    for root in sorted(recorded, key=lambda one: one.name):
        if not _is_suitable(root, function, activity, plan, stores[root], position):
            continue
        pairs = [_Old(store, block) for _, store, block in stores[root] if block.loops()]
        if any(one.block is None for one in pairs):
            continue
        kept = {one.key(): one.block for one in pairs}
        read = [
            s for s in recorded[root] if s not in kept and found.can_read_again(s, stores[root], position)
        ]
        gain = Counter(s.result.block.loop for s in read if s.result.block is not None)
        gain.subtract(block.loop for one, block in kept.items() if one not in recorded[root])
        # A loop that puts back elements has an order.
        if not read or any(gain[one.loop] < 0 or is_order_free(one.loop, activity) for one in kept.values()):
            continue
        found.roots.add(root)
        for one in pairs:
            count = sum(map(len, found.old.values()))
            found.old.setdefault(one.block, []).append((one.store, one.load(f"{root.name}_old{count}")))
    for pairs_of_block in found.old.values():
        pairs_of_block.sort(key=lambda pair: position[pair[0]])
    return found


def _is_suitable(
    root: Root, function: Function, activity: Activity, plan: Any, stores: Places, position: dict[Any, int]
) -> bool:
    """Return whether the loops that write memory can put back what they overwrite, in the reverse order."""
    array = stores[0][1].array
    if root.origins or not is_float(root.dtype) or array not in activity or array.root in plan.resized:
        return False
    if array.block not in (None, function.body) or isinstance(array.statement, View):
        return False
    if any(isinstance(one, Array) and one.root is root for one in results_of(function)):
        return False
    for s in walk(function.body):
        for one in (getattr(s, "array", None), getattr(s, "result", None)):
            if isinstance(one, Array) and any(origin is root for origin, _ in one.root.origins):
                return False
    inner = [(place, store, block) for place, store, block in stores if block.loops()]
    first = min(position[block.loops()[-1]] for _, _, block in inner) if inner else 0
    for place, store, block in stores:
        loops = block.loops()
        if store.array is not array or (not loops and place > first):
            return False
        if any(loop.parallel or loop in plan.single_pass.loops for loop in loops):
            return False
        if not _are_plain(store.indices, block.loop, root):
            return False
    # An iteration puts back its own elements before those of its inner loops.
    return not any(
        place < later
        and loops
        and loops[0] in around.loops()[1:]
        and _meet(array, one.indices, block, other, around)
        for place, one, block in inner
        for later, other, around in inner
        if (loops := block.loops())
    )


def _are_plain(indices: list[Any], loop: Loop | None, root: Root) -> bool:
    """Return whether indices are computed from counters, sizes and values from outside a loop."""
    work = list(indices)
    while work:
        one = work.pop()
        if not isinstance(one, Value) or one.block is None or one.block.loop is not loop or loop is None:
            continue
        if one is loop.counter or any(one is phi.inner for phi in loop.phis):
            continue
        if not isinstance(one.statement, (Op, Dim)) or one.block is not loop.body:
            return False
        if isinstance(one.statement, Op):
            if not one.statement.repeatable:
                return False
            work += one.statement.operands
    return True


def _definitions(indices: list[Any], block: Block) -> set[Statement]:
    """Return the statements of a block that compute indices."""
    found: set[Statement] = set()
    work = list(indices)
    while work:
        one = work.pop()
        if isinstance(one, Value) and one.block is block and isinstance(one.statement, (Op, Dim)):
            found.add(one.statement)
            work += getattr(one.statement, "operands", [])
    return found


def _is_at_the_wrong_time(position: int, around: list[Loop], place: int, store_around: list[Loop]) -> bool:
    """Return whether a write ran before a read and is undone before it, or ran and is undone after it.

    Both are in the same iteration of the loops around both.
    """
    if store_around and store_around[0] in around:  # undone at the beginning of the adjoint of the iteration
        return place < position
    if around and around[0] in store_around:  # undone by the adjoint of an inner loop
        return place > position
    return not store_around and place > position


def _meet(array: Array, indices: list[Any], block: Block, store: Store, store_block: Block) -> bool:
    """Return whether a write may be to an element in the same iteration of the loops around both."""
    return is_overwritten_by(array, indices, block, True, store, store_block, set())


class _Old:
    """A write, the body of its loop, and the read before it of the element that it overwrites.

    The body is None if the write is in a branch and no read before the branch has the element.
    """

    def __init__(self, store: Store, block: Block) -> None:
        self.store = store
        self._known: Load | None = None
        self.block: Any = None
        inside: Block = block
        after: Statement = store
        while True:
            for s in reversed(inside.statements[: inside.statements.index(after)]):
                if isinstance(s, Load) and s.array is store.array and _are_same(s.indices, store.indices):
                    self._known = s if s.guard is None else None
                    break
                if any(isinstance(one, Store) and one.array.root is store.array.root for one in _all(s)):
                    break
            else:
                if block.loop is not None and inside is not block.loop.body:
                    outer = inside.parent
                    assert outer is not None
                    after = next(
                        s for s in outer.statements if isinstance(s, If) and inside in (s.then, s.orelse)
                    )
                    inside = outer
                    continue
            break
        assert block.loop is not None
        if (inside if self._known is not None else block) is block.loop.body:
            self.block = block.loop.body

    def key(self) -> Any:
        """Return what is equal for writes of the same element."""
        return self.store if self._known is None else self._known

    def load(self, name: str) -> Load:
        """Return the read, which is a new statement with a result of that name if there is none."""
        if self._known is None:
            array, statements = self.store.array, self.block.statements
            place = statements.index(self.store)
            value = Value(name, array.type.dtype, self.block)
            value.statement = self._known = Load(self.store.where, value, array, self.store.indices)
            statements.insert(place, self._known)
        return self._known


def _all(s: Statement) -> Iterator[Statement]:
    yield s
    for block in [s.then, s.orelse] if isinstance(s, If) else [s.body] if isinstance(s, Loop) else []:
        yield from walk(block)


def _are_same(some: list[Any], others: list[Any]) -> bool:
    return all(
        x is y or (isinstance(x, Constant) and isinstance(y, Constant) and x.value == y.value)
        for x, y in zip(some, others, strict=True)
    )
