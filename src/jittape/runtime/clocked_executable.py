"""`ClockedExecutable`: an executable whose launch tables have a clock after each step, for profiles.

`ClockedRuns` has the memory that the clocks of one profile write to. `Unclocked` stands in for an executable until its
first run in a profile, which makes the clocked one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.records import WORD
from jittape.compile.ir.table_layouts import CLOCK_EVENT, CLOCK_LOG, CLOCK_RECORD, CLOCK_START
from jittape.compile.llvm.definition import Definition, Effort, FunctionKind
from jittape.compile.llvm.step_clock import define_start_clock, define_step_clock
from jittape.compile.schedule.steps import KernelStep, Schedule
from jittape.core.buffers import Buffer, address_of
from jittape.runtime.executable import CompiledExecutable, with_bodies
from jittape.runtime.launch_tables import Clocks, segments
from jittape.runtime.workspace import Input, Layout

__all__ = ["ClockedExecutable", "ClockedGroup", "ClockedRuns", "Event", "Unclocked"]

_START = Definition("start_clock", FunctionKind.KERNEL, define_start_clock, Effort.LEAST)
_CLOCK = Definition("step_clock", FunctionKind.KERNEL, define_step_clock, Effort.LEAST)
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
        registry.announce(_START)
        self.clock_address = registry.address_of(_CLOCK)
        self.start_address = registry.address_of(_START)
        self.executables: list[ClockedExecutable] = []

    def events(self) -> list[Event]:
        """Return the logged steps in order of their ends."""
        used = min(int(self._log[CLOCK_LOG.word("used")]), _EVENTS)
        rows = self._log[CLOCK_LOG.words :].reshape(_EVENTS, CLOCK_EVENT.words)[:used]
        return [Event(*row) for row in rows.tolist()]

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
    row, start : int
        Numbers of the records of the group and of the start of its table.
    first, n_steps : int
        Number of the first step among all steps of the schedule, and number of steps.
    """

    record: int
    row: int
    start: int
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
        self._cells = np.array([layout.cells, layout.cells + 1], np.int32)
        layout.cells += 2
        self._layout: Layout = layout
        found = plain.schedule
        schedules = with_bodies(found)
        steps = [s for one in schedules for s in one.steps if isinstance(s, KernelStep)]
        kernels = {s.kernel.name: s.kernel for s in steps}
        self._uses = set()
        addresses, _ = registry.addresses(kernels.values(), self._uses)
        kernel_steps = sum([isinstance(step, KernelStep) for step in found.steps])
        self._records = np.zeros((2 * kernel_steps, CLOCK_RECORD.words), np.int64)
        self._used = self._start = 0
        self.groups: list[ClockedGroup] = []
        self._numbers = {id(step): i for i, step in enumerate(found.steps)}
        self._runs = runs
        self._body_runs = np.zeros(len(schedules) - 1, np.int64)
        self._counters = 0
        clocks = Clocks(self._clock, self._counter)
        self._segments = segments(found, layout, dict(zip(kernels, addresses, strict=True)), clocks)
        self._drive = registry.driver()
        self.free_workspaces = []
        runs.executables.append(self)

    def _clock(self, steps: Sequence[KernelStep]) -> dict[str, int]:
        """Return the call of the clock after `steps`, or of that at the start of a table."""
        row = self._used
        self._used += 1
        record = address_of(self._records) + WORD * CLOCK_RECORD.words * row
        if steps:
            self._records[row, CLOCK_RECORD.word("log")] = self._runs.log_address
            first = self._numbers[id(steps[0])]
            self.groups.append(ClockedGroup(record, row, self._start, first, len(steps)))
        else:
            self._start = row
        return {
            "kernel": self._runs.clock_address if steps else self._runs.start_address,
            "slots": address_of(self._cells),
            "sizes": record,
            "tasks": 1,
            "threads": 1,
        }

    def _counter(self) -> int:
        """Return the address of the number of runs of the next body."""
        self._counters += 1
        return address_of(self._body_runs) + WORD * (self._counters - 1)

    def body_runs(self) -> list[int]:
        """Return the number of runs of each body, in the order of `with_bodies`."""
        return [int(runs) for runs in self._body_runs]

    def times(self) -> list[tuple[int, int]]:
        """Return the total time, in ns, and the number of runs of each group.

        If only some runs were timed, the total is estimated from the mean of those without long times, of which each
        counts once: an interruption of a short step says nothing about other runs.
        """
        total, count, long_total, long_count = map(
            CLOCK_RECORD.word, ("total", "count", "long_total", "long_count")
        )
        found: list[tuple[int, int]] = []
        for group in self.groups:
            record = [int(word) for word in self._records[group.row]]
            runs = int(self._records[group.start, CLOCK_START.word("runs")])
            timed = record[count]
            scaled = record[total] * (runs - record[long_count]) // timed if timed else 0
            found.append((scaled + record[long_total], runs if timed or record[long_count] else 0))
        return found

    def note_times(self) -> None:
        """Give the sums of all runs to `plain`."""
        times = self.times()
        runs = max([count for _, count in times], default=0)
        if runs:
            self.plain.profiled = runs, sum([total for total, _ in times]) / 1e9

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
