"""LLVM on several threads.

llvmlite admits one thread at a time: it holds a lock around each function of LLVM. LLVM itself only requires that two
threads work in two contexts. The two slow functions, `run_passes` and `emit_object`, are called without that lock, with
the types that llvmlite has declared for them. If these types are not the expected ones, the functions are called
through llvmlite, and threads wait for each other.
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

# It registers a lock for forks, which must come after those of the registry. It cannot be imported at exit.
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
    """Return every item with the result of `function`, which up to `threads` other threads compute at once.

    A signal handler may raise in the main thread at any moment. During a call of llvmlite this would leave its lock
    held and free LLVM's objects in the wrong order. So LLVM is called in other threads, which signals do not reach.
    This thread makes the items while the others work.

    An error is raised after all threads have ended; of several errors, that of the first item.
    """
    with _executor(threads) as executor:
        try:
            if threads < 2:
                return [(item, executor.submit(function, item).result()) for item in items]
            with _short_switch_interval():
                found = [(item, executor.submit(function, item)) for item in items]
            return [(item, future.result()) for item, future in found]
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


def uninterrupted(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Return the result of a call in another thread, where no signal handler can interrupt it."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    with _executor(1) as executor:
        return executor.submit(function, *arguments).result()


class _SameThreadExecutor(Executor):
    """An executor that runs everything in this thread: at exit, no thread can be started."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **options))
        return future


def _executor(threads: int) -> Executor:
    try:
        executor = futures.ThreadPoolExecutor(threads, "jittape compiles")
        executor.submit(int)  # starts a thread
    except RuntimeError:
        return _SameThreadExecutor()
    return executor


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Let threads that return from LLVM wait for the GIL less than the usual 5 ms.

    Compiling a module takes the GIL some 15 times, and the main thread emits modules for 60 ms.
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
