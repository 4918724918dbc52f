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
from concurrent import futures
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TypeVar

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from jittape.core.tuning import tuning

# It takes a lock before a fork, which must come after those of the registry; it cannot be imported as the process ends.
with suppress(RuntimeError):
    futures.ThreadPoolExecutor  # noqa: B018

__all__ = ["emit_object", "mapped", "run_passes", "uninterrupted"]


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PASSES = (ffi.LLVMModulePassManagerRef, ffi.LLVMModuleRef, ffi.LLVMPassBuilderRef)
_EMISSION = (ffi.LLVMTargetMachineRef, ffi.LLVMModuleRef, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))


def mapped(
    function: Callable[[_Item], _Result], items: Iterable[_Item], threads: int
) -> list[tuple[_Item, _Result]]:
    """Every item with the result of `function`, which up to `threads` other threads compute at once.

    A signal handler may raise in the main thread at any moment. In the middle of a call of llvmlite that would leave
    its lock held, and objects of LLVM would go in the wrong order: so what calls LLVM runs in other threads, which
    signals do not reach. The items are made by this thread, while the others work already if there are several.

    An error is raised when all threads have come to an end, that of the first item if there are several.
    """
    with _executor(threads) as executor:
        try:
            if threads < 2:
                return [(item, executor.submit(function, item).result()) for item in items]
            with _taking_turns_often():
                found = [(item, executor.submit(function, item)) for item in items]
            return [(item, future.result()) for item, future in found]
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


def uninterrupted(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """The result of a call that no signal handler can end halfway: another thread makes it."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    with _executor(1) as executor:
        return executor.submit(function, *arguments).result()


class _AtOnce(Executor):
    """Runs everything in this thread: the process is ending, and there are no new threads."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **options))
        return future


def _executor(threads: int) -> Executor:
    try:
        executor = futures.ThreadPoolExecutor(threads, "jittape compiles")
        executor.submit(int)  # starts a thread
    except RuntimeError:
        return _AtOnce()
    return executor


@contextmanager
def _taking_turns_often() -> Iterator[None]:
    """Let threads that come back from LLVM wait for Python less than the usual 5 ms.

    While one thread writes modules for 60 ms, another would get to start few of the 15 things that a module takes.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, tuning.compile_switch_seconds))
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
