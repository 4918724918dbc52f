"""Recording of the program of a trace again, in the trace of a tape."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jittape.core.builder import WeakScalar
from jittape.core.primitive import active_recorder
from jittape.core.program import Op, Program
from jittape.recording.variable import Variable

if TYPE_CHECKING:
    from jittape.recording.trace import Trace

__all__ = ["Replay", "Stages"]


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


class Stages:
    """Records a program, cut where it reads Variables that it has assigned: a tape must know what is read.

    Parameters
    ----------
    program : Program
    variable_of : mapping of int to int
        Number of the Variable that is read, by the slot of what is read. Other reads are those of a value.
    """

    def __init__(self, program: Program, variable_of: Mapping[int, int]) -> None:
        self._inputs, self._variable_of = program.inputs, variable_of
        ops = program.ops
        starts = [0, *[i + 1 for i, op in enumerate(ops) if op.out in variable_of]]
        whole = Replay(program), program
        self._last = _stage(program, slice(starts[-1], None), program.outputs) if starts[1:] else whole
        self._stages: list[tuple[Op, Replay, Program]] = []
        needed = set(self._last[1].inputs)
        for start, after in reversed(list(itertools.pairwise(starts))):
            read = ops[after - 1]
            needed.difference_update(read.args)
            outputs = [op.out for op in ops[start : after - 1] if op.out in needed]
            stage = _stage(program, slice(start, after - 1), (*outputs, *read.args))
            self._stages.insert(0, (read, *stage))
            needed.update(stage[1].inputs)
        stages = [*[stage for _, _, stage in self._stages], self._last[1]]
        self._last_use = {slot: number for number, stage in enumerate(stages) for slot in stage.inputs}

    def record(self, trace: Trace, operands: tuple[Any, ...], variables: Sequence[Variable]) -> Any:
        """Record the program in `trace`, with assignments to the Variables that it reads later; return its results."""
        if not self._stages:
            return trace.apply(self._last[0], operands) if self._last[1].outputs else ()
        known = {
            slot: x.value() if isinstance(x, Variable) and self._last_use.get(slot, 0) else x
            for slot, x in zip(self._inputs, operands, strict=True)
        }
        for number, (op, replay, stage) in enumerate(self._stages, 1):
            known.update(zip(stage.outputs, trace.apply(replay, _values(known, stage.inputs)), strict=True))
            variable = variables[self._variable_of[op.out]]
            trace.assign(variable, known[op.args[0]])
            known[op.out] = variable if self._last_use.get(op.out, number) == number else variable.value()
        replay, stage = self._last
        return trace.apply(replay, _values(known, stage.inputs)) if stage.outputs else ()


def _stage(program: Program, part: slice, outputs: tuple[int, ...]) -> tuple[Replay, Program]:
    """Return a part of the ops as a program, and its `Replay`."""
    ops = program.ops[part]
    made = {op.out for op in ops}
    used = dict.fromkeys([slot for op in ops for slot in op.args])
    stage = Program(
        tuple([s for s in used | dict.fromkeys(outputs) if s not in made]), ops, outputs, program.avals
    )
    return Replay(stage), stage


def _values(known: Mapping[int, Any], slots: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple([known[slot] for slot in slots])
