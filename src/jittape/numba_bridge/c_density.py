"""Log densities as C callbacks of nutpie, compiled without Numba.

LLVM takes 50 ms for the density of the eight schools. Numba's two callbacks took 340 ms, most of them its own start.
"""

from __future__ import annotations

import weakref

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import BYTES
from jittape.compile.llvm.loaded_code import CodeGroup
from jittape.compile.llvm.target import object_code
from jittape.compile.schedule.steps import KernelStep
from jittape.core.dtypes import float64
from jittape.numba_bridge.c_emitter import module_of
from jittape.numba_bridge.native_function import NativeFunction

__all__ = ["CDensity"]

_I64, _DOUBLE = ir.IntType(64), ir.DoubleType()
_CALLBACK = ir.FunctionType(_I64, [_I64, BYTES, BYTES, BYTES, BYTES])
"""Density: ``int64_t f(uint64_t n, double *x, double *gradient, double *value, void *data)``."""
_EXPAND = ir.FunctionType(_I64, [_I64, _I64, BYTES, BYTES, BYTES])
"""Copy: ``int64_t f(uint64_t n, uint64_t m, double *x, double *out, void *data)``."""


class CDensity:
    """A value and its gradient as a callback, and a callback that copies a point.

    The callback of the density returns 0 on success, 1 if an operation failed, and 2 if the value is not finite.

    Attributes
    ----------
    address, expand_address : int
        Addresses of the callbacks. They are valid as long as this object exists.
    """

    def __init__(self, native: NativeFunction) -> None:
        self._native = native  # the code reads its constants
        native.provide()
        module = module_of("density", {"jittape_value_and_gradient": native}, embeds=False)
        _define_density(module)
        _define_expand(module)
        group = CodeGroup()
        names = ["jittape_density", "jittape_expand"]
        # A density of 20 groups takes 0.9 µs after two rounds and 1.1 after one.
        self.address, self.expand_address = group.load(object_code(module, rounds=2), names)
        weakref.finalize(self, group.unload).atexit = False

    @staticmethod
    def supports(native: NativeFunction) -> bool:
        """Return whether all steps have kernels of jittape, and all numbers are float64."""
        avals = native.traced.program.output_avals()
        return all(aval.dtype == float64 for aval in avals) and all(
            isinstance(step, KernelStep) for step in native.schedule.steps
        )


def _define_density(module: ir.Module) -> None:
    function = ir.Function(module, _CALLBACK, "jittape_density")
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


def _define_expand(module: ir.Module) -> None:
    function = ir.Function(module, _EXPAND, "jittape_expand")
    _, count, x, out, _ = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    copy = module.declare_intrinsic("llvm.memcpy", [BYTES, BYTES, _I64])
    nbytes = builder.mul(count, ir.Constant(_I64, 8))
    builder.call(copy, [out, x, nbytes, ir.Constant(ir.IntType(1), 0)])
    builder.ret(ir.Constant(_I64, 0))
