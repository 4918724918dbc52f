"""`models` by hand."""

# mypy: ignore-errors

import numpy as np

from workloads.handmade import by_hand, dgemm, exp, log

BLOCK = 512


@by_hand
def mixture(x, alpha, mean, q, low, d_alpha, d_mean, d_q, d_low):
    k, d = mean.shape
    d_factor, sums, share = np.empty((k, d, d)), np.empty((k, d)), np.empty(k)
    value = mixture_points(x, x.shape[0], alpha, mean, q, low, d_factor, sums, share)
    return value + mixture_gradient(d_factor, sums, share, alpha, mean, q, low, d_alpha, d_mean, d_q, d_low)


@by_hand
def mixture_part(number, threads, phase, arguments):
    x, alpha, mean, q, low, d_factor, sums, share, values = arguments
    n = x.shape[0]
    begin, end = n * number // threads, n * (number + 1) // threads
    own = d_factor[number], sums[number], share[number]
    values[number, 0] = mixture_points(x[begin:end], n, alpha, mean, q, low, *own)


@by_hand
def mixture_together(d_factor, sums, share, values, alpha, mean, q, low, d_alpha, d_mean, d_q, d_low):
    for other in range(1, share.shape[0]):
        share[0] += share[other]
        sums[0] += sums[other]
        d_factor[0] += d_factor[other]
        values[0] += values[other]
    point = alpha, mean, q, low
    return values[0, 0] + mixture_gradient(
        d_factor[0], sums[0], share[0], *point, d_alpha, d_mean, d_q, d_low
    )


@by_hand
def mixture_points(x, whole, alpha, mean, q, low, d_factor, sums, share):
    """Some of the points; their part of the value, and of the gradient by the factors and what is subtracted.

    Each component's whitened points are kept for the way back; all loops run along points.
    """
    n, d = x.shape
    k = alpha.size
    white, logs, xt = np.empty((k, d, n)), np.empty((k, n)), np.empty((d, n))
    for i in range(n):
        for a in range(d):
            xt[a, i] = x[i, a]
    factor, offset = np.zeros((d, d)), np.empty(d)
    for c in range(k):
        level = set_factor(factor, offset, mean[c], q[c], low[c], alpha[c])
        dgemm(factor, xt, white[c], False, False, 1.0, 0.0)
        row = logs[c]
        row[:] = level
        for a in range(d):
            w, shift = white[c, a], offset[a]
            for i in range(n):
                w[i] -= shift
                row[i] -= 0.5 * w[i] * w[i]
    value = shares(logs, whole)
    for c in range(k):
        p = logs[c]
        total = 0.0
        for i in range(n):
            total += p[i]
        share[c] = total
        for a in range(d):
            w = white[c, a]
            s = 0.0
            for i in range(n):
                w[i] *= -p[i]
                s += w[i]
            sums[c, a] = s
        dgemm(white[c], x, d_factor[c], False, False, 1.0, 0.0)
    return value


@by_hand
def mixture_gradient(d_factor, sums, share, alpha, mean, q, low, d_alpha, d_mean, d_q, d_low):
    """From what the points have left; gives the prior's part of the value."""
    k, d = mean.shape
    top = alpha.max()
    prior = 0.0
    for c in range(k):
        prior += exp(alpha[c] - top)
    factor, offset = np.zeros((d, d)), np.empty(d)
    for c in range(k):
        set_factor(factor, offset, mean[c], q[c], low[c], alpha[c])
        d_alpha[c] = share[c] - exp(alpha[c] - top) / prior
        for a in range(d):
            s = 0.0
            for b in range(d):
                s += sums[c, b] * factor[b, a]
                d_low[c, a, b] = d_factor[c, a, b] - sums[c, a] * mean[c, b] if b < a else 0.0
            d_mean[c, a] = -s
            d_q[c, a] = share[c] + (d_factor[c, a, a] - sums[c, a] * mean[c, a]) * factor[a, a]
    return -log(prior) - top


@by_hand
def set_factor(factor, offset, mean, q, low, alpha):
    d = q.size
    level = alpha
    for a in range(d):
        factor[a, :a] = low[a, :a]
        factor[a, a] = exp(q[a])
        level += q[a]
    for a in range(d):
        s = 0.0
        for b in range(a + 1):
            s += factor[a, b] * mean[b]
        offset[a] = s
    return level


@by_hand
def shares(logs, whole):
    """Logs of sums of exponentials, added and divided by `whole`; `logs` become shares of the sums, divided as well."""
    k, n = logs.shape
    top, total = logs[0].copy(), np.zeros(n)
    for c in range(1, k):
        for i in range(n):
            top[i] = max(top[i], logs[c, i])
    for c in range(k):
        row = logs[c]
        for i in range(n):
            row[i] = exp(row[i] - top[i])
            total[i] += row[i]
    value = 0.0
    for i in range(n):
        value += top[i] + log(total[i])
        total[i] = 1 / (total[i] * whole)
    for c in range(k):
        for i in range(n):
            logs[c, i] *= total[i]
    return value / whole


@by_hand
def asian_option(z, spot, sigma, rate, strike):
    sums = np.empty(4)
    asian_paths(z, 0, z.shape[1], spot, sigma, rate, strike, sums)
    return asian_price(sums, z.shape, spot, sigma, rate)


@by_hand
def asian_part(number, threads, phase, arguments):
    z, spot, sigma, rate, strike, sums = arguments
    paths = z.shape[1]
    begin, end = paths * number // threads, paths * (number + 1) // threads
    asian_paths(z, begin, end, spot, sigma, rate, strike, sums[number])


@by_hand
def asian_paths(z, begin, end, spot, sigma, rate, strike, sums):
    """Derivatives of a path's mean go forward with the path: nothing is kept."""
    steps = z.shape[0]
    dt = 1 / steps
    drift, scale = (rate - 0.5 * sigma * sigma) * dt, sigma * np.sqrt(dt)
    walk, total, by_time, by_walk = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    price = by_spot = by_sigma = by_rate = 0.0
    for start in range(begin, end, BLOCK):
        width = min(BLOCK, end - start)
        walk[:] = total[:] = by_time[:] = by_walk[:] = 0.0
        for t in range(steps):
            row, passed = z[t, start : start + width], t + 1.0
            for i in range(width):
                walk[i] += row[i]
                level = exp(drift * passed + scale * walk[i])
                total[i] += level
                by_time[i] += level * passed
                by_walk[i] += level * walk[i]
        for i in range(width):
            mean = spot * total[i] / steps
            inside = 1.0 if mean > strike else 0.0
            price += inside * (mean - strike)
            by_spot += inside * mean
            by_rate += inside * by_time[i]
            by_sigma += inside * (np.sqrt(dt) * by_walk[i] - sigma * dt * by_time[i])
    sums[0], sums[1], sums[2], sums[3] = price, by_spot, by_sigma, by_rate


@by_hand
def asian_price(sums, shape, spot, sigma, rate):
    steps, paths = shape
    discount = np.exp(-rate) / paths
    each = discount * spot / steps
    price = sums[0] * discount
    return price, sums[1] * discount / spot, sums[2] * each, sums[3] * each / steps - price


@by_hand
def bodies(x, m, softening, out):
    n = m.size
    energy = 0.0
    for i in range(n):
        a, b, c, mass = x[0, i], x[1, i], x[2, i], m[i]
        fa = fb = fc = e = 0.0
        for j in range(n):
            da, db, dc = a - x[0, j], b - x[1, j], c - x[2, j]
            r = 1 / np.sqrt(da * da + db * db + dc * dc + softening)
            pull = mass * m[j] * r
            e += pull
            pull *= r * r
            fa += pull * da
            fb += pull * db
            fc += pull * dc
        energy -= 0.5 * e
        out[0, i], out[1, i], out[2, i] = fa, fb, fc
    return energy
