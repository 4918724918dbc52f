"""`logistic` by hand: the data goes through the cache once, in blocks of rows."""

# mypy: ignore-errors

import numpy as np

from workloads.handmade import by_hand, exp, log1p

BLOCK = 64


@by_hand
def dot(x, y):
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@by_hand
def add_scaled(out, x, factor):
    for j in range(out.size):
        out[j] += factor * x[j]


@by_hand
def logistic(x, y, w, out):
    total = logistic_rows(x, y, w, out)
    out /= y.size
    return total / y.size


@by_hand
def logistic_part(number, threads, phase, arguments):
    x, y, w, outs, totals = arguments
    begin, end = y.size * number // threads, y.size * (number + 1) // threads
    totals[number, 0] = logistic_rows(x[begin:end], y[begin:end], w, outs[number])


@by_hand
def logistic_rows(x, y, w, out):
    n = x.shape[0]
    total = 0.0
    out[:] = 0.0
    z = np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        for i in range(rows):
            z[i] = dot(x[start + i], w)
        for i in range(rows):
            e = exp(-abs(z[i]))
            total += max(z[i], 0.0) + log1p(e) - y[start + i] * z[i]
            p = 1 / (1 + e)
            z[i] = (p if z[i] >= 0 else 1 - p) - y[start + i]
        add_rows(out, x, start, rows, z)
    return total


@by_hand
def add_rows(out, x, start, rows, factors):
    """Four rows at a time, so that `out` is read and written a quarter as often."""
    d = out.size
    whole = rows // 4 * 4
    for i in range(0, whole, 4):
        k = start + i
        a, b, c, e = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        xa, xb, xc, xe = x[k], x[k + 1], x[k + 2], x[k + 3]
        for j in range(d):
            out[j] += a * xa[j] + b * xb[j] + c * xc[j] + e * xe[j]
    for i in range(whole, rows):
        add_scaled(out, x[start + i], factors[i])


@by_hand
def logistic_hvp(x, w, v, out):
    logistic_hvp_rows(x, w, v, out)
    out /= x.shape[0]


@by_hand
def logistic_hvp_part(number, threads, phase, arguments):
    x, w, v, outs = arguments
    n = x.shape[0]
    begin, end = n * number // threads, n * (number + 1) // threads
    logistic_hvp_rows(x[begin:end], w, v, outs[number])


@by_hand
def logistic_hvp_rows(x, w, v, out):
    n, d = x.shape
    out[:] = 0.0
    z, u = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        for i in range(rows):
            row = x[start + i]
            a = b = 0.0
            for j in range(d):
                a += row[j] * w[j]
                b += row[j] * v[j]
            z[i], u[i] = a, b
        for i in range(rows):
            e = exp(-abs(z[i]))
            u[i] *= e / ((1 + e) * (1 + e))
        add_rows(out, x, start, rows, u)
