"""The parts of a random program, each of which writes its lines of Python source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy_namespace

import primitive_table
import primitive_table_bessel
import primitive_table_gamma
import primitive_table_order
import primitive_table_reduce
import primitive_table_segments
import primitive_table_shape
import primitive_table_signal
import primitive_table_solves
import primitive_table_systems

Array = np.ndarray[Any, Any]
TABLES = (
    primitive_table,
    primitive_table_bessel,
    primitive_table_gamma,
    primitive_table_order,
    primitive_table_reduce,
    primitive_table_shape,
    primitive_table_signal,
    primitive_table_solves,
    primitive_table_systems,
    primitive_table_segments,
)

ROWS = [row for table in TABLES for row in table.ROWS if row.reference is not None]
"""The rows of all primitives that NumPy computes too."""
_BY_NAME = {row.name: row for row in ROWS}


def names_of(jt: Any) -> dict[str, Any]:
    """The global names of a program that runs on the operations of `jt`."""

    def row(name: str, *operands: Any) -> Any:
        if jt is numpy_namespace:
            return _BY_NAME[name].reference(*operands)
        return _BY_NAME[name].function(*map(jt.convert_to_tensor, operands))

    return {"jt": jt, "np": np, "row": row}


@dataclass(frozen=True)
class Style:
    """How control flow is spelled; every style means the same.

    Attributes
    ----------
    unrolled : bool
        Loops are Python's own.
    inverted : bool
        The branches of a `cond` are exchanged, and its condition negated.
    wrapped : bool
        A function is called from within another.
    """

    unrolled: bool = False
    inverted: bool = False
    wrapped: bool = False


PLAIN = Style()


@dataclass
class Assign:
    """``name = text``, or a statement that names nothing."""

    name: str | None
    text: str

    def lines(self, style: Style) -> list[str]:
        return [self.text if self.name is None else f"{self.name} = {self.text}"]


@dataclass
class Loop:
    """A `fori_loop` or a `while_loop` that carries some values."""

    names: list[str]
    trips: int
    counter: str
    carried: list[str]
    start: list[str]
    body: list[Any]
    results: list[str]
    kind: str
    option: str = ""

    def lines(self, style: Style) -> list[str]:
        inner = [line for node in self.body for line in node.lines(style)]
        carried, results, start = (", ".join(part) for part in (self.carried, self.results, self.start))
        if style.unrolled:
            return [
                f"{carried}, = {start},",
                f"for {self.counter} in range({self.trips}):",
                *_indented([*inner, f"{carried}, = {results},"]),
                f"{', '.join(self.names)}, = {carried},",
            ]
        body = f"body_{self.counter}"
        if self.kind == "fori_loop":
            return [
                f"def {body}({self.counter}, carried):",
                *_indented([f"{carried}, = carried", *inner, f"return ({results},)"]),
                f"{', '.join(self.names)}, = jt.fori_loop(0, {self.trips}, {body}, ({start},){self.option})",
            ]
        return [
            f"def {body}({self.counter}, {carried}):",
            *_indented([*inner, f"return {self.counter} + 1, {results}"]),
            f"_, {', '.join(self.names)} = jt.while_loop(lambda {self.counter}, *_: {self.counter} < {self.trips}, "
            f"{body}, (0, {start}){self.option})",
        ]


@dataclass
class Branch:
    """A `cond` between two blocks with the same results."""

    name: str
    number: int
    predicate: str
    blocks: tuple[list[Any], list[Any]]
    results: tuple[str, str]

    def lines(self, style: Style) -> list[str]:
        found = []
        for i, (block, result) in enumerate(zip(self.blocks, self.results, strict=True)):
            inner = [line for node in block for line in node.lines(style)]
            found += [f"def branch_{self.number}_{i}():", *_indented([*inner, f"return {result}"])]
        first, second = f"branch_{self.number}_0", f"branch_{self.number}_1"
        if style.inverted:
            return [*found, f"{self.name} = jt.cond(jt.logical_not({self.predicate}), {second}, {first})"]
        return [*found, f"{self.name} = jt.cond({self.predicate}, {first}, {second})"]


@dataclass
class Block:
    """A function of some values that is called at once: through `wrapper`, along an axis, or as it is."""

    name: str
    number: int
    parameters: list[str]
    start: list[str]
    body: list[Any]
    result: str
    wrapper: str

    def lines(self, style: Style) -> list[str]:
        inner = [line for node in self.body for line in node.lines(style)]
        call = self.wrapper.format(function=f"block_{self.number}", arguments=", ".join(self.start))
        if style.wrapped and self.wrapper == "{function}({arguments})":
            call = f"(lambda: {call})()"
        return [
            f"def block_{self.number}({', '.join(self.parameters)}):",
            *_indented([*inner, f"return {self.result}"]),
            f"{self.name} = {call}",
        ]


def _indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


@dataclass(frozen=True)
class Source:
    """A random program.

    Attributes
    ----------
    seed : int
    inputs : tuple of ndarray
        Floating, and to be differentiated by.
    constants : dict
        Arrays of integers and the like, by the names that the text has for them.
    nodes : tuple
        The statements.
    outputs : tuple of str
    smooth : bool
        Whether derivatives of the program agree with differences.
    state : tuple of str
        Names of the Variables that it assigns; each begins as half of the first input.
    """

    seed: int
    inputs: tuple[Array, ...]
    constants: dict[str, Array]
    nodes: tuple[Any, ...]
    outputs: tuple[str, ...]
    smooth: bool
    state: tuple[str, ...] = ()

    def text(self, style: Style = PLAIN) -> str:
        """The source of a function `program` of the inputs, and of the Variables if there are any."""
        inner = [line for node in self.nodes for line in node.lines(style)]
        parameters = ", ".join([*[f"x{i}" for i in range(len(self.inputs))], *self.state])
        return "\n".join(
            [f"def program({parameters}):", *_indented([*inner, f"return ({', '.join(self.outputs)},)"]), ""]
        )

    def function(self, jt: Any, style: Style = PLAIN) -> Callable[..., tuple[Any, ...]]:
        """The program, on the operations of `jt`."""
        names = {**names_of(jt), **self.constants}
        exec(compile(self.text(style), f"<program {self.seed}>", "exec"), names)
        found: Callable[..., tuple[Any, ...]] = names["program"]
        return found
