"""`mlp` by hand: products by OpenBLAS, all else in loops over what they leave in the cache."""

# mypy: ignore-errors

import numpy as np

from workloads.handmade import by_hand, exp, log, sgemm

BETA_1, BETA_2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-7)
ONE, ZERO = np.float32(1), np.float32(0)


def workspace(batch, sizes):
    """Activations, then gradients by them."""
    shapes = [(batch, n) for n in sizes[1:]]
    return [np.empty(s, np.float32) for s in (*shapes, *shapes[:-1])]


@by_hand
def biased_relu(h, b):
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            h[i, j] = max(h[i, j] + b[j], ZERO)


@by_hand
def cross_entropy(z, b, y, whole):
    """The loss as a part of the mean of so many rows; `z` becomes its gradient."""
    n, classes = z.shape
    total = ZERO
    for i in range(n):
        row = z[i]
        top = row[0] + b[0]
        for j in range(classes):
            row[j] += b[j]
            top = max(top, row[j])
        label = row[y[i]] - top
        s = ZERO
        for j in range(classes):
            row[j] = exp(row[j] - top)
            s += row[j]
        total += log(s) - label
        factor = ONE / (s * np.float32(whole))
        for j in range(classes):
            row[j] *= factor
        row[y[i]] -= ONE / np.float32(whole)
    return total / np.float32(whole)


@by_hand
def through_relu(d, h):
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            d[i, j] = d[i, j] if h[i, j] > ZERO else ZERO


@by_hand
def add_column_sums(out, d, factor):
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            out[j] += factor * d[i, j]


@by_hand
def deltas(x, y, whole, w1, b1, w2, b2, w3, b3, h1, h2, z, d1, d2):
    """Gradients by the inputs of the activations, in `d1`, `d2` and `z`; the loss."""
    sgemm(x, w1, h1, False, False, 1.0, 0.0)
    biased_relu(h1, b1)
    sgemm(h1, w2, h2, False, False, 1.0, 0.0)
    biased_relu(h2, b2)
    sgemm(h2, w3, z, False, False, 1.0, 0.0)
    loss = cross_entropy(z, b3, y, whole)
    sgemm(z, w3, d2, False, True, 1.0, 0.0)
    through_relu(d2, h2)
    sgemm(d2, w2, d1, False, True, 1.0, 0.0)
    through_relu(d1, h1)
    return loss


@by_hand
def sgd_step(x, y, w1, b1, w2, b2, w3, b3, h1, h2, z, d1, d2, rate):
    """The gradients are never stored: the products add to the weights."""
    loss = deltas(x, y, y.size, w1, b1, w2, b2, w3, b3, h1, h2, z, d1, d2)
    down = np.float32(-rate)
    sgemm(x, d1, w1, True, False, down, 1.0)
    sgemm(h1, d2, w2, True, False, down, 1.0)
    sgemm(h2, z, w3, True, False, down, 1.0)
    add_column_sums(b1, d1, down)
    add_column_sums(b2, d2, down)
    add_column_sums(b3, z, down)
    return loss


@by_hand
def sgd_part(number, threads, phase, arguments):
    """Some rows of the batch in phase 0, then some rows of the weights."""
    x, y, w1, b1, w2, b2, w3, b3, h1, h2, z, d1, d2, rate, losses = arguments
    if phase == 0:
        own = part_of(y.size, number, threads)
        part = deltas(
            x[own], y[own], y.size, w1, b1, w2, b2, w3, b3, h1[own], h2[own], z[own], d1[own], d2[own]
        )
        losses[number, 0] = part
        return
    down = np.float32(-rate)
    first, second = part_of(x.shape[1], number, threads), part_of(h1.shape[1], number, threads)
    sgemm(x[:, first], d1, w1[first], True, False, down, 1.0)
    sgemm(h1[:, second], d2, w2[second], True, False, down, 1.0)
    if number == 0:
        sgemm(h2, z, w3, True, False, down, 1.0)
        add_column_sums(b1, d1, down)
        add_column_sums(b2, d2, down)
        add_column_sums(b3, z, down)


@by_hand
def part_of(n, number, threads):
    return slice(n * number // threads, n * (number + 1) // threads)


@by_hand
def adam(w, g, m, v, size):
    for i in range(w.size):
        m[i] = BETA_1 * m[i] + (ONE - BETA_1) * g[i]
        v[i] = BETA_2 * v[i] + np.float32(0.001) * (g[i] * g[i])
        w[i] -= size * m[i] / (np.sqrt(v[i]) + EPSILON)


@by_hand
def adam_step(
    x, y, w1, b1, w2, b2, w3, b3, h1, h2, z, d1, d2, g1, c1, g2, c2, g3, c3,
    m1, n1, m2, n2, m3, n3, v1, u1, v2, u2, v3, u3, size,
):  # fmt: skip
    loss = deltas(x, y, y.size, w1, b1, w2, b2, w3, b3, h1, h2, z, d1, d2)
    step = np.float32(size)
    sgemm(x, d1, g1, True, False, 1.0, 0.0)
    adam(w1.reshape(-1), g1.reshape(-1), m1.reshape(-1), v1.reshape(-1), step)
    sgemm(h1, d2, g2, True, False, 1.0, 0.0)
    adam(w2.reshape(-1), g2.reshape(-1), m2.reshape(-1), v2.reshape(-1), step)
    sgemm(h2, z, g3, True, False, 1.0, 0.0)
    adam(w3.reshape(-1), g3.reshape(-1), m3.reshape(-1), v3.reshape(-1), step)
    for c in (c1, c2, c3):
        c[:] = ZERO
    add_column_sums(c1, d1, ONE)
    add_column_sums(c2, d2, ONE)
    add_column_sums(c3, z, ONE)
    adam(b1, c1, n1, u1, step)
    adam(b2, c2, n2, u2, step)
    adam(b3, c3, n3, u3, step)
    return loss
