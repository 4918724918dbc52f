"""Kernels of NPBench in JAX: whole arrays, and `lax.scan` where an element needs the one before."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def repeated(step, state, count):
    """Run `step` on `state`; a scan, so that JAX can run it backward."""
    return lax.scan(lambda carry, _: (step(carry), None), state, None, length=count)[0]


def squares(*arrays):
    return sum(jnp.sum(a * a) for a in arrays)


def seidel_2d(a, steps):
    def row(above, pair):
        here, below = pair
        known = (
            above[:-2]
            + above[1:-1]
            + above[2:]
            + here[1:-1]
            + here[2:]
            + below[:-2]
            + below[1:-1]
            + below[2:]
        )
        _, inner = lax.scan(lambda left, one: ((left + one) / 9.0,) * 2, here[0], known)
        new = jnp.concatenate([here[:1], inner, here[-1:]])
        return new, new

    def sweep(a):
        rows = lax.scan(row, a[0], (a[1:-1], a[2:]))[1]
        return jnp.concatenate([a[:1], rows, a[-1:]])

    return squares(repeated(sweep, a, steps))


def jacobi_1d(a, b, steps):
    def step(state):
        a, b = state
        b = b.at[1:-1].set(0.33333 * (a[:-2] + a[1:-1] + a[2:]))
        return a.at[1:-1].set(0.33333 * (b[:-2] + b[1:-1] + b[2:])), b

    return squares(repeated(step, (a, b), steps)[0])


def average_of_five(source, target):
    inner = source[1:-1, 1:-1] + source[1:-1, :-2] + source[1:-1, 2:] + source[2:, 1:-1] + source[:-2, 1:-1]
    return target.at[1:-1, 1:-1].set(0.2 * inner)


def jacobi_2d(a, b, steps):
    def step(state):
        a, b = state
        b = average_of_five(a, b)
        return average_of_five(b, a), b

    return squares(repeated(step, (a, b), steps)[0])


def diffuse(u, out):
    c = u[1:-1, 1:-1, 1:-1]
    change = (
        u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6.0 * c
    )  # fmt: skip
    return out.at[1:-1, 1:-1, 1:-1].set(0.125 * change + c)


def heat_3d(a, b, steps):
    def step(state):
        a, b = state
        b = diffuse(a, b)
        return diffuse(b, a), b

    return squares(repeated(step, (a, b), steps)[0])


def fdtd_2d(ex, ey, hz, source):
    def step(state, value):
        ex, ey, hz = state
        ey = ey.at[0].set(value).at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    return squares(lax.scan(step, (ex, ey, hz), source)[0][2])


def cholesky(a):
    symmetric = jnp.tril(a) + jnp.tril(a, -1).T  # the kernel reads the lower half only
    return jnp.sum((jnp.linalg.cholesky(symmetric, symmetrize_input=False) + jnp.triu(a, 1)) ** 3)


def lu(a):
    index = jnp.arange(a.shape[0])

    def step(a, k):
        column = jnp.where(index > k, a[:, k] / a[k, k], 0.0)
        a = a - jnp.outer(column, jnp.where(index > k, a[k], 0.0))
        return a.at[:, k].set(jnp.where(index > k, column, a[:, k])), None

    return squares(lax.scan(step, a, index)[0])


def trisolv(matrix, b):
    return squares(jax.scipy.linalg.solve_triangular(matrix, b, lower=True))


def gramschmidt(a):
    q, r = jnp.linalg.qr(a)
    sign = jnp.sign(jnp.diag(r))
    return jnp.sum((sign[:, None] * r) ** 3) + jnp.sum(q * sign)


def correlation(data):
    centered = data - jnp.mean(data, 0)
    deviation = jnp.sqrt(jnp.mean(centered**2, 0))
    scaled = centered / (jnp.sqrt(len(data)) * jnp.where(deviation <= 0.1, 1.0, deviation))
    return squares(jnp.triu(scaled.T @ scaled, 1))


def covariance(data):
    centered = data - jnp.mean(data, 0)
    return squares(jnp.triu(centered.T @ centered) / (data.shape[0] - 1.0))


def syrk(alpha, beta, c, a):
    return squares(jnp.tril(beta * c + alpha * a @ a.T) + jnp.triu(c, 1))


def trmm(alpha, a, b):
    return squares(alpha * (b + jnp.tril(a, -1).T @ b))


def doitgen(a, c):
    return squares(a @ c)


def gesummv(alpha, beta, a, b, x):
    return squares(alpha * a @ x + beta * b @ x)


def atax(a, x):
    return squares((a @ x) @ a)


def bicg(a, p, r):
    return squares(r @ a, a @ p)


def mvt(x1, x2, y1, y2, a):
    return squares(x1 + a @ y1, x2 + y2 @ a)


def hdiff(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    inner = field[2:-2, 2:-2]
    x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    x = jnp.where(x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, x)
    y = lap[1:-1, 1:] - lap[1:-1, :-1]
    y = jnp.where(y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, y)
    return squares(inner - coefficient * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1]))


def softmax(x, weight):
    return jnp.sum(jax.nn.softmax(x, -1) * weight)


def accelerations(pos, mass):
    d = pos[None] - pos[:, None]
    return jnp.sum(mass[None, :, None] * d * ((jnp.sum(d * d, -1) + 0.01) ** -1.5)[..., None], 1)


def nbody(mass, pos, vel, steps, dt):
    def step(state):
        pos, vel, acc = state
        vel = vel + 0.5 * dt * acc
        pos = pos + dt * vel
        acc = accelerations(pos, mass)
        return pos, vel + 0.5 * dt * acc, acc

    vel = repeated(step, (pos, vel, accelerations(pos, mass)), steps)[1]
    return jnp.sum(0.5 * mass * jnp.sum(vel * vel, 1))


def durbin(r):
    n, index = len(r), jnp.arange(len(r))

    def step(state, k):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        turned = jnp.where(index < k, jnp.roll(y[::-1], k - n), 0.0)
        alpha = -(r[k] + jnp.sum(jnp.where(index < k, r * turned, 0.0))) / beta
        return (jnp.where(index == k, alpha, y + alpha * turned), alpha, beta), None

    start = (jnp.zeros(n).at[0].set(-r[0]), -r[0], 1.0)
    return squares(lax.scan(step, start, jnp.arange(1, n))[0][0])


def value_and_grad(name, argnums, static):
    """Return the compiled gradient of a kernel; None for one without a version here."""
    function = globals().get(name)
    return None if function is None else jax.jit(jax.value_and_grad(function, argnums), static_argnums=static)
