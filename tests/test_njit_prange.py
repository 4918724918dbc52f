"""Gradients of functions with ``prange``, which runs in threads in the function itself."""

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher
from njit_as_python import as_python


@numba.njit(parallel=True)
def blends(x, table):
    out = np.empty(len(x))
    for i in numba.prange(len(x)):  # independent iterations that share reads of the table
        weight = 0.0
        for j in range(len(table)):
            weight += np.exp(-((x[i] - table[j]) ** 2)) * table[j]
        out[i] = weight * x[i]
    total, product = 0.0, 1.0
    for i in numba.prange(len(x)):
        total += out[i] ** 2 * table[i % len(table)]
    for i in numba.prange(len(x)):
        product *= 1.0 + 0.1 * out[i]
    return total + product


def test_the_gradient_of_a_parallel_function():
    generator = np.random.default_rng(3)
    args = generator.normal(size=40) * 0.5, generator.normal(size=3)
    tangents = [generator.normal(size=x.shape) for x in args]
    value, gradients = jt.njit_value_and_grad(blends, argnums=(0, 1))(*args)
    slope = sum(np.sum(g * t) for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(value, blends(*args), rtol=1e-12)
    forward = jt.njit_jvp(blends, argnums=(0, 1))(*tangents, *args)
    np.testing.assert_allclose(forward, (value, slope), rtol=1e-10)
    shifted = [
        blends.py_func(*[x + h * t for x, t in zip(args, tangents, strict=True)]) for h in (1e-6, -1e-6)
    ]
    np.testing.assert_allclose(slope, (shifted[0] - shifted[1]) / 2e-6, rtol=1e-7)


@numba.njit(parallel=True)
def loss(x, y, theta, scale):
    total = 0.0
    for i in numba.prange(len(x)):
        hidden = 0.0
        for j in range(theta.shape[0]):
            if theta[j, 0] * x[i] > -2.0:
                hidden += np.tanh(theta[j, 0] * x[i] + theta[j, 1]) * theta[j, 2]
        error = scale * hidden - y[i]
        total += error * error
    return 0.5 * total / len(x)


@pytest.mark.parametrize("size", [0, 1, 33, 1000])
def test_a_sum_runs_in_parts_that_no_number_of_threads_changes(size):
    generator = np.random.default_rng(5)
    args = *generator.normal(size=(2, size)), generator.normal(size=(4, 3)), 1.3
    gradient = GRADIENT_OF_LOSS
    assert "for part in prange(32):" in gradient.inspect(*args)
    assert "for i in range" not in gradient.inspect(*args)
    threads, results = numba.get_num_threads(), []
    for count in dict.fromkeys([1, threads]):
        numba.set_num_threads(count)
        results.append(gradient(*args))
    numba.set_num_threads(threads)
    for value, gradients in results[1:]:
        assert value == results[0][0] or size == 0
        for one, other in zip(gradients, results[0][1], strict=True):
            np.testing.assert_array_equal(one, other)
    serial = gradient_of_dispatcher(numba.njit(loss.py_func), ARGNUMS, "value_and_gradient", "test", False)
    expected, others = as_python(serial, args)(*args) if size else results[0]
    np.testing.assert_allclose(results[0][0], expected, rtol=1e-12)
    for one, other in zip(results[0][1], others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


ARGNUMS = (0, 1, 2, 3)
GRADIENT_OF_LOSS = jt.njit_value_and_grad(loss, argnums=ARGNUMS)


def test_a_gradient_in_parts_has_a_gradient():
    generator = np.random.default_rng(6)
    args = *generator.normal(size=(2, 40)), generator.normal(size=(4, 3)), 1.3
    v = generator.normal(size=(4, 3))
    gradient = jt.njit_grad(loss, argnums=2)
    shifted = [GRADIENT_OF_LOSS(*args[:2], args[2] + h * v, 1.3)[1][2] for h in (1e-6, -1e-6)]
    product = jt.njit_jvp(gradient, argnums=2)
    found = as_python(product, (v, *args))(v, *args)[1]
    np.testing.assert_allclose(found, (shifted[0] - shifted[1]) / 2e-6, rtol=1e-6, atol=1e-8)


def smoothed(x):
    total = 0.0
    for i in numba.prange(1, len(x)):
        total += (x[i] - x[i - 1]) ** 2
    return total


def product(x):
    total = 1.0
    for i in numba.prange(len(x)):
        total *= x[i]
    return total


def used_sum(x):
    total = 0.0
    for i in numba.prange(len(x)):
        total += x[i] if total < 3.0 else 0.5 * x[i]
    return total


def every_second(x):
    total = 0.0
    for i in numba.prange(0, len(x), 2):
        total += x[i] * x[i]
    return total


def with_whole_arrays(x):
    total = 0.0
    for i in numba.prange(len(x)):
        total += np.sum((x - x[::-1]) * x[i])
    return total


def in_a_loop(x):
    total = 0.0
    for _ in range(3):
        for i in numba.prange(len(x)):
            total += x[i] * x[i]
    return total


def shifted_squares(x):
    y = x.copy()
    for i in numba.prange(1, len(x)):
        y[i] = x[i] * y[0]
        y[i - 1] += 0.0
    return np.prod(y)


def neighbors(x):
    y = x.copy()
    for i in numba.prange(1, len(x) - 1):  # in threads; its adjoint is not
        y[i] = x[i - 1] * x[i + 1]
    return np.prod(y)


def with_an_inner_recurrence(x):
    total = 0.0
    for i in numba.prange(len(x)):
        s = x[i]
        for _ in range(5):
            s = np.sin(s) * s
        total += s
    return total


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (smoothed, "iterations add to the same elements of the gradient by x"),
        (product, "a variable that is not a sum"),
        (used_sum, "a variable that is not a sum"),
        (every_second, "its step is not 1"),
        (with_whole_arrays, "a check of shapes"),
        (in_a_loop, "inside another loop"),
        (shifted_squares, "writes an array that iterations share"),
        (neighbors, "iterations add to the same elements of the gradient by x"),
        (with_an_inner_recurrence, "its iterations keep values on a stack"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_inspect_says_why_a_loop_runs_on_one_thread(function, reason):
    x = np.array([0.3, 1.2, -0.7, 2.0, 0.9])
    gradient = jt.njit_value_and_grad(numba.njit(parallel=True)(function))
    text = gradient.inspect(x)
    (line,) = [line for line in text.splitlines() if "# prange runs on one thread: " in line]
    assert reason in line
    loops = text.count("for part in prange(32):")
    assert loops == (function is neighbors)
    value, x_b = as_python(gradient, (x,))(x)
    np.testing.assert_allclose(value, function(x), rtol=1e-12)
    shifts = 1e-6 * np.eye(5)
    differences = [(function(x + h) - function(x - h)) / 2e-6 for h in shifts]
    np.testing.assert_allclose(x_b, differences, rtol=1e-6, atol=1e-7)


@numba.njit(parallel=True)
def mixture(x, y, theta, scale):
    """Two loops that fill arrays, of which one keeps a number in each iteration, and a sum that is squared."""
    error, weight = np.empty((len(x), 2)), np.zeros(len(x))
    for i in numba.prange(len(x)):
        for j in range(theta.shape[0]):
            weight[i] += np.exp(-((x[i] - theta[j, 0]) ** 2)) * theta[j, 1]
    total = 0.0
    for i in numba.prange(len(x)):
        inner = 0.0
        for j in range(theta.shape[0]):
            inner += np.tanh(theta[j, 2] * x[i]) * scale
        if inner > 0.1:
            error[i, 0] = inner * weight[i] - y[i]
        else:
            error[i, 0] = y[i] ** 3
        error[i, 1] = inner
        total += inner * y[i]
    product = 1.0
    for i in range(len(x)):
        product *= 1.0 + 0.1 * np.sin(error[i, 0] * error[i, 1])
    return product * total * total


@pytest.fixture(scope="module")
def mixture_arguments():
    generator = np.random.default_rng(8)
    return *generator.normal(size=(2, 70)), generator.normal(size=(4, 3)), 1.3


def test_loops_that_fill_arrays_run_in_parts_forward_and_backward(mixture_arguments):
    gradient = jt.njit_value_and_grad(mixture, argnums=ARGNUMS)
    text = gradient.inspect(*mixture_arguments)
    assert text.count("for part in prange(32):") == 4
    assert "prange runs on one thread" not in text
    threads, results = numba.get_num_threads(), []
    for count in dict.fromkeys([1, threads]):
        numba.set_num_threads(count)
        results.append(gradient(*mixture_arguments))
    numba.set_num_threads(threads)
    for value, gradients in results[1:]:
        assert value == results[0][0]
        for one, other in zip(gradients, results[0][1], strict=True):
            np.testing.assert_array_equal(one, other)
    serial = gradient_of_dispatcher(numba.njit(mixture.py_func), ARGNUMS, "value_and_gradient", "test", False)
    expected, others = as_python(serial, mixture_arguments)(*mixture_arguments)
    np.testing.assert_allclose(results[0][0], expected, rtol=1e-12)
    for one, other in zip(results[0][1], others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)
    kept = [
        jt.njit_grad(one).kept_bytes(*mixture_arguments) for one in (mixture, numba.njit(mixture.py_func))
    ]
    assert kept[0] == kept[1] > 0


def test_loops_in_parts_in_two_passes_have_second_derivatives(mixture_arguments):
    x, y, theta, scale = mixture_arguments
    v = np.random.default_rng(9).normal(size=theta.shape)
    serial = numba.njit(mixture.py_func)
    products = [jt.njit_hvp(one, 2) for one in (mixture, serial)]
    found, expected = [as_python(one, (v, x, y, theta, scale))(v, x, y, theta, scale) for one in products]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
