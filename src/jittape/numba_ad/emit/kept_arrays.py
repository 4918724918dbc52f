"""Arrays that the adjoints of functions with rules need: as they are, as copies, or on a stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numba import types

from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.recording_plan import Plan
from jittape.numba_ad.saved_arrays import STACKS, SavedArray
from jittape.numba_ad.structured_ir import Apply, Array

__all__ = ["STACKS", "PopArray", "kept_copies", "kept_names", "restore", "save"]


def kept_names(s: Apply, plan: Plan) -> list[str]:
    """Return the names that the adjoint of a function of arrays uses for the result and the operands."""
    pairs = zip(plan.kept[s], [s.result, *s.operands], strict=True)
    return [f"{s.result.name}_k{i}" if copied else one.name for i, (copied, one) in enumerate(pairs)]


def kept_copies(s: Apply, plan: Plan) -> list[tuple[str, Array]]:
    """Return the names of copies and the arrays."""
    if s not in plan.kept:
        return []
    triples = zip(plan.kept[s], kept_names(s, plan), [s.result, *s.operands], strict=True)
    return [(name, one) for copied, name, one in triples if copied]


@dataclass(frozen=True)
class PopArray:
    """Take a copy of an array from its stack, and the sizes from that of the ints."""

    name: str
    array: Array

    @property
    def stack(self) -> str:
        """Name of the stack of the elements."""
        return STACKS[is_float(self.array.type.dtype)]

    def record(self, writer: Any, more: int) -> None:
        """Write the push; `more` is the number of values that may follow on the stack."""
        stack = self.stack
        writer.line(f"{stack} = reserve({stack}, {stack}_at, {self.name}.size + {more})")
        writer.line(f"save_array({stack}, {stack}_at, {self.name})")
        writer.line(f"{stack}_at += {self.name}.size")
        for axis in range(self.array.type.ndim):
            writer.line(f"ints[ints_at] = {self.name}.shape[{axis}]")
            writer.line("ints_at += 1")

    def restore(self, writer: Any) -> None:
        """Write the pop."""
        stack, kind = self.stack, self.array.type
        sizes = [f"{self.name}_n{axis}" for axis in range(kind.ndim)]
        for size in reversed(sizes):
            writer.line("ints_at -= 1")
            writer.line(f"{size} = ints[ints_at]")
        writer.line(f"{stack}_at -= {' * '.join(sizes)}")
        text = f"load_array({stack}, {stack}_at, ({', '.join(sizes)},))"
        if kind.dtype not in (types.float64, types.int64):
            text += f".astype(np.{kind.dtype})"
        writer.line(f"{self.name} = {text}")


def save(arrays: list[SavedArray], on_stack: bool, reserved: bool, writer: Any) -> None:
    """Write the copies of arrays that one loop has read; the stacks may be `reserved` for them."""
    reason = "kept: the array is overwritten later"
    if not on_stack:
        for one in arrays:
            writer.line(f"{one.name} = {one.part()}.copy()  # {reason}", one.loop.where)
        return
    if not reserved:
        for stack in sorted({one.stack for one in arrays}):
            size = " + ".join(one.size for one in arrays if one.stack == stack)
            writer.line(f"{stack} = reserve({stack}, {stack}_at, {size})", arrays[0].loop.where)
    for one in arrays:
        stack = one.stack
        line = f"save_array({stack}, {stack}_at, {one.part()}{_turned(one)})  # {reason}"
        writer.line(line, one.loop.where)
        writer.line(f"{stack}_at += {one.size}")


def restore(saved: SavedArray, writer: Any) -> None:
    """Write the name of a copy on a stack before the adjoints of the loop."""
    stack, turned = saved.stack, _turned(saved)
    writer.line(f"{stack}_at -= {saved.size}", saved.loop.where)
    text = f"{stack}[{stack}_at : {stack}_at + {saved.size}]"
    if len(saved.axes) > 1:
        shape = f"{saved.array.name}.T.shape" if turned else saved.shape()
        text += f".reshape({shape}){turned}"
    writer.line(f"{saved.name} = {text}")


def _turned(saved: SavedArray) -> str:
    """Return what follows the name of an array whose columns are stored one after the other."""
    return ".T" if saved.array.type.layout == "F" and saved.is_whole else ""
