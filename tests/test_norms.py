"""Derivatives of norms, to second order, and norms in compiled code; values are in `test_against_numpy`."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

VECTOR_ORDERS = [None, 1, 2, 3, 0.5, np.inf, -np.inf, -1]
MATRIX_ORDERS = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 4)]


def differences(f, x, direction, step=1e-6):
    """Return the derivative of a number along a direction, by central differences."""
    return (float(f(x + step * direction)) - float(f(x - step * direction))) / (2 * step)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ord", MATRIX_ORDERS)
def test_derivatives_of_matrix_norms(shape, ord):
    rng = np.random.default_rng(7)
    x, direction = rng.normal(size=shape), rng.normal(size=shape)

    def norm(a):
        return jt.reduce_sum(np.linalg.norm(a, ord, axis=(-2, -1)))

    def slope(a):
        return jt.reduce_sum(jt.sin(jt.grad(norm)(a)))

    for f in (norm, slope):
        along = np.sum(jt.grad(f)(x) * direction)
        assert along == pytest.approx(differences(f, x, direction), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("ord", VECTOR_ORDERS)
def test_derivatives_of_vector_norms(ord):
    rng = np.random.default_rng(8)
    x, direction = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))

    def norm(a):
        return jt.reduce_sum(jt.sin(np.linalg.norm(a, ord, axis=1)))

    along = np.sum(jt.grad(norm)(x) * direction)
    assert along == pytest.approx(differences(norm, x, direction), rel=1e-6, abs=1e-6)


def test_equal_singular_values_do_no_harm_to_a_first_derivative():
    np.testing.assert_allclose(jt.grad(lambda a: np.linalg.norm(a, "nuc"))(np.eye(3)), np.eye(3), atol=1e-15)
    np.testing.assert_allclose(jt.grad(lambda a: np.linalg.norm(a, 2))(np.eye(3)), np.eye(3) / 3, atol=1e-15)


@pytest.mark.parametrize("ord", [1, 2, np.inf, "euclidean"])
def test_compiled_norms_are_the_interpreters(mode, ord):
    x = np.random.default_rng(9).normal(size=(2, 3, 4))
    wanted = np.linalg.norm(x, None if ord == "euclidean" else ord, (2, 0))
    norm = jt.function(lambda a: jt.norm(a, ord, [2, 0]))
    for _ in range(3):
        np.testing.assert_allclose(norm(x), wanted, rtol=1e-14)


def test_logaddexp_is_numpys_and_shares_its_gradient(mode):
    x, y = (
        np.array([0.0, -40.0, 3.0, np.inf, -np.inf, 700.0]),
        np.array([-40.0, 0.0, 3.0, np.inf, -np.inf, 1.0]),
    )
    f = jt.function(lambda a, b: np.logaddexp(a, b))
    for _ in range(3):
        np.testing.assert_allclose(f(x, y), np.logaddexp(x, y), rtol=1e-15)
    a, b = jt.Variable(x), jt.Variable(y)
    with jt.GradientTape() as tape:
        total = jt.reduce_sum(np.logaddexp(a, b))
    first, second = tape.gradient(total, [a, b])
    np.testing.assert_allclose(first.numpy() + second.numpy(), np.ones(6))
    np.testing.assert_allclose(first.numpy()[2:5], np.full(3, 0.5))
