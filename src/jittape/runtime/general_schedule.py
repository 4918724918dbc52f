"""Schedules with extents, as the passes make them, and their comparison with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from jittape.compile.llvm.blas import host_facts
from jittape.compile.schedule.schedule import schedule
from jittape.compile.schedule.steps import NumpyStep, RowTile, Schedule, Step
from jittape.core.program import Aval, Program, bodies_of
from jittape.core.simplify import simplify
from jittape.core.symbolic.extents import Extents
from jittape.errors import ProgramError

__all__ = ["comparable", "program_and_schedule", "running_passes", "without_ops"]


@contextmanager
def running_passes(extents: Extents) -> Iterator[None]:
    """Let passes run with extents, until the end of the block."""
    extents.ignores_coincidences = True
    try:
        with extents.hashed_by_expression():
            yield
    finally:
        extents.close()


def program_and_schedule(
    extents: Extents, program_at: Callable[..., Program | None], donated: tuple[tuple[int, int], ...]
) -> tuple[Program, Schedule] | None:
    """Return the program with extents and the schedule that the passes make of it; None if a guard fails."""
    general = program_at(*extents.variables)
    if general is None:
        return None
    return general, schedule(simplify(general), donated, target=host_facts)


def without_ops(found: Schedule) -> Schedule:
    """Return a schedule without the ops that only explain it. Its program has the avals that NumPy steps need."""
    steps: list[Step] = []
    avals: dict[int, Aval] = {}
    for step in found.steps:
        if isinstance(step, NumpyStep):
            if any([bodies_of(op) for op in step.ops]):
                raise ProgramError("NumPy runs a body as a program")
            avals.update([(op.out, found.program.avals[op.out]) for op in step.ops])
            steps.append(step)
        else:
            steps.append(replace(step, ops=(), bodies=tuple(map(without_ops, step.bodies))))
    return replace(found, steps=tuple(steps), program=Program(found.program.inputs, (), (), avals))


def comparable(found: Schedule) -> Schedule:
    """Return what a schedule has in common with one of plain numbers: not the places of values in the arena."""
    steps: list[Any] = []
    tiles: dict[RowTile | None, int] = {}
    for step in found.steps:
        if isinstance(step, NumpyStep):
            steps.append((step.storages, step.avals, step.results, [op[:4] for op in step.ops]))
            continue
        # Tile loops are compared by number. Their regions depend on the places of values.
        number = tiles.setdefault(step.tile, len(tiles))
        tile: Any = step.tile and (number, step.tile.blocks, step.tile.moved, step.tile.work)
        # The table of a loop or a branch has the places of its body's values.
        sizes: Any = len(step.sizes) if step.bodies else step.sizes
        name: Any = step.kernel.name
        steps.append(
            replace(step, kernel=name, sizes=sizes, tile=tile, bodies=tuple(map(comparable, step.bodies)))
        )
    spare: Any = sorted([kernel.name for kernel in found.spare])
    return replace(found, steps=tuple(steps), spare=tuple(spare), offsets=(), lengths=(), arena=0)
