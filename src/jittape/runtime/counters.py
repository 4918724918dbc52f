"""Counters of the runtime, for `jt.stats()`."""

from __future__ import annotations

from typing import Any

__all__ = ["Counters", "counters"]


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

    __slots__ = (
        "compile_seconds",
        "compiled_runs",
        "flushes",
        "interpreted_runs",
        "kernels_compiled",
        "kernels_found",
        "kernels_loaded",
        "last",
        "paths_derived",
        "paths_found",
        "paths_recorded",
        "programs_compiled",
    )

    def __init__(self) -> None:
        self.last: Any = None
        self.reset()

    def reset(self) -> None:
        """Set all counts to zero; keep `last`."""
        self.flushes = self.compiled_runs = self.interpreted_runs = self.programs_compiled = 0
        self.kernels_compiled = self.kernels_found = self.kernels_loaded = 0
        self.compile_seconds = 0.0
        self.paths_found = self.paths_recorded = self.paths_derived = 0


counters = Counters()
