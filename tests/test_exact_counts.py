"""Counts of SciPy's special functions are exact integers, however they are computed."""

import math

import numpy as np
import pytest
import scipy.special

import jittape as jt
from jittape.scipy import special

N, K = np.meshgrid(np.arange(21), np.arange(21), indexing="ij")


def rising(n, k):
    return math.prod(range(n, n + k))


COUNTS = {"perm": math.perm, "comb": math.comb, "binom": math.comb, "poch": rising}


def interpreted(f, n, k):
    return np.asarray(f(jt.constant(n), jt.constant(k)))


def compiled(f, n, k):
    g = jt.function(f)
    return [np.asarray(g(jt.constant(n), jt.constant(k))) for _ in range(3)][-1]


def one_by_one(f, n, k):
    g = jt.function(f)
    pairs = zip(n.ravel(), k.ravel(), strict=True)
    found = [g(jt.constant(a), jt.constant(b)).numpy() for a, b in pairs]
    return np.array(found).reshape(n.shape)


def without_native_methods(f, n, k):
    before, jt.config.native = jt.config.native, False
    try:
        return compiled(f, n, k)
    finally:
        jt.config.native = before


@pytest.mark.parametrize("run", [interpreted, compiled, one_by_one, without_native_methods])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32])
@pytest.mark.parametrize("name", COUNTS)
def test_small_integers_give_exact_integers(name, dtype, run):
    exact = np.array([[COUNTS[name](n, k) for k in range(21)] for n in range(21)], np.float64)
    found = run(getattr(special, name), N.astype(dtype), K.astype(dtype))
    representable = exact < 2.0**49 if name == "poch" else exact < np.inf
    np.testing.assert_array_equal(found[representable], exact.astype(found.dtype)[representable])
    np.testing.assert_allclose(found, exact, rtol=4e-16 if dtype is not np.float32 else 6e-8)


@pytest.mark.parametrize("name", ["factorial", "gamma"])
def test_factorials_are_exact(name):
    n = np.arange(1.0, 21.0)
    exact = [float(math.factorial(int(i) - (name == "gamma"))) for i in n]
    for run in (
        lambda f: np.asarray(f(jt.constant(n))),
        lambda f: np.asarray(jt.function(f)(jt.constant(n))),
    ):
        assert run(getattr(special, name)).tolist() == exact


def test_larger_counts_and_reflected_ones():
    n, k = np.array([52.0, 60.0, 100.0, 1000.0, 170.0]), np.array([5.0, 30.0, 3.0, 2.0, 2.0])
    np.testing.assert_allclose(
        special.binom(n, k), [math.comb(int(a), int(b)) for a, b in zip(n, k, strict=True)], 1e-15
    )
    assert float(special.perm(100, 3)) == 970200.0
    z, m = np.array([-5.0, 5.0, -3.0, -3.0, 0.5, 170.0]), np.array([3.0, -2.0, 4.0, 2.0, 3.0, 1.0])
    np.testing.assert_allclose(special.poch(z, m), scipy.special.poch(z, m), rtol=1e-14)


def test_derivatives_at_integers_agree_with_differences():
    h = 1e-6
    for name, n, k in (("perm", 9.0, 4.0), ("binom", 9.0, 4.0), ("poch", 5.0, 3.0)):
        f = getattr(special, name)
        g = jt.grad(f, (0, 1))(np.array(n), np.array(k))
        of_n = float(f(n + h, k) - f(n - h, k)) / (2 * h)
        of_k = float(f(n, k + h) - f(n, k - h)) / (2 * h)
        np.testing.assert_allclose(g, (of_n, of_k), rtol=1e-6)
