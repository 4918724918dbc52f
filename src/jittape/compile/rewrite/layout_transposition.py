"""Temporaries with short rows, stored the other way round: the long axis last.

A loop over ten numbers fills one vector and a part of another, and so does a product with ten columns. What a mixture
of Gaussians in ten dimensions does for a thousand points stands in arrays of ten columns; stored as arrays of a
thousand columns, its loops run along the points, and so do its products, as ``(x @ y)' = y' @ x'``.

Only what the program computes for itself is turned, never an input or a result, and only where all that meets it
element by element is turned too, or is broadcast from something smaller, which is cheap to turn.
"""

from __future__ import annotations

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.dtypes import NATIVE
from jittape.core.forms import Index, Map, Reduce, View
from jittape.core.program import Aval, Op, Program
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_to_op, reshape_op
from jittape.primitives.shape.views import transpose_op

__all__ = ["transpose_layouts"]


def transpose_layouts(program: Program) -> Program:
    """`program` with its long arrays of short rows computed as short arrays of long rows."""
    chosen = _Finder(program).chosen() if any(p.is_matmul for p in primitives_of(program)) else None
    return _Turner(program, chosen).result() if chosen else program


def _has_short_rows(aval: Aval) -> bool:
    if aval.ndim < 2 or not 1 < aval.shape[-1] <= tuning.transposed_columns_limit:
        return False
    rows, columns = aval.shape[-2:]
    return (
        rows >= tuning.transposed_rows_per_column * columns
        and aval.dtype in NATIVE
        and aval.size >= tuning.transposed_min_elements
    )


class _Finder:
    """Finds what is turned: a product with all that belongs to it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.avals = program.avals
        self.op_of = {op.out: op for op in program.ops}
        self.leader: dict[int, int] = {}

    def chosen(self) -> set[int]:
        kept = {*self.program.inputs, *self.program.outputs}
        for op in self.program.ops:
            short = op.out not in kept and _has_short_rows(self.avals[op.out])
            if short and (isinstance(op.primitive.lowering, Map) or self._is_narrow(op)):
                self.leader[op.out] = op.out
        if not self.leader:
            return set()
        spoilt, products = set(), set()
        for op in self.program.ops:
            member = op.out in self.leader
            if member and op.primitive.is_matmul:
                self._join(op.out, op.args[0])
                products.add(op.out)
            elif member:
                for slot in op.args:
                    if slot in self.leader:
                        self._join(op.out, slot)
                    elif not self._is_broadcast(slot):
                        spoilt.add(op.out)
            elif not op.primitive.is_matmul and not isinstance(op.primitive.lowering, Reduce):
                spoilt.update([slot for slot in op.args if not self._is_transpose(op)])
        spoilt = {self._leader(slot) for slot in spoilt if slot in self.leader}
        wanted = {self._leader(slot) for slot in products} - spoilt
        return {slot for slot in self.leader if self._leader(slot) in wanted}

    def _is_narrow(self, op: Op) -> bool:
        """Whether an op is a product of something that may be turned and a small matrix."""
        return (
            op.primitive.is_matmul
            and op.args[0] in self.leader
            and self.avals[op.args[1]].shape[-2] <= tuning.transposed_columns_limit
        )

    def _is_broadcast(self, slot: int) -> bool:
        op = self.op_of.get(slot)
        if op is None or not op.primitive.is_broadcast:
            return False
        return self.avals[op.args[0]].size * tuning.transposed_broadcast_factor <= self.avals[slot].size

    def _is_transpose(self, op: Op) -> bool:
        form = op.primitive.lowering
        if not isinstance(form, View) or len(op.args) > 1:
            return False
        x, out = self.avals[op.args[0]], self.avals[op.out]
        index = form.index(x, out, **dict(op.params))
        return x.size == out.size and index == tuple([Index(axis) for axis in _exchanged(x.ndim)])

    def _leader(self, slot: int) -> int:
        while (leader := self.leader[slot]) != slot:
            self.leader[slot] = self.leader[leader]  # or long chains would be walked again and again
            slot = leader
        return slot

    def _join(self, one: int, other: int) -> None:
        self.leader[self._leader(one)] = self._leader(other)


class _Turner:
    """Writes the program anew."""

    def __init__(self, program: Program, chosen: set[int]) -> None:
        self.program = program
        self.chosen = chosen
        self.editor = Editor(program)
        self.avals = self.editor.avals
        self.op_of = {op.out: op for op in program.ops}
        self.transpose_layouts: dict[int, int] = {}
        self.natural: dict[int, int] = {}

    def result(self) -> Program:
        for op in self.program.ops:
            if op.out in self.chosen:
                self._turn(op)
            elif isinstance(op.primitive.lowering, Reduce) and op.args[0] in self.chosen:
                self._reduce(op)
            else:
                args = tuple([self._natural(slot) if slot in self.chosen else slot for slot in op.args])
                self.editor.ops.append(op._replace(args=args))
        return self.editor.result()

    def _turn(self, op: Op) -> None:
        """Compute the transpose of what `op` computes."""
        if op.primitive.is_matmul:
            x, y = op.args
            args = [self._transposed(y, op), self.transpose_layouts[x]]
        else:
            args = [self._operand(slot, op) for slot in op.args]
        self.transpose_layouts[op.out] = self.editor.bind(op.primitive, tuple(args), op, **dict(op.params))

    def _operand(self, slot: int, like: Op) -> int:
        """The transpose of an operand: what is broadcast to it is transposed before."""
        if slot not in self.transpose_layouts:
            (small,) = self.op_of[slot].args
            shape = self.avals[slot].shape
            if self.avals[small].ndim == 1:
                small = self.editor.bind(reshape_op, (small,), like, shape=(self.avals[small].size, 1))
            elif self.avals[small].ndim:
                small = self._transposed(small, like)
            shape = (*shape[:-2], shape[-1], shape[-2])
            self.transpose_layouts[slot] = self.editor.bind(broadcast_to_op, (small,), like, shape=shape)
        return self.transpose_layouts[slot]

    def _reduce(self, op: Op) -> None:
        """A reduction takes what is turned along the axes that have the same meaning."""
        (x,), params = op.args, dict(op.params)
        perm = _exchanged(self.avals[x].ndim)
        params["axes"] = tuple(sorted([perm[axis] for axis in params["axes"]]))
        if set(perm[-2:]).isdisjoint(params["axes"]):
            total = self.editor.bind(op.primitive, (self.transpose_layouts[x],), op, **params)
            self._transposed(total, op, op.out)
        else:
            self.editor.bind(op.primitive, (self.transpose_layouts[x],), op, op.out, **params)

    def _natural(self, slot: int) -> int:
        """What is turned, as it was."""
        if slot not in self.natural:
            self.natural[slot] = self._transposed(self.transpose_layouts[slot], self.op_of[slot])
        return self.natural[slot]

    def _transposed(self, slot: int, like: Op, out: int = -1) -> int:
        perm = _exchanged(self.avals[slot].ndim)
        return self.editor.bind(transpose_op, (slot,), like, out, perm=perm)


def _exchanged(ndim: int) -> tuple[int, ...]:
    """The permutation that exchanges the last two dimensions."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)
