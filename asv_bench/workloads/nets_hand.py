"""`nets` by hand."""

# mypy: ignore-errors

import numpy as np

from workloads.handmade import by_hand, dgemm, exp, tanh


def lstm_workspace(t, b, h):
    """Gates of all steps and their gradients, states and cells with the one before the first, tanh of cells."""
    return [np.empty((t, b, 4 * h)), np.zeros((t + 1, b, h)), np.zeros((t + 1, b, h)), np.empty((t, b, h))]


@by_hand
def sigmoids(z):
    for j in range(z.size):
        z[j] = 1 / (1 + exp(-z[j]))


@by_hand
def cell_forward(z, bias, before, cell, squashed, state):
    """One row. A loop each for what LLVM can vectorize: few arrays, so that it can tell them apart."""
    h = cell.size
    i, f, g, o = z[:h], z[h : 2 * h], z[2 * h : 3 * h], z[3 * h :]
    for j in range(z.size):
        z[j] += bias[j]
    sigmoids(z[: 2 * h])
    for j in range(g.size):
        g[j] = tanh(g[j])
    sigmoids(o)
    for j in range(h):
        cell[j] = f[j] * before[j] + i[j] * g[j]
    for j in range(h):
        squashed[j] = tanh(cell[j])
    for j in range(h):
        state[j] = o[j] * squashed[j]


@by_hand
def cell_back(z, before, squashed, d_state, d_cell, scratch):
    """Gates become gradients by what went into them, `d_cell` that by the cell before."""
    h = before.size
    i, f, g, o = z[:h], z[h : 2 * h], z[2 * h : 3 * h], z[3 * h :]
    di, df, dg = scratch[:h], scratch[h : 2 * h], scratch[2 * h : 3 * h]
    do, dc = scratch[3 * h : 4 * h], scratch[4 * h :]
    for j in range(h):
        dc[j] = d_cell[j] + d_state[j] * o[j] * (1 - squashed[j] * squashed[j])
    for j in range(h):
        do[j] = d_state[j] * squashed[j] * o[j] * (1 - o[j])
    for j in range(h):
        di[j] = dc[j] * g[j] * i[j] * (1 - i[j])
    for j in range(h):
        df[j] = dc[j] * before[j] * f[j] * (1 - f[j])
    for j in range(h):
        dg[j] = dc[j] * i[j] * (1 - g[j] * g[j])
    for j in range(h):
        d_cell[j] = dc[j] * f[j]
    for j in range(z.size):
        z[j] = scratch[j]


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
            cell_forward(z[r], bias, cells[k, r], cells[k + 1, r], tanhs[k, r], states[k + 1, r])
    value = 0.0
    d_state, d_cell, by_cell = np.empty((b, h)), np.zeros((b, h)), np.empty(5 * h)
    for r in range(b):
        for j in range(h):
            s = states[t, r, j]
            value += s * s
            d_state[r, j] = 2 * s / (b * h)
    for k in range(t - 1, -1, -1):
        z = gates[k]
        for r in range(b):
            cell_back(z[r], cells[k, r], tanhs[k, r], d_state[r], d_cell[r], by_cell)
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
