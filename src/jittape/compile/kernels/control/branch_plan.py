"""Plans of branches.

An array of which each body changes some elements, or nothing, stays in one buffer: the result begins as a copy of the
operand, or in its memory, and the bodies change elements of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from jittape.compile.ir.records import WORD
from jittape.compile.ir.table_layouts import BRANCH, BRANCH_CARRY, BRANCH_LENGTH, FIXED
from jittape.compile.kernels.control.control_driver import ControlDriver, Plan, arena_cells, is_native
from jittape.control.body import body_part
from jittape.core.forms import Alias, Control, Decomposition, DynamicUpdateSlice, Scatter
from jittape.core.program import ALIGNMENT, Aval, Body, Op, Program, is_dynamic_dim
from jittape.core.simplify import simplify
from jittape.value_classes import NamedTuple

__all__ = ["BranchPlanner"]


class _Pair(NamedTuple):
    """An operand, by its number among the bodies' inputs, and the result, by position, that may begin as it."""

    operand: int
    result: int


class BranchPlanner:
    """Makes the plan of a run of branch ops."""

    def __init__(self, run: Sequence[Op], schedule: Callable[..., Any]) -> None:
        self.run = run
        self.schedule = schedule
        bodies: tuple[Body, ...] = dict(run[0].params)["bodies"]
        self.bodies = bodies if len(bodies) > 1 else bodies * 2
        picks = [dict(op.params)["result_index"] for op in run]
        self.parts = [
            simplify(body_part(body, tuple([body.program.outputs[p] for p in picks]))) for body in self.bodies
        ]

    def plan(self) -> Plan | None:
        """Return the plan; None if a body has a NumPy step."""
        pairs, schedules = self._scheduled()
        if not all(map(is_native, schedules)):
            return None
        given = len(self.run[0].args)
        results = list(range(given, given + len(self.run)))
        frame, arena = given + len(self.run), given + len(self.run) + 1
        place = {pair.operand: results[pair.result] for pair in pairs}
        fixed = []
        for body, part, scheduled in zip(self.bodies, self.parts, schedules, strict=True):
            number = {slot: i for i, slot in enumerate(body.program.inputs)}
            inputs = [number[slot] for slot in part.inputs]
            operands = [*[place.get(i, 1 + i) for i in inputs], *results]
            own = [FIXED.pack(cell=i, operand=position, offset=0) for i, position in enumerate(operands)]
            fixed.append(own + arena_cells(len(operands), arena, scheduled))
        bytes_ = np.dtype(np.uint8)
        temporaries = (
            Aval((max(1, *map(len, fixed)) * WORD,), bytes_),
            Aval((max(ALIGNMENT, *[scheduled.arena for scheduled in schedules]),), bytes_),
        )
        records = [BRANCH.pack(index=0, frame=frame, carries=len(pairs))]
        avals = self.bodies[0].program.avals
        for pair in pairs:
            nbytes = avals[self.bodies[0].program.inputs[pair.operand]].nbytes
            start, result = 1 + pair.operand, results[pair.result]
            records.append(BRANCH_CARRY.pack(start=start, result=result, nbytes=nbytes))
        records += [BRANCH_LENGTH.pack(fixed=len(own)) for own in fixed]
        records += [record for own in fixed for record in own]
        return Plan(
            ControlDriver((), "branch"), tuple(schedules), temporaries, tuple(chain.from_iterable(records))
        )

    def _scheduled(self) -> tuple[list[_Pair], list[Any]]:
        """Return the pairs that stay in one buffer in every body, and the schedules of the bodies."""
        pairs = self._candidates()
        while True:
            schedules = [
                self.schedule(part, self._donated(body, part, pairs))
                for body, part in zip(self.bodies, self.parts, strict=True)
            ]
            stays = set.intersection(*[{result for _, result, _ in one.in_place} for one in schedules])
            if all([pair.result in stays for pair in pairs]):
                return pairs, schedules
            pairs = [pair for pair in pairs if pair.result in stays]

    def _donated(self, body: Body, part: Program, pairs: Sequence[_Pair]) -> tuple[tuple[int, int], ...]:
        position = {slot: i for i, slot in enumerate(part.inputs)}
        return tuple([(position[body.program.inputs[pair.operand]], pair.result) for pair in pairs])

    def _candidates(self) -> list[_Pair]:
        """Return for each result an operand that every body may have made it from by changes of elements."""
        pairs: list[_Pair] = []
        for result in range(len(self.run)):
            found = [
                {body.program.inputs.index(slot) for slot in _beginnings(part, part.outputs[result])}
                for body, part in zip(self.bodies, self.parts, strict=True)
            ]
            free = set.intersection(*found) - {pair.operand for pair in pairs}
            if free:
                pairs.append(_Pair(min(free), result))
        return pairs


def _beginnings(program: Program, output: int) -> set[int]:
    """Return the inputs that `output` may be a changed version of."""
    avals, op_of = program.avals, {op.out: op for op in program.ops}
    if avals[output].size < 2 or is_dynamic_dim(avals[output]):
        return set()
    found, pending, seen = set(), [output], set()
    while pending:
        slot = pending.pop()
        op = op_of.get(slot)
        if slot in seen or avals[slot] != avals[output]:
            continue
        seen.add(slot)
        if op is None:
            found.add(slot)
        elif isinstance(op.primitive.lowering, Alias | Decomposition | DynamicUpdateSlice | Scatter):
            pending.append(op.args[0])
        elif isinstance(op.primitive.lowering, Control) or op.primitive.is_addition:
            pending += op.args
    return found
