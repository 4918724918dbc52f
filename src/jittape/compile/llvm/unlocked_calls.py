"""The two slow functions of LLVM, on several threads at once.

llvmlite admits one thread at a time: it holds a lock around each function of LLVM. LLVM itself only requires that two
threads work in two contexts. The two slow functions, `run_passes` and `emit_object`, are called without that lock, with
the types that llvmlite has declared for them. If these types are not the expected ones, the functions are called
through llvmlite, and threads wait for each other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

__all__ = ["emit_object", "run_passes"]

_PASSES = (ffi.LLVMModulePassManagerRef, ffi.LLVMModuleRef, ffi.LLVMPassBuilderRef)
_EMISSION = (ffi.LLVMTargetMachineRef, ffi.LLVMModuleRef, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))


def run_passes(manager: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Optimize a module; no other thread may use its context meanwhile."""
    function = _unlocked("LLVMPY_RunNewModulePassManager", _PASSES)
    if function is None:
        manager.run(module, builder)
    else:
        function(manager, module, builder)


def emit_object(target: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    """Return the object file of a module; no other thread may use the target or the module's context meanwhile."""
    function = _unlocked("LLVMPY_TargetMachineEmitToMemory", _EMISSION)
    if function is None:
        code: bytes = target.emit_object(module)
        return code
    with ffi.OutputString() as error:
        buffer = function(target, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@cache
def _unlocked(name: str, types: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return a function of llvmlite's library without the lock; None if its types are not the expected ones."""
    try:
        declared = getattr(ffi.lib, name)
        function = getattr(ctypes.CDLL(ffi.lib._name), name)
    except (AttributeError, OSError):
        return None
    if tuple(declared.argtypes or ()) != types:
        return None
    function.argtypes, function.restype = declared.argtypes, declared.restype
    return function
