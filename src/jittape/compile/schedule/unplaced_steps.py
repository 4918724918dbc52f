"""`Draft`: a program on its way to a schedule, with steps whose operands are still slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from jittape.compile.fuse.partition import Partition
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.lapack import Lapack
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.ir.loop_nest import LoopNest
from jittape.compile.ir.target_facts import Target
from jittape.compile.kernels.control.control_driver import single_buffers
from jittape.compile.lower.canonicalize import Kernels, Placed
from jittape.compile.schedule.steps import Schedule
from jittape.core.program import Aval, Op, Program

__all__ = ["Draft", "TiledRows", "UnplacedStep", "first_in_place", "writes_and_updates", "written"]


@dataclass
class UnplacedStep:
    """A step whose operands are still slots.

    Attributes
    ----------
    depth, position : int
        The depth of the step's loop nest in the `Partition`, and the position of its last op in the program.
    ops : tuple of Op
        The ops that the step computes, in part or as a whole.
    operands : tuple of int
        One slot for every operand of the kernel.
    kernel : Kernel or None
        The code that runs; None for a NumPy step.
    sizes : tuple of int
        The values of the kernel's symbols.
    tasks, work : int
        As in `KernelStep`.
    placed : Placed or None
        The loop nest that the kernel was made from.
    combining : list of UnplacedStep
        The steps that combine the partial results of the tasks.
    tile : TiledRows or None
        The tile loop that the step belongs to.
    bodies : tuple of Schedule
        As in `KernelStep`.
    overwritten : tuple of (int, int)
        As in `KernelStep`, with slots; the second of a pair is an owner.
    """

    depth: int
    position: int
    ops: tuple[Op, ...]
    operands: tuple[int, ...]
    kernel: Kernel | None
    sizes: tuple[int, ...] = ()
    tasks: int = 1
    work: int = 0
    placed: Placed | None = None
    combining: list[UnplacedStep] = field(default_factory=list)
    tile: TiledRows | None = None
    bodies: tuple[Schedule, ...] = ()
    overwritten: tuple[tuple[int, int], ...] = ()

    @property
    def nest(self) -> LoopNest | None:
        """The loop nest that the kernel was made from."""
        return None if self.placed is None else self.placed.nest

    @property
    def touched(self) -> tuple[int, ...]:
        """The operands, followed by the pairs of `overwritten`."""
        return (*self.operands, *[slot for pair in self.overwritten for slot in pair])

    @property
    def effectful(self) -> bool:
        """Return whether the step may end the run; inputs must not have changed until then."""
        return self.kernel is not None and self.kernel.effectful

    def __str__(self) -> str:
        name = "NumPy" if self.kernel is None else self.kernel.name
        ops = ", ".join([op.primitive.name for op in self.ops])
        updated = written(self, self.operands)
        reads = [f"%{slot}" for slot in self.touched if slot not in updated]
        tasks = f", {self.tasks} tasks" if self.tasks > 1 else ""
        tile = "" if self.tile is None else f", {self.tile.blocks} blocks of rows"
        writes = ", ".join([f"%{slot}" for slot in updated])
        return f"{name} ({ops}): {', '.join(reads)} -> {writes}{tasks}{tile}"


@dataclass(eq=False)
class TiledRows:
    """A tile loop: consecutive steps that run one block of rows after another.

    Attributes
    ----------
    blocks : int
        Number of blocks.
    moved : dict
        The slots that no step outside of the loop needs, with the bytes of one block.
    whole : frozenset of int
        The slots that every block may read all of.
    work : int
        Estimated time of all steps on one thread, in ns.
    """

    blocks: int
    moved: dict[int, int]
    whole: frozenset[int]
    work: int


@dataclass
class Draft:
    """A program on its way to a schedule: the state that passes change.

    Attributes
    ----------
    program : Program
        The program as rewritten so far.
    donated : tuple of (int, int)
        Inputs and outputs by position: the output may be computed in the input's memory.
    tile_rows : bool
        Whether steps over the same rows may run in a tile loop.
    is_body : bool
        Whether the program is the body of a loop or a branch, where each output needs a storage of its own.
    writes_parts : bool
        Whether small parts of arrays are written in the memory of the array, which is then read before.
    counters : dict
        Inputs that are integers from 0 to below a limit, by slot: the number of the iteration in the body of a loop.
    schedule_body : callable
        Schedules the body of a loop or a branch; called with its program, `donated` and `counters`.
    target : callable
        Returns the facts that matrix products are scheduled by.
    avals : dict
        Shape and dtype of every slot, those of temporaries that steps exchange included.
    owner_of : dict
        For a slot stored in the memory of another slot, that slot.
    steps : list of UnplacedStep
        The steps.
    in_place : dict
        For an input whose memory a result takes: the slot of the result, and whether its kernel reads the input.
    kernels : Kernels
        The kernels of the program's loop nests.
    spare : dict
        Kernels by name that the same program needs at other sizes.
    decisions : list of str
        What optimizations have decided, with the rule that decided it.
    schedule : Schedule or None
        The result, set by the last pass.
    next_slot : int
        The slot of the next temporary.
    """

    program: Program
    schedule_body: Callable[..., Schedule]
    target: Target
    donated: tuple[tuple[int, int], ...] = ()
    tile_rows: bool = True
    is_body: bool = False
    writes_parts: bool = False
    counters: Mapping[int, int] = field(default_factory=dict)
    avals: dict[int, Aval] = field(default_factory=dict)
    owner_of: dict[int, int] = field(default_factory=dict)
    steps: list[UnplacedStep] = field(default_factory=list)
    in_place: dict[int, tuple[int, bool]] = field(default_factory=dict)
    kernels: Kernels = field(default_factory=Kernels)
    spare: dict[str, Kernel] = field(default_factory=dict)
    decisions: list[str] = field(default_factory=list)
    schedule: Schedule | None = None
    next_slot: int = 0
    _partition: Partition | None = None

    @property
    def partition(self) -> Partition:
        """The partition of the current program; properties of ops are reused from that of an earlier one."""
        if self._partition is None or self._partition.program is not self.program:
            self._partition = Partition(self.program, self.target, self._partition, self.writes_parts)
        return self._partition

    def owners(self, slots: Sequence[int]) -> list[int]:
        """Return the slots that own the memory of `slots`."""
        owner_of = self.owner_of
        return [owner_of.get(slot, slot) for slot in slots] if owner_of else list(slots)

    def temporary(self, aval: Aval) -> int:
        """Return a new slot that steps use to exchange a value of this shape and dtype."""
        slot = self.next_slot
        self.next_slot += 1
        self.avals[slot] = aval
        return slot

    def __str__(self) -> str:
        if not self.steps:
            return str(self.program)
        lines = [f"{i}: {step}" for i, step in enumerate(self.steps)]
        stored = [f"%{slot} is stored: {rule}" for slot, rule in sorted(self.partition.stored_by.items())]
        return "\n".join([*lines, *stored, *self.decisions])


def first_in_place(steps: list[UnplacedStep]) -> int:
    """Return the number of the first step that may overwrite an input, since no step from then on may end the run.

    If a step is a NumPy step, which may raise an error at any time, it is the number of steps.
    """
    if any(step.kernel is None for step in steps):
        return len(steps)
    return 1 + max([i for i, step in enumerate(steps) if step.effectful], default=-1)


def written(step: UnplacedStep, owners: Sequence[int]) -> list[int]:
    """Return those of the owners of a step's operands that the step writes or updates."""
    writes, updates = writes_and_updates(step, owners)
    return writes + updates


def writes_and_updates(step: UnplacedStep, owners: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return those of the owners of a step's operands that the step writes, and those that it updates."""
    kernel = step.kernel
    if isinstance(kernel, (LoopKernel, Gemm, Lapack)):
        kinds = [operand[0][0] for operand in kernel.operands]
        writes = [s for s, kind in zip(owners, kinds, strict=True) if kind == "r"]
        if "u" not in kinds:
            return writes, []
        return writes, [s for s, kind in zip(owners, kinds, strict=True) if kind == "u"]
    made = {op.out for op in step.ops}
    updates = [owners[b] for a, b in single_buffers(kernel, step.sizes) if owners[a] == owners[b]]
    writes = [owner for slot, owner in zip(step.operands, owners, strict=True) if slot in made]
    return [owner for owner in writes if owner not in updates], updates
