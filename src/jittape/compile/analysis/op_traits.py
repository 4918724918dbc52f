"""What ops have in common that differ in the slots of their operands alone, as those of an unrolled loop do.

It is found out once for all of them: the 2,859 ops of an unrolled LSTM have 85 different traits.
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
from jittape.core.forms import DynamicUpdateSlice, Iota, Map, Pad, Reduce, View
from jittape.core.program import Aval, Op
from jittape.core.tuning import tuning

__all__ = ["OpProperties", "op_properties_of"]


@dataclass(frozen=True, eq=False, slots=True)
class OpProperties:
    """What is known of an op from its primitive, its parameters and its shapes and dtypes; ops share it.

    Attributes
    ----------
    kind : Kind
        What becomes of it, as far as this does not depend on other ops.
    elementwise : bool
        Whether every element is made of the same element of each operand.
    size : int
        Elements of the result.
    space : tuple of int
        The loop extents of the nest that computes it.
    whole : Access
        How the nest over all of the result visits it.
    lanes : tuple of Access
        How the nest of a reduction visits the operand.
    cost : int
        Instructions of an element, without those of what it is made of.
    times : int
        Of so many elements of each operand it is made.
    moves_apart : bool
        A view in which neighbors along the last axis lie apart in memory.
    repeats : bool
        A view that has elements of its operand several times.
    """

    kind: OpClass
    elementwise: bool
    size: int
    space: tuple[int, ...]
    whole: Access
    lanes: tuple[Access, ...]
    cost: int
    times: int
    moves_apart: bool
    repeats: bool


def op_properties_of(
    ops: Iterable[Op], avals: Mapping[int, Aval], known: dict[Any, OpProperties]
) -> dict[int, OpProperties]:
    """The traits of every op, by its slot; those in `known`, where new ones are put, are not found out again."""
    found: dict[int, OpProperties] = {}
    for op in ops:
        primitive, args, params, out, _ = op
        operands = tuple([avals[slot] for slot in args])
        key = primitive, params, avals[out], operands
        properties = known.get(key)
        if properties is None:
            properties = known[key] = _traits(op, operands, avals[out])
        found[out] = properties
    return found


def _traits(op: Op, operands: tuple[Aval, ...], result: Aval) -> OpProperties:
    form, kind = op.primitive.lowering, op_class_of(op, (*operands, result))
    space, cost, times = space_of(result.shape), 0, 1
    if kind is OpClass.REDUCE:
        space = nest_over(operands[0].shape)[0]
    elif kind is OpClass.SCATTER:
        space = space_of(operands[1].shape)
    if kind is OpClass.INLINE and isinstance(form, Map):
        cost = cost_of_map(op.primitive, op.params, tuple([aval.dtype for aval in operands]))
    elif isinstance(form, Reduce):
        cost = times = operands[0].size // max(1, result.size)
    elif isinstance(form, Pad | DynamicUpdateSlice | Iota):
        cost = {Pad: 3, DynamicUpdateSlice: 4, Iota: 1}[type(form)]
    return OpProperties(
        kind,
        isinstance(form, Map),
        result.size,
        space,
        identity(result.shape),
        lanes(operands[0].shape) if kind is OpClass.REDUCE else (),
        cost,
        times,
        kind is OpClass.INLINE and isinstance(form, View) and _moves_apart(op, operands[0], result),
        kind is OpClass.INLINE and isinstance(form, View) and operands[0].size < result.size,
    )


def _moves_apart(op: Op, operand: Aval, result: Aval) -> bool:
    if not result.shape or result.shape[-1] <= tuning.unrolled_elements:
        return False
    index = index_of(op.primitive, op.params, operand, result)
    along = [axis for axis, entry in enumerate(index) if entry.axis == result.ndim - 1]
    return bool(along) and prod(operand.shape[along[0] + 1 :]) != 1
