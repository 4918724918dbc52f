"""The order of steps: each step runs after all steps that it depends on, and checks run early."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

from jittape.compile.schedule.unplaced_steps import Draft, UnplacedStep
from jittape.compile.schedule.versions import Versions

__all__ = ["order_steps"]


def order_steps(draft: Draft) -> None:
    """Order the steps such that each runs after all that it depends on, and checks run early.

    Of the steps that can run, one of the least depth comes first. At equal depth, a check, or a step that a check
    depends on, comes first.
    """
    steps = draft.steps
    before = _predecessors(draft)
    urgent = _needed_by_checks(steps, before)

    def priority(number: int) -> tuple[int, int, int, int]:
        step = steps[number]
        if _is_check(step):
            return step.depth - 1, 1, step.position, number
        return step.depth, 0 if number in urgent else 2, step.position, number

    after: list[list[int]] = [[] for _ in steps]
    for number, needed in enumerate(before):
        for other in needed:
            after[other].append(number)
    missing = [len(needed) for needed in before]
    ready = [priority(number) for number, count in enumerate(missing) if not count]
    heapify(ready)
    found: list[UnplacedStep] = []
    while ready:
        number = heappop(ready)[-1]
        found.append(steps[number])
        for other in after[number]:
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, priority(other))
    assert len(found) == len(steps), "steps depend on each other in a cycle"
    draft.steps = found


def _predecessors(draft: Draft) -> list[set[int]]:
    """Return for each step the numbers of those that must run before it.

    Memory is written, in any order of its writers, then updated, in order of depth. A step that reads it runs after the
    update that makes its operand, and before the next one.
    """
    before: list[set[int]] = [set() for _ in draft.steps]
    versions = Versions(draft)
    for owner, own in versions.updaters.items():
        before[own[0]].update(versions.writers.get(owner, ()))
        for earlier, later in pairwise(own):
            before[later].add(earlier)
    for number, step in enumerate(draft.steps):
        for slot, owner in zip(step.operands, draft.owners(step.operands), strict=True):
            writers, updaters = versions.writers.get(owner, ()), versions.updaters.get(owner, ())
            if number in writers or number in updaters:
                continue
            version = versions.of(slot, owner)
            before[number].update(writers if version < 0 else (updaters[version],))
            for later in updaters[version + 1 : version + 2]:
                before[later].add(number)
    return before


def _needed_by_checks(steps: list[UnplacedStep], before: list[set[int]]) -> set[int]:
    """Return the numbers of the steps that a check depends on and that have the depth of a dependent."""
    needed: set[int] = set()
    waiting = [other for number, step in enumerate(steps) if _is_check(step) for other in before[number]]
    while waiting:
        number = waiting.pop()
        if number not in needed:
            needed.add(number)
            waiting += [other for other in before[number] if steps[other].depth == steps[number].depth]
    return needed


def _is_check(step: UnplacedStep) -> bool:
    return step.effectful and not step.bodies
