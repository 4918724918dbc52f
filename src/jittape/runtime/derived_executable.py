"""`DerivedExecutable`: runs the schedule of a variant at one length; a length that is met once leaves no executable."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.kernel import Kernel
from jittape.compile.llvm.loaded_code import CodeHandle
from jittape.compile.schedule.steps import Schedule
from jittape.core.buffers import Buffer
from jittape.core.config import config
from jittape.core.locks import cached_property
from jittape.core.program import Program
from jittape.runtime.executable import CompiledExecutable, counts_of_origins
from jittape.runtime.gc_tracking import untrack
from jittape.runtime.launch_tables import LaunchTable
from jittape.runtime.workspace import Input, Layout, PoisonedWorkspace, Workspace

__all__ = ["DerivedExecutable", "LoadedKernels"]


class LoadedKernels:
    """The machine code of kernels."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self._uses: set[CodeHandle] = set()
        addresses, self.origins = registry.addresses(kernels, self._uses)
        self.counts_of_origins = counts_of_origins(self.origins)
        self.addresses = dict(zip([kernel.name for kernel in kernels], addresses, strict=True))


class DerivedExecutable(CompiledExecutable):
    """An executable of a `Variant`, which computes its program and its schedule only if someone asks for them.

    If it serves one run only, it then serves another length: making one for each of 1,000 lengths takes 0.02 ms each,
    and the garbage collector visits six more objects for each.

    Attributes
    ----------
    note_seconds : callable or None
        Called with the time of the first run, in seconds.
    """

    note_seconds: Callable[[float], None] | None = None

    def __init__(self, variant: Any, layout: Layout, code: LoadedKernels, for_one_run: bool) -> None:
        self._variant = variant
        self._donated = variant.donated
        self.is_cached = self._lacks_ops = True
        self.serves_one_run = for_one_run
        self.scalar_inputs = variant.scalars
        self._code = code
        self.origins = code.origins
        self._layout = layout
        self._segments = []
        self._drive = registry.driver()
        self.free_workspaces = []

    def serve(
        self,
        values: Sequence[int],
        program_of: Callable[[], Program],
        memory: Schedule,
        numbers: Sequence[Any],
    ) -> None:
        """Let the next run be that of ``program_of()``, the program for these values."""
        self._values, self._program_of = values, program_of
        self.__dict__.pop("program", None)
        self.__dict__.pop("schedule", None)
        self.is_provisional, self.note_seconds = False, None
        self.memory = memory
        self._layout = self._layout.with_results(memory.results)
        self._segments = self._variant.segments(self._code, numbers, self._segments)
        self._has_run = False
        if not self.serves_one_run:
            for plain in (memory, *[part for part in self._segments if isinstance(part, LaunchTable)]):
                untrack(plain)

    def counts_of_origins(self) -> tuple[int, int, int]:
        """Return what the method of other executables counts, which is the same for all lengths."""
        return self._code.counts_of_origins

    @cached_property
    def program(self) -> Program:  # type: ignore[override]
        """The program."""
        return self._program_of()

    @property
    def recorded(self) -> Program:  # type: ignore[override]
        """The program before simplification, which is the program."""
        return self.program

    @cached_property
    def schedule(self) -> Schedule:  # type: ignore[override]
        """The schedule, with kernel names and no ops."""
        return self._variant.schedule_of(self._values, self.program)

    def _remade(self, *_: Any, **__: Any) -> Schedule:
        return self._variant.explained_at(self._values)

    def run(self, inputs: list[Input], held: int = 0) -> list[Buffer]:
        """Compute the outputs. The first run uses a workspace that all lengths share: most lengths are met once."""
        if self._has_run:
            return super().run(inputs, held)
        self._has_run = True
        began = time.perf_counter()
        kind = PoisonedWorkspace if config.poison_memory else Workspace
        shared = self._variant.workspaces
        workspace = shared.pop() if shared else None
        if type(workspace) is kind:
            workspace.adapt(self.memory, self._layout)
            self.free_workspaces.append(workspace)
        results = super().run(inputs, held)
        while self.free_workspaces and not shared:
            shared.append(self.free_workspaces.pop())
        if self.note_seconds is not None:
            self.note_seconds(time.perf_counter() - began)
        if self.serves_one_run:
            self._variant.free_executables.append(self)
        return results
