"""Layout transposition: temporaries with short rows are stored transposed, with the long axis last.

A loop over ten numbers fills one vector register and a part of another, and so does a product with ten columns. In a
mixture of Gaussians in ten dimensions, a thousand points make arrays of ten columns. Stored as arrays of a thousand
columns, loops and products run along the points: ``(x @ y)' = y' @ x'``.

Only temporaries are transposed, never an input or a result. All arrays that meet them element by element must be
transposed too, or be broadcast from a smaller array, which is cheap to transpose.
"""

from __future__ import annotations

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.dtypes import NATIVE
from jittape.core.forms import Index, Map, Reduce, View
from jittape.core.program import Aval, Op, Program
from jittape.core.symbolic.extent_functions import is_about_at_most
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_to_op, reshape_op
from jittape.primitives.shape.views import transpose_op

__all__ = ["transpose_layouts"]


def transpose_layouts(program: Program) -> Program:
    """Return `program` with its long arrays of short rows computed as short arrays of long rows."""
    if not any(p.is_matmul for p in primitives_of(program)):
        return program
    slots = _Finder(program).slots_to_transpose()
    return _Transposer(program, slots).result() if slots else program


def _has_short_rows(aval: Aval) -> bool:
    if aval.ndim < 2 or aval.dtype not in NATIVE:
        return False
    rows, columns = aval.shape[-2:]
    # The size comes first: for extents that vary, small arrays then have one guard in common.
    return (
        is_about_at_most(tuning.transposed_min_elements, aval.size)
        and 1 < columns <= tuning.transposed_columns_limit
        and rows >= tuning.transposed_rows_per_column * columns
    )


class _Finder:
    """Finder of groups of arrays that can be transposed together: a product with all arrays that meet it.

    Groups are sets with a leader each (union-find).
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.avals = program.avals
        self.op_of = {op.out: op for op in program.ops}
        self.leader: dict[int, int] = {}

    def slots_to_transpose(self) -> set[int]:
        """Return the slots of the groups with a product in which no array needs its layout."""
        fixed = {*self.program.inputs, *self.program.outputs}
        for op in self.program.ops:
            if op.out not in fixed and self._is_candidate(op):
                self.leader[op.out] = op.out
        if not self.leader:
            return set()
        fixed, products = set(), set()
        for op in self.program.ops:
            if op.out not in self.leader:
                fixed.update(self._read_by_layout(op))
            elif op.primitive.is_matmul:
                self._join(op.out, op.args[0])
                products.add(op.out)
            elif not self._join_operands(op):
                fixed.add(op.out)
        wanted = {self._leader(slot) for slot in products} - {self._leader(slot) for slot in fixed}
        return {slot for slot in self.leader if self._leader(slot) in wanted}

    # ---- the rules -----------------------------------------------------------------------------------------------

    def _is_candidate(self, op: Op) -> bool:
        """Return whether the result has short rows and is elementwise or the product of a candidate and a matrix."""
        if not _has_short_rows(self.avals[op.out]):
            return False
        if isinstance(op.primitive.lowering, Map):
            return True
        is_product = op.primitive.is_matmul and op.args[0] in self.leader
        return is_product and self.avals[op.args[1]].shape[-2] <= tuning.transposed_columns_limit

    def _join_operands(self, op: Op) -> bool:
        """Join an elementwise op with its operands; return whether the others are cheap to transpose."""
        cheap = True
        for slot in op.args:
            if slot in self.leader:
                self._join(op.out, slot)
            else:
                cheap = cheap and self._is_cheap_broadcast(slot)
        return cheap

    def _read_by_layout(self, op: Op) -> list[int]:
        """Return the candidates that an op needs as they are; products, reductions, transposes take any layout."""
        if op.primitive.is_matmul or isinstance(op.primitive.lowering, Reduce):
            return []
        return [slot for slot in op.args if slot in self.leader and not self._is_transpose(op)]

    def _is_cheap_broadcast(self, slot: int) -> bool:
        op = self.op_of.get(slot)
        if op is None or not op.primitive.is_broadcast:
            return False
        return self.avals[op.args[0]].size * tuning.transposed_broadcast_factor <= self.avals[slot].size

    def _is_transpose(self, op: Op) -> bool:
        """Return whether an op exchanges the last two dimensions of its operand."""
        form = op.primitive.lowering
        if not isinstance(form, View) or len(op.args) > 1:
            return False
        x, out = self.avals[op.args[0]], self.avals[op.out]
        index = form.index(x, out, **dict(op.params))
        return x.size == out.size and index == tuple([Index(axis) for axis in _exchanged(x.ndim)])

    # ---- groups --------------------------------------------------------------------------------------------------

    def _leader(self, slot: int) -> int:
        while (leader := self.leader[slot]) != slot:
            self.leader[slot] = self.leader[leader]  # halves the path for later searches
            slot = leader
        return slot

    def _join(self, one: int, other: int) -> None:
        self.leader[self._leader(one)] = self._leader(other)


class _Transposer:
    """Editor that copies a program with some of its arrays transposed."""

    def __init__(self, program: Program, slots: set[int]) -> None:
        self.program = program
        self.slots = slots
        self.editor = Editor(program)
        self.avals = self.editor.avals
        self.op_of = {op.out: op for op in program.ops}
        self.transposed: dict[int, int] = {}
        self.natural: dict[int, int] = {}

    def result(self) -> Program:
        for op in self.program.ops:
            if op.out in self.slots:
                self._transpose(op)
            elif isinstance(op.primitive.lowering, Reduce) and op.args[0] in self.slots:
                self._reduce(op)
            else:
                args = tuple([self._natural(slot) if slot in self.slots else slot for slot in op.args])
                self.editor.ops.append(op._replace(args=args))
        return self.editor.result()

    def _transpose(self, op: Op) -> None:
        """Compute the transpose of the result of `op`."""
        if op.primitive.is_matmul:
            x, y = op.args
            args = [self._exchange(y, op), self.transposed[x]]
        else:
            args = [self._operand(slot, op) for slot in op.args]
        self.transposed[op.out] = self.editor.bind(op.primitive, tuple(args), op, **dict(op.params))

    def _operand(self, slot: int, like: Op) -> int:
        """Return the transpose of an operand; a broadcast array is transposed before it is broadcast."""
        if slot not in self.transposed:
            (small,) = self.op_of[slot].args
            shape = self.avals[slot].shape
            if self.avals[small].ndim == 1:
                small = self.editor.bind(reshape_op, (small,), like, shape=(self.avals[small].size, 1))
            elif self.avals[small].ndim:
                small = self._exchange(small, like)
            shape = (*shape[:-2], shape[-1], shape[-2])
            self.transposed[slot] = self.editor.bind(broadcast_to_op, (small,), like, shape=shape)
        return self.transposed[slot]

    def _reduce(self, op: Op) -> None:
        """Reduce a transposed array along the corresponding axes."""
        (x,), params = op.args, dict(op.params)
        perm = _exchanged(self.avals[x].ndim)
        params["axes"] = tuple(sorted([perm[axis] for axis in params["axes"]]))
        if set(perm[-2:]).isdisjoint(params["axes"]):
            total = self.editor.bind(op.primitive, (self.transposed[x],), op, **params)
            self._exchange(total, op, op.out)
        else:
            self.editor.bind(op.primitive, (self.transposed[x],), op, op.out, **params)

    def _natural(self, slot: int) -> int:
        """Return a transposed array in its original layout."""
        if slot not in self.natural:
            self.natural[slot] = self._exchange(self.transposed[slot], self.op_of[slot])
        return self.natural[slot]

    def _exchange(self, slot: int, like: Op, out: int = -1) -> int:
        """Return an array with its last two dimensions exchanged."""
        perm = _exchanged(self.avals[slot].ndim)
        return self.editor.bind(transpose_op, (slot,), like, out, perm=perm)


def _exchanged(ndim: int) -> tuple[int, ...]:
    """Return the permutation that exchanges the last two dimensions."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)
