"""Counters of the runtime: `jt.stats()`."""

from __future__ import annotations

from typing import NamedTuple

from jittape.recording.trie import trie
from jittape.runtime.counters import counters

__all__ = ["Stats", "reset_stats", "stats"]


class Stats(NamedTuple):
    """Totals since the start of the process or the last call of `reset_stats`.

    Attributes
    ----------
    flushes : int
        Number of runs of pending operations; each runs one executable.
    compiled_runs, interpreted_runs : int
        Number of compiled and interpreted runs.
    paths_found, paths_recorded : int
        Flushes of known and of new sequences of operations.
    programs : int
        Programs compiled.
    kernels, kernels_found, kernels_loaded : int
        Kernels compiled, found in memory, and loaded from disk.
    compile_seconds : float
        Time spent on compiling, in seconds.
    trie_nodes : int
        Current number of nodes of the trie, that is, of recorded calls.
    """

    flushes: int
    compiled_runs: int
    interpreted_runs: int
    paths_found: int
    paths_recorded: int
    programs: int
    kernels: int
    kernels_found: int
    kernels_loaded: int
    compile_seconds: float
    trie_nodes: int


def stats() -> Stats:
    """Return the counters.

    Examples
    --------
    >>> import jittape as jt
    >>> before = jt.stats().flushes
    >>> float(jt.constant(2.0) * 3.0)
    6.0
    >>> jt.stats().flushes - before
    1
    """
    c = counters
    return Stats(
        c.flushes,
        c.compiled_runs,
        c.interpreted_runs,
        c.paths_found,
        c.paths_recorded,
        c.programs_compiled,
        c.kernels_compiled,
        c.kernels_found,
        c.kernels_loaded,
        c.compile_seconds,
        trie.n_nodes,
    )


def reset_stats() -> None:
    """Reset the counters to zero. Compiled code stays compiled.

    Examples
    --------
    >>> jt.reset_stats()
    >>> jt.stats().flushes
    0
    """
    counters.reset()
