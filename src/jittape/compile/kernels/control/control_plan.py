"""Loops and branches as steps: their bodies scheduled, and the words that their drivers read.

A loop or branch is a step like a kernel. Its body is a program, scheduled like any other, with a slot table of its own,
the *frame*; frame and arena of the body are temporaries of the step. `rounds` has the code that runs it.

The words of a loop, integers: the head (`LoopWord`), then for each value that a frame's cell points to, and that is the
same in all iterations, ``(cell, operand, offset)``; for each carry ``(cell read, cell written, operand to begin with,
result, other buffer, bytes)``; for each row of a stack ``(cell, operand, bytes of a row, whether the stack is grown)``,
those read before those written. Those of a branch: the operand with the number, the frame, for each body how many
triples it has, then the triples. The tables' addresses come before: one for a loop, for a branch how many and as many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.compile.kernels.scalar_vm.bytecode import instructions_of
from jittape.compile.rewrite.diagonal_op import DiagonalScatter, table_of
from jittape.control.loop_parts import COUNT, WHILE, Parts
from jittape.core.forms import Control
from jittape.core.locks import cached_property
from jittape.core.program import ALIGNMENT, Aval, Body, Op, Program, dead_code_removed
from jittape.core.simplify import simplify

__all__ = ["CELL", "RECORD", "LoopWord", "Plan", "Release", "Rounds", "Stop", "plan_of"]

CELL = 8
"""Bytes of an entry of a slot table."""
RECORD = Aval((3,), np.dtype(np.int64))
"""What stands for a grown stack: address and capacity of memory from the C library, and where the next such is."""


class LoopWord(IntEnum):
    """Positions in the head of a loop's words, after the address of the body's table."""

    TRIPS = 0
    HEAD = 1
    LIMIT = 2
    BACKWARDS = 3
    COUNT = 4
    PREDICATE = 5
    FRAME = 6
    NUMBER = 7
    FIXED = 8
    CARRIES = 9
    READ = 10
    WRITTEN = 11


@dataclass(frozen=True)
class Rounds(Kernel):
    """What runs the bodies of a loop or a branch."""

    kind: str
    watched = True
    effectful = True

    @cached_property
    def text(self) -> str:
        return f"()\n  {self.kind}: runs the tables of its bodies"


@dataclass(frozen=True)
class Stop(Kernel):
    """Ends the run if its operand is true."""

    watched = True
    effectful = True

    @cached_property
    def text(self) -> str:
        return "(a0: bool)\n  stop if a0"


@dataclass(frozen=True)
class Release(Kernel):
    """Gives back the memory of a grown stack."""

    watched = True

    @cached_property
    def text(self) -> str:
        return "()\n  release: gives back the memory of a grown stack"


@dataclass(frozen=True)
class Plan:
    """A step to be: its operands are the arguments, the results, and then the temporaries.

    Attributes
    ----------
    kernel : Kernel
    bodies : tuple of Schedule
    temporaries : tuple of Aval
    words : tuple of int
    """

    kernel: Kernel
    bodies: tuple[Any, ...]
    temporaries: tuple[Aval, ...]
    words: tuple[int, ...]


def plan_of(run: Sequence[Op], avals: Mapping[int, Aval], schedule: Callable[[Program], Any]) -> Plan | None:
    """How a run of `Control` ops becomes a step; None if a body has a NumPy step."""
    form = run[0].primitive.lowering
    assert isinstance(form, Control)
    if form.kind == "scalars":
        return _scalars(run)
    if form.kind == "diagonal_scatter":
        return _laid(run[0], avals)
    if form.kind == "branch":
        return _Branch(run, schedule).plan()
    return _Loop(run, schedule).plan()


def _scalars(run: Sequence[Op]) -> Plan:
    """The table of a machine for scalars; its first word says where among the operands the cells are."""
    params = [dict(op.params) for op in run]
    machine, words, cells = instructions_of(params[0]["body"], [one["result_index"] for one in params])
    frame = len(run[0].args) + len(run)
    return Plan(machine, (), (Aval((cells,), np.dtype(np.int64)),), (frame, *words))


def _laid(op: Op, avals: Mapping[int, Aval]) -> Plan:
    out = avals[op.out]
    return Plan(DiagonalScatter((), out.dtype), (), (), table_of(op, [avals[slot] for slot in op.args], out))


def _native(scheduled: Any) -> bool:
    """Whether all of a schedule is machine code."""
    return all(step.kernel is not None for step in scheduled.steps)


class _Loop:
    def __init__(self, run: Sequence[Op], schedule: Callable[[Program], Any]) -> None:
        self.run = run
        self.schedule = schedule
        params = dict(run[0].params)
        self.trips: int = params["trips"]
        self.limit: int | None = params["limit"]
        self.backwards: bool = params["backwards"]
        body: Body = params["body"]
        self.body = body.program
        fixed, carries = params["fixed"], params["carries"]
        self.inputs = Parts.of_body(body, fixed, carries)
        positions = range(len(run[0].args))
        self.positions = Parts.of_operands(positions, self.trips, fixed, carries)
        self.results = {dict(op.params)["result_index"]: len(positions) + i for i, op in enumerate(run)}
        self.temporaries: list[Aval] = []
        self.first_temporary = len(positions) + len(run)
        self.stacked = list(dict.fromkeys(n for kind, n in self.results if kind == "stack"))

    def _temporary(self, aval: Aval) -> int:
        """The position of a new temporary among the operands."""
        self.temporaries.append(aval)
        return self.first_temporary + len(self.temporaries) - 1

    def _live(self) -> tuple[list[int], Program]:
        """The carries that matter, and the program that computes them, the predicate and the stacked values."""
        live = {number for kind, number in self.results if kind == "carry"}
        more = self.body.outputs[len(self.inputs.carries) :][: self.trips == WHILE]
        while True:
            order = sorted(live)
            outputs = (*[self.body.outputs[i] for i in order], *more, *self.stacked)
            program = self.body.replaced(self.body.ops, outputs, self.body.avals)
            program = dead_code_removed(program, keep_inputs=False)
            used = {i for i, slot in enumerate(self.inputs.carries) if slot in program.inputs}
            if used <= live:
                return order, program
            live |= used

    def plan(self) -> Plan | None:
        live, program = self._live()
        program = simplify(program)
        scheduled = self.schedule(program)
        if not _native(scheduled):
            return None
        count = len(program.inputs)
        cell = {slot: i for i, slot in enumerate(program.inputs)}
        written = [count + i for i in range(len(program.outputs))]
        cells = count + len(scheduled.results) + len(scheduled.offsets)
        n = len(live)
        spare = iter(range(cells + 1, cells + 1 + n))
        read = [cell[self.inputs.carries[i]] if self.inputs.carries[i] in cell else next(spare) for i in live]
        frame = self._temporary(Aval(((cells + 1 + 2 * n) * CELL,), np.dtype(np.uint8)))
        arena = self._temporary(Aval((max(ALIGNMENT, scheduled.arena),), np.dtype(np.uint8)))
        fixed = [
            (cell[slot], position, 0)
            for slot, position in zip(self.inputs.fixed, self.positions.fixed, strict=True)
            if slot in cell
        ]
        first = count + len(scheduled.results)
        fixed += [(first + i, arena, offset) for i, offset in enumerate(scheduled.offsets)]
        number = self.body.inputs[0]
        if number in cell:
            fixed.append((cell[number], frame, cells * CELL))
        carries = [self._carry(i, read[at], written[at]) for at, i in enumerate(live)]
        rows_read = [
            (cell[slot], position, *self._row(slot, position))
            for slot, position in zip(self.inputs.stacks, self.positions.stacks, strict=True)
            if slot in cell
        ]
        begin = n + (self.trips == WHILE)
        rows_written = [
            (written[begin + i], self.results["stack", slot], *self._row(slot, self.results["stack", slot]))
            for i, slot in enumerate(self.stacked)
        ]
        head = dict.fromkeys(LoopWord, -1)
        head |= {
            LoopWord.TRIPS: self.trips, LoopWord.BACKWARDS: int(self.backwards), LoopWord.FRAME: frame,
            LoopWord.LIMIT: -1 if self.limit is None else self.limit, LoopWord.COUNT: self.results.get(COUNT, -1),
            LoopWord.NUMBER: cells, LoopWord.FIXED: len(fixed), LoopWord.CARRIES: n,
            LoopWord.READ: len(rows_read), LoopWord.WRITTEN: len(rows_written),
        }  # fmt: skip
        if self.trips < 0:
            head[LoopWord.HEAD] = self.positions.head[0]
        if self.trips == WHILE:
            head[LoopWord.PREDICATE] = written[n]
            fixed.append((written[n], self._temporary(Aval((1,), np.dtype(bool))), 0))
            head[LoopWord.FIXED] += 1
        entries = [*fixed, *carries, *rows_read, *rows_written]
        words = [head[word] for word in LoopWord] + [word for entry in entries for word in entry]
        return Plan(Rounds((), "loop"), (scheduled,), tuple(self.temporaries), tuple(words))

    def _carry(self, number: int, read: int, written: int) -> tuple[int, ...]:
        """A carry goes to and fro between two buffers, so that nothing is copied; the last value is in the result."""
        aval = self.body.avals[self.inputs.carries[number]]
        result = self.results.get(("carry", number))
        result = self._temporary(aval) if result is None else result
        other = self._temporary(aval)
        return (read, written, self.positions.carries[number], result, other, aval.nbytes)

    def _row(self, slot: int, position: int) -> tuple[int, int]:
        """The bytes of a row, and whether the stack at a position among the operands is grown."""
        return self.body.avals[slot].nbytes, int(self.trips < 0)


class _Branch:
    def __init__(self, run: Sequence[Op], schedule: Callable[[Program], Any]) -> None:
        self.run = run
        self.schedule = schedule
        bodies: tuple[Body, ...] = dict(run[0].params)["bodies"]
        self.bodies = bodies if len(bodies) > 1 else bodies * 2
        self.picks = [dict(op.params)["result_index"] for op in run]

    def plan(self) -> Plan | None:
        given = len(self.run[0].args)
        results = list(range(given, given + len(self.run)))
        frame, arena = given + len(self.run), given + len(self.run) + 1
        schedules, triples = [], []
        for body in self.bodies:
            program = body.program
            program = program.replaced(
                program.ops, tuple([program.outputs[p] for p in self.picks]), program.avals
            )
            program = simplify(dead_code_removed(program, keep_inputs=False))
            scheduled = self.schedule(program)
            if not _native(scheduled):
                return None
            operand = {slot: 1 + i for i, slot in enumerate(body.program.inputs)}
            count = len(program.inputs)
            own = [(i, operand[slot], 0) for i, slot in enumerate(program.inputs)]
            own += [(count + i, result, 0) for i, result in enumerate(results)]
            first = count + len(results)
            own += [(first + i, arena, offset) for i, offset in enumerate(scheduled.offsets)]
            schedules.append(scheduled)
            triples.append(own)
        cells = max(len(own) for own in triples)
        bytes_ = np.dtype(np.uint8)
        temporaries = (
            Aval((max(1, cells) * CELL,), bytes_),
            Aval((max(ALIGNMENT, *[scheduled.arena for scheduled in schedules]),), bytes_),
        )
        words = [0, frame, *[len(own) for own in triples]]
        words += [word for own in triples for triple in own for word in triple]
        return Plan(Rounds((), "branch"), tuple(schedules), temporaries, tuple(words))
