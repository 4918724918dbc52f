"""Lowering of a program to steps: groups of ops become loop nests and their kernels, other ops library calls."""

from __future__ import annotations

from jittape.compile.analysis.op_class import OpClass
from jittape.compile.analysis.uses import Group
from jittape.compile.ir.index_maps import space_of
from jittape.compile.ir.instructions import Load
from jittape.compile.ir.loop_nest import ConcreteAddress, LoopNest, NestReduction
from jittape.compile.kernels.control.control_driver import STACK_AVAL, Plan, Release, Stop
from jittape.compile.kernels.control.control_plan import plan_of
from jittape.compile.kernels.gemm.lower_gemm import GemmLowering
from jittape.compile.kernels.lapack.lower_lapack import lower_lapack
from jittape.compile.lower.build_nest import NestBuilder
from jittape.compile.lower.canonicalize import Placed
from jittape.compile.lower.split_nest import split
from jittape.compile.schedule.unplaced_steps import Draft, UnplacedStep
from jittape.core.dtypes import bool_
from jittape.core.forms import runs_of
from jittape.core.program import Aval, Op, is_dynamic_dim
from jittape.core.symbolic.extent_functions import is_always
from jittape.primitives.record_parts import constant_of

__all__ = ["combination", "lower_to_steps", "release_stacks", "steps_of_kernel"]


def lower_to_steps(draft: Draft) -> None:
    """Make the steps of the draft's program, in no particular order."""
    program = draft.program
    draft.avals = dict(program.avals)
    draft.next_slot = max(draft.avals, default=-1) + 1
    draft.avals.update((slot, STACK_AVAL) for slot, aval in program.avals.items() if is_dynamic_dim(aval))
    draft.owner_of, copies = _owners(draft)
    draft.steps = _Lowering(draft).steps(copies)


def release_stacks(draft: Draft) -> None:
    """Add a step after the last use of each stack of unknown length that frees its memory."""
    last: dict[int, int] = {}
    for i, step in enumerate(draft.steps):
        if step.bodies:
            last.update((slot, i) for slot in step.operands if draft.avals[slot] is STACK_AVAL)
    if not last:
        return
    steps: list[UnplacedStep] = []
    for i, step in enumerate(draft.steps):
        steps.append(step)
        for slot in [slot for slot, at in last.items() if at == i]:
            steps.append(UnplacedStep(step.depth, step.position, step.ops, (slot,), Release(())))
    draft.steps = steps


def _owners(draft: Draft) -> tuple[dict[int, int], list[Op]]:
    """Return for every alias the slot that owns its memory, and the aliases that must be copied.

    The caller gets each result in separate memory: of several outputs that are aliases of one slot, one is not copied.
    """
    program, partition, outputs = draft.program, draft.partition, set(draft.program.outputs)
    owner_of: dict[int, int] = {}
    taken = {*program.inputs, *(s for s in outputs if partition.classes.get(s) is not OpClass.ALIAS)}
    copies = []
    for op in program.ops:
        if op.out in partition.addends:
            # The product is added to the memory of the addend, which no other op needs.
            addend = partition.addends[op.out][1]
            owner_of[op.out] = owner_of.get(addend, addend)
            if op.out in outputs:
                taken.add(owner_of[op.out])
        if op.out in partition.overwritten:
            taken_from = partition.overwritten[op.out]
            owner_of[op.out] = owner_of.get(taken_from, taken_from)
            if op.out in outputs:
                taken.add(owner_of[op.out])
        if partition.classes[op.out] is not OpClass.ALIAS:
            continue
        base = owner_of.get(op.args[0], op.args[0])
        if op.out not in outputs:
            owner_of[op.out] = base
        elif base in taken:
            copies.append(op)
            taken.add(op.out)  # the copy is a result, too
        else:
            taken.add(base)
            owner_of[op.out] = base
    return owner_of, copies


class _Lowering:
    """Lowering of a program: each op by its class."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.program = draft.program
        self.partition = draft.partition
        self.avals = draft.avals
        self.position = {op.out: i for i, op in enumerate(draft.program.ops)}
        self.gemms = GemmLowering(draft.target)
        self.runs = runs_of(draft.program.ops)

    def steps(self, copies: list[Op]) -> list[UnplacedStep]:
        groups: dict[Group, list[Op]] = {}
        steps: list[UnplacedStep] = []
        partition = self.partition
        plans = self._plans()
        for op in self.program.ops:
            op_class = partition.classes[op.out]
            if op_class is OpClass.INLINE and op.out not in partition.stored:
                continue
            if op_class is OpClass.CALL:
                steps.append(self._gemm(op))
            elif op_class is OpClass.LAPACK:
                steps += self._lapack(op)
            elif op_class is OpClass.CONTROL:
                if self.runs[op.out][0] is op:
                    steps.append(self._control(self.runs[op.out], plans[op.out]))
            elif op_class is OpClass.NUMPY:
                depth, position = partition.depth[op.out], self.position[op.out]
                steps.append(UnplacedStep(depth, position, (op,), (*op.args, op.out), None))
            elif op_class is OpClass.CHECK:
                depth, position = partition.depth[op.out], self.position[op.out]
                steps.append(UnplacedStep(depth, position, (op,), op.args, Stop(()), (1,)))
            elif op_class in (OpClass.INLINE, OpClass.REDUCE, OpClass.JOIN, OpClass.SCAN, OpClass.SCATTER):
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
                steps += self._nest_steps(builder, depth)
        for op in copies:
            aval = self.avals[op.out]
            builder = self._builder(space_of((aval.nbytes // min(8, aval.dtype.itemsize),)))
            builder.add_copy(op)
            steps += self._nest_steps(builder, partition.readable_from(op.out))
        return steps

    def _builder(self, space: tuple[int, ...]) -> NestBuilder:
        return NestBuilder(space, self.partition, self.position)

    def _nest_steps(self, builder: NestBuilder, depth: int) -> list[UnplacedStep]:
        """Return the steps of a loop nest, which is split if it is long."""
        ops = tuple([builder.covered[s] for s in sorted(builder.covered, key=self.position.__getitem__)])
        position = self.position[ops[-1].out]
        steps: list[UnplacedStep] = []
        if 0 in builder.nest.extents:
            builder.nest.drop_iterations()
            if not builder.nest.reductions:
                return steps
        for nest in split(builder.nest, self.draft.temporary):
            steps += steps_of_kernel(self.draft, self.draft.kernels.placed(nest), ops, depth, position)
        return steps

    def _gemm(self, op: Op) -> UnplacedStep:
        added = self.partition.addends.get(op.out)
        product = self.partition.products[op.out]
        kernel, slots, sizes, tasks, work = self.gemms.lower(
            product, self.avals[op.out].dtype, added is not None
        )
        depth, position = self.partition.depth[op.out], self.position[op.out]
        ops = (added[0], op) if added else (op,)
        return UnplacedStep(depth, position, ops, (*slots, op.out), kernel, sizes, tasks, work)

    def _lapack(self, op: Op) -> list[UnplacedStep]:
        """Return the step of a call of LAPACK, and the step that ends the run if it failed."""
        call = self.partition.lapack_calls[op.out]
        dtype = self.avals[call.matrix.slot].dtype
        lowered = lower_lapack(call, op, dtype, op.out in self.partition.overwritten, self.draft.target())
        depth, position = self.partition.depth[op.out], self.position[op.out]
        kernel, tasks = lowered.kernel, lowered.tasks
        slots = (*(call.slots[:-1] if kernel.in_place else call.slots), op.out)
        slots += tuple([self.draft.temporary(aval) for aval in lowered.scratch])
        checks = []
        if kernel.may_fail:
            failed = self.draft.temporary(Aval((tasks,), bool_))
            slots = (*slots, failed)
            checks.append(UnplacedStep(depth + 1, position, (op,), (failed,), Stop(()), (tasks,)))
        step = UnplacedStep(depth, position, (op,), slots, kernel, lowered.sizes, tasks, lowered.work)
        return [step, *checks]

    def _plans(self) -> dict[int, Plan | None]:
        """Return the plan of each loop and branch by its first slot; None if NumPy runs it.

        Compiled loops cannot read a stack of unknown length that NumPy has made: then NumPy runs all such loops.
        """
        avals = self.program.avals
        runs = {run[0].out: run for run in self.runs.values()}
        if not runs:
            return {}
        literals = {op.out: op for op in self.program.ops if constant_of(op.out, {op.out: op}) is not None}
        body, parallel = self.draft.schedule_body, self.draft.tile_rows
        plans = {slot: plan_of(run, avals, body, literals, parallel) for slot, run in runs.items()}
        stacking = [
            slot
            for slot, run in runs.items()
            if any(is_dynamic_dim(avals[s]) for s in (*run[0].args, *[op.out for op in run]))
        ]
        if any(plans[slot] is None for slot in stacking):
            plans.update(dict.fromkeys(stacking))
        return plans

    def _control(self, run: tuple[Op, ...], plan: Plan | None) -> UnplacedStep:
        """Return the step of a loop or a branch with all its results."""
        first = run[0].out
        depth, position = self.partition.depth[first], self.position[first]
        operands = (*run[0].args, *[op.out for op in run])
        if plan is None:
            return UnplacedStep(depth, position, run, operands, None)
        operands += tuple([self.draft.temporary(aval) for aval in plan.temporaries])
        tasks, work = plan.tasks, plan.work
        return UnplacedStep(
            depth, position, run, operands, plan.kernel, plan.words, tasks, work, bodies=plan.bodies
        )


def steps_of_kernel(
    draft: Draft, placed: Placed, ops: tuple[Op, ...], depth: int, position: int
) -> list[UnplacedStep]:
    """Return the step of a nest's kernel, and the steps that combine the partial results of its tasks."""
    slots = list(placed.slots)
    combining: list[UnplacedStep] = []
    extents = placed.sizes[: placed.kernel.depth]
    for operand, reductions in placed.partials:
        slot, nest = combination(draft, reductions, extents, placed.tasks)
        combined = draft.kernels.placed(nest)
        if not is_always(1, placed.tasks):
            slots[operand] = slot
            reduced = draft.partition.op_of[reductions[0].address.slot]
            combining += steps_of_kernel(draft, combined, (reduced,), depth, position)
        else:
            draft.spare[combined.kernel.name] = combined.kernel
    kernel, sizes = placed.kernel, placed.sizes
    step = UnplacedStep(depth, position, ops, tuple(slots), kernel, sizes, placed.tasks, placed.work, placed)
    step.combining = combining
    return [step, *combining]


def combination(
    draft: Draft, reductions: list[NestReduction], extents: tuple[int, ...], tasks: int
) -> tuple[int, LoopNest]:
    """Return a slot for the partial results of all tasks, and the loop nest that combines them."""
    first = reductions[0]
    size = first.partial
    partial = draft.temporary(Aval((tasks, size), first.dtype))
    kept = [axis for axis in range(len(extents)) if axis not in first.axes]
    nest = LoopNest((tasks, *[extents[axis] for axis in kept]))
    for r in reductions:
        terms = tuple([(kept.index(int(v)) + 1, f, s) for v, f, s in r.address.linear.terms])
        linear = r.address.linear._replace(terms=terms)
        of_all_tasks = linear._replace(terms=((0, size, False), *terms))
        value = len(nest.instructions)
        nest.instructions.append(Load(ConcreteAddress(partial, of_all_tasks), None, r.dtype))
        address = ConcreteAddress(r.address.slot, linear)
        nest.reductions.append(r._replace(address=address, value=value, axes=(0,)))
    return partial, nest


def _hosted(builders: list[NestBuilder]) -> list[NestBuilder]:
    """Return the loop nests of one depth; a nest with room for another one computes both."""
    kept: list[NestBuilder] = []
    for builder in sorted(builders, key=lambda b: b.nest.extents, reverse=True):
        host = next((b for b in kept if b.can_host(builder)), None)
        if host is None:
            kept.append(builder)
        else:
            host.host(builder)
    return kept
