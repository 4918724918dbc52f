"""Options and ranks of NumPy functions inside ``@njit`` functions: gradients against differences and forward mode."""

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, interpreted

njit = numba.njit
Q = np.array([0.2, 0.7])


@njit
def covariances(a, x):
    y = a[1] * x
    total = np.sum(np.cov(a, a**2) ** 3) + np.sum(np.cov(x, y) ** 3) + np.cov(x, ddof=2) ** 2
    total += np.sum(np.cov(a, rowvar=False) ** 3) + np.sum(np.cov(a, a**2, rowvar=False) ** 3)
    total += np.sum(np.cov(a, x) ** 3) + np.sum(np.cov(a, bias=True) ** 3) + np.sum(np.cov(x, y, ddof=0) ** 3)
    return total + np.sum(np.cov(a, None, True, False, 2) ** 2) + np.cov(x) ** 2


@njit
def correlations(a, x):
    total = np.sum(np.corrcoef(a, a**3) ** 3) + np.sum(np.corrcoef(x, a[2] * x) ** 3)
    return total + np.sum(np.corrcoef(a, rowvar=False) ** 3) + np.sum(np.corrcoef(a) ** 3 * x)


@njit
def integrals_and_differences(a, x):
    total = np.sum(np.trapezoid(a) ** 2 * x) + np.sum(np.trapezoid(a, dx=0.5) ** 2)
    total += np.sum(np.trapezoid(a, x) ** 2) + np.sum(np.trapezoid(a, a**2) ** 2) + np.trapezoid(x) ** 2
    total += np.sum(np.diff(a, 3) ** 2) + np.sum(np.diff(x, 0) ** 3) + np.sum(np.diff(x, 5)) + x[0]
    return total + np.sum(np.diff(np.kron(x, x), 4) ** 2) + np.sum(np.unwrap(6.0 * a, 3.5) ** 2)


@njit
def products(a, x):
    total = np.sum(np.kron(x, a[0]) ** 2 * np.arange(16)) + np.sum(np.kron(x, a) ** 2 * np.arange(16))
    return total + np.sum(np.kron(a, x) ** 3) + np.sum(np.kron(a, a.T) ** 2 * np.arange(16))


@njit
def order_statistics(a, x):
    holes = np.where(a > 1.0, np.nan, a)
    total = np.sum(np.nanquantile(holes, Q) ** 2 * Q) + np.sum(np.nanpercentile(holes, 100.0 * Q) ** 3)
    return total + np.sum(np.partition(a, 2)[:, 2] ** 2 * x) + np.sum(np.partition(x, 1)[1] ** 3)


@njit
def arrangements(a, x):
    total = np.sum(np.tril(x) ** 2 * a) + np.sum(np.triu(x, 1) ** 3 * a)
    total += np.sum(np.append(a, a**2, axis=0)[4:] ** 2 * x) + np.sum(np.append(a, a * x, 1)[:, 4:] ** 2 * x)
    total += np.sum(np.column_stack((x, a, x**2))[:, 1:] ** 2 * np.arange(5))
    knots, values = np.array([-3.0, 0.1, 3.0]), x[:3]
    total += np.sum(np.interp(a, knots, values) ** 2 * x)
    return total + np.sum(np.searchsorted(knots, a) * a)


@njit
def full_factors(a, x):
    u, s, v = np.linalg.svd(a)
    return np.sum(u**3 * s) + np.sum(s**2 * x) + np.sum(v**3 * x)


FUNCTIONS = [
    covariances, correlations, integrals_and_differences, products, order_statistics, arrangements, full_factors,
]  # fmt: skip


def operands():
    rng = np.random.default_rng(17)
    return rng.normal(size=(4, 4)), rng.normal(size=4)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_options_of_numpy_functions(function):
    check_both_modes(function, operands(), seed=3)


@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one is not full_factors])
def test_options_of_numpy_functions_of_float32(function):
    a, x = operands()
    gradient = jt.njit_value_and_grad(function, argnums=(0, 1))
    value, wide = interpreted(gradient, a, x)
    small, narrow = interpreted(gradient, a.astype(np.float32), x.astype(np.float32))
    np.testing.assert_allclose(small, value, rtol=1e-3)
    for one, other in zip(narrow, wide, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=2e-2, atol=2e-2)


def test_the_results_are_those_of_numba():
    """A gradient computes the value with its own sources, in the dtype that Numba gives."""
    single = operands()[0].astype(np.float32)

    @njit
    def covariance(a):
        c = np.cov(a)
        return c[0, 1]

    value, _ = jt.njit_value_and_grad(covariance)(single)
    assert np.asarray(value).dtype == np.float64
    np.testing.assert_allclose(value, covariance(single), rtol=1e-12)


def test_what_has_no_derivative_is_an_error():
    @njit
    def wide_factors(a):
        return np.sum(np.linalg.svd(a)[0] ** 3)

    @njit
    def one_row(a):
        return np.sum(np.cov(a, a, rowvar=False))

    with pytest.raises(ValueError, match="full svd of a matrix that is not square.*full_matrices=False"):
        jt.njit_grad(wide_factors)(np.ones((2, 3)))
    with pytest.raises(ValueError, match="pass a vector in place of a matrix with one row"):
        jt.njit_grad(one_row)(np.ones((1, 3)))


def test_factors_of_float32():
    """Numba's `np.dot` takes one dtype only, so no rule may compute a part in float64."""

    @njit
    def factors(a):
        u, s, v = np.linalg.svd(a)
        vectors = np.linalg.eigh(a + a.T)[1]
        return np.sum((u**3 * s) @ v**3) + np.sum(vectors**2 * s)

    def factors_of_tensors(a):
        u, s, v = np.linalg.svd(a)
        vectors = np.linalg.eigh(a + a.T)[1]
        return np.sum((u**3 * s) @ v**3) + np.sum(vectors**2 * s)

    a = operands()[0]
    expected = jt.grad(factors_of_tensors)(jt.constant(a)).numpy()
    found = jt.njit_grad(factors)(a.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)
    _, slope = jt.njit_jvp(factors)(np.ones((4, 4), np.float32), a.astype(np.float32))
    np.testing.assert_allclose(slope, np.sum(expected), rtol=1e-2)
