"""Threads for the hand-written code: each does a part of its own, the same one at every call.

Numba's parallel regions take some 45 µs to begin and end, as long as whole rows do. These threads look for work a few
µs after the last before they sleep, so a region costs less than one; and nothing is handed out but what is known
beforehand.
"""

from __future__ import annotations

import ctypes
import platform
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["on_threads"]

AWAKE, ASLEEP, WORK, STOP = range(4)
SPINS = 1000
"""A thread looks so many times before it sleeps."""
LINE = 8
"""Cells of a thread: in a cache line of its own."""

_I64 = ir.IntType(64)


def _prototype(name: str, result: Any, *arguments: Any) -> Any:
    """A function of CPython's that needs no GIL."""
    return ctypes.CFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new_lock = _prototype("PyThread_allocate_lock", ctypes.c_void_p)
_acquire = _prototype("PyThread_acquire_lock", ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_release = _prototype("PyThread_release_lock", None, ctypes.c_void_p)


@intrinsic
def _exchanged(typing_context: Any, address: Any, value: Any) -> Any:
    """Write an int64 and give what was there before, at once."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        pointer = builder.inttoptr(args[0], _I64.as_pointer())
        return builder.atomic_rmw("xchg", pointer, args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _seen(typing_context: Any, address: Any) -> Any:
    """An int64 that another thread may have just written; tells the processor that this is a waiting loop."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        if platform.machine() in ("x86_64", "AMD64"):
            pause = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", fnty=pause), [])
        return builder.load_atomic(builder.inttoptr(args[0], _I64.as_pointer()), "seq_cst", 8)

    return types.int64(types.int64), generate


@njit(nogil=True)
def _tell(own, lock, what):  # type: ignore[no-untyped-def]
    if _exchanged(own.ctypes.data, what) == ASLEEP:
        _release(lock)


def on_threads(part: Any, threads: int, *arguments: Any) -> Callable[..., None]:
    """``run(phase=0)`` does ``part(number, threads, phase, arguments)`` for each number, on a thread of its own.

    `part` is compiled by Numba. The threads end with the function that is returned.
    """

    @njit(nogil=True)
    def help_out(own, lock, number, threads, arguments):  # type: ignore[no-untyped-def]
        cell = own.ctypes.data
        while True:
            spins = 0
            while _seen(cell) == AWAKE and spins < SPINS:
                spins += 1
            if _seen(cell) == AWAKE:
                before = _exchanged(cell, ASLEEP)
                if before == AWAKE:
                    _acquire(lock, 1)
                else:
                    _exchanged(cell, before)
            if _seen(cell) == STOP:
                return
            part(number, threads, own[1], arguments)
            _exchanged(cell, AWAKE)

    @njit(nogil=True)
    def run_all(cells, locks, phase, arguments):  # type: ignore[no-untyped-def]
        for i in range(locks.size):
            cells[LINE * i + 1] = phase
            _tell(cells[LINE * i :], locks[i], WORK)
        part(0, locks.size + 1, phase, arguments)
        for i in range(locks.size):
            while _seen(cells[LINE * i :].ctypes.data) == WORK:
                pass

    locks = np.array([_new_lock() for _ in range(threads - 1)], np.uint64)
    cells = np.full(LINE * threads, AWAKE, np.int64)
    for i, lock in enumerate(locks):
        _acquire(int(lock), 1)
        values = cells[LINE * i :], lock, i + 1, threads, arguments
        threading.Thread(target=help_out, args=values, daemon=True).start()

    def run(phase: int = 0) -> None:
        run_all(cells, locks, phase, arguments)

    weakref.finalize(run, _stop, cells, locks)
    return run


def _stop(cells: Any, locks: Any) -> None:
    for i, lock in enumerate(locks):
        _tell(cells[LINE * i :], lock, STOP)
