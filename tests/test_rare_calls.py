"""Calls of the C library for rare elements of vectors."""

import numpy as np
import pytest
from llvmlite import ir

import jittape as jt
from jittape.vectormath.libm_fallback import call_rarely


@pytest.mark.parametrize("lanes", [8, 16, 32])
def test_a_call_passes_one_vector(lanes):
    """The condition and several vectors of 32 numbers do not fit the registers; a gradient ended with a crash."""
    kind = ir.VectorType(ir.DoubleType(), lanes)
    function = ir.Function(
        ir.Module(), ir.FunctionType(kind, [ir.VectorType(ir.IntType(1), lanes), kind, kind]), "f"
    )
    builder = ir.IRBuilder(function.append_basic_block())
    condition, argument, otherwise = function.args
    builder.ret(call_rarely(builder, condition, "sin", argument, otherwise))
    (call,) = [i for i in builder.block.instructions if i.opname == "call"]
    assert [str(operand.type) for operand in call.args] == [f"i{lanes}", str(kind)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_every_lane_may_be_rare(function, dtype):
    rng = np.random.default_rng(5)
    x = rng.normal(size=1000).astype(dtype)
    rare = rng.integers(0, 1000, 90)
    x[rare] = rng.choice([1e22, -3e18, 7e30], 90)
    found = jt.function(getattr(jt, function))(x).numpy()
    expected = getattr(np, function)(x.astype("float64"))
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps, atol=1e-30)
