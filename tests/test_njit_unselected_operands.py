"""Gradients at numbers where an operand that `where`, `max` or `min` does not select is infinite or nan."""

import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import as_python

njit = numba.njit


@njit
def entropy(x):
    return -np.sum(np.where(x > 0.0, x * np.log(x), 0.0))


@njit
def by_elements(x):
    total = 0.0
    for i in range(len(x)):
        total += np.where(x[i] > 0.0, np.sqrt(x[i]) * x[i], x[i] ** 2) ** 2
    return total


@njit
def through_an_array(x):
    y, z = np.log(x), np.exp(1000.0 * x)
    y *= z
    return np.sum(np.where(x > 0.0, 0.0, x * x) + np.where(x < -1e9, y, x))


@njit
def quotients(x):
    total = 0.0
    for i in range(len(x)):
        slope = 1.0 / x[i]
        total += (
            min(slope * slope, 3.0 + x[i]) + max(-abs(slope), x[i]) + np.minimum(1.0 / abs(x[i]), x[i] + 2.0)
        )
    return total


@njit
def softplus(x):
    return np.sum(np.where(x > 0.0, x + np.log1p(np.exp(-x)), np.log1p(np.exp(x))))


@njit
def in_steps(x):
    y = x.copy()
    for _ in range(3):
        for i in range(1, len(y)):
            ratio = (y[i] - y[i - 1]) / (x[i] - x[i - 1] * 0.0)
            y[i] += 0.1 * np.where(x[i] == 0.0, y[i - 1], ratio * y[i - 1])
    return np.sum(y * y)


def _tangents(function, x):
    return [jt.njit_jvp(function)(v, x)[1] for v in np.eye(len(x))]


@pytest.mark.parametrize(
    "function",
    [entropy, by_elements, through_an_array, quotients, softplus, in_steps],
    ids=lambda f: f.py_func.__name__,
)
def test_operands_that_are_not_selected_have_the_derivative_zero(function):
    x = np.array([0.0, 0.5, -2.0, 900.0, -900.0])
    gradient = jt.njit_grad(function)(x)
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(gradient, _tangents(function, x), rtol=1e-12)


def test_products_of_a_vector_with_the_hessian():
    x = np.array([0.0, 0.5, -2.0])
    np.testing.assert_allclose(jt.njit_hvp(entropy)(np.ones(3), x), [0.0, -2.0, 0.0])


@njit
def length(x):
    r = np.sqrt(np.sum(x * x))
    return np.where(r > 0.0, r**3 + np.log(r) * r * r, 0.0) + x[0] * x[1]


@pytest.mark.parametrize(
    "function",
    [entropy, by_elements, through_an_array, quotients, softplus, in_steps, length],
    ids=lambda f: f.py_func.__name__,
)
@pytest.mark.parametrize("x", [np.array([0.0, 0.5, -2.0]), np.zeros(3)], ids=["one", "all"])
def test_derivatives_of_gradients_in_reverse_mode(function, x):
    gradient, v = jt.njit_grad(function), np.array([1.0, -0.5, 0.3])

    @njit
    def slope(x, v):
        return np.sum(gradient(x) * v)

    with np.errstate(all="ignore"):
        found = as_python(jt.njit_grad(slope), (x, v))(x, v)
        expected = as_python(jt.njit_hvp(function), (v, x))(v, x)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@njit
def root_cubed(x):
    return np.sum(np.where(x > -1.0, np.sqrt(x) ** 3, 0.0))


def test_an_infinite_second_derivative_is_not_zero():
    gradient, x = jt.njit_grad(root_cubed), np.array([0.0, 4.0])

    @njit
    def slope(x):
        return np.sum(gradient(x))

    with np.errstate(all="ignore"):
        found = as_python(jt.njit_grad(slope), (x,))(x)
    assert not np.isfinite(found[0])
    np.testing.assert_allclose(found[1], 0.375)


@njit
def finite(x):
    total = 0.0
    for i in range(len(x)):
        total += max(0.0, x[i] * x[0]) + math.log(x[i]) * x[1]
    return total


def test_finite_numbers_keep_plain_products():
    assert "product_or_zero" not in jt.njit_grad(finite).inspect(np.ones(3))
