"""Counters of the runtime, for `jt.stats()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Counters", "counters"]


@dataclass(slots=True)
class Counters:
    """Running totals since the process began or the last reset.

    Attributes
    ----------
    flushes : int
        Number of flushes, which run pending ops.
    compiled_runs, interpreted_runs : int
        Number of flushes that ran compiled and interpreted.
    programs_compiled : int
        Number of executables made.
    kernels_compiled, kernels_found, kernels_loaded : int
        Numbers of their kernels that were compiled, were reused, and were loaded from disk.
    compile_seconds : float
        Time for simplification, scheduling and machine code, in seconds.
    paths_found, paths_recorded : int
        Numbers of flushes with a known op list and with a new one.
    paths_derived : int
        Number of flushes with a new op list that was derived from those of other lengths.
    last : PathExecutable or None
        The executable of the last flush, which `jt.explain()` describes.
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
    paths_derived: int = 0
    last: Any = None

    def reset(self) -> None:
        """Set all counts to zero; keep `last`."""
        last = self.last
        self.__init__()  # type: ignore[misc]
        self.last = last


counters = Counters()
