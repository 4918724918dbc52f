"""Gradients of powers with literal exponents, at ordinary numbers and at the ends of the range of floats."""

import math
import re

import numba
import numpy as np
import pytest

import jittape as jt

EXPONENTS = [-3.0, -2.5, -2.0, -1.5, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.5, 0.3, 9.5]


@numba.njit
def powers(x, w):
    total = w[0] * x**-3.0 + w[1] * x**-2.5 + w[2] * x**-2.0 + w[3] * x**-1.5 + w[4] * x**-0.5 + w[5] * x**0.0
    total += w[6] * x**0.5 + w[7] * x**1.0 + w[8] * x**1.5 + w[9] * x**2.0 + w[10] * x**2.5 + w[11] * x**3.0
    return total + w[12] * x**4.5 + w[13] * x**0.3 + w[14] * x**9.5


@pytest.mark.parametrize(
    "x", [0.7, 2e-80, 3e70, 1e-300, 1e300, 0.0, -0.0, -1.5, np.inf, np.nan, np.float32(0.7), np.float32(-0.0)]
)
def test_powers_with_literal_exponents(x):
    gradient = jt.njit_grad(powers)
    with np.errstate(all="ignore"):
        for k, exponent in enumerate(EXPONENTS):
            expected = exponent * np.float64(x) ** (exponent - 1.0) if exponent else 0.0
            slope = gradient(x, np.eye(len(EXPONENTS))[k])
            rtol = 1e-6 if isinstance(x, np.float32) else 1e-14
            np.testing.assert_allclose(slope, expected, rtol=rtol, atol=0.0, err_msg=f"x ** {exponent}")


@numba.njit
def sum_of_squares(x, shift):
    total = 0.0
    for i in range(len(x)):
        u = x[i] - shift
        total += math.sqrt(u * u + 1.0) * (shift * shift)
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_factor_of_a_square_is_added_up_once(dtype):
    x, shift = np.array([1.0, -2.0, 0.5], dtype), dtype(0.3)
    gradient = jt.njit_grad(sum_of_squares, argnums=(0, 1))
    by_x, by_shift = gradient(x, shift)
    u = x.astype(float) - 0.3
    root = np.sqrt(u * u + 1.0)
    np.testing.assert_allclose(by_x, 0.09 * u / root, rtol=1e-6)
    np.testing.assert_allclose(by_shift, np.sum(0.6 * root - 0.09 * u / root), rtol=1e-6)
    _, tangent = jt.njit_jvp(sum_of_squares, argnums=(0, 1))(np.ones(3, dtype), dtype(2.0), x, shift)
    np.testing.assert_allclose(tangent, by_x.sum() + 2.0 * by_shift, rtol=1e-5)
    text = gradient.inspect(x, shift)
    assert len(re.findall(r"= \((\w+_b) \+ \1\) \* ", text)) == 2, text


@numba.njit
def residuals(x):
    """At ``x = [1, 1, 0]`` all residuals are zero, and so are their cotangents."""
    parts = (
        math.sqrt(x[0]) - 1.0, x[0] ** 1.5 - 1.0, x[1] ** 0.3 - 1.0, x[0] ** x[1] - 1.0, x[1] ** -0.5 - 1.0,
        math.hypot(x[0], x[2]) - 1.0, np.cbrt(x[1]) - 1.0, x[0] ** 3 - x[1] ** 2, np.power(x[1], 2.5) - x[0],
    )  # fmt: skip
    total = 0.0
    for one in parts:
        total += one * one
    return total


def test_second_derivatives_where_cotangents_are_zero():
    x = np.array([1.0, 1.0, 0.0])
    rows = [
        [0.5, 0, 0], [1.5, 0, 0], [0, 0.3, 0], [1, 0, 0], [0, -0.5, 0], [1, 0, 0], [0, 1 / 3, 0], [3, -2, 0],
        [-1, 2.5, 0],
    ]  # fmt: skip
    hessian = 2.0 * np.transpose(rows) @ rows  # of the squares of the linear terms
    np.testing.assert_array_equal(jt.njit_grad(residuals)(x), np.zeros(3))
    slope = jt.njit_grad(residuals)

    @numba.njit
    def along(x, v):
        return np.sum(slope(x) * v)

    for row, v in zip(hessian, np.eye(3), strict=True):
        np.testing.assert_allclose(jt.njit_hvp(residuals)(v, x), row, atol=1e-12)
        np.testing.assert_allclose(jt.njit_grad(along)(x, v), row, atol=1e-12)
    op = jt.numba_op(residuals)
    np.testing.assert_allclose(jt.hessian(op)(jt.constant(x)), hessian, atol=1e-12)


@numba.njit
def unused_root(x):
    return math.sqrt(x[0]) * x[1] + x[2] ** 0.5 * x[1] ** 2 + math.hypot(x[0], x[2]) * x[1] ** 3


def test_derivatives_of_roots_of_zero_that_have_no_influence():
    x = np.zeros(3)
    np.testing.assert_array_equal(jt.njit_grad(unused_root)(x), np.zeros(3))
    np.testing.assert_array_equal(jt.njit_jvp(unused_root)(np.array([0.0, 1.0, 0.0]), x), (0.0, 0.0))
    np.testing.assert_array_equal(jt.njit_hvp(unused_root)(np.zeros(3), x), np.zeros(3))
