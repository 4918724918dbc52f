"""The writer of a random program: it appends statements, and runs each with NumPy to see that its value is tame."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy_namespace
from program_nodes import Assign, names_of

Array = np.ndarray[Any, Any]
Kinds = list[tuple[Callable[["Writer"], None], float]]
"""Functions that append a statement, and how often they are chosen."""

LARGEST = 30.0
"""Largest magnitude of a value."""
CLEAR = 0.03
"""How far from a kink, from a tie or from the next integer all elements must be."""


@dataclass
class Writer:
    """Appends statements, and runs each with NumPy."""

    rng: random.Random
    smooth: bool
    dtype: Any
    kinds: Kinds
    nested: Kinds
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
        kinds = self.kinds, self.nested
        return Writer(
            self.rng, self.smooth, self.dtype, *kinds, [], values, self.constants, self.counts, self.depth + 1
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
        kinds = self.nested if self.depth else self.kinds
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
