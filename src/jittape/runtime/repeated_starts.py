"""Starts of slices that are the same at each visit of a path, as in the gradient of ``f(P[:, 0], P[:, 1])``.

A plain tape records the ints of a key as run-time inputs, so that one path serves all of them. `join_parts` needs known
starts to write all columns of a gradient in one pass, which computes each of them once: 6 instead of 37 ms of processor
time for 10⁶ × 5 numbers. So a path with such parts whose first visits had equal starts is compiled for these values.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from jittape.core.forms import Pad
from jittape.core.program import Op, Program
from jittape.core.tuning import tuning

__all__ = ["RepeatedStarts"]


class RepeatedStarts:
    """The starts of parts that a program pads with zeros, and their values at its first visit.

    The starts of a program with extents are shared by its paths for all lengths.

    Parameters
    ----------
    slots : sequence of int
        Their input slots.
    positions : sequence of int
        Their positions in the runtime inputs.
    inputs : sequence
        The runtime inputs of the first visit.

    Attributes
    ----------
    slots : tuple of int
    are_repeated : bool
        Whether all visits had the same starts.
    """

    __slots__ = ("_read", "_values", "are_repeated", "slots")

    def __init__(self, slots: Sequence[int], positions: Sequence[int], inputs: Sequence[Any]) -> None:
        self.slots = tuple(slots)
        self._read = itemgetter(*positions)
        self._values = self._read(inputs)
        self.are_repeated = True

    @classmethod
    def of(
        cls, program: Program, picks: Sequence[int], scalars: frozenset[int], inputs: Sequence[Any]
    ) -> RepeatedStarts | None:
        """Return the starts of a program; None if it adds no parts of an array, or is long.

        A long program is scheduled in segments, and different starts would make equal segments different.
        """
        if not scalars or len(program.ops) >= tuning.segmented_program_ops:
            return None
        pads = [op for op in program.ops if isinstance(op.primitive.lowering, Pad)]
        found = dict.fromkeys([slot for slot in _joined_starts(program, pads) if slot in scalars])
        position = dict(zip(program.inputs, picks, strict=True))
        return cls(list(found), [position[slot] for slot in found], inputs) if found else None

    def hold(self, inputs: Sequence[Any]) -> bool:
        """Return whether the starts have the values of the first visit, as at all visits before."""
        if self._read(inputs) != self._values:
            self.are_repeated = False
        return self.are_repeated

    def bound(self, program: Program) -> Program:
        """Return `program` with the starts as constants, and without their inputs."""
        from jittape.compile.rewrite.bind_constants import bind_constants  # its package imports LLVM

        values = (self._values,) if len(self.slots) == 1 else self._values
        constants = dict(zip(self.slots, values, strict=True))
        return _without_inputs(bind_constants(program, constants), self.slots)

    def picks_without(self, program: Program, picks: Sequence[int]) -> tuple[int, ...]:
        """Return the picks of the bound program, from those of `program`."""
        pairs = zip(program.inputs, picks, strict=True)
        return tuple([pick for slot, pick in pairs if slot not in self.slots])


def _joined_starts(program: Program, pads: Sequence[Op]) -> list[int]:
    """Return the slots of starts of parts of large arrays that have several, with room for all side by side."""
    if len(pads) < 2:
        return []
    from jittape.compile.rewrite.join_parts import part_region  # `import jittape` imports no compiler

    found = dict[Any, list[tuple[int, tuple[int, ...]]]]()
    for op in pads:
        region, whole = part_region(op), program.avals[op.out]
        if region is not None and whole.size >= tuning.repeated_starts_min_elements:
            found.setdefault((whole, region.axes[0]), []).append((region.sizes[0], op.args[1:]))
    return [
        slot
        for (whole, axis), parts in found.items()
        if len(parts) > 1 and sum([size for size, _ in parts]) <= whole.shape[axis]
        for _, starts in parts
        for slot in starts
    ]


def _without_inputs(program: Program, slots: Sequence[int]) -> Program:
    """Return `program` without inputs that nothing uses."""
    kept = tuple([slot for slot in program.inputs if slot not in slots])
    avals = {slot: aval for slot, aval in program.avals.items() if slot not in slots}
    return Program(kept, program.ops, program.outputs, avals)
