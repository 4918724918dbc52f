"""`GeneralExecutable`: the executables of one program for any extents.

The passes run once with extents (`jittape.core.symbolic.extents`). For other values the guards are checked and the
numbers of the schedule computed, which takes a tenth of the time of the passes. Where a guard fails, such as below a
threshold for tiling, the passes run again and their schedule becomes another *variant*. The first schedule that a
variant gives for other values is compared with that of the passes; if they differ, the variant is not used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jittape.compile.rewrite.bind_constants import bind_constants
from jittape.compile.schedule.schedule import schedule
from jittape.compile.schedule.steps import KernelStep, Schedule
from jittape.core.program import Op, Program
from jittape.core.simplify import simplify
from jittape.core.symbolic.extents import Extents
from jittape.errors import ProgramError
from jittape.runtime.executable import CompiledExecutable, executable_of
from jittape.runtime.path_executable import count_program

__all__ = ["GeneralExecutable", "numbers_of", "with_constants"]

_MOST_VARIANTS = 16
"""Maximum number of schedules with extents."""
_MOST_FAILURES = 4
"""Number of times that the passes run with extents in vain."""


class GeneralExecutable:
    """The executables of one program for any extents.

    Parameters
    ----------
    program_at : callable
        Returns the program for values of the variables, which may be extents; None if a guard fails.
    scalars, donated
        As for `CompiledExecutable`.
    """

    def __init__(
        self,
        program_at: Callable[..., Program | None],
        scalars: frozenset[int],
        donated: tuple[tuple[int, int], ...],
    ) -> None:
        self._program_at = program_at
        self._scalars = scalars
        self._donated = donated
        self._variants: list[_Variant] = []
        self._failures = 0

    def at(self, values: Sequence[int], program: Program) -> CompiledExecutable:
        """Return the executable of `program`, the program for these values."""
        began = time.perf_counter()
        found = self._schedule_at(values, program)
        if found is None:
            made = executable_of(program, self._scalars, self._donated)
        else:
            made = CompiledExecutable(program, self._scalars, self._donated, found)
        count_program(made, began)
        return made

    def _schedule_at(self, values: Sequence[int], program: Program) -> Schedule | None:
        """Return the schedule of `program` from a variant; None if the passes must run for its numbers."""
        for variant in self._variants:
            found = variant.at(values, program)
            if found is not None:
                if variant is not self._variants[0]:  # the next length most likely passes the same guards
                    self._variants = [variant, *[one for one in self._variants if one is not variant]]
                return found
        if self._failures >= _MOST_FAILURES or len(self._variants) >= _MOST_VARIANTS or min(values) <= 1:
            return None
        return self._generalized(values, program)

    def _generalized(self, values: Sequence[int], program: Program) -> Schedule | None:
        """Run the passes with extents, keep their schedule as a variant and return it for these values."""
        extents = Extents(values)
        try:
            with extents.hashed_by_expression():
                general = self._program_at(*extents.variables)
                if general is None:
                    return None
                found = _without_ops(schedule(simplify(general), self._donated))
                if not extents.is_general(numbers_of(general)):
                    raise ProgramError("the extents are in no general position")
                variant = _Variant(extents.function(found), values, self._donated)
        except Exception:
            self._failures += 1
            return None
        finally:
            extents.close()
        self._variants.insert(0, variant)
        return variant.at(values, program)


class _Variant:
    """A schedule with extents."""

    def __init__(
        self,
        schedule_at: Callable[..., Schedule | None],
        values: Sequence[int],
        donated: tuple[tuple[int, int], ...],
    ) -> None:
        self._schedule_at = schedule_at
        self._values = list(values)
        self._donated = donated
        self._is_verified = False
        self._is_sound = True

    def at(self, values: Sequence[int], program: Program) -> Schedule | None:
        """Return the schedule of `program`, the program for these values; None if a guard fails."""
        found = self._schedule_at(*values) if self._is_sound else None
        if found is None:
            return None
        if not self._is_verified and self._values != list(values):
            self._is_verified = True
            fresh = _without_ops(schedule(simplify(program), self._donated))
            self._is_sound = _comparable(fresh) == _comparable(found)
        return replace(found, program=program) if self._is_sound else None


def _without_ops(found: Schedule) -> Schedule:
    """Return a schedule of kernels without its program and the ops that explain it."""
    steps = []
    for step in found.steps:
        if not isinstance(step, KernelStep) or step.bodies:
            raise ProgramError("a general schedule has kernels without bodies only")
        steps.append(replace(step, ops=()))
    return replace(found, steps=tuple(steps), program=_NOTHING)


_NOTHING = Program((), (), (), {})


def _comparable(found: Schedule) -> Schedule:
    """Return a schedule with the names of its kernels in place of them."""
    steps: Any = found.steps
    kernels: Any = [replace(step, kernel=step.kernel.name) for step in steps]
    spare: Any = sorted([kernel.name for kernel in found.spare])
    return replace(found, steps=tuple(kernels), spare=tuple(spare))


def with_constants(program: Program, constants: Mapping[int, float]) -> Program:
    """Return `program` with the inputs that are `constants` bound; they may be extents."""
    return bind_constants(program, constants)


def numbers_of(program: Program) -> set[Any]:
    """Return the plain numbers of a program, from which extents must differ to be in general position."""
    found: set[Any] = {0, 1, 2}
    for aval in program.avals.values():
        product = 1
        for n in aval.shape:
            if type(n) is int:
                product *= n
                found.update((n, product))
    for op in program.ops:
        found.update(_numbers_in(op))
    return found


def _numbers_in(op: Op) -> list[Any]:
    """Return the plain numbers among the parameters of an op."""
    found: list[Any] = []
    waiting: list[Any] = [value for _, value in op.params]
    while waiting:
        value = waiting.pop()
        if type(value) in (int, float):
            found.append(value)
        elif isinstance(value, tuple):
            waiting += value
    return found
