"""What becomes of each op of a program: a part of a loop nest, a library call, a NumPy step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

from jittape.compile.ir.index_maps import is_unrolled, space_of
from jittape.core.dtypes import BLAS, NATIVE
from jittape.core.forms import (
    Alias,
    Assert,
    Call,
    CheckedMap,
    Concatenate,
    Control,
    Decomposition,
    DynamicUpdateSlice,
    Iota,
    Map,
    Pad,
    Reduce,
    Scan,
    Scatter,
    View,
)
from jittape.core.program import Aval, Op, Program

__all__ = ["OpClass", "op_class_of", "op_classes_of"]


class OpClass(Enum):
    """What becomes of an op."""

    INLINE = "computed within a nest, stored where needed"
    REDUCE = "accumulated by a nest"
    RUNNING = "written by a nest, one element after another"
    JOIN = "operands that nests write where they belong in it"
    ALIAS = "the operand's memory under another shape"
    SCATTER = "a copy, and a nest that writes into it at indices"
    CHECK = "the end of the run where it is true"
    CALL = "a library routine"
    ABSORBED = "a product that is added in place by the sum that it goes into"
    CONTROL = "a loop or a branch"
    NUMPY = "a NumPy step"


def op_classes_of(
    program: Program, op_of: Mapping[int, Op], own: Mapping[int, OpClass]
) -> tuple[dict[int, OpClass], dict[int, tuple[Op, int]]]:
    """The kind of every op, by its slot; and for the sum of a product and something else, the product and the other.

    In such a sum the product is added to the memory of the other. `own` are the kinds by `op_class_of`.
    """
    kinds = dict(own)
    addends: dict[int, tuple[Op, int]] = {}
    if OpClass.CALL not in own.values():
        return kinds, addends
    uses = Counter([*program.outputs, *[slot for op in program.ops for slot in op.args]])
    for op in program.ops:
        if op.primitive.is_addition:
            absorbed = _absorbed(op, kinds, uses, addends)
            if absorbed is not None:
                addend, slot = absorbed
                kinds[slot], kinds[op.out] = OpClass.ABSORBED, OpClass.CALL
                addends[op.out] = op_of[slot], addend
        elif isinstance(op.primitive.lowering, Alias) and kinds.get(op.args[0]) is OpClass.CALL:
            kinds[op.out] = OpClass.ALIAS  # of what is in memory
    return kinds, addends


def _absorbed(
    op: Op, kinds: Mapping[int, OpClass], uses: Mapping[int, int], addends: Mapping[int, tuple[Op, int]]
) -> tuple[int, int] | None:
    """Of a sum of two products of which nothing else is needed, the first and the one that is added to it in place.

    So the gradient of a weight that is used in fifty steps of a loop is one array, not fifty and their sum.
    """
    for slot in op.args:
        if kinds.get(slot) is not OpClass.CALL or uses[slot] > 1:
            return None
    for addend, slot in (op.args, op.args[::-1]):
        if slot not in addends:
            return addend, slot
    return None


def op_class_of(op: Op, avals: Sequence[Aval]) -> OpClass:
    """The kind of an op by itself; `avals` are its operands' and its result's."""
    form = op.primitive.lowering
    if isinstance(form, Control):
        return OpClass.CONTROL
    if isinstance(form, Call):
        fits = all(a.dtype in BLAS and max(a.shape, default=0) < 2**31 for a in avals)
        return OpClass.CALL if form.routine == "gemm" and fits else OpClass.NUMPY
    native = all(a.dtype in NATIVE for a in avals)
    if isinstance(form, Alias):
        same = native and space_of(avals[0].shape) == space_of(avals[-1].shape)
        return OpClass.INLINE if same else OpClass.ALIAS
    if not native or form is None:
        return OpClass.NUMPY
    if isinstance(form, Reduce):
        few = is_unrolled(avals[0].shape, dict(op.params)["axes"])
        return OpClass.INLINE if few else OpClass.REDUCE
    if isinstance(form, Concatenate):
        return OpClass.JOIN
    if isinstance(form, Scan):
        return OpClass.RUNNING if avals[-1].shape[dict(op.params)["axis"]] != 1 else OpClass.NUMPY
    if isinstance(form, Scatter):
        return OpClass.SCATTER
    if isinstance(form, Assert):
        return OpClass.CHECK
    if isinstance(form, Decomposition | CheckedMap):
        return OpClass.NUMPY
    assert isinstance(form, Map | View | Pad | DynamicUpdateSlice | Iota), form
    return OpClass.INLINE
