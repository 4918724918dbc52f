"""Temporaries that are computed in the memory of an operand that ends there: fewer arrays, and fewer fresh pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.schedule.rules import Rule, broken_rule
from jittape.compile.schedule.unplaced_steps import Draft, UnplacedStep
from jittape.core.program import is_dynamic_dim
from jittape.core.symbolic.extent_functions import is_about_at_most, is_open
from jittape.core.tuning import tuning

__all__ = ["overwrite_operands"]


def overwrite_operands(draft: Draft) -> None:
    """Let each kernel write a temporary over an operand that it is the last to read, if it reads what it writes.

    Attention over 1,000 rows with its gradient then keeps three arrays of 1,000 by 1,000 numbers instead of four.
    """
    lives = _Lives(draft)
    for number, step in enumerate(draft.steps):
        if isinstance(step.kernel, LoopKernel):
            draft.steps[number] = _overwriting(draft, lives, number, step)


def _overwriting(draft: Draft, lives: _Lives, number: int, step: UnplacedStep) -> UnplacedStep:
    """Return the step with as many of its results as possible in the memory of operands."""
    # First, since a program of many numbers has thousands of pairs: one of 40 assignments `x[i] = ...` had 15,083.
    large = [owner for owner in draft.owners(step.operands) if not _is_known_to_be_small(draft, owner)]
    written = [y for y in large if lives.begins(y, number)]
    for x in [x for x in large if lives.ends(x, number)]:
        for y in written:
            pair = _Pair(draft, lives, step, x, y)
            if broken_rule(_RULES, pair) is None:
                step = pair.applied()
                written.remove(y)
                break
    return step


class _Lives:
    """The first and the last step of every temporary."""

    def __init__(self, draft: Draft) -> None:
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        for number, step in enumerate(draft.steps):
            for owner in draft.owners(step.operands):
                self.first.setdefault(owner, number)
                self.last[owner] = number
        self._fixed = {*draft.owners(draft.program.inputs), *draft.owners(draft.program.outputs)}
        self._kernels: dict[tuple[int, int, int], tuple[LoopKernel, LoopKernel | None]] = {}

    def ends(self, owner: int, number: int) -> bool:
        """Return whether a temporary of earlier steps is last read by a step."""
        return self.last[owner] == number > self.first[owner] and owner not in self._fixed

    def begins(self, owner: int, number: int) -> bool:
        """Return whether a step is the first that writes a temporary."""
        return self.first[owner] == number and owner not in self._fixed

    def in_place(self, kernel: LoopKernel, read: int, written: int) -> LoopKernel | None:
        """Return ``kernel.in_place(read, written)``, which is computed once for steps with the same kernel."""
        key = id(kernel), read, written
        if key not in self._kernels:
            self._kernels[key] = kernel, kernel.in_place(read, written)
        return self._kernels[key][1]


class _Pair:
    """An operand `x` that a step is the last to read, and a temporary `y` that the step is the first to write."""

    def __init__(self, draft: Draft, lives: _Lives, step: UnplacedStep, x: int, y: int) -> None:
        self.draft, self.lives, self.step, self.x, self.y = draft, lives, step, x, y
        self.owners = draft.owners(step.operands)
        self.read, self.written = self.owners.index(x), self.owners.index(y)

    @property
    def kernel(self) -> LoopKernel | None:
        """The kernel with one operand for both; None if it cannot be."""
        assert isinstance(self.step.kernel, LoopKernel)
        return self.lives.in_place(self.step.kernel, self.read, self.written)

    def nbytes(self, owner: int) -> int:
        """Return the bytes of memory that a temporary needs, in a tile loop for one block of rows."""
        tile = self.step.tile
        return (
            self.draft.avals[owner].nbytes if tile is None or owner not in tile.moved else tile.moved[owner]
        )

    def applied(self) -> UnplacedStep:
        """Return the step with one operand for both."""
        operands: Sequence[int] = self.step.operands
        return replace(
            self.step,
            kernel=self.kernel,
            operands=(*operands[: self.read], *operands[self.read + 1 :]),
            overwritten=(*self.step.overwritten, (operands[self.read], self.y)),
        )


def _is_known_to_be_small(draft: Draft, owner: int) -> bool:
    """Return whether the size of a value is below the threshold and no extent, so that the question adds no guard."""
    nbytes = draft.avals[owner].nbytes
    return not is_open(nbytes) and nbytes <= tuning.separate_bytes


def _is_grown(pair: _Pair) -> bool:
    return any(is_dynamic_dim(pair.draft.avals[owner]) for owner in (pair.x, pair.y))


def _have_equal_sizes(pair: _Pair) -> bool:
    """Return whether both need the same memory, for all values of extents; this adds no guard."""
    difference = pair.nbytes(pair.x) - pair.nbytes(pair.y)
    return type(difference) is int and difference == 0


def _are_in_one_region(pair: _Pair) -> bool:
    """Return whether both are in the memory of the same tile loop, or both outside of any."""
    tile = pair.step.tile
    return tile is None or ((pair.x in tile.moved) == (pair.y in tile.moved) and pair.x not in tile.whole)


_RULES: tuple[Rule[_Pair], ...] = (
    Rule("the kernel writes one and reads the other", lambda p: p.x != p.y),
    Rule("the step has each of them once", lambda p: p.owners.count(p.x) == p.owners.count(p.y) == 1),
    Rule("neither grows", lambda p: not _is_grown(p)),
    Rule("no later block reads the operand", _are_in_one_region),
    Rule("sizes are equal", _have_equal_sizes),
    Rule("dtypes are equal", lambda p: p.draft.avals[p.x].dtype == p.draft.avals[p.y].dtype),
    Rule("the kernel reads each element before it writes it", lambda p: p.kernel is not None),
    Rule("it is large", lambda p: not is_about_at_most(p.draft.avals[p.y].nbytes, tuning.separate_bytes)),
)
