"""`schedule`: from a program to a list of steps over memory, which an executable runs.

A schedule is a pure function of a program and of facts about the processor and the BLAS. A step is a kernel (a fused
loop nest or a library call, see `jittape.compile.ir.kernel`) or a NumPy step. Values are stored in *storages*: inputs,
results and temporaries that share one arena by their lifetimes.
"""

from __future__ import annotations

from collections.abc import Callable

from jittape.compile.ir.target_facts import TargetFacts
from jittape.compile.llvm.host_facts import host_facts
from jittape.compile.schedule.pipeline import run_passes, stages_of
from jittape.compile.schedule.place_segments import schedule_in_segments, text_of_segments
from jittape.compile.schedule.steps import Schedule
from jittape.compile.schedule.unplaced_steps import Draft
from jittape.compile.schedule.validate import schedule_text
from jittape.core.program import Program
from jittape.core.simplify import simplify

__all__ = ["passes_of", "schedule", "schedule_long", "schedule_recorded", "schedule_simplified"]


def schedule(
    program: Program,
    donated: tuple[tuple[int, int], ...] = (),
    tile_rows: bool = True,
    target: Callable[[], TargetFacts] | None = None,
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
    target : callable or None
        Returns the facts that matrix products are scheduled by; called if there are any. None means `host_facts`.
    """
    return run_passes(_draft_of(program, target or host_facts, donated, tile_rows))


def schedule_recorded(program: Program, donated: tuple[tuple[int, int], ...] = ()) -> Schedule:
    """Return the checked schedule of a program as recorded, with the ops of all steps."""
    return schedule_long(program, donated, with_ops=True) or schedule_simplified(program, donated)


def schedule_long(
    program: Program, donated: tuple[tuple[int, int], ...] = (), with_ops: bool = False
) -> Schedule | None:
    """Return the checked schedule of a long program as recorded, in segments; None for all other programs.

    See `schedule_in_segments`.
    """
    return schedule_in_segments(program, donated, schedule_simplified, with_ops)


def schedule_simplified(program: Program, donated: tuple[tuple[int, int], ...] = ()) -> Schedule:
    """Return the checked schedule of a program as recorded, which is simplified as a whole."""
    return schedule(simplify(program), donated)


def passes_of(program: Program, donated: tuple[tuple[int, int], ...] = ()) -> list[tuple[str, str]]:
    """Return every pass that changes something, with the program or the steps after it as text.

    `program` is a program as recorded. For a program that is scheduled in segments, only these are returned.
    """
    placed = schedule_long(program, donated, with_ops=True)
    if placed is not None:
        segments = ("segments", text_of_segments(program))
        return [("recorded", str(program)), segments, ("place segments", schedule_text(placed))]
    return stages_of(program, lambda simplified: _draft_of(simplified, host_facts, donated))


def _draft_of(
    program: Program,
    target: Callable[[], TargetFacts],
    donated: tuple[tuple[int, int], ...] = (),
    tile_rows: bool = True,
    is_body: bool = False,
) -> Draft:
    """Return the draft that passes begin with; those of bodies of loops and branches have the same target."""

    def schedule_body(body: Program, donated: tuple[tuple[int, int], ...] = ()) -> Schedule:
        return run_passes(_draft_of(body, target, donated, tile_rows=False, is_body=True))

    return Draft(program, schedule_body, target, donated, tile_rows, is_body)
