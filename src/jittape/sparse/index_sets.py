"""Index sets: for each element of each value of a program, the elements of the argument that it depends on.

The sets of one value are a sparse matrix of truth values, with a row for each element of the value. `IndexSets` walks
the ops of a program: an elementwise op unites the sets of its operands, a slice or a gather selects rows, a sum unites
rows, a matrix product unites rows where a constant factor is not zero. An op that it knows nothing about depends on
all elements of its operands, so a pattern may be too large but never too small. A pattern holds for all values of the
argument.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from jittape.compile.rewrite.program_editor import Editor
from jittape.core.dtypes import is_differentiable
from jittape.core.forms import (
    Alias,
    CheckedMap,
    Concatenate,
    Control,
    Decomposition,
    DynamicUpdateSlice,
    Index,
    Map,
    Pad,
    Reduce,
    Scan,
    Scatter,
    View,
    run_key,
)
from jittape.core.interpret import run_op
from jittape.core.program import Body, Op, Program, is_dynamic_dim
from jittape.sparse.independent_rows import independent_rows
from jittape.sparse.loop_sets import LoopSets, Operand
from jittape.sparse.set_matrices import (
    Array,
    Sets,
    constant_sets,
    placed_sets,
    rows_of,
    selected_sets,
)
from jittape.transform.differentiate import carries

__all__ = ["IndexSets"]

_KNOWN_ELEMENTS = 1 << 22
"""Maximum elements of a constant that is computed to find zeros and indices."""
_SCAN_PAIRS = 1 << 24
"""Maximum elements of the matrix that unites the elements before each element of a running sum."""


class IndexSets:
    """The index sets of the values of a program.

    Parameters
    ----------
    program : Program
        A program as recorded.
    given : mapping of int to csr_array
        Sets of inputs. Inputs without sets are constant.
    known : mapping of int to ndarray
        Values of inputs that are the same at each call, such as index arrays.
    width : int
        Number of elements of the argument.
    is_lowered : bool
        Whether the ops replace another op that has gradient rules: those that only compiled code has have none.
    """

    def __init__(
        self,
        program: Program,
        given: Mapping[int, Sets],
        known: Mapping[int, Array],
        width: int,
        is_lowered: bool = False,
    ) -> None:
        self._is_lowered = is_lowered
        self.program = program
        self.avals = program.avals
        self.sets: dict[int, Sets] = dict(given)
        self.known: dict[int, Array] = dict(known)
        self.width = width
        self._loops: dict[Any, LoopSets] = {}
        for op in program.ops:
            self._visit(op)

    def of(self, slot: int) -> Sets:
        """Return the sets of a value; empty ones if it is constant."""
        found = self.sets.get(slot)
        return constant_sets(rows_of(self.avals[slot]), self.width) if found is None else found

    # ---- ops -------------------------------------------------------------------------------------------------------

    def _visit(self, op: Op) -> None:
        varied = [
            i for i, slot in enumerate(op.args) if slot in self.sets and (self._is_lowered or carries(op, i))
        ]
        if varied and is_differentiable(self.avals[op.out].dtype):
            self.sets[op.out] = self._sets_of(op, varied)
        elif not any(slot in self.sets for slot in op.args):
            self._evaluate(op)

    def _evaluate(self, op: Op) -> None:
        """Compute a constant, if its operands are known and it is not too large."""
        aval = self.avals[op.out]
        is_large = is_dynamic_dim(aval) or aval.size > _KNOWN_ELEMENTS
        if is_large or op.primitive.effectful or isinstance(op.primitive.lowering, Control):
            return
        if all(slot in self.known for slot in op.args):
            operands = [self.known[slot] for slot in op.args]
            self.known[op.out] = run_op(self.program, op, operands)

    def _sets_of(self, op: Op, varied: Sequence[int]) -> Sets:
        form = op.primitive.lowering
        sets = {i: self.sets[op.args[i]] for i in varied}
        if op.primitive.calls_back or form is None:
            return self._all(sets.values(), op)
        if isinstance(form, Map):
            return self._united(list(sets.values()))
        if isinstance(form, Alias):
            return sets[0]
        if isinstance(form, Decomposition | CheckedMap):
            return self._written_out(op, form, sets)
        if isinstance(form, Control):
            return self._control(op, form, sets)
        if isinstance(form, Reduce):
            return self._reduced(op, sets[0])
        if isinstance(form, Scan):
            return self._scanned(op, sets)
        if op.primitive.is_matmul:
            return self._multiplied(op, sets)
        found = self._moved(op, form, sets)
        return self._all(sets.values(), op) if found is None else found

    def _united(self, sets: Sequence[Sets]) -> Sets:
        total = sets[0]
        for one in sets[1:]:
            total = total + one
        return total

    def _all(self, sets: Any, op: Op) -> Sets:
        """Return the sets of a value whose elements depend on all elements of the operands, or of their rows."""
        rows, size = independent_rows(op, self.avals), rows_of(self.avals[op.out])
        united = self._united(
            [placed_sets(one, np.arange(one.shape[0]) * rows // one.shape[0], rows) for one in sets]
        )
        return selected_sets(united, np.arange(size) * rows // size)

    def _written_out(self, op: Op, form: Decomposition | CheckedMap, sets: Mapping[int, Sets]) -> Sets:
        """Return the sets of an op that compiled code replaces by other ops."""
        if self._reads_helpers(op, sets):
            return self._all(sets.values(), op)
        editor = Editor(Program(op.args, (op,), (op.out,), {s: self.avals[s] for s in (*op.args, op.out)}))
        editor.write_out(op, form)
        if editor.ops == [op]:
            return self._all(sets.values(), op)
        # An operand may appear twice, and only one of them carry a derivative.
        given = {op.args[i]: one for i, one in sets.items()}
        known = {slot: self.known[slot] for slot in op.args if slot in self.known}
        inner = Program(op.args, tuple(editor.ops), (op.out,), editor.avals)
        return IndexSets(inner, given, known, self.width, is_lowered=True).of(op.out)

    def _reads_helpers(self, op: Op, sets: Mapping[int, Sets]) -> bool:
        """Return whether other ops may read an operand through a value that was computed from the operand.

        The ops of a determinant read the LU factors, while the gradient flows to the matrix.
        """
        return any(
            i not in sets and slot not in self.known and is_differentiable(self.avals[slot].dtype)
            for i, slot in enumerate(op.args)
        )

    # ---- ops that move elements ------------------------------------------------------------------------------------

    def _moved(self, op: Op, form: Any, sets: Mapping[int, Sets]) -> Sets | None:
        """Return the sets of an op with index maps; None for any other op."""
        out, params = self.avals[op.out], dict(op.params)
        operands = [self.avals[slot] for slot in op.args]
        if isinstance(form, View):
            return self._selected(sets[0], form.index(operands[0], out, **params), operands[0].shape, op)
        if isinstance(form, Pad):
            at = self._positions(form.index(operands[0], out, **params), operands[0].shape, out.shape, op)
            return None if at is None else placed_sets(sets[0], at, out.size)
        if isinstance(form, Concatenate):
            parts = []
            for i, one in sets.items():
                index = form.index(i, tuple(operands), out, **params)
                at = self._positions(index, operands[i].shape, out.shape, op)
                if at is None:
                    return None
                parts.append(placed_sets(one, at, out.size))
            return self._united(parts)
        if isinstance(form, DynamicUpdateSlice | Scatter):
            target, merged, places = self._merged(form.index(operands[1], out, **params), out.shape, op)
            at = self._positions(target, operands[1].shape, merged, op)
            if at is None:
                return None
            combines = isinstance(form, Scatter) and form.combining(**params) is not None
            if places is None:
                return self._updated(sets, at, out.size, overwrites=not combines)
            kept = [sets[0]] if 0 in sets else []
            written = (
                [selected_sets(placed_sets(sets[1], at, math.prod(merged)), places)] if 1 in sets else []
            )
            return self._united(kept + written)
        return None

    def _merged(
        self, index: Sequence[Index], within: tuple[int, ...], op: Op
    ) -> tuple[Sequence[Index], tuple[int, ...], Array | None]:
        """Merge the dimensions of an array of shape `within` whose indices are unknown, as any element may be meant.

        Returns the index into the smaller array, its shape, and the position in it of each element of the array; None
        for the positions if all indices are known.
        """
        unknown = [e.dynamic is not None and op.args[e.dynamic] not in self.known for e in index]
        if not any(unknown):
            return index, within, None
        merged = tuple([1 if is_any else n for is_any, n in zip(unknown, within, strict=True)])
        known = [Index() if is_any else e for is_any, e in zip(unknown, index, strict=True)]
        places = np.broadcast_to(np.arange(math.prod(merged)).reshape(merged), within).reshape(-1)
        return known, merged, places

    def _selected(self, sets: Sets, index: Sequence[Index], within: tuple[int, ...], op: Op) -> Sets | None:
        """Return the sets of a selection of elements of an array of shape `within`."""
        index, merged, places = self._merged(index, within, op)
        at = self._positions(index, self.avals[op.out].shape, merged, op)
        if at is None:
            return None
        return selected_sets(sets if places is None else placed_sets(sets, places, math.prod(merged)), at)

    def _updated(self, sets: Mapping[int, Sets], at: Array, size: int, overwrites: bool) -> Sets:
        parts = []
        if 0 in sets:
            kept = np.ones(size, bool)
            kept[at] = not overwrites
            parts.append(scipy.sparse.diags_array(kept, dtype=bool).tocsr() @ sets[0])
        if 1 in sets:
            parts.append(placed_sets(sets[1], at, size))
        return self._united(parts)

    def _positions(
        self,
        index: Sequence[Index],
        shape: tuple[int, ...],
        within: tuple[int, ...],
        op: Op,
    ) -> Array | None:
        """Return the flat positions in an array of shape `within` for all coordinates of `shape`.

        None if they are unknown, as for a gather with an index that varies, or outside of the array.
        """
        coordinates = np.indices(shape, sparse=True)
        flat: Any = np.zeros(shape, np.int64)
        for entry, extent in zip(index, within, strict=True):
            at: Any = entry.offset
            if entry.axis is not None:
                at = at + entry.step * coordinates[entry.axis]
            if entry.dynamic is not None:
                value = self.known.get(op.args[entry.dynamic])
                if value is None:
                    return None
                at = at + (value[tuple([coordinates[a] for a in entry.at])] if entry.at else value)
            if np.size(at) and (np.min(at) < 0 or np.max(at) >= extent):
                return None
            flat = flat * extent + at
        return np.asarray(np.broadcast_to(flat, shape)).reshape(-1)

    # ---- sums and products -----------------------------------------------------------------------------------------

    def _reduced(self, op: Op, sets: Sets) -> Sets:
        shape, axes = self.avals[op.args[0]].shape, dict(op.params)["axes"]
        size = self.avals[op.out].size
        kept = tuple([1 if axis in axes else n for axis, n in enumerate(shape)])
        at = np.broadcast_to(np.arange(size).reshape(kept), shape).reshape(-1)
        return placed_sets(sets, at, size)

    def _scanned(self, op: Op, sets: Mapping[int, Sets]) -> Sets:
        shape, axis = self.avals[op.out].shape, dict(op.params)["axis"]
        length = shape[axis]
        size = math.prod(shape)
        if size * (length + 1) // 2 > _SCAN_PAIRS:
            return self._all(sets.values(), op)
        numbers = np.moveaxis(np.arange(size).reshape(shape), axis, -1).reshape(-1, length)
        after, before = np.tril_indices(length)
        pairs = (
            np.ones(numbers.shape[0] * len(after), bool),
            (numbers[:, after].ravel(), numbers[:, before].ravel()),
        )
        return scipy.sparse.csr_array(pairs, shape=(size, size)) @ self._united(list(sets.values()))

    def _multiplied(self, op: Op, sets: Mapping[int, Sets]) -> Sets:
        *lead, m, n = self.avals[op.out].shape
        k = self.avals[op.args[0]].shape[-1]
        batch = math.prod(lead)
        parts = []
        for i, one in sets.items():
            other = self.known.get(op.args[1 - i])
            if other is None:
                # Row `r` of the result depends on row `r` of the first factor, column `c` on column `c` of the second.
                b, row, column = np.indices((batch, m, k) if i == 0 else (batch, k, n)).reshape(3, -1)
                lines = placed_sets(
                    one, b * m + row if i == 0 else b * n + column, batch * (m if i == 0 else n)
                )
                b, row, column = np.indices((batch, m, n)).reshape(3, -1)
                parts.append(selected_sets(lines, b * m + row if i == 0 else b * n + column))
                continue
            b, first, second = (part[:, None] for part in np.nonzero(other.reshape(batch, *other.shape[-2:])))
            free = np.arange(m if i == 0 else n)[None, :]
            if i == 0:
                summand, result, source = first, (b * m + free) * n + second, (b * m + free) * k
            else:
                summand, result, source = second * n, (b * m + first) * n + free, b * k * n + free
            source = np.broadcast_to(source + summand, result.shape).reshape(-1)
            ones = np.ones(result.size, bool)
            shape = (batch * m * n, one.shape[0])
            parts.append(scipy.sparse.csr_array((ones, (result.reshape(-1), source)), shape=shape) @ one)
        return self._united(parts)

    # ---- loops and branches ----------------------------------------------------------------------------------------

    def _control(self, op: Op, form: Control, sets: Mapping[int, Sets]) -> Sets:
        if form.kind not in ("branch", "loop"):
            return self._all(sets.values(), op)
        params = dict(op.params)
        pick = params.pop("result_index")
        if form.kind == "branch":
            operands = [(self.sets.get(slot), self.known.get(slot)) for slot in op.args[1:]]
            return self._united(
                [self.body_sets(b, operands).of(b.program.outputs[pick]) for b in params["bodies"]]
            )
        key = run_key(op)
        if key not in self._loops:
            operands = [(self.sets.get(slot), self.known.get(slot)) for slot in op.args]
            self._loops[key] = LoopSets(self, operands, params)
        kind, number = pick
        loop = self._loops[key]
        return loop.carried[number] if kind == "carry" else loop.stacked(number)

    def body_sets(self, body: Body, operands: Sequence[Operand]) -> IndexSets:
        """Return the sets of the values of a body for the sets and the known values of its inputs."""
        pairs = list(zip(body.program.inputs, operands, strict=True))
        given = {slot: sets for slot, (sets, _) in pairs if sets is not None}
        known = {slot: value for slot, (_, value) in pairs if value is not None}
        return IndexSets(body.program, given, known, self.width, self._is_lowered)
