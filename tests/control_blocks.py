"""Programs of loops and branches as data, run by jittape's control flow or by Python's.

A `Block` is a straight line of statements with the values around it in reach; a statement that is a loop, a branch or
a recomputed function has blocks of its own. `evaluate` runs a block. With ``by_python=True`` loops and branches are
Python's own, which is the reference for values; differences of the reference are the reference for derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jittape as jt

__all__ = ["CONTROL", "OTHER", "PAIR", "SAME", "SHAPES", "Block", "Statement", "evaluate", "text"]

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


SAME: dict[str, Callable[[Any], Any]] = {
    "sin": jt.sin,
    "tanh": jt.tanh,
    "affine": lambda x: 0.7 * x + 0.2,
    "square": lambda x: 0.3 * x * x,
    "chosen": lambda x: jt.where(x > 0.1, jt.sin(x), 0.5 * x),
    "flat_and_back": lambda x: jt.reshape(jt.reshape(x, (-1,)), x.shape),
    "identity": jt.identity,
}
PAIR: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: 0.6 * (x + y),
    "multiply": lambda x, y: 0.5 * x * y,
    "subtract": lambda x, y: x - 0.5 * y,
    "maximum": jt.maximum,
}
OTHER: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "gather": ("v", "v", lambda x: jt.gather(x, [2, 0, 0])),
    "reverse": ("v", "v", lambda x: jt.reverse(x, [0])),
    "roll": ("v", "v", lambda x: jt.roll(x, 1, 0)),
    "running_sum": ("v", "v", lambda x: 0.4 * jt.cumsum(x)),
    "scatter": ("v", "v", _scattered),
    "written": ("vv", "v", _written),
    "sort": ("v", "v", lambda x: jt.sort(jt.tile(x, [12]))[::12]),  # NumPy sorts so many elements
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
        elif statement.name in OTHER:
            values.append(OTHER[statement.name][2](*given))
        else:
            values.append({**SAME, **PAIR}[statement.name](*given))
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

CONTROL = tuple(_BY_JITTAPE)
"""The names of statements that have blocks."""


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
