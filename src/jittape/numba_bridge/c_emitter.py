"""Emission of functions with the calling convention of C."""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import BYTES, external
from jittape.compile.schedule.steps import NumpyStep
from jittape.core.program import ALIGNMENT
from jittape.numba_bridge.emit_program import ProgramEmitter, leaf_count
from jittape.numba_bridge.native_function import NativeFunction

__all__ = ["FAILED", "NO_MEMORY", "module_of"]

_I64, _I32 = ir.IntType(64), ir.IntType(32)
FAILED, NO_MEMORY = 1, 2
"""Status of a function in which an operation failed, such as a division by a singular matrix, or memory is missing."""


def module_of(name: str, functions: Mapping[str, NativeFunction], *, embeds: bool) -> ir.Module:
    """Return a module with functions ``int32_t name(const void *input..., void *output...)``.

    With `embeds`, large constants are part of the code. Otherwise the code is valid while the native functions exist.

    Raises
    ------
    TypeError
        If a function has an operation without compiled code.
    """
    module = ir.Module(name)
    for symbol, native in functions.items():
        count = leaf_count(native) + len(native.schedule.outputs)
        function = ir.Function(module, ir.FunctionType(_I32, [BYTES] * count), symbol)
        _CEmitter(native, function, function.args, embeds=embeds).write()
    return module


class _CEmitter(ProgramEmitter):
    """Emitter of a C function. Large temporaries are allocated with ``malloc`` for each call."""

    _memory: ir.Value | None = None

    def fail(self, kind: type, text: str) -> None:
        self._return(NO_MEMORY if kind is MemoryError else FAILED)

    def succeed(self) -> None:
        self._return(0)

    def _return(self, code: int) -> None:
        if self._memory is not None:
            self.builder.call(
                external(self.module, ir.FunctionType(ir.VoidType(), [BYTES]), "free"), [self._memory]
            )
        self.builder.ret(ir.Constant(_I32, code))

    def large_arena(self, nbytes: int) -> ir.Value:
        allocate = external(self.module, ir.FunctionType(BYTES, [_I64]), "malloc")
        memory = self.builder.call(allocate, [ir.Constant(_I64, nbytes + ALIGNMENT)])
        missing = self.builder.icmp_unsigned("==", memory, ir.Constant(BYTES, None))
        with self.builder.if_then(missing, likely=False):
            self._return(NO_MEMORY)
        self._memory = memory
        return memory

    def other_step(self, number: int, step: NumpyStep) -> None:
        raise TypeError(
            f"[export] {self.native.name} cannot be exported: {step.op.primitive.name}, recorded at "
            f"{step.op.source or 'an unknown line'}, has no compiled code of jittape; compute it outside"
        )
