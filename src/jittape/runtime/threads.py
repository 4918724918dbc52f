"""Helper threads of the thread pool: started when first needed, asleep while there is no work.

They share the records of `compile.llvm.thread_pool` with the driver. CPython's own functions start them and put them to
sleep; every platform has these, where OpenMP is often missing.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.table_layouts import ASLEEP, AWAKE, GONE, POOL, THREAD
from jittape.compile.llvm.definition import Definition, Effort, FunctionKind
from jittape.core.buffers import address_of
from jittape.core.config import config

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = ["MOST", "announce_helper", "pool_address"]


def _define_helper(function: ir.Function) -> None:
    from jittape.compile.llvm.thread_pool import define_helper

    define_helper(function)


_HELPER = Definition("helper", FunctionKind.KERNEL, _define_helper, Effort.LEAST)
MOST = 256
"""Maximum number of threads, for any `config.threads`."""

_words = np.zeros(POOL.words + (1 + MOST) * THREAD.words, np.int64)
_pool, _threads = _words[: POOL.words].view(POOL.dtype)[0], _words[POOL.words :].view(THREAD.dtype)
"""The pool's state, and its threads: number 0 is the thread that opens a region."""
_lock = threading.Lock()
_helper_code = 0
_worth = 1
"""Largest number of threads that a call has been worth so far."""


def pool_address(threads: int) -> int:
    """Return the address of the pool, having started helpers for a call that is worth `threads` threads."""
    global _worth
    if threads > _worth:
        _worth = threads
        _update()
    return address_of(_words)


def announce_helper() -> None:
    """Have the helpers' code compiled together with the next kernels if there will be helpers."""
    if config.threads > 1:
        registry.announce(_HELPER)


def _update() -> None:
    """Follow `config.threads` and `config.deterministic`."""
    with _lock:
        if _pool["stop"]:
            return
        _pool["undivided"] = config.deterministic
        if _worth > 1:
            from jittape.compile.llvm.compile_pool import uninterrupted

            uninterrupted(_start_helpers, min(config.threads, MOST) - 1)
        _pool["limit"] = min(config.threads, _pool["helpers"] + 1)


def _start_helpers(wanted: int) -> None:
    global _helper_code
    python = ctypes.pythonapi
    python.PyThread_allocate_lock.restype = ctypes.c_void_p
    python.PyThread_acquire_lock.argtypes = [ctypes.c_void_p, ctypes.c_int]
    start = python.PyThread_start_new_thread
    start.argtypes, start.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_ulong
    if not _pool["acquire"] and wanted > 0:
        _helper_code = registry.address_of(_HELPER)
        _pool["acquire"] = _address(python.PyThread_acquire_lock)
        _pool["acquire_timed"] = _address(python.PyThread_acquire_lock_timed)
        _pool["release"] = _address(python.PyThread_release_lock)
    if not _pool["nap_lock"]:
        _pool["nap_lock"] = _taken_lock()
    for number in range(int(_pool["helpers"]) + 1, wanted + 1):
        thread = _threads[number]
        thread["sleep"], thread["lock"], thread["number"] = AWAKE, _taken_lock(), number
        if start(_helper_code, address_of(_threads[number:])) == ctypes.c_ulong(-1).value:
            break  # the system has no more threads
        _pool["helpers"] = number


def _taken_lock() -> int:
    lock: int = ctypes.pythonapi.PyThread_allocate_lock()
    ctypes.pythonapi.PyThread_acquire_lock(lock, 1)
    return lock


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _stop() -> None:
    """Stop the helpers at exit, before their code is unloaded."""
    helpers = _threads[1 : 1 + int(_pool["helpers"])]
    with _lock:
        _pool["limit"] = 1
        _pool["stop"] = 1
    release = ctypes.pythonapi.PyThread_release_lock
    release.argtypes = [ctypes.c_void_p]
    deadline = time.monotonic() + 1
    woken: set[int] = set()
    while time.monotonic() < deadline and (helpers["sleep"] != GONE).any():
        for number, helper in enumerate(helpers):
            if number not in woken and helper["sleep"] == ASLEEP:
                woken.add(number)
                release(int(helper["lock"]))
        time.sleep(0.0005)


def _after_fork() -> None:
    """Reset the pool: a forked process has no helpers."""
    global _lock, _worth
    _lock = threading.Lock()
    _worth = 1
    _words[:] = 0
    _pool["limit"] = 1
    _pool["undivided"] = config.deterministic


_pool["limit"] = 1
atexit.register(_stop)
config.on_change(_update)
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
