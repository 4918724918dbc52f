"""`schedule`: from a program to a list of steps over memory, which an executable runs.

A schedule is a pure function of a program and of the kernels that the BLAS has. A step is a kernel (a fused loop nest
or a library call, see `jittape.compile.ir.kernel`) or a NumPy step. Values are stored in *storages*: inputs, results
and temporaries that share one arena by their lifetimes.
"""

from __future__ import annotations

from jittape.compile.schedule.pipeline import run_passes, stages_of
from jittape.compile.schedule.steps import Schedule
from jittape.compile.schedule.unplaced_steps import Draft
from jittape.core.program import Program

__all__ = ["passes_of", "schedule"]


def schedule(program: Program, donated: tuple[tuple[int, int], ...] = (), tile_rows: bool = True) -> Schedule:
    """Return the checked schedule of a program.

    Parameters
    ----------
    program : Program
        Simplified.
    donated : tuple of (int, int)
        Inputs and outputs by position: the output may be computed in the input's memory.
    tile_rows : bool
        Whether steps over the same rows may run in a tile loop.
    """
    return run_passes(Draft(program, _schedule_of_body, donated, tile_rows))


def passes_of(program: Program, donated: tuple[tuple[int, int], ...] = ()) -> list[tuple[str, str]]:
    """Return every pass that changes something, with the program or the steps after it as text.

    `program` is a program as recorded.
    """
    return stages_of(program, lambda simplified: Draft(simplified, _schedule_of_body, donated))


def _schedule_of_body(program: Program) -> Schedule:
    """Return the schedule of a loop's or a branch's body, in which each output has a storage of its own."""
    return run_passes(Draft(program, _schedule_of_body, tile_rows=False, is_body=True))
