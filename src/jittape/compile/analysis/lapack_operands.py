"""Memory layout of the operands of factorizations and solves.

LAPACK reads a matrix whose rows or columns are contiguous. So a transpose of the matrix becomes a flag, a slice an
offset, and a broadcast along the leading dimensions a stride of 0. The result of a solve begins as a copy of the
right-hand sides. No copy is needed if nothing else reads them: see `overwritten`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from jittape.compile.analysis.gemm_operands import (
    BatchLoop,
    Matrix,
    batch_loops,
    contiguous,
    followed_layout,
    matrix_of,
)
from jittape.compile.analysis.op_class import OpClass
from jittape.compile.ir.lapack import DECOMPOSITIONS, FACTORIZATIONS, SOLVES
from jittape.core.forms import Call
from jittape.core.program import Aval, Op
from jittape.value_classes import NamedTuple

__all__ = ["LapackCall", "lapack_call_of", "overwritten"]


class LapackCall(NamedTuple):
    """A stack of calls; in the two loops over the stack, only the strides of the matrix differ from the result's.

    `rhs` is the slot of the second operand, None if there is none. `rows` is the number of rows of a matrix and `order`
    that of its columns. `columns` is the number of right-hand sides, or of vectors or values of a decomposition.
    """

    routine: str
    matrix: Matrix
    rhs: int | None
    rows: int
    order: int
    columns: int
    batch: tuple[BatchLoop, BatchLoop]

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots of the operands."""
        return (self.matrix.slot,) if self.rhs is None else (self.matrix.slot, self.rhs)

    @property
    def last(self) -> int:
        """The slot whose memory the result may take."""
        return self.slots[-1]


def lapack_call_of(
    op: Op,
    avals: Mapping[int, Aval],
    view_of: Callable[[int], Op | None],
    in_memory: Callable[[int], bool],
    in_place: bool,
) -> LapackCall:
    """Return the arguments of a factorization or a solve, with the matrix read through views as far as possible.

    Parameters
    ----------
    op : Op
        An op whose lowering is a `Call` of one of `ir.lapack.LAPACK_ROUTINES`.
    avals, view_of, in_memory
        As for `gemm_operands.product_of`.
    in_place : bool
        Whether the result takes the memory of the last operand.
    """
    form = op.primitive.lowering
    assert isinstance(form, Call)
    # The first operand of a solve with packed factors is the matrix itself, which only the gradient needs.
    slots = op.args[1:] if form.routine == "getrs" else op.args
    first = slots[0]
    shape, result = avals[first].shape, avals[op.out].shape
    order = shape[-1]
    layouts = [contiguous(first, shape)]
    if _reads_views(op, avals[first], form.routine) and not (in_place and len(slots) == 1):
        layouts.insert(0, followed_layout(first, avals, view_of, in_memory))
    decomposed = form.routine in DECOMPOSITIONS
    rhs = None if form.routine in FACTORIZATIONS or decomposed else slots[1]
    columns = result[-1] if form.routine in SOLVES or decomposed else 0
    if form.routine in ("svd", "qr"):
        columns = result[-2]
    own = contiguous(op.out, result).strides
    for layout in layouts:
        matrix, loops = matrix_of(layout, shape), batch_loops(shape[:-2], layout.strides, own)
        if matrix is not None and len(loops) <= 2:
            one = BatchLoop(1, 0, 0)
            outer, inner = [one, one, *loops][-2:]
            return LapackCall(form.routine, matrix, rhs, shape[-2], order, columns, (outer, inner))
    raise AssertionError(op)  # a contiguous stack always fits


def _reads_views(op: Op, matrix: Aval, routine: str) -> bool:
    """Return whether the routine can read a transposed matrix.

    No routine solves with the conjugate of a matrix that it reads, as the adjoint of a transposed matrix needs. Packed
    factors are always written out.
    """
    if routine == "trsm":
        return matrix.dtype.kind != "c" or not dict(op.params)["adjoint"]
    return routine in FACTORIZATIONS or routine in DECOMPOSITIONS


_OWN_MEMORY = (OpClass.INLINE, OpClass.REDUCE, OpClass.JOIN, OpClass.SCAN, OpClass.CALL, OpClass.LAPACK)


def overwritten(
    op: Op,
    avals: Mapping[int, Aval],
    op_of: Mapping[int, Op],
    classes: Mapping[int, OpClass],
    uses: Mapping[int, int],
    outputs: Collection[int],
) -> int | None:
    """Return the last operand of a factorization or a solve, if the result can take its memory; else None.

    The operand must be computed by a kernel, and nothing else may read it.
    """
    form, slot = op.primitive.lowering, op.args[-1]
    assert isinstance(form, Call)
    if form.routine not in (*FACTORIZATIONS, *SOLVES):
        return None
    computed = slot in op_of and bool(op_of[slot].args) and classes[slot] in _OWN_MEMORY
    fits = avals[slot] == avals[op.out] and uses[slot] == 1 and slot not in outputs
    return slot if computed and fits else None
