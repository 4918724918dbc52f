"""Random numbers compared with NumPy's Generator in the same run: ratios of times on one thread; less than 1 is faster.

The two take turns, and the least time of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt

COUNT = 1_000_000
LAWS: dict[str, tuple[Callable[[str], Any], Callable[[np.random.Generator, str], Any]]] = {
    "normal": (
        lambda dtype: jt.random.normal([COUNT], dtype=dtype),
        lambda rng, dtype: rng.standard_normal(COUNT, dtype),
    ),
    "uniform": (
        lambda dtype: jt.random.uniform([COUNT], dtype=dtype),
        lambda rng, dtype: rng.random(COUNT, dtype),
    ),
    "exponential": (
        lambda dtype: jt.random.exponential([COUNT], dtype=dtype),
        lambda rng, dtype: rng.standard_exponential(COUNT, dtype),
    ),
    "gamma": (
        lambda dtype: jt.random.gamma([COUNT], 2.5, dtype=dtype),
        lambda rng, dtype: rng.standard_gamma(2.5, COUNT, dtype),
    ),
    "poisson": (
        lambda dtype: jt.random.poisson([COUNT], 4.0, dtype=dtype),
        lambda rng, dtype: rng.poisson(4.0, COUNT).astype(dtype),
    ),
    "shuffle": (
        lambda dtype: jt.random.shuffle(jt.zeros([COUNT], dtype)),
        lambda rng, dtype: rng.permutation(np.zeros(COUNT, dtype)),
    ),
}


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], turns: int = 15) -> float:
    """Return the least time of `ours` divided by that of `theirs`."""
    least = [np.inf, np.inf]
    for _ in range(turns):
        for i, run in enumerate((ours, theirs)):
            begin = time.perf_counter()
            run()
            least[i] = min(least[i], time.perf_counter() - begin)
    return least[0] / least[1]


class Laws:
    """A million numbers, drawn in a function."""

    params = (tuple(LAWS), ("float32", "float64"))
    param_names = ("law", "dtype")
    unit = "of NumPy's time"

    def setup(self, law: str, dtype: str) -> None:
        jt.config.threads = 1
        draw, self.by_numpy = LAWS[law]
        self.draw = jt.function(lambda: draw(dtype))
        self.rng = np.random.default_rng(0)
        for _ in range(3):
            self.draw()

    def track_ratio(self, law: str, dtype: str) -> float:
        """Return the ratio of the times."""
        return ratio(lambda: self.draw().numpy(), lambda: self.by_numpy(self.rng, dtype))


class Dropout:
    """The sum of a matrix after dropout, in a function."""

    unit = "of NumPy's time"

    def setup(self) -> None:
        jt.config.threads = 1
        self.x = np.ones((256, 1024), np.float32)
        x = jt.constant(self.x)
        self.drop = jt.function(lambda: jt.reduce_sum(jt.nn.dropout(x, 0.3)))
        self.rng = np.random.default_rng(0)
        for _ in range(3):
            self.drop()

    def by_numpy(self) -> float:
        kept = self.rng.random(self.x.shape, np.float32) >= 0.3
        return float(np.where(kept, self.x * np.float32(1 / 0.7), 0).sum())

    def track_ratio(self) -> float:
        """Return the ratio of the times."""
        return ratio(lambda: float(self.drop()), self.by_numpy)
