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


def adi(u, steps):
    n = u.shape[0]
    first, second = 2.0 * n**2 / steps, n**2 / steps
    a, d = -0.5 * first, -0.5 * second
    ones = jnp.ones(n - 2)

    def solved(x, y, right):
        """Solve tridiagonal systems along the first axis."""

        def eliminate(pq, r):
            divisor = x * pq[0] + y
            return ((-x / divisor, (r - x * pq[1]) / divisor),) * 2

        pairs = lax.scan(eliminate, (0.0, ones), right)[1]
        return lax.scan(lambda one, pq: (pq[0] * one + pq[1],) * 2, ones, pairs, reverse=True)[1]

    def step(u):
        right = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]
        v = jnp.concatenate([ones[None], solved(a, 1.0 + first, right), ones[None]])
        right = -a * v[:-2] + (1.0 + 2.0 * a) * v[1:-1] - a * v[2:]
        inner = solved(d, 1.0 + second, right.T).T
        return u.at[1:-1].set(jnp.concatenate([ones[:, None], inner, ones[:, None]], 1))

    return squares(repeated(step, u, steps))


def deriche(image, alpha):
    e = jnp.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + alpha * e * 2.0 - jnp.exp(2.0 * alpha))
    a1, a2, a3, a4 = k, k * e * (alpha - 1.0), k * e * (alpha + 1.0), -k * e * e
    b1, b2 = 2.0 ** (-alpha), -(e * e)

    def filtered(rows):
        """Filter along the first axis, forward and backward."""

        def forward(state, x):
            y1, y2, x1 = state
            y = a1 * x + a2 * x1 + b1 * y1 + b2 * y2
            return (y, y1, x), y

        def backward(state, x):
            y1, y2, x1, x2 = state
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            return (y, y1, x, x1), y

        zero = jnp.zeros(rows.shape[1])
        there = lax.scan(forward, (zero,) * 3, rows)[1]
        return there + lax.scan(backward, (zero,) * 4, rows, reverse=True)[1]

    return squares(filtered(filtered(image.T).T))


def vadv(speed, wind, stage, position, tendency, previous):
    rate, implicit, explicit = 3.0 / 20.0, 0.5 * 0.4, 0.5 * 0.6
    both = 0.25 * (speed[1:] + speed[:-1])[..., 1:]
    gav = jnp.pad(-both, ((0, 0), (0, 0), (1, 0)))
    gcv = jnp.pad(both, ((0, 0), (0, 0), (0, 1)))
    rise = jnp.diff(stage)
    correction = gav * explicit * jnp.pad(rise, ((0, 0), (0, 0), (1, 0)))
    correction -= gcv * explicit * jnp.pad(rise, ((0, 0), (0, 0), (0, 1)))
    right = rate * position + correction + tendency + previous
    below, above = gav * implicit, gcv * implicit

    def eliminate(cd, level):
        below, above, right = level
        divided = 1.0 / (rate - above - below - cd[0] * below)
        return ((above * divided, (right - cd[1] * below) * divided),) * 2

    zero = jnp.zeros(wind.shape[:2])
    levels = [jnp.moveaxis(one, 2, 0) for one in (below, above, right)]
    pairs = lax.scan(eliminate, (zero, zero), tuple(levels))[1]
    x = lax.scan(lambda one, cd: (cd[1] - cd[0] * one,) * 2, zero, pairs, reverse=True)[1]
    return squares(rate * (x - jnp.moveaxis(wind, 2, 0)))


def channel_flow(u, v, p, force, steps, sweeps):
    rows, columns = u.shape
    dx, dy, dt, rho, nu = 2.0 / (columns - 1), 2.0 / (rows - 1), 0.005, 1.0, 0.1

    def around(f):
        """Return inner rows, and their neighbors to the east, west, north and south."""
        inner = f[1:-1]
        return inner, jnp.roll(inner, -1, 1), jnp.roll(inner, 1, 1), f[2:], f[:-2]

    def sweep(p, b):
        _, east, west, north, south = around(p)
        inner = ((east + west) * dy**2 + (north + south) * dx**2 - dx**2 * dy**2 * b) / (
            2.0 * (dx**2 + dy**2)
        )
        return jnp.concatenate([inner[:1], inner, inner[-1:]])

    def step(state):
        u, v, p = state
        here, u_east, u_west, u_north, u_south = around(u)
        side, v_east, v_west, v_north, v_south = around(v)
        ux, vy = (u_east - u_west) / (2.0 * dx), (v_north - v_south) / (2.0 * dy)
        uy, vx = (u_north - u_south) / (2.0 * dy), (v_east - v_west) / (2.0 * dx)
        b = rho * ((ux + vy) / dt - ux * ux - 2.0 * uy * vx - vy * vy)
        p = repeated(lambda p: sweep(p, b), p, sweeps)
        _, east, west, north, south = around(p)

        def moved(one, one_east, one_west, one_north, one_south):
            return (
                one - here * dt / dx * (one - one_west) - side * dt / dy * (one - one_south)
                + nu * dt / dx**2 * (one_east - 2.0 * one + one_west)
                + nu * dt / dy**2 * (one_north - 2.0 * one + one_south)
            )  # fmt: skip

        new_u = (
            moved(here, u_east, u_west, u_north, u_south) - dt / (2.0 * rho * dx) * (east - west) + force * dt
        )
        new_v = moved(side, v_east, v_west, v_north, v_south) - dt / (2.0 * rho * dy) * (north - south)
        wall = ((1, 1), (0, 0))
        return jnp.pad(new_u, wall), jnp.pad(new_v, wall), p

    u, v, _ = repeated(step, (u, v, p), steps)
    return squares(u, v)
