"""`ClockedExecutable`: an executable whose launch tables have a clock after each step, for profiles.

`ClockedRuns` has the memory that the clocks of one profile write to. `Unclocked` stands in for an executable until its
first run in a profile, which makes the clocked one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from jittape.compile.cache.emit_kernel import Definition
from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.table_layouts import CLOCK_EVENT, CLOCK_LOG, CLOCK_RECORD
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE
from jittape.compile.llvm.step_clock import define_step_clock
from jittape.compile.llvm.target import Effort
from jittape.compile.schedule.steps import KernelStep, Schedule
from jittape.core.buffers import Buffer, address_of
from jittape.core.records import WORD
from jittape.runtime.executable import CompiledExecutable, with_bodies
from jittape.runtime.launch_tables import segments
from jittape.runtime.workspace import Input, Layout

__all__ = ["ClockedExecutable", "ClockedGroup", "ClockedRuns", "Event", "Unclocked"]

_CLOCK = Definition("step_clock", KERNEL_TYPE, define_step_clock, Effort.LEAST)
_EVENTS = 200_000
"""Maximum number of events in the log of a profile, of 32 bytes each; later steps are timed and not logged."""


class Event(NamedTuple):
    """A logged run of a group of steps: times in ns, the address of the record and a number for the run's memory."""

    began: int
    ended: int
    record: int
    run: int


class ClockedRuns:
    """The log of a profile and its clocked executables."""

    def __init__(self) -> None:
        words = CLOCK_LOG.words + CLOCK_EVENT.words * _EVENTS
        self._log = np.zeros(words, np.int64)
        self._log[: CLOCK_LOG.words] = CLOCK_LOG.pack(used=0, capacity=_EVENTS)
        self.log_address = address_of(self._log)
        self.clock_address = registry.address_of(_CLOCK)
        self.executables: list[ClockedExecutable] = []

    def events(self) -> list[Event]:
        """Return the logged steps in order of their ends; clocks at the start of a table are left out."""
        used = min(int(self._log[CLOCK_LOG.word("used")]), _EVENTS)
        rows = self._log[CLOCK_LOG.words :].reshape(_EVENTS, CLOCK_EVENT.words)[:used]
        starts = {one.start_address for one in self.executables}
        return [Event(*row) for row in rows.tolist() if row[2] not in starts]

    @property
    def lost(self) -> int:
        """Number of runs of steps that the log had no memory for."""
        return max(0, int(self._log[CLOCK_LOG.word("used")]) - _EVENTS)


class ClockedGroup(NamedTuple):
    """Steps between two clocks: one step, or the steps of a tile loop.

    Attributes
    ----------
    record : int
        Address of their `CLOCK_RECORD`.
    first, n_steps : int
        Number of the first step among all steps of the schedule, and number of steps.
    """

    record: int
    first: int
    n_steps: int


class ClockedExecutable(CompiledExecutable):
    """An executable with the schedule, the kernels and the results of `plain`, which measures its steps.

    Attributes
    ----------
    plain : CompiledExecutable
    groups : list of ClockedGroup
        In the order of the steps; NumPy steps have none.
    """

    def __init__(self, plain: CompiledExecutable, runs: ClockedRuns) -> None:
        self.plain = plain
        self._donated = plain._donated
        self.memory, self.is_cached = plain.memory, plain.is_cached
        self.scalar_inputs, self.origins = plain.scalar_inputs, plain.origins
        layout = copy(plain.layout)
        self._cells = np.array([layout.cells], np.int32)
        layout.cells += 1
        self._layout: Layout = layout
        found = plain.schedule
        kernels = {
            s.kernel.name: s.kernel
            for one in with_bodies(found)
            for s in one.steps
            if isinstance(s, KernelStep)
        }
        self._uses = set()
        addresses, _ = registry.addresses(kernels.values(), self._uses)
        groups = sum(isinstance(step, KernelStep) for step in found.steps)
        self._records = np.zeros((1 + groups, CLOCK_RECORD.words), np.int64)
        self._records[:, CLOCK_RECORD.word("log")] = runs.log_address
        self.groups: list[ClockedGroup] = []
        self._numbers = {id(step): i for i, step in enumerate(found.steps)}
        self.start_address = address_of(self._records)
        self._clock_address = runs.clock_address
        self._segments = segments(found, layout, dict(zip(kernels, addresses, strict=True)), self._clock)
        self._drive = registry.driver()
        self.free_workspaces = []
        runs.executables.append(self)

    def _clock(self, steps: Sequence[KernelStep]) -> dict[str, int]:
        """Return the call of a clock; the clocks at the starts of tables share a record, which means nothing."""
        record = self.start_address
        if steps:
            record += WORD * CLOCK_RECORD.words * (1 + len(self.groups))
            self.groups.append(ClockedGroup(record, self._numbers[id(steps[0])], len(steps)))
        return {
            "kernel": self._clock_address,
            "slots": address_of(self._cells),
            "sizes": record,
            "tasks": 1,
            "threads": 1,
        }

    def times(self) -> list[tuple[int, int]]:
        """Return the total time, in ns, and the number of runs of each group."""
        total, count = CLOCK_RECORD.word("total"), CLOCK_RECORD.word("count")
        return [(int(row[total]), int(row[count])) for row in self._records[1 : 1 + len(self.groups)]]

    @property
    def program(self) -> Any:  # type: ignore[override]
        """The program."""
        return self.plain.program

    @property
    def recorded(self) -> Any:  # type: ignore[override]
        """The program before simplification."""
        return self.plain.recorded

    @property
    def schedule(self) -> Schedule:  # type: ignore[override]
        """The schedule that runs."""
        return self.plain.schedule

    @property
    def explained(self) -> Schedule:
        """The schedule with kernels and ops."""
        return self.plain.explained


class Unclocked:
    """Stands in for an executable until its first run; it then gives `clocked` to its owner and runs that.

    Parameters
    ----------
    plain : CompiledExecutable
    runs : ClockedRuns
    adopt : callable
        Called with the clocked executable.
    """

    def __init__(
        self, plain: CompiledExecutable, runs: ClockedRuns, adopt: Callable[[ClockedExecutable], None]
    ) -> None:
        self.plain = plain
        self._runs = runs
        self._adopt = adopt

    def run(self, inputs: list[Input], held: int = 0) -> list[Buffer]:
        """Make the clocked executable and run it."""
        clocked = ClockedExecutable(self.plain, self._runs)
        self._adopt(clocked)
        return clocked.run(inputs, held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)
