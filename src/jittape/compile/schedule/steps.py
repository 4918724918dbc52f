"""What a schedule consists of: steps over memory."""

from __future__ import annotations

from dataclasses import dataclass

from jittape.compile.ir.kernel import Kernel
from jittape.compile.schedule.row_tiling import RowTile
from jittape.core.program import Aval, Op, Program

__all__ = ["KernelStep", "NumpyStep", "Schedule", "Step"]


@dataclass(frozen=True)
class KernelStep:
    """A kernel on storages.

    Attributes
    ----------
    kernel : Kernel
        What runs.
    storages : tuple of int
        One for every operand of the kernel.
    sizes : tuple of int
        The kernel's symbols for these shapes.
    ops : tuple of Op
        What of the program it computes, in part or whole.
    tasks : int
        Into so many calls the step is divided, which may run at the same time; `tasks.ON_DEMAND` for products that are
        divided by the number of threads.
    work : int
        About how long it takes on one thread, in ns; 0 for what is never divided.
    strip : Strip or None
        Neighbors with the same strip are done block by block; the tasks are the blocks then.
    bodies : tuple of Schedule
        Of a loop or a branch: what it runs. The addresses of their tables come before the sizes.
    """

    kernel: Kernel
    storages: tuple[int, ...]
    sizes: tuple[int, ...]
    ops: tuple[Op, ...]
    tasks: int
    work: int
    strip: RowTile | None = None
    bodies: tuple[Schedule, ...] = ()


@dataclass(frozen=True)
class NumpyStep:
    """An op, or a run of `Control` ops, evaluated by NumPy, on views of its operands' storages."""

    ops: tuple[Op, ...]
    storages: tuple[int, ...]
    avals: tuple[Aval, ...]
    results: tuple[int, ...]
    result_avals: tuple[Aval, ...]

    @property
    def tasks(self) -> int:
        """It is not divided."""
        return 1

    @property
    def op(self) -> Op:
        """The op, or one of the run."""
        return self.ops[0]

    @property
    def result(self) -> int:
        """The storage of the op's result."""
        return self.results[0]

    @property
    def result_aval(self) -> Aval:
        """Its shape and dtype."""
        return self.result_avals[0]

    @property
    def bodies(self) -> tuple[Schedule, ...]:
        """Those of a loop that NumPy runs are no schedules."""
        return ()

    @property
    def kernel(self) -> None:
        """There is none."""
        return None

    @property
    def strip(self) -> None:
        """It is in none."""
        return None


Step = KernelStep | NumpyStep


@dataclass(frozen=True)
class Schedule:
    """Steps in order, and where values stand.

    Storages are numbered: first the inputs, then one for each distinct computed result, then temporaries.

    Attributes
    ----------
    outputs : tuple of int
        The storage of each output of the program.
    results : tuple of Aval
        Shape and dtype of the storages after the inputs that are handed to the caller.
    offsets : tuple of int
        Where in the arena each temporary begins.
    lengths : tuple of int
        The size of each temporary in bytes; within a strip, that of a block.
    arena : int
        The size of the arena in bytes.
    in_place : tuple of (int, int, bool)
        Inputs (by position) whose memory a result may have, the result (by position among `results`), and whether a
        kernel reads the input in the result's memory.
    spare : tuple of Kernel
        What the same program needs besides at sizes where its loops are divided; compiled at once, so that another
        size compiles nothing.
    """

    program: Program
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    results: tuple[Aval, ...]
    offsets: tuple[int, ...]
    lengths: tuple[int, ...]
    arena: int
    in_place: tuple[tuple[int, int, bool], ...]
    spare: tuple[Kernel, ...]
