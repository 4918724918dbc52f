"""Gradients of the differentiable kernels of NPBench, in both modes and against differences."""

import sys
from pathlib import Path

import numba as nb
import numpy as np
import pytest

from jittape.numba_ad import gradient_of_dispatcher
from njit_as_python import as_python

sys.path.append(str(Path(__file__).parent.parent / "asv_bench"))

from npbench import FILTERS, KERNELS

COMPILED = {"cholesky", "trmm", "vadv"}
"""Kernels whose gradients Numba compiles here; Python runs the code of the others. The benchmarks compile all."""


@pytest.mark.parametrize("kernel", [*KERNELS, *FILTERS], ids=lambda kernel: kernel.name)
def test_kernel(kernel):
    numbers = np.random.default_rng(3)
    arguments = kernel.arguments(numbers, 5)
    directions = [numbers.normal(size=np.shape(arguments[i])) for i in kernel.argnums]
    directions = [one if one.shape else float(one) for one in directions]
    before = [np.copy(one) for one in arguments]

    def derivative(returned, *more):
        gradient = gradient_of_dispatcher(kernel.function, kernel.argnums, returned, "test", False)
        if kernel.name in COMPILED and returned == "value_and_gradient":
            return gradient(*more, *arguments)
        return as_python(gradient, [*more, *arguments])(*more, *arguments)

    value, gradients = derivative("value_and_gradient")
    forward_value, tangent = derivative("jvp", *directions)
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))

    def at(step):
        shifted = list(arguments)
        for i, d in zip(kernel.argnums, directions, strict=True):
            shifted[i] = shifted[i] + step * d
        return kernel.function.py_func(*shifted)

    h = 1e-5
    difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    np.testing.assert_allclose([value, forward_value], kernel.function.py_func(*arguments), rtol=1e-12)
    np.testing.assert_allclose(slope, tangent, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slope, difference, rtol=1e-5, atol=1e-6)
    for one, other in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(one, other)


@nb.njit
def triangular(x):
    y = x.copy()
    for i in range(y.size):
        for k in range(i + 1, y.size):
            y[k] = np.sin(y[k]) * y[i]
    return np.sum(y)


def requests_for_memory(function, argnums, arguments):
    """Return what a gradient asks of `reserve`: the length in use, and how much more it needs."""
    gradient = gradient_of_dispatcher(function, argnums, "gradient", "test", False)
    wanted = []

    def reserve(stack, used, more):
        wanted.append((used, more))
        return np.empty(used + more)

    python = as_python(gradient, arguments)
    python.__globals__["reserve"] = reserve
    python(*arguments)
    return wanted


def test_stacks_have_their_size_before_the_loops_run():
    (kernel,) = [one for one in KERNELS if one.name == "trmm"]
    arguments = kernel.arguments(np.random.default_rng(3), 5)
    rows, columns = arguments[2].shape
    # Each row before the iteration that overwrites it, and each element before its product with alpha.
    expected = [(0, 2 * rows * columns)]
    assert requests_for_memory(kernel.function, kernel.argnums, arguments) == expected
    n = 7
    assert requests_for_memory(triangular, 0, (np.linspace(0.1, 1.0, n),)) == [(0, n * (n - 1) // 2)]
