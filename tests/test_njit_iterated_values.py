"""Gradients of loops over indices, and over what `zip` and `enumerate` combine."""
# ruff: noqa: B905 - Numba's `zip` has no `strict`.

import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes


@numba.njit
def over_indices(x, y):
    total = 0.0
    for i, j in np.ndindex(x.shape):
        if i == 2 and j == 1:
            break
        if x[i, j] > 0.8:
            continue
        total += math.sin(x[i, j]) * y[i]
    for index in np.ndindex(3, 2):
        y[index[0]] *= 1.0 + 0.1 * x[index]
    for (k,) in np.ndindex(3):
        total += y[k] ** 2
    return total


@numba.njit
def over_indices_and_elements(x, y):
    total = 0.0
    for (i, j), v in np.ndenumerate(x):
        total += v * v * (j + 1) + y[i] * v
    for (i, j), v in np.ndenumerate(x.T):
        y[j] += v * (1 + i)
    for (i,), v in np.ndenumerate(y):
        total += math.cos(v) * i
    return total


@numba.njit
def over_combinations(x, y):
    total = 0.0
    for k, (u, v) in enumerate(zip(x[:, 0], y)):
        total += u * v * k
    for (i, u), row in zip(enumerate(y, 3), x):
        total += u * row[0] * row[1] * i
    for i, (v, (j, k)) in enumerate(zip(y, np.ndindex(2, 2)), start=2):
        total += v * x[j, k] * i
        if v > 0.9:
            break
    for i, (k, v) in enumerate(zip(range(2), y[1:])):
        total += math.exp(v) * (i + k)
    return total


@numba.njit
def over_nothing(x, y):
    total = x[0, 0]
    for i, j in np.ndindex(0, 2):
        total += x[i, j]
    for _, v in np.ndenumerate(x[:0]):
        total += v
    return total * y[0]


@numba.njit
def doubled(y):
    y[0] *= 2.0
    return y * y


@numba.njit
def over_results(x, y):
    total = 0.0
    for v in doubled(y):  # called once
        total += v
    for v in x.flatten():
        total += v**3
    for k, v in enumerate(doubled(y)):
        total += k * v
    return total + y[0]


FUNCTIONS = [over_indices, over_indices_and_elements, over_combinations, over_nothing, over_results]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients_of_loops_over_indices_and_combinations(f):
    rng = np.random.default_rng(0)
    arguments = (rng.uniform(size=(3, 2)), rng.uniform(size=3))
    check_both_modes(f, arguments, 0)


def test_a_compiled_loop_over_indices():
    x, y = np.arange(6.0).reshape(3, 2), np.ones(3)
    compiled = jt.njit_value_and_grad(over_indices_and_elements)(x, y.copy())
    value = over_indices_and_elements(x, y)
    assert compiled[0] == pytest.approx(value)
    other = jt.njit_value_and_grad(over_indices_and_elements)(x + 0.0, np.ones(3))
    np.testing.assert_array_equal(compiled[1], other[1])


@numba.njit
def over_floats(x):
    total = 0.0
    for i in np.ndindex(x):
        total += i[0]
    return total


def test_indices_need_ints():
    with pytest.raises(
        jt.NoGradientError, match=r"`np.ndindex\(x\)`: ndindex needs ints or a shape\. Use a loop"
    ):
        jt.njit_grad(over_floats)(2.0)
