"""Slices of the stacks for loops whose iterations all record the same values.

Such a loop has one slice of each stack, where each recorded value has one element per iteration, so the iterations can
run backward in any order. LLVM vectorizes accesses to slices, because their indices begin at zero, but none to the top
of a stack: the gradient of NPBench's trmm takes 104 us instead of 303.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from jittape.numba_ad.emit.kept_arrays import PopArray
from jittape.numba_ad.emit.restore_actions import Branch, Pop
from jittape.numba_ad.recording_plan import Plan
from jittape.numba_ad.stack_sizes import trip_count_text
from jittape.numba_ad.structured_ir import Constant, Loop, walk

__all__ = ["StackSlices", "find_slices"]

FEWEST = 8
"""Number of iterations below which a loop of constant bounds uses the top of the stack. A slice takes 5 ns."""


@dataclass(frozen=True)
class StackSlices:
    """The slices of one loop: the values that each of its iterations records, one after the other in one part."""

    loop: Loop
    pops: list[Pop]

    def begin(self, reserved: bool) -> list[str]:
        """Return the lines before the loop of the forward pass; the stacks may be `reserved` for it."""
        lines = [f"{self._trips} = {trip_count_text(self.loop)}"]
        for stack, size in self._sizes():
            if not reserved:
                lines.append(f"{stack} = reserve({stack}, {stack}_at, {size})")
            lines += [self._part(stack, size), f"{stack}_at += {size}"]
        return lines

    def begin_backward(self) -> list[str]:
        """Return the lines before the loop of the backward pass."""
        lines = [f"{self._trips} = {trip_count_text(self.loop)}"]
        for stack, size in self._sizes():
            lines += [f"{stack}_at -= {size}", self._part(stack, size)]
        return lines

    def element(self, pop: Pop) -> str:
        """Return the text of the element of the current iteration."""
        assert self.loop.counter is not None
        counter, start = self.loop.counter.name, self.loop.bounds[0].name
        if self.loop.bounds[2].value < 0:
            place = f"{start} - {counter}"
        else:
            place = f"{counter}{'' if start == '0' else f' - {start}'}"
        before = [one for one in self.pops if one.stack == pop.stack].index(pop)
        offset = f"{self._product(before)} + " if before else ""
        return f"{counter}_{pop.stack}[{offset}{place}]"

    @property
    def _trips(self) -> str:
        assert self.loop.counter is not None
        return f"{self.loop.counter.name}_trips"

    def _sizes(self) -> list[tuple[str, str]]:
        """Return the stacks and the texts of how many values the loop records on each."""
        counts = Counter(pop.stack for pop in self.pops)
        return [(stack, self._product(counts[stack])) for stack in sorted(counts)]

    def _product(self, count: int) -> str:
        return self._trips if count == 1 else f"{count} * {self._trips}"

    def _part(self, stack: str, size: str) -> str:
        # Numba takes 13 ms to compile a slice of an array.
        assert self.loop.counter is not None
        return f"{self.loop.counter.name}_{stack} = {stack}[{stack}_at : {stack}_at + {size}]"


def find_slices(loop: Loop, actions: list[Any], plan: Plan, records: bool) -> StackSlices | None:
    """Return the slices of a loop; None if it uses the top of the stacks.

    `actions` make available what the adjoints of an iteration need; `records` is whether an inner loop records values.
    """
    segments = [one for pair in plan.checkpoints.items() for one in (pair[0], pair[1].segment)]
    if loop.counter is None or loop.trips is not None or records or loop in segments:
        return None
    start, stop, step = loop.bounds
    if not isinstance(step, Constant) or step.value not in (1, -1):
        return None
    if isinstance(start, Constant) and isinstance(stop, Constant) and abs(stop.value - start.value) < FEWEST:
        return None
    if any(isinstance(one, PopArray) or (isinstance(one, Branch) and _pops(one)) for one in actions):
        return None
    if any(plan.saved.of_loop.get(one) for one in walk(loop.body) if isinstance(one, Loop)):
        return None
    pops = [one for one in actions if isinstance(one, Pop)]
    return StackSlices(loop, pops) if pops else None


def _pops(branch: Branch) -> bool:
    """Return whether a branch takes something from a stack."""
    return any(
        isinstance(one, (Pop, PopArray)) or (isinstance(one, Branch) and _pops(one))
        for one in [*branch.then, *branch.orelse]
    )
