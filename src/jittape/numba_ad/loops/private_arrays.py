"""Arrays of which each iteration of a loop uses its own elements only.

Either different iterations access different elements, or an iteration writes the whole array before it reads it, as it
does with a buffer that is allocated once before the loop. What an iteration leaves in such an array influences no other
iteration, so the adjoint of an iteration can follow the iteration itself.
"""

from __future__ import annotations

from typing import Any

from jittape.numba_ad.loops.index_order import differ_between_iterations, lower_bound, sum_of
from jittape.numba_ad.lower.dead_statements import operands_of
from jittape.numba_ad.structured_ir import (
    Alloc,
    Array,
    Block,
    Constant,
    Dim,
    Function,
    If,
    Load,
    Loop,
    Root,
    Statement,
    Store,
    results_of,
    walk,
)

__all__ = ["PrivateArrays"]


class PrivateArrays:
    """The accesses to each array that a function allocates and that has no other name."""

    def __init__(self, function: Function) -> None:
        self._accesses: dict[Root, list[Load | Store]] = {}
        self._shared: set[Root] = set()
        first: dict[Root, Array] = {}
        self._shared.update(one.root for one in results_of(function) if isinstance(one, Array))
        for s in walk(function.body):
            if isinstance(s, (Load, Store)):
                self._accesses.setdefault(s.array.root, []).append(s)
            for one in [*operands_of(s), getattr(s, "result", None)]:
                if isinstance(one, Array):
                    self._shared.update(root for root, _ in one.root.origins)
                    simple = isinstance(s, (Alloc, Load, Store, Dim)) and not one.root.origins
                    if not simple or first.setdefault(one.root, one) is not one:
                        self._shared.add(one.root)
            if isinstance(s, Loop) and s.parallel:
                self._shared.update(one.array.root for one in walk(s.body) if isinstance(one, (Load, Store)))

    def is_private(self, root: Root, loop: Loop) -> bool:
        """Return whether no iteration of a loop uses what another one writes, and nothing uses it after the loop."""
        inside = [one for one in walk(loop.body) if isinstance(one, (Load, Store)) and one.array.root is root]
        if root in self._shared or root.block is None or self._accesses[root][-1] is not inside[-1]:
            return False
        if not any(isinstance(one, Loop) for one in walk(loop.body)):
            return False  # LLVM vectorizes two innermost loops better than one
        stores = [one for one in inside if isinstance(one, Store)]
        if all(differ_between_iterations(one, other, loop) for one in stores for other in inside):
            return True
        return _is_written_first(loop.body, root)


def _accesses(s: Statement, root: Root) -> bool:
    """Return whether a statement or one inside it accesses an array."""
    if isinstance(s, (Load, Store)):
        return s.array.root is root
    inner = [s.then, s.orelse] if isinstance(s, If) else [s.header, s.body] if isinstance(s, Loop) else []
    return any(_accesses(one, root) for block in inner if block is not None for one in block.statements)


def _is_written_first(block: Block, root: Root) -> bool:
    """Return whether a block writes all elements of an array before it reads them."""
    accessing = [s for s in block.statements if _accesses(s, root)]
    first = accessing[0]
    if not isinstance(first, Loop) or (first.header is not None and _has(first.header, root)):
        return False
    return _writes_all(first, root) or (len(accessing) == 1 and _is_written_first(first.body, root))


def _has(block: Block, root: Root) -> bool:
    return any(_accesses(s, root) for s in block.statements)


def _writes_all(loop: Loop, root: Root) -> bool:
    """Return whether a loop nest writes each element of an array, and reads only elements that it has written."""
    loops = [loop]
    while True:
        accessing = [s for s in loops[-1].body.statements if _accesses(s, root)]
        if len(accessing) != 1 or not isinstance(accessing[0], Loop):
            break
        loops.append(accessing[0])
    body = loops[-1].body
    stores = [one for one in walk(body) if isinstance(one, Store) and one.array.root is root]
    if not stores or not all(_is_whole(s, stores[0].array, axis) for axis, s in enumerate(loops)):
        return False
    counters = [s.counter for s in loops]
    if len(counters) != stores[0].array.type.ndim:
        return False
    found = _Coverage(root, counters)
    return found.visit(body, {}) and found.is_written


def _is_whole(loop: Loop, array: Array, axis: int) -> bool:
    """Return whether a loop runs over an axis of an array, from its first element to its last one."""
    if loop.counter is None or loop.trips is not None or loop.stop is not None or axis >= len(array.dims):
        return False
    start, stop, step = loop.bounds
    if not (
        isinstance(start, Constant) and start.value == 0 and isinstance(step, Constant) and step.value == 1
    ):
        return False
    size = sum_of(array.dims[axis])
    return size is not None and sum_of(stop) == size


class _Coverage:
    """The accesses of an iteration of a loop nest to an array, in program order."""

    def __init__(self, root: Root, counters: list[Any]) -> None:
        self._root, self._counters = root, counters
        self.is_written = False

    def visit(self, block: Block, least: dict[Any, int]) -> bool:
        """Follow a block, in which counters are at least as large as `least`; return whether all reads are right."""
        for s in block.statements:
            if isinstance(s, If):
                before = self.is_written
                after = []
                for side, branch in ((True, s.then), (False, s.orelse)):
                    self.is_written = before
                    if not self.visit(branch, least | lower_bound(s.condition, side)):
                        return False
                    after.append(self.is_written)
                self.is_written = all(after)
            elif isinstance(s, Loop):
                if _accesses(s, self._root):
                    return False
            elif isinstance(s, (Load, Store)) and s.array.root is self._root:
                if isinstance(s, Store) and not s.sign:
                    self.is_written = self.is_written or s.indices == self._counters
                elif not self._was_written(s, least):
                    return False
        return True

    def _was_written(self, s: Load | Store, least: dict[Any, int]) -> bool:
        """Return whether the element was written in this iteration of the nest, or in an earlier one."""
        if isinstance(s, Load) and s.guard is not None:
            return False
        places = [sum_of(one) for one in s.indices]
        if [None if one is None else one[0] for one in places] != self._counters:
            return False
        offsets = [offset for _, offset in places]  # type: ignore[misc]
        moved = [k for k, offset in enumerate(offsets) if offset]
        if not moved:
            return self.is_written
        (counter, offset) = self._counters[moved[0]], offsets[moved[0]]
        return len(moved) == 1 and offset < 0 and least.get(counter, 0) + offset >= 0
