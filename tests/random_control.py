"""Random programs of loops and branches as data: built from a seed, run by jittape's control flow or by Python's.

A `Block` is a straight line of statements with the values around it in reach; a statement that is a loop, a branch or
a recomputed function has blocks of its own. Blocks favor what compilers get wrong: outputs that are equal, that are
inputs passed through, views of each other, or constants, next to ops that are written out in several others.

`random_block(seed)` makes a program, `evaluate` runs it. With ``by_python=True`` loops and branches are Python's own,
which is the reference for values; differences of the reference are the reference for derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jittape as jt

__all__ = [
    "INPUTS",
    "SHAPES",
    "Block",
    "Statement",
    "crowded_block",
    "evaluate",
    "random_block",
    "random_inputs",
    "shrunk",
    "text",
]

SHAPES = {"s": (), "v": (3,), "m": (2, 3)}
"""The kinds of float values; `i` is a number of an iteration."""
_MATRIX = np.array([[0.3, -0.5, 0.2], [0.6, 0.1, -0.4], [-0.2, 0.4, 0.5]])
_FLOAT = jt.float64


@dataclass(frozen=True)
class Statement:
    """One statement: its results, of these kinds, are appended to the values in reach."""

    name: str
    args: tuple[int, ...]
    kinds: tuple[str, ...]
    blocks: tuple[Block, ...] = ()
    option: Any = None


@dataclass(frozen=True)
class Block:
    """Statements over the first `reach` values around it and over its own parameters."""

    reach: int
    parameters: tuple[str, ...]
    statements: tuple[Statement, ...]
    outputs: tuple[int, ...]


# ---- ops ------------------------------------------------------------------------------------------------------------


def _scattered(x: Any) -> Any:
    return jt.tensor_scatter_nd_add(x * 0.5, jt.constant([[0], [2], [0]]), jt.gather(x, [1, 1, 0]) * 0.5)


def _written(x: Any, y: Any) -> Any:
    return jt.concat([x[:1], y[1:2] * 0.5, x[2:]], 0)


_SAME: dict[str, Callable[[Any], Any]] = {
    "sin": jt.sin,
    "tanh": jt.tanh,
    "affine": lambda x: 0.7 * x + 0.2,
    "square": lambda x: 0.3 * x * x,
    "chosen": lambda x: jt.where(x > 0.1, jt.sin(x), 0.5 * x),
    "flat_and_back": lambda x: jt.reshape(jt.reshape(x, (-1,)), x.shape),
    "identity": jt.identity,
}
_PAIR: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: 0.6 * (x + y),
    "multiply": lambda x, y: 0.5 * x * y,
    "subtract": lambda x, y: x - 0.5 * y,
    "maximum": jt.maximum,
}
_OTHER: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "gather": ("v", "v", lambda x: jt.gather(x, [2, 0, 0])),
    "reverse": ("v", "v", lambda x: jt.reverse(x, [0])),
    "roll": ("v", "v", lambda x: jt.roll(x, 1, 0)),
    "running_sum": ("v", "v", lambda x: 0.4 * jt.cumsum(x)),
    "scatter": ("v", "v", _scattered),
    "written": ("vv", "v", _written),
    "sort": ("v", "v", jt.sort),
    "spread": ("s", "v", lambda x: x * jt.constant([1.0, -0.5, 0.25], _FLOAT)),
    "sum": ("v", "s", lambda x: 0.5 * jt.reduce_sum(x)),
    "first": ("v", "s", lambda x: x[0]),
    "dot": ("vv", "s", lambda x, y: 0.4 * jt.tensordot(x, y, 1)),
    "softmax": ("v", "v", jt.nn.softmax),
    "row": ("m", "v", lambda x: x[1]),
    "columns": ("m", "v", lambda x: 0.5 * jt.reduce_sum(x, 0)),
    "stack": ("vv", "m", lambda x, y: jt.stack([x, y])),
    "matmul": ("m", "m", lambda x: jt.matmul(x, jt.constant(_MATRIX))),
    "matvec": ("v", "v", lambda x: jt.linalg.matvec(jt.constant(_MATRIX), x)),
    "outer": ("mv", "m", lambda x, y: 0.5 * x * y),
    "element": ("vi", "s", lambda x, i: jt.gather(x, jt.math.floormod(i, 3))),
    "counted": ("vi", "v", lambda x, i: x * 0.3 * jt.cast(i, _FLOAT)),
}
_CONSTANTS = {"s": 0.75, "v": [0.5, -0.25, 1.5], "m": [[0.1, 0.2, -0.3], [1.0, -0.7, 0.4]]}


def _kinds_of(name: str) -> tuple[str, str]:
    return _OTHER[name][:2]


# ---- running --------------------------------------------------------------------------------------------------------


def evaluate(
    block: Block, around: Sequence[Any], arguments: Sequence[Any], by_python: bool = False
) -> list[Any]:
    """The outputs of a block."""
    values = [*around[: block.reach], *arguments]
    for statement in block.statements:
        given = [values[i] for i in statement.args]
        control = (_BY_PYTHON if by_python else _BY_JITTAPE).get(statement.name)
        if control is not None:
            inner = [
                lambda *own, b=b, before=tuple(values): evaluate(b, before, own, by_python)
                for b in statement.blocks
            ]
            values += control(inner, given, statement)
        elif statement.name == "constant":
            values.append(jt.constant(_CONSTANTS[statement.kinds[0]], _FLOAT))
        elif statement.name in _OTHER:
            values.append(_OTHER[statement.name][2](*given))
        else:
            values.append({**_SAME, **_PAIR}[statement.name](*given))
    return [values[i] for i in block.outputs]


Blocks = list[Callable[..., list[Any]]]


def _choice(x: Any, count: int) -> Any:
    return jt.cast(jt.minimum(jt.abs(x) * 2.0, count - 1.0), jt.int32)


def _mapped(block: Callable[..., list[Any]], how: Callable[..., Any], rows: Any) -> list[Any]:
    return list(how(lambda row: tuple(block(row)), rows, *([(_FLOAT,) * 2] if how is jt.map_fn else [])))


def _while(blocks: Blocks, given: list[Any], statement: Statement) -> list[Any]:
    trips, limit, checkpoint = statement.option
    end = jt.constant(trips)
    return list(
        jt.while_loop(
            lambda i, *_: i < end,
            lambda i, *state: (i + 1, *blocks[0](i, *state)),
            (jt.constant(0), *given),
            maximum_iterations=limit,
            checkpoint=checkpoint,
        )
    )[1:]


def _scan(blocks: Blocks, given: list[Any], statement: Statement) -> list[Any]:
    backwards, checkpoint = statement.option
    *state, rows = given
    return list(
        jt.scan(
            lambda s, row: tuple(blocks[0](*s, row)),
            rows,
            tuple(state),
            reverse=backwards,
            checkpoint=checkpoint,
        )
    )


def _fold(blocks: Blocks, given: list[Any], statement: Statement) -> list[Any]:
    backwards, checkpoint = statement.option
    *state, rows = given
    fold = jt.foldr if backwards else jt.foldl
    return list(fold(lambda s, row: tuple(blocks[0](*s, row)), rows, tuple(state), checkpoint=checkpoint))


def _custom(blocks: Blocks, given: list[Any], statement: Statement) -> list[Any]:
    @jt.custom_gradient
    def function(*args: Any) -> Any:
        def gradient(*upstream: Any) -> Any:
            own = [jt.identity(arg) for arg in args]  # one tensor may be several arguments
            with jt.GradientTape() as tape:
                tape.watch(own)
                results = blocks[0](*own)
            return tape.gradient(results, own, output_gradients=list(upstream), unconnected_gradients="zero")

        return tuple(blocks[0](*args)), gradient

    return list(function(*given))


_BY_JITTAPE: dict[str, Callable[[Blocks, list[Any], Statement], list[Any]]] = {
    "cond": lambda b, x, s: list(jt.cond(x[0] > s.option, lambda: tuple(b[0]()), lambda: tuple(b[1]()))),
    "switch_case": lambda b, x, s: list(
        jt.switch_case(_choice(x[0], len(b)), [lambda one=one: tuple(one()) for one in b])
    ),
    "fori_loop": lambda b, x, s: list(
        jt.fori_loop(0, s.option[0], lambda i, t: tuple(b[0](i, *t)), tuple(x), checkpoint=s.option[1])
    ),
    "while_loop": _while,
    "scan": _scan,
    "fold": _fold,
    "map_fn": lambda b, x, s: _mapped(b[0], jt.map_fn, x[0]),
    "vectorized_map": lambda b, x, s: _mapped(b[0], jt.vectorized_map, x[0]),
    "recompute_grad": lambda b, x, s: list(jt.recompute_grad(lambda *own: tuple(b[0](*own)))(*x)),
    "custom_gradient": _custom,
    "function": lambda b, x, s: list(jt.function(lambda *own: tuple(b[0](*own)))(*x)),
}


def _looped(blocks: Blocks, state: Sequence[Any], trips: int) -> list[Any]:
    for i in range(trips):
        state = blocks[0](jt.constant(i), *state)
    return list(state)


def _stepped(blocks: Blocks, given: list[Any], statement: Statement) -> list[list[Any]]:
    *state, rows = given
    found = []
    for row in [rows[1], rows[0]] if statement.option[0] else [rows[0], rows[1]]:
        state = blocks[0](*state, row)
        found.append(state)
    return found


def _scan_by_python(blocks: Blocks, given: list[Any], statement: Statement) -> list[Any]:
    found = _stepped(blocks, given, statement)
    return [jt.stack(column) for column in zip(*(found[::-1] if statement.option[0] else found), strict=True)]


def _map_by_python(blocks: Blocks, given: list[Any], statement: Statement) -> list[Any]:
    return [jt.stack(column) for column in zip(*[blocks[0](given[0][k]) for k in range(2)], strict=True)]


_BY_PYTHON: dict[str, Callable[[Blocks, list[Any], Statement], list[Any]]] = {
    "cond": lambda b, x, s: b[0 if float(x[0]) > s.option else 1](),
    "switch_case": lambda b, x, s: b[int(_choice(x[0], len(b)))](),
    "fori_loop": lambda b, x, s: _looped(b, x, s.option[0]),
    "while_loop": lambda b, x, s: _looped(b, x, min(n for n in s.option[:2] if n is not None)),
    "scan": _scan_by_python,
    "fold": lambda b, x, s: _stepped(b, x, s)[-1],
    "map_fn": _map_by_python,
    "vectorized_map": _map_by_python,
    "recompute_grad": lambda b, x, s: b[0](*x),
    "custom_gradient": lambda b, x, s: b[0](*x),
    "function": lambda b, x, s: b[0](*x),
}


# ---- making ---------------------------------------------------------------------------------------------------------


class _Maker:
    def __init__(self, rng: np.random.Generator, depth: int) -> None:
        self.rng = rng
        self.depth = depth

    def block(
        self, around: Sequence[str], parameters: Sequence[str], wanted: Sequence[str], level: int, most: int
    ) -> Block:
        """A block that gives values of the kinds `wanted`."""
        kinds = [*around, *parameters]
        statements: list[Statement] = []
        for _ in range(self.rng.integers(1, most + 1)):
            made = self.statement(kinds, level)
            statements.append(made)
            kinds += made.kinds
        outputs: list[int] = []
        repeated = self.option(0.1, 0.9)
        for kind in wanted:
            fitting = [i for i, k in enumerate(kinds) if k == kind]
            again = [i for i in outputs if kinds[i] == kind]
            if again and self.rng.random() < repeated:
                outputs.append(int(self.rng.choice(again)))
            elif fitting and self.rng.random() < 0.9:
                late = fitting[-3:] if self.rng.random() < 0.7 else fitting
                outputs.append(int(self.rng.choice(late)))
            else:
                statements.append(Statement("constant", (), (kind,)))
                kinds.append(kind)
                outputs.append(len(kinds) - 1)
        return Block(len(around), tuple(parameters), tuple(statements), tuple(outputs))

    def pick(self, kinds: Sequence[str], wanted: str) -> int | None:
        fitting = [i for i, kind in enumerate(kinds) if kind == wanted]
        if not fitting:
            return None
        return int(self.rng.choice(fitting[-4:] if self.rng.random() < 0.7 else fitting))

    def statement(self, kinds: Sequence[str], level: int) -> Statement:
        while True:
            control = level < self.depth and self.rng.random() < 0.4
            made = self.control(kinds, level) if control else self.simple(kinds)
            if made is not None:
                return made

    def simple(self, kinds: Sequence[str]) -> Statement | None:
        name = str(self.rng.choice([*_SAME, *_PAIR, *_OTHER, "constant"]))
        if name in _OTHER:
            wanted, kind = _kinds_of(name)
        else:
            kind = str(self.rng.choice(list(SHAPES)))
            wanted = kind * (1 if name in _SAME else 2 if name in _PAIR else 0)
        args = [self.pick(kinds, k) for k in wanted]
        if any(arg is None for arg in args):
            return None
        return Statement(name, tuple([a for a in args if a is not None]), (kind,))

    def state(self, kinds: Sequence[str], choices: str = "svm") -> tuple[list[int], tuple[str, ...]]:
        """Some values to begin with, now and then the same one twice, and their kinds."""
        chosen = self.option(choices, str(self.rng.choice(list(choices))))
        found = [self.pick(kinds, str(k)) for k in self.rng.choice(list(chosen), self.rng.integers(1, 5))]
        args = [arg for arg in found if arg is not None]
        return args, tuple([kinds[i] for i in args])

    def option(self, *values: Any) -> Any:
        return values[self.rng.integers(len(values))]

    def control(self, kinds: Sequence[str], level: int) -> Statement | None:
        name = str(self.rng.choice(list(_BY_JITTAPE)))
        args, state = self.state(kinds)
        if not args:
            return None
        inner = level + 1

        def block(parameters: Sequence[str], wanted: Sequence[str], around: Sequence[str] = kinds) -> Block:
            return self.block(around, parameters, wanted, inner, 4)

        if name in ("cond", "switch_case"):
            which = self.pick(kinds, "s")
            if which is None:
                return None
            count = 2 if name == "cond" else 3
            blocks = tuple([block((), state) for _ in range(count)])
            return Statement(name, (which,), state, blocks, self.option(-0.2, 0.1, 0.3))
        if name == "fori_loop":
            option = (self.option(0, 1, 2, 3, 5), self.option(None, None, 1, 2, "sqrt"))
            return Statement(name, tuple(args), state, (block(("i", *state), state),), option)
        if name == "while_loop":
            trips, limit = self.option(0, 1, 2, 4), self.option(None, None, 0, 2, 5)
            option = (trips, limit, self.option(None, None, 2))
            return Statement(name, tuple(args), state, (block(("i", *state), state),), option)
        if name in ("scan", "fold", "map_fn", "vectorized_map"):
            return self.along(name, kinds, block)
        captured = kinds if name == "recompute_grad" else ()
        return Statement(name, tuple(args), state, (block(state, state, captured),))

    def along(self, name: str, kinds: Sequence[str], block: Callable[..., Block]) -> Statement | None:
        """What goes through the rows of a matrix."""
        rows = self.pick(kinds, "m")
        if rows is None:
            return None
        if name in ("map_fn", "vectorized_map"):
            return Statement(name, (rows,), ("m", "m"), (block(("v",), ("v", "v")),))
        args, state = self.state(kinds, "v" if name == "scan" else "svm")
        if not args:
            return None
        given = tuple(["m" for _ in state]) if name == "scan" else state
        option = (self.option(False, True), self.option(None, 1, 2, "sqrt"))
        return Statement(name, (*args, rows), given, (block((*state, "v"), state),), option)


def crowded_block(seed: int) -> Block:
    """A loop or a branch with outputs that are equal, views of each other, passed through or constant.

    Next to them its body has ops that are written out in several others, and a NumPy step now and then.
    """
    rng = np.random.default_rng([seed, 6])
    name = ("cond", "switch_case", "fori_loop", "while_loop", "scan", "fold", "map_fn", "recompute_grad")[
        seed % 8
    ]
    counted = name in ("fori_loop", "while_loop")
    count = 2 if name == "map_fn" else int(rng.integers(2, 6))
    branches = {"cond": 2, "switch_case": 3}.get(name, 0)
    given = {"scan": ("v",) * (count + 1), "fold": ("v",) * (count + 1), "map_fn": ("v",)}.get(
        name, ("v",) * count
    )
    parameters = () if branches else (*(("i",) * counted), *given)
    reach = len(INPUTS)

    def body() -> Block:
        x = reach + len(parameters) - 1 if parameters else int(rng.choice([0, 3]))
        at = reach + len(parameters)
        written_out = [
            Statement(str(n), (x,), ("v",)) for n in rng.choice(["gather", "scatter", "softmax"], 2)
        ]
        shared = [Statement("sin", (x,), ("v",)), Statement("flat_and_back", (at,), ("v",))]
        rest = [Statement("constant", (), ("v",)), *[Statement("sort", (x,), ("v",))] * (rng.random() < 0.1)]
        first = [Statement("multiply", (0, 3), ("v",)), Statement("flat_and_back", (x,), ("v",))]
        statements = (*shared, *written_out, *rest, *first)
        pool = [x, 0, 3, *range(at, at + len(statements))]
        few = rng.choice(pool, 2)
        return Block(
            reach, parameters, statements, tuple([int(i) for i in rng.choice([*few, *few, *pool], count)])
        )

    blocks = tuple([body() for _ in range(branches or 1)])
    args = tuple([int(i) for i in rng.choice([0, 3], count)])
    args = {"cond": (1,), "switch_case": (1,), "map_fn": (2,), "scan": (*args, 2), "fold": (*args, 2)}.get(
        name, args
    )
    kinds = ("m" if name in ("scan", "map_fn") else "v",) * count
    option = {
        "cond": 0.0,
        "fori_loop": (int(rng.integers(1, 4)), None),
        "while_loop": (int(rng.integers(1, 4)), None, None),
        "scan": (False, None),
        "fold": (True, None),
    }.get(name)
    outputs = tuple(range(reach, reach + count))
    return Block(0, INPUTS, (Statement(name, args, kinds, blocks, option),), outputs)


INPUTS = ("v", "s", "m", "v")
"""The kinds of a program's inputs."""


def random_block(seed: int, depth: int = 3, most: int = 8) -> Block:
    """A program of the parameters `INPUTS`."""
    rng = np.random.default_rng([seed, 7])
    maker = _Maker(rng, depth)
    wanted = [str(kind) for kind in rng.choice(list(SHAPES), rng.integers(1, 4))]
    return maker.block((), INPUTS, wanted, 0, most)


def random_inputs(seed: int) -> list[np.ndarray[Any, Any]]:
    """Values for the parameters of `random_block`."""
    rng = np.random.default_rng([seed, 8])
    return [rng.normal(size=SHAPES[kind]) for kind in INPUTS]


# ---- making smaller -------------------------------------------------------------------------------------------------


def shrunk(block: Block, fails: Callable[[Block], bool]) -> Block:
    """A smaller program that still fails: statements become constants and go, inner blocks get shorter."""
    while True:
        for smaller in _smaller(block):
            if fails(smaller):
                block = smaller
                break
        else:
            return block


def _smaller(block: Block) -> list[Block]:
    found = []
    if len(block.outputs) > 1 and not block.reach and block.parameters == INPUTS:
        for i in range(len(block.outputs)):
            found.append(_with(block, outputs=(*block.outputs[:i], *block.outputs[i + 1 :])))
    first = block.reach + len(block.parameters)
    for n in range(len(block.statements) - 1, -1, -1):
        statement = block.statements[n]
        at = first + sum(len(s.kinds) for s in block.statements[:n])
        here = set(range(at, at + len(statement.kinds)))
        later = {i for s in block.statements[n + 1 :] for i in _uses(s)} | set(block.outputs)
        before, after = block.statements[:n], block.statements[n + 1 :]
        if not here & later:
            moved = [_moved(s, at, len(here)) for s in after]
            outputs = tuple([i - len(here) if i >= at else i for i in block.outputs])
            found.append(_with(block, statements=(*before, *moved), outputs=outputs))
        elif statement.name != "constant":
            constants = [Statement("constant", (), (kind,)) for kind in statement.kinds]
            found.append(_with(block, statements=(*before, *constants, *after)))
            for position, inner in enumerate(statement.blocks):
                for smaller in _smaller(inner):
                    blocks = (*statement.blocks[:position], smaller, *statement.blocks[position + 1 :])
                    changed = Statement(
                        statement.name, statement.args, statement.kinds, blocks, statement.option
                    )
                    found.append(_with(block, statements=(*before, changed, *after)))
    return found


def _with(block: Block, **changes: Any) -> Block:
    return Block(**{**block.__dict__, **changes})


def _uses(statement: Statement) -> set[int]:
    """The values that a statement and its blocks use."""
    inner = {i for b in statement.blocks for i in {*b.outputs, *[j for s in b.statements for j in _uses(s)]}}
    return {*statement.args, *inner}


def _moved(statement: Statement, at: int, by: int) -> Statement:
    """A statement after `by` values before it, from `at` on, have gone."""

    def moved(i: int) -> int:
        return i - by if i >= at + by else i

    blocks = tuple(
        [
            Block(
                b.reach - by if b.reach else 0,
                b.parameters,
                tuple([_moved(s, at, by) for s in b.statements]),
                tuple([moved(i) for i in b.outputs]),
            )
            if b.reach
            else b
            for b in statement.blocks
        ]
    )
    return Statement(
        statement.name, tuple(map(moved, statement.args)), statement.kinds, blocks, statement.option
    )


def text(block: Block, indent: str = "") -> str:
    """A listing."""
    at = block.reach + len(block.parameters)
    given = ", ".join(f"%{block.reach + i}: {kind}" for i, kind in enumerate(block.parameters))
    lines = [f"{indent}({given})"]
    for s in block.statements:
        results = ", ".join(f"%{at + i}" for i in range(len(s.kinds)))
        at += len(s.kinds)
        option = "" if s.option is None else f" {s.option}"
        lines.append(f"{indent}  {results} = {s.name}{option} {', '.join(f'%{i}' for i in s.args)}")
        lines += [text(b, indent + "    ") for b in s.blocks]
    return "\n".join([*lines, f"{indent}  -> {', '.join(f'%{i}' for i in block.outputs)}"])
