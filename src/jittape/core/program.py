"""The linear op list: `Aval`, `Op`, `Program`, its check and its printed form.

Start at `Program`. A program is frozen; passes return new ones. A value is a *slot*, a small integer. Each input and
each op defines one slot, and an op may use only slots that are defined before it, so the list is in topological order.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.locks import lock
from jittape.core.symbolic.memo_keys import memo_keys
from jittape.core.tickets import WeakValues
from jittape.core.user_calls import file_shown
from jittape.errors import ProgramError
from jittape.value_classes import NamedTuple, value_class

if TYPE_CHECKING:
    from jittape.core.primitive import Primitive

__all__ = [
    "ALIGNMENT",
    "DYNAMIC_DIM",
    "Aval",
    "Body",
    "CallLine",
    "GradientLine",
    "Op",
    "Program",
    "SourceLine",
    "bodies_of",
    "bodies_of_thread",
    "check",
    "dead_code_removed",
    "is_dynamic_dim",
    "listing",
]

ALIGNMENT = 64
"""Alignment, in bytes, of computed values where possible: that of a cache line, enough for vectors of every width."""


class Aval(NamedTuple):
    """An abstract value: the shape and dtype of a value that is not computed yet."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join('?' if n == DYNAMIC_DIM else str(n) for n in self.shape)}]"


DYNAMIC_DIM = -1
"""First extent of values that a loop of unknown length has stacked. Only loops read such values."""


def is_dynamic_dim(aval: Aval) -> bool:
    """Return whether the first extent is known only at run time."""
    return aval.shape[:1] == (DYNAMIC_DIM,)


class SourceLine(NamedTuple):
    """The line of the user's source that records an op."""

    file: str
    line: int
    function: str

    @property
    def name(self) -> str:
        """The name of the file without its folder."""
        return file_shown(self.file).replace("\\", "/").rpartition("/")[2]

    @property
    def place(self) -> str:
        """The line in words, as in ``line 5 of train.py``."""
        return f"line {self.line} of {file_shown(self.file)}"

    @property
    def short_link(self) -> str:
        """The `link` without the folder."""
        return f"{self.name}:{self.line}"

    @property
    def link(self) -> str:
        """The line in the notation of editors, as in ``train.py:5``."""
        return f"{file_shown(self.file)}:{self.line}"

    def __str__(self) -> str:
        return f"{self.link} in {self.function}"


class CallLine(SourceLine):
    """A line with the function of jittape that it calls, which does not count in comparisons.

    Attributes
    ----------
    called : str
        Name of the function; empty if it is unknown.
    layer : str
        Name of the layer, loss or metric in whose call the op was recorded; empty outside of calls below the line.
    """

    called: str = ""
    layer: str = ""


class GradientLine(SourceLine):
    """The line of an op that a gradient appended: the line of the differentiated op. It equals that `SourceLine`.

    Attributes
    ----------
    layer : str
        That of the differentiated op.
    """

    layer: str = ""


class Op(NamedTuple):
    """One application of a primitive. `params` is a tuple of sorted pairs, so that an op is hashable."""

    primitive: Primitive
    args: tuple[int, ...]
    params: tuple[tuple[str, Any], ...]
    out: int
    source: SourceLine | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """The key that ops with equal results share."""
        return (self.primitive, self.args, self.params)


@value_class
class Program:
    """A linear list of ops from input slots to output slots.

    Attributes
    ----------
    inputs : tuple of int
        Slots of the inputs, in calling order.
    ops : tuple of Op
        The ops, in an order in which they can run.
    outputs : tuple of int
        Slots of the outputs, in order; a slot may appear twice and may be an input.
    avals : mapping of int to Aval
        Shape and dtype of every slot.
    """

    inputs: tuple[int, ...]
    ops: tuple[Op, ...]
    outputs: tuple[int, ...]
    avals: Mapping[int, Aval]

    def input_avals(self) -> tuple[Aval, ...]:
        return tuple(self.avals[slot] for slot in self.inputs)

    def output_avals(self) -> tuple[Aval, ...]:
        return tuple(self.avals[slot] for slot in self.outputs)

    def replaced(self, ops: tuple[Op, ...], outputs: tuple[int, ...], avals: Mapping[int, Aval]) -> Program:
        """Return a program with the same inputs and other ops and outputs."""
        return Program(self.inputs, ops, outputs, avals)

    def __str__(self) -> str:
        return listing(self)


class Body:
    """A program as a parameter of an op, such as the body of a loop.

    Attributes
    ----------
    program : Program
        The program in canonical form: its inputs are the slots from 0 on, and the results of its ops follow in order.
    """

    __slots__ = ("__weakref__", "program")

    def __init__(self, program: Program) -> None:
        self.program = program

    @staticmethod
    def of(program: Program, is_valid: bool = False) -> Body:
        """Return the body of a program in canonical form: one object for all programs with the same ops.

        The program is checked unless it `is_valid` because it follows from one that was checked.
        """
        avals = program.avals
        inputs = tuple([avals[slot] for slot in program.inputs])
        # One flat tuple: a tuple for each op would be another object for the garbage collector.
        key = (inputs, tuple([part for op in program.ops for part in op[:3]]), program.outputs)
        own = bodies_of_thread.table
        if own is not None and _varies(key, own):
            with memo_keys():
                found = own.get(key)
            if found is None:
                found = Body(check(program))
                with memo_keys():
                    own[key] = found
            return found
        with _lock:
            body = _bodies.get(key)
            if body is None:
                body = Body(program if is_valid else check(program))
                _bodies.set(key, body)
        return body

    def __repr__(self) -> str:
        return f"<body of {len(self.program.ops)} ops>"


class _BodiesOfThread(threading.local):
    """The table that `Body.of` uses in this thread in place of the common one: bodies with extents are in no other."""

    table: dict[Any, Body] | None = None


bodies_of_thread = _BodiesOfThread()


def _varies(value: Any, own: dict[Any, Body]) -> bool:
    """Return whether a part of a key is an extent, or a body with extents, which is in the table `own`."""
    if isinstance(value, tuple):
        return any([_varies(item, own) for item in value])
    if isinstance(value, Body):
        return any([value is body for body in own.values()])
    return hasattr(value, "_as_extent")


_bodies: WeakValues[Any, Body] = WeakValues()
_lock = lock()


def dead_code_removed(program: Program, keep_inputs: bool = True) -> Program:
    """Return the program without effect-free ops that no output needs.

    With ``keep_inputs=False`` unused inputs are removed as well.
    """
    needed = set(program.outputs)
    kept: list[Op] = []
    for op in reversed(program.ops):
        if op.out in needed or op.primitive.effectful:
            kept.append(op)
            needed.update(op.args)
    kept.reverse()
    inputs = program.inputs if keep_inputs else tuple(s for s in program.inputs if s in needed)
    defined = {*inputs, *(op.out for op in kept)}
    avals = {slot: program.avals[slot] for slot in sorted(defined)}
    return Program(inputs, tuple(kept), program.outputs, avals)


def check(program: Program, before: Program | None = None) -> Program:
    """Return `program` if it is a valid op list, else raise `ProgramError`.

    Every slot has a shape and dtype and is defined once, every argument is defined before its use, and every result
    agrees with the rule of its primitive. The rules of ops that are also in `before`, a program that was checked, and
    of ops that differ only in slots are skipped: 4,600 rules take 5 ms, the whole check 3 ms.
    """
    avals = program.avals
    if before is not None and _is_same(program, before):
        return program
    checked: set[int] = set()
    if before is not None and (avals is before.avals or avals.items() <= before.avals.items()):
        checked = set(map(id, before.ops))
    defined: set[int] = set()
    for slot in program.inputs:
        if slot in defined:
            raise ProgramError(f"input slot %{slot} appears twice\n{listing(program)}")
        if slot not in avals:
            raise ProgramError(f"input slot %{slot} has no shape and dtype\n{listing(program)}")
        defined.add(slot)
    aval_ids = {slot: id(aval) for slot, aval in avals.items()}
    kept: set[tuple[int, ...]] = set()
    for position, op in enumerate(program.ops):
        primitive, args, params, out, _ = op
        problem = None
        if not defined.issuperset(args) or out in defined or out not in aval_ids:
            problem = _disorder(op, defined)
        elif id(op) not in checked:
            rule = id(primitive), id(params), aval_ids[out], *[aval_ids[slot] for slot in args]
            if rule not in kept:
                problem = _broken_rule(program, op)
                kept.add(rule)
        if problem is not None:
            where = _neighbors(program, position)
            raise ProgramError(f"op {position} ({primitive.name}) {problem}\n{where}")
        defined.add(out)
    for slot in program.outputs:
        if slot not in defined:
            raise ProgramError(f"output %{slot} is never computed\n{listing(program)}")
    return program


def _is_same(program: Program, before: Program) -> bool:
    """Return whether a pass has changed nothing: the same op objects, in the same order."""
    return (
        len(program.ops) == len(before.ops)
        and all(map(is_, program.ops, before.ops))
        and (program.inputs, program.outputs) == (before.inputs, before.outputs)
        and program.avals == before.avals
    )


def _disorder(op: Op, defined: set[int]) -> str:
    """Describe the error in the slots of `op`, given the slots that are `defined` before it."""
    if not defined.issuperset(op.args):
        missing = [slot for slot in op.args if slot not in defined]
        return f"uses {', '.join(f'%{s}' for s in missing)} before definition"
    if op.out in defined:
        return f"defines %{op.out} again"
    return f"gives %{op.out}, which has no shape and dtype"


def _broken_rule(program: Program, op: Op) -> str | None:
    """Describe how `op` contradicts its primitive; None if it does not."""
    names = [name for name, _ in op.params]
    if len(names) > 1 and names != sorted(set(names)):
        return f"has its parameters out of order: {', '.join(names)}"
    try:
        inferred = op.primitive.abstract_eval(*[program.avals[s] for s in op.args], **dict(op.params))
    except TimeoutError:  # from a signal handler
        raise
    except Exception as error:
        return f"breaks its own rule: {error}"
    if inferred != program.avals[op.out]:
        return f"says {program.avals[op.out]} but its rule gives {inferred}"
    return None


def _neighbors(program: Program, position: int) -> str:
    """Return the text of the op at `position`, marked, and of three ops on either side."""
    near = range(max(0, position - 3), min(len(program.ops), position + 4))
    return "\n".join(("-> " if i == position else "   ") + _op_text(program, program.ops[i]) for i in near)


def listing(program: Program, note: Callable[[Op], str] | None = None) -> str:
    """Return the program as text, one op per line; `note` may add a remark to each."""
    head = ", ".join(f"%{slot}: {program.avals.get(slot, '?')}" for slot in program.inputs)
    lines = [f"program({head})"]
    shown: set[Body] = set()
    for op in program.ops:
        remark = note(op) if note is not None else (f"  # {op.source}" if op.source else "")
        lines.append("  " + _op_text(program, op) + remark)
        for body in bodies_of(op):
            if body not in shown:
                shown.add(body)
                lines += ["    " + line for line in listing(body.program, note).splitlines()]
    lines.append("  return " + ", ".join(f"%{slot}" for slot in program.outputs))
    return "\n".join(lines)


def bodies_of(op: Op) -> list[Body]:
    """Return the bodies among the parameters of an op."""
    values = [v for _, value in op.params for v in (value if isinstance(value, tuple) else (value,))]
    return [value for value in values if isinstance(value, Body)]


def _op_text(program: Program, op: Op) -> str:
    operands = [f"%{slot}" for slot in op.args]
    params = [f"{name}={value if isinstance(value, np.dtype) else repr(value)}" for name, value in op.params]
    aval = program.avals.get(op.out, "?")
    return f"%{op.out}: {aval} = {op.primitive.name}({', '.join(operands + params)})"
