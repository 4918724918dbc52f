"""Factorizations and systems of equations in functions that Numba's compiled code calls."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import jittape as jt

RNG = np.random.default_rng(11)


def spd(n):
    x = RNG.normal(size=(n, n))
    return x @ x.T + n * np.eye(n)


def log_likelihood(a, b):
    factor = jt.linalg.cholesky(a)
    white = jt.linalg.triangular_solve(factor, b)
    return -0.5 * jt.reduce_sum(white**2) - jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor)))


def projected(vectors, x):
    """Return the projections of columns, which do not depend on the signs of the vectors."""
    return jt.sin(jt.matmul(vectors, jt.matmul(vectors, x, adjoint_a=True)))


FUNCTIONS = {
    "log likelihood": log_likelihood,
    "solve": lambda a, b: jt.reduce_sum(jt.linalg.solve(a, b) ** 2),
    "inv": lambda a, b: jt.reduce_sum(jt.matmul(jt.linalg.inv(a), b) ** 2),
    "slogdet": lambda a, b: jt.linalg.slogdet(a).log_abs_determinant + jt.reduce_sum(b),
    "logdet": lambda a, b: jt.linalg.logdet(a) * jt.reduce_sum(b),
    "cholesky_solve": lambda a, b: jt.reduce_sum(jt.linalg.cholesky_solve(jt.linalg.cholesky(a), b) ** 3),
    "lstsq": lambda a, b: jt.reduce_sum(jt.linalg.lstsq(a, b) ** 2),
    "det": lambda a, b: jt.linalg.det(a / len(a)) + jt.reduce_sum(b),
    "eigvalsh": lambda a, b: jt.reduce_sum(jt.sin(jt.linalg.eigvalsh(a))) * jt.reduce_sum(b),
    "eigh": lambda a, b: jt.reduce_sum(projected(jt.linalg.eigh(a)[1][:, :1], b)),
    "eig": lambda a, b: jt.reduce_sum(jt.math.real(jt.linalg.eigvals(a) ** 3)) + jt.reduce_sum(b),
    "pinv": lambda a, b: jt.reduce_sum(jt.matmul(jt.linalg.pinv(b), a) ** 2),
    "svdvals": lambda a, b: jt.linalg.matrix_norm(a, ord="nuc") * jt.reduce_sum(jt.linalg.svdvals(b)),
    "svd": lambda a, b: jt.reduce_sum(projected(jt.linalg.svd(a)[2][:, :1], b)),
    "svd full": lambda a, b: jt.reduce_sum(projected(jt.linalg.svd(b, full_matrices=True)[1][:, 2:], a)),
    "qr": lambda a, b: jt.reduce_sum(projected(jt.linalg.qr(b).q, a)) + jt.reduce_sum(jt.linalg.qr(a).r ** 2),
    "bands": lambda a, b: jt.reduce_sum(jt.linalg.banded_triangular_solve(a[:2] + 1.0, b, adjoint=True) ** 2),
    "tridiagonal": lambda a, b: jt.reduce_sum(
        jt.linalg.tridiagonal_solve(a, b, "matrix", partial_pivoting=False) ** 2
    ),
}


@pytest.mark.parametrize(
    ("name", "n"), [*[(name, 12) for name in FUNCTIONS], *[(name, 3) for name in list(FUNCTIONS)[::2]]]
)
def test_value_and_gradient_in_compiled_code(name, n):
    f = FUNCTIONS[name]
    native = jt.njit_value_and_grad(
        f, jt.TensorSpec((n, n), jt.float64), jt.TensorSpec((n, 2), jt.float64), argnums=(0, 1)
    )

    @njit
    def descend(a, b, steps):
        value = 0.0
        for _ in range(steps):
            value, (g_a, g_b) = native(a, b)
            a = a - 1e-3 * g_a
            b = b - 1e-3 * g_b
        return value, a, b

    a, b = spd(n), RNG.normal(size=(n, 2))
    value, a_found, b_found = descend(a, b, 3)
    expected = 0.0
    for _ in range(3):
        expected, (g_a, g_b) = jt.value_and_grad(f, argnums=(0, 1))(a, b)
        a, b = a - 1e-3 * np.asarray(g_a), b - 1e-3 * np.asarray(g_b)
    assert value == pytest.approx(float(expected), rel=1e-11)
    np.testing.assert_allclose(a_found, a, rtol=1e-10)
    np.testing.assert_allclose(b_found, b, rtol=1e-10, atol=1e-13)


COMPLEX = {
    "cholesky": lambda a: jt.linalg.cholesky(jt.matmul(a, a, adjoint_b=True)),
    "solve": lambda a: jt.linalg.solve(a, jt.linalg.adjoint(a)),
    "triangular_solve": lambda a: jt.linalg.triangular_solve(a, a, lower=False, adjoint=True),
    "det": jt.linalg.det,
    "slogdet": lambda a: jt.linalg.slogdet(a).sign,
    "pinv": lambda a: jt.linalg.pinv(a[:, :2]),
    "eigh": lambda a: projected(jt.linalg.eigh(a)[1][:, :2], a),
    "eig": lambda a: jt.linalg.eigvals(a) ** 2,
    "svd": lambda a: projected(jt.linalg.svd(a)[1][:, :2], a),
    "qr": lambda a: jt.linalg.qr(a).r,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_matrices_in_compiled_code(name):
    f = COMPLEX[name]
    native = jt.njit_value_and_grad(
        lambda a: jt.reduce_sum(jt.math.real(f(a) * (1.0 + 2.0j))), jt.TensorSpec((4, 4), jt.complex128)
    )
    a = RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4)) + 4 * np.eye(4)
    value, gradient = njit(lambda a: native(a))(a)
    expected, slope = jt.value_and_grad(lambda a: jt.reduce_sum(jt.math.real(f(a) * (1.0 + 2.0j))))(a)
    assert value == pytest.approx(float(expected), rel=1e-10)
    np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (jt.linalg.cholesky, "a matrix is not positive definite"),
        (lambda a: jt.linalg.solve(a, a), "not invertible"),
        (jt.linalg.inv, "not invertible"),
    ],
)
def test_a_matrix_that_does_not_fit_raises_in_compiled_code(f, message):
    native = jt.njit_function(f, jt.TensorSpec((2, 2), jt.float64))
    called = njit(lambda a: native(a))
    np.testing.assert_allclose(called(4 * np.eye(2)), f(4 * np.eye(2)))
    with pytest.raises(ValueError, match=message):
        called(np.zeros((2, 2)))
