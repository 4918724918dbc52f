"""Structured SSA form of a user's function: scalars are values, arrays are memory.

A value is assigned once. Loops and branches keep their structure; a variable that a loop carries or that branches
assign is a phi. Each array has a root, the memory that it refers to; views share the root of their base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Alloc", "Apply", "Array", "Block", "Constant", "Dim", "Effect", "Function", "If", "IfPhi", "Load", "Loop",
    "LoopPhi", "Op", "Resize", "Root", "Scalar", "Statement", "Store", "Value", "View", "Where", "inner_blocks",
    "is_inside", "results_of", "walk",
]  # fmt: skip


@dataclass(frozen=True)
class Where:
    """A line of the user's source."""

    file: str
    line: int
    text: str


@dataclass(eq=False)
class Constant:
    """A literal number or bool with its Numba type."""

    value: Any
    type: Any

    @property
    def name(self) -> str:
        """Python text of the literal."""
        if isinstance(self.value, float) and self.value - self.value != 0.0:
            return "np.nan" if self.value != self.value else "np.inf" if self.value > 0 else "(-np.inf)"
        text = repr(self.value)
        if str(self.type) == "float32":
            return f"np.float32({text})"
        return f"({text})" if text.startswith("-") else text


@dataclass(eq=False)
class Value:
    """A scalar that is assigned once; `block` is None for an argument."""

    name: str
    type: Any
    block: Block | None = None
    statement: Statement | None = None


Scalar = Value | Constant


@dataclass(eq=False)
class Root:
    """The memory of an argument or of an allocated array.

    That of a name which a loop or a branch rebinds has `origins`: other memory that the name can refer to in Python,
    and its epochs. `reason` is the beginning of the error if a write makes the difference visible.
    """

    name: str
    dtype: Any
    block: Block | None = None
    epoch: int = 0
    origins: tuple[tuple[Root, int], ...] = ()
    reason: str = "a loop or branch rebinds the array"


@dataclass(eq=False)
class Array:
    """A reference to memory; `dims` are the sizes that are known as values."""

    name: str
    type: Any
    root: Root
    block: Block | None = None
    statement: Statement | None = None
    dims: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Block:
    """Statements that run one after the other, in `loop` if that is not None.

    The block of a branch has in `branch` the condition and whether it runs if the condition holds.
    """

    parent: Block | None = None
    loop: Loop | None = None
    statements: list[Statement] = field(default_factory=list)
    known: dict[Any, Any] = field(default_factory=dict)
    branch: tuple[Any, bool] | None = None

    def loops(self) -> list[Loop]:
        """Return the enclosing loops, innermost first."""
        found = []
        loop = self.loop
        while loop is not None:
            found.append(loop)
            loop = loop.outer.loop
        return found


@dataclass(eq=False)
class Statement:
    """Base of all statements."""

    where: Where


@dataclass(eq=False)
class Op(Statement):
    """``result = rule(operands)``, without side effects."""

    result: Value
    rule: Any
    operands: list[Any]

    @property
    def repeatable(self) -> bool:
        """Whether the same operands give the same result later; arrays may be written meanwhile."""
        return not (self.draws or any(isinstance(x, Array) for x in self.operands))

    @property
    def draws(self) -> bool:
        """Whether the result is a random number."""
        return bool(getattr(self.rule, "draws", False))


@dataclass(eq=False)
class Dim(Statement):
    """``result = array.shape[axis]``."""

    result: Value
    array: Array
    axis: int


@dataclass(eq=False)
class Load(Statement):
    """``result = array[indices]``; zero if there is a guard and it is false."""

    result: Value
    array: Array
    indices: list[Any]
    guard: Value | None = None


@dataclass(eq=False)
class Store(Statement):
    """``array[indices] = value``; `sign` is ``"+"`` or ``"-"`` if the element is updated instead."""

    array: Array
    indices: list[Any]
    value: Any
    sign: str = ""


@dataclass(eq=False)
class Alloc(Statement):
    """``result = template``: a new array whose elements do not depend on active values."""

    result: Array
    template: str
    operands: list[Any]


@dataclass(eq=False)
class Apply(Statement):
    """``result = rule(operands)``: a function of arrays with a rule; an array as the result is new memory."""

    result: Any
    rule: Any
    operands: list[Any]


@dataclass(eq=False)
class View(Statement):
    """``result = base<template>``; the same text gives the view of the shadow."""

    result: Array
    base: Array
    template: str
    operands: list[Any]


@dataclass(eq=False)
class Resize(Statement):
    """A stack of generated code that is enlarged if it is too small; the operands are the elements used and wanted."""

    array: Array
    operands: list[Any]


@dataclass(eq=False)
class Effect(Statement):
    """A statement that only has an effect: ``print``, ``raise``, a check of shapes."""

    template: str
    operands: list[Any]


@dataclass(eq=False)
class IfPhi:
    """The value of a variable after a branch."""

    result: Value
    then: Any
    orelse: Any


@dataclass(eq=False)
class If(Statement):
    """A branch."""

    condition: Any
    then: Block
    orelse: Block
    phis: list[IfPhi] = field(default_factory=list)


@dataclass(eq=False)
class LoopPhi:
    """A variable that a loop carries: `inner` during an iteration, `out` after the loop."""

    inner: Value
    init: Any
    out: Value
    next: Any = None


@dataclass(eq=False)
class Loop(Statement):
    """A loop over a range, or, if `counter` is None, one that runs while the condition of its header holds.

    If `stop` is not None, the loop ends after an iteration in which it is true. `trips` counts the iterations of loops
    whose number of iterations is not known before. `parallel` is whether the user's function runs it in threads.
    """

    outer: Block
    counter: Value | None = None
    bounds: list[Any] = field(default_factory=list)
    header: Block | None = None
    condition: Any = None
    body: Block = field(default_factory=Block)
    stop: Any = None
    phis: list[LoopPhi] = field(default_factory=list)
    trips: Value | None = None
    parallel: bool = False


@dataclass(eq=False)
class Function:
    """A function in structured form: its name, arguments, statements and result."""

    where: Where
    name: str
    parameters: list[str]
    arguments: dict[str, Any]
    body: Block
    result: Any
    sources: list[str]


def results_of(function: Function) -> list[Any]:
    """Return the results of a function, those in tuples too."""
    found, work = [], [function.result]
    while work:
        one = work.pop()
        if isinstance(one, tuple):
            work.extend(one)
        else:
            found.append(one)
    return found


def is_inside(one: Any, loop: Loop) -> bool:
    """Return whether a value, an array or memory is made in a loop, or in that of a segment, by its condition too."""
    return one.block is not None and any(around.body is loop.body for around in one.block.loops())


def walk(block: Block) -> Iterator[Statement]:
    """Yield all statements of `block` in program order, those of inner blocks after the statement itself."""
    for statement in block.statements:
        yield statement
        if isinstance(statement, If):
            yield from walk(statement.then)
            yield from walk(statement.orelse)
        elif isinstance(statement, Loop):
            if statement.header is not None:
                yield from walk(statement.header)
            yield from walk(statement.body)


def inner_blocks(block: Block) -> list[Block]:
    """Return all blocks inside a block, without the headers of loops."""
    found: list[Block] = []
    for s in walk(block):
        if isinstance(s, If):
            found += [s.then, s.orelse]
        elif isinstance(s, Loop):
            found.append(s.body)
    return found
