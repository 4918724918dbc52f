"""Loops of ``@njit`` functions that run forward and backward in one pass, and loops that must not."""

import copy
import math

import numba
import numpy as np
import pytest

import jittape as jt
from random_njit import directional_difference

njit = numba.njit
rng = np.random.default_rng(3)


@njit
def pairs(x, p):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if i != j:
                u, v = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
                total += p / math.sqrt(u * u + v * v + 0.1)
    return total


@njit
def mean_of_losses(x, p):
    total, count = 0.0, 0
    for i in range(len(x)):
        if x[i, 0] < -1.5:
            continue
        z = 0.0
        for k in range(x.shape[1]):
            z += p * x[i, k] ** 2
        total -= math.log(1.0 + math.exp(z))
        count += 1
    return 2.0 * total / (len(x) + 1)


@njit
def local_array(x, p):
    total = 0.0
    for i in range(len(x)):
        d = x[i] - p * x[-1]
        d[1] *= p
        total += np.sqrt(1.0 + np.sum(d * d))
    return total


@njit
def two_sums(x, p):
    a = b = 0.0
    for row in x:
        a += math.sin(row[0])
        b -= p * row[1]
    for row in x:
        a += row[0] * row[1]
    return a - 3.0 * b


@njit
def until(x, p):
    total, i = 0.0, 0
    while i < len(x):
        total += math.exp(p * x[i, 0])
        if x[i, 1] > 1.0:
            break
        i += 1
    return -total


@njit
def after_updates(x, p):
    for i in range(1, len(x)):
        x[i] = np.sin(x[i] + p * x[i - 1])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i, 0]) * x[i, 1]
    return total


@njit
def square_of_sum(x, p):
    total = 0.0
    for i in range(len(x)):
        total += math.sin(p * x[i, 0])
    return total * total


@njit
def decays(x, p):
    total = 0.0
    for i in range(len(x)):
        total = 0.9 * total + math.sin(p * x[i, 0])
    return total


@njit
def last_one(x, p):
    last = 0.0
    for i in range(len(x)):
        last = math.sin(p * x[i, 0])
    return last


@njit
def twice(x, p):
    total = p
    for i in range(len(x)):
        total += x[i, 0] + total
    return total


@njit
def by_memory(x, p):
    total = p
    for i in range(len(x)):
        place = np.zeros(1)
        place[0] = 0.5 * total
        total += place[0] * x[i, 0]
    return total


@njit
def writes(x, p):
    total = 0.0
    for i in range(1, len(x)):
        x[i, 0] *= p * x[i - 1, 0]
        total += x[i, 0]
    return total


@njit
def some_doubled(x, p):
    total = 0.0
    for i in range(len(x)):
        if x[i, 0] > 0.0:
            total += total * p
        total += x[i, 1]
    return total


@njit
def maximum(x, p):
    best = p
    for i in range(len(x)):
        best = max(best, x[i, 0])
    return best


@njit
def needs_a_later_value(x, p):
    total, other = 0.0, 1.0
    for i in range(len(x)):
        total += math.sin(x[i, 0])
        other *= 1.0 + 0.1 * x[i, 1]
    return total * (other + p)


@numba.njit
def variance(x, p):
    mean = np.sum(x) / 14.0
    total = 0.0
    for i in range(x.shape[0]):
        total += (x[i, 0] - mean) ** 2
    return p * total


@numba.njit
def factor_between(x, p):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i, 0] ** 2
    factor = math.sin(p)
    for i in range(x.shape[0]):
        for j in range(2):
            total += x[i, j] * factor
    return total


@numba.njit
def sum_in_sum(x, p):
    total = 0.0
    for i in range(x.shape[0]):
        row = 0.0
        for j in range(2):
            row += p * x[i, j]
        for j in range(2):
            total += (x[i, j] - row) ** 2
    return total


ONE_PASS = (pairs, mean_of_losses, local_array, two_sums, until)
NOT = (
    square_of_sum, decays, last_one, twice, by_memory, writes, some_doubled, maximum, needs_a_later_value,
)  # fmt: skip
LATE_COTANGENTS = (variance, factor_between, sum_in_sum)
X = rng.normal(size=(7, 2))


def check(f, x, p):
    args = (x, p)
    mine, plain = copy.deepcopy(args), copy.deepcopy(args)
    value, gradients = jt.njit_value_and_grad(f, argnums=(0, 1))(*mine)
    np.testing.assert_allclose(value, f(*plain), rtol=1e-12)
    np.testing.assert_array_equal(mine[0], plain[0])
    directions = [rng.normal(size=x.shape), 0.7]
    expected, _ = directional_difference(lambda *a: f(*copy.deepcopy(a)), args, directions, 1e-5)
    found = np.sum(gradients[0] * directions[0]) + gradients[1] * directions[1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def loops(code):
    """The number of outermost loops in the text of a gradient."""
    return sum(line.startswith(("    for ", "    while ")) for line in code.splitlines())


@pytest.mark.parametrize("f", [*ONE_PASS, after_updates, *NOT, *LATE_COTANGENTS])
def test_gradients_equal_differences(f):
    for count in (7, 1, 0):
        check(f, X[:count].copy(), 0.7)


@pytest.mark.parametrize("f", ONE_PASS)
def test_a_sum_runs_forward_and_backward_in_one_pass(f):
    code = jt.njit_value_and_grad(f, argnums=(0, 1)).inspect(X, 0.7)
    assert loops(code) == (2 if f is two_sums else 1)
    assert "_at" not in code


def test_the_sum_after_other_loops_runs_in_one_pass():
    code = jt.njit_value_and_grad(after_updates, argnums=(0, 1)).inspect(X, 0.7)
    assert loops(code) == 3


@pytest.mark.parametrize("f", NOT)
def test_a_loop_that_is_no_sum_runs_backward_afterwards(f):
    assert loops(jt.njit_value_and_grad(f, argnums=(0, 1)).inspect(X, 0.7)) == 2
