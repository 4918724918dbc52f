"""Rows of local arrays that the backward pass puts back, in place of recorded reads."""

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, check_compiled, check_programs
from random_njit_rows import random_rows, rows_arguments

KEPT = "# kept: the iteration overwrites it"


@numba.njit
def triangular_product(a, b):
    b = b.copy()
    for i in range(b.shape[0]):
        for k in range(i + 1, b.shape[0]):
            for j in range(b.shape[1]):
                b[i, j] += a[k, i] * b[k, j]
    return np.sum(b * b)


@numba.njit
def columns_backward(a, b):
    b = b.copy()
    for i in range(b.shape[1] - 1, -1, -1):
        for k in range(i):
            for j in range(b.shape[0]):
                b[j, i] *= 1.0 + 0.1 * np.sin(b[j, k] + a[j, i])
    return np.sum(b * a)


@numba.njit
def sweeps(a, b):
    b = b.copy()
    for _ in range(3):
        for i in range(1, b.shape[0]):
            for k in range(i):
                for j in range(b.shape[1]):
                    b[i, j] += 0.2 * a[i, j] * np.sin(b[k, j])
            for j in range(b.shape[1]):
                b[i, j] = np.tanh(b[i, j])
    return np.sum(b * b)


@numba.njit
def alternating_sweeps(a, b):
    p = np.zeros(b.shape)
    b = b.copy()
    for _ in range(2):
        for i in range(1, b.shape[0]):
            for j in range(1, b.shape[1]):
                p[i, j] = -0.3 / (0.2 * p[i, j - 1] + 1.5)
                b[i, j] = (b[i, j] + 0.1 * a[i, j] * b[i, j - 1]) / (0.2 * p[i, j - 1] + 1.5)
        for j in range(1, b.shape[1]):
            for i in range(1, b.shape[0]):
                p[i, j] = -0.2 / (0.1 * p[i - 1, j] + 1.1) * b[i - 1, j]
                b[i, j] = (b[i, j] + 0.1 * a[i, j] * b[i - 1, j]) / (0.1 * p[i - 1, j] + 1.1)
    return np.sum(b * b) + np.sum(p * a)


@numba.njit
def more_rows_than_the_array_has(a, b):
    b = b.copy()
    for i in range(b.shape[0] + 5):
        if i < b.shape[0]:
            for k in range(i + 1, b.shape[0]):
                for j in range(b.shape[1]):
                    b[i, j] += a[k, j] * b[k, j]
    return np.sum(b * b)


@pytest.mark.parametrize(
    "function",
    [triangular_product, columns_backward, sweeps, alternating_sweeps, more_rows_than_the_array_has],
)
def test_rows_are_put_back(function):
    arguments = list(np.random.default_rng(5).uniform(-1.0, 1.0, (2, 5, 5)))
    assert KEPT in jt.njit_grad(function, argnums=(0, 1)).inspect(*arguments)
    check_both_modes(function, arguments, 3)
    check_both_modes(function, arguments, 3, run=lambda gradient, *x: gradient(*x))


def test_the_memory_of_a_triangular_product_is_that_of_its_rows():
    a, b = np.random.default_rng(5).uniform(-1.0, 1.0, (2, 40, 40))
    assert jt.njit_grad(triangular_product, argnums=(0, 1)).kept_bytes(a, b) == 40 * 40 * 8


def test_the_hessian_of_a_function_whose_rows_are_put_back():
    a, b, v = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 4, 4))
    gradient = jt.njit_grad(sweeps)
    difference = (gradient(a + 1e-6 * v, b) - gradient(a - 1e-6 * v, b)) / 2e-6
    np.testing.assert_allclose(jt.njit_hvp(sweeps)(v, a, b), difference, rtol=1e-6, atol=1e-8)


@numba.njit
def of_an_argument(a, b):
    for i in range(b.shape[0]):
        for k in range(i + 1, b.shape[0]):
            for j in range(b.shape[1]):
                b[i, j] += a[k, i] * b[k, j]
    return np.sum(b * b)


@numba.njit
def of_its_own_row(a, b):
    b = b.copy()
    for i in range(b.shape[0]):
        for k in range(b.shape[0]):
            for j in range(b.shape[1]):
                b[i, j] += a[k, i] * b[k, j]
    return np.sum(b * b)


@numba.njit
def written_later(a, b):
    b = b.copy()
    for i in range(b.shape[0]):
        for k in range(i + 1, b.shape[0]):
            for j in range(b.shape[1]):
                b[i, j] += a[k, i] * b[k, j]
    total = np.sum(b * b)
    b[:] = 2.0
    return total + np.sum(b)


@numba.njit
def of_negative_rows(a, b):
    b = b.copy()
    for i in range(-2, b.shape[0] - 2):
        for k in range(i + 1, b.shape[0] - 2):
            for j in range(b.shape[1]):
                b[i, j] += a[k, i] * b[k, j]
    return np.sum(b * b)


@pytest.mark.parametrize("function", [of_an_argument, of_its_own_row, written_later, of_negative_rows])
def test_reads_are_recorded_if_rows_do_not_suffice(function):
    arguments = list(np.random.default_rng(5).uniform(-1.0, 1.0, (2, 4, 4)))
    assert KEPT not in jt.njit_grad(function, argnums=(0, 1)).inspect(*arguments)
    check_both_modes(function, arguments, 3)


def test_random_programs_that_write_rows():
    seeds = range(0, 150, 5)  # without checkpoints
    texts = [jt.njit_grad(random_rows(seed)[0]).inspect(*rows_arguments(seed)) for seed in seeds]
    assert sum(KEPT in text for text in texts) >= 10
    assert check_programs(seeds, random_rows, rows_arguments) > 25


def test_compiled_random_programs_that_write_rows():
    for seed in (0, 5):
        function, text = random_rows(seed)
        check_compiled(function, text, rows_arguments(seed), seed)
