"""Forward mode of ``@njit`` functions, and derivatives of their gradients."""

import copy
import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import as_python
from random_njit import random_arguments, random_program
from test_njit_grad import CASES, difference, newton, predators
from test_single_pass_loops import NOT, ONE_PASS, X, after_updates

njit = numba.njit
rng = np.random.default_rng(11)
POINT = np.array([0.6, 0.4, 0.5, 0.3])


def direction(x):
    return rng.normal(size=x.shape) if isinstance(x, np.ndarray) else 0.8


def change(f, args, number, v, step=1e-5):
    """The central difference of `f` along `v`."""

    def at(distance):
        shifted = list(copy.deepcopy(args))
        shifted[number] = shifted[number] + distance * v
        return f(*shifted)

    return (at(step) - at(-step)) / (2 * step)


def in_python(derivative, *args):
    """Return the result of the generated code, run by Python."""
    return as_python(derivative, args)(*args)


@pytest.mark.parametrize("name", CASES)
def test_a_tangent_equals_the_gradient_along_it(name):
    """Python runs the generated code; Numba also compiles that of every third tangent."""
    f, args, number = CASES[name]
    v = direction(args[number])
    runs = [in_python] if list(CASES).index(name) % 3 else [in_python, lambda jvp, *args: jvp(*args)]
    gradient = in_python(jt.njit_grad(f, number), *copy.deepcopy(args))
    for run in runs:
        mine, plain = copy.deepcopy(args), copy.deepcopy(args)
        value, tangent = run(jt.njit_jvp(f, number), v, *mine)
        np.testing.assert_allclose(value, f(*plain), rtol=1e-12)
        for one, other in zip(mine, plain, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(tangent, np.sum(gradient * v), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f", [*ONE_PASS[::2], after_updates, *NOT[::3]])
def test_tangents_of_two_arguments(f):
    tangents = direction(X), 0.3
    _, tangent = jt.njit_jvp(f, (0, 1))(*tangents, X.copy(), 0.7)
    gradients = jt.njit_grad(f, (0, 1))(X.copy(), 0.7)
    expected = sum(np.sum(g * t) for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(tangent, expected, rtol=1e-10)


@pytest.mark.parametrize("name", list(CASES)[::2])
def test_a_product_with_the_hessian_equals_differences_of_the_gradient(name):
    f, args, number = CASES[name]
    v = direction(args[number])
    found = jt.njit_hvp(f, number)(v, *copy.deepcopy(args))
    gradient = as_python(jt.njit_grad(f, number), args)
    expected = change(gradient, args, number, v)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_forward_and_reverse_mode_agree_on_random_programs(seed):
    f, text = random_program(seed)
    args = random_arguments(seed)
    tangents = direction(args[0]), direction(args[1]), 0.5
    _, tangent = jt.njit_jvp(f, (0, 1, 2))(*tangents, *copy.deepcopy(args))
    gradients = jt.njit_grad(f, (0, 1, 2))(*copy.deepcopy(args))
    expected = sum(np.sum(g * t) for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(tangent, expected, rtol=1e-8, atol=1e-8, err_msg=text)


@njit
def states(x, n):
    path = np.zeros((n, len(x)))
    path[0] = x
    for k in range(1, n):
        path[k] = path[k - 1] + 0.1 * np.sin(path[k - 1]) * x[0]
    return path, x[1] ** 3, n


def test_tangents_of_a_tuple_of_results():
    x, v = np.array([0.4, -0.2]), np.array([1.0, 0.5])
    value, tangent = jt.njit_jvp(states)(v, x, 4)
    assert value[2] == 4
    np.testing.assert_allclose(value[0], states(x, 4)[0])
    np.testing.assert_allclose(
        tangent[0], change(lambda x: states(x, 4)[0], (x,), 0, v), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(tangent[1], 3 * x[1] ** 2 * v[1])
    assert tangent[2] == 0.0


@njit
def doubles(x, y):
    x *= 2.0
    y[0] = x[0] * y[1]
    return np.sum(x * y)


def test_tangents_are_not_written():
    x, y, v = np.array([1.0, 3.0]), np.array([2.0, 5.0]), np.array([1.0, 1.0])
    _, tangent = jt.njit_jvp(doubles)(v, x.copy(), y.copy())
    np.testing.assert_array_equal(v, [1.0, 1.0])
    np.testing.assert_allclose(tangent, change(doubles, (x, y), 0, v))
    np.testing.assert_allclose(jt.njit_hvp(doubles)(v, x.copy(), y.copy()), [40.0, 0.0])
    with pytest.raises(ValueError, match=r"x and y of doubles overlap in memory"):
        jt.njit_jvp(doubles)(v, x, x)


slopes = jt.njit_grad(predators)
tangents_of_newton = jt.njit_jvp(newton)


@njit
def calls_a_gradient(p, steps):
    total = 0.0
    for k in range(2):
        slope = slopes(p, steps + k)
        total += slope[0] * slope[1]
    return total


@njit
def calls_a_tangent(x):
    value, tangent = tangents_of_newton(1.0, x, 1e-12)
    return value * tangent


@pytest.mark.parametrize("steps", [5, 150])
def test_a_function_that_calls_a_gradient_has_a_gradient(steps):
    """With 150 steps, the stacks of the inner gradient grow."""
    expected = difference(calls_a_gradient, (POINT, steps), 0)
    np.testing.assert_allclose(jt.njit_grad(calls_a_gradient)(POINT, steps), expected, rtol=1e-5, atol=1e-7)
    v = direction(POINT)
    _, tangent = jt.njit_jvp(calls_a_gradient)(v, POINT, steps)
    np.testing.assert_allclose(tangent, expected @ v, rtol=1e-5)


def test_derivatives_of_derivatives():
    assert math.isclose(jt.njit_grad(calls_a_tangent)(3.0), 0.0, abs_tol=1e-9)  # sqrt(x) / (2 sqrt(x))
    second = jt.njit_grad(jt.njit_grad(newton))
    np.testing.assert_allclose(second(3.0, 1e-12), -0.25 * 3.0**-1.5)
    third = jt.njit_grad(second)
    np.testing.assert_allclose(third(3.0, 1e-12), 0.375 * 3.0**-2.5)


def test_njit_code_calls_tangents_and_products_with_the_hessian():
    product, tangent = jt.njit_hvp(predators), jt.njit_jvp(predators)

    @njit
    def both(p, v):
        return product(v, p, 20) @ v, tangent(v, p, 20)[1]

    v = direction(POINT)
    curvature, slope = both(POINT, v)
    np.testing.assert_allclose(slope, change(predators, (POINT, 20), 0, v), rtol=1e-6)
    np.testing.assert_allclose(curvature, product(v, POINT, 20) @ v)


def test_bad_tangents_are_refused():
    tangent = jt.njit_jvp(predators)
    with pytest.raises(ValueError, match=r"tangent_of_p must have the shape of the argument"):
        tangent(np.ones(3), POINT, 5)
    with pytest.raises(TypeError, match=r"tangent_of_p is float64, but the argument is array"):
        tangent(1.0, POINT, 5)
    with pytest.raises(TypeError, match=r"tangent_of_p is array\(int64"):
        tangent(np.ones(4, dtype=int), POINT, 5)
    with pytest.raises(TypeError, match=r"steps is int64; only floats"):
        jt.njit_jvp(predators, 1)(1.0, POINT, 5)
    with pytest.raises(TypeError, match=r"missing a required argument: 'steps'"):
        tangent(POINT, POINT)


def test_an_argument_by_keyword():
    value, tangent = jt.njit_jvp(predators)(POINT, POINT, steps=5)
    assert (value, tangent) == jt.njit_jvp(predators)(POINT, POINT, 5)


@njit
def cubes(x):
    total = 0.0
    for i in range(1, len(x)):
        total += x[i] ** 2 * x[i - 1]
    return total


def test_tangents_of_a_function_that_takes_tangents():
    x, u, v = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.5]), np.array([0.0, 1.0, -1.0])
    twice = jt.njit_jvp(jt.njit_jvp(cubes), argnums=1)
    (_, _), (_, second) = twice(v, u, x)
    np.testing.assert_allclose(second, np.dot(jt.njit_hvp(cubes)(u, x), v))
    np.testing.assert_allclose(jt.njit_jvp(jt.njit_hvp(cubes), argnums=1)(v, u, x)[1], [0.0, 1.0, 1.0])


def test_tangents_of_tangents_of_tangents():
    x, u, v, w = np.random.default_rng(2).normal(size=(4, 3))
    thrice = jt.njit_jvp(jt.njit_jvp(jt.njit_jvp(cubes), argnums=1), argnums=2)
    ((value, first), (_, second)), (_, (_, third)) = thrice(w, v, u, x)
    np.testing.assert_allclose(value, cubes(x))
    np.testing.assert_allclose(first, np.dot(jt.njit_grad(cubes)(x), u))
    np.testing.assert_allclose(second, np.dot(jt.njit_hvp(cubes)(u, x), v))
    expected = sum(2 * (a[1:] * b[1:] * c[:-1]).sum() for a, b, c in ((u, v, w), (v, w, u), (w, u, v)))
    np.testing.assert_allclose(third, expected)


@njit
def nested_results(x):
    columns = np.zeros((len(x), 2))
    for j in range(2):
        for i in range(len(x)):
            columns[i, j] = x[i] ** (j + 2)
    return (np.sin(x[0]), (columns, x[1] * x[2])), x * x


def test_results_in_nested_tuples_have_tangents():
    x, v = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
    (_, (columns, _)), squares = nested_results(x)
    value, tangent = jt.njit_jvp(nested_results)(v, x)
    np.testing.assert_array_equal(value[0][1][0], columns)
    np.testing.assert_array_equal(value[1], squares)
    (slope, (slopes, product)), doubles = tangent
    np.testing.assert_allclose(slope, np.cos(1.0) * 0.5)
    np.testing.assert_allclose(slopes, np.stack([2 * x * v, 3 * x * x * v], 1))
    np.testing.assert_allclose(product, 2.0 * 2.0 - 3.0)
    np.testing.assert_allclose(doubles, 2 * x * v)
