"""Gradients of functions with ``prange``, which runs in threads in the function itself."""

import numba
import numpy as np

import jittape as jt


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
