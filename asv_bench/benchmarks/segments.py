"""Segments and counts of a million rows, compared with NumPy in the same run: ratios of times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt

ROWS, COLUMNS, SEGMENTS = 1_000_000, 8, 1_000


def least_time(call: Callable[[], Any], repetitions: int = 7) -> float:
    """Return the least time of a call, in seconds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def gradient_of_sums(x: Any, ids: Any) -> Any:
    with jt.GradientTape() as tape:
        tape.watch(x)
        loss = jt.reduce_sum(jt.square(jt.math.unsorted_segment_sum(x, ids, SEGMENTS)))
    return tape.gradient(loss, x)


def gradient_by_numpy(x: Any, ids: Any) -> Any:
    return 2 * sums_by_numpy(x, ids)[ids]


def sums_by_numpy(x: Any, ids: Any) -> Any:
    sums = np.zeros((SEGMENTS, *x.shape[1:]), x.dtype)
    np.add.at(sums, ids, x)
    return sums


def maxima_by_numpy(x: Any, ids: Any) -> Any:
    maxima = np.full((SEGMENTS, *x.shape[1:]), -np.inf)
    np.maximum.at(maxima, ids, x)
    return maxima


def weighted_counts(x: Any, ids: Any) -> Any:
    return jt.math.bincount(ids, x[:, 0], minlength=SEGMENTS, maxlength=SEGMENTS)


WORKLOADS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "segment sums": (lambda x, ids: jt.math.unsorted_segment_sum(x, ids, SEGMENTS), sums_by_numpy),
    "segment maxima": (lambda x, ids: jt.math.unsorted_segment_max(x, ids, SEGMENTS), maxima_by_numpy),
    "gradient of segment sums": (gradient_of_sums, gradient_by_numpy),
    "bincount": (
        lambda x, ids: jt.math.bincount(ids, minlength=SEGMENTS, maxlength=SEGMENTS),
        lambda x, ids: np.bincount(ids, minlength=SEGMENTS),
    ),
    "bincount with weights": (weighted_counts, lambda x, ids: np.bincount(ids, x[:, 0], SEGMENTS)),
    "histogram": (
        lambda x, ids: jt.histogram_fixed_width(x[:, 0], [-3.0, 3.0], 100),
        lambda x, ids: np.histogram(x[:, 0], 100, (-3.0, 3.0)),
    ),
    "sort": (lambda x, ids: jt.sort(x[:, 0]), lambda x, ids: np.sort(x[:, 0], kind="stable")),
}


class AgainstNumPy:
    """Time of a compiled function divided by that of NumPy's functions."""

    params = tuple(WORKLOADS)
    param_names = ("workload",)
    unit = "times NumPy"
    timeout = 120

    def setup(self, workload: str) -> None:
        rng = np.random.default_rng(0)
        x, ids = rng.standard_normal((ROWS, COLUMNS)), rng.integers(0, SEGMENTS, ROWS)
        ours, theirs = WORKLOADS[workload]
        compiled, operands = jt.function(ours), (jt.constant(x), jt.constant(ids))
        for _ in range(2):
            compiled(*operands).numpy()
        self.ours = lambda: compiled(*operands).numpy()
        self.by_numpy = lambda: theirs(x, ids)

    def track_ratio(self, workload: str) -> float:
        return least_time(self.ours) / least_time(self.by_numpy, 3)


if __name__ == "__main__":
    for name in WORKLOADS:
        benchmark = AgainstNumPy()
        benchmark.setup(name)
        ours, numpy_time = least_time(benchmark.ours), least_time(benchmark.by_numpy, 3)
        print(
            f"{name:26} {ours * 1e3:8.2f} ms {numpy_time * 1e3:8.2f} ms with NumPy {ours / numpy_time:6.2f}"
        )
