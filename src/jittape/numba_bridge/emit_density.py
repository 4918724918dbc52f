"""Emission of a log density as C callbacks of nutpie."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import BYTES
from jittape.numba_bridge.c_emitter import module_of
from jittape.numba_bridge.native_function import NativeFunction

__all__ = ["density_module"]

_I64, _DOUBLE = ir.IntType(64), ir.DoubleType()
_CALLBACK = ir.FunctionType(_I64, [_I64, BYTES, BYTES, BYTES, BYTES])
"""Density: ``int64_t f(uint64_t n, double *x, double *gradient, double *value, void *data)``."""
_EXPAND = ir.FunctionType(_I64, [_I64, _I64, BYTES, BYTES, BYTES])
"""Copy: ``int64_t f(uint64_t n, uint64_t m, double *x, double *out, void *data)``."""


def density_module(native: NativeFunction, density: str, expand: str) -> ir.Module:
    """Return a module with the callback `density` and the callback `expand`, which copies a point."""
    module = module_of("density", {"jittape_value_and_gradient": native}, embeds=False)
    _define_density(module, density)
    _define_expand(module, expand)
    return module


def _define_density(module: ir.Module, name: str) -> None:
    function = ir.Function(module, _CALLBACK, name)
    _, x, gradient, place, _ = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    called = module.globals["jittape_value_and_gradient"]
    called.linkage = "internal"
    status = builder.call(called, [x, place, gradient])
    value = builder.load(builder.bitcast(place, _DOUBLE.as_pointer()))
    difference = builder.fsub(value, value)  # nan unless the value is finite
    is_finite = builder.fcmp_ordered("==", difference, ir.Constant(_DOUBLE, 0.0))
    succeeded = builder.icmp_unsigned("==", status, ir.Constant(status.type, 0))
    found = builder.select(is_finite, ir.Constant(_I64, 0), ir.Constant(_I64, 2))
    builder.ret(builder.select(succeeded, found, ir.Constant(_I64, 1)))


def _define_expand(module: ir.Module, name: str) -> None:
    function = ir.Function(module, _EXPAND, name)
    _, count, x, out, _ = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    copy = module.declare_intrinsic("llvm.memcpy", [BYTES, BYTES, _I64])
    nbytes = builder.mul(count, ir.Constant(_I64, 8))
    builder.call(copy, [out, x, nbytes, ir.Constant(ir.IntType(1), 0)])
    builder.ret(ir.Constant(_I64, 0))
