"""Index sets of loops: the iterations one by one, or what holds for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from jittape.control.loop_parts import Parts
from jittape.core.program import Aval, Body
from jittape.sparse.set_matrices import Array, Sets, constant_sets, placed_sets, rows_of

__all__ = ["LoopSets", "Operand"]

_UNROLLED_TRIPS = 1000
"""Maximum iterations of a loop that are followed one by one; the sets of longer loops hold for all iterations."""

Operand = tuple[Sets | None, Array | None]
"""The sets of an operand, and its value; None for the sets of a constant, and for a value that is unknown."""


class BodySets(Protocol):
    """The index sets of the values of a body, and the values that are known."""

    known: dict[int, Array]

    def of(self, slot: int) -> Sets: ...


class _Outer(Protocol):
    width: int

    def body_sets(self, body: Body, operands: Sequence[Operand]) -> BodySets: ...


class LoopSets:
    """The index sets of the results of a loop.

    The iterations of a loop of known, moderate length are followed one by one. Otherwise the sets of the carries grow
    until an iteration adds nothing, and hold for all iterations.

    Attributes
    ----------
    carried : list of csr_array
        Sets of the final carries.
    """

    def __init__(self, outer: _Outer, operands: Sequence[Operand], params: Mapping[str, Any]) -> None:
        self._outer = outer
        self._body: Body = params["body"]
        self._trips, self._backwards = params["trips"], params["backwards"]
        self._given = Parts.of_operands(operands, params["trips"], params["fixed"], params["carries"])
        self._inputs = Parts.of_body(self._body, params["fixed"], params["carries"])
        self._iterations: list[BodySets] = []
        self._unrolls = 0 <= self._trips <= _UNROLLED_TRIPS
        self.carried: list[Sets] = [
            constant_sets(rows_of(self._aval(slot)), outer.width) if sets is None else sets
            for slot, (sets, _) in zip(self._inputs.carries, self._given.carries, strict=True)
        ]
        if self._unrolls:
            self._unroll()
        else:
            self._grow()

    def _aval(self, slot: int) -> Aval:
        return self._body.program.avals[slot]

    def stacked(self, slot: int) -> Sets:
        """Return the sets of the stacked values of a slot of the body."""
        if not self._unrolls:
            rows = self._iterations[-1].of(slot)
            return rows if self._trips < 0 else scipy.sparse.vstack([rows] * self._trips, format="csr")
        order = self._iterations[::-1] if self._backwards else self._iterations
        blocks = [one.of(slot) for one in order]
        if not blocks:
            return constant_sets(0, self._outer.width)
        return scipy.sparse.vstack(blocks, format="csr")

    def _unroll(self) -> None:
        values = [value for _, value in self._given.carries]
        for count in range(self._trips):
            at = self._trips - 1 - count if self._backwards else count
            stacks = [self._row(operand, at) for operand in self._given.stacks]
            number = (None, np.asarray(at, np.int64))
            state = list(zip(map(_unless_empty, self.carried), values, strict=True))
            after = self._outer.body_sets(self._body, [number, *self._given.fixed, *state, *stacks])
            outputs = self._body.program.outputs[: len(self.carried)]
            self.carried = [after.of(slot) for slot in outputs]
            values = [after.known.get(slot) for slot in outputs]
            self._iterations.append(after)

    def _row(self, operand: Operand, at: int) -> Operand:
        """Return the sets and the value of one row of a stack."""
        sets, value = operand
        size = 0 if sets is None else sets.shape[0] // self._trips
        rows = None if sets is None else sets[at * size : (at + 1) * size]
        return rows, None if value is None else value[at]

    def _grow(self) -> None:
        stacks: list[Operand] = [
            (None if sets is None else self._all_rows(sets, rows_of(self._aval(slot))), None)
            for slot, (sets, _) in zip(self._inputs.stacks, self._given.stacks, strict=True)
        ]
        outputs = self._body.program.outputs[: len(self.carried)]
        while True:
            state = [(_unless_empty(sets), None) for sets in self.carried]
            after = self._outer.body_sets(self._body, [(None, None), *self._given.fixed, *state, *stacks])
            grown = [own + after.of(slot) for own, slot in zip(self.carried, outputs, strict=True)]
            done = all(a.nnz == b.nnz for a, b in zip(grown, self.carried, strict=True))
            self.carried = grown
            if done:
                self._iterations = [after]
                return

    @staticmethod
    def _all_rows(sets: Sets, size: int) -> Sets:
        """Return the union of the sets of all rows of a stack."""
        return placed_sets(sets, np.arange(sets.shape[0]) % max(1, size), size)


def _unless_empty(sets: Sets) -> Sets | None:
    return sets if sets.nnz else None
