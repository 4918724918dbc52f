"""`Replay`: records the program of a trace again, in the trace of a tape."""

from __future__ import annotations

from typing import Any

from jittape.core.builder import WeakScalar
from jittape.core.primitive import active_recorder
from jittape.core.program import Program

__all__ = ["Replay"]


class Replay:
    """A function that records a program; one object per program, as its identity is part of the trie key."""

    any_dtype = True

    def __init__(self, program: Program) -> None:
        self._program = program

    def __call__(self, *handles: Any) -> tuple[Any, ...]:
        program = self._program
        values: dict[int, Any] = {}
        for slot, handle in zip(program.inputs, handles, strict=True):
            values[slot] = (
                handle.resolve(program.avals[slot].dtype) if isinstance(handle, WeakScalar) else handle
            )
        builder: Any = active_recorder()
        outer = builder.source
        for op in program.ops:
            builder.source = op.source or outer
            values[op.out] = op.primitive.bind(*[values[slot] for slot in op.args], **dict(op.params))
        builder.source = outer
        return tuple([values[slot] for slot in program.outputs])
