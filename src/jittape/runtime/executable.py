"""`CompiledExecutable`: a program as a table of kernel calls, ready to run on buffers.

Running is: write addresses and scalars into the *slot table* with one `struct` call, and let the driver walk the table
of kernels. All that can be prepared is prepared: temporaries have their place in an arena, results are mostly buffers
handed out earlier that nobody holds any more. What belongs to one run at a time is a `Workspace`; every thread that
runs takes one of its own. Large memory belongs to no executable: results and arenas come from the pool for one run
and go back.
"""

from __future__ import annotations

from dataclasses import dataclass

from jittape.compile.cache.kernel_cache import KernelMissing, Origin, registry
from jittape.compile.cache.schedule_cache import keep, key_of, recall
from jittape.compile.ir.kernel import Kernel
from jittape.compile.llvm.target import Use
from jittape.compile.schedule.schedule import passes_of, schedule
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.buffers import Buffer
from jittape.core.config import config
from jittape.core.interpret import interpret
from jittape.core.locks import cached_property
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.runtime.launch_tables import Calls, announce, segments
from jittape.runtime.workspace import Input, Layout, PoisonedWorkspace, Workspace, array_of

__all__ = ["CompiledExecutable", "UsedKernel", "executable_of"]


@dataclass(frozen=True)
class UsedKernel:
    """A kernel of an executable, and where its machine code came from."""

    kernel: Kernel
    origin: Origin

    @property
    def found(self) -> bool:
        """Whether it had been compiled before, by this process or another."""
        return self.origin is not Origin.COMPILED

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def listing(self) -> str:
        return self.kernel.listing

    @property
    def loops(self) -> int:
        return self.kernel.loops


class CompiledExecutable:
    """A program, scheduled and compiled.

    Parameters
    ----------
    program : Program
        Simplified, without dead code.
    scalar_inputs : frozenset of int
        Input slots of shape () that `run` gets as Python scalars.
    donated : tuple of (int, int)
        Inputs and outputs by position: the output may be computed in the input's memory if nobody else refers to that.
    recalled : Schedule or None
        What `remembered` has of the program, which then is as recorded.

    Attributes
    ----------
    recorded : Program
        The program before simplification.
    schedule : Schedule
        What runs. A recalled one has names for kernels and no ops: who explains it takes `explained`.
    """

    def __init__(
        self,
        program: Program,
        scalar_inputs: frozenset[int],
        donated: tuple[tuple[int, int], ...] = (),
        recalled: Schedule | None = None,
    ) -> None:
        self.program = self.recorded = program
        self._donated = donated
        self.schedule: Schedule = schedule(program, donated) if recalled is None else recalled
        self.is_recalled = recalled is not None
        self.scalar_inputs = scalar_inputs
        schedules = _with_bodies(self.schedule)
        steps = [step for one in schedules for step in one.steps if isinstance(step, KernelStep)]
        kernels = {step.kernel.name: step.kernel for step in steps}
        spare = [kernel for one in schedules for kernel in one.spare]
        announce(schedules)
        self._uses: set[Use] = set()
        addresses, origins = registry.addresses([*kernels.values(), *spare], self._uses)
        self.origins = {name: origins[name] for name in kernels}
        self._layout = Layout(program, scalar_inputs, self.schedule)
        known = dict(zip(kernels, addresses, strict=False))
        self._segments = segments(self.schedule, self._layout, known)
        self._drive = registry.driver()
        self.free_workspaces: list[Workspace] = []

    @cached_property
    def explained(self) -> Schedule:
        """The schedule with all that explains it."""
        return schedule(simplify(self.program), self._donated) if self.is_recalled else self.schedule

    @property
    def passes(self) -> list[tuple[str, str]]:
        """The passes that changed something, each with the program or the steps after it as text."""
        return passes_of(self.recorded, self._donated)

    @property
    def steps(self) -> tuple[KernelStep | NumpyStep, ...]:
        """What runs, in order; each step knows the ops that it covers."""
        return self.explained.steps

    @property
    def kernels(self) -> tuple[UsedKernel, ...]:
        """The kernels that run."""
        steps = [step for one in _with_bodies(self.explained) for step in one.steps]
        kernels = {step.kernel.name: step.kernel for step in steps if step.kernel is not None}
        return tuple([UsedKernel(k, self.origins[k.name]) for k in kernels.values()])

    @property
    def listing(self) -> str:
        """The listings of all kernels."""
        return "\n\n".join(kernel.listing for kernel in self.kernels)

    @property
    def layout(self) -> Layout:
        """Where in a slot table things stand."""
        return self._layout

    @property
    def tables(self) -> list[int] | None:
        """The driver's tables, for who fills a slot table himself; None if a NumPy step needs the inputs."""
        tables = [segment.address for segment in self._segments if isinstance(segment, Calls)]
        return tables if len(tables) == len(self._segments) else None

    def workspace(self) -> Workspace:
        """Return a fresh one."""
        kind = PoisonedWorkspace if config.poison_memory else Workspace
        return kind(self.schedule, self._layout)

    def run(self, inputs: list[Input], held: int = 0) -> list[Buffer]:
        """Compute the outputs.

        Parameters
        ----------
        inputs : list
            One for each input of the program: a Python scalar for the slots in `scalar_inputs`, else a buffer of the
            declared shape and dtype.
        held : int
            So many references to a donated input, besides that in `inputs`, are given up after the run. With more, its
            memory stays as it is.

        Returns
        -------
        list of Buffer
            One for each output of the program.
        """
        try:
            workspace = self.free_workspaces.pop()
        except IndexError:
            workspace = self.workspace()
        try:
            results = workspace.fill(inputs, held)
            for segment in self._segments:
                if isinstance(segment, Calls):
                    try:
                        self._drive(segment.address, workspace.address, workspace.stacks_address)
                    except IndexError:
                        self.explain(inputs)
                        raise
                else:
                    workspace.evaluate(segment, inputs, results)
        finally:
            # A NumPy step may have failed, or an interrupt may have come, between two tables.
            if len(self._segments) > 1 and workspace.has_stacks():
                self._drive(0, 0, workspace.stacks_address)
            workspace.leave()
            self.free_workspaces.append(workspace)
        return results if self._layout.plain_outputs else self._outputs(inputs, results)

    def explain(self, inputs: list[Input]) -> None:
        """Raise the error for which a check has ended a run: the interpreter finds it once more, and says where.

        Inputs are what they were, as nothing is updated in place before the last check.
        """
        try:
            interpret(self.program, [x.array if isinstance(x, Buffer) else x for x in inputs])
        except IndexError as found:
            raise found from None

    def _outputs(self, inputs: list[Input], results: list[Buffer]) -> list[Buffer]:
        """The outputs where some are inputs or asked for twice."""
        count = len(inputs)
        outputs: list[Buffer] = []
        for slot, storage in zip(self.program.outputs, self.schedule.outputs, strict=True):
            value = inputs[storage] if storage < count else results[storage - count]
            if isinstance(value, Buffer):
                outputs.append(value)
            else:
                outputs.append(Buffer(array_of(value, self.program.avals[slot].dtype)))
        return outputs


def executable_of(
    program: Program, scalar_inputs: frozenset[int], donated: tuple[tuple[int, int], ...] = ()
) -> CompiledExecutable:
    """The executable of a program as recorded, with the schedule that is on disk if there is one."""
    key = key_of(program, donated)
    recalled = None if key is None else recall(key, program)
    if recalled is not None:
        try:
            return CompiledExecutable(program, scalar_inputs, donated, recalled)
        except KernelMissing:
            pass  # it has been dropped, or was damaged; what it computed says the whole schedule
    compiled = CompiledExecutable(simplify(program), scalar_inputs, donated)
    compiled.recorded = program
    if key is not None:
        keep(key, compiled.schedule)
    return compiled


def _with_bodies(schedule: Schedule) -> list[Schedule]:
    """The schedule and those of the bodies of its loops and branches."""
    found, waiting = [], [schedule]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += [body for step in one.steps if isinstance(step, KernelStep) for body in step.bodies]
    return found
