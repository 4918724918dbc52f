"""The threads that help with large loops: started when first needed, asleep when there is nothing to do.

They and the driver share the cells of `compile.crew`. CPython's own functions start them and put them to sleep, by
address: that is there on every platform, where OpenMP often is not.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time

import numpy as np

from jittape.compile.cache.emit_kernel import Definition
from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.compile_pool import uninterrupted
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE
from jittape.compile.llvm.target import Effort
from jittape.compile.llvm.thread_pool import ASLEEP, GONE, Cell, define_helper
from jittape.core.buffers import address_of
from jittape.core.config import config

__all__ = ["MOST", "announce_helper", "cells_address"]

_HELPER = Definition("helper", KERNEL_TYPE, define_helper, Effort.LEAST)
MOST = 256
"""Threads at most, whatever `config.threads` says."""

_cells = np.zeros(Cell.FIRST_HELPER + MOST * Cell.LINE, np.int64)
_lock = threading.Lock()
_helper_code = 0
_worth = 1
"""For how many threads there has been work so far."""


def cells_address(threads: int) -> int:
    """The cells that the driver reads; there are helpers for a call worth so many threads when this returns."""
    global _worth
    if threads > _worth:
        _worth = threads
        _update()
    return address_of(_cells)


def announce_helper() -> None:
    """Have the code of the helpers compiled together with the next kernels if there will be helpers."""
    if config.threads > 1:
        registry.announce(_HELPER)


def _update() -> None:
    """Follow `config.threads` and `config.deterministic`."""
    with _lock:
        if _cells[Cell.STOP]:
            return
        _cells[Cell.AT_ONCE] = config.deterministic
        if _worth > 1:
            uninterrupted(_start_helpers, min(config.threads, MOST) - 1)
        _cells[Cell.LIMIT] = min(config.threads, _cells[Cell.HELPERS] + 1)


def _start_helpers(wanted: int) -> None:
    global _helper_code
    python = ctypes.pythonapi
    python.PyThread_allocate_lock.restype = ctypes.c_void_p
    python.PyThread_acquire_lock.argtypes = [ctypes.c_void_p, ctypes.c_int]
    start = python.PyThread_start_new_thread
    start.argtypes, start.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_ulong
    if not _cells[Cell.ACQUIRE] and wanted > 0:
        _helper_code = registry.own(_HELPER)
        _cells[Cell.ACQUIRE] = _address(python.PyThread_acquire_lock)
        _cells[Cell.ACQUIRE_TIMED] = _address(python.PyThread_acquire_lock_timed)
        _cells[Cell.RELEASE] = _address(python.PyThread_release_lock)
    if not _cells[Cell.NAP]:
        _cells[Cell.NAP] = _taken_lock()
    for number in range(int(_cells[Cell.HELPERS]), wanted):
        line = Cell.FIRST_HELPER + number * Cell.LINE
        _cells[line : line + 3] = 0, _taken_lock(), number
        if start(_helper_code, address_of(_cells[line:])) == ctypes.c_ulong(-1).value:
            break  # the system gives no more threads: there are as many as there are
        _cells[Cell.HELPERS] = number + 1


def _taken_lock() -> int:
    lock: int = ctypes.pythonapi.PyThread_allocate_lock()
    ctypes.pythonapi.PyThread_acquire_lock(lock, 1)
    return lock


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _stop() -> None:
    """At exit the code goes before the threads would."""
    helpers = int(_cells[Cell.HELPERS])
    lines = [Cell.FIRST_HELPER + number * Cell.LINE for number in range(helpers)]
    with _lock:
        _cells[Cell.LIMIT] = 1
        _cells[Cell.STOP] = 1
    release = ctypes.pythonapi.PyThread_release_lock
    release.argtypes = [ctypes.c_void_p]
    deadline = time.monotonic() + 1
    woken: set[int] = set()
    while time.monotonic() < deadline and any(_cells[line] != GONE for line in lines):
        for line in lines:
            if line not in woken and _cells[line] == ASLEEP:
                woken.add(line)
                release(int(_cells[line + 1]))
        time.sleep(0.0005)


def _after_fork() -> None:
    """The threads have not come along."""
    global _lock, _worth
    _lock = threading.Lock()
    _worth = 1
    _cells[:] = 0
    _cells[Cell.LIMIT] = 1
    _cells[Cell.AT_ONCE] = config.deterministic


_cells[Cell.LIMIT] = 1
atexit.register(_stop)
config.on_change(_update)
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
