"""Donation: results that are computed in the memory of an input, as in ``w.assign_add(x)``."""

from __future__ import annotations

from dataclasses import replace

from jittape.compile.ir.instructions import Compute, Load
from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.control.control_driver import single_buffers
from jittape.compile.schedule.rules import Rule, broken_rule
from jittape.compile.schedule.unplaced_steps import (
    Draft,
    UnplacedStep,
    first_in_place,
    writes_and_updates,
    written,
)
from jittape.core.locks import cached_property

__all__ = ["update_in_place"]


def update_in_place(draft: Draft) -> None:
    """Choose the inputs whose memory a result takes, and the kernels that then read and write this memory.

    ``draft.in_place`` already has the inputs that a product is added to. In a body, a result takes the memory of a
    carry only if it is a copy of it in which the body, or a loop or branch in it, changes a few elements or none. All
    other carries of a loop alternate between two buffers anyway, so they cost nothing more.
    """
    if draft.is_body:
        _share_buffers(draft)
    # The buffer of a carry is the loop's own: if the run ends early, its values are discarded.
    first = 0 if draft.is_body else first_in_place(draft.steps)
    if first == len(draft.steps):
        return
    for position, output in draft.donated:
        exchange = _Exchange(draft, position, output, first)
        if exchange.x in draft.in_place:
            continue
        if exchange.copy is not None:
            exchange.drop_copy()
            continue
        if draft.is_body:
            exchange.hand_through()
            continue
        broken = broken_rule(_RULES, exchange)
        if broken is None:
            exchange.apply()
        else:
            draft.decisions.append(
                f"%{exchange.owner} does not take the memory of %{exchange.x}; broken rule: {broken}"
            )


def _share_buffers(draft: Draft) -> None:
    """Keep arrays that a loop or branch has in one buffer in the memory of their first value, if that ends there."""
    for number, step in enumerate(draft.steps):
        made = {op.out for op in step.ops}
        for start, result in single_buffers(step.kernel, step.sizes):
            slot, out = step.operands[start], step.operands[result]
            if out in made and _ends_at(draft, number, slot, out):
                (owner,) = draft.owners([slot])
                draft.owner_of.update((s, owner) for s, o in draft.owner_of.items() if o == out)
                draft.owner_of[out] = owner


def _ends_at(draft: Draft, number: int, slot: int, out: int) -> bool:
    """Return whether a value made in the body is last read by the loop or branch that begins with it."""
    (owner,) = draft.owners([slot])
    own = draft.owners(draft.steps[number].operands)
    return (
        (slot == owner or slot in draft.partition.overwritten)
        and owner not in draft.program.inputs
        and owner not in draft.owners(draft.program.outputs)
        and owner not in draft.owners(list(draft.partition.addends))
        and draft.avals[slot] == draft.avals[out]
        and own.count(owner) == 1
        and all(owner not in draft.owners(later.operands) for later in draft.steps[number + 1 :])
    )


class _Exchange:
    """An input that is given away and the result that may take its memory."""

    def __init__(self, draft: Draft, position: int, output: int, first: int) -> None:
        self.draft = draft
        self.x = draft.program.inputs[position]
        (self.owner,) = draft.owners(draft.program.outputs[output : output + 1])
        self.first = first

    @cached_property
    def owners(self) -> list[list[int]]:
        """The owners of the operands of each step."""
        return [self.draft.owners(step.operands) for step in self.draft.steps]

    @cached_property
    def writers(self) -> list[int]:
        """The numbers of the steps that write the result."""
        steps = zip(self.draft.steps, self.owners, strict=True)
        return [i for i, (step, owners) in enumerate(steps) if self.owner in written(step, owners)]

    @cached_property
    def copy(self) -> UnplacedStep | None:
        """The step that copies the input to the result; None unless the other writers change single elements of it.

        In a body there may be no other writers: a branch that changes nothing.
        """
        copy = self.beginning
        may_drop = copy is not None and (self.draft.is_body or len(self.writers) > 1)
        return copy if may_drop and copy is not None and _is_copy(copy, self.draft, self.x) else None

    @cached_property
    def beginning(self) -> UnplacedStep | None:
        """The step that writes the whole result, if all other writers change elements of it."""
        steps = [self.draft.steps[i] for i in self.writers]
        changing = [step for step in steps if self.owner in _changed(step, self.draft)]
        whole = [step for step in steps if step not in changing] or steps
        return whole[0] if len(whole) == 1 else None

    def drop_copy(self) -> None:
        """Let the result take the input's memory instead of a copy, whose elements later steps change."""
        copy = self.copy
        broken = broken_rule(_COPY_RULES, self)
        if broken is None:
            self.draft.steps = [step for step in self.draft.steps if step is not copy]
            self.draft.in_place[self.x] = self.owner, True
        else:
            self.draft.decisions.append(f"%{self.owner} is a copy of %{self.x}; broken rule: {broken}")

    def hand_through(self) -> None:
        """Let the result of an inner loop take the input's memory, if that loop begins with it in one buffer."""
        begin = self.beginning
        if begin is None or not _begins_in(begin, self.draft, self.x, self.owner):
            return
        broken = broken_rule(_HANDED_RULES, self)
        if broken is None:
            self.draft.in_place[self.x] = self.owner, True
        else:
            self.draft.decisions.append(f"%{self.owner} is no buffer of %{self.x}; broken rule: {broken}")

    @property
    def changes_from(self) -> int:
        """The number of the first step that changes elements of the copy; the number of steps if none does."""
        others = [i for i in self.writers if self.draft.steps[i] is not self.copy]
        return min(others, default=len(self.draft.steps))

    @property
    def writer(self) -> int:
        """The number of the only step that writes the result."""
        return self.writers[0]

    @property
    def step(self) -> UnplacedStep:
        """The only step that writes the result."""
        return self.draft.steps[self.writer]

    @property
    def is_read(self) -> bool:
        """Return whether the step that writes the result reads the input."""
        return self.x in self.owners[self.writer]

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel of the step with input and result as one operand; None if it cannot be."""
        owners, kernel = self.owners[self.writer], self.step.kernel
        if not isinstance(kernel, LoopKernel):
            return None
        return kernel.in_place(owners.index(self.x), owners.index(self.owner))

    def apply(self) -> None:
        """Note the exchange; a kernel that reads the input gets one operand for both."""
        if self.is_read:
            read = self.owners[self.writer].index(self.x)
            operands = self.step.operands[:read] + self.step.operands[read + 1 :]
            self.draft.steps[self.writer] = replace(self.step, kernel=self.kernel, operands=operands)
        self.draft.in_place[self.x] = self.owner, self.is_read


def _changed(step: UnplacedStep, draft: Draft) -> list[int]:
    """Return the owners of the arrays that a step changes some elements of."""
    return writes_and_updates(step, draft.owners(step.operands))[1]


def _is_copy(step: UnplacedStep, draft: Draft, x: int) -> bool:
    """Return whether all that a step does is to copy `x`."""
    nest = step.nest
    if nest is None or len(nest.stores) != 1 or not nest.instructions or nest.reductions:
        return False
    (load, *rest), (store,) = nest.instructions, nest.stores
    if not all(isinstance(one, Compute) and one.primitive.is_identity for one in rest):
        return False
    return (
        isinstance(load, Load)
        and load.mask is None
        and draft.owners([load.address.slot]) == [x]
        and load.address.linear == store.address.linear
        and not (store.scan or store.scatter)
    )


def _begins_in(step: UnplacedStep, draft: Draft, x: int, owner: int) -> bool:
    """Return whether a step is a loop with one buffer, `owner`, for a carry that begins as `x`."""
    owners = draft.owners(step.operands)
    pairs = [(owners[a], owners[b]) for a, b in single_buffers(step.kernel, step.sizes)]
    return (x, owner) in pairs and owners.count(x) == 1


def _is_free(e: _Exchange) -> bool:
    return e.owner not in e.draft.program.inputs and e.owner not in [s for s, _ in e.draft.in_place.values()]


def _is_added_to(e: _Exchange) -> bool:
    return e.owner in e.draft.owners(list(e.draft.partition.addends))


def _may_be_read_by_later_blocks(e: _Exchange) -> bool:
    tile = e.step.tile
    return tile is not None and (e.x in tile.whole or e.owner in tile.whole)


_COPY_RULES: tuple[Rule[_Exchange], ...] = (
    Rule("the result needs memory", _is_free),
    Rule("the input is no output", lambda e: e.x not in e.draft.owners(e.draft.program.outputs)),
    Rule("shape and dtype are the same", lambda e: e.draft.avals[e.x] == e.draft.avals[e.owner]),
    Rule("no product is added to the result", lambda e: not _is_added_to(e)),
    Rule("the run cannot end after the first change", lambda e: e.changes_from >= e.first),
    Rule(
        "no step reads the input after that", lambda e: all(e.x not in o for o in e.owners[e.changes_from :])
    ),
    Rule("no steps run in tiles", lambda e: all(e.draft.steps[i].tile is None for i in e.writers)),
)

_HANDED_RULES: tuple[Rule[_Exchange], ...] = (
    Rule("the result needs memory", _is_free),
    Rule("the input is no output", lambda e: e.x not in e.draft.owners(e.draft.program.outputs)),
    Rule("no product is added to the result", lambda e: not _is_added_to(e)),
    Rule("no later step reads the input", lambda e: all(e.x not in o for o in e.owners[e.writers[0] + 1 :])),
)

_RULES: tuple[Rule[_Exchange], ...] = (
    Rule("the result needs memory", _is_free),
    Rule("the input is no output", lambda e: e.x not in e.draft.program.outputs),
    Rule("shape and dtype are the same", lambda e: e.draft.avals[e.x] == e.draft.avals[e.owner]),
    Rule("no product is added to the result", lambda e: not _is_added_to(e)),
    Rule("one step writes the result", lambda e: len(e.writers) == 1),
    Rule("the run cannot end from that step on", lambda e: e.writer >= e.first),
    Rule("no later step reads the input", lambda e: all(e.x not in own for own in e.owners[e.writer + 1 :])),
    Rule("the step reads the input once", lambda e: e.owners[e.writer].count(e.x) <= 1),
    Rule("no later block reads the input", lambda e: not _may_be_read_by_later_blocks(e)),
    Rule(
        "the kernel reads each element before it writes it", lambda e: not e.is_read or e.kernel is not None
    ),
)
