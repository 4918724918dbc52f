"""Comparison of programs of autograd under HIPS autograd and under `jittape.autograd`.

    python asv_bench/autograd_programs.py                    everything; takes a minute
    python asv_bench/autograd_programs.py --only fluid       programs whose name contains this
    python asv_bench/autograd_programs.py --rounds 20        shorter

Both packages must be installed. The programs differ in nothing but the import. The results of the first calls are
compared. Then the sides take turns in one process, some milliseconds each, on one thread. A row shows the median of the
processor time of one gradient of each side, and the median of the ratios of neighboring turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as onp  # noqa: E402

TURN = 4e-3
"""Minimum duration of a turn, in seconds."""
WARM = 0.4
"""Duration, in seconds, of the untimed warm-up of each side."""

Step = Callable[[], Any]


def logistic(np: Any, package: Any) -> Step:
    """Logistic regression: 100 rows, 8 weights."""
    rng = onp.random.RandomState(0)
    inputs = rng.randn(100, 8)
    targets = inputs @ rng.randn(8) > 0

    def sigmoid(x: Any) -> Any:
        return 0.5 * (np.tanh(x / 2.0) + 1.0)

    def loss(weights: Any) -> Any:
        predictions = sigmoid(np.dot(inputs, weights))
        probabilities = predictions * targets + (1 - predictions) * (1 - targets)
        return -np.sum(np.log(probabilities)) + 0.1 * np.sum(weights**2)

    slope, weights = package.grad(loss), 0.1 * rng.randn(8)
    return lambda: slope(weights)


def network(np: Any, package: Any) -> Step:
    """Classifier with two hidden layers of 16 units, 32 rows of 64 numbers, ten classes."""
    rng = onp.random.RandomState(0)
    sizes = [64, 16, 16, 10]
    params = [(0.1 * rng.randn(m, n), 0.1 * rng.randn(n)) for m, n in pairwise(sizes)]
    inputs, targets = rng.randn(32, 64), onp.eye(10)[rng.randint(0, 10, 32)]

    def log_probabilities(params: Any, rows: Any) -> Any:
        for weights, biases in params:
            outputs = np.dot(rows, weights) + biases
            rows = np.tanh(outputs)
        return outputs - np.log(np.sum(np.exp(outputs), axis=1, keepdims=True))

    def loss(params: Any) -> Any:
        penalty = sum(np.sum(w**2) + np.sum(b**2) for w, b in params)
        return 0.01 * penalty - np.sum(log_probabilities(params, inputs) * targets)

    slope = package.grad(loss)
    return lambda: slope(params)


def recurrent(np: Any, package: Any) -> Step:
    """Recurrent network: 20 steps, 8 units, 4 sequences of 5 numbers."""
    rng = onp.random.RandomState(0)
    params = {
        "start": rng.randn(1, 8),
        "change": 0.3 * rng.randn(14, 8),
        "predict": 0.3 * rng.randn(9, 5),
    }
    inputs = rng.randn(20, 4, 5)
    targets = onp.eye(5)[rng.randint(0, 5, (20, 4))]
    ones = onp.ones((4, 1))

    def update(x: Any, hidden: Any) -> Any:
        return np.tanh(np.dot(np.concatenate([x, hidden, ones], axis=1), params_of["change"]))

    params_of: dict[str, Any] = {}

    def loss(params: Any) -> Any:
        params_of.update(params)
        hidden = np.repeat(params["start"], 4, axis=0)
        total = 0.0
        for x, target in zip(inputs, targets, strict=True):
            hidden = update(x, hidden)
            outputs = np.dot(np.concatenate([hidden, ones], axis=1), params["predict"])
            logits = outputs - np.log(np.sum(np.exp(outputs), axis=1, keepdims=True))
            total = total - np.sum(logits * target)
        return total / 80

    slope = package.grad(loss)
    return lambda: slope(params)


def pendulum(np: Any, package: Any) -> Step:
    """Double pendulum: 60 steps of Euler's method, gradient for the start."""
    start = onp.array([1.2, 0.4, 0.0, 0.1])

    def end(state: Any) -> Any:
        first, second, speed, turn = state
        for _ in range(60):
            delta = first - second
            below = 2.0 - np.cos(delta) ** 2
            a = (-2 * np.sin(first) + np.cos(delta) * np.sin(second) - np.sin(delta) * turn**2) / below
            b = (2 * np.cos(delta) * np.sin(first) - 2 * np.sin(second) + np.sin(delta) * speed**2) / below
            speed, turn = speed + 0.02 * a, turn + 0.02 * b
            first, second = first + 0.02 * speed, second + 0.02 * turn
        return (first - 0.3) ** 2 + second**2

    slope = package.grad(end)
    return lambda: slope(start)


def fluid(np: Any, package: Any) -> Step:
    """Smoke in a flow on a grid of 20 by 20: 5 steps, 8 iterations of the projection, gradient for the first flow."""
    rng = onp.random.RandomState(0)
    n = 20
    flow, smoke = 0.3 * rng.randn(2, n, n), rng.rand(n, n)
    target = onp.roll(smoke, 3, axis=0)

    def project(vx: Any, vy: Any) -> Any:
        h = 1.0 / n
        outflow = -0.5 * h * (np.roll(vx, -1, 0) - np.roll(vx, 1, 0) + np.roll(vy, -1, 1) - np.roll(vy, 1, 1))
        p = onp.zeros((n, n))
        for _ in range(8):
            p = (outflow + np.roll(p, 1, 0) + np.roll(p, -1, 0) + np.roll(p, 1, 1) + np.roll(p, -1, 1)) / 4.0
        vx = vx - 0.5 * (np.roll(p, -1, 0) - np.roll(p, 1, 0)) / h
        return vx, vy - 0.5 * (np.roll(p, -1, 1) - np.roll(p, 1, 1)) / h

    def advect(f: Any, vx: Any, vy: Any) -> Any:
        x = vx * (np.roll(f, 1, 0) - np.roll(f, -1, 0)) + vy * (np.roll(f, 1, 1) - np.roll(f, -1, 1))
        return f + 0.1 * x

    def loss(flow: Any) -> Any:
        vx, vy, f = flow[0], flow[1], smoke
        for _ in range(5):
            moved = advect(vx, vx, vy), advect(vy, vx, vy)
            vx, vy = project(*moved)
            f = advect(f, vx, vy)
        return np.mean((f - target) ** 2)

    slope = package.grad(loss)
    return lambda: slope(flow)


def process(np: Any, package: Any) -> Step:
    """Gaussian process: log marginal likelihood of 20 points, gradient for three parameters."""
    rng = onp.random.RandomState(0)
    x = onp.sort(rng.rand(20, 1) * 4, axis=0)
    y = onp.sin(2 * x[:, 0]) + 0.1 * rng.randn(20)

    def loss(params: Any) -> Any:
        scale, length, noise = np.exp(params[0]), np.exp(params[1]), np.exp(params[2])
        difference = (x[:, None] - x[None, :]) / length
        covariance = scale * np.exp(-0.5 * np.sum(difference**2, axis=2)) + noise * np.eye(20)
        _, logdet = np.linalg.slogdet(covariance)
        return 0.5 * (np.dot(y, np.linalg.solve(covariance, y)) + logdet)

    slope, params = package.grad(loss), onp.array([0.1, -0.2, -3.0])
    return lambda: slope(params)


PROGRAMS = (logistic, network, recurrent, pendulum, fluid, process)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="programs with TEXT in the name"
    )
    parser.add_argument("--rounds", type=int, default=100, help="turns of each side")
    options = parser.parse_args()
    print(f"{'program':12} {'autograd':>12} {'jittape':>12} {'ratio':>7}")
    ratios = []
    for program in PROGRAMS:
        if all(text in program.__name__ for text in options.only):
            old, new, ratio = measure(program, options.rounds)
            ratios.append(ratio)
            print(f"{program.__name__:12} {old:9.1f} µs {new:9.1f} µs {ratio:6.1f}x", flush=True)
    print(f"median of the ratios: {statistics.median(ratios):.1f}x")


def measure(program: Callable[..., Step], rounds: int) -> tuple[float, float, float]:
    """Return the median times of autograd and of jittape, in µs, and the median ratio."""
    packages = ("autograd", "jittape.autograd")
    steps = [program(import_module(f"{name}.numpy"), import_module(name)) for name in packages]
    wanted, found = (numbers(step()) for step in steps)
    onp.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-10)
    repeats = [warmed(step) for step in steps]
    times = [[turn(step, n) for step, n in zip(steps, repeats, strict=True)] for _ in range(rounds)]
    old, new = (statistics.median(column) for column in zip(*times, strict=True))
    return old, new, statistics.median(a / b for a, b in times)


def numbers(value: Any) -> onp.ndarray[Any, Any]:
    """Return all numbers of a gradient as a vector."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return onp.concatenate([numbers(v) for v in value])
    return onp.ravel(value)


def warmed(step: Step) -> int:
    """Run `step` for a while; return the number of calls in a turn."""
    calls, end = 0, time.perf_counter() + WARM
    while time.perf_counter() < end or calls < 5:
        step()
        calls += 1
    began = time.process_time()
    for _ in range(5):
        step()
    return max(1, int(TURN / (time.process_time() - began) * 5))


def turn(step: Step, count: int) -> float:
    """Return the time of a call in a turn, in µs."""
    began = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - began) / count * 1e6


if __name__ == "__main__":
    main()
