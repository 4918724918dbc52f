"""Gradients of the differentiable kernels of NPBench, in both modes and against differences."""

import sys
from pathlib import Path

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


def test_stacks_have_their_size_before_the_loops_run():
    (kernel,) = [one for one in KERNELS if one.name == "trmm"]
    arguments = kernel.arguments(np.random.default_rng(3), 5)
    gradient = gradient_of_dispatcher(kernel.function, kernel.argnums, "gradient", "test", False)
    wanted = []

    def reserve(stack, used, more):
        wanted.append((used, more))
        return np.empty(used + more)

    function = as_python(gradient, arguments)
    function.__globals__["reserve"] = reserve
    function(*arguments)
    rows, columns = arguments[2].shape
    assert wanted == [(0, rows * (rows - 1) // 2 * columns + rows * columns)]
