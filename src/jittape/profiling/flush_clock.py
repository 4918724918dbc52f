"""`FlushClock`: times of flushes by thread. While flushes are short, the clock mostly pauses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns as now
from typing import Any, NamedTuple

from jittape.core.program import SourceLine
from jittape.profiling.own_lines import own_line
from jittape.recording.flushing import Flushing
from jittape.runtime.counters import counters

__all__ = ["LONG", "FlushClock", "ThreadTimes"]

_SHORT = 200_000
"""Maximum mean time between flushes, in ns, for which the clock pauses; timing a flush takes 0.5 µs."""
_PAUSE, _LONGEST_PAUSE = 100_000_000, 400_000_000
"""Minimum length of the first pause and of the longest one, in ns: each pause is twice as long as the one before it.

Replacing a method invalidates the interpreter's caches, which takes 0.5 ms.
"""
_ALL = 64
"""Number of flushes that are timed before the clock may pause."""
_FEW = 8
"""Number of long flushes among them from which on it does not; fewer are interruptions, which the mean leaves out."""
LONG = 50_000
"""Minimum time, in ns, of flushes and NumPy steps on the timeline."""


class ThreadTimes:
    """Times of one thread, in ns; those of flushes do not include compilations and NumPy steps.

    `first` and `last` are the times of its first work and of the end of its last timed flush.
    """

    __slots__ = (
        "compile",
        "depth",
        "first",
        "flush",
        "in_gradient",
        "inner",
        "inside",
        "last",
        "numpy",
        "thread",
    )

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.first = self.last = now()
        self.flush = self.compile = self.numpy = self.inner = self.depth = 0
        self.inside = self.in_gradient = False


class _Window(NamedTuple):
    """Start of a series of timed flushes: the time, and the totals of a thread and of all flushes."""

    began: int
    flush: int
    flushes: int
    looks: int


class _Pause(NamedTuple):
    """A time in which no flush is timed: its begin, the number of flushes then, and their mean time before, in ns."""

    began: int
    mine: ThreadTimes
    flushes: int
    mean: float


class _Threads(threading.local):
    def __init__(self, known: list[ThreadTimes]) -> None:
        self.times = ThreadTimes()
        known.append(self.times)


class FlushClock:
    """Times flushes.

    Parameters
    ----------
    span : callable
        Called with the name, the begin and the end of a long flush.

    Attributes
    ----------
    threads : list of ThreadTimes
    mine : object
        Has the `ThreadTimes` of the running thread as `times`.
    looks : dict of SourceLine to int
        Number of flushes while a tape recorded, by the line that needed a value.
    pauses : bool
        Whether the clock may pause; `tick` must then be called from time to time.
    """

    def __init__(self, span: Callable[[str, int, int], None]) -> None:
        self.threads: list[ThreadTimes] = []
        self.mine = _Threads(self.threads)
        self.looks: dict[SourceLine, int] = {}
        self.pauses = False
        self._span = span
        self._flushes: tuple[Any, Any] = (None, None)
        self._until_pause = _ALL
        self._long: list[int] = []
        self._length = _PAUSE
        self._window: _Window | None = None
        self._paused: _Pause | None = None

    def timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method `Flushing.flush` with a clock."""
        threads, looks = self.mine, self.looks

        def flush(trace: Flushing, wanted: Any = None) -> None:
            mine = threads.times
            if mine.inside:
                original(trace, wanted)
                return
            mine.inside = True
            inner = mine.compile + mine.numpy
            began = now()
            try:
                original(trace, wanted)
            finally:
                mine.last = ended = now()
                mine.inside = False
                mine.flush += ended - began - (mine.compile + mine.numpy - inner)
                if ended - began > LONG:
                    self._span("flush", began, ended)
                    self._long.append(ended - began)
            if wanted is not None and trace.intervals:
                line = own_line()
                if line is not None:
                    looks[line] = looks.get(line, 0) + 1
            self._until_pause -= 1
            if not self._until_pause:
                self._pause(mine)

        self._flushes = original, flush
        return flush

    def _pause(self, mine: ThreadTimes) -> None:
        """Stop timing until `tick` if flushes are short, run in one thread, and read no values inside a tape."""
        known, at = self._window, now()
        flushes, looks = counters.flushes, sum(self.looks.values())
        long, self._long = self._long, []
        self._window, self._until_pause = _Window(at, mine.flush, flushes, looks), _ALL
        if not self.pauses or threading.active_count() > 1 or known is None or flushes <= known.flushes:
            return
        passed = at - known.began - sum(long)
        if looks == known.looks and passed < _SHORT * _ALL and len(long) < _FEW:
            mean = max(0, mine.flush - known.flush - sum(long)) / (flushes - known.flushes)
            self._paused = _Pause(at, mine, flushes, mean)
            Flushing.flush = self._flushes[0]  # type: ignore[method-assign]
        else:
            self._length = _PAUSE

    def tick(self) -> None:
        """Let a long pause end."""
        if self._paused is not None and now() - self._paused.began > self._length:
            self.resume()
            self._length = min(2 * self._length, _LONGEST_PAUSE)

    def resume(self) -> None:
        """Time flushes again; the flushes since the pause began have taken as long as those before it."""
        if self._paused is not None:
            paused, self._paused, self._window = self._paused, None, None
            paused.mine.flush += round(paused.mean * max(0, counters.flushes - paused.flushes))
            Flushing.flush = self._flushes[1]  # type: ignore[method-assign]
