"""`schedule`: from a program to a list of steps over memory, which an executable runs.

A schedule is a pure function of a program and of facts about the processor and the BLAS. A step is a kernel (a fused
loop nest or a library call, see `jittape.compile.ir.kernel`) or a NumPy step. Values are stored in *storages*: inputs,
results and temporaries that share one arena by their lifetimes.

The functions import the passes, 47 modules that load in 14 ms: a process that finds its schedules on disk needs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from jittape.compile.ir.target_facts import Target
from jittape.compile.schedule.steps import Donated, Schedule
from jittape.core.program import Program

if TYPE_CHECKING:
    from jittape.compile.schedule.unplaced_steps import Draft

__all__ = ["passes_of", "schedule", "schedule_long", "schedule_recorded", "schedule_simplified"]


def schedule(
    program: Program,
    donated: Donated = (),
    tile_rows: bool = True,
    *,
    target: Target,
) -> Schedule:
    """Return the checked schedule of a program.

    Parameters
    ----------
    program : Program
        Simplified.
    donated : tuple of (int, int)
        Inputs and outputs by position: the output may be computed in the input's memory.
    tile_rows : bool
        Whether steps over the same rows may run in a tile loop.
    target : callable
        Returns the facts that matrix products are scheduled by; called if there are any.
    """
    from jittape.compile.schedule.pipeline import run_passes

    return run_passes(_draft_of(program, target, donated, tile_rows))


def schedule_recorded(program: Program, donated: Donated = (), *, target: Target) -> Schedule:
    """Return the checked schedule of a program as recorded, with the ops of all steps."""
    long = schedule_long(program, donated, with_ops=True, target=target)
    return long or schedule_simplified(program, donated, target=target)


def schedule_long(
    program: Program, donated: Donated = (), with_ops: bool = False, repetition: int = 2, *, target: Target
) -> Schedule | None:
    """Return the checked schedule of a long program as recorded, in segments; None for all other programs.

    See `schedule_in_segments`.
    """
    from jittape.compile.schedule.place_segments import schedule_in_segments

    own = partial(schedule_simplified, target=target)
    return schedule_in_segments(program, donated, own, with_ops, repetition)


def schedule_simplified(program: Program, donated: Donated = (), *, target: Target) -> Schedule:
    """Return the checked schedule of a program as recorded, which is simplified as a whole."""
    from jittape.core.simplify import simplify

    return schedule(simplify(program), donated, target=target)


def passes_of(program: Program, donated: Donated = (), *, target: Target) -> list[tuple[str, str]]:
    """Return every pass that changes something, with the program or the steps after it as text.

    `program` is a program as recorded. For a program that is scheduled in segments, only these are returned.
    """
    from jittape.compile.schedule.pipeline import stages_of
    from jittape.compile.schedule.place_segments import text_of_segments
    from jittape.compile.schedule.validate import schedule_text

    placed = schedule_long(program, donated, with_ops=True, target=target)
    if placed is not None:
        segments = ("segments", text_of_segments(program))
        return [("recorded", str(program)), segments, ("place segments", schedule_text(placed))]
    return stages_of(program, lambda simplified: _draft_of(simplified, target, donated))


def _draft_of(
    program: Program,
    target: Target,
    donated: Donated = (),
    tile_rows: bool = True,
    is_body: bool = False,
) -> Draft:
    """Return the draft that passes begin with; those of bodies of loops and branches have the same target."""
    from jittape.compile.schedule.pipeline import run_passes
    from jittape.compile.schedule.unplaced_steps import Draft

    def schedule_body(
        body: Program, donated: Donated = (), counters: Mapping[int, int] | None = None
    ) -> Schedule:
        draft = _draft_of(body, target, donated, tile_rows=False, is_body=True)
        draft.counters = counters or {}
        return run_passes(draft)

    return Draft(program, schedule_body, target, donated, tile_rows, is_body)
