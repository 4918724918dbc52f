"""Results in the memory of inputs that are given away, as for ``w.assign_add(x)``."""

from __future__ import annotations

from dataclasses import replace

from jittape.compile.ir.kernel import Kernel, LoopKernel
from jittape.compile.schedule.rules import Rule, broken_rule
from jittape.compile.schedule.unplaced_steps import Draft, UnplacedStep, first_in_place, written
from jittape.core.locks import cached_property

__all__ = ["update_in_place"]


def update_in_place(draft: Draft) -> None:
    """Find the inputs whose memory a result takes, and the kernels that then read and write it.

    Inputs in ``draft.in_place``, which a product is added to, have been found before.
    """
    first = first_in_place(draft.steps)
    if first == len(draft.steps):
        return
    for position, output in draft.donated:
        exchange = _Exchange(draft, position, output, first)
        if exchange.x in draft.in_place:
            continue
        broken = broken_rule(_RULES, exchange)
        if broken is None:
            exchange.apply()
        else:
            draft.decisions.append(
                f"%{exchange.owner} does not take the memory of %{exchange.x}; broken rule: {broken}"
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


def _is_free(e: _Exchange) -> bool:
    return e.owner not in e.draft.program.inputs and e.owner not in [s for s, _ in e.draft.in_place.values()]


def _is_added_to(e: _Exchange) -> bool:
    return e.owner in e.draft.owners(list(e.draft.partition.addends))


def _may_be_read_by_later_blocks(e: _Exchange) -> bool:
    return e.step.tile is not None and e.x in e.step.tile.whole


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
