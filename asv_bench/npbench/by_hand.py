"""Adjoints of kernels written by hand: value and gradients, as a programmer would write them for speed."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from npbench.stencils import average_of_five, diffuse


@numba.njit(error_model="numpy")
def seidel_2d(a, steps):
    a = a.copy()
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                    + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    value, g = np.sum(a * a), 2.0 * a
    for _ in range(steps):
        for i in range(a.shape[0] - 2, 0, -1):
            for j in range(a.shape[1] - 2, 0, -1):
                share = g[i, j] / 9.0
                g[i, j] = share
                g[i - 1, j - 1] += share
                g[i - 1, j] += share
                g[i - 1, j + 1] += share
                g[i, j - 1] += share
                g[i, j + 1] += share
                g[i + 1, j - 1] += share
                g[i + 1, j] += share
                g[i + 1, j + 1] += share
    return value, (g,)


@numba.njit
def average_of_five_vjp(source_b, target_b):
    for i in range(1, source_b.shape[0] - 1):
        for j in range(1, source_b.shape[1] - 1):
            share = 0.2 * target_b[i, j]
            target_b[i, j] = 0.0
            source_b[i - 1, j] += share
            source_b[i + 1, j] += share
            source_b[i, j - 1] += share
            source_b[i, j] += share
            source_b[i, j + 1] += share


@numba.njit
def jacobi_2d(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        average_of_five(a, b)
        average_of_five(b, a)
    value, a_b, b_b = np.sum(a * a), 2.0 * a, np.zeros_like(b)
    for _ in range(steps):
        average_of_five_vjp(b_b, a_b)
        average_of_five_vjp(a_b, b_b)
    return value, (a_b, b_b)


@numba.njit
def diffuse_vjp(u_b, out_b):
    for i in range(1, u_b.shape[0] - 1):
        for j in range(1, u_b.shape[1] - 1):
            for k in range(1, u_b.shape[2] - 1):
                g = out_b[i, j, k]
                out_b[i, j, k] = 0.0
                share = 0.125 * g
                u_b[i - 1, j, k] += share
                u_b[i + 1, j, k] += share
                u_b[i, j - 1, k] += share
                u_b[i, j + 1, k] += share
                u_b[i, j, k - 1] += share
                u_b[i, j, k] += 0.25 * g
                u_b[i, j, k + 1] += share


@numba.njit
def heat_3d(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        diffuse(a, b)
        diffuse(b, a)
    value, a_b, b_b = np.sum(a * a), 2.0 * a, np.zeros_like(b)
    for _ in range(steps):
        diffuse_vjp(b_b, a_b)
        diffuse_vjp(a_b, b_b)
    return value, (a_b, b_b)


@numba.njit(error_model="numpy")
def trisolv(matrix, b):
    n = len(b)
    x, matrix_b = np.empty(n), np.zeros_like(matrix)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= matrix[i, j] * x[j]
        x[i] = s / matrix[i, i]
    value, g = np.sum(x * x), 2.0 * x
    for i in range(n - 1, -1, -1):
        g[i] /= matrix[i, i]
        for j in range(i):
            g[j] -= matrix[i, j] * g[i]
            matrix_b[i, j] = -g[i] * x[j]
        matrix_b[i, i] = -g[i] * x[i]
    return value, (matrix_b, g)


@numba.njit
def syrk(alpha, beta, c, a):
    n, m = a.shape
    out, c_b, a_b = c.copy(), np.zeros_like(c), np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                out[i, j] += alpha * a[i, k] * a[j, k]
    value, alpha_b, beta_b = np.sum(out * out), 0.0, 0.0
    for i in range(n):
        for j in range(n):
            c_b[i, j] = 2.0 * out[i, j]
        for j in range(i + 1):
            g, s = c_b[i, j], 0.0
            for k in range(m):
                s += a[i, k] * a[j, k]
                a_b[i, k] += g * alpha * a[j, k]
                a_b[j, k] += g * alpha * a[i, k]
            alpha_b += g * s
            beta_b += g * c[i, j]
            c_b[i, j] = beta * g
    return value, (alpha_b, beta_b, c_b, a_b)


@numba.njit
def gesummv(alpha, beta, a, b, x):
    value, alpha_b, beta_b = 0.0, 0.0, 0.0
    a_b, b_b, x_b = np.empty_like(a), np.empty_like(b), np.zeros_like(x)
    for i in range(a.shape[0]):
        one, other = 0.0, 0.0
        for j in range(a.shape[1]):
            one += a[i, j] * x[j]
            other += b[i, j] * x[j]
        out = alpha * one + beta * other
        value += out * out
        alpha_b += 2.0 * out * one
        beta_b += 2.0 * out * other
        g, h = 2.0 * out * alpha, 2.0 * out * beta
        for j in range(a.shape[1]):
            a_b[i, j] = g * x[j]
            b_b[i, j] = h * x[j]
            x_b[j] += g * a[i, j] + h * b[i, j]
    return value, (alpha_b, beta_b, a_b, b_b, x_b)


@numba.njit
def atax(a, x):
    y, a_b, x_b = np.zeros(a.shape[1]), np.zeros_like(a), np.zeros_like(x)
    products = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t = 0.0
        for j in range(a.shape[1]):
            t += a[i, j] * x[j]
        products[i] = t
        for j in range(a.shape[1]):
            y[j] += a[i, j] * t
    value, g = np.sum(y * y), 2.0 * y
    for i in range(a.shape[0]):
        t_b = 0.0
        for j in range(a.shape[1]):
            t_b += g[j] * a[i, j]
        for j in range(a.shape[1]):
            a_b[i, j] = g[j] * products[i] + t_b * x[j]
            x_b[j] += t_b * a[i, j]
    return value, (a_b, x_b)


ADJOINTS: dict[str, Any] = {
    "seidel_2d": seidel_2d, "jacobi_2d": jacobi_2d, "heat_3d": heat_3d, "trisolv": trisolv, "syrk": syrk,
    "gesummv": gesummv, "atax": atax,
}  # fmt: skip
"""Adjoints by the names of the kernels."""
