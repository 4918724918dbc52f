"""Row tiling: consecutive steps over the same rows run one block of rows after another."""

from __future__ import annotations

from dataclasses import replace

from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.instructions import Reduction
from jittape.compile.ir.loop_nest import ConcreteAddress, ConcreteLinear
from jittape.compile.schedule.lower_steps import combination, steps_of_kernel
from jittape.compile.schedule.row_tiling import Cut, Found, RowTileFinder, TileStep
from jittape.compile.schedule.unplaced_steps import Draft, TiledRows, UnplacedStep
from jittape.primitives.broadcast import sum_op

__all__ = ["tile_rows"]


def tile_rows(draft: Draft) -> None:
    """Move steps over the same rows next to each other, divided into blocks of rows."""
    if not draft.tile_rows:
        return
    steps, owner_of = draft.steps, draft.owner_of
    outside = {*draft.program.inputs, *draft.owners(draft.program.outputs)}
    number = {id(step): i for i, step in enumerate(steps)}
    combining = {id(other) for step in steps for other in step.combining}
    nests = [None if id(step) in combining else step.nest for step in steps]
    plain = [TileStep(s.kernel, s.sizes, s.operands, nest) for s, nest in zip(steps, nests, strict=True)]
    finder = RowTileFinder(plain, draft.avals, owner_of, outside)
    if finder.fit_cache():
        return
    result: list[UnplacedStep] = []
    taken: set[int] = set()
    for i, step in enumerate(steps):
        if i in taken:
            continue
        found = finder.tile_from(i, taken)
        if found is None:
            result.append(step)
            continue
        tile = TiledRows(found.blocks, found.moved, found.whole, 0)
        after: list[UnplacedStep] = []
        for j, cut in found.members:
            main, *others = _in_blocks(draft, steps[j], cut, found)
            main.tile = tile
            tile.work += main.work
            result.append(main)
            after += others
            taken.update([j, *[number[id(old)] for old in steps[j].combining]])
        result += after
    draft.steps = result


def _in_blocks(draft: Draft, step: UnplacedStep, cut: Cut, found: Found) -> list[UnplacedStep]:
    """Return a step whose tasks are blocks of rows, and the steps that combine the results of all blocks."""
    if step.placed is not None:
        placed = step.placed.in_blocks(found.rows, found.block)
        return steps_of_kernel(draft, placed, step.ops, step.depth, step.position)
    kernel, slots = step.kernel, list(step.operands)
    assert isinstance(kernel, Gemm)
    extents = dict(zip(kernel.SYMBOLS, step.sizes, strict=True))
    extents["t" + cut.axis[-1]] = found.block * cut.inner
    combining: list[UnplacedStep] = []
    if cut.partial:
        aval = draft.avals[slots[2]]
        linear = ConcreteLinear(((0, 1, True),), 0)
        r = Reduction(sum_op, (), ConcreteAddress(slots[2], linear), 0, (), aval.dtype, aval.size)
        slots[2], nest = combination(draft, [r], (aval.size,), found.blocks)
        combining = steps_of_kernel(draft, draft.kernels.placed(nest), step.ops, step.depth, step.position)
    main = replace(step, operands=tuple(slots), sizes=tuple(extents.values()), tasks=found.blocks)
    return [main, *combining]
