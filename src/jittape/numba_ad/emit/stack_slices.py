"""Slices of the stacks for loops whose iterations all record the same values.

Each recorded value of such a loop has a slice with one element per iteration, so the iterations can run backward in any
order. LLVM vectorizes accesses to slices, because their indices begin at zero, but none to the top of a stack: the
gradient of NPBench's trmm takes 104 us instead of 303.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from jittape.numba_ad.emit.kept_arrays import PopArray
from jittape.numba_ad.emit.restore_actions import Branch, Pop
from jittape.numba_ad.recording_plan import Plan
from jittape.numba_ad.structured_ir import Constant, Loop, walk

__all__ = ["StackSlices", "find_slices"]

FEWEST = 8
"""Number of iterations below which a loop of constant bounds uses the top of the stack. A slice takes 5 ns."""


@dataclass(frozen=True)
class StackSlices:
    """The slices of one loop: the values that each of its iterations records."""

    loop: Loop
    pops: list[Pop]

    def begin(self, plan: Plan, reserved: bool) -> list[str]:
        """Return the lines before the loop of the forward pass; the stacks may be `reserved` for it."""
        lines = [f"{self._trips} = {self.trip_count}"]
        counts = Counter(pop.stack for pop in self.pops)
        for stack in sorted(counts if not reserved else ()):
            lines.append(f"{stack} = reserve({stack}, {stack}_at, {self._trips} * {counts[stack]})")
        for pop in self.pops:
            lines.append(f"{self._slice(pop)}  # kept: {plan.reason(pop.value)}")
            lines.append(f"{pop.stack}_at += {self._trips}")
        return lines

    def begin_backward(self) -> list[str]:
        """Return the lines before the loop of the backward pass."""
        lines = [f"{self._trips} = {self.trip_count}"]
        for pop in reversed(self.pops):
            lines += [f"{pop.stack}_at -= {self._trips}", self._slice(pop)]
        return lines

    def element(self, pop: Pop) -> str:
        """Return the text of the element of the current iteration."""
        assert self.loop.counter is not None
        counter, start = self.loop.counter.name, self.loop.bounds[0].name
        if self.loop.bounds[2].value < 0:
            return f"{pop.value.name}_kept[{start} - {counter}]"
        return f"{pop.value.name}_kept[{counter}{'' if start == '0' else f' - {start}'}]"

    @property
    def trip_count(self) -> str:
        """Text of the number of iterations."""
        start, stop, step = self.loop.bounds
        low, high = (start.name, stop.name) if step.value > 0 else (stop.name, start.name)
        return f"max(0, {high}{'' if low == '0' else f' - {low}'})"

    @property
    def _trips(self) -> str:
        assert self.loop.counter is not None
        return f"{self.loop.counter.name}_trips"

    def _slice(self, pop: Pop) -> str:
        stack = pop.stack
        return f"{pop.value.name}_kept = {stack}[{stack}_at : {stack}_at + {self._trips}]"


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
