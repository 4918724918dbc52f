"""Counts of what the runtime did, for `jt.stats()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Counters", "counters"]


@dataclass
class Counters:
    """Running totals since the process began or the last reset.

    Attributes
    ----------
    flushes : int
        Times that pending ops were run.
    compiled_runs, interpreted_runs : int
        How each of them ran.
    programs_compiled : int
        Paths for which an executable was made.
    kernels_compiled, kernels_found, kernels_loaded : int
        Kernels that were compiled for them, that were there already, and that came from disk.
    compile_seconds : float
        Time spent on that, in seconds: simplification, scheduling, machine code.
    paths_found, paths_recorded : int
        Flushes that met an op list seen before, and a new one.
    last : PathExecutable or None
        What ran at the last flush; where `jt.explain()` begins.
    """

    flushes: int = 0
    compiled_runs: int = 0
    interpreted_runs: int = 0
    programs_compiled: int = 0
    kernels_compiled: int = 0
    kernels_found: int = 0
    kernels_loaded: int = 0
    compile_seconds: float = 0.0
    paths_found: int = 0
    paths_recorded: int = 0
    last: Any = None

    def reset(self) -> None:
        """Count from zero again; what ran last stays known."""
        last = self.last
        self.__init__()  # type: ignore[misc]
        self.last = last


counters = Counters()
