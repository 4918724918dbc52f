"""Counts of what the runtime did: `jt.stats()`."""

from __future__ import annotations

from typing import NamedTuple

from jittape.recording.trie import trie
from jittape.runtime.counters import counters

__all__ = ["Stats", "reset_stats", "stats"]


class Stats(NamedTuple):
    """Totals since the process began or `reset_stats` was called.

    Attributes
    ----------
    flushes : int
        Times that pending operations were run; each runs one executable.
    compiled_runs, interpreted_runs : int
        How they ran.
    paths_found, paths_recorded : int
        Flushes that met a sequence of operations seen before, and a new one.
    programs : int
        Programs compiled.
    kernels, kernels_found, kernels_loaded : int
        Kernels compiled for them, kernels that were there already, and kernels that another process had left on disk.
    compile_seconds : float
        Time spent on compiling, in seconds.
    trie_nodes : int
        Nodes of the trie now: recorded calls that are remembered.
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
    """What jittape has done so far.

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
    """Count from zero again. What is compiled stays compiled."""
    counters.reset()
