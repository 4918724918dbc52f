"""Flushes of a loop outside tapes: after whole iterations, so that the flushes repeat.

A trace outside tapes flushes when it has too many pending results, which may be in the middle of an iteration. The
results between two such flushes are a window. If the loop makes 240 results in each iteration and a window has 1,025,
then 48 different windows follow each other, and each would be compiled. Windows of 960 results are all the same path.

The period is that of the source lines, ops and avals of the results. If a period is found that is none, as for a loop
that changes, then windows differ as without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.config import config
from jittape.core.primitive import active_recorder
from jittape.recording.flushing import Flushing
from jittape.recording.trie import Node

__all__ = ["LoopWindows", "flush_over_limit"]

_WINDOWS = 8
"""Number of windows in which a period is searched."""


class LoopWindows:
    """The windows of a loop: the results of those that are new, and the sizes of those to come.

    The traces of consecutive windows share it.
    """

    def __init__(self) -> None:
        self._known: list[tuple[Any, ...]] = []
        self._sizes: tuple[int, ...] = ()

    def limit_after(self, trace: Flushing) -> int:
        """Return the limit of pending results for the trace after `trace`, which is about to be flushed."""
        node, most = trace.node, config._max_pending_ops
        if node.windows is None:
            self._known = [*self._known, *_results(trace)][-_WINDOWS * (most + 1) :]
            node.windows = _windows(_period(self._known), most)
        else:
            self._known = []
        size, *others = self._sizes or node.windows or (most + 1,)
        self._sizes = tuple(others)
        return min(size - 1, most)


def flush_over_limit(trace: Any) -> None:
    """Run what is pending in `trace` and begin a new trace, unless a tape records this one."""
    recorder: Any = active_recorder()
    if trace.intervals or trace is not recorder:
        return
    windows = trace.windows or LoopWindows()
    limit = windows.limit_after(trace) if trace.limit else config._max_pending_ops
    trace.flush()
    recorder = active_recorder()
    successor = trace.supersede() if trace is recorder else recorder
    successor.windows, successor.limit = windows, limit


def _windows(period: int, most: int) -> tuple[int, ...]:
    """Return the sizes of windows after which the loop is where it was, of at most `most` results each."""
    if period == 0:
        return ()
    if period <= most:
        return (most // period * period,)
    count = -(-period // most)
    return tuple([(period + i) // count for i in range(count)])


def _results(trace: Flushing) -> list[tuple[Any, ...]]:
    """Return the source line, the ops and the aval of each pending result."""
    made: dict[int, tuple[Any, ...]] = {}
    node: Node | None = trace.node
    while node is not None:
        ops = tuple([op.primitive.name for op in node.ops])
        for result in ((node.slot, node.aval),) if node.results is None else node.results:
            if result is not None:
                made[result[0]] = (node.source, ops, result[1])
        node = node.parent
    return [made.get(tensor._slot, ()) for tensor in trace.pending]


def _period(values: Sequence[Any]) -> int:
    """Return the smallest period of the last half of `values` and of two periods at least; 0 if there is none."""
    numbers: dict[Any, int] = {}
    backwards = [numbers.setdefault(value, len(numbers)) for value in reversed(values)]
    count = len(backwards)
    common = _common_with_start(backwards)
    return next((n for n in range(1, count // 2 + 1) if common[n] >= max(n, count // 2 - n)), 0)


def _common_with_start(values: Sequence[int]) -> list[int]:
    """Return for each position how many values from there on equal the first ones (the Z-function)."""
    count = len(values)
    common = [0] * count
    begin = end = 0
    for i in range(1, count):
        n = min(common[i - begin], end - i) if i < end else 0
        while i + n < count and values[n] == values[i + n]:
            n += 1
        common[i] = n
        if i + n > end:
            begin, end = i, i + n
    return common
