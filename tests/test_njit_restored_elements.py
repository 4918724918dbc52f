"""Loops that overwrite elements of an array which they read: the backward pass puts back each of them."""

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import as_python, check_both_modes, check_programs, copies
from random_njit_in_place import random_in_place

njit = numba.njit
rng = np.random.default_rng(61)


@njit
def logistic(a, b):
    for _ in range(2):
        for i in range(1, len(a) - 1):
            a[i] = 3.7 * a[i] * (1.0 - a[i]) + 0.05 * a[i - 1] * a[i + 1]
    return np.sum(a * b)


@njit
def without_own_element(a, b):
    for i in range(1, len(a) - 1):
        a[i] = a[i - 1] * a[i + 1] * a[0]
    return np.sum(a * b)


@njit
def in_both_sides(a, b):
    for _ in range(2):
        for i in range(1, len(a) - 1):
            if a[i] > 0.5:
                a[i] = a[i] * a[i - 1] * a[i + 1]
            elif a[i] > 0.4:
                a[i] = a[i - 1] * a[i]
            a[i] = a[i] * a[i + 1]
    return np.sum(a * b)


@njit
def in_one_side(a, b):
    for i in range(1, len(a) - 1):
        if b[i] > 0.5:
            a[i] = a[i - 1] * a[i + 1]
        a[i + 1] = a[i] * a[i - 1]
    return np.sum(a * a * b)


@njit
def two_writes(a, b):
    for _ in range(2):
        for i in range(1, len(a) - 1):
            a[i] = a[i] * a[i - 1] * a[i + 1]
            a[i + 1] = a[i] * a[i + 1] * a[i - 1]
            a[i] += a[i + 1] * a[i + 1]
    return np.sum(a * b)


@njit
def before_an_inner_loop(a, b):
    for i in range(1, len(a) - 1):
        a[i] = a[i] * a[i - 1] * a[i + 1]
        for k in range(1, len(a) - 1):
            a[k] = a[k] * a[k + 1] * a[i]
    return np.sum(a * b)


@njit
def after_an_inner_loop(a, b):
    for i in range(1, len(a) - 1):
        c = a[i] * a[i + 1] * a[i - 1]
        for k in range(1, len(a) - 1):
            a[k] = a[k] * a[k + 1] * a[k - 1] * c + b[k]
        a[i] = a[i] * a[i - 1] * c
    return np.sum(a * b)


@njit
def beside_an_inner_loop(a, b):
    for i in range(2, len(a) - 1):
        s = 1.0
        for k in range(i):
            s += a[k] * a[k + 1] * a[i]
        a[i] = a[i] * a[i - 1] * s * 0.1
        for k in range(i):
            s *= 1.0 + a[k] * a[k + 1]
        a[0] = a[1] * s * a[i] * 0.1
    return np.sum(a * b)


@njit
def local(a, b):
    c = np.empty(len(a) + 1)
    c[0], c[1] = a[0], a[1]
    for i in range(2, len(a)):
        c[i] = c[i - 1] * c[i - 2] + a[i] * b[i]
    for _ in range(2):
        for i in range(1, len(a) - 1):
            c[i] = c[i - 1] * c[i] * c[i + 1]
    return np.sum(c[: len(a)] * b)


@njit
def falling(a, b):
    for i in range(len(a) - 2, 0, -1):
        a[i] = a[i] * a[i - 1] * a[i + 1]
    i = len(a) - 1
    while i > 1:
        i -= 1
        a[i] = a[i] * a[i - 1] * a[i + 1]
        if a[i] < 1e-4:
            break
    return np.sum(a * b)


@njit
def negative_index(a, b):
    for i in range(len(a)):
        a[i - 3] = a[i - 3] * a[i - 2] * a[i]
    return np.sum(a * b)


@njit
def places_from_an_array(a, b):
    places = np.array([3, 1, 4, 1, 5])
    for i in range(5):
        k = places[i]
        a[k] = a[k] * a[k - 1] * a[i]
    return np.sum(a * b)


@njit
def places_from_elements(a, b):
    for i in range(len(a) - 1):
        k = int(a[i] * 4.0)
        a[k] = a[k] * a[k + 1] * a[i]
    return np.sum(a * b)


@njit
def read_through_a_view(a, b):
    row = a[1:]
    for _ in range(2):
        for i in range(1, len(a) - 1):
            a[i] = a[i] * a[i - 1] * row[i]
    for i in range(len(row)):
        b[i] *= row[i] * a[i]
    return np.sum(b)


@njit
def written_through_a_view(a, b):
    row = a[1:]
    for _ in range(2):
        for i in range(1, len(a) - 1):
            row[i - 1] = a[i] * a[i - 1] * a[i + 1]
    return np.sum(a * b)


@njit
def read_before_and_after(a, b):
    s = 1.0
    for i in range(len(a) - 1):
        s += s * a[i] * a[i + 1]
    for i in range(1, len(a) - 1):
        a[i] = a[i] * a[i - 1] * a[i + 1] * s
    for i in range(len(a) - 1):
        s += s * a[i] * a[i + 1]
    return s * b[0]


@njit
def written_after_the_loop(a, b):
    for i in range(1, len(a) - 1):
        a[i] = a[i] * a[i - 1] * a[i + 1]
    a[2] = a[3] * b[0]
    return np.sum(a * b)


@njit
def read_after_the_write(a, b):
    for i in range(1, len(a) - 1):
        a[i] = a[i] * a[i - 1] * a[i + 1]
        for k in range(2):
            b[k] += a[i] * a[i - k] * a[i + 1]
    return np.sum(a * b)


@njit
def two_arrays(a, b):
    for _ in range(2):
        for i in range(1, len(a) - 1):
            a[i] = a[i - 1] * b[i + 1] * a[i]
            b[i] = a[i] * b[i - 1] * b[i] * a[i + 1]
    return np.sum(a * b)


PROGRAMS = [
    logistic, without_own_element, in_both_sides, in_one_side, two_writes, before_an_inner_loop, after_an_inner_loop,
    beside_an_inner_loop, local, falling, negative_index, places_from_an_array, places_from_elements,
    read_through_a_view, written_through_a_view, read_before_and_after, written_after_the_loop, read_after_the_write,
    two_arrays,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_gradients(function):
    arguments = tuple(rng.uniform(0.3, 0.95, size=(2, 8)))
    check_both_modes(function, arguments, 0)
    left, expected = copies(arguments), copies(arguments)
    as_python(jt.njit_grad(function, argnums=(0, 1)), left)(*left)
    function.py_func(*expected)
    np.testing.assert_array_equal(left, expected)


@njit
def two_dimensions(a, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 3.7 * a[i, j] * (1.0 - a[i, j]) + 0.05 * a[i - 1, j] * a[i, j + 1]
    return np.sum(a * a)


def test_one_value_is_kept_for_each_element():
    a = rng.uniform(size=(7, 6))
    assert jt.njit_grad(two_dimensions).kept_bytes(a, 3) == 3 * 5 * 4 * 8
    both = tuple(rng.uniform(size=(2, 8)))
    for function, count in ((logistic, 2 * 6), (without_own_element, 6), (two_arrays, 3 * 2 * 6)):
        assert jt.njit_grad(function, argnums=(0, 1)).kept_bytes(*both) == count * 8


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_gradients_agree_with_those_in_segments(dtype):
    a = rng.uniform(size=(7, 6)).astype(dtype)
    left, expected = a.copy(), a.copy()
    gradient = jt.njit_grad(two_dimensions)(left, 3)
    assert gradient.dtype == dtype
    two_dimensions(expected, 3)
    np.testing.assert_array_equal(left, expected)
    other = jt.njit_grad(two_dimensions, checkpoint=2)(a.copy(), 3)
    np.testing.assert_allclose(gradient, other, rtol=1e-12 if dtype == np.float64 else 1e-5)


def test_second_derivatives():
    a, v = rng.uniform(size=(2, 7, 6))
    gradient = jt.njit_grad(two_dimensions)
    found = jt.njit_hvp(two_dimensions)(v, a.copy(), 3)
    h = 1e-6
    expected = (gradient(a + h * v, 3) - gradient(a - h * v, 3)) / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_random_programs_that_overwrite_elements():
    assert check_programs(range(24), random_in_place) > 12
