"""`body_of` makes the program of a loop or a branch: one object for each, so that it can be part of a path.

Two bodies of the same ops, recorded at different times or in different places, are the same object: slots are numbered
in one way, and what has been made is found again by its structure. So a loop recorded twice is one path.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from jittape.core.builder import Builder, Symbol, literal
from jittape.core.forms import Alias, Control, Iota, Map, Pad, View
from jittape.core.locks import lock
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Body, Op, Program, check, dead_code_removed, is_dynamic_dim
from jittape.core.tickets import WeakValues
from jittape.errors import NoGradientError
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.transform.differentiate import Path, Reverse, TapeView, seen

__all__ = [
    "Pullback",
    "active_slots",
    "body_of",
    "inlined",
    "numbered",
    "pulled_back",
    "saved_slots",
    "total",
    "zeros",
]


_bodies: WeakValues[Any, Body] = WeakValues()
_lock = lock()


def _unpickled(program: Program) -> Body:
    return body_of(program)


copyreg.pickle(Body, lambda body: (_unpickled, (body.program,)))


def body_of(program: Program) -> Body:
    """The body of `program`, whose inputs are all kept and whose dead ops are dropped."""
    return numbered(program)[0]


def numbered(program: Program) -> tuple[Body, dict[int, int]]:
    """The body of `program`, and the slots of the body by those of the program."""
    program = dead_code_removed(program)
    number = {slot: i for i, slot in enumerate(program.inputs)}
    ops: list[Op] = []
    for op in program.ops:
        number[op.out] = len(number)
        ops.append(op._replace(args=tuple([number[slot] for slot in op.args]), out=number[op.out]))
    inputs, outputs = tuple(range(len(program.inputs))), tuple([number[slot] for slot in program.outputs])
    avals = {number[slot]: aval for slot, aval in program.avals.items()}
    key = (tuple([avals[slot] for slot in inputs]), tuple([op.key for op in ops]), outputs)
    with _lock:
        body = _bodies.get(key)
        if body is None:
            body = Body(check(Program(inputs, tuple(ops), outputs, avals)))
            _bodies.set(key, body)
    return body, number


def inlined(body: Body, operands: Sequence[Any]) -> list[Any]:
    """Record the ops of `body` on operands; its results."""
    values = dict(zip(body.program.inputs, operands, strict=True))
    for op in body.program.ops:
        values[op.out] = op.primitive.bind(*[values[slot] for slot in op.args], **dict(op.params))
    return [values[slot] for slot in body.program.outputs]


# ---- reverse mode within a body --------------------------------------------------------------------------------------

_ALWAYS = (-1,)
"""The segments of a tape that recorded everything."""


def active_slots(program: Program, sources: Sequence[int]) -> set[int]:
    """The slots through which a derivative with respect to `sources` flows."""
    path = Path(program.inputs, program.ops, program.avals, {})
    return seen(path, TapeView(_ALWAYS, tuple([(-1, slot) for slot in sources]), False)).slots


class Pullback:
    """A program with its reverse ops behind it.

    Attributes
    ----------
    cotangents : list of Symbol
        What comes in: one for each target.
    gradients : mapping of int to Symbol
        What comes out, by source; a source that nothing flows to is missing.
    builder : Builder
        Holds the reverse ops, and takes more.
    """

    def __init__(self, program: Program, targets: Sequence[int], sources: Sequence[int]) -> None:
        path = Path(program.inputs, program.ops, program.avals, {})
        view = TapeView(_ALWAYS, tuple([(-1, slot) for slot in sources]), False)
        tracked = seen(path, view)
        reverse = Reverse.between(path, tracked, targets, sources)
        self.program = program
        self.builder = Builder(max(program.avals, default=-1) + 1)
        self.cotangents = [self.builder.new_slot(program.avals[slot]) for slot in targets]
        for slot, cotangent in zip(targets, self.cotangents, strict=True):
            if slot in tracked.slots:
                reverse.seed(self.builder, slot, cotangent)
        stopped = reverse.run(self.builder)
        if stopped is not None:
            raise NoGradientError(
                f"the gradient of {stopped.op.primitive.name}, recorded at "
                f"{stopped.op.source or 'an unknown line'}, is a Python function, which cannot be called from within a "
                "compiled loop or branch"
            )
        self.gradients: Mapping[int, Symbol] = {
            slot: reverse.cotangents[slot] for slot in sources if slot in reverse.cotangents
        }

    def needed(self) -> set[int]:
        """The slots of the program itself that the reverse ops, and what they give, refer to."""
        before = self.program.avals.keys()
        used = {slot for op in self.builder.ops for slot in op.args}
        used.update(symbol.slot for symbol in self.gradients.values())
        return used & before

    def body(self, inputs: Sequence[int], outputs: Sequence[Symbol]) -> Body:
        """The body that computes `outputs` from `inputs`, which may be results of ops of the program."""
        given = set(inputs)
        ops = tuple([op for op in (*self.program.ops, *self.builder.ops) if op.out not in given])
        avals = {**self.program.avals, **self.builder.avals}
        return body_of(Program(tuple(inputs), ops, tuple([symbol.slot for symbol in outputs]), avals))

    def zeros(self, aval: Aval) -> Symbol:
        """Zeros among the reverse ops."""
        with recording_with(self.builder):
            return zeros(aval)


def pulled_back(program: Program, targets: Sequence[int], sources: Sequence[int]) -> Pullback:
    """The gradient of `targets` with respect to `sources`."""
    return Pullback(program, targets, sources)


def zeros(aval: Aval) -> Symbol:
    """A constant."""
    symbol: Symbol = broadcast(literal(0, aval.dtype), aval.shape)
    return symbol


def total(parts: Sequence[Symbol]) -> Symbol | None:
    """The sum of the parts of a cotangent, None if there are none."""
    return functools.reduce(add_op.bind, parts) if parts else None


def saved_slots(program: Program, needed: set[int], free: set[int]) -> tuple[list[int], set[int]]:
    """What must be kept for a reverse pass that needs the slots `needed`, and the inputs that are needed besides.

    What costs little to compute again is computed again from what is kept. Of the inputs, those in `free` are at hand.
    """
    op_of = {op.out: op for op in program.ops}
    saved: set[int] = set()
    used: set[int] = set()
    stack, met = list(needed), set(needed)
    while stack:
        slot = stack.pop()
        op = op_of.get(slot)
        if op is None:
            (used if slot in free else saved).add(slot)
        elif _computed_again(op, program.avals):
            stack += [s for s in op.args if s not in met]
            met.update(op.args)
        else:
            saved.add(slot)
    return sorted(saved), used


def _computed_again(op: Op, avals: Mapping[int, Aval]) -> bool:
    form = op.primitive.lowering
    if isinstance(form, Control):
        return bool(dict(op.params).get("again")) or any(
            is_dynamic_dim(avals[slot]) for slot in (op.out, *op.args)
        )
    return isinstance(form, Map | View | Pad | Alias | Iota)
