"""Python's search for cyclic garbage, put off while a gradient is derived or a program compiled.

Each time so many new objects have been made Python looks through the young ones for cycles that nobody refers to, and
now and then through all there are. Either work makes many objects and next to no cycles: of the 0.33 s that the first
use of an unrolled loop of 4,600 ops took, these searches were 0.03.
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
    """How many threads want a pause, and whether the collector was on before the first of them."""

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
    """The threads that wanted a pause have not come along."""
    global _pauses
    if _pauses.count and _pauses.was_enabled:
        gc.enable()
    _pauses = _Pauses()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Look for no cyclic garbage inside, in any thread; afterwards all is as it was before."""
    pauses = _pauses
    pauses.begin()
    try:
        yield
    finally:
        pauses.end()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
