"""A pause of Python's cyclic garbage collector while a gradient is derived or a program is compiled.

Python runs the collector after a number of allocations. Differentiation and compilation make many objects and almost no
cycles: the collector took 0.03 of the 0.33 s of the first use of an unrolled loop of 4,600 ops.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["gc_paused"]


class _Pauses:
    """Number of threads that pause the collector, and whether it was enabled before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.was_enabled = False

    def begin(self) -> None:
        with self.lock:
            if self.count == 0:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.count += 1

    def end(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0 and self.was_enabled:
                gc.enable()


_pauses = _Pauses()


def _after_fork() -> None:
    """End the pauses of threads that a forked process does not have."""
    global _pauses
    if _pauses.count and _pauses.was_enabled:
        gc.enable()
    _pauses = _Pauses()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Return a context in which the collector is disabled, in all threads; its end restores the state before."""
    pauses = _pauses
    pauses.begin()
    try:
        yield
    finally:
        pauses.end()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
