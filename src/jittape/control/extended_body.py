"""Bodies of loops with results of inner loops and branches that a gradient added."""

from __future__ import annotations

from collections.abc import Mapping

from jittape.control.body import Pullback, body_of, saved_slots
from jittape.core.forms import Control
from jittape.core.program import Aval, Body, Op, Program, is_dynamic_dim

__all__ = ["ExtendedBody"]


class ExtendedBody:
    """A body, and what a reverse pass saves of it.

    The reverse pass of an inner loop or branch may need further results of it. Either the outer reverse pass runs it
    again, and saves what it reads, or these results are saved. Fewer elements decide.

    Attributes
    ----------
    saved : list of int
        Slots to save, of the program or of the ops added to it.
    used : set of int
        The inputs among the free ones that the reverse pass reads.
    body : Body
        The body; with the added ops, as its last ops and outputs, if they are saved.
    number : mapping of int to int
        Slots of `body` by slots of the added ops.
    """

    def __init__(self, body: Body, pullback: Pullback, free: set[int]) -> None:
        program = body.program
        self.body, self.number = body, dict[int, int]()
        self.saved, self.used = saved_slots(program, pullback.needed(), free)
        added = _further_results(program, pullback)
        if not added:
            return
        avals = {**program.avals, **{op.out: pullback.builder.avals[op.out] for op in added}}
        outputs = (*program.outputs, *[op.out for op in added])
        longer = Program(program.inputs, (*program.ops, *added), outputs, avals)
        saved, used = saved_slots(longer, pullback.needed_beside(added), free)
        if _size(saved, avals) < _size(self.saved, avals):
            self.saved, self.used, self.body = saved, used, body_of(longer)
            self.number = {op.out: len(program.avals) + i for i, op in enumerate(added)}


def _further_results(program: Program, pullback: Pullback) -> list[Op]:
    """Return the results of inner loops and branches that the reverse pass added, as far as they can be saved."""
    known = set(program.avals)
    avals = {**program.avals, **pullback.builder.avals}
    found = []
    for op in pullback.builder.ops:
        if (
            isinstance(op.primitive.lowering, Control)
            and known.issuperset(op.args)
            and not dict(op.params).get("recompute")
            and not any(is_dynamic_dim(avals[slot]) for slot in (op.out, *op.args))
        ):
            found.append(op)
            known.add(op.out)
    return found


def _size(slots: list[int], avals: Mapping[int, Aval]) -> int:
    return sum([avals[slot].size for slot in slots])
