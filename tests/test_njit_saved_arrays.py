"""Arrays that a loop reads as a whole and that are overwritten later: one copy replaces the elements that it reads."""

import math

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.numba_ad.gradient_function import types_of
from jittape.numba_ad.njit_callable import gradient_code
from njit_as_python import as_python, check_both_modes, interpreted

njit = numba.njit
rng = np.random.default_rng(11)


@njit
def rate(u, out, c):
    for i in range(1, len(u) - 1):
        out[i] = -u[i] * (u[i + 1] - u[i - 1]) + c[0] * (u[i + 1] - 2.0 * u[i] + u[i - 1])


@njit
def burgers(u, c):
    u, k, middle = u.copy(), np.zeros_like(u), u.copy()
    for _ in range(5):
        rate(u, k, c)
        for i in range(len(u)):
            middle[i] = u[i] + 0.05 * k[i]
        rate(middle, k, c)
        for i in range(len(u)):
            u[i] += 0.1 * k[i]
    return np.sum(u * u)


@njit
def decay(u, c):
    u = u.copy()
    for _ in range(5):
        for i in range(1, u.size - 1):
            c[i] = u[i] * (u[i + 1] - u[i - 1])
        for i in range(u.size):
            u[i] += 0.1 * c[i]
    return np.sum(u * u)


@njit
def in_a_branch(u, c):
    k = np.zeros_like(u)
    for t in range(4):
        if t % 2 == 0:
            rate(u, k, c)
        else:
            for i in range(len(u)):
                u[i] += 0.1 * k[i] * c[1]
    return np.sum(u * u)


@njit
def before_a_write(u, c):
    total = 1.0
    for i in range(len(u) - 1, -1, -1):
        total *= u[i] * u[i - 1] + c[0]
    u[:] = 0.5
    return total + u[1]


@njit
def matrix_products(u, c):
    a, b, new = np.outer(u, u), np.outer(c, u), np.empty((len(u), len(u)))
    for t in range(3):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                new[i, j] = a[i, j] * math.sin(a[i, j - 1]) + c[t]
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] = 0.5 * new[i, j]
    return np.sum(a) + np.sum(b)


@njit
def hidden_states(u, c):
    h, z = np.zeros(len(u)), np.zeros(len(u))
    for t in range(4):
        for i in range(len(u)):
            z[i] = c[t]
            for j in range(len(h)):
                z[i] += u[j] * h[j] * c[i % 3]
        for i in range(len(u)):
            h[i] = math.tanh(z[i])
    return np.sum(h)


@njit
def integers(u, c):
    order, total = np.arange(len(u)), 0.0
    for _ in range(3):
        for i in range(len(order)):
            total += u[order[i]] * u[order[i - 1]] * total + c[0]
        for i in range(len(order)):
            order[i] = (order[i] + 1) % len(u)
    return total


@njit
def views(u, c):
    for _ in range(3):
        part = u[::2]
        for i in range(len(part)):
            c[i] += part[i] * part[i - 1]
        for i in range(len(u)):
            u[i] = math.sin(u[i]) * c[1]
    return np.sum(u * u)


@njit
def attraction(u, c):
    """A column that does not exist is read by a loop without iterations."""
    points = np.empty((len(u), 2))
    for i in range(len(u)):
        points[i, 0] = u[i]
        points[i, 1] = c[i]
    for _ in range(4):
        for i in range(len(points)):
            x, y = 0.0, 0.0
            for j in range(len(points)):
                dx, dy = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
                weight = math.exp(-dx * dx - dy * dy)
                x += weight * dx
                y += weight * dy
            u[i] += 0.1 * x
            c[i] += 0.1 * y
        for i in range(len(points)):
            if points.shape[1] > 2:
                for j in range(len(points)):
                    c[j] += math.sin(points[i, 2] * points[j, 2])
        for i in range(len(points)):
            points[i, 0] = u[i]
            points[i, 1] = c[i]
    return np.sum(u * u) + np.sum(points[:, 1] ** 3)


@njit
def planes(u, c):
    """The first axis of a cube is a literal, and the loops over the others leave out margins."""
    cube = np.zeros((2, len(u), 3))
    for i in range(len(u)):
        for k in range(3):
            cube[0, i, k] = u[i] * c[k]
    for _ in range(3):
        for _ in range(2):
            for i in range(1, len(u) - 1):
                for k in range(3):
                    u[i] += 0.1 * math.sin(cube[0, i - 1, k] * cube[0, i + 1, k])
        for i in range(len(u)):
            for k in range(3):
                cube[0, i, k] = 0.9 * u[i]
    return np.sum(u * u) + np.sum(cube)


SIZE = 8
FUNCTIONS = [
    burgers, in_a_branch, before_a_write, matrix_products, hidden_states, integers, views, attraction, planes,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.py_func.__name__)
@pytest.mark.parametrize("checkpoint", [None, "sqrt", 2])
def test_gradients_with_saved_arrays(f, checkpoint):
    arguments = rng.normal(size=SIZE), 0.3 + rng.uniform(size=SIZE)
    if checkpoint is None:
        check_both_modes(f, arguments, 3)
        return
    found = interpreted(jt.njit_grad(f, argnums=(0, 1), checkpoint=checkpoint), *arguments)
    expected = interpreted(jt.njit_grad(f, argnums=(0, 1)), *arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("f", [burgers, matrix_products], ids=lambda f: f.py_func.__name__)
def test_second_derivatives_with_saved_arrays(f):
    u, c, v = rng.normal(size=SIZE), 0.3 + rng.uniform(size=SIZE), rng.normal(size=SIZE)
    gradient = jt.njit_grad(f)
    difference = (interpreted(gradient, u + 1e-6 * v, c) - interpreted(gradient, u - 1e-6 * v, c)) / 2e-6
    np.testing.assert_allclose(
        as_python(jt.njit_hvp(f), (v, u, c))(v, u, c), difference, rtol=1e-6, atol=1e-7
    )


def test_one_copy_replaces_three_reads():
    u, c = rng.normal(size=SIZE), np.ones(SIZE)
    assert jt.njit_grad(burgers).kept_bytes(u, c) == 8 * 2 * 5 * SIZE
    assert jt.njit_grad(decay).kept_bytes(u, c) == 8 * 5 * SIZE


def test_columns_replace_the_elements_of_all_pairs():
    u, c = rng.normal(size=(2, SIZE))
    assert jt.njit_grad(attraction).kept_bytes(u, c) < 8 * 4 * (6 * SIZE + 1)
    assert jt.njit_grad(planes).kept_bytes(u, c) <= 8 * 3 * 3 * SIZE


def test_a_view_that_changes_and_a_part_are_recorded_element_by_element():
    u, c = rng.normal(size=SIZE), np.ones(SIZE)
    for f in (views, in_a_branch):
        assert "save_array(" not in jt.njit_grad(f).inspect(u, c)


@numba.njit
def products_in_place(a, steps):
    b = np.zeros(len(a))
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = a[i - 1] * a[i] * a[i + 1]
        for i in range(len(a)):
            a[i] = 2.0 * b[i]
    return a[2]


def test_arguments_that_a_full_stack_leaves_half_written_are_known():
    code = gradient_code(jt.njit_grad(products_in_place), types_of((np.ones(5), 3)))
    assert "kept: the array is overwritten" in code.text
    assert code.written == (0,)
