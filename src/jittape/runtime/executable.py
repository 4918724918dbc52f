"""`CompiledExecutable`: a program as a launch table of kernel calls, ready to run on buffers.

A run writes addresses and scalars into the *slot table* with one `struct` call, and the driver walks the launch table.
Everything else is prepared: temporaries have a place in an arena, and results are mostly unreferenced buffers of
earlier runs. A `Workspace` holds the memory of one run at a time; every thread takes one of its own. Large memory
belongs to no executable: results and arenas come from the pool for one run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jittape.compile.cache.kernel_cache import KernelMissing, Origin, registry
from jittape.compile.cache.schedule_cache import load_schedule, schedule_key, store_schedule
from jittape.compile.ir.kernel import Kernel
from jittape.compile.llvm.blas import host_facts
from jittape.compile.llvm.loaded_code import CodeHandle
from jittape.compile.schedule.schedule import (
    passes_of,
    schedule,
    schedule_long,
    schedule_recorded,
    schedule_simplified,
)
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.buffers import Buffer
from jittape.core.config import config
from jittape.core.forms import Call
from jittape.core.interpret import interpret, memory_error
from jittape.core.locks import cached_property
from jittape.core.program import Program, bodies_of
from jittape.core.tuning import tuning
from jittape.errors import LinAlgError
from jittape.runtime.heap_trimming import trim_heap
from jittape.runtime.launch_tables import LaunchTable, announce, segments
from jittape.runtime.workspace import Input, Layout, PoisonedWorkspace, Workspace, array_of
from jittape.value_classes import value_class

__all__ = [
    "CompiledExecutable",
    "UsedKernel",
    "counts_of_origins",
    "executable_at_once",
    "executable_of",
    "with_bodies",
]


@value_class
class UsedKernel:
    """A kernel of an executable, and the origin of its machine code."""

    kernel: Kernel
    origin: Origin

    @property
    def found(self) -> bool:
        """Whether it was compiled earlier, by this process or another."""
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
        Inputs and outputs by position: the output may be computed in the input's memory if that is unreferenced.
    made : Schedule or None
        The schedule of the program, which then is as recorded, if it is cached or made in segments.

    Attributes
    ----------
    recorded : Program
        The program before simplification.
    schedule : Schedule
        The schedule that runs. A cached one has kernel names and no ops, one in segments has the ops of equal
        segments; `explained` has kernels and ops.
    memory : Schedule
        A schedule with the same memory, which may have no steps and no program.
    compile_seconds : float
        Time that making the executable took, in seconds.
    is_provisional : bool
        Whether another executable should replace this one after its first run, see `GeneralExecutable`.
    serves_one_run : bool
        Whether the executable serves another length after its first run, see `DerivedExecutable`.
    profiled : (int, float)
        Number of runs in the last profile that had any, and the time of their kernels in seconds.
    """

    compile_seconds: float = 0.0
    is_provisional = serves_one_run = False
    profiled: tuple[int, float] = (0, 0.0)
    _remade: Callable[..., Schedule] = staticmethod(schedule_simplified)

    def __init__(
        self,
        program: Program,
        scalar_inputs: frozenset[int],
        donated: tuple[tuple[int, int], ...] = (),
        made: Schedule | None = None,
    ) -> None:
        self.program = self.recorded = program
        self._donated = donated
        self.schedule: Schedule = schedule(program, donated, target=host_facts) if made is None else made
        self.memory = self.schedule
        self.is_cached = self._lacks_ops = made is not None
        self.scalar_inputs = scalar_inputs
        schedules = with_bodies(self.schedule)
        kernels = {kernel.name: kernel for one in schedules for kernel in one.kernels}
        spare = [kernel for one in schedules for kernel in one.spare]
        announce(schedules)
        self._uses: set[CodeHandle] = set()
        addresses, origins = registry.addresses([*kernels.values(), *spare], self._uses)
        self.origins = {name: origins[name] for name in kernels}
        self._layout = Layout(program, scalar_inputs, self.schedule)
        known = dict(zip(kernels, addresses, strict=False))
        self._segments = segments(self.schedule, self._layout, known)
        self._drive = registry.driver()
        self.free_workspaces: list[Workspace] = []

    @cached_property
    def explained(self) -> Schedule:
        """The schedule with kernels and ops."""
        if not self._lacks_ops:
            return self.schedule
        return self._remade(self.program, self._donated, target=host_facts)

    @property
    def passes(self) -> list[tuple[str, str]]:
        """The passes that changed something, each with the program or the steps after it as text."""
        return passes_of(self.recorded, self._donated, target=host_facts)

    @property
    def steps(self) -> tuple[KernelStep | NumpyStep, ...]:
        """The steps in order, with the ops that each of them computes."""
        return self.explained.steps

    @property
    def kernels(self) -> tuple[UsedKernel, ...]:
        """The kernels of the steps."""
        kernels = {kernel.name: kernel for one in with_bodies(self.explained) for kernel in one.kernels}
        return tuple([UsedKernel(k, self.origins[k.name]) for k in kernels.values()])

    def counts_of_origins(self) -> tuple[int, int, int]:
        """Return the numbers of kernels that were found in memory, loaded from disk and compiled."""
        return counts_of_origins(self.origins)

    @property
    def listing(self) -> str:
        """The listings of all kernels."""
        return "\n\n".join(kernel.listing for kernel in self.kernels)

    @property
    def layout(self) -> Layout:
        """The layout of a slot table."""
        return self._layout

    @property
    def tables(self) -> list[int] | None:
        """Addresses of the launch tables, for callers that fill a slot table; None if there is a NumPy step."""
        tables = [segment.address for segment in self._segments if isinstance(segment, LaunchTable)]
        return tables if len(tables) == len(self._segments) else None

    @property
    def may_fail(self) -> bool:
        """Whether a run can fail, though there is memory for the results."""
        return any(not isinstance(segment, LaunchTable) or segment.may_abort for segment in self._segments)

    def workspace(self) -> Workspace:
        """Return a new workspace."""
        kind = PoisonedWorkspace if config.poison_memory else Workspace
        return kind(self.memory, self._layout)

    def run(self, inputs: list[Input], held: int = 0) -> list[Buffer]:
        """Compute the outputs.

        Parameters
        ----------
        inputs : list
            One for each input of the program: a Python scalar for the slots in `scalar_inputs`, else a buffer of the
            declared shape and dtype.
        held : int
            Number of references to a donated input, besides that in `inputs`, that end with the run. With more
            references its memory is not reused.

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
                if isinstance(segment, LaunchTable):
                    try:
                        self._drive(segment.address, workspace.address, workspace.stacks_address)
                    except IndexError:
                        self.explain(inputs)
                        raise
                else:
                    workspace.evaluate(segment, inputs, results)
        except MemoryError as error:
            raise self._memory_error(error) from None
        finally:
            # A NumPy step may have failed, or an interrupt may have occurred, between two tables.
            if len(self._segments) > 1 and workspace.has_stacks():
                self._drive(0, 0, workspace.stacks_address)
            workspace.leave()
            self.free_workspaces.append(workspace)
        return results if self._layout.plain_outputs else self._outputs(inputs, results)

    def explain(self, inputs: list[Input]) -> None:
        """Raise the error of a check that aborted a run: the interpreter reproduces it with its source line.

        The inputs are unchanged, since no input is updated in place before the last check. A matrix that is positive
        definite only up to rounding may fail in LAPACK and not in the interpreter.
        """
        try:
            interpret(self.program, [x.array if isinstance(x, Buffer) else x for x in inputs])
        except Exception as found:
            raise found from None
        messages = dict.fromkeys(_failures(self.program))
        if messages:
            raise LinAlgError(" or ".join(messages)) from None

    def _memory_error(self, error: MemoryError) -> MemoryError:
        """Return the error with the op of the largest value, if all extents are known."""
        avals = self.program.avals
        ops = [op for op in self.program.ops if all(type(n) is int for n in avals[op.out].shape)]
        if str(error).startswith("[") or not ops:
            return error
        op = max(ops, key=lambda op: avals[op.out].nbytes)
        found = memory_error(error, op)
        where = (
            f"{avals[op.out]}, the result of {op.primitive.name} recorded at {op.source or 'an unknown line'}"
        )
        found.args = (f"{found}; the largest value is {where}",)
        return found

    def _outputs(self, inputs: list[Input], results: list[Buffer]) -> list[Buffer]:
        """Return the outputs if some are inputs or occur twice."""
        count = len(inputs)
        outputs: list[Buffer] = []
        for slot, storage in zip(self.program.outputs, self.memory.outputs, strict=True):
            value = inputs[storage] if storage < count else results[storage - count]
            if isinstance(value, Buffer):
                outputs.append(value)
            else:
                outputs.append(Buffer(array_of(value, self.program.avals[slot].dtype)))
        return outputs


def executable_of(
    program: Program, scalar_inputs: frozenset[int], donated: tuple[tuple[int, int], ...] = ()
) -> CompiledExecutable:
    """Return the executable of a program as recorded, with its cached schedule if there is one."""
    key = schedule_key(program, donated)
    compiled = _with_cached_schedule(program, scalar_inputs, donated, key)
    if compiled is None:
        made = schedule_long(program, donated, target=host_facts)
        compiled = _with_schedule(program, scalar_inputs, donated, key, made)
    return compiled


def executable_at_once(
    program: Program, scalar_inputs: frozenset[int], donated: tuple[tuple[int, int], ...]
) -> CompiledExecutable | None:
    """Return the executable of a long program if its schedule is in the cache or it repeats a few segments often.

    To make it takes about as long as to interpret the program once. Otherwise return None.
    """
    key = schedule_key(program, donated)
    compiled = _with_cached_schedule(program, scalar_inputs, donated, key)
    if compiled is None:
        least = tuning.compiled_at_once_repetition
        made = schedule_long(program, donated, repetition=least, target=host_facts)
        if made is not None:
            compiled = _with_schedule(program, scalar_inputs, donated, key, made)
    return compiled


def _with_cached_schedule(
    program: Program,
    scalar_inputs: frozenset[int],
    donated: tuple[tuple[int, int], ...],
    key: str | None,
) -> CompiledExecutable | None:
    """Return the executable with the schedule that the cache has for `key`; None if that or a kernel is missing."""
    cached = None if key is None else load_schedule(key, program)
    if cached is None:
        return None
    try:
        compiled = CompiledExecutable(program, scalar_inputs, donated, cached)
    except KernelMissing:
        return None  # evicted or damaged: schedule the program to get its text
    compiled._remade = schedule_recorded
    trim_heap(program)
    return compiled


def _with_schedule(
    program: Program,
    scalar_inputs: frozenset[int],
    donated: tuple[tuple[int, int], ...],
    key: str | None,
    made: Schedule | None,
) -> CompiledExecutable:
    """Return the executable with the schedule `made` in segments, or that of the whole; store the schedule."""
    from jittape.core.simplify import simplify

    trim_heap(program)
    simplified = program if made is not None else simplify(program)
    compiled = CompiledExecutable(simplified, scalar_inputs, donated, made)
    compiled.recorded, compiled.is_cached, compiled._remade = program, False, schedule_recorded
    if key is not None:
        store_schedule(key, compiled.schedule)
    trim_heap(program)
    return compiled


def _failures(program: Program) -> list[str]:
    """Return the messages of the library routines that may fail in a program and in the bodies of its loops."""
    found, waiting = [], [program]
    while waiting:
        for op in waiting.pop().ops:
            if isinstance(op.primitive.lowering, Call) and op.primitive.lowering.failure:
                found.append(f"{op.primitive.lowering.failure}, in {op.source or 'an unknown line'}")
            waiting += [body.program for body in bodies_of(op)]
    return found


def counts_of_origins(origins: Mapping[str, Origin]) -> tuple[int, int, int]:
    """Return the numbers of kernels that were found in memory, loaded from disk and compiled."""
    found = list(origins.values())
    return found.count(Origin.MEMORY), found.count(Origin.DISK), found.count(Origin.COMPILED)


def with_bodies(schedule: Schedule) -> list[Schedule]:
    """Return the schedule, followed by those of the bodies of its loops and branches, each before its own bodies."""
    found, waiting = [], [schedule]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += reversed(one.bodies)
    return found
