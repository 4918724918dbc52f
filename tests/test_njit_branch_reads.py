"""Reads of elements before a branch: the second side of the branch finds them, whatever the first side writes."""

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes

njit = numba.njit
rng = np.random.default_rng(16)


@njit
def bent(a, b):
    for _ in range(3):
        for i in range(a.shape[0]):
            if a[i] > 0.5:
                a[i] = 3.6 * a[i] * (1.0 - a[i])
            else:
                a[i] = a[i] + 0.3 * a[i] * a[i]
    return np.sum(a * b)


@njit
def written_in_both(a, b):
    for t in range(3):
        for i in range(1, a.shape[0]):
            if a[i] > a[i - 1]:
                a[i - 1] = a[i] * a[i - 1]
                a[i] += a[i - 1] * a[i - 1]
            elif t % 2 == 0:
                a[i] *= a[i - 1]
                a[i - 1] = a[i] * a[i]
            else:
                a[i] += 0.1 * a[i - 1] * a[i]
            a[i] = a[i] * a[i] / (1.0 + a[i] * a[i])
    return np.sum(a * a * b)


@njit
def loop_in_first_side(a, b):
    total = 0.0
    for i in range(1, a.shape[0]):
        if a[i] > 0.5:
            for k in range(3):
                a[i] = a[i] * a[i - 1] + 0.1 * k
        else:
            total += a[i] * a[i - 1]
        total += a[i] * a[i]
    return total * b[0]


@njit
def view_in_first_side(a, b):
    row, total = a[1:], 0.0
    for i in range(3):
        if a[i + 1] > 0.5:
            row[i] = a[i + 1] * a[i]
        else:
            total += row[i] * a[i + 1]
        total += a[i + 1] * row[i]
    return total * b[0]


@pytest.mark.parametrize("function", [bent, written_in_both, loop_in_first_side, view_in_first_side])
def test_gradients_with_reads_before_a_branch(function):
    check_both_modes(function, (rng.uniform(0.1, 0.9, size=12), rng.normal(size=12)), 0)


def test_one_value_is_kept_for_both_sides_of_a_branch():
    assert jt.njit_grad(bent).kept_bytes(*rng.uniform(size=(2, 20))) == 3 * 20 * 8
