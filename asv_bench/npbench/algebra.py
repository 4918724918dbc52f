"""Linear algebra, statistics and networks as loops over elements."""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit
def cholesky(a):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(a[i, i])
    return np.sum(a * a * a)


@numba.njit
def lu(a):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(a * a)


@numba.njit
def trisolv(matrix, b):
    n = len(b)
    x = np.empty(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= matrix[i, j] * x[j]
        x[i] = s / matrix[i, i]
    return np.sum(x * x)


@numba.njit
def gramschmidt(a):
    a = a.copy()
    rows, columns = a.shape
    q, r = np.zeros((rows, columns)), np.zeros((columns, columns))
    for k in range(columns):
        square = 0.0
        for i in range(rows):
            square += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(square)
        for i in range(rows):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, columns):
            for i in range(rows):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(rows):
                a[i, j] -= q[i, k] * r[k, j]
    return np.sum(r * r * r) + np.sum(q)


@numba.njit
def durbin(r):
    """Solve the equations of Yule and Walker."""
    n = len(r)
    y, z = np.zeros(n), np.zeros(n)
    y[0] = -r[0]
    alpha, beta = -r[0], 1.0
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return np.sum(y * y)


@numba.njit
def column_means(data):
    n, m = data.shape
    mean = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j]
    for j in range(m):
        mean[j] /= n
    return mean


@numba.njit
def correlation(data):
    n, m = data.shape
    data = data.copy()
    mean, deviation = column_means(data), np.zeros(m)
    for i in range(n):
        for j in range(m):
            deviation[j] += (data[i, j] - mean[j]) ** 2
    for j in range(m):
        deviation[j] = math.sqrt(deviation[j] / n)
        if deviation[j] <= 0.1:
            deviation[j] = 1.0
    for i in range(n):
        for j in range(m):
            data[i, j] = (data[i, j] - mean[j]) / (math.sqrt(n) * deviation[j])
    total = 0.0
    for i in range(m):
        for j in range(i + 1, m):
            c = 0.0
            for k in range(n):
                c += data[k, i] * data[k, j]
            total += c * c
    return total


@numba.njit
def covariance(data):
    n, m = data.shape
    data = data.copy()
    mean = column_means(data)
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    total = 0.0
    for i in range(m):
        for j in range(i, m):
            c = 0.0
            for k in range(n):
                c += data[k, i] * data[k, j]
            c /= n - 1.0
            total += c * c
    return total


@numba.njit
def syrk(alpha, beta, c, a):
    n, m = a.shape
    c = c.copy()
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]
    return np.sum(c * c)


@numba.njit
def trmm(alpha, a, b):
    b = b.copy()
    m, n = b.shape
    for i in range(m):
        for k in range(i + 1, m):
            for j in range(n):
                b[i, j] += a[k, i] * b[k, j]
        for j in range(n):
            b[i, j] *= alpha
    return np.sum(b * b)


@numba.njit
def doitgen(a, c):
    a = a.copy()
    s = np.zeros(a.shape[2])
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            for p in range(len(s)):
                s[p] = 0.0
            for k in range(len(s)):
                for p in range(len(s)):
                    s[p] += a[r, q, k] * c[k, p]
            for p in range(len(s)):
                a[r, q, p] = s[p]
    return np.sum(a * a)


@numba.njit
def gesummv(alpha, beta, a, b, x):
    total = 0.0
    for i in range(a.shape[0]):
        one, other = 0.0, 0.0
        for j in range(a.shape[1]):
            one += a[i, j] * x[j]
            other += b[i, j] * x[j]
        total += (alpha * one + beta * other) ** 2
    return total


@numba.njit
def atax(a, x):
    y = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        t = 0.0
        for j in range(a.shape[1]):
            t += a[i, j] * x[j]
        for j in range(a.shape[1]):
            y[j] += a[i, j] * t
    return np.sum(y * y)


@numba.njit
def bicg(a, p, r):
    s, total = np.zeros(a.shape[1]), 0.0
    for i in range(a.shape[0]):
        q = 0.0
        for j in range(a.shape[1]):
            s[j] += r[i] * a[i, j]
            q += a[i, j] * p[j]
        total += q * q
    return total + np.sum(s * s)


@numba.njit
def mvt(x1, x2, y1, y2, a):
    x1, x2 = x1.copy(), x2.copy()
    for i in range(len(x1)):
        for j in range(len(x1)):
            x1[i] += a[i, j] * y1[j]
    for i in range(len(x1)):
        for j in range(len(x1)):
            x2[j] += a[i, j] * y2[i]
    return np.sum(x1 * x1) + np.sum(x2 * x2)


@numba.njit
def softmax(x, weight):
    """Weighted sum of the softmax of rows."""
    batch, heads, size, _ = x.shape
    total, e = 0.0, np.empty(size)
    for b in range(batch):
        for h in range(heads):
            for i in range(size):
                largest = x[b, h, i, 0]
                for j in range(1, size):
                    largest = max(largest, x[b, h, i, j])
                s = 0.0
                for j in range(size):
                    e[j] = math.exp(x[b, h, i, j] - largest)
                    s += e[j]
                for j in range(size):
                    total += weight[j] * e[j] / s
    return total


@numba.njit
def accelerations(pos, mass, acc):
    for i in range(pos.shape[0]):
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(pos.shape[0]):
            dx, dy, dz = pos[j, 0] - pos[i, 0], pos[j, 1] - pos[i, 1], pos[j, 2] - pos[i, 2]
            inverse = (dx * dx + dy * dy + dz * dz + 0.01) ** -1.5
            ax += mass[j] * dx * inverse
            ay += mass[j] * dy * inverse
            az += mass[j] * dz * inverse
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az


@numba.njit
def nbody(mass, pos, vel, steps, dt):
    """Kinetic energy of bodies after steps of the leapfrog method."""
    pos, vel, acc = pos.copy(), vel.copy(), np.zeros_like(pos)
    accelerations(pos, mass, acc)
    for _ in range(steps):
        for i in range(pos.shape[0]):
            for k in range(3):
                vel[i, k] += 0.5 * dt * acc[i, k]
                pos[i, k] += dt * vel[i, k]
        accelerations(pos, mass, acc)
        for i in range(pos.shape[0]):
            for k in range(3):
                vel[i, k] += 0.5 * dt * acc[i, k]
    energy = 0.0
    for i in range(pos.shape[0]):
        energy += 0.5 * mass[i] * (vel[i, 0] ** 2 + vel[i, 1] ** 2 + vel[i, 2] ** 2)
    return energy
