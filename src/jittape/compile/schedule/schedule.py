"""From a program to a list of steps over memory: what an executable runs.

`schedule` is a pure function of a program and of the kernels that the BLAS has. A step is a kernel (a fused loop nest
or a library call, see `kernel`) or a NumPy step. Values are placed in *storages*: inputs, results, and temporaries that
share one arena by the time in which they live.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jittape.compile.analysis.op_class import OpClass
from jittape.compile.analysis.uses import Group
from jittape.compile.fuse.join_sums import join_sums
from jittape.compile.fuse.partition import Partition
from jittape.compile.ir.index_maps import space_of
from jittape.compile.ir.instructions import Load, Reduction
from jittape.compile.ir.kernel import Gemm, Kernel
from jittape.compile.ir.loop_nest import ConcreteAddress, ConcreteLinear, LoopNest, NestReduction
from jittape.compile.kernels.control.control_plan import RECORD, Plan, Release, Stop, plan_of
from jittape.compile.kernels.gemm.lower_gemm import Calls
from jittape.compile.kernels.scalar_vm.bytecode import to_bytecode
from jittape.compile.llvm.target_facts import TargetFacts, host_facts
from jittape.compile.lower.build_nest import NestBuilder
from jittape.compile.lower.canonicalize import Kernels, Placed
from jittape.compile.lower.split_nest import split
from jittape.compile.rewrite.diagonals import scatter_diagonals
from jittape.compile.rewrite.layout_transposition import transpose_layouts
from jittape.compile.rewrite.passes import distinct, expanded, sum_before_product
from jittape.compile.schedule.accumulate_in_gemm import fuse_accumulation
from jittape.compile.schedule.memory_planning import Placer
from jittape.compile.schedule.row_tiling import Cut, Found, RowTile, RowTileFinder
from jittape.compile.schedule.row_tiling import Step as _Step
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule, Step
from jittape.compile.schedule.unplaced_steps import SharedRows, UnplacedStep, in_order, updated_in_place
from jittape.compile.schedule.validate import check_schedule
from jittape.core.dtypes import NATIVE
from jittape.core.forms import runs_of
from jittape.core.program import Aval, Op, Program, is_dynamic_dim
from jittape.errors import ProgramError
from jittape.primitives.broadcast import sum_op

__all__ = ["schedule"]


def schedule(
    program: Program,
    donated: tuple[tuple[int, int], ...] = (),
    in_strips: bool = True,
    target: Callable[[], TargetFacts] | None = None,
) -> Schedule:
    """Decide what runs, in which order, on which memory; the schedule is checked.

    `donated` are inputs and outputs (positions): the output may have the input's memory if that is of use. `in_strips`
    says whether steps that work through the same rows may be done block by block. `target` gives the facts that matrix
    products are scheduled by, if there are any products; None means `host_facts`.
    """
    return check_schedule(_Scheduler(program, target or host_facts).result(donated, in_strips))


def _schedule_of_body(program: Program, target: Callable[[], TargetFacts]) -> Schedule:
    """Return the schedule of a body, where each output has a storage of its own: the words of its step count on it."""
    found = check_schedule(_Scheduler(program, target, own_outputs=True).result((), in_strips=False))
    if found.outputs != tuple(range(len(program.inputs), len(program.inputs) + len(program.outputs))):
        raise ProgramError(f"a body has outputs in the storages {found.outputs}\n{program}")
    return found


class _Scheduler:
    def __init__(
        self, program: Program, target: Callable[[], TargetFacts], own_outputs: bool = False
    ) -> None:
        self.target = target
        written = transpose_layouts(sum_before_product(scatter_diagonals(expanded(program, NATIVE))))
        if own_outputs:
            # Last of the rewrites, since others merge the copies that this one makes.
            written = distinct(written)
        self.partition = Partition(written, target=target)
        # Sums of many sums are joined first: their parts are single numbers, and would be taken together too.
        self.program = program = to_bytecode(join_sums(written, self.partition))
        if program is not written:
            self.partition = Partition(program, self.partition, target)
        self.position = {op.out: i for i, op in enumerate(program.ops)}
        self.avals: dict[int, Aval] = dict(program.avals)
        self.next_slot = max(self.avals, default=-1) + 1
        self.kernels = Kernels()
        self.calls = Calls(target)
        self.spare: dict[str, Kernel] = {}
        self.runs = runs_of(program.ops)
        self.avals.update((slot, RECORD) for slot, aval in program.avals.items() if is_dynamic_dim(aval))

    def result(self, donated: tuple[tuple[int, int], ...], in_strips: bool) -> Schedule:
        holder, copies = self._holders()
        drafts = in_order(self._drafts(copies), holder)
        if in_strips:
            drafts = self._in_strips(drafts, holder)
        drafts = self._with_releases(drafts)
        accumulated = {holder[total] for total in self.partition.addends}
        added = fuse_accumulation(self.program, self.avals, drafts, holder, donated)
        updates = updated_in_place(self.program, self.avals, drafts, holder, donated, accumulated, added)
        return self._placed(drafts, holder, updates)

    # ---- whose memory a slot stands in --------------------------------------------------------------------------

    def _holders(self) -> tuple[dict[int, int], list[Op]]:
        """For every alias the slot that owns its memory; and the aliases that must be copied.

        A result handed to the caller is memory of its own: of several aliased slots only one is.
        """
        partition, outputs = self.partition, set(self.program.outputs)
        holder: dict[int, int] = {}
        taken = {*self.program.inputs, *(s for s in outputs if partition.kinds.get(s) is not OpClass.ALIAS)}
        copies = []
        for op in self.program.ops:
            if op.out in partition.addends:
                # The sum takes the place of what is added to, and nobody else holds that.
                addend = partition.addends[op.out][1]
                holder[op.out] = holder.get(addend, addend)
                if op.out in outputs:
                    taken.add(holder[op.out])
            if partition.kinds[op.out] is not OpClass.ALIAS:
                continue
            base = holder.get(op.args[0], op.args[0])
            if op.out not in outputs:
                holder[op.out] = base
            elif base in taken:
                copies.append(op)
            else:
                taken.add(base)
                holder[op.out] = base
        return holder, copies

    # ---- steps ---------------------------------------------------------------------------------------------------

    def _drafts(self, copies: list[Op]) -> list[UnplacedStep]:
        groups: dict[Group, list[Op]] = {}
        drafts: list[UnplacedStep] = []
        partition = self.partition
        plans = self._plans()
        for op in self.program.ops:
            kind = partition.kinds[op.out]
            if kind is OpClass.INLINE and op.out not in partition.stored:
                continue
            if kind is OpClass.CALL:
                drafts.append(self._gemm(op))
            elif kind is OpClass.CONTROL:
                if self.runs[op.out][0] is op:
                    drafts.append(self._control(self.runs[op.out], plans[op.out]))
            elif kind is OpClass.NUMPY:
                depth, position = partition.depth[op.out], self.position[op.out]
                drafts.append(UnplacedStep(depth, position, (op,), (*op.args, op.out), None))
            elif kind is OpClass.CHECK:
                depth, position = partition.depth[op.out], self.position[op.out]
                drafts.append(UnplacedStep(depth, position, (op,), op.args, Stop(())))
            elif kind in (OpClass.INLINE, OpClass.REDUCE, OpClass.JOIN, OpClass.RUNNING, OpClass.SCATTER):
                for group in partition.groups(op.out):
                    groups.setdefault(group, []).append(op)
        builders: dict[int, list[NestBuilder]] = {}
        for (space, depth), roots in groups.items():
            builder = self._builder(space)
            copied = [op for op in roots if depth < partition.depth[op.out]]
            builder.add_roots([op for op in roots if op not in copied])
            builder.add_copies(copied)
            builders.setdefault(depth, []).append(builder)
        for depth, level in builders.items():
            for builder in _hosted(level):
                drafts += self._kernels(builder, depth)
        for op in copies:
            aval = self.avals[op.out]
            builder = self._builder(space_of((aval.nbytes // min(8, aval.dtype.itemsize),)))
            builder.add_copy(op)
            drafts += self._kernels(builder, partition.finished(op.out))
        return drafts

    def _builder(self, space: tuple[int, ...]) -> NestBuilder:
        return NestBuilder(space, self.partition, self.position)

    def _kernels(self, builder: NestBuilder, depth: int) -> list[UnplacedStep]:
        ops = tuple([builder.covered[s] for s in sorted(builder.covered, key=self.position.__getitem__)])
        position = self.position[ops[-1].out]
        drafts: list[UnplacedStep] = []
        if 0 in builder.nest.extents:
            # What stands outside of the empty loop would be written, too, though it is in nobody's array.
            builder.nest.stores.clear()
            if not builder.nest.reductions:
                return drafts
        for nest in split(builder.nest, self._temporary):
            drafts += self._divided(self.kernels.placed(nest), ops, depth, position)
        return drafts

    def _divided(self, placed: Placed, ops: tuple[Op, ...], depth: int, position: int) -> list[UnplacedStep]:
        """The kernel of a nest, and those that combine what its tasks have for themselves."""
        slots = list(placed.slots)
        combining: list[UnplacedStep] = []
        extents = placed.sizes[: placed.kernel.depth]
        for operand, reductions in placed.partials:
            slot, nest = self._combination(reductions, extents, placed.tasks)
            combination = self.kernels.placed(nest)
            if placed.tasks > 1:
                slots[operand] = slot
                reduced = self.partition.op_of[reductions[0].address.slot]
                combining += self._divided(combination, (reduced,), depth, position)
            else:
                self.spare[combination.kernel.name] = combination.kernel
        kernel, sizes = placed.kernel, placed.sizes
        draft = UnplacedStep(
            depth, position, ops, tuple(slots), kernel, sizes, placed.tasks, placed.work, placed
        )
        draft.combining = combining
        return [draft, *combining]

    def _combination(
        self, reductions: list[NestReduction], extents: tuple[int, ...], tasks: int
    ) -> tuple[int, LoopNest]:
        """A slot for what all tasks have of one result, and the nest that combines it."""
        first = reductions[0]
        size = first.partial
        partial = self._temporary(Aval((tasks, size), first.dtype))
        kept = [axis for axis in range(len(extents)) if axis not in first.axes]
        nest = LoopNest((tasks, *[extents[axis] for axis in kept]))
        for r in reductions:
            terms = tuple([(kept.index(int(v)) + 1, f, s) for v, f, s in r.address.linear.terms])
            linear = r.address.linear._replace(terms=terms)
            everyone = linear._replace(terms=((0, size, False), *terms))
            value = len(nest.instructions)
            nest.instructions.append(Load(ConcreteAddress(partial, everyone), None, r.dtype))
            address = ConcreteAddress(r.address.slot, linear)
            nest.reductions.append(r._replace(address=address, value=value, axes=(0,)))
        return partial, nest

    def _temporary(self, aval: Aval) -> int:
        slot = self.next_slot
        self.next_slot += 1
        self.avals[slot] = aval
        return slot

    def _plans(self) -> dict[int, Plan | None]:
        """How each loop and branch runs, by its first slot.

        What one has stacked that is not compiled, no compiled one can read; then all of these are not compiled.
        """
        runs = {run[0].out: run for run in self.runs.values()}
        plans = {
            slot: plan_of(run, self.program.avals, lambda body: _schedule_of_body(body, self.target))
            for slot, run in runs.items()
        }
        grown = [
            slot
            for slot, run in runs.items()
            if any(is_dynamic_dim(self.program.avals[s]) for s in (*run[0].args, *[op.out for op in run]))
        ]
        if any(plans[slot] is None for slot in grown):
            plans.update(dict.fromkeys(grown))
        return plans

    def _control(self, run: tuple[Op, ...], plan: Plan | None) -> UnplacedStep:
        """A loop or a branch with all its results."""
        first = run[0].out
        depth, position = self.partition.depth[first], self.position[first]
        operands = (*run[0].args, *[op.out for op in run])
        if plan is None:
            return UnplacedStep(depth, position, run, operands, None)
        operands += tuple([self._temporary(aval) for aval in plan.temporaries])
        return UnplacedStep(depth, position, run, operands, plan.kernel, plan.words, bodies=plan.bodies)

    def _with_releases(self, drafts: list[UnplacedStep]) -> list[UnplacedStep]:
        """The steps, and after the last use of a grown stack one that gives its memory back."""
        last: dict[int, int] = {}
        for i, draft in enumerate(drafts):
            if draft.bodies:
                last.update((slot, i) for slot in draft.operands if self.avals[slot] is RECORD)
        found: list[UnplacedStep] = []
        for i, draft in enumerate(drafts):
            found.append(draft)
            for slot in [slot for slot, at in last.items() if at == i]:
                found.append(UnplacedStep(draft.depth, draft.position, draft.ops, (slot,), Release(())))
        return found

    def _gemm(self, op: Op) -> UnplacedStep:
        added = self.partition.addends.get(op.out)
        product = self.partition.products[op.out]
        kernel, slots, sizes, tasks, work = self.calls.placed(
            product, self.avals[op.out].dtype, added is not None
        )
        depth, position = self.partition.depth[op.out], self.position[op.out]
        ops = (added[0], op) if added else (op,)
        return UnplacedStep(depth, position, ops, (*slots, op.out), kernel, sizes, tasks, work)

    # ---- strips --------------------------------------------------------------------------------------------------

    def _in_strips(self, drafts: list[UnplacedStep], holder: dict[int, int]) -> list[UnplacedStep]:
        """The drafts, those that work through the same rows next to each other, cut into blocks."""
        outside = {*self.program.inputs, *[holder.get(s, s) for s in self.program.outputs]}
        number = {id(draft): i for i, draft in enumerate(drafts)}
        combining = {id(other) for d in drafts for other in d.combining}
        nests = [None if id(d) in combining else d.nest for d in drafts]
        steps = [_Step(d.kernel, d.sizes, d.operands, n) for d, n in zip(drafts, nests, strict=True)]
        finder = RowTileFinder(steps, self.avals, holder, outside)
        result: list[UnplacedStep] = []
        taken: set[int] = set()
        for i, draft in enumerate(drafts):
            if i in taken:
                continue
            found = finder.strip_from(i, taken)
            if found is None:
                result.append(draft)
                continue
            strip = SharedRows(found.blocks, found.moved, found.whole, 0)
            after: list[UnplacedStep] = []
            for j, cut in found.members:
                main, *others = self._cut(drafts[j], cut, found)
                main.strip = strip
                strip.work += main.work
                result.append(main)
                after += others
                taken.update([j, *[number[id(old)] for old in drafts[j].combining]])
            result += after
        return result

    def _cut(self, draft: UnplacedStep, cut: Cut, found: Found) -> list[UnplacedStep]:
        """A draft that does a block of rows as a task, and what combines the results of all blocks."""
        if draft.placed is not None:
            placed = draft.placed.in_blocks(found.rows, found.block)
            return self._divided(placed, draft.ops, draft.depth, draft.position)
        blocks = found.blocks
        kernel, slots = draft.kernel, list(draft.operands)
        assert isinstance(kernel, Gemm)
        extents = dict(zip(kernel.SYMBOLS, draft.sizes, strict=True))
        extents["t" + cut.axis[-1]] = found.block
        combining: list[UnplacedStep] = []
        if cut.partial:
            aval = self.avals[slots[2]]
            linear = ConcreteLinear(((0, 1, True),), 0)
            r = Reduction(sum_op, (), ConcreteAddress(slots[2], linear), 0, (), aval.dtype, aval.size)
            slots[2], nest = self._combination([r], (aval.size,), blocks)
            combining = self._divided(self.kernels.placed(nest), draft.ops, draft.depth, draft.position)
        sizes = tuple(extents.values())
        main = replace(draft, operands=tuple(slots), sizes=sizes, tasks=blocks)
        return [main, *combining]

    # ---- memory --------------------------------------------------------------------------------------------------

    def _placed(
        self, drafts: list[UnplacedStep], holder: dict[int, int], in_place: dict[int, tuple[int, bool]]
    ) -> Schedule:
        program = self.program
        storage = {slot: i for i, slot in enumerate(program.inputs)}
        results: list[Aval] = []
        for slot in dict.fromkeys(program.outputs):
            owner = holder.get(slot, slot)
            if owner not in storage:
                storage[owner] = len(program.inputs) + len(results)
                results.append(self.avals[slot])
        first = len(program.inputs) + len(results)
        placer = Placer(self.avals, storage, first)
        owners = [[holder.get(s, s) for s in draft.operands] for draft in drafts]
        strips = placer.place(drafts, owners)
        steps = tuple(
            [
                self._step(d, [storage[s] for s in own], strips.get(id(d.strip)))
                for d, own in zip(drafts, owners, strict=True)
            ]
        )
        outputs = tuple([storage[holder.get(s, s)] for s in program.outputs])
        places = [
            (storage[x], storage[owner] - len(program.inputs), read) for x, (owner, read) in in_place.items()
        ]
        return Schedule(
            program,
            steps,
            outputs,
            tuple(results),
            tuple(placer.offsets),
            tuple(placer.lengths),
            placer.arena.size,
            tuple(places),
            tuple(self.spare.values()),
        )

    def _step(self, draft: UnplacedStep, storages: list[int], strip: RowTile | None) -> Step:
        if draft.kernel is not None:
            return KernelStep(
                draft.kernel,
                tuple(storages),
                draft.sizes,
                draft.ops,
                draft.tasks,
                draft.work,
                strip,
                draft.bodies,
            )
        avals = tuple([self.program.avals[s] for s in draft.operands])
        n = len(draft.operands) - len(draft.ops)
        return NumpyStep(draft.ops, tuple(storages[:n]), avals[:n], tuple(storages[n:]), avals[n:])


def _hosted(builders: list[NestBuilder]) -> list[NestBuilder]:
    """Nests that can run at the same time, fewer of them where one can take over another."""
    kept: list[NestBuilder] = []
    for builder in sorted(builders, key=lambda b: b.nest.extents, reverse=True):
        host = next((b for b in kept if b.can_host(builder)), None)
        if host is None:
            kept.append(builder)
        else:
            host.host(builder)
    return kept
