"""Rows of arrays that the backward pass puts back, so that it reads elements again instead of recording each read.

In ``for i in range(m): for k in range(i + 1, m): for j in range(n): b[i, j] += a[k, i] * b[k, j]``, iteration ``i``
writes row ``i`` only. A copy of that row before the iteration is less than all elements that the iteration reads. The
adjoint of the iteration finds the array as it was at its end, and then puts back the row: NPBench's trmm keeps 78 kB
instead of 1.4 MB.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from numba import types

from jittape.numba_ad.activity import Activity
from jittape.numba_ad.loops.index_order import is_overwritten_by
from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.saved_arrays import STACKS, covers_axes
from jittape.numba_ad.structured_ir import (
    Alloc,
    Array,
    Block,
    Constant,
    Function,
    Load,
    Loop,
    Resize,
    Root,
    Statement,
    Store,
    results_of,
    walk,
)

__all__ = ["UndoneWrites", "WrittenRow"]


@dataclass(eq=False)
class WrittenRow:
    """The part of an array that an iteration of a loop writes: one place along `axis`, that of the counter."""

    array: Array
    loop: Loop
    axis: int

    @property
    def stack(self) -> str:
        """Name of the stack of the copies."""
        return STACKS[is_float(self.array.type.dtype)]

    @property
    def size(self) -> str:
        """Text of the number of elements."""
        others = [k for k in range(self.array.type.ndim) if k != self.axis]
        return " * ".join(f"{self.array.name}.shape[{k}]" for k in others)

    def _text(self) -> str:
        counter = self.loop.counter.name  # type: ignore[union-attr]
        places = [counter if k == self.axis else ":" for k in range(self.array.type.ndim)]
        return f"{self.array.name}[{', '.join(places)}]"

    @property
    def exists(self) -> str:
        """Text of the condition that the array has the row; an iteration for which it has none does not write it."""
        return f"{self.loop.counter.name} < {self.array.name}.shape[{self.axis}]"  # type: ignore[union-attr]

    def save(self) -> list[str]:
        """Return the lines that push the row."""
        stack = self.stack
        reason = "# kept: the iteration overwrites it"
        return [f"save_array({stack}, {stack}_at, {self._text()})  {reason}", f"{stack}_at += {self.size}"]

    def restore(self) -> list[str]:
        """Return the lines that pop the row."""
        stack = self.stack
        part = f"{stack}[{stack}_at : {stack}_at + {self.size}]"
        if self.array.type.ndim > 2:
            part += f".reshape({self._text()}.shape)"
        return [f"{stack}_at -= {self.size}", f"copy_into({self._text()}, {part})"]


class UndoneWrites:
    """The rows of arrays that loops put back; `single_pass` are loops that run backward at once.

    If a loop puts back rows of an array, all loops that write the array later do.
    `stores` has, for each memory, the position, the statement and the block of each write, and `position` the places of
    all statements in program order.

    Attributes
    ----------
    of_loop : dict
        For each loop, the rows that an iteration saves first, and that its adjoint puts back last.
    """

    def __init__(
        self,
        function: Function,
        activity: Activity,
        single_pass: set[Loop],
        stores: dict[Any, list[tuple[int, Store, Block]]],
        position: dict[Any, int],
    ) -> None:
        self.of_loop: dict[Loop, list[WrittenRow]] = {}
        self._single_pass, self._stores, self._position = single_pass, stores, position
        self._top, self._activity = function.body, activity
        self._found: dict[Load, list[WrittenRow]] = {}
        self._rows: dict[tuple[Array, Loop], list[WrittenRow]] = {}
        self._excluded = {one.root for one in results_of(function) if isinstance(one, Array)}
        self._reads: Counter[tuple[Array, Loop]] = Counter()
        for s in walk(function.body):
            for one in (getattr(s, "array", None), getattr(s, "result", None)):
                if isinstance(one, Array):
                    self._exclude_origins(one.root)
            if isinstance(s, Resize):
                self._excluded.add(s.array.root)
            elif isinstance(s, Load) and s.result.block is not None:
                self._reads.update((s.array, loop) for loop in s.result.block.loops())

    def _exclude_origins(self, root: Root) -> None:
        """Leave out memory that has several names."""
        for origin, _ in root.origins:
            self._excluded |= {root, origin}
            self._exclude_origins(origin)

    def find(self, load: Load) -> list[WrittenRow]:
        """Return the rows whose return makes a read find the same element; none if the read has to be recorded."""
        if load not in self._found:
            self._found[load] = self._find(load)
        return self._found[load]

    def _find(self, load: Load) -> list[WrittenRow]:
        array, block = load.array, load.result.block
        has_stack = array.type.dtype in (types.float64, types.int64)
        if not has_stack or block is None or array.type.ndim < 2 or array.root in self._excluded:
            return []
        # The function leaves what it writes in its arguments, and a local array of an iteration is gone.
        if not isinstance(array.statement, Alloc) or array.block is not self._top:
            return []
        loops = block.loops()
        if not self._single_pass.isdisjoint(loops):
            return []
        for place, loop in enumerate(loops):
            key = array, loop
            if key not in self._rows:
                self._rows[key] = self._all_written(array, loop)
            rows, inside = self._rows[key], loops[:place]
            if rows and self._is_less(load, rows, inside):
                return [] if self._changes_within(load, block, loop, set(inside)) else rows
        return []

    def keep(self, rows: list[WrittenRow]) -> None:
        """Make loops save and put back rows."""
        for row in rows:
            known = self.of_loop.setdefault(row.loop, [])
            if not any(one.array is row.array for one in known):
                known.append(row)

    def _all_written(self, array: Array, loop: Loop) -> list[WrittenRow]:
        """Return the row that `loop` writes and those that other loops write later; none if something else writes."""
        own = self._written_row(array, loop)
        rows = {} if own is None else {loop: own}
        around = loop.outer.loops()
        for position, _, block in self._stores.get(array.root, ()):
            others = [one for one in block.loops() if one not in around]
            is_later = position > self._position[loop] or len(others) < len(block.loops())
            if not is_later or any(one in rows for one in others):
                continue
            found = [self._written_row(array, one) for one in reversed(others)]
            row = next((one for one in found if one is not None), None)
            if row is None or not rows:
                return []
            rows[row.loop] = row
        return list(rows.values())

    def _written_row(self, array: Array, loop: Loop) -> WrittenRow | None:
        """Return the part of an array that contains all that an iteration of `loop` writes."""
        if loop in self._single_pass or not any(self._is_active(s) for s in walk(loop.body)):
            return None  # it has no adjoint that could put back the row
        if loop.counter is None or loop.trips is not None or loop.stop is not None:
            return None
        start, stop, step = loop.bounds
        if not isinstance(step, Constant) or step.value not in (1, -1):
            return None
        least = start if step.value == 1 else stop
        if not isinstance(least, Constant) or least.value < (0 if step.value == 1 else -1):
            return None  # a negative index counts from the end
        axes = set(range(array.type.ndim))
        for _, store, block in self._stores.get(array.root, ()):
            if loop in block.loops():
                if store.array is not array:
                    return None
                axes &= {k for k, index in enumerate(store.indices) if index is loop.counter}
        return WrittenRow(array, loop, min(axes)) if axes else None

    def _is_active(self, s: Statement) -> bool:
        return isinstance(s, (Load, Store)) and s.array in self._activity

    def _is_less(self, load: Load, rows: list[WrittenRow], inside: list[Loop]) -> bool:
        """Return whether iterations read more elements, or the same ones more often, than the rows have."""
        row = rows[0]
        rest = [k for k in range(row.array.type.ndim) if k != row.axis]
        if len(inside) < len(rest) or not covers_axes(load, rest, inside):
            return False
        return len(inside) > len(rest) or sum(self._reads[one.array, one.loop] for one in rows) > len(rows)

    def _changes_within(self, load: Load, block: Block, loop: Loop, inside: set[Loop]) -> bool:
        """Return whether the element that is read may change before the end of the iteration of `loop`."""
        for place, store, around in self._stores[load.array.root]:
            is_before, repeated = self._position[load] < place, inside & set(around.loops())
            if (
                loop in around.loops()
                and (is_before or repeated)
                and is_overwritten_by(load.array, load.indices, block, is_before, store, around, repeated)
            ):
                return True
        return False
