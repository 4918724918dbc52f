"""`GeneralExecutable`: the executables of one program for any extents.

The passes run once with extents (`jittape.core.symbolic.extents`). For other values the guards are checked and the
numbers of the schedule computed, which takes a tenth of the time of the passes. Where a guard fails, such as below a
threshold for tiling, the passes run again and their schedule becomes another *variant*. The first schedule that a
variant gives for other values is compared with that of the passes; if they differ, the variant is not used. Variants
do not use that a length equals another number by accident, so they serve such lengths, too.

Most lengths are met once, so the first run of a length may be *provisional*: its schedule is right, but the passes
would decide otherwise about speed. They run if the length is met again, or if such runs have taken longer than they do.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any
from weakref import ref

from jittape.compile.ir.kernel import Kernel
from jittape.compile.rewrite.bind_constants import bind_constants
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.config import config
from jittape.core.program import Program
from jittape.core.symbolic.extent_functions import with_present_values
from jittape.core.symbolic.extents import Extents
from jittape.core.symbolic.plain_numbers import numbers_of
from jittape.core.tuning import tuning
from jittape.runtime.cold_code import executables_for_one_run
from jittape.runtime.derived_executable import DerivedExecutable, LoadedKernels
from jittape.runtime.executable import CompiledExecutable, executable_of
from jittape.runtime.general_schedule import comparable, program_and_schedule, running_passes, without_ops
from jittape.runtime.launch_tables import LaunchTable, kernels_of
from jittape.runtime.path_executable import count_program
from jittape.runtime.table_templates import TableTemplate
from jittape.runtime.workspace import Layout, Workspace

__all__ = ["GeneralExecutable", "Variant", "with_constants"]

_MOST_VARIANTS = 16
"""Maximum number of schedules with extents."""
_MOST_FAILURES = 4
"""Number of times that the passes run with extents in vain."""
_FIRST_RUN_SLACK = 64.0
"""Factor by which decisions about speed may be wrong in the first run of a length; then it is `tuning.length_slack`."""
_PROVISIONAL_SHARE = 4
"""Time of provisional runs after which the passes run, as a multiple of theirs. Some such runs take 30 % longer."""
_OFFSETS = (0, 1, -1, 2, 3)
"""Offsets of the values that the passes run at, if an extent equals another number by accident."""
_MOST_UNSERVED = 32
"""Number of lengths for which they run in vain because no variant of near lengths serves them."""


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
        self._variants: list[Variant] = []
        self._failures = self._unserved = 0
        self._numbers: set[Any] = set()
        self._provisional_seconds = self._passes_seconds = 0.0

    def at(
        self, values: Sequence[int], program_of: Callable[[], Program], is_met_again: bool = False
    ) -> CompiledExecutable:
        """Return the executable of ``program_of()``, the program for these values.

        If they are not `is_met_again`, it may be provisional.
        """
        made = self.derived_at(values, program_of, is_met_again)
        if made is None:
            began = time.perf_counter()
            made = executable_of(program_of(), self._scalars, self._donated)
            count_program(made, began)
        return made

    def derived_at(
        self,
        values: Sequence[int],
        program_of: Callable[[], Program],
        is_met_again: bool = False,
        for_one_run: bool = False,
    ) -> CompiledExecutable | None:
        """Return the executable from a variant, as `at` does; None if the passes must run for these values only.

        If it is `for_one_run`, another length may get the same executable after that.
        """
        began = time.perf_counter()
        made = self._known_at(values, program_of, is_met_again, for_one_run)
        if made is not None:
            count_program(made, began)
        return made

    def _known_at(
        self, values: Sequence[int], program_of: Callable[[], Program], is_met_again: bool, for_one_run: bool
    ) -> CompiledExecutable | None:
        """Return the executable from a variant; None if the passes must run for these values only."""
        for variant in self._variants:
            found = variant.at(values, program_of, for_one_run) if variant.is_good_at(values) else None
            if found is not None:
                if variant is not self._variants[0]:  # the next length most likely passes the same guards
                    self._variants = [variant, *[one for one in self._variants if one is not variant]]
                return found
        if not is_met_again and self._provisional_seconds < _PROVISIONAL_SHARE * self._passes_seconds:
            found = self._provisional_at(values, program_of, for_one_run)
            if found is not None:
                return found
        made = self._new_variant(values)
        if made is None:
            return None if is_met_again else self._provisional_at(values, program_of, for_one_run)
        self._variants.insert(0, made)
        return made.at(values, program_of, for_one_run)

    def _provisional_at(
        self, values: Sequence[int], program_of: Callable[[], Program], for_one_run: bool
    ) -> CompiledExecutable | None:
        """Return the executable from a variant that is right, though perhaps slow; None without one."""
        for variant in self._variants:
            found = variant.at(values, program_of, for_one_run)
            if found is not None:
                found.is_provisional = True
                if isinstance(found, DerivedExecutable):
                    found.note_seconds = self._note_seconds
                return found
        return None

    def _note_seconds(self, seconds: float) -> None:
        self._provisional_seconds += seconds

    def _may_run_passes(self, values: Sequence[int]) -> bool:
        """Return whether the passes may run with extents at these values."""
        most = self._failures >= _MOST_FAILURES or self._unserved >= _MOST_UNSERVED
        return not most and len(self._variants) < _MOST_VARIANTS and min(values) > tuning.unrolled_elements

    def _new_variant(self, values: Sequence[int]) -> Variant | None:
        """Return a new variant that serves these values, from the passes at the next values in general position."""
        served, have_run, began = None, False, time.perf_counter()
        for offset in _OFFSETS if self._may_run_passes(values) else ():
            near = [n + offset * number for number, n in enumerate(values, 1)]  # no two stay equal
            is_general = len({*near}) == len(near) and self._numbers.isdisjoint(near)
            if served is None and is_general and self._may_run_passes(near):
                have_run, made = True, self._variant_at(near)
                served = made if made is not None and made.is_good_at(values) else None
        if have_run:
            self._unserved += served is None
            self._provisional_seconds, self._passes_seconds = 0.0, time.perf_counter() - began
        return served

    def _variant_at(self, values: Sequence[int]) -> Variant | None:
        """Run the passes with extents that have these values, and return their schedule as a variant."""
        extents = Extents(values)
        try:
            with running_passes(extents):
                made = program_and_schedule(extents, self._program_at, self._donated)
                if made is None:
                    return None
                made = made[0], without_ops(made[1])
                self._numbers = numbers_of(made[0], products=True)
                if not extents.is_general(self._numbers):
                    self._failures += extents.pinned_at is not None
                    return None
                return Variant(extents, *made, values, self._program_at, self._scalars, self._donated)
        except TimeoutError:  # from a signal handler
            raise
        except Exception:
            self._failures += 1
            return None


class Variant:
    """A schedule with extents.

    Attributes
    ----------
    scalars, donated
        As for `CompiledExecutable`.
    workspaces : deque of Workspace
        Workspaces for the first runs of executables.
    free_executables : deque of DerivedExecutable
        Executables for one run that have run.
    """

    def __init__(
        self,
        extents: Extents,
        general: Program,
        found: Schedule,
        values: Sequence[int],
        program_at: Callable[..., Program | None],
        scalars: frozenset[int],
        donated: tuple[tuple[int, int], ...],
    ) -> None:
        self._program_at = program_at
        self._is_exact_at: Callable[..., Any] = extents.function(())
        self._is_good_at: Callable[..., Any] = extents.function((), slack=tuning.length_slack)
        self._schedule_at: Callable[..., Schedule | None] = extents.function(found, slack=_FIRST_RUN_SLACK)
        layout = Layout(general, scalars, found)
        self._parts = _parts_of(found, layout)
        varying = [part.varying if isinstance(part, TableTemplate) else part for part in self._parts]
        self._numbers_at: Callable[..., tuple[Schedule, Sequence[Any]] | None] = extents.function(
            (replace(found, steps=(), lengths=(), spare=()), tuple(varying)), slack=_FIRST_RUN_SLACK
        )
        self._layout = layout
        self._values = list(values)
        self.scalars = scalars
        self.donated = donated
        self._is_verified = False
        self._is_sound = True
        self._kernels: list[Kernel] | None = None
        self._code: Callable[[], LoadedKernels | None] = lambda: None
        self.workspaces: deque[Workspace] = deque()
        self.free_executables = executables_for_one_run()

    def is_good_at(self, values: Sequence[int]) -> bool:
        """Return whether the schedule is nearly as fast as that of the passes at these values."""
        return self._is_good_at(*values) is not None

    def at(
        self, values: Sequence[int], program_of: Callable[[], Program], for_one_run: bool
    ) -> CompiledExecutable | None:
        """Return the executable of ``program_of()``, the program for these values; None if a guard fails."""
        if config.deterministic and self._is_exact_at(*values) is None:  # results depend on no other length
            return None
        if self._kernels is not None:
            numbers = self._numbers_at(*values)
            if numbers is None:
                return None
            return self._derived(values, program_of, for_one_run, *numbers)
        found = self._schedule_at(*values) if self._is_sound else None
        if found is None:
            return None
        program = program_of()
        if not self._is_verified and self._values != list(values) and not self._verify(values):
            return None
        of_steps = replace(program, avals={**program.avals, **found.program.avals})
        made = CompiledExecutable(program, self.scalars, self.donated, replace(found, program=of_steps))
        made._remade = partial(self.explained_at, values)
        if self._is_verified:
            self._kernels = kernels_of([step for step in found.steps if isinstance(step, KernelStep)])
        return made

    def _verify(self, values: Sequence[int]) -> bool:
        """Return whether the schedule is that of the passes at these values, or next to its own values."""
        for near in (values, *[[n + step for n in self._values] for step in (1, -1)]):
            if self._is_exact_at(*near) is None:  # the passes decide otherwise about speed
                continue
            found, fresh = self._schedule_at(*near), self._fresh_schedule_at(near)
            if found is not None and fresh is not None:
                self._is_verified = True
                self._is_sound = comparable(fresh) == comparable(found)
                return self._is_sound
        return False

    def _fresh_schedule_at(self, values: Sequence[int]) -> Schedule | None:
        """Return the schedule from passes with extents that have these values; None if a guard fails.

        Passes with plain numbers decide by sizes what passes with extents leave to kernels.
        """
        extents = Extents(values)
        with running_passes(extents):
            made = program_and_schedule(extents, self._program_at, self.donated)
        return None if made is None else without_ops(with_present_values(made[1]))

    def explained_at(self, values: Sequence[int], *_: Any, **__: Any) -> Schedule:
        """Return the schedule for these values with kernels and ops, for what `CompiledExecutable` explains."""
        extents = Extents(self._values)
        with running_passes(extents):
            made = program_and_schedule(extents, self._program_at, self.donated)
            assert made is not None
            found: Schedule = extents.function(made[1], slack=_FIRST_RUN_SLACK)(*values)
        return found

    def schedule_of(self, values: Sequence[int], program: Program) -> Schedule:
        """Return the schedule for values whose guards hold."""
        found = self._schedule_at(*values)
        assert found is not None
        return replace(found, program=program)

    def _derived(
        self,
        values: Sequence[int],
        program_of: Callable[[], Program],
        for_one_run: bool,
        memory: Schedule,
        numbers: Sequence[Any],
    ) -> DerivedExecutable:
        """Return an executable with these numbers."""
        try:
            made = self.free_executables.pop() if for_one_run else None
        except IndexError:
            made = None
        if made is None:
            assert self._kernels is not None
            made = DerivedExecutable(self, self._layout, self._loaded(self._kernels), for_one_run)
        made.serve(values, program_of, memory, numbers)
        return made

    def segments(
        self, code: LoadedKernels, numbers: Sequence[Any], former: Sequence[LaunchTable | NumpyStep]
    ) -> list[LaunchTable | NumpyStep]:
        """Return the launch tables and NumPy steps with these numbers; tables of `former` numbers are written anew."""
        if not former:
            former = [
                part.table(code.addresses) if isinstance(part, TableTemplate) else own
                for part, own in zip(self._parts, numbers, strict=True)
            ]
        found: list[LaunchTable | NumpyStep] = []
        for part, one, own in zip(self._parts, former, numbers, strict=True):
            if isinstance(part, TableTemplate) and isinstance(one, LaunchTable):
                part.write(one, own)
                found.append(one)
            else:
                found.append(own)
        return found

    def _loaded(self, kernels: Sequence[Kernel]) -> LoadedKernels:
        """Return the machine code of the kernels, which stays loaded as long as an executable refers to it."""
        code = self._code()
        if code is None:
            code = LoadedKernels(kernels)
            self._code = ref(code)
        return code


def _parts_of(found: Schedule, layout: Layout) -> list[TableTemplate | NumpyStep]:
    """Return the steps of a schedule, with consecutive kernels joined to the template of a launch table."""
    parts: list[TableTemplate | NumpyStep] = []
    for _, group in groupby(found.steps, lambda step: isinstance(step, KernelStep)):
        steps = list(group)
        kernels = [step for step in steps if isinstance(step, KernelStep)]
        if kernels:
            parts.append(TableTemplate(kernels, layout.cell_of, layout.cells))
        parts += [step for step in steps if isinstance(step, NumpyStep)]
    return parts


def with_constants(program: Program, constants: Mapping[int, float]) -> Program:
    """Return `program` with the inputs that are `constants` bound; they may be extents."""
    return bind_constants(program, constants)
