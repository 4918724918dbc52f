"""Loop nests that read neighboring elements: their adjoints gather cotangents from an array with a margin."""

import re

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, check_programs
from random_stencils import random_stencils, random_sweeps, stencil_arguments, sweep_arguments

njit = numba.njit
rng = np.random.default_rng(7)


@njit
def average(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return np.sum(b * b)


@njit
def first_read_has_a_minus(a, b):
    for i in range(2, a.shape[0]):
        for j in range(a.shape[1] - 2):
            b[i, j] -= a[i, j + 2] * 0.5 - a[i - 2, j] * a[i, j] + a[i - 1, j + 1] - 0.5 * a[i - 2, j + 1]
    return np.sum(b * b)


@njit
def equal_factors(a, b):
    for j in range(1, a.shape[1] - 1):
        b[0, j] = 0.3 * a[2, j - 1] + 0.3 * a[2, j + 1] - 0.3 * (a[2, j] - a[1, j]) + a[1, j + 1]
    return np.sum(b * b)


@njit
def center_times_constants(a, b):
    c, d = 0.3 * a[0, 0], 1.5
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 4.0 * a[i, j] - (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + np.sin(a[i, j + 1]))
            b[i, j] -= c * (a[i - 1, j - 1] - a[i + 1, j + 1] - a[i - 1, j + 1] / d)
    return np.sum(b * b)


@njit
def two_arrays(a, b):
    c, d = np.zeros(a.shape), np.zeros(a.shape)
    for _ in range(2):
        for i in range(a.shape[0] - 1):
            for j in range(a.shape[1] - 1):
                v = a[i, j + 1] - a[i, j] + b[i + 1, j] - b[i, j]
                if v > 0.0:
                    v = v * v
                c[i, j] += v
                d[i + 1, j + 1] = a[i, j] * b[i, j] - v
        for i in range(1, a.shape[0]):
            for j in range(1, a.shape[1]):
                b[i, j] -= 0.1 * (c[i, j] - c[i - 1, j] + d[i, j] - d[i, j - 1])
    return np.sum(b * b * d)


@njit
def one_factor_for_two_arrays(a, b):
    c, p = np.zeros(a.shape), 0.7 * a[0, 0]
    for i in range(a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            x = p * a[i, j + 1] - b[i + 1, j] + a[i, j - 1] + a[i + 1, j - 1] - p * b[i, j + 1]
            c[i, j] = x * x + 0.2 * (b[i, j - 1] - b[i + 1, j + 1])
    return np.sum(c * c)


@njit
def smaller_than_the_stencil(a, b):
    for i in range(3, a.shape[0] - 3):
        for j in range(3, a.shape[1] - 3):
            b[i, j] = a[i - 3, j] + a[i + 3, j] + a[i, j - 3] + a[i, j + 3]
    return np.sum(a * b)


@njit
def writes_what_it_reads(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return np.sum(a * b)


@njit
def reads_by_two_names(a, b):
    c = a[1:]
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j] + c[i, j] - c[i + 1, j]
    return np.sum(b * b)


@njit
def counts_from_the_end(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i - 1, j] - a[i, j]
    return np.sum(b * b)


GATHERED = [
    average, first_read_has_a_minus, equal_factors, center_times_constants, two_arrays, one_factor_for_two_arrays,
    smaller_than_the_stencil,
]  # fmt: skip
SCATTERED = [writes_what_it_reads, reads_by_two_names, counts_from_the_end]


@pytest.mark.parametrize("f", GATHERED + SCATTERED, ids=lambda f: f.py_func.__name__)
def test_neighbors_are_gathered_from_kept_cotangents(f):
    arguments = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    check_both_modes(f, arguments, 3)
    assert ("_near[" in jt.njit_grad(f).inspect(*arguments)) == (f in GATHERED)


@pytest.mark.parametrize("shape", [(5, 4), (3, 3), (2, 5), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_gradients_of_any_shape(dtype, shape):
    a, b = rng.normal(size=(2, *shape)).astype(dtype)
    gradient = GRADIENT(a, b.copy())
    inside = a.astype(np.float64)
    expected = np.zeros(shape)
    for i in range(1, shape[0] - 1):
        for j in range(1, shape[1] - 1):
            mean = 0.25 * (inside[i - 1, j] + inside[i + 1, j] + inside[i, j - 1] + inside[i, j + 1])
            for place in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                expected[place] += 0.5 * mean
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


GRADIENT = jt.njit_grad(average)


def test_random_stencils():
    assert check_programs(range(24), random_stencils, stencil_arguments) > 12


@njit
def relaxed(a, b):
    for _ in range(2):
        for i in range(1, len(a) - 2):
            b[i] = 0.3 * (a[i - 1] + a[i] + a[i + 2])
        for i in range(1, len(a) - 2):
            a[i] = 0.5 * (b[i - 1] + b[i + 1])
    return np.sum(a * a) + b[2]


@pytest.mark.parametrize("size", [3, 4, 9])
def test_a_gather_assigns_elements_whose_cotangents_were_taken(size):
    arguments = rng.normal(size=(2, size))
    code = jt.njit_grad(relaxed).inspect(*arguments)
    assert re.search(r"a_1_b\[i_\d+_at\] = ", code)
    assert not re.search(r"a_1_b\[i_\d+\] = 0.0", code)
    check_both_modes(relaxed, arguments, 4)


def test_random_sweeps():
    assert check_programs(range(40), random_sweeps, sweep_arguments) > 20
