"""Arrays that are saved as a whole after a loop, in place of each element that the loop reads.

A loop over all elements of an array may read each of them several times, as a stencil does. If the array is overwritten
after the loop, one copy of it is less than the elements that the backward pass needs: 0.3 MB and 87 us instead of
0.9 MB and 139 us for the gradient of 100 Runge-Kutta steps of a stencil of 100 elements. If an index is a
literal, as in ``x[j, 2]``, only that part of the array is saved: NPBench's nbody keeps 25 kB instead of 328 kB.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from numba import types

from jittape.numba_ad.loops.index_order import sum_of
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
    Resize,
    Root,
    Store,
    Value,
    walk,
)

__all__ = ["STACKS", "SavedArray", "SavedArrays", "covers_axes"]

STACKS = {True: "floats", False: "ints"}
"""Names of the stacks of floats and of other numbers."""

MARGIN = 4
"""Number of elements at the ends of an axis that a loop may leave out."""


@dataclass(eq=False)
class SavedArray:
    """A copy of an array that a loop reads and does not write, and its name.

    `fixed` has the literal index of each axis of which only that part is saved, and None for the other axes.
    """

    name: str
    array: Array
    loop: Loop
    fixed: tuple[int | None, ...]

    @property
    def stack(self) -> str:
        """Name of the stack."""
        return STACKS[is_float(self.array.type.dtype)]

    @property
    def is_whole(self) -> bool:
        """Whether all of the array is saved."""
        return all(one is None for one in self.fixed)

    @property
    def size(self) -> str:
        """Text of the number of elements."""
        name = self.array.name
        return f"{name}.size" if self.is_whole else " * ".join(f"{name}.shape[{k}]" for k in self.axes)

    def part(self) -> str:
        """Return the text of what is saved; slices are empty if an index is out of range, and then no loop reads it."""
        if self.is_whole:
            return self.array.name
        return f"{self.array.name}[{', '.join(':' if one is None else f'{one}:{one + 1}' for one in self.fixed)}]"

    @property
    def axes(self) -> list[int]:
        """Axes of the array that the copy has."""
        return [k for k, one in enumerate(self.fixed) if one is None]

    def shape(self) -> str:
        """Return the text of the shape of the copy."""
        name = self.array.name
        return f"{name}.shape" if self.is_whole else f"({''.join(f'{name}.shape[{k}], ' for k in self.axes)})"

    def element(self, load: Load) -> str:
        """Return the text of an element of the copy."""
        return f"{self.name}[{', '.join(load.indices[k].name for k in self.axes)}]"


class SavedArrays:
    """The arrays of a function that are saved after loops; `single_pass` are loops that run backward at once.

    Attributes
    ----------
    of_loop : dict
        For each loop, the arrays that are saved after it; it does not write them.
    """

    def __init__(self, function: Function, single_pass: set[Loop]) -> None:
        self.of_loop: dict[Loop, list[SavedArray]] = {}
        self._single_pass = single_pass
        self._written: dict[Loop, set[Root]] = {}
        self._branches: set[Block] = set()
        self._known: dict[tuple[Array, Loop, tuple[int | None, ...]], SavedArray] = {}
        self._reads: Counter[tuple[Array, Loop, tuple[int | None, ...]]] = Counter()
        for s in walk(function.body):
            if isinstance(s, Load) and s.result.block is not None:
                self._reads.update((s.array, loop, _fixed(s)) for loop in s.result.block.loops())
            elif isinstance(s, Loop):
                self._written[s] = {
                    one.array.root for one in walk(s.body) if isinstance(one, (Store, Resize))
                }
            elif isinstance(s, If):
                self._branches |= {s.then, s.orelse}

    def find(self, load: Load) -> SavedArray | None:
        """Return the copy that has the element of a read; None if the loops do not read the array as a whole."""
        array, block = load.array, load.result.block
        has_stack = array.type.dtype in (types.float64, types.int64)
        if not has_stack or load.guard is not None or block is None:
            return None
        loops = [one for one in block.loops() if one not in self._single_pass]
        chosen = None
        for loop in loops:
            if array.root in self._written[loop] or loop in _loops_around(array):
                break
            if loop.outer not in self._branches:
                chosen = loop
        if chosen is None:
            return None
        inside, key = loops[: loops.index(chosen) + 1], (array, chosen, _fixed(load))
        repeated = len(inside) > key[2].count(None) or self._reads[key] > 1
        if not repeated or not _reads_all(load, inside):
            return None
        found = self._known.get(key)
        if found is None:
            found = SavedArray(f"{array.name}_s{len(self._known)}", *key)
            self._known[key] = found
        return found

    def keep(self, saved: SavedArray) -> None:
        """Make the forward pass save an array."""
        arrays = self.of_loop.setdefault(saved.loop, [])
        if saved not in arrays:
            arrays.append(saved)

    def is_on_stack(self, loop: Loop) -> bool:
        """Return whether the copies made after a loop are pushed on a stack; otherwise they are variables.

        Numba takes 61 ms to compile a copy of a part of an array, and 30 ms with a stack.
        """
        outer = loop.outer.loop
        is_whole = all(one.is_whole for one in self.of_loop.get(loop, ()))
        return not is_whole or (outer is not None and outer not in self._single_pass)


def _loops_around(array: Array) -> list[Loop]:
    return [] if array.block is None else array.block.loops()


def _fixed(load: Load) -> tuple[int | None, ...]:
    """Return the indices of a read that are literals from zero on, with None for the others."""
    values = [x.value if isinstance(x, Constant) else None for x in load.indices]
    return tuple([one if isinstance(one, int) and one >= 0 else None for one in values])


def _reads_all(load: Load, loops: list[Loop]) -> bool:
    """Return whether loops read all elements along the axes that are not indexed by literals, apart from a margin."""
    return covers_axes(load, [axis for axis, fixed in enumerate(_fixed(load)) if fixed is None], loops)


def covers_axes(load: Load, axes: list[int], loops: list[Loop]) -> bool:
    """Return whether loops, one for each axis, read all elements along axes, apart from a margin."""
    counters = {loop.counter: loop for loop in loops if loop.counter is not None}
    used: set[Loop] = set()
    for axis in axes:
        place = sum_of(load.indices[axis])
        loop = None if place is None else counters.get(place[0])
        if loop is None or loop in used or not _covers(loop, load.array, axis):
            return False
        used.add(loop)
    return bool(used)


def _covers(loop: Loop, array: Array, axis: int) -> bool:
    """Return whether a loop runs over an axis, apart from a margin."""
    start, stop, step = loop.bounds
    if not isinstance(step, Constant) or step.value not in (1, -1):
        return False
    low, high = (start, stop) if step.value == 1 else (stop, start)
    last = sum_of(high)
    size = array.dims[axis] if array.dims else None
    if not isinstance(low, Constant) or low.value > MARGIN or last is None:
        return False
    definition = last[0].statement if isinstance(last[0], Value) else None
    if isinstance(definition, Dim) and definition.array is array and definition.axis == axis:
        return last[1] >= -MARGIN
    whole = None if size is None else sum_of(size)
    return whole is not None and whole[0] == last[0] and last[1] - whole[1] >= -MARGIN
