"""Sums of arrays that are zero except for separate parts: the parts are joined.

The gradient of ``f(P[:, 0], P[:, 1], P[:, 2])`` is such a sum, of one column each. As a sum, every element would be
computed from all columns, with masks; joined, the loop that computes the columns writes each in its place. The gradient
with respect to the gates of an LSTM, 16 x 4 x 32 numbers, takes 4.0 instead of 10.5 µs. The rewrite is exact except for
the sign of zeros.
"""

from __future__ import annotations

from jittape.compile.rewrite.program_editor import (
    Editor,
    inner_additions,
    ops_of_sum,
    primitives_of,
    terms_of_sum,
)
from jittape.core.builder import literal_op
from jittape.core.forms import Pad
from jittape.core.program import Op, Program
from jittape.primitives.broadcast import broadcast_to_op
from jittape.primitives.key_structure import Region
from jittape.primitives.shape.views import concat_op
from jittape.value_classes import NamedTuple

__all__ = ["join_parts", "part_region"]


def join_parts(program: Program) -> Program:
    """Return `program` with sums of separate parts as concatenations."""
    primitives = primitives_of(program)
    has_sums = any(p.is_addition for p in primitives)
    return (
        _Sums(program).result()
        if has_sums and any(isinstance(p.lowering, Pad) for p in primitives)
        else program
    )


def part_region(op: Op) -> Region | None:
    """Return the region of an op that pads a part along one axis; None for other ops."""
    if not isinstance(op.primitive.lowering, Pad):
        return None
    region = dict(op.params).get("region")
    if not isinstance(region, Region) or len(region.axes) != 1:
        return None
    return region if region.steps == (1,) else None


class _Part(NamedTuple):
    """Values along one axis of an array, and the index of the first."""

    axis: int
    first: int
    size: int
    values: int


class _Sums:
    """The sums of a program. An addition whose only use is in another one belongs to that sum."""

    def __init__(self, program: Program) -> None:
        self.editor = Editor(program)
        self.program = program
        self.op_of = {op.out: op for op in program.ops}
        self.inner = inner_additions(self.editor)

    def result(self) -> Program:
        """Return the new program."""
        for op in self.program.ops:
            if op.out in self.inner:
                continue
            parts = self._parts(op) if op.primitive.is_addition else None
            if parts is None:
                self.editor.ops += ops_of_sum(op, self.op_of, self.inner)
            else:
                self._join(op, parts)
        return self.editor.result()

    def _parts(self, op: Op) -> list[_Part] | None:
        """Return the parts of a sum in order if they are separate, along one axis of an array."""
        found = list[_Part]()
        for slot in terms_of_sum(op, self.op_of, self.inner):
            part = self._part(slot)
            if part is None or part.axis != (found[0].axis if found else part.axis):
                return None
            found.append(part)
        found.sort(key=lambda part: part.first)
        ends = [part.first + part.size for part in found]
        separate = all(end <= part.first for end, part in zip(ends, found[1:], strict=False))
        return found if separate else None

    def _part(self, slot: int) -> _Part | None:
        op = self.op_of.get(slot)
        region = None if op is None else part_region(op)
        if op is None or region is None or len(op.args) > 1 or self.editor.uses[slot] > 1:
            return None
        (axis,), (first,), (size,), _ = region
        return None if first is None else _Part(axis, first, size, op.args[0])

    def _join(self, op: Op, parts: list[_Part]) -> None:
        """Append the concatenation of the parts of a sum, with zeros between them."""
        shape, dtype = self.editor.avals[op.out]
        axis, place = parts[0].axis, 0
        operands: list[int] = []

        def fill(size: int) -> None:
            if size:
                zero = self.editor.bind(literal_op, (), op, dtype=dtype, value=0)
                gap = (*shape[:axis], size, *shape[axis + 1 :])
                operands.append(self.editor.bind(broadcast_to_op, (zero,), op, shape=gap))

        for part in parts:
            fill(part.first - place)
            operands.append(part.values)
            place = part.first + part.size
        fill(shape[axis] - place)
        self.editor.bind(concat_op, tuple(operands), op, op.out, axis=axis)
