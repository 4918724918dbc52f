"""Time loops that keep their state before some iterations and run iterations again in the backward pass.

With n iterations in segments of n ** 0.5, the memory is that of 2 * n ** 0.5 iterations, and the loop runs twice. With
k states in binomial distances, n = (k + r)! / (k! r!) iterations run r times at most and one iteration is recorded.
(Griewank and Walther, Evaluating Derivatives, 2008, chapter 12.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numba import types

from jittape.numba_ad.stack_sizes import trip_count_text
from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Constant,
    Function,
    Load,
    Loop,
    LoopPhi,
    Op,
    Resize,
    Root,
    Statement,
    Store,
    Value,
    View,
    inner_blocks,
    walk,
)

__all__ = ["Checkpoint", "find_checkpoints"]


NAMES = ("trips", "length", "count", "segment", "at", "end", "places", "top", "next", "step")
"""Names of a loop's variables, after that of its counter."""


def find_checkpoints(
    function: Function, checkpoint: int | str | None, excluded: set[Loop]
) -> dict[Loop, Checkpoint]:
    """Return the outermost loops over ranges that can run in segments; `excluded` loops record nothing."""
    if checkpoint is None:
        return {}
    roots = {one.root: one for one in function.arguments.values() if isinstance(one, Array)}
    for s in walk(function.body):
        result = getattr(s, "result", None)
        if isinstance(result, Array) and not isinstance(s, View):
            roots[result.root] = result
    found = {}
    for position, s in enumerate(function.body.statements):
        if any(isinstance(one, Op) and one.draws for one in walk(Block(statements=[s]))):
            continue  # a second run would draw other numbers
        if not isinstance(s, Loop) or s.counter is None or s.trips is not None or s in excluded:
            continue
        inside = {s.body, *inner_blocks(s.body)}
        changed = _roots(s.body.statements, Store)
        later = _roots(function.body.statements[position + 1 :], Store)
        changed |= {root: None for root in _read_roots(s.body.statements) if root in later}
        state = [roots[root] for root in changed if root.block not in inside]
        if isinstance(s.bounds[2], Constant) and not any(isinstance(one, Resize) for one in walk(s.body)):
            kind = BinomialCheckpoint if checkpoint == "binomial" else Checkpoint
            found[s] = kind(s, state, checkpoint)
    return found


def _roots(statements: list[Statement], kind: type) -> dict[Root, None]:
    """Return the memory that statements of a kind access, in order."""
    return dict.fromkeys(s.array.root for s in walk(Block(statements=statements)) if isinstance(s, kind))  # type: ignore[attr-defined]


def _read_roots(statements: list[Statement]) -> dict[Root, None]:
    """Return the memory that statements read, element by element or as a whole."""
    whole = [
        one.root
        for s in walk(Block(statements=statements))
        for one in getattr(s, "operands", ())
        if isinstance(one, Array)
    ]
    return _roots(statements, Load) | dict.fromkeys(whole)


class Checkpoint:
    """A loop in segments: the text that saves and restores its state, and the loop over one segment."""

    advance: Loop | None = None
    """The loop over iterations that run again before the segment."""

    def __init__(self, loop: Loop, state: list[Array], length: int | str) -> None:
        assert loop.counter is not None
        self._loop, self.state, self._length = loop, state, length
        name = loop.counter.name
        self._names = {one: f"{name}_{one}" for one in NAMES}
        bounds = [
            Value(self._names["at"], types.int64),
            Value(self._names["end"], types.int64),
            loop.bounds[2],
        ]
        phis = [
            LoopPhi(
                phi.inner,
                Value(f"{phi.inner.name}_at", phi.inner.type),
                Value(f"{phi.out.name}_end", phi.out.type),
                phi.next,
            )
            for phi in loop.phis
        ]
        self.segment = replace(loop, bounds=bounds, phis=phis)

    def before(self) -> list[str]:
        """Return the lines before the forward loop."""
        n = self._names
        square_root = f"max(1, int(math.sqrt({n['trips']})))"
        lines = [
            f"{n['trips']} = {trip_count_text(self._loop)}",
            f"{n['length']} = {square_root if self._length == 'sqrt' else self._length}",
            f"{n['count']} = ({n['trips']} + {n['length']} - 1) // {n['length']}",
            f"{n['segment']} = 0",
        ]
        return lines + self._allocations()

    def _allocations(self) -> list[str]:
        """Return the lines that allocate the saved states."""
        n, lines = self._names, []
        for phi in self._loop.phis:
            lines.append(
                f"{self._saved(phi.inner)} = new_empty(({n['count']}, ), np.{_dtype(phi.inner.type)})"
            )
        for one in self.state:
            sizes = "".join(f"{one.name}.shape[{axis}], " for axis in range(one.type.ndim))
            lines.append(
                f"{self._saved(one)} = new_empty(({n['count']}, {sizes}), np.{_dtype(one.type.dtype)})"
            )
        return lines

    def at_iteration(self) -> list[str]:
        """Return the lines at the beginning of each iteration of the forward loop."""
        n, counter = self._names, self._loop.counter
        assert counter is not None
        start, _, step = [x.name for x in self._loop.bounds]
        first = f"if {counter.name} == {start} + {n['segment']} * {n['length']} * {step}:"
        return [first, *self._save(n["segment"]), f"    {n['segment']} += 1"]

    def _save(self, place: str) -> list[str]:
        """Return the lines that save the state."""
        lines = [f"    {self._saved(phi.inner)}[{place}] = {phi.inner.name}" for phi in self._loop.phis]
        return lines + [f"    copy_into({self._saved(one)}[{place}], {one.name})" for one in self.state]

    def segments(self) -> str:
        """Return the head of the loop over the segments, the last one first."""
        return f"for {self._names['segment']} in range({self._names['count']} - 1, -1, -1):"

    def any_segment(self) -> str:
        """Return the head of a branch that runs if there is a segment."""
        return f"if {self._names['trips']} > 0:"

    def first_segment(self) -> str:
        """Return the line that selects the first segment."""
        return f"{self._names['segment']} = 0"

    def restore(self) -> list[str]:
        """Return the lines that set the state to that before a segment."""
        n = self._names
        start, _, step = [x.name for x in self._loop.bounds]
        lines = [
            f"{n['at']} = {start} + {n['segment']} * {n['length']} * {step}",
            f"{n['end']} = {start} + min({n['trips']}, ({n['segment']} + 1) * {n['length']}) * {step}",
        ]
        return lines + self._load(n["segment"])

    def after_advance(self) -> list[str]:
        """Return the lines between the iterations that run again and the segment."""
        return []

    def _load(self, place: str) -> list[str]:
        """Return the lines that set the state to a saved one."""
        lines = [f"{phi.inner.name}_at = {self._saved(phi.inner)}[{place}]" for phi in self._loop.phis]
        return lines + [f"copy_into({one.name}, {self._saved(one)}[{place}])" for one in self.state]

    def sizes(self) -> list[str]:
        """Return texts of the numbers of bytes of the saved states."""
        return [
            f"{self._saved(one)}.nbytes" for one in [*[phi.inner for phi in self._loop.phis], *self.state]
        ]

    def _saved(self, one: Any) -> str:
        """Return the name of the states of a variable or an array before each segment."""
        assert self._loop.counter is not None
        return f"{self._loop.counter.name}_{one.name}_saved"


class BinomialCheckpoint(Checkpoint):
    """A loop of segments of one iteration, with states in binomial distances.

    The iterations between the last state before a segment and the segment run again, and keep states that were freed.
    """

    def __init__(self, loop: Loop, state: list[Array], length: int | str) -> None:
        super().__init__(loop, state, length)
        phis = [replace(phi, out=phi.init) for phi in self.segment.phis]
        self.advance = replace(self.segment, phis=phis)

    def before(self) -> list[str]:
        """Return the lines before the forward loop."""
        n = self._names
        lines = [
            f"{n['trips']} = {trip_count_text(self._loop)}",
            f"{n['count']} = state_count({n['trips']})",
            f"{n['places']} = new_zeros(({n['count']}, ), np.int64)",
            f"{n['top']}, {n['next']}, {n['step']} = -1, 0, {n['trips']} - 1",
        ]
        return lines + self._allocations()

    def at_iteration(self) -> list[str]:
        """Return the lines at the beginning of each iteration that runs without a record."""
        n, counter = self._names, self._loop.counter
        assert counter is not None
        start, _, step = [x.name for x in self._loop.bounds]
        return [
            f"if {counter.name} == {start} + {n['next']} * {step}:",
            f"    {n['top']} += 1",
            f"    {n['places']}[{n['top']}] = {n['next']}",
            *self._save(n["top"]),
            f"    {self._choose_next()}",
        ]

    def segments(self) -> str:
        """Return the head of the loop over the iterations, the last one first."""
        return f"for {self._names['step']} in range({self._names['trips']} - 1, -1, -1):"

    def first_segment(self) -> str:
        """Return the line that selects the first iteration."""
        return f"{self._names['step']} = 0"

    def restore(self) -> list[str]:
        """Return the lines that set the state to the last one that is kept before an iteration."""
        n = self._names
        start, _, step = [x.name for x in self._loop.bounds]
        return [
            f"while {n['places']}[{n['top']}] > {n['step']}:",
            f"    {n['top']} -= 1",
            f"{n['next']} = {n['places']}[{n['top']}]",
            f"{n['at']} = {start} + {n['next']} * {step}",
            f"{n['end']} = {start} + {n['step']} * {step}",
            *self._load(n["top"]),
            self._choose_next(),
        ]

    def after_advance(self) -> list[str]:
        """Return the lines between the iterations that run again and the one that is recorded."""
        n, step = self._names, self._loop.bounds[2].name
        return [f"{n['at']} = {n['end']}", f"{n['end']} += {step}"]

    def _choose_next(self) -> str:
        n = self._names
        steps = f"{n['step']} + 1 - {n['next']}"
        return f"{n['next']} += steps_to_next_state({steps}, {n['count']} - 1 - {n['top']})"


def _dtype(kind: Any) -> str:
    return "bool_" if kind == types.boolean else str(kind)
