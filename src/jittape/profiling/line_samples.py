"""Samples of the running lines: the time that Python and recording take, by line.

A timer signal interrupts the main thread, every 4 ms at first and every 10 ms later. Its handler notes the user's
running line in each thread, and whether jittape runs below it. Runs of kernels are measured exactly elsewhere, so
samples in them are only counted. The time of all other samples is scaled to the time that no other measurement
explains.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns as now
from types import CodeType, FrameType
from typing import Any

from jittape.core.program import SourceLine
from jittape.core.user_calls import is_of_user
from jittape.functions.concrete_function import Concrete
from jittape.functions.function import Function
from jittape.profiling.own_lines import is_own
from jittape.recording.flushing import Flushing
from jittape.runtime.path_executable import compiled_from

__all__ = ["LineSamples", "Sampled"]

_INTERVAL, _LATER = 0.004, 0.01
"""Time between samples, in seconds: at first, and after `_MANY` samples.

A sample takes 10 µs, and the signal 20 µs more on a virtual machine.
"""
_OTHERS = tuple([f"{Path(__file__).parents[1] / name}{os.sep}" for name in ("profiling", "numba_ad")])
"""Folders whose code is not recording: the profile's own, and calls of the user's functions in Numba's code."""
_MANY = 50
"""Number of samples at the shorter interval."""


@dataclass
class Sampled:
    """Time of a line outside kernels, in ns.

    Attributes
    ----------
    python : int
        The user's own code, and other packages that it calls.
    recording : int
        jittape: recording, gradients of new paths, tracing of functions and conversions.
    calls : int
        Calls of compiled functions, with the kernels that they run.
    """

    python: int = 0
    recording: int = 0
    calls: int = 0


class LineSamples:
    """Samples the running lines if the main thread starts it and no other timer runs.

    Parameters
    ----------
    tick : callable
        Called at each sample.

    Attributes
    ----------
    works : bool
        Whether samples are taken.
    seen : dict of int to (int, int)
        The threads that ran code of jittape at a sample, with the times of the first and the last such sample.
    """

    def __init__(self, tick: Callable[[], None]) -> None:
        self._tick = tick
        self.seen: dict[int, tuple[int, int]] = {}
        self._by_thread: dict[int, dict[SourceLine, Sampled]] = {}
        self.works = False
        self._before: Any = None
        self._last = self._count = 0

    def start(self) -> None:
        """Begin to sample."""
        if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL or any(
            signal.getitimer(signal.ITIMER_REAL)
        ):
            return
        self._before = signal.signal(signal.SIGALRM, self._sample)
        self._last = now()
        signal.setitimer(signal.ITIMER_REAL, _INTERVAL, _INTERVAL)
        self.works = True

    def stop(self) -> None:
        """End sampling and restore the handler."""
        self._count = _MANY  # a sample that runs meanwhile starts no timer again
        if self.works and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)
            # The kernel may have chosen another thread for the last signal, which has not run since. To ignore a signal
            # discards it; the default handler would end the process.
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            signal.signal(signal.SIGALRM, self._before)

    def _sample(self, number: int, frame: FrameType | None) -> None:
        at = now()
        passed, self._last = at - self._last, at
        self._count += 1
        if self._count == _MANY and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, _LATER, _LATER)
        self._tick()
        main = threading.get_ident()
        self._add(main, frame, passed)
        if threading.active_count() > 1:
            for thread, running in sys._current_frames().items():
                if thread != main:
                    self._add(thread, running, passed)

    def lines_of(self, threads: Iterable[int]) -> dict[SourceLine, Sampled]:
        """Return the sampled lines of some threads."""
        found: dict[SourceLine, Sampled] = {}
        for thread in threads:
            for line, one in self._by_thread.get(thread, {}).items():
                known = found.setdefault(line, Sampled())
                known.python += one.python
                known.recording += one.recording
                known.calls += one.calls
        return found

    def _add(self, thread: int, frame: FrameType | None, passed: int) -> None:
        """Add the time since the last sample to the user's line that a thread runs."""
        kind = "python"
        while frame is not None and not is_own(frame):
            if not is_of_user(frame) and kind in _INNER and not frame.f_code.co_filename.startswith(_OTHERS):
                kind = _KINDS.get(frame.f_code, "recording")
            frame = frame.f_back
        if kind != "python" and (frame is not None or kind == "calls"):  # else a thread of jittape's own
            self.seen[thread] = self.seen.get(thread, (self._last, 0))[0], self._last
        if frame is None or kind == "elsewhere":
            return
        line = SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        found = self._by_thread.setdefault(thread, {}).setdefault(line, Sampled())
        setattr(found, kind, getattr(found, kind) + passed)


_KINDS: dict[CodeType, str] = {
    Flushing.flush.__code__: "elsewhere",
    compiled_from.__code__: "elsewhere",
    Concrete.__call__.__code__: "calls",
    Function._call_in_python.__code__: "calls",
    Function._call.__code__: "calls",
}
"""Kinds of samples below functions of jittape. Flushes and compilations are measured exactly."""
_INNER = ("python", "recording")
"""Kinds that a function further out may change."""
