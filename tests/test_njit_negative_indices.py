"""Gradients of code whose indices count from the end: conditions such as ``i != 0`` do not imply that ``i > 0``."""

import numba
import numpy as np
import pytest

from njit_as_python import check_both_modes

njit = numba.njit
rng = np.random.default_rng(5)


@njit
def counter_below_zero(x, y):
    total = 0.0
    for _ in range(2):
        for i in range(-3, 3):
            if i != 0:
                total += x[i] ** 3
                x[i + 5 if i < 0 else i] = total * y[i]
    return total


@njit
def int_below_zero(x, y):
    total, k = 0.0, -4
    while k < 2:
        if k != 0:
            total += y[k] * y[k] * x[1]
            y[(k + 5) % 5] = 0.1 * total
        k += 1
    return total


@njit
def store_at_an_offset(x, y):
    total = 0.0
    for j in range(2):
        for i in range(-3, 0):
            if i != 0:
                total += x[i] ** 3
                x[i + 5] = total * y[j]
    return total


@njit
def downward_past_zero(x, y):
    total = 0.0
    for i in range(2, -4, -1):
        if i == 0:
            total *= 0.5
        else:
            total += x[i] * x[i] * y[i]
            x[i + 2] = total
    return total


@njit
def iteration_writes_first(x, y):
    total, rows = 0.0, np.zeros(5)
    for j in range(5):
        for i in range(-2, 3):
            if i != 0:
                rows[i] = x[i] * y[j] + rows[i - 1] * 0.5
                total += rows[i + 2] ** 2
    return total


@njit
def counter_from_zero(x, y):
    total = 0.0
    for j in range(5):
        for i in range(4, -1, -1):
            if i != 0:
                total += x[i] * x[i - 1] * y[j]
                x[i] = total
    return total


@pytest.mark.parametrize(
    "function",
    [
        counter_below_zero,
        int_below_zero,
        store_at_an_offset,
        downward_past_zero,
        iteration_writes_first,
        counter_from_zero,
    ],
    ids=lambda f: f.py_func.__name__,
)
def test_indices_below_zero(function):
    check_both_modes(function, (rng.uniform(0.4, 1.1, 5), rng.uniform(0.3, 0.8, 5)), 3)
