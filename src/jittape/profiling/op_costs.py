"""Cost model of a profile: the shares of ops in the time of their kernel, and their traffic.

A kernel computes the ops of several lines in one loop, and no clock can tell them apart. The time of a kernel is
divided in proportion to the instructions and memory accesses that the compiler's own cost model counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jittape.compile.analysis.cost import cost_of_map
from jittape.compile.schedule.steps import KernelStep, NumpyStep
from jittape.core.forms import Alias, Call, Map, Reduce, View
from jittape.core.program import GradientLine, Op, Program, bodies_of, is_dynamic_dim
from jittape.core.tuning import tuning
from jittape.inspect.explain import operations_of
from jittape.vectormath.machine_math import NoFormula

__all__ = [
    "OpShare",
    "Role",
    "is_of_gradient",
    "role_of",
    "roles_of",
    "runs_by_body",
    "shares_of",
    "stored_slots",
    "with_aliased",
]

Role = str
"""``"forward"``, ``"backward"`` or ``"update"``."""


@dataclass
class OpShare:
    """An op in a group of steps.

    Attributes
    ----------
    op : Op
    program : Program
        The program that has the op: that of the schedule, or a body's.
    role : str
    weight : float
        Its cost; the time of the group is divided in proportion.
    nbytes : int
        Bytes that it reads from other steps' arrays, and stores.
    operations : int
        Arithmetic operations on elements.
    stored : bool
        Whether the result is stored in an array.
    step : tuple of int
        Number of the step, after the numbers of the loops around it.
    trips : float
        Mean number of runs in one run of the group: 1 outside the bodies of loops and branches.
    """

    op: Op
    program: Program
    role: Role
    weight: float
    nbytes: int
    operations: int
    stored: bool
    step: tuple[int, ...]
    trips: float = 1.0

    @property
    def is_product(self) -> bool:
        """Whether a library routine computes the op: a matrix product, a factorization or a decomposition."""
        return isinstance(self.op.primitive.lowering, Call)


def is_of_gradient(op: Op) -> bool:
    """Return whether a gradient appended `op`.

    A loop whose stacked values only the gradient reads has the line of a gradient, too, but its body is the user's.
    """
    if not isinstance(op.source, GradientLine):
        return False
    bodies = bodies_of(op)
    inner = [one for body in bodies for one in body.program.ops]
    return not bodies or any(isinstance(one.source, GradientLine) for one in inner)


def roles_of(program: Program) -> dict[int, Role]:
    """Return the role of each op by its slot.

    An op of a gradient is backward. Other ops that depend on one, such as those of an optimizer, are updates.
    """
    roles: dict[int, Role] = {}
    for op in program.ops:
        if is_of_gradient(op):
            roles[op.out] = "backward"
        elif any(roles.get(slot, "forward") != "forward" for slot in op.args):
            roles[op.out] = "update"
        else:
            roles[op.out] = "forward"
    return roles


def shares_of(
    program: Program,
    steps: Sequence[KernelStep | NumpyStep],
    roles: dict[int, Role],
    stored: set[int],
    body_runs: Iterator[float],
    outer: tuple[int, ...] = (),
) -> list[OpShare]:
    """Return the ops of a group of steps, with those in the bodies of loops and branches in place of the loops.

    `stored` are the slots of the program that are stored: see `stored_slots`. `body_runs` are the mean numbers of runs
    of the bodies in one run of the group, in the order of `with_bodies`.
    """
    found: list[OpShare] = []
    for number, step in enumerate(steps):
        at = (*outer, number)
        if step.bodies:
            role = role_of(step.ops[0], roles)
            for body in step.bodies:
                trips = next(body_runs)
                inner = roles_of(body.program) if role == "forward" else {}
                kept = stored_slots(body.program, body.steps)
                for one in shares_of(body.program, body.steps, inner, kept, body_runs, at):
                    one.role = one.role if role == "forward" else role
                    one.trips = trips if len(one.step) == len(at) + 1 else one.trips
                    found.append(one)
        else:
            found += _shares_of_step(program, step.ops, roles, stored, at)
    return found


def stored_slots(program: Program, steps: Sequence[KernelStep | NumpyStep]) -> set[int]:
    """Return the slots that a step reads without computing them itself, and the outputs of the program."""
    found = set(program.outputs)
    for step in steps:
        inside = {op.out for op in step.ops}
        found.update([slot for op in step.ops for slot in op.args if slot not in inside])
    return with_aliased(program, found)


def with_aliased(program: Program, slots: set[int]) -> set[int]:
    """Return `slots` and the slots that they are aliases of: the same memory with another shape."""
    found = set(slots)
    for op in reversed(program.ops):
        if op.out in found and isinstance(op.primitive.lowering, Alias):
            found.add(op.args[0])
    return found


def role_of(op: Op, roles: dict[int, Role]) -> Role:
    """Return the role of an op, also of one that a pass has made."""
    return roles.get(op.out) or ("backward" if is_of_gradient(op) else "forward")


def _shares_of_step(
    program: Program, ops: Sequence[Op], roles: dict[int, Role], kept: set[int], at: tuple[int, ...]
) -> Iterator[OpShare]:
    avals = program.avals
    inside = {op.out for op in ops}
    seen: set[int] = set()
    for op in ops:
        read = [slot for slot in op.args if slot not in inside and slot not in seen]
        seen.update(read)
        aval = avals[op.out]
        alias = isinstance(op.primitive.lowering, Alias) and op.args[0] in kept  # the operand counts
        stored = op.out in kept and not alias
        # A view reads a part of its operand only.
        limit = aval.nbytes if isinstance(op.primitive.lowering, View) else None
        nbytes = sum([min(avals[slot].nbytes, limit or avals[slot].nbytes) for slot in set(read)])
        nbytes += aval.nbytes if stored else 0
        operations = operations_of(program, op)
        weight = _instructions(program, op) + tuning.memory_access_cost * nbytes / 8
        yield OpShare(op, program, role_of(op, roles), max(weight, 1.0), nbytes, operations, stored, at)


def _instructions(program: Program, op: Op) -> float:
    form, avals = op.primitive.lowering, program.avals
    if isinstance(form, Map | Reduce):
        dtypes = tuple([avals[slot].dtype for slot in op.args])
        size = avals[op.out].size if isinstance(form, Map) else avals[op.args[0]].size
        width = max([avals[op.out].dtype, *dtypes], key=lambda dtype: dtype.itemsize).itemsize / 8
        if isinstance(form, Reduce):
            return size * width
        try:
            return cost_of_map(op.primitive, op.params, dtypes) * size * width
        except NoFormula:
            return tuning.math_function_cost * size * width
    if isinstance(form, Call):
        return float(operations_of(program, op))
    if isinstance(form, View | Alias) or is_dynamic_dim(avals[op.out]):
        return 0.0
    return float(avals[op.out].size)


def runs_by_body(
    steps: Sequence[KernelStep | NumpyStep], body_runs: Iterator[int], is_forward: bool = True
) -> Iterator[tuple[int, int]]:
    """Yield the identity of each body in the forward pass and its number of runs.

    `body_runs` are the numbers of runs of all bodies, in the order of `with_bodies`.
    """
    for step in steps:
        forward = is_forward and bool(step.bodies) and not is_of_gradient(step.ops[0])
        for scheduled, body in zip(step.bodies, bodies_of(step.ops[0]) if step.bodies else (), strict=True):
            runs = next(body_runs)
            if forward:
                yield id(body), runs
            yield from runs_by_body(scheduled.steps, body_runs, forward)
