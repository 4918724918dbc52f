"""Steps whose operands are still slots, and which of them may write where an input stands."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise

from jittape.compile.ir.kernel import Gemm, Kernel, LoopKernel
from jittape.compile.ir.loop_nest import LoopNest
from jittape.compile.lower.canonicalize import Placed
from jittape.compile.schedule.steps import Schedule
from jittape.core.program import Aval, Op, Program

__all__ = ["SharedRows", "UnplacedStep", "first_in_place", "in_order", "updated_in_place", "written"]


@dataclass
class UnplacedStep:
    """A step whose operands are still slots."""

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
    strip: SharedRows | None = None
    bodies: tuple[Schedule, ...] = ()

    @property
    def nest(self) -> LoopNest | None:
        """The loop nest that it was."""
        return None if self.placed is None else self.placed.nest

    @property
    def effectful(self) -> bool:
        """Whether the step may end the run, and then inputs must be what they were."""
        return self.kernel is not None and self.kernel.effectful


@dataclass(eq=False)
class SharedRows:
    """Drafts that are done block by block.

    `moved` are slots only needed there, with the bytes of a block; of those in `whole` each block may read all.
    """

    blocks: int
    moved: dict[int, int]
    whole: frozenset[int]
    work: int


def in_order(drafts: list[UnplacedStep], holder: Mapping[int, int]) -> list[UnplacedStep]:
    """Return the drafts in an order in which each runs after all that it depends on, and checks run early.

    Among those that can run, the least deep comes first; among equally deep ones, a check or a draft that a check
    depends on. `holder` gives the slot in whose memory another one is stored.
    """
    before = _predecessors(drafts, holder)
    urgent = _needed_by_checks(drafts, before)

    def place(number: int) -> tuple[int, int, int, int]:
        draft = drafts[number]
        if _is_check(draft):
            return draft.depth - 1, 1, draft.position, number
        return draft.depth, 0 if number in urgent else 2, draft.position, number

    after: list[list[int]] = [[] for _ in drafts]
    for number, needed in enumerate(before):
        for other in needed:
            after[other].append(number)
    missing = [len(needed) for needed in before]
    ready = [place(number) for number, count in enumerate(missing) if not count]
    heapify(ready)
    found: list[UnplacedStep] = []
    while ready:
        number = heappop(ready)[-1]
        found.append(drafts[number])
        for other in after[number]:
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, place(other))
    assert len(found) == len(drafts), "steps depend on each other in a circle"
    return found


def _predecessors(drafts: list[UnplacedStep], holder: Mapping[int, int]) -> list[set[int]]:
    """Return for each draft the numbers of those that must run before it.

    Memory is filled by its writers, in any order, then updated, by the least deep first, and only then read.
    """
    before: list[set[int]] = [set() for _ in drafts]
    writers: dict[int, list[int]] = {}
    updaters: dict[int, list[int]] = {}
    owners: list[Sequence[int]] = [draft.operands for draft in drafts]
    if holder:
        owners = [[holder.get(slot, slot) for slot in own] for own in owners]
    for number in sorted(range(len(drafts)), key=lambda number: drafts[number].depth):
        writes, updates = _written(drafts[number], owners[number])
        for owner in writes:
            writers.setdefault(owner, []).append(number)
        for owner in updates:
            updaters.setdefault(owner, []).append(number)
    finished = dict(writers)
    for owner, own in updaters.items():
        finished[owner] = [*writers.get(owner, ()), *own]
        before[own[0]].update(writers.get(owner, ()))
        for earlier, later in pairwise(own):
            before[later].add(earlier)
    for number, slots in enumerate(owners):
        for owner in slots:
            needed = finished.get(owner)
            if needed is not None and number not in needed:
                before[number].update(needed[-1:] if owner in updaters else needed)
    return before


def _needed_by_checks(drafts: list[UnplacedStep], before: list[set[int]]) -> set[int]:
    """Return the numbers of the drafts that a check depends on, as far back as the depth is the same."""
    needed: set[int] = set()
    waiting = [other for number, draft in enumerate(drafts) if _is_check(draft) for other in before[number]]
    while waiting:
        number = waiting.pop()
        if number not in needed:
            needed.add(number)
            waiting += [other for other in before[number] if drafts[other].depth == drafts[number].depth]
    return needed


def _is_check(draft: UnplacedStep) -> bool:
    return draft.effectful and not draft.bodies


def first_in_place(drafts: list[UnplacedStep]) -> int:
    """The first step that may write in an input's memory, which must be what it was as long as the run may end.

    It is the number of steps, and so none, if one of them is a NumPy step, which may raise an error at any time.
    """
    if any(draft.kernel is None for draft in drafts):
        return len(drafts)
    return 1 + max([i for i, draft in enumerate(drafts) if draft.effectful], default=-1)


def updated_in_place(
    program: Program,
    avals: Mapping[int, Aval],
    drafts: list[UnplacedStep],
    holder: Mapping[int, int],
    donated: tuple[tuple[int, int], ...],
    accumulated: Container[int],
    added: Mapping[int, int],
) -> dict[int, tuple[int, bool]]:
    """For inputs whose memory a result gets: the slot of the result, and whether its kernel reads the input.

    That kernel must be the last that reads it, and the only one that writes the result: not one of several products
    that are added up there. A step may fail, and then inputs must be what they were. To the results in `added` a
    product is added, which are what the input was before.
    """
    found = {w: (out, True) for out, w in added.items()}
    first = first_in_place(drafts)
    if first == len(drafts):
        return found
    for position, output in donated:
        x, owner = program.inputs[position], holder.get(program.outputs[output], program.outputs[output])
        taken = {slot for slot, _ in found.values()}
        if owner in program.inputs or owner in taken or x in program.outputs:
            continue
        if avals[x] != avals[owner] or x in found:
            continue
        owners = [[holder.get(s, s) for s in d.operands] for d in drafts]
        writers = [i for i, d in enumerate(drafts) if owner in written(d, owners[i])]
        if owner in accumulated or len(writers) != 1:
            continue
        (writer,) = writers
        if writer < first or any(x in slots for slots in owners[writer + 1 :]) or owners[writer].count(x) > 1:
            continue
        draft = drafts[writer]
        if draft.strip is not None and x in draft.strip.whole:
            continue  # blocks that come later still read it
        if x in owners[writer]:
            read = owners[writer].index(x)
            kernel = draft.kernel
            kernel = (
                kernel.in_place(read, owners[writer].index(owner)) if isinstance(kernel, LoopKernel) else None
            )
            if kernel is None:
                continue
            operands = draft.operands[:read] + draft.operands[read + 1 :]
            drafts[writer] = replace(draft, kernel=kernel, operands=operands)
        found[x] = owner, x in owners[writer]
    return found


def written(draft: UnplacedStep, owners: list[int]) -> list[int]:
    """Return the operands that a step writes or updates, by owner."""
    writes, updates = _written(draft, owners)
    return writes + updates


def _written(draft: UnplacedStep, owners: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the operands that a step writes and those that it updates, by owner."""
    kernel = draft.kernel
    if isinstance(kernel, (LoopKernel, Gemm)):
        kinds = [operand[0][0] for operand in kernel.operands]
        writes = [s for s, kind in zip(owners, kinds, strict=True) if kind == "r"]
        if "u" not in kinds:
            return writes, []
        return writes, [s for s, kind in zip(owners, kinds, strict=True) if kind == "u"]
    made = {op.out for op in draft.ops}
    return [owner for slot, owner in zip(draft.operands, owners, strict=True) if slot in made], []
