"""Properties of ops that do not depend on slots; equal ops of an unrolled loop share them.

They are computed once for all such ops: the 2,859 ops of an unrolled LSTM have 85 different properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from jittape.compile.analysis.cost import cost_of_map
from jittape.compile.analysis.op_class import OpClass, op_class_of
from jittape.compile.ir.index_maps import Access, identity, lanes, nest_over, space_of
from jittape.compile.ir.operand_maps import index_of
from jittape.core.forms import Control, DynamicUpdateSlice, Iota, Map, Pad, Reduce, View
from jittape.core.program import Aval, Op
from jittape.core.tuning import tuning

__all__ = ["OpProperties", "op_properties_of"]


@dataclass(frozen=True, eq=False, slots=True)
class OpProperties:
    """Properties of an op that follow from its primitive, its parameters, its shapes and dtypes.

    Attributes
    ----------
    op_class : OpClass
        The class of the op, as far as it does not depend on other ops.
    elementwise : bool
        Whether every element is computed from the same element of each operand.
    size : int
        Number of elements of the result.
    space : tuple of int
        The loop extents of the nest that computes the result.
    whole : Access
        The index map by which the nest over the whole result visits it.
    lanes : tuple of Access
        The index maps by which the nest of a reduction visits the operand.
    cost : int
        Cost of an element in instructions, without the cost of the operands.
    times : int
        Number of elements of each operand that an element is computed from.
    strided : bool
        Whether it is a view whose neighbors along the last axis are not neighbors in memory.
    repeats : bool
        Whether it is a view that has elements of its operand several times.
    """

    op_class: OpClass
    elementwise: bool
    size: int
    space: tuple[int, ...]
    whole: Access
    lanes: tuple[Access, ...]
    cost: int
    times: int
    strided: bool
    repeats: bool


def op_properties_of(
    ops: Iterable[Op], avals: Mapping[int, Aval], known: dict[Any, OpProperties]
) -> dict[int, OpProperties]:
    """Return the properties of every op by its slot. Those in `known` are reused, and new ones are added to it."""
    found: dict[int, OpProperties] = {}
    for op in ops:
        primitive, args, params, out, _ = op
        # Those of a control op follow from its result, and scalar bytecode has thousands of operands.
        operands = () if isinstance(primitive.lowering, Control) else tuple([avals[slot] for slot in args])
        key = primitive, params, avals[out], operands
        properties = known.get(key)
        if properties is None:
            properties = known[key] = _properties(op, operands, avals[out])
        found[out] = properties
    return found


def _properties(op: Op, operands: tuple[Aval, ...], result: Aval) -> OpProperties:
    form, op_class = op.primitive.lowering, op_class_of(op, (*operands, result))
    space, cost, times = space_of(result.shape), 0, 1
    if op_class is OpClass.REDUCE:
        space = nest_over(operands[0].shape)[0]
    elif op_class is OpClass.SCATTER:
        space = space_of(operands[1].shape)
    if op_class is OpClass.INLINE and isinstance(form, Map):
        cost = cost_of_map(op.primitive, op.params, tuple([aval.dtype for aval in operands]))
    elif isinstance(form, Reduce):
        cost = times = operands[0].size // max(1, result.size)
    elif isinstance(form, Pad | DynamicUpdateSlice | Iota):
        cost = {Pad: 3, DynamicUpdateSlice: 4, Iota: 1}[type(form)]
    return OpProperties(
        op_class,
        isinstance(form, Map),
        result.size,
        space,
        identity(result.shape),
        lanes(operands[0].shape) if op_class is OpClass.REDUCE else (),
        cost,
        times,
        op_class is OpClass.INLINE and isinstance(form, View) and _is_strided(op, operands[0], result),
        op_class is OpClass.INLINE and isinstance(form, View) and operands[0].size < result.size,
    )


def _is_strided(op: Op, operand: Aval, result: Aval) -> bool:
    if not result.shape or result.shape[-1] <= tuning.unrolled_elements:
        return False
    index = index_of(op.primitive, op.params, operand, result)
    along = [axis for axis, entry in enumerate(index) if entry.axis == result.ndim - 1]
    return bool(along) and prod(operand.shape[along[0] + 1 :]) != 1
