"""Loops and branches in functions that Numba's compiled code calls."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import jittape as jt

X = np.linspace(0.1, 1.0, 5)


def program(x):
    y = jt.fori_loop(0, 20, lambda i, s: jt.sin(s) * x, x)
    z = jt.while_loop(lambda s, n: n < 5, lambda s, n: (s * 0.9 + x, n + 1), (y, 0))[0]
    return jt.reduce_sum(jt.cond(z[0] > 0, lambda: z * z, lambda: z))


def test_a_gradient_through_loops_within_compiled_code():
    value_and_gradient = jt.njit_value_and_grad(program, jt.TensorSpec((5,), jt.float64))

    @njit
    def descend(x, steps):
        value = 0.0
        for _ in range(steps):
            value, gradient = value_and_gradient(x)
            x = x - 0.01 * gradient
        return value, x

    value, x = descend(X, 3)
    expected, wanted = 0.0, X
    for _ in range(3):
        expected, gradient = jt.value_and_grad(program)(wanted)
        wanted = wanted - 0.01 * gradient
    assert value == pytest.approx(float(expected), rel=1e-12)
    np.testing.assert_allclose(x, wanted, rtol=1e-12)


def test_a_body_with_equal_outputs():
    def repeated(x, n):
        def body(i, a, b, c, d):
            z = jt.sin(d)
            return i + 1, z, z, z, jt.gather(d, [1, 0, 2, 2, 4])

        _, a, b, c, d = jt.while_loop(lambda i, *_: i < n, body, (jt.constant(0, jt.int64), x, x, x, x))
        return a + 10.0 * b + 100.0 * c + 1000.0 * d

    native = jt.njit_function(repeated, jt.TensorSpec((5,), jt.float64), jt.TensorSpec((), jt.int64))
    for n in (0, 1, 2):
        d = X if n < 2 else X[[1, 0, 2, 2, 4]]
        z = np.sin(d) if n else X
        np.testing.assert_allclose(
            native(X, n), 111.0 * z + 1000.0 * (d[[1, 0, 2, 2, 4]] if n else X), rtol=1e-12
        )


def test_another_body_is_another_fingerprint():
    spec = jt.TensorSpec((5,), jt.float64)
    one = jt.njit_function(lambda x: jt.fori_loop(0, 3, lambda i, s: jt.sin(s), x), spec)
    other = jt.njit_function(lambda x: jt.fori_loop(0, 3, lambda i, s: jt.cos(s), x), spec)
    assert one.fingerprint != other.fingerprint
    np.testing.assert_allclose(one(X), np.sin(np.sin(np.sin(X))))
    np.testing.assert_allclose(other(X), np.cos(np.cos(np.cos(X))))


def test_a_body_that_numpy_runs_is_a_step_in_python():
    x = np.cos(np.arange(50.0))
    native = jt.njit_function(
        lambda x: jt.fori_loop(0, 3, lambda i, s: jt.sort(s) + x, x), jt.TensorSpec((50,), jt.float64)
    )
    assert native.python_ops[0].startswith("loop")
    expected = x
    for _ in range(3):
        expected = np.sort(expected) + x
    np.testing.assert_allclose(native(x), expected)
