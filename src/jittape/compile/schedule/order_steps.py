"""The order of steps: each step runs after all steps that it depends on, and checks run early."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

from jittape.compile.schedule.unplaced_steps import Draft, UnplacedStep, writes_and_updates

__all__ = ["order_steps"]


def order_steps(draft: Draft) -> None:
    """Order the steps such that each runs after all that it depends on, and checks run early.

    Among the steps that can run, one of the least depth comes first; at equal depth, a check or a step that a check
    depends on.
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

    Memory is written, in any order of its writers, then updated, in order of depth, and only then read.
    """
    steps = draft.steps
    before: list[set[int]] = [set() for _ in steps]
    writers: dict[int, list[int]] = {}
    updaters: dict[int, list[int]] = {}
    owners = [draft.owners(step.operands) for step in steps]
    for number in sorted(range(len(steps)), key=lambda number: steps[number].depth):
        writes, updates = writes_and_updates(steps[number], owners[number])
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
