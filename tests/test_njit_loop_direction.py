"""Inner loops whose adjoints run in the order of the loop, which LLVM vectorizes, and those that must run backward."""

import math
import re

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes

njit = numba.njit
rng = np.random.default_rng(5)


@njit
def product_of_matrices(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(b.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return np.sum(c * c)


@njit
def row_from_other_rows(a, b):
    for i in range(1, a.shape[0]):
        for k in range(i):
            for j in range(a.shape[1]):
                a[i, j] -= b[i, k] * a[k, j]
    return np.sum(a * b)


@njit
def weighted_sum(a, b):
    total = 1.0
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * b[i, j]
        total *= s
    return total


@njit
def stencil(a, b):
    for j in range(1, a.shape[1] - 1):
        b[1, j] = a[0, j - 1] * a[0, j + 1] - a[1, j]
    return np.sum(b * b)


@njit
def recurrence(a, b):
    for j in range(1, a.shape[1]):
        a[0, j] += 0.5 * a[0, j - 1]
    return np.sum(a * b)


@njit
def backward_recurrence(a, b):
    for j in range(a.shape[1] - 1, 0, -1):
        a[0, j - 1] -= 0.5 * a[0, j]
    return np.sum(a * b)


@njit
def same_element(a, b):
    for j in range(a.shape[1]):
        b[0, 0] = 2.0 * a[0, j]
        b[1, 1] = a[1, j]
    return np.sum(b * a)


@njit
def folded_indices(a, b):
    for j in range(a.shape[1]):
        b[0, j // 2] = 3.0 * a[1, j]
    return np.sum(b * a)


@njit
def two_names(a, b):
    row = a[0]
    for j in range(a.shape[1] - 1):
        row[j] = 2.0 * a[0, j + 1]
    return np.sum(a * b)


@njit
def negative_index(a, b):
    for j in range(a.shape[1]):
        b[0, j] = 2.0 * b[0, j - 1]
    return np.sum(a * b)


@njit
def partial_sums(a, b):
    s = 0.0
    for j in range(a.shape[1]):
        s += a[0, j]
        b[0, j] = s
    return np.sum(a * b)


@njit
def sum_of_sums(a, b):
    s, t = 0.0, 0.0
    for j in range(a.shape[1]):
        s += a[0, j]
        t += 0.5 * s
    return t * np.sum(a * b)


@njit
def decay(a, b):
    s = 0.0
    for j in range(a.shape[1]):
        s = 0.9 * s + a[0, j]
    return s * np.sum(a * b)


@njit
def sum_before(a, b):
    s, last = 0.0, 1.0
    for j in range(a.shape[1]):
        last = s
        s += a[0, j]
    return s * last * np.sum(a * b)


@njit
def branches(a, b):
    for j in range(1, a.shape[1]):
        if b[0, j] > 0.0:
            b[1, j] = a[0, j] * a[1, j - 1]
        else:
            b[1, j] -= 2.0 * a[0, j]
    return np.sum(b * b)


@njit
def squares_in_place(a, b):
    for _ in range(3):
        for j in range(1, a.shape[1]):
            a[0, j] = 0.5 * a[0, j] * a[0, j] * b[1, j]
    return np.sum(a * b)


@njit
def falling_squares(a, b):
    for k in range(4):  # the last time, the inner loop has no iterations
        for j in range(a.shape[1] - 1, k, -1):
            a[0, j] = a[0, j] * a[1, j] * b[k, j] + a[0, j] * a[0, j]
    return np.sum(a * b)


@njit
def recorded_conditions(a, b):
    for _ in range(3):
        for j in range(a.shape[1]):
            rises = a[0, j] > b[0, j]
            a[0, j] = math.sin(a[0, j]) * (b[1, j] if rises else 2.0)
    return np.sum(a * b)


@njit
def products(a, b):
    for i in range(3):
        p = 1.0
        for j in range(1, a.shape[1]):
            p *= a[i, j]
            b[i, j] = p
    return np.sum(a * b)


ANY_ORDER = [
    product_of_matrices, row_from_other_rows, weighted_sum, stencil, branches, squares_in_place, falling_squares,
    recorded_conditions,
]  # fmt: skip
BACKWARD = [
    recurrence, backward_recurrence, same_element, folded_indices, two_names, negative_index, partial_sums,
    sum_of_sums, decay, sum_before, products,
]  # fmt: skip


@pytest.mark.parametrize("f", ANY_ORDER + BACKWARD, ids=lambda f: f.py_func.__name__)
def test_the_direction_of_a_loop(f):
    arguments = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    check_both_modes(f, arguments, 3)
    text = jt.njit_grad(f, argnums=(0, 1)).inspect(*arguments).split("# backward pass")[1]
    heads = [
        line for line in text[text.index(": for j in") :].splitlines() if line.strip().startswith("for ")
    ]
    falls = re.search(r" - 1, -1\):$|range\(.* \+ 1, .* \+ 1\):$", heads[0]) is not None
    assert falls == (f in BACKWARD), text
