"""`nets` by hand."""

# mypy: ignore-errors

import numpy as np

from workloads.handmade import by_hand, dgemm, exp, tanh


def lstm_workspace(t, b, h):
    """Gates of all steps and their gradients, states and cells with the one before the first, tanh of cells."""
    return [np.empty((t, b, 4 * h)), np.zeros((t + 1, b, h)), np.zeros((t + 1, b, h)), np.empty((t, b, h))]


@by_hand
def lstm(x, wx, wh, bias, d_wx, d_wh, d_bias, gates, states, cells, tanhs):
    """The inputs of all steps in one product, and each gradient by weights in one at the end."""
    t, b, h = x.shape
    flat = gates.reshape(t * b, 4 * h)
    flat_x = x.reshape(t * b, h)
    dgemm(flat_x, wx, flat, False, False, 1.0, 0.0)
    for k in range(t):
        z = gates[k]
        if k > 0:
            dgemm(states[k], wh, z, False, False, 1.0, 1.0)
        for r in range(b):
            for j in range(2 * h):
                z[r, j] = 1 / (1 + exp(-(z[r, j] + bias[j])))
            for j in range(2 * h, 3 * h):
                z[r, j] = tanh(z[r, j] + bias[j])
            for j in range(3 * h, 4 * h):
                z[r, j] = 1 / (1 + exp(-(z[r, j] + bias[j])))
            for j in range(h):
                c = z[r, h + j] * cells[k, r, j] + z[r, j] * z[r, 2 * h + j]
                cells[k + 1, r, j] = c
                e = tanh(c)
                tanhs[k, r, j] = e
                states[k + 1, r, j] = z[r, 3 * h + j] * e
    value = 0.0
    d_state, d_cell = np.empty((b, h)), np.zeros((b, h))
    for r in range(b):
        for j in range(h):
            s = states[t, r, j]
            value += s * s
            d_state[r, j] = 2 * s / (b * h)
    for k in range(t - 1, -1, -1):
        z = gates[k]
        for r in range(b):
            for j in range(h):
                i, f, g, o = z[r, j], z[r, h + j], z[r, 2 * h + j], z[r, 3 * h + j]
                e, ds = tanhs[k, r, j], d_state[r, j]
                dc = d_cell[r, j] + ds * o * (1 - e * e)
                z[r, j] = dc * g * i * (1 - i)
                z[r, h + j] = dc * cells[k, r, j] * f * (1 - f)
                z[r, 2 * h + j] = dc * i * (1 - g * g)
                z[r, 3 * h + j] = ds * e * o * (1 - o)
                d_cell[r, j] = dc * f
        if k > 0:
            dgemm(z, wh, d_state, False, True, 1.0, 0.0)
    dgemm(flat_x, flat, d_wx, True, False, 1.0, 0.0)
    dgemm(states[:t].reshape(t * b, h), flat, d_wh, True, False, 1.0, 0.0)
    column_sums(flat, d_bias)
    return value / (b * h)


@by_hand
def column_sums(d, out):
    out[:] = 0.0
    for r in range(d.shape[0]):
        for j in range(d.shape[1]):
            out[j] += d[r, j]


def penalty_workspace(n, inputs, units):
    return [np.empty((n, units)) for _ in range(8)] + [np.empty((n, inputs))]


@by_hand
def penalty(x, w1, b1, w2, b2, w3, g1, c1, g2, c2, g3, h1, h2, d2, e1, d1, r1, r2, z1, g):
    n, units = h1.shape
    dgemm(x, w1, h1, False, False, 1.0, 0.0)
    for r in range(n):
        for j in range(units):
            h1[r, j] = tanh(h1[r, j] + b1[j])
    dgemm(h1, w2, h2, False, False, 1.0, 0.0)
    for r in range(n):
        for j in range(units):
            h = tanh(h2[r, j] + b2[j])
            h2[r, j] = h
            d2[r, j] = w3[j, 0] * (1 - h * h)
    dgemm(d2, w2, e1, False, True, 1.0, 0.0)
    for r in range(n):
        for j in range(units):
            d1[r, j] = e1[r, j] * (1 - h1[r, j] * h1[r, j])
    dgemm(d1, w1, g, False, True, 1.0, 0.0)
    value = 0.0
    for r in range(n):
        s = 0.0
        for j in range(g.shape[1]):
            s += g[r, j] * g[r, j]
        norm = np.sqrt(s)
        value += (norm - 1) * (norm - 1)
        factor = 2 * (norm - 1) / (norm * n)
        for j in range(g.shape[1]):
            g[r, j] *= factor
    dgemm(g, w1, r1, False, False, 1.0, 0.0)
    dgemm(g, d1, g1, True, False, 1.0, 0.0)
    for r in range(n):
        for j in range(units):
            h = h1[r, j]
            back = r1[r, j]
            r1[r, j] = back * (1 - h * h)
            e1[r, j] *= -2 * h * back
    dgemm(r1, w2, r2, False, False, 1.0, 0.0)
    dgemm(r1, d2, g2, True, False, 1.0, 0.0)
    g3[:] = 0.0
    c2[:] = 0.0
    for r in range(n):
        for j in range(units):
            h, back = h2[r, j], r2[r, j]
            s = 1 - h * h
            g3[j, 0] += back * s
            z = -2 * h * back * w3[j, 0] * s
            r2[r, j] = z
            c2[j] += z
    dgemm(h1, r2, g2, True, False, 1.0, 1.0)
    dgemm(r2, w2, z1, False, True, 1.0, 0.0)
    c1[:] = 0.0
    for r in range(n):
        for j in range(units):
            h = h1[r, j]
            z = (z1[r, j] + e1[r, j]) * (1 - h * h)
            z1[r, j] = z
            c1[j] += z
    dgemm(x, z1, g1, True, False, 1.0, 1.0)
    return value / n
