"""The memory that a scatter writes into: that of the array it changes, if nothing reads the old value later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jittape.compile.analysis.op_class import OpClass
from jittape.compile.rewrite.scatter_parts import is_small_part
from jittape.core.forms import View
from jittape.core.program import Aval, Op, Program
from jittape.value_classes import NamedTuple

__all__ = ["ScatterMemory", "scatter_memory", "users_of"]


class ScatterMemory(NamedTuple):
    """How a scatter gets the memory of its result.

    Attributes
    ----------
    overwritten : int or None
        The slot whose memory the result takes; None for a copy.
    read_before : list of int
        Small parts of the old value. They are stored before the scatter, which may then overwrite the old value.
    """

    overwritten: int | None
    read_before: list[int]


def users_of(program: Program) -> dict[int, list[Op]]:
    """Return the ops that use each slot, in order and once for each use."""
    users: dict[int, list[Op]] = {}
    for op in program.ops:
        for slot in op.args:
            users.setdefault(slot, []).append(op)
    return users


def scatter_memory(
    op: Op, program: Program, users: Sequence[Op], classes: Mapping[int, OpClass], writes_parts: bool
) -> ScatterMemory:
    """Return the memory of a scatter, of whose first operand all uses are `users`."""
    base, avals = op.args[0], program.avals
    reads = [user.out for user in users[: users.index(op)] if writes_parts and _is_part(user, avals)]
    is_read_later = len(users) > 1 + len(reads) or base in program.outputs
    is_made_here = classes.get(base) in (OpClass.SCATTER, OpClass.CONTROL)
    return ScatterMemory(base if is_made_here and not is_read_later else None, reads)


def _is_part(user: Op, avals: Mapping[int, Aval]) -> bool:
    """Return whether an op reads a small part of its first operand."""
    return isinstance(user.primitive.lowering, View) and is_small_part(avals[user.out], avals[user.args[0]])
