"""Classes of ops: an op becomes a part of a loop nest, a library call, a NumPy step, ..."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

from jittape.compile.analysis.cost import has_formula
from jittape.compile.ir.index_maps import is_unrolled, space_of
from jittape.compile.ir.lapack import LAPACK_ROUTINES
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
    """The code that an op becomes."""

    INLINE = "computed within a nest, stored where needed"
    REDUCE = "accumulated by a nest"
    SCAN = "written by a nest, one element after another"
    JOIN = "operands that nests write where they belong in it"
    ALIAS = "the operand's memory under another shape"
    SCATTER = "a copy, and a nest that writes into it at indices"
    CHECK = "the end of the run where it is true"
    CALL = "a matrix product"
    LAPACK = "a factorization or the solution of linear systems"
    ABSORBED = "a product that is added in place by the sum that it goes into"
    CONTROL = "a loop or a branch"
    NUMPY = "a NumPy step"


_IN_MEMORY = (OpClass.CALL, OpClass.LAPACK)
"""Classes of ops whose results are in memory, so that an `Alias` of them needs no copy."""
_LAPACK = dict.fromkeys(LAPACK_ROUTINES, OpClass.LAPACK)


def op_classes_of(
    program: Program, op_of: Mapping[int, Op], own: Mapping[int, OpClass]
) -> tuple[dict[int, OpClass], dict[int, tuple[Op, int]]]:
    """Return the class of every op by its slot, and the addends of products.

    An addition of a product and another value adds the product to the memory of that value. The second dictionary has
    for the slot of such an addition the product and the slot of the other value. `own` has the values of
    `op_class_of`.
    """
    classes = dict(own)
    addends: dict[int, tuple[Op, int]] = {}
    if OpClass.CALL not in own.values() and OpClass.LAPACK not in own.values():
        return classes, addends
    uses = Counter([*program.outputs, *[slot for op in program.ops for slot in op.args]])
    for op in program.ops:
        if op.primitive.is_addition:
            absorbed = _absorbed(op, classes, uses, addends)
            if absorbed is not None:
                addend, slot = absorbed
                classes[slot], classes[op.out] = OpClass.ABSORBED, OpClass.CALL
                addends[op.out] = op_of[slot], addend
        elif isinstance(op.primitive.lowering, Alias) and classes.get(op.args[0]) in _IN_MEMORY:
            classes[op.out] = OpClass.ALIAS
    return classes, addends


def _absorbed(
    op: Op, classes: Mapping[int, OpClass], uses: Mapping[int, int], addends: Mapping[int, tuple[Op, int]]
) -> tuple[int, int] | None:
    """Return for an addition of two products without other uses the slot added to, and the slot added; else None.

    The gradient of a weight that is used in fifty steps of a loop is then one array instead of fifty arrays and a sum.
    """
    for slot in op.args:
        if classes.get(slot) is not OpClass.CALL or uses[slot] > 1:
            return None
    for addend, slot in (op.args, op.args[::-1]):
        if slot not in addends:
            return addend, slot
    return None


def op_class_of(op: Op, avals: Sequence[Aval]) -> OpClass:
    """Return the class of an op as far as it does not depend on other ops; the last of `avals` is the result."""
    form = op.primitive.lowering
    if isinstance(form, Control):
        return OpClass.CONTROL
    if isinstance(form, Call):
        fits = all(a.dtype in BLAS and all([n < 2**31 for n in a.shape]) for a in avals)
        if not fits:
            return OpClass.NUMPY
        return OpClass.CALL if form.routine == "gemm" else _LAPACK.get(form.routine, OpClass.NUMPY)
    native = all(a.dtype in NATIVE for a in avals)
    if isinstance(form, Alias):
        same = native and space_of(avals[0].shape) == space_of(avals[-1].shape)
        return OpClass.INLINE if same else OpClass.ALIAS
    if (
        not native
        or form is None
        or not has_formula(op.primitive, op.params, tuple([a.dtype for a in avals]))
    ):
        return OpClass.NUMPY
    if isinstance(form, Reduce):
        few = is_unrolled(avals[0].shape, dict(op.params)["axes"])
        return OpClass.INLINE if few else OpClass.REDUCE
    if isinstance(form, Concatenate):
        return OpClass.JOIN
    if isinstance(form, Scan):
        return OpClass.SCAN if avals[-1].shape[dict(op.params)["axis"]] != 1 else OpClass.NUMPY
    if isinstance(form, Scatter):
        return OpClass.SCATTER
    if isinstance(form, Assert):
        return OpClass.CHECK
    if isinstance(form, Decomposition | CheckedMap):
        return OpClass.NUMPY
    assert isinstance(form, Map | View | Pad | DynamicUpdateSlice | Iota), form
    return OpClass.INLINE
