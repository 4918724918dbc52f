"""What becomes of each op of a program: a part of a loop nest, a library call, a NumPy step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np

from jittape.compile.ir.index_maps import is_unrolled, space_of
from jittape.core.forms import (
    Alias,
    Call,
    Check,
    Checked,
    Composed,
    Control,
    Coordinate,
    Join,
    Map,
    Overlay,
    Place,
    Reduce,
    Running,
    Scatter,
    View,
)
from jittape.core.program import Aval, Op, Program
from jittape.primitives.elementwise.arithmetic import add_op

__all__ = ["BLAS", "NATIVE", "Kind", "kind_of", "settled_kinds"]

NATIVE = frozenset(
    np.dtype(name) for name in ["float32", "float64", "bool", "int8", "int16", "int32", "int64"]
)
NATIVE |= frozenset(np.dtype(name) for name in ["uint8", "uint16", "uint32", "uint64"])
BLAS = frozenset(np.dtype(name) for name in ["float32", "float64", "complex64", "complex128"])


class Kind(Enum):
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


def settled_kinds(
    program: Program, op_of: Mapping[int, Op], own: Mapping[int, Kind]
) -> tuple[dict[int, Kind], dict[int, tuple[Op, int]]]:
    """The kind of every op, by its slot; and for the sum of a product and something else, the product and the other.

    In such a sum the product is added to the memory of the other. `own` are the kinds by `kind_of`.
    """
    kinds = dict(own)
    addends: dict[int, tuple[Op, int]] = {}
    if Kind.CALL not in own.values():
        return kinds, addends
    uses = Counter([*program.outputs, *[slot for op in program.ops for slot in op.args]])
    for op in program.ops:
        if op.primitive is add_op:
            absorbed = _absorbed(op, kinds, uses, addends)
            if absorbed is not None:
                addend, slot = absorbed
                kinds[slot], kinds[op.out] = Kind.ABSORBED, Kind.CALL
                addends[op.out] = op_of[slot], addend
        elif isinstance(op.primitive.form, Alias) and kinds.get(op.args[0]) is Kind.CALL:
            kinds[op.out] = Kind.ALIAS  # of what is in memory
    return kinds, addends


def _absorbed(
    op: Op, kinds: Mapping[int, Kind], uses: Mapping[int, int], addends: Mapping[int, tuple[Op, int]]
) -> tuple[int, int] | None:
    """Of a sum of two products of which nothing else is needed, the first and the one that is added to it in place.

    So the gradient of a weight that is used in fifty steps of a loop is one array, not fifty and their sum.
    """
    for slot in op.args:
        if kinds.get(slot) is not Kind.CALL or uses[slot] > 1:
            return None
    for addend, slot in (op.args, op.args[::-1]):
        if slot not in addends:
            return addend, slot
    return None


def kind_of(op: Op, avals: Sequence[Aval]) -> Kind:
    """The kind of an op by itself; `avals` are its operands' and its result's."""
    form = op.primitive.form
    if isinstance(form, Control):
        return Kind.CONTROL
    if isinstance(form, Call):
        fits = all(a.dtype in BLAS and max(a.shape, default=0) < 2**31 for a in avals)
        return Kind.CALL if form.routine == "gemm" and fits else Kind.NUMPY
    native = all(a.dtype in NATIVE for a in avals)
    if isinstance(form, Alias):
        same = native and space_of(avals[0].shape) == space_of(avals[-1].shape)
        return Kind.INLINE if same else Kind.ALIAS
    if not native or form is None:
        return Kind.NUMPY
    if isinstance(form, Reduce):
        few = is_unrolled(avals[0].shape, dict(op.params)["axes"])
        return Kind.INLINE if few else Kind.REDUCE
    if isinstance(form, Join):
        return Kind.JOIN
    if isinstance(form, Running):
        return Kind.RUNNING if avals[-1].shape[dict(op.params)["axis"]] != 1 else Kind.NUMPY
    if isinstance(form, Scatter):
        return Kind.SCATTER
    if isinstance(form, Check):
        return Kind.CHECK
    if isinstance(form, Composed | Checked):
        return Kind.NUMPY
    assert isinstance(form, Map | View | Place | Overlay | Coordinate), form
    return Kind.INLINE
