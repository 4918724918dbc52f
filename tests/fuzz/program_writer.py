"""Random programs as Python source: operations, control flow, writes and odd dtypes on values that stay tame.

`write` makes a `Source`, whose text runs on two namespaces: jittape, and `numpy_namespace`. While a program is written,
NumPy runs it line by line, so that what is appended fits in shape and dtype, is finite, and stays clear of kinks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy_namespace

import primitive_table
import primitive_table_order
import primitive_table_reduce
import primitive_table_shape

Array = np.ndarray[Any, Any]
TABLES = (primitive_table, primitive_table_order, primitive_table_reduce, primitive_table_shape)

ROWS = [row for table in TABLES for row in table.ROWS]
"""The table of all primitives."""
SMOOTH_ROWS = [row for row in ROWS if row.wrt != () and row.order == 2]
_BY_NAME = {row.name: row for row in ROWS}

LARGEST = 30.0
"""Largest magnitude of a value."""
CLEAR = 0.03
"""How far from a kink, from a tie or from the next integer all elements must be."""

SHAPES = [(), (3,), (4,), (1,), (2, 3), (3, 2), (3, 3), (2, 1), (4, 3, 2), (6,), (0,), (2, 0)]


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


@dataclass
class Writer:
    """Appends statements, and runs each with NumPy."""

    rng: random.Random
    smooth: bool
    dtype: Any
    nodes: list[Any] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    turn: int = 0

    # ---- names and values --------------------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}{self.counts[stem]}"

    def constant(self, value: Any) -> str:
        name = self.fresh("k")
        self.constants[name] = np.asarray(value)
        return name

    def floats(self) -> list[str]:
        """The real floating values of the program's own dtype."""
        return [n for n, v in self.values.items() if getattr(v, "dtype", None) == self.dtype]

    def pick(self, fits: Callable[[Array], bool] = lambda v: True) -> str | None:
        found = [name for name in self.floats() if fits(self.values[name])]
        recent = found[-4:] if self.rng.random() < 0.6 else found
        return self.rng.choice(recent) if recent else None

    def evaluated(self, text: str) -> Any:
        names = {**names_of(numpy_namespace), **self.constants, **self.values}
        with np.errstate(all="ignore"):
            return eval(text, names)

    def append(self, text: str | None) -> str | None:
        """``name = text`` if what comes out is tame."""
        if text is None:
            return None
        value = np.asarray(self.evaluated(text))
        if not tame(value):
            return None
        name = self.fresh("v")
        self.values[name] = value
        self.nodes.append(Assign(name, text))
        return name

    def inner(self, names: Sequence[str]) -> Writer:
        """A writer for a block inside, which sees all values that are there and adds to none of them."""
        values = {**self.values, **{name: self.values[name] for name in names}}
        return Writer(
            self.rng, self.smooth, self.dtype, [], values, self.constants, self.counts, self.depth + 1
        )

    def clear_of_zero(self, text: str, continuous: bool = False) -> bool:
        """Whether all elements stay clear of 0, in a block only if it does not matter: it may run on other values."""
        if self.depth and (self.smooth or not continuous):
            return False
        value = np.asarray(self.evaluated(text))
        return bool(np.all(np.abs(value) > CLEAR))

    def distinct(self, name: str) -> bool:
        """Whether no two elements are nearly equal; in a block nothing is known of them."""
        flat = np.sort(self.values[name].ravel())
        return not self.depth and bool(np.all(np.diff(flat) > CLEAR))

    # ---- statements --------------------------------------------------------------------------------------------------

    def step(self) -> None:
        kinds = _NESTING if self.depth else _KINDS
        makers, weights = zip(*kinds, strict=True)
        self.rng.choices(makers, weights)[0](self)

    def mixed(self, name: str) -> str | None:
        """A new value of the shape and dtype of `name`, made of it and of another one."""
        other = self.pick()
        if other is None:
            return None
        value, shape = self.values[other], self.values[name].shape
        if value.shape != shape and not value.size:
            return self.append(f"0.75 * {name} + 0.05")
        added = other if value.shape == shape else f"jt.reduce_mean({other})"
        function = self.rng.choice(["jt.sin", "jt.tanh", "jt.atan", "jt.sigmoid"])
        return self.append(f"0.75 * {name} + 0.2 * {function}({added})")


def tame(value: Array) -> bool:
    if value.size > 200 or value.ndim > 4:
        return False
    return (
        bool(np.all(np.isfinite(value)) and np.all(np.abs(value) <= LARGEST))
        if value.dtype.kind in "fc"
        else True
    )


def _path(name: str) -> str:
    """Where jittape has a function."""
    folder = {"relu": "nn.", "softplus": "math.", "erf": "math.", "log": "math.", "log1p": "math."}
    return f"jt.{folder.get(name, '')}{name}"


# ---- elementwise, reductions, shapes -------------------------------------------------------------------------------


def unary(w: Writer) -> None:
    x = w.pick()
    name = w.rng.choice(
        ["sin", "cos", "tanh", "sigmoid", "softplus", "erf", "square", "atan", "asinh", "negative"]
    )
    if x is not None:
        w.append(f"{_path(name)}({x})")


def positive(w: Writer) -> None:
    """Functions of positive numbers."""
    x = w.pick()
    if x is not None:
        name = w.rng.choice(["log", "sqrt", "log1p"])
        w.append(f"{_path(name)}(jt.square({x}) + 0.5)")


def bounded(w: Writer) -> None:
    x = w.pick()
    if x is not None:
        w.append(f"{w.rng.choice(['jt.exp', 'jt.math.expm1'])}(jt.tanh({x}))")


def binary(w: Writer) -> None:
    x = w.pick()
    if x is None:
        return
    y = w.pick(lambda v: _broadcast(v, w.values[x]))
    if y is None:
        return
    op = w.rng.choice(["+", "-", "*", "*", "/", "**"])
    if op == "/":
        w.append(f"{x} / (1.5 + jt.square({y}))")
    elif op == "**":
        w.append(
            f"(1.2 + jt.sigmoid({x})) ** {y}" if w.rng.random() < 0.5 else f"{x} ** {w.rng.choice([2, 3])}"
        )
    else:
        w.append(f"{x} {op} {y}")


def scalar(w: Writer) -> None:
    x = w.pick()
    if x is not None:
        w.append(w.rng.choice([f"{x} * 0.5", f"1.25 - {x}", f"{x} + 1", f"2 * {x}", f"-{x}", f"{x} / 4"]))


def kinked(w: Writer) -> None:
    x = w.pick()
    if x is None:
        return
    y = w.pick(lambda v: v.shape == w.values[x].shape)
    kind = w.rng.choice(["abs", "relu", "maximum", "minimum", "where", "sign"])
    if kind in ("abs", "relu", "sign"):
        if w.clear_of_zero(x, continuous=kind != "sign"):
            w.append(f"{_path(kind)}({x})")
    elif y is not None and y != x and w.clear_of_zero(f"{x} - {y}", continuous=kind != "where"):
        w.append(
            f"jt.where({x} < {y}, {x} * {y}, jt.sin({x}))" if kind == "where" else f"jt.{kind}({x}, {y})"
        )


def reduction(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0)
    if x is None:
        return
    value = w.values[x]
    axis = w.rng.choice([None, *range(value.ndim), -1])
    kind = w.rng.choice(["sum", "mean", "sum", "prod", "logsumexp", "max", "min"])
    if value.size == 0 and kind not in ("sum", "prod"):
        return
    if kind in ("max", "min") and not w.distinct(x):
        return
    w.append(f"jt.reduce_{kind}({x}, axis={axis}, keepdims={w.rng.random() < 0.3})")


def shaping(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0)
    if x is None:
        return
    value = w.values[x]
    axis = w.rng.randrange(value.ndim)
    perm = tuple(w.rng.sample(range(value.ndim), value.ndim))
    ones = (1,) * (value.ndim - 1)
    choices = [
        f"jt.transpose({x}, {perm})",
        f"jt.reshape({x}, (-1,))" if value.size else f"jt.reshape({x}, (0,))",
        f"jt.reverse({x}, [{axis}])",
        f"jt.roll({x}, {w.rng.choice([-2, -1, 1, 5])}, {axis})",
        f"jt.expand_dims({x}, {axis})",
        f"jt.tile({x}, {(2, *ones)})",
        f"jt.pad({x}, {tuple((w.rng.randint(0, 2), w.rng.randint(0, 1)) for _ in perm)})",
        f"jt.cumsum({x}, {axis})",
        f"jt.nn.softmax({x})" if value.shape[-1] else None,
        f"jt.sort({x}, {axis})" if w.distinct(x) else None,
        f"jt.broadcast_to({x}, {(2, *value.shape)})",
    ]
    w.append(w.rng.choice(choices))


def joining(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0)
    if x is None:
        return
    y = w.pick(lambda v: v.shape == w.values[x].shape)
    axis = w.rng.randrange(w.values[x].ndim)
    w.append(f"jt.{w.rng.choice(['concat', 'stack'])}([{x}, {y}, {x}], {axis})")


def product(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim == 2)
    if x is None:
        return
    y = w.pick(lambda v: v.ndim == 2 and v.shape[0] == w.values[x].shape[1])
    w.append(f"jt.matmul({x}, {y})" if y is not None else f"jt.matmul({x}, jt.transpose({x}))")


def indexing(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0 and v.shape[0] > 0)
    if x is None:
        return
    n = w.values[x].shape[0]
    start = w.rng.randrange(n)
    index = [w.rng.randrange(n) for _ in range(w.rng.randint(1, 4))]
    choices: list[Callable[[], str]] = [
        lambda: f"{x}[{start}]",
        lambda: f"{x}[{start}:]",
        lambda: f"{x}[::-1]",
        lambda: f"{x}[::2]",
        lambda: f"{x}[{start}:{start + 1}]",
        lambda: f"{x}[..., None]",
        lambda: f"jt.gather({x}, {w.constant(np.array(index))})",
        lambda: f"{x}[{w.constant(np.array(index))}]",
        lambda: f"jt.gather({x}, jt.argmax({x}, 0))" if w.values[x].ndim == 1 and w.distinct(x) else "0.5",
        lambda: (
            f"jt.tensor_scatter_nd_add({x}, {w.constant(np.array(index)[:, None])}, "
            f"jt.gather({x}, {w.constant(np.array(index[::-1]))}))"
        ),
    ]
    text = w.rng.choice(choices)()
    if text != "0.5":
        w.append(text)


def detour(w: Writer) -> None:
    """Other dtypes on the way: complex numbers, and dtypes that round, where only values are compared."""
    x = w.pick()
    if x is None:
        return
    own = f"jt.{np.dtype(w.dtype).name}"
    kinds = ["complex"] if w.smooth else ["complex", "float16", "int8", "int32", "bool", "other"]
    kind = w.rng.choice(kinds)
    if kind == "complex":
        y = w.pick(lambda v: v.shape == w.values[x].shape)
        z = f"jt.complex({x}, {y})"
        w.append(
            w.rng.choice(
                [
                    f"jt.real({z} * {z})",
                    f"jt.imag(jt.exp(jt.complex(jt.tanh({x}), {y})))",
                    f"jt.real({z} * jt.conj({z}))",
                ]
            )
        )
    elif kind == "float16":
        w.append(f"jt.cast(jt.cast({x}, jt.float16) * 2, {own})")
    elif kind == "other":
        other = "jt.float32" if w.dtype == np.float64 else "jt.float64"
        w.append(f"jt.cast(jt.cast({x}, {other}), {own})")
    elif kind == "bool":
        if w.clear_of_zero(x):
            w.append(f"jt.cast({x} > 0, {own}) + {x}")
    elif w.clear_of_zero(f"{x} - np.round({x})"):
        w.append(f"jt.cast(jt.cast({x}, jt.{kind}) // 2, {own}) * 0.5")


def written(w: Writer) -> None:
    """A tensor with a part that is written to."""
    x = w.pick(lambda v: v.ndim > 0 and v.shape[0] > 0)
    if x is None:
        return
    value = w.values[x]
    name = w.fresh("t")
    copied = np.array(value)
    row = w.rng.randrange(value.shape[0])
    where = w.rng.choice([f"{row}", f"{row}:", "::2", "..."])
    text = w.rng.choice([f"{x}[{where}] * 0.5 + 1.0", "0.25", f"jt.reduce_sum({x}) * 0.1"])
    new = np.asarray(w.evaluated(text))
    exec(f"copied[{where}] = new", {"copied": copied, "new": new})
    if not tame(copied):
        return
    w.nodes += [Assign(name, f"jt.identity({x})"), Assign(None, f"{name}[{where}] = {text}")]
    w.values[name] = copied


def assigned(w: Writer) -> None:
    """A Variable of the program's, updated and read."""
    states = [n for n, v in w.values.items() if isinstance(v, numpy_namespace.Variable)]
    if not states or w.depth:
        return
    v = w.rng.choice(states)
    x = w.pick(lambda a: a.shape == w.values[v].value.shape)
    if x is None:
        w.append(f"jt.identity({v})")
        return
    text = f"{v}.{w.rng.choice(['assign', 'assign_add'])}(0.25 * {x})"
    w.evaluated(text)
    if tame(w.values[v].value):
        w.nodes.append(Assign(None, text))
        w.append(f"jt.identity({v})")


def tabled(w: Writer) -> None:
    """An op from the table of all primitives, near operands of its own that lie in its domain."""
    x = w.pick(lambda v: v.size > 0)
    rows = SMOOTH_ROWS if w.smooth else ROWS
    row = rows[w.turn % len(rows)]
    w.turn += w.rng.randrange(len(rows))
    dtype = np.dtype(w.dtype).name
    drawn = [np.asarray(a) for a in row.sample(np.random.default_rng(w.rng.randrange(10**6)))]
    operands = [a.astype(dtype) if a.dtype.kind == "f" else a for a in drawn]
    if x is None or w.depth or (dtype not in row.dtypes and any(a.dtype.kind == "f" for a in drawn)):
        return
    linked = next((i for i in row.wrt or range(len(operands)) if operands[i].dtype.kind == "f"), None)
    names = [w.constant(a) for a in operands]
    if linked is not None and operands[linked].size:
        names[linked] = f"{names[linked]} + 0.01 * jt.tanh(jt.reduce_mean({x}))"
    text = f"row({row.name!r}, {', '.join(names)})"
    found = np.asarray(w.evaluated(text))
    if found.dtype.kind == "c":
        text = f"jt.real({text})"
    largest = float(np.max(np.abs(found), initial=0))
    scale = "" if largest <= LARGEST or not np.isfinite(largest) else f" * {1 / largest}"
    w.append(f"jt.cast({text}, jt.{dtype}){scale}")


# ---- control flow ----------------------------------------------------------------------------------------------------


def loop(w: Writer) -> None:
    start = [
        n for n in (w.pick(lambda v: 0 < v.size <= 12) for _ in range(w.rng.randint(1, 3))) if n is not None
    ]
    if not start:
        return
    trips, counter = w.rng.randint(0, 4), w.fresh("i")
    own = f"jt.{np.dtype(w.dtype).name}"
    carried = [w.fresh("c") for _ in start]
    body = w.inner([])
    body.values = {**w.values, **{c: w.values[s] for c, s in zip(carried, start, strict=True)}, counter: 1}
    results = []
    for c in carried:
        if w.rng.random() < 0.15:
            results.append(w.rng.choice([r for r in carried if body.values[r].shape == body.values[c].shape]))
            continue
        for _ in range(w.rng.randint(0, 2)):
            body.step()
        scaled = body.append(f"{c} * (1.0 - 0.1 * jt.cast({counter}, {own}))") if w.rng.random() < 0.4 else c
        result = body.mixed(scaled or c)
        results.append(result or c)
    if len(results) > 1 and w.rng.random() < 0.3:  # equal outputs
        for j in range(1, len(results)):
            if body.values[results[j]].shape == body.values[results[0]].shape:
                results[j] = results[0]
    kind = w.rng.choice(["fori_loop", "fori_loop", "while_loop"])
    option = ""
    if kind == "fori_loop" and w.rng.random() < 0.2:
        option = f", checkpoint={w.rng.choice([1, 2, repr('sqrt')])}"
    names = [w.fresh("v") for _ in start]
    _keep(w, Loop(names, trips, counter, carried, start, body.nodes, results, kind, option), names)


def branch(w: Writer) -> None:
    x, y = w.pick(), w.pick(lambda v: v.size <= 12)
    if x is None or y is None or w.values[x].size == 0:
        return
    predicate = f"jt.reduce_sum({x}) > {round(w.rng.uniform(-1, 1), 3)}"
    total, bound = predicate.split(" > ")
    if not w.clear_of_zero(f"{total} - {bound}"):
        return
    blocks, results = [], []
    for _ in range(2):
        block = w.inner([])
        for _ in range(w.rng.randint(0, 2)):
            block.step()
        results.append(block.mixed(y) or y)
        blocks.append(block.nodes)
    name = w.fresh("v")
    _keep(w, Branch(name, w.counts["v"], predicate, (blocks[0], blocks[1]), (results[0], results[1])), [name])


def block(w: Writer) -> None:
    """A function: called, recomputed for its gradient, or mapped over the rows of its arguments."""
    mapped = w.rng.random() < 0.5
    x = w.pick(lambda v: (v.ndim > 0 and v.shape[0] > 0) if mapped else True)
    if x is None:
        return
    p = w.fresh("p")
    inner = w.inner([])
    inner.values = {**w.values, p: w.values[x][0] if mapped else w.values[x]}
    for _ in range(w.rng.randint(1, 3)):
        inner.step()
    result = inner.mixed(p) or p
    name = w.fresh("v")
    wrapper = w.rng.choice(
        ["jt.map_fn({function}, {arguments})", "jt.vectorized_map({function}, {arguments})"]
        if mapped
        else ["jt.recompute_grad({function})({arguments})", "{function}({arguments})"]
    )
    _keep(w, Block(name, w.counts["v"], [p], [x], inner.nodes, result, wrapper), [name])


def scanned(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0 and v.shape[0] > 0)
    if x is None:
        return
    a, e = w.fresh("p"), w.fresh("p")
    inner = w.inner([])
    inner.values = {**w.values, a: w.values[x][0] * 0.5, e: w.values[x][0]}
    inner.step()
    result = inner.append(f"0.5 * {a} + 0.25 * jt.sin({inner.mixed(e) or e})")
    if result is None:
        return
    name = w.fresh("v")
    wrapper = "jt.scan({function}, {arguments}, " + f"{x}[0] * 0.5)"
    _keep(w, Block(name, w.counts["v"], [a, e], [x], inner.nodes, result, wrapper), [name])


def _keep(w: Writer, node: Any, names: list[str]) -> None:
    """Append a statement with blocks if all that it does stays tame, whichever way it goes."""
    states = {n: np.array(v.value) for n, v in w.values.items() if isinstance(v, numpy_namespace.Variable)}
    scope = {**names_of(numpy_namespace), **w.constants, **w.values}
    with np.errstate(all="ignore"):
        exec("\n".join(node.lines(PLAIN)), scope)
    assert all(np.array_equal(w.values[n].value, before) for n, before in states.items())
    found = {name: np.asarray(scope[name]) for name in names}
    if all(tame(value) and value.dtype == w.dtype for value in found.values()):
        w.nodes.append(node)
        w.values.update(found)


def _broadcast(a: Array, b: Array) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


_SIMPLE: list[tuple[Callable[[Writer], None], float]] = [
    (unary, 5),
    (positive, 1.5),
    (bounded, 1.5),
    (binary, 6),
    (scalar, 3),
    (kinked, 2),
    (reduction, 4),
    (shaping, 4),
    (joining, 1.5),
    (product, 1.5),
    (indexing, 4),
    (detour, 1.5),
    (written, 1.5),
    (tabled, 1.0),
]
_KINDS = [*_SIMPLE, (assigned, 1.0), (loop, 2.0), (branch, 1.2), (block, 2.0), (scanned, 1.0)]
_NESTING = [*_SIMPLE, (loop, 0.5), (branch, 0.5), (block, 0.4)]


def write(seed: int, smooth: bool, most: int = 10) -> Source:
    """A random program of at most `most` statements, some of which have blocks of their own.

    With `smooth` its derivatives agree with differences: it is float64, assigns no Variables, and all values in its
    straight lines are clear of kinks.
    """
    rng = random.Random(f"{seed} {smooth}")
    dtype = np.float64 if smooth else rng.choice([np.float64, np.float32])
    values = np.random.default_rng(seed)
    writer = Writer(rng, smooth, dtype, turn=seed // 2)
    inputs = tuple(
        [values.uniform(-2, 2, rng.choice(SHAPES)).astype(dtype) for _ in range(rng.randint(1, 3))]
    )
    writer.values = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs)}
    state: tuple[str, ...] = ()
    if not smooth and rng.random() < 0.3:
        state = ("state",)
        writer.values["state"] = numpy_namespace.Variable(inputs[0] * 0.5)
    tabled(writer)
    for _ in range(rng.randint(2, most)):
        writer.step()
    names = writer.floats()
    text = " ".join([line for node in writer.nodes for line in node.lines(PLAIN)])
    unused = [name for name in names if len(re.findall(rf"\b{name}\b", text)) == 1]
    outputs = (*unused[-3:], rng.choice(names))
    return Source(seed, inputs, writer.constants, tuple(writer.nodes), outputs, smooth, state)
