"""Loops whose iterations use their own elements of an array run forward and backward in one pass."""

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes
from random_buffers import buffer_arguments, random_buffers

njit = numba.njit
rng = np.random.default_rng(11)


@njit
def written_first(a, b):
    w = np.empty(a.shape[1])
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            w[j] = np.sin(a[i, j])
            if j > 0:
                w[j] -= 0.5 * w[j - 1] * b[i, j]
        for j in range(1, a.shape[1]):
            total += w[j] * w[j - 1]
    return total


@njit
def rows_of_a_matrix(a, b):
    w = np.zeros_like(a)
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            w[i, j] = np.sin(w[i, j - 1]) + a[i, j] * b[i, j]
        total += w[i, a.shape[1] - 1]
    return total


@njit
def written_in_both_branches(a, b):
    w = np.empty(a.shape[1])
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if j >= 1:
                w[j] = a[i, j] * w[j - 1]
            else:
                w[j] = b[i, j]
        total += np.sum(w)
    return total


@njit
def written_in_part(a, b):
    w = np.ones(a.shape[1])
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            w[j] = a[i, j] * w[j - 1]
        w[0] = b[i, 0]
        total += w[1] * w[0]
    return total


@njit
def reads_the_row_before(a, b):
    w = np.ones(a.shape[1])
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            w[j] = a[i, j] * w[j - 1]  # w[-1] for j = 0
        total += w[0] * b[i, 0]
    return total


@njit
def read_after_the_loop(a, b):
    w = np.empty(a.shape[1])
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            w[j] = a[i, j] * b[i, j]
        for j in range(a.shape[1]):
            total += w[j] * w[j]
    return total + w[2]


PRIVATE = [written_first, rows_of_a_matrix, written_in_both_branches]
SHARED = [written_in_part, reads_the_row_before, read_after_the_loop]


@pytest.mark.parametrize("f", PRIVATE + SHARED, ids=lambda f: f.py_func.__name__)
def test_iterations_with_own_elements_run_in_one_pass(f):
    arguments = tuple(rng.normal(size=(2, 3, 4)))
    check_both_modes(f, arguments, 3)
    backward = jt.njit_grad(f).inspect(*arguments).split("# backward pass")[1]
    assert ("range(a_1_size_1)" in backward) == (f in PRIVATE)


def test_elements_before_that_a_branch_reads_are_read_again():
    arguments = tuple(rng.normal(size=(2, 3, 4)))
    assert "floats" not in jt.njit_grad(written_first, argnums=(0, 1)).inspect(*arguments)
    assert "floats" in jt.njit_grad(reads_the_row_before, argnums=(0, 1)).inspect(*arguments)


def test_compiled_gradient_is_that_of_python():
    arguments = tuple(rng.normal(size=(2, 3, 4)))
    check_both_modes(written_first, arguments, 3, lambda gradient, *args: gradient(*args))


def test_random_buffers():
    for seed in range(40):
        function, text = random_buffers(seed)
        try:
            check_both_modes(function, buffer_arguments(seed), seed)
        except AssertionError as error:
            raise AssertionError(text) from error
