"""What a scalar expression costs: counted in the LLVM instructions that it writes, so no list of ops is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.llvm.external_functions import cost_of_call
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_math import IRMath, NotInLanes
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.compile.llvm.ir_vectors import like
from jittape.core.forms import Map, Reduce
from jittape.core.primitive import Primitive
from jittape.core.tuning import threshold_cache, tuning

__all__ = ["can_be_in_lanes", "computed", "cost_of_map"]


def computed(
    m: IRMath, primitive: Primitive, params: tuple[tuple[str, Any], ...], operands: Sequence[IRValue]
) -> IRValue:
    """The scalar expression of a map, or what a reduction makes of few elements."""
    form = primitive.lowering
    if isinstance(form, Map):
        mapped: IRValue = form.expression(m, *operands, **dict(params))
        return mapped
    assert isinstance(form, Reduce), primitive
    return reduce(lambda a, b: form.combine(m, a, b), operands)


def cost_of_map(
    primitive: Primitive, params: tuple[tuple[str, Any], ...], dtypes: tuple[np.dtype[Any], ...]
) -> int:
    """The instructions of one element, slow ones counted several times; constants cost nothing."""
    return _written(primitive, params, dtypes)[0] if dtypes else 0


def can_be_in_lanes(
    primitive: Primitive, params: tuple[tuple[str, Any], ...], dtypes: tuple[np.dtype[Any], ...]
) -> bool:
    """Whether a scalar expression can be written of vectors."""
    return _written(primitive, params, dtypes)[1] if dtypes else True


@threshold_cache(4096)
def _written(
    primitive: Primitive, params: tuple[tuple[str, Any], ...], dtypes: tuple[np.dtype[Any], ...]
) -> tuple[int, bool]:
    """An expression's cost, and whether it can be written of vectors."""
    for lanes in (2, None):
        kinds = [like(llvm_type(d), lanes) for d in dtypes]
        function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), kinds), "cost")
        builder = Builder(function.append_basic_block())
        operands = [IRValue(builder, a, d) for a, d in zip(function.args, dtypes, strict=True)]
        try:
            computed(IRMath(builder), primitive, params, operands)
        except NotInLanes:
            continue
        written = [instruction for block in function.blocks for instruction in block.instructions]
        return sum([_cost(instruction) for instruction in written]), lanes is not None
    raise TypeError(f"{primitive.name} cannot be written in LLVM IR")


def _cost(instruction: ir.Instruction) -> int:
    known = cost_of_call(instruction.callee.name) if instruction.opname == "call" else None
    return tuning.instruction_costs.get(instruction.opname, 1) if known is None else known
