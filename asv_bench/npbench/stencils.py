"""Stencils: sweeps over grids, most of them in place."""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit
def seidel_2d(a, steps):
    a = a.copy()
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                    + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(a * a)


@numba.njit
def jacobi_1d(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, len(a) - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])
    return np.sum(a * a)


@numba.njit
def average_of_five(source, target):
    for i in range(1, source.shape[0] - 1):
        for j in range(1, source.shape[1] - 1):
            target[i, j] = 0.2 * (
                source[i, j] + source[i, j - 1] + source[i, j + 1] + source[i + 1, j] + source[i - 1, j]
            )


@numba.njit
def jacobi_2d(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        average_of_five(a, b)
        average_of_five(b, a)
    return np.sum(a * a)


@numba.njit
def diffuse(u, out):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            for k in range(1, u.shape[2] - 1):
                out[i, j, k] = (
                    0.125 * (u[i + 1, j, k] - 2.0 * u[i, j, k] + u[i - 1, j, k])
                    + 0.125 * (u[i, j + 1, k] - 2.0 * u[i, j, k] + u[i, j - 1, k])
                    + 0.125 * (u[i, j, k + 1] - 2.0 * u[i, j, k] + u[i, j, k - 1])
                    + u[i, j, k]
                )


@numba.njit
def heat_3d(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        diffuse(a, b)
        diffuse(b, a)
    return np.sum(a * a)


@numba.njit
def fdtd_2d(ex, ey, hz, source):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    rows, columns = hz.shape
    for t in range(len(source)):
        for j in range(columns):
            ey[0, j] = source[t]
        for i in range(1, rows):
            for j in range(columns):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(rows):
            for j in range(1, columns):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(rows - 1):
            for j in range(columns - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return np.sum(hz * hz)


@numba.njit
def adi(u, steps):
    """Alternating directions: two tridiagonal solves a step."""
    n = u.shape[0]
    u = u.copy()
    v, p, q = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    space, time = 1.0 / n, 1.0 / steps
    first, second = 2.0 * time / space**2, time / space**2
    a, d = -0.5 * first, -0.5 * second
    b, e = 1.0 + first, 1.0 + second
    for _ in range(steps):
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -a / (a * p[i, j - 1] + b)
                q[i, j] = (
                    -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - d * u[j, i + 1] - a * q[i, j - 1]
                ) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -d / (d * p[i, j - 1] + e)
                q[i, j] = (
                    -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - a * v[i + 1, j] - d * q[i, j - 1]
                ) / (d * p[i, j - 1] + e)
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return np.sum(u * u)


@numba.njit
def hdiff(field, coefficient):
    """Horizontal diffusion with limited fluxes; `field` has a rim of two cells."""
    rows, columns, levels = coefficient.shape
    lap = np.empty((rows + 2, columns + 2))
    total = 0.0
    for k in range(levels):
        for i in range(rows + 2):
            for j in range(columns + 2):
                lap[i, j] = 4.0 * field[i + 1, j + 1, k] - (
                    field[i + 2, j + 1, k] + field[i, j + 1, k] + field[i + 1, j + 2, k] + field[i + 1, j, k]
                )
        for i in range(rows):
            for j in range(columns):
                east = limited(
                    lap[i + 2, j + 1] - lap[i + 1, j + 1], field[i + 3, j + 2, k] - field[i + 2, j + 2, k]
                )
                west = limited(
                    lap[i + 1, j + 1] - lap[i, j + 1], field[i + 2, j + 2, k] - field[i + 1, j + 2, k]
                )
                north = limited(
                    lap[i + 1, j + 2] - lap[i + 1, j + 1], field[i + 2, j + 3, k] - field[i + 2, j + 2, k]
                )
                south = limited(
                    lap[i + 1, j + 1] - lap[i + 1, j], field[i + 2, j + 2, k] - field[i + 2, j + 1, k]
                )
                out = field[i + 2, j + 2, k] - coefficient[i, j, k] * (east - west + north - south)
                total += out * out
    return total


@numba.njit
def limited(flux, slope):
    return 0.0 if flux * slope > 0.0 else flux


@numba.njit
def vadv(speed, wind, stage, position, tendency, previous):
    """Vertical advection: one tridiagonal solve for each column, by the algorithm of Thomas."""
    rows, columns, levels = wind.shape
    c, d = np.empty(levels), np.empty(levels)
    rate, implicit, explicit = 3.0 / 20.0, 0.5 * 0.4, 0.5 * 0.6
    total = 0.0
    for i in range(rows):
        for j in range(columns):
            for k in range(levels):
                above = 0.0
                below = 0.0
                correction = 0.0
                if k > 0:
                    gav = -0.25 * (speed[i + 1, j, k] + speed[i, j, k])
                    below = gav * implicit
                    correction -= gav * explicit * (stage[i, j, k - 1] - stage[i, j, k])
                if k < levels - 1:
                    gcv = 0.25 * (speed[i + 1, j, k + 1] + speed[i, j, k + 1])
                    above = gcv * implicit
                    correction -= gcv * explicit * (stage[i, j, k + 1] - stage[i, j, k])
                diagonal = rate - above - below
                right = rate * position[i, j, k] + correction + tendency[i, j, k] + previous[i, j, k]
                if k > 0:
                    divided = 1.0 / (diagonal - c[k - 1] * below)
                    c[k] = above * divided
                    d[k] = (right - d[k - 1] * below) * divided
                else:
                    c[k] = above / diagonal
                    d[k] = right / diagonal
            following = 0.0
            for k in range(levels - 1, -1, -1):
                following = d[k] - c[k] * following if k < levels - 1 else d[k]
                out = rate * (following - wind[i, j, k])
                total += out * out
    return total


@numba.njit
def poisson(p, b, sweeps, dx, dy):
    """Solve for the pressure by Jacobi sweeps, periodic in x."""
    rows, columns = p.shape
    old = np.empty_like(p)
    for _ in range(sweeps):
        for i in range(rows):
            for j in range(columns):
                old[i, j] = p[i, j]
        for i in range(1, rows - 1):
            for j in range(columns):
                east, west = (j + 1) % columns, (j - 1) % columns
                p[i, j] = (
                    (old[i, east] + old[i, west]) * dy**2 + (old[i + 1, j] + old[i - 1, j]) * dx**2
                ) / (2.0 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2.0 * (dx**2 + dy**2)) * b[i, j]
        for j in range(columns):
            p[rows - 1, j] = p[rows - 2, j]
            p[0, j] = p[1, j]


@numba.njit
def channel_flow(u, v, p, force, steps, sweeps):
    """Navier-Stokes equations of a flow between two walls."""
    rows, columns = u.shape
    u, v, p = u.copy(), v.copy(), p.copy()
    b, un, vn = np.zeros_like(u), np.empty_like(u), np.empty_like(u)
    dx, dy, dt, rho, nu = 2.0 / (columns - 1), 2.0 / (rows - 1), 0.005, 1.0, 0.1
    for _ in range(steps):
        for i in range(rows):
            for j in range(columns):
                un[i, j] = u[i, j]
                vn[i, j] = v[i, j]
        for i in range(1, rows - 1):
            for j in range(columns):
                east, west = (j + 1) % columns, (j - 1) % columns
                ux = (un[i, east] - un[i, west]) / (2.0 * dx)
                vy = (vn[i + 1, j] - vn[i - 1, j]) / (2.0 * dy)
                uy = (un[i + 1, j] - un[i - 1, j]) / (2.0 * dy)
                vx = (vn[i, east] - vn[i, west]) / (2.0 * dx)
                b[i, j] = rho * ((ux + vy) / dt - ux * ux - 2.0 * uy * vx - vy * vy)
        poisson(p, b, sweeps, dx, dy)
        for i in range(1, rows - 1):
            for j in range(columns):
                east, west = (j + 1) % columns, (j - 1) % columns
                here, side = un[i, j], vn[i, j]
                u[i, j] = (
                    here
                    - here * dt / dx * (here - un[i, west])
                    - side * dt / dy * (here - un[i - 1, j])
                    - dt / (2.0 * rho * dx) * (p[i, east] - p[i, west])
                    + nu * dt / dx**2 * (un[i, east] - 2.0 * here + un[i, west])
                    + nu * dt / dy**2 * (un[i + 1, j] - 2.0 * here + un[i - 1, j])
                    + force * dt
                )
                v[i, j] = (
                    side
                    - here * dt / dx * (side - vn[i, west])
                    - side * dt / dy * (side - vn[i - 1, j])
                    - dt / (2.0 * rho * dy) * (p[i + 1, j] - p[i - 1, j])
                    + nu * dt / dx**2 * (vn[i, east] - 2.0 * side + vn[i, west])
                    + nu * dt / dy**2 * (vn[i + 1, j] - 2.0 * side + vn[i - 1, j])
                )
        for j in range(columns):
            u[0, j] = 0.0
            u[rows - 1, j] = 0.0
            v[0, j] = 0.0
            v[rows - 1, j] = 0.0
    return np.sum(u * u) + np.sum(v * v)


@numba.njit
def deriche(image, alpha):
    """Recursive filter of images, along rows and then along columns."""
    w, h = image.shape
    e = math.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + alpha * e * 2.0 - math.exp(2.0 * alpha))
    a1, a2, a3, a4 = k, k * e * (alpha - 1.0), k * e * (alpha + 1.0), -k * e * e
    b1, b2 = 2.0 ** (-alpha), -(e * e)
    first, rows = np.empty((w, h)), np.empty((w, h))
    for i in range(w):
        y1, y2, x1 = 0.0, 0.0, 0.0
        for j in range(h):
            y = a1 * image[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            first[i, j] = y
            x1, y2, y1 = image[i, j], y1, y
        y1, y2, x1, x2 = 0.0, 0.0, 0.0, 0.0
        for j in range(h - 1, -1, -1):
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            rows[i, j] = first[i, j] + y
            x2, x1, y2, y1 = x1, image[i, j], y1, y
    total = 0.0
    for j in range(h):
        y1, y2, x1 = 0.0, 0.0, 0.0
        for i in range(w):
            y = a1 * rows[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            first[i, j] = y
            x1, y2, y1 = rows[i, j], y1, y
        y1, y2, x1, x2 = 0.0, 0.0, 0.0, 0.0
        for i in range(w - 1, -1, -1):
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            total += (first[i, j] + y) ** 2
            x2, x1, y2, y1 = x1, rows[i, j], y1, y
    return total
