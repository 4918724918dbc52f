"""LLVM on several threads at once.

llvmlite lets one thread at a time into LLVM, by a lock around each of its functions; LLVM itself asks only that what
two threads work on belongs to two contexts. The two functions that take long, `run_passes` and `emit_object`, are
called past that lock, with the types that llvmlite has declared for them. Where these are not the ones known here, all
goes through llvmlite as ever, and threads wait for each other.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import Any, TypeVar

import llvmlite.binding as llvm
from llvmlite.binding import ffi

__all__ = ["emit_object", "mapped", "run_passes"]

TURN = 0.0005
"""Seconds."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PASSES = (ffi.LLVMModulePassManagerRef, ffi.LLVMModuleRef, ffi.LLVMPassBuilderRef)
_EMISSION = (ffi.LLVMTargetMachineRef, ffi.LLVMModuleRef, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))


def mapped(
    function: Callable[[_Item], _Result], items: Iterable[_Item], threads: int
) -> list[tuple[_Item, _Result]]:
    """Every item with what `function` makes of it, by so many threads, of which this is one.

    It makes all items first, while the others work already.

    An error is raised when all threads have come to an end, that of the first item if there are several.
    """
    if threads < 2:
        return [(item, function(item)) for item in items]
    waiting: SimpleQueue[tuple[int, _Item] | None] = SimpleQueue()
    found: list[tuple[_Item, _Result]] = []
    errors: dict[int, BaseException] = {}
    made = 0

    def work() -> None:
        while (numbered := waiting.get()) is not None:
            number, item = numbered
            if any(failed < number for failed in list(errors)):
                continue
            try:
                found.append((item, function(item)))
            except BaseException as error:
                errors[number] = error

    workers = [threading.Thread(target=work, name="jittape compiles") for _ in range(threads - 1)]
    for worker in workers:
        worker.start()
    try:
        with _taking_turns_often():
            for item in items:
                waiting.put((made, item))
                made += 1
    except BaseException as error:
        errors[made] = error
    for _ in range(threads):
        waiting.put(None)
    work()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[min(errors)]
    return found


@contextmanager
def _taking_turns_often() -> Iterator[None]:
    """Let threads that come back from LLVM wait for Python less than the usual 5 ms.

    While one thread writes modules for 60 ms, another would get to start few of the 15 things that a module takes.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def run_passes(manager: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Optimize a module; no other thread may use its context meanwhile."""
    function = _unlocked("LLVMPY_RunNewModulePassManager", _PASSES)
    if function is None:
        manager.run(module, builder)
    else:
        function(manager, module, builder)


def emit_object(target: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    """The object file of a module; no other thread may use the target or the module's context meanwhile."""
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
    """A function of llvmlite's library without the lock; None if it is not the one that is known here."""
    try:
        declared = getattr(ffi.lib, name)
        function = getattr(ctypes.CDLL(ffi.lib._name), name)
    except (AttributeError, OSError):
        return None
    if tuple(declared.argtypes or ()) != types:
        return None
    function.argtypes, function.restype = declared.argtypes, declared.restype
    return function
