"""Loops whose adjoints assign the cotangent of each element, and quotients that both operands share."""

import re

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, interpreted

njit = numba.njit
rng = np.random.default_rng(29)


@njit
def rational(x, y):
    total = 1.0
    for i in range(len(x)):
        total *= 1.0 + x[i] * y[i] / (1.0 + x[i] * x[i] + y[i] * y[i])
    return total


@njit
def whole_and_single(x, y):
    total = x[0] * y[1]
    for i in range(len(x)):
        total += x[i] * x[i] * total * y[2]
    return total


@njit
def single_after_whole(x, y):
    total = 1.0
    for i in range(len(x)):
        total += x[i] * x[i] * total * y[2]
    return total * x[1]


@njit
def part(x, y):
    total = 1.0
    for i in range(1, len(x) - 1):
        total *= x[i] + y[i + 1]
    return total


@njit
def from_the_end(x, y):
    total = 1.0
    for i in range(len(x)):
        total *= x[i - 2] + y[i]
    return total


@njit
def repeated(x, y):
    total = 1.0
    for _ in range(3):
        for i in range(len(x)):
            total *= 1.0 + 0.1 * x[i] * y[i]
    return total


@njit
def one_element_in_a_loop(x, y):
    total = 1.0
    for i in range(len(x)):
        total *= x[2] + y[i]
    return total


@njit
def in_a_branch(x, y):
    total = 1.0
    if y[0] > 100.0:
        for i in range(len(x)):
            total *= x[i] + y[i]
    for i in range(len(x)):
        if y[i] > 0.7:
            total += x[i] * y[i]
    return total


@njit
def in_place(x, y):
    for i in range(len(x)):
        x[i] = x[i] * y[i]
    return np.sum(x * x) + np.sum(y)


@njit
def through_views(x, y):
    total, row = 0.0, x[1:]
    for i in range(len(x)):
        total += x[i] * total + y[i]
    for i in range(len(row)):
        total += row[i] * row[i]
    return total


@njit
def local_array(x, y):
    z = np.empty(len(x))
    for i in range(len(x)):
        z[i] = x[i] * y[i]
    return np.sum(z * z)


@njit
def that_stops(x, y):
    total = 1.0
    for i in range(len(x)):
        total *= x[i] + y[i]
        if total > 1.5:
            break
    return total


@njit
def triangle(x, y):
    total = 1.0
    for i in range(x.shape[0]):
        for j in range(i, x.shape[1]):
            total *= x[i, j] + y[j, i]
    return total


@njit
def all_of_a_matrix(x, y):
    total = 1.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total *= x[i, j] + y[j, 1]
    return total


@njit
def diagonal(x, y):
    total = 1.0
    for i in range(x.shape[0]):
        total *= x[i, i] + y[0, i]
    return total


VECTORS = [
    rational, whole_and_single, single_after_whole, part, from_the_end, repeated, one_element_in_a_loop, in_a_branch,
    in_place, through_views, local_array, that_stops,
]  # fmt: skip
MATRICES = [triangle, all_of_a_matrix, diagonal]


@pytest.fixture(autouse=True)
def memory_that_is_not_zero(monkeypatch):
    """Fill new arrays with nan where Python runs the generated code."""
    import jittape.numba_ad.tape_support as support

    monkeypatch.setattr(support, "new_empty", lambda shape, dtype: np.full(shape, np.nan, dtype))


@pytest.mark.parametrize("function", VECTORS)
def test_gradients_of_loops_over_vectors(function):
    check_both_modes(function, tuple(rng.uniform(0.2, 0.9, size=(2, 7))), 0)


def test_the_gradient_of_a_longer_vector_ends_in_zeros():
    x, y = rng.uniform(size=5), rng.uniform(size=9)
    check_both_modes(rational, (x, y), 0)
    assert np.all(interpreted(jt.njit_grad(rational, argnums=1), x, y)[5:] == 0.0)


@pytest.mark.parametrize("function", MATRICES)
def test_gradients_of_loops_over_matrices(function):
    check_both_modes(function, tuple(rng.uniform(0.2, 0.9, size=(2, 4, 4))), 0)


def test_cotangents_that_are_the_first_of_each_element_are_assigned():
    x = rng.uniform(size=4)
    text = jt.njit_grad(rational, argnums=(0, 1)).inspect(x, x)
    assert "x_1_b = new_empty(" in text
    assert "y_1_b = new_zeros(" in text  # it may be longer
    assert len(re.findall(r"_b\[i_1\] = ", text)) == 2
    assert "_b[i_1] +=" not in text
    for other in (single_after_whole, repeated, from_the_end, in_a_branch, through_views, that_stops):
        assert "x_1_b = new_zeros(" in jt.njit_grad(other, argnums=(0, 1)).inspect(x, x)
    text = jt.njit_grad(all_of_a_matrix).inspect(np.ones((3, 3)), np.ones((3, 3)))
    assert "x_1_b = new_empty(" in text


@njit
def quotient(x, y):
    return x / y


@pytest.mark.parametrize("other", [1e-310, 5e-324, -1e-310, 1e-200, 1e300, np.inf])
def test_a_quotient_of_zero_does_not_depend_on_the_divisor(other):
    gradients = jt.njit_grad(quotient, argnums=(0, 1))(0.0, other)
    with np.errstate(over="ignore"):
        assert gradients == (1.0 / np.float64(other), 0.0)


def test_quotients_of_infinite_numbers():
    gradient = jt.njit_grad(quotient, argnums=(0, 1))
    assert gradient(1.0, 0.0) == (np.inf, -np.inf)
    assert np.all(np.isnan(gradient(0.0, 0.0)[1:]))
    assert np.isnan(gradient(np.inf, np.inf)[1])
    assert np.isnan(gradient(np.nan, 2.0)[1])
