"""Bodies of loops and branches: programs with canonical slots, one object per structure.

`body_of` numbers the slots canonically, and `Body.of` looks the program up by its structure. Bodies with the same ops
are therefore the same object and can be part of a trie key: a loop recorded twice is one path.
"""

from __future__ import annotations

import copyreg
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from jittape.core.builder import Builder, Symbol, literal
from jittape.core.forms import Alias, Control, Iota, Map, Pad, View
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Body, Op, Program, dead_code_removed, is_dynamic_dim
from jittape.core.tuning import tuning
from jittape.errors import NoGradientError
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.transform.differentiate import Reverse, Seen, TapeView, seen
from jittape.transform.op_paths import Path

__all__ = [
    "Pullback",
    "active_slots",
    "body_of",
    "body_part",
    "canonical",
    "inlined",
    "numbered",
    "saved_slots",
    "total",
    "zeros",
]


def _unpickled(program: Program) -> Body:
    return body_of(program)


copyreg.pickle(Body, lambda body: (_unpickled, (body.program,)))


def body_of(program: Program) -> Body:
    """Return the body of `program`. All inputs are kept; dead ops are removed."""
    return numbered(program)[0]


@lru_cache(maxsize=256)
def body_part(body: Body, outputs: tuple[int, ...]) -> Program:
    """Return the part of a body that computes the slots `outputs`. Its inputs are those of the body that it reads."""
    program = body.program
    return dead_code_removed(program.replaced(program.ops, outputs, program.avals), keep_inputs=False)


def numbered(program: Program) -> tuple[Body, dict[int, int]]:
    """Return the body of `program` and the map from slots of the program to slots of the body."""
    made, number = _numbered(program)
    return Body.of(made), number


def canonical(program: Program) -> Program:
    """Return the program of the body of `program`."""
    return _numbered(program)[0]


def _numbered(program: Program) -> tuple[Program, dict[int, int]]:
    program = dead_code_removed(program)
    number = {slot: i for i, slot in enumerate(program.inputs)}
    ops: list[Op] = []
    for op in program.ops:
        number[op.out] = len(number)
        ops.append(op._replace(args=tuple([number[slot] for slot in op.args]), out=number[op.out]))
    inputs, outputs = tuple(range(len(program.inputs))), tuple([number[slot] for slot in program.outputs])
    avals = {number[slot]: aval for slot, aval in program.avals.items()}
    return Program(inputs, tuple(ops), outputs, avals), number


def inlined(body: Body, operands: Sequence[Any]) -> list[Any]:
    """Record the ops of `body` on `operands` and return the results."""
    values = dict(zip(body.program.inputs, operands, strict=True))
    for op in body.program.ops:
        values[op.out] = op.primitive.bind(*[values[slot] for slot in op.args], **dict(op.params))
    return [values[slot] for slot in body.program.outputs]


# ---- reverse mode within a body --------------------------------------------------------------------------------------

_ALWAYS = (-1,)
"""Segments of a tape that recorded every op."""


def active_slots(program: Program, sources: Sequence[int]) -> set[int]:
    """Return the slots through which a derivative with respect to `sources` flows."""
    return _tracked(program, sources)[1].slots


def _tracked(program: Program, sources: Sequence[int]) -> tuple[Path, Seen]:
    """Return `program` as a path, and what a tape that watches `sources` tracks of it."""
    path = Path(program.inputs, program.ops, program.avals, {})
    return path, seen(path, TapeView(_ALWAYS, tuple([(-1, slot) for slot in sources]), False))


class Pullback:
    """A program followed by its reverse ops: the gradient of `targets` with respect to `sources`.

    Attributes
    ----------
    cotangents : list of Symbol
        Inputs of the reverse ops, one per target.
    gradients : mapping of int to Symbol
        Gradients by source slot. Sources without a gradient are missing.
    builder : Builder
        Builder of the reverse ops; callers may append more.
    """

    def __init__(self, program: Program, targets: Sequence[int], sources: Sequence[int]) -> None:
        path, tracked = _tracked(program, sources)
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
                f"{stopped.op.source or 'an unknown line'}, is a Python function, which cannot be called inside a "
                "compiled loop or branch"
            )
        self.gradients: Mapping[int, Symbol] = {
            slot: reverse.cotangents[slot] for slot in sources if slot in reverse.cotangents
        }

    def needed(self) -> set[int]:
        """Return the slots of the program that the reverse ops and the gradients refer to."""
        before = self.program.avals.keys()
        used = {slot for op in self.builder.ops for slot in op.args}
        used.update(symbol.slot for symbol in self.gradients.values())
        return used & before

    def needed_beside(self, given: Sequence[Op]) -> set[int]:
        """Return the slots of the program and of the reverse ops `given` that the other reverse ops refer to."""
        own = {op.out for op in given}
        used = {slot for op in self.builder.ops if op.out not in own for slot in op.args}
        used.update(symbol.slot for symbol in self.gradients.values())
        return used & (self.program.avals.keys() | own)

    def body(self, inputs: Sequence[int], outputs: Sequence[Symbol]) -> Body:
        """Return the body that computes `outputs` from `inputs`; inputs may be results of ops of the program."""
        given = set(inputs)
        # The assertions of the program have held in the forward pass.
        forward = [op for op in self.program.ops if not op.primitive.effectful]
        ops = tuple([op for op in (*forward, *self.builder.ops) if op.out not in given])
        avals = {**self.program.avals, **self.builder.avals}
        return body_of(Program(tuple(inputs), ops, tuple([symbol.slot for symbol in outputs]), avals))

    def zeros(self, aval: Aval) -> Symbol:
        """Append a constant of zeros to the reverse ops."""
        with recording_with(self.builder):
            return zeros(aval)


def zeros(aval: Aval) -> Symbol:
    """Record a constant of zeros."""
    symbol: Symbol = broadcast(literal(0, aval.dtype), aval.shape)
    return symbol


def total(parts: Sequence[Symbol]) -> Symbol | None:
    """Record the sum of the parts of a cotangent; None if there are no parts."""
    return functools.reduce(add_op.bind, parts) if parts else None


def saved_slots(program: Program, needed: set[int], free: set[int]) -> tuple[list[int], set[int]]:
    """Return the slots to save for a reverse pass that needs `needed`, and the inputs among `free` that it reads.

    Cheap values are recomputed from saved ones. The inputs in `free` are available to the reverse pass. Of an array of
    which the reverse pass needs smaller parts only, the parts are saved.
    """
    op_of = {op.out: op for op in program.ops}
    parts = _parts_of_arrays(program, free)
    saved: set[int] = set()
    used: set[int] = set()
    visited = set(needed)

    def visit(stack: list[int], parts: set[int]) -> set[int]:
        """Visit all that the slots in `stack` are recomputed from; return those of `parts` that were found."""
        found = set()
        while stack:
            slot = stack.pop()
            op = op_of.get(slot)
            if op is None:
                (used if slot in free else saved).add(slot)
            elif slot in parts:
                found.add(slot)
            elif _is_recomputed(op, program.avals):
                stack += [s for s in op.args if s not in visited]
                visited.update(op.args)
            else:
                saved.add(slot)
        return found

    found = visit(list(needed), parts)
    sizes: Counter[int] = Counter()
    for slot in found:
        sizes[op_of[slot].args[0]] += program.avals[slot].size
    smaller = {a for a, size in sizes.items() if a not in visited and size < program.avals[a].size}
    saved_parts = {slot for slot in found if op_of[slot].args[0] in smaller}
    visit(list(found - saved_parts), set())
    return sorted(saved | saved_parts), used


def _parts_of_arrays(program: Program, free: set[int]) -> set[int]:
    """Return the slots of parts of arrays that cannot be recomputed from `free` alone.

    A part of an available array is recomputed, even if its place must be saved: the place is a few numbers.
    """
    available, avals, parts = set(free), program.avals, set()
    for op in program.ops:
        if not _is_recomputed(op, avals):
            continue
        is_part = op.primitive.is_gather or isinstance(op.primitive.lowering, View)
        if available.issuperset(op.args[:1] if is_part else op.args):
            available.add(op.out)
        elif (
            is_part and not is_dynamic_dim(avals[op.args[0]]) and avals[op.out].size < avals[op.args[0]].size
        ):
            parts.add(op.out)
    return parts


def _is_recomputed(op: Op, avals: Mapping[int, Aval]) -> bool:
    """Return whether a reverse pass recomputes the result of `op` instead of saving it."""
    form = op.primitive.lowering
    if isinstance(form, Control):
        return bool(dict(op.params).get("recompute")) or any(
            is_dynamic_dim(avals[slot]) for slot in (op.out, *op.args)
        )
    if op.primitive.is_gather:
        places = max([avals[slot].size for slot in op.args[1:]])
        return avals[op.out].size >= tuning.regathered_elements * places
    return isinstance(form, Map | View | Pad | Alias | Iota) and not op.primitive.is_expensive
