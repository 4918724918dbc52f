"""Versions of memory that steps update one after another, and the steps that read each version.

A `Scatter` may write into the memory of the array that it changes. Both slots then have one owner, and each slot is a
version of the memory: steps that read the earlier version must run before the update.
"""

from __future__ import annotations

from jittape.compile.schedule.unplaced_steps import Draft, UnplacedStep, writes_and_updates
from jittape.errors import ProgramError

__all__ = ["Versions", "check_versions"]


class Versions:
    """The steps that write and update the memory of an owner, by number.

    Attributes
    ----------
    writers : dict
        For an owner, the steps that write it as a whole.
    updaters : dict
        For an owner, the steps that update it, in order of depth.
    """

    def __init__(self, draft: Draft) -> None:
        steps = draft.steps
        self.writers: dict[int, list[int]] = {}
        self.updaters: dict[int, list[int]] = {}
        self._version: dict[int, int] = {}
        owners = [draft.owners(step.operands) for step in steps]
        for number in sorted(range(len(steps)), key=lambda number: steps[number].depth):
            writes, updates = writes_and_updates(steps[number], owners[number])
            written, starts = set(writes), _starts(steps[number])
            for slot, owner in zip(steps[number].operands, owners[number], strict=True):
                if owner in updates and slot not in starts:
                    self._version[slot] = len(self.updaters.setdefault(owner, []))
                    self.updaters[owner].append(number)
                elif owner in written:
                    self._version.setdefault(slot, -1)
                    self.writers.setdefault(owner, []).append(number)

    def of(self, slot: int, owner: int) -> int:
        """Return the number of the update, among those of `owner`, that makes `slot`; -1 for the first version."""
        return self._version.get(slot, len(self.updaters.get(owner, ())) - 1)


def _starts(step: UnplacedStep) -> set[int]:
    """Return the operands of a loop or branch that it only reads; it may update their memory as that of a result."""
    return set(step.operands) - {op.out for op in step.ops} if step.bodies else set()


def check_versions(draft: Draft) -> None:
    """Raise `ProgramError` if a step reads memory before the update that makes its operand, or after the next one."""
    versions = Versions(draft)
    if not versions.updaters:
        return
    done: dict[int, int] = {}
    for number, step in enumerate(draft.steps):
        owners = draft.owners(step.touched)
        starts = _starts(step)
        for slot, owner in zip(step.touched, owners, strict=True):
            own = versions.updaters.get(owner)
            if own is None or number in versions.writers.get(owner, ()):
                continue
            wanted, found = versions.of(slot, owner), done.get(owner, -1)
            if wanted != found + (number in own and slot not in starts):
                raise ProgramError(
                    f"step {number} needs version {wanted} of %{owner}, as %{slot}, but finds {found}\n{draft}"
                )
        for owner in dict.fromkeys(owners):
            if number in versions.updaters.get(owner, ()):
                done[owner] = done.get(owner, -1) + 1
