"""Compiled kernels compared with hand-written Numba code in the same run: ratios of times.

What is compared is the loops. By hand and in jittape ``exp``, ``tanh``, ... are the same formulas, vectorized in both,
and results stand in memory that is there already. jittape's time is that of a run of the executable; recording is timed
in `steps`. The two take turns, and the least time of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

import jittape as jt
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue
from jittape.runtime.executable import CompiledExecutable

HAND = {"error_model": "numpy", "fastmath": {"contract", "reassoc"}, "nogil": True}


def _vectorized(name: str) -> Any:
    """Return a scalar function for Numba that emits jittape's formula."""

    @intrinsic
    def function(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return getattr(IRMath(builder), name)(IRValue(builder, args[0], np.float64)).ir

        return types.float64(types.float64), generate

    return function


exp, tanh, log1p = (_vectorized(name) for name in ("exp", "tanh", "log1p"))


@njit(**HAND)
def elementwise_by_hand(x, out, a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(x.size):
        u = x[i]
        t, e, q = tanh(a * u + b), exp(-u * u), u * u
        total += t * e + log1p(q)
        out[i] = a * (1 - t * t) * e - 2 * u * e * t + 2 * u / (1 + q)
    return total


@njit(**HAND)
def rosenbrock_by_hand(x, out):  # type: ignore[no-untyped-def]
    total, n = 0.0, x.size
    for i in range(n - 1):
        d, e = x[i + 1] - x[i] * x[i], 1 - x[i]
        total += 100 * d * d + e * e
    out[0] = -400 * x[0] * (x[1] - x[0] * x[0]) - 2 * (1 - x[0])
    for i in range(n - 2):
        here = x[i + 1]
        inner = -400 * here * (x[i + 2] - here * here) - 2 * (1 - here)
        out[i + 1] = inner + 200 * (here - x[i] * x[i])
    out[n - 1] = 200 * (x[n - 1] - x[n - 2] * x[n - 2])
    return total


@njit(**HAND)
def logistic_by_hand(x, y, w, out):  # type: ignore[no-untyped-def]
    n, d = x.shape
    total = 0.0
    out[:] = 0.0
    z = np.empty(256)
    for start in range(0, n, 256):
        rows = min(256, n - start)
        for i in range(rows):
            s = 0.0
            for j in range(d):
                s += x[start + i, j] * w[j]
            z[i] = s
        for i in range(rows):
            e = exp(-abs(z[i]))
            total += max(z[i], 0.0) + log1p(e) - y[start + i] * z[i]
            p = 1 / (1 + e)
            z[i] = (p if z[i] >= 0 else 1 - p) - y[start + i]
        for i in range(rows):
            for j in range(d):
                out[j] += z[i] * x[start + i, j]
    out /= n
    return total / n


def elementwise(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    values = np.random.default_rng(0).normal(size=n)
    x, out = jt.constant(values), np.empty(n)

    def step() -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.tanh(1.3 * x + 0.2) * jt.exp(-jt.square(x)) + jt.math.log1p(jt.square(x))
            loss = jt.reduce_sum(y)
        return loss, tape.gradient(loss, x)

    return executable_of(step), lambda: (elementwise_by_hand(values, out, 1.3, 0.2), out)


def rosenbrock(n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    values = np.random.default_rng(0).normal(size=n)
    x, out = jt.constant(values), np.empty(n)

    def step() -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            d, e = x[1:] - jt.square(x[:-1]), 1.0 - x[:-1]
            loss = jt.reduce_sum(100.0 * jt.square(d) + jt.square(e))
        return loss, tape.gradient(loss, x)

    return executable_of(step), lambda: (rosenbrock_by_hand(values, out), out)


def logistic(n: int, d: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    rng = np.random.default_rng(0)
    data, labels, weights = rng.normal(size=(n, d)), rng.integers(2, size=n).astype(float), rng.normal(size=d)
    x, y, w, out = jt.constant(data), jt.constant(labels), jt.constant(weights), np.empty(d)

    def step() -> Any:
        with jt.GradientTape() as tape:
            tape.watch(w)
            z = jt.linalg.matvec(x, w)
            loss = jt.reduce_mean(jt.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z))
        return loss, tape.gradient(loss, w)

    return executable_of(step), lambda: (logistic_by_hand(data, labels, weights, out), out)


def executable_of(step: Callable[[], Any]) -> Callable[[], Any]:
    """Return the executable of `step`, which runs without recording."""
    runs: list[tuple[CompiledExecutable, list[Any]]] = []
    run = CompiledExecutable.run

    def spy(executable: CompiledExecutable, inputs: list[Any], held: int = 0) -> Any:
        runs.append((executable, list(inputs)))
        return run(executable, inputs, held)

    with patch.object(CompiledExecutable, "run", spy):
        for _ in range(3):
            results = step()
            float(results[0])
    executable, inputs = runs[-1]
    return lambda: executable.run(inputs)


WORKLOADS = {
    "elementwise 1e3": lambda: elementwise(1_000),
    "elementwise 1e5": lambda: elementwise(100_000),
    "elementwise 1e7": lambda: elementwise(10_000_000),
    "logistic 1000x20": lambda: logistic(1_000, 20),
    "logistic 100000x100": lambda: logistic(100_000, 100),
    "rosenbrock 1e3": lambda: rosenbrock(1_000),
    "rosenbrock 1e6": lambda: rosenbrock(1_000_000),
}


def least_times(
    ours: Callable[[], Any], by_hand: Callable[[], Any], seconds: float = 1.0
) -> tuple[float, float]:
    """Return the minimum time of each, in seconds per call, in turns."""
    repeat = 1
    while _time(by_hand, repeat) < 1e-4:
        repeat *= 2
    least = [np.inf, np.inf]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, function in enumerate((ours, by_hand)):
            least[i] = min(least[i], _time(function, repeat) / repeat)
    return least[0], least[1]


def _time(function: Callable[[], Any], repeat: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeat):
        function()
    return time.perf_counter() - begin


class AgainstHand:
    """Time of jittape on one thread, as a multiple of the hand-written loop's."""

    params = tuple(WORKLOADS)
    param_names = ("workload",)
    unit = "times by hand"

    def setup(self, workload: str) -> None:
        self.threads, jt.config.threads = jt.config.threads, 1
        self.ours, self.by_hand = WORKLOADS[workload]()
        (value, gradient), (loss, wanted) = [b.array for b in self.ours()], self.by_hand()
        np.testing.assert_allclose(value, loss, rtol=1e-9)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-9)

    def teardown(self, workload: str) -> None:
        jt.config.threads = self.threads

    def track_ratio(self, workload: str) -> float:
        ours, by_hand = least_times(self.ours, self.by_hand)
        return ours / by_hand


class Threads:
    """Time on all threads, as a fraction of the time on one."""

    params = ("elementwise 1e5", "elementwise 1e7", "rosenbrock 1e6")
    param_names = ("workload",)
    unit = "times one thread"

    def setup(self, workload: str) -> None:
        self.threads = jt.config.threads
        self.ours, _ = WORKLOADS[workload]()

    def teardown(self, workload: str) -> None:
        jt.config.threads = self.threads

    def track_ratio(self, workload: str) -> float:
        def on(threads: int) -> Callable[[], Any]:
            def run() -> Any:
                jt.config.threads = threads
                return self.ours()

            return run

        several, one = least_times(on(self.threads), on(1))
        return several / one


if __name__ == "__main__":
    for name in WORKLOADS:
        benchmark = AgainstHand()
        benchmark.setup(name)
        ours, by_hand = least_times(benchmark.ours, benchmark.by_hand)
        print(
            f"{name:22} {ours * 1e6:10.2f} us {by_hand * 1e6:10.2f} us by hand {ours / by_hand:6.2f}", end=""
        )
        jt.config.threads = 2
        ours, by_hand = least_times(benchmark.ours, benchmark.by_hand)
        print(f"   two threads {ours * 1e6:10.2f} us")
        benchmark.teardown(name)
