"""NumPy's functions whose results have a dtype that depends on values: eigenvalues and roots of polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.autograd
from numpy_rows import BEFORE_NUMPY_2_5

ONE_SIDED = np.array([[2.0, 1.0, 0.3], [0.5, 3.0, 0.0], [0.1, 0.2, 7.0]])
"""A matrix that is not symmetric, with real eigenvalues."""


def spectrum(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    return np.sum(values * [1.0, 2.0, 3.0]) + np.sum(vectors[0] ** 2) + np.sum(np.sin(np.linalg.eigvals(a)))


@pytest.mark.skipif(not BEFORE_NUMPY_2_5, reason="NumPy's results are complex")
def test_gradients_of_real_eigenvalues_are_real() -> None:
    x = jt.constant(ONE_SIDED)
    assert jt.grad(spectrum)(x).dtype == "float64"
    jt.check_gradient(spectrum, x)
    found = jt.autograd.grad(spectrum)(ONE_SIDED)
    np.testing.assert_allclose(found, jt.grad(spectrum)(x), rtol=1e-12)


def test_eigenvalues_are_complex_where_values_are_unknown() -> None:
    x = jt.constant(ONE_SIDED)
    wanted = np.linalg.eigvals(ONE_SIDED)
    for found in (
        jt.function(np.linalg.eigvals)(x),
        jt.function(lambda a: np.linalg.eig(a).eigenvalues)(x),
        jt.vectorized_map(lambda a: np.linalg.eigvals(a), x[None])[0],
    ):
        assert found.dtype == "complex128"
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_roots_of_complex_coefficients_are_complex() -> None:
    for p in ([1 + 0j, -3, 2], [1, -3, 2], [1, 0, 1], [2, 1, 0, 0]):
        found, wanted = np.roots(jt.constant(np.array(p))), np.roots(p)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, atol=1e-15)
    assert jt.autograd.jacobian(np.roots)(np.array([1.0, -3.0, 2.0])).shape == (2, 3)
