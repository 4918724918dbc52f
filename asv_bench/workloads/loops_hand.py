"""`loops` by hand."""

# mypy: ignore-errors

import numpy as np

from workloads.handmade import by_hand


@by_hand
def adam_one(w, m, v, g, rate, beta_1, beta_2, epsilon):
    """A function of its own: within the loop over arrays LLVM does not vectorize it."""
    for i in range(w.size):
        m[i] = beta_1 * m[i] + (1 - beta_1) * g[i]
        v[i] = beta_2 * v[i] + (1 - beta_2) * g[i] * g[i]
        w[i] -= rate * m[i] / (np.sqrt(v[i]) + epsilon)


@by_hand
def adam(arrays, rate, beta_1, beta_2, epsilon):
    for w, m, v, g in arrays:
        adam_one(w, m, v, g, rate, beta_1, beta_2, epsilon)


@by_hand
def regression_step(x, y, state, rate):
    m, b = state
    total = dm = db = 0.0
    for i in range(x.size):
        e = m * x[i] + b - y[i]
        total += e * e
        dm += e * x[i]
        db += e
    state[0] = m - rate * 2 * dm / x.size
    state[1] = b - rate * 2 * db / x.size
    return total / x.size
