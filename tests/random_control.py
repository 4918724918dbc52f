"""Random programs of loops and branches, from a seed: see `control_blocks`.

Blocks favor what compilers get wrong: outputs that are equal, that are inputs passed through, views of each other, or
constants, next to ops that are written out in several others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from control_blocks import CONTROL, OTHER, PAIR, SAME, SHAPES, Block, Statement

__all__ = ["INPUTS", "crowded_block", "random_block", "random_inputs", "shrunk"]


INPUTS = ("v", "s", "m", "v")
"""The kinds of a program's inputs."""


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
        name = str(self.rng.choice([*SAME, *PAIR, *OTHER, "constant"]))
        if name in OTHER:
            wanted, kind = OTHER[name][:2]
        else:
            kind = str(self.rng.choice(list(SHAPES)))
            wanted = kind * (1 if name in SAME else 2 if name in PAIR else 0)
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
        name = str(self.rng.choice(CONTROL))
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
