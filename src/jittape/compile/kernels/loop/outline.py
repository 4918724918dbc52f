"""Outlining of long scalar expressions: each is a function that LLVM inlines where it is called.

A module defines an expression once, however often it is used. Writing an instruction in Python takes 7 µs; the time to
inline it is not measurable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.analysis.cost import computed, cost_of_map, narrowed
from jittape.compile.ir.hashes import blake2b
from jittape.compile.ir.kernel import label_of, params_text
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import CONTRACT, IRValue, llvm_type
from jittape.compile.llvm.ir_vectors import like
from jittape.core.primitive import Primitive
from jittape.core.tuning import tuning

__all__ = ["result_of"]


def result_of(
    m: IRMath,
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    operands: list[IRValue],
    dtype: np.dtype[Any],
) -> IRValue:
    """Emit the result of a map, or of a reduction of a few elements.

    Raises
    ------
    TypeError
        If the result has another dtype than the primitive's rule gives.
    """
    if cost_of_map(primitive, params, tuple([o.dtype for o in operands])) < tuning.outline_min_cost:
        return _checked(m, computed(m, primitive, params, operands), primitive, dtype)
    kinds = [f"{o.ir.type} {o.dtype}" if o.dtype.kind == "c" else o.ir.type for o in operands]
    text = f"{label_of(primitive)}{params_text(params)}: {', '.join(map(str, kinds))} -> {dtype}"
    name = f"jittape_map_{blake2b(text.encode(), digest_size=8).hexdigest()}"
    function = m.builder.module.globals.get(name)
    if function is None:
        function = _defined(m.builder.module, name, primitive, params, operands, dtype)
    return IRValue(m.builder, m.builder.call(function, [operand.ir for operand in operands]), dtype)


def _defined(
    module: ir.Module,
    name: str,
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    operands: list[IRValue],
    dtype: np.dtype[Any],
) -> ir.Function:
    kind = like(llvm_type(dtype), operands[0].lanes)
    function = ir.Function(module, ir.FunctionType(kind, [operand.ir.type for operand in operands]), name)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    builder = Builder(function.append_basic_block("entry"))
    arguments = [IRValue(builder, a, o.dtype) for a, o in zip(function.args, operands, strict=True)]
    m = IRMath(builder)
    builder.ret(_checked(m, computed(m, primitive, params, arguments), primitive, dtype).ir)
    return function


def _checked(m: IRMath, result: IRValue, primitive: Primitive, dtype: np.dtype[Any]) -> IRValue:
    result = narrowed(m, result, dtype)
    if result.dtype != dtype:
        raise TypeError(f"{primitive.name} gave {result.dtype}, its rule says {dtype}")
    if getattr(result.ir, "opname", "") in ("fadd", "fsub", "fmul"):
        # LLVM fuses a product and a sum only if nothing else uses the product. Another kernel, or a later run, may
        # recompute the value and compare it with this one, so a result is rounded, wherever it is used.
        result.ir.flags = [flag for flag in result.ir.flags if flag not in CONTRACT]
    return result
