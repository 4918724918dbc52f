"""`Schedule`: steps over memory."""

from __future__ import annotations

from collections.abc import Sequence

from jittape.compile.ir.kernel import Kernel
from jittape.core.program import Aval, Op, Program
from jittape.value_classes import value_class

__all__ = ["Donated", "KernelStep", "NumpyStep", "RowTile", "Schedule", "Step", "pairs_of"]

Donated = tuple[tuple[int, int], ...]
"""Inputs and outputs by position: the output may be computed in the input's memory."""


@value_class
class RowTile:
    """A tile loop: the blocks of rows that consecutive steps run through together.

    Attributes
    ----------
    blocks : int
        Number of row blocks; the tasks of each step.
    groups : int
        Number of tasks of the tile loop, each of `blocks / groups` blocks, rounded up.
    region : int
        Bytes of the memory of each group.
    moved : tuple of (int, int)
        Storages in that memory, with the bytes of one block.
    work : int
        Estimated time of all steps on one thread, in ns.
    """

    blocks: int
    groups: int
    region: int
    moved: tuple[tuple[int, int], ...]
    work: int

    __eq__ = object.__eq__  # compared by identity
    __hash__ = object.__hash__


@value_class
class KernelStep:
    """A kernel on storages.

    Attributes
    ----------
    kernel : Kernel
        The code that runs.
    storages : tuple of int
        One for every operand of the kernel.
    sizes : tuple of int
        The values of the kernel's symbols.
    ops : tuple of Op
        The ops of the program that the step computes, in part or as a whole.
    tasks : int
        Number of calls that the step is divided into and that may run at the same time; `table_layouts.ON_DEMAND` for
        products that are divided by the number of threads.
    work : int
        Estimated time on one thread, in ns; 0 for a step that is never divided.
    tile : RowTile or None
        The tile loop that the step belongs to with its neighbors; the tasks are the blocks of rows then.
    bodies : tuple of Schedule
        The bodies of a loop or a branch. The addresses of their tables come before the sizes.
    overwritten : tuple of (int, int)
        Pairs of temporaries at the same place: the kernel reads the first, which ends there, in the memory of the
        second, which it writes. Only the second is among `storages`.
    """

    kernel: Kernel
    storages: tuple[int, ...]
    sizes: tuple[int, ...]
    ops: tuple[Op, ...]
    tasks: int
    work: int
    tile: RowTile | None = None
    bodies: tuple[Schedule, ...] = ()
    overwritten: tuple[tuple[int, int], ...] = ()


@value_class
class NumpyStep:
    """An op, or a run of `Control` ops, evaluated with NumPy on views of its operands' storages."""

    ops: tuple[Op, ...]
    storages: tuple[int, ...]
    avals: tuple[Aval, ...]
    results: tuple[int, ...]
    result_avals: tuple[Aval, ...]

    @property
    def tasks(self) -> int:
        """One: the step is not divided."""
        return 1

    @property
    def op(self) -> Op:
        """The op, or the first of the run."""
        return self.ops[0]

    @property
    def result(self) -> int:
        """The storage of the op's result."""
        return self.results[0]

    @property
    def result_aval(self) -> Aval:
        """The shape and dtype of the op's result."""
        return self.result_avals[0]

    @property
    def bodies(self) -> tuple[Schedule, ...]:
        """None: NumPy runs the bodies of a loop as programs, without schedules."""
        return ()

    @property
    def kernel(self) -> None:
        """None: the step has no kernel."""
        return None

    @property
    def overwritten(self) -> tuple[tuple[int, int], ...]:
        """None: NumPy writes no result over an operand."""
        return ()

    @property
    def tile(self) -> None:
        """None: the step belongs to no tile loop."""
        return None


Step = KernelStep | NumpyStep


@value_class
class Schedule:
    """Steps in order, and the memory of their values.

    Storages are numbered: first the inputs, then one for each distinct computed result, then temporaries.

    Attributes
    ----------
    outputs : tuple of int
        The storage of each output of the program.
    results : tuple of Aval
        Shape and dtype of the storages after the inputs that are handed to the caller.
    offsets : tuple of int
        The offset of each temporary in the arena, in bytes.
    lengths : tuple of int
        The size of each temporary in bytes; within a tile loop, the size of one block.
    arena : int
        The size of the arena in bytes.
    in_place : tuple of (int, int, bool)
        Inputs (by position) whose memory a result may have, the result (by position among `results`), and whether a
        kernel reads the input in the result's memory.
    spare : tuple of Kernel
        The kernels that the same program needs besides at sizes where its loops are divided. They are compiled at once,
        so that another size compiles nothing.
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

    @property
    def kernels(self) -> Sequence[Kernel]:
        """The kernels of the steps, once or more often."""
        return [step.kernel for step in self.steps if step.kernel is not None]

    @property
    def bodies(self) -> Sequence[Schedule]:
        """The bodies of loops and branches, without their own bodies."""
        return [body for step in self.steps for body in step.bodies]


def pairs_of(flat: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of `KernelStep.overwritten` that stand one after the other."""
    return tuple(zip(flat[::2], flat[1::2], strict=True))
