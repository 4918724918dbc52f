"""Counted costs of formulas are those of the LLVM instructions that are written for them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.compile.llvm.ir_vectors import like
from jittape.core.tuning import tuning
from jittape.vectormath.counting_math import CountedValue, CountingMath
from jittape.vectormath.machine_math import NotInLanes
from jittape.vectormath.math_namespace import MathNamespace

DTYPES = [
    "float32",
    "float64",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
VALUES = ("x", "a", "b", "c", "y")
"""Names of those parameters of a formula that are values."""
FORMULAS = {
    name: len(inspect.signature(method).parameters) - 1
    for name, method in inspect.getmembers(MathNamespace, inspect.isfunction)
    if name[0] != "_" and set(list(inspect.signature(method).parameters)[1:]) <= set(VALUES)
}


def written(formula: Any, dtypes: list[Any], lanes: int | None) -> tuple[int, bool]:
    """Return the cost of the instructions that `IRMath` writes, and whether a loop has an unknown length."""
    kinds = [like(llvm_type(dtype), lanes) for dtype in dtypes]
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), kinds), "cost")
    builder = Builder(function.append_basic_block())
    formula(IRMath(builder), *[IRValue(builder, x, d) for x, d in zip(function.args, dtypes, strict=True)])
    costs = [
        rows_of(block) * tuning.instruction_costs.get(i.opname, 1)
        for block in function.blocks
        for i in block.instructions
    ]
    return sum(costs), any(block.name.startswith("repeat") for block in function.blocks)


def rows_of(block: ir.Block) -> int:
    """Return how often a block runs: the number that the counter of a loop over a table is compared with."""
    if not block.name.startswith("rows"):
        return 1
    comparison = [i for i in block.instructions if i.opname == "icmp"][-1]
    return int(comparison.rest.rsplit(maxsplit=1)[1])


def counted(formula: Any, dtypes: list[Any], lanes: int | None) -> int:
    m = CountingMath(tuning.instruction_costs)
    formula(m, *[CountedValue(m, dtype, lanes) for dtype in dtypes])
    return m.cost


def compare(formula: Any, dtypes: list[Any]) -> bool:
    """Compare both counts; return whether there is such a formula for these dtypes."""
    for lanes in (None, 2):
        try:
            wanted, repeats = written(formula, dtypes, lanes)
        except NotInLanes:
            with pytest.raises(NotInLanes):
                counted(formula, dtypes, lanes)
        except (LookupError, OverflowError, TypeError, ValueError):
            return False
        else:
            found = counted(formula, dtypes, lanes)
            # A loop of unknown length counts as two iterations.
            assert wanted <= found <= 2 * wanted if repeats else found == wanted, (dtypes, lanes)
    return True


@pytest.mark.parametrize("name", FORMULAS)
def test_each_formula_costs_what_is_written(name: str) -> None:
    dtypes = [[np.dtype(dtype)] * FORMULAS[name] for dtype in DTYPES]
    assert sum([compare(lambda m, *x: getattr(m, name)(*x), own) for own in dtypes]) >= 1


def test_conversions_cost_what_is_written() -> None:
    for dtype in map(np.dtype, DTYPES):
        for other in map(np.dtype, DTYPES):
            compare(lambda m, x, other=other: m.cast(x, other), [dtype])
            if other.itemsize == dtype.itemsize and "b" not in (dtype.kind, other.kind):
                compare(lambda m, x, other=other: m.bitcast(x, other), [dtype])


def test_constants_are_free_and_computed_numbers_are_copied_to_lanes() -> None:
    double = [np.dtype(np.float64)] * 2
    assert compare(lambda m, x, y: m.where(x < y, 1.0, y) * 2 + (1 - x), double)
    assert compare(lambda m, x, y: m.where(x < y, -m.literal(1, x.dtype), m.literal(2, x.dtype)), double)
    assert compare(lambda m, x, y: m.fma(-m.literal(1, x.dtype), x, y), double)
    assert counted(lambda m, x, y: m.literal(1, x.dtype), double, 2) == 0
