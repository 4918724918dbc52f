"""NumPy's functions whose results have a dtype that depends on values: eigenvalues and roots of polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.autograd
import jittape.numpy as jnp
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


# ---- numpy.emath -----------------------------------------------------------------------------------------------------

NUMBERS = ([1, 4, 9], [-1, 4, 0.5], [0.5, -0.3, 0], [2, -3, 0])
ARRAYS = [
    np.array(v).astype(t) for v in NUMBERS for t in ["f8", "f4", "f2", "i8", "i2", "u1", "?", "c16", "c8"]
]
EMATH = {
    **{name: lambda f, x: [f(x)] for name in np.emath.__all__},
    "logn": lambda f, x: [f(2, x), f(x, 2.5), f(-2, x), f(x, x)],
    "power": lambda f, x: [f(x, 2), f(x, 0.5), f(x, -1), f(2, x)],
}


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("name", np.emath.__all__)
def test_emath_is_complex_where_values_demand_it(name: str) -> None:
    for x in ARRAYS:
        wanted = EMATH[name](getattr(np.emath, name), x)
        for module, own in ((np.emath, jt.constant), (jnp.emath, jt.constant), (jnp.emath, np.array)):
            found = [y.numpy() for y in EMATH[name](getattr(module, name), own(x))]
            for one, other in zip(found, wanted, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(
                    one, other, rtol=1e-12 if one.dtype.itemsize >= 8 else 2e-3, atol=1e-7
                )


@pytest.mark.parametrize("name", np.emath.__all__)
def test_gradients_of_emath_are_differences(name: str) -> None:
    function = getattr(np.emath, name)

    def f(x: Any) -> Any:
        y = function(2.0, x) if name == "logn" else function(x, 0.4) if name == "power" else function(x)
        return np.sum(np.real(y) * [1.0, 2.0, 3.0]) + np.sum(np.abs(y) ** 2)

    jt.check_gradient(f, jt.constant([0.3, -0.7, 2.0], "float64"))
    jt.check_gradient(f, jt.constant([0.3, 0.7, 0.2], "float64"))
    at = np.array([0.3, -0.7, 2.0])
    np.testing.assert_allclose(jt.autograd.grad(f)(at), jt.grad(f)(jt.constant(at)), rtol=1e-12)


def test_emath_in_a_function_is_recorded_at_each_call() -> None:
    f = jt.function(lambda x: np.emath.sqrt(x))
    with pytest.warns(jt.errors.FunctionWarning):
        assert f(jt.constant([1.0, -4.0], "float64")).dtype == "complex128"
    assert f(jt.constant([1.0, 4.0], "float64")).dtype == "float64"


def test_broadcast_arrays_keeps_none_and_texts() -> None:
    given = (np.array([1.0, 2.0]), None, 3, "x")
    wanted = np.broadcast_arrays(*given)
    found = np.broadcast_arrays(jt.constant(given[0]), *given[1:])
    assert [x.tolist() for x in found] == [x.tolist() for x in wanted]
