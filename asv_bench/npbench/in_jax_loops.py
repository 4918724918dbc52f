"""Kernels of NPBench in JAX, loop by loop like the ``@njit`` functions: ``.at[...]`` updates one element at a time.

JAX does not differentiate a `fori_loop` whose bounds it computes. Nested loops therefore run over an array of their
indices: JAX makes no more iterations than the function, and keeps the numbers that an iteration reads, not arrays.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax


def over(indices, body, state):
    """Run `body` on the state for each index, or for each row of indices."""
    rows = jnp.asarray(np.asarray(indices))
    return lax.scan(lambda state, row: (body(state, *jnp.atleast_1d(row)), None), state, rows)[0]


def grid(*ranges):
    """Return the indices of nested loops over ranges, as rows."""
    return np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, len(ranges))


def repeated(step, state, count):
    return lax.fori_loop(0, count, lambda _, state: step(state), state)


def squares(*arrays):
    return sum(jnp.sum(a * a) for a in arrays)


def seidel_2d(a, steps):
    inner = grid(range(1, a.shape[0] - 1), range(1, a.shape[1] - 1))

    def element(a, i, j):
        total = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
        total += a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
        return a.at[i, j].set(total / 9.0)

    return squares(repeated(lambda a: over(inner, element, a), a, steps))


def jacobi_1d(a, b, steps):
    def average(source, target):
        def element(target, i):
            return target.at[i].set(0.33333 * (source[i - 1] + source[i] + source[i + 1]))

        return over(range(1, len(a) - 1), element, target)

    def step(state):
        b = average(*state)
        return average(b, state[0]), b

    return squares(repeated(step, (a, b), steps)[0])


def average_of_five(source, target):
    def element(target, i, j):
        total = source[i, j] + source[i, j - 1] + source[i, j + 1] + source[i + 1, j] + source[i - 1, j]
        return target.at[i, j].set(0.2 * total)

    return over(grid(*[range(1, size - 1) for size in source.shape]), element, target)


def jacobi_2d(a, b, steps):
    def step(state):
        b = average_of_five(*state)
        return average_of_five(b, state[0]), b

    return squares(repeated(step, (a, b), steps)[0])


def diffuse(u, out):
    def element(out, i, j, k):
        change = 0.125 * (u[i + 1, j, k] - 2.0 * u[i, j, k] + u[i - 1, j, k])
        change += 0.125 * (u[i, j + 1, k] - 2.0 * u[i, j, k] + u[i, j - 1, k])
        change += 0.125 * (u[i, j, k + 1] - 2.0 * u[i, j, k] + u[i, j, k - 1])
        return out.at[i, j, k].set(change + u[i, j, k])

    return over(grid(*[range(1, size - 1) for size in u.shape]), element, out)


def heat_3d(a, b, steps):
    def step(state):
        b = diffuse(*state)
        return diffuse(b, state[0]), b

    return squares(repeated(step, (a, b), steps)[0])


def fdtd_2d(ex, ey, hz, source):
    n, m = hz.shape

    def step(state, t):
        ex, ey, hz = state
        ey = over(range(m), lambda ey, j: ey.at[0, j].set(source[t]), ey)
        ey = over(
            grid(range(1, n), range(m)),
            lambda ey, i, j: ey.at[i, j].add(-0.5 * (hz[i, j] - hz[i - 1, j])),
            ey,
        )
        ex = over(
            grid(range(n), range(1, m)),
            lambda ex, i, j: ex.at[i, j].add(-0.5 * (hz[i, j] - hz[i, j - 1])),
            ex,
        )

        def element(hz, i, j):
            return hz.at[i, j].add(-0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j]))

        return ex, ey, over(grid(range(n - 1), range(m - 1)), element, hz)

    return squares(over(range(len(source)), step, (ex, ey, hz))[2])


def cholesky(a):
    n = a.shape[0]
    rows = [(i, j, min(k, i - 1), k == j) for i in range(n) for j in range(i + 1) for k in range(j + 1)]

    def element(a, i, j, k, last):
        divided = jnp.where(i == j, jnp.sqrt(a[i, i]), a[i, j] / a[j, j])
        return a.at[i, j].set(jnp.where(last, divided, a[i, j] - a[i, k] * a[j, k]))

    return jnp.sum(over(rows, element, a) ** 3)


def lu(a):
    n = a.shape[0]
    rows = [(i, j, k, k == j) for i in range(n) for j in range(n) for k in range(j + 1 if j < i else i)]

    def element(a, i, j, k, last):
        return a.at[i, j].set(jnp.where(last, a[i, j] / a[j, j], a[i, j] - a[i, k] * a[k, j]))

    return squares(over(rows, element, a))


def trisolv(matrix, b):
    rows = [(i, j, j == i) for i in range(len(b)) for j in range(i + 1)]

    def element(x, i, j, last):
        return x.at[i].set(jnp.where(last, x[i] / matrix[i, i], x[i] - matrix[i, j] * x[j]))

    return squares(over(rows, element, b))


def gramschmidt(a):
    rows, columns = a.shape
    everything = range(rows)

    def column(state, k):
        a, q, r = state
        norm = jnp.sqrt(over(everything, lambda s, i: s + a[i, k] * a[i, k], 0.0))
        r = r.at[k, k].set(norm)
        q = over(everything, lambda q, i: q.at[i, k].set(a[i, k] / norm), q)

        def other(state, j):
            a, r = state

            def projected(state):
                a, r = state
                r = over(everything, lambda r, i: r.at[k, j].add(q[i, k] * a[i, j]), r)
                return over(everything, lambda a, i: a.at[i, j].add(-q[i, k] * r[k, j]), a), r

            return lax.cond(j > k, projected, lambda state: state, (a, r))

        a, r = over(range(columns), other, (a, r))
        return a, q, r

    _, q, r = over(range(columns), column, (a, jnp.zeros((rows, columns)), jnp.zeros((columns, columns))))
    return jnp.sum(r**3) + jnp.sum(q)


def durbin(r):
    n = len(r)

    def step(state, k):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        s = over(range(n), lambda s, i: s + jnp.where(i < k, r[k - i - 1] * y[i], 0.0), 0.0)
        alpha = -(r[k] + s) / beta
        z = over(
            range(n),
            lambda z, i: z.at[i].set(jnp.where(i < k, y[i] + alpha * y[k - i - 1], z[i])),
            jnp.zeros(n),
        )
        return z.at[k].set(alpha), alpha, beta

    return squares(over(range(1, n), step, (jnp.zeros(n).at[0].set(-r[0]), -r[0], 1.0))[0])


def column_means(data):
    total = over(
        grid(*map(range, data.shape)), lambda mean, i, j: mean.at[j].add(data[i, j]), jnp.zeros(data.shape[1])
    )
    return total / data.shape[0]


def products_of_columns(data, pairs, scale):
    def pair(total, i, j):
        c = over(range(data.shape[0]), lambda c, k: c + data[k, i] * data[k, j], 0.0) / scale
        return total + c * c

    return over(pairs, pair, 0.0)


def correlation(data):
    n, m = data.shape
    cells = grid(range(n), range(m))
    mean = column_means(data)
    square = over(cells, lambda s, i, j: s.at[j].add((data[i, j] - mean[j]) ** 2), jnp.zeros(m))
    deviation = jnp.sqrt(square / n)
    deviation = jnp.where(deviation <= 0.1, 1.0, deviation)
    data = over(
        cells, lambda d, i, j: d.at[i, j].set((d[i, j] - mean[j]) / (jnp.sqrt(n) * deviation[j])), data
    )
    return products_of_columns(data, [(i, j) for i in range(m) for j in range(i + 1, m)], 1.0)


def covariance(data):
    n, m = data.shape
    mean = column_means(data)
    data = over(grid(range(n), range(m)), lambda d, i, j: d.at[i, j].add(-mean[j]), data)
    return products_of_columns(data, [(i, j) for i in range(m) for j in range(i, m)], n - 1.0)


def syrk(alpha, beta, c, a):
    n, m = a.shape
    c = over([(i, j) for i in range(n) for j in range(i + 1)], lambda c, i, j: c.at[i, j].mul(beta), c)
    rows = [(i, k, j) for i in range(n) for k in range(m) for j in range(i + 1)]
    return squares(over(rows, lambda c, i, k, j: c.at[i, j].add(alpha * a[i, k] * a[j, k]), c))


def trmm(alpha, a, b):
    m, n = b.shape
    rows = [(i, min(k, m - 1), j, k == m) for i in range(m) for k in range(i + 1, m + 1) for j in range(n)]

    def element(b, i, k, j, last):
        return b.at[i, j].set(jnp.where(last, b[i, j] * alpha, b[i, j] + a[k, i] * b[k, j]))

    return squares(over(rows, element, b))


def doitgen(a, c):
    size = a.shape[2]

    def line(a, r, q):
        s = over(
            grid(range(size), range(size)), lambda s, k, p: s.at[p].add(a[r, q, k] * c[k, p]), jnp.zeros(size)
        )
        return over(range(size), lambda a, p: a.at[r, q, p].set(s[p]), a)

    return squares(over(grid(range(a.shape[0]), range(a.shape[1])), line, a))


def gesummv(alpha, beta, a, b, x):
    def row(total, i):
        def element(sums, j):
            return sums[0] + a[i, j] * x[j], sums[1] + b[i, j] * x[j]

        one, other = over(range(a.shape[1]), element, (0.0, 0.0))
        return total + (alpha * one + beta * other) ** 2

    return over(range(a.shape[0]), row, 0.0)


def atax(a, x):
    m = a.shape[1]

    def row(y, i):
        t = over(range(m), lambda t, j: t + a[i, j] * x[j], 0.0)
        return over(range(m), lambda y, j: y.at[j].add(a[i, j] * t), y)

    return squares(over(range(a.shape[0]), row, jnp.zeros(m)))


def bicg(a, p, r):
    def row(state, i):
        def element(state, j):
            s, q = state
            return s.at[j].add(r[i] * a[i, j]), q + a[i, j] * p[j]

        s, q = over(range(a.shape[1]), element, (state[0], 0.0))
        return s, state[1] + q * q

    s, total = over(range(a.shape[0]), row, (jnp.zeros(a.shape[1]), 0.0))
    return total + squares(s)


def mvt(x1, x2, y1, y2, a):
    cells = grid(*map(range, a.shape))
    x1 = over(cells, lambda x, i, j: x.at[i].add(a[i, j] * y1[j]), x1)
    return squares(x1, over(cells, lambda x, i, j: x.at[j].add(a[i, j] * y2[i]), x2))


def hdiff(field, coefficient):
    rows, columns, levels = coefficient.shape

    def limited(flux, slope):
        return jnp.where(flux * slope > 0.0, 0.0, flux)

    def level(total, k):
        def laplacian(lap, i, j):
            around = field[i + 2, j + 1, k] + field[i, j + 1, k] + field[i + 1, j + 2, k] + field[i + 1, j, k]
            return lap.at[i, j].set(4.0 * field[i + 1, j + 1, k] - around)

        lap = over(grid(range(rows + 2), range(columns + 2)), laplacian, jnp.zeros((rows + 2, columns + 2)))

        def element(total, i, j):
            here = field[i + 2, j + 2, k]
            east = limited(lap[i + 2, j + 1] - lap[i + 1, j + 1], field[i + 3, j + 2, k] - here)
            west = limited(lap[i + 1, j + 1] - lap[i, j + 1], here - field[i + 1, j + 2, k])
            north = limited(lap[i + 1, j + 2] - lap[i + 1, j + 1], field[i + 2, j + 3, k] - here)
            south = limited(lap[i + 1, j + 1] - lap[i + 1, j], here - field[i + 2, j + 1, k])
            out = here - coefficient[i, j, k] * (east - west + north - south)
            return total + out * out

        return over(grid(range(rows), range(columns)), element, total)

    return over(range(levels), level, 0.0)


def softmax(x, weight):
    size = x.shape[3]

    def row(total, b, h, i):
        largest = over(range(1, size), lambda m, j: jnp.maximum(m, x[b, h, i, j]), x[b, h, i, 0])

        def exponential(state, j):
            e = jnp.exp(x[b, h, i, j] - largest)
            return state[0].at[j].set(e), state[1] + e

        e, s = over(range(size), exponential, (jnp.zeros(size), 0.0))
        return over(range(size), lambda total, j: total + weight[j] * e[j] / s, total)

    return over(grid(*map(range, x.shape[:3])), row, 0.0)


def accelerations(pos, mass):
    n = len(mass)

    def body(acc, i):
        def other(a, j):
            d = [pos[j, axis] - pos[i, axis] for axis in range(3)]
            inverse = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01) ** -1.5
            return tuple([a[axis] + mass[j] * d[axis] * inverse for axis in range(3)])

        for axis, one in enumerate(over(range(n), other, (0.0, 0.0, 0.0))):
            acc = acc.at[i, axis].set(one)
        return acc

    return over(range(n), body, jnp.zeros((n, 3)))


def nbody(mass, pos, vel, steps, dt):
    cells = grid(range(len(mass)), range(3))

    def step(state):
        pos, vel, acc = state
        vel = over(cells, lambda vel, i, k: vel.at[i, k].add(0.5 * dt * acc[i, k]), vel)
        pos = over(cells, lambda pos, i, k: pos.at[i, k].add(dt * vel[i, k]), pos)
        acc = accelerations(pos, mass)
        return pos, over(cells, lambda vel, i, k: vel.at[i, k].add(0.5 * dt * acc[i, k]), vel), acc

    vel = repeated(step, (pos, vel, accelerations(pos, mass)), steps)[1]
    return over(
        range(len(mass)),
        lambda e, i: e + 0.5 * mass[i] * (vel[i, 0] ** 2 + vel[i, 1] ** 2 + vel[i, 2] ** 2),
        0.0,
    )


def adi(u, steps):
    n = u.shape[0]
    space, time = 1.0 / n, 1.0 / steps
    first, second = 2.0 * time / space**2, time / space**2
    a, d = -0.5 * first, -0.5 * second
    b, e = 1.0 + first, 1.0 + second
    rising, falling = range(1, n - 1), range(n - 2, 0, -1)

    def coefficients(p, q, i, x, y, right):
        def element(pq, j):
            p, q = pq
            divisor = x * p[i, j - 1] + y
            q = q.at[i, j].set((right(j) - x * q[i, j - 1]) / divisor)
            return p.at[i, j].set(-x / divisor), q

        return over(rising, element, (p.at[i, 0].set(0.0), q))

    def columns(state, i):
        u, v, p, q = state
        v = v.at[0, i].set(1.0)
        right = lambda j: -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - d * u[j, i + 1]  # noqa: E731
        p, q = coefficients(p, q.at[i, 0].set(v[0, i]), i, a, b, right)
        v = v.at[n - 1, i].set(1.0)
        return u, over(falling, lambda v, j: v.at[j, i].set(p[i, j] * v[j + 1, i] + q[i, j]), v), p, q

    def rows(state, i):
        u, v, p, q = state
        u = u.at[i, 0].set(1.0)
        right = lambda j: -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - a * v[i + 1, j]  # noqa: E731
        p, q = coefficients(p, q.at[i, 0].set(u[i, 0]), i, d, e, right)
        u = u.at[i, n - 1].set(1.0)
        return over(falling, lambda u, j: u.at[i, j].set(p[i, j] * u[i, j + 1] + q[i, j]), u), v, p, q

    zeros = jnp.zeros((n, n))
    state = repeated(lambda s: over(rising, rows, over(rising, columns, s)), (u, zeros, zeros, zeros), steps)
    return squares(state[0])


def deriche(image, alpha):
    w, h = image.shape
    e = jnp.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + alpha * e * 2.0 - jnp.exp(2.0 * alpha))
    a1, a2, a3, a4 = k, k * e * (alpha - 1.0), k * e * (alpha + 1.0), -k * e * e
    b1, b2 = 2.0 ** (-alpha), -(e * e)

    def filtered(source, i, size, out):
        """Filter one row, forward and backward."""

        def forward(state, j):
            out, y1, y2, x1 = state
            y = a1 * source[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            return out.at[i, j].set(y), y, y1, source[i, j]

        def backward(state, j):
            out, y1, y2, x1, x2 = state
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            return out.at[i, j].add(y), y, y1, source[i, j], x1

        out = over(range(size), forward, (out, 0.0, 0.0, 0.0))[0]
        return over(range(size - 1, -1, -1), backward, (out, 0.0, 0.0, 0.0, 0.0))[0]

    rows = over(range(w), lambda out, i: filtered(image, i, h, out), jnp.zeros((w, h)))
    turned = rows.T
    return squares(over(range(h), lambda out, j: filtered(turned, j, w, out), jnp.zeros((h, w))))


def vadv(speed, wind, stage, position, tendency, previous):
    rows, columns, levels = wind.shape
    rate, implicit, explicit = 3.0 / 20.0, 0.5 * 0.4, 0.5 * 0.6

    def column(total, i, j):
        def down(state, k):
            c, d = state
            upper, lower = jnp.maximum(k - 1, 0), jnp.minimum(k + 1, levels - 1)
            gav = jnp.where(k > 0, -0.25 * (speed[i + 1, j, k] + speed[i, j, k]), 0.0)
            gcv = jnp.where(k < levels - 1, 0.25 * (speed[i + 1, j, lower] + speed[i, j, lower]), 0.0)
            below, above = gav * implicit, gcv * implicit
            correction = -gav * explicit * (stage[i, j, upper] - stage[i, j, k])
            correction -= gcv * explicit * (stage[i, j, lower] - stage[i, j, k])
            right = rate * position[i, j, k] + correction + tendency[i, j, k] + previous[i, j, k]
            divided = 1.0 / (rate - above - below - c[upper] * below)
            return c.at[k].set(above * divided), d.at[k].set((right - d[upper] * below) * divided)

        c, d = over(range(levels), down, (jnp.zeros(levels), jnp.zeros(levels)))

        def up(state, k):
            following, total = state
            following = d[k] - c[k] * following
            out = rate * (following - wind[i, j, k])
            return following, total + out * out

        return over(range(levels - 1, -1, -1), up, (0.0, total))[1]

    return over(grid(range(rows), range(columns)), column, 0.0)


def channel_flow(u, v, p, force, steps, sweeps):
    rows, columns = u.shape
    dx, dy, dt, rho, nu = 2.0 / (columns - 1), 2.0 / (rows - 1), 0.005, 1.0, 0.1
    inner = grid(range(1, rows - 1), range(columns))

    def neighbors(j):
        return (j + 1) % columns, (j - 1) % columns

    def poisson(p, b):
        def sweep(p):
            old = p

            def element(p, i, j):
                east, west = neighbors(j)
                around = (old[i, east] + old[i, west]) * dy**2 + (old[i + 1, j] + old[i - 1, j]) * dx**2
                return p.at[i, j].set((around - dx**2 * dy**2 * b[i, j]) / (2.0 * (dx**2 + dy**2)))

            p = over(inner, element, p)
            return over(
                range(columns), lambda p, j: p.at[rows - 1, j].set(p[rows - 2, j]).at[0, j].set(p[1, j]), p
            )

        return repeated(sweep, p, sweeps)

    def step(state):
        un, vn, p = state

        def source(b, i, j):
            east, west = neighbors(j)
            ux, vy = (un[i, east] - un[i, west]) / (2.0 * dx), (vn[i + 1, j] - vn[i - 1, j]) / (2.0 * dy)
            uy, vx = (un[i + 1, j] - un[i - 1, j]) / (2.0 * dy), (vn[i, east] - vn[i, west]) / (2.0 * dx)
            return b.at[i, j].set(rho * ((ux + vy) / dt - ux * ux - 2.0 * uy * vx - vy * vy))

        p = poisson(p, over(inner, source, jnp.zeros_like(un)))

        def moved(state, i, j):
            u, v = state
            east, west = neighbors(j)
            here, side = un[i, j], vn[i, j]

            def change(f):
                one = f[i, j]
                return (
                    -here * dt / dx * (one - f[i, west]) - side * dt / dy * (one - f[i - 1, j])
                    + nu * dt / dx**2 * (f[i, east] - 2.0 * one + f[i, west])
                    + nu * dt / dy**2 * (f[i + 1, j] - 2.0 * one + f[i - 1, j])
                )  # fmt: skip

            along = -dt / (2.0 * rho * dx) * (p[i, east] - p[i, west]) + force * dt
            across = -dt / (2.0 * rho * dy) * (p[i + 1, j] - p[i - 1, j])
            return u.at[i, j].set(here + change(un) + along), v.at[i, j].set(side + change(vn) + across)

        u, v = over(inner, moved, (un, vn))
        walls = lambda f, j: f.at[0, j].set(0.0).at[rows - 1, j].set(0.0)  # noqa: E731
        return over(range(columns), walls, u), over(range(columns), walls, v), p

    u, v, _ = repeated(step, (u, v, p), steps)
    return squares(u, v)
