"""Gradients of ``@njit`` functions that define functions and lambdas inside."""
# ruff: noqa: E731 - A name for a lambda is what is tested.

import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes

njit = numba.njit
rng = np.random.default_rng(23)
SCALE = 0.5


@njit
def inner_function(x, y):
    c = y[0] * 2.0

    def rate(u, power):
        """Read a variable of the outer function and a global one."""
        if u > 0.6:
            return c * u**power
        return SCALE * math.sin(u) * c

    total = 0.0
    for i in range(len(x)):
        total += rate(x[i], 2) * rate(y[i], 3)
    return total


@njit
def lambdas(x, y):
    c = x[0] + y[2]
    square = lambda u: u * u * c
    both = lambda u, v: square(u) * v + x[1] * square(c)
    total = 0.0
    for i in range(len(x)):
        total = 0.7 * total + both(x[i], y[-1 - i])
    return square(total)


@njit
def writes(x, y):
    z = x * y

    def relax(c):
        for i in range(1, len(z)):
            z[i] += c * z[i - 1] * x[i]
            if z[i] > 2.0:
                return i
        return len(z)

    count = 0
    for k in range(3):
        count += relax(0.1 * y[k])
        z[0] *= 0.9
    return np.sum(z * z) * count


@njit
def same_names(x, y):
    """The names of the local functions' variables are also names of the outer function."""
    i, total = 2, 1.0

    def summed(v):
        total = 0.0
        for i in range(len(v)):
            total += v[i] ** 2
        return total

    def shifted(v):
        w = v[1:]
        w[0] = summed(v) * v[i]
        return w

    part = shifted(x)
    for k in range(2):
        total = total * summed(part) * 0.3 + y[i - k]
    return total


@pytest.mark.parametrize(
    "function", [inner_function, lambdas, writes, same_names], ids=lambda f: f.py_func.__name__
)
def test_local_functions(function):
    x, y = rng.uniform(0.4, 1.1, 5), rng.uniform(0.4, 1.1, 5)
    np.testing.assert_allclose(function(x.copy(), y.copy()), function.py_func(x.copy(), y.copy()))
    check_both_modes(function, (x, y), 3)


def test_compiled_and_second_derivatives():
    x, y, v = rng.uniform(0.4, 1.1, (3, 5))
    slope = jt.njit_grad(lambdas)
    expected = (slope(x + 1e-6 * v, y) - slope(x - 1e-6 * v, y)) / 2e-6
    np.testing.assert_allclose(jt.njit_hvp(lambdas)(v, x, y), expected, rtol=1e-6)


@njit
def assigned_later(x):
    c = x[0]
    f = lambda u: c * u
    c = 2.0
    return f(x[1])


@njit
def local_recursion(x):
    def power(u, n):
        return u if n == 0 else power(u, n - 1)

    return power(x[0], 3)


@njit
def with_a_default(x):
    def power(u, n=2):
        return u**n

    return power(x[0], 3)


@njit
def by_keyword(x):
    f = lambda u, n: u**n
    return f(x[0], n=3)


@njit
def as_value(x):
    f = lambda u: u * u
    g = f
    return g(x[0])


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (assigned_later, "Lambda"),
        (local_recursion, "FunctionDef"),
        (with_a_default, "FunctionDef"),
        (by_keyword, "Lambda"),
        (as_value, "Lambda"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_refused_local_functions(function, text):
    with pytest.raises(
        jt.NoGradientError, match=rf"test_njit_local_functions.py:\d+: .*{text}.* not supported.*pass what"
    ):
        jt.njit_grad(function)
