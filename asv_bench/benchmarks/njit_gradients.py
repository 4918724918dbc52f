"""Gradients of ``@njit`` functions, the functions themselves, and adjoints written by hand."""

from __future__ import annotations

import math
import statistics
import time

import numba
import numpy as np

import jittape as jt


@numba.njit
def seidel(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                    + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(a * a)


@numba.njit
def seidel_by_hand(a, sweeps):
    value = seidel(a, sweeps)
    b = 2.0 * a
    for _ in range(sweeps):
        for i in range(a.shape[0] - 2, 0, -1):
            for j in range(a.shape[1] - 2, 0, -1):
                g = b[i, j] / 9.0
                b[i, j] = 0.0
                for k in range(i - 1, i + 2):
                    b[k, j - 1] += g
                    b[k, j] += g
                    b[k, j + 1] += g
    return value, b


@numba.njit
def bodies(x, m):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            u, v, w = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            total -= m[i] * m[j] / math.sqrt(u * u + v * v + w * w + 1e-3)
    return total


@numba.njit
def bodies_by_hand(x, m):
    total, b = 0.0, np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(i):
            u, v, w = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            square = u * u + v * v + w * w + 1e-3
            part = m[i] * m[j] / math.sqrt(square)
            total -= part
            c = part / square
            b[i, 0] += c * u
            b[j, 0] -= c * u
            b[i, 1] += c * v
            b[j, 1] -= c * v
            b[i, 2] += c * w
            b[j, 2] -= c * w
    return total, b


def ratio(run, other):
    """Return the median ratio of the times of two functions, called in turn."""
    ratios = []
    for _ in range(101):
        start = time.perf_counter()
        run()
        middle = time.perf_counter()
        other()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


class Seidel:
    """Ten in-place sweeps over 40 x 40 elements; nothing is recorded."""

    unit = "times"

    def setup(self) -> None:
        self.a = np.random.default_rng(0).normal(size=(40, 40))
        self.gradient = jt.njit_value_and_grad(seidel)
        for run in (self.time_function, self.time_gradient, self.time_by_hand):
            run()

    def time_function(self) -> None:
        seidel(self.a, 10)

    def time_gradient(self) -> None:
        self.gradient(self.a, 10)

    def time_by_hand(self) -> None:
        seidel_by_hand(self.a, 10)

    def track_gradient_to_function(self) -> float:
        return ratio(self.time_gradient, self.time_function)

    def track_gradient_to_adjoint_by_hand(self) -> float:
        return ratio(self.time_gradient, self.time_by_hand)


class Bodies:
    """The energy of 64 bodies, a double loop."""

    unit = "times"

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        self.arguments = rng.normal(size=(64, 3)), rng.uniform(size=64)
        self.gradient = jt.njit_value_and_grad(bodies)
        for run in (self.time_function, self.time_gradient, self.time_by_hand):
            run()

    def time_function(self) -> None:
        bodies(*self.arguments)

    def time_gradient(self) -> None:
        self.gradient(*self.arguments)

    def time_by_hand(self) -> None:
        bodies_by_hand(*self.arguments)

    def track_gradient_to_function(self) -> float:
        return ratio(self.time_gradient, self.time_function)

    def track_gradient_to_adjoint_by_hand(self) -> float:
        return ratio(self.time_gradient, self.time_by_hand)
