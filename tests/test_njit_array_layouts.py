"""Arrays of ``@njit`` functions whose gradients allocate them in Fortran order, because loops run along columns."""

import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes

njit = numba.njit
rng = np.random.default_rng(11)


@njit
def products_of_columns(a, b):
    a = a.copy()
    total = 0.0
    for i in range(a.shape[1]):
        for j in range(a.shape[1]):
            c = 0.0
            for k in range(a.shape[0]):
                c += a[k, i] * a[k, j]
            total += c * c * b[0, i % 3]
    return total


@njit
def orthogonalized(a, b):
    q = np.zeros(a.shape)
    for k in range(a.shape[1]):
        for i in range(a.shape[0]):
            q[i, k] = a[i, k] * b[i, k]
        for j in range(k):
            s = 0.0
            for i in range(a.shape[0]):
                s += q[i, j] * q[i, k]
            for i in range(a.shape[0]):
                q[i, k] -= s * q[i, j] * q[i, j]
    return np.sum(q * q * q)


@njit
def overwritten_in_steps(a, b):
    u = np.empty(a.shape)
    total = 0.0
    for step in range(3):
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                u[i, j] = a[i, j] * (1.0 + step) + 0.1 * total
        for _ in range(2):
            for j in range(a.shape[1]):
                for i in range(a.shape[0]):
                    total += 0.01 * math.sin(u[i, j]) * u[i, j] * b[i, j]
    return total


@njit
def three_axes(a, b):
    u = np.ones((a.shape[0], 2, a.shape[1]))
    for j in range(a.shape[1]):
        for k in range(2):
            for i in range(a.shape[0]):
                u[i, k, j] *= a[i, j] + k * b[i, j]
    for j in range(a.shape[1]):
        for k in range(2):
            for i in range(1, a.shape[0]):
                u[i, k, j] += u[i - 1, k, j] * u[i, k, j]
    return np.sum(u * u)


@njit
def local_to_an_iteration(a, b):
    total = 0.0
    for step in range(3):
        u = np.empty((a.shape[0], a.shape[1]))
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                u[i, j] = math.cos(a[i, j] + step * b[i, j])
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                u[i, j] *= u[i, 0] + total
        total += np.sum(u)
    return total


@njit
def shared_by_names(a, b):
    u = np.empty(a.shape)
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            u[i, j] = a[i, j] * b[i, j]
    row = u[1]
    return np.sum(row * row) + np.sum(u.T * 2.0)


TURNED = [products_of_columns, orthogonalized, overwritten_in_steps, three_axes, local_to_an_iteration]


@pytest.mark.parametrize("function", [*TURNED, shared_by_names], ids=lambda one: one.py_func.__name__)
def test_derivatives(function):
    arguments = rng.uniform(0.4, 1.2, (4, 3)), rng.uniform(0.4, 1.2, (4, 3))
    check_both_modes(function, arguments, 3)
    text = jt.njit_value_and_grad(function, argnums=(0, 1)).inspect(*arguments)
    assert (", np.float64).T\n" in text) == (function in TURNED)


def test_compiled_gradients_and_second_derivatives():
    a, b = rng.uniform(0.4, 1.2, (2, 4, 3))
    for function in TURNED[1:3]:
        gradient = jt.njit_grad(function)
        slope = gradient(a, b)
        assert slope.flags.c_contiguous
        at = np.zeros_like(a)
        at[2, 1] = 1e-5
        difference = (function(a + at, b) - function(a - at, b)) / 2e-5
        np.testing.assert_allclose(slope[2, 1], difference, rtol=1e-6)
        _, curvature = jt.njit_jvp(gradient)(at * 1e5, a, b)
        np.testing.assert_allclose(
            curvature, (gradient(a + at, b) - gradient(a - at, b)) / 2e-5, rtol=1e-5, atol=1e-7
        )


def test_values_do_not_change():
    a, b = rng.uniform(0.4, 1.2, (2, 17, 13))
    for function in TURNED[1:3]:
        assert jt.njit_value_and_grad(function)(a, b)[0] == function(a, b)


def test_segments_of_time_loops_restore_arrays_in_fortran_order():
    a, b = rng.uniform(0.4, 1.2, (2, 6, 5))
    plain = jt.njit_grad(overwritten_in_steps)(a, b)
    np.testing.assert_allclose(jt.njit_grad(overwritten_in_steps, checkpoint=2)(a, b), plain, rtol=1e-12)
