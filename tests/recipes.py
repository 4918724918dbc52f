"""Random programs as a user writes them, for hypothesis: a recipe is a list of steps that can be followed repeatedly.

Start at `recipes`. While a recipe is drawn it is followed with concrete numbers, so that these stay tame: a step whose
result is huge, not finite or too large is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from jittape.core.builder import Builder
from jittape.core.interpret import run_op
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Op, Program
from recipe_steps import KINKED, OTHER_DTYPES, SMOOTH, Draw, Maker

Array = np.ndarray[Any, Any]

SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (1,),
    (4,),
    (3, 4),
    (4, 1),
    (1, 4),
    (2, 3, 4),
    (2, 1, 3),
    (3, 0),
    (33,),
    (1300,),
)
LARGEST = 6000
"""Elements of a value at most."""
TAME = 30.0
"""Numbers are at most so large: sin(1e20) would compare nothing but rounding."""


@dataclass(frozen=True)
class Step:
    """One call: `function` of the values numbered `operands`."""

    text: str
    function: Callable[..., Any]
    operands: tuple[int, ...]
    exact: bool

    def __repr__(self) -> str:
        return f"{self.text}({', '.join(f'v{i}' for i in self.operands)})"


@dataclass(frozen=True)
class Recipe:
    """Inputs, steps, and which values are looked at."""

    inputs: tuple[Array, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def followed(self, inputs: Sequence[Any]) -> list[Any]:
        """All values, from handles or tensors for the inputs."""
        values = list(inputs)
        for step in self.steps:
            values.append(step.function(*[values[i] for i in step.operands]))
        return values

    def __repr__(self) -> str:
        lines = [f"v{i} = {x.dtype}{list(x.shape)}" for i, x in enumerate(self.inputs)]
        lines += [f"v{i} = {step!r}" for i, step in enumerate(self.steps, len(self.inputs))]
        return "\n".join(["", *lines, "return " + ", ".join(f"v{i}" for i in self.outputs)])


# ---- drawing ---------------------------------------------------------------------------------------------------------


class _Kitchen:
    """Follows a recipe while it is drawn, with symbols and with numbers."""

    def __init__(self, inputs: Sequence[Array]) -> None:
        self.builder = Builder(0)
        self.values = [self.builder.new_slot(Aval(x.shape, x.dtype)) for x in inputs]
        self.exact = [True] * len(inputs)
        self.arrays: dict[int, Array] = dict(zip([v.slot for v in self.values], inputs, strict=True))

    def tried(self, step: Step) -> bool:
        """Take `step` if its result is tame."""
        done = len(self.builder.ops)
        try:
            with recording_with(self.builder):
                out = step.function(*[self.values[i] for i in step.operands])
        except (ValueError, TypeError):  # such as the maximum of nothing
            del self.builder.ops[done:]
            return False
        made = self.builder.ops[done:]
        if any(self.builder.avals[op.out].size > LARGEST for op in made) or not self._evaluated(made):
            del self.builder.ops[done:]
            return False
        self.values.append(out)
        self.exact.append(step.exact)
        return True

    def _evaluated(self, ops: Sequence[Op]) -> bool:
        program = Program((), (), (), self.builder.avals)
        for op in ops:
            array = self.arrays[op.out] = run_op(program, op, [self.arrays[slot] for slot in op.args])
            if array.dtype.kind == "f" and not (np.isfinite(array).all() and (np.abs(array) < TAME).all()):
                return False
        return True


@st.composite
def recipes(
    draw: Draw,
    dtypes: tuple[str, ...] = ("float64",),
    makers: tuple[tuple[bool, Maker], ...] = SMOOTH,
    max_steps: int = 10,
) -> Recipe:
    """Recipes of up to `max_steps` steps; what has a kink or a jump is applied to exact values only."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    kinds = [
        (draw(st.sampled_from(SHAPES)), draw(st.sampled_from(dtypes))) for _ in range(draw(st.integers(1, 3)))
    ]
    inputs = tuple(np.asarray(_numbers(rng, shape, dtype)) for shape, dtype in kinds)
    kitchen = _Kitchen(inputs)
    steps: list[Step] = []
    wanted = draw(st.sampled_from((1, 3, *range(4, max_steps + 1))))
    for _ in range(4 * wanted):
        if len(steps) == wanted:
            break
        keeps_exact, maker = draw(st.sampled_from(makers))
        i = draw(st.integers(max(0, len(kitchen.values) - 4), len(kitchen.values) - 1))
        made = maker(draw, kitchen.values, i)
        if made is None:
            continue
        text, function, operands = made
        from_exact = all(kitchen.exact[k] for k in operands)
        if not from_exact and any(maker is m for _, m in KINKED + OTHER_DTYPES):
            continue
        step = Step(text, function, operands, keeps_exact and from_exact)
        if kitchen.tried(step):
            steps.append(step)
    last = len(kitchen.values) - 1
    others = draw(st.lists(st.integers(0, last), max_size=2))
    return Recipe(inputs, tuple(steps), (last, *others))


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    kind = np.dtype(dtype).kind
    if kind == "f":
        return rng.uniform(-1.5, 1.5, shape).astype(dtype)
    return rng.integers(0, 2 if kind == "b" else 5, shape).astype(dtype)
